"""Contributions of other slabs and walls to a slab (`slabs`), on the CPU."""

from __future__ import annotations

from eagre.backend.compilation.cells import cell, entry, prange
from eagre.solvers.poisson.columns import CHUNK, DECAY, DELTA, FAR


@cell
def summed(ends, couplings, side, first, last, total):
    """Compute U (side 0) or V (side 1) of wavenumbers first <= k < last."""
    for k in range(last - first):
        total[k] = 0.0
    for n in range(ends.shape[0]):
        for k in range(last - first):
            total[k] += couplings[side, n, first + k] * ends[n, first + k]


@cell
def faded(total, table, first, last):
    """Advance a contribution by one row, with its decay."""
    for k in range(last - first):
        total[k] -= table[DELTA, first + k] * total[k]


@entry
def join_bands_cpu(f, ends, couplings, table, scratch):
    """Add U r^(t + 1) + V r^(m - t) to row t of m, in place, where it is significant.

    f : (m, nx - 1), result of `solve_columns_cpu` without walls; ends : (2 slabs, nx - 1), first and last rows of all
    slabs;
    couplings : (2, 2 slabs, nx - 1) and table : (7, nx - 1), in double precision; scratch : (chunks, 2, CHUNK), double.
    """
    rows = f.shape[0]
    for chunk in prange(scratch.shape[0]):
        first = chunk * CHUNK
        last = min(first + CHUNK, f.shape[1])
        low, high = scratch[chunk, 0], scratch[chunk, 1]
        summed(ends, couplings, 0, first, last, low)
        summed(ends, couplings, 1, first, last, high)
        felt = min(rows, int(FAR / table[DECAY, first]) + 1)
        for t in range(felt):
            faded(low, table, first, last)
            faded(high, table, first, last)
            for k in range(last - first):
                f[t, first + k] += low[k]
            for k in range(last - first):
                f[rows - 1 - t, first + k] += high[k]
