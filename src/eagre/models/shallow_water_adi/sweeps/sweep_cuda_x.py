"""Sweep along x on a GPU: each block has a tile of a row and advances north over several rows.

Each lane has four adjacent cells (vector loads), assembles the equations of their west faces and eliminates them in
registers; for the coupling of lanes and warps see `eagre.solvers.tridiagonal.link`. The momentum flux through a corner
and the sums of q at the edges serve the rows below and above. The tiles of one row overlap by as many cells as the
coupling needs to decay below rounding error. The kernel is limited by the latency of loads: the row after the next is
prefetched, or, with sufficient registers (PRELOAD), the next row is loaded while this row is coupled.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    flat_load,
    load_four,
    load_two,
    prefetch_l2,
    real,
    store_four,
    store_two,
    switch,
)
from eagre.backend.cuda.warp import from_lane, raise_maximum
from eagre.boundaries.base import LineEnd
from eagre.kernels.bits import to_bits
from eagre.kernels.implicit_lines import FRICTION
from eagre.kernels.roots import select, smaller
from eagre.models.shallow_water_adi.forcing import push_on, water_on
from eagre.models.shallow_water_adi.kernels import (
    ABOVE,
    BELOW,
    DISSIPATION,
    HIGH,
    LOW,
    WALL,
    WALLS,
    beyond,
    corner_flux,
    depth,
    depth_pair,
    end_row,
    flux_above,
    line_cell,
    row_between,
    row_or_wall,
)
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.solvers.tridiagonal.link import WARPS, Chunk, lanes_joined, lost_coupling, next_row, warps_joined
from eagre.terms.compose import TERM_FACTORS, TERMS

CELLS = 4  # cells per lane
MAX_STORED_WARPS = 16  # maximum warps of a block with STORED: 32 KiB of shared memory in double precision
CLOSED_BELOW = 0x11111 * BELOW  # mask of the closed south faces in `Row.closed`
OPEN = switch("OPEN", False)
STORED = switch("STORED", False)  # keep the fluxes through corners for the next row in shared memory
PRELOAD = switch("PRELOAD", False)  # load the next row during the coupling of lanes and warps; otherwise prefetch it


@cell
def four(array, k):
    """Load elements k .. k + 3; k is a multiple of 4."""
    return load_four(array, k, 0)


@four.variant("cuda", "double")
def _two_pairs(array, k):
    a, b = load_two(array, k, 0)
    c, d = load_two(array, k, 2)
    return a, b, c, d


@four.variant("simulator")
def _simulated_four(array, k):
    return load_four(array, k, 0)


@cell
def put_four(array, k, lane, stores, values):
    """Store elements k .. k + 3 of a lane; stores : result of `owned`."""
    if stores[0]:
        store_four(array, k, 0, values)


@put_four.variant("cuda", "double")
def _put_pairs(array, k, lane, stores, values):
    _, even, odd = stores
    a, b, c, d = values
    # Each store of a pair of lanes writes the four elements of one lane, so that a sector of 32 bytes is written once
    # instead of half of it twice.
    is_odd = lane & 1 == 1
    e, f = from_lane(select(is_odd, a, c), lane ^ 1), from_lane(select(is_odd, b, d), lane ^ 1)
    start = np.uint32(k - 2 * (lane & 1))
    if even:
        store_two(array, start, 0, (select(is_odd, e, a), select(is_odd, f, b)))
    if odd:
        store_two(array, start, 4, (select(is_odd, c, e), select(is_odd, d, f)))


@put_four.variant("simulator")
def _simulated_put(array, k, lane, stores, values):
    if stores[0]:
        store_four(array, k, 0, values)


@cell
def five(array, k):
    """Load elements k - 1 .. k + 3."""
    a, b, c, d = four(array, k)
    return flat_load(array, k, -1), a, b, c, d


@cell
def six(array, k):
    """Load elements k - 1 .. k + 4."""
    a, b, c, d, e = five(array, k)
    return a, b, c, d, e, flat_load(array, k, 4)


class Row(NamedTuple):
    """Data of a row in a lane: cells k - 1 .. k + 3, and their lower edges."""

    z: Any
    d: Any
    low: Any  # sum of the old and the new flux through the edge
    new: Any  # new flux through the edge
    closed: Any  # closed faces, four bits per cell


class Sweep(NamedTuple):
    """`Fields`, source terms and `Ends` of a sweep, fluxes of a lane in shared memory, and the numbers of the sweep."""

    fields: Any
    forcing: Any
    ends: Any
    fluxes: Any  # with STORED, momentum fluxes through corners
    warp: Any  # position of the lane in `fluxes`
    lane: Any
    nx: Any
    p: Any


class Rows(NamedTuple):
    """Row of a lane, the old fluxes along it at k - 1 .. k + 4, and the next row with its old fluxes from k."""

    row: Row
    here: Any
    north: Row
    up: Any


@cell
def with_west(array, k, values):
    """Return elements k - 1 .. k + 3, of which the last four are `values`."""
    return flat_load(array, k, -1), values[0], values[1], values[2], values[3]


@cell
def row_of(sweep, k):
    """Return the row of the cells of a lane at flat index k."""
    z, d, qo, qn = sweep.fields.z, sweep.fields.bed, sweep.fields.across_old, sweep.fields.across_new
    return row_with(
        sweep, k, (four(z, k), four(d, k), four(z, k), four(qo, k), four(qn, k), closed_faces(sweep.forcing, k))
    )


@cell
def in_word(closed, n):
    """Return the closed faces of cell k - 1 + n at their place in `Row.closed`."""
    return np.uint32(closed) << np.uint32(4 * n)


@cell
def closed_faces(forcing, k):
    """Return the closed faces of cells k - 1 .. k + 3, four bits per cell; 0 without internal walls."""
    closed = np.uint32(0)
    if WALLS:
        a, b, c, d, e = five(forcing[0][-1], k)
        closed = np.uint32(in_word(a, 0) | in_word(b, 1) | in_word(c, 2) | in_word(d, 3) | in_word(e, 4))
    return closed


@cell
def values_at(sweep, k):
    """Return the values of a row that a lane loads for itself."""
    z, d, flux, qo, qn, _, _, _ = sweep.fields
    return four(z, k), four(d, k), four(flux, k), four(qo, k), four(qn, k), closed_faces(sweep.forcing, k)


@cell
def prefetch_row(sweep, k):
    """Prefetch the values of `values_at`."""
    z, d, flux, qo, qn, _, _, _ = sweep.fields
    prefetch_l2(z, k, 0)
    prefetch_l2(d, k, 0)
    prefetch_l2(flux, k, 0)
    prefetch_l2(qo, k, 0)
    prefetch_l2(qn, k, 0)
    if WALLS:
        prefetch_l2(sweep.forcing[0][-1], k, 0)


@cell
def row_with(sweep, k, values):
    """Return the `Row` at flat index k from the result of `values_at`."""
    z, d, _, qo, qn, _, _, _ = sweep.fields
    a, b = with_west(qo, k, values[3]), with_west(qn, k, values[4])
    low = (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4])
    return Row(with_west(z, k, values[0]), with_west(d, k, values[1]), low, b, values[5])


@cell
def closed_of(row, n):
    """Return the closed faces of cell k - 1 + n of a row."""
    return np.uint32(row.closed >> np.uint32(4 * n))


@cell
def cell_of(sweep, rows, k, j, n):
    """Return cell k - 1 + n of row j of the arrays as `line_cell`; data to its south are omitted."""
    z, d, p = sweep.fields.z, sweep.fields.bed, sweep.p
    row, here, north, _ = rows
    wet, closed = real(0.0), closed_of(row, n)
    if TERMS:
        wet = water_on(row.d[n], sweep.forcing, j, (k, n - 1), p)
    low_neighbour = high_neighbour = real(0.0), real(0.0)
    if DISSIPATION:
        low_neighbour = flat_load(z, k, n - 2), beyond(flat_load(d, k, n - 2), closed, LOW)
        high_neighbour = flat_load(z, k, n), beyond(flat_load(d, k, n), closed, HIGH)
    depths = real(0.0), depth(north.z[n], beyond(north.d[n], closed, ABOVE))
    along, edges = (here[n], here[n + 1]), (row.low[n], north.low[n], row.new[n], north.new[n])
    return line_cell(row.z[n], row.d[n], depths, (low_neighbour, high_neighbour), along, edges, wet, p)


@cell
def first_flux(sweep, rows, k, j, n):
    """Return the momentum flux through the north corner of face k + n of row j, the row before the first of a block."""
    low, high = cell_of(sweep, rows, k, j, n), cell_of(sweep, rows, k, j, n + 1)
    return store_flux(sweep, flux_above(low, high, rows.here[n + 1], rows.up[n], sweep.p), n)


@cell
def store_flux(sweep, flux, n):
    """Return the flux through the north corner of face n; with STORED, also store it for the next row."""
    if STORED:
        fluxes, warp, lane = sweep.fluxes, sweep.warp, sweep.lane
        fluxes[2 * n, warp, lane], fluxes[2 * n + 1, warp, lane] = flux
    return flux


@cell
def stored_flux(sweep, flux, n):
    """Return the flux of face n of the previous row; without STORED, it is `flux`."""
    if STORED:
        fluxes, warp, lane = sweep.fluxes, sweep.warp, sweep.lane
        return fluxes[2 * n, warp, lane], fluxes[2 * n + 1, warp, lane]
    return flux


@cell
def flux_beside_walls(sweep, row, here, k, n):
    """Return the momentum flux through the south corner of face k + n as the row at k computes it, from `store_flux`.

    Where the south face of an adjacent cell is closed, it differs from the flux that the row below computes.
    """
    z, d, flux = sweep.fields.z, sweep.fields.bed, sweep.fields.flux
    south = np.uint32(k - np.uint32(z.shape[1]))
    h_l, h_r = depth(row.z[n], row.d[n]), depth(row.z[n + 1], row.d[n + 1])
    d_l = beyond(flat_load(d, south, n - 1), closed_of(row, n), BELOW)
    d_r = beyond(flat_load(d, south, n), closed_of(row, n + 1), BELOW)
    below_l, below_r = depth(flat_load(z, south, n - 1), d_l), depth(flat_load(z, south, n), d_r)
    through = corner_flux(
        flat_load(flux, south, n), here[n + 1], row.new[n], row.new[n + 1],
        depth_pair(h_l, below_l) + depth_pair(h_r, below_r), smaller(h_l, below_l), smaller(h_r, below_r), sweep.p,
    )  # fmt: skip
    return store_flux(sweep, through, n)


@cell
def south_fluxes(sweep, below, row, here, k):
    """Return the momentum fluxes through the south corners of the four faces; below : those of the row below."""
    if WALLS and (row.closed & np.uint32(CLOSED_BELOW)) != 0:
        return (
            flux_beside_walls(sweep, row, here, k, 0),
            flux_beside_walls(sweep, row, here, k, 1),
            flux_beside_walls(sweep, row, here, k, 2),
            flux_beside_walls(sweep, row, here, k, 3),
        )
    return below


@cell
def loaded(array, index):
    """Return a value of a map for a term; index : a flat index and an offset."""
    return flat_load(array, index[0], index[1])


@cell
def row_at(sweep, low, high, here, corners, closed, index):
    """Return A, B, C, D of a face between two cells.

    corners : fluxes through its south and north corner; closed : faces of the high cell; index : flat index k + c, as k
    and c, and row j of the arrays
    """
    friction, p = sweep.fields.friction, sweep.p
    k, c, j = index
    factor, forced = p.friction, real(0.0)
    if FRICTION == 2 or FRICTION == 4:
        factor = p.friction * real(0.5) * (flat_load(friction, k, c) + flat_load(friction, k, c - 1))
    if TERMS:
        across = (low.q_below + low.q_above) + (high.q_below + high.q_above)
        forced = push_on(low.h + high.h, here, across, sweep.forcing, j, (k, c), p)
    a, b, e, d = row_between(low, high, here, corners[0], corners[1], factor, forced, p)
    return row_or_wall(closed, a, b, e, d)


@cell
def end_at(sweep, face, low, high, here, index, equation):
    """Return the equation of an open boundary face instead of the wall equation; index : see `row_at`."""
    a, b, e, d = equation
    ends, friction, p = sweep.ends, sweep.fields.friction, sweep.p
    if OPEN:
        k, c, row = index
        factor, j = p.friction, row - 1
        if face == 0 and ends.low[j] != WALL:
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, k, c)
            value, carried = real(ends.values[ends.row, ends.low_slot[j]]), (high.from_low, high.from_high)
            b, e, d = end_row(ends.low[j], value, LineEnd(real(1.0), high.z, high.d, here, carried, high.r, factor), p)
        elif face == sweep.nx and ends.high[j] != WALL:
            if FRICTION == 2 or FRICTION == 4:
                factor = factor * flat_load(friction, k, c - 1)
            value, carried = real(ends.values[ends.row, ends.high_slot[j]]), (low.from_high, low.from_low)
            b, a, d = end_row(ends.high[j], value, LineEnd(real(-1.0), low.z, low.d, here, carried, low.r, factor), p)
    return a, b, e, d


@cell
def face_of(sweep, rows, below, low, i, j, k, n):
    """Return the high cell of face k + n, the momentum flux through its north corner, and its A, B, C, D.

    low : its low cell; below : flux through its south corner, from `store_flux`; i, j : face and row of the domain at k
    """
    y, here = np.uint32(j + 1), rows.here[n + 1]
    high = cell_of(sweep, rows, k, y, n + 1)
    south = stored_flux(sweep, below, n)
    above = store_flux(sweep, flux_above(low, high, here, rows.up[n], sweep.p), n)
    equation = row_at(sweep, low, high, here, (south, above), closed_of(rows.row, n + 1), (k, n, y))
    return high, above, end_at(sweep, i + n, low, high, here, (k, n, j + 1), equation)


@cell
def owned(first, lane, start, overlap, nx):
    """Return whether a lane stores its cells, and whether the even and the odd lane of its pair do."""
    is_first, is_last = cuda.blockIdx.x == 0, cuda.blockIdx.x == cuda.gridDim.x - 1
    window = CELLS * 32 * WARPS
    low = 0 if is_first else start + overlap
    high = nx + 1 if is_last else min(start + window - overlap, nx + 1)
    even, odd = first - CELLS * (lane & 1), first + CELLS * (1 - (lane & 1))
    return first >= low and first < high, even >= low and even < high, odd >= low and odd < high


@entry
def sweep_x_cuda(fields, terms, ends, guard, run, overlap, size, p):
    """Compute new z and flux along x; block (32, WARPS), grid (tiles, runs of rows).

    run : rows of a block; overlap : cells at an inner end of a tile that another tile computes; size : (ny, nx)
    """
    ny, nx = size
    warp_ends = cuda.shared.array((2, WARPS, 6), real)
    fluxes = cuda.shared.array((8 if STORED else 1, WARPS, 32), real)
    warp, lane = np.int32(cuda.threadIdx.y), np.int32(cuda.threadIdx.x)
    window = CELLS * 32 * WARPS
    start = np.int32(cuda.blockIdx.x * (window - 2 * overlap))
    first = start + (warp * 32 + lane) * CELLS
    i = min(first, ((nx >> 2) + 1) * CELLS)
    j = np.int32(cuda.blockIdx.y * run)
    end = min(j + run, ny)
    stores = owned(first, lane, start, overlap, nx)
    inner_low = cuda.blockIdx.x > 0 and first == start
    inner_high = cuda.blockIdx.x < cuda.gridDim.x - 1 and first == start + window - CELLS
    pitch = np.uint32(fields.z.shape[1])
    k = np.uint32(np.uint32(j) * pitch + np.uint32(i + PADDING))
    zero, one = real(0.0), real(1.0)
    sweep = Sweep(fields, (terms, TERM_FACTORS(terms, ends.row)), ends, fluxes, warp, lane, nx, p)
    here = six(fields.flux, k)
    north = row_of(sweep, np.uint32(k + pitch))
    rows, y = Rows(row_of(sweep, k), here, north, four(fields.flux, np.uint32(k + pitch))), np.uint32(j)
    below0 = first_flux(sweep, rows, k, y, 0)
    below1 = first_flux(sweep, rows, k, y, 1)
    below2 = first_flux(sweep, rows, k, y, 2)
    below3 = first_flux(sweep, rows, k, y, 3)
    following = values_at(sweep, np.uint32(k + pitch + pitch))
    lost = zero
    while j < end:
        k = np.uint32(k + pitch)
        if not PRELOAD:
            prefetch_row(sweep, np.uint32(k + pitch + pitch))
        # Only the sums of the row itself are kept: the whole row would need too many registers.
        row = Row(five(fields.z, k), five(fields.bed, k), north.low, north.new, north.closed)
        here = six(fields.flux, k)
        below = south_fluxes(sweep, (below0, below1, below2, below3), row, here, k)
        if not PRELOAD:
            following = values_at(sweep, np.uint32(k + pitch))
        north = row_with(sweep, np.uint32(k + pitch), following)
        rows = Rows(row, here, north, following[2])
        low = zero if inner_low else one  # an inner end of a tile: the old flux replaces the unknown
        high = zero if inner_high else one
        # Face by face: with all cells of a lane at once, the compiler would spill registers.
        c0 = cell_of(sweep, rows, k, np.uint32(j + 1), 0)
        c1, below0, row0 = face_of(sweep, rows, below[0], c0, i, j, k, 0)
        d0 = row0[3] - (one - low) * row0[0] * here[0]
        s0 = next_row(Chunk(-one, zero, zero, zero, zero, -one), low * row0[0], row0[1], row0[2], d0)
        c2, below1, row1 = face_of(sweep, rows, below[1], c1, i, j, k, 1)
        s1 = next_row(s0, row1[0], row1[1], row1[2], row1[3])
        c3, below2, row2 = face_of(sweep, rows, below[2], c2, i, j, k, 2)
        s2 = next_row(s1, row2[0], row2[1], row2[2], row2[3])
        c4, below3, row3 = face_of(sweep, rows, below[3], c3, i, j, k, 3)
        d3 = row3[3] - (one - high) * row3[2] * here[5]
        s3 = next_row(s2, row3[0], row3[1], high * row3[2], d3)
        chunk = Chunk(s3.a, s3.c, s3.d, s2.e, s2.f, s2.g)
        if PRELOAD:
            following = values_at(sweep, np.uint32(k + pitch + pitch))
        a, c, x = lanes_joined(chunk, lane)
        x_before, x_after = warps_joined(warp_ends, j & 1, chunk, a, c, x, lane, warp)
        lost = max(lost, lost_coupling(chunk, a, c, lane, warp))
        x3 = x - a * x_before - c * x_after
        lower = from_lane(x3, max(lane - 1, 0))
        lower = x_before if lane == 0 else lower
        x2 = s2.d - s2.a * lower - s2.c * x3
        x1 = s1.d - s1.a * lower - s1.c * x2
        x0 = s0.d - s0.a * lower - s0.c * x1
        x4 = from_lane(x0, min(lane + 1, 31))
        x4 = x_after if lane == 31 else x4
        put_four(fields.flux_new, k, lane, stores, (x0, x1, x2, x3))
        surface = c1.r - p.w * (x1 - x0), c2.r - p.w * (x2 - x1), c3.r - p.w * (x3 - x2), c4.r - p.w * (x4 - x3)
        put_four(fields.z_new, k, lane, stores, surface)
        j += 1
    raise_maximum(guard, to_bits(lost))


def shape_of(
    ny: int, nx: int, warps: int, run: int, overlap: int, is_open: bool
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return grid and block of the sweep."""
    window = CELLS * 32 * warps
    faces = nx + (1 if is_open else 0)
    windows = 1 if faces <= window else -(-(faces - 2 * overlap) // (window - 2 * overlap))
    return (windows, -(-ny // run)), (32, warps)
