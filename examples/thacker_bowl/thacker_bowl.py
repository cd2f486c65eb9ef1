"""Compare the oscillation of water in a paraboloid basin with the exact solution of Thacker.

Usage: ``python thacker_bowl.py [CELLS]``. CELLS is the number of cells along a side, 100 by default.

The water surface stays a plane that rotates around the axis of the basin (W. C. Thacker, Some exact
solutions to the nonlinear shallow-water wave equations, J. Fluid Mech. 107, 1981, doi:10.1017/S0022112081001882).
"""

from __future__ import annotations

import sys

import numpy as np

import eagre

DEPTH = 1.0  # still-water depth at the centre, m
LENGTH = 2500.0  # radius of the shoreline of still water, m
GRAVITY = 9.81  # m s-2
OFFSET = LENGTH / 2  # initial displacement of the water in x, m
SIDE = 8000.0  # length of the domain, m
FREQUENCY = np.sqrt(2 * GRAVITY * DEPTH) / LENGTH
PERIOD = 2 * np.pi / FREQUENCY


def bowl(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the bed elevation, m, 0 at the still shoreline."""
    return DEPTH * ((x**2 + y**2) / LENGTH**2 - 1)


def exact(x: np.ndarray, y: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the depth, m, and the velocity components, m s-1, at `time`, s."""
    c, s = np.cos(FREQUENCY * time), np.sin(FREQUENCY * time)
    surface = 2 * OFFSET * DEPTH * (x * c + y * s - OFFSET / 2) / LENGTH**2
    depth = np.maximum(surface - bowl(x, y), 0.0)
    wet = depth > 0
    return depth, np.where(wet, -OFFSET * FREQUENCY * s, 0.0), np.where(wet, OFFSET * FREQUENCY * c, 0.0)


def main(cells: int = 100) -> float:
    """Run one period and return the relative L1 error of the depth."""
    grid = eagre.Grid(nx=cells, ny=cells, dx=SIDE / cells, dy=SIDE / cells, x0=-SIDE / 2, y0=-SIDE / 2)
    x, y = grid.mesh()
    depth, velocity_x, velocity_y = exact(x, y, 0.0)
    model = eagre.ShallowWater(
        grid, bowl(*grid.mesh("corner")), depth=depth, velocity_x=velocity_x, velocity_y=velocity_y,
        gravity=GRAVITY, precision="double",
    )  # fmt: skip
    model.run(until=PERIOD)
    reference = exact(x, y, model.time)[0]
    error = float(np.abs(model.field("depth") - reference).sum() / reference.sum())
    print(f"{cells} x {cells} cells, {model.steps} steps: error of the depth after one period {100 * error:.2f} %")
    return error


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
