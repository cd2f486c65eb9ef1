"""Reference sine transforms and transpose of Bleichrodt (2011), with corrections.

F. Bleichrodt, MSc thesis, Utrecht (2011). They need twice the work of `rows_cuda` and serve as references for tests and
benchmarks. NumPy or CuPy arrays; the transforms are along the last axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cuda, entry, switch, word
from eagre.backend.device import array_module

TILE = 32
TRANSPOSE_BLOCK = (TILE, 8)
WIDTH = switch("WIDTH", 33)  # padded row length of the tile; a sum would not be a compile-time constant


def odd_extension(x: Any) -> Any:
    """Return [0 x_1 .. x_N 0 -x_N .. -x_1], length 2 (N + 1)."""
    module = array_module(x)
    zero = module.zeros((*x.shape[:-1], 1), x.dtype)
    return module.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)


def sine_by_odd_extension(x: Any) -> Any:
    """Return S_k = sum_j x_j sin(pi j k / n) = -Im(DFT_k) / 2 of the odd extension (section 2.4.1)."""
    n = x.shape[-1] + 1
    return -0.5 * array_module(x).fft.fft(odd_extension(x), axis=-1).imag[..., 1:n]


def spectra_of_two(f: Any, g: Any) -> tuple[Any, Any]:
    """Return spectra of two real signals from one complex transform of f + i g (Algorithm 1, one sign corrected)."""
    h = array_module(f).fft.fft(f + 1j * g, axis=-1)
    mirrored = array_module(f).roll(h[..., ::-1], 1, axis=-1)  # H_(n - k), H_n = H_0
    return 0.5 * (h + mirrored.conj()), -0.5j * (h - mirrored.conj())


def spectrum_by_half_length(f: Any) -> Any:
    """Return the spectrum F_k, k = 0 .. M / 2, of a real signal of length M by a complex transform of length M / 2.

    Algorithm 2: h_j = f_2j + i f_(2j+1), F_k = H_k - (1 + i exp(-2 pi i k / M)) (H_k - conj(H_(M/2-k))) / 2;
    the sign and the denominator of the printed exponent are wrong.
    """
    module = array_module(f)
    length = f.shape[-1]
    h = module.fft.fft(f[..., 0::2] + 1j * f[..., 1::2], axis=-1)
    h = module.concatenate([h, h[..., :1]], axis=-1)
    rotation = module.exp(-2j * np.pi * module.arange(length // 2 + 1) / length)
    return h - 0.5 * (1.0 + 1j * rotation) * (h - h[..., ::-1].conj())


def sine_by_half_length(x: Any) -> Any:
    """Return the sine transform of the source: Algorithm 2 on the odd extension, k = 1 .. N."""
    n = x.shape[-1] + 1
    return -0.5 * spectrum_by_half_length(odd_extension(x)).imag[..., 1:n]


@entry
def transpose_cuda(source, target):
    """Transpose source to target through a tile of shared memory that is padded by a column.

    Both sides are coalesced; without the padding (WIDTH = 32) a column of the tile is in one bank. The block has
    `TRANSPOSE_BLOCK` threads.
    """
    tile = cuda.shared.array((TILE, WIDTH), word)
    tx, ty = np.uint64(cuda.threadIdx.x), np.uint64(cuda.threadIdx.y)
    row, column = np.uint64(cuda.blockIdx.y) * np.uint64(TILE), np.uint64(cuda.blockIdx.x) * np.uint64(TILE)
    for step in range(TILE // 8):
        j = ty + np.uint64(8 * step)
        if row + j < np.uint64(source.shape[0]) and column + tx < np.uint64(source.shape[1]):
            tile[j, tx] = source[row + j, column + tx]
    cuda.syncthreads()
    for step in range(TILE // 8):
        j = ty + np.uint64(8 * step)
        if column + j < np.uint64(source.shape[1]) and row + tx < np.uint64(source.shape[0]):
            target[column + j, row + tx] = tile[tx, j]
