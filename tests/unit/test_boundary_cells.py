"""What every open side puts outside, cell by cell as plain Python, against plain formulas; and its arguments."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import oracle.boundaries as plain
from eagre.backend.device import PlainDevice
from eagre.boundaries import Absorbing, Discharge, Inflow, NormalDepth, Outflow, Stage
from eagre.boundaries.base import GhostCell, LineEnd
from eagre.errors import InputError
from eagre.models.shallow_water.kernels import Parameters
from eagre.time_varying.series import Series
from oracle.boundaries import End, Water

P = Parameters(0.65, 1.0 / 2.6, 1e-4, 1e-16, 1e-7, 9.81, 1.0, 1.0, 0.0, 0.0)


def ghosts_of(kind, away, **switches):
    """The ghost `away` cells outside: a function (bed, face, first, second, mirrored, value, level)."""
    ghost = PlainDevice().program(kind.ghost, "double", switches)

    def one(bed, face, first, second, mirrored, value=0.0, level=0.0):
        near, copied = ((water.surface, water.across, water.along) for water in (first, mirrored))
        inner = (second.surface, second.across, second.bed)
        return ghost(GhostCell(near, inner, copied, first.bed, bed, face, float(away)), value, level, P)

    return one


def cells(rng, count, level=False):
    """Water in two cells, the bed of a ghost one or two cells outside and of the face: slow, fast, thin, or none.

    level : whether the bed of the ghost is that of the face where it rises
    """
    for k in range(count):
        away = 1 + k % 2
        first_bed, slope = rng.uniform(-0.5, 0.5), rng.choice([0.0, 0.02, 0.4, 2.0]) * rng.uniform(-1, 1)
        found = []
        for bed in (first_bed, first_bed - slope * rng.choice([1.0, 1.0, 2.5])):
            depth = rng.choice([0.0, 0.0, 1e-5, 0.02, 0.3, 1.0, 1.0, 2.0]) * rng.uniform(0.7, 1.3)
            across = depth * rng.choice([0.1, 0.5, 1.0, 2.0]) * rng.uniform(-1, 1) * math.sqrt(9.81 * depth)
            found.append(Water(bed, bed + depth, across, depth * rng.uniform(-1, 1)))
        if k % 3 == 0:  # a smooth surface and a smooth flow
            near = found[0]
            depth = max(near.depth + slope + rng.uniform(-0.02, 0.02), 0.0)
            found[1] = Water(found[1].bed, found[1].bed + depth, near.across * rng.uniform(0.97, 1.03), near.along)
        face = first_bed + 0.5 * slope
        yield away, (face if level and slope > 0.0 else first_bed + away * slope), face, *found, found[away - 1]


def assert_same(got, expected, *state):
    wanted = (expected.surface, expected.across, expected.along)
    assert got == pytest.approx(wanted, rel=1e-9, abs=2e-11), state


@pytest.mark.parametrize(("kind", "formula"), [(Stage, "stage"), (Absorbing, "absorbing"), (Outflow, "outflow"),
                                               (NormalDepth, "normal_depth")])  # fmt: skip
def test_what_stands_outside(kind, formula, rng):
    ghosts = {away: ghosts_of(kind, away) for away in (1, 2)}
    for away, bed, face, first, second, mirrored in cells(rng, 2000, kind is Stage):
        level, wave, rating = rng.uniform(-1, 2), rng.uniform(-0.3, 0.3), rng.uniform(0.2, 8.0)
        if formula == "stage":
            value, expected = level, plain.stage(level, bed, face, away, first, second, mirrored)
        elif formula == "absorbing":
            value, expected = wave, plain.absorbing(wave, level, bed, away, first, second)
        elif formula == "normal_depth":
            value, expected = rating, plain.normal_depth(rating, bed, first)
        else:
            value, expected = 0.0, plain.outflow(bed, first)
        got = ghosts[away](bed, face, first, second, mirrored, value, level)
        assert_same(got, expected, away, bed, first, second, level, wave, rating)


@pytest.mark.parametrize("of_discharges", [False, True])
@pytest.mark.parametrize("kind", [Discharge, Inflow])
def test_what_brings_a_discharge(kind, of_discharges, rng):
    ghosts = {away: ghosts_of(kind, away, OF_DISCHARGES=of_discharges) for away in (1, 2)}
    for away, bed, face, first, second, mirrored in cells(rng, 2000, level=True):
        depth = rng.choice([0.1, 0.5, 1.5]) * rng.uniform(0.7, 1.3)
        rate = rng.choice([0.01, 0.2, 1.0, 10.0]) * rng.uniform(-1.0, 1.0) * 5.0 * depth**1.5
        if kind is Inflow:
            rate = abs(rate)
            expected = plain.inflow(rate, depth, bed, face, away, first, of_discharges)
        else:
            expected = plain.discharge(rate, bed, face, away, first, second, of_discharges)
        got = ghosts[away](bed, face, first, second, mirrored, rate, depth)
        assert_same(got, expected, away, bed, first, second, rate, depth)


ROWS = {
    "stage": (Stage.line_end, plain.stage_row),
    "discharge": (Discharge.line_end, plain.discharge_row),
    "discharge in a corner": (Discharge.line_end_in_corner, partial(plain.discharge_row, part=1 / 6)),
    "absorbing": (Absorbing.line_end, plain.absorbing_row),
    "normal": (NormalDepth.line_end, plain.normal_row),
}


@pytest.mark.parametrize("friction", [0, 1, 3])
@pytest.mark.parametrize(("drying", "convection"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("kind", ROWS)
def test_row_of_a_face_of_the_implicit_model(kind, drying, convection, friction, rng):
    switches = {"DRYING": drying, "CONVECTION": convection, "FRICTION": friction}
    end_cell, formula = ROWS[kind]
    row = PlainDevice().program(end_cell, "double", switches)
    for _ in range(300):
        dx, dt, into = rng.uniform(0.5, 20.0), rng.uniform(0.05, 5.0), int(rng.choice([-1, 1]))
        bed = rng.choice([0.0, 0.0, 0.0, 0.0, 1e30]) + rng.uniform(-1, 1)
        depth = rng.choice([-0.1, 0.0, 1e-4, 0.2, 2.0]) * rng.uniform(0.5, 1.5)
        flux = rng.choice([0.0, 0.1, 1.0, 3.0]) * rng.uniform(-1, 1) * max(depth, 0.01) ** 1.5
        end = End(
            into, bed + depth, bed, bed + depth + rng.uniform(-0.1, 0.1), flux, tuple(rng.uniform(-2, 2, 2)),
            dx, dt, 1e-3 if drying else 1e-6, drying, convection, rng.uniform(0.0, 0.05) if friction else 0.0,
            friction < 3,
        )  # fmt: skip
        value = bed + rng.choice([-0.5, 0.0005, 0.3, 2.0]) if bed < 1e20 else 0.5
        value = abs(value) if kind == "normal" else value
        value *= -rng.choice([-1.0, 1.0, 30.0]) if "discharge" in kind else 1.0
        p = SimpleNamespace(
            w=dt / (4 * dx), g=9.81, push=dt * 9.81 / (2 * dx), over_g=1 / 9.81, dry=1e-3, cell_speed=dx / dt
        )
        carried = tuple(dt / dx * one for one in end.passed) if convection else (0.0, 0.0)
        got = row(value, LineEnd(into, end.surface, bed, flux, carried, end.known, dt * end.drag), p)
        expected = plain.row_of(lambda a, b: formula(value, end, a, b))  # noqa: B023
        assert got == pytest.approx(expected, rel=1e-9, abs=1e-9), (end, value)


@pytest.mark.parametrize(
    ("argument", "make"),
    [
        ("level", lambda: Absorbing(level=TIDE)),
        ("slope", lambda: NormalDepth(TIDE, 0.03)),
        ("manning", lambda: NormalDepth(1e-3, TIDE)),
        ("depth", lambda: Inflow(FLOOD, TIDE)),
        ("depth", lambda: Inflow(FLOOD, lambda t: 0.3)),
        ("level", lambda: Absorbing(level=True)),
    ],
)
def test_arguments_that_cannot_vary(argument, make):
    with pytest.raises(InputError, match=f"argument {argument} is not a number.*\n.*\n?.*a number(?!, or a Series)"):
        make()


# -- arguments -----------------------------------------------------------------------------------------------------

TIDE = Series([0.0, 10.0, 20.0], [0.2, 1.4, -0.3])
FLOOD = Series([0.0, 10.0, 20.0], [6.0, 24.0, 12.0])


def test_numbers_of_conditions():
    """What cells get: of a level itself, of a wave its elevation, twice that in a line, of a discharge its share."""
    assert Stage(TIDE).value(3.0)(10.0) == 1.4 and Stage(0.7).line_series(3.0)(0.0) == 0.7
    wave = Absorbing(TIDE, level=0.5)
    assert wave.value(3.0)(10.0) == 1.4 and wave.line_series(3.0)(10.0) == pytest.approx(0.5 + 2.8)
    assert wave.line_series(3.0)(5.0) == pytest.approx(0.5 + 2.0 * 0.8) and wave.still_level() == 0.5
    still = Absorbing(level=0.0)
    assert still.value(1.0)(0.0) == still.line_series(1.0)(0.0) == still.still_level() == 0.0
    assert Discharge(FLOOD).value(3.0)(10.0) == 8.0 and Discharge(6.0).line_series(3.0)(0.0) == 2.0
    assert Inflow(FLOOD, 0.3).value(3.0)(5.0) == 5.0 and Inflow(FLOOD, 0.3).still_level() == 0.3
    assert NormalDepth(0.0016, 0.02).value(3.0)(0.0) == pytest.approx(2.0, rel=1e-14)
    assert Outflow().value(3.0)(0.0) == Outflow().still_level() == Stage(1.0).still_level() == 0.0


def test_over_a_datum():
    """Elevations move with it, depths and waves do not: 1 for `value`, 2 for `still_level`."""
    assert [one.elevations for one in (Stage(1.0), Absorbing(), Inflow(9.0, 0.3), Discharge(1.0))] == [3, 2, 0, 2]
    assert Absorbing(level=0.5).level_over(2.0) == -1.5 and Inflow(9.0, 0.3).level_over(2.0) == 0.3


@pytest.mark.parametrize(
    ("condition", "deepest", "highest", "most"),
    [
        (Stage(TIDE), 1.4 + 0.9, 1.4, 0.0),
        (Stage(0.7), 0.0, 0.7, 0.0),
        (Stage(Series([0.0, 1.0], [-2.0, -1.0])), 0.0, -1.0, 0.0),
        (Absorbing(TIDE, level=0.5), 0.5 + 1.4 + 0.9, 0.5 + 2.8, 0.0),
        (Absorbing(0.3, level=0.5), 0.0, 0.5 + 0.6, 0.0),
        (Absorbing(Series([0.0, 1.0], [-2.0, -1.0]), level=0.5), 0.4, 0.5, 0.0),
        (Absorbing(Series([0.0, 1.0], [-2.0, -1.0]), level=-0.5), 0.0, -0.5, 0.0),
        (Discharge(FLOOD), (8.0**2 / 9.81) ** (1 / 3), -math.inf, 24.0),
        (Discharge(6.0), 0.0, -math.inf, 6.0),
        (Discharge(Series([0.0, 1.0], [-2.0, -1.0])), 0.0, -math.inf, 0.0),
        (Inflow(FLOOD, 0.3), (8.0 / 0.3 + math.sqrt(9.81 * 0.3)) ** 2 / 9.81, -math.inf, 24.0),
        (Inflow(6.0, 0.3), 0.0, -math.inf, 6.0),
        (Outflow(), 0.0, -math.inf, 0.0),
        (NormalDepth(1e-3, 0.03), 0.0, -math.inf, 0.0),
    ],
)
def test_what_water_a_condition_may_bring(condition, deepest, highest, most):
    """On a side 3 m wide above -0.9 m: for depth that comes later, waves as fast; head; discharge."""
    assert condition.deepest_arrival(3.0, -0.9, 9.81) == pytest.approx(deepest, rel=1e-14)
    assert condition.highest_level() == pytest.approx(highest, rel=1e-14)
    assert condition.max_inflow() == most
    given = condition.prescribed_discharge()
    assert (given is not None) == isinstance(condition, (Discharge, Inflow))
    assert given is None or given.values.max() == Series.of(condition.rate).values.max()


def test_an_inflow_is_faster_than_its_waves():
    """sqrt(g h^3) of 0.3 m is 0.5147 m2/s, of 4 m 25.06 m2/s; the series' least counts."""
    for depth, critical in ((0.3, 0.51465522), (4.0, 25.05673562)):
        Inflow(3.0 * critical * 1.000001, depth).check("west", 3.0, 9.81)
        slow = Series([0.0, 1.0], [9e3, 3.0 * critical * 0.999999])
        with pytest.raises(InputError, match=f"more than {3.0 * critical:.4g} m3/s on 3 m"):
            Inflow(slow, depth).check("west", 3.0, 9.81)
    Inflow(0.1, 0.01).check("west", 3.0, 9.81)
    for depth in (0.0, -0.1):
        with pytest.raises(InputError, match="depth = "):
            Inflow(9.0, depth).check("west", 3.0, 9.81)


