"""RK2 steps on a GPU for small grids between walls or periodic sides: two launches and nothing else.

There a step takes microseconds, and latency is what it spends them on. A thread has a cell, and a block
updates a tile of 32 x TALL cells in four passes: the state of the tile and of two cells around it; face
values; fluxes; the new state. Three more warps have the cells just outside of the tile, whose face values
its own fluxes need, and a last one has the clock. Ghost cells are cells of the domain, mirrored or wrapped
on the way in.

Nobody waits for the verdict on a time step: the first launch of a step looks at what the two launches before
it have found. If that step was allowed, it counts and the buffers change their roles; if it was too long, it is
made again from the same state, shorter. A launch may start before the one before it has ended.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import (
    cell,
    cuda,
    early_load,
    entry,
    flat_store,
    real,
    start_early,
    switch,
    wait_for_previous,
    word,
)
from eagre.backend.warp import raise_maximum
from eagre.kernels.bits import to_bits
from eagre.kernels.roots import select
from eagre.models.shallow_water.kernels import (
    PRIMITIVE,
    SECOND,
    depth,
    manning_of,
    over_depth,
    updated,
    with_terms,
)
from eagre.models.shallow_water.tile_faces import (
    PITCH,
    TALL,
    WIDE,
    WORDS,
    Corners,
    Place,
    U,
    V,
    W,
    bed_east,
    bed_west,
    faces_of_block,
    fluxes_of_block,
    tendencies,
)
from eagre.stepping.clock import ATTEMPTED, DT, PARITY, RUNNING, SIZE, parity_after, rate_of, settle
from eagre.terms.compose import TERM_FACTORS, TERMS

SOUTH, NORTH, BESIDE, CLOCK = TALL, TALL + 1, TALL + 2, TALL + 3  # warps for what is not in the tile
TURNS = 6  # steps after which the three pairs of rates and the two clocks come round again
FOUND, FOLLOWING = SIZE, SIZE + 1  # behind the clock in shared memory: the rates of the step before
CLOCK_WORDS = SIZE + 2
SMALLEST = 2  # cells: what a wall mirrors

WRAP_X = switch("WRAP_X", False)  # whether the sides to the west and east are periodic, else walls
WRAP_Y = switch("WRAP_Y", False)


class Rates(NamedTuple):
    """The largest rates of both stages as bit patterns: (2,) of the step before, of this step and of the next one."""

    before: np.ndarray
    now: np.ndarray  # each stage adds its own
    after: np.ndarray  # cleared


class Clocks(NamedTuple):
    """The clock that a step finds and the one that its first stage leaves."""

    before: np.ndarray
    now: np.ndarray


class Own(NamedTuple):
    """The cell of a thread before the stage."""

    w: float
    hu: float
    hv: float
    h: float
    over_h: float
    u: float
    v: float


@cell
def place(ny, nx):
    """What this thread looks after."""
    x, warp = np.int32(cuda.threadIdx.x), np.int32(cuda.threadIdx.y)
    y, across_x, across_y = warp, warp < TALL, warp < TALL
    if warp == SOUTH:
        y, across_y = np.int32(-1), True
    elif warp >= NORTH:
        y, across_y = np.int32(TALL), warp == NORTH
    if warp == BESIDE:
        y, across_x = np.int32(x % TALL), True
        x = np.int32(-1 if x < TALL else WIDE)
    row, column = np.int32(cuda.blockIdx.y * TALL + y), np.int32(cuda.blockIdx.x * WIDE + x)
    inside = warp < TALL and row < ny and column < nx
    west = across_x and x >= 0 and row < ny and column <= nx
    south = across_y and y >= 0 and row <= ny and column < nx
    j, i = min(np.int32(row + 2), np.int32(ny + 3)), min(np.int32(column + 2), np.int32(nx + 3))
    k = np.uint32((y + 2) * PITCH + x + 2)
    return Place(k, j, i, row, column, across_x, across_y, west, south, inside)


@cell
def inner_cell(k, n, wrap):
    """Place of the cell that cell k of a padded row of n cells is a copy of."""
    if k < 2:
        k = k + n if wrap else 3 - k
    elif k >= n + 2:
        k = k - n if wrap else n + n + 3 - k
    return np.uint32(max(2, min(k, n + 1)))


@cell
def one_of(pair, parity, j, i):
    """w, hu, hv of cell (j, i) of pair[parity]; both are asked for, so that nobody waits for the parity."""
    even, odd = pair[0], pair[1]
    w, hu, hv = early_load(even, 0, j, i), early_load(even, 1, j, i), early_load(even, 2, j, i)
    other_w, other_hu, other_hv = early_load(odd, 0, j, i), early_load(odd, 1, j, i), early_load(odd, 2, j, i)
    return select(parity, other_w, w), select(parity, other_hu, hu), select(parity, other_hv, hv)


@cell
def state_of(pair, middle, parity, j, i, ny, nx):
    """State that the stage begins from in cell (j, i) of the padded arrays, perhaps a ghost."""
    inner_j, inner_i = inner_cell(j, ny, WRAP_Y), inner_cell(i, nx, WRAP_X)
    if SECOND:
        w, hu, hv = middle[0, inner_j, inner_i], middle[1, inner_j, inner_i], middle[2, inner_j, inner_i]
    else:
        w, hu, hv = one_of(pair, parity, inner_j, inner_i)
    if not WRAP_X and (i < 2 or i >= nx + 2):
        hu = -hu
    if not WRAP_Y and (j < 2 or j >= ny + 2):
        hv = -hv
    return w, hu, hv


@cell
def corners(bed, j, i):
    """Bed at the corners of cell (j, i)."""
    j, j_1, i, i_1 = np.uint32(j), np.uint32(j + 1), np.uint32(i), np.uint32(i + 1)
    return Corners(bed[j, i], bed[j, i_1], bed[j_1, i], bed[j_1, i_1])


@cell
def keep_state(s, k, state, z, p):
    """Leave surface and velocity of cell k of the tile, between corners z, in shared memory."""
    w, hu, hv = state
    h = depth(w, real(0.5) * (bed_west(z) + bed_east(z)))
    over_h = over_depth(h, p)
    u, v = PRIMITIVE(hu, over_h), PRIMITIVE(hv, over_h)
    flat_store(s, k, W, w)
    flat_store(s, k, U, u)
    flat_store(s, k, V, v)
    return Own(w, hu, hv, h, over_h, u, v)


@cell
def load_tile(pair, middle, bed, s, z, parity, at, ny, nx, p):
    """State of this thread's cell, between corners z, and beside the tile that of the one beyond it; the former."""
    state = state_of(pair, middle, parity, at.j, at.i, ny, nx)
    warp = np.int32(cuda.threadIdx.y)
    if SOUTH <= warp <= BESIDE:
        dj, di = np.int32(0), np.int32(0)
        if warp == BESIDE:
            di = np.int32(-1 if cuda.threadIdx.x < TALL else 1)
        else:
            dj = np.int32(-1 if warp == SOUTH else 1)
        j, i = min(np.int32(at.j + dj), np.int32(ny + 3)), min(np.int32(at.i + di), np.int32(nx + 3))
        beyond = state_of(pair, middle, parity, j, i, ny, nx)
        keep_state(s, np.uint32(at.k + dj * PITCH + di), beyond, corners(bed, j, i), p)
    return keep_state(s, at.k, state, z, p)


