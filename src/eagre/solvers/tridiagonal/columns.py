"""Partitioned columns on a GPU: blocks of WIDTH adjacent columns, coupled within and between blocks.

A thread eliminates ROWS rows of a column and stores them in dynamic shared memory. The threads of a column are coupled
by cyclic reduction, and its blocks in one of two ways. EXCHANGE: a block publishes the dependencies of its first and
last unknown and waits for the neighbouring blocks; the coupling across a whole block is neglected, and its maximum is
stored in a guard. Blocks are numbered in the order in which they start, along the columns, so that at least one waiting
block can always continue. REDUCE and FINISH: two passes with `interfaces_cuda` between them, exact for any coupling.
Where the columns continue on other devices, `column_ends`, an exchange and `join_columns` replace it.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, flat_load, flat_store, load_volatile, real, switch
from eagre.backend.cuda.warp import raise_maximum
from eagre.kernels.bits import to_bits
from eagre.solvers.tridiagonal.link import (
    Ends,
    at_interface,
    between_chunks,
    ends_joined,
    reduced,
    segment_edges,
    store_ends,
)

ROWS = switch("ROWS", 8)  # rows per thread
KINDS = switch("KINDS", 4)  # values stored per row
THREADS = switch("THREADS", 8)  # threads per column in a block
ALONE, EXCHANGE, REDUCE, FINISH = 0, 1, 2, 3
MODE = switch("MODE", ALONE)
WIDTH = switch("WIDTH", 32)  # columns per block: 32, or 16 or 8 for few columns
LANES = switch("LANES", 32)  # adjacent lines in a partition, for `interfaces_cuda`
GATE = switch("GATE", -1.0)  # `interfaces_cuda` does nothing unless the guard exceeds this
WORDS = 6  # published per block and column: d, c, a of its last unknown and d, a, c of its first


@cell
def thread_offset(t, lane):
    """Return the offset of a thread's values in shared memory; kinds and rows are WIDTH THREADS apart."""
    return np.uint32(t * WIDTH + lane)


@cell
def store_value(shared, me, kind, row, value):
    """Store value `kind` (a, c, d and one more) of a row, without bank conflicts."""
    flat_store(shared, np.uint32(me + (kind * ROWS + row) * (THREADS * WIDTH)), 0, value)


@cell
def load_value(shared, me, kind, row):
    """Return value `kind` of a row."""
    return flat_load(shared, np.uint32(me + (kind * ROWS + row) * (THREADS * WIDTH)), 0)


@cell
def publish(shared, me, x, y, z):
    """Publish three values of this thread to the other threads of its column."""
    flat_store(shared, me, KINDS * ROWS * THREADS * WIDTH, x)
    flat_store(shared, me, (KINDS * ROWS + 1) * THREADS * WIDTH, y)
    flat_store(shared, me, (KINDS * ROWS + 2) * THREADS * WIDTH, z)


@cell
def published_by(shared, other):
    """Return the three values published by another thread of the column."""
    return (
        flat_load(shared, other, KINDS * ROWS * THREADS * WIDTH),
        flat_load(shared, other, (KINDS * ROWS + 1) * THREADS * WIDTH),
        flat_load(shared, other, (KINDS * ROWS + 2) * THREADS * WIDTH),
    )


@cell
def column_threads(chunk, shared, me):
    """Return a, c, d of every thread's last unknown in terms of unknowns outside the block: X + a L + c N = d."""
    t = np.int32(cuda.threadIdx.y)
    publish(shared, me, chunk.e, chunk.f, chunk.g)
    cuda.syncthreads()
    a, c, d = chunk.a, chunk.c, chunk.d
    if t + 1 < THREADS:
        e, f, g = published_by(shared, np.uint32(me + WIDTH))
        a, c, d = between_chunks(chunk, e, f, g)
    step = 1
    while step < THREADS:
        cuda.syncthreads()
        publish(shared, me, a, c, d)
        cuda.syncthreads()
        a_0, c_0, d_0 = published_by(shared, np.uint32(me - WIDTH * step if t >= step else me))
        a_1, c_1, d_1 = published_by(shared, np.uint32(me + WIDTH * step if t + step < THREADS else me))
        a, c, d = reduced(a, c, d, t >= step, t + step < THREADS, (a_0, c_0, d_0), (a_1, c_1, d_1))
        step *= 2
    cuda.syncthreads()
    publish(shared, me, a, c, d)
    return a, c, d


