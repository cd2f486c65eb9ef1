"""Stage of a sweep along x or y on a GPU, for the split schemes (compare `row_streaming_cuda`).

Along x the lanes of a warp have neighbouring columns. Along y each lane has an independent column. Either kernel moves
7 values per cell, 10 in a second stage.
"""

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, grid_dependency_wait, launch_dependents, real
from eagre.backend.cuda.warp import anywhere, from_lane_above, raise_maximum
from eagre.backend.device import Device
from eagre.boundaries.edges import NORTH, SOUTH
from eagre.kernels.bits import to_bits
from eagre.kernels.elevation import noise_of
from eagre.kernels.roots import larger, smaller
from eagre.models.shallow_water.kernels import (
    LEAVES,
    PART,
    SECOND,
    TAKES_UP,
    WALLS,
    Stage,
    Water,
    fully_wet,
    seed_of_part,
    updated,
    updated_in_sweep,
    with_terms,
    with_terms_of_sweep,
)
from eagre.models.shallow_water.stages.row_streaming_cuda import (
    ROWS,
    STRIP,
    WIDTH,
    any_flux_x,
    any_flux_y,
    covered_flux_x,
    covered_flux_y,
    prefetch_friction,
    walled_flux_x,
    walled_flux_y,
)
from eagre.models.shallow_water.stages.row_streaming_lanes import (
    PARTS,
    Lane,
    Rows,
    StageArrays,
    State,
    Walls,
    internal_walls,
    load_corners,
    load_state,
    make_row,
    nothing,
    openness,
    uncovered,
    walls_of,
    with_mass,
)
from eagre.stepping.clock import DT, open_gate
from eagre.stepping.substeps import stage_of
from eagre.terms.compose import TERM_FACTORS, TERMS


@cell
def new_state(water, state_n, rates, g_n2, across, forcing, cell_index, stage):
    """Return eta and the normal and tangential momenta of an interior cell after the stage.

    water : `Water` of the sweep; state_n : before the sweep. A stage that only stores its tendencies returns
    the tendencies.
    """
    if PART == LEAVES:
        return rates
    j, i = cell_index
    if TERMS:
        rates = with_terms_of_sweep(rates, water, across, forcing, j, i)
    noise = noise_of(stage.seed, j, i)
    return updated_in_sweep(water, state_n, rates, g_n2, noise, SECOND, stage.p, stage.dt)


@cell
def whole_state(row, state_n, rates, g_n2, forcing, j, i, stage):
    """Return eta, hu, hv of the cell of a row, interior (j, i), after a stage of both directions."""
    if TERMS:
        rates = with_terms(rates, row, forcing, j, i)
    return updated(row, state_n, rates, g_n2, noise_of(stage.seed, j, i), stage.p, stage.dt)


@cell
def left_along_x(left, j, i):
    """Return the tendencies stored by the kernel along x if this kernel adds them."""
    if PART == TAKES_UP:
        return load_state(left, j, i)
    zero = real(0.0)
    return State(zero, zero, zero)


@cell
def before_of(old, row, j, i):
    """Return the state before the sweep: the state of the row in a first stage."""
    if SECOND and PART != LEAVES:
        return load_state(old, j, i)
    return State(row.eta, row.hu, row.hv)


@cell
def store_x(arrays, lane, j, g_n2, row, state_n, flux_and_rise, stage):
    """Write the cell of interior row j after a stage along x; return the maximum rate.

    flux_and_rise : `Flux` through the west face, and the rise of the surface in x
    """
    x, rise = flux_and_rise
    out, i, p = arrays.buffers.out, lane.i, stage.p
    mass, gh = x.mass * lane.walls.west, p.g * row.h
    r_h = p.over_dx * (mass - from_lane_above(mass, 1))
    r_u = p.over_dx * (x.high - from_lane_above(x.low, 1) - gh * rise)
    r_v = p.over_dx * (x.tangential - from_lane_above(x.tangential, 1))
    if lane.store:
        out[0, j + 2, i], out[1, j + 2, i], out[2, j + 2, i] = new_state(
            row, state_n, (r_h, r_u, r_v), g_n2, 1, arrays.forcing, (j, i - 2), stage
        )
    return x.speed * p.over_dx if lane.faced else real(0.0)


