"""The column systems of `columns` on the CPU: chunks of neighbouring wavenumbers, rows one after the other."""

from __future__ import annotations

import math

from eagre.backend.cells import cell, entry, prange, real
from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, SCALE

CHUNK = 64  # wavenumbers that one thread carries through all rows: they stay in its cache
FAR = 40.0  # exp(-FAR) is nothing


@cell
def sweep(f, table, first, last):
    """Both recurrences, in place, for wavenumbers first <= k < last; table as of `columns`."""
    rows = f.shape[0]
    for k in range(last - first):
        f[0, first + k] *= table[SCALE, first + k]
    for j in range(rows - 1):
        for k in range(last - first):
            above = f[j, first + k]
            f[j + 1, first + k] = table[SCALE, first + k] * f[j + 1, first + k] + (
                above - table[DELTA, first + k] * above
            )
    for row in range(rows - 1):
        j = rows - 2 - row
        for k in range(last - first):
            below = f[j + 1, first + k]
            f[j, first + k] = f[j, first + k] + (below - table[DELTA, first + k] * below)


@cell
def long_sweep(f, table, first, last, carry):
    """As `sweep` for the longest waves, which remember many rows: the recurrences run in double precision."""
    rows = f.shape[0]
    for k in range(last - first):
        carry[k] = 0.0
    for j in range(rows):
        for k in range(last - first):
            x = float(table[SCALE, first + k]) * float(f[j, first + k])
            carry[k] = x + (carry[k] - float(table[DELTA, first + k]) * carry[k])
            f[j, first + k] = carry[k]
    for k in range(last - first):
        carry[k] = 0.0
    for row in range(rows):
        j = rows - 1 - row
        for k in range(last - first):
            carry[k] = float(f[j, first + k]) + (carry[k] - float(table[DELTA, first + k]) * carry[k])
            f[j, first + k] = carry[k]


@cell
def mend(f, table, first, last, decaying, growing):
    """Subtract p_0 h_j, which makes row 0 vanish, from the rows where it is felt."""
    rows = f.shape[0]
    size = 2.0 * (rows + 1)
    for k in range(last - first):
        decay = table[DECAY, first + k]
        ratio = real(1.0) - table[DELTA, first + k]
        wall = ratio * f[0, first + k] * table[IMAGE, first + k]
        decaying[k] = wall * ratio
        growing[k] = wall * math.exp(real(-(size - 1.0)) * decay)
    felt = rows
    if table[DECAY, first] * rows > FAR:
        felt = int(FAR / table[DECAY, first]) + 1
    for j in range(felt):
        for k in range(last - first):
            f[j, first + k] -= decaying[k] - growing[k]
        for k in range(last - first):
            delta = table[DELTA, first + k]
            decaying[k] -= delta * decaying[k]
            growing[k] += growing[k] * delta / (real(1.0) - delta)


@entry
def solve_columns_cpu(f, table, scratch, carry):
    """Solve in place; f : (ny - 1, nx - 1), interior rows and wavenumbers 1 .. nx - 1.

    table : (7, nx - 1), without the column of k = 0; scratch : (chunks, 2, CHUNK);
    carry : (CHUNK,), double.
    """
    for chunk in prange(scratch.shape[0]):
        first = chunk * CHUNK
        last = min(first + CHUNK, f.shape[1])
        if first == 0:
            long_sweep(f, table, first, last, carry)
        else:
            sweep(f, table, first, last)
        mend(f, table, first, last, scratch[chunk, 0], scratch[chunk, 1])
