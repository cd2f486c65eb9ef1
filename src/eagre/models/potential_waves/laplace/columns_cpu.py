"""CPU kernels for residual and correction, by segments of a row with all layers.

The operator equals that of `reference`, with fewer operations. Differences along x and y commute with differences along
sigma, so both are computed from Psi and combined once per layer::

    G = (h_x Psi_x + h_y Psi_y) / d,    H = (d_x Psi_x + d_y Psi_y) / d
    2 grad sigma . grad Psi_s = 2 (G_s - sigma H_s)
    Lap sigma and |grad sigma|^2 + 1 / d^2 are polynomials of sigma, whose coefficients belong to a column

A segment is stored in rows of the scratch memory at constant strides, with halo points at its ends. The reasons of this
layout for vectorisation are given in docs/development/decisions/0002-cells.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real, switch
from eagre.kernels.neighbour_indices import neighbour
from eagre.models.potential_waves.surface.reference_kernels import BOTTOM, D_X, D_Y, H_X, H_Y, LAP_D, LAP_H, LAP_PHI, D

HALF = switch("HALF", 3)  # half the order
STRIDE = switch("STRIDE", 88)  # numbers of a row of the scratch
GHOSTS = switch("GHOSTS", False)  # whether Psi below the bed is an unknown; `missing` is then the residual at the bed
MARGIN = 8  # before the first point of a row: a vector, more than half of any order
GROUP = 4  # rows that are multiplied by a matrix at a time

# Rows of the scratch: those of the row segment, four per layer from LAYERS on, and one per mode after them.
X, Y, OVER_D, SUM, CHANGE = range(5)
HX, HY, DX, DY, A0, A1, B0, B1, B2, SOURCE = range(5, 15)
LAYERS = 15
P, G, H, LAP = range(4)  # Psi, and see above
ROWS = 4  # of a layer


class Along(NamedTuple):
    """Weights along x and y on one side of a point, nearest first, (4,), 0 beyond the order; see `Lines`."""

    x: Any
    xx: Any
    y: Any
    yy: Any
    periodic_x: int
    periodic_y: int


class Windows(NamedTuple):
    """The vertical grid: first layer of a layer's window, (nz,), its weights, (nz, 9), and sigma, (nz,)."""

    low: Any
    first: Any
    second: Any
    sigma: Any


# -- differences of rows --------------------------------------------------------------------------


@cell
def odd(a, row, i, w):
    """Return the first difference at point i of the row at offset `row`."""
    total = w[0] * (a[row + i + (MARGIN + 1)] - a[row + i + (MARGIN - 1)])
    if HALF > 1:
        total += w[1] * (a[row + i + (MARGIN + 2)] - a[row + i + (MARGIN - 2)])
    if HALF > 2:
        total += w[2] * (a[row + i + (MARGIN + 3)] - a[row + i + (MARGIN - 3)])
    if HALF > 3:
        total += w[3] * (a[row + i + (MARGIN + 4)] - a[row + i + (MARGIN - 4)])
    return total


@cell
def even(a, row, i, w):
    """Return the second difference at point i of the row at offset `row`, from differences, which lose no digits."""
    here = a[row + i + MARGIN]
    total = w[0] * ((a[row + i + (MARGIN + 1)] - here) + (a[row + i + (MARGIN - 1)] - here))
    if HALF > 1:
        total += w[1] * ((a[row + i + (MARGIN + 2)] - here) + (a[row + i + (MARGIN - 2)] - here))
    if HALF > 2:
        total += w[2] * ((a[row + i + (MARGIN + 3)] - here) + (a[row + i + (MARGIN - 3)] - here))
    if HALF > 3:
        total += w[3] * ((a[row + i + (MARGIN + 4)] - here) + (a[row + i + (MARGIN - 4)] - here))
    return total


@cell
def vertical(a, row, i, w):
    """Return the weighted sum over the layers of the window whose first row is at offset `row`."""
    total = w[0] * a[row + i + MARGIN]
    total += w[1] * a[row + i + (MARGIN + ROWS * STRIDE)] + w[2] * a[row + i + (MARGIN + 2 * ROWS * STRIDE)]
    if HALF > 1:
        total += w[3] * a[row + i + (MARGIN + 3 * ROWS * STRIDE)] + w[4] * a[row + i + (MARGIN + 4 * ROWS * STRIDE)]
    if HALF > 2:
        total += w[5] * a[row + i + (MARGIN + 5 * ROWS * STRIDE)] + w[6] * a[row + i + (MARGIN + 6 * ROWS * STRIDE)]
    if HALF > 3:
        total += w[7] * a[row + i + (MARGIN + 7 * ROWS * STRIDE)] + w[8] * a[row + i + (MARGIN + 8 * ROWS * STRIDE)]
    return total


