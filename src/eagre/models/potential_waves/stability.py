"""Time steps: the longest that Runge-Kutta's method bears, and one that is good."""

from __future__ import annotations

import math

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.stencils import LARGEST, Vertical

LIMIT = 2.0 * math.sqrt(2.0)  # omega dt of the classical Runge-Kutta method where nothing is damped
POINTS_A_WAVE = 20  # of the wave whose celerity the Courant number has


def highest_frequency(depth: np.ndarray, grid: Grid, vertical: Vertical, gravity: float) -> float:
    """Of small waves on the grid, rad/s: omega^2 = g min(w_0 / d, k_N).

    w_0 is the weight of the surface in d/dsigma there, k_N the root of the largest second difference.
    """
    ratio = LARGEST[vertical.order]
    along = sum(1.0 / step**2 for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    short = 2.0 * math.sqrt(ratio * along)
    return math.sqrt(gravity * min(float(vertical.first[0, 0]) / float(depth.min()), short))


def courant_step(courant: float, depth: np.ndarray, grid: Grid, gravity: float) -> float:
    """The time step, s, in which a wave of 20 points in the deepest water runs `courant` spacings."""
    step = min(step for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    k = 2.0 * math.pi / (POINTS_A_WAVE * step)
    return courant * step / math.sqrt(gravity / k * math.tanh(k * float(depth.max())))


def check_time_step(time_step: float, frequency: float) -> None:
    """Refuse a time step, s, that the highest frequency, rad/s, does not bear."""
    longest = LIMIT / frequency
    if not time_step <= longest:
        raise InputError(
            f"time_step = {time_step:.6g} s",
            allowed=f"up to {longest:.4g} s, 2.83 over the highest frequency of these points and layers",
            fix=f"time_step = {0.25 * longest:.2g}",
        )
