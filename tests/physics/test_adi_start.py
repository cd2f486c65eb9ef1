"""The start of the implicit model: forces along y, which begin half a step earlier, keep the order of those along x."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import eagre

GRID = eagre.Grid(12, 12, 100.0, 100.0)
X, Y = GRID.mesh()
END = 160.0
TIMES = np.arange(0.0, 400.0, 0.25)
FORCES = {
    "varying wind": lambda along: eagre.WindStress(**{along: eagre.Series(TIMES, 4.0 * np.sin(TIMES / 40.0))}),
    "wind": lambda along: eagre.WindStress(**{along: 2.0}, pattern=np.cos(np.pi * X / 1200.0) + Y / 1200.0),
    "pressure": lambda along: eagre.AtmosphericPressure(
        400.0 * np.cos(np.pi * {"x": X, "y": Y}[along] / 1200.0), factor=1.0
    ),
}


def surface(along, force, dt):
    """After a force on water at rest set in at once."""
    model = eagre.ShallowWaterADI(
        GRID, -8.0, dt, surface_elevation=0.0, sources=[FORCES[force](along)], device="cpu", precision="double"
    )
    model.advance(END)
    return model.field("surface_elevation")


SIDES = {  # a level that rises, a discharge that swells, from the low side of x or y
    "level": eagre.Stage(eagre.Series(TIMES, 0.1 * np.sin(TIMES / 60.0) ** 2)),
    "discharge": eagre.Discharge(eagre.Series(TIMES, 300.0 * np.sin(TIMES / 60.0) ** 2)),
}


@pytest.mark.parametrize("side", list(SIDES))
@pytest.mark.parametrize("along", ["x", "y"])
def test_what_varies_at_a_side_comes_in_time(along, side):
    """Surface and discharge: a value half a step late makes the order 1. A level's is 1.7 to 1.8, a discharge's 2."""
    found = []
    for dt in (4.0, 2.0, 1.0, 0.5):
        sides = eagre.Boundaries(**{{"x": "west", "y": "south"}[along]: SIDES[side]})
        model = eagre.ShallowWaterADI(
            GRID, -8.0, dt, surface_elevation=0.0, boundaries=sides, device="cpu", precision="double"
        )
        model.advance(END)
        found.append([model.field(name) for name in ("surface_elevation", f"discharge_{along}")])
    apart = np.array([[np.abs(a - b).max() for a, b in zip(*two, strict=True)] for two in pairwise(found)])
    orders = np.log2(apart[:-1] / apart[1:])
    assert (orders[-1] > {"level": 1.6, "discharge": 1.85}[side]).all() and np.abs(found[-1][0]).max() > 1e-3


@pytest.mark.parametrize("force", list(FORCES))
@pytest.mark.parametrize("along", ["x", "y"])
def test_a_force_that_sets_in_keeps_the_second_order(along, force):
    """Richardson: differences between steps of 4, 2, 1 and 0.5 s fall by four."""
    found = [surface(along, force, dt) for dt in (4.0, 2.0, 1.0, 0.5)]
    apart = [float(np.abs(a - b).max()) for a, b in pairwise(found)]
    orders = np.log2(np.array(apart[:-1]) / apart[1:])
    assert orders[-1] > 1.9 and np.abs(found[-1]).max() > 1e-3
