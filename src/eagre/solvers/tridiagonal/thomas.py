"""Thomas algorithm: vectorised across lines on the CPU, one thread per line on a GPU.

L. H. Thomas, Elliptic problems in linear differential equations over a network, Watson Sci. Comput.
Lab. Report, Columbia University (1949).
"""

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, prange, real

COLUMNS = 256  # maximum number of adjacent columns per CPU thread
LINES = 16  # the same for contiguous lines
TILE = 128  # rows of a transposed tile of contiguous lines; shorter tiles have more page misses

# Corners on the CPU are unsigned, and counters are added to them before any constant: an index that may be negative
# for all that the compiler knows becomes a gather.


@cell
def forward(system, store, x, o, k, i, n):
    """Eliminate row k of n columns from i on: c of the eliminated rows to `store`, d to x; o, k, i : unsigned."""
    a, b, c, d = system
    if k == 0:
        for m in range(n):
            over = real(1.0) / b[o, k, i + m]
            store[k, m] = c[o, k, i + m] * over
            x[o, k, i + m] = d[o, k, i + m] * over
    else:
        below = k - np.uint32(1)
        for m in range(n):
            low = a[o, k, i + m]
            over = real(1.0) / (b[o, k, i + m] - low * store[below, m])
            store[k, m] = c[o, k, i + m] * over
            x[o, k, i + m] = (d[o, k, i + m] - low * x[o, below, i + m]) * over


@entry
def thomas_columns_cpu(a, b, c, d, x, scratch):
    """Solve systems along the middle axis of (outer, n, inner); scratch : (workers, n, adjacent columns)."""
    outer, rows, inner = b.shape
    workers, width = scratch.shape[0], scratch.shape[2]
    groups = (inner + width - 1) // width
    for worker in prange(workers):
        store = scratch[worker]
        for group in range(worker, groups * outer, workers):
            first = group // groups
            start = (group - first * groups) * width
            o, i, n = np.uint32(first), np.uint32(start), min(width, inner - start)
            for k in range(rows):
                forward((a, b, c, d), store, x, o, np.uint32(k), i, n)
            for back in range(1, rows):
                k = np.uint32(rows - 1 - back)
                for m in range(n):
                    x[o, k, i + m] -= store[k, m] * x[o, k + 1, i + m]


@cell
def transpose_lines(array, tile, base, j, n, k, rows):
    """Transpose a tile of n contiguous lines, so that lines are adjacent; j, k : unsigned."""
    for m in range(n):
        offset, line = np.uint32(base + m), j + np.uint32(m)
        for r in range(rows):
            tile[offset + r * LINES] = array[line, k + r]


@cell
def eliminate_tile(tile, store, k, rows, n):
    """Eliminate rows k .. k + rows - 1 of n lines whose transposed a, b, c, d are in the tile: c and d to `store`."""
    size = TILE * LINES
    for r in range(rows):
        offset, row = np.uint32(r * LINES), np.uint32(k + r)
        if row == 0:
            for m in range(n):
                over = real(1.0) / tile[offset + m + size]
                store[row, m] = tile[offset + m + 2 * size] * over
                store[row, m + LINES] = tile[offset + m + 3 * size] * over
        else:
            below = row - np.uint32(1)
            for m in range(n):
                low = tile[offset + m]
                over = real(1.0) / (tile[offset + m + size] - low * store[below, m])
                store[row, m] = tile[offset + m + 2 * size] * over
                store[row, m + LINES] = (tile[offset + m + 3 * size] - low * store[below, m + LINES]) * over


@entry
def thomas_rows_cpu(a, b, c, d, x, scratch, tiles):
    """Solve systems along the last axis of (lines, n), in blocks of lines that are transposed in tiles.

    scratch : (workers, n, 2 LINES); tiles : (workers, 4 TILE LINES). All lines of a block are eliminated, including
    lines that the last block lacks: a variable number would prevent vectorisation.
    """
    lines, rows = b.shape
    blocks = (lines + LINES - 1) // LINES
    workers = scratch.shape[0]
    for worker in prange(workers):
        store, tile = scratch[worker], tiles[worker]
        every = min(LINES, tile.size)
        for block in range(worker, blocks, workers):
            j = np.uint32(block * LINES)
            n = min(LINES, lines - block * LINES)
            for k in range(0, rows, TILE):
                count, first = min(TILE, rows - k), np.uint32(k)
                transpose_lines(a, tile, 0, j, n, first, count)
                transpose_lines(b, tile, TILE * LINES, j, n, first, count)
                transpose_lines(c, tile, 2 * TILE * LINES, j, n, first, count)
                transpose_lines(d, tile, 3 * TILE * LINES, j, n, first, count)
                eliminate_tile(tile, store, k, count, every)
            for back in range(1, rows):
                row = np.uint32(rows - 1 - back)
                for m in range(every):
                    store[row, m + LINES] -= store[row, m] * store[row + 1, m + LINES]
            for m in range(n):
                line = j + np.uint32(m)
                for k in range(rows):
                    x[line, k] = store[k, m + LINES]


@entry
def thomas_cuda(a, b, c, d, x, store):
    """Solve one line of (outer, n, inner) per thread; slow for few or contiguous lines."""
    line = cuda.grid(1)
    outer, rows, inner = b.shape
    if line >= outer * inner:
        return
    o, i = line // inner, line % inner
    c_below, value = real(0.0), real(0.0)
    for k in range(rows):
        low = a[o, k, i] if k > 0 else real(0.0)
        over = real(1.0) / (b[o, k, i] - low * c_below)
        c_below = c[o, k, i] * over
        value = (d[o, k, i] - low * value) * over
        store[o, k, i] = c_below
        x[o, k, i] = value
    for back in range(1, rows):
        k = rows - 1 - back
        value = x[o, k, i] - store[o, k, i] * value
        x[o, k, i] = value
