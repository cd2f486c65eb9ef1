"""Fields from NetCDF: names, units, axes, longitudes, packing, coordinate systems, amounts, and what is refused."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest
import xarray

import eagre
from eagre.io.rasters.netcdf_raster import undated
from eagre.io.weather.weather import read_weather

DAY = "2026-01-31T00:00:00"
UTM = eagre.Grid(8, 6, 2000.0, 2000.0, 400e3, 5300e3, "EPSG:32633")  # around 14 degrees east, 48 north


def era5(path, *, lon=None, lat=None, names=("u10", "v10", "msl", "tp"), hours=4, packed=True, time="valid_time"):
    """Hourly fields that are linear in longitude, latitude and time, as ERA5 has them: north first, packed."""
    lon = np.arange(13.0, 16.01, 0.25) if lon is None else lon
    lat = np.arange(49.0, 46.99, -0.25) if lat is None else lat
    t = np.arange(hours)
    times = np.datetime64(DAY, "ns") + t * np.timedelta64(1, "h")
    shape = t[:, None, None], lat[None, :, None], (np.mod(lon + 180.0, 360.0) - 180.0)[None, None, :]
    wave = 0.1 * shape[0] + shape[1] - 48.0 + 0.5 * (shape[2] - 14.0)
    values = {"u10": 10.0 + wave, "v10": 0.0 * wave, "msl": 1e5 + 100.0 * wave, "tp": 1e-3 + 1e-4 * wave}
    units = {"u10": "m s**-1", "v10": "m s**-1", "msl": "Pa", "tp": "m"}
    data = {name: ((time, "latitude", "longitude"), values[name], {"units": units[name]}) for name in names}
    coords = {
        time: times, "latitude": ("latitude", lat, {"units": "degrees_north"}),
        "longitude": ("longitude", lon, {"units": "degrees_east"}),
    }  # fmt: skip
    encoding = {
        name: {
            "dtype": "int32",
            "_FillValue": -(2**31),
            "scale_factor": 1e-6 * 10.0 ** (name == "msl"),
            "add_offset": float(values[name].mean()),
        }
        for name in names
    }
    encoding |= {time: {"units": "hours since 1900-01-01", "dtype": "int64"}}
    dataset = xarray.Dataset(data, coords)
    dataset.to_netcdf(path, engine="h5netcdf", encoding=encoding if packed else {time: encoding[time]})
    return path


def degrees(grid):
    """Longitude and latitude of the nodes."""
    from rasterio.warp import transform

    x, y = np.meshgrid(*grid)
    lon, lat = transform(UTM.crs, "EPSG:4326", x.ravel().tolist(), y.ravel().tolist())
    return np.reshape(lon, x.shape), np.reshape(lat, x.shape)


@pytest.mark.parametrize("turn", [0.0, 360.0])
def test_pressure_of_era5_at_the_nodes(tmp_path, turn):
    """Linear in degrees: bilinear reading is exact. Longitudes of either convention; north first or south first."""
    lon = np.arange(13.0, 16.01, 0.25) - turn
    lat = np.arange(47.0, 49.01, 0.25) if turn else None
    found = read_weather(era5(tmp_path / "e.nc", lon=lon, lat=lat), UTM, start=DAY).pressure
    lon, lat = degrees(found.nodes.points(UTM))
    for k in range(4):
        expected = 1e5 + 100.0 * (0.1 * k + lat - 48.0 + 0.5 * (lon - 14.0))
        np.testing.assert_allclose(found.record(k), expected, atol=1e-4)
    np.testing.assert_array_equal(found.instants.times, 3600.0 * np.arange(4))


def test_winds_are_turned_to_the_axes_of_the_grid(tmp_path):
    """14 degrees east is a degree west of the middle of zone 33: its north lies 0.74 degrees to the right of y."""
    found = read_weather(era5(tmp_path / "e.nc", packed=False), UTM, start=DAY)
    lon, lat = degrees(found.wind_x.nodes.points(UTM))
    u = 10.0 + lat - 48.0 + 0.5 * (lon - 14.0)
    turn = np.radians((lon - 15.0) * np.sin(np.radians(lat)))  # convergence of meridians, positive east of the middle
    np.testing.assert_allclose(found.wind_x.record(0), u * np.cos(turn), rtol=1e-6)
    np.testing.assert_allclose(found.wind_y.record(0), u * np.sin(turn), rtol=2e-3)


def test_amounts_become_rates_at_the_middle_of_their_hours(tmp_path):
    """tp is what fell in the hour before: the first hour begins an hour before the first record."""
    found = read_weather(era5(tmp_path / "e.nc", packed=False), UTM, start=DAY).rain
    np.testing.assert_allclose(found.instants.times, 3600.0 * np.array([-1.0, -0.5, 0.5, 1.5, 2.5, 3.0]))
    lon, lat = degrees(found.nodes.points(UTM))
    for k, record in enumerate([0, 0, 1, 2, 3, 3]):
        amount = 1e-3 + 1e-4 * (0.1 * record + lat - 48.0 + 0.5 * (lon - 14.0))
        np.testing.assert_allclose(found.record(k), amount / 3600.0, rtol=1e-6)


def test_the_run_begins_at_another_date(tmp_path):
    found = read_weather(era5(tmp_path / "e.nc"), UTM, start="2026-01-31T01:30:00").pressure
    np.testing.assert_array_equal(found.instants.times, 3600.0 * (np.arange(4) - 1.5))


def test_a_file_around_the_globe_meets_itself(tmp_path):
    """A grid at 180 degrees: the file's first column follows its last."""
    lon = np.arange(-180.0, 180.0, 0.5)
    grid = eagre.Grid(8, 6, 5000.0, 5000.0, 690e3, 5300e3, "EPSG:32660")  # from 179.6 degrees east over the line
    path = era5(tmp_path / "e.nc", lon=lon, lat=np.arange(49.0, 46.9, -0.5), names=("msl",))
    found = read_weather(path, grid, start=DAY).pressure
    assert np.ptp(found.record(0)) > 1e4  # the jump of this made field between 180 and -180 lies in the domain