@cell
def load_clock(shared, clock, found):
    """Clock and rates into shared memory, a word a lane."""
    lane = cuda.threadIdx.x
    if lane < SIZE:
        shared[lane] = clock[lane]
    elif lane < CLOCK_WORDS:
        shared[lane] = rate_of(found[lane - SIZE])


@cell
def book(clock):
    """Judge the step before and announce the next; one thread."""
    settle(clock, clock[FOUND], clock[FOLLOWING])
    clock[ATTEMPTED] = clock[RUNNING]


@cell
def write_clock(shared, clock, rates):
    """Leave the clock for the second stage, and clear the rates that the next step adds to."""
    lane = cuda.threadIdx.x
    if lane < SIZE:
        clock[lane] = shared[lane]
    elif lane < CLOCK_WORDS:
        rates[lane - SIZE] = 0


@cell
def write_cell(pair, middle, manning, terms, own, before, r_w, r_u, r_v, parity, at, p, dt):
    """The new state of a thread's cell, from its tendencies."""
    row, column = np.uint32(at.row), np.uint32(at.column)
    if TERMS:
        forcing = (terms, TERM_FACTORS(terms, 0))
        r_w, r_u, r_v = with_terms(r_w, r_u, r_v, own.h, own.hu, own.hv, forcing, row, column)
    g_n2 = manning_of(manning, row, column, p)
    w, hu, hv = updated(
        own.w, own.hu, own.hv, before[0], before[1], before[2],
        own.h, own.over_h, own.u, own.v, r_w, r_u, r_v, g_n2, p, dt,
    )  # fmt: skip
    target = pair[0 if parity else 1] if SECOND else middle
    j, i = np.uint32(at.j), np.uint32(at.i)
    target[0, j, i] = w
    target[1, j, i] = hu
    target[2, j, i] = hv


