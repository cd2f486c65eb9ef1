"""Periodic column systems on a CPU: cyclic tridiagonal systems in k and k +- 2, for each mode of x and y.

    (e + 2 c) q_k - c (q_(k+2) + q_(k-2)) = -scale b_k
    (1 - r S)(1 - r S^-1) q = -(scale r / c) b,    r + 1 / r = 2 + e / c,  0 < r < 1

where S shifts along a system of N points. Each factor is a recursion with the periodic initial value
y_0 = sum_n r^n b_(-n) / (1 - r^N). For e = 0 the system is singular: the mean of its solution is set to 0.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, entry, prange, real


class Rings(NamedTuple):
    """Factors of modes, (ny, m) each: -scale r / c, factor of b; r, 0 for e = 0; 1 / (1 - r^N)."""

    factor: Any
    ratio: Any
    closing: Any


def rings_of(e: np.ndarray, coupling: float, scale: float, nz: int) -> Rings:
    """Return the factors of modes in double precision; e : (ny, m), at least 0; coupling : c, positive."""
    chain = nz if nz % 2 else nz // 2
    half = e / (2.0 * coupling)
    ratio = np.where(e > 0.0, 1.0 / (1.0 + half + np.sqrt(half * (2.0 + half))), 0.0)
    factor = -scale / coupling * np.where(e > 0.0, ratio, 1.0)
    return Rings(factor, ratio, 1.0 / (1.0 - ratio**chain))


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
def go_round(f, rings, carried, j, first, count, back):
    """Evaluate y_n = r y_(n-1) + b_n along a system in one direction, with periodic initial value from `carried`."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] *= rings.closing[j, i]
    for n in range(count):
        k = (first + 2 * (count - 1 - n if back else n)) % nz
        for i in range(m):
            y = rings.ratio[j, i] * carried[j, i] + f[k, j, i]
            f[k, j, i] = y
            carried[j, i] = y


@cell
def up(f, rings, carried, j, first, count):
    """Apply (1 - r S)^-1 to b times its factor."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] = real(0.0)
    for n in range(count):
        k = (first + 2 * n) % nz
        for i in range(m):
            b = rings.factor[j, i] * f[k, j, i]
            f[k, j, i] = b
            carried[j, i] = rings.ratio[j, i] * carried[j, i] + b
    go_round(f, rings, carried, j, first, count, False)


@cell
def down(f, rings, carried, j, first, count):
    """Apply (1 - r S^-1)^-1."""
    nz, _, m = f.shape
    for i in range(m):
        carried[j, i] = real(0.0)
    for n in range(count):
        k = (first + 2 * (count - 1 - n)) % nz
        for i in range(m):
            carried[j, i] = rings.ratio[j, i] * carried[j, i] + f[k, j, i]
    go_round(f, rings, carried, j, first, count, True)


@entry
def solve_rings_cpu(f, rings, carried):
    """Solve in place; f (nz, ny, m): b, real numbers of modes; carried (ny, m): scratch."""
    nz, ny, m = f.shape
    chains = 1 if nz % 2 else 2
    count = nz // chains
    for j in prange(ny):
        for first in range(chains):
            up(f, rings, carried, j, first, count)
            down(f, rings, carried, j, first, count)
            for i in range(m):
                if rings.ratio[j, i] == real(0.0):
                    close_column(f, j, i, first, count)
