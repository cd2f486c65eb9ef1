"""Rows times a symmetric matrix: sine transforms for numbers of intervals that have large factors."""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cuda, entry, real, switch

SIDE = 32  # of the square of results of a block; a thread has 4 x 4 of them
PADDED = 33  # SIDE + 1: no two rows of a column in one bank
DEPTH = switch("DEPTH", 16)  # terms between two barriers


@entry
def multiply_rows_cuda(source, matrix, out):
    """Interior of out = interior of source times the interior of `matrix`; block of 64 threads, 4 x 4 results each.

    Interior rows and columns only: a wall's vorticity must not reach psi. source, out : (ny + 1, n + 1);
    matrix : (n + 1, n + 1).
    """
    rows = cuda.shared.array((DEPTH, PADDED), real)
    columns = cuda.shared.array((DEPTH, PADDED), real)
    total = cuda.local.array((4, 4), real)
    t = np.uint64(cuda.threadIdx.x)
    a, b = t // np.uint64(8), t % np.uint64(8)
    row = np.uint64(1) + np.uint64(cuda.blockIdx.y) * np.uint64(SIDE)
    column = np.uint64(1) + np.uint64(cuda.blockIdx.x) * np.uint64(SIDE)
    ny, n = np.uint64(source.shape[0] - 1), np.uint64(source.shape[1] - 1)
    for p in range(4):
        for q in range(4):
            total[p, q] = real(0.0)
    for start in range(1, source.shape[1] - 1, DEPTH):
        for turn in range(SIDE * DEPTH // 64):
            item = t + np.uint64(64 * turn)
            k, r = item % np.uint64(DEPTH), item // np.uint64(DEPTH)
            inside = row + r < ny and np.uint64(start) + k < n
            rows[k, r] = source[row + r, np.uint64(start) + k] if inside else real(0.0)
            k, r = item // np.uint64(SIDE), item % np.uint64(SIDE)
            inside = column + r < n and np.uint64(start) + k < n
            columns[k, r] = matrix[np.uint64(start) + k, column + r] if inside else real(0.0)
        cuda.syncthreads()
        for step in range(DEPTH):
            at = np.uint64(step)
            for p in range(4):
                for q in range(4):
                    left = rows[at, a + np.uint64(8 * p)]
                    total[p, q] += left * columns[at, b + np.uint64(8 * q)]
        cuda.syncthreads()
    for p in range(4):
        for q in range(4):
            j, k = row + a + np.uint64(8 * p), column + b + np.uint64(8 * q)
            if j < ny and k < n:
                out[j, k] = total[p, q]
