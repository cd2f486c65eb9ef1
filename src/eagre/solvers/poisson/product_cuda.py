"""Sine transforms as a product of matrices, for numbers of intervals that have large factors."""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell, cuda, entry, real, switch

SIDE = 32  # of the square of results of a block; a thread has 4 x 4 of them
PADDED = 33  # SIDE + 1: no two rows of a column in one bank
DEPTH = switch("DEPTH", 16)  # terms between two barriers
LOADS = switch("LOADS", 8)  # SIDE DEPTH / 64: what a thread loads of either factor


@cell
def fetch(source, matrix, left, right, t, row, column, start, odd):
    """Load the next terms into registers: sums or differences of mirrored values, and the matrix.

    sin(pi (n - j) k / n) is sin(pi j k / n) for odd k and minus that for even k.
    """
    ny, n = np.uint64(source.shape[0] - 1), np.uint64(source.shape[1] - 1)
    for turn in range(LOADS):
        item = t + np.uint64(64 * turn)
        j, r = np.uint64(start) + item % np.uint64(DEPTH), row + item // np.uint64(DEPTH)
        value = real(0.0)
        if r < ny and j + j <= n:
            value = source[r, j]
            mirrored = source[r, n - j]
            if j + j < n:
                value = value + mirrored if odd else value - mirrored
            elif not odd:
                value = real(0.0)
        left[turn] = value
    for turn in range(LOADS):
        item = t + np.uint64(64 * turn)
        j, k = np.uint64(start) + item // np.uint64(SIDE), column + np.uint64(2) * (item % np.uint64(SIDE))
        right[turn] = matrix[j, k] if k < n and j + j <= n else real(0.0)


@entry
def multiply_rows_cuda(source, matrix, out):
    """Interior of out = interior of source times the interior of `matrix`; block of 64 threads, 4 x 4 results each.

    matrix : sin(pi j k / n), (n + 1, n + 1); source, out : (ny + 1, n + 1). Blocks with an even index give
    odd k, and the others even k: half the terms. Walls are left out: their vorticity must not reach psi.
    """
    rows = cuda.shared.array((DEPTH, PADDED), real)
    columns = cuda.shared.array((DEPTH, PADDED), real)
    total = cuda.local.array((4, 4), real)
    left = cuda.local.array(LOADS, real)
    right = cuda.local.array(LOADS, real)
    t = np.uint64(cuda.threadIdx.x)
    a, b = t // np.uint64(8), t % np.uint64(8)
    odd = cuda.blockIdx.x % 2 == 0
    row = np.uint64(1) + np.uint64(cuda.blockIdx.y) * np.uint64(SIDE)
    column = np.uint64(1 if odd else 2) + np.uint64(cuda.blockIdx.x // 2) * np.uint64(2 * SIDE)
    half = (source.shape[1] - 1) // 2
    for p in range(4):
        for q in range(4):
            total[p, q] = real(0.0)
    fetch(source, matrix, left, right, t, row, column, 1, odd)
    for start in range(1, half + 1, DEPTH):
        for turn in range(LOADS):
            item = t + np.uint64(64 * turn)
            rows[item % np.uint64(DEPTH), item // np.uint64(DEPTH)] = left[turn]
            columns[item // np.uint64(SIDE), item % np.uint64(SIDE)] = right[turn]
        cuda.syncthreads()
        fetch(source, matrix, left, right, t, row, column, start + DEPTH, odd)  # under way during the products
        for step in range(DEPTH):
            at = np.uint64(step)
            for p in range(4):
                for q in range(4):
                    total[p, q] += rows[at, a + np.uint64(8 * p)] * columns[at, b + np.uint64(8 * q)]
        cuda.syncthreads()
    for p in range(4):
        for q in range(4):
            j, k = row + a + np.uint64(8 * p), column + np.uint64(2) * (b + np.uint64(8 * q))
            if j < np.uint64(source.shape[0] - 1) and k < np.uint64(source.shape[1] - 1):
                out[j, k] = total[p, q]
