"""Formulas of the barotropic vorticity equation on the points of a box (equations: README.md beside this file).

Neighbours are named by compass: p_e is psi at (j, i + 1), p_n at (j + 1, i), p_ne at (j + 1, i + 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, real, switch


class Coefficients(NamedTuple):
    """Constants of the tendency, in the precision of the build."""

    jacobian: float  # 1 / (4 dx dy)
    beta: float  # beta / (2 dx)
    viscosity_x: float  # A / dx^2
    viscosity_y: float  # A / dy^2
    friction: float  # mu - A lambda
    stretching: float  # (A lambda - mu) lambda: viscosity and friction act on zeta = q + lambda psi


@cell
def advective_jacobian(p_sw, p_s, p_se, p_w, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z_e, z_nw, z_n, z_ne):
    """4 dx dy (psi_x zeta_y - psi_y zeta_x) by central differences: Arakawa's J++, and the document's."""
    return (p_e - p_w) * (z_n - z_s) - (p_n - p_s) * (z_e - z_w)


@cell
def arakawa_jacobian(p_sw, p_s, p_se, p_w, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z_e, z_nw, z_n, z_ne):
    """4 dx dy J(psi, zeta) = a third of J++ + J+x + Jx+, which conserves energy and enstrophy.

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
    """F = -J(psi, q) - beta psi_x + A Lap zeta - mu zeta + curl, zeta = q + lambda psi; z is q here.

    Lap psi = q + lambda psi holds at every point, so that Lap zeta = Lap q + lambda (q + lambda psi).
    """
    advection = c.jacobian * JACOBIAN(
        p_sw, p_s, p_se, p_w, p_e, p_nw, p_n, p_ne, z_sw, z_s, z_se, z_w, z_e, z_nw, z_n, z_ne
    )
    two_z = z + z
    diffusion = c.viscosity_x * ((z_e + z_w) - two_z) + c.viscosity_y * ((z_n + z_s) - two_z)
    return diffusion - advection - c.beta * (p_e - p_w) - c.friction * z + c.stretching * p + curl


@cell
def stencil_tendency(p, z, j, i, curl, c):
    """F at point (j + 1, i + 1): (j, i) is the low corner of its neighbours."""
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


HISTORY = switch("HISTORY", 2)  # tendencies kept: 1 for AB2, 2 for AB3
WIND = switch("WIND", 1)  # forcing: 0 none, 1 a function of y, (my + 2, 1), 2 a map


@cell
def change_of(j, i, psi, zeta, older, oldest, curl, weights, c):
    """C0 F + c1 F_old + c2 F_older at (j + 1, i + 1), c_n = dt times the weights; F replaces the oldest."""
    forcing = real(0.0)
    if WIND == 1:
        forcing = curl[j + 1, 0]
    elif WIND == 2:
        forcing = curl[j + 1, i + 1]
    f = stencil_tendency(psi, zeta, j, i, forcing, c)
    change = weights[0] * f + weights[1] * older[j + 1, i + 1]
    if HISTORY == 2:
        change += weights[2] * oldest[j + 1, i + 1]
        oldest[j + 1, i + 1] = f
    else:
        older[j + 1, i + 1] = f
    return change


@cell
def updated(j, i, psi, zeta, new, target, older, oldest, curl, weights, c):
    """New = target = c3 zeta + dt (c0 F + c1 F_old + c2 F_older) at (j + 1, i + 1)."""
    change = change_of(j, i, psi, zeta, older, oldest, curl, weights, c)
    value = weights[3] * zeta[j + 1, i + 1] + change
    new[j + 1, i + 1] = value
    target[j + 1, i + 1] = value


