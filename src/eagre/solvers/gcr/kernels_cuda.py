"""GPU versions of `kernels`: flat fields, one partial sum per block, tree sums (bitwise reproducible).

The last block adds all partial sums and continues with the totals, or another kernel does if devices share the sums.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, load_volatile, real, switch
from eagre.solvers.gcr.kernels import (
    BETA,
    COUNT,
    KEPT,
    NUMBERS,
    SLOT,
    check_residual,
    next_slot,
    set_shares,
    set_step,
    share_of,
    weight_at,
)
from eagre.stepping.convergence_loop import THREADS, add_up, is_iterating, max_over_block

ALONE = switch("ALONE", True)  # whether this device has all partial sums


@cell
def store_sum(tree, t, n, value, partials):
    """Store a block's sum as its partial result of row n."""
    add_up(tree, t, THREADS, value)
    if t == 0:
        partials[n, 0, cuda.blockIdx.x] = tree[0]
    cuda.syncthreads()


@cell
def store_both(tree, t, maximum, squares, partials):
    """Store a block's maximum and sum."""
    max_over_block(tree, t, THREADS, maximum)
    if t == 0:
        partials[0, 0, cuda.blockIdx.x] = tree[0]
    cuda.syncthreads()
    store_sum(tree, t, 1, squares, partials)


@cell
def is_last(flag, t, blocks, arrived):
    """Return whether all other blocks have stored their partial results; the same for all threads of a block."""
    if t == 0:
        cuda.threadfence()
        flag[0] = np.float64(cuda.atomic.inc(arrived, 0, np.uint32(blocks - 1)) == blocks - 1)
        cuda.threadfence()
    cuda.syncthreads()
    return flag[0] > 0.0


@cell
def total_of(tree, t, partials, n):
    """Return the sum of row n of the partial results of all blocks."""
    total, blocks = 0.0, partials.shape[2]
    for m in range(t, blocks, THREADS):
        total += load_volatile(partials, m, n * blocks)
    add_up(tree, t, THREADS, total)
    total = tree[0]
    cuda.syncthreads()
    return total


@cell
def check_residual_blocks(tree, t, partials, control):
    """Check convergence with the partial results of all blocks; one block."""
    maximum, blocks = 0.0, partials.shape[2]
    for m in range(t, blocks, THREADS):
        maximum = max(maximum, load_volatile(partials, m, 0))
    max_over_block(tree, t, THREADS, maximum)
    maximum = tree[0]
    cuda.syncthreads()
    squares = total_of(tree, t, partials, 1)
    if t == 0:
        check_residual(control, maximum, squares)


@cell
def weighed(weight, edges, n, nz, ny, nx):
    """Return the weight of point n times its cell fraction."""
    row = n // np.uint32(nx)
    k = row // np.uint32(ny)
    i, j = n - row * np.uint32(nx), row - k * np.uint32(ny)
    fraction = share_of(edges[0], nz, k) * share_of(edges[1], ny, j) * share_of(edges[2], nx, i)
    return weight_at(weight, k, j, i) * fraction


@entry
def begin_cuda(scalars, num_directions):
    """See `begin`; one block."""
    if cuda.threadIdx.x == 0:
        scalars[COUNT] = 0.0
        scalars[KEPT] = num_directions
        scalars[BETA] = 0.0


