"""Column systems of the pressure: tridiagonal in k and k +- 2, because derivatives span two grid spacings.

    d_k q_k - a_k q_(k+2) - a_(k-2) q_(k-2) = -b_k,    a_k = m_(k+1) / (4 dzeta^2),  m = rho* G3 . C G3

Matrix rows on walls have weight 1/2, which makes the matrix symmetric: d_k = a_k + a_(k-2) + w_k e_k, e >= 0. Even and
odd points are two decoupled systems. For e = 0 a system is singular: its last unknown is set to 0 by a zero inverse
pivot. Source: L. H. Thomas's elimination, as in G. H. Golub, C. F. Van Loan, Matrix Computations, 4.3.
"""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, entry, prange, real, switch
from eagre.models.anelastic.pressure.operator import of_profile

coupling_at = switch("COUPLING", of_profile)
PARTS = switch("PARTS", 1)  # 2: f holds real and imaginary parts in pairs


@cell
def step_down(f, inverse, coupling, scale, k, j, i):
    """Eliminate the point below: f holds b on input, the intermediate solution on output."""
    for component in range(PARTS):
        m = PARTS * i + component
        total = -scale[k] * f[k, j, m]
        if k > 1:
            total += coupling_at(coupling, k - 2, j, i) * f[k - 2, j, m]
        f[k, j, m] = total * inverse[k, j, i]


@cell
def step_up(f, inverse, coupling, k, j, i):
    """Back-substitute from the point above."""
    factor = coupling_at(coupling, k, j, i) * inverse[k, j, i]
    for component in range(PARTS):
        m = PARTS * i + component
        f[k, j, m] += factor * f[k + 2, j, m]


@cell
def solve_column(j, i, f, inverse, coupling, scale):
    """Solve in place; f (nz, ny, PARTS n): b; inverse (nz, ny, n); coupling: a; scale (nz,): factor of b."""
    nz = f.shape[0]
    for k in range(nz):
        step_down(f, inverse, coupling, scale, k, j, i)
    for back in range(nz - 2):
        step_up(f, inverse, coupling, nz - 3 - back, j, i)


@cell
def factor_of(tables, k, j, i):
    """Return the factor of a mode for a transformed periodic z: -1 / e times the factor of b."""
    e = tables.across[k] * (tables.along_y[j] + tables.along_x[i]) + tables.along_z[k]
    return -tables.scale[k] / e if e > real(0.0) else real(0.0)


@cell
def divide(k, j, i, f, tables):
    """Solve for a transformed periodic z; tables : `Symbols`. A CPU uses `spectral.solve_periodic_cpu`."""
    factor = real(factor_of(tables, k, j, i))
    for component in range(PARTS):
        f[k, j, PARTS * i + component] *= factor


class Symbols(NamedTuple):
    """e = across_k (along_y_j + along_x_i) + along_z_k of a mode, and the factor of b, scale_k."""

    across: Any
    along_z: Any
    along_y: Any
    along_x: Any
    scale: Any


@cell
def factor_modes(j, i, inverse, tables, coupling):
    """Compute the inverse pivots of a mode, in double precision; along_z is not read; see `factor_column`."""
    nz, flat = inverse.shape[0], tables.along_y[j] + tables.along_x[i]
    below = between = 0.0  # of the level below in the same system, and in the other system
    for k in range(nz):
        e = tables.across[k] * flat
        pivot = e
        if k < nz - 2:
            pivot += coupling[k]
        if k > 1:
            a = coupling[k - 2]
            pivot += a - a * a * below
        inverse_pivot = 1.0 / pivot if e > 0.0 or k < nz - 2 else 0.0
        inverse[k, j, i] = inverse_pivot
        below, between = between, inverse_pivot


@entry
def solve_columns_cpu(f, inverse, coupling, scale):
    """Solve all columns, vectorised along rows; see `solve_column`."""
    nz, ny, nx = inverse.shape
    for j in prange(ny):
        for k in range(nz):
            for i in range(nx):
                step_down(f, inverse, coupling, scale, k, j, i)
        for back in range(nz - 2):
            for i in range(nx):
                step_up(f, inverse, coupling, nz - 3 - back, j, i)


@cell
def factor_column(j, i, inverse, coupling, nz):
    """Replace w e in `inverse`, (nz, ny, n), by inverse pivots; a singular system ends with 0."""
    for k in range(nz):
        e = inverse[k, j, i]
        pivot = e
        if k < nz - 2:
            pivot += coupling_at(coupling, k, j, i)
        if k > 1:
            a = coupling_at(coupling, k - 2, j, i)
            pivot += a - a * a * inverse[k - 2, j, i]
        inverse[k, j, i] = real(1.0) / pivot if e > real(0.0) or k < nz - 2 else real(0.0)