@cell
def publish_value(table, block, lane, word, value):
    """Store a published value of a column of a block."""
    flat_store(table, (block * WORDS + word) * WIDTH + lane, 0, value)


@cell
def wait_for(flags, block, phase):
    """Wait until a block has published its interface values in this launch."""
    while cuda.atomic.add(flags, block, 0) < phase:
        pass


@wait_for.variant("simulator")
def _never_wait(flags, block, phase):
    """Do nothing: simulated blocks run sequentially, and the launch is made twice."""


@cell
def publish_interfaces(table, block, t, final, lane, chunk, a, c, d):
    """Publish the dependencies of the last and the first unknown of a column of this block; final : last thread."""
    if t == final:
        publish_value(table, block, lane, 0, d)
        publish_value(table, block, lane, 1, c)
        publish_value(table, block, lane, 2, a)
    if t == 0:
        publish_value(table, block, lane, 3, chunk.e - chunk.g * d)
        publish_value(table, block, lane, 4, chunk.f - chunk.g * a)
        publish_value(table, block, lane, 5, -chunk.g * c)


@cell
def interface_unknowns(table, block, lane):
    """Return the last unknown of a column in block - 1 and the first one in `block`."""
    below = (block - 1) * WORDS * WIDTH + lane
    here = (block * WORDS + 3) * WIDTH + lane
    return at_interface(
        load_volatile(table, below, 0),
        load_volatile(table, below, WIDTH),
        load_volatile(table, here, 0),
        load_volatile(table, here, WIDTH),
    )


@cell
def block_number(flags, order, at_once):
    """Return the number of this block along the columns of all groups, in order[0].

    The counter of started blocks is stored after the flags of the blocks. If all blocks are resident (at most
    `at_once`), their order does not matter.
    """
    if cuda.threadIdx.x == 0 and cuda.threadIdx.y == 0:
        total = np.uint32(cuda.gridDim.x) * np.uint32(cuda.gridDim.y)
        number = np.uint32(cuda.blockIdx.x) * np.uint32(cuda.gridDim.y) + np.uint32(cuda.blockIdx.y)
        if MODE == EXCHANGE and cuda.gridDim.y > 1 and total > at_once:
            number = cuda.atomic.inc(flags, total, np.uint32(total - 1))
        order[0] = number
    cuda.syncthreads()


@cell
def named_barrier(flags, block, low, high):
    """Publish that this block is ready in this launch, and wait for its neighbours; one thread."""
    phase = cuda.atomic.add(flags, block, 1) + 1
    if low:
        wait_for(flags, block - 1, phase)
    if high:
        wait_for(flags, block + 1, phase)


@cell
def outside(coupling, shared, block, segment, chunk, a, c):
    """Return the unknowns of this thread's column before and after the block; 0 at the ends of the column.

    Ends with a barrier: the published values of all threads are visible.
    """
    table, interfaces, flags, guard = coupling
    lane, t = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    segments = np.int32(cuda.gridDim.y)
    below, above = real(0.0), real(0.0)
    if MODE == EXCHANGE:
        lost = abs(a) if t == THREADS - 1 and segment > 0 else real(0.0)
        if t == 0 and segment < segments - 1:
            lost = max(lost, abs(chunk.g * c))
        if WIDTH < 32 or t == 0 or t == THREADS - 1:  # full warps
            raise_maximum(guard, to_bits(lost))
        cuda.threadfence()
        cuda.syncthreads()
        if lane == 0 and t == 0:
            named_barrier(flags, block, segment > 0, segment < segments - 1)
        cuda.syncthreads()
        edge = np.uint32((KINDS * ROWS + 3) * THREADS * WIDTH + lane)
        if t == 0:
            if segment > 0:
                below, _ = interface_unknowns(table, block, lane)
            flat_store(shared, edge, 0, below)
        if t == THREADS - 1:
            if segment < segments - 1:
                _, above = interface_unknowns(table, block + 1, lane)
            flat_store(shared, edge, WIDTH, above)
        cuda.syncthreads()
        below, above = flat_load(shared, edge, 0), flat_load(shared, edge, WIDTH)
    else:
        cuda.syncthreads()
        if MODE == FINISH:
            below = flat_load(interfaces, 2 * block * WIDTH + lane, 0)
            above = flat_load(interfaces, 2 * block * WIDTH + lane, WIDTH)
    return below, above