@cell
def updated_with_the_lost(j, i, psi, zeta, new, target, older, oldest, curl, weights, c, lost):
    """As `updated`; what the sum loses to rounding is kept and added in the next step (W. Kahan 1965).

    The sum is made in double precision, because the compiler may reorder a compensated sum in single precision.
    Source: doi:10.1145/363707.363723.
    """
    change = change_of(j, i, psi, zeta, older, oldest, curl, weights, c)
    exact = np.float64(zeta[j + 1, i + 1]) + (np.float64(change) + np.float64(lost[j + 1, i + 1]))
    value = real(exact)
    lost[j + 1, i + 1] = real(exact - np.float64(value))
    new[j + 1, i + 1] = value
    target[j + 1, i + 1] = value


@cell
def forced(j, i, wind, total):
    """total = wind at (j + 1, i + 1): the first of the terms that are gathered before an update."""
    if WIND == 1:
        total[j + 1, i + 1] = wind[j + 1, 0]
    elif WIND == 2:
        total[j + 1, i + 1] = wind[j + 1, i + 1]
    else:
        total[j + 1, i + 1] = real(0.0)


@cell
def over_topography(j, i, psi, bed, total, jacobian):
    """total -= J(psi, b) at (j + 1, i + 1), b = f0 (bed height) / D; `jacobian` is 1 / (4 dx dy)."""
    advection = jacobian * JACOBIAN(
        psi[j, i],
        psi[j, i + 1],
        psi[j, i + 2],
        psi[j + 1, i],
        psi[j + 1, i + 2],
        psi[j + 2, i],
        psi[j + 2, i + 1],
        psi[j + 2, i + 2],
        bed[j, i],
        bed[j, i + 1],
        bed[j, i + 2],
        bed[j + 1, i],
        bed[j + 1, i + 2],
        bed[j + 2, i],
        bed[j + 2, i + 1],
        bed[j + 2, i + 2],
    )
    total[j + 1, i + 1] -= advection


@cell
def laplacian(j, i, a, out, over_dx2, over_dy2):
    """out = Lap a at (j + 1, i + 1), five points."""
    twice = a[j + 1, i + 1] + a[j + 1, i + 1]
    along_x = over_dx2 * ((a[j + 1, i] + a[j + 1, i + 2]) - twice)
    out[j + 1, i + 1] = along_x + over_dy2 * ((a[j, i + 1] + a[j + 2, i + 1]) - twice)


@cell
def subtract_laplacian(j, i, a, total, over_dx2, over_dy2):
    """total -= Lap a at (j + 1, i + 1); the factors hold the biharmonic viscosity."""
    twice = a[j + 1, i + 1] + a[j + 1, i + 1]
    along_x = over_dx2 * ((a[j + 1, i] + a[j + 1, i + 2]) - twice)
    total[j + 1, i + 1] -= along_x + over_dy2 * ((a[j, i + 1] + a[j + 2, i + 1]) - twice)


@cell
def coupled(j, i, psi, other_psi, q, other_q, total, by_psi, by_q):
    """total += by_psi (psi - other_psi) + by_q (q - other_q) at (j + 1, i + 1): viscosity, friction between layers."""
    k, m = j + 1, i + 1
    total[k, m] += by_psi * (psi[k, m] - other_psi[k, m]) + by_q * (q[k, m] - other_q[k, m])


@cell
def to_modes(j, i, first, second, share):
    """Barotropic mode share q1 + (1 - share) q2 and baroclinic mode q1 - q2 in place of q1, q2."""
    a, b = first[j, i], second[j, i]
    first[j, i] = b + share * (a - b)
    second[j, i] = a - b


@cell
def from_modes(j, i, first, second, share):
    """psi1 = barotropic + (1 - share) baroclinic, psi2 = barotropic - share baroclinic, in place."""
    a, b = first[j, i], second[j, i]
    first[j, i] = a + (real(1.0) - share) * b
    second[j, i] = a - share * b


@cell
def reflected(j, i, twice_mean, old, new, target):
    """End of a step with implicit viscosity, which finds old + new: new = target = twice_mean - old."""
    value = twice_mean[j + 1, i + 1] - old[j + 1, i + 1]
    new[j + 1, i + 1] = value
    target[j + 1, i + 1] = value