@cell
def state_of_step(pair, found, clocks, at):
    """Parity of the state that the step begins from, whether there is a step, and that state of a thread's cell."""
    if SECOND:
        now = clocks.now
        parity = now[PARITY] > 0.0
        return parity, now[ATTEMPTED] > 0.0, one_of(pair, parity, np.uint32(at.j), np.uint32(at.i))
    zero = real(0.0)
    return parity_after(clocks.before, rate_of(found[0])) > 0.0, True, (zero, zero, zero)


@entry
def tile_stage_cuda(pair, middle, bed, manning, terms, rates, p, clocks):
    """A stage of SSP-RK2: the first from pair[parity] into middle, the second from there into the other of the pair.

    Block (32, TALL + 4), grid over tiles. pair : (2, 3, ny + 4, nx + 4).
    """
    s = cuda.shared.array(0, word)
    clock = cuda.shared.array(CLOCK_WORDS, np.float64)
    top = cuda.shared.array(1, rates.now.dtype)
    ny, nx = np.int32(pair.shape[2] - 4), np.int32(pair.shape[3] - 4)
    at = place(ny, nx)
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    start_early()
    around = corners(bed, at.j, at.i)
    wait_for_previous()
    if warp == CLOCK:
        load_clock(clock, clocks.now if SECOND else clocks.before, rates.before)
        top[0] = 0
    parity, attempted, before = state_of_step(pair, rates.before, clocks, at)
    own = load_tile(pair, middle, bed, s, around, parity, at, ny, nx, p)
    cuda.syncthreads()
    if not SECOND and warp == CLOCK and lane == 0:
        book(clock)
    x, y, shore = faces_of_block(s, around, at, p)
    west, south, rate = fluxes_of_block(s, x, y, shore, at, p)
    raise_maximum(top, to_bits(rate))
    cuda.syncthreads()
    if at.inside and attempted:
        r_w, r_u, r_v = tendencies(s, at.k, x, y, west, south, own.h, p)
        dt = real(clock[DT])
        write_cell(pair, middle, manning, terms, own, before, r_w, r_u, r_v, parity, at, p, dt)
    if warp == CLOCK:
        if lane == 0:
            cuda.atomic.max(rates.now, 1 if SECOND else 0, top[0])
        if not SECOND and cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
            write_clock(clock, clocks.now, rates.after)


@entry
def settle_cuda(rates, clock):
    """Judge the last step of a round, so that the host finds the clock as it is; one thread."""
    settle(clock, rate_of(rates[0]), rate_of(rates[1]))
    rates[0] = 0
    rates[1] = 0


def turn_of(turn: int, rates: Any, clocks: Any) -> tuple[Rates, Clocks]:
    """What step `turn` of a round finds and leaves; rates : (3, 2), clocks : (2, SIZE)."""
    return (
        Rates(rates[(turn + 2) % 3], rates[turn % 3], rates[(turn + 1) % 3]),
        Clocks(clocks[turn % 2], clocks[(turn + 1) % 2]),
    )


def shape_of(ny: int, nx: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and block of `tile_stage_cuda`."""
    return (-(-nx // WIDE), -(-ny // TALL)), (WIDE, TALL + 4)


def shared_bytes(itemsize: int) -> int:
    """Dynamic shared memory of a block."""
    return WORDS * itemsize
