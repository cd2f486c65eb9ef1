"""Ghost points of an axis as tables of index, factor and offset; periodic axes whose last point repeats the first.

All boundary conditions are in these tables. Kernels evaluate ``factor * a[index] + outside``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, array_module
from eagre.errors import InputError

KINDS = ("periodic", "wall", "open")
ROUNDING = 64  # tolerance in units of the last place of the maximum, e.g. for sines of 0 and of a full period


class Open(NamedTuple):
    """Open boundaries of an axis: inflow values at its low and its high end.

    None: the value of the outermost point (zero gradient), as for ``"open"``.
    """

    low: float | None = None
    high: float | None = None


class Table(NamedTuple):
    """Table of positions -depth to n + depth of an axis, (n + 2 depth + 1,), with the index of a point or face."""

    indices: Any
    factor: Any
    outside: Any


class Tables(NamedTuple):
    """Tables along one axis: for the field, for h, for velocities normal to the axis and along it, and open faces."""

    field: Table
    jacobian: Table
    across: Table
    along: Table
    passable: Any


def points(n: int, kind: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the index and the number of reflections, 0 or 1, of each position."""
    m = np.arange(-depth, n + depth + 1)
    if n == 1:
        return np.zeros_like(m), np.zeros_like(m)
    if kind == "periodic":
        return m % n, np.zeros_like(m)
    if kind == "wall":
        folded = m % (2 * n - 2)
        return np.minimum(folded, 2 * n - 2 - folded), (folded >= n).astype(int)
    return np.clip(m, 0, n - 1), np.zeros_like(m)


def faces(n: int, kind: str, depth: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the index and factor of the face at each position; there is no flux along an axis of one point."""
    m = np.arange(-depth, n + depth + 1)
    if n == 1:
        return np.zeros_like(m), np.zeros(m.size)
    if kind == "periodic":
        return m % n, np.ones(m.size)
    if kind == "wall":
        folded = (m - 1) % (2 * n - 2)
        mirrored = folded >= n - 1
        return np.where(mirrored, 2 * n - 2 - folded, folded + 1), np.where(mirrored, -1.0, 1.0)
    return np.clip(m, 0, n), np.ones(m.size)


def tables_of(n: int, side: str | Open, odd: bool, depth: int, device: Device, dtype: Any) -> Tables:
    """Return the tables of an axis of n points; odd : whether the field changes its sign across walls."""
    kind = side if isinstance(side, str) else "open"
    low, high = side if isinstance(side, Open) else (None, None)
    m = np.arange(-depth, n + depth + 1)
    index, mirrors = points(n, kind, depth)
    beyond = (m < 0) | (m >= n)
    factor, outside = np.where(mirrors == 1, -1.0 if odd else 1.0, 1.0), np.zeros(m.size)
    for value, where in ((low, m < 0), (high, m >= n)):
        if value is not None and n > 1:
            factor[where], outside[where] = 0.0, value
    face, sign = faces(n, kind, depth)
    closed = (kind == "open") & ((m == 0) | (m == n))
    nothing = np.zeros(m.size)

    def table(index: np.ndarray, factor: np.ndarray, outside: np.ndarray = nothing) -> Table:
        return Table(
            device.array(index.astype(np.int32)),
            device.array(factor.astype(dtype)),
            device.array(outside.astype(dtype)),
        )

    return Tables(
        table(index, factor, outside),
        table(index, np.ones(m.size)),
        table(index, np.where((kind == "open") & beyond & (n > 1), 0.0, 1.0)),
        table(face, sign),
        device.array(np.where(closed, 0.0, 1.0).astype(dtype)),
    )


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
