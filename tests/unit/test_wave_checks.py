"""Waves that contradict their basin: across a flume, out of the basin, of another depth, off the period."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.boundaries.wave_checks import check_initial, check_zones
from eagre.models.potential_waves.config import PotentialWavesCase
from eagre.waves import AiryWave, CosineSpreading, FocusedGroup, Jonswap, LinearWaves, Sea

FLUME, BASIN = Grid.from_points(33, 1, 16.0, 1.0), Grid.from_points(33, 33, 16.0, 16.0)
ALONG_Y = Grid.from_points(1, 33, 1.0, 16.0)
WALLS, PERIODIC_X, PERIODIC_Y = (False, False), (False, True), (True, False)
LEVEL = 0.4
INWARD = {"west": 0.0, "south": 90.0, "east": 180.0, "north": 270.0}


def airy(degrees=0.0, depth=LEVEL, length=2.0):
    return AiryWave(0.01, depth, length=length, direction=math.radians(degrees))


def check(waves, side="west", grid=BASIN, depth: float | np.ndarray = LEVEL, periodic=WALLS, others=()):
    check_zones([RelaxationZone(side, 4.0, 2.0, waves), *others], np.broadcast_to(depth, grid.shape), grid, periodic)


@pytest.mark.parametrize("degrees", [0.5, 0.0])
def test_waves_along_a_flume(degrees):
    check(airy(degrees), grid=FLUME)
    check(airy(90.0 + degrees), "south", ALONG_Y)


@pytest.mark.parametrize(
    ("waves", "side", "grid"),
    [
        (airy(45.0), "west", FLUME), (airy(90.0), "west", FLUME), (airy(60.0), "south", ALONG_Y),
        (Sea(Jonswap(0.01, 2.0), LEVEL, count=50, spreading=CosineSpreading(10.0)), "west", FLUME),
    ],
)  # fmt: skip
def test_waves_across_a_flume(waves, side, grid):
    with pytest.raises(InputError, match="at an angle to the axis of the flume"):
        check(waves, side, grid)


@pytest.mark.parametrize("side", INWARD)
def test_waves_out_of_the_basin(side):
    for turn in (0.0, 60.0, -80.0):
        check(airy(INWARD[side] + turn), side)
    for turn in (180.0, 120.0, 90.0):
        with pytest.raises(InputError, match="travel out of the basin"):
            check(airy(INWARD[side] + turn), side)
    spread = Sea(Jonswap(0.01, 2.0), LEVEL, count=50, spreading=CosineSpreading(2.0),
                 mean_direction=math.radians(INWARD[side]))  # fmt: skip
    check(spread, side)


def test_a_wave_that_enters_by_one_zone_may_leave_by_another():
    """The zones of three sides hold the surface of one wave; without the one in the west it comes from nowhere."""
    south, east = RelaxationZone("south", 4.0, 2.0, airy()), RelaxationZone("east", 4.0, 2.0, airy())
    check(airy(), others=[south, east])
    with pytest.raises(InputError, match="travel out of the basin"):
        check_zones([south, east], np.full(BASIN.shape, LEVEL), BASIN, WALLS)


def test_waves_of_another_depth():
    with pytest.raises(InputError, match="another depth"):
        check(airy(depth=4.0))
    check(airy(depth=0.41))
    slope = 0.6 - 0.02 * BASIN.x  # 0.6 to 0.52 m in the zone
    check(airy(depth=0.55), depth=slope)
    with pytest.raises(InputError, match=r"0.52 to 0.6 m deep"):
        check(airy(depth=0.3), depth=slope)
    for depth in (3.0, math.inf):  # deep water: no wave of 2 m in length feels a bed below 1 m
        check(airy(depth=depth), depth=2.0)


@pytest.mark.parametrize(("length", "fits"), [(4.0, True), (3.2, True), (3.0, False), (20.0, False), (16.005, True)])
def test_regular_waves_in_periodic_basins(length, fits):
    grids = {PERIODIC_X: (Grid.from_points(32, 1, 16.0, 1.0, periodic=(True, False)), 0.0),
             PERIODIC_Y: (Grid.from_points(1, 32, 1.0, 16.0, periodic=(False, True)), 90.0)}  # fmt: skip
    for periodic, (grid, degrees) in grids.items():
        arguments = airy(degrees, length=length), np.full(grid.shape, LEVEL), grid, periodic
        if fits:
            check_initial(*arguments)
            continue
        with pytest.raises(InputError, match="does not repeat over the basin") as caught:
            check_initial(*arguments)
        assert f"length = {16.0 / max(1, round(16.0 / length)):.6g}" in str(caught.value)


def test_oblique_waves_beside_a_periodic_axis():
    """A zone in the west of a basin that is periodic along y: sin(direction) / length fits 16 m."""
    grid = Grid.from_points(33, 32, 16.0, 16.0, periodic=(False, True))
    check(airy(30.0, length=4.0), grid=grid, periodic=PERIODIC_Y)
    with pytest.raises(InputError, match="periodic along y"):
        check(airy(20.0, length=4.0), grid=grid, periodic=PERIODIC_Y)


def test_seas_beside_a_periodic_axis():
    """A directional sea has a step at the period; a sea across the axis, waves that fit and a group have none."""
    grids = {"west": (Grid.from_points(33, 32, 16.0, 16.0, periodic=(False, True)), PERIODIC_Y, "y"),
             "north": (Grid.from_points(32, 33, 16.0, 16.0, periodic=(True, False)), PERIODIC_X, "x")}  # fmt: skip
    for side, (grid, periodic, name) in grids.items():
        mean = math.radians(INWARD[side])
        check(Sea(Jonswap(0.01, 2.0), LEVEL, count=50, mean_direction=mean), side, grid=grid, periodic=periodic)
        group = FocusedGroup(Jonswap(0.1, 2.0), LEVEL, crest_height=0.02, x=8.0, y=8.0, mean_direction=mean)
        check(group, side, grid=grid, periodic=periodic)
        along = 2.0 * np.pi * np.array([-2.0, 0.0, 3.0]) / 16.0
        k = np.hypot(along, 2.0)
        omega = np.sqrt(9.80665 * k * np.tanh(k * LEVEL))
        for factor, fits in ((1.0, True), (1.1, False)):
            waves = LinearWaves(amplitude=0.01, angular_frequency=omega, depth=LEVEL,
                                direction=mean + np.arcsin(factor * along / k))  # fmt: skip
            if fits:
                check(waves, side, grid=grid, periodic=periodic)
                continue
            with pytest.raises(InputError, match=f"periodic along {name}"):
                check(waves, side, grid=grid, periodic=periodic)
        sea = Sea(Jonswap(0.01, 2.0), LEVEL, count=50, spreading=CosineSpreading(10.0), mean_direction=mean)
        with pytest.raises(InputError, match=f"a step along {name} of 1.* % of the elevation"):
            check(sea, side, grid=grid, periodic=periodic)
        check(sea, side)


def test_seas_and_groups_in_periodic_basins():
    grid = Grid.from_points(400, 1, 100.0, 1.0, periodic=(True, False))
    depth = np.full(grid.shape, LEVEL)
    group = FocusedGroup(Jonswap(0.1, 2.0), LEVEL, crest_height=0.02, x=50.0, count=400)
    check_initial(group, depth, grid, PERIODIC_X)
    k = 2.0 * np.pi * np.array([20.0, 25.0]) / 100.0
    both = LinearWaves(amplitude=0.01, angular_frequency=np.sqrt(9.80665 * k * np.tanh(k * LEVEL)), depth=LEVEL)
    check_initial(both, depth, grid, PERIODIC_X)
    with pytest.raises(InputError, match="do not repeat over the basin"):
        check_initial(Sea(Jonswap(0.02, 2.0), LEVEL, count=50), depth, grid, PERIODIC_X)


@pytest.mark.parametrize(
    ("text", "key", "words"),
    [
        (
            '[[relaxation_zones]]\nside = "west"\nwidth = 4\nwave = {W, direction = "90 deg"}\n',
            "relaxation_zones[1]",
            "axis of the flume",
        ),
        (
            '[[relaxation_zones]]\nside = "west"\nwidth = 4\nwave = {W, direction = "180 deg"}\n',
            "relaxation_zones[1]",
            "out of the basin",
        ),
        (
            '[[relaxation_zones]]\nside = "west"\nwidth = 4\ndepth = 4.0\nwave = {W}\n',
            "relaxation_zones[1]",
            "another depth",
        ),
        ("[initial]\ndepth = 4.0\nwave = {W}\n", "initial.wave", "another depth"),
        ('[initial]\nwave = {W, direction = "45 deg"}\n', "initial.wave", "axis of the flume"),
    ],
)
def test_case_files_name_the_key(text, key, words):
    head = 'model = "potential-waves"\n[run]\nend_time = 1\ndevice = "cpu"\n'
    basin = "[basin]\nnx = 33\nlength_x = 16.0\ndepth = 0.4\n"
    case = PotentialWavesCase.loads(head + basin + text.replace("W", 'kind = "airy", height = 0.01, period = "2 s"'))
    with pytest.raises(InputError) as caught:
        case.build()
    assert key in str(caught.value) and words in str(caught.value)
