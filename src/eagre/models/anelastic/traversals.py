"""Runs a point formula of `operator` over a grid: a loop on any target, and rows with vectorised interiors on the CPU."""

from __future__ import annotations

import numpy as np

from eagre.backend.cells import cell, entry, prange, switch
from eagre.models.anelastic.operator import inner_line, line_at, set_residual

POINT = switch("POINT", set_residual)


@cell
def at_point(k, j, i, q, hat, out, medium, normal, grid):
    """The formula at a point."""
    POINT(q, hat, out, medium, normal, line_at(k, grid.z), line_at(j, grid.y), line_at(i, grid.x))


@entry
def rows_cpu(q, hat, out, medium, normal, grid):
    """As `at_point` over all points: the two points at either end of a row with selects, those between without."""
    nz, ny, nx = q.shape
    ends = min(nx, 4)
    for row in prange(nz * ny):
        k = row // ny
        z, y = line_at(k, grid.z), line_at(row - k * ny, grid.y)
        for m in range(ends):
            POINT(q, hat, out, medium, normal, z, y, line_at(m if m < 2 else nx - ends + m, grid.x))
        for m in range(nx - 4):
            POINT(q, hat, out, medium, normal, z, y, inner_line(np.uint32(m), grid.x))
