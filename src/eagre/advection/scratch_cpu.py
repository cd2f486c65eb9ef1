"""Scratch array of the fused CPU step: layout, and loads from memory (see `plan_cpu`)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, prefetch, switch

STRIDE = switch("STRIDE", 152)  # values per row of the scratch array
ROW = switch("ROW", 152)  # row stride; 0 for a single row without flow between rows
PLANE = switch("PLANE", 152 * 24)
SLIDE = switch("SLIDE", 2)  # number of frame positions in the scratch array
VARIABLE_H = switch("VARIABLE_H", True)
LINE = switch("LINE", 8)  # values per cache line: maximum of a vector

EDGE = switch("EDGE", 3)  # ghost points; 4 with third-order terms
FIELDS = 11
FRAME = FIELDS  # planes
# Planes of frame 2, which came with plane p: of the point p, of p - 1 from P on, of p - 2 from UP on.
X, UP, DOWN, Z, U, Y, W, H, P, HIGH, LOW = range(FIELDS)
KEPT = 5  # planes of frame 0 that are read: from W on
# Additional planes: the flux through the upper face of plane p - 1, and plane p - 2 without the flux through that face.
F3, SUM = range(2)
# Unused planes of frame 0.
A1, A2, EAST, NORTH = X, UP, DOWN, Z
ONE, TWO = FRAME, 2 * FRAME  # planes from frame 0 to the others


class TileExtent(NamedTuple):
    """Position of a tile: first column and row, and their numbers; `full` : columns rounded up to full vectors."""

    i0: int
    j0: int
    columns: int
    rows: int
    full: int


class Sides(NamedTuple):
    """Ghost points along z, y and x (`AXIS_Z` ...) of four kinds (`OF_FIELD` ...), and open faces.

    indices : (3, 5, n); numbers : (3, 5, 2, n), factors and offsets. See `eagre.advection.ghosts`.
    """

    indices: Any
    numbers: Any


AXIS_Z, AXIS_Y, AXIS_X = range(3)
OF_FIELD, OF_H, ACROSS, ALONG, PASSABLE = range(5)


@cell
def ghost(a, k, j, sides, kind, t):
    """Return the ghost value at position t of a row of a."""
    factor, outside = sides.numbers[AXIS_X, kind, 0, t], sides.numbers[AXIS_X, kind, 1, t]
    return factor * a[k, j, sides.indices[AXIS_X, kind, t]] + outside


@cell
def load_row(s, offset, a, k, j, scale, shift, sides, kind, extent):
    """Load a row of a with its ghost points."""
    first = 1 if kind == ALONG else 0  # first and last position that is not a ghost
    last = a.shape[2] - 1 - first
    low = max(0, first + EDGE - extent.i0)
    high = min(extent.columns + 2 * EDGE, last + EDGE + 1 - extent.i0)
    to, source = np.uint32(offset + low), np.uint32(extent.i0 + low - EDGE)
    for i in range(high - low):
        s[to + i] = scale * a[k, j, source + i] + shift
    for c in range(low):
        s[offset + np.uint32(c)] = scale * ghost(a, k, j, sides, kind, extent.i0 + c) + shift
    for c in range(high, extent.columns + 2 * EDGE):
        s[offset + np.uint32(c)] = scale * ghost(a, k, j, sides, kind, extent.i0 + c) + shift


@cell
def load_plane(s, offset, a, p, kinds, sides, extent):
    """Load plane p of a with its ghost points; kinds : kinds along z, y and x."""
    kind_z, kind_y, kind_x = kinds
    t = max(p + EDGE, 0)  # no data needed below the first plane
    k, factor = sides.indices[AXIS_Z, kind_z, t], sides.numbers[AXIS_Z, kind_z, 0, t]
    for r in range(extent.rows + (2 * EDGE if ROW > 0 else 0)):
        n = extent.j0 + r + (0 if ROW > 0 else EDGE)
        scale = factor * sides.numbers[AXIS_Y, kind_y, 0, n]
        shift = factor * sides.numbers[AXIS_Y, kind_y, 1, n] + sides.numbers[AXIS_Z, kind_z, 1, t]
        j = sides.indices[AXIS_Y, kind_y, n]
        load_row(s, np.uint32(offset + r * STRIDE), a, k, j, scale, shift, sides, kind_x, extent)


@cell
def load(s, b, p, arrays, sides, extent):
    """Load the data of plane p: the field, the flux into it, and the other fluxes and h of the plane below."""
    kinds = (
        (OF_FIELD, OF_FIELD, OF_FIELD), (ALONG, ACROSS, ACROSS), (ACROSS, ACROSS, ALONG), (ACROSS, ALONG, ACROSS),
        (OF_H, OF_H, OF_H),
    )  # fmt: skip
    planes = (X, W, U, Y, H)
    for n in range(5 if VARIABLE_H else 4):
        below = 0 if n < 2 else 1
        load_plane(s, b + (TWO + planes[n]) * PLANE, arrays[n], p - below, kinds[n], sides, extent)


@cell
def slide(s):
    """Copy the last frames to the beginning of the scratch array."""
    z = np.uint32(LINE - 1)
    for i in range(KEPT * PLANE):
        s[z + i + (W * PLANE)] = s[z + i + ((SLIDE * FRAME + W) * PLANE)]
    for i in range((EDGE - 2) * FRAME * PLANE):
        s[z + i + (FRAME * PLANE)] = s[z + i + ((SLIDE + 1) * FRAME * PLANE)]


@cell
def prefetch_row(a, p, r, extent):
    """Prefetch row r of a tile of plane p of an array, which is read when the next plane is loaded."""
    j = extent.j0 + r - (EDGE if ROW > 0 else 0)
    for i in range(0, extent.columns, LINE):
        prefetch(a, p, j, extent.i0 + i)
