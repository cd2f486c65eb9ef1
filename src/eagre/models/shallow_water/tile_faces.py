"""Faces and fluxes of a tile of `tile_cuda`: what the threads of a block tell each other through shared memory."""

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, real
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, smaller
from eagre.models.shallow_water.kernels import COVERED_FACES, FACES, bed_south, bed_west, covered, depth

WIDE = 32
TALL = 8


class Shared(NamedTuple):
    """What the threads of a block tell each other; cell (j, i) of the tile is at (j + 2, i + 2) of w, u, v."""

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


class Place(NamedTuple):
    """Where a thread and its block are: cell (y, x) of the tile is cell (j, i) of the padded arrays."""

    y: np.int32
    x: np.int32
    j: np.int32
    i: np.int32
    j0: np.int32  # of the tile, without ghosts
    i0: np.int32
    ny: np.int32
    nx: np.int32
    of_rows: bool | np.bool_  # whether the thread has a cell to the south and to the north of the tile to look after,
    of_columns: bool | np.bool_  # or to the west and to the east


class FacesOfThread(NamedTuple):
    """Faces of a thread's cell in both directions and of its extra cell, and whether any of the block is a shore."""

    x: Faces
    y: Faces
    last: Faces
    shore: bool


class Inflow(NamedTuple):
    """Fluxes into the cell of a thread through its west and its south face, as the cell sees them."""

    mass_x: float
    normal_x: float
    tangential_x: float
    mass_y: float
    normal_y: float
    tangential_y: float


class Slopes(NamedTuple):
    """Surface and velocities across and along a face, each with its scaled differences to the low and high side."""

    w: float
    w_l: float
    w_h: float
    n: float
    n_l: float
    n_h: float
    t: float
    t_l: float
    t_h: float


@cell
def slopes_x(s, row, column, p):
    """Slopes in x of the cell at (row, column) of the tile."""
    w, u, v = s.w[row, column], s.u[row, column], s.v[row, column]
    return Slopes(
        w, scaled_difference(s.w[row, column - 1], w, p), scaled_difference(w, s.w[row, column + 1], p),
        u, scaled_difference(s.u[row, column - 1], u, p), scaled_difference(u, s.u[row, column + 1], p),
        v, scaled_difference(s.v[row, column - 1], v, p), scaled_difference(v, s.v[row, column + 1], p),
    )  # fmt: skip


@cell
def slopes_y(s, row, column, p):
    """Slopes in y of the cell at (row, column) of the tile."""
    w, u, v = s.w[row, column], s.u[row, column], s.v[row, column]
    return Slopes(
        w, scaled_difference(s.w[row - 1, column], w, p), scaled_difference(w, s.w[row + 1, column], p),
        v, scaled_difference(s.v[row - 1, column], v, p), scaled_difference(v, s.v[row + 1, column], p),
        u, scaled_difference(s.u[row - 1, column], u, p), scaled_difference(u, s.u[row + 1, column], p),
    )  # fmt: skip


@cell
def covered_faces(d, z_l, z_h, p):
    """Faces of a cell with slopes d if water covers them; and whether it does."""
    w_l, n_l, t_l, w_h, n_h, t_h = COVERED_FACES(d.w, d.w_l, d.w_h, d.n, d.n_l, d.n_h, d.t, d.t_l, d.t_h, z_l, z_h, p)
    return Faces(w_l, z_l, n_l, t_l, w_h, z_h, n_h, t_h), covered(smaller(w_l - z_l, w_h - z_h), d.w, p)


@cell
def any_faces(d, z_l, z_h, p):
    """Faces of any cell with slopes d."""
    h = depth(d.w, real(0.5) * (z_l + z_h))
    w_l, z_l, n_l, t_l, w_h, z_h, n_h, t_h = FACES(
        d.w, d.w_l, d.w_h, d.n, d.n_l, d.n_h, d.t, d.t_l, d.t_h, h, z_l, z_h, p
    )
    return Faces(w_l, z_l, n_l, t_l, w_h, z_h, n_h, t_h)


@cell
def covered_x(s, bed, j, i, row, column, p):
    """`covered_faces` in x of cell (j, i), at (row, column) of the tile."""
    return covered_faces(slopes_x(s, row, column, p), bed_west(bed, j, i), bed_west(bed, j, i + 1), p)


@cell
def covered_y(s, bed, j, i, row, column, p):
    """The same in y."""
    return covered_faces(slopes_y(s, row, column, p), bed_south(bed, j, i), bed_south(bed, j + 1, i), p)


@cell
def any_x(s, bed, j, i, row, column, p):
    """`any_faces` in x of cell (j, i), at (row, column) of the tile."""
    return any_faces(slopes_x(s, row, column, p), bed_west(bed, j, i), bed_west(bed, j, i + 1), p)


@cell
def any_y(s, bed, j, i, row, column, p):
    """The same in y."""
    return any_faces(slopes_y(s, row, column, p), bed_south(bed, j, i), bed_south(bed, j + 1, i), p)


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
def clipped(k, n):
    """Cell k of a padded row of n cells, or the last one."""
    return min(np.int32(k), np.int32(n + 3))


