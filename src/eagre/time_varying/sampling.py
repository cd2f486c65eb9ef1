"""Checks that samples of a function of time resolve it, by the error of linear interpolation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eagre.errors import InputError

MAX_ERROR = 0.02
"""Maximum error of linear interpolation between samples, as a fraction of the range of the function."""
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
FRACTIONS = tuple(sorted(k * GOLDEN % 1.0 for k in range(1, 6)))
"""Points of an interval where the interpolation error is evaluated; irrational, so that they resolve any period."""
JUMP = 0.5
"""A change is a discontinuity if all other changes in its interval sum to less than this fraction of it."""
ROUNDING = 1e-9  # relative to the maximum value: smaller errors are rounding errors
MAX_INTERVALS = 1000  # intervals with the largest errors that are searched for discontinuities
MAX_TRIED = 100_000  # maximum number of samples when a smaller step is tried

Function = Callable[[np.ndarray], np.ndarray]
"""Function that returns values, (n,), at times, (n,)."""


def check_resolved(function: Function, times: np.ndarray, values: np.ndarray, name: str) -> None:
    """Raise `InputError` if the error of linear interpolation exceeds `MAX_ERROR` of the range of a function.

    Discontinuities are allowed: their error does not depend on the step, and they become ramps of one step.

    Parameters
    ----------
    function : callable
    times : (n,) array, s
        Evenly spaced times of the samples.
    values : (n,) array
        Values of the function at `times`.
    name : str
        Name of the function, for the error message.
    """
    if times.size < 2:
        return
    errors, limit, value_range = _errors(function, times, values)
    k = _unresolved(function, times, errors, limit)
    if k is None:
        return
    every = float(times[1] - times[0])
    first, last = float(times[max(k - 20, 0)]), float(times[min(k + 21, times.size - 1)])
    smaller = resolving_step(function, first, last, 0.5 * every, limit)
    raise InputError(
        f"{name} sampled with every = {every:g} s: between t = {times[k]:g} and {times[k + 1]:g} s the interpolation "
        f"error is {errors[k]:.3g}, {100.0 * errors[k] / value_range:.3g} % of the range of the function",
        allowed=f"an error of up to {100.0 * MAX_ERROR:g} % of the range",
        fix="" if smaller is None else f"every = {smaller:g}",
        problem="The samples are too far apart for the function.",
    )


def resolving_step(
    function: Function, start: float, end: float, step: float, limit: float | None = None
) -> float | None:
    """Return a step up to `step` that resolves a function from `start` to `end`, s, rounded down, or None.

    limit : maximum error; the default is `MAX_ERROR` of the range in the interval.
    """
    while (end - start) / step < MAX_TRIED:
        times = start + rounded_down(step) * np.arange(math.ceil((end - start) / rounded_down(step)) + 1)
        errors, default, _ = _errors(function, times, function(times))
        if _unresolved(function, times, errors, default if limit is None else limit) is None:
            return rounded_down(step)
        step *= 0.5
    return None


def rounded_down(number: float) -> float:
    """Return the next smaller number of the form 1, 2 or 5 times a power of ten."""
    power = math.floor(math.log10(number) + 1e-9)
    first = next(one for one in (5, 2, 1) if number >= one * 10.0**power * (1.0 - 1e-9) or one == 1)
    return float(f"{first}e{power}")


def _errors(function: Function, times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return the maximum interpolation error of each interval, the error limit, and the range of the function."""
    errors, low, high = np.zeros(times.size - 1), float(values.min()), float(values.max())
    for fraction in FRACTIONS:
        between = function(times[:-1] + fraction * np.diff(times))
        errors = np.fmax(errors, np.abs(between - ((1.0 - fraction) * values[:-1] + fraction * values[1:])))
        low, high = float(np.fmin.reduce(between, initial=low)), float(np.fmax.reduce(between, initial=high))
    return errors, max(MAX_ERROR * (high - low), ROUNDING * max(abs(low), abs(high))), high - low


def _unresolved(function: Function, times: np.ndarray, errors: np.ndarray, limit: float) -> int | None:
    """Return the interval with the largest error above the limit that has no discontinuity, or None."""
    worst = np.flatnonzero(errors > limit)
    worst = worst[np.argsort(errors[worst])[::-1][:MAX_INTERVALS]]
    if not worst.size:
        return None
    fractions = np.array([0.0, *FRACTIONS, 1.0])
    points = times[worst, None] + fractions * np.diff(times)[worst, None]
    points[:, -1] = times[worst + 1]
    changes = np.abs(np.diff(function(points.ravel()).reshape(points.shape), axis=1))
    jump = changes.max(axis=1)
    smooth = changes.sum(axis=1) - jump >= JUMP * jump
    return int(worst[np.argmax(smooth)]) if smooth.any() else None