@cell
def weights_of(table, n):
    """A row of nine weights, in registers."""
    return (
        table[n, 0], table[n, 1], table[n, 2], table[n, 3], table[n, 4], table[n, 5], table[n, 6], table[n, 7],
        table[n, 8],
    )  # fmt: skip


@cell
def four(w):
    """Four weights, in registers."""
    return w[0], w[1], w[2], w[3]


@cell
def load_row(psi, m, j, x0, n, periodic, a, row):
    """Load a segment of a row of layer m, with its halo points."""
    nx, last = psi.shape[2], np.int64(x0) + n - 1
    for i in range(n):
        a[row + i + MARGIN] = psi[m, j, x0 + i]
    for t in range(1, HALF + 1):
        a[row + (MARGIN - t)] = psi[m, j, neighbour(x0, -t, nx, periodic)]
        a[row + (MARGIN + n - 1 + t)] = psi[m, j, neighbour(last, t, nx, periodic)]


@cell
def across(psi, m, j, x0, n, along, a, to):
    """Compute Psi_y of a row segment."""
    ny, w, p = psi.shape[1], four(along.y), along.periodic_y
    n1, n2, n3, n4 = neighbour(j, 1, ny, p), neighbour(j, 2, ny, p), neighbour(j, 3, ny, p), neighbour(j, 4, ny, p)
    s1, s2, s3, s4 = neighbour(j, -1, ny, p), neighbour(j, -2, ny, p), neighbour(j, -3, ny, p), neighbour(j, -4, ny, p)
    for i in range(n):
        total = w[0] * (psi[m, n1, x0 + i] - psi[m, s1, x0 + i])
        if HALF > 1:
            total += w[1] * (psi[m, n2, x0 + i] - psi[m, s2, x0 + i])
        if HALF > 2:
            total += w[2] * (psi[m, n3, x0 + i] - psi[m, s3, x0 + i])
        a[to + i + MARGIN] = total
    if HALF > 3:  # with all eight rows there would be too many overlaps to rule out
        for i in range(n):
            a[to + i + MARGIN] += w[3] * (psi[m, n4, x0 + i] - psi[m, s4, x0 + i])


@cell
def add_across(psi, m, segment, along, a, row, to):
    """Add Psi_yy of the row segment at offset `row` to the row at offset `to`; segment : j, x0, n."""
    j, x0, n = segment
    ny, w, p = psi.shape[1], four(along.yy), along.periodic_y
    n1, n2, n3, n4 = neighbour(j, 1, ny, p), neighbour(j, 2, ny, p), neighbour(j, 3, ny, p), neighbour(j, 4, ny, p)
    s1, s2, s3, s4 = neighbour(j, -1, ny, p), neighbour(j, -2, ny, p), neighbour(j, -3, ny, p), neighbour(j, -4, ny, p)
    for i in range(n):
        here = a[row + i + MARGIN]
        total = w[0] * ((psi[m, n1, x0 + i] - here) + (psi[m, s1, x0 + i] - here))
        if HALF > 1:
            total += w[1] * ((psi[m, n2, x0 + i] - here) + (psi[m, s2, x0 + i] - here))
        if HALF > 2:
            total += w[2] * ((psi[m, n3, x0 + i] - here) + (psi[m, s3, x0 + i] - here))
        a[to + i + MARGIN] += total
    if HALF > 3:
        for i in range(n):
            here = a[row + i + MARGIN]
            a[to + i + MARGIN] += w[3] * ((psi[m, n4, x0 + i] - here) + (psi[m, s4, x0 + i] - here))


@cell
def multiply(a, rows, groups, matrix, k, n):
    """Multiply row k of a matrix by rows of the scratch, GROUP at a time, into row SUM."""
    to = np.uint32(SUM * STRIDE)
    for i in range(n):
        a[to + i + MARGIN] = real(0.0)
    for group in range(groups):
        first = GROUP * group
        row = np.uint32((rows + first) * STRIDE)
        w = (matrix[k, first], matrix[k, first + 1], matrix[k, first + 2], matrix[k, first + 3])
        for i in range(n):
            total = w[0] * a[row + i + MARGIN] + w[1] * a[row + i + (MARGIN + STRIDE)]
            total += w[2] * a[row + i + (MARGIN + 2 * STRIDE)] + w[3] * a[row + i + (MARGIN + 3 * STRIDE)]
            a[to + i + MARGIN] += total


