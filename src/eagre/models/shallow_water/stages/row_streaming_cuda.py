"""Row-streaming kernel of one stage on a GPU: each warp advances north over 28 columns, 32 with the halo.

Each lane has one column. Registers hold the data for the next row, shuffles supply the neighbours in x, and every flux
is computed once per strip. Only the state, the bed and the new state use device memory: 7 values per cell, 10 in the
second stage.
"""

from math import log2, sqrt

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    grid_dependency_wait,
    launch_dependents,
    load_early,
    real,
    switch,
)
from eagre.backend.cuda.warp import anywhere, from_lane_above, from_lane_below, raise_maximum
from eagre.backend.device import Device
from eagre.boundaries.edges import SOUTH
from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE
from eagre.kernels.bits import to_bits
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.elevation import depth, noise_of
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.maps import TAKEN, MapState, held_early, keep, moment_of, take_up, with_state
from eagre.kernels.roots import larger, select
from eagre.models.shallow_water.active_tiles import (
    EAST_STRIP,
    LISTED_STEP,
    LIVE,
    NORTH_STRIP,
    REACH,
    SOUTH_STRIP,
    WEST_STRIP,
)
from eagre.models.shallow_water.kernels import (
    COVERED_FACES,
    FACES,
    FRICTION,
    SECOND,
    SKIP_DRY,
    WALLS,
    Slopes,
    Stage,
    flux_or_wall,
    over_depth,
    seed_of_stage,
    updated,
    with_terms,
)
from eagre.models.shallow_water.stages.row_streaming_lanes import (
    PARTS,
    Face,
    Flux,
    Fluxes,
    Lane,
    Rows,
    StageArrays,
    State,
    bed_between,
    face_bed,
    internal_walls,
    load_corners,
    load_state,
    make_row,
    nothing,
    openness,
    slopes_x,
    slopes_y,
    uncovered,
    walls_of,
    with_mass,
)
from eagre.stepping.clock import DT, STEPS, UNTIL, T, advanced_time, open_gate
from eagre.terms.compose import TERM_FACTORS, TERMS

LISTED = switch("LISTED", False)  # whether only the listed tiles are computed


@cell
def tiles_to_do(active, clock, phase, lane):
    """Return the number of tiles of this launch: the listed tiles, or one per block.

    The first stage marks the list as used and clears the count of the next step.
    """
    if not LISTED:
        return np.uint32(1)
    if not open_gate(clock, phase):
        return np.uint32(0)
    step = np.int32(clock[STEPS])
    if not SECOND and cuda.blockIdx.x == 0 and lane == 0:
        active.work[np.uint32((step + 1) & 1)] = 0
        active.work[LISTED_STEP] = step
    return np.uint32(active.work[np.uint32(step & 1)])


