"""Faces and fluxes of a tile of `tile_cuda`: what the threads of a block share through shared memory.

Shared memory is planes of (TALL + 4) x PITCH words, a word for each cell of the tile and of two cells
around it. Cell k has its neighbours at k - 1 and k + 1, k - PITCH and k + PITCH.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, flat_load, flat_store, real, switch
from eagre.backend.warp import perhaps_anywhere
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, select, smaller
from eagre.models.shallow_water.kernels import COVERED_FACES, FACES, covered

WIDE = 32
PITCH = WIDE + 4
TALL = switch("TALL", 16)  # rows of a tile
PLANE = switch("PLANE", PITCH * (16 + 4))  # words of a plane
# Planes: surface and velocity of a cell; once there are faces, its fluxes to the west.
W, U, V = 0, 1, 2
EAST_SIDE, NORTH_SIDE = 3, 7  # its east and north face: surface over the bed, depth, velocity across and along
FLUX_X, FLUX_Y = W, 11  # through its west and south face: mass, momentum across as the low cell sees it, along
PLANES = 14


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
    flux_x: bool | np.bool_  # whether the tile needs the flux through its low face in x, and in y
    flux_y: bool | np.bool_
    west: bool | np.bool_  # whether the face to the west, or to the south, is the tile's and a cell of the domain's
    south: bool | np.bool_
    inside: bool | np.bool_  # whether the cell belongs to the tile and the domain
    shut_x: bool | np.bool_  # whether no water crosses its west, or its south face: a wall
    shut_y: bool | np.bool_


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
    """Face values of a cell in one direction: its low face, then its high one, and the rise of its surface."""

    y_l: float  # surface over the bed of the face
    h_l: float
    n_l: float  # velocity across the face
    t_l: float  # and along it
    y_h: float
    h_h: float
    n_h: float
    t_h: float
    rise: float


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
def shared_load(s, k, plane, step):
    """Word of cell k + step in a plane."""
    return flat_load(s, k, plane * PLANE + step)


@cell
def shared_store(s, k, plane, value):
    """Set the word of cell k in a plane."""
    flat_store(s, k, plane * PLANE, value)


@cell
def slopes(s, k, across, along, step, p):
    """Slopes of cell k towards k - step and k + step; across, along : planes of the velocities."""
    w, n, t = shared_load(s, k, W, 0), shared_load(s, k, across, 0), shared_load(s, k, along, 0)
    return Slopes(
        w, scaled_difference(shared_load(s, k, W, -step), w, p), scaled_difference(w, shared_load(s, k, W, step), p),
        n, scaled_difference(shared_load(s, k, across, -step), n, p),
        scaled_difference(n, shared_load(s, k, across, step), p),
        t, scaled_difference(shared_load(s, k, along, -step), t, p),
        scaled_difference(t, shared_load(s, k, along, step), p),
    )  # fmt: skip


@cell
def covered_faces(d, z_l, z_h, p):
    """Faces of a cell with slopes d if water covers them; and whether it does."""
    w_l, n_l, t_l, w_h, n_h, t_h = COVERED_FACES(d.w, d.w_l, d.w_h, d.n, d.n_l, d.n_h, d.t, d.t_l, d.t_h, z_l, z_h, p)
    h_l, h_h = w_l - z_l, w_h - z_h
    return Faces(h_l, h_l, n_l, t_l, h_h, h_h, n_h, t_h, w_h - w_l), covered(smaller(h_l, h_h), d.w, p)


@cell
def any_faces(d, h, z_l, z_h, p):
    """Faces of any cell with slopes d and depth h."""
    y_l, h_l, n_l, t_l, y_h, h_h, n_h, t_h, rise = FACES(
        d.w, d.w_l, d.w_h, d.n, d.n_l, d.n_h, d.t, d.t_l, d.t_h, h, z_l, z_h, p
    )
    return Faces(y_l, h_l, n_l, t_l, y_h, h_h, n_h, t_h, rise)


@cell
def share(s, k, plane, faces):
    """Leave the high face of a cell for the neighbour beyond it."""
    shared_store(s, k, plane, faces.y_h)
    shared_store(s, k, plane + 1, faces.h_h)
    shared_store(s, k, plane + 2, faces.n_h)
    shared_store(s, k, plane + 3, faces.t_h)


@cell
def faces_across(s, k, across, along, step, h, z_l, z_h, p):
    """Faces of cell k, of depth h, in one direction; a warp that water covers takes the short formulas."""
    faces, wet = covered_faces(slopes(s, k, across, along, step, p), z_l, z_h, p)
    if perhaps_anywhere(not wet):
        faces = any_faces(slopes(s, k, across, along, step, p), h, z_l, z_h, p)
    return faces


@cell
def faces_of_cell(s, h, z, at, p):
    """Faces of a cell in x and in y where they matter, shared with the neighbours; h : its depth; z : its `Corners`."""
    zero = real(0.0)
    x = y = Faces(zero, zero, zero, zero, zero, zero, zero, zero, zero)
    if at.across_x:
        x = faces_across(s, at.k, U, V, 1, h, bed_west(z), bed_east(z), p)
        share(s, at.k, EAST_SIDE, x)
    if at.across_y:
        y = faces_across(s, at.k, V, U, PITCH, h, bed_south(z), bed_north(z), p)
        share(s, at.k, NORTH_SIDE, y)
    return x, y


@cell
def flux(s, k, plane, step, faces, p):
    """Flux through the low face of cell k; `plane` holds the high faces, the neighbour's is `step` back.

    Where on both sides of every face of the warp water stands on the bed of the face, the short formulas do.
    """
    y, h = shared_load(s, k, plane, -step), shared_load(s, k, plane + 1, -step)
    n, t = shared_load(s, k, plane + 2, -step), shared_load(s, k, plane + 3, -step)
    if perhaps_anywhere(y != h or faces.y_l != faces.h_l):
        mass, low, high, along, speed = central_upwind(y, h, n, t, faces.y_l, faces.h_l, faces.n_l, faces.t_l, p.g)
    else:
        mass, low, high, along, speed = covered_flux(h, n, t, faces.h_l, faces.n_l, faces.t_l, p.g)
    return mass, low, high, along, speed


@cell
def keep_flux(s, k, plane, mass, low, along):
    """Leave a flux for the neighbour on the low side."""
    shared_store(s, k, plane, mass)
    shared_store(s, k, plane + 1, low)
    shared_store(s, k, plane + 2, along)


@cell
def fluxes_of_cell(s, x, y, at, p):
    """Fluxes through the west and the south face of a thread's cell, and the largest rate of the tile's, s-1."""
    zero = real(0.0)
    rate = zero
    west = south = Flux(zero, zero, zero, zero)
    if at.flux_x:
        mass, low, high, along, speed = flux(s, at.k, EAST_SIDE, 1, x, p)
        mass = select(at.shut_x, zero, mass)
        keep_flux(s, at.k, FLUX_X, mass, low, along)
        west = Flux(mass, high, along, speed)
        rate = select(at.west, speed * p.over_dx, zero)
    if at.flux_y:
        mass, low, high, along, speed = flux(s, at.k, NORTH_SIDE, PITCH, y, p)
        mass = select(at.shut_y, zero, mass)
        keep_flux(s, at.k, FLUX_Y, mass, low, along)
        south = Flux(mass, high, along, speed)
        rate = larger(rate, select(at.south, speed * p.over_dy, zero))
    return west, south, rate


@cell
def tendencies(s, k, x, y, west, south, h, p):
    """Tendencies of h, hu and hv of cell k, of depth h, from the fluxes around it."""
    gh = p.g * h
    r_h = p.over_dx * (west.mass - shared_load(s, k, FLUX_X, 1)) + p.over_dy * (
        south.mass - shared_load(s, k, FLUX_Y, PITCH)
    )
    r_u = p.over_dx * (west.normal - shared_load(s, k, FLUX_X + 1, 1) - gh * x.rise) + p.over_dy * (
        south.tangential - shared_load(s, k, FLUX_Y + 2, PITCH)
    )
    r_v = p.over_dx * (west.tangential - shared_load(s, k, FLUX_X + 2, 1)) + p.over_dy * (
        south.normal - shared_load(s, k, FLUX_Y + 1, PITCH) - gh * y.rise
    )
    return r_h, r_u, r_v
