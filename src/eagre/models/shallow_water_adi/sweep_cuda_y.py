"""The sweep along y on a GPU: a block owns 32 columns and as many rows as its threads hold.

A thread marches ROWS rows up a column (loads of a warp are 32 neighbours), makes their rows and
eliminates them; what is left stays in shared memory. The threads of a column are joined by cyclic
reduction, and the blocks of a column by one exchange with each neighbour: a block tells what its
first and its last unknown depend on and waits for the blocks below and above to do so. Blocks take
numbers in the order in which they start, along the columns, so that one of those that wait can always
go on. Where the coupling across a block is not below rounding, two passes solve the blocks' seams
exactly (MODE).
"""

import numpy as np

from eagre.backend.cells import cell, cuda, entry, flat_load, flat_store, fresh_load, real, switch, word
from eagre.backend.warp import raise_maximum
from eagre.kernels.bits import to_bits
from eagre.kernels.roots import select
from eagre.models.shallow_water_adi.kernels import (
    FORCED,
    FRICTION,
    WALL,
    depth,
    end_row,
    flux_above,
    flux_below,
    forces,
    line_cell,
    row_between,
)
from eagre.models.shallow_water_adi.link import (
    Chunk,
    at_seam,
    between_chunks,
    next_row,
    reduced,
)

ROWS = switch("ROWS", 8)  # rows of a thread
THREADS = switch("THREADS", 8)  # threads of a column in a block
OPEN = switch("OPEN", False)
ALONE, EXCHANGE, REDUCE, FINISH = 0, 1, 2, 3
MODE = switch("MODE", ALONE)
PADDING = 32
WORDS = 6  # told by a block a column: d, c, a of its last unknown and d, a, c of its first


@cell
def slot(kind, row, t, lane):
    """Where a word of a row lies in shared memory: no bank is asked twice by a warp."""
    return ((kind * ROWS + row) * THREADS + t) * 32 + lane


@cell
def cell_at(z, d, flux, qo, qn, forcing, k, pitch, rain, p):
    """The cell at flat index k of its column; the lines beside it are k - 1 and k + 1."""
    wet = real(0.0)
    if FORCED:
        wet = rain * flat_load(forcing.rain, k, 0)
    return line_cell(
        flat_load(z, k, 0), flat_load(d, k, 0),
        depth(flat_load(z, k, -1), flat_load(d, k, -1)), depth(flat_load(z, k, 1), flat_load(d, k, 1)),
        flat_load(flux, k, 0), flat_load(flux, k, pitch),
        flat_load(qo, k, 0), flat_load(qo, k, 1), flat_load(qn, k, 0), flat_load(qn, k, 1), wet, p,
    )  # fmt: skip


@cell
def row_at(low, high, flux, friction, forcing, k, pitch, wind, push, p):
    """A, B, C, D of the face at flat index k between two cells of a column."""
    here = flat_load(flux, k, 0)
    below = flux_below(low, high, flat_load(flux, k, -1), here, p)
    above = flux_above(low, high, here, flat_load(flux, k, 1), p)
    factor, forced = p.friction, real(0.0)
    if FRICTION == 2 or FRICTION == 4:
        factor = p.friction * real(0.5) * (flat_load(friction, k, 0) + flat_load(friction, k, -pitch))
    if FORCED:
        across = (low.q_below + low.q_above) + (high.q_below + high.q_above)
        forced = forces(
            flat_load(forcing.stress, k, 0), flat_load(forcing.accel, k, 0), flat_load(forcing.coriolis, k, 0),
            low.h + high.h, across, wind, push, p,
        )  # fmt: skip
    return row_between(low, high, here, below, above, factor, forced, p)


@cell
def end_at(face, faces, i, nx, low, high, here, ends, values, at, friction, k, pitch, a, b, c, e, p):
    """The row of an end of a column in place of the one that a wall would have."""
    if OPEN and i < nx:
        if face == 0 and ends.low[i] != WALL:
            factor = p.friction
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, k, 0)
            value = real(values[at, ends.low_slot[i]])
            b, c, e = end_row(ends.low[i], value, real(1.0), high.z, high.d, here, high.r, factor, p)
        elif face == faces - 1 and ends.high[i] != WALL:
            factor = p.friction
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, k, -pitch)
            value = real(values[at, ends.high_slot[i]])
            b, a, e = end_row(ends.high[i], value, real(-1.0), low.z, low.d, here, low.r, factor, p)
    return a, b, c, e


