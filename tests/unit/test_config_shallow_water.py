"""From a shallow-water case file to the arguments of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

import eagre
from eagre import boundaries
from eagre.config.problems import ConfigError
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.time_varying.series import Series

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


def test_a_record_of_a_bed_that_moved(built, tmp_path):
    x, y = np.arange(10.0, 20.0), np.arange(0.0, 5.0)
    beds = xr.DataArray(np.array([1.0, 5.0])[:, None, None] * np.ones((2, 5, 10)), {"y": y, "x": x}, ("time", "y", "x"))
    xr.Dataset({"bed": beds}).to_netcdf(tmp_path / "beds.nc", engine="h5netcdf")
    for record, height in ((1, 1.0), (-1, 5.0)):
        taken = built(HEAD + GRID.replace("x0 = 10.0", "x0 = 11.0") + f'[bed]\nfile = "beds.nc"\nrecord = {record}\n')
        np.testing.assert_allclose(taken["bed_elevation"], height)


def test_device_and_precision_can_be_overridden(built):
    text = FLAT.replace("[grid]", 'device = "cpu"\nprecision = "double"\n[grid]')
    assert (built(text)["device"], built(text)["precision"]) == ("cpu", "double")
    taken = built(text, device="cuda", precision="single")
    assert (taken["device"], taken["precision"]) == ("cuda", "single")


def test_expressions_are_taken_at_their_points(built):
    text = HEAD + GRID + '[bed]\nexpression = "x - 10*y"\n[initial]\ndepth = "x - bed"\nvelocity_x = "y"\n'
    taken = built(text + '[friction]\nmanning = "0.01 * (x > 14)"\n')
    x, y = np.meshgrid([10.0, 12.0, 14.0, 16.0, 18.0], [0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(taken["bed_elevation"], x - 10 * y)
    x, y = np.meshgrid([11.0, 13.0, 15.0, 17.0], [0.5, 1.5, 2.5])
    np.testing.assert_allclose(taken["depth"], x - (x - 10 * y))
    np.testing.assert_allclose(taken["velocity_x"], y)
    np.testing.assert_allclose(taken["manning"], 0.01 * (x > 14))
    assert taken["velocity_y"] == 0.0
    assert "surface_elevation" not in taken


def test_numerics(built):
    lines = 'scheme = "euler"\nwet_dry = "kurganov-petrova"\nminmod_theta = 1.5\n'
    lines += 'courant_number = 0.2\ntime_step_control = "exact"\n'
    lines += 'desingularisation_depth = "1 mm"\nmax_time_step = "1 min"\ntime_step = 0.5\ngravity = 9.8\n'
    taken = built(FLAT + "[numerics]\n" + lines)
    assert taken["scheme"] == "euler"
    assert taken["wet_dry"] == "kurganov-petrova"
    assert taken["time_step_control"] == "exact"
    numbers = [
        taken[name]
        for name in ("minmod_theta", "courant_number", "desingularisation_depth", "max_time_step", "time_step")
    ]
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
    assert isinstance(rain, eagre.Rain)
    assert rain.rate == pytest.approx(1e-5)
    np.testing.assert_array_equal(rain.pattern, np.tile([0.0, 0.0, 1.0, 1.0], (3, 1)))
    assert coriolis == eagre.Coriolis(latitude=45.0, beta=2e-11)
    assert isinstance(wind.x, Series)
    assert (wind.y, wind.pattern) == (0.0, None)
    np.testing.assert_allclose(pressure.pressure, np.full((3, 4), 101300.0))
    assert pressure.factor == 1.0
    pressure = built(text + "factor = {times = [0, 10], values = [0, 2]}\n")["sources"][3]
    assert pressure.factor(5.0) == 1.0 and pressure.factor(10.0) == 2.0


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


def test_the_coordinate_system_is_that_of_the_file_or_of_the_grid(built, tmp_path):
    """Whichever way the cells are given; a bed that is moved has lost its system."""
    from rasterio.crs import CRS

    write_asc(tmp_path / "bed.asc", np.zeros((4, 5)), size=2.0, x0=100.0)
    bed = HEAD + '[bed]\nfile = "bed.asc"\n'
    cells = "[grid]\nnx = 5\nny = 4\ndx = 2.0\nx0 = 100\n"
    assert built(bed)["grid"].crs is None
    assert built(bed + '[grid]\ncrs = "EPSG:32633"\n')["grid"].crs == "EPSG:32633"
    (tmp_path / "bed.prj").write_text(CRS.from_epsg(32633).to_wkt())
    assert built(bed)["grid"].crs == built(bed + cells)["grid"].crs == "EPSG:32633"
    moved = built(bed + "shift = [-100, 0]\n")["grid"]
    assert (moved.crs, moved.x0) == (None, 0.0)
    with pytest.raises(ConfigError, match=r"32633.*32634"):
        built(bed + '[grid]\ncrs = "EPSG:32634"\n')


def test_other_rasters_move_with_the_bed(built, tmp_path):
    values = np.linspace(0.01, 0.05, 12).reshape(3, 4)
    write_asc(tmp_path / "bed.asc", np.zeros((3, 4)), size=2.0, x0=100.0)
    write_asc(tmp_path / "n.asc", values, size=2.0, x0=100.0)
    text = (
        HEAD + '[bed]\nfile = "bed.asc"\nshift = [-100, 0]\n[friction]\nmanning = {file = "n.asc", shift = [-100, 0]}\n'
    )
    np.testing.assert_allclose(built(text)["manning"], values)


@pytest.mark.parametrize(
    ("header", "units", "factor"),
    [
        ("q", "", 1.0),
        ("q (l/s)", "", 1e-3),
        ("q [m\u00b3/s]", "", 1.0),
        ("q (-)", "", 1.0),
        ("q (cusec)", "m3/h", 1 / 3600),
    ],
)
def test_the_unit_of_a_series_is_that_of_its_column(built, tmp_path, header, units, factor):
    """A river of 100 l/s is not one of 100 m3/s."""
    (tmp_path / "river.csv").write_text(f"time (s),{header}\n0,100\n20,200\n", encoding="utf-8")
    more = f', units = "{units}"' if units else ""
    text = FLAT + '[boundaries]\nwest = {kind = "discharge", rate = {file = "river.csv"' + more + "}}\n"
    assert built(text)["boundaries"].west.rate.values == pytest.approx([100 * factor, 200 * factor])


@pytest.mark.parametrize(("header", "words"), [("q (cusec)", "cusec"), ("q (mm)", "not a unit of discharge")])
def test_units_that_mean_nothing_here_are_refused(built, tmp_path, header, words):
    (tmp_path / "river.csv").write_text(f"time (s),{header}\n0,100\n20,200\n")
    with pytest.raises(ConfigError, match=rf'(?s){words}.*units = "m3/s"'):
        built(FLAT + '[boundaries]\nwest = {kind = "discharge", rate = {file = "river.csv"}}\n')


def test_dates_need_a_start_date(built, tmp_path):
    """Else two files that begin on different days would begin together."""
    (tmp_path / "river.csv").write_text("date,q\n2026-01-01T00:00,1\n2026-01-02T00:00,2\n")
    text = FLAT + '[boundaries]\nwest = {kind = "discharge", rate = {file = "river.csv"}}\n'
    with pytest.raises(ConfigError, match=r"(?s)boundaries.west.rate.*start_date = 2026-01-01T00:00:00"):
        built(text)
    dated = text.replace("end_time = 10\n", "end_time = 10\nstart_date = 2026-01-01T07:00:00+01:00\n")
    assert built(dated)["boundaries"].west.rate.times.tolist() == [-21600.0, 64800.0]


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


def test_lines_inside(built):
    given = """
