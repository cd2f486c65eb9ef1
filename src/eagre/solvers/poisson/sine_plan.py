"""Plan of a sine transform: passes, small transforms, and tables in double precision.

The sine transform of n - 1 values is the Fourier transform of their odd extension of length M = 2 n.
With M = R L, input j = R m + r and output q = k + L s,

    Z_q = sum_r exp(-2 pi i r (k + L s) / M) Y_r(k),    Y_r(k) = sum_m z_(R m + r) exp(-2 pi i m k / L).

As the extension is odd, Y_(-r)(k) = -Y_r(-k) and Z_(-q) = -Z_q: only r = 0 .. R/2 of the inner transforms and
k = 0 .. L/2 of the outer ones are computed. Two rows are the real and imaginary part of one complex row. The cost is
(1/2 + 1/R) of a complex transform of length n per row, without a doubled length or differences of large numbers, and
with the accuracy of a plain Fourier transform.

Each pass consists of small transforms X_k = sum_n v_n exp(-2 pi i n k / size) of thread-local arrays, in place. All
their indices are constants after unrolling, so the arrays stay in registers. Composite sizes are split as n = B a + b,
k = c + A d with A B = size (Cooley and Tukey 1965, doi:10.1090/S0025-5718-1965-0178586-1): a transform over a, a
rotation by b c, a transform over b.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eagre.backend.compilation.cells import cell, cplx, cuda, real

HALF_ROOT = 0.7071067811865476
COS_8, SIN_8 = 0.9238795325112867, 0.3826834323650898  # of pi / 8
HALF_ROOT_3 = 0.8660254037844386


@cell
def rotated(z, c, s):
    """Multiply z by c - i s."""
    return complex(c * z.real + s * z.imag, c * z.imag - s * z.real)


@cell
def dft2(v, index, step):
    """Transform two values of v at `index`, index + step."""
    first, second = v[index], v[index + step]
    v[index] = first + second
    v[index + step] = first - second


@cell
def dft3(v, index, step):
    """Transform three values of v at `index`, index + step, index + 2 step."""
    x, y, z = v[index], v[index + step], v[index + 2 * step]
    total = y + z
    rotated = y - z
    rotated = complex(real(HALF_ROOT_3) * rotated.imag, -(real(HALF_ROOT_3) * rotated.real))
    centre = complex(x.real - real(0.5) * total.real, x.imag - real(0.5) * total.imag)
    v[index] = x + total
    v[index + step] = centre + rotated
    v[index + 2 * step] = centre - rotated


@cell
def dft4(v, index, step):
    """Transform four values of v at `index`, index + step, ..."""
    a, b = v[index] + v[index + 2 * step], v[index] - v[index + 2 * step]
    c, d = v[index + step] + v[index + 3 * step], v[index + step] - v[index + 3 * step]
    d = complex(d.imag, -d.real)
    v[index] = a + c
    v[index + step] = b + d
    v[index + 2 * step] = a - c
    v[index + 3 * step] = b - d


@cell
def transform1(v):
    """Size 1: nothing to do."""


@cell
def transform2(v):
    """Size 2."""
    dft2(v, 0, 1)


@cell
def transform4(v):
    """Size 4."""
    dft4(v, 0, 1)


@cell
def transform8(v):
    """Size 8 = 4 x 2."""
    for b in range(2):
        dft4(v, b, 2)
    v[3] = rotated(v[3], real(HALF_ROOT), real(HALF_ROOT))
    v[5] = complex(v[5].imag, -v[5].real)
    v[7] = rotated(v[7], real(-HALF_ROOT), real(HALF_ROOT))
    w = cuda.local.array(8, cplx)
    for c in range(4):
        w[c] = v[2 * c] + v[2 * c + 1]
        w[c + 4] = v[2 * c] - v[2 * c + 1]
    for k in range(8):
        v[k] = w[k]


@cell
def transform12(v):
    """Size 12 = 4 x 3."""
    for b in range(3):
        dft4(v, b, 3)
    v[4] = rotated(v[4], real(HALF_ROOT_3), real(0.5))
    v[7] = rotated(v[7], real(0.5), real(HALF_ROOT_3))
    v[10] = complex(v[10].imag, -v[10].real)
    v[5] = rotated(v[5], real(0.5), real(HALF_ROOT_3))
    v[8] = rotated(v[8], real(-0.5), real(HALF_ROOT_3))
    v[11] = complex(-v[11].real, -v[11].imag)
    w = cuda.local.array(12, cplx)
    for c in range(4):
        dft3(v, 3 * c, 1)
        for d in range(3):
            w[c + 4 * d] = v[3 * c + d]
    for k in range(12):
        v[k] = w[k]


@cell
def transform16(v):
    """Size 16 = 4 x 4."""
    for b in range(4):
        dft4(v, b, 4)
    v[5] = rotated(v[5], real(COS_8), real(SIN_8))
    v[6] = rotated(v[6], real(HALF_ROOT), real(HALF_ROOT))
    v[7] = rotated(v[7], real(SIN_8), real(COS_8))
    v[9] = rotated(v[9], real(HALF_ROOT), real(HALF_ROOT))
    v[10] = complex(v[10].imag, -v[10].real)
    v[11] = rotated(v[11], real(-HALF_ROOT), real(HALF_ROOT))
    v[13] = rotated(v[13], real(SIN_8), real(COS_8))
    v[14] = rotated(v[14], real(-HALF_ROOT), real(HALF_ROOT))
    v[15] = rotated(v[15], real(-COS_8), real(-SIN_8))
    w = cuda.local.array(16, cplx)
    for c in range(4):
        dft4(v, 4 * c, 1)
        for d in range(4):
            w[c + 4 * d] = v[4 * c + d]
    for k in range(16):
        v[k] = w[k]


TRANSFORMS = {1: transform1, 2: transform2, 4: transform4, 8: transform8, 12: transform12, 16: transform16}


FACTORS: dict[int, tuple[int, tuple[int, ...]]] = {
    16: (4, (8,)),
    32: (8, (8,)),
    48: (12, (8,)),
    64: (8, (16,)),
    96: (12, (16,)),
    128: (8, (4, 8)),
    192: (8, (12, 4)),
    256: (16, (4, 8)),
    288: (4, (12, 12)),
    384: (16, (12, 4)),
    512: (16, (8, 8)),
    576: (8, (12, 12)),
    768: (16, (12, 8)),
    1024: (16, (8, 16)),
    1152: (16, (12, 12)),
    1536: (16, (12, 16)),
    2048: (16, (16, 16)),
    2304: (12, (12, 8, 4)),
    3072: (16, (12, 8, 4)),
    4096: (16, (8, 8, 8)),
    4608: (12, (12, 8, 8)),
    6144: (16, (12, 8, 8)),
}
"""n, ascending -> R and the factors of L, a multiple of 8 (`rows_cuda.step_along`).

