"""Indices beyond the ends of a line of points, for walls at the outermost points (mirror image) or periodic lines."""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell


@cell
def neighbour(i, steps, n, periodic):
    """Return the index, 0 to n - 1, of the point `steps` after point i of n: mirrored at a wall, or wrapped.

    The position is at most n - 1 beyond an end. A line of one point has the same point everywhere.
    """
    m = np.int64(i) + steps
    if n == 1:
        return np.int64(0)
    if m < 0:
        return m + n if periodic else -m
    if m >= n:
        return m - n if periodic else 2 * n - 2 - m
    return m


class Ends(NamedTuple):
    """Index map beyond the ends of a line of n points: low + sign m for m < 0, high + sign m for m >= n."""

    n: Any
    low: Any
    high: Any
    sign: Any


@cell
def ends_of(n, periodic):
    """Return the 32-bit constants for `folded`, the branch-free form of `neighbour`; n is below 2^30."""
    n, round_ = np.int32(n), np.int32(periodic)
    sign = np.int32(0 if n == 1 else (1 if round_ else -1))
    low, high = np.int32(n if round_ and n > 1 else 0), np.int32(-n if round_ and n > 1 else 2 * n - 2)
    return Ends(n, low, high, sign)


@cell
def folded(m, ends):
    """Return the index of the point at m: mirrored at a wall, or wrapped."""
    below, above = ends.low + ends.sign * m, ends.high + ends.sign * m
    return np.int64(below if m < 0 else (above if m >= ends.n else m))


@cell
def folded_twice(m, ends):
    """Return `folded` for positions of up to 2 n - 2 beyond an end."""
    return folded(folded(m, ends), ends)
