"""Constant-coefficient tridiagonal systems along y, one per wavenumber, in factorised form.

After a sine transform along x each wavenumber k obeys

    x_(j+1) - (2 + sigma) x_j + x_(j-1) = dy^2 f_j,  j = 1 .. ny - 1,   x_0 = x_ny = 0,
    sigma = 4 (dy / dx)^2 sin^2(k pi / 2 nx) + screening dy^2.

With r + 1 / r = 2 + sigma, r < 1, the matrix is -(1 / r) (1 - r E^-1)(1 - r E), E x_j = x_(j+1), except for its first
row. Two recurrences with one constant solve it,

    g_j = f_j + r g_(j-1),   g_0 = 0;      p_j = g_j + r p_(j+1),   p_ny = 0,

and x_j = -r dy^2 (p_j - p_0 h_j) with h_j = (r^j - r^(2 ny - j)) / (1 - r^(2 ny)) enforces x_0 = 0.
Only 1 - r is used, as r near 1 would be too inaccurate in single precision.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real

DELTA, SCALE, DECAY, IMAGE, LEAP1, LEAP2, LEAP4 = range(7)
ROWS = 7
NOWHERE = 1e30  # decay for which the correction of x_0 vanishes in all rows


def column_table(
    nx: int,
    ny: int,
    dx: float,
    dy: float,
    screening: float = 0.0,
    leap: int = 1,
    factor: float = 1.0,
    walls: bool = True,
) -> np.ndarray:
    """Return the constants of each wavenumber k = 0 .. nx - 1, (7, nx), computed in double precision.

    Parameters
    ----------
    nx, ny : int
        Intervals along x and y.
    dx, dy : float
        Spacing.
    screening : float
        Helmholtz coefficient: (Lap - screening) psi = zeta.
    leap : int
        Rows per thread, for the powers LEAP.
    factor : float
        Factor of the right-hand side.
    walls : bool
        False: the recurrences only, with g before and p after the rows 0, as required by `slabs`.

    Returns
    -------
    array
        Rows DELTA: 1 - r. SCALE: -r dy^2 2 / nx (times factor), including the factor of the two sine transforms. DECAY:
        -log r. IMAGE: 1 / (1 - r^(2 ny)). LEAP1, 2, 4: 1 - r^leap, 1 - r^(2 leap), 1 - r^(4 leap).
        Column 0 has no wavenumber.
    """
    k = np.arange(1, nx)
    sigma = 4.0 * (dy / dx) ** 2 * np.sin(0.5 * np.pi * k / nx) ** 2 + screening * dy**2
    delta = sigma / (np.sqrt(sigma + 0.25 * sigma**2) + 0.5 * sigma)
    decay = -np.log1p(-delta)
    table = np.zeros((ROWS, nx))
    table[DELTA, 1:] = delta
    table[SCALE, 1:] = -(1.0 - delta) * dy**2 * 2.0 / nx * factor
    table[DECAY, 1:] = decay
    table[IMAGE, 1:] = -1.0 / np.expm1(-2.0 * ny * decay)
    if not walls:
        table[IMAGE], table[DECAY] = 0.0, NOWHERE
    for row, power in ((LEAP1, 1), (LEAP2, 2), (LEAP4, 4)):
        table[row, 1:] = -np.expm1(-power * leap * decay)
    return table


CHUNK = 64  # wavenumbers per thread, whose rows stay in its cache
FAR = 40.0  # exp(-FAR) is negligible


@cell
def sweep(f, table, first, n):
    """Compute both recurrences in place for n wavenumbers from first on (unsigned); table as in `columns`."""
    rows = f.shape[0] - 2
    for k in range(n):
        f[1, first + k + 1] *= table[SCALE, first + k]
    for j in range(rows - 1):
        row = np.uint32(j)
        for k in range(n):
            above = f[row + 1, first + k + 1]
            f[row + 2, first + k + 1] = table[SCALE, first + k] * f[row + 2, first + k + 1] + (
                above - table[DELTA, first + k] * above
            )
    for back in range(rows - 1):
        row = np.uint32(rows - 2 - back)
        for k in range(n):
            below = f[row + 2, first + k + 1]
            f[row + 1, first + k + 1] += below - table[DELTA, first + k] * below


@cell
def long_sweep(f, table, first, n, carry):
    """Sweep the longest waves, which decay over many rows: like `sweep`, with recurrences in double precision."""
    rows = f.shape[0] - 2
    for k in range(n):
        carry[k] = 0.0
    for j in range(rows):
        row = np.uint32(j)
        for k in range(n):
            x = float(table[SCALE, first + k]) * float(f[row + 1, first + k + 1])
            carry[k] = x + (carry[k] - float(table[DELTA, first + k]) * carry[k])
            f[row + 1, first + k + 1] = carry[k]
    for k in range(n):
        carry[k] = 0.0
    for back in range(rows):
        row = np.uint32(rows - 1 - back)
        for k in range(n):
            carry[k] = float(f[row + 1, first + k + 1]) + (carry[k] - float(table[DELTA, first + k]) * carry[k])
            f[row + 1, first + k + 1] = carry[k]


@cell
def subtract_wall(f, table, first, n, decaying, growing):
    """Subtract p_0 h_j, so that row 0 vanishes, in the rows where it is significant."""
    rows = f.shape[0] - 2
    size = 2.0 * (rows + 1)
    for k in range(n):
        decay = table[DECAY, first + k]
        ratio = real(1.0) - table[DELTA, first + k]
        wall = ratio * f[1, first + k + 1] * table[IMAGE, first + k]
        decaying[k] = wall * ratio
        growing[k] = wall * math.exp(real(-(size - 1.0)) * decay)
    felt = rows
    if table[DECAY, first] * rows > FAR:
        felt = int(FAR / table[DECAY, first]) + 1
    for j in range(felt):
        row = np.uint32(j)
        for k in range(n):
            f[row + 1, first + k + 1] -= decaying[k] - growing[k]
        for k in range(n):
            delta = table[DELTA, first + k]
            decaying[k] -= delta * decaying[k]
            growing[k] += growing[k] * delta / (real(1.0) - delta)


@entry
def solve_columns_cpu(f, table, scratch, carry):
    """Solve in place; f : (ny + 1, nx + 1), whose interior holds rows 1 .. ny - 1 of wavenumbers 1 .. nx - 1.

    table : (7, nx - 1), without the column of k = 0; scratch : (chunks, 2, CHUNK);
    carry : (CHUNK,), double.
    """
    for chunk in prange(scratch.shape[0]):
        first = np.uint32(chunk * CHUNK)
        n = min(CHUNK, table.shape[1] - np.int64(first))
        if first == 0:
            long_sweep(f, table, first, n, carry)
        else:
            sweep(f, table, first, n)
        subtract_wall(f, table, first, n, scratch[chunk, 0], scratch[chunk, 1])
