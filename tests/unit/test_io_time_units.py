"""Time zones of the date that times count from, through every reader of units of time.

Values: CF conventions 1.11, section 4.4 ("seconds since 1992-10-8 15:15:42.5 -6:00" is six hours west of UTC; one or
two digits are hours, three or four hours and minutes), and the grammar of UDUNITS-2 (lib/parser.y: DATE CLOCK CLOCK is
date + clock - zone, DATE CLOCK INT the same in hours up to 24, else hours and minutes; UTC, GMT and Z are zero).
"""

from __future__ import annotations

import datetime

import numpy as np
import pytest
import xarray as xr

import eagre
from eagre.errors import InputError
from eagre.io import read_series
from eagre.io.netcdf_attributes import read_reference
from eagre.io.weather.weather import read_weather
from eagre.plots.drawing.style import date_of

ZONES = {  # hours ahead of UTC
    "": 0.0, " UTC": 0.0, " Z": 0.0, "Z": 0.0, " GMT": 0.0, " utc": 0.0, " 0:00": 0.0,
    "+02:00": 2.0, " +02:00": 2.0, " +2:00": 2.0, " 2:00": 2.0, " 02:00": 2.0, " 2": 2.0, " +2": 2.0, " 0200": 2.0,
    " -3": -3.0, " -3:00": -3.0, "-03:00": -3.0, " -330": -3.5, " 5:30": 5.5, " +1245": 12.75, " -9:30": -9.5,
}  # fmt: skip
UNITS = "hours since 2026-01-31 02:00:00"


def midnight(zone):
    """Model time, s, of 02:00 in a zone; the model begins at midnight, UTC."""
    return 7200.0 - 3600.0 * ZONES[zone]


def dataset(units):
    return xr.Dataset({"q": ("time", [1.0, 2.0])}, {"time": ("time", [0.0, 1.0], {"units": units})})


def netcdf_series(path, units):
    dataset(units).to_netcdf(path / "a.nc", engine="h5netcdf")
    return read_series(path / "a.nc", start="2026-01-31").times


def table(path, units):
    (path / "a.csv").write_text(f"t ({units}),q\n0,1\n1,2\n")
    return read_series(path / "a.csv", start="2026-01-31").times


def weather(path, units):
    axes = {"y": [0.0, 100.0], "x": [0.0, 100.0], "time": ("time", [0.0, 1.0], {"units": units, "bounds": "span"})}
    rain = xr.DataArray(np.ones((2, 2, 2)), dims=("time", "y", "x"), attrs={"units": "mm h-1"})
    span = xr.DataArray([[-1.0, 0.0], [0.0, 1.0]], dims=("time", "two"))
    xr.Dataset({"rain": rain, "span": span}, axes).to_netcdf(path / "w.nc", engine="h5netcdf")
    grid = eagre.Grid(2, 2, 25.0, 25.0, 20.0, 20.0)
    return read_weather(path / "w.nc", grid, start="2026-01-31").rain.instants.times


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("read", [netcdf_series, table, weather], ids=["netcdf", "table", "weather"])
def test_zones(tmp_path, read, zone):
    np.testing.assert_allclose(read(tmp_path, UNITS + zone), midnight(zone) + np.array([0.0, 3600.0]), atol=1e-6)


@pytest.mark.parametrize("zone", ZONES)
def test_zones_of_dates_in_plots(zone):
    expected = datetime.datetime(2026, 1, 31) + datetime.timedelta(seconds=midnight(zone) + 60.0)
    assert date_of(UNITS.replace("hours", "seconds") + zone, 60.0) == expected.isoformat(" ")


def test_means_between_bounds_count_in_the_same_zone(tmp_path):
    axes = {
        "y": [0.0, 100.0],
        "x": [0.0, 100.0],
        "time": ("time", [0.0, 1.0], {"units": UNITS + " 2:00", "bounds": "b"}),
    }
    rain = xr.DataArray(np.ones((2, 2, 2)), dims=("time", "y", "x"), attrs={"units": "mm"})
    bounds = xr.DataArray([[-1.0, 0.0], [0.0, 1.0]], dims=("time", "two"))
    xr.Dataset({"rain": rain, "b": bounds}, axes).to_netcdf(tmp_path / "w.nc", engine="h5netcdf")
    found = read_weather(tmp_path / "w.nc", eagre.Grid(2, 2, 25.0, 25.0, 20.0, 20.0), start="2026-01-31").rain
    np.testing.assert_allclose(found.instants.times, [-3600.0, -1800.0, 1800.0, 3600.0], atol=1e-6)


def test_the_example_of_the_conventions():
    assert read_reference("1992-10-8 15:15:42.5 -6:00") == datetime.datetime(1992, 10, 8, 21, 15, 42, 500_000)


@pytest.mark.parametrize("read", [netcdf_series, table], ids=["netcdf", "table"])
@pytest.mark.parametrize("zone", [" EST", " 77:00", " 2:75", " 99", "5"])
def test_zones_that_are_not_known(tmp_path, read, zone):
    with pytest.raises(InputError, match=r"zone(.|\n)*2:00") as caught:
        read(tmp_path, UNITS + zone)
    assert zone in str(caught.value)
