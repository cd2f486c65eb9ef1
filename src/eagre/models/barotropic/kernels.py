"""Point functions of the barotropic vorticity equation (equations: README.md in this folder).

Neighbours have compass names: p_e is psi at (j, i + 1), p_n at (j + 1, i), p_ne at (j + 1, i + 1). `reference` and the
faster kernels of `kernel_sets` apply these functions at every point.
"""

from __future__ import annotations

from typing import NamedTuple

from eagre.backend.compilation.cells import cell, real, switch


class Coefficients(NamedTuple):
    """Constants of the tendency, in the precision of the run; lambda is 1 / R^2."""

    jacobian: float  # 1 / (4 dx dy)
    beta: float  # beta / (2 dx)
    viscosity_x: float  # A / dx^2
    viscosity_y: float  # A / dy^2
    friction: float  # mu - A lambda
    stretching: float  # (A lambda - mu) lambda: viscosity and friction act on zeta = q + lambda psi


@cell
def advective_jacobian(p_sw, p_s, p_se, p_w, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z_e, z_nw, z_n, z_ne):
    """Return 4 dx dy (psi_x zeta_y - psi_y zeta_x) by central differences: J++ of Arakawa, (2.11) of Bleichrodt."""
    return (p_e - p_w) * (z_n - z_s) - (p_n - p_s) * (z_e - z_w)


@cell
def arakawa_jacobian(p_sw, p_s, p_se, p_w, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z_e, z_nw, z_n, z_ne):
    """Return 4 dx dy J(psi, zeta) with J = (J++ + J+x + Jx+) / 3, which conserves energy and enstrophy.

    A. Arakawa, J. Comput. Phys. 1, 119-143 (1966), doi:10.1016/0021-9991(66)90015-5, eq. (46).
    """
    north_south = z_n - z_s
    east_west = z_e - z_w
    total = p_e * (north_south + (z_ne - z_se)) - p_w * (north_south + (z_nw - z_sw))
    total -= p_n * (east_west + (z_ne - z_nw)) - p_s * (east_west + (z_se - z_sw))
    total += p_ne * (z_n - z_e) - p_sw * (z_w - z_s)
    total += p_se * (z_e - z_s) - p_nw * (z_n - z_w)
    return real(0.3333333333333333) * total


JACOBIAN = switch("JACOBIAN", arakawa_jacobian)


@cell
def tendency(p_sw, p_s, p_se, p_w, p, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z, z_e, z_nw, z_n, z_ne, curl, c):
    """Return F = -J(psi, q) - beta psi_x + A Lap zeta - mu zeta + curl with zeta = q + lambda psi; z is q.

    Because Lap psi = q + lambda psi at every point, Lap zeta = Lap q + lambda (q + lambda psi).
    """
    advection = c.jacobian * JACOBIAN(
        p_sw, p_s, p_se, p_w, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z_e, z_nw, z_n, z_ne
    )
    two_z = z + z
    diffusion = c.viscosity_x * ((z_e + z_w) - two_z) + c.viscosity_y * ((z_n + z_s) - two_z)
    return diffusion - advection - c.beta * (p_e - p_w) - c.friction * z + c.stretching * p + curl


@cell
def stencil_tendency(p, z, j, i, curl, c):
    """Return F at point (j + 1, i + 1); (j, i) is the south-west neighbour."""
    return tendency(
        p[j, i],
        p[j, i + 1],
        p[j, i + 2],
        p[j + 1, i],
        p[j + 1, i + 1],
        p[j + 1, i + 2],
        p[j + 2, i],
        p[j + 2, i + 1],
        p[j + 2, i + 2],
        z[j, i],
        z[j, i + 1],
        z[j, i + 2],
        z[j + 1, i],
        z[j + 1, i + 1],
        z[j + 1, i + 2],
        z[j + 2, i],
        z[j + 2, i + 1],
        z[j + 2, i + 2],
        curl,
        c,
    )


@cell
def five_points(a_s, a_w, a, a_e, a_n, over_dx2, over_dy2):
    """Return the second-order Laplacian a_xx + a_yy; over_dx2 : 1 / dx^2, optionally times a factor."""
    twice = a + a
    along_x = over_dx2 * ((a_w + a_e) - twice)
    return along_x + over_dy2 * ((a_s + a_n) - twice)


HISTORY = switch("HISTORY", 2)  # stored tendencies: 1 for AB2, 2 for AB3
WIND = switch("WIND", 1)  # forcing: 0 none, 1 a function of y, (my + 2, 1), 2 a field of x and y


@cell
def change(f, older, oldest, weights):
    """Return c0 F + c1 F_old + c2 F_older; c_n : dt times the Adams-Bashforth weights (2.17)."""
    total = weights[0] * f + weights[1] * older
    if HISTORY == 2:
        total += weights[2] * oldest
    return total


@cell
def advanced(q, f, older, oldest, weights):
    """Return c3 q + c0 F + c1 F_old + c2 F_older; c3 is 1 with explicit and 2 with implicit viscosity."""
    return weights[3] * q + change(f, older, oldest, weights)
