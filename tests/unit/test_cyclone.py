"""The cyclone of Holland (1980): balance, largest wind, sense, translation, records, and its section of a case file."""

from __future__ import annotations

import math

import numpy as np
import pytest

import eagre
from case_texts import flat_sea
from eagre.config.problems import ConfigError
from eagre.cyclone import Track, cyclone_fields, holland
from eagre.models.shallow_water.config import ShallowWaterCase

STILL = {"latitude": 20.0, "central_pressure": 95e3, "max_wind": 45.0, "radius": 40e3, "u": 0.0, "v": 0.0}


def track(**other):
    values = {
        "times": [0.0, 36000.0], "x": [0.0, 180e3], "y": [100e3, 100e3], "latitude": [20.0, 21.0],
        "central_pressure": [95e3, 96e3], "max_wind": [45.0, 40.0], "radius": [40e3, 45e3],
    }  # fmt: skip
    return Track(**{name: np.array(value) for name, value in (values | other).items()})


def test_the_wind_balances_the_pressure():
    """V^2 / r + f V = (1/rho) dp/dr above the boundary layer, by differences of the pressure."""
    r = np.linspace(10e3, 300e3, 2901)
    wind_x, wind_y, p = holland(r, 0.0 * r, STILL, 101_300.0)
    gradient = np.hypot(wind_x, wind_y) / 0.9
    f = 2.0 * 7.292115e-5 * math.sin(math.radians(20.0))
    np.testing.assert_allclose((gradient**2 / r + f * gradient)[1:-1], np.gradient(p, r)[1:-1] / 1.15, rtol=1e-3)


def test_the_largest_wind_lies_at_the_radius():
    r = np.linspace(1e3, 300e3, 2991)
    wind = np.hypot(*holland(r, 0.0 * r, STILL, 101_300.0)[:2])
    assert wind.max() == pytest.approx(45.0, rel=0.03)  # but for f r / 2
    assert r[np.argmax(wind)] == pytest.approx(40e3, rel=0.03)
    assert holland(np.zeros(1), np.zeros(1), STILL, 101_300.0)[2][0] == pytest.approx(95e3)


@pytest.mark.parametrize(("latitude", "sense"), [(20.0, 1.0), (-20.0, -1.0)])
def test_it_turns_left_in_the_north_and_blows_inwards(latitude, sense):
    east = np.array([50e3])
    wind_x, wind_y, _ = holland(east, 0.0 * east, STILL | {"latitude": latitude}, 101_300.0)
    assert sense * wind_y[0] > 20.0
    assert math.degrees(math.atan2(-wind_x[0], sense * wind_y[0])) == pytest.approx(20.0)


def test_the_wind_is_stronger_right_of_the_way_and_no_stronger_than_the_track_says():
    moving = STILL | {"u": 0.0, "v": 8.0}
    side = np.array([40e3, -40e3])
    right, left = np.hypot(*holland(side, 0.0 * side, moving, 101_300.0)[:2])
    assert right - left > 6.0
    assert 40.0 < right < 45.0


def test_records_follow_the_eye():
    """Between records, which are near each other, the linear field is near the cyclone itself."""
    grid = eagre.Grid(60, 40, 5000.0, 5000.0)
    one = track()
    wind_x, _, pressure = cyclone_fields(one, grid)
    assert np.diff(pressure.instants.times).max() <= 36000.0 / 22.0
    x, y = np.meshgrid(*pressure.nodes.points(grid))
    time = float(pressure.instants.times[3:5].mean())
    now = one.at(time)
    exact = holland(x - now["x"], y - now["y"], now, 101_300.0)
    np.testing.assert_allclose(pressure.at(time), exact[2], atol=60.0)  # of 6300 Pa
    assert np.sqrt(np.mean((wind_x.at(time) - exact[0]) ** 2)) < 0.5
    assert now["x"] == pytest.approx(5.0 * time) and now["central_pressure"] == pytest.approx(95e3 + time / 36.0)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"radius": [40.0, 45.0]}, "radius"),
        ({"latitude": [-1.0, 1.0]}, "hemisphere"),
        ({"times": [0.0, 0.0]}, "increasing"),
        ({"central_pressure": [950.0, 960.0]}, "central_pressure"),
    ],
)
def test_a_track_that_cannot_be_is_refused(wrong, match):
    with pytest.raises(eagre.InputError, match=match):
        track(**wrong)


SECTION = '[sources.cyclone]\ntrack = "track.csv"'
HEAD = flat_sea("EPSG:32617", 5000.0, "[400e3, 500e3, 2600e3, 2700e3]", "2026-08-01", "6 h", 50.0, SECTION)
CSV = (
    "time,lon,lat,pressure (hPa),wind (kn),radius (km)\n"
    "2026-08-01T00:00:00,-81.5,23.5,955,80,35\n2026-08-01T06:00:00,-81.8,24.4,950,85,30\n"
)


def test_the_section_of_a_case_file(tmp_path):
    (tmp_path / "track.csv").write_text(CSV)
    case = ShallowWaterCase.loads(HEAD + 'drag = "wu"\n', tmp_path)
    grid, _, bed = case._terrain()
    wind, pressure = case._sources(grid, bed)
    assert wind.law[:2] == (0.8e-3, 0.065e-3)
    found = case.sources.cyclone.read(grid, case.run.start_date)
    np.testing.assert_allclose(found.max_wind, np.array([80.0, 85.0]) * 1852.0 / 3600.0)
    np.testing.assert_allclose(found.radius, [35e3, 30e3])
    np.testing.assert_allclose(found.x, [449e3, 419e3], atol=2e3)  # half a degree west of 81 W, at 24 N
    low = np.unravel_index(np.argmin(pressure.pressure.record(0)), pressure.pressure.nodes.shape)
    assert low[0] == 0 and pressure.pressure.record(0).min() > 95_500.0  # it comes from the south


@pytest.mark.parametrize(
    ("head", "csv", "match"),
    [
        (HEAD.replace("6 h", "7 h"), CSV, "covers the whole run"),
        (HEAD, CSV.replace("wind", "wint"), "wind"),
        (HEAD.replace('crs = "EPSG:32617"\n', ""), CSV, "crs"),
        (HEAD, CSV.replace("lon,lat", "x,y"), "latitude"),
    ],
)
def test_what_cannot_be_is_refused_with_its_key(tmp_path, head, csv, match):
    (tmp_path / "track.csv").write_text(csv)
    case = ShallowWaterCase.loads(head, tmp_path)
    grid, _, bed = case._terrain()
    with pytest.raises(ConfigError, match=match) as raised:
        case._sources(grid, bed)
    assert "sources.cyclone" in str(raised.value)