def test_a_normal_depth_needs_a_slope_and_a_roughness():
    NormalDepth(1e-6, 3e-3).check("west", 3.0, 9.81)
    for slope, manning in ((0.0, 0.03), (-1e-3, 0.03), (math.inf, 0.03), (1e-3, 0.0), (1e-3, math.nan)):
        with pytest.raises(InputError, match=f"{'slope' if slope != 1e-3 else 'manning'} = "):
            NormalDepth(slope, manning).check("west", 3.0, 9.81)


@pytest.mark.parametrize(
    ("depth", "outwards", "words"),
    [
        (1.0, 0.3 * 3.132, "1 of 3 cells (Froude number 0.3)"),
        (0.25, 0.9 * 1.566, "1 of 3 cells (Froude number 0.9)"),
        (4.0, 1.1 * 6.264, ""),  # faster than its waves
        (1.0, -0.5 * 3.132, ""),  # comes in
        (1.0, 0.04 * 3.132, ""),  # hardly moves
        (0.0009, 0.5 * 0.09396, ""),  # a film
    ],
)
def test_what_an_outflow_says_of_slow_water(depth, outwards, words):
    found = Outflow().note(np.array([1.0, depth, 0.0]), np.array([0.0, outwards, 0.0]), 9.81)
    assert words in found and bool(found) == bool(words)


def test_the_slowest_water_is_named():
    found = Outflow().note(np.array([1.0, 1.0]), np.array([0.3, 0.6]) * 3.132, 9.81)
    assert "2 of 2 cells (Froude number 0.3)" in found


@pytest.mark.parametrize(
    ("make", "fix"),
    [
        (lambda: Stage("1 m"), "Stage(level=1.5)"),
        (lambda: Discharge("2 m3/s"), "Discharge(rate=0.5)"),
        (lambda: Absorbing(incoming="0 m"), "Absorbing(incoming=0.0)"),
    ],
)
def test_an_argument_that_is_no_number_is_refused_at_once(make, fix):
    with pytest.raises(InputError, match="a number, or a Series") as error:
        make()
    assert error.value.fix == fix
