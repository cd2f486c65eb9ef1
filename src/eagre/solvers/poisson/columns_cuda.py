"""Column systems of `columns` on a GPU: COLUMNS wavenumbers per block over the full height.

A thread owns OWN consecutive rows of one wavenumber in registers. The lanes of a warp own COLUMNS wavenumbers x
32 / COLUMNS adjacent chunks. A recurrence runs through every chunk separately, the ends of the chunks are chained (by
shuffles in a warp, through shared memory between warps), and the recurrence runs again from the correct start.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, grid_dependency_wait, launch_dependents, real, switch
from eagre.backend.cuda.warp import from_lane_above, from_lane_below
from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, LEAP1, LEAP2, LEAP4, SCALE

OWN = switch("OWN", 4)
COLUMNS = switch("COLUMNS", 8)  # wavenumbers per block
WIDTH = switch("WIDTH", 8)  # wavenumbers per tile of the spectrum, a multiple of COLUMNS
INTERLEAVED = switch("INTERLEAVED", 1)  # see `rows_cuda`: chunks with adjacent rows
EARLY = switch("EARLY", 0)  # see `rows_cuda`
MAX_WARPS = 32
FAR = 40.0  # exp(-FAR) is negligible


@cell
def from_before(x, distance, upwards):
    """Return x of the chunk `distance` lanes before this one in the direction of the recurrence."""
    return from_lane_above(x, distance) if upwards else from_lane_below(x, distance)


@cell
def summed_in_warp(end, chunk, leap1, leap2, leap4, upwards):
    """Return the recurrence from the first chunk of the warp to the end of this one, from separate chunks."""
    total = end
    other = from_before(total, COLUMNS, upwards)
    if chunk >= 1:
        total += other - leap1 * other
    other = from_before(total, 2 * COLUMNS, upwards)
    if chunk >= 2:
        total += other - leap2 * other
    if COLUMNS == 4:
        other = from_before(total, 4 * COLUMNS, upwards)
        if chunk >= 4:
            total += other - leap4 * other
    return total


@cell
def chained(end, shared, leap1, leap2, leap4, lane, warp, warps, upwards):
    """Return the input of the recurrence for this chunk, from the ends of all chunks before it (after it, if upwards).

    The value decays by 1 - leap1 per chunk, over two and four chunks by 1 - leap2 and 1 - leap4.
    """
    column = np.uint64(lane % COLUMNS)
    chunks = 32 // COLUMNS
    chunk = chunks - 1 - lane // COLUMNS if upwards else lane // COLUMNS
    total = summed_in_warp(end, chunk, leap1, leap2, leap4, upwards)
    whole = leap4 + leap4 - leap4 * leap4 if COLUMNS == 4 else leap4
    if chunk == chunks - 1:
        shared[np.uint64(warp), column] = total
    previous = from_before(total, COLUMNS, upwards)
    previous = previous if chunk > 0 else real(0.0)
    cuda.syncthreads()
    carry = real(0.0)
    for step in range(warps - 1 - warp if upwards else warp):
        carry += shared[np.uint64(warps - 1 - step if upwards else step), column] - whole * carry
    cuda.syncthreads()
    # The carry decays over the chunks of this warp before this one.
    if chunk & 1:
        carry -= leap1 * carry
    if chunk & 2:
        carry -= leap2 * carry
    if chunk & 4:
        carry -= leap4 * carry
    return previous + carry


@cell
def constants(table, k):
    """Return column k of the table (`columns.column_table`)."""
    return (
        table[np.uint64(DELTA), k],
        table[np.uint64(SCALE), k],
        table[np.uint64(DECAY), k],
        table[np.uint64(IMAGE), k],
        table[np.uint64(LEAP1), k],
        table[np.uint64(LEAP2), k],
        table[np.uint64(LEAP4), k],
    )


@cell
def both_recurrences(g, shared, constant, count):
    """Compute g = p of the two recurrences (`columns`) from g = f; return p of the first row of this chunk."""
    lane = cuda.threadIdx.x % 32
    warp = cuda.threadIdx.x // 32
    warps = cuda.blockDim.x // 32
    delta, leap1, leap2, leap4 = constant[DELTA], constant[LEAP1], constant[LEAP2], constant[LEAP4]
    x = real(0.0)
    for m in range(OWN):
        x = g[m] + x - delta * x
    x = chained(x, shared, leap1, leap2, leap4, lane, warp, warps, False)
    for m in range(OWN):
        x = g[m] + x - delta * x
        g[m] = x
    if count < OWN:
        for m in range(OWN):
            if m >= count:
                g[m] = real(0.0)
    x = real(0.0)
    for m in range(OWN):
        x = g[OWN - 1 - m] + x - delta * x
    x = chained(x, shared, leap1, leap2, leap4, lane, warp, warps, True)
    for m in range(OWN):
        x = g[OWN - 1 - m] + x - delta * x
        g[OWN - 1 - m] = x
    return x


@cell
def read_chunk(source, g, index, pitch, count):
    """Load the rows of this chunk, with zeros from row `count` on."""
    if count >= OWN:
        for m in range(OWN):
            g[m] = source[index]
            index += pitch
    else:
        for m in range(OWN):
            g[m] = source[index] if m < count else real(0.0)
            index += pitch


@cell
def write_chunk(out, g, index, pitch, count, scale):
    """Store the first `count` rows of this chunk, scaled."""
    if count >= OWN:
        for m in range(OWN):
            out[index] = scale * g[m]
            index += pitch
    else:
        for m in range(OWN):
            if m < count:
                out[index] = scale * g[m]
            index += pitch


@cell
def solve_chunk(g, shared, constant, first, count, ny):
    """Compute psi^ / scale in g from zeta^: the recurrences, and the homogeneous solution for the wall."""
    t = np.uint64(cuda.threadIdx.x)
    column = t % np.uint64(COLUMNS)
    delta = constant[DELTA]
    x = both_recurrences(g, shared, constant, count)
    if t < np.uint64(COLUMNS):
        shared[np.uint64(0), column] = (x - delta * x) * constant[IMAGE]
    cuda.syncthreads()
    subtract_wall(g, shared[np.uint64(0), column], delta, constant[DECAY], real(first), real(ny))


@cell
def chunk_index(block, chunk, height):
    """Return the index of the first row of a chunk of a block's wavenumbers in the spectrum."""
    tile, side = block // np.uint64(WIDTH // COLUMNS), block % np.uint64(WIDTH // COLUMNS)
    row = chunk // np.uint64(INTERLEAVED) * np.uint64(OWN * INTERLEAVED) + chunk % np.uint64(INTERLEAVED)
    return (tile * np.uint64(height) + row) * np.uint64(WIDTH) + side * np.uint64(COLUMNS)


