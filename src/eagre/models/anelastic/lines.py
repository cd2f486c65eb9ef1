"""Points of a grid line by line: where the neighbours of a point stand and by how much differences are multiplied.

A point's line along an axis has two points on either side, as the pressure operator needs. A side's neighbour beyond
it is the side itself, with differences over one spacing there; a periodic axis goes round; along one point nothing
changes.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell


class Axis(NamedTuple):
    """An axis: points, 1 if periodic, half of one over the spacing (0 for one point)."""

    n: int
    periodic: int
    over: Any


class Grid(NamedTuple):
    """The numbers of all axes, as `Axis` has them."""

    nz: int
    periodic_z: int
    over_z: Any
    ny: int
    periodic_y: int
    over_y: Any
    nx: int
    periodic_x: int
    over_x: Any


class Line(NamedTuple):
    """Points on a line through a point: two and one before it, itself, one and two behind.

    `over_*`: what a difference across a point is multiplied by; `on_*`: 1 where a point is on a side.
    """

    before2: Any
    before: Any
    here: Any
    behind: Any
    behind2: Any
    over_before: Any
    over: Any
    over_behind: Any
    on_before: Any
    on: Any
    on_behind: Any


class Pair(NamedTuple):
    """A point of a line with those at whose difference its derivative is taken."""

    low: Any
    here: Any
    high: Any
    over: Any
    on: Any


@cell
def axis_x(grid):
    """The axis along x."""
    return Axis(grid.nx, grid.periodic_x, grid.over_x)


@cell
def axis_y(grid):
    """The axis along y."""
    return Axis(grid.ny, grid.periodic_y, grid.over_y)


@cell
def axis_z(grid):
    """The axis along z."""
    return Axis(grid.nz, grid.periodic_z, grid.over_z)


@cell
def before(i, axis):
    """The point before point i; a side's own."""
    if i > 0:
        return i - 1
    return axis.n - 1 if axis.periodic else np.int64(0)


@cell
def behind(i, axis):
    """The point behind point i; a side's own."""
    if i < axis.n - 1:
        return i + 1
    return np.int64(0) if axis.periodic else axis.n - 1


@cell
def is_side(i, axis):
    """1 for a point on a side."""
    return 1 if axis.periodic == 0 and axis.n > 1 and (i == 0 or i == axis.n - 1) else 0


@cell
def over_at(on, axis):
    """1 / (2 d), on a side 1 / d."""
    return axis.over + axis.over if on else axis.over


@cell
def line_at(i, axis):
    """The line through point i along an axis."""
    at = np.int64(i)
    low, high = before(at, axis), behind(at, axis)
    on_low, on, on_high = is_side(low, axis), is_side(at, axis), is_side(high, axis)
    over_low, over, over_high = over_at(on_low, axis), over_at(on, axis), over_at(on_high, axis)
    low2, high2 = before(low, axis), behind(high, axis)
    return Line(low2, low, at, high, high2, over_low, over, over_high, on_low, on, on_high)


@line_at.variant("cuda")
def _line_at_unsigned(i, axis):
    # Without tests for indices that count from the end.
    n, at, one, zero = np.uint32(axis.n), np.uint32(i), np.uint32(1), np.uint32(0)
    last = np.uint32(n - one)
    first, end = (last, zero) if axis.periodic else (zero, last)
    low = np.uint32(at - one) if at > zero else first
    high = np.uint32(at + one) if at < last else end
    low2 = np.uint32(low - one) if low > zero else first
    high2 = np.uint32(high + one) if high < last else end
    on_low, on, on_high = is_side(low, axis), is_side(at, axis), is_side(high, axis)
    over_low, over, over_high = over_at(on_low, axis), over_at(on, axis), over_at(on_high, axis)
    return Line(low2, low, at, high, high2, over_low, over, over_high, on_low, on, on_high)


@cell
def inner_line(corner, axis):
    """The line through point corner + 2, which has two points before it and two behind; corner is unsigned."""
    over = axis.over
    return Line(corner, corner + 1, corner + 2, corner + 3, corner + 4, over, over, over, 0, 0, 0)


@cell
def ring_line(i, axis):
    """The line through point i of a periodic axis, or of another one where two points lie on either side."""
    last, at, over = np.uint32(axis.n - 1), np.uint32(i), axis.over
    low = np.uint32(at - 1) if at > 0 else last
    high = np.uint32(at + 1) if at < last else np.uint32(0)
    low2 = np.uint32(low - 1) if low > 0 else last
    high2 = np.uint32(high + 1) if high < last else np.uint32(0)
    return Line(low2, low, at, high, high2, over, over, over, 0, 0, 0)


@cell
def centre(line):
    """The line's own point."""
    return Pair(line.before, line.here, line.behind, line.over, line.on)


@cell
def lower(line):
    """The point before it."""
    return Pair(line.before2, line.before, line.here, line.over_before, line.on_before)


@cell
def upper(line):
    """The point behind it."""
    return Pair(line.here, line.behind, line.behind2, line.over_behind, line.on_behind)
