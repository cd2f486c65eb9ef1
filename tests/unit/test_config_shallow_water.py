"""From a shallow-water case file to the arguments of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from eagre import boundaries, sources
from eagre.config.problems import ConfigError
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.series import Series

HEAD = 'model = "shallow-water"\n[run]\nend_time = 10\n'
GRID = "[grid]\nnx = 4\nny = 3\ndx = 2.0\ndy = 1.0\nx0 = 10.0\n"
FLAT = HEAD + GRID + "[bed]\nvalue = -1.0\n"


@pytest.fixture
def built(monkeypatch, tmp_path):
    """A function that builds a case and returns the model's arguments; files lie in `tmp_path`."""
    taken: dict[str, Any] = {}

    def model(grid, bed_elevation, **options):
        taken.update(options, grid=grid, bed_elevation=bed_elevation)

    monkeypatch.setattr("eagre.models.shallow_water.model.ShallowWater", model)

    def build(text: str, **options) -> dict[str, Any]:
        taken.clear()
        ShallowWaterCase.loads(text, tmp_path).build(**options)
        return taken

    return build


def write_asc(path, values, size=2.0, x0=0.0, y0=0.0):
    """An ESRI ASCII raster; row 0 of `values` is the south."""
    rows, columns = values.shape
    head = f"ncols {columns}\nnrows {rows}\nxllcorner {x0}\nyllcorner {y0}\ncellsize {size}\nNODATA_value -9999\n"
    path.write_text(head + "\n".join(" ".join(str(value) for value in row) for row in values[::-1]) + "\n")


def test_defaults_leave_the_choice_to_the_model(built):
    taken = built(FLAT)
    assert set(taken) == {"grid", "bed_elevation", "boundaries", "sources", "device", "precision"} | {
        "velocity_x",
        "velocity_y",
    }
    grid = taken["grid"]
    assert (grid.nx, grid.ny, grid.dx, grid.dy, grid.x0, grid.y0) == (4, 3, 2.0, 1.0, 10.0, 0.0)
    np.testing.assert_array_equal(taken["bed_elevation"], np.full((4, 5), -1.0))
    assert (taken["device"], taken["precision"]) == ("auto", "single")
    assert taken["boundaries"].closed
    assert taken["sources"] == []


def test_device_and_precision_can_be_overridden(built):
    text = FLAT.replace("[grid]", 'device = "cpu"\nprecision = "double"\n[grid]')
    assert (built(text)["device"], built(text)["precision"]) == ("cpu", "double")
    taken = built(text, device="cuda", precision="single")
    assert (taken["device"], taken["precision"]) == ("cuda", "single")


