"""Time steps: stability limit of the Runge-Kutta method, and time step for a Courant number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.sides import SpongeLayer
from eagre.models.potential_waves.laplace.stencils import DIFFERENCE_RATIO, Vertical

LIMIT = 2.0 * math.sqrt(2.0)  # stability limit omega dt of the classical Runge-Kutta method without damping
RATES, HALVINGS = 64, 50  # number of wave numbers checked; bisections of the time step
SPONGE_SAFETY_FACTOR = 0.9  # fraction of the stability limit with sponges
POINTS_A_WAVE = 20  # wave length of the wave that defines the Courant number


def highest_frequency(depth: np.ndarray, grid: Grid, vertical: Vertical, gravity: float) -> float:
    """Return the highest frequency of linear waves on the grid, rad/s: omega^2 = g min(w_0 / d, k_N, k_N^2 d).

    w_0 is the weight of the surface value in d/dsigma at the surface, k_N the square root of the largest eigenvalue of
    the second difference. The last bound applies if the spacing exceeds the depth.
    """
    ratio = DIFFERENCE_RATIO[vertical.order]
    along = sum(1.0 / step**2 for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    short = 2.0 * math.sqrt(ratio * along)
    shallow = short**2 * float(depth.max())
    return math.sqrt(gravity * min(float(vertical.first[0, 0]) / float(depth.min()), short, shallow))


def longest_step(
    depth: np.ndarray, grid: Grid, vertical: Vertical, gravity: float, sponges: Sequence[SpongeLayer] = ()
) -> float:
    """Return the longest stable time step of the Runge-Kutta method, s.

    Where a sponge applies the pressure mu eta_t, a wave of frequency sqrt(g q) has the growth rates
    -mu q / 2 +- sqrt(mu^2 q^2 / 4 - g q), 1/s. Short waves are overdamped; their decay is faster on finer grids.
    """
    frequency = highest_frequency(depth, grid, vertical, gravity)
    longest, mu = LIMIT / frequency, sum(layer.damping(depth, gravity) for layer in sponges)
    q = frequency**2 / gravity * np.linspace(1.0 / RATES, 1.0, RATES)
    swing = np.sqrt((0.5 * mu * q) ** 2 - gravity * q + 0j)
    rates = np.concatenate([swing, -swing]) - 0.5 * mu * np.tile(q, 2)

    def grows(step: float) -> bool:
        z = step * rates
        return bool((np.abs(1.0 + z * (1.0 + z / 2.0 * (1.0 + z / 3.0 * (1.0 + z / 4.0)))) > 1.0 + 1e-9).any())

    if mu == 0.0 or not grows(longest):
        return longest
    low, high = 0.0, longest
    for _ in range(HALVINGS):
        midpoint = 0.5 * (low + high)
        low, high = (low, midpoint) if grows(midpoint) else (midpoint, high)
    return low


def courant_step(courant: float, depth: np.ndarray, grid: Grid, gravity: float) -> float:
    """Return the time step, s, in which a wave of 20 points in the deepest water travels `courant` spacings."""
    step = min(step for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    k = 2.0 * math.pi / (POINTS_A_WAVE * step)
    return courant * step / math.sqrt(gravity / k * math.tanh(k * float(depth.max())))


def check_time_step(time_step: float, longest: float, sponges: Sequence[SpongeLayer] = ()) -> None:
    """Reject a time step, s, above the stability limit of `longest_step`."""
    if not time_step <= longest:
        raise InputError(
            f"time_step = {time_step:.6g} s",
            allowed=f"up to {longest:.4g} s, the stability limit for the highest frequency on this grid"
            + (" and these sponges" if sponges else ""),
            fix=f"time_step = {0.25 * longest:.2g}",
        )
