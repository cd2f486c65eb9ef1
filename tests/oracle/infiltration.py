"""Plain NumPy infiltration of one step, and exact solutions of the Green-Ampt equation; nothing of the package."""

from __future__ import annotations

import numpy as np


def green_ampt_depth(h, total, dt, conductivity, suction, deficit):
    """Potential depth of a step, m: the positive root of D^2 + (2 F - (1 - theta) K dt) D - 2 K dt S = 0 per cell."""
    h, total, conductivity, suction, deficit = np.broadcast_arrays(h, total, conductivity, suction, deficit)
    depth = np.zeros(h.shape)
    for k in np.ndindex(h.shape):
        seep = conductivity[k] * dt
        stored = total[k] + (suction[k] + h[k]) * deficit[k]
        depth[k] = max(np.roots([1.0, 2.0 * total[k] - (1.0 - deficit[k]) * seep, -2.0 * seep * stored]).real)
    return depth


def after_step(h, total, potential):
    """Depth and cumulative infiltration, m, after a step with a potential depth: at most all water infiltrates."""
    lost = np.minimum(np.maximum(h, 0.0), potential)
    return h - lost, total + lost


def time_under_falling_head(total, conductivity, suction, deficit, first_depth):
    """Time, s, at which a pond of a first depth, m, without inflow has lost `total`, m, to a Green-Ampt soil.

    dF/dt = K (F + (psi + h) theta) / F with h = first depth - F, by separation of variables.
    """
    a, b = 1.0 - deficit, (suction + first_depth) * deficit
    return (total / a - b / a**2 * np.log1p(a * total / b)) / conductivity


def time_under_constant_head(total, conductivity, head, deficit):
    """Time, s, of the Green-Ampt equation K t = F - S ln(1 + F / S), S = head x deficit."""
    stored = head * deficit
    return (total - stored * np.log1p(total / stored)) / conductivity


def inverse(time_of, time):
    """Cumulative infiltration, m, at a time, s, of a rising function of it, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if time_of(middle) < time else (low, middle)
    return 0.5 * (low + high)