@cell
def column_threads(chunk, shared, t, lane):
    """a, c, d of every thread's last unknown in terms of what lies outside the block: X + a L + c N = d."""
    base = 4 * ROWS * THREADS * 32
    size = THREADS * 32
    me = t * 32 + lane
    shared[base + me] = chunk.e
    shared[base + size + me] = chunk.f
    shared[base + 2 * size + me] = chunk.g
    cuda.syncthreads()
    a, c, d = chunk.a, chunk.c, chunk.d
    if t + 1 < THREADS:
        up = base + me + 32
        a, c, d = between_chunks(chunk, shared[up], shared[up + size], shared[up + 2 * size])
    step = 1
    while step < THREADS:
        cuda.syncthreads()
        shared[base + me] = a
        shared[base + size + me] = c
        shared[base + 2 * size + me] = d
        cuda.syncthreads()
        low = base + max(t - step, 0) * 32 + lane
        high = base + min(t + step, THREADS - 1) * 32 + lane
        a, c, d = reduced(
            a, c, d, t >= step, t + step < THREADS,
            shared[low], shared[low + size], shared[low + 2 * size],
            shared[high], shared[high + size], shared[high + 2 * size],
        )  # fmt: skip
        step *= 2
    return a, c, d


@cell
def tell(told, block, lane, word, value):
    """Store a word of what a block tells about one of its columns."""
    flat_store(told, (block * WORDS + word) * 32 + lane, 0, value)


@cell
def wait_for(flags, block, turn):
    """Wait until a block has told its seams in this turn."""
    while cuda.atomic.add(flags, block, 0) < turn:
        pass


@wait_for.variant("simulator")
def _never_wait(flags, block, turn):
    """Simulated blocks run one after the other: the launch is made twice instead."""


@cell
def tell_seams(told, block, t, lane, chunk, a, c, d):
    """What the last and the first unknown of a column of this block depend on."""
    if t == THREADS - 1:
        tell(told, block, lane, 0, d)
        tell(told, block, lane, 1, c)
        tell(told, block, lane, 2, a)
    if t == 0:
        tell(told, block, lane, 3, chunk.e - chunk.g * d)
        tell(told, block, lane, 4, chunk.f - chunk.g * a)
        tell(told, block, lane, 5, -chunk.g * c)


@cell
def heard(told, block, lane):
    """Last unknown of a column in block - 1 and first one in `block`."""
    before = (block - 1) * WORDS * 32 + lane
    here = (block * WORDS + 3) * 32 + lane
    return at_seam(
        fresh_load(told, before, 0), fresh_load(told, before, 32), fresh_load(told, here, 0), fresh_load(told, here, 32)
    )


@cell
def march_up(z, d, flux, qo, qn, friction, forcing, ends, values, at, shared, t, lane, face, i, ny, nx, p):
    """Make and eliminate the rows of faces face .. face + ROWS - 1 of column i; the chunk that is left."""
    pitch = z.shape[1]
    faces = ny + 1
    k = np.int64(min(face, ny + 1) * pitch + PADDING + i)
    zero, one = real(0.0), real(1.0)
    wind, rain, push = zero, zero, zero
    if FORCED:
        wind = real(values[at, forcing.wind])
        rain = real(0.5) * p.dt * real(values[at, forcing.rain_slot])
        push = real(values[at, forcing.push_slot])
    low = cell_at(z, d, flux, qo, qn, forcing, k, pitch, rain, p)
    chunk = Chunk(-one, zero, zero, zero, zero, -one)
    for row in range(ROWS):
        here = face + row
        k += pitch if here <= ny else 0
        high = cell_at(z, d, flux, qo, qn, forcing, k, pitch, rain, p)
        a, b, c, e = row_at(low, high, flux, friction, forcing, k, pitch, wind, push, p)
        a, b, c, e = end_at(
            here, faces, i, nx, low, high, flat_load(flux, k, 0), ends, values, at, friction, k, pitch, a, b, c, e, p
        )  # fmt: skip
        inside = here < faces
        a, c = select(inside, a, zero), select(inside, c, zero)
        b, e = select(inside, b, one), select(inside, e, zero)
        shared[slot(3, row, t, lane)] = low.r
        new = next_row(chunk, a, b, c, e)
        more = row < ROWS - 1
        chunk = Chunk(
            new.a, new.c, new.d,
            select(more, new.e, chunk.e), select(more, new.f, chunk.f), select(more, new.g, chunk.g),
        )  # fmt: skip
        shared[slot(0, row, t, lane)] = new.a
        shared[slot(1, row, t, lane)] = new.c
        shared[slot(2, row, t, lane)] = new.d
        low = high
    return chunk


@cell
def march_down(z_out, flux_out, shared, t, lane, face, i, ny, nx, before, last, p):
    """Unknowns of a chunk from the one before it and its own last one; new flux and surface to memory."""
    pitch = z_out.shape[1]
    at = np.int64((face + ROWS) * pitch + PADDING + i)
    here = last
    for back in range(ROWS):
        row = ROWS - 1 - back
        f = face + row
        lower = before
        if row > 0:
            below = slot(0, row - 1, t, lane)
            size = ROWS * THREADS * 32
            lower = shared[below + 2 * size] - shared[below] * before - shared[below + size] * here
        if f <= ny and i < nx:
            flat_store(flux_out, at, 0, here)
            if f > 0:
                flat_store(z_out, at, -pitch, shared[slot(3, row, t, lane)] - p.w * (here - lower))
        here = lower
        at -= pitch