def test_expressions_are_taken_at_their_points(built):
    text = HEAD + GRID + '[bed]\nexpression = "x + 10*y"\n[initial]\ndepth = "x - bed"\nvelocity_x = "y"\n'
    taken = built(text + '[friction]\nmanning = "0.01 * (x > 14)"\n')
    x, y = np.meshgrid([10.0, 12.0, 14.0, 16.0, 18.0], [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(taken["bed_elevation"], x + 10 * y)
    x, y = np.meshgrid([11.0, 13.0, 15.0, 17.0], [0.5, 1.5, 2.5])
    np.testing.assert_allclose(taken["depth"], x - (x + 10 * y))
    np.testing.assert_allclose(taken["velocity_x"], y)
    np.testing.assert_allclose(taken["manning"], 0.01 * (x > 14))
    assert taken["velocity_y"] == 0.0
    assert "surface_elevation" not in taken


def test_numerics(built):
    lines = 'scheme = "euler"\nwet_dry = "kurganov-petrova"\ntheta = 1.5\ncfl = 0.2\ntime_step = "exact"\n'
    lines += 'desingularisation_depth = "1 mm"\nmax_time_step = "1 min"\nfixed_time_step = 0.5\ngravity = 9.8\n'
    taken = built(FLAT + "[numerics]\n" + lines)
    assert taken["scheme"] == "euler"
    assert taken["wet_dry"] == "kurganov-petrova"
    assert taken["time_step"] == "exact"
    numbers = [taken[name] for name in ("theta", "cfl", "desingularisation_depth", "max_time_step", "fixed_time_step")]
    assert numbers == [1.5, 0.2, 0.001, 60.0, 0.5]
    assert taken["gravity"] == 9.8


def test_boundaries(built, tmp_path):
    (tmp_path / "river.csv").write_text("time (min),level,q\n0,1,100\n1,2,300\n")
    text = (
        FLAT
        + """
[boundaries]
west = {kind = "absorbing", level = "20 cm", incoming = {times = [0, 20], values = ["1 m", 0]}}
east = {kind = "stage", level = {expression = "sin(pi * t / 10)", every = "1 s"}}
south = {kind = "outflow"}
[[boundaries.north]]
kind = "discharge"
rate = {file = "river.csv", value = "q", units = "l/s"}
from = 10
to = 14
[[boundaries.north]]
kind = "stage"
level = 0.5
from = 14
to = 16
"""
    )
    found = built(text)["boundaries"]
    assert isinstance(found.west, boundaries.Absorbing)
    assert found.west.level == pytest.approx(0.2)
    assert found.west.incoming(10.0) == pytest.approx(0.5)
    assert isinstance(found.east, boundaries.Stage)
    np.testing.assert_allclose(found.east.level.times, np.arange(11.0))
    assert found.east.level(5.0) == pytest.approx(1.0)
    assert isinstance(found.south, boundaries.Outflow)
    first, second = found.north
    assert (first.start, first.stop, second.start, second.stop) == (10.0, 14.0, 14.0, 16.0)
    assert isinstance(first.condition, boundaries.Discharge)
    assert first.condition.rate(30.0) == pytest.approx(0.2)
    assert second.condition == boundaries.Stage(0.5)


def test_periodic_sides(built):
    found = built(FLAT + '[boundaries]\nwest = {kind = "periodic"}\neast = {kind = "periodic"}\n')["boundaries"]
    assert found.west.periodic and found.east.periodic and not found.south.periodic


def test_sources(built):
    text = (
        FLAT
        + """
[sources.rain]
rate = "36 mm/h"
pattern = "x > 14"
[sources.coriolis]
latitude = 45
beta = 2e-11
[sources.wind_stress]
x = {times = [0, 10], values = [0, 0.2]}
[sources.atmospheric_pressure]
pressure = "1013 hPa"
"""
    )
    rain, coriolis, wind, pressure = built(text)["sources"]
    assert isinstance(rain, sources.Rain)
    assert rain.rate == pytest.approx(1e-5)
    np.testing.assert_array_equal(rain.pattern, np.tile([0.0, 0.0, 1.0, 1.0], (3, 1)))
    assert coriolis == sources.Coriolis(latitude=45.0, beta=2e-11)
    assert isinstance(wind.x, Series)
    assert (wind.y, wind.pattern) == (0.0, None)
    np.testing.assert_allclose(pressure.pressure, np.full((3, 4), 101300.0))
    assert pressure.factor == 1.0


def test_bed_from_a_file(built, tmp_path):
    values = np.arange(20.0).reshape(4, 5)
    write_asc(tmp_path / "bed.asc", values, size=2.0, x0=100.0, y0=50.0)
    head = HEAD + '[bed]\nfile = "bed.asc"\n'
    taken = built(head)
    assert taken["grid"].extent == (100.0, 110.0, 50.0, 58.0)
    assert taken["grid"].shape == (4, 5)
    np.testing.assert_allclose(taken["bed_elevation"][2, 2], values[1:3, 1:3].mean())
    taken = built(head + "[grid]\ndx = 1.0\nextent = [102, 108, 52, 56]\n")
    assert (taken["grid"].extent, taken["grid"].shape) == ((102.0, 108.0, 52.0, 56.0), (4, 6))
    np.testing.assert_allclose(built(head + 'positive = "down"\noffset = 1.0\n')["bed_elevation"][2, 2], -8.0)
    taken = built(head + "shift = [-100, -50]\n[grid]\nnx = 5\nny = 4\ndx = 2.0\n")
    assert taken["grid"].extent == (0.0, 10.0, 0.0, 8.0)


def test_rasters_at_centres(built, tmp_path):
    values = np.linspace(0.01, 0.05, 12).reshape(3, 4)
    write_asc(tmp_path / "manning.asc", values, size=2.0)
    text = HEAD + "[grid]\nnx = 4\nny = 3\ndx = 2.0\n[bed]\nvalue = 0\n[friction]\nmanning = {file = 'manning.asc'}\n"
    np.testing.assert_allclose(built(text)["manning"], values)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (FLAT + '[initial]\ndepth = "1 / (x - 11)"\n', ["initial.depth (line 13)", "inf at x = 11"]),
        (FLAT + "[sources.rain]\nrate = {times = [0, 5], values = [0, 1]}\n", ["sources.rain.rate", "0 s to 5 s"]),
        (FLAT + "[boundaries]\nwest = {kind = 'stage', level = {file = 'a.csv', value = 'x'}}\n", ["level", "'x'"]),
        (HEAD + GRID + "[bed]\nfile = 'bed.asc'\n", ["bed", "bed.asc", "extent"]),
        (HEAD + '[bed]\nexpression = "log(x)"\n[grid]\nextent = [0, 4, 0, 4]\ndx = 2\n', ["-inf at x = 0"]),
        (HEAD + "[bed]\nvalue = 0\n[grid]\nextent = [0, 10, 0, 4]\ndx = 3\n", ["3.33333 cells", "dx = 3.333333333"]),
    ],
)
def test_problems_at_building_are_told_with_their_key(built, tmp_path, text, words):
    (tmp_path / "a.csv").write_text("time,level\n0,1\n20,2\n")
    write_asc(tmp_path / "bed.asc", np.zeros((2, 2)), x0=1000.0)
    with pytest.raises(ConfigError) as caught:
        built(text)
    for word in words:
        assert word in str(caught.value)