[[boundaries.internal]]
kind = "wall"
points = [[11.0, 0.0], [0.012, "2.5 m"]]

[[boundaries.internal]]
kind = "discharge"
rate = { times = [0, "1 h"], values = [0, "5 l/s"] }
area = [[10.0, 0.0], [18.0, 0.0], [18.0, 3.0]]
name = "field"
"""
    wall, field = built(FLAT + given)["boundaries"].internal
    assert wall == boundaries.InternalLine([[11.0, 0.0], [0.012, 2.5]], boundaries.Wall())
    assert isinstance(field, boundaries.InternalArea) and field.name == "field"
    assert field.condition.rate(1800.0) == 0.0025


@pytest.mark.parametrize(
    ("given", "what", "allowed"),
    [
        ('kind = "wal"\npoints = [[0, 0]]', 'kind = "wal"|wal', "wall"),
        ('kind = "wall"', "no points, no area and no file", "one of points, area, file"),
        ('kind = "wall"\npoints = [[0, 0]]\narea = [[0, 0]]', "points and area", "one of points, area, file"),
        ('kind = "wall"\npoints = [0, 0]', "points = ", "a list of"),
        ('kind = "wall"\npoints = [["5 kg", 0]]', "5 kg", "m"),
        ('kind = "discharge"\npoints = [[0, 0]]', "nothing", "discharge, m3/s, positive into the domain"),
        ('kind = "wall"\npoint = [[0, 0]]', "point", "points"),
    ],
)
def test_lines_inside_that_cannot_be_read(built, given, what, allowed):
    with pytest.raises(ConfigError) as caught:
        built(FLAT + f"[[boundaries.internal]]\n{given}\n")
    text = str(caught.value)
    assert any(one in text for one in what.split("|")) and allowed in text and "boundaries.internal" in text