The fastest factors on an H200, used on all devices, as other factors change rounding.
"""


@dataclass(frozen=True)
class SinePlan:
    """Passes of the sine transform of n - 1 values, for a block of threads that holds a pair of rows.

    Rows of another length, `row` intervals, need n >= 2 row - 2 (see `eagre.solvers.poisson.rows_cuda`).
    """

    n: int
    last: int  # R
    factors: tuple[int, ...]  # factors of L
    row: int
    max_threads: int = 1024  # maximum threads per block, except in the last pass

    @property
    def inner(self) -> int:
        """Length L."""
        return 2 * self.n // self.last

    @property
    def items(self) -> tuple[int, ...]:
        """Number of transforms in each pass."""
        first = [(self.last // 2 + 1) * (self.inner // factor) for factor in self.factors]
        return (*first, self.inner // 2 + 1)

    @property
    def threads(self) -> int:
        """Threads per block, a multiple of 8; one transform per thread in the last pass, or more in others."""
        return -(-max(min(max(self.items), self.max_threads), self.items[-1]) // 8) * 8

    @property
    def values(self) -> int:
        """Complex values per thread."""
        passes = zip(self.items[:-1], self.factors, strict=True)
        return max(16, self.last, *(-(-items // self.threads) * factor for items, factor in passes))

    @property
    def pad(self) -> int:
        """Stride of results of the first pass, complex values, so that the second pass has no bank conflicts."""
        step = self.inner // self.factors[0]
        remaining = step // (self.factors[1] if len(self.factors) > 1 else step)
        return (remaining - step) % 32 if 1 < remaining < 32 else 1

    @property
    def stride(self) -> int:
        """Size of the shared memory, complex values."""
        rows = self.last // 2 + 1
        padded = [self.n + 1 + self.n // self.last]
        remaining, done, pad = self.inner, 1, self.pad
        for factor in self.factors:
            remaining, done = remaining // factor, done * factor
            padded.append(rows * (done * (remaining + pad) if remaining > 1 else self.inner + self.factors[0]))
            pad = 1
        return max(padded)

    def shared_bytes(self, itemsize: int) -> int:
        """Return the dynamic shared memory of a block, bytes."""
        return 2 * self.stride * itemsize

    def switches(self) -> dict[str, object]:
        """Switches of `rows_cuda`."""
        f = (*self.factors, 1, 1)
        return {
            "N": self.n, "ROW": self.row, "CHIRP": self._rotations.size, "THREADS": self.threads,
            "R": self.last, "F1": f[0], "F2": f[1], "F3": f[2], "PAD": self.pad,
            "MAX_FACTOR": max(f), "VALUES": self.values,
            "FIRST": TRANSFORMS[f[0]], "SECOND": TRANSFORMS[f[1]], "THIRD": TRANSFORMS[f[2]],
            "LAST": TRANSFORMS[self.last],
        }  # fmt: skip

    @cached_property
    def _rotations(self) -> np.ndarray:
        """Return exp(-i phi) of the passes in order."""
        angles, remaining = [], self.inner
        for factor in self.factors:
            step = remaining // factor
            angles.append(np.outer(np.arange(factor), np.arange(step)).ravel() / remaining)
            remaining = step
        outer = np.outer(np.arange(self.last // 2 + 1), np.arange(self.inner // 2 + 1)).ravel()
        return np.exp(-2j * np.pi * np.concatenate([*angles, outer / (2 * self.n)]))

    @cached_property
    def table(self) -> np.ndarray:
        """Rotations of the passes; for other lengths also chirp, filter, chirp i / 2; (size, 2), real and imaginary."""
        values: np.ndarray = self._rotations
        if self.row != self.n:
            m = np.arange(2 * self.row - 1)
            chirp = np.exp(-0.5j * np.pi * (m * m % (4 * self.row)) / self.row)  # exact integer arithmetic
            even = np.zeros(2 * self.n, complex)
            even[m] = even[-m] = chirp.conj()
            chirp = chirp[: self.row]
            values = np.concatenate([values, chirp, 2.0 / self.n * np.fft.fft(even)[: self.n], 0.5j * chirp])
        return np.stack([np.real(values), np.imag(values)], axis=1)


def sine_plan(n: int, threads: Mapping[int, int] | None = None) -> SinePlan | None:
    """Return the plan for rows of n intervals; None if n is too large. One pair of rows per block is fastest.

    threads : threads per block by length of the transform, if a thread makes several transforms in a pass before the
    last.
    """
    size = n if n in FACTORS else next((size for size in FACTORS if size >= 2 * n - 2), None)
    if size is None:
        return None
    return SinePlan(size, *FACTORS[size], n, (threads or {}).get(size, 1024))