@entry
def sweep_x_cuda(buffers, domain, terms, p, clock, phase):
    """Compute one stage along x from q into out.

    One warp per block, grid over tiles of 28 columns and ROWS rows.
    """
    q, bed, edges, faces = buffers.q, domain.bed, domain.edges, domain.walls
    lane = np.uint32(cuda.threadIdx.x)
    ny, nx = np.uint32(q.shape[1] - 4), np.uint32(q.shape[2] - 4)
    launch_dependents()
    grid_dependency_wait()
    column = np.uint32(np.uint32(cuda.blockIdx.x) * STRIP + lane)
    i, j0 = min(column, np.uint32(nx + 3)), np.uint32(cuda.blockIdx.y * ROWS)
    end = min(np.uint32(j0 + ROWS), ny)
    store = lane >= 2 and lane < 30 and column < nx + 2
    faced = lane >= 2 and lane < 31 and column < nx + 3
    state = load_state(q, j0 + 2, i)
    if not open_gate(clock, phase):
        return
    stage = Stage(p, real(clock[DT]), seed_of_part(clock, stage_of(phase), SECOND, p))
    arrays = StageArrays(buffers, domain, (terms, TERM_FACTORS(terms, 0)), ())
    south, north = load_corners(bed, j0 + 2, i), load_corners(bed, j0 + 3, i)
    walls, internal = walls_of(edges, i, j0, ny, nx), internal_walls(faces, j0, ROWS, i)
    fastest = real(0.0)
    for k in range(end - j0):
        j = np.uint32(j0 + k)
        next_corners = load_corners(bed, j + 4, i)
        row = make_row(state, south, north, nothing(), p)
        state_n, g_n2 = before_of(buffers.old, row, j + 2, i), prefetch_friction(domain.manning, j, i, p)
        state = load_state(q, j + 3, i)
        if PARTS:
            walls = walls_of(edges, i, j, ny, nx)
        column_of_lane = Lane(i, walls, internal, store, faced)
        # Each branch contains the complete code of a row: the compiler schedules instructions only within a branch.
        if WALLS and internal.near:
            x, rise = walled_flux_x(faces, j + 2, i, row, south, north, p)
            rate = store_x(arrays, column_of_lane, j, g_n2, row, state_n, (x, rise), stage)
        elif uncovered(row.w, row.w, row.w, south, north, p):
            x, rise = any_flux_x(row, south, north, p)
            rate = store_x(arrays, column_of_lane, j, g_n2, row, state_n, (x, rise), stage)
        else:
            x, rise = covered_flux_x(row, south, north, p)
            rate = store_x(arrays, column_of_lane, j, g_n2, row, state_n, (x, rise), stage)
        fastest, south, north = larger(fastest, rate), north, next_corners
    raise_maximum(buffers.rates, to_bits(fastest))


@cell
def uncovered_y(below, w, above, south, north, p):
    """Return whether a face in y of a row can be dry.

    Lanes do not read their neighbours (see `row_streaming_lanes.uncovered`).
    """
    low = smaller(w, smaller(below, above))
    high = larger(larger(south.west, south.east), larger(north.west, north.east))
    return anywhere(not fully_wet(low - high, w, p))


@cell
def store_y(arrays, lane, j, g_n2, row, states, fluxes, stage):
    """Write the cell of interior row j after a stage along y; return the rate.

    states : before the sweep, and the tendencies along x to add; fluxes : south and north `Flux`, and the rise in y
    """
    state_n, more = states
    south, north, rise = fluxes
    out, i, p = arrays.buffers.out, lane.i, stage.p
    gh = p.g * row.h
    r_h = p.over_dy * (south.mass - north.mass)
    r_v = p.over_dy * (south.high - north.low - gh * rise)
    r_u = p.over_dy * (south.tangential - north.tangential)
    if lane.store and PART == TAKES_UP:
        rates = r_h + more.eta, r_u + more.hu, r_v + more.hv
        out[0, j + 2, i], out[1, j + 2, i], out[2, j + 2, i] = whole_state(
            row, state_n, rates, g_n2, arrays.forcing, j, i - 2, stage
        )
        return north.speed * p.over_dy
    if lane.store:
        water = Water(row.eta, row.hv, row.hu, row.h, row.v, row.u)
        state_n = State(state_n.eta, state_n.hv, state_n.hu)
        out[0, j + 2, i], out[2, j + 2, i], out[1, j + 2, i] = new_state(
            water, state_n, (r_h, r_v, r_u), g_n2, 2, arrays.forcing, (j, i - 2), stage
        )
        return north.speed * p.over_dy
    return real(0.0)


@cell
def update_row_y(arrays, lane, j, rows, stage):
    """Update interior row j and move one row north; return the next `Rows` and the rate."""
    q, i, p, internal = arrays.buffers.q, lane.i, stage.p, lane.internal
    row, above, top_state, south, north, next_north, top_corners, flux, face, rise, shore = rows
    ny = np.uint32(q.shape[1] - 4)
    state_n = before_of(arrays.buffers.old, row, j + 2, i)
    g_n2 = prefetch_friction(arrays.domain.manning, j, i, p)
    more = left_along_x(arrays.buffers.left, j + 2, i)
    ahead_j = min(np.uint32(j + 5), np.uint32(ny + 3))
    prefetched, prefetched_corners = load_state(q, ahead_j, i), load_corners(arrays.domain.bed, ahead_j + 1, i)
    top = make_row(top_state, next_north, top_corners, above, p)
    shore_above = uncovered_y(row.w, above.w, top.w, north, next_north, p)
    passes = lane.walls.north if j + 1 == ny else real(1.0)
    if WALLS and internal.near:
        corners = (south, north, next_north)
        y, next_face, next_rise = walled_flux_y(internal.faces, j + 2, i, (row, above, top), corners, p)
        y = with_mass(y, y.mass * passes)
        rate = store_y(arrays, lane, j, g_n2, row, (state_n, more), (flux, y, rise), stage)
    elif shore or shore_above:
        y, next_face, next_rise = any_flux_y(row, above, top, south, north, next_north, p)
        y = with_mass(y, y.mass * passes)
        rate = store_y(arrays, lane, j, g_n2, row, (state_n, more), (flux, y, rise), stage)
    else:
        y, next_face, next_rise = covered_flux_y(row, above, top, north, next_north, face, p)
        y = with_mass(y, y.mass * passes)
        rate = store_y(arrays, lane, j, g_n2, row, (state_n, more), (flux, y, rise), stage)
    next_rows = Rows(
        above, top, prefetched, north, next_north, top_corners, prefetched_corners, y, next_face, next_rise, shore_above
    )
    return next_rows, rate


