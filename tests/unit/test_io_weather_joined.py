"""A quantity over several files: the same as in one, in whatever order, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

import eagre
from eagre.io.weather.weather import read_weather
from unit.test_io_weather import DAY, DAYS, UTM, era5, means


def cut(path, folder, *parts, dim="valid_time"):
    """Files with these records of one."""
    with xarray.open_dataset(path) as dataset:
        held = dataset.load()
    for variable in held.variables.values():
        variable.encoding.clear()
    paths = [folder / f"part{number}.nc" for number in range(len(parts))]
    for part, name in zip(parts, paths, strict=True):
        held.isel({dim: part}).to_netcdf(name, engine="h5netcdf", encoding={dim: {"units": "hours since 1900-01-01"}})
    return paths


@pytest.mark.parametrize(
    ("order", "parts"),
    [
        ((0, 1), (slice(0, 3), slice(3, 8))),
        ((2, 0, 1), (slice(0, 2), slice(2, 5), slice(5, 8))),
        ((1, 0, 2), (slice(0, 4), slice(4, 5), slice(5, 8))),
    ],
)
def test_files_in_any_order_are_as_one(tmp_path, order, parts):
    """Instants, winds that are turned, and amounts, also those of a file with one record."""
    path = era5(tmp_path / "e.nc", hours=8, packed=False)
    paths = cut(path, tmp_path, *parts)
    whole = read_weather(path, UTM, start=DAY)
    found = read_weather([paths[number] for number in order], UTM, start=DAY)
    for name in ("rain", "wind_x", "wind_y", "pressure"):
        ours, theirs = getattr(found, name), getattr(whole, name)
        np.testing.assert_array_equal(ours.instants.times, theirs.instants.times)
        for k in range(ours.instants.times.size):
            np.testing.assert_array_equal(ours.record(k), theirs.record(k))


def test_a_file_for_each_record(tmp_path):
    path = era5(tmp_path / "e.nc", names=("msl",), packed=False)
    paths = cut(path, tmp_path, *([k] for k in range(4)))
    found = read_weather(paths, UTM, start=DAY).pressure
    np.testing.assert_array_equal(found.instants.times, 3600.0 * np.arange(4))
    with pytest.raises(eagre.InputError, match=r"part1.nc and in .*part3.nc: .* a gap"):
        read_weather([paths[0], paths[1], paths[3]], UTM, start=DAY)
    with pytest.raises(eagre.InputError, match="1 times"):
        read_weather(paths[0], UTM, start=DAY)


def test_names_that_are_asked_for_are_read_in_every_file(tmp_path):
    path = era5(tmp_path / "e.nc", hours=8, packed=False)
    paths = cut(path, tmp_path, slice(0, 3), slice(3, 8))
    found = read_weather(paths, UTM, variables={"pressure": "msl"}, start=DAY)
    assert found.pressure.instants.times.size == 8


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ((slice(0, 4), slice(3, 8)), r"part0.nc and in .*part1.nc: to t = 10800 s and from t = 10800 s, .*over"),
        ((slice(0, 8), slice(2, 4)), "overlap"),
        ((slice(4, 8), slice(0, 3)), r"part1.nc and in .*part0.nc: to t = 7200 s and from t = 14400 s, a gap"),
    ],
)
def test_overlaps_and_gaps_are_told_with_both_files(tmp_path, parts, match):
    paths = cut(era5(tmp_path / "e.nc", names=("msl",), hours=8), tmp_path, *parts)
    with pytest.raises(eagre.InputError, match=match):
        read_weather(paths, UTM, start=DAY)


def test_bounds_that_meet_and_that_do_not(tmp_path):
    path = means(tmp_path / "pr.nc", DAYS)
    first, second, last = cut(path, tmp_path, [0], [1, 2], [2], dim="time")
    ours, theirs = (read_weather(file, UTM, start=DAY).rain for file in ([second, first], path))
    np.testing.assert_allclose(ours.instants.times, theirs.instants.times)
    for k in range(5):
        np.testing.assert_array_equal(ours.record(k), theirs.record(k))
    with pytest.raises(eagre.InputError, match=r"to t = 86400 s and from t = 172800 s, a gap"):
        read_weather([first, last], UTM, start=DAY)


def test_bounds_that_meet_but_for_rounding(tmp_path):
    """A hundredth of a second is a ten-millionth of a day."""
    first, second = cut(means(tmp_path / "pr.nc", DAYS), tmp_path, [0], [1, 2], dim="time")
    with xarray.open_dataset(second, decode_times=False) as dataset:
        held = dataset.load()
    bounds = held["time_bnds"].values.astype(float)
    bounds[0, 0] -= 24e-7  # hours
    held["time_bnds"] = ("time", "nv"), bounds
    held.to_netcdf(second, engine="h5netcdf")
    assert read_weather([first, second], UTM, start=DAY).rain.instants.times.size == 5


def test_the_longest_step_of_both_files_says_what_a_gap_is(tmp_path):
    """Records at 0, 1, 4 and at 8, 9, 12 h: 4 h between the files are 1.33 steps, and of 3 h alone none are missing."""
    path = era5(tmp_path / "e.nc", names=("msl",), hours=16, packed=False)
    paths = cut(path, tmp_path, [0, 1, 4], [8, 9, 12])
    found = read_weather(paths, UTM, start=DAY).pressure.instants.times
    np.testing.assert_array_equal(found, 3600.0 * np.array([0, 1, 4, 8, 9, 12]))
    paths = cut(path, tmp_path, [0, 1, 4], [9, 10])
    with pytest.raises(eagre.InputError, match="a gap longer than the interval of 10800 s"):
        read_weather(paths, UTM, start=DAY)


def test_files_of_other_sorts_and_grids_do_not_join(tmp_path):
    path = era5(tmp_path / "e.nc", names=("tp",), hours=8, packed=False)
    first, second = cut(path, tmp_path, slice(0, 3), slice(3, 8))
    with xarray.open_dataset(second) as dataset:
        rates = dataset.load()
    rates["tp"].attrs["units"] = "m s-1"
    rates.to_netcdf(tmp_path / "rates.nc", engine="h5netcdf")
    with pytest.raises(eagre.InputError, match=r"as amounts in .*part0.nc and as instantaneous values in .*rates.nc"):
        read_weather([first, tmp_path / "rates.nc"], UTM, start=DAY)
    lon, lat = np.arange(13.0, 16.01, 0.05), np.arange(49.0, 46.99, -0.05)
    whole = era5(tmp_path / "fine.nc", names=("tp",), hours=8, lon=lon, lat=lat, packed=False)
    (tmp_path / "fine").mkdir()
    (fine,) = cut(whole, tmp_path / "fine", slice(3, 8))
    with pytest.raises(eagre.InputError, match="different spacings"):
        read_weather([first, fine], UTM, start=DAY)
    (empty,) = cut(path, tmp_path / "fine", slice(0, 0))
    with pytest.raises(eagre.InputError, match="tp without records"):
        read_weather([first, empty], UTM, start=DAY)


def test_what_is_missing_is_told_with_its_file(tmp_path):
    path = era5(tmp_path / "e.nc", names=("msl",), hours=6, packed=False)
    paths = cut(path, tmp_path, slice(0, 3), slice(3, 6))
    with xarray.open_dataset(paths[1]) as dataset:
        holed = dataset.load()
    holed["msl"][1] = np.nan
    holed.to_netcdf(tmp_path / "holed.nc", engine="h5netcdf")
    found = read_weather([paths[0], tmp_path / "holed.nc"], UTM, start=DAY).pressure
    found.record(3)
    with pytest.raises(eagre.InputError, match=r"^[^,]*holed.nc: pressure at t = 14400 s is missing"):
        found.record(4)
