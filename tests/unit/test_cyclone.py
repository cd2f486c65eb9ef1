"""The cyclone of Holland (1980): balance, largest wind, sense, translation, records, and its section of a case file."""

from __future__ import annotations

import math
from datetime import datetime
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eagre
from case_texts import flat_sea
from eagre.config.problems import ConfigError
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.models.shallow_water_adi.config import ShallowWaterADICase
from eagre.time_varying.cyclone import STEPS_A_RADIUS, Track, cyclone_fields, holland

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


OUTER = STILL | {"outer_wind": 17.5, "outer_radius": 250e3}


def oracle_of_2010(r, vm, pc, pn, rm, vn, rn):
    """Winds at the surface of Holland, Belanger and Fritz (2010), their equations (6), (7) and (10), point by point."""
    b = min(max(vm**2 * 1.15 * math.e / (pn - pc), 0.81), 2.025)

    def wind(at, x):
        return vm * ((rm / at) ** b * math.exp(1.0 - (rm / at) ** b)) ** x

    low, high = -5.0, 50.0  # x_n by bisection of V(r_n) = V_n: V falls as x grows
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if wind(rn, middle) > vn else (low, middle)
    xs = [0.5 if one <= rm else 0.5 + (min(one, rn) - rm) * (low - 0.5) / (rn - rm) for one in r]
    pressure = [pc + (pn - pc) * math.exp(-((rm / one) ** b)) for one in r]
    return np.array([wind(one, x) for one, x in zip(r, xs, strict=True)]), np.array(pressure)


@pytest.mark.parametrize("pc", [95e3, 90e3, 99e3])
def test_the_profile_of_2010_is_that_of_its_equations(pc):
    r = np.linspace(1e3, 500e3, 500)
    now = OUTER | {"central_pressure": pc}
    wind_x, wind_y, p = holland(r, 0.0 * r, now, 101_300.0, "holland-2010")
    wind, pressure = oracle_of_2010(r, 45.0, pc, 101_300.0, 40e3, 17.5, 250e3)
    np.testing.assert_allclose(np.hypot(wind_x, wind_y), wind, rtol=1e-12)
    np.testing.assert_allclose(p, pressure, rtol=1e-12)
    assert r[np.argmax(wind)] == 40e3 and wind.max() == pytest.approx(45.0, rel=1e-12)
    assert wind[r == 250e3] == pytest.approx(17.5, rel=1e-12) and (np.diff(wind[r > 40e3]) < 0).all()


def test_the_largest_wind_lies_at_the_radius():
    r = np.linspace(1e3, 300e3, 2991)
    wind = np.hypot(*holland(r, 0.0 * r, STILL, 101_300.0)[:2])
    assert wind.max() == pytest.approx(45.0, rel=1e-4)
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


def largest_total_wind(now, profile):
    """Largest wind speed of the sum of rotation and translation, on a fine polar mesh around the eye."""
    r, angle = np.meshgrid(now["radius"] * np.geomspace(0.05, 10.0, 1600), np.radians(np.arange(0.0, 360.0, 2.0)))
    return np.hypot(*holland(r * np.cos(angle), r * np.sin(angle), now, 101_300.0, profile)[:2]).max()


@pytest.mark.parametrize("profile", ["holland-1980", "holland-2010"])
def test_a_weak_fast_cyclone_blows_as_hard_as_its_track(profile):
    """The track of the issue: 71 m/s and 18.8 m/s for a maximum wind of 18 m/s before."""
    now = {
        "latitude": 20.0, "central_pressure": 97_500.0, "max_wind": 18.0, "radius": 100e3, "u": 20.0, "v": 0.0,
        "outer_wind": 5.0, "outer_radius": 400e3,
    }  # fmt: skip
    assert largest_total_wind(now, profile) == pytest.approx(18.0, rel=1e-3)


@pytest.mark.parametrize("profile", ["holland-1980", "holland-2010"])
@settings(max_examples=60, deadline=None)
@given(
    latitude=st.floats(1.0, 60.0), south=st.booleans(), pressure=st.floats(8.7e4, 101_200.0),
    wind=st.floats(2.0, 113.0), radius=st.floats(5e3, 3e5), u=st.floats(-30.0, 30.0), v=st.floats(-30.0, 30.0),
    outer=st.floats(0.1, 0.45), outside=st.floats(1.5, 6.0),
)  # fmt: skip
def test_the_largest_wind_is_the_wind_of_the_track(
    profile, latitude, south, pressure, wind, radius, u, v, outer, outside
):
    now = {
        "latitude": -latitude if south else latitude, "central_pressure": pressure, "max_wind": wind, "u": u, "v": v,
        "radius": radius, "outer_wind": outer * wind, "outer_radius": outside * radius,
    }  # fmt: skip
    assert largest_total_wind(now, profile) == pytest.approx(wind, rel=2e-3)


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
        ({"outer_wind": [17.5, 38.0], "outer_radius": [200e3, 200e3]}, "38 m/s at outer_radius .* in row 2"),
        ({"outer_wind": [17.5, 17.5], "outer_radius": [200e3, 45e3]}, "radius from 45000 m"),
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


