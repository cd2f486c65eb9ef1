"""Point functions of the barotropic vorticity equation, its boundaries and particles (equations: README.md).

Neighbours have compass names: p.e is psi at (j, i + 1), p.n at (j + 1, i), p.ne at (j + 1, i + 1). `reference` and the
faster kernels of `kernel_sets` apply these functions at every point.

Arrays have one boundary point on each side. Along a periodic axis of n intervals, points 1 .. n are unknowns and the
boundary points are periodic copies. Between walls, points 1 .. n - 1 are unknowns and the boundary points are walls.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch


class Coefficients(NamedTuple):
    """Constants of the tendency, in the precision of the run; lambda is 1 / R^2."""

    jacobian: float  # 1 / (4 dx dy)
    beta: float  # beta / (2 dx)
    viscosity_x: float  # A / dx^2; a / dx^2 if viscosity is implicit, a = dt A / 2
    viscosity_y: float  # A / dy^2; a / dy^2
    friction: float  # mu - A lambda
    stretching: float  # (A lambda - mu) lambda: viscosity and friction act on zeta = q + lambda psi


class Stencil(NamedTuple):
    """Values of a field at a point and at its eight neighbours."""

    sw: Any
    s: Any
    se: Any
    w: Any
    here: Any
    e: Any
    nw: Any
    n: Any
    ne: Any


@cell
def stencil(a, j, i):
    """Return the `Stencil` of point (j + 1, i + 1); (j, i) is the south-west neighbour."""
    return Stencil(
        a[j, i], a[j, i + 1], a[j, i + 2], a[j + 1, i], a[j + 1, i + 1], a[j + 1, i + 2],
        a[j + 2, i], a[j + 2, i + 1], a[j + 2, i + 2],
    )  # fmt: skip


@cell
def advective_jacobian(p, z):
    """Return 4 dx dy (psi_x zeta_y - psi_y zeta_x) by central differences: J++ of Arakawa, (2.11) of Bleichrodt."""
    return (p.e - p.w) * (z.n - z.s) - (p.n - p.s) * (z.e - z.w)


@cell
def arakawa_jacobian(p, z):
    """Return 4 dx dy J(psi, zeta) with J = (J++ + J+x + Jx+) / 3, which conserves energy and enstrophy.

    A. Arakawa, J. Comput. Phys. 1, 119-143 (1966), doi:10.1016/0021-9991(66)90015-5, eq. (46).
    """
    north_south = z.n - z.s
    east_west = z.e - z.w
    total = p.e * (north_south + (z.ne - z.se)) - p.w * (north_south + (z.nw - z.sw))
    total -= p.n * (east_west + (z.ne - z.nw)) - p.s * (east_west + (z.se - z.sw))
    total += p.ne * (z.n - z.e) - p.sw * (z.w - z.s)
    total += p.se * (z.e - z.s) - p.nw * (z.n - z.w)
    return real(0.3333333333333333) * total


JACOBIAN = switch("JACOBIAN", arakawa_jacobian)
IMPLICIT = switch("IMPLICIT", False)  # whether viscosity is implicit


@cell
def diffusion(z, c):
    """Return A Lap q; with implicit viscosity a Lap q, the explicit half of the Crank-Nicolson scheme."""
    two_z = z.here + z.here
    return c.viscosity_x * ((z.e + z.w) - two_z) + c.viscosity_y * ((z.n + z.s) - two_z)


@cell
def tendency(p, z, curl, c):
    """Return F = -J(psi, q) - beta psi_x + A Lap zeta - mu zeta + curl with zeta = q + lambda psi.

    p, z : `Stencil` of psi and q. Because Lap psi = q + lambda psi at every point,
    Lap zeta = Lap q + lambda (q + lambda psi). With implicit viscosity F has no term A Lap zeta.
    """
    advection = c.jacobian * JACOBIAN(p, z)
    explicit = real(0.0) if IMPLICIT else diffusion(z, c)
    return explicit - advection - c.beta * (p.e - p.w) - c.friction * z.here + c.stretching * p.here + curl


@cell
def stencil_tendency(p, z, j, i, curl, c):
    """Return F at point (j + 1, i + 1); (j, i) is the south-west neighbour."""
    return tendency(stencil(p, j, i), stencil(z, j, i), curl, c)


@cell
def five_points(a_s, a_w, a, a_e, a_n, over_dx2, over_dy2):
    """Return the second-order Laplacian a_xx + a_yy; over_dx2 : 1 / dx^2, optionally times a factor."""
    twice = a + a
    along_x = over_dx2 * ((a_w + a_e) - twice)
    return along_x + over_dy2 * ((a_s + a_n) - twice)


class LayerFields(NamedTuple):
    """Fields of the update of a layer, (my + 2, mx + 2)."""

    psi: Any
    q: Any
    new: Any  # the new vorticity
    target: Any  # copy of `new` that the solver overwrites with psi
    older: Any  # tendencies; the new one replaces the oldest
    oldest: Any


HISTORY = switch("HISTORY", 2)  # stored tendencies: 1 for AB2, 2 for AB3
WIND = switch("WIND", 1)  # forcing: 0 none, 1 a function of y, (my + 2, 1), 2 a field of x and y


COUPLED = switch("COUPLED", False)  # whether there is another layer
BIHARMONIC = switch("BIHARMONIC", False)  # whether there is biharmonic viscosity


class Forcing(NamedTuple):
    """Forcing of a layer and terms that depend on further fields, (my + 2, mx + 2)."""

    curl: Any  # the forcing of the layer (WIND)
    psi: Any  # psi of the other layer (COUPLED)
    q: Any  # q of the other layer
    by_psi: float  # see `Layers.coupling`
    by_q: float
    lap: Any  # Lap zeta (BIHARMONIC)
    over_dx2: float  # B / dx^2
    over_dy2: float  # B / dy^2


@cell
def wind_at(curl, k, m):
    """Return the forcing at (k, m)."""
    if WIND == 0:
        return real(0.0)
    if WIND == 1:
        return curl[k, np.uint64(0)]
    return curl[k, m]


@cell
def other_layer(psi, q, forcing):
    """Return by_psi psi + by_q q of the other layer; those of the layer itself are part of its `Coefficients`."""
    return forcing.by_psi * psi + forcing.by_q * q


@cell
def summed_forcing(forcing, k, m):
    """Return the forcing at (k, m) minus B Lap Lap zeta and the terms of the other layer; forcing : `Forcing`."""
    total = wind_at(forcing.curl, k, m)
    if BIHARMONIC:
        a = forcing.lap
        south, west, east, north = a[k - 1, m], a[k, m - 1], a[k, m + 1], a[k + 1, m]
        total -= five_points(south, west, a[k, m], east, north, forcing.over_dx2, forcing.over_dy2)
    if COUPLED:
        total -= other_layer(forcing.psi[k, m], forcing.q[k, m], forcing)
    return total


FORCING = switch("FORCING", wind_at)  # or `summed_forcing`


@cell
def change(f, older, oldest, weights):
    """Return c0 F + c1 F_old + c2 F_older; c_n : dt times the Adams-Bashforth weights (2.17)."""
    total = weights[0] * f + weights[1] * older
    if HISTORY == 2:
        total += weights[2] * oldest
    return total


@cell
def advanced(z, f, older, oldest, weights, c):
    """Return q + c0 F + c1 F_old + c2 F_older, with implicit viscosity plus a Lap q; z : `Stencil` of q."""
    total = z.here + change(f, older, oldest, weights)
    return total + diffusion(z, c) if IMPLICIT else total


WALL_X = switch("WALL_X", 0)  # 0: free slip, 1: no slip after Thom, 2: no slip after Woods, 3: periodic, 4: no flux
WALL_Y = switch("WALL_Y", 0)
SOUTH = switch("SOUTH", True)  # whether the southern boundary row is a wall
NORTH = switch("NORTH", True)  # likewise for the northern row
FREE_SLIP, THOM, WOODS, PERIODIC, NO_FLUX = range(5)


@cell
def thom(psi_1, over_h2):
    """Return the vorticity of a no-slip wall from psi at the first interior point: 2 psi_1 / h^2, first order.

    A. Thom, Proc. R. Soc. Lond. A 141, 651-669 (1933), doi:10.1098/rspa.1933.0146.
    """
    return real(2.0) * over_h2 * psi_1


@cell
def woods(psi_1, zeta_1, over_h2):
    """Return the vorticity of a no-slip wall: 3 psi_1 / h^2 - zeta_1 / 2, second order.

    With a finite deformation radius R the argument zeta_1 is q_1 = zeta_1 - psi_1 / R^2; the difference is O(h^2),
    because psi_1 is O(h^2).

    L. C. Woods, Aeronaut. Q. 5, 176-184 (1954), doi:10.1017/S0001925900001177.
    """
    return real(3.0) * over_h2 * psi_1 - real(0.5) * zeta_1


@cell
def boundary_y(j, i, psi, zeta, over_h2, fraction):
    """Set the south and north boundary points in column i + 1; j is 0; fraction : `Setup.wall_fraction`."""
    top = zeta.shape[0] - 1
    if WALL_Y == 1:
        if SOUTH:
            zeta[0, i + 1] = fraction * thom(psi[1, i + 1], over_h2)
        if NORTH:
            zeta[top, i + 1] = fraction * thom(psi[top - 1, i + 1], over_h2)
    elif WALL_Y == 2:
        if SOUTH:
            zeta[0, i + 1] = fraction * woods(psi[1, i + 1], zeta[1, i + 1], over_h2)
        if NORTH:
            zeta[top, i + 1] = fraction * woods(psi[top - 1, i + 1], zeta[top - 1, i + 1], over_h2)
    elif WALL_Y == 3:
        psi[0, i + 1] = psi[top - 1, i + 1]
        psi[top, i + 1] = psi[1, i + 1]
        zeta[0, i + 1] = zeta[top - 1, i + 1]
        zeta[top, i + 1] = zeta[1, i + 1]
    elif WALL_Y == 4:
        if SOUTH:
            zeta[0, i + 1] = zeta[1, i + 1]
        if NORTH:
            zeta[top, i + 1] = zeta[top - 1, i + 1]


@cell
def boundary_x(j, i, psi, zeta, end, over_h2, fraction):
    """Set the west and east boundary points, columns 0 and `end`, in row j, including corners; i is 0."""
    if WALL_X == 1:
        zeta[j, 0] = fraction * thom(psi[j, 1], over_h2)
        zeta[j, end] = fraction * thom(psi[j, end - 1], over_h2)
    elif WALL_X == 2:
        zeta[j, 0] = fraction * woods(psi[j, 1], zeta[j, 1], over_h2)
        zeta[j, end] = fraction * woods(psi[j, end - 1], zeta[j, end - 1], over_h2)
    elif WALL_X == 3:
        psi[j, 0] = psi[j, end - 1]
        psi[j, end] = psi[j, 1]
        zeta[j, 0] = zeta[j, end - 1]
        zeta[j, end] = zeta[j, 1]
    elif WALL_X == 4:
        zeta[j, 0] = zeta[j, 1]
        zeta[j, end] = zeta[j, end - 1]


@cell
def velocity(psi, width, x, y):
    """Return the differences of psi for (u, v) at (x, y), in grid units; psi is interpolated bilinearly.

    u = -psi_y and v = psi_x of the bilinear psi are divergence-free and have no flow through walls. The caller
    divides the differences by the grid spacings.
    """
    i = min(max(int(math.floor(x)), 0), width - 2)  # noqa: RUF046
    j = min(max(int(math.floor(y)), 0), psi.shape[0] - 2)  # noqa: RUF046
    a, b = x - i, y - j
    p00, p10, p01, p11 = psi[j, i], psi[j, i + 1], psi[j + 1, i], psi[j + 1, i + 1]
    west, east = p01 - p00, p11 - p10
    south, north = p10 - p00, p11 - p01
    return -(west + a * (east - west)), south + b * (north - south)


@cell
def drifted(i, psi, position, width, over_area_dt, wrap_x, wrap_y):
    """Advect particle i with the midpoint rule.

    position : (2, n), in grid units of the padded array, double precision; width : number of columns.

    over_area_dt : dt / (dx dy); wrap_x, wrap_y : period in grid units (points 1 .. wrap), or 0 between walls.
    """
    x, y = position[0, i], position[1, i]
    u, v = velocity(psi, width, x, y)
    u, v = velocity(psi, width, x + real(0.5) * over_area_dt * u, y + real(0.5) * over_area_dt * v)
    x += over_area_dt * u
    y += over_area_dt * v
    if wrap_x > 0:
        x -= wrap_x * math.floor((x - 1.0) / wrap_x)
    else:
        x = min(max(x, 0.0), float(width - 1))
    if wrap_y > 0:
        y -= wrap_y * math.floor((y - 1.0) / wrap_y)
    else:
        y = min(max(y, 0.0), float(psi.shape[0] - 1))
    position[0, i] = x
    position[1, i] = y


ELSEWHERE = -1.0  # position of a particle that another device has; positions are 0 or more


class ParticleRows(NamedTuple):
    """Rows of a device: particles with low <= y - first < high are nearest to them."""

    first: float  # index of the first array row in the whole basin
    low: float
    high: float


@cell
def drifted_in_slab(i, psi, slots, position, rows, width, over_area_dt, wrap_x):
    """Advect particle i if it is nearest to a row of this device; otherwise set its position to `ELSEWHERE`.

    slots : (2 devices, n), positions in the whole basin by the device of the particle, others are `ELSEWHERE`;
    position : (2, n), the part of `slots` that this device sets; rows : `ParticleRows`.
    The displacement per step is below half a row, so one halo row is enough.
    """
    x, y = slots[0, i], slots[1, i]
    for n in range(1, slots.shape[0] // 2):
        if slots[2 * n, i] != ELSEWHERE:
            x, y = slots[2 * n, i], slots[2 * n + 1, i]
    position[0, i], position[1, i] = x, y - rows.first
    if rows.low <= position[1, i] and position[1, i] < rows.high:
        drifted(i, psi, position, width, over_area_dt, wrap_x, 0.0)
        position[1, i] += rows.first
    else:
        position[0, i], position[1, i] = ELSEWHERE, ELSEWHERE
