"""Operations of a GCR(k) iteration on device fields, with device scalars, on CPUs and GPUs.

Fields (nz, ny, nx); directions p and their images L p: (k, nz, ny, nx). Sums use double precision.

On a GPU, fields are flat, blocks store one partial sum each, and sums are trees (bitwise reproducible). The last block
adds all partial sums and continues with the totals, or another kernel does if devices share the sums.
"""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, load_volatile, prange, real, serial_entry, switch
from eagre.stepping.convergence_loop import ITERATING, THREADS, add_up, check_convergence, is_iterating, max_over_block

BETA = 0  # step along the newest direction
COUNT = 1  # number of stored directions
SLOT = 2  # index of the newest direction
KEPT = 3  # k
NUMBERS = 4  # followed by k squares <L p, L p> and k coefficients alpha
MIN_SQUARE = 1e-300
HUGE = 1e300
ALONE = switch("ALONE", True)  # whether this device has all partial sums


@cell
def of_level(w, k, j, i):
    """Return the weight of a level, (nz, 1, 1)."""
    return w[k, 0, 0]


@cell
def of_point(w, k, j, i):
    """Return the weight of a point, (nz, ny, nx)."""
    return w[k, j, i]


weight_at = switch("WEIGHT", of_level)


@cell
def share_of(edge, n, i):
    """Return the fraction of a cell that point i of n owns along an axis."""
    return edge if i == 0 or i == n - 1 else real(1.0)


@cell
def next_slot(scalars):
    """Return the index of the next direction: index 0 when all are in use."""
    return np.int64(scalars[COUNT]) if scalars[COUNT] < scalars[KEPT] else np.int64(0)


@serial_entry
def begin(scalars, num_directions):
    """Start without directions."""
    scalars[COUNT] = 0.0
    scalars[KEPT] = num_directions
    scalars[BETA] = 0.0


@cell
def set_shares(scalars, n, total):
    """Set alpha_n = -<L q, L p_n> / <L p_n, L p_n>."""
    num_directions = np.int64(scalars[KEPT])
    scalars[NUMBERS + num_directions + n] = -total / max(scalars[NUMBERS + n], MIN_SQUARE)


@cell
def set_step(scalars, control, along, square):
    """Set beta = -<r, L p> / <L p, L p>; stop for a direction that the operator maps to zero."""
    slot = next_slot(scalars)
    scalars[NUMBERS + slot] = square
    if square > MIN_SQUARE:
        scalars[BETA] = -along / square
    else:
        scalars[BETA] = 0.0
        control[ITERATING] = 0.0
    scalars[SLOT] = slot
    scalars[COUNT] = slot + 1.0


@cell
def check_residual(control, maximum, squares):
    """Check the maximum residual, or the sum of squares if the maximum is not finite."""
    check_convergence(control, maximum * maximum if squares < HUGE else squares)


@entry
def measure_cpu(r, partials):
    """Compute max |r| and the sum of r^2 of each column of a level; partials (2, nz, nx)."""
    nz, ny, nx = r.shape
    for k in prange(nz):
        for i in range(nx):
            partials[0, k, i] = 0.0
            partials[1, k, i] = 0.0
        for j in range(ny):
            for i in range(nx):
                a = float(abs(r[k, j, i]))
                partials[0, k, i] = a if a > partials[0, k, i] else partials[0, k, i]
                partials[1, k, i] += a * a


@entry
def advance_cpu(phi, r, directions, images, scalars, control, partials):
    """Set phi += beta p, r += beta L p, and the results of `measure_cpu`."""
    nz, ny, nx = r.shape
    for k in prange(nz):
        if is_iterating(control):
            beta, slot = real(scalars[BETA]), np.uint32(scalars[SLOT])
            for i in range(nx):
                partials[0, k, i] = 0.0
                partials[1, k, i] = 0.0
            for j in range(ny):
                for i in range(nx):
                    phi[k, j, i] += beta * directions[slot, k, j, i]
                for i in range(nx):
                    r[k, j, i] += beta * images[slot, k, j, i]
                    a = float(abs(r[k, j, i]))
                    partials[0, k, i] = a if a > partials[0, k, i] else partials[0, k, i]
                    partials[1, k, i] += a * a


