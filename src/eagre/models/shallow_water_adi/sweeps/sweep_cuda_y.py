"""Sweep along y on a GPU: each block has WIDTH columns and as many rows as its threads hold.

A thread processes ROWS rows of a column (a warp loads 32 adjacent columns), assembles their equations and eliminates
them. For the coupling of threads and blocks see `eagre.solvers.tridiagonal.columns`.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    flat_load,
    flat_store,
    load_here,
    prefetch_l2,
    real,
    switch,
    word,
)
from eagre.boundaries.base import LineEnd
from eagre.kernels.implicit_lines import FRICTION
from eagre.kernels.roots import select
from eagre.models.shallow_water_adi.forcing import push_on, water_on
from eagre.models.shallow_water_adi.kernels import (
    ABOVE,
    BELOW,
    BEYOND,
    DISSIPATION,
    HIGH,
    LOW,
    WALL,
    WALLS,
    beyond,
    depth,
    end_row,
    flux_above,
    flux_below,
    line_cell,
    row_between,
    row_or_wall,
)
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.solvers.tridiagonal.columns import (
    EXCHANGE,
    KINDS,
    MODE,
    REDUCE,
    ROWS,
    THREADS,
    WIDTH,
    block_number,
    column_threads,
    last_unknowns,
    load_value,
    outside,
    publish_interfaces,
    store_value,
    thread_offset,
    unknown_below,
)
from eagre.solvers.tridiagonal.link import Chunk, next_row
from eagre.terms.compose import TERM_FACTORS, TERMS

OPEN = switch("OPEN", False)
SEGMENT = switch("SEGMENT", False)  # whether the columns continue on other devices, before `start` or after `ny`
PREFETCH = switch("PREFETCH", True)  # whether a block first prefetches all of its data
PIECE = 16  # elements per prefetch
GROUP = switch("GROUP", 8)  # adjacent groups of columns whose blocks run concurrently and share loads in the cache


class Column(NamedTuple):
    """Values of the cell at k of a column and of the two adjacent cells, loaded one row ahead."""

    z: Any
    d: Any
    z_low: Any  # at k - 1
    d_low: Any
    z_high: Any  # at k + 1
    d_high: Any
    qo: Any
    qn: Any
    qo_high: Any
    qn_high: Any
    flux_low: Any  # flux along the line, at the south face
    flux_high: Any
    flux_north: Any  # flux of the cell of the lane at its north face
    closed: Any  # closed faces of the cell


class Sweep(NamedTuple):
    """`Fields`, source terms and `Ends` of a sweep, shared memory of the block, and the numbers of the sweep."""

    fields: Any
    forcing: Any
    ends: Any
    shared: Any
    size: Any  # first and last face of the columns, number of columns
    p: Any


class Eliminated(NamedTuple):
    """State of the elimination of a thread before a face."""

    chunk: Any
    column: Any  # `Column` of the high cell of the face
    low: Any  # its low cell
    here: Any  # old flux at the face


@cell
def pitch_of(fields):
    """Return the distance of rows in flat indices."""
    return np.uint32(fields.z.shape[1])


@cell
def closed_faces(forcing, k):
    """Return the closed faces of cell k; 0 without internal walls."""
    closed = np.uint8(0)
    if WALLS:
        closed = flat_load(forcing[0][-1], k, 0)
    return closed


@cell
def column_at(sweep, k):
    """Return the `Column` at flat index k."""
    z, d, flux, qo, qn, _, _, _ = sweep.fields
    west, pitch = np.uint32(k - 1), pitch_of(sweep.fields)
    return Column(
        load_here(z, k, 0), load_here(d, k, 0),
        load_here(z, west, 0), load_here(d, west, 0), load_here(z, k, 1), load_here(d, k, 1),
        load_here(qo, k, 0), load_here(qn, k, 0), load_here(qo, k, 1), load_here(qn, k, 1),
        load_here(flux, west, 0), load_here(flux, k, 1), load_here(flux, k, pitch), closed_faces(sweep.forcing, k),
    )  # fmt: skip


@cell
def cell_at(sweep, c, p_low, k, j, low_neighbour):
    """Return the cell of a `Column` c, at flat index k in row j; the adjacent lines are at k - 1 and k + 1.

    low_neighbour : surface and bed of the cell below in the column.
    """
    z, d, p = sweep.fields.z, sweep.fields.bed, sweep.p
    wet, high_neighbour = real(0.0), (real(0.0), real(0.0))
    if TERMS:
        wet = water_on(c.d, sweep.forcing, j, (k, 0), p)
    if DISSIPATION:
        north = np.uint32(k + pitch_of(sweep.fields))
        low_neighbour = low_neighbour[0], beyond(low_neighbour[1], c.closed, LOW)
        high_neighbour = flat_load(z, north, 0), beyond(flat_load(d, north, 0), c.closed, HIGH)
    depths = depth(c.z_low, beyond(c.d_low, c.closed, BELOW)), depth(c.z_high, beyond(c.d_high, c.closed, ABOVE))
    edges = c.qo + c.qn, c.qo_high + c.qn_high, c.qn, c.qn_high
    return line_cell(c.z, c.d, depths, (low_neighbour, high_neighbour), (p_low, c.flux_north), edges, wet, p)


@cell
def loaded(array, index):
    """Return a value of a map for a term; index : a flat index and an offset."""
    return flat_load(array, index[0], index[1])


@cell
def row_at(sweep, low, high, here, column, k, j):
    """Return A, B, C, D of the face at flat index k, row j, between two cells of a column.

    column : `Column` of the high cell
    """
    friction, p = sweep.fields.friction, sweep.p
    below = flux_below(low, high, column.flux_low, here, p)
    above = flux_above(low, high, here, column.flux_high, p)
    factor, forced = p.friction, real(0.0)
    if FRICTION == 2 or FRICTION == 4:
        south = flat_load(friction, np.uint32(k - pitch_of(sweep.fields)), 0)
        factor = p.friction * real(0.5) * (flat_load(friction, k, 0) + south)
    if TERMS:
        across = (low.q_below + low.q_above) + (high.q_below + high.q_above)
        forced = push_on(low.h + high.h, here, across, sweep.forcing, j, (k, 0), p)
    a, b, c, e = row_between(low, high, here, below, above, factor, forced, p)
    return row_or_wall(column.closed, a, b, c, e)


@cell
def end_at(sweep, face, i, low, high, here, k, equation):
    """Return the equation of an open boundary face of column i instead of the wall equation."""
    a, b, c, e = equation
    ends, friction, p = sweep.ends, sweep.fields.friction, sweep.p
    _, ny, nx = sweep.size
    if OPEN and i < nx:
        if face == 0 and ends.low[i] != WALL:
            factor = p.friction
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, k, 0)
            value, carried = real(ends.values[ends.row, ends.low_slot[i]]), (high.from_low, high.from_high)
            end = LineEnd(real(1.0), high.z, high.d, here, carried, high.r, factor)
            b, c, e = end_row(ends.low[i], value, end, p)
        elif face == ny and ends.high[i] != WALL:
            factor = p.friction
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, np.uint32(k - pitch_of(sweep.fields)), 0)
            value, carried = real(ends.values[ends.row, ends.high_slot[i]]), (low.from_high, low.from_low)
            end = LineEnd(real(-1.0), low.z, low.d, here, carried, low.r, factor)
            b, a, e = end_row(ends.high[i], value, end, p)
    return a, b, c, e


@cell
def row_of_segment(chunk, new, face, last, more):
    """Return the chunk after a face, the values to store for it, and whether rows of the segment follow.

    The chunk of the last face of a segment ignores the rows after it: they repeat the unknown of that face. A chunk
    without a face of the segment stands for the unknown after it (`begin_chunk`).
    """
    inside, zero = face <= last, real(0.0)
    current = Chunk(
        select(inside, new.a, chunk.a), select(inside, new.c, chunk.c), select(inside, new.d, chunk.d),
        new.e, new.f, new.g,
    )  # fmt: skip
    below = face < last
    stored = Chunk(
        select(below, new.a, zero), select(below, new.c, real(-1.0)), select(below, new.d, zero),
        new.e, new.f, new.g,
    )  # fmt: skip
    return current, stored, more and below


@cell
def begin_chunk(face, last):
    """Return the chunk before its first row, `face`."""
    zero, one = real(0.0), real(1.0)
    if SEGMENT:
        inside = face <= last
        return Chunk(select(inside, -one, zero), select(inside, zero, -one), zero, zero, zero, -one)
    return Chunk(-one, zero, zero, zero, zero, -one)


@cell
def next_face(sweep, me, face, row, i, k, state, more):
    """Assemble and eliminate the equation of face + row, whose low cell is at k; return the next `Eliminated`.

    more : whether rows of the chunk follow; the last row leaves e, f, g unchanged.
    """
    ny, pitch, shared = sweep.size[1], pitch_of(sweep.fields), sweep.shared
    chunk, column, low, here = state
    k = np.uint32(k + pitch)
    following = column_at(sweep, np.uint32(k + pitch))
    j = np.uint32(face + row + 1)
    high = cell_at(sweep, column, here, k, j, (low.z, low.d))
    equation = row_at(sweep, low, high, here, column, k, j)
    a, b, c, e = end_at(sweep, face + row, i, low, high, here, k, equation)
    new = next_row(chunk, a, b, c, e)
    stored = new
    if SEGMENT:
        new, stored, more = row_of_segment(chunk, new, face + row, ny, more)
    store_value(shared, me, 0, row, stored.a)
    store_value(shared, me, 1, row, stored.c)
    store_value(shared, me, 2, row, stored.d)
    if KINDS == 4:
        store_value(shared, me, 3, row, low.r)
    elif not (OPEN or SEGMENT) or (face + row > 0 and face + row <= ny):
        flat_store(sweep.fields.z_new, np.uint32(k - pitch), 0, low.r)
    chunk = Chunk(
        new.a, new.c, new.d,
        select(more, new.e, chunk.e), select(more, new.f, chunk.f), select(more, new.g, chunk.g),
    )  # fmt: skip
    return Eliminated(chunk, following, high, column.flux_north)


@cell
def prefetch_block(fields, terms, column_group, first):
    """Prefetch all data of a block, from face `first`; every thread prefetches parts of rows."""
    chunks = max(1, WIDTH // PIECE)
    for n in range(cuda.threadIdx.y * WIDTH + cuda.threadIdx.x, (ROWS * THREADS + 1) * chunks, THREADS * WIDTH):
        face = np.uint32(first + n // chunks)
        k = np.uint32(face * pitch_of(fields) + np.uint32(column_group * WIDTH + PADDING + n % chunks * PIECE))
        prefetch_l2(fields.z, k, 0)
        prefetch_l2(fields.bed, k, 0)
        prefetch_l2(fields.flux, k, 0)
        prefetch_l2(fields.across_old, k, 0)
        prefetch_l2(fields.across_new, k, 0)
        if WALLS:
            prefetch_l2(terms[-1], k, 0)


@cell
def block_position(number, column_groups, segments, group):
    """Return column group and segment of a block: all segments of `group` adjacent groups, then those of the next."""
    first = number // np.uint32(group * segments) * np.uint32(group)
    side = min(np.uint32(group), np.uint32(column_groups) - first)
    remainder = number - first * np.uint32(segments)
    segment = remainder // side
    return np.int32(first + remainder - segment * side), np.int32(segment)


@cell
def assemble_up(sweep, me, face, i):
    """Assemble and eliminate faces face .. face + ROWS - 1 of column i; return the remaining chunk."""
    fields, pitch = sweep.fields, pitch_of(sweep.fields)
    k = np.uint32(np.uint32(face) * pitch + np.uint32(i + PADDING))
    column = column_at(sweep, k)
    following = column_at(sweep, np.uint32(k + pitch))
    low_neighbour = real(0.0), real(BEYOND)
    if DISSIPATION and face > 0:
        low_neighbour = flat_load(fields.z, np.uint32(k - pitch), 0), flat_load(fields.bed, np.uint32(k - pitch), 0)
    low = cell_at(sweep, column, flat_load(fields.flux, k, 0), k, np.uint32(face), low_neighbour)
    state = Eliminated(begin_chunk(face, sweep.size[1]), following, low, column.flux_north)
    for pair in range(ROWS // 2):
        state = next_face(sweep, me, face, 2 * pair, i, k, state, True)
        k = np.uint32(k + pitch)
        more = 2 * pair + 2 < ROWS
        state = next_face(sweep, me, face, 2 * pair + 1, i, k, state, more)
        k = np.uint32(k + pitch)
    if ROWS % 2 == 1:
        state = next_face(sweep, me, face, ROWS - 1, i, k, state, False)
    return state.chunk


@cell
def substitute_down(sweep, me, face, i, x_before, last):
    """Compute the unknowns of a chunk from the last unknowns of the previous and of this chunk.

    The flux and the surface are stored. Beyond walls the fields stay 0. Beyond an open boundary or a segment they are
    unchanged, except the flux below a segment, whose row belongs to the slab.
    """
    z_out, flux_out, shared, (start, ny, _) = sweep.fields.z_new, sweep.fields.flux_new, sweep.shared, sweep.size
    pitch = np.uint32(z_out.shape[1])
    k = np.uint32(np.uint32(face + ROWS) * pitch + np.uint32(i + PADDING))
    here = last
    near = following = third = real(0.0)  # r of the next three rows, loaded from memory
    if KINDS == 3:
        near = load_here(z_out, np.uint32(k - pitch), 0)
        following = load_here(z_out, np.uint32(k - pitch - pitch), 0)
        third = load_here(z_out, np.uint32(k - pitch - pitch - pitch), 0)
    for back in range(ROWS):
        row = ROWS - 1 - back
        lower = unknown_below(shared, me, row, x_before, here)
        south = np.uint32(k - pitch)
        r = near
        if KINDS == 4:
            r = load_value(shared, me, 3, row)
        else:
            near, following = following, third
            if row > 2:
                third = load_here(z_out, np.uint32(south - np.uint32(3) * pitch), 0)
        if not (OPEN or SEGMENT) or face + row <= ny:
            flat_store(flux_out, k, 0, here)
            if not OPEN or face + row > 0:
                flat_store(z_out, south, 0, r - sweep.p.w * (here - lower))
        here = lower
        k = south
    if SEGMENT and face == start and start > 0:
        flat_store(flux_out, k, 0, here)


@entry
def sweep_y_cuda(fields, terms, ends, coupling, at_once, size, p):
    """Compute new z and flux along y; block (WIDTH, THREADS), grid (groups of WIDTH columns, segments).

    at_once : guaranteed number of concurrent blocks; size : first and last face of the columns, number of columns
    """
    shared = cuda.shared.array(0, word)
    order = cuda.shared.array(1, np.int32)
    lane, t = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    block_number(coupling.flags, order, np.uint32(at_once))
    number, column_groups, segments = np.uint32(order[0]), np.int32(cuda.gridDim.x), np.int32(cuda.gridDim.y)
    group = min(GROUP, max(1, at_once // 2))  # a block waits for one that starts `group` blocks later
    column_group, segment = block_position(number, column_groups, segments, group)
    start, ny, _ = size
    first = np.int32(start if SEGMENT else 1 - OPEN) + segment * (THREADS * ROWS)
    if PREFETCH:
        prefetch_block(fields, terms, column_group, first)
    block = np.int32(column_group * segments + segment)
    i = np.int32(column_group * WIDTH + lane)
    face = np.int32(first + t * ROWS)
    me = thread_offset(t, lane)
    sweep = Sweep(fields, (terms, TERM_FACTORS(terms, ends.row)), ends, shared, size, p)
    chunk = assemble_up(sweep, me, face, i)
    a, c, x = column_threads(chunk, shared, me)
    if MODE == EXCHANGE or MODE == REDUCE:
        final = min(THREADS - 1, (ny - first) // ROWS) if SEGMENT else THREADS - 1  # thread of the last face
        publish_interfaces(coupling.table, block, t, final, lane, chunk, a, c, x)
    if MODE == REDUCE:
        return
    x_before, x_after = outside(coupling, shared, block, segment, chunk, a, c)
    lower, x = last_unknowns(shared, me, a, c, x, x_before, x_after)
    substitute_down(sweep, me, face, i, lower, x)


def shape_of(faces: int, nx: int, rows: int, threads: int, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return grid and block of the sweep; faces : number of faces of a column."""
    return (-(-nx // width), -(-faces // (rows * threads))), (width, threads)
