"""Elimination along whole lines: vectors across lines on the CPU, one thread a line on a GPU.

L. H. Thomas, Elliptic problems in linear differential equations over a network, Watson Sci. Comput.
Lab. Report, Columbia University (1949).
"""

import numpy as np

from eagre.backend.cells import cell, cuda, entry, prange, real

LINES = 16  # lines that one thread of the CPU eliminates side by side
TILE = 32  # rows of a tile of contiguous lines that is turned on chip


@cell
def forward(a, b, c, d, x, store, o, k, i, n, over):
    """Row k of n lines from i on: c of the eliminated rows to `store`, d to x."""
    for m in range(n):
        before = store[(k - 1) * LINES + m] if k > 0 else real(0.0)
        d_before = x[o, k - 1, i + m] if k > 0 else real(0.0)
        low = a[o, k, i + m] if k > 0 else real(0.0)
        over[m] = real(1.0) / (b[o, k, i + m] - low * before)
        x[o, k, i + m] = (d[o, k, i + m] - low * d_before) * over[m]
    for m in range(n):
        store[k * LINES + m] = c[o, k, i + m] * over[m]


@entry
def thomas_columns_cpu(a, b, c, d, x, scratch):
    """Systems along the middle axis of (outer, n, inner)."""
    outer, rows, inner = b.shape
    strips = (inner + LINES - 1) // LINES
    workers = scratch.shape[0]
    for worker in prange(workers):
        store = scratch[worker]
        over = np.empty(LINES, b.dtype)
        for strip in range(worker, strips * outer, workers):
            o = strip // strips
            i = (strip - o * strips) * LINES
            n = min(LINES, inner - i)
            for k in range(rows):
                forward(a, b, c, d, x, store, o, k, i, n, over)
            for back in range(1, rows):
                k = rows - 1 - back
                for m in range(n):
                    x[o, k, i + m] -= store[k * LINES + m] * x[o, k + 1, i + m]


@cell
def turned(array, tile, base, j, n, k, rows):
    """A tile of n contiguous lines, turned so that lines lie side by side."""
    for m in range(n):
        for r in range(rows):
            tile[base + r * LINES + m] = array[j + m, k + r]


@cell
def eliminate_tile(tile, store, k, rows, n):
    """Rows k .. k + rows - 1 of n lines whose turned a, b, c, d are in the tile."""
    size = TILE * LINES
    for r in range(rows):
        at = r * LINES
        for m in range(LINES):
            before = store[2 * LINES * (k + r - 1) + m] if k + r > 0 else real(0.0)
            d_before = store[2 * LINES * (k + r - 1) + LINES + m] if k + r > 0 else real(0.0)
            low = tile[at + m] if k + r > 0 else real(0.0)
            over = real(1.0) / (tile[size + at + m] - low * before)
            store[2 * LINES * (k + r) + m] = tile[2 * size + at + m] * over
            store[2 * LINES * (k + r) + LINES + m] = (tile[3 * size + at + m] - low * d_before) * over


@entry
def thomas_rows_cpu(a, b, c, d, x, scratch, tiles):
    """Systems along the last axis of (lines, n), a block of lines at a time turned in tiles."""
    lines, rows = b.shape
    blocks = (lines + LINES - 1) // LINES
    workers = scratch.shape[0]
    for worker in prange(workers):
        store, tile = scratch[worker], tiles[worker]
        for block in range(worker, blocks, workers):
            j = block * LINES
            n = min(LINES, lines - j)
            for k in range(0, rows, TILE):
                count = min(TILE, rows - k)
                turned(a, tile, 0, j, n, k, count)
                turned(b, tile, TILE * LINES, j, n, k, count)
                turned(c, tile, 2 * TILE * LINES, j, n, k, count)
                turned(d, tile, 3 * TILE * LINES, j, n, k, count)
                eliminate_tile(tile, store, k, count, n)
            for back in range(1, rows):
                at = 2 * LINES * (rows - 1 - back)
                for m in range(LINES):
                    store[at + LINES + m] -= store[at + m] * store[at + 3 * LINES + m]
            for m in range(n):
                for k in range(rows):
                    x[j + m, k] = store[2 * LINES * k + LINES + m]


@entry
def thomas_cuda(a, b, c, d, x, store):
    """One thread a line of (outer, n, inner): the plain way, slow where lines are few or contiguous."""
    at = cuda.grid(1)
    outer, rows, inner = b.shape
    if at >= outer * inner:
        return
    o, i = at // inner, at % inner
    before, value = real(0.0), real(0.0)
    for k in range(rows):
        low = a[o, k, i] if k > 0 else real(0.0)
        over = real(1.0) / (b[o, k, i] - low * before)
        before = c[o, k, i] * over
        value = (d[o, k, i] - low * value) * over
        store[o, k, i] = before
        x[o, k, i] = value
    for back in range(1, rows):
        k = rows - 1 - back
        value = x[o, k, i] - store[o, k, i] * value
        x[o, k, i] = value
