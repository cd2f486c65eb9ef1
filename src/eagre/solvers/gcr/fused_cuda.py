"""GCR(1) without a preconditioner on a GPU: an iteration in two kernels that move ten words a point.

    direction   phi += beta p of the iteration before,  p = r + alpha p,  L p = L r + alpha L p;  beta
    advance     r' = r + beta L p;  alpha of the next iteration from L r', which is made of r and L p at neighbours

L is made anew from r in both, so that L r is never stored. The block that ends last adds up the parts of all blocks, in
their order: the same bits every time. r goes to and fro between two arrays, as neighbours read the old one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, entry, flat_load, flat_store, load_volatile, real, switch
from eagre.backend.warp import thread
from eagre.solvers.gcr.kernels import (
    BETA,
    COUNT,
    NUMBERS,
    judge_both,
    set_shares,
    set_step,
    share_of,
    weight_at,
)
from eagre.stepping.until import add_up, is_iterating, largest_of

LANES, ROWS = 32, 8
BLOCK = LANES * ROWS
ADVANCED = switch("ADVANCED", False)  # whether what L is applied to is r + beta L p


class Near(NamedTuple):
    """Of a column of points: flat places of it and its neighbours in a level, and what L multiplies these with."""

    here: Any
    to_east: Any
    to_west: Any
    to_north: Any
    to_south: Any
    east: Any
    west: Any
    north: Any
    south: Any


@cell
def near(star, j, i, nx):
    """The column at (j, i)."""
    row = np.uint32(j * np.uint32(nx))
    to_east, to_west = np.uint32(row + star.to_east[i]), np.uint32(row + star.to_west[i])
    to_north = np.uint32(star.to_north[j] * np.uint32(nx) + i)
    to_south = np.uint32(star.to_south[j] * np.uint32(nx) + i)
    return Near(
        np.uint32(row + i), to_east, to_west, to_north, to_south,
        star.east[i], star.west[i], star.north[j], star.south[j],
    )  # fmt: skip


@cell
def level(k, nz, size, periodic):
    """Flat place of the first point of level k, from -2 to nz + 1: round a periodic axis, or the outermost level."""
    if k < 0:
        k = k + nz if periodic else 0
    if k > nz - 1:
        k = k - nz if periodic else nz - 1
    return np.uint32(np.uint32(k) * np.uint32(size))


@cell
def value(r, image, beta, start, at):
    """A value of r, or of r + beta L p where `ADVANCED`."""
    if ADVANCED:
        return flat_load(r, start, at) + beta * flat_load(image, start, at)
    return flat_load(r, start, at)


@cell
def sum_of_level(r, image, beta, start, n, c):
    """What L has of the neighbours of a point of value c in its level; n: `Near`."""
    total = n.east * (value(r, image, beta, start, n.to_east) - c)
    total += n.west * (value(r, image, beta, start, n.to_west) - c)
    total += n.north * (value(r, image, beta, start, n.to_north) - c)
    return total + n.south * (value(r, image, beta, start, n.to_south) - c)


@cell
def block_number():
    """Number of this block in the grid."""
    return (cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x


@cell
def store_parts(tree, t, first, second, partials, is_largest):
    """A block's two numbers, the first a sum or the largest, as its part of rows 0 and 1."""
    block, blocks = block_number(), partials.shape[2]
    if is_largest:
        largest_of(tree, t, BLOCK, first)
    else:
        add_up(tree, t, BLOCK, first)
    if t == 0 and block < blocks:
        partials[0, 0, block] = tree[0]
    cuda.syncthreads()
    add_up(tree, t, BLOCK, second)
    if t == 0 and block < blocks:
        partials[1, 0, block] = tree[0]


@cell
def is_last(flag, t, blocks, arrived):
    """Whether all other blocks have stored their parts; all threads of a block hear the same."""
    if t == 0:
        cuda.threadfence()
        flag[0] = np.float64(cuda.atomic.inc(arrived, 0, np.uint32(blocks - 1)) == blocks - 1)
        cuda.threadfence()
    cuda.syncthreads()
    return flag[0] > 0.0


@cell
def both_totals(tree, t, partials, is_largest):
    """The first row's sum or largest number and the second row's sum, by one block."""
    first, second = 0.0, 0.0
    blocks = partials.shape[2]
    for m in range(t, blocks, BLOCK):
        one = load_volatile(partials, m, 0)
        first = max(first, one) if is_largest else first + one
        second += load_volatile(partials, m, blocks)
    if is_largest:
        largest_of(tree, t, BLOCK, first)
    else:
        add_up(tree, t, BLOCK, first)
    first = tree[0]
    cuda.syncthreads()
    add_up(tree, t, BLOCK, second)
    return first, tree[0]


