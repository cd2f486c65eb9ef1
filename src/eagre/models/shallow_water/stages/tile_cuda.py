"""RK2 steps for small grids on a GPU, with two launches per step.

On small grids a step takes microseconds and is limited by latency. Each thread has one cell, and a block updates a tile
of 32 x TALL cells in four passes: state of the tile and of two cells around it; face values; fluxes; new state. Four
additional warps have the cells adjacent to the tile, whose face values its fluxes require. A last warp has the clock
and the series. Ghost cells are computed while the state is loaded (`tile_sides`).

The kernels do not wait for the acceptance of a time step: the first launch of a step evaluates the rates of the two
previous launches. If the step was within its limit, it counts and the buffers change roles; otherwise it is repeated
from the same state with a shorter time step. A launch can start before the previous launch has ended. Every block
evaluates the clock and the series itself, with bitwise-identical results, so that all blocks can write them to the same
location.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    grid_dependency_wait,
    launch_dependents,
    real,
    switch,
    word,
)
from eagre.backend.cuda.warp import raise_maximum
from eagre.boundaries.edges import EAST, NORTH, SOUTH, WEST
from eagre.boundaries.ghosts import SERIES
from eagre.kernels.bits import to_bits
from eagre.kernels.elevation import depth, noise_of, surface
from eagre.kernels.maps import TAKEN, MapArrays, MapState, held, moment_of, take_up
from eagre.models.shallow_water.kernels import (
    PRIMITIVE,
    SECOND,
    Stage,
    manning_of,
    over_depth,
    seed_of_stage,
    updated,
    with_terms,
)
from eagre.models.shallow_water.sampling.water_balance import SOURCES, accumulate_volume
from eagre.models.shallow_water.stages.tile_faces import (
    FLUX_X,
    FLUX_Y,
    PITCH,
    TALL,
    WIDE,
    Corners,
    ThreadCell,
    U,
    V,
    W,
    bed_east,
    bed_west,
    faces_of_cell,
    fluxes_of_cell,
    shared_load,
    shared_store,
    tendencies,
)
from eagre.models.shallow_water.stages.tile_sides import (
    WRAP_X,
    WRAP_Y,
    Source,
    accumulate_face_volume,
    ghost_data,
    is_closed_face,
    one_of,
    states_of,
    store_face_rate,
)
from eagre.stepping.clock import (
    ATTEMPTED,
    DT,
    EITHER,
    PARITY,
    RUNNING,
    SIZE,
    T,
    check_attempt,
    parity_after,
    rate_of,
    series_value,
    start_batch,
)
from eagre.terms.compose import TERM_FACTORS, TERMS

ABOVE, BELOW, BEFORE, BEHIND, CLOCK = 0, 1, 2, 3, 4  # warps after those of the tile: adjacent cells, and the clock
WARPS_AROUND = 5
STEP_PERIOD = 6  # period of the three pairs of rates and the two clocks, in steps
RATE_STAGE_1, RATE_STAGE_2 = SIZE, SIZE + 1  # rates of the previous step, after the clock in shared memory
CLOCK_WORDS = SIZE + 2
KEEPS_BALANCE = switch("KEEPS_BALANCE", False)  # whether the launches accumulate the water balance


class Fields(NamedTuple):
    """Arrays of the run: pair (2, 3, ny + 4, nx + 4), q_stage (3, ny + 4, nx + 4), bed at corners, g n^2, maps."""

    pair: np.ndarray
    q_stage: np.ndarray
    bed: np.ndarray
    manning: np.ndarray
    maps: MapArrays


class Steering(NamedTuple):
    """Clocks, and the maximum rates of both stages of three steps as bit patterns, (2,) each."""

    clock_before: np.ndarray  # before the step
    clock_now: np.ndarray  # after the first stage
    rates_before: np.ndarray  # of the previous step
    rates_now: np.ndarray  # updated by each stage
    rates_after: np.ndarray  # of the next step, cleared here


class CellState(NamedTuple):
    """State of the cell of a thread before the stage."""

    eta: float
    hu: float
    hv: float
    h: float
    over_h: float
    u: float
    v: float


@cell
def thread_cell(sides, ny, nx):
    """Return the cell and the faces that this thread computes."""
    x, warp = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    around = warp - TALL
    y, in_tile = warp, around < 0
    if around == ABOVE:
        y = np.int32(-1)
    elif around >= 0:
        y = np.int32(TALL)
    if around == BEFORE or around == BEHIND:
        y = min(x, np.int32(TALL - 1))
        x = np.int32(-1 if around == BEFORE else WIDE)
    across_x = in_tile or around == BEFORE or around == BEHIND
    across_y = in_tile or around == ABOVE or around == BELOW
    flux_x, flux_y = in_tile or around == BEHIND, in_tile or around == BELOW
    row, column = np.int32(cuda.blockIdx.y * TALL + y), np.int32(cuda.blockIdx.x * WIDE + x)
    inside = in_tile and row < ny and column < nx
    west = flux_x and row < ny and column <= nx
    south = flux_y and row <= ny and column < nx
    j, i = min(np.int32(row + 2), np.int32(ny + 3)), min(np.int32(column + 2), np.int32(nx + 3))
    k = np.uint32((y + 2) * PITCH + x + 2)
    closed_x = west and is_closed_face(sides, WEST, EAST, row, column == 0, column == nx, WRAP_X)
    closed_y = south and is_closed_face(sides, SOUTH, NORTH, column, row == 0, row == ny, WRAP_Y)
    return ThreadCell(k, j, i, row, column, across_x, across_y, flux_x, flux_y, west, south, inside, closed_x, closed_y)


@cell
def corners(bed, j, i):
    """Bed at the corners of cell (j, i)."""
    j, j_1, i, i_1 = np.uint32(j), np.uint32(j + 1), np.uint32(i), np.uint32(i + 1)
    return Corners(bed[j, i], bed[j, i_1], bed[j_1, i], bed[j_1, i_1])


@cell
def keep_state(s, k, state, z, p):
    """Store surface and velocity of cell k of the tile in shared memory; z : bed corners of the cell."""
    eta, hu, hv = state
    b = real(0.5) * (bed_west(z) + bed_east(z))
    h = depth(eta, b)
    over_h = over_depth(h, p)
    u, v = PRIMITIVE(hu, over_h), PRIMITIVE(hv, over_h)
    shared_store(s, k, W, surface(eta, b))
    shared_store(s, k, U, u)
    shared_store(s, k, V, v)
    return CellState(eta, hu, hv, h, over_h, u, v)


@cell
def beyond(point, ny, nx):
    """Return the offset in y and x, and the index, of the cell beyond the cell of a thread around the tile."""
    around = np.int32(cuda.threadIdx.y) - TALL
    dj, di = np.int32(0), np.int32(0)
    if around == ABOVE or around == BELOW:
        dj = np.int32(-1 if around == ABOVE else 1)
    elif around == BEFORE or around == BEHIND:
        di = np.int32(-1 if around == BEFORE else 1)
    return dj, di, min(np.int32(point.j + dj), np.int32(ny + 3)), min(np.int32(point.i + di), np.int32(nx + 3))


@cell
def load_tile(source, sides, s, bed, ghost, z, point, p):
    """Load the state of the cell of this thread and, next to the tile, of the cell beyond; return the former.

    z : bed corners of the cell.
    """
    dj, di, j, i = beyond(point, source.q_stage.shape[1] - 4, source.q_stage.shape[2] - 4)
    state, far_state = states_of(source, sides, ghost, point.j, point.i, j, i, p)
    if cuda.threadIdx.y >= TALL:
        keep_state(s, np.uint32(point.k + dj * PITCH + di), far_state, corners(bed, j, i), p)
    return keep_state(s, point.k, state, z, p)


@cell
def load_clock(shared, clock, rates):
    """Load the clock and the rates to shared memory, one value per lane."""
    lane = cuda.threadIdx.x
    if lane < SIZE:
        shared[lane] = clock[lane]
    elif lane < CLOCK_WORDS:
        shared[lane] = rate_of(rates[lane - SIZE])


@cell
def advance_clock(clock):
    """Evaluate the previous step and start the next; one thread."""
    check_attempt(clock, clock[RATE_STAGE_1], clock[RATE_STAGE_2])
    clock[ATTEMPTED] = clock[RUNNING]


@cell
def write_clock(shared, clock, rates):
    """Store the clock for the second stage, and clear the rates that the next step updates."""
    lane = cuda.threadIdx.x
    if lane < SIZE:
        clock[lane] = shared[lane]
    elif lane < CLOCK_WORDS:
        rates[lane - SIZE] = 0


@cell
def evaluate(sides, series, forcing, clock):
    """Evaluate the series for the next step: boundary values for the buffer that it fills, factors of the source terms.

    Every block needs the factors and writes the same values. The boundary values are for the following stage.
    """
    next_buffer = 0 if clock[PARITY] > 0.0 else 1
    first_block = cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0
    for k in range(np.int32(cuda.threadIdx.x), series.starts.shape[0] - 1, 32):
        slot = series.slots[k]
        if series.spread[k] == 1:
            forcing[slot] = series_value(series, k, clock[T], clock[DT])
        elif first_block:
            sides.values[next_buffer, slot] = series_value(series, k, clock[T], clock[DT])


@cell
def accumulate_block(sides, clock, ny, nx):
    """Accumulate the volumes of the previous step through the open faces of the block."""
    lane, time = np.int32(cuda.threadIdx.x), clock[T]
    row, column = np.int32(cuda.blockIdx.y * TALL + lane), np.int32(cuda.blockIdx.x * WIDE + lane)
    if lane < TALL and row < ny:
        if cuda.blockIdx.x == 0:
            accumulate_face_volume(sides, WEST, row, time)
        if cuda.blockIdx.x == cuda.gridDim.x - 1:
            accumulate_face_volume(sides, EAST, row, time)
    if column < nx:
        if cuda.blockIdx.y == 0:
            accumulate_face_volume(sides, SOUTH, column, time)
        if cuda.blockIdx.y == cuda.gridDim.y - 1:
            accumulate_face_volume(sides, NORTH, column, time)


@cell
def store_block_rates(s, sides, forcing, clock, ny, nx):
    """Store the rates of this stage through the open faces of the block; accumulate the rain.

    The rain is evaluated before a barrier.
    """
    lane = np.int32(cuda.threadIdx.x)
    row, column = np.int32(cuda.blockIdx.y * TALL + lane), np.int32(cuda.blockIdx.x * WIDE + lane)
    low = np.uint32(2 * PITCH + 2)
    if lane < TALL and row < ny:
        k = np.uint32(low + lane * PITCH)
        if cuda.blockIdx.x == 0:
            store_face_rate(sides, WEST, row, shared_load(s, k, FLUX_X, 0))
        if cuda.blockIdx.x == cuda.gridDim.x - 1:
            last = np.uint32(nx - cuda.blockIdx.x * WIDE)
            store_face_rate(sides, EAST, row, shared_load(s, np.uint32(k + last), FLUX_X, 0))
    if column < nx:
        k = np.uint32(low + lane)
        if cuda.blockIdx.y == 0:
            store_face_rate(sides, SOUTH, column, shared_load(s, k, FLUX_Y, 0))
        if cuda.blockIdx.y == cuda.gridDim.y - 1:
            last = np.uint32(ny - cuda.blockIdx.y * TALL)
            store_face_rate(sides, NORTH, column, shared_load(s, np.uint32(k + last * PITCH), FLUX_Y, 0))
    if not SECOND and lane < SOURCES and cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
        row = sides.budget.shape[0] - SOURCES + lane
        accumulate_volume(sides.budget, row, forcing[sides.values.shape[1] + lane], clock[T])


@cell
def write_cell(fields, terms, state, state_n, rates, parity, point, stage):
    """Write the new state of the cell of a thread, from its tendencies."""
    row, column = np.uint32(point.row), np.uint32(point.column)
    if TERMS:
        rates = with_terms(rates, state, (terms, TERM_FACTORS(terms, 0)), row, column)
    g_n2, noise = manning_of(fields.manning, row, column, stage.p), noise_of(stage.seed, row, column)
    eta, hu, hv = updated(state, state_n, rates, g_n2, noise, stage.p, stage.dt)
    target = fields.pair[0 if parity else 1] if SECOND else fields.q_stage
    j, i = np.uint32(point.j), np.uint32(point.i)
    target[0, j, i] = eta
    target[1, j, i] = hu
    target[2, j, i] = hv


@cell
def accumulate_maps(maps, state, point, time, p):
    """Accumulate the state of the cell of a thread before the step, at a time, s, in the maps of the run."""
    j, i = np.uint32(point.row), np.uint32(point.column)
    u, v = state.over_h * state.hu, state.over_h * state.hv
    map_state = MapState(state.eta, state.h, u, v, state.hu, state.hv)
    take_up(maps, j, i, map_state, held(maps, j, i), moment_of(maps, time))


@cell
def state_of_step(pair, steering, point):
    """Return the parity of the initial state of the step, and in the second stage the initial state of the cell."""
    if SECOND:
        parity = steering.clock_now[PARITY] > 0.0
        return parity, one_of(pair, parity, np.uint32(point.j), np.uint32(point.i))
    zero = real(0.0)
    return parity_after(steering.clock_before, rate_of(steering.rates_before[0])) > 0.0, (zero, zero, zero)


@cell
def clock_warp(s, clock, top, forcing, sides, series, steering, shape):
    """Run the last warp: clock, series and water balance of the block; shape : (ny, nx)."""
    lane, ny, nx = cuda.threadIdx.x, shape[0], shape[1]
    load_clock(clock, steering.clock_now if SECOND else steering.clock_before, steering.rates_before)
    top[0] = 0
    cuda.syncthreads()
    if not SECOND and lane == 0:
        advance_clock(clock)
    cuda.syncthreads()
    attempted = clock[ATTEMPTED] > 0.0
    if SERIES and not SECOND and attempted:
        evaluate(sides, series, forcing, clock)
    if KEEPS_BALANCE and not SECOND and attempted:
        accumulate_block(sides, clock, ny, nx)
    cuda.syncthreads()
    if KEEPS_BALANCE and attempted:
        store_block_rates(s, sides, forcing, clock, ny, nx)
    if lane == 0:
        cuda.atomic.max(steering.rates_now, 1 if SECOND else 0, top[0])
    if not SECOND and cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
        write_clock(clock, steering.clock_now, steering.rates_after)


@entry
def tile_stage_cuda(fields, terms, forcing, sides, series, p, steering):
    """Compute a stage of SSP-RK2: the first from pair[parity] to q_stage, the second to the other buffer of the pair.

    Block (32, TALL + 5), grid over tiles.
    """
    s = cuda.shared.array(0, word)
    clock = cuda.shared.array(CLOCK_WORDS, np.float64)
    top = cuda.shared.array(1, steering.rates_now.dtype)
    ny, nx = np.int32(fields.pair.shape[2] - 4), np.int32(fields.pair.shape[3] - 4)
    launch_dependents()
    if cuda.threadIdx.y == TALL + CLOCK:
        grid_dependency_wait()
        clock_warp(s, clock, top, forcing, sides, series, steering, (ny, nx))
        return
    point = thread_cell(sides, ny, nx)
    around = corners(fields.bed, point.j, point.i)
    _, _, far_j, far_i = beyond(point, ny, nx)
    ghost = ghost_data(sides, point.j, point.i, far_j, far_i, ny, nx)
    grid_dependency_wait()
    parity, state_n = state_of_step(fields.pair, steering, point)
    source = Source(fields.pair, fields.q_stage, parity)
    state = load_tile(source, sides, s, fields.bed, ghost, around, point, p)
    cuda.syncthreads()
    x, y = faces_of_cell(s, state.h, around, point, p)
    cuda.syncthreads()
    west, south, rate = fluxes_of_cell(s, x, y, point, p)
    raise_maximum(top, to_bits(rate))
    cuda.syncthreads()
    if point.inside and clock[ATTEMPTED] > 0.0:
        rates = tendencies(s, point.k, x, y, west, south, state.h, p)
        if TAKEN:
            accumulate_maps(fields.maps, state, point, clock[T], p)
        stage = Stage(p, real(clock[DT]), seed_of_stage(clock, SECOND, p))
        write_cell(fields, terms, state, state_n, rates, parity, point, stage)


@entry
def conclude_cuda(rates, clock, values, forcing):
    """Evaluate the last step of a batch, so that the host reads the final clock and forcing; one thread."""
    launch_dependents()
    grid_dependency_wait()
    check_attempt(clock, rate_of(rates[0]), rate_of(rates[1]))
    rates[0] = rates[1] = 0
    for segment in range(values.shape[1]):
        forcing[segment] = values[1 if clock[PARITY] > 0.0 else 0, segment]


@entry
def begin_cuda(clock, rates):
    """Start a batch of steps; one thread."""
    start_batch(clock, rates, EITHER)


def steering_of(step: int, rates: Any, clocks: Any) -> Steering:
    """Return the clocks and rates that step `step` of a cycle reads and writes; rates : (3, 2), clocks : (2, SIZE)."""
    return Steering(
        clocks[step % 2], clocks[(step + 1) % 2], rates[(step + 2) % 3], rates[step % 3], rates[(step + 1) % 3]
    )


def shape_of(ny: int, nx: int, tall: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return the grid and block of `tile_stage_cuda` for tiles of `tall` rows."""
    return (-(-nx // WIDE), -(-ny // tall)), (WIDE, tall + WARPS_AROUND)