@cell
def tile_origin(active, number, rows):
    """Return strip and first row of a tile of `rows` rows: the numbered tile of the list, or the tile of the block."""
    if not LISTED:
        return np.uint32(cuda.blockIdx.x), np.uint32(cuda.blockIdx.y * rows)
    tile, tile_columns = np.uint32(active.listed[number]), np.uint32(active.live.shape[1] - 2)
    return np.uint32(tile % tile_columns), np.uint32(np.uint32(tile // tile_columns) * rows)


@cell
def live_bits(row, j, j0, end, counts):
    """Return, as bits, whether a cell of row j in the tile of rows j0 .. end - 1 is live and counts.

    See `active_tiles`.
    """
    bits = 0
    if LISTED and not SECOND:
        zero = real(0.0)
        bits = LIVE | (SOUTH_STRIP if j < j0 + REACH else 0) | (NORTH_STRIP if j + REACH >= end else 0)
        bits = bits if counts and (row.h > zero or row.hu != zero or row.hv != zero) else 0
    return bits


@cell
def leave_bits(active, tile_column, row, seen, lane):
    """Store the activity bits of a tile, combined from the cells that the lanes updated."""
    if LISTED and not SECOND:
        seen |= (WEST_STRIP if lane < 2 + REACH else 0) | (EAST_STRIP if lane >= 30 - REACH else 0) if seen != 0 else 0
        bits = 0
        for bit in (LIVE, SOUTH_STRIP, NORTH_STRIP, WEST_STRIP, EAST_STRIP):
            bits |= bit if anywhere((seen & bit) != 0) else 0
        if lane == 0:
            active.live[np.uint32(row + 1), np.uint32(tile_column + 1)] = bits


ROWS = switch("ROWS", 32)  # rows per warp
STRIP = 28  # columns that a warp updates
WIDTH = 32
# Factor of the initial fraction of live cells, and the minimum fraction, for the choice of the rows per warp.
TILES_PER_LIVE_CELL, MIN_WORK_FRACTION = 3.0, 1.0 / 16.0


@cell
def covered_flux_y(row, above, top, north, next_north, face, p):
    """Return the flux through the north face of a row, then `Face` and the rise in y of the row above, for wet faces.

    top : row above `above`; north, next_north : corners south and north of `above`.
    """
    z = face_bed(north.west, north.east)
    z_h = face_bed(next_north.west, next_north.east)
    w_l, v_l, u_l, w_h, v_h, u_h = COVERED_FACES(slopes_y(above, top), z, z_h, p)
    mass, low, high, along, speed = covered_flux(face.h, face.v, face.u, w_l - z, v_l, u_l, p.g)
    return Flux(mass, low, high, along, speed), Face(w_h - z_h, v_h, u_h), w_h - w_l


@cell
def faces_y(row, above, south, north, p):
    """Return y, h, u, v at the south face of any row, then at its north face, and its rise; see `FACES`."""
    b_low, b_high = face_bed(south.west, south.east), face_bed(north.west, north.east)
    return FACES(slopes_y(row, above), row.h, b_low, b_high, p)


@cell
def any_flux_y(row, above, top, south, north, next_north, p):
    """Return the result of `covered_flux_y` for any rows; south : corners to the south of `row`."""
    if SKIP_DRY and not anywhere(larger(row.h, above.h) > real(0.0)):
        zero = real(0.0)
        return Flux(zero, zero, zero, zero, zero), Face(zero, above.v, above.u), zero
    _, _, _, _, y_s, h_s, v_s, u_s, _ = faces_y(row, above, south, north, p)
    y_n, h_n, v_n, u_n, _, h_h, v_h, u_h, rise = faces_y(above, top, north, next_north, p)
    mass, low, high, along, speed = central_upwind(y_s, h_s, v_s, u_s, y_n, h_n, v_n, u_n, p.g)
    return Flux(mass, low, high, along, speed), Face(h_h, v_h, u_h), rise


@cell
def walled_faces_y(row, above, closed_south, closed_north, south, north, p):
    """Return `faces_y` with the mirror state behind closed faces."""
    zero = real(0.0)
    slopes = Slopes(
        row.w, select(closed_south, zero, row.d_w), select(closed_north, zero, above.d_w),
        row.v, select(closed_south, scaled_difference(-row.v, row.v, p), row.d_v),
        select(closed_north, scaled_difference(row.v, -row.v, p), above.d_v),
        row.u, select(closed_south, zero, row.d_u), select(closed_north, zero, above.d_u),
    )  # fmt: skip
    return FACES(slopes, row.h, face_bed(south.west, south.east), face_bed(north.west, north.east), p)


@cell
def walled_flux_y(faces, j, i, rows, corners, p):
    """Return the result of `any_flux_y` in a tile with closed faces; j : the row in the arrays with ghosts.

    rows : row, above and top; corners : south, north and next_north.
    """
    row, above, top = rows
    south, north, next_north = corners
    closed = (faces[j + 1, i] & SOUTH_FACE) != 0
    closed_south, closed_north = (faces[j, i] & SOUTH_FACE) != 0, (faces[j + 2, i] & SOUTH_FACE) != 0
    _, _, _, _, y_s, h_s, v_s, u_s, _ = walled_faces_y(row, above, closed_south, closed, south, north, p)
    y_n, h_n, v_n, u_n, _, h_h, v_h, u_h, rise = walled_faces_y(above, top, closed, closed_north, north, next_north, p)
    flux = flux_or_wall(closed, (y_s, h_s, v_s, u_s), (y_n, h_n, v_n, u_n), p)
    return Flux(*flux), Face(h_h, v_h, u_h), rise


@cell
def covered_flux_x(row, south, north, p):
    """Return the flux through the west face of a cell and the rise of its surface in x, for wet faces."""
    slopes = slopes_x(row, p)
    z = face_bed(south.west, north.west)
    z_h = face_bed(south.east, north.east)
    w_l, u_l, v_l, w_h, u_h, v_h = COVERED_FACES(slopes, z, z_h, p)
    mass, low, high, along, speed = covered_flux(
        from_lane_below(w_h, 1) - z, from_lane_below(u_h, 1), from_lane_below(v_h, 1), w_l - z, u_l, v_l, p.g
    )
    return Flux(mass, low, high, along, speed), w_h - w_l


@cell
def any_flux_x(row, south, north, p):
    """Return the result of `covered_flux_x` for any row."""
    if SKIP_DRY and not anywhere(row.h > real(0.0)):
        zero = real(0.0)
        return Flux(zero, zero, zero, zero, zero), zero
    y_l, h_l, u_l, v_l, y_h, h_h, u_h, v_h, rise = FACES(
        slopes_x(row, p), row.h, face_bed(south.west, north.west), face_bed(south.east, north.east), p
    )
    mass, low, high, along, speed = central_upwind(
        from_lane_below(y_h, 1), from_lane_below(h_h, 1), from_lane_below(u_h, 1), from_lane_below(v_h, 1),
        y_l, h_l, u_l, v_l, p.g,
    )  # fmt: skip
    return Flux(mass, low, high, along, speed), rise


@cell
def walled_flux_x(faces, j, i, row, south, north, p):
    """Return the result of `covered_flux_x` in a tile with closed faces; j : the row in the arrays with ghosts."""
    zero, west, east = real(0.0), (faces[j, i] & WEST_FACE) != 0, (faces[j, i + 1] & WEST_FACE) != 0
    d = slopes_x(row, p)
    slopes = Slopes(
        row.w, select(west, zero, d.w_l), select(east, zero, d.w_h),
        row.u, select(west, scaled_difference(-row.u, row.u, p), d.u_l),
        select(east, scaled_difference(row.u, -row.u, p), d.u_h),
        row.v, select(west, zero, d.v_l), select(east, zero, d.v_h),
    )  # fmt: skip
    y_l, h_l, u_l, v_l, y_h, h_h, u_h, v_h, rise = FACES(
        slopes, row.h, face_bed(south.west, north.west), face_bed(south.east, north.east), p
    )
    low = from_lane_below(y_h, 1), from_lane_below(h_h, 1), from_lane_below(u_h, 1), from_lane_below(v_h, 1)
    return Flux(*flux_or_wall(west, low, (y_l, h_l, u_l, v_l), p)), rise


@cell
def prefetch_friction(manning, j, i, p):
    """Load g n^2 of interior row j, m^(1/3), ahead of use."""
    if FRICTION == 2:
        ny, nx = np.uint32(manning.shape[1]), np.uint32(manning.shape[2])
        return load_early(manning, 0, min(j, ny - 1), min(max(i, np.uint32(2)) - np.uint32(2), nx - 1))
    return p.friction


@cell
def inner_column(i, q):
    """Return the column of interior cells of a lane, or the nearest interior column for a halo lane."""
    return min(max(i, np.uint32(2)) - np.uint32(2), np.uint32(q.shape[2] - 5))


@cell
def store_row(arrays, lane, j, g_n2, row, state_n, fluxes, stage):
    """Write interior row j of the new state; return the maximum rate and the new state."""
    out, i, walls, p = arrays.buffers.out, lane.i, lane.walls, stage.p
    ny = out.shape[1] - 4
    if PARTS:
        walls = walls_of(arrays.domain.edges, i, j, ny, out.shape[2] - 4)
    north = select(j + 1 == ny, walls.north, real(1.0))
    x, y, south = fluxes.west, fluxes.north, fluxes.south
    x_mass, y_mass = x.mass * walls.west, y.mass * north
    gh = p.g * row.h
    r_h = p.over_dx * (x_mass - from_lane_above(x_mass, 1)) + p.over_dy * (south.mass - y_mass)
    r_u = p.over_dx * (x.high - from_lane_above(x.low, 1) - gh * fluxes.rise_x) + p.over_dy * (
        south.tangential - y.tangential
    )
    r_v = p.over_dx * (x.tangential - from_lane_above(x.tangential, 1)) + p.over_dy * (
        south.high - y.low - gh * fluxes.rise_y
    )
    fastest, state_np1 = real(0.0), state_n
    if lane.faced:
        fastest = x.speed * p.over_dx
    if lane.store:
        fastest = larger(fastest, y.speed * p.over_dy)
        rates = (r_h, r_u, r_v)
        if TERMS:
            rates = with_terms(rates, row, arrays.forcing, j, i - 2)
        eta, hu, hv = updated(row, state_n, rates, g_n2, noise_of(stage.seed, j, i - 2), p, stage.dt)
        out[0, j + 2, i] = eta
        out[1, j + 2, i] = hu
        out[2, j + 2, i] = hv
        state_np1 = State(eta, hu, hv)
    return fastest, state_np1


@cell
def with_map_state(maps, j, i, state, b, map_values, moment, p):
    """Accumulate a state in the maps of a cell; b : bed of the cell, m."""
    h = depth(state.eta, b)
    over_h = over_depth(h, p)
    u, v = over_h * state.hu, over_h * state.hv
    return with_state(maps, j, i, MapState(state.eta, h, u, v, state.hu, state.hv), map_values, moment)


@cell
def update_row(arrays, lane, j, ahead_j, rows, stage, moments):
    """Update interior row j and move one row north; return the next `Rows` and the maximum rate.

    moments : those of the present and of the next state. The data of one more row, ahead_j, are prefetched.
    """
    q, i, p, internal, maps = arrays.buffers.q, lane.i, stage.p, lane.internal, arrays.maps
    row, above, top_state, south, north, next_north, top_corners, flux, face, rise, shore = rows
    state_n = State(row.eta, row.hu, row.hv)
    if SECOND:
        state_n = load_state(arrays.buffers.old, j + 2, i)
    g_n2 = prefetch_friction(arrays.domain.manning, j, i, p)
    map_values = held_early(maps, min(j, np.uint32(q.shape[1] - 5)), inner_column(i, q))
    prefetched = load_state(q, ahead_j, i)
    prefetched_corners = load_corners(arrays.domain.bed, ahead_j + 1, i)
    top = make_row(top_state, next_north, top_corners, above, p)
    shore_above = uncovered(row.w, above.w, top.w, north, next_north, p)
    # Each branch contains the complete code of a row: the compiler schedules instructions only within a branch.
    if WALLS and internal.near:
        corners = (south, north, next_north)
        y, next_face, next_rise = walled_flux_y(internal.faces, j + 2, i, (row, above, top), corners, p)
        x, rise_x = walled_flux_x(internal.faces, j + 2, i, row, south, north, p)
        fastest, state_np1 = store_row(arrays, lane, j, g_n2, row, state_n, Fluxes(x, rise_x, flux, y, rise), stage)
    elif shore or shore_above:
        y, next_face, next_rise = any_flux_y(row, above, top, south, north, next_north, p)
        x, rise_x = any_flux_x(row, south, north, p)
        fastest, state_np1 = store_row(arrays, lane, j, g_n2, row, state_n, Fluxes(x, rise_x, flux, y, rise), stage)
    else:
        y, next_face, next_rise = covered_flux_y(row, above, top, north, next_north, face, p)
        x, rise_x = covered_flux_x(row, south, north, p)
        fastest, state_np1 = store_row(arrays, lane, j, g_n2, row, state_n, Fluxes(x, rise_x, flux, y, rise), stage)
    if TAKEN and not SECOND and lane.store:
        state = MapState(row.eta, row.h, row.over_h * row.hu, row.over_h * row.hv, row.hu, row.hv)
        take_up(maps, j, np.uint32(i - 2), state, map_values, moments[0])
    if TAKEN and SECOND and lane.store:
        b, column = bed_between(south, north), np.uint32(i - 2)
        first = with_map_state(maps, j, column, state_n, b, map_values, moments[0], p)
        keep(maps, j, column, map_values, with_map_state(maps, j, column, state_np1, b, first, moments[1], p))
    next_rows = Rows(
        above, top, prefetched, north, next_north, top_corners, prefetched_corners, y, next_face, next_rise, shore_above
    )
    return next_rows, fastest


@entry
def stage_cuda(buffers, domain, terms, maps, active, p, clock, phase):
    """Compute one stage from q into out; one warp per block, grid over tiles of 28 columns and ROWS rows.

    With an active-tile list, whose length is known on the device only, the blocks loop over the tiles.

    The second stage of RK2 reads the old state from `old`, an array other than `out`: reading an array that is written
    soon takes 1.7 times as long on a GPU. The loop computes two rows per iteration, which halves the register moves;
    ROWS is even.

    With one warp per block the compiler assumes converged lanes. With more warps it guards every shuffle, with 15 %
    more instructions and 25 % more registers.
    """
    q, bed, edges, faces = buffers.q, domain.bed, domain.edges, domain.walls
    lane = np.uint32(cuda.threadIdx.x)
    ny = np.uint32(q.shape[1] - 4)
    nx = np.uint32(q.shape[2] - 4)
    launch_dependents()
    grid_dependency_wait()
    number, count = np.uint32(cuda.blockIdx.x if LISTED else 0), tiles_to_do(active, clock, phase, lane)
    while number < count:
        tile_column, j0 = tile_origin(active, number, ROWS)
        column = np.uint32(tile_column * STRIP + lane)
        i = min(column, np.uint32(nx + 3))
        if j0 >= ny:
            return
        end = min(np.uint32(j0 + ROWS), ny)
        store = lane >= 2 and lane < 30 and column < nx + 2
        faced = lane >= 2 and lane < 31 and column < nx + 3
        # Loaded before the clock, so that both loads overlap.
        state_0 = load_state(q, j0, i)
        state_1 = load_state(q, j0 + 1, i)
        state_2 = load_state(q, j0 + 2, i)
        state_3 = load_state(q, j0 + 3, i)
        top_state = load_state(q, j0 + 4, i)
        if not open_gate(clock, phase):
            return
        dt, seed = real(clock[DT]), seed_of_stage(clock, SECOND, p)
        arrays = StageArrays(buffers, domain, (terms, TERM_FACTORS(terms, 0)), maps)
        next_time = advanced_time(clock[T], clock[DT], clock[UNTIL])
        moments = moment_of(maps, clock[T]), moment_of(maps, next_time)

        corners_0 = load_corners(bed, j0, i)
        corners_1 = load_corners(bed, j0 + 1, i)
        south = load_corners(bed, j0 + 2, i)
        north = load_corners(bed, j0 + 3, i)
        next_north = load_corners(bed, j0 + 4, i)
        top_corners = load_corners(bed, j0 + 5, i)
        row_0 = make_row(state_0, corners_0, corners_1, nothing(), p)
        row_1 = make_row(state_1, corners_1, south, row_0, p)
        row = make_row(state_2, south, north, row_1, p)
        above = make_row(state_3, north, next_north, row, p)
        internal = internal_walls(faces, j0, ROWS, i)
        if WALLS and internal.near:
            flux, face, rise = walled_flux_y(faces, j0 + 1, i, (row_1, row, above), (corners_1, south, north), p)
        else:
            flux, face, rise = any_flux_y(row_1, row, above, corners_1, south, north, p)
        fastest = flux.speed * p.over_dy if store else real(0.0)
        walls = walls_of(edges, i, j0, ny, nx)
        if j0 == 0:
            south_open = openness(edges, SOUTH, min(max(i, np.uint32(2)) - np.uint32(2), np.uint32(nx - 1)))
            flux = with_mass(flux, flux.mass * south_open)
        shore = uncovered(row_1.w, row.w, above.w, south, north, p)

        last = np.uint32(ny + 3)
        j, seen = j0, 0
        while j < end:
            more = j + 1 < end
            seen |= live_bits(row, j, j0, end, True) | live_bits(above, j + 1, j0, end, more)
            # The loop carries values and no tuples: with `rows` and `stage` made before it, a step takes 5 % longer.
            stage = Stage(p, dt, seed)
            rows = Rows(row, above, top_state, south, north, next_north, top_corners, flux, face, rise, shore)
            column_of_lane = Lane(i, walls, internal, store, faced)
            rows, rate = update_row(arrays, column_of_lane, j, min(np.uint32(j + 5), last), rows, stage, moments)
            fastest, prefetch_row = larger(fastest, rate), min(np.uint32(j + 6), last)
            column_of_lane = Lane(i, walls, internal, store and more, faced and more)
            rows, rate = update_row(arrays, column_of_lane, j + 1, prefetch_row, rows, stage, moments)
            fastest = larger(fastest, rate)
            row, above, top_state, south, north, next_north, top_corners, flux, face, rise, shore = rows
            j = np.uint32(j + 2)
        raise_maximum(buffers.rates, to_bits(fastest))
        leave_bits(active, tile_column, np.uint32(j0 // np.uint32(ROWS)), seen if store else 0, lane)
        number = np.uint32(number + (cuda.gridDim.x if LISTED else 1))


def shape_of(
    device: Device, precision: str, ny: int, nx: int, live: float = 1.0
) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return the grid, the block and the rows per warp.

    A warp with r rows takes a time proportional to r + 1.3, and the last warps leave a third of the GPU idle. With n
    rows of strips per multiprocessor a step takes a n (1 + 1.3 / r) + b r. The minimum has r proportional to the square
    root of n. If only a fraction of the cells is live (`Setup.live`), n counts the tiles with live cells: three times
    the fraction, because water spreads and tiles include dry cells.
    """
    tile_columns, tuning = -(-nx // STRIP), device.parameters("shallow-water.march")
    worked = min(max(TILES_PER_LIVE_CELL * live, MIN_WORK_FRACTION), 1.0) * tile_columns * ny
    best = tuning.rows[precision] * sqrt(worked / device.properties.multiprocessors)
    rows = min(max(2 ** round(log2(best)), tuning.shortest), tuning.longest)
    return (tile_columns, -(-ny // rows)), (WIDTH, 1), rows


def listed_shape_of(
    device: Device, precision: str, ny: int, nx: int, live: float = 1.0
) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return `shape_of` for a list of the same tiles, which the blocks loop over.

    The rows per warp must be the same, because rounding differs at the first rows of a warp.
    """
    (tile_columns, tile_rows), block, rows = shape_of(device, precision, ny, nx, live)
    resident = device.properties.multiprocessors * device.parameters("shallow-water.march").listed
    return (min(tile_columns * tile_rows, resident), 1), block, rows
