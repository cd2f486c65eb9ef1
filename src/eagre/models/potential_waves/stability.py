"""Time steps: the longest that Runge-Kutta's method bears, and one that is good."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.sides import SpongeLayer
from eagre.models.potential_waves.stencils import LARGEST, Vertical

LIMIT = 2.0 * math.sqrt(2.0)  # omega dt of the classical Runge-Kutta method where nothing is damped
RATES, HALVINGS = 64, 50  # of waves that are looked at; of a bracket of time steps
SPARE = 0.9  # of the longest step that sponges bear
POINTS_A_WAVE = 20  # of the wave whose celerity the Courant number has


def highest_frequency(depth: np.ndarray, grid: Grid, vertical: Vertical, gravity: float) -> float:
    """Of small waves on the grid, rad/s: omega^2 = g min(w_0 / d, k_N, k_N^2 d).

    w_0 is the weight of the surface in d/dsigma there, k_N the root of the largest second difference. The last holds
    where points are farther apart than the water is deep.
    """
    ratio = LARGEST[vertical.order]
    along = sum(1.0 / step**2 for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    short = 2.0 * math.sqrt(ratio * along)
    shallow = short**2 * float(depth.max())
    return math.sqrt(gravity * min(float(vertical.first[0, 0]) / float(depth.min()), short, shallow))


def longest_step(
    depth: np.ndarray, grid: Grid, vertical: Vertical, gravity: float, sponges: Sequence[SpongeLayer] = ()
) -> float:
    """The longest time step, s, that Runge-Kutta's method bears.

    Beside a wall where a sponge presses with mu eta_t, a wave of frequency sqrt(g q) has the rates
    -mu q / 2 +- sqrt(mu^2 q^2 / 4 - g q), 1/s: short ones do not swing but fade, the faster the finer the grid.
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
        middle = 0.5 * (low + high)
        low, high = (low, middle) if grows(middle) else (middle, high)
    return low


def courant_step(courant: float, depth: np.ndarray, grid: Grid, gravity: float) -> float:
    """The time step, s, in which a wave of 20 points in the deepest water runs `courant` spacings."""
    step = min(step for step, count in ((grid.dx, grid.nx), (grid.dy, grid.ny)) if count > 1)
    k = 2.0 * math.pi / (POINTS_A_WAVE * step)
    return courant * step / math.sqrt(gravity / k * math.tanh(k * float(depth.max())))


def check_time_step(time_step: float, longest: float, sponges: Sequence[SpongeLayer] = ()) -> None:
    """Refuse a time step, s, above the longest one of `longest_step`."""
    if not time_step <= longest:
        raise InputError(
            f"time_step = {time_step:.6g} s",
            allowed=f"up to {longest:.4g} s, for the highest frequency of these points and layers"
            + (" and for these sponges" if sponges else ""),
            fix=f"time_step = {0.25 * longest:.2g}",
        )
