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

from eagre.backend.cells import cell, cuda, entry, real, switch, word
from eagre.backend.warp import raise_maximum
from eagre.kernels.bits import to_bits
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, smaller
from eagre.models.shallow_water.kernels import (
    COVERED_FACES,
    FACES,
    PRIMITIVE,
    SECOND,
    SOURCES,
    bed_centre,
    bed_south,
    bed_west,
    covered,
    depth,
    first_update,
    manning_of,
    over_depth,
    second_update,
    with_sources,
)
from eagre.stepping.clock import ATTEMPTED, DT, PARITY, RUNNING, SIZE, parity_after, settle

WIDE = 32
TALL = 8
# Shapes of shared arrays must be constants: with a halo of two, with one face more.
WIDE_4, TALL_4, WIDE_1, TALL_1 = WIDE + 4, TALL + 4, WIDE + 1, TALL + 1
RATES, TURNS = 6, 6
SMALLEST = 2  # cells: what a wall mirrors

WRAP_X = switch("WRAP_X", False)  # whether the sides to the west and east are periodic, else walls
WRAP_Y = switch("WRAP_Y", False)


class Shared(NamedTuple):
    """What the threads of a block tell each other; a cell (j, i) of the tile is at (j + 2, i + 2) of the first three."""

    w: np.ndarray  # (TALL + 4, WIDE + 4)
    u: np.ndarray
    v: np.ndarray
    east: np.ndarray  # w, z, u, v at the east faces of columns -1 .. WIDE - 1: (4, TALL, WIDE + 1)
    north: np.ndarray  # w, z, v, u at the north faces of rows -1 .. TALL - 1: (4, TALL + 1, WIDE)
    flux_x: np.ndarray  # mass, normal as the cell to the west sees it, tangential: (3, TALL, WIDE + 1)
    flux_y: np.ndarray  # the same to the south: (3, TALL + 1, WIDE)


class Faces(NamedTuple):
    """Face values of a cell in one direction: its low face, then its high one."""

    w_l: float
    z_l: float
    n_l: float  # velocity across the face
    t_l: float  # and along it
    w_h: float
    z_h: float
    n_h: float
    t_h: float


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
        w = pair[0, 0, inner_j, inner_i]
        hu = pair[0, 1, inner_j, inner_i]
        hv = pair[0, 2, inner_j, inner_i]
        other_w, other_hu, other_hv = pair[1, 0, inner_j, inner_i], pair[1, 1, inner_j, inner_i], pair[1, 2, inner_j, inner_i]
        w = other_w if parity else w
        hu = other_hu if parity else hu
        hv = other_hv if parity else hv
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
def covered_x(s, bed, j, i, row, column, p):
    """Faces in x of cell (j, i), at (row, column) of the tile, if water covers them; and whether it does."""
    w, u, v = s.w[row, column], s.u[row, column], s.v[row, column]
    z_l = bed_west(bed, j, i)
    z_h = bed_west(bed, j, i + 1)
    w_l, u_l, v_l, w_h, u_h, v_h = COVERED_FACES(
        w, scaled_difference(s.w[row, column - 1], w, p), scaled_difference(w, s.w[row, column + 1], p),
        u, scaled_difference(s.u[row, column - 1], u, p), scaled_difference(u, s.u[row, column + 1], p),
        v, scaled_difference(s.v[row, column - 1], v, p), scaled_difference(v, s.v[row, column + 1], p),
        z_l, z_h, p,
    )  # fmt: skip
    return Faces(w_l, z_l, u_l, v_l, w_h, z_h, u_h, v_h), covered(smaller(w_l - z_l, w_h - z_h), w, p)


@cell
def covered_y(s, bed, j, i, row, column, p):
    """What `covered_x` returns, in y."""
    w, u, v = s.w[row, column], s.u[row, column], s.v[row, column]
    z_l = bed_south(bed, j, i)
    z_h = bed_south(bed, j + 1, i)
    w_l, v_l, u_l, w_h, v_h, u_h = COVERED_FACES(
        w, scaled_difference(s.w[row - 1, column], w, p), scaled_difference(w, s.w[row + 1, column], p),
        v, scaled_difference(s.v[row - 1, column], v, p), scaled_difference(v, s.v[row + 1, column], p),
        u, scaled_difference(s.u[row - 1, column], u, p), scaled_difference(u, s.u[row + 1, column], p),
        z_l, z_h, p,
    )  # fmt: skip
    return Faces(w_l, z_l, v_l, u_l, w_h, z_h, v_h, u_h), covered(smaller(w_l - z_l, w_h - z_h), w, p)


