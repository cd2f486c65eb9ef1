"""Levels of stages under the pressure of the air."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.boundaries import BoundarySegment, with_static_level
from weather_fields import field

GRID = eagre.Grid(6, 10, 1000.0, 1000.0)
TIMES = [0.0, 3600.0, 7200.0]


def low(x, y, t):
    """Falls with time and northwards, linear in both."""
    return 1e5 - 0.1 * t - 0.05 * y


def test_a_stage_rises_by_a_centimetre_a_hectopascal():
    """With the mean along its part; a series of its own is added, other conditions stay."""
    tide = eagre.Series(np.array([0.0, 1000.0, 9000.0]), np.array([0.0, 1.0, 0.5]))
    given = eagre.Boundaries(
        west=eagre.Stage(tide),
        north=[BoundarySegment(0.0, 2000.0, eagre.Stage(0.25))],
        east=eagre.Absorbing(),
        south=eagre.Outflow(),
    )
    pressure = field(GRID, TIMES, low, "pressure", 4000.0)
    found = with_static_level(given, pressure, GRID, 0.0, 7200.0, 1e5)
    assert (found.east, found.south) == (given.east, given.south)
    for time in (0.0, 500.0, 1000.0, 5000.0):
        rise = (0.1 * time + 0.05 * 5000.0) / 9810.0
        assert found.west.level(time) == pytest.approx(tide(time) + rise, abs=1e-12)
        rise = (0.1 * time + 0.05 * 10000.0) / 9810.0
        assert found.north[0].condition.level(time) == pytest.approx(0.25 + rise, abs=1e-12)


@pytest.mark.parametrize("side", ["east", "south"])
@pytest.mark.parametrize(("start", "stop"), [(500.0, 1500.0), (1600.0, 3400.0), (2000.0, 6000.0)])
def test_the_pressure_is_that_of_the_cells_of_the_segment(start, stop, side):
    """The ends are rounded to faces, as for the condition itself: 500 to 0 and 1500 to 2000 m."""
    pressure = field(GRID, TIMES, lambda x, y, t: 1e5 - 0.05 * (y if side == "east" else x), "pressure", 4000.0)
    given = eagre.Boundaries(**{side: [BoundarySegment(start, stop, eagre.Stage(0.0))]})
    cells = next(one for one in given.segments(GRID) if isinstance(one.condition, eagre.Stage))
    found = getattr(with_static_level(given, pressure, GRID, 0.0, 7200.0, 1e5), side)[0].condition.level(0.0)
    assert found == pytest.approx(0.05 * 500.0 * (cells.first + cells.last) / 9810.0, rel=1e-9)


def test_water_under_a_low_that_the_sides_know_stays_at_rest(light_device):
    """A level that knows the pressure lets nothing in or out; one that does not lets the water run."""
    steady = field(GRID, [0.0, 1e6], lambda x, y, t: 1e5 - 0.2 * y, "pressure", 4000.0)
    surface = 0.2 * GRID.mesh()[1] / 9810.0
    speeds = []
    for reference in (1e5, None):
        sides = eagre.Boundaries(north=eagre.Stage(0.0))
        if reference is not None:
            sides = with_static_level(sides, steady, GRID, 0.0, 600.0, reference)
        model = eagre.ShallowWater(
            GRID, -10.0, surface_elevation=surface, boundaries=sides, sources=[eagre.WeatherPressure(steady)],
            device=light_device, precision="double", gravity=9.81,
        )  # fmt: skip
        model.advance(600.0)
        speeds.append(model.diagnostics()["max_speed"])
    assert speeds[0] < 0.05 * speeds[1]
