"""Checks that samples of a function of time resolve it: the error of the lines between them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eagre.errors import InputError

MAX_ERROR = 0.02
"""Largest error of the lines between samples, fraction of the range of the function."""
GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)
FRACTIONS = tuple(sorted(k * GOLDEN % 1.0 for k in range(1, 6)))
"""Points of an interval at which function and line are compared: irrational, so that no period hides between them."""
JUMP = 0.5
"""A discontinuity: the other changes in an interval sum up to less than this fraction of the largest one."""
ROUNDING = 1e-9  # of the largest value: errors below are rounding
MAX_INTERVALS = 1000  # of those with the largest errors, which are searched for discontinuities
MAX_TRIED = 100_000  # samples of a trial of a smaller step

Function = Callable[[np.ndarray], np.ndarray]
"""Values, (n,), at times, (n,)."""


def check_resolved(function: Function, times: np.ndarray, values: np.ndarray, name: str) -> None:
    """Raise `InputError` if lines between samples miss a function by more than `MAX_ERROR` of its range.

    A discontinuity has the same error whatever the step, and is allowed: it becomes a ramp of one step.

    Parameters
    ----------
    function : callable
    times : (n,) array, s
        Evenly spaced times of the samples.
    values : (n,) array
        The function at `times`.
    name : str
        The function, for the error.
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
        f"{name} sampled with every = {every:g} s: between t = {times[k]:g} and {times[k + 1]:g} s the line is off by "
        f"{errors[k]:.3g}, {100.0 * errors[k] / value_range:.3g} % of the range of the function",
        allowed=f"an error of {100.0 * MAX_ERROR:g} % of the range at most",
        fix="" if smaller is None else f"every = {smaller:g}",
        problem="The samples are too far apart for the function.",
    )


def resolving_step(
    function: Function, start: float, end: float, step: float, limit: float | None = None
) -> float | None:
    """Return a step up to `step` that resolves a function from `start` to `end`, s, rounded down; None if none does.

    limit : the largest error; without it `MAX_ERROR` of the range there.
    """
    while (end - start) / step < MAX_TRIED:
        times = start + rounded_down(step) * np.arange(math.ceil((end - start) / rounded_down(step)) + 1)
        errors, default, _ = _errors(function, times, function(times))
        if _unresolved(function, times, errors, default if limit is None else limit) is None:
            return rounded_down(step)
        step *= 0.5
    return None


def rounded_down(number: float) -> float:
    """Return the next smaller number of 1, 2 and 5 times a power of ten."""
    power = math.floor(math.log10(number) + 1e-9)
    first = next(one for one in (5, 2, 1) if number >= one * 10.0**power * (1.0 - 1e-9) or one == 1)
    return float(f"{first}e{power}")


def _errors(function: Function, times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Largest error of the line in each interval, the limit of errors, and the range of the function."""
    errors, low, high = np.zeros(times.size - 1), float(values.min()), float(values.max())
    for fraction in FRACTIONS:
        between = function(times[:-1] + fraction * np.diff(times))
        errors = np.fmax(errors, np.abs(between - ((1.0 - fraction) * values[:-1] + fraction * values[1:])))
        low, high = float(np.fmin.reduce(between, initial=low)), float(np.fmax.reduce(between, initial=high))
    return errors, max(MAX_ERROR * (high - low), ROUNDING * max(abs(low), abs(high))), high - low


def _unresolved(function: Function, times: np.ndarray, errors: np.ndarray, limit: float) -> int | None:
    """Number of the interval with the largest error above the limit that is no discontinuity, or None."""
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
