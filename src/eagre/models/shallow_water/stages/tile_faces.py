"""Faces and fluxes of a tile of `tile_cuda`, exchanged between the threads of a block through shared memory.

Shared memory has planes of (TALL + 4) x PITCH values, one value per cell of the tile and of two cells around it. The
neighbours of cell k are at k - 1 and k + 1, k - PITCH and k + PITCH.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, flat_load, flat_store, real, switch
from eagre.backend.cuda.warp import perhaps_anywhere
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, select, smaller
from eagre.models.shallow_water.kernels import COVERED_FACES, FACES, Slopes, fully_wet

WIDE = 32
PITCH = WIDE + 4
TALL = switch("TALL", 16)  # rows of a tile
PLANE = switch("PLANE", PITCH * (16 + 4))  # values of a plane
# Planes: surface and velocity of a cell; after the faces are computed, fluxes through its west face.
W, U, V = 0, 1, 2
EAST_SIDE, NORTH_SIDE = 3, 7  # east and north face: surface above the bed, depth, normal and tangential velocity
FLUX_X, FLUX_Y = W, 11  # west and south face: mass, normal momentum of the low side, tangential momentum
PLANES = 14


class Corners(NamedTuple):
    """Bed at the corners of a cell, m."""

    south_west: float
    south_east: float
    north_west: float
    north_east: float


class ThreadCell(NamedTuple):
    """Cell of a thread: index k in the tile, (j, i) of the padded arrays, (row, column) of the domain."""

    k: np.uint32
    j: np.int32
    i: np.int32
    row: np.int32
    column: np.int32
    across_x: bool | np.bool_  # whether the tile needs its faces in x, and in y
    across_y: bool | np.bool_
    flux_x: bool | np.bool_  # whether the tile needs the flux through its low face in x, and in y
    flux_y: bool | np.bool_
    west: bool | np.bool_  # whether the west, or south, face belongs to the tile and to a cell of the domain
    south: bool | np.bool_
    inside: bool | np.bool_  # whether the cell belongs to the tile and the domain
    closed_x: bool | np.bool_  # whether its west, or its south face is a wall
    closed_y: bool | np.bool_


class Faces(NamedTuple):
    """Face values of a cell in one direction: low face, high face, and the rise of its surface."""

    y_l: float  # surface above the bed of the face
    h_l: float
    n_l: float  # normal velocity
    t_l: float  # tangential velocity
    y_h: float
    h_h: float
    n_h: float
    t_h: float
    rise: float


class Flux(NamedTuple):
    """Flux through the low face of a cell, for the cell on its high side."""

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
    """Load the value of cell k + step from a plane."""
    return flat_load(s, k, plane * PLANE + step)


@cell
def shared_store(s, k, plane, value):
    """Store the value of cell k in a plane."""
    flat_store(s, k, plane * PLANE, value)


@cell
def slopes(s, k, planes, step, p):
    """Return `Slopes` of cell k towards k - step and k + step; planes : of the normal and tangential velocities."""
    across, along = planes
    w, u, v = shared_load(s, k, W, 0), shared_load(s, k, across, 0), shared_load(s, k, along, 0)
    return Slopes(
        w, scaled_difference(shared_load(s, k, W, -step), w, p), scaled_difference(w, shared_load(s, k, W, step), p),
        u, scaled_difference(shared_load(s, k, across, -step), u, p),
        scaled_difference(u, shared_load(s, k, across, step), p),
        v, scaled_difference(shared_load(s, k, along, -step), v, p),
        scaled_difference(v, shared_load(s, k, along, step), p),
    )  # fmt: skip


@cell
def covered_faces(d, z_l, z_h, p):
    """Return the faces of a cell with slopes d for a fully wet cell, and whether it is fully wet."""
    w_l, n_l, t_l, w_h, n_h, t_h = COVERED_FACES(d, z_l, z_h, p)
    h_l, h_h = w_l - z_l, w_h - z_h
    return Faces(h_l, h_l, n_l, t_l, h_h, h_h, n_h, t_h, w_h - w_l), fully_wet(smaller(h_l, h_h), d.w, p)


@cell
def any_faces(d, h, z_l, z_h, p):
    """Return the faces of any cell with slopes d and depth h."""
    y_l, h_l, n_l, t_l, y_h, h_h, n_h, t_h, rise = FACES(d, h, z_l, z_h, p)
    return Faces(y_l, h_l, n_l, t_l, y_h, h_h, n_h, t_h, rise)


@cell
def publish_faces(s, k, plane, faces):
    """Store the high face of a cell for the neighbour beyond it."""
    shared_store(s, k, plane, faces.y_h)
    shared_store(s, k, plane + 1, faces.h_h)
    shared_store(s, k, plane + 2, faces.n_h)
    shared_store(s, k, plane + 3, faces.t_h)


@cell
def faces_across(s, k, planes, step, h, z_l, z_h, p):
    """Return the faces of cell k of depth h in one direction; a fully wet warp uses the short formulas."""
    faces, wet = covered_faces(slopes(s, k, planes, step, p), z_l, z_h, p)
    if perhaps_anywhere(not wet):
        faces = any_faces(slopes(s, k, planes, step, p), h, z_l, z_h, p)
    return faces


@cell
def faces_of_cell(s, h, z, point, p):
    """Return the required faces of a cell in x and in y and share them; h : depth; z : `Corners` of the cell."""
    zero = real(0.0)
    x = y = Faces(zero, zero, zero, zero, zero, zero, zero, zero, zero)
    if point.across_x:
        x = faces_across(s, point.k, (U, V), 1, h, bed_west(z), bed_east(z), p)
        publish_faces(s, point.k, EAST_SIDE, x)
    if point.across_y:
        y = faces_across(s, point.k, (V, U), PITCH, h, bed_south(z), bed_north(z), p)
        publish_faces(s, point.k, NORTH_SIDE, y)
    return x, y


@cell
def flux(s, k, plane, step, faces, p):
    """Return the flux through the low face of cell k; plane : high faces; step : offset of the neighbour.

    If the depth equals the surface height above the bed on both sides of every face of the warp, the short formulas are
    used.
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
    """Store a flux for the neighbour on the low side."""
    shared_store(s, k, plane, mass)
    shared_store(s, k, plane + 1, low)
    shared_store(s, k, plane + 2, along)


@cell
def fluxes_of_cell(s, x, y, point, p):
    """Return the fluxes through the west and south faces of a cell, and the maximum rate of the tile's faces, s-1."""
    zero = real(0.0)
    rate = zero
    west = south = Flux(zero, zero, zero, zero)
    if point.flux_x:
        mass, low, high, along, speed = flux(s, point.k, EAST_SIDE, 1, x, p)
        mass = select(point.closed_x, zero, mass)
        keep_flux(s, point.k, FLUX_X, mass, low, along)
        west = Flux(mass, high, along, speed)
        rate = select(point.west, speed * p.over_dx, zero)
    if point.flux_y:
        mass, low, high, along, speed = flux(s, point.k, NORTH_SIDE, PITCH, y, p)
        mass = select(point.closed_y, zero, mass)
        keep_flux(s, point.k, FLUX_Y, mass, low, along)
        south = Flux(mass, high, along, speed)
        rate = larger(rate, select(point.south, speed * p.over_dy, zero))
    return west, south, rate


@cell
def tendencies(s, k, x, y, west, south, h, p):
    """Return the tendencies of h, hu and hv of cell k of depth h from the fluxes around it."""
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