@entry
def direction_cuda(r, p, image, phi, star, periodic, weight, edges, planes, scalars, control, parts, arrived):
    """p, L p, the step beta along them, and phi of the iteration before; grid: tiles of LANES x ROWS x `planes`."""
    tree, flag = cuda.shared.array(BLOCK, np.float64), cuda.shared.array(1, np.float64)
    t = thread()
    if is_iterating(control):
        begun, beta, alpha = scalars[COUNT] > 0.0, real(scalars[BETA]), real(scalars[NUMBERS + 1])
        i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = r.shape
        along, square = 0.0, 0.0
        if i < nx and j < ny:
            n, side = near(star, j, i, nx), share_of(edges[1], ny, j) * share_of(edges[2], nx, i)
            first, size = cuda.blockIdx.z * planes, ny * nx
            a = flat_load(r, level(first - 2, nz, size, periodic), n.here)
            b = flat_load(r, level(first - 1, nz, size, periodic), n.here)
            c = flat_load(r, level(first, nz, size, periodic), n.here)
            d = flat_load(r, level(first + 1, nz, size, periodic), n.here)
            for m in range(first, min(nz, first + planes)):
                k = np.uint32(m)
                start = np.uint32(k * np.uint32(size))
                e = flat_load(r, level(m + 2, nz, size, periodic), n.here)
                its = star.across[k] * sum_of_level(r, image, beta, start, n, c)
                its += star.up[k] * (e - c) + star.down[k] * (a - c)
                new = c
                if begun:
                    old = flat_load(p, start, n.here)
                    flat_store(phi, start, n.here, flat_load(phi, start, n.here) + beta * old)
                    new = c + alpha * old
                    its += alpha * flat_load(image, start, n.here)
                flat_store(p, start, n.here, new)
                flat_store(image, start, n.here, its)
                one = weight_at(weight, k, j, i) * share_of(edges[0], nz, k) * side * its
                along += float(one * c)
                square += float(one * its)
                a, b, c, d = b, c, d, e
        store_parts(tree, t, along, square, parts, False)
        if is_last(flag, t, parts.shape[2], arrived):
            along, square = both_totals(tree, t, parts, False)
            if t == 0:
                set_step(scalars, control, along, square)


@entry
def advance_cuda(r, image, new, star, periodic, weight, edges, planes, scalars, control, parts, arrived):
    """new = r + beta L p, alpha of the next direction, and whether to go on."""
    tree, flag = cuda.shared.array(BLOCK, np.float64), cuda.shared.array(1, np.float64)
    t = thread()
    if is_iterating(control):
        beta = real(scalars[BETA])
        i = np.uint32(cuda.blockIdx.x * LANES + cuda.threadIdx.x)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = r.shape
        largest, along = 0.0, 0.0
        if i < nx and j < ny:
            n, side = near(star, j, i, nx), share_of(edges[1], ny, j) * share_of(edges[2], nx, i)
            first, size = cuda.blockIdx.z * planes, ny * nx
            a = value(r, image, beta, level(first - 2, nz, size, periodic), n.here)
            b = value(r, image, beta, level(first - 1, nz, size, periodic), n.here)
            its, its_above = (
                flat_load(image, level(first, nz, size, periodic), n.here),
                flat_load(image, level(first + 1, nz, size, periodic), n.here),
            )
            c = flat_load(r, level(first, nz, size, periodic), n.here) + beta * its
            d = flat_load(r, level(first + 1, nz, size, periodic), n.here) + beta * its_above
            for m in range(first, min(nz, first + planes)):
                k = np.uint32(m)
                start, ahead = np.uint32(k * np.uint32(size)), level(m + 2, nz, size, periodic)
                its_ahead = flat_load(image, ahead, n.here)
                e = flat_load(r, ahead, n.here) + beta * its_ahead
                flat_store(new, start, n.here, c)
                other = star.across[k] * sum_of_level(r, image, beta, start, n, c)
                other += star.up[k] * (e - c) + star.down[k] * (a - c)
                one = weight_at(weight, k, j, i) * share_of(edges[0], nz, k) * side
                along += float(one * other * its)
                largest = max(largest, float(abs(c)))
                a, b, c, d, its, its_above = b, c, d, e, its_above, its_ahead
        store_parts(tree, t, largest, along, parts, True)
        if is_last(flag, t, parts.shape[2], arrived):
            largest, along = both_totals(tree, t, parts, True)
            if t == 0:
                set_shares(scalars, 0, along)
                judge_both(control, largest, abs(along))


@cell
def settle(k, j, i, phi, p, scalars):
    """phi += beta p of the last iteration."""
    if scalars[COUNT] > 0.0:
        phi[k, j, i] += real(scalars[BETA]) * p[k, j, i]