@cell
def any_x(s, bed, j, i, row, column, p):
    """Faces in x of any cell."""
    w, u, v = s.w[row, column], s.u[row, column], s.v[row, column]
    z_l = bed_west(bed, j, i)
    z_h = bed_west(bed, j, i + 1)
    w_l, z_l, u_l, v_l, w_h, z_h, u_h, v_h = FACES(
        w, scaled_difference(s.w[row, column - 1], w, p), scaled_difference(w, s.w[row, column + 1], p),
        u, scaled_difference(s.u[row, column - 1], u, p), scaled_difference(u, s.u[row, column + 1], p),
        v, scaled_difference(s.v[row, column - 1], v, p), scaled_difference(v, s.v[row, column + 1], p),
        depth(w, real(0.5) * (z_l + z_h)), z_l, z_h, p,
    )  # fmt: skip
    return Faces(w_l, z_l, u_l, v_l, w_h, z_h, u_h, v_h)


@cell
def any_y(s, bed, j, i, row, column, p):
    """Faces in y of any cell."""
    w, u, v = s.w[row, column], s.u[row, column], s.v[row, column]
    z_l = bed_south(bed, j, i)
    z_h = bed_south(bed, j + 1, i)
    w_l, z_l, v_l, u_l, w_h, z_h, v_h, u_h = FACES(
        w, scaled_difference(s.w[row - 1, column], w, p), scaled_difference(w, s.w[row + 1, column], p),
        v, scaled_difference(s.v[row - 1, column], v, p), scaled_difference(v, s.v[row + 1, column], p),
        u, scaled_difference(s.u[row - 1, column], u, p), scaled_difference(u, s.u[row + 1, column], p),
        depth(w, real(0.5) * (z_l + z_h)), z_l, z_h, p,
    )  # fmt: skip
    return Faces(w_l, z_l, v_l, u_l, w_h, z_h, v_h, u_h)


@cell
def tell(target, row, column, faces):
    """Leave the high face of a cell for the neighbour beyond it."""
    target[0, row, column] = faces.w_h
    target[1, row, column] = faces.z_h
    target[2, row, column] = faces.n_h
    target[3, row, column] = faces.t_h


@cell
def flux(told, row, column, faces, shore, out, out_row, out_column, p):
    """Flux through the low face of a cell, whose other side is at (row, column) of `told`; to `out` and returned.

    shore : whether any face of the block is not under water.
    """
    if shore:
        mass, low, high, along, speed = central_upwind(
            told[0, row, column], told[1, row, column], told[2, row, column], told[3, row, column],
            faces.w_l, faces.z_l, faces.n_l, faces.t_l, p.g,
        )  # fmt: skip
    else:
        z = faces.z_l
        mass, low, high, along, speed = covered_flux(
            told[0, row, column] - z, told[2, row, column], told[3, row, column],
            faces.w_l - z, faces.n_l, faces.t_l, p.g,
        )  # fmt: skip
    out[0, out_row, out_column] = mass
    out[1, out_row, out_column] = low
    out[2, out_row, out_column] = along
    return mass, high, along, speed


