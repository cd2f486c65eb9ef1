"""RK2 steps on a GPU for small grids between walls or periodic sides: two launches and nothing else.

There a step takes microseconds, and latency is what it spends them on. A thread has a cell, and a block
updates a tile of 32 x TALL cells in four passes: the state of the tile and of two cells around it; face
values; fluxes; the new state. Rows and columns just outside of the tile, whose face values its own fluxes
need, are the extra work of the first two warps. Ghost cells are cells of the domain, mirrored or wrapped on
the way in.

Nobody waits for the verdict on a time step: the first launch of a step looks at what the two launches before
it have found. If that step was allowed, it counts and the buffers change their roles; if it was too long, it is
made again from the same state, shorter.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, early_load, entry, real, switch, word
from eagre.backend.warp import raise_maximum
from eagre.kernels.bits import to_bits
from eagre.kernels.roots import select
from eagre.models.shallow_water.kernels import (
    PRIMITIVE,
    SECOND,
    SOURCES,
    bed_centre,
    depth,
    first_update,
    manning_of,
    over_depth,
    second_update,
    with_sources,
)
from eagre.models.shallow_water.tile_faces import (
    TALL,
    WIDE,
    Place,
    Shared,
    clipped,
    faces_of_block,
    fluxes_of_block,
    tendencies,
)
from eagre.stepping.clock import ATTEMPTED, DT, PARITY, RUNNING, SIZE, parity_after, settle

# Shapes of shared arrays must be constants: with a halo of two, with one face more.
WIDE_4, TALL_4, WIDE_1, TALL_1 = WIDE + 4, TALL + 4, WIDE + 1, TALL + 1
RATES, TURNS = 6, 6
SMALLEST = 2  # cells: what a wall mirrors

WRAP_X = switch("WRAP_X", False)  # whether the sides to the west and east are periodic, else walls
WRAP_Y = switch("WRAP_Y", False)


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
def inner_cell(k, n, wrap):
    """Place of the cell that cell k of a padded row of n cells is a copy of."""
    if k < 2:
        k = k + n if wrap else 3 - k
    elif k >= n + 2:
        k = k - n if wrap else n + n + 3 - k
    return max(2, min(k, n + 1))


@cell
def one_of(pair, parity, j, i):
    """w, hu, hv of cell (j, i) of pair[parity]; both are asked for, so that nobody waits for the parity."""
    even, odd = pair[0], pair[1]
    w, hu, hv = early_load(even, 0, j, i), early_load(even, 1, j, i), early_load(even, 2, j, i)
    other_w, other_hu, other_hv = early_load(odd, 0, j, i), early_load(odd, 1, j, i), early_load(odd, 2, j, i)
    return select(parity, other_w, w), select(parity, other_hu, hu), select(parity, other_hv, hv)


@cell
def load_cell(pair, middle, bed, s, parity, j, i, row, column, p):
    """Cell (j, i) of the padded arrays, perhaps a ghost; its w, u, v go to (row, column) of the tile.

    The first stage begins from pair[parity]. It asks for both before it knows which.
    """
    ny = np.int32(pair.shape[2] - 4)
    nx = np.int32(pair.shape[3] - 4)
    inner_j = inner_cell(j, ny, WRAP_Y)
    inner_i = inner_cell(i, nx, WRAP_X)
    if SECOND:
        w, hu, hv = middle[0, inner_j, inner_i], middle[1, inner_j, inner_i], middle[2, inner_j, inner_i]
    else:
        w, hu, hv = one_of(pair, parity, inner_j, inner_i)
    if not WRAP_X and (i < 2 or i >= nx + 2):
        hu = -hu
    if not WRAP_Y and (j < 2 or j >= ny + 2):
        hv = -hv
    h = depth(w, bed_centre(bed, j, i))
    over_h = over_depth(h, p)
    u = PRIMITIVE(hu, over_h)
    v = PRIMITIVE(hv, over_h)
    s.w[row, column] = w
    s.u[row, column] = u
    s.v[row, column] = v
    return Own(w, hu, hv, h, over_h, u, v)


@cell
def load_halo(pair, middle, bed, s, parity, j0, i0, thread, p):
    """The two rows and columns around the tile, by the first threads of the block; no corners."""
    row = thread // WIDE
    column = thread % WIDE + 2
    if row >= 2:
        row += TALL
    if thread >= 4 * WIDE:
        row = (thread - 4 * WIDE) % TALL + 2
        column = (thread - 4 * WIDE) // TALL
        if column >= 2:
            column += WIDE
    if thread < 4 * (WIDE + TALL):
        j = min(np.int32(j0 + row), np.int32(pair.shape[2] - 1))
        i = min(np.int32(i0 + column), np.int32(pair.shape[3] - 1))
        load_cell(pair, middle, bed, s, parity, j, i, row, column, p)


@cell
def book(clocks, rates, turn, news, first):
    """Judge the step before and announce the next in `news`: one thread a block; the `first` block writes it down."""
    clock = cuda.local.array(SIZE, np.float64)
    for k in range(SIZE):
        clock[k] = clocks[turn % 2, k]
    settle(clock, rates[2 * ((turn + 2) % 3) :])
    news[0] = clock[DT]
    if first:
        clock[ATTEMPTED] = clock[RUNNING]
        for k in range(SIZE):
            clocks[(turn + 1) % 2, k] = clock[k]
        rates[2 * ((turn + 1) % 3)] = 0
        rates[2 * ((turn + 1) % 3) + 1] = 0


@cell
def place(pair):
    """Where this thread is. Warp 0 also looks after the rows beside the tile, warp 1 after the columns."""
    x = np.int32(cuda.threadIdx.x)
    y = np.int32(cuda.threadIdx.y)
    j0 = np.int32(cuda.blockIdx.y * TALL)
    i0 = np.int32(cuda.blockIdx.x * WIDE)
    ny = np.int32(pair.shape[2] - 4)
    nx = np.int32(pair.shape[3] - 4)
    return Place(y, x, clipped(j0 + y + 2, ny), clipped(i0 + x + 2, nx), j0, i0, ny, nx, y == 0, y == 1 and x < TALL)


@cell
def write_cell(pair, middle, manning, sources, own, before, rate_w, rate_u, rate_v, parity, at, p, dt):
    """The new state of a thread's cell, from its tendencies."""
    row, column = np.int32(at.j - 2), np.int32(at.i - 2)
    if SOURCES:
        rate_w, rate_u, rate_v = with_sources(rate_w, rate_u, rate_v, own.h, own.hu, own.hv, sources, row, column)
    g_n2 = manning_of(manning, row, column, p)
    if SECOND:
        w, hu, hv = second_update(
            own.w, own.hu, own.hv, before[0], before[1], before[2],
            own.h, own.over_h, own.u, own.v, rate_w, rate_u, rate_v, g_n2, p, dt,
        )  # fmt: skip
        target = pair[0 if parity else 1]
    else:
        w, hu, hv = first_update(
            own.w, own.hu, own.hv, own.h, own.over_h, own.u, own.v, rate_w, rate_u, rate_v, g_n2, p, dt
        )
        target = middle
    target[0, at.j, at.i] = w
    target[1, at.j, at.i] = hu
    target[2, at.j, at.i] = hv


