"""Rows, units and times of input files that were once read as something else."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import eagre
from eagre.config.values.field_values import RasterFile
from eagre.errors import InputError
from eagre.io import read_dem, read_series
from eagre.io.landcover import read_class_table
from eagre.io.vectors import read_points
from eagre.io.weather.weather import read_weather

UNITS = {"": 1.0, "cm": 1e-2, "l/s": 1e-3}.__getitem__
GRID = eagre.Grid(9, 9, 1000.0, 1000.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("t,level\n0,0\n1,0,15\n2,0,30\n", "line 3.*3 values for 2 columns"),
        ("t level\n0 0\n1 0 15\n", "line 3.*3 values for 2 columns"),
        ("date,level (cm)\n31.01.2026 8:00,1\n2026-01-31 9:00,2\n", "line 2.*31.01.2026"),
        ("t (h),q (l/s)\n,0\n1,5\n2,10\n", "line 2"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path, text, words):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        read_series(tmp_path / "s.csv", scale=UNITS)


@pytest.mark.parametrize("text", ["t,level\n0,0\n1,15,\n", ",level\n0,0\n1,15\n", "2m wind,level\n0,0\n1,15\n"])
def test_rows_of_other_programs_are_read(tmp_path, text):
    """A separator at the end of rows, an index without a name, a name that begins with a digit."""
    (tmp_path / "s.csv").write_text(text)
    assert read_series(tmp_path / "s.csv").values.tolist() == [0.0, 15.0]


def test_hours_of_one_digit(tmp_path):
    rows = "".join(f"2026-01-31 {hour}:00,{hour}\n" for hour in (8, 9, 10, 11))
    (tmp_path / "s.csv").write_text("date,level (cm)\n" + rows)
    series = read_series(tmp_path / "s.csv", scale=UNITS)
    assert series.values.tolist() == [0.08, 0.09, 0.1, 0.11] and series.times.tolist() == [0.0, 3600.0, 7200.0, 10800.0]


def test_more_values_than_columns_of_points_and_classes(tmp_path):
    (tmp_path / "p.csv").write_text("name,x,y\nA,40,5,60,5\n")
    with pytest.raises(InputError, match=r"line 2.*more values"):
        read_points(tmp_path / "p.csv")
    (tmp_path / "c.csv").write_text("class,n\n10,0,1\n")
    with pytest.raises(InputError, match="line 2"):
        read_class_table(tmp_path / "c.csv")


def rain_file(path, times, name="rain", units="mm/h", **attributes):
    """Rain that is 10 in the middle and 0 at the edges of a file that covers the domain exactly."""
    x = np.array([0.0, 4500.0, 9000.0])
    values = np.zeros((len(times), 3, 3))
    values[:, :, 1] = 10.0
    coordinates = {"time": ("time", np.asarray(times, float), {"units": "s"}), "y": x, "x": x}
    variable = (("time", "y", "x"), values, {"units": units} | attributes)
    xr.Dataset({name: variable}, coordinates).to_netcdf(path)
    return path


def test_rain_that_ends_at_the_edge_is_not_negative(tmp_path):
    rain = read_weather(rain_file(tmp_path / "r.nc", [0, 3600]), GRID).rain
    values = rain.record(0)
    assert values.min() == 0.0 and values.max() <= 10.0 / 3.6e6


@pytest.mark.parametrize("times", [[0, 20, 10, 30], [0, 1, 1, 2]])
def test_times_of_means_must_increase(tmp_path, times):
    path = rain_file(tmp_path / "r.nc", times, cell_methods="time: mean")
    with pytest.raises(InputError, match="do not increase"):
        read_weather(path, GRID)


def bed_file(path, units, values=1.0):
    x = np.arange(0.5, 9.0) * 1000.0
    field = xr.DataArray(np.full((9, 9), values), {"y": x, "x": x}, attrs={"units": units} if units else {})
    xr.Dataset({"z": field}).to_netcdf(path)
    return path


def raster_of(path):
    return RasterFile.model_validate({"file": str(path)}, context={"directory": "/"})


@pytest.mark.parametrize("units", ["centimeters", "kilometers", "dm", "yard", "US_survey_foot", "ft"])
def test_a_bed_in_another_unit_than_metres_is_refused(tmp_path, units):
    with pytest.raises(InputError, match="not in metres"):
        read_dem(bed_file(tmp_path / "b.nc", units))


@pytest.mark.parametrize("units", ["m", "metre", "Meters", "m above MSL", "metres (NAP)", "1", ""])
def test_a_bed_in_metres_is_read(tmp_path, units):
    assert read_dem(bed_file(tmp_path / "b.nc", units)).elevation[0, 0] == 1.0


@pytest.mark.parametrize(
    ("dimension", "units", "value"),
    [("length", "cm", 0.01), ("length", "m above datum", 1.0), ("speed", "cm s-1", 0.01), ("length", "", 1.0),
     (None, "s m-1/3", 1.0)],
)  # fmt: skip
def test_units_of_rasters_are_converted(tmp_path, dimension, units, value):
    raster = raster_of(bed_file(tmp_path / "b.nc", units))
    np.testing.assert_allclose(raster.at_centres(GRID, dimension=dimension), value, rtol=1e-12)


@pytest.mark.parametrize(("dimension", "units"), [("length", "m s-1"), ("speed", "furlong/h")])
def test_another_unit_of_a_raster_is_refused(tmp_path, dimension, units):
    with pytest.raises(InputError, match=units):
        raster_of(bed_file(tmp_path / "b.nc", units)).at_centres(GRID, dimension=dimension)


def test_series_without_records(tmp_path):
    path = tmp_path / "s.nc"
    times = np.zeros(0, "datetime64[ns]")
    xr.Dataset({"q": ("time", np.zeros(0))}, {"time": times}).to_netcdf(path)
    with pytest.raises(InputError, match="records"):
        read_series(path)
