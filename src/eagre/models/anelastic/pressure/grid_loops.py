"""Grid loops of a point function of `operator`: a generic loop, and vectorised rows on a CPU."""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, switch
from eagre.models.anelastic.base.grid_lines import axis_x, axis_y, axis_z, inner_line, line_at, periodic_line
from eagre.models.anelastic.pressure.operator import set_residual

POINT = switch("POINT", set_residual)


@cell
def at_point(k, j, i, q, provisional, out, medium, normal, grid):
    """Evaluate the point function at a point."""
    POINT(
        q, provisional, out, medium, normal, line_at(k, axis_z(grid)), line_at(j, axis_y(grid)),
        line_at(i, axis_x(grid)),
    )  # fmt: skip


@entry
def rows_cpu(q, provisional, out, medium, normal, grid):
    """Evaluate all points; two points at each end of rows and planes at boundaries of z are handled separately."""
    nz, ny, nx = q.shape
    without_sides = grid.periodic_z or nz == 1
    for row in prange(nz * ny):
        k = row // ny
        y = line_at(row - k * ny, axis_y(grid))
        z = line_at(k, axis_z(grid))
        ends = min(nx, 4)
        for m in range(ends):
            i = m if m < 2 else nx - ends + m
            POINT(q, provisional, out, medium, normal, z, y, line_at(i, axis_x(grid)))
        if without_sides or (k > 1 and k < nz - 2):
            z = periodic_line(k, axis_z(grid))
            for m in range(nx - 4):
                POINT(q, provisional, out, medium, normal, z, y, inner_line(np.uint32(m), axis_x(grid)))
        else:
            for m in range(nx - 4):
                POINT(q, provisional, out, medium, normal, z, y, inner_line(np.uint32(m), axis_x(grid)))
