"""Averages and extremes over time in plain NumPy, from fields at every step."""

from __future__ import annotations

import numpy as np


def moments_of(times, values, others=None, start=-np.inf):
    """Mean of values, (n, ..), at times, (n,), and mean product of deviations with others (the same if not given).

    The state of times[k] counts for what of the time since times[k - 1] comes after `start`; the first not at all.
    """
    times, values = np.asarray(times, np.float64), np.asarray(values, np.float64)
    others = values if others is None else np.asarray(others, np.float64)
    weights = np.maximum(times[1:] - np.maximum(times[:-1], start), 0.0)

    def mean(a):
        return np.tensordot(weights, a[1:], axes=1) / weights.sum()

    return mean(values), mean((values - mean(values)) * (others - mean(others)))


def extremes_of(times, values, start=-np.inf):
    """Largest and smallest of values, (n, ..), at times, (n,), from `start` on, and when the largest first came."""
    times = np.asarray(times, np.float64)
    kept, since = np.asarray(values, np.float64)[times >= start], times[times >= start]
    return kept.max(axis=0), kept.min(axis=0), since[kept.argmax(axis=0)]
