"""The update of a pair of rows where the vorticity is not stored (`eagre.models.barotropic.sums`).

Vorticity comes from the streamfunction, whose five-point Laplacian it is, and the sum is overwritten where it is read.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell, flat_load, load_two, switch
from eagre.models.barotropic.kernels import screened
from eagre.models.barotropic.vectors_cuda import SPAN, VECTOR, load_columns, store_columns
from eagre.solvers.poisson.rows_cuda import ROW

OUTER = switch("OUTER", 8)  # columns of psi for the vorticity of SPAN: SPAN + 2, which would be no constant


@cell
def load_beside(psi, start, west, east, into, row):
    """Columns m - 2 .. m + VECTOR + 1; `start` is the place of column m of the row."""
    into[row, 0], into[row, 1] = load_two(psi, start - west, 0)
    load_columns(psi, start, into, row, 2)
    into[row, OUTER - 2], into[row, OUTER - 1] = load_two(psi, start + east, 0)


@cell
def load_ends(psi, start, west, east, into, row):
    """Columns m - 1 .. m + VECTOR alone."""
    into[row, 1] = flat_load(psi, start - west // np.uint64(2), 0)
    load_columns(psi, start, into, row, 2)
    into[row, OUTER - 2] = flat_load(psi, start + east, 0)


@cell
def load_psi(psi, wide, low, m, ny):
    """Rows low - 1 .. low + 4 of a piece, as far as there are rows."""
    pitch = np.uint64(psi.shape[1])
    west = np.uint64(2) if m > np.uint64(0) else np.uint64(0)
    east = np.uint64(VECTOR) if m + np.uint64(VECTOR) < pitch else np.uint64(0)
    for row in range(6):
        above = low + np.uint64(row)
        start = min(above - np.uint64(1) if above > np.uint64(0) else above, ny) * pitch + m
        if row == 0 or row == 5:
            load_ends(psi, start, west, east, wide, row)
        else:
            load_beside(psi, start, west, east, wide, row)


@cell
def mirror_at_walls(wide, low, m, ny):
    """Psi beyond a wall is the mirror image with the other sign, so that the vorticity of the wall is zero."""
    if low == np.uint64(0):
        for n in range(1, OUTER - 1):
            wide[0, n] = -wide[2, n]
    if low + np.uint64(4) > ny:
        for row in range(3, 6):
            if low + np.uint64(row) == ny + np.uint64(2):
                for n in range(1, OUTER - 1):
                    wide[row, n] = -wide[row - 2, n]
    if m == np.uint64(0):
        for row in range(1, 5):
            wide[row, 1] = -wide[row, 3]
    if m + np.uint64(VECTOR + 1) > np.uint64(ROW):
        for n in range(3, OUTER):
            if m + np.uint64(n) == np.uint64(ROW + 3):
                for row in range(1, 5):
                    wide[row, n] = -wide[row, n - 2]


@cell
def psi_and_vorticity(wide, p, z, laplacian):
    """Rows low .. low + 3, columns m - 1 .. m + VECTOR."""
    for row in range(4):
        for n in range(SPAN):
            south, here, north = wide[row, n + 1], wide[row + 1, n + 1], wide[row + 2, n + 1]
            p[row, n] = here
            z[row, n] = screened(south, wide[row + 1, n], here, wide[row + 1, n + 2], north, laplacian)


@cell
def store_sum(total, start, found, row, w):
    """S = q' + c1 F of a row of this piece, what the next step needs of this one, also in place of F."""
    for n in range(VECTOR):
        found[row + row + 1, n] = found[row + row, n] + w[1] * found[row + row + 1, n]
    store_columns(total, start, found, row + row + 1)
