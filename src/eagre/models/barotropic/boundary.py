"""Boundary points: walls (free slip, no slip) and periodic sides.

Arrays are padded by a point all round. Along a periodic axis of n intervals the points 1 .. n are unknown and
the boundary points repeat them; between walls the points 1 .. n - 1 are unknown and the boundary points are the walls.
"""

from __future__ import annotations

from eagre.backend.cells import cell, real, switch

WALL_X = switch("WALL_X", 0)  # 0: free slip, 1: no slip after Thom, 2: no slip after Woods, 3: periodic, 4: no flux
WALL_Y = switch("WALL_Y", 0)
SOUTH = switch("SOUTH", True)  # which of the two rows of boundary points are walls
NORTH = switch("NORTH", True)
FREE_SLIP, THOM, WOODS, PERIODIC, NO_FLUX = range(5)


@cell
def thom(psi_1, over_h2):
    """Vorticity of a wall at rest from psi of the first point inside: 2 psi_1 / h^2, first order.

    A. Thom, Proc. R. Soc. Lond. A 141, 651-669 (1933), doi:10.1098/rspa.1933.0146.
    """
    return real(2.0) * over_h2 * psi_1


@cell
def woods(psi_1, zeta_1, over_h2):
    """Vorticity of a wall at rest: 3 psi_1 / h^2 - zeta_1 / 2, second order.

    With a finite deformation radius R the models give q_1 = zeta_1 - psi_1 / R^2 for zeta_1. As psi_1 is of the order
    of h^2, so is the difference.

    L. C. Woods, Aeronaut. Q. 5, 176-184 (1954), doi:10.1017/S0001925900001177.
    """
    return real(3.0) * over_h2 * psi_1 - real(0.5) * zeta_1


@cell
def boundary_y(j, i, psi, zeta, over_h2):
    """South and north boundary points in column i + 1; j is 0."""
    top = zeta.shape[0] - 1
    if WALL_Y == 1:
        if SOUTH:
            zeta[0, i + 1] = thom(psi[1, i + 1], over_h2)
        if NORTH:
            zeta[top, i + 1] = thom(psi[top - 1, i + 1], over_h2)
    elif WALL_Y == 2:
        if SOUTH:
            zeta[0, i + 1] = woods(psi[1, i + 1], zeta[1, i + 1], over_h2)
        if NORTH:
            zeta[top, i + 1] = woods(psi[top - 1, i + 1], zeta[top - 1, i + 1], over_h2)
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
def boundary_x(j, i, psi, zeta, end, over_h2):
    """West and east boundary points, columns 0 and `end`, in row j, corners included; i is 0."""
    if WALL_X == 1:
        zeta[j, 0] = thom(psi[j, 1], over_h2)
        zeta[j, end] = thom(psi[j, end - 1], over_h2)
    elif WALL_X == 2:
        zeta[j, 0] = woods(psi[j, 1], zeta[j, 1], over_h2)
        zeta[j, end] = woods(psi[j, end - 1], zeta[j, end - 1], over_h2)
    elif WALL_X == 3:
        psi[j, 0] = psi[j, end - 1]
        psi[j, end] = psi[j, 1]
        zeta[j, 0] = zeta[j, end - 1]
        zeta[j, end] = zeta[j, 1]
    elif WALL_X == 4:
        zeta[j, 0] = zeta[j, 1]
        zeta[j, end] = zeta[j, end - 1]