@cell
def shores_of_block(s, bed, at, p):
    """Faces of any cells, in place of those that took them to be covered."""
    here_x = any_x(s, bed, at.j, at.i, at.y + 2, at.x + 2, p)
    here_y = any_y(s, bed, at.j, at.i, at.y + 2, at.x + 2, p)
    tell(s.east, at.y, at.x + 1, here_x)
    tell(s.north, at.y + 1, at.x, here_y)
    last = here_y
    if at.of_rows:
        tell(s.north, 0, at.x, any_y(s, bed, at.j0 + 1, at.i, 1, at.x + 2, p))
        last = any_y(s, bed, clipped(at.j0 + TALL + 2, at.ny), at.i, TALL + 2, at.x + 2, p)
    elif at.of_columns:
        side = clipped(at.j0 + at.x + 2, at.ny)
        tell(s.east, at.x, 0, any_x(s, bed, side, at.i0 + 1, at.x + 2, 1, p))
        last = any_x(s, bed, side, clipped(at.i0 + WIDE + 2, at.nx), at.x + 2, WIDE + 2, p)
    cuda.syncthreads()
    return here_x, here_y, last


@cell
def faces_of_block(s, bed, at, p):
    """Faces of a thread's cell and of its extra one; high faces go to the neighbours."""
    here_x, wet_x = covered_x(s, bed, at.j, at.i, at.y + 2, at.x + 2, p)
    here_y, wet_y = covered_y(s, bed, at.j, at.i, at.y + 2, at.x + 2, p)
    tell(s.east, at.y, at.x + 1, here_x)
    tell(s.north, at.y + 1, at.x, here_y)
    first, last = here_y, here_y
    wet_first, wet_last = True, True
    if at.of_rows:
        first, wet_first = covered_y(s, bed, at.j0 + 1, at.i, 1, at.x + 2, p)
        last, wet_last = covered_y(s, bed, clipped(at.j0 + TALL + 2, at.ny), at.i, TALL + 2, at.x + 2, p)
        tell(s.north, 0, at.x, first)
    elif at.of_columns:
        side = clipped(at.j0 + at.x + 2, at.ny)
        first, wet_first = covered_x(s, bed, side, at.i0 + 1, at.x + 2, 1, p)
        last, wet_last = covered_x(s, bed, side, clipped(at.i0 + WIDE + 2, at.nx), at.x + 2, WIDE + 2, p)
        tell(s.east, at.x, 0, first)
    shore = cuda.syncthreads_or(0 if wet_x and wet_y and wet_first and wet_last else 1) != 0
    if shore:
        here_x, here_y, last = shores_of_block(s, bed, at, p)
    return FacesOfThread(here_x, here_y, last, shore)


@cell
def fluxes_of_block(s, faces, at, p):
    """Fluxes through the low faces of a thread's cell and of its extra one, and the largest rate.

    A face counts for the rate where a cell of the domain is on either side.
    """
    shore = faces.shore
    mass_x, normal_x, tangential_x, speed_x = flux(s.east, at.y, at.x, faces.x, shore, s.flux_x, at.y, at.x, p)
    mass_y, normal_y, tangential_y, speed_y = flux(s.north, at.y, at.x, faces.y, shore, s.flux_y, at.y, at.x, p)
    row, column = np.int32(at.j0 + at.y), np.int32(at.i0 + at.x)
    rate = real(0.0)
    if row < at.ny and column <= at.nx:
        rate = speed_x * p.over_dx
    if row <= at.ny and column < at.nx:
        rate = larger(rate, speed_y * p.over_dy)
    if at.of_rows:
        _, _, _, speed = flux(s.north, TALL, at.x, faces.last, shore, s.flux_y, TALL, at.x, p)
        if at.j0 + TALL <= at.ny and column < at.nx:
            rate = larger(rate, speed * p.over_dy)
    elif at.of_columns:
        _, _, _, speed = flux(s.east, at.x, WIDE, faces.last, shore, s.flux_x, at.x, WIDE, p)
        if at.i0 + WIDE <= at.nx and at.j0 + at.x < at.ny:
            rate = larger(rate, speed * p.over_dx)
    return Inflow(mass_x, normal_x, tangential_x, mass_y, normal_y, tangential_y), rate


@cell
def tendencies(s, faces, inflow, at, h, p):
    """Tendencies of w, hu and hv of a thread's cell of depth h from the fluxes around it."""
    y, x, gh = at.y, at.x, p.g * h
    r_w = p.over_dx * (inflow.mass_x - s.flux_x[0, y, x + 1]) + p.over_dy * (inflow.mass_y - s.flux_y[0, y + 1, x])
    r_u = p.over_dx * (inflow.normal_x - s.flux_x[1, y, x + 1] - gh * (faces.x.w_h - faces.x.w_l)) + p.over_dy * (
        inflow.tangential_y - s.flux_y[2, y + 1, x]
    )
    r_v = p.over_dx * (inflow.tangential_x - s.flux_x[2, y, x + 1]) + p.over_dy * (
        inflow.normal_y - s.flux_y[1, y + 1, x] - gh * (faces.y.w_h - faces.y.w_l)
    )
    return r_w, r_u, r_v
