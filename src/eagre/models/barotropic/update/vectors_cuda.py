"""Vectorised device functions of the GPU update: VECTOR columns, 16 bytes, per thread."""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, flat_load, load_four, load_two, real, store_four, store_two, switch
from eagre.models.barotropic.kernels import HISTORY, WIND, advanced, tendency

VECTOR = switch("VECTOR", 4)  # columns per thread: 16 bytes
SPAN = switch("SPAN", 6)  # VECTOR + 2, as a compile-time constant


@cell
def load_columns(field, index, into, row, start):
    """Load VECTOR columns from flat index `index` into into[row, start ..]."""
    if VECTOR == 4:
        a, b, c, d = load_four(field, index, 0)
        into[row, start], into[row, start + 1], into[row, start + 2], into[row, start + 3] = a, b, c, d
    else:
        a2, b2 = load_two(field, index, 0)
        into[row, start], into[row, start + 1] = a2, b2


@cell
def store_columns(field, index, values, row):
    """Store VECTOR columns of values[row] at flat index `index`."""
    if VECTOR == 4:
        store_four(field, index, 0, (values[row, 0], values[row, 1], values[row, 2], values[row, 3]))
    else:
        store_two(field, index, 0, (values[row, 0], values[row, 1]))


@cell
def load_neighbours(field, start, west, east, into, row):
    """Load columns m - 1 .. m + VECTOR; `start` is the flat index of column m."""
    into[row, 0] = flat_load(field, start - west, 0)
    load_columns(field, start, into, row, 1)
    into[row, SPAN - 1] = flat_load(field, start + east, 0)


@cell
def load_history(older, oldest, start, into, row):
    """Load the stored tendencies of a row."""
    load_columns(older, start, into, row, 0)
    if HISTORY == 2:
        load_columns(oldest, start, into, row + 2, 0)


@cell
def store_history(older, oldest, start, values, row):
    """Replace the oldest tendency by the new one."""
    if HISTORY == 2:
        store_columns(oldest, start, values, row)
    else:
        store_columns(older, start, values, row)


@cell
def wind(curl, j, i):
    """Return the forcing at a point."""
    if WIND == 0:
        return real(0.0)
    if WIND == 1:
        return curl[j, np.uint64(0)]
    return curl[j, i]


@cell
def load_wind(curl, j, m, width, into, row):
    """Load the forcing of columns m .. m + VECTOR - 1 of row j."""
    for n in range(VECTOR):
        into[row, n] = wind(curl, j, min(m + np.uint64(n), width - np.uint64(1)))


@cell
def computed(p, z, row, previous, forcing, w, c, m, width, result):
    """Store the new vorticity and tendency of the row after `row` in result[2 row], result[2 row + 1].

    Both are zero on walls and outside the grid.
    """
    s, k, t = row, row + 1, row + 2
    for n in range(VECTOR):
        f = tendency(
            p[s, n], p[s, n + 1], p[s, n + 2], p[k, n], p[k, n + 1], p[k, n + 2], p[t, n], p[t, n + 1], p[t, n + 2],
            z[s, n], z[s, n + 1], z[s, n + 2], z[k, n], z[k, n + 1], z[k, n + 2], z[t, n], z[t, n + 1], z[t, n + 2],
            forcing[row, n], c,
        )  # fmt: skip
        long_before = real(0.0)
        if HISTORY == 2:
            long_before = previous[row + 2, n]
        value = advanced(z[k, n + 1], f, previous[row, n], long_before, w)
        inside = m + np.uint64(n) > np.uint64(0) and m + np.uint64(n + 1) < width
        result[row + row, n] = value if inside else real(0.0)
        result[row + row + 1, n] = f if inside else real(0.0)
