"""Contributions of other slabs and walls to a slab (`slabs`), on a GPU."""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, grid_dependency_wait, real, switch
from eagre.solvers.poisson.rows_cuda import row_of_tile

WIDTH = switch("WIDTH", 8)  # wavenumbers per tile of the spectrum
EARLY = switch("EARLY", 0)  # whether the kernel may start before the previous one has ended


@cell
def ends_taken(i, spectrum, ends, last):
    """Copy the first row and row `last` of a slab's spectrum, wavenumber i, to ends[0], ends[1]."""
    tile, lane = i // WIDTH, i % WIDTH
    ends[0, i] = spectrum[tile, row_of_tile(np.uint64(1)), lane]
    ends[1, i] = spectrum[tile, row_of_tile(np.uint64(last + 1)), lane]


@cell
def summed(ends, couplings, side, k):
    """Return U (side 0) or V (side 1) of wavenumber k."""
    total = real(0.0)
    for n in range(ends.shape[0]):
        total += couplings[side, n, k] * ends[n, k]
    return total


@entry
def join_bands_cuda(spectrum, ends, couplings, decay, row_blocks, rows):
    """Add U r^(t + 1) + V r^(m - t) to row t of m = `rows` of a spectrum in tiles, in place, where it is significant.

    spectrum : (tiles, rows + 1 or more, WIDTH); ends : (2 slabs, tiles WIDTH); couplings : (2, 2 slabs, tiles WIDTH);
    decay : (tiles WIDTH,); row_blocks : (blocks, 2), tile and first row of the rows of a block, threads / WIDTH.
    """
    tile, lane = np.uint64(row_blocks[cuda.blockIdx.x, 0]), np.uint64(cuda.threadIdx.x % WIDTH)
    t = row_blocks[cuda.blockIdx.x, 1] + cuda.threadIdx.x // WIDTH
    k = tile * np.uint64(WIDTH) + lane
    rate = decay[k]
    if EARLY > 0:
        grid_dependency_wait()
    if t < rows:
        change = summed(ends, couplings, 0, k) * math.exp(-(rate * real(t + 1)))
        change += summed(ends, couplings, 1, k) * math.exp(-(rate * real(rows - t)))
        spectrum[tile, row_of_tile(np.uint64(t + 1)), lane] += change


def coupled_row_blocks(decay: np.ndarray, width: int, rows: int, far: float, threads: int) -> np.ndarray:
    """Return tile and first row of all groups of threads / width rows where exp(-decay t) > exp(-far), (blocks, 2)."""
    height = threads // width
    start = np.arange(0, rows, height)
    nearest = np.minimum(start + 1, rows + 1 - np.minimum(start + height, rows))  # rows from the nearer interface
    slowest = decay.reshape(-1, width).min(axis=1)
    return np.argwhere(slowest[:, None] * nearest < far) * (1, height)
