"""Neighbour indices and difference factors along grid lines.

The line of a point along an axis has two neighbours on each side, as required by the pressure operator. The neighbour
outside a boundary is the boundary point, with one-sided differences. A periodic axis wraps around. Differences along an
axis of one point are 0.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell


class Axis(NamedTuple):
    """Axis: number of points, 1 if periodic, 1 / (2 d) (0 for one point)."""

    n: int
    periodic: int
    over: Any


class Grid(NamedTuple):
    """Values of `Axis` for all axes."""

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
    """Indices on a line through a point: two and one below it, the point, one and two above it.

    `over_*`: factor of a difference across a point; `on_*`: 1 if a point is on a boundary.
    """

    low2: Any
    low: Any
    here: Any
    high: Any
    high2: Any
    over_low: Any
    over: Any
    over_high: Any
    on_low: Any
    on: Any
    on_high: Any


class Pair(NamedTuple):
    """Point of a line with the two points of its difference."""

    low: Any
    here: Any
    high: Any
    over: Any
    on: Any


@cell
def axis_x(grid):
    """Return the axis along x."""
    return Axis(grid.nx, grid.periodic_x, grid.over_x)


@cell
def axis_y(grid):
    """Return the axis along y."""
    return Axis(grid.ny, grid.periodic_y, grid.over_y)


@cell
def axis_z(grid):
    """Return the axis along z."""
    return Axis(grid.nz, grid.periodic_z, grid.over_z)


@cell
def lower_neighbour(i, axis):
    """Return the next lower index; at a boundary i."""
    if i > 0:
        return i - 1
    return axis.n - 1 if axis.periodic else np.int64(0)


@cell
def upper_neighbour(i, axis):
    """Return the next higher index; at a boundary i."""
    if i < axis.n - 1:
        return i + 1
    return np.int64(0) if axis.periodic else axis.n - 1


@cell
def is_side(i, axis):
    """Return 1 for a point on a boundary, otherwise 0."""
    return 1 if axis.periodic == 0 and axis.n > 1 and (i == 0 or i == axis.n - 1) else 0


@cell
def over_at(on, axis):
    """Return 1 / (2 d), at a boundary 1 / d."""
    return axis.over + axis.over if on else axis.over


@cell
def line_at(i, axis):
    """Return the line through point i along an axis."""
    here = np.int64(i)
    low, high = lower_neighbour(here, axis), upper_neighbour(here, axis)
    on_low, on, on_high = is_side(low, axis), is_side(here, axis), is_side(high, axis)
    over_low, over, over_high = over_at(on_low, axis), over_at(on, axis), over_at(on_high, axis)
    low2, high2 = lower_neighbour(low, axis), upper_neighbour(high, axis)
    return Line(low2, low, here, high, high2, over_low, over, over_high, on_low, on, on_high)


@line_at.variant("cuda")
def _line_at_unsigned(i, axis):
    # unsigned indices need no test for negative values
    n, here, one, zero = np.uint32(axis.n), np.uint32(i), np.uint32(1), np.uint32(0)
    last = np.uint32(n - one)
    first, end = (last, zero) if axis.periodic else (zero, last)
    low = np.uint32(here - one) if here > zero else first
    high = np.uint32(here + one) if here < last else end
    low2 = np.uint32(low - one) if low > zero else first
    high2 = np.uint32(high + one) if high < last else end
    on_low, on, on_high = is_side(low, axis), is_side(here, axis), is_side(high, axis)
    over_low, over, over_high = over_at(on_low, axis), over_at(on, axis), over_at(on_high, axis)
    return Line(low2, low, here, high, high2, over_low, over, over_high, on_low, on, on_high)


@cell
def inner_line(corner, axis):
    """Return the line through point corner + 2, with two points on each side; corner is unsigned."""
    over = axis.over
    return Line(corner, corner + 1, corner + 2, corner + 3, corner + 4, over, over, over, 0, 0, 0)


@cell
def periodic_line(i, axis):
    """Return the line through point i of a periodic axis, or with two points on each side."""
    last, here, over = np.uint32(axis.n - 1), np.uint32(i), axis.over
    low = np.uint32(here - 1) if here > 0 else last
    high = np.uint32(here + 1) if here < last else np.uint32(0)
    low2 = np.uint32(low - 1) if low > 0 else last
    high2 = np.uint32(high + 1) if high < last else np.uint32(0)
    return Line(low2, low, here, high, high2, over, over, over, 0, 0, 0)


@cell
def centre(line):
    """Return the centre point of a line."""
    return Pair(line.low, line.here, line.high, line.over, line.on)


@cell
def lower(line):
    """Return the point below the centre."""
    return Pair(line.low2, line.low, line.here, line.over_low, line.on_low)


@cell
def upper(line):
    """Return the point above the centre."""
    return Pair(line.here, line.high, line.high2, line.over_high, line.on_high)