@pytest.mark.parametrize(
    ("grid", "options", "match"),
    [
        (UTM, {"start": None}, "start_date"),
        (eagre.Grid(8, 6, 2000.0, 2000.0), {}, "crs"),
        (eagre.Grid(8, 6, 2000.0, 2000.0, 900e3, 5300e3, "EPSG:32633"), {}, "covers the domain"),
        (UTM, {"variables": {"rain": "rian"}}, "rian"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path, grid, options, match):
    path = era5(tmp_path / "e.nc")
    with pytest.raises(eagre.InputError, match=match):
        read_weather(path, grid, **{"start": DAY, **options})


def test_a_system_other_than_that_of_the_file_is_refused(tmp_path):
    """EPSG:4326 and the degrees of CF are the same places."""
    path = era5(tmp_path / "e.nc", names=("msl",), packed=False)
    with xarray.open_dataset(path) as dataset:
        held = dataset.load()
    held["crs"] = ((), 0, {"grid_mapping_name": "latitude_longitude"})
    held["msl"].attrs["grid_mapping"] = "crs"
    held.to_netcdf(tmp_path / "said.nc", engine="h5netcdf")
    ours, theirs = (read_weather(tmp_path / "said.nc", UTM, crs=crs, start=DAY) for crs in ("EPSG:4326", None))
    np.testing.assert_array_equal(ours.pressure.record(0), theirs.pressure.record(0))
    with pytest.raises(
        eagre.InputError,
        match=r"differs from the coordinate system of the file(.|\n)*crs = 'EPSG:3857' for .*said.nc: msl in OGC:CRS84",
    ):
        read_weather(tmp_path / "said.nc", UTM, crs="EPSG:3857", start=DAY)


def test_a_gap_and_a_wrong_unit_are_told(tmp_path):
    path = era5(tmp_path / "e.nc", names=("msl",), packed=False)
    with xarray.open_dataset(path) as dataset:
        holed = dataset.load()
    holed["msl"][1, 2:6, 2:6] = np.nan
    holed.to_netcdf(tmp_path / "gap.nc", engine="h5netcdf")
    found = read_weather(tmp_path / "gap.nc", UTM, start=DAY).pressure
    found.record(0)
    with pytest.raises(eagre.InputError, match="pressure at t = 3600 s is missing"):
        found.record(1)
    holed["msl"].attrs["units"] = "psi"
    holed.to_netcdf(tmp_path / "unit.nc", engine="h5netcdf")
    with pytest.raises(eagre.InputError, match="psi"):
        read_weather(tmp_path / "unit.nc", UTM, start=DAY)


def test_a_file_is_read_twice_at_a_time(tmp_path):
    """Two runs, or the record of a raster beside the weather: the first still has the file open."""
    path = era5(tmp_path / "e.nc")
    first, second = (read_weather(path, UTM, start=DAY) for _ in range(2))
    field = eagre.io.read_raster(
        path, variable="msl", record=1, around=eagre.io.rasters.raster.Around(UTM.crs, UTM.extent)
    )
    np.testing.assert_array_equal(first.pressure.record(1), second.pressure.record(1))
    assert field.elevation.mean() == pytest.approx(1e5, abs=200.0)


def means(path, bounds=None, units="kg m-2 s-1", values=(1e-3, 3e-3, 2e-3), calendar="standard", method="time: mean"):
    """Daily means stamped at noon, the same everywhere, with bounds, (n, 2), in days, if any."""
    lon, lat = np.arange(13.0, 16.01, 0.25), np.arange(47.0, 49.01, 0.25)
    data = np.array(values)[:, None, None] * np.ones((1, lat.size, lon.size))
    attributes = {"units": units, "cell_methods": method, "standard_name": "precipitation_flux"}
    time = {"units": "days since 2026-01-31", "calendar": calendar} | (
        {} if bounds is None else {"bounds": "time_bnds"}
    )
    dataset = xarray.Dataset(
        {"pr": (("time", "lat", "lon"), data, attributes)},
        {"time": ("time", 0.5 + np.arange(len(values)), time), "lat": lat, "lon": lon},
    )
    if bounds is not None:
        dataset["time_bnds"] = (("time", "nv"), np.array(bounds))
    dataset.to_netcdf(path, engine="h5netcdf")
    return path


DAYS = [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]


def test_means_count_over_the_time_that_their_bounds_say(tmp_path):
    """Stamped at noon, over the day: not over the time since the noon before."""
    found = read_weather(means(tmp_path / "pr.nc", DAYS), UTM, start=DAY).rain
    np.testing.assert_allclose(found.instants.times, 86400.0 * np.array([0.0, 0.5, 1.5, 2.5, 3.0]))
    assert [found.record(k)[0, 0] for k in range(5)] == pytest.approx([1e-6, 1e-6, 3e-6, 2e-6, 2e-6])
    path = means(tmp_path / "amounts.nc", DAYS, "mm", (86.4, 43.2, 0.0), method="time: sum")
    found = read_weather(path, UTM, start=DAY).rain
    np.testing.assert_allclose(found.instants.times, 86400.0 * np.array([0.0, 0.5, 1.5, 2.5, 3.0]))
    assert [found.record(k)[0, 0] for k in range(5)] == pytest.approx([1e-6, 1e-6, 5e-7, 0.0, 0.0])


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"bounds": [[0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]}, "accumulate from a fixed start time"),
        ({"bounds": [[0.0, 1.0], [1.5, 2.0], [2.0, 3.0]]}, "ends at 86400 s, the next record begins at 129600 s"),
        ({"bounds": [[0.0, 1.0], [1.01, 2.0], [2.0, 3.0]]}, "ends at 86400 s, the next record begins at 87264 s"),
        ({"bounds": [[1.0, 0.0], [1.0, 2.0], [2.0, 3.0]]}, "time bounds of .* do not increase"),
        ({"calendar": "noleap"}, r"(?s)the calendar noleap.*convert_calendar\(.standard., align_on=.year.\)"),
        ({"values": (1e-3, -1e-3, 1e-3)}, "rain rate is negative"),
    ],
)
def test_times_and_values_of_means_that_cannot_be_are_told(tmp_path, options, match):
    path = means(tmp_path / "pr.nc", **options)
    with pytest.raises(eagre.InputError, match=match):
        read_weather(path, UTM, start=DAY).rain.record(2)