@entry
def solve_columns_cuda(source, out, table, rows, height):
    """Compute out = psi^ from source = zeta^, flat spectra in tiles (`rows_cuda.first_index`), rows 1 .. rows - 2.

    table : (7, nx); height : rows per tile. Block: COLUMNS times the number of chunks; grid: nx / COLUMNS.
    """
    shared = cuda.shared.array((MAX_WARPS, COLUMNS), real)
    g = cuda.local.array(OWN, real)
    t = np.uint64(cuda.threadIdx.x)
    column = t % np.uint64(COLUMNS)
    k = np.uint64(cuda.blockIdx.x) * np.uint64(COLUMNS) + column
    inside = k < np.uint64(table.shape[1])
    k = k if inside else np.uint64(0)
    first = 1 + cuda.threadIdx.x // COLUMNS * OWN
    count = np.int32(rows - 1 - first)
    pitch = np.uint64(WIDTH * INTERLEAVED)
    index = chunk_index(np.uint64(cuda.blockIdx.x), t // np.uint64(COLUMNS), height) + column
    constant = constants(table, k)
    if EARLY == 1:
        launch_dependents()
    if EARLY > 0:
        grid_dependency_wait()
    read_chunk(source, g, index, pitch, count)
    solve_chunk(g, shared, constant, first, count, rows - 1)
    if EARLY == 2:
        launch_dependents()
    if inside:
        write_chunk(out, g, index, pitch, count, constant[SCALE])


@cell
def subtract_wall(g, wall, delta, decay, j0, ny):
    """Subtract the homogeneous solution wall (r^j - r^(2 ny - j)), so that row 0 vanishes, where it is significant."""
    if decay * j0 < real(FAR):
        h = wall * math.exp(-(decay * j0))
        for m in range(OWN):
            g[m] = g[m] - h
            h -= delta * h
        h = wall * math.exp(-(decay * (ny + ny - j0 - real(OWN - 1))))
        for m in range(OWN):
            g[OWN - 1 - m] = g[OWN - 1 - m] + h
            h -= delta * h
