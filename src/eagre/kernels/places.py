"""Points beyond the ends of a line of points: where walls stand on the outermost points, or the line is a ring."""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell


@cell
def place(i, steps, n, periodic):
    """The point, 0 to n - 1, that stands `steps` after point i of n: beyond a wall its mirror image, or round the ring.

    Beyond an end by n - 1 at most. A line of one point has that one everywhere.
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
    """What stands beyond the ends of a line of n points: point low + sign m for m < 0, high + sign m for m >= n."""

    n: Any
    low: Any
    high: Any
    sign: Any


@cell
def ends_of(n, periodic):
    """Numbers from which `folded` makes what `place` finds with branches, of 32 bits: n is below 2^30."""
    n, round_ = np.int32(n), np.int32(periodic)
    sign = np.int32(0 if n == 1 else (1 if round_ else -1))
    low, high = np.int32(n if round_ and n > 1 else 0), np.int32(-n if round_ and n > 1 else 2 * n - 2)
    return Ends(n, low, high, sign)


@cell
def folded(m, ends):
    """The point that stands at m: beyond a wall the mirror image, or round the ring."""
    below, above = ends.low + ends.sign * m, ends.high + ends.sign * m
    return np.int64(below if m < 0 else (above if m >= ends.n else m))


@cell
def folded_twice(m, ends):
    """As `folded`, beyond an end by 2 n - 2 at most."""
    return folded(folded(m, ends), ends)