@cell
def last_unknowns(shared, me, a, c, d, below, above):
    """Return the last unknown of the thread below (or before the block), and of this thread."""
    lower = below
    if np.int32(cuda.threadIdx.y) > 0:
        a_0, c_0, d_0 = published_by(shared, np.uint32(me - WIDTH))
        lower = d_0 - a_0 * below - c_0 * above
    return lower, d - a * below - c * above


@cell
def unknown_below(shared, me, row, below, here):
    """Return the unknown of row - 1 of a chunk from the unknowns of the row and before the chunk."""
    if row == 0:
        return below
    return (
        load_value(shared, me, 2, row - 1)
        - load_value(shared, me, 0, row - 1) * below
        - load_value(shared, me, 1, row - 1) * here
    )


@cell
def line_interfaces(table, interfaces, group, lane, segments, below_line, above_line):
    """Compute the interface unknowns of the partitions of a line from the unknowns before and after the line.

    With X_b + a X_{b-1} + c F_{b+1} = d for the last and F_b + a' X_{b-1} + c' F_{b+1} = d' for the first unknown of
    partition b, upwards X_{b-1} = u - v F_b, then downwards. LANES lines are adjacent.
    """
    u, v = below_line, real(0.0)
    for segment in range(segments):
        partition = np.int64(group) * segments + segment
        offset, interface = partition * (WORDS * LANES) + lane, partition * (2 * LANES) + lane
        d, c, a = flat_load(table, offset, 0), flat_load(table, offset, LANES), flat_load(table, offset, 2 * LANES)
        d_1, a_1, c_1 = (
            flat_load(table, offset, 3 * LANES), flat_load(table, offset, 4 * LANES),
            flat_load(table, offset, 5 * LANES),
        )  # fmt: skip
        over = real(1.0) / (real(1.0) - a_1 * v)
        s, w = (d_1 - a_1 * u) * over, c_1 * over  # F_b = s - w F_{b+1}
        flat_store(interfaces, interface, 0, s)
        flat_store(interfaces, interface, LANES, w)
        flat_store(table, offset, 0, u)
        flat_store(table, offset, LANES, v)
        u, v = d - a * (u - v * s), c + a * v * w
    above = above_line
    for back in range(segments):
        partition = np.int64(group) * segments + (segments - 1 - back)
        offset, interface = partition * (WORDS * LANES) + lane, partition * (2 * LANES) + lane
        first = flat_load(interfaces, interface, 0) - flat_load(interfaces, interface, LANES) * above
        below = flat_load(table, offset, 0) - flat_load(table, offset, LANES) * first
        flat_store(interfaces, interface, 0, below)
        flat_store(interfaces, interface, LANES, above)
        above = first


@entry
def interfaces_cuda(table, interfaces, guard, segments, count):
    """Compute the interface unknowns of the partitions of a line between the two passes, one thread per line."""
    i = cuda.grid(1)
    if i >= count or guard[0] <= to_bits(real(GATE)):
        return
    line_interfaces(table, interfaces, i // LANES, i % LANES, segments, real(0.0), real(0.0))


@cell
def partition_ends(table, partition, lane):
    """Return the ends of a partition of a line from the published values."""
    k = partition * (WORDS * LANES) + lane
    return Ends(
        flat_load(table, k, 0), flat_load(table, k, LANES), flat_load(table, k, 2 * LANES),
        flat_load(table, k, 3 * LANES), flat_load(table, k, 4 * LANES), flat_load(table, k, 5 * LANES),
    )  # fmt: skip


@cell
def column_ends(i, table, segments, ends):
    """Store the first and last equation of line i, of all its partitions, in ends, (6, lines), for other devices."""
    first, lane = np.int64(i // LANES) * segments, i % LANES
    whole = partition_ends(table, first, lane)
    for segment in range(1, segments):
        whole = ends_joined(whole, partition_ends(table, first + segment, lane))
    store_ends(ends, i, whole)


@cell
def join_columns(i, ends, n, table, interfaces, segments):
    """Compute the interface unknowns of line i, segment n of lines on several devices, from the ends of all."""
    below, _, above = segment_edges(ends, n, i)
    line_interfaces(table, interfaces, i // LANES, i % LANES, segments, below, above)


def shared_bytes(rows: int, threads: int, itemsize: int, width: int = 32, kinds: int = 4) -> int:
    """Return the shared memory of a block: `kinds` values per row, three per thread, two per column."""
    return ((kinds * rows + 3) * threads + 2) * width * itemsize