def test_monai_valley(built, tmp_path):
    """The classic flume test as a case file: points of the bed at corners, incident wave from a file."""
    bed = np.linspace(-0.135, 0.125, 393)[None, :] + np.linspace(0.0, 0.1, 244)[:, None]
    write_asc(tmp_path / "Benchmark_2_Bathymetry.asc", bed, size=0.014)
    rows = "\n".join(f"{time:.5E}\t{0.001 * time:.5E}" for time in np.arange(0.0, 22.5001, 0.05))
    (tmp_path / "Benchmark_2_input.txt").write_text("time(s)     water surface(m)\n" + rows + "\n")
    text = """
model = "shallow-water"
title = "Monai Valley"
[run]
end_time = "22.5 s"
[grid]
extent = [0.0, 5.488, 0.0, 3.402]
dx = 0.014
[bed]
file = "Benchmark_2_Bathymetry.asc"
shift = [-0.007, -0.007]
[boundaries]
west = {kind = "absorbing", incoming = {file = "Benchmark_2_input.txt"}}
[friction]
manning = 0.01
[gauges]
file = "gauges.csv"
interval = "0.05 s"
points = {ch5 = [4.521, 1.196], ch7 = [4.521, 1.696], ch9 = [4.521, 2.196]}
"""
    taken = built(text)
    assert taken["grid"].shape == (243, 392)
    np.testing.assert_allclose(taken["bed_elevation"], bed, atol=1e-12)
    assert taken["boundaries"].west.incoming.times[-1] == 22.5
    assert taken["boundaries"].west.incoming(20.0) == pytest.approx(0.02, rel=1e-4)
    with pytest.raises(ConfigError, match=r"(?s)boundaries.west.incoming.*22.5 s.*longer series"):
        built(text.replace("22.5 s", "30 s"))


def test_template_of_new_builds(built):
    from eagre.cli.new import template

    taken = built(template("shallow-water"))
    assert taken["grid"].shape == (150, 200)
    assert 5.0 < taken["surface_elevation"].max() < 7.0
