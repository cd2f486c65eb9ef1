"""What the other bands and the walls do to a band of rows (`bands`), on a GPU."""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.cells import cell, cuda, entry, real, switch

WIDTH = switch("WIDTH", 8)  # wavenumbers of a tile of the spectrum
SPAN = 256  # rows of a block
THREADS = 256  # of a block


@cell
def ends_taken(one, k, spectrum, ends, last):
    """The first row of a band's spectrum and row `last`, wavenumber k, into ends[0], ends[1]; `one` is 0."""
    tile, lane = k // WIDTH, k % WIDTH
    ends[0, k] = spectrum[tile, 0, lane]
    ends[1, k] = spectrum[tile, last, lane]


@cell
def summed(ends, couplings, side, k):
    """U (side 0) or V (side 1) of wavenumber k."""
    total = real(0.0)
    for n in range(ends.shape[0]):
        total += couplings[side, n, k] * ends[n, k]
    return total


@entry
def join_bands_cuda(spectrum, ends, couplings, decay, rows, far):
    """Add U r^(t + 1) + V r^(m - t) to row t of m = `rows` of a spectrum in tiles, in place, where it is felt.

    spectrum : (tiles, rows + 1, WIDTH); ends : (2 bands, tiles WIDTH); couplings : (2, 2 bands, tiles WIDTH);
    decay : (tiles WIDTH,), growing. Block: THREADS; grid: (tiles, rows / SPAN). exp(-far) is nothing.
    """
    tile, start = np.uint64(cuda.blockIdx.x), cuda.blockIdx.y * SPAN
    end = min(start + SPAN, rows)
    slowest = decay[tile * np.uint64(WIDTH)]
    if slowest * real(start + 1) < far or slowest * real(rows + 1 - end) < far:
        lane = np.uint64(cuda.threadIdx.x % WIDTH)
        k = tile * np.uint64(WIDTH) + lane
        rate = decay[k]
        low, high = summed(ends, couplings, 0, k), summed(ends, couplings, 1, k)
        for t in range(start + cuda.threadIdx.x // WIDTH, end, THREADS // WIDTH):
            change = low * math.exp(-(rate * real(t + 1)))
            change += high * math.exp(-(rate * real(rows - t)))
            spectrum[tile, np.uint64(t), lane] += change
