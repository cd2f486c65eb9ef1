"""Partition method on a GPU: rows of given a, b, c, d in partitions, with exact coupling.

Every partition of a line is read once if the coupling across a whole partition is below rounding, as for systems with a
margin of diagonal dominance. Otherwise, as shown by the guard, two further passes solve the interface unknowns exactly;
they return immediately if they are not needed.
"""

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    flat_load,
    flat_store,
    load_four,
    load_two,
    load_volatile,
    prefetch_l2,
    real,
    store_four,
    store_two,
    switch,
    word,
)
from eagre.backend.cuda.warp import from_lane, raise_maximum
from eagre.kernels.bits import to_bits
from eagre.solvers.tridiagonal.columns import (
    EXCHANGE,
    FINISH,
    MODE,
    REDUCE,
    ROWS,
    THREADS,
    WORDS,
    block_number,
    column_threads,
    last_unknowns,
    named_barrier,
    outside,
    publish_interfaces,
    store_value,
    thread_offset,
    unknown_below,
)
from eagre.solvers.tridiagonal.link import Chunk, at_interface, lanes_joined, next_row

EPSILON = switch("EPSILON", 1e-17)  # coupling below rounding
WARPS = switch("WARPS", 4)
VECTORS = switch("VECTORS", True)  # whether lines start at multiples of four
CELLS = 4


@cell
def needless(guard):
    """Return whether the exact passes are not needed."""
    return guard[0] <= to_bits(real(EPSILON))