@entry
def products_cpu(image, images, weight, edges, scalars, control, partials):
    """Compute <L q, L p_n> of all stored directions; partials (k, nz, nx); edges: cell fractions of boundary points."""
    nz, ny, nx = image.shape
    for k in prange(nz):
        if is_iterating(control):
            for n in range(np.int64(scalars[COUNT])):
                for i in range(nx):
                    partials[n, k, i] = 0.0
                for j in range(ny):
                    fraction = share_of(edges[0], nz, k) * share_of(edges[1], ny, j)
                    for i in range(nx):
                        one = weight_at(weight, k, j, i) * fraction * image[k, j, i] * images[np.uint32(n), k, j, i]
                        partials[n, k, i] += float(one)


@cell
def combine_row(k, j, q, image, directions, images, scalars):
    """Compute the new direction of a row; the oldest direction may be stored at the same index."""
    slot, count, num_directions = np.uint32(next_slot(scalars)), np.int64(scalars[COUNT]), np.int64(scalars[KEPT])
    first = real(scalars[NUMBERS + num_directions]) if count > 0 else real(0.0)
    for i in range(q.shape[2]):
        directions[slot, k, j, i] = q[k, j, i] + first * directions[0, k, j, i]
        images[slot, k, j, i] = image[k, j, i] + first * images[0, k, j, i]
    for n in range(1, count):
        alpha, m = real(scalars[NUMBERS + num_directions + n]), np.uint32(n)
        for i in range(q.shape[2]):
            directions[slot, k, j, i] += alpha * directions[m, k, j, i]
            images[slot, k, j, i] += alpha * images[m, k, j, i]


@entry
def combine_cpu(q, image, directions, images, r, weight, edges, scalars, control, partials):
    """Combine q and L q with coefficients alpha, store them, and compute <r, L q> and <L q, L q>."""
    nz, ny, nx = r.shape
    for k in prange(nz):
        if is_iterating(control):
            slot = np.uint32(next_slot(scalars))
            for i in range(nx):
                partials[0, k, i] = 0.0
                partials[1, k, i] = 0.0
            for j in range(ny):
                fraction = share_of(edges[0], nz, k) * share_of(edges[1], ny, j)
                combine_row(k, j, q, image, directions, images, scalars)
                for i in range(nx):
                    one = weight_at(weight, k, j, i) * fraction * images[slot, k, j, i]
                    partials[0, k, i] += float(one * r[k, j, i])
                    partials[1, k, i] += float(one * images[slot, k, j, i])


@cell
def row_sum(partials, n, edge):
    """Return the sum of row n in order, with the cell fractions of boundary points along x."""
    total = 0.0
    for k in range(partials.shape[1]):
        nx = partials.shape[2]
        for i in range(nx):
            total += partials[n, k, i]
        total += (edge - 1.0) * (partials[n, k, 0] + partials[n, k, nx - 1])
    return total


@serial_entry
def check_residual_cpu(partials, control):
    """Check convergence with all partial results of `advance_cpu`."""
    maximum, squares = 0.0, 0.0
    for k in range(partials.shape[1]):
        for i in range(partials.shape[2]):
            maximum = max(maximum, partials[0, k, i])
            squares += partials[1, k, i]
    check_residual(control, maximum, squares)


@serial_entry
def shares_cpu(partials, edges, scalars, control):
    """Set all alpha."""
    if is_iterating(control):
        for n in range(int(scalars[COUNT])):
            set_shares(scalars, n, row_sum(partials, n, edges[2]))


@serial_entry
def step_cpu(partials, edges, scalars, control):
    """Set beta."""
    if is_iterating(control):
        set_step(scalars, control, row_sum(partials, 0, edges[2]), row_sum(partials, 1, edges[2]))


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
