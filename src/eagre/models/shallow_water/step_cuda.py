"""A whole RK2 step in one launch on a GPU, for small grids between walls or periodic sides.

There a step takes microseconds, and launches are what it spends them on. A block makes both stages of
its tile of 32 x TALL cells in shared memory, from a halo of four cells; ghost cells are cells of the
domain that are mirrored or wrapped on the way in. Each launch first looks at what the one before it has
found: whether that step was allowed (it counts, and the buffers change their roles) or was too long (it
is made again from the same state, shorter).

All arrays of a block lie in one stretch of shared memory, rows of WIDTH cells, so that one formula serves
both directions: a neighbour is one cell or one row away.
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
    SOURCES,
    covered,
    depth,
    first_update,
    manning_of,
    over_depth,
    second_update,
    with_sources,
)
from eagre.stepping.clock import ATTEMPTED, DT, PARITY, RUNNING, SIZE, settle

WIDE = 32  # cells of a tile
TALL = 16
HALO = 4
WIDTH = WIDE + 2 * HALO
HEIGHT = TALL + 2 * HALO
CELLS = WIDTH * HEIGHT
CORNERS = (WIDTH + 1) * (HEIGHT + 1)
FLUXES = (HEIGHT - 4) * (WIDTH - 3) + (HEIGHT - 3) * (WIDTH - 4)  # of the first stage, x and y
THREADS = WIDE * TALL

W, HU, HV, U, V = 0, CELLS, 2 * CELLS, 3 * CELLS, 4 * CELLS
BED = 5 * CELLS
MASS = BED + CORNERS  # mass flux; then the normal flux as the lower and as the higher side see it, the tangential
LOW, HIGH, ALONG, RISE = MASS + FLUXES, MASS + 2 * FLUXES, MASS + 3 * FLUXES, MASS + 4 * FLUXES
WORDS = MASS + 5 * FLUXES
RATES, TURNS = 6, 6

WRAP_X = switch("WRAP_X", False)  # whether the sides to the west and east are periodic, else walls
WRAP_Y = switch("WRAP_Y", False)


class Axis(NamedTuple):
    """Where neighbours and corners lie, for faces across one direction."""

    step: int  # to the next cell across the face
    across: int  # to the next corner across the face
    along: int  # from one corner of a face to the other
    normal: int  # velocity across the face, and along it
    tangential: int


@cell
def inner_cell(k, n, wrap):
    """Cell 0 .. n - 1 that cell k, perhaps outside, is a copy of."""
    if k < 0:
        k = k + n if wrap else -1 - k
    elif k >= n:
        k = k - n if wrap else n + n - 1 - k
    return max(0, min(k, n - 1))


@cell
def inner_corner(k, n, wrap):
    """Corner 0 .. n that corner k, perhaps outside, is a copy of."""
    if k < 0:
        k = k + n if wrap else -k
    elif k > n:
        k = k - n if wrap else n + n - k
    return max(0, min(k, n))


@cell
def load(q, bed, s, parity, j0, i0, ny, nx, thread):
    """State and bed of the tile and its halo; discharges change sign across a wall."""
    for item in range(thread, CELLS, THREADS):
        j = j0 + item // WIDTH - HALO
        i = i0 + item % WIDTH - HALO
        inner_j = inner_cell(j, ny, WRAP_Y)
        inner_i = inner_cell(i, nx, WRAP_X)
        flip_x = not WRAP_X and (i < 0 or i >= nx)
        flip_y = not WRAP_Y and (j < 0 or j >= ny)
        hu = q[parity, 1, inner_j + 2, inner_i + 2]
        hv = q[parity, 2, inner_j + 2, inner_i + 2]
        s[W + item] = q[parity, 0, inner_j + 2, inner_i + 2]
        s[HU + item] = -hu if flip_x else hu
        s[HV + item] = -hv if flip_y else hv
    for item in range(thread, CORNERS, THREADS):
        j = inner_corner(j0 + item // (WIDTH + 1) - HALO, ny, WRAP_Y)
        i = inner_corner(i0 + item % (WIDTH + 1) - HALO, nx, WRAP_X)
        s[BED + item] = bed[j + 2, i + 2]


@cell
def bed_of(s, row, column):
    """Bed of a cell of the tile: the mean of opposite faces."""
    corner = BED + row * (WIDTH + 1) + column
    west = real(0.5) * (s[corner] + s[corner + WIDTH + 1])
    return real(0.5) * (west + real(0.5) * (s[corner + 1] + s[corner + WIDTH + 2]))


@cell
def velocities(s, row, column, p):
    """u and v of a cell of the tile."""
    c = row * WIDTH + column
    over_h = over_depth(depth(s[W + c], bed_of(s, row, column)), p)
    s[U + c] = PRIMITIVE(s[HU + c], over_h)
    s[V + c] = PRIMITIVE(s[HV + c], over_h)


@cell
def flux(s, c, corner, axis, item, p):
    """Flux through the low face of cell c across an axis, and the rise of its surface; returns the wave speed.

    corner : the low corner of the cell; item : where the flux goes.
    """
    d, n, t = axis.step, axis.normal + c, axis.tangential + c
    low = BED + corner - axis.across
    z_a = real(0.5) * (s[low] + s[low + axis.along])  # beds at the faces of cell a below and of cell b = c
    z = real(0.5) * (s[low + axis.across] + s[low + axis.across + axis.along])
    z_b = real(0.5) * (s[low + 2 * axis.across] + s[low + 2 * axis.across + axis.along])
    w_a, n_a, t_a = s[W + c - d], s[n - d], s[t - d]
    w_b, n_b, t_b = s[W + c], s[n], s[t]
    d_w, d_n, d_t = scaled_difference(w_a, w_b, p), scaled_difference(n_a, n_b, p), scaled_difference(t_a, t_b, p)
    e_w = scaled_difference(s[W + c - 2 * d], w_a, p)
    e_n = scaled_difference(s[n - 2 * d], n_a, p)
    e_t = scaled_difference(s[t - 2 * d], t_a, p)
    f_w = scaled_difference(w_b, s[W + c + d], p)
    f_n = scaled_difference(n_b, s[n + d], p)
    f_t = scaled_difference(t_b, s[t + d], p)
    w_0, _, _, w_l, n_l, t_l = COVERED_FACES(w_a, e_w, d_w, n_a, e_n, d_n, t_a, e_t, d_t, z_a, z, p)
    w_r, n_r, t_r, w_1, _, _ = COVERED_FACES(w_b, d_w, f_w, n_b, d_n, f_n, t_b, d_t, f_t, z, z_b, p)
    if covered(smaller(w_0 - z_a, w_l - z), w_a, p) and covered(smaller(w_r - z, w_1 - z_b), w_b, p):
        mass, below, above, along, speed = covered_flux(w_l - z, n_l, t_l, w_r - z, n_r, t_r, p.g)
    else:
        h_a, h_b = depth(w_a, real(0.5) * (z_a + z)), depth(w_b, real(0.5) * (z + z_b))
        _, _, _, _, w_l, z_l, n_l, t_l = FACES(w_a, e_w, d_w, n_a, e_n, d_n, t_a, e_t, d_t, h_a, z_a, z, p)
        w_r, z_r, n_r, t_r, w_1, _, _, _ = FACES(w_b, d_w, f_w, n_b, d_n, f_n, t_b, d_t, f_t, h_b, z, z_b, p)
        mass, below, above, along, speed = central_upwind(w_l, z_l, n_l, t_l, w_r, z_r, n_r, t_r, p.g)
    s[MASS + item] = mass
    s[LOW + item] = below
    s[HIGH + item] = above
    s[ALONG + item] = along
    s[RISE + item] = w_1 - w_r
    return speed


@cell
def fluxes(s, margin, j0, i0, ny, nx, thread, p):
    """Fluxes around all cells that are `margin` cells inside; returns the largest rate, of the domain's faces only."""
    rows, columns = HEIGHT - 2 * margin, WIDTH - 2 * margin
    of_x = rows * (columns + 1)
    rate = real(0.0)
    for item in range(thread, of_x + (rows + 1) * columns, THREADS):
        if item < of_x:
            row, column = margin + item // (columns + 1), margin + item % (columns + 1)
            over = p.over_dx
        else:
            row, column = margin + (item - of_x) // columns, margin + (item - of_x) % columns
            over = p.over_dy
        axis = Axis(1, 1, WIDTH + 1, U, V) if item < of_x else Axis(WIDTH, WIDTH + 1, 1, V, U)
        speed = flux(s, row * WIDTH + column, row * (WIDTH + 1) + column, axis, item, p)
        j, i = j0 + row - HALO, i0 + column - HALO
        last_j = ny - 1 if item < of_x else ny
        last_i = nx if item < of_x else nx - 1
        if j >= 0 and j <= last_j and i >= 0 and i <= last_i:
            rate = larger(rate, speed * over)
    return rate