@cell
def state_of_step(pair, clocks, rates, turn, at):
    """Parity of the state that the step begins from, whether there is a step, and that state of a thread's cell."""
    if SECOND:
        parity = clocks[(turn + 1) % 2, PARITY] > 0.0
        return parity, clocks[(turn + 1) % 2, ATTEMPTED] > 0.0, one_of(pair, parity, at.j, at.i)
    zero = real(0.0)
    parity = parity_after(clocks[turn % 2], rates[2 * ((turn + 2) % 3) :]) > 0.0
    return parity, True, (zero, zero, zero)


@entry
def tile_stage_cuda(pair, middle, bed, manning, sources, rates, p, clocks, turn):
    """A stage of SSP-RK2: the first from pair[parity] into middle, the second from there into the other of the pair.

    Block (32, TALL), grid over tiles. pair : (2, 3, ny + 4, nx + 4). rates : (6,), three pairs of bit
    patterns: one that the step before has left, one for this step, one that it clears for the next.
    clocks : (2, SIZE), one that the first stage reads and one that it leaves. `turn` counts steps modulo 6.
    """
    s = Shared(
        cuda.shared.array((TALL_4, WIDE_4), word),
        cuda.shared.array((TALL_4, WIDE_4), word),
        cuda.shared.array((TALL_4, WIDE_4), word),
        cuda.shared.array((4, TALL, WIDE_1), word),
        cuda.shared.array((4, TALL_1, WIDE), word),
        cuda.shared.array((3, TALL, WIDE_1), word),
        cuda.shared.array((3, TALL_1, WIDE), word),
    )
    news = cuda.shared.array(1, np.float64)
    at = place(pair)
    thread = np.int32(at.y * WIDE + at.x)
    parity, attempted, before = state_of_step(pair, clocks, rates, turn, at)
    own = load_cell(pair, middle, bed, s, parity, at.j, at.i, at.y + 2, at.x + 2, p)
    load_halo(pair, middle, bed, s, parity, at.j0, at.i0, thread, p)
    cuda.syncthreads()
    if thread == WIDE * TALL - 1:
        if SECOND:
            news[0] = clocks[(turn + 1) % 2, DT]
        else:
            book(clocks, rates, turn, news, at.j0 == 0 and at.i0 == 0)
    faces = faces_of_block(s, bed, at, p)
    inflow, rate = fluxes_of_block(s, faces, at, p)
    cuda.syncthreads()
    if at.j0 + at.y < at.ny and at.i0 + at.x < at.nx and attempted:
        r_w, r_u, r_v = tendencies(s, faces, inflow, at, own.h, p)
        dt = real(news[0])
        write_cell(pair, middle, manning, sources, own, before, r_w, r_u, r_v, parity, at, p, dt)
    stage = 1 if SECOND else 0
    raise_maximum(rates[2 * (turn % 3) + stage :], to_bits(rate))


@entry
def settle_cuda(rates, clock):
    """Judge the last step of a round, so that the host finds the clock as it is; one thread."""
    settle(clock, rates)
    rates[0] = 0
    rates[1] = 0


def shape_of(ny: int, nx: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and block of `tile_stage_cuda`."""
    return (-(-nx // WIDE), -(-ny // TALL)), (WIDE, TALL)
