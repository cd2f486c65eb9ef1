"""Cases of Amundsen (2014), the source of the explicit shallow-water model: flat beds, walls, water at rest.

A. B. Amundsen, Auto-tuning shallow water simulations on GPUs, MSc thesis (2014), sections 5.1 to 5.6. Reference
values are from a double-precision model with theta = 1.3, desingularisation depth 0.01 m, g = 9.81 m s-2, Courant
number 1/4 and the Kurganov-Petrova treatment.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from eagre.grid import Grid
from eagre.laboratory.cases.dam_breaks import circular_dam
from eagre.laboratory.cases.water import Water, WaterCase


class CircularDamFigures(NamedTuple):
    """Reference values of the wet circular dam (`circular_dam_wet`)."""

    n: int
    scheme: str
    time: float
    steps: int
    depth_at_centre: float
    max_depth: float


WET_CIRCULAR_DAM = (
    CircularDamFigures(500, "rk2", 1.0, 300, 0.4005, 0.9946),
    CircularDamFigures(500, "rk2", 2.0, 536, 0.0930, 0.8776),
    CircularDamFigures(500, "euler", 1.0, 301, 0.3777, 1.0069),
    CircularDamFigures(500, "euler", 2.0, 539, 0.0902, 0.8989),
    CircularDamFigures(125, "rk2", 1.0, 73, 0.4416, 0.9671),
    CircularDamFigures(125, "rk2", 2.0, 131, 0.1085, 0.8601),
)
"""Depth of the cell north-east of the centre and maximum depth, m, at `time`, s."""

OPTIONS = {"wet_dry": "kurganov-petrova", "desingularisation_depth": 0.01}
"""Arguments of `eagre.ShallowWater` for the wet-dry treatment of the source."""

SINE_STEPS = 154
"""Number of steps of `sine` to t = 5 s, for any number of cells of 1 m along x with the same slope."""

SINE_STEPS_DS2 = 163
"""Number of steps with the split scheme "ds2": one unsplit step and 81 double steps of 0.95 of the previous limit."""

SINE_STEPS_OF_SCHEMES = {"rk2": SINE_STEPS, "srk2": SINE_STEPS, "ds2": SINE_STEPS_DS2}
"""Number of steps of `sine` to t = 5 s by scheme, tables 4.2 to 4.4."""


def circular_dam_dry(n: int = 500, end_time: float = 2.0) -> WaterCase:
    """Circular dam break onto a dry bed: 40 m square, 2.5 m deep within 2.5 m of the centre; to 1 s it is case 5.3."""
    return circular_dam(n, 40.0, 2.5, 2.5, 0.0, end_time, "circular-dam-dry")


def circular_dam_wet(n: int = 500, end_time: float = 2.0) -> WaterCase:
    """Circular dam break onto 0.5 m of water; reference values in `WET_CIRCULAR_DAM`."""
    return circular_dam(n, 40.0, 2.5, 2.5, 0.5, end_time, "circular-dam-wet")


def gaussian_peak(n: int = 507, end_time: float = 2.0) -> WaterCase:
    """Gaussian peak on 253.5 m square: h = 1 + 3 exp(-(x^2 + y^2) / 50), x and y in m from the centre.

    The source prints the exponent ambiguously and no background depth; this reading is the project's.
    """
    grid = Grid(n, n, 253.5 / n, 253.5 / n, -126.75, -126.75)
    x, y = grid.mesh()
    return _at_rest("gaussian-peak", grid, 1.0 + 3.0 * np.exp(-(x**2 + y**2) / 50.0), end_time)


def sine(n: int = 1024, end_time: float = 5.0, rows: int | None = None) -> WaterCase:
    """Sine: w = 5 + sin(2 pi i / nx), i the cell index, cells of 1 m (`rows` = n by default).

    The mean depth of 5 m is not in the source; it is the only one that gives the printed 154 steps (at 1024 and 2048).
    """
    grid = Grid(n, n if rows is None else rows, 1.0, 1.0)
    depth = 5.0 + np.sin(2.0 * math.pi * np.arange(n) / n)
    return _at_rest("sine", grid, np.broadcast_to(depth, grid.shape).copy(), end_time)


def circular_dam_big(n: int = 1000, end_time: float = 4.0) -> WaterCase:
    """Large dry circular dam break: 100 m square, 10 m deep within 6.5 m of the centre; all wet at about t = 3 s."""
    return circular_dam(n, 100.0, 6.5, 10.0, 0.0, end_time, "circular-dam-big")


def _at_rest(name: str, grid: Grid, depth: np.ndarray, end_time: float) -> WaterCase:
    still = np.zeros(grid.shape)
    return WaterCase(name, grid, np.zeros(grid.shape_of("corner")), Water(depth, still, still), end_time)
