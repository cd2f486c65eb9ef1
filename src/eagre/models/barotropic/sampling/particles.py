"""Lagrangian particle advection."""

from __future__ import annotations

import math

from eagre.backend.compilation.cells import cell, real


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