@pytest.mark.parametrize(
    ("units", "calendar", "words"),
    [
        ("days since 0001-01-01", "proleptic_gregorian", "pip install cftime"),
        ("hours since 1-1-1 00:00:0.0", None, "a date after 1677"),
        ("months since 2026-01-01", "standard", "'months since 2026-01-01'.*allowed: seconds to days since a date$"),
        ("days since then", None, "'days since then'.*allowed: seconds to days since a date$"),
        ("days since 0001-01-01", "360_day", "the calendar 360_day.*standard or proleptic_gregorian.*convert_calendar"),
    ],
)
def test_times_that_are_no_dates_are_told_why(units, calendar, words):
    with pytest.raises(eagre.InputError, match=f"(?s){words}"):
        raise undated(Path("pr.nc"), units, calendar)


def test_units_of_times_that_cannot_be_read_are_told(tmp_path):
    path = means(tmp_path / "pr.nc")
    with h5py.File(path, "r+") as file:
        file["time"].attrs["units"] = "months since 2026-01-01"
    with pytest.raises(eagre.InputError, match="times in 'months since 2026-01-01'"):
        read_weather(path, UTM, start=DAY)


def test_records_without_times_are_refused(tmp_path):
    path = means(tmp_path / "pr.nc")
    with xarray.open_dataset(path) as dataset:
        dataset.load().drop_vars("time").to_netcdf(tmp_path / "timeless.nc", engine="h5netcdf")
    with pytest.raises(eagre.InputError, match="over time without coordinate values"):
        read_weather(tmp_path / "timeless.nc", UTM, start=DAY)