@cell
def tendencies(s, row, column, margin, h, p):
    """Tendencies of w, hu and hv of a cell from the fluxes around it."""
    columns = WIDTH - 2 * margin
    x = (row - margin) * (columns + 1) + column - margin
    y = (HEIGHT - 2 * margin) * (columns + 1) + (row - margin) * columns + column - margin
    gh = p.g * h
    r_w = p.over_dx * (s[MASS + x] - s[MASS + x + 1]) + p.over_dy * (s[MASS + y] - s[MASS + y + columns])
    r_u = p.over_dx * (s[HIGH + x] - s[LOW + x + 1] - gh * s[RISE + x]) + p.over_dy * (
        s[ALONG + y] - s[ALONG + y + columns]
    )
    r_v = p.over_dx * (s[ALONG + x] - s[ALONG + x + 1]) + p.over_dy * (
        s[HIGH + y] - s[LOW + y + columns] - gh * s[RISE + y]
    )
    return r_w, r_u, r_v


@cell
def first_stage(s, manning, sources, j0, i0, ny, nx, thread, p, dt):
    """The first stage of all cells that the second one needs, in place."""
    rows, columns = HEIGHT - 4, WIDTH - 4
    for item in range(thread, rows * columns, THREADS):
        row, column = item // columns + 2, item % columns + 2
        c = row * WIDTH + column
        j, i = inner_cell(j0 + row - HALO, ny, WRAP_Y), inner_cell(i0 + column - HALO, nx, WRAP_X)
        h = depth(s[W + c], bed_of(s, row, column))
        r_w, r_u, r_v = tendencies(s, row, column, 2, h, p)
        if SOURCES:
            r_w, r_u, r_v = with_sources(r_w, r_u, r_v, h, s[HU + c], s[HV + c], sources, j, i)
        w, hu, hv = first_update(
            s[W + c], s[HU + c], s[HV + c], h, over_depth(h, p), s[U + c], s[V + c],
            r_w, r_u, r_v, manning_of(manning, j, i, p), p, dt,
        )  # fmt: skip
        s[W + c] = w
        s[HU + c] = hu
        s[HV + c] = hv


