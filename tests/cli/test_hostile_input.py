"""Whatever stands in a case or a file of the user's, the answer is a run or an error that says what to write.

2,000 mutated cases and files; ``EAGRE_EXPLORE=5`` tries 10,000 others.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eagre.cli.new import template
from eagre.errors import EagreError
from eagre.models.registry import load_case

EXPLORE = int(os.environ.get("EAGRE_EXPLORE", "0"))
MEMORY = 20_000_000  # bytes that a case may take here


class Checked(Exception):
    """Everything was checked; only the engine, which compiles, was not made."""


@pytest.fixture(autouse=True, scope="module")
def only_checks():
    """Models end where their engine would be made, and have little memory."""

    def stop(*arguments, **options):
        raise Checked

    with pytest.MonkeyPatch.context() as patch:
        for name in ("shallow_water.model.engine_for", "shallow_water_adi.model.engine_for", "barotropic.model.Engine"):
            patch.setattr(f"eagre.models.{name}", stop)
        patch.setattr("eagre.backend.device.free_host_memory", lambda: MEMORY)
        yield


def outcome(path):
    """None if the case can be run, else the error of the user's; anything else is raised."""
    try:
        case = load_case(path)
        case.build(device="cpu")
    except EagreError as error:
        assert str(error).strip() and not isinstance(error, (AssertionError, KeyError))
        return error
    except Checked:
        return None
    raise AssertionError("no model makes its engine")


# -- cases and files to begin with -----------------------------------------------------------------------


