"""What the water of a case can reach: bounds worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

import eagre
from eagre.stepping.plausibility import (
    Excess,
    PlausibilityBounds,
    cell_of_extreme,
    highest_surface,
    plausibility_bounds,
)
from eagre.terms.collect import terms_of

GRID = eagre.Grid(30, 10, 10.0, 8.0)
LONG = math.hypot(300.0, 80.0)
BED = np.linspace(-5.0, 3.0, 300).reshape(10, 30)
G = 10.0


def reach(sources=(), manning=0.03, **sides):
    segments = eagre.Boundaries(**sides).segments(GRID)
    terms = terms_of(sources, GRID)
    return plausibility_bounds(GRID, BED, segments, terms, G, 7.0, manning=manning, thinnest=0.01)


def test_nothing_comes_in():
    assert reach() == PlausibilityBounds(-5.0, -4.99, 0.0, 0.0, 7.0, G, 0.0)


def test_levels_and_waves():
    level = eagre.Series(np.array([0.0, 10.0]), np.array([1.0, 4.0]))
    found = reach(west=eagre.Stage(level), east=eagre.Absorbing(0.5, level=2.0))
    assert found == PlausibilityBounds(-5.0, 4.0, 0.0, 0.0, 7.0, G, math.inf)


def test_rain_falls_from_the_highest_bed():
    found = reach([eagre.Rain(1e-4, pattern=np.linspace(0.0, 2.0, 300).reshape(10, 30))])
    assert found == PlausibilityBounds(-5.0, 3.0, 2e-4, 0.0, 7.0, G, math.inf)


@pytest.mark.parametrize("manning", [0.0, 0.03])
def test_a_discharge_stands_as_high_as_it_needs_to_enter(manning):
    """All through one cell: over a weir, 3/2 (q^2 / g)^(1/3), and against friction, (13/3 n^2 q^2 L)^(3/13)."""
    found, q = reach(manning=manning, west=eagre.Discharge(40.0), south=eagre.Discharge(-60.0)), 40.0 / 8.0
    rubs = (13 / 3 * manning**2 * q**2 * LONG) ** (3 / 13)
    assert found.head == pytest.approx(3.0 + 1.5 * (q**2 / G) ** (1 / 3) + rubs, rel=1e-12)
    assert found.filling == pytest.approx(40.0 / (300.0 * 80.0)) and found.energy == math.inf


@pytest.mark.parametrize(
    ("source", "stress", "acceleration"),
    [
        (eagre.WindStress(2.0, -3.0), 0.005, 0.0),
        (eagre.BodyForce(0.02, 0.01), 0.0, 0.03),
        (eagre.AtmosphericPressure(3.0 * GRID.mesh()[0]), 0.0, 3e-3),
    ],
)
def test_forces_tilt_the_surface_and_speed_water_up(source, stress, acceleration):
    found = reach([source])
    head = -4.99 + 2.0 * (math.sqrt(2.0 * stress * LONG / G) + acceleration * LONG / G)
    assert found.head == pytest.approx(head, rel=1e-12)
    assert found.acceleration == pytest.approx(acceleration + stress / 0.01, rel=1e-12)
    assert found.energy == math.inf and found.filling == 0.0


def test_rotation_brings_nothing():
    assert reach([eagre.Coriolis(f=1e-4)]) == reach()


SUMS = {
    "max_depth": 1.0, "min_depth": 0.0, "max_speed": 1.0, "kinetic_energy": 30.0, "potential_energy": -100.0,
    "volume": 20.0,
}  # fmt: skip
BOUNDS = PlausibilityBounds(lowest=-2.0, head=3.0, filling=0.1, acceleration=0.5, start=100.0, gravity=G, energy=330.0)


@pytest.mark.parametrize("time", [50.0, 100.0, 120.0])
def test_depths_and_speeds_to_the_last_digit(time):
    """4 D and 10 times 2 sqrt(g D) + a t, with D = 5 m and 0.1 m more each second after the start."""
    elapsed = max(time - 100.0, 0.0)
    fall = 5.0 + 0.1 * elapsed
    for name, bound in (
        ("max_depth", 4.0 * fall),
        ("min_depth", -4.0 * fall),
        ("max_speed", 20.0 * math.sqrt(G * fall) + 0.5 * elapsed),
    ):
        assert BOUNDS.excess({**SUMS, name: bound * (1 - 1e-12)}, time) is None
        found = BOUNDS.excess({**SUMS, name: bound * (1 + 1e-12)}, time)
        assert isinstance(found, Excess) and found.name == name and f"{fall:.4g} m from the highest head" in found.what


def test_energy_over_the_lowest_bed():
    """30 - 100 + g 2 m 20 m3 = 330, and a fifth more is too much."""
    assert BOUNDS.energy_of(SUMS) == 330.0
    assert BOUNDS.excess({**SUMS, "kinetic_energy": 95.99}, 100.0) is None
    found = BOUNDS.excess({**SUMS, "kinetic_energy": 96.01}, 100.0)
    assert found is not None and found.what.startswith("1.2 times the initial energy")


def test_a_state_raises_head_and_energy():
    found = BOUNDS.begun_with({**SUMS, "max_speed": 4.0, "kinetic_energy": 50.0}, 2.5)
    assert found.head == 2.5 + 0.8 and found.energy == 350.0 and found.lowest == -2.0
    lower = BOUNDS.begun_with({**SUMS, "kinetic_energy": 0.0}, -1.0)
    assert lower.head == 3.0 and lower.energy == 330.0


def test_highest_surface_is_that_of_water():
    bed = np.array([[0.0, 5.0], [1.0, 2.0]])
    assert highest_surface(np.array([[0.5, 5.0], [1.0, 1.5]]), bed) == 0.5
    assert highest_surface(bed, bed) == -math.inf


def test_cells_of_extremes():
    depth, speed = np.array([[1.0, -3.0], [2.0, 5.0]]), np.array([[0.0, 1.0], [7.0, 2.0]])
    assert [cell_of_extreme(name, depth, speed) for name in ("max_depth", "min_depth", "max_speed")] == [
        (5.0, 1, 1), (3.0, 0, 1), (7.0, 1, 0),
    ]  # fmt: skip