@entry
def sweep_y_cuda(buffers, domain, terms, p, clock, phase):
    """Compute one stage along y from q into out; one warp per block, grid over tiles of 32 columns and ROWS rows.

    The loop computes two rows per iteration (see `row_streaming_cuda`); ROWS is even.
    """
    q, bed, edges, faces = buffers.q, domain.bed, domain.edges, domain.walls
    ny, nx = np.uint32(q.shape[1] - 4), np.uint32(q.shape[2] - 4)
    launch_dependents()
    grid_dependency_wait()
    column = np.uint32(np.uint32(cuda.blockIdx.x) * WIDTH + np.uint32(cuda.threadIdx.x))
    interior_column = min(column, np.uint32(nx - 1))
    i, j0, inside = np.uint32(interior_column + 2), np.uint32(cuda.blockIdx.y * ROWS), column < nx
    end = min(np.uint32(j0 + ROWS), ny)
    state_0 = load_state(q, j0, i)
    state_1 = load_state(q, j0 + 1, i)
    state_2 = load_state(q, j0 + 2, i)
    state_3 = load_state(q, j0 + 3, i)
    top_state = load_state(q, j0 + 4, i)
    if not open_gate(clock, phase):
        return
    stage = Stage(p, real(clock[DT]), seed_of_part(clock, stage_of(phase), SECOND, p))
    arrays = StageArrays(buffers, domain, (terms, TERM_FACTORS(terms, 0)), ())
    corners_0, corners_1 = load_corners(bed, j0, i), load_corners(bed, j0 + 1, i)
    south, north = load_corners(bed, j0 + 2, i), load_corners(bed, j0 + 3, i)
    next_north, top_corners = load_corners(bed, j0 + 4, i), load_corners(bed, j0 + 5, i)
    row_0 = make_row(state_0, corners_0, corners_1, nothing(), p)
    row_1 = make_row(state_1, corners_1, south, row_0, p)
    row = make_row(state_2, south, north, row_1, p)
    above = make_row(state_3, north, next_north, row, p)
    internal = internal_walls(faces, j0, ROWS, i)
    if WALLS and internal.near:
        flux, face, rise = walled_flux_y(faces, j0 + 1, i, (row_1, row, above), (corners_1, south, north), p)
    else:
        flux, face, rise = any_flux_y(row_1, row, above, corners_1, south, north, p)
    fastest = flux.speed * p.over_dy if inside else real(0.0)
    open_north = openness(edges, NORTH, interior_column)
    if j0 == 0:
        flux = with_mass(flux, flux.mass * openness(edges, SOUTH, interior_column))
    shore = uncovered_y(row_1.w, row.w, above.w, south, north, p)
    rows = Rows(row, above, top_state, south, north, next_north, top_corners, flux, face, rise, shore)
    walls = Walls(real(1.0), open_north)
    j = j0
    while j < end:
        rows, rate = update_row_y(arrays, Lane(i, walls, internal, inside, False), j, rows, stage)
        fastest = larger(fastest, rate)
        more = inside and j + 1 < end
        rows, rate = update_row_y(arrays, Lane(i, walls, internal, more, False), j + 1, rows, stage)
        fastest = larger(fastest, rate)
        j = np.uint32(j + 2)
    raise_maximum(buffers.rates, to_bits(fastest))


def shape_of(device: Device, ny: int, nx: int, across: int) -> tuple[tuple[int, int], tuple[int, int], int]:
    """Return grid, block and rows per warp for a stage along x (1) or y (2); more rows where the warps fill the GPU."""
    tile_columns, tuning = -(-nx // (STRIP if across == 1 else WIDTH)), device.parameters("shallow-water.sweeps")
    rows, full = tuning.longest, device.properties.multiprocessors * tuning.full
    while rows > tuning.shortest and tile_columns * (-(-ny // rows)) < full:
        rows //= 2
    return (tile_columns, -(-ny // rows)), (WIDTH, 1), rows