@cell
def book(clocks, rates, turn, news, first):
    """Judge the step before and announce the next one in `news`; one thread a block, and `first` leaves it in writing."""
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
    x = np.int32(cuda.threadIdx.x)
    y = np.int32(cuda.threadIdx.y)
    thread = np.int32(y * WIDE + x)
    j0 = np.int32(cuda.blockIdx.y * TALL)
    i0 = np.int32(cuda.blockIdx.x * WIDE)
    ny = np.int32(pair.shape[2] - 4)
    nx = np.int32(pair.shape[3] - 4)
    j = min(np.int32(j0 + y + 2), np.int32(ny + 3))
    i = min(np.int32(i0 + x + 2), np.int32(nx + 3))
    if SECOND:
        parity = clocks[(turn + 1) % 2, PARITY] > 0.0
        attempted = clocks[(turn + 1) % 2, ATTEMPTED] > 0.0
        before_w, before_hu, before_hv = pair[0, 0, j, i], pair[0, 1, j, i], pair[0, 2, j, i]
        other_w, other_hu, other_hv = pair[1, 0, j, i], pair[1, 1, j, i], pair[1, 2, j, i]
        before_w = other_w if parity else before_w
        before_hu = other_hu if parity else before_hu
        before_hv = other_hv if parity else before_hv
    else:
        parity = parity_after(clocks[turn % 2], rates[2 * ((turn + 2) % 3) :]) > 0.0
        attempted = True
    own = load_cell(pair, middle, bed, s, parity, j, i, y + 2, x + 2, p)
    load_halo(pair, middle, bed, s, parity, j0, i0, thread, p)
    cuda.syncthreads()
    if thread == WIDE * TALL - 1:
        if SECOND:
            news[0] = clocks[(turn + 1) % 2, DT]
        else:
            book(clocks, rates, turn, news, j0 == 0 and i0 == 0)

    # The extra cells: of warp 0 the rows to the south and north of the tile, of warp 1 the columns beside it.
    of_rows = y == 0
    of_columns = y == 1 and x < TALL
    south, north = np.int32(j0 + 1), min(np.int32(j0 + TALL + 2), np.int32(ny + 3))
    west, east = np.int32(i0 + 1), min(np.int32(i0 + WIDE + 2), np.int32(nx + 3))
    side = min(np.int32(j0 + x + 2), np.int32(ny + 3))
    here_x, wet_x = covered_x(s, bed, j, i, y + 2, x + 2, p)
    here_y, wet_y = covered_y(s, bed, j, i, y + 2, x + 2, p)
    tell(s.east, y, x + 1, here_x)
    tell(s.north, y + 1, x, here_y)
    last = here_y
    wet = wet_x and wet_y
    if of_rows:
        first, wet_first = covered_y(s, bed, south, i, 1, x + 2, p)
        tell(s.north, 0, x, first)
        last, wet_last = covered_y(s, bed, north, i, TALL + 2, x + 2, p)
        wet = wet and wet_first and wet_last
    elif of_columns:
        first, wet_first = covered_x(s, bed, side, west, x + 2, 1, p)
        tell(s.east, x, 0, first)
        last, wet_last = covered_x(s, bed, side, east, x + 2, WIDE + 2, p)
        wet = wet and wet_first and wet_last
    shore = cuda.syncthreads_or(0 if wet else 1) != 0
    if shore:
        here_x = any_x(s, bed, j, i, y + 2, x + 2, p)
        here_y = any_y(s, bed, j, i, y + 2, x + 2, p)
        tell(s.east, y, x + 1, here_x)
        tell(s.north, y + 1, x, here_y)
        if of_rows:
            tell(s.north, 0, x, any_y(s, bed, south, i, 1, x + 2, p))
            last = any_y(s, bed, north, i, TALL + 2, x + 2, p)
        elif of_columns:
            tell(s.east, x, 0, any_x(s, bed, side, west, x + 2, 1, p))
            last = any_x(s, bed, side, east, x + 2, WIDE + 2, p)
        cuda.syncthreads()

    mass_x, high_x, along_x, speed_x = flux(s.east, y, x, here_x, shore, s.flux_x, y, x, p)
    mass_y, high_y, along_y, speed_y = flux(s.north, y, x, here_y, shore, s.flux_y, y, x, p)
    # A face counts where a cell of the domain is on either side.
    row, column = np.int32(j0 + y), np.int32(i0 + x)
    rate = real(0.0)
    if row < ny and column <= nx:
        rate = speed_x * p.over_dx
    if row <= ny and column < nx:
        rate = larger(rate, speed_y * p.over_dy)
    if of_rows:
        _, _, _, speed = flux(s.north, TALL, x, last, shore, s.flux_y, TALL, x, p)
        if j0 + TALL <= ny and column < nx:
            rate = larger(rate, speed * p.over_dy)
    elif of_columns:
        _, _, _, speed = flux(s.east, x, WIDE, last, shore, s.flux_x, x, WIDE, p)
        if i0 + WIDE <= nx and j0 + x < ny:
            rate = larger(rate, speed * p.over_dx)
    cuda.syncthreads()

    if row < ny and column < nx and attempted:
        dt = real(news[0])
        gh = p.g * own.h
        r_w = p.over_dx * (mass_x - s.flux_x[0, y, x + 1]) + p.over_dy * (mass_y - s.flux_y[0, y + 1, x])
        r_u = p.over_dx * (high_x - s.flux_x[1, y, x + 1] - gh * (here_x.w_h - here_x.w_l)) + p.over_dy * (
            along_y - s.flux_y[2, y + 1, x]
        )
        r_v = p.over_dx * (along_x - s.flux_x[2, y, x + 1]) + p.over_dy * (
            high_y - s.flux_y[1, y + 1, x] - gh * (here_y.w_h - here_y.w_l)
        )
        if SOURCES:
            r_w, r_u, r_v = with_sources(r_w, r_u, r_v, own.h, own.hu, own.hv, sources, row, column)
        g_n2 = manning_of(manning, row, column, p)
        if SECOND:
            w, hu, hv = second_update(
                own.w, own.hu, own.hv, before_w, before_hu, before_hv,
                own.h, own.over_h, own.u, own.v, r_w, r_u, r_v, g_n2, p, dt,
            )  # fmt: skip
            target = pair[0 if parity else 1]
        else:
            w, hu, hv = first_update(
                own.w, own.hu, own.hv, own.h, own.over_h, own.u, own.v, r_w, r_u, r_v, g_n2, p, dt
            )
            target = middle
        target[0, j, i] = w
        target[1, j, i] = hu
        target[2, j, i] = hv
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
