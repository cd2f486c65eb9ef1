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


@cell
def closed_faces(forcing, k):
    """Return the closed faces of cell k; 0 without internal walls."""
    closed = np.uint8(0)
    if WALLS:
        closed = flat_load(forcing[0][-1], k, 0)
    return closed


@cell
def column_at(z, d, flux, qo, qn, forcing, k, pitch):
    """Return the `Column` at flat index k."""
    west = np.uint32(k - 1)
    return Column(
        load_here(z, k, 0), load_here(d, k, 0),
        load_here(z, west, 0), load_here(d, west, 0), load_here(z, k, 1), load_here(d, k, 1),
        load_here(qo, k, 0), load_here(qn, k, 0), load_here(qo, k, 1), load_here(qn, k, 1),
        load_here(flux, west, 0), load_here(flux, k, 1), load_here(flux, k, pitch), closed_faces(forcing, k),
    )  # fmt: skip


@cell
def cell_at(c, z, d, p_low, forcing, k, j, pitch, low_neighbour, p):
    """Return the cell of a `Column` c, at flat index k in row j; the adjacent lines are at k - 1 and k + 1.

    low_neighbour : surface and bed of the cell below in the column.
    """
    wet, high_neighbour = real(0.0), (real(0.0), real(0.0))
    if TERMS:
        wet = water_on(c.d, forcing, j, (k, 0), p)
    if DISSIPATION:
        north = np.uint32(k + pitch)
        low_neighbour = low_neighbour[0], beyond(low_neighbour[1], c.closed, LOW)
        high_neighbour = flat_load(z, north, 0), beyond(flat_load(d, north, 0), c.closed, HIGH)
    h_low = depth(c.z_low, beyond(c.d_low, c.closed, BELOW))
    h_high = depth(c.z_high, beyond(c.d_high, c.closed, ABOVE))
    return line_cell(
        c.z, c.d, h_low, h_high, low_neighbour, high_neighbour, p_low,
        c.flux_north, c.qo + c.qn, c.qo_high + c.qn_high, c.qn, c.qn_high, wet, p,
    )  # fmt: skip


@cell
def loaded(array, index):
    """Return a value of a map for a term; index : a flat index and an offset."""
    return flat_load(array, index[0], index[1])


@cell
def row_at(low, high, here, neighbours, friction, forcing, closed, k, j, pitch, p):
    """Return A, B, C, D of the face at flat index k, row j, between two cells of a column.

    neighbours : old flux at k - 1 and k + 1; closed : faces of the high cell.
    """
    below = flux_below(low, high, neighbours[0], here, p)
    above = flux_above(low, high, here, neighbours[1], p)
    factor, forced = p.friction, real(0.0)
    if FRICTION == 2 or FRICTION == 4:
        south = flat_load(friction, np.uint32(k - pitch), 0)
        factor = p.friction * real(0.5) * (flat_load(friction, k, 0) + south)
    if TERMS:
        across = (low.q_below + low.q_above) + (high.q_below + high.q_above)
        forced = push_on(low.h + high.h, here, across, forcing, j, (k, 0), p)
    a, b, c, e = row_between(low, high, here, below, above, factor, forced, p)
    return row_or_wall(closed, a, b, c, e)


@cell
def end_at(face, ny, i, nx, low, high, here, ends, values, series_row, friction, k, pitch, a, b, c, e, p):
    """Return the equation of an open boundary face of a column instead of the wall equation."""
    if OPEN and i < nx:
        if face == 0 and ends.low[i] != WALL:
            factor = p.friction
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, k, 0)
            value, carried = real(values[series_row, ends.low_slot[i]]), (high.from_low, high.from_high)
            b, c, e = end_row(ends.low[i], value, real(1.0), high.z, high.d, here, carried, high.r, factor, p)
        elif face == ny and ends.high[i] != WALL:
            factor = p.friction
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, np.uint32(k - pitch), 0)
            value, carried = real(values[series_row, ends.high_slot[i]]), (low.from_high, low.from_low)
            b, a, e = end_row(ends.high[i], value, real(-1.0), low.z, low.d, here, carried, low.r, factor, p)
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
def next_face(
    z, d, flux, qo, qn, z_out, friction, forcing, ends, values, series_row, shared, me, face, row, i, ny, nx,
    k, pitch, column, low, here, chunk, more, p,
):  # fmt: skip
    """Assemble and eliminate the equation of one face, whose low cell is at k; return the chunk and the next data.

    column : of the high cell; more : whether rows of the chunk follow; the last row leaves e, f, g unchanged.
    """
    k = np.uint32(k + pitch)
    following = column_at(z, d, flux, qo, qn, forcing, np.uint32(k + pitch), pitch)
    j = np.uint32(face + row + 1)
    high = cell_at(column, z, d, here, forcing, k, j, pitch, (low.z, low.d), p)
    neighbours = column.flux_low, column.flux_high
    a, b, c, e = row_at(low, high, here, neighbours, friction, forcing, column.closed, k, j, pitch, p)
    a, b, c, e = end_at(
        face + row, ny, i, nx, low, high, here, ends, values, series_row, friction, k, pitch, a, b, c, e, p
    )
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
        flat_store(z_out, np.uint32(k - pitch), 0, low.r)
    chunk = Chunk(
        new.a, new.c, new.d,
        select(more, new.e, chunk.e), select(more, new.f, chunk.f), select(more, new.g, chunk.g),
    )  # fmt: skip
    return chunk, following, high, column.flux_north