def write_files(folder: Path) -> None:
    """Rasters and series of every format, for a domain of 12 x 9 cells of 1 m."""
    import rasterio
    import xarray

    bed = 0.1 * np.arange(12.0)[None, :] * np.ones((9, 1)) - 1.0
    header = "ncols 12\nnrows 9\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n"
    rows = "\n".join(" ".join(f"{value:.3f}" for value in row) for row in bed)
    (folder / "bed.asc").write_text(f"{header}{rows}\n")
    options = {"driver": "GTiff", "width": 12, "height": 9, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    with rasterio.open(folder / "bed.tif", "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 9), **options) as target:
        target.write(bed.astype("f4"), 1)
    axes = {"x": np.arange(12) + 0.5, "y": np.arange(9) + 0.5}
    xarray.Dataset({"z": (("y", "x"), bed)}, axes).to_netcdf(folder / "bed.nc", engine="h5netcdf")
    xarray.Dataset({"z": (("y", "x"), bed)}, axes).to_netcdf(folder / "old.nc", engine="scipy")
    (folder / "bed.prj").write_text(rasterio.crs.CRS.from_epsg(32633).to_wkt())
    (folder / "wave.csv").write_text("time (s),eta (m)\n0,0.0\n10,0.1\n1000,0.2\n")
    wave = xarray.Dataset({"eta": ("time", [0.0, 0.1, 0.2])}, {"time": [0.0, 10.0, 1000.0]})
    wave.to_netcdf(folder / "wave.nc", engine="h5netcdf")


WATER = """
model = "shallow-water"
title = "water"
run = { end_time = "20 s", device = "cpu", precision = "double", start_date = 2026-01-31T12:00:00 }
[grid]
nx = 12
ny = 9
dx = 1.0
[bed]
expression = "0.1 * x - where(hypot(x, y) < 5, 1, 0)"
[initial]
depth = "maximum(0.2 - bed, 0)"
velocity_x = "0.1 m/s"
[friction]
manning = 0.03
[boundaries]
west = { kind = "absorbing", incoming = { file = "wave.csv" } }
east = { kind = "stage", level = { times = [0, "1 h"], values = [0.1, "20 cm"] } }
[[boundaries.north]]
kind = "discharge"
rate = "0.5 m3/s"
from = 2.0
to = 5.0
[sources.rain]
rate = "20 mm/h"
pattern = "x < 5"
[sources.coriolis]
latitude = 45.0
[sources.wind_stress]
x = { expression = "0.1 * sin(t)", every = "0.2 s" }
[numerics]
courant_number = 0.2
minmod_theta = 1.3
[output]
file = "out.nc"
interval = "2 s"
variables = ["depth"]
[gauges]
file = "gauges.csv"
interval = 1
points = { pier = [2.5, 3.5] }
[restart]
file = "restart.nc"
"""
RASTER = """
model = "shallow-water"
run = { end_time = 20 }
[bed]
file = "{name}"
nodata = 5.0
[initial]
surface_elevation = 0.0
"""
ADI = WATER.replace('"shallow-water"', '"shallow-water-adi"').replace(
    "courant_number = 0.2\nminmod_theta = 1.3", 'time_step = "1 s"'
)
GYRE = template("barotropic").replace("nx = 129", "nx = 9")
FILES = ("bed.asc", "bed.tif", "bed.nc", "old.nc", "bed.prj", "wave.csv", "wave.nc")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile")
    write_files(path)
    return path


def test_what_is_mutated_is_right_to_begin_with(folder):
    for text in (WATER, ADI, GYRE, *(RASTER.replace("{name}", name) for name in FILES[:4])):
        (folder / "case.toml").write_text(text)
        assert outcome(folder / "case.toml") is None


# -- mutations -------------------------------------------------------------------------------------------

NASTY = (
    *(
        "-1",
        "0",
        "1e-320",
        "1e320",
        "-1e308",
        "nan",
        "inf",
        "-inf",
        "1" * 400,
        "1" * 5000,
        "0x" + "f" * 5000,
        "0x10",
        "1_000",
        "true",
    ),
    *('""', '"\\u0000"', '"a\\u0000b"', "[]", "[[]]", "{}", "[1, 2, 3]", "{a = {b = 1}}", '"1 m"', '"-2 h"', '"5 kg"'),
    *('"1e400 m"', '"where(0 < x < y, 1, 0)"', '"1 / x"', '"x ** 1000"', '"' + "(" * 90 + "x" + ")" * 90 + '"'),
    *(
        '"9" ',
        '"9**9**9**9"',
        '"' + "1" * 400 + ' * x"',
        '"x if x else y"',
        '"t"',
        '"bed"',
        '"min(x)"',
        '"x and y or 0"',
        '"(x < 1) - (y < 2)"',
    ),
    *('{file = "loop"}', '{file = "."}', '"loop"', '"../.."', '"no.nc"', "1979-05-27", "07:32:00", "1e-300", "4e18"),
    *("{times = [0, 0], values = [1, 2]}", "{times = [], values = []}", '{expression = "t", every = 1e-300}'),
    *('"\\ud7ff"', '"' + "x+" * 400 + 'x"', "[" * 40 + "]" * 40, '{file = "bed.asc"}', '{file = "wave.csv"}', '"m"'),
)
CHARACTERS = "0123456789.-+eE[]{}()\"'=,#\n \t\\xynainf/*<>\x00\u00e9"


def changed_line(draw, text):
    """One value by another."""
    lines = text.split("\n")
    at = draw(st.sampled_from([k for k, line in enumerate(lines) if "=" in line]))
    key = lines[at].partition("=")[0]
    lines[at] = f"{key}= {draw(st.sampled_from(NASTY))}"
    return "\n".join(lines)


def lost_or_doubled_line(draw, text):
    lines = text.split("\n")
    at = draw(st.integers(0, len(lines) - 1))
    lines[at : at + 1] = draw(st.sampled_from([0, 2])) * [lines[at]]
    return "\n".join(lines)


def changed_characters(draw, text):
    at, length = draw(st.integers(0, len(text))), draw(st.integers(0, 3))
    return text[:at] + draw(st.text(CHARACTERS, max_size=3)) + text[at + length :]


def changed_number(draw, text):
    """One word of a file or a value by another, in place."""
    words = text.split(" ")
    words[draw(st.integers(0, len(words) - 1))] = draw(st.sampled_from([word.strip('"') for word in NASTY]))
    return " ".join(words)


def cut(draw, text):
    return text[: draw(st.integers(0, len(text)))]


@st.composite
def cases(draw):
    text = draw(st.sampled_from((WATER, ADI, GYRE, RASTER.replace("{name}", "bed.tif"))))
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from((changed_line, changed_line, lost_or_doubled_line, changed_characters)))(draw, text)
    return text


@st.composite
def texts_of(draw, text):
    for _ in range(draw(st.integers(1, 2))):
        text = draw(st.sampled_from((cut, changed_characters, changed_number, lost_or_doubled_line)))(draw, text)
    return text


def options(count):
    checks = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=max(1, EXPLORE) * count,
        deadline=None,
        database=None,
        derandomize=not EXPLORE,
        suppress_health_check=checks,
    )


@options(1500)
@given(text=cases())
def test_a_mutated_case_is_run_or_refused_with_a_reason(folder, text):
    (folder / "loop").exists() or (folder / "loop").is_symlink() or (folder / "loop").symlink_to("loop")
    (folder / "case.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    outcome(folder / "case.toml")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # SciPy closes what it could not open
@options(500)
@given(data=st.data(), name=st.sampled_from(FILES))
def test_a_mutated_file_is_read_or_refused_by_its_name(folder, tmp_path_factory, data, name):
    text = data.draw(texts_of((folder / name).read_bytes().decode("latin-1")))
    place = folder / "broken"
    place.mkdir(exist_ok=True)
    (place / "bed.prj").unlink(missing_ok=True)
    (place / name).write_bytes(text.encode("latin-1", "replace"))
    case = WATER.replace("wave.csv", name) if "wave" in name else RASTER.replace("{name}", name)
    if name == "bed.prj":
        (place / "bed.asc").write_bytes((folder / "bed.asc").read_bytes())
        case = RASTER.replace("{name}", "bed.asc")
    (place / "case.toml").write_text(case)
    error = outcome(place / "case.toml")
    assert error is None or name in str(error)