@entry
def sweep_y_cuda(
    z, d, flux, qo, qn, z_out, flux_out, friction, forcing, ends, values, at, told, seams, flags, guard, ny, nx, p
):
    """New z and flux along y; block (32, THREADS), grid (strips of 32 columns, segments)."""
    shared = cuda.shared.array(0, word)
    order = cuda.shared.array(2, np.int64)
    lane, t = cuda.threadIdx.x, cuda.threadIdx.y
    segments, total = cuda.gridDim.y, cuda.gridDim.x * cuda.gridDim.y
    if lane == 0 and t == 0:
        number = np.int64(cuda.blockIdx.x * segments + cuda.blockIdx.y)
        order[0], order[1] = number, 1
        if MODE == EXCHANGE:
            number = cuda.atomic.add(flags, total, 1)
            order[0], order[1] = number % total, number // total + 1
    cuda.syncthreads()
    block, turn = order[0], order[1]
    segment = np.int32(block % segments)
    i = np.int32(block // segments) * 32 + lane
    face = (1 - OPEN) + (segment * THREADS + t) * ROWS
    chunk = march_up(z, d, flux, qo, qn, friction, forcing, ends, values, at, shared, t, lane, face, i, ny, nx, p)
    a, c, x = column_threads(chunk, shared, t, lane)
    before, behind = real(0.0), real(0.0)
    if MODE == EXCHANGE or MODE == REDUCE:
        tell_seams(told, block, t, lane, chunk, a, c, x)
    if MODE == REDUCE:
        return
    if MODE == EXCHANGE:
        lost = abs(a) if t == THREADS - 1 and segment > 0 else real(0.0)
        if t == 0 and segment < segments - 1:
            lost = max(lost, abs(chunk.g * c))
        if t == 0 or t == THREADS - 1:
            raise_maximum(guard, to_bits(lost))
        cuda.threadfence()
        cuda.syncthreads()
        if lane == 0 and t == 0:
            cuda.atomic.max(flags, block, turn)
            if segment > 0:
                wait_for(flags, block - 1, turn)
            if segment < segments - 1:
                wait_for(flags, block + 1, turn)
        cuda.syncthreads()
        if segment > 0:
            before, _ = heard(told, block, lane)
        if segment < segments - 1:
            _, behind = heard(told, block + 1, lane)
    if MODE == FINISH:
        before = flat_load(seams, 2 * block * 32 + lane, 0)
        behind = flat_load(seams, 2 * block * 32 + lane, 32)
    x = x - a * before - c * behind
    cuda.syncthreads()
    base = 4 * ROWS * THREADS * 32
    shared[base + t * 32 + lane] = x
    cuda.syncthreads()
    if t > 0:
        before = shared[base + (t - 1) * 32 + lane]
    march_down(z_out, flux_out, shared, t, lane, face, i, ny, nx, before, x, p)


@entry
def seams_cuda(told, seams, segments, columns):
    """Between the two passes: the unknowns beside the seams of a column's blocks, one thread a column.

    With X_b + a X_{b-1} + c F_{b+1} = d for the last and F_b + a' X_{b-1} + c' F_{b+1} = d' for the
    first unknown of block b, upwards X_{b-1} = u - v F_b, then downwards.
    """
    i = cuda.grid(1)
    if i >= columns:
        return
    strip, lane = i // 32, i % 32
    u, v = real(0.0), real(0.0)
    for segment in range(segments):
        block = np.int64(strip * segments + segment)
        at = block * WORDS * 32 + lane
        d, c, a = flat_load(told, at, 0), flat_load(told, at, 32), flat_load(told, at, 64)
        d_1, a_1, c_1 = flat_load(told, at, 96), flat_load(told, at, 128), flat_load(told, at, 160)
        over = real(1.0) / (real(1.0) - a_1 * v)
        s, w = (d_1 - a_1 * u) * over, c_1 * over  # F_b = s - w F_{b+1}
        flat_store(seams, 2 * block * 32 + lane, 0, s)
        flat_store(seams, 2 * block * 32 + lane, 32, w)
        flat_store(told, at, 0, u)
        flat_store(told, at, 32, v)
        u, v = d - a * (u - v * s), c + a * v * w
    behind = real(0.0)
    for back in range(segments):
        block = np.int64(strip * segments + segments - 1 - back)
        at = block * WORDS * 32 + lane
        seam = 2 * block * 32 + lane
        first = flat_load(seams, seam, 0) - flat_load(seams, seam, 32) * behind
        before = flat_load(told, at, 0) - flat_load(told, at, 32) * first
        flat_store(seams, seam, 0, before)
        flat_store(seams, seam, 32, behind)
        behind = first


def shape_of(ny: int, nx: int, rows: int, threads: int, is_open: bool) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and block of the sweep."""
    faces = ny + (1 if is_open else 0)
    return (-(-nx // 32), -(-faces // (rows * threads))), (32, threads)


def shared_bytes(rows: int, threads: int, itemsize: int) -> int:
    """Shared memory of a block: four words a row, three a thread."""
    return (4 * rows + 3) * threads * 32 * itemsize