@pytest.mark.parametrize(("kind", "step"), [(ShallowWaterCase, ""), (ShallowWaterADICase, "time_step = 60.0")])
def test_the_section_of_a_case_file(kind, step, tmp_path):
    (tmp_path / "track.csv").write_text(CSV)
    head = HEAD.replace('"shallow-water"', f'"{kind.kind}"')
    case = kind.loads(f'{head}drag = "wu"\n[numerics]\n{step}\n', tmp_path)
    rows, _, bed = case._terrain()
    grid = rows.grid
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
    rows, _, bed = case._terrain()
    grid = rows.grid
    with pytest.raises(ConfigError, match=match) as raised:
        case._sources(grid, bed)
    assert "sources.cyclone" in str(raised.value)


def test_the_profile_of_2010_in_a_case_file(tmp_path):
    """The outer wind, 34 knots unless it is given, at a column of the track; without the column it is refused."""
    lines = zip(CSV.splitlines(), (",outer_radius (km)", ",200", ",150"), strict=True)
    (tmp_path / "track.csv").write_text("\n".join(line + more for line, more in lines))
    text = HEAD + 'profile = "holland-2010"\n'
    found = ShallowWaterCase.loads(text, tmp_path).sources.cyclone
    held = found.read(eagre.Grid(20, 20, 5000.0, 5000.0, 400e3, 2600e3, "EPSG:32617"), datetime(2026, 8, 1))
    np.testing.assert_allclose(held.outer_wind, 34 * 0.514444, rtol=1e-4)
    np.testing.assert_allclose(held.outer_radius, [200e3, 150e3])
    case = ShallowWaterCase.loads(text + 'outer_wind = "30 kn"\n', tmp_path)
    rows, _, bed = case._terrain()
    grid = rows.grid
    wind, _ = case._sources(grid, bed)
    other, _ = ShallowWaterCase.loads(HEAD, tmp_path)._sources(grid, bed)
    assert not np.allclose(wind.x.record(0), other.x.record(0), atol=1.0)
    (tmp_path / "track.csv").write_text(CSV)
    with pytest.raises(ConfigError, match="outer_radius"):
        ShallowWaterCase.loads(text, tmp_path)._sources(grid, bed)
    with pytest.raises(ConfigError, match='profile = "holland-2010"'):
        ShallowWaterCase.loads(HEAD + 'profile = "holland-2011"\n', tmp_path)
    with pytest.raises(eagre.InputError, match="without an outer wind"):
        cyclone_fields(track(), grid, profile="holland-2010")


def test_records_of_a_longer_track():
    """Those of the track are among them; between two of it they are evenly apart, and no further than the eye needs."""
    times = [0.0, 36000.0, 50000.0, 90000.0]
    one = track(
        times=times, x=[0.0, 180e3, 181e3, 300e3], y=[100e3] * 4, latitude=[20.0, 21.0, 21.5, 22.0],
        central_pressure=[95e3] * 4, max_wind=[45.0] * 4, radius=[40e3] * 4,
    )  # fmt: skip
    found = one.instants()
    assert found[0] == 0.0 and found[-1] == 90000.0 and np.isin(times, found).all() and (np.diff(found) > 0.0).all()
    for start, end in pairwise(times):
        own = np.diff(found[(found >= start) & (found <= end)])
        np.testing.assert_allclose(own, own[0], rtol=1e-9)
    assert np.isin([36000.0, 50000.0], found).all() and ((found > 36000.0) & (found < 50000.0)).sum() == 0
    assert (found < 36000.0).sum() == np.ceil(STEPS_A_RADIUS * 180.0 / 40.0)


def test_what_a_cyclone_can_be_at_most():
    """Fields of a run are checked by these."""
    found = cyclone_fields(track(), eagre.Grid(6, 4, 5000.0, 5000.0))
    assert [one.most for one in found] == [150.0, 150.0, 1.09e5]
