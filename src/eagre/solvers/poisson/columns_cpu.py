"""Column systems of `columns` on the CPU: chunks of adjacent wavenumbers, rows in sequence.

Arrays have unchanged boundary points. Corners are unsigned, and the loop counter is added before any constant: the
compiler does not vectorise indices that may be negative, or views of the interior with unknown strides.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, SCALE

CHUNK = 64  # wavenumbers per thread, whose rows stay in its cache
FAR = 40.0  # exp(-FAR) is negligible


@cell
def sweep(f, table, first, n):
    """Compute both recurrences in place for n wavenumbers from first on (unsigned); table as in `columns`."""
    rows = f.shape[0] - 2
    for k in range(n):
        f[1, first + k + 1] *= table[SCALE, first + k]
    for j in range(rows - 1):
        row = np.uint32(j)
        for k in range(n):
            above = f[row + 1, first + k + 1]
            f[row + 2, first + k + 1] = table[SCALE, first + k] * f[row + 2, first + k + 1] + (
                above - table[DELTA, first + k] * above
            )
    for back in range(rows - 1):
        row = np.uint32(rows - 2 - back)
        for k in range(n):
            below = f[row + 2, first + k + 1]
            f[row + 1, first + k + 1] += below - table[DELTA, first + k] * below


@cell
def long_sweep(f, table, first, n, carry):
    """Sweep the longest waves, which decay over many rows: like `sweep`, with recurrences in double precision."""
    rows = f.shape[0] - 2
    for k in range(n):
        carry[k] = 0.0
    for j in range(rows):
        row = np.uint32(j)
        for k in range(n):
            x = float(table[SCALE, first + k]) * float(f[row + 1, first + k + 1])
            carry[k] = x + (carry[k] - float(table[DELTA, first + k]) * carry[k])
            f[row + 1, first + k + 1] = carry[k]
    for k in range(n):
        carry[k] = 0.0
    for back in range(rows):
        row = np.uint32(rows - 1 - back)
        for k in range(n):
            carry[k] = float(f[row + 1, first + k + 1]) + (carry[k] - float(table[DELTA, first + k]) * carry[k])
            f[row + 1, first + k + 1] = carry[k]


@cell
def subtract_wall(f, table, first, n, decaying, growing):
    """Subtract p_0 h_j, so that row 0 vanishes, in the rows where it is significant."""
    rows = f.shape[0] - 2
    size = 2.0 * (rows + 1)
    for k in range(n):
        decay = table[DECAY, first + k]
        ratio = real(1.0) - table[DELTA, first + k]
        wall = ratio * f[1, first + k + 1] * table[IMAGE, first + k]
        decaying[k] = wall * ratio
        growing[k] = wall * math.exp(real(-(size - 1.0)) * decay)
    felt = rows
    if table[DECAY, first] * rows > FAR:
        felt = int(FAR / table[DECAY, first]) + 1
    for j in range(felt):
        row = np.uint32(j)
        for k in range(n):
            f[row + 1, first + k + 1] -= decaying[k] - growing[k]
        for k in range(n):
            delta = table[DELTA, first + k]
            decaying[k] -= delta * decaying[k]
            growing[k] += growing[k] * delta / (real(1.0) - delta)


@entry
def solve_columns_cpu(f, table, scratch, carry):
    """Solve in place; f : (ny + 1, nx + 1), whose interior holds rows 1 .. ny - 1 of wavenumbers 1 .. nx - 1.

    table : (7, nx - 1), without the column of k = 0; scratch : (chunks, 2, CHUNK);
    carry : (CHUNK,), double.
    """
    for chunk in prange(scratch.shape[0]):
        first = np.uint32(chunk * CHUNK)
        n = min(CHUNK, table.shape[1] - np.int64(first))
        if first == 0:
            long_sweep(f, table, first, n, carry)
        else:
            sweep(f, table, first, n)
        subtract_wall(f, table, first, n, scratch[chunk, 0], scratch[chunk, 1])