@entry
def measure_cuda(r, partials, control, arrived):
    """See `measure_cpu` and `check_residual_cpu`; r flat, partials (2, 1, blocks)."""
    tree = cuda.shared.array(THREADS, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = cuda.threadIdx.x
    maximum, squares = 0.0, 0.0
    for n in range(cuda.blockIdx.x * THREADS + t, r.shape[0], cuda.gridDim.x * THREADS):
        a = float(abs(r[n]))
        maximum = max(maximum, a)
        squares += a * a
    store_both(tree, t, maximum, squares, partials)
    if ALONE and is_last(flag, t, partials.shape[2], arrived):
        check_residual_blocks(tree, t, partials, control)


@entry
def advance_cuda(phi, r, directions, images, scalars, control, partials, arrived):
    """See `advance_cpu` and `check_residual_cpu`; directions (k, points)."""
    tree = cuda.shared.array(THREADS, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = cuda.threadIdx.x
    if is_iterating(control):
        beta, slot = real(scalars[BETA]), np.uint32(scalars[SLOT])
        maximum, squares = 0.0, 0.0
        for n in range(cuda.blockIdx.x * THREADS + t, r.shape[0], cuda.gridDim.x * THREADS):
            phi[n] += beta * directions[slot, n]
            new = r[n] + beta * images[slot, n]
            r[n] = new
            a = float(abs(new))
            maximum = max(maximum, a)
            squares += a * a
        store_both(tree, t, maximum, squares, partials)
        if ALONE and is_last(flag, t, partials.shape[2], arrived):
            check_residual_blocks(tree, t, partials, control)


@entry
def products_cuda(image, images, weight, edges, shape, scalars, control, partials, arrived):
    """See `products_cpu` and `shares_cpu`; shape: nz, ny, nx."""
    tree = cuda.shared.array(THREADS, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = cuda.threadIdx.x
    if is_iterating(control):
        for direction in range(np.int64(scalars[COUNT])):
            total = 0.0
            for n in range(cuda.blockIdx.x * THREADS + t, image.shape[0], cuda.gridDim.x * THREADS):
                one = weighed(weight, edges, np.uint32(n), shape[0], shape[1], shape[2])
                total += float(one * image[n] * images[direction, n])
            add_up(tree, t, THREADS, total)
            if t == 0:
                partials[direction, 0, cuda.blockIdx.x] = tree[0]
            cuda.syncthreads()
        if ALONE and is_last(flag, t, partials.shape[2], arrived):
            for direction in range(np.int64(scalars[COUNT])):
                total = total_of(tree, t, partials, direction)
                if t == 0:
                    set_shares(scalars, direction, total)


@entry
def combine_cuda(q, image, directions, images, r, weight, edges, shape, scalars, control, partials, arrived):
    """See `combine_cpu` and `step_cpu`; q and image are unchanged."""
    tree = cuda.shared.array(THREADS, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = cuda.threadIdx.x
    if is_iterating(control):
        slot, count, num_directions = next_slot(scalars), np.int64(scalars[COUNT]), np.int64(scalars[KEPT])
        along, square = 0.0, 0.0
        for n in range(cuda.blockIdx.x * THREADS + t, r.shape[0], cuda.gridDim.x * THREADS):
            p, its = q[n], image[n]
            for m in range(count):
                alpha = real(scalars[NUMBERS + num_directions + m])
                p += alpha * directions[m, n]
                its += alpha * images[m, n]
            directions[slot, n] = p
            images[slot, n] = its
            one = weighed(weight, edges, np.uint32(n), shape[0], shape[1], shape[2]) * its
            along += float(one * r[n])
            square += float(one * its)
        store_sum(tree, t, 0, along, partials)
        store_sum(tree, t, 1, square, partials)
        if ALONE and is_last(flag, t, partials.shape[2], arrived):
            along, square = total_of(tree, t, partials, 0), total_of(tree, t, partials, 1)
            if t == 0:
                set_step(scalars, control, along, square)


@entry
def check_residual_cuda(partials, control):
    """See `check_residual_cpu`, with the partial results of all devices; one block."""
    tree = cuda.shared.array(THREADS, np.float64)
    check_residual_blocks(tree, cuda.threadIdx.x, partials, control)


@entry
def shares_cuda(partials, scalars, control):
    """See `shares_cpu`, with the partial results of all devices; one block."""
    tree = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    if is_iterating(control):
        for direction in range(np.int64(scalars[COUNT])):
            total = total_of(tree, t, partials, direction)
            if t == 0:
                set_shares(scalars, direction, total)


@entry
def step_cuda(partials, scalars, control):
    """See `step_cpu`, with the partial results of all devices; one block."""
    tree = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    iterates = is_iterating(control)
    cuda.syncthreads()
    if iterates:
        along, square = total_of(tree, t, partials, 0), total_of(tree, t, partials, 1)
        if t == 0:
            set_step(scalars, control, along, square)
