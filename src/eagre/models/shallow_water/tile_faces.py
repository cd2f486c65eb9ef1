"""Faces and fluxes of a tile of `tile_cuda`: what the threads of a block tell each other through shared memory.

Shared memory is planes of (TALL + 4) x PITCH words, a word for each cell of the tile and of two cells
around it. Cell k has its neighbours at k - 1 and k + 1, k - PITCH and k + PITCH.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, flat_load, flat_store, real
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, smaller
from eagre.models.shallow_water.kernels import COVERED_FACES, FACES, covered, depth

WIDE, TALL = 32, 16
PITCH = WIDE + 4
PLANE = PITCH * (TALL + 4)
W, U, V = 0, PLANE, 2 * PLANE  # surface and velocity of a cell; once there are faces, its fluxes to the west
EAST_SIDE, NORTH_SIDE = 3 * PLANE, 7 * PLANE  # its east and north face: surface, bed, velocity across and along
FLUX_X, FLUX_Y = W, 11 * PLANE  # through its west and south face: mass, momentum across as the low cell sees it, along
WORDS = 14 * PLANE


class Corners(NamedTuple):
    """Bed at the corners of a cell, m."""

    south_west: float
    south_east: float
    north_west: float
    north_east: float


class Place(NamedTuple):
    """What a thread looks after: cell k of the tile, (j, i) of the padded arrays, (row, column) of the domain."""

    k: np.uint32
    j: np.int32
    i: np.int32
    row: np.int32
    column: np.int32
    across_x: bool | np.bool_  # whether its faces in x matter to the tile, and in y
    across_y: bool | np.bool_
    west: bool | np.bool_  # whether the face to the west, or to the south, is the tile's and a cell of the domain's
    south: bool | np.bool_
    inside: bool | np.bool_  # whether the cell belongs to the tile and the domain


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


class Flux(NamedTuple):
    """Flux through the low face of a cell, as that cell sees it."""

    mass: float
    normal: float
    tangential: float
    speed: float


@cell
def bed_west(z):
    """Bed at the west face, m."""
    return real(0.5) * (z.south_west + z.north_west)


@cell
def bed_east(z):
    """Bed at the east face, m."""
    return real(0.5) * (z.south_east + z.north_east)


@cell
def bed_south(z):
    """Bed at the south face, m."""
    return real(0.5) * (z.south_west + z.south_east)


@cell
def bed_north(z):
    """Bed at the north face, m."""
    return real(0.5) * (z.north_west + z.north_east)


@cell
def slopes(s, k, across, along, step, p):
    """Slopes of cell k towards k - step and k + step; across, along : planes of the velocities."""
    w, n, t = flat_load(s, k, W), flat_load(s, k, across), flat_load(s, k, along)
    return Slopes(
        w, scaled_difference(flat_load(s, k, W - step), w, p), scaled_difference(w, flat_load(s, k, W + step), p),
        n, scaled_difference(flat_load(s, k, across - step), n, p),
        scaled_difference(n, flat_load(s, k, across + step), p),
        t, scaled_difference(flat_load(s, k, along - step), t, p),
        scaled_difference(t, flat_load(s, k, along + step), p),
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
def tell(s, k, plane, faces):
    """Leave the high face of a cell for the neighbour beyond it."""
    flat_store(s, k, plane, faces.w_h)
    flat_store(s, k, plane + PLANE, faces.z_h)
    flat_store(s, k, plane + 2 * PLANE, faces.n_h)
    flat_store(s, k, plane + 3 * PLANE, faces.t_h)


@cell
def faces_of_block(s, z, at, p):
    """Faces of a thread's cell in x and in y, told to the neighbours; and whether any of the block is a shore.

    A block that water covers takes the short formulas. z : `Corners` of the cell.
    """
    x, wet_x = covered_faces(slopes(s, at.k, U, V, 1, p), bed_west(z), bed_east(z), p)
    y, wet_y = covered_faces(slopes(s, at.k, V, U, PITCH, p), bed_south(z), bed_north(z), p)
    tell(s, at.k, EAST_SIDE, x)
    tell(s, at.k, NORTH_SIDE, y)
    wet = (wet_x or not at.across_x) and (wet_y or not at.across_y)
    shore = cuda.syncthreads_or(0 if wet else 1) != 0
    if shore:
        x = any_faces(slopes(s, at.k, U, V, 1, p), bed_west(z), bed_east(z), p)
        y = any_faces(slopes(s, at.k, V, U, PITCH, p), bed_south(z), bed_north(z), p)
        tell(s, at.k, EAST_SIDE, x)
        tell(s, at.k, NORTH_SIDE, y)
        cuda.syncthreads()
    return x, y, shore


@cell
def flux(s, k, told, faces, shore, out, p):
    """Flux through the low face of cell k, whose other side was told at `told` steps from plane 0; left at `out`."""
    w, z = flat_load(s, k, told), flat_load(s, k, told + PLANE)
    n, t = flat_load(s, k, told + 2 * PLANE), flat_load(s, k, told + 3 * PLANE)
    if shore:
        mass, low, high, along, speed = central_upwind(w, z, n, t, faces.w_l, faces.z_l, faces.n_l, faces.t_l, p.g)
    else:
        z = faces.z_l
        mass, low, high, along, speed = covered_flux(w - z, n, t, faces.w_l - z, faces.n_l, faces.t_l, p.g)
    flat_store(s, k, out, mass)
    flat_store(s, k, out + PLANE, low)
    flat_store(s, k, out + 2 * PLANE, along)
    return Flux(mass, high, along, speed)


@cell
def fluxes_of_block(s, x, y, shore, at, p):
    """Fluxes through the west and the south face of a thread's cell, and the largest rate of the tile's, s-1."""
    west = flux(s, at.k, EAST_SIDE - 1, x, shore, FLUX_X, p)
    south = flux(s, at.k, NORTH_SIDE - PITCH, y, shore, FLUX_Y, p)
    rate = real(0.0)
    if at.west:
        rate = west.speed * p.over_dx
    if at.south:
        rate = larger(rate, south.speed * p.over_dy)
    return west, south, rate


@cell
def tendencies(s, k, x, y, west, south, h, p):
    """Tendencies of w, hu and hv of cell k, of depth h, from the fluxes around it."""
    gh = p.g * h
    r_w = p.over_dx * (west.mass - flat_load(s, k, FLUX_X + 1)) + p.over_dy * (
        south.mass - flat_load(s, k, FLUX_Y + PITCH)
    )
    r_u = p.over_dx * (west.normal - flat_load(s, k, FLUX_X + PLANE + 1) - gh * (x.w_h - x.w_l)) + p.over_dy * (
        south.tangential - flat_load(s, k, FLUX_Y + 2 * PLANE + PITCH)
    )
    r_v = p.over_dx * (west.tangential - flat_load(s, k, FLUX_X + 2 * PLANE + 1)) + p.over_dy * (
        south.normal - flat_load(s, k, FLUX_Y + PLANE + PITCH) - gh * (y.w_h - y.w_l)
    )
    return r_w, r_u, r_v