@cell
def mirror_and_velocities(s, j0, i0, ny, nx, thread, p):
    """After the first stage: cells beyond a wall mirror those inside, and all get new velocities."""
    rows, columns = HEIGHT - 4, WIDTH - 4
    for item in range(thread, rows * columns, THREADS):
        row, column = item // columns + 2, item % columns + 2
        c = row * WIDTH + column
        j, i = j0 + row - HALO, i0 + column - HALO
        flip_y = not WRAP_Y and (j < 0 or j >= ny)
        flip_x = not WRAP_X and (i < 0 or i >= nx)
        if flip_x or flip_y:
            if flip_y:
                row += inner_cell(j, ny, False) - j
            if flip_x:
                column += inner_cell(i, nx, False) - i
            source = max(0, min(row, HEIGHT - 1)) * WIDTH + max(0, min(column, WIDTH - 1))
            s[W + c] = s[W + source]
            s[HU + c] = -s[HU + source] if flip_x else s[HU + source]
            s[HV + c] = -s[HV + source] if flip_y else s[HV + source]
        velocities(s, item // columns + 2, item % columns + 2, p)


@entry
def step_cuda(q, bed, manning, sources, rates, p, clocks, turn):
    """A step of SSP-RK2 from buffer q[parity] into the other; block (32, TALL), grid over tiles.

    q : (2, 3, ny + 4, nx + 4). rates : three pairs of bit patterns, (6,): one that the launch before has
    left, one for this launch, one that it clears for the next. clocks : (2, SIZE), one that it reads and
    one that it leaves. `turn` counts the launches modulo 6.
    """
    s = cuda.shared.array(0, word)
    news = cuda.shared.array(3, np.float64)  # time step, parity, whether there is anything to do
    thread = cuda.threadIdx.y * WIDE + cuda.threadIdx.x
    j0 = np.int32(cuda.blockIdx.y * TALL)
    i0 = np.int32(cuda.blockIdx.x * WIDE)
    ny = np.int32(q.shape[2] - 4)
    nx = np.int32(q.shape[3] - 4)
    if thread == 0:
        clock = cuda.local.array(SIZE, np.float64)
        for k in range(SIZE):
            clock[k] = clocks[turn % 2, k]
        settle(clock, rates[2 * ((turn + 2) % 3) :])
        news[0] = clock[DT]
        news[1] = clock[PARITY]
        news[2] = clock[RUNNING]
        if j0 == 0 and i0 == 0:
            clock[ATTEMPTED] = clock[RUNNING]
            for k in range(SIZE):
                clocks[(turn + 1) % 2, k] = clock[k]
            rates[2 * ((turn + 1) % 3)] = 0
            rates[2 * ((turn + 1) % 3) + 1] = 0
    cuda.syncthreads()
    dt = real(news[0])
    parity = np.int32(news[1])
    if news[2] == 0.0:
        return
    load(q, bed, s, parity, j0, i0, ny, nx, thread)
    cuda.syncthreads()
    for item in range(thread, CELLS, THREADS):
        velocities(s, item // WIDTH, item % WIDTH, p)
    row, column = thread // WIDE + HALO, thread % WIDE + HALO
    c = row * WIDTH + column
    w_n, hu_n, hv_n = s[W + c], s[HU + c], s[HV + c]
    cuda.syncthreads()

    rate = fluxes(s, 2, j0, i0, ny, nx, thread, p)
    raise_maximum(rates[2 * (turn % 3) :], to_bits(rate))
    cuda.syncthreads()
    first_stage(s, manning, sources, j0, i0, ny, nx, thread, p, dt)
    cuda.syncthreads()
    mirror_and_velocities(s, j0, i0, ny, nx, thread, p)
    cuda.syncthreads()
    rate = fluxes(s, HALO, j0, i0, ny, nx, thread, p)
    raise_maximum(rates[2 * (turn % 3) + 1 :], to_bits(rate))
    cuda.syncthreads()

    j, i = j0 + row - HALO, i0 + column - HALO
    if j < ny and i < nx:
        h = depth(s[W + c], bed_of(s, row, column))
        r_w, r_u, r_v = tendencies(s, row, column, HALO, h, p)
        if SOURCES:
            r_w, r_u, r_v = with_sources(r_w, r_u, r_v, h, s[HU + c], s[HV + c], sources, j, i)
        w, hu, hv = second_update(
            s[W + c], s[HU + c], s[HV + c], w_n, hu_n, hv_n, h, over_depth(h, p), s[U + c], s[V + c],
            r_w, r_u, r_v, manning_of(manning, j, i, p), p, dt,
        )  # fmt: skip
        q[1 - parity, 0, j + 2, i + 2] = w
        q[1 - parity, 1, j + 2, i + 2] = hu
        q[1 - parity, 2, j + 2, i + 2] = hv


@entry
def settle_cuda(rates, clock):
    """Judge the last step of a round, so that the host finds the clock as it is; one thread."""
    settle(clock, rates)
    rates[0] = 0
    rates[1] = 0


def shape_of(ny: int, nx: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Grid and block of `step_cuda`."""
    return (-(-nx // WIDE), -(-ny // TALL)), (WIDE, TALL)
