"""Periodic column systems on a CPU: cyclic tridiagonal systems in k and k +- 2, for each mode of x and y.

    (e + 2 c) q_k - c (q_(k+2) + q_(k-2)) = -scale b_k
    (1 - r S)(1 - r S^-1) q = -(scale r / c) b,    r + 1 / r = 2 + e / c,  0 < r < 1

where S shifts along a system of N points. Each factor is a recursion with the periodic initial value
y_0 = sum_n r^n b_(-n) / (1 - r^N). For e = 0 the system is singular: the mean of its solution is set to 0.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real


class PeriodicFactors(NamedTuple):
    """Factors of modes, (ny, m) each: -scale r / c, factor of b; r, 0 for e = 0; 1 / (1 - r^N)."""

    factor: Any
    ratio: Any
    closing: Any


def periodic_factors(e: np.ndarray, coupling: float, scale: float, nz: int) -> PeriodicFactors:
    """Return the factors of modes in double precision; e : (ny, m), at least 0; coupling : c, positive."""
    size = nz if nz % 2 else nz // 2
    half = e / (2.0 * coupling)
    ratio = np.where(e > 0.0, 1.0 / (1.0 + half + np.sqrt(half * (2.0 + half))), 0.0)
    factor = -scale / coupling * np.where(e > 0.0, ratio, 1.0)
    return PeriodicFactors(factor, ratio, 1.0 / (1.0 - ratio**size))


@cell
def close_column(f, j, i, first, count):
    """Replace b by the solution for e = 0: its differences are sums of b; both have mean 0."""
    nz, mean = f.shape[0], real(0.0)
    for n in range(count):
        mean += f[(first + 2 * n) % nz, j, i]
    mean /= real(count)
    total, every = real(0.0), real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        total += f[k, j, i] - mean
        f[k, j, i] = total
        every += total
    mean, total, every = every / real(count), real(0.0), real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        fall = f[k, j, i] - mean
        f[k, j, i] = total
        every += total
        total -= fall
    mean = every / real(count)
    for n in range(count):
        f[(first + 2 * n) % nz, j, i] -= mean


@cell
def sweep_periodic(f, factors, carried, j, first, count, back):
    """Evaluate y_n = r y_(n-1) + b_n along a system in one direction, with periodic initial value from `carried`."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] *= factors.closing[j, i]
    for n in range(count):
        k = (first + 2 * (count - 1 - n if back else n)) % nz
        for i in range(m):
            y = factors.ratio[j, i] * carried[j, i] + f[k, j, i]
            f[k, j, i] = y
            carried[j, i] = y


@cell
def up(f, factors, carried, j, first, count):
    """Apply (1 - r S)^-1 to b times its factor."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] = real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        for i in range(m):
            b = factors.factor[j, i] * f[k, j, i]
            f[k, j, i] = b
            carried[j, i] = factors.ratio[j, i] * carried[j, i] + b
    sweep_periodic(f, factors, carried, j, first, count, False)


@cell
def down(f, factors, carried, j, first, count):
    """Apply (1 - r S^-1)^-1."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] = real(0.0)
    for n in range(count):
        k = (first + 2 * (count - 1 - n)) % nz
        for i in range(m):
            carried[j, i] = factors.ratio[j, i] * carried[j, i] + f[k, j, i]
    sweep_periodic(f, factors, carried, j, first, count, True)


@entry
def solve_periodic_cpu(f, factors, carried):
    """Solve in place; f (nz, ny, m): b, real numbers of modes; carried (ny, m): scratch."""
    nz, ny, m = f.shape
    systems = 1 if nz % 2 else 2
    count = nz // systems
    for j in prange(ny):
        for first in range(systems):
            up(f, factors, carried, j, first, count)
            down(f, factors, carried, j, first, count)
            for i in range(m):
                if factors.ratio[j, i] == real(0.0):
                    close_column(f, j, i, first, count)
