"""Commands that read results never write over their inputs, and `eagre compare` compares the same points only."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from eagre.cli.support import exits

SPELLINGS = ("same", "dotted", "symlink", "hardlink")


def spelled(path: Path, how: str) -> Path:
    """Another path of a file."""
    if how == "dotted":
        (path.parent / "sub").mkdir(exist_ok=True)
        return path.parent / "sub" / ".." / path.name
    other = path.with_name(f"other{path.suffix}")
    if how == "symlink":
        other.symlink_to(path.name)
    if how == "hardlink":
        os.link(path, other)
    return path if how == "same" else other


@pytest.mark.parametrize("how", SPELLINGS)
def test_spectra_are_not_written_over_the_gauges(eagre, tmp_path, how):
    path = tmp_path / "gauges.csv"
    t = np.arange(0.0, 60.0, 0.5)
    np.savetxt(path, np.column_stack([t, np.sin(t)]), header="time (s),a eta (m)", delimiter=",", comments="")
    before = path.read_bytes()
    done = eagre("waves", path, "--spectrum", spelled(path, how), "--overwrite")
    assert done.code == exits.BAD_INPUT and "would overwrite the input" in done.err, done.err
    assert path.read_bytes() == before


def fields(path: Path, x0: float = 0.0, *, name: str = "depth", **change: object) -> Path:
    """A result file with 4 x 3 cells and two records."""
    x, y = x0 + np.arange(4) + 0.5, np.arange(3) + 0.5
    times = np.asarray(change.get("time", [0.0, 2.0]))
    dataset = xr.Dataset(
        {name: (("time", "y", "x"), np.ones((2, 3, 4)), {"units": "m"}), "bed": (("y", "x"), np.zeros((3, 4)))},
        {"time": times, "y": y, "x": x},
    )
    dataset["time"].attrs["units"] = change.get("units", "s")
    if "epsg" in change:
        from rasterio.crs import CRS

        dataset["crs"] = ((), 0, {"crs_wkt": CRS.from_epsg(change["epsg"]).to_wkt()})
        dataset[name].attrs["grid_mapping"] = "crs"
    dataset.to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("command", ["plot", "export", "animate"])
@pytest.mark.parametrize("how", ["symlink", "hardlink"])
def test_pictures_and_maps_are_not_written_over_their_input(eagre, tmp_path, command, how):
    path = fields(tmp_path / "out.nc")
    before = path.read_bytes()
    target = tmp_path / {"plot": "a.png", "export": "a.tif", "animate": "a.gif"}[command]
    os.link(path, target) if how == "hardlink" else target.symlink_to(path.name)
    done = eagre(command, path, "-o", target, *(["--overwrite"] if command == "export" else []))
    assert done.code == exits.BAD_INPUT and "would overwrite the input" in done.err, done.err
    assert path.read_bytes() == before


def test_a_picture_is_not_written_over_the_observations(eagre, tmp_path):
    path, seen = tmp_path / "gauges.csv", tmp_path / "seen.csv"
    path.write_text("time (s),a eta (m)\n0,0.1\n1,0.2\n")
    seen.write_text("time (s),eta (m)\n0,0.1\n1,0.2\n")
    (tmp_path / "a.png").symlink_to("seen.csv")
    done = eagre("plot", path, "--observed", seen, "-o", tmp_path / "a.png")
    assert done.code == exits.BAD_INPUT and "would overwrite the input" in done.err
    assert seen.read_text().startswith("time")


@pytest.mark.parametrize("command", ["plot", "animate", "export"])
@pytest.mark.parametrize("place", [".", "..", "sub", "sub.png"])
def test_an_output_that_is_a_folder_is_an_input_error(eagre, tmp_path, monkeypatch, command, place):
    monkeypatch.chdir(tmp_path)
    for name in ("sub", "sub.png"):
        (tmp_path / name).mkdir()
    done = eagre(command, fields(tmp_path / "out.nc"), "-o", place)
    assert done.code == exits.BAD_INPUT and "a folder" in done.err, done.err


def test_tuning_does_not_write_over_the_case_or_another_file(eagre, fake_case, tmp_path):
    case = fake_case()
    before = case.read_bytes()
    done = eagre("tune", case, "--device", "cpu", "--dump", case)
    assert done.code == exits.BAD_INPUT and ".json" in done.err, done.err
    (tmp_path / "a.json").symlink_to(case.name)
    done = eagre("tune", case, "--device", "cpu", "--dump", tmp_path / "a.json")
    assert done.code == exits.BAD_INPUT and "would overwrite the input" in done.err, done.err
    assert case.read_bytes() == before


# -- compare -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"x0": 1000.0}, "x"),
        ({"x0": 0.01}, "x"),
        ({"time": [0.0, 3.0]}, "time"),
        ({"epsg": 32634}, "the coordinate system"),
        ({"units": "seconds since 2026-01-02"}, "time"),
    ],
)
def test_compare_rejects_other_points_and_times(eagre, tmp_path, change, word):
    one = fields(tmp_path / "a.nc", units="seconds since 2026-01-01", epsg=32633)
    other = fields(tmp_path / "b.nc", **({"units": "seconds since 2026-01-01", "epsg": 32633} | change))
    done = eagre("compare", one, other)
    assert done.code == exits.BAD_INPUT, done.out
    assert f"differ in {word}" in done.err.replace("\n", " "), done.err


def test_compare_accepts_coordinates_that_differ_by_rounding(eagre, tmp_path):
    one, other = fields(tmp_path / "a.nc", 5e6), fields(tmp_path / "b.nc", 5e6)
    with xr.open_dataset(other, decode_times=False, engine="h5netcdf") as dataset:
        single = dataset.load()
    single = single.assign_coords(x=single["x"].astype("f4"), time=single["time"] + 1e-10)
    single.to_netcdf(other, engine="h5netcdf")
    done = eagre("compare", one, other)
    assert done.code == 0, done.err


def test_compare_needs_a_field_over_time_in_common(eagre, tmp_path):
    one, other = fields(tmp_path / "a.nc"), fields(tmp_path / "b.nc", name="speed")
    done = eagre("compare", one, other)
    assert done.code == exits.BAD_INPUT and "no field over time in common" in done.err, done.out
    assert eagre("compare", one, other, "-v", "bed").code == 0


def test_compare_needs_points_with_values_in_both(eagre, tmp_path):
    one, other = fields(tmp_path / "a.nc"), fields(tmp_path / "b.nc")
    for path, part in ((one, slice(0, 2)), (other, slice(2, 4))):
        with xr.open_dataset(path, decode_times=False, engine="h5netcdf") as dataset:
            wet = dataset.load()
        wet["depth"][:, :, part] = np.nan
        wet.to_netcdf(path, engine="h5netcdf")
    done = eagre("compare", one, other)
    assert done.code == exits.BAD_INPUT and "no point" in done.err, done.out
