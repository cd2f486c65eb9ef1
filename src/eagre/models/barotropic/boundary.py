"""Boundary conditions: free-slip and no-slip walls, periodic axes.

Arrays have one boundary point on each side. Along a periodic axis of n intervals, points 1 .. n are unknowns and the
boundary points are periodic copies. Between walls, points 1 .. n - 1 are unknowns and the boundary points are walls.
"""

from __future__ import annotations

from eagre.backend.compilation.cells import cell, real, switch

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
def boundary_y(j, i, psi, zeta, over_h2):
    """Set the south and north boundary points in column i + 1; j is 0."""
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
    """Set the west and east boundary points, columns 0 and `end`, in row j, including corners; i is 0."""
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
