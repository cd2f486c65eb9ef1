"""Pointwise operations of a multigrid cycle, as kernel functions.

Equation of layer m at point (j, i) of a grid, with the screening s_m q(j, i) > 0::

    u_xx + u_yy - s_m q u = f        five points; mirrored at a wall, or wrapped

Along an axis of one point there is no derivative. Source: U. Trottenberg, C. Oosterlee, A. Schueller, Multigrid,
Academic Press (2001), sections 2.1 (red-black, full weighting, bilinear interpolation) and 2.4 (cycles).
"""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.neighbour_indices import neighbour


class Points(NamedTuple):
    """Grid: 1 / dx^2, 1 / dy^2 (0 along an axis of one point), 1 where periodic, and coarsening factors."""

    over_dx2: Any
    over_dy2: Any
    periodic_x: int
    periodic_y: int
    step_x: int
    step_y: int


class Screening(NamedTuple):
    """Screening of a grid: factor of each layer, and field of the grid, (1, ny, nx) or (ny, nx)."""

    s: Any
    q: Any


@cell
def neighbours(u, k, j, i, grid):
    """Return the sum of u of the four neighbours divided by the squared distances."""
    ny, nx = u.shape[1], u.shape[2]
    west = u[k, j, neighbour(i, -1, nx, grid.periodic_x)]
    east = u[k, j, neighbour(i, 1, nx, grid.periodic_x)]
    south = u[k, neighbour(j, -1, ny, grid.periodic_y), i]
    north = u[k, neighbour(j, 1, ny, grid.periodic_y), i]
    return grid.over_dx2 * (west + east) + grid.over_dy2 * (south + north)


@cell
def diagonal(screening, k, j, i, grid):
    """Return the negative diagonal element."""
    return real(2.0) * (grid.over_dx2 + grid.over_dy2) + screening.s[k] * screening.q[j, i]


@cell
def clear(k, j, i, u):
    """Set the initial guess of a correction to zero."""
    u[k, j, i] = real(0.0)


@cell
def relax(k, j, i, u, f, screening, grid, colour):
    """Relax the points of a colour of a row: half a red-black Gauss-Seidel sweep."""
    m = 2 * i + ((j + colour) & 1)
    if m < u.shape[2]:
        u[k, j, m] = (neighbours(u, k, j, m, grid) - f[k, j, m]) / diagonal(screening, k, j, m, grid)


@cell
def damp(k, j, i, u, r, screening, grid, weight):
    """Make a damped Jacobi step from the residual r: u += weight (Jacobi update - u)."""
    u[k, j, i] -= weight * r[k, j, i] / diagonal(screening, k, j, i, grid)


@cell
def residual(k, j, i, u, f, out, screening, grid):
    """Set out = f - (u_xx + u_yy - s q u)."""
    out[k, j, i] = f[k, j, i] - neighbours(u, k, j, i, grid) + diagonal(screening, k, j, i, grid) * u[k, j, i]


@cell
def weighted(a, k, j, i, grid):
    """Return the mean of a around point (j, i) along x: 1/4, 1/2, 1/4 where x is coarsened."""
    if grid.step_x == 1:
        return a[k, j, i]
    nx = a.shape[2]
    west = a[k, j, neighbour(i, -1, nx, grid.periodic_x)]
    east = a[k, j, neighbour(i, 1, nx, grid.periodic_x)]
    return real(0.25) * (west + east) + real(0.5) * a[k, j, i]


@cell
def restrict(k, j, i, a, out, grid):
    """Restrict a by full weighting to point (j, i) of the coarser grid."""
    row, column, ny = j * grid.step_y, i * grid.step_x, a.shape[1]
    value = weighted(a, k, row, column, grid)
    if grid.step_y == 2:
        south = weighted(a, k, neighbour(row, -1, ny, grid.periodic_y), column, grid)
        north = weighted(a, k, neighbour(row, 1, ny, grid.periodic_y), column, grid)
        value = real(0.25) * (south + north) + real(0.5) * value
    out[k, j, i] = value


@cell
def between(e, k, j, i, grid):
    """Return the coarser e interpolated along x to point i, from its own row j."""
    if grid.step_x == 1:
        return e[k, j, i]
    column = i // 2
    value = e[k, j, column]
    if i & 1:
        value = real(0.5) * (value + e[k, j, neighbour(column, 1, e.shape[2], grid.periodic_x)])
    return value


@cell
def prolong(k, j, i, e, u, grid):
    """Add the bilinear interpolation of the coarser e to u."""
    if grid.step_y == 1:
        value = between(e, k, j, i, grid)
    else:
        row = j // 2
        value = between(e, k, row, i, grid)
        if j & 1:
            value = real(0.5) * (value + between(e, k, neighbour(row, 1, e.shape[1], grid.periodic_y), i, grid))
    u[k, j, i] += value


@cell
def row_norm(i, r, partials):
    """Compute the sum of squares of a row of all layers, in double precision."""
    k, j = i // r.shape[1], i % r.shape[1]
    total = 0.0
    for n in range(r.shape[2]):
        total += float(r[k, j, n]) * float(r[k, j, n])
    partials[i] = total
