"""The column systems of `columns` on the CPU: chunks of neighbouring wavenumbers, rows one after the other.

Arrays have a rim all round, which stays as it is. Corners are unsigned and the loop's counter is added before any
constant: an index that may be negative for all that the compiler knows, or a view of the interior, whose rows may
lie anyhow, is left scalar or gathered.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.cells import cell, entry, prange, real
from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, SCALE

CHUNK = 64  # wavenumbers that one thread carries through all rows: they stay in its cache
FAR = 40.0  # exp(-FAR) is nothing


@cell
def sweep(f, table, first, n):
    """Both recurrences, in place, for n wavenumbers from first on (unsigned); table as of `columns`."""
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
    """As `sweep` for the longest waves, which remember many rows: the recurrences run in double precision."""
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
def mend(f, table, first, n, decaying, growing):
    """Subtract p_0 h_j, which makes row 0 vanish, from the rows where it is felt."""
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
        mend(f, table, first, n, scratch[chunk, 0], scratch[chunk, 1])
