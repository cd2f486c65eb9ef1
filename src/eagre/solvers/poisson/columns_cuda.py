"""The column systems of `columns` on a GPU: COLUMNS wavenumbers a block over the full height.

A thread owns OWN consecutive rows of one wavenumber in registers, and the lanes of a warp own
COLUMNS wavenumbers x 32 / COLUMNS neighbouring pieces. A recurrence runs through every piece by itself, the
ends of the pieces are chained (by shuffles in a warp, through shared memory between warps), and the
recurrence runs again from the right start.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.backend.cells import cell, cuda, entry, grid_dependency_wait, launch_dependents, real, switch
from eagre.backend.warp import from_lane_above, from_lane_below
from eagre.solvers.poisson.columns import DECAY, DELTA, IMAGE, LEAP1, LEAP2, LEAP4, SCALE

OWN = switch("OWN", 4)
COLUMNS = switch("COLUMNS", 8)  # wavenumbers a block
WIDTH = switch("WIDTH", 8)  # wavenumbers of a tile of the spectrum, a multiple of COLUMNS
BESIDE = switch("BESIDE", 1)  # as of `rows_cuda`: pieces whose rows lie side by side
EARLY = switch("EARLY", 0)  # as of `rows_cuda`
MOST_WARPS = 32
FAR = 40.0  # exp(-FAR) is nothing


@cell
def from_before(x, distance, upwards):
    """x of the piece `distance` lanes before this one on the way of the recurrence."""
    return from_lane_above(x, distance) if upwards else from_lane_below(x, distance)


@cell
def summed_in_warp(end, piece, leap1, leap2, leap4, upwards):
    """The recurrence from the first piece of the warp to the end of this one, from the ends of single pieces."""
    total = end
    other = from_before(total, COLUMNS, upwards)
    if piece >= 1:
        total += other - leap1 * other
    other = from_before(total, 2 * COLUMNS, upwards)
    if piece >= 2:
        total += other - leap2 * other
    if COLUMNS == 4:
        other = from_before(total, 4 * COLUMNS, upwards)
        if piece >= 4:
            total += other - leap4 * other
    return total


@cell
def chained(end, shared, leap1, leap2, leap4, lane, warp, warps, upwards):
    """What the recurrence hands to this piece, from the ends of all pieces before it (after it, if upwards).

    The value handed from piece to piece fades by 1 - leap1, over two and four pieces by 1 - leap2 and 1 - leap4.
    """
    column = np.uint64(lane % COLUMNS)
    pieces = 32 // COLUMNS
    piece = pieces - 1 - lane // COLUMNS if upwards else lane // COLUMNS
    total = summed_in_warp(end, piece, leap1, leap2, leap4, upwards)
    whole = leap4 + leap4 - leap4 * leap4 if COLUMNS == 4 else leap4
    if piece == pieces - 1:
        shared[np.uint64(warp), column] = total
    before = from_before(total, COLUMNS, upwards)
    before = before if piece > 0 else real(0.0)
    cuda.syncthreads()
    carry = real(0.0)
    for step in range(warps - 1 - warp if upwards else warp):
        carry += shared[np.uint64(warps - 1 - step if upwards else step), column] - whole * carry
    cuda.syncthreads()
    # The carry fades over the pieces of this warp that lie before this one.
    if piece & 1:
        carry -= leap1 * carry
    if piece & 2:
        carry -= leap2 * carry
    if piece & 4:
        carry -= leap4 * carry
    return before + carry


@cell
def constants(table, k):
    """Column k of the table (`columns.column_table`)."""
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
    """g = p of the two recurrences (`columns`), from g = f; returns p of the first row of this piece."""
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
def read_piece(source, g, place, pitch, count):
    """Load the rows of this piece, zeros from row `count` of it on."""
    if count >= OWN:
        for m in range(OWN):
            g[m] = source[place]
            place += pitch
    else:
        for m in range(OWN):
            g[m] = source[place] if m < count else real(0.0)
            place += pitch


@cell
def write_piece(out, g, place, pitch, count, scale):
    """Store the first `count` rows of this piece, scaled."""
    if count >= OWN:
        for m in range(OWN):
            out[place] = scale * g[m]
            place += pitch
    else:
        for m in range(OWN):
            if m < count:
                out[place] = scale * g[m]
            place += pitch


@cell
def solve_piece(g, shared, constant, first, count, ny):
    """psi^ / scale in g from zeta^: the recurrences, and the homogeneous solution that the wall asks for."""
    t = np.uint64(cuda.threadIdx.x)
    column = t % np.uint64(COLUMNS)
    delta = constant[DELTA]
    x = both_recurrences(g, shared, constant, count)
    if t < np.uint64(COLUMNS):
        shared[np.uint64(0), column] = (x - delta * x) * constant[IMAGE]
    cuda.syncthreads()
    mend(g, shared[np.uint64(0), column], delta, constant[DECAY], real(first), real(ny))


@cell
def piece_place(block, piece, height):
    """Place of the first row of a piece of a block's wavenumbers in the spectrum."""
    tile, side = block // np.uint64(WIDTH // COLUMNS), block % np.uint64(WIDTH // COLUMNS)
    row = piece // np.uint64(BESIDE) * np.uint64(OWN * BESIDE) + piece % np.uint64(BESIDE)
    return (tile * np.uint64(height) + row) * np.uint64(WIDTH) + side * np.uint64(COLUMNS)


@entry
def solve_columns_cuda(source, out, table, rows, height):
    """out = psi^ from source = zeta^, flat spectra in tiles (`rows_cuda.first_place`); interior rows 1 .. rows - 2.

    table : (7, nx); height : rows of a tile. Block: COLUMNS times the number of pieces; grid: nx / COLUMNS.
    """
    shared = cuda.shared.array((MOST_WARPS, COLUMNS), real)
    g = cuda.local.array(OWN, real)
    t = np.uint64(cuda.threadIdx.x)
    column = t % np.uint64(COLUMNS)
    k = np.uint64(cuda.blockIdx.x) * np.uint64(COLUMNS) + column
    inside = k < np.uint64(table.shape[1])
    k = k if inside else np.uint64(0)
    first = 1 + cuda.threadIdx.x // COLUMNS * OWN
    count = np.int32(rows - 1 - first)
    pitch = np.uint64(WIDTH * BESIDE)
    place = piece_place(np.uint64(cuda.blockIdx.x), t // np.uint64(COLUMNS), height) + column
    constant = constants(table, k)
    if EARLY == 1:
        launch_dependents()
    if EARLY > 0:
        grid_dependency_wait()
    read_piece(source, g, place, pitch, count)
    solve_piece(g, shared, constant, first, count, rows - 1)
    if EARLY == 2:
        launch_dependents()
    if inside:
        write_piece(out, g, place, pitch, count, constant[SCALE])


@cell
def mend(g, wall, delta, decay, j0, ny):
    """Subtract the homogeneous solution wall (r^j - r^(2 ny - j)) that makes row 0 vanish, where it is felt."""
    if decay * j0 < real(FAR):
        h = wall * math.exp(-(decay * j0))
        for m in range(OWN):
            g[m] = g[m] - h
            h -= delta * h
        h = wall * math.exp(-(decay * (ny + ny - j0 - real(OWN - 1))))
        for m in range(OWN):
            g[OWN - 1 - m] = g[OWN - 1 - m] + h
            h -= delta * h