# -- the residual ---------------------------------------------------------------------------------


@cell
def set_coefficients(geometry, sources, j, x0, n, a):
    """Compute the column coefficients of a row segment; see the module docstring."""
    z = np.uint32(0)
    for i in range(n):
        a[z + i + (OVER_D * STRIDE + MARGIN)] = real(1.0) / geometry[D, j, x0 + i]
    for i in range(n):
        over_d = a[z + i + (OVER_D * STRIDE + MARGIN)]
        a[z + i + (HX * STRIDE + MARGIN)] = geometry[H_X, j, x0 + i] * over_d
        a[z + i + (HY * STRIDE + MARGIN)] = geometry[H_Y, j, x0 + i] * over_d
        a[z + i + (DX * STRIDE + MARGIN)] = geometry[D_X, j, x0 + i] * over_d
        a[z + i + (DY * STRIDE + MARGIN)] = geometry[D_Y, j, x0 + i] * over_d
    for i in range(n):
        over_d = a[z + i + (OVER_D * STRIDE + MARGIN)]
        h_x, h_y = a[z + i + (HX * STRIDE + MARGIN)], a[z + i + (HY * STRIDE + MARGIN)]
        d_x, d_y = a[z + i + (DX * STRIDE + MARGIN)], a[z + i + (DY * STRIDE + MARGIN)]
        mixed, squared = real(2.0) * (h_x * d_x + h_y * d_y), d_x * d_x + d_y * d_y
        a[z + i + (A0 * STRIDE + MARGIN)] = geometry[LAP_H, j, x0 + i] * over_d - mixed
        a[z + i + (A1 * STRIDE + MARGIN)] = real(2.0) * squared - geometry[LAP_D, j, x0 + i] * over_d
        a[z + i + (B0 * STRIDE + MARGIN)] = h_x * h_x + h_y * h_y + over_d * over_d
        a[z + i + (B1 * STRIDE + MARGIN)] = -mixed
        a[z + i + (B2 * STRIDE + MARGIN)] = squared
        a[z + i + (SOURCE * STRIDE + MARGIN)] = sources[LAP_PHI, j, x0 + i]


@cell
def set_layer(psi, m, j, x0, n, full, along, a):
    """Psi, G, H and the Laplacian in the plane, of layer m; n points, `full` with those that fill vectors."""
    z, row = np.uint32(0), np.uint32((LAYERS + ROWS * m) * STRIDE)
    load_row(psi, m, j, x0, n, along.periodic_x, a, row)
    x, xx = four(along.x), four(along.xx)
    for i in range(full):
        a[z + i + (X * STRIDE + MARGIN)] = odd(a, row, i, x)
    for i in range(full):
        a[row + i + (LAP * STRIDE + MARGIN)] = even(a, row, i, xx)
    if psi.shape[1] > 1:
        across(psi, m, j, x0, n, along, a, np.uint32(Y * STRIDE))
        add_across(psi, m, (j, x0, n), along, a, row, np.uint32((LAYERS + ROWS * m + LAP) * STRIDE))
    for i in range(full):
        along_x, along_y = a[z + i + (X * STRIDE + MARGIN)], a[z + i + (Y * STRIDE + MARGIN)]
        h_x, h_y = a[z + i + (HX * STRIDE + MARGIN)], a[z + i + (HY * STRIDE + MARGIN)]
        d_x, d_y = a[z + i + (DX * STRIDE + MARGIN)], a[z + i + (DY * STRIDE + MARGIN)]
        a[row + i + (G * STRIDE + MARGIN)] = h_x * along_x + h_y * along_y
        a[row + i + (H * STRIDE + MARGIN)] = d_x * along_x + d_y * along_y


@cell
def set_residual(m, windows, full, a, to):
    """Compute the residual of the equation of layer m, into the row at offset `to`."""
    z, row = np.uint32(0), np.uint32((LAYERS + ROWS * windows.low[m]) * STRIDE)
    lap = np.uint32((LAYERS + ROWS * m + LAP) * STRIDE)
    first, second, s = weights_of(windows.first, m), weights_of(windows.second, m), windows.sigma[m]
    for i in range(full):
        total = a[z + i + (SOURCE * STRIDE + MARGIN)] + a[lap + i + MARGIN]
        slope = a[z + i + (A0 * STRIDE + MARGIN)] + s * a[z + i + (A1 * STRIDE + MARGIN)]
        square = a[z + i + (B1 * STRIDE + MARGIN)] + s * a[z + i + (B2 * STRIDE + MARGIN)]
        square = a[z + i + (B0 * STRIDE + MARGIN)] + s * square
        total += slope * vertical(a, row, i, first) + square * vertical(a, row, i, second)
        g, h = vertical(a, row, i + G * STRIDE, first), vertical(a, row, i + H * STRIDE, first)
        a[to + i + MARGIN] = -(total + real(2.0) * (g - s * h))


