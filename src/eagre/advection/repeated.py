"""Periodic axes whose last point repeats the first, as in EULAG: n points, n - 1 of them distinct."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from eagre.backend.arrays import array_module
from eagre.errors import InputError

ROUNDING = 64  # tolerance in units of the last place of the maximum, e.g. for sines of 0 and of a full period


def without_repeated_points(a: Any, axes: Iterable[int], name: str = "the array") -> Any:
    """Return a view without the last points of axes whose last point repeats the first.

    Parameters
    ----------
    a : NumPy or CuPy array
        Array of any shape.
    axes : int values
        Axes of two points or more whose last point repeats the first.
    name : str
        Name of the array in messages.

    Returns
    -------
    View of `a`.

    Raises
    ------
    InputError
        For an axis of one point, and for last points that differ from the first by more than rounding.
    """
    for axis in axes:
        if a.shape[axis] < 2:
            raise InputError(
                f"{name} of shape {tuple(a.shape)}", allowed=f"two points or more along axis {axis}",
                problem="A duplicated axis needs at least two points.",
            )  # fmt: skip
        _check(a, axis, name)
        a = a[_all_but_last(a, axis)]
    return a


def with_repeated_points(a: Any, axes: Iterable[int]) -> Any:
    """Return a copy with the first points of axes repeated at the end.

    This is the inverse of `without_repeated_points`, with the same parameters.
    """
    for axis in axes:
        xp = array_module(a)
        a = xp.concatenate([a, xp.take(a, xp.asarray([0]), axis=axis)], axis=axis)
    return a


def without_checks(a: Any, axes: Iterable[int]) -> Any:
    """Return a view without the last points of axes, unchecked."""
    for axis in axes:
        a = a[_all_but_last(a, axis)]
    return a


def _all_but_last(a: Any, axis: int) -> tuple[slice, ...]:
    return tuple(slice(None, -1) if one == axis % a.ndim else slice(None) for one in range(a.ndim))


def _check(a: Any, axis: int, name: str) -> None:
    xp = array_module(a)
    difference = xp.abs(xp.take(a, xp.asarray([-1]), axis=axis) - xp.take(a, xp.asarray([0]), axis=axis))
    tolerance = ROUNDING * float(xp.finfo(a.dtype).eps) * float(xp.abs(a).max()) if a.size else 0.0
    if difference.size and not float(difference.max()) <= tolerance:
        worst = tuple(int(one) for one in xp.unravel_index(int(difference.argmax()), difference.shape))
        raise InputError(
            f"{name}, whose last point along axis {axis} differs from the first by "
            f"{float(difference.max()):g} at {worst}",
            allowed="equal values",
            problem="The first and last points of a duplicated axis differ.",
            fix='boundaries = "periodic"',
        )
