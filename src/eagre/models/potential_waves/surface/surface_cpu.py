"""CPU kernels of the surface, by segments of a row: `set_surface`, `set_sources` and `set_rates` of `reference`.

In double precision; see `laplace.columns_cpu` for the layout of a row segment in the scratch memory.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.models.potential_waves.laplace.columns_cpu import (
    MARGIN,
    STRIDE,
    across,
    add_across,
    even,
    four,
    load_row,
    odd,
)
from eagre.models.potential_waves.surface.reference_kernels import (
    BOTTOM,
    D_X,
    D_Y,
    H_X,
    H_Y,
    LAP_D,
    LAP_H,
    LAP_PHI,
    NONLINEAR,
    D,
)

VALUE, ALONG, ACROSS, LAPLACE = range(4)  # rows of the scratch for eta, and as many for phi~
FIELD = 4
ROWS = 2 * FIELD


@cell
def set_differences(fields, m, j, x0, n, along, second, a):
    """Compute first differences of field m of a row segment, and optionally the Laplacian."""
    row, z = np.uint32((FIELD * m) * STRIDE), np.uint32((FIELD * m) * STRIDE)
    load_row(fields, m, j, x0, n, along.periodic_x, a, row)
    x, xx = four(along.x), four(along.xx)
    for i in range(n):
        a[z + i + (ALONG * STRIDE + MARGIN)] = odd(a, row, i, x)
    if fields.shape[1] > 1:
        across(fields, m, j, x0, n, along, a, np.uint32((FIELD * m + ACROSS) * STRIDE))
    if second:
        for i in range(n):
            a[z + i + (LAPLACE * STRIDE + MARGIN)] = even(a, row, i, xx)
        if fields.shape[1] > 1:
            add_across(fields, m, (j, x0, n), along, a, row, np.uint32((FIELD * m + LAPLACE) * STRIDE))


@cell
def set_depth(h, geometry, q, j, x0, n, a):
    """Set rows of the depth, its derivatives, and the screening of the preconditioner."""
    z = np.uint32(0)
    for i in range(n):
        d = h[0, j, x0 + i]
        if NONLINEAR:
            d += a[z + i + (VALUE * STRIDE + MARGIN)]
        geometry[D, j, x0 + i] = d
        q[0, j, x0 + i] = real(1.0) / (d * d)
    for i in range(n):
        more = a[z + i + (ALONG * STRIDE + MARGIN)] if NONLINEAR else real(0.0)
        geometry[D_X, j, x0 + i] = geometry[H_X, j, x0 + i] + more
    for i in range(n):
        more = a[z + i + (ACROSS * STRIDE + MARGIN)] if NONLINEAR else real(0.0)
        geometry[D_Y, j, x0 + i] = geometry[H_Y, j, x0 + i] + more
    for i in range(n):
        more = a[z + i + (LAPLACE * STRIDE + MARGIN)] if NONLINEAR else real(0.0)
        geometry[LAP_D, j, x0 + i] = geometry[LAP_H, j, x0 + i] + more


@entry
def surface_cpu(fields, h, geometry, sources, q, along, scratch, width):
    """Set depth and right-hand sides of a surface; fields : (2, ny, nx), eta and phi~; the others as in `reference`."""
    ny, nx = fields.shape[1], fields.shape[2]
    tiles, chunks = (nx + width - 1) // width, scratch.shape[0]
    for chunk in prange(chunks):
        a, phi = scratch[chunk], np.uint32(FIELD * STRIDE)
        for item in range(chunk * ny * tiles // chunks, (chunk + 1) * ny * tiles // chunks):
            j = item // tiles
            x0 = np.uint32((item - j * tiles) * width)
            n = min(width, nx - np.int64(x0))
            for m in range(2):
                set_differences(fields, m, j, x0, n, along, True, a)
            set_depth(h, geometry, q, j, x0, n, a)
            for i in range(n):
                sources[LAP_PHI, j, x0 + i] = a[phi + i + (LAPLACE * STRIDE + MARGIN)]
            for i in range(n):
                slope = geometry[H_X, j, x0 + i] * a[phi + i + (ALONG * STRIDE + MARGIN)]
                slope += geometry[H_Y, j, x0 + i] * a[phi + i + (ACROSS * STRIDE + MARGIN)]
                sources[BOTTOM, j, x0 + i] = slope


@entry
def rates_cpu(fields, w, rates, gravity, along, scratch, width):
    """Set the rates of eta and phi~; see `reference.set_rates`."""
    ny, nx = fields.shape[1], fields.shape[2]
    tiles, chunks = (nx + width - 1) // width, scratch.shape[0]
    for chunk in prange(chunks):
        a, z = scratch[chunk], np.uint32(0)
        for item in range(chunk * ny * tiles // chunks, (chunk + 1) * ny * tiles // chunks):
            j = item // tiles
            x0 = np.uint32((item - j * tiles) * width)
            n = min(width, nx - np.int64(x0))
            if NONLINEAR:
                for m in range(2):
                    set_differences(fields, m, j, x0, n, along, False, a)
                for i in range(n):
                    e_x, e_y = a[z + i + (ALONG * STRIDE + MARGIN)], a[z + i + (ACROSS * STRIDE + MARGIN)]
                    u = a[z + i + ((FIELD + ALONG) * STRIDE + MARGIN)]
                    v = a[z + i + ((FIELD + ACROSS) * STRIDE + MARGIN)]
                    upward, steep = w[0, j, x0 + i], real(1.0) + e_x * e_x + e_y * e_y
                    rates[0, j, x0 + i] = upward * steep - (e_x * u + e_y * v)
                    speed = u * u + v * v - upward * upward * steep
                    rates[1, j, x0 + i] = -gravity * a[z + i + (VALUE * STRIDE + MARGIN)] - real(0.5) * speed
            else:
                for i in range(n):
                    rates[0, j, x0 + i] = w[0, j, x0 + i]
                    rates[1, j, x0 + i] = -gravity * fields[0, j, x0 + i]