RATES = {
    "m s-1": 1.0, "m/s": 1.0, "mm s-1": 1e3, "mm/s": 1e3, "kg m-2 s-1": 1e3, "kg m**-2 s**-1": 1e3, "mm h-1": 3.6e6,
    "mm/h": 3.6e6, "mm/hr": 3.6e6, "mm hr-1": 3.6e6, "mm d-1": 8.64e7, "mm/day": 8.64e7,
    "mm h**-1": 3.6e6, "mm hour-1": 3.6e6, "kg/m2/s": 1e3, "mm/3h": 1.08e7,
}  # fmt: skip
AMOUNTS = {"m": 0.0864, "mm": 86.4, "kg m-2": 86.4, "kg m**-2": 86.4}


@pytest.mark.parametrize(("unit", "number"), [*RATES.items(), *AMOUNTS.items()])
def test_every_unit_of_rain(tmp_path, unit, number):
    """1e-6 m/s, or what falls so in a day."""
    amount = unit in AMOUNTS
    scaled = number if amount else 1e-6 * number
    path = means(tmp_path / "pr.nc", DAYS, unit, (scaled,) * 3, method="time: sum" if amount else "time: mean")
    found = read_weather(path, UTM, start=DAY).rain
    assert found.record(1) == pytest.approx(1e-6, rel=1e-12)


def test_rain_below_nothing_by_packing_is_none(tmp_path):
    found = read_weather(means(tmp_path / "pr.nc", DAYS, values=(-1e-9, 1e-3, 0.0)), UTM, start=DAY).rain
    assert (found.record(1) == 0.0).all() and (found.record(2) > 0.0).all()


@pytest.mark.parametrize("wind", [-30.0, 149.0, 151.0])
def test_wind_blows_both_ways_and_has_a_bound(tmp_path, wind):
    """Two records are enough."""
    path = era5(tmp_path / "e.nc", names=("u10", "v10"), packed=False, hours=2)
    with xarray.open_dataset(path) as dataset:
        even = dataset.load()
    even["u10"][:], even["v10"][:] = wind, 0.0
    even.to_netcdf(tmp_path / "even.nc", engine="h5netcdf")
    found = read_weather(tmp_path / "even.nc", UTM, start=DAY)
    if wind > 150.0:
        with pytest.raises(eagre.InputError, match=r"wind along x at t = 0 s = 15[01]"):
            found.wind_x.record(0)
    else:
        speed = np.hypot(found.wind_x.record(1), found.wind_y.record(1))
        assert speed == pytest.approx(abs(wind)) and (np.sign(found.wind_x.record(1)) == np.sign(wind)).all()


def with_versions(path, first=2, both=()):
    """A file of ERA5 whose last records are provisional: expver 1 has numbers before record `first`, 5 from there."""
    with xarray.open_dataset(era5(path, packed=False)) as dataset:
        final = dataset.where((np.arange(4) < first)[:, None, None] | np.isin(np.arange(4), both)[:, None, None])
        early = dataset.where((np.arange(4) >= first)[:, None, None])
        joined = xarray.concat([final, early], xarray.DataArray([1, 5], dims="expver", name="expver"))
        for name in dataset.data_vars:
            joined[name].attrs = dataset[name].attrs
        joined = joined.transpose("valid_time", "expver", "latitude", "longitude").load()
    joined.to_netcdf(versions := path.with_name("versions.nc"), engine="h5netcdf")
    return versions


def test_final_and_provisional_data_follow_one_another(tmp_path):
    """The dimension expver of ERA5 with ERA5T: at each time one of its values has the numbers."""
    plain = read_weather(era5(tmp_path / "plain.nc", packed=False), UTM, start=DAY)
    found = read_weather(with_versions(tmp_path / "e.nc"), UTM, start=DAY, nodata=0.0)
    for kind in ("pressure", "wind_x", "rain"):
        for k in range(4):
            np.testing.assert_array_equal(getattr(found, kind).record(k), getattr(plain, kind).record(k))


def test_numbers_of_several_versions_are_refused(tmp_path):
    found = read_weather(with_versions(tmp_path / "e.nc", both=[3]), UTM, start=DAY)
    found.pressure.record(2)
    with pytest.raises(eagre.InputError, match=r"msl, record 4 with data for 2 .*[\s\S]*isel\(expver=0\)"):
        found.pressure.record(3)


def test_members_of_an_ensemble_are_refused_with_the_line_that_takes_one(tmp_path):
    path = era5(tmp_path / "e.nc", packed=False)
    with xarray.open_dataset(path) as dataset:
        dataset.load().expand_dims(number=[0, 1]).to_netcdf(tmp_path / "members.nc", engine="h5netcdf")
    with pytest.raises(eagre.InputError, match=r"isel\(number=0\)\.to_netcdf"):
        read_weather(tmp_path / "members.nc", UTM, start=DAY)