@cell
def column_block(system, x, coupling, shared, block, segments):
    """Solve, reduce or finish one block of a group of columns."""
    a, b, c, d = system
    lane, t = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    rows, inner = np.int32(b.shape[1]), np.int32(b.shape[2])
    group = np.int32(np.uint32(block) // np.uint32(segments))
    segment = np.int32(block - group * segments)
    groups = (inner + 31) // 32
    o = group // groups
    i = (group - o * groups) * 32 + lane
    first = (segment * THREADS + t) * ROWS
    inside = i < inner
    k = np.int64(o * np.int64(rows) + first) * inner + min(i, inner - 1)
    me = thread_offset(t, lane)
    zero, one = real(0.0), real(1.0)
    chunk = Chunk(-one, zero, zero, zero, zero, -one)
    offset = k
    for row in range(ROWS):
        if first + row < rows:
            prefetch_l2(a, offset, 0)
            prefetch_l2(b, offset, 0)
            prefetch_l2(c, offset, 0)
            prefetch_l2(d, offset, 0)
        offset += inner
    offset = k
    for row in range(ROWS):
        low, diagonal, high, right = zero, one, zero, zero
        if first + row < rows and inside:
            diagonal, right = flat_load(b, offset, 0), flat_load(d, offset, 0)
            if first + row > 0:
                low = flat_load(a, offset, 0)
            if first + row < rows - 1:
                high = flat_load(c, offset, 0)
        new = next_row(chunk, low, diagonal, high, right)
        if row < ROWS - 1:
            chunk = new
        else:
            chunk = Chunk(new.a, new.c, new.d, chunk.e, chunk.f, chunk.g)
        store_value(shared, me, 0, row, new.a)
        store_value(shared, me, 1, row, new.c)
        store_value(shared, me, 2, row, new.d)
        offset += inner
    p, q, r = column_threads(chunk, shared, me)
    if MODE == EXCHANGE or MODE == REDUCE:
        publish_interfaces(coupling.table, block, t, THREADS - 1, lane, chunk, p, q, r)
    if MODE == REDUCE:
        return
    below, above = outside(coupling, shared, block, segment, chunk, p, q)
    lower, here = last_unknowns(shared, me, p, q, r, below, above)
    offset = k + np.int64(ROWS - 1) * inner
    for back in range(ROWS):
        row = ROWS - 1 - back
        if first + row < rows and inside:
            flat_store(x, offset, 0, here)
        here = unknown_below(shared, me, row, lower, here)
        offset -= inner


@entry
def columns_cuda(system, x, coupling, total, segments):
    """Solve systems along the middle axis of (outer, n, inner); block (32, THREADS), grid (groups, segments).

    The exact passes distribute their `total` blocks among fewer, so that an unnecessary pass costs little.
    """
    shared = cuda.shared.array(0, word)
    order = cuda.shared.array(1, np.int32)
    if MODE == REDUCE or MODE == FINISH:
        if needless(coupling.guard):
            return
        for block in range(cuda.blockIdx.x, total, cuda.gridDim.x):
            cuda.syncthreads()
            column_block(system, x, coupling, shared, np.int32(block), np.int32(segments))
    else:
        block_number(coupling.flags, order, np.uint32(0))
        column_block(system, x, coupling, shared, order[0], np.int32(segments))


# -- lines that are contiguous: a lane holds four neighbours ----------------------------------------


@cell
def four(array, k, left):
    """Return elements k .. k + 3, of which `left` exist."""
    if VECTORS:
        return load_four(array, k, 0)
    return (
        flat_load(array, k, 0), flat_load(array, k, min(max(left - 1, 0), 1)),
        flat_load(array, k, min(max(left - 1, 0), 2)), flat_load(array, k, min(max(left - 1, 0), 3)),
    )  # fmt: skip


@four.variant("cuda", "double")
def _two_pairs(array, k, left):
    if VECTORS:
        a, b = load_two(array, k, 0)
        c, d = load_two(array, k, 2)
        return a, b, c, d
    return (
        flat_load(array, k, 0), flat_load(array, k, min(max(left - 1, 0), 1)),
        flat_load(array, k, min(max(left - 1, 0), 2)), flat_load(array, k, min(max(left - 1, 0), 3)),
    )  # fmt: skip


@cell
def put_four(array, k, left, values):
    """Set elements k .. k + 3, of which `left` exist."""
    if VECTORS:
        store_four(array, k, 0, values)
    else:
        flat_store(array, k, 0, values[0])
        if left > 1:
            flat_store(array, k, 1, values[1])
        if left > 2:
            flat_store(array, k, 2, values[2])
        if left > 3:
            flat_store(array, k, 3, values[3])


@put_four.variant("cuda", "double")
def _put_pairs(array, k, left, values):
    if VECTORS:
        store_two(array, k, 0, (values[0], values[1]))
        store_two(array, k, 2, (values[2], values[3]))
    else:
        flat_store(array, k, 0, values[0])
        if left > 1:
            flat_store(array, k, 1, values[1])
        if left > 2:
            flat_store(array, k, 2, values[2])
        if left > 3:
            flat_store(array, k, 3, values[3])


@cell
def one_row(a, b, c, d, n, here, rows):
    """Return row `here` + n of the four, or the identity beyond the end of the line."""
    zero, one = real(0.0), real(1.0)
    inside = here + n < rows
    low = a if inside and here + n > 0 else zero
    high = c if here + n < rows - 1 else zero
    return low, b if inside else one, high, d if inside else zero


@cell
def publish_warp(table, partition, lane, chunk, a, c, d):
    """Publish the dependencies of the last and the first unknown of a warp's partition."""
    if lane == 31:
        flat_store(table, partition * WORDS, 0, d)
        flat_store(table, partition * WORDS, 1, c)
        flat_store(table, partition * WORDS, 2, a)
    if lane == 0:
        flat_store(table, partition * WORDS, 3, chunk.e - chunk.g * d)
        flat_store(table, partition * WORDS, 4, chunk.f - chunk.g * a)
        flat_store(table, partition * WORDS, 5, -chunk.g * c)


@cell
def interface_before(table, partition):
    """Return the last unknown before a partition and the first one in it."""
    return at_interface(
        load_volatile(table, (partition - 1) * WORDS, 0), load_volatile(table, (partition - 1) * WORDS, 1),
        load_volatile(table, partition * WORDS, 3), load_volatile(table, partition * WORDS, 4),
    )  # fmt: skip


@cell
def around(coupling, order, partition, partitions, within, chunk, a, c):
    """Return the unknowns before and after a warp's partition: number `within` of the `partitions` of its line."""
    table, interfaces, flags, guard = coupling
    lane, warp = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    below, above = real(0.0), real(0.0)
    if MODE == FINISH:
        below, above = flat_load(interfaces, 2 * partition, 0), flat_load(interfaces, 2 * partition, 1)
    if MODE == EXCHANGE:
        lost = real(0.0)
        if lane == 31 and within > 0:
            lost = abs(a)
        if lane == 0 and within < partitions - 1:
            lost = abs(chunk.g * c)
        raise_maximum(guard, to_bits(lost))
        cuda.threadfence()
        cuda.syncthreads()
        segments, block = np.int32(cuda.gridDim.y), order[0]
        if segments > 1:
            segment = np.int32(np.uint32(block) % np.uint32(segments))
            if lane == 0 and warp == 0:
                named_barrier(flags, block, segment > 0, segment < segments - 1)
            cuda.syncthreads()
        if within > 0:
            below, _ = interface_before(table, partition)
        if within < partitions - 1:
            _, above = interface_before(table, partition + 1)
    return below, above


@cell
def row_block(system, x, coupling, order, segments):
    """Solve, reduce or finish one block of a line, whose number is order[0]."""
    a, b, c, d = system
    rows = np.int32(b.shape[1])
    lane, warp = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    line = np.int32(np.uint32(order[0]) // np.uint32(segments))
    within = (order[0] - line * segments) * WARPS + warp
    partitions = segments * WARPS
    partition = np.int64(line) * partitions + within
    here = (within * 32 + lane) * CELLS
    left = rows - here
    k = np.int64(line) * rows + min(here, ((rows - 1) >> 2) << 2)
    zero, one = real(0.0), real(1.0)
    a0, a1, a2, a3 = four(a, k, left)
    b0, b1, b2, b3 = four(b, k, left)
    c0, c1, c2, c3 = four(c, k, left)
    d0, d1, d2, d3 = four(d, k, left)
    a0, b0, c0, d0 = one_row(a0, b0, c0, d0, 0, here, rows)
    a1, b1, c1, d1 = one_row(a1, b1, c1, d1, 1, here, rows)
    a2, b2, c2, d2 = one_row(a2, b2, c2, d2, 2, here, rows)
    a3, b3, c3, d3 = one_row(a3, b3, c3, d3, 3, here, rows)
    s0 = next_row(Chunk(-one, zero, zero, zero, zero, -one), a0, b0, c0, d0)
    s1 = next_row(s0, a1, b1, c1, d1)
    s2 = next_row(s1, a2, b2, c2, d2)
    s3 = next_row(s2, a3, b3, c3, d3)
    chunk = Chunk(s3.a, s3.c, s3.d, s2.e, s2.f, s2.g)
    p, q, r = lanes_joined(chunk, lane)
    if MODE == EXCHANGE or MODE == REDUCE:
        publish_warp(coupling.table, partition, lane, chunk, p, q, r)
    if MODE == REDUCE:
        return
    below, above = around(coupling, order, partition, partitions, within, chunk, p, q)
    x3 = r - p * below - q * above
    lower = from_lane(x3, max(lane - 1, 0))
    lower = below if lane == 0 else lower
    x2 = s2.d - s2.a * lower - s2.c * x3
    x1 = s1.d - s1.a * lower - s1.c * x2
    x0 = s0.d - s0.a * lower - s0.c * x1
    if left > 0:
        put_four(x, k, left, (x0, x1, x2, x3))


@entry
def rows_cuda(system, x, coupling, total, segments):
    """Solve systems along the last axis of (lines, n); block (32, WARPS), grid (lines, segments)."""
    order = cuda.shared.array(1, np.int32)
    if MODE == REDUCE or MODE == FINISH:
        if needless(coupling.guard):
            return
        for block in range(cuda.blockIdx.x, total, cuda.gridDim.x):
            cuda.syncthreads()
            order[0] = block
            cuda.syncthreads()
            row_block(system, x, coupling, order, np.int32(segments))
    else:
        block_number(coupling.flags, order, np.uint32(0))
        row_block(system, x, coupling, order, np.int32(segments))
