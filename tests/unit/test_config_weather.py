"""The section [sources.weather] of a case file."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from case_texts import flat_sea
from eagre.config.problems import ConfigError
from eagre.models.shallow_water.config import ShallowWaterCase
from unit.test_io_weather import era5

SECTION = '[sources.weather]\nfile = "era5.nc"'
HEAD = flat_sea("EPSG:32633", 2000.0, "[400e3, 416e3, 5300e3, 5312e3]", "2026-01-31", "3 h", 10.0, SECTION)


@pytest.fixture
def case(tmp_path):
    """A function that reads a case beside a file of ERA5, with more lines in its section."""
    era5(tmp_path / "era5.nc")
    return lambda more="", head=HEAD: ShallowWaterCase.loads(head + more, tmp_path)


def terms_of_case(case):
    rows, _, bed = case._terrain()
    grid = rows.grid
    return {type(term).__name__: term for term in case._sources(grid, bed)}


def test_what_the_file_has_is_used(case):
    made = terms_of_case(case('drag = "garratt"\nlargest_drag = 2e-3'))
    assert list(made) == ["WeatherRain", "WeatherWind", "WeatherPressure"]
    assert made["WeatherWind"].law == (0.75e-3, 0.067e-3, 0.0, 2e-3)
    np.testing.assert_allclose(made["WeatherPressure"].pressure.record(0).mean(), 1e5, atol=200.0)


def test_parts_are_left_out_and_named(case):
    made = terms_of_case(case('rain = false\nwind = ["u10", "v10"]\npressure = "msl"\ndrag = 1.5e-3'))
    assert list(made) == ["WeatherWind", "WeatherPressure"]
    assert made["WeatherWind"].law == (1.5e-3, 0.0, 0.0, 1.5e-3)


@pytest.mark.parametrize(
    ("more", "head", "match"),
    [
        ('drag = "gharat"', HEAD, "garratt"),
        ('wind = "u10"', HEAD, "both components"),
        ('rain = "tpp"', HEAD, "tpp"),
        ("", HEAD.replace("3 h", "4 h"), "covers the whole run"),
        ("", HEAD.replace("start_date = 2026-01-31\n", ""), "start_date"),
        ("", HEAD.replace('"EPSG:32633"', '"EPSG:32640"'), "covers the domain"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(case, more, head, match):
    with pytest.raises(ConfigError, match=match) as raised:
        terms_of_case(case(more, head))
    assert "sources.weather" in str(raised.value)


def test_missing_rain_is_what_is_asked_and_missing_pressure_is_told(case, tmp_path):
    """As ERA5-Land has no rain over the sea."""
    with xarray.open_dataset(tmp_path / "era5.nc") as dataset:
        held = dataset.load()
    for name in ("tp", "msl"):
        held[name] = held[name].where(held.longitude < 13.6)
        held[name].encoding.clear()
    held.to_netcdf(tmp_path / "land.nc", engine="h5netcdf")
    head = HEAD.replace("era5.nc", "land.nc")
    with pytest.raises(ConfigError, match=r"sources.weather.file[^$]*land.nc: rain at t = .* is missing"):
        terms_of_case(case("pressure = false", head))
    rain = terms_of_case(case("nodata = 0.0\npressure = false", head))["WeatherRain"].rate.record(1)
    assert rain.min() == 0.0 and rain.max() > 5e-8
    with pytest.raises(ConfigError, match=r"sources.weather.file[^$]*land.nc: pressure at t = 0 s is missing"):
        terms_of_case(case("nodata = 0.0", head))


def test_several_files_have_quantities_of_their_own(case, tmp_path):
    """Instants in one and sums in the other, at other times; what both have is asked for."""
    era5(tmp_path / "instant.nc", names=("u10", "v10", "msl"))
    era5(tmp_path / "accum.nc", names=("tp",), hours=5)
    two = HEAD.replace('"era5.nc"', '["instant.nc", "accum.nc"]')
    ours, theirs = (terms_of_case(case("", head)) for head in (two, HEAD))
    assert list(ours) == list(theirs)
    np.testing.assert_array_equal(ours["WeatherWind"].x.record(1), theirs["WeatherWind"].x.record(1))
    np.testing.assert_allclose(ours["WeatherRain"].rate.record(2), theirs["WeatherRain"].rate.record(2), rtol=1e-3)
    named = terms_of_case(case('rain = "tp"\nwind = ["u10", "v10"]', two))
    assert list(named) == list(theirs)
    both = HEAD.replace('"era5.nc"', '["era5.nc", "accum.nc"]')
    with pytest.raises(ConfigError, match=r"rain in .*era5.nc and in .*accum.nc: .* overlap"):
        terms_of_case(case("", both))
    with pytest.raises(ConfigError, match="tpp"):
        terms_of_case(case('rain = "tpp"', two))
    with pytest.raises(ConfigError, match="at least one file"):
        case("", HEAD.replace('"era5.nc"', "[]"))