@cell
def add_missing(missing, j, x0, n, lowest, a, to):
    """Add the residual of the bed condition, times 2 / (lowest d^2), to the bed layer in the row at offset `to`."""
    z = np.uint32(0)
    for i in range(n):
        over_d = a[z + i + (OVER_D * STRIDE + MARGIN)]
        a[to + i + MARGIN] += real(2.0) / lowest * over_d * over_d * missing[0, j, x0 + i]


class Fields(NamedTuple):
    """Fields of the Laplace problem: psi, (nz + 1, ny, nx) with its ghosts, and data of the columns."""

    psi: Any
    geometry: Any
    sources: Any
    missing: Any  # (1, ny, nx) if Psi below the bed is an unknown


@entry
def residual_cpu(fields, f, transform, along, windows, scratch, width):
    """Modes of the residual of psi, into f.

    fields : `Fields`; f : (nz - 1, ny, nx); transform : (nz - 1, columns in whole groups);
    scratch : (chunks, numbers), 0 at first; width : points of a row segment.
    """
    psi, geometry = fields.psi, fields.geometry
    sources, missing = fields.sources, fields.missing
    layers, ny, nx = f.shape
    tiles, chunks, rows = (nx + width - 1) // width, scratch.shape[0], LAYERS + ROWS * psi.shape[0]
    for chunk in prange(chunks):
        a = scratch[chunk]
        for item in range(chunk * ny * tiles // chunks, (chunk + 1) * ny * tiles // chunks):
            j = item // tiles
            x0 = np.uint32((item - j * tiles) * width)
            n = min(width, nx - np.int64(x0))
            full = (n + MARGIN - 1) // MARGIN * MARGIN
            set_coefficients(geometry, sources, j, x0, n, a)
            for m in range(1, layers + 2):
                set_layer(psi, m, j, x0, n, full, along, a)
            for m in range(1, layers + 1):
                set_residual(m, windows, full, a, np.uint32((rows + m - 1) * STRIDE))
            if GHOSTS:
                add_missing(missing, j, x0, n, windows.sigma[layers - 1], a, np.uint32((rows + layers - 1) * STRIDE))
            for k in range(layers):
                multiply(a, rows, transform.shape[1] // GROUP, transform, k, full)
                for i in range(n):
                    f[k, j, x0 + i] = a[np.uint32(SUM * STRIDE) + i + MARGIN]


# -- the bottom, the surface and the correction ---------------------------------------------------


@cell
def set_ghost_row(fields, segment, along, weights, only_missing, a):
    """Set Psi of the layer below the bed, of a row segment j, x0, n; weights : of d/dsigma at the bed, (nz + 1,).

    only_missing : set the residual of the bed condition instead
    """
    psi, geometry, sources, missing = fields
    j, x0, n = segment
    z, bottom = np.uint32(0), psi.shape[0] - 2
    row = np.uint32((LAYERS + ROWS) * STRIDE)
    load_row(psi, bottom, j, x0, n, along.periodic_x, a, row)
    x = four(along.x)
    for i in range(n):
        a[z + i + (X * STRIDE + MARGIN)] = odd(a, row, i, x)
    if psi.shape[1] > 1:
        across(psi, bottom, j, x0, n, along, a, np.uint32(Y * STRIDE))
    for i in range(n):
        h_x, h_y = geometry[H_X, j, x0 + i], geometry[H_Y, j, x0 + i]
        slope = h_x * a[z + i + (X * STRIDE + MARGIN)] + h_y * a[z + i + (Y * STRIDE + MARGIN)]
        slope = (slope + sources[BOTTOM, j, x0 + i]) / (real(1.0) + h_x * h_x + h_y * h_y)
        a[z + i + (SUM * STRIDE + MARGIN)] = -geometry[D, j, x0 + i] * slope
    for m in range(bottom + 1 - 2 * HALF, bottom + 1):
        w = weights[m]
        for i in range(n):
            a[z + i + (SUM * STRIDE + MARGIN)] -= w * psi[m, j, x0 + i]
    if only_missing:
        w = weights[bottom + 1]
        for i in range(n):
            missing[0, j, x0 + i] = a[z + i + (SUM * STRIDE + MARGIN)] - w * psi[bottom + 1, j, x0 + i]
    else:
        over = real(1.0) / weights[bottom + 1]
        for i in range(n):
            psi[bottom + 1, j, x0 + i] = over * a[z + i + (SUM * STRIDE + MARGIN)]


@cell
def set_velocity_row(psi, geometry, j, x0, n, weights, w, a):
    """Set w~ = Psi_s / d of a row segment; weights : of d/dsigma at the surface, (nz + 1,)."""
    z = np.uint32(0)
    for i in range(n):
        a[z + i + (SUM * STRIDE + MARGIN)] = weights[1] * psi[1, j, x0 + i]
    for m in range(2, 2 * HALF + 1):
        weight = weights[m]
        for i in range(n):
            a[z + i + (SUM * STRIDE + MARGIN)] += weight * psi[m, j, x0 + i]
    for i in range(n):
        w[0, j, x0 + i] = a[z + i + (SUM * STRIDE + MARGIN)] / geometry[D, j, x0 + i]


@entry
def ends_cpu(fields, w, along, weights, with_w, scratch, width):
    """Set the layer below the bed or `missing`; or the layer and w~ if `with_w`; see `residual_cpu`.

    weights : of d/dsigma at the bed and at the surface, (nz + 1,) each
    """
    psi, geometry = fields.psi, fields.geometry
    bottom, surface = weights[0], weights[1]
    ny, nx = psi.shape[1], psi.shape[2]
    tiles, chunks = (nx + width - 1) // width, scratch.shape[0]
    for chunk in prange(chunks):
        a = scratch[chunk]
        for item in range(chunk * ny * tiles // chunks, (chunk + 1) * ny * tiles // chunks):
            j = item // tiles
            x0 = np.uint32((item - j * tiles) * width)
            n = min(width, nx - np.int64(x0))
            set_ghost_row(fields, (j, x0, n), along, bottom, GHOSTS and not with_w, a)
            if with_w:
                set_velocity_row(psi, geometry, j, x0, n, surface, w, a)


@cell
def correct_ghosts(psi, missing, j, x0, n, factor, a):
    """Correct Psi of the ghost layer: mirror the correction in row SUM, subtract `factor` times the bed residual."""
    z, ghost = np.uint32(0), psi.shape[0] - 1
    for i in range(n):
        psi[ghost, j, x0 + i] += a[z + i + (SUM * STRIDE + MARGIN)] - factor * missing[0, j, x0 + i]


@entry
def correct_cpu(u, psi, missing, partials, transform, numbers, scratch, width):
    """Add the corrections of the modes u, and sum their squares; partials : (ny * segments per row,).

    missing : see `Fields`; numbers : relaxation factor, and sigma of the layer above the bed.
    """
    relaxation, lowest = numbers
    layers, ny, nx = u.shape
    tiles, chunks, rows = (nx + width - 1) // width, scratch.shape[0], LAYERS + ROWS * psi.shape[0]
    for chunk in prange(chunks):
        a, z = scratch[chunk], np.uint32(0)
        for item in range(chunk * ny * tiles // chunks, (chunk + 1) * ny * tiles // chunks):
            j = item // tiles
            x0 = np.uint32((item - j * tiles) * width)
            n = min(width, nx - np.int64(x0))
            full = (n + MARGIN - 1) // MARGIN * MARGIN
            for k in range(layers):
                row = np.uint32((rows + k) * STRIDE)
                for i in range(n):
                    a[row + i + MARGIN] = relaxation * u[k, j, x0 + i]
            for i in range(full):
                a[z + i + (CHANGE * STRIDE + MARGIN)] = real(0.0)
            for k in range(layers):
                multiply(a, rows, transform.shape[1] // GROUP, transform, k, full)
                for i in range(n):
                    psi[k + 1, j, x0 + i] += a[z + i + (SUM * STRIDE + MARGIN)]
                if GHOSTS and k == layers - 2:
                    correct_ghosts(psi, missing, j, x0, n, real(2.0) * relaxation * lowest, a)
                for i in range(full):
                    change = a[z + i + (SUM * STRIDE + MARGIN)]
                    a[z + i + (CHANGE * STRIDE + MARGIN)] += change * change
            total = 0.0
            for i in range(n):
                total += float(a[z + i + (CHANGE * STRIDE + MARGIN)])
            partials[item] = total