@cell
def prefetch_block(z, d, flux, qo, qn, terms, column_group, first):
    """Prefetch all data of a block, from face `first`; every thread prefetches parts of rows."""
    chunks = max(1, WIDTH // PIECE)
    for n in range(cuda.threadIdx.y * WIDTH + cuda.threadIdx.x, (ROWS * THREADS + 1) * chunks, THREADS * WIDTH):
        face = np.uint32(first + n // chunks)
        k = np.uint32(face * np.uint32(z.shape[1]) + np.uint32(column_group * WIDTH + PADDING + n % chunks * PIECE))
        prefetch_l2(z, k, 0)
        prefetch_l2(d, k, 0)
        prefetch_l2(flux, k, 0)
        prefetch_l2(qo, k, 0)
        prefetch_l2(qn, k, 0)
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
def assemble_up(z, d, flux, qo, qn, z_out, friction, terms, ends, values, series_row, shared, me, face, i, ny, nx, p):
    """Assemble and eliminate faces face .. face + ROWS - 1 of column i; return the remaining chunk."""
    pitch = np.uint32(z.shape[1])
    k = np.uint32(np.uint32(face) * pitch + np.uint32(i + PADDING))
    forcing = (terms, TERM_FACTORS(terms, series_row))
    column = column_at(z, d, flux, qo, qn, forcing, k, pitch)
    following = column_at(z, d, flux, qo, qn, forcing, np.uint32(k + pitch), pitch)
    low_neighbour = real(0.0), real(BEYOND)
    if DISSIPATION and face > 0:
        low_neighbour = flat_load(z, np.uint32(k - pitch), 0), flat_load(d, np.uint32(k - pitch), 0)
    here = column.flux_north
    low = cell_at(column, z, d, flat_load(flux, k, 0), forcing, k, np.uint32(face), pitch, low_neighbour, p)
    chunk = begin_chunk(face, ny)
    for pair in range(ROWS // 2):
        chunk, following, low, here = next_face(
            z, d, flux, qo, qn, z_out, friction, forcing, ends, values, series_row, shared, me, face, 2 * pair, i, ny,
            nx, k, pitch, following, low, here, chunk, True, p,
        )  # fmt: skip
        k = np.uint32(k + pitch)
        more = 2 * pair + 2 < ROWS
        chunk, following, low, here = next_face(
            z, d, flux, qo, qn, z_out, friction, forcing, ends, values, series_row, shared, me, face, 2 * pair + 1, i,
            ny, nx, k, pitch, following, low, here, chunk, more, p,
        )  # fmt: skip
        k = np.uint32(k + pitch)
    if ROWS % 2 == 1:
        chunk, following, low, here = next_face(
            z, d, flux, qo, qn, z_out, friction, forcing, ends, values, series_row, shared, me, face, ROWS - 1, i, ny,
            nx, k, pitch, following, low, here, chunk, False, p,
        )  # fmt: skip
    return chunk


@cell
def substitute_down(z_out, flux_out, shared, me, face, i, start, ny, x_before, last, p):
    """Compute the unknowns of a chunk from the last unknowns of the previous and of this chunk.

    The flux and the surface are stored. Beyond walls the fields stay 0. Beyond an open boundary or a segment they are
    unchanged, except the flux below a segment, whose row belongs to the slab.
    """
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
                flat_store(z_out, south, 0, r - p.w * (here - lower))
        here = lower
        k = south
    if SEGMENT and face == start and start > 0:
        flat_store(flux_out, k, 0, here)


@entry
def sweep_y_cuda(
    z,
    d,
    flux,
    qo,
    qn,
    z_out,
    flux_out,
    friction,
    terms,
    ends,
    values,
    series_row,
    chunks,
    interfaces,
    flags,
    at_once,
    guard,
    start,
    ny,
    nx,
    p,
):
    """Compute new z and flux along y; block (WIDTH, THREADS), grid (groups of WIDTH columns, segments).

    at_once : guaranteed number of concurrent blocks; start, ny : first and last face of the columns.
    """
    shared = cuda.shared.array(0, word)
    order = cuda.shared.array(1, np.int32)
    lane, t = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    block_number(flags, order, np.uint32(at_once))
    number, column_groups, segments = np.uint32(order[0]), np.int32(cuda.gridDim.x), np.int32(cuda.gridDim.y)
    group = min(GROUP, max(1, at_once // 2))  # a block waits for one that starts `group` blocks later
    column_group, segment = block_position(number, column_groups, segments, group)
    first = np.int32(start if SEGMENT else 1 - OPEN) + segment * (THREADS * ROWS)
    if PREFETCH:
        prefetch_block(z, d, flux, qo, qn, terms, column_group, first)
    block = np.int32(column_group * segments + segment)
    i = np.int32(column_group * WIDTH + lane)
    face = np.int32(first + t * ROWS)
    me = thread_offset(t, lane)
    chunk = assemble_up(
        z, d, flux, qo, qn, z_out, friction, terms, ends, values, series_row, shared, me, face, i, ny, nx, p
    )
    a, c, x = column_threads(chunk, shared, me)
    if MODE == EXCHANGE or MODE == REDUCE:
        final = min(THREADS - 1, (ny - first) // ROWS) if SEGMENT else THREADS - 1  # thread of the last face
        publish_interfaces(chunks, block, t, final, lane, chunk, a, c, x)
    if MODE == REDUCE:
        return
    x_before, x_after = outside(chunks, interfaces, flags, guard, shared, block, segment, chunk, a, c, x)
    lower, x = last_unknowns(shared, me, a, c, x, x_before, x_after)
    substitute_down(z_out, flux_out, shared, me, face, i, start, ny, lower, x, p)


def shape_of(faces: int, nx: int, rows: int, threads: int, width: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return grid and block of the sweep; faces : number of faces of a column."""
    return (-(-nx // width), -(-faces // (rows * threads))), (width, threads)
