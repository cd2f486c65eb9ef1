"""Row-streaming kernel of one stage on the CPU: a tile is processed row by row to the north, each flux once.

Every inner loop runs over a row of the tile with the formulas of `kernels.py` and vectorises. Indices are corner +
counter + constant, added in this order; otherwise the compiler assumes that they can be negative, and gathers. A
scratch array per tile holds the data for the next row (velocities, north face values, north fluxes) and fits the L1
cache. Each row is classified first: in fully wet rows, the most frequent kind, faces and fluxes are simple, and dry
rows have no fluxes.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, entry, prange, real
from eagre.boundaries.edges import EAST, NORTH, SOUTH, WEST, flux_if_open
from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE
from eagre.kernels.bits import from_bits, to_bits
from eagre.kernels.central_upwind import central_upwind, covered_flux
from eagre.kernels.elevation import depth, noise_of, surface
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import select
from eagre.models.shallow_water.active_tiles import live_bits
from eagre.models.shallow_water.kernels import (
    COVERED_FACES,
    FACES,
    FRICTION,
    PRIMITIVE,
    SKIP_DRY,
    WALLS,
    Slopes,
    Stage,
    Water,
    bed_centre,
    bed_south,
    bed_west,
    first_update,
    flux_or_wall,
    friction_duration,
    fully_wet,
    manning_of,
    over_depth,
    second_update,
    seed_of_stage,
    slopes_of,
    with_friction,
    with_terms,
)
from eagre.models.shallow_water.stages.row_streaming_tiles import TILE_COLUMNS
from eagre.stepping.clock import ACCEPTED, DT, STEPS, open_gate
from eagre.terms.compose import TERM_FACTORS, TERMS

# The scratch of a tile is one 1-D array with rows WIDTH apart. With constant distances the compiler knows that rows do
# not overlap, so that loops vectorise without run-time checks. For the same reason rows are copied down instead of
# rotating indices.
WIDTH = TILE_COLUMNS + 8
U0, U1, U2 = 0 * WIDTH, 1 * WIDTH, 2 * WIDTH  # u of three rows, south to north
V0, V1, V2 = 3 * WIDTH, 4 * WIDTH, 5 * WIDTH
HIGH_Y, HIGH_H, HIGH_V, HIGH_U = 6 * WIDTH, 7 * WIDTH, 8 * WIDTH, 9 * WIDTH  # north face of the row below
RISE0, RISE1 = 10 * WIDTH, 11 * WIDTH  # rise of the surface across the cells of two rows, in y
SOUTH_M, SOUTH_N, SOUTH_T = 12 * WIDTH, 13 * WIDTH, 14 * WIDTH  # south flux: mass, normal, tangential
NORTH_M, NORTH_B, NORTH_N, NORTH_T = 15 * WIDTH, 16 * WIDTH, 17 * WIDTH, 18 * WIDTH  # B: normal, seen from below
WEST_Y, WEST_H, WEST_U, WEST_V = 19 * WIDTH, 20 * WIDTH, 21 * WIDTH, 22 * WIDTH  # west face values
EAST_Y, EAST_H, EAST_U, EAST_V = 23 * WIDTH, 24 * WIDTH, 25 * WIDTH, 26 * WIDTH
FACE_M, FACE_L, FACE_R, FACE_T = 27 * WIDTH, 28 * WIDTH, 29 * WIDTH, 30 * WIDTH  # flux in x, L and R as seen from
OVER0, OVER1, OVER2 = 31 * WIDTH, 32 * WIDTH, 33 * WIDTH  # 1/h of three rows
W0, W1, W2 = 34 * WIDTH, 35 * WIDTH, 36 * WIDTH  # surface of three rows
RISE_X = 37 * WIDTH  # rise of the surface across the cells of a row, in x
SCRATCH = 38 * WIDTH

COVERED, SHORES, DRY = 0, 1, 2  # class of a row: fully wet, partly wet, dry


class Tile(NamedTuple):
    """Tile with low corner (j0, i0) of its ghosts."""

    j0: Any
    i0: Any
    rows: Any
    columns: Any


class TileWork(NamedTuple):
    """Tiles of a stage with their work arrays, and the list of active tiles, if it is used."""

    scratch: Any
    tiles: Any  # (j0, i0, rows, columns) of each tile
    active: Any
    listed: Any  # whether only the listed tiles are computed


class RowCells(NamedTuple):
    """Adjacent n cells of a row, from column i0; j counts rows with ghosts, or interior rows, as a function says."""

    j: Any
    i0: Any
    n: Any


@cell
def velocities(q, bed, s, j, i0, n, p):
    """Move surface and velocities of the tile one row down and compute those of row j."""
    for i in range(n):
        b = bed_centre(bed, j, i0 + i)
        h = depth(q[0, j, i0 + i], b)
        s[W0 + i] = s[W1 + i]
        s[W1 + i] = s[W2 + i]
        s[W2 + i] = surface(q[0, j, i0 + i], b)
        s[U0 + i] = s[U1 + i]
        s[V0 + i] = s[V1 + i]
        s[U1 + i] = s[U2 + i]
        s[V1 + i] = s[V2 + i]
        over_h = over_depth(h, p)
        s[OVER0 + i] = s[OVER1 + i]
        s[OVER1 + i] = s[OVER2 + i]
        s[OVER2 + i] = over_h
        s[U2 + i] = PRIMITIVE(q[1, j, i0 + i], over_h)
        s[V2 + i] = PRIMITIVE(q[2, j, i0 + i], over_h)


@cell
def row_class(bed, s, j, i0, n, p):
    """Return the class of the n cells of row j + 1, which begin at column i0 + 1: COVERED, SHORES or DRY.

    A limited surface stays between the surfaces of the neighbouring cells. If these surfaces and its own are above the
    corners of the cell, its faces are wet.
    """
    uncovered = 0
    for i in range(n):
        c = i0 + i
        w = s[W1 + 1 + i]
        low = min(w, min(min(s[W0 + 1 + i], s[W2 + 1 + i]), min(s[W1 + i], s[W1 + 2 + i])))
        high = max(max(bed[j + 1, c + 1], bed[j + 1, c + 2]), max(bed[j + 2, c + 1], bed[j + 2, c + 2]))
        uncovered += 0 if fully_wet(low - high, w, p) else 1
    if uncovered == 0:
        return COVERED
    wet = 0
    for i in range(n):
        wet += 1 if s[OVER1 + 1 + i] > real(0.0) else 0
    return DRY if SKIP_DRY and wet == 0 else SHORES


@cell
def slopes_y(s, i, p):
    """Return `Slopes` in y of the cell in column i + 2 of the tile."""
    low = s[W0 + 2 + i], s[V0 + 2 + i], s[U0 + 2 + i]
    centre = s[W1 + 2 + i], s[V1 + 2 + i], s[U1 + 2 + i]
    high = s[W2 + 2 + i], s[V2 + 2 + i], s[U2 + 2 + i]
    return slopes_of(low, centre, high, p)


@cell
def slopes_x(s, i, p):
    """Return `Slopes` in x of the cell in column i + 1 of the tile."""
    low = s[W0 + i], s[U0 + i], s[V0 + i]
    centre = s[W0 + i + 1], s[U0 + i + 1], s[V0 + i + 1]
    high = s[W0 + i + 2], s[U0 + i + 2], s[V0 + i + 2]
    return slopes_of(low, centre, high, p)


@cell
def covered_flux_y(q, bed, s, j, c, i, p):
    """Return the flux through the south face of cell (j + 1, c + 2), column i of the tile, for wet cells on both sides.

    The result also has y, h, v, u at the north face of the cell (see `FACES`) and the rise of its surface.
    """
    z = bed_south(bed, j + 1, c + 2)
    z_h = bed_south(bed, j + 2, c + 2)
    w_l, v_l, u_l, w_h, v_h, u_h = COVERED_FACES(slopes_y(s, i, p), z, z_h, p)
    mass, below, above, along, speed = covered_flux(s[HIGH_H + i], s[HIGH_V + i], s[HIGH_U + i], w_l - z, v_l, u_l, p.g)
    return mass, below, above, along, speed, w_h - z_h, w_h - z_h, v_h, u_h, w_h - w_l


@cell
def any_flux_y(q, bed, s, j, c, i, p):
    """Return the result of `covered_flux_y` for any cells."""
    south = bed_south(bed, j + 1, c + 2)
    north = bed_south(bed, j + 2, c + 2)
    h = depth(q[0, j + 1, c + 2], real(0.5) * (south + north))
    y_l, h_l, v_l, u_l, y_h, h_h, v_h, u_h, rise = FACES(slopes_y(s, i, p), h, south, north, p)
    mass, below, above, along, speed = central_upwind(
        s[HIGH_Y + i], s[HIGH_H + i], s[HIGH_V + i], s[HIGH_U + i], y_l, h_l, v_l, u_l, p.g
    )
    return mass, below, above, along, speed, y_h, h_h, v_h, u_h, rise


@cell
def has_walls(walls, face, j, i0, n):
    """Return whether a south or west face (`SOUTH_FACE`, `WEST_FACE`) of n cells of row j is closed."""
    bits = 0
    for i in range(n):
        bits |= walls[j, i0 + i] & face
    return bits != 0


@cell
def walled_slopes(low, centre, high, closed_low, closed_high, p):
    """Return `slopes_of` three cells of a line with the mirror state behind closed faces."""
    w, u, v = centre
    zero = real(0.0)
    return Slopes(
        w, select(closed_low, zero, scaled_difference(low[0], w, p)),
        select(closed_high, zero, scaled_difference(w, high[0], p)),
        u, scaled_difference(select(closed_low, -u, low[1]), u, p),
        scaled_difference(u, select(closed_high, -u, high[1]), p),
        v, select(closed_low, zero, scaled_difference(low[2], v, p)),
        select(closed_high, zero, scaled_difference(v, high[2], p)),
    )  # fmt: skip


@cell
def walled_flux_y(q, bed, walls, s, j, c, i, p):
    """Return the result of `covered_flux_y` for any cells in a row with closed faces."""
    closed = (walls[j + 1, c + 2] & SOUTH_FACE) != 0
    closed_north = (walls[j + 2, c + 2] & SOUTH_FACE) != 0
    south = bed_south(bed, j + 1, c + 2)
    north = bed_south(bed, j + 2, c + 2)
    slopes = walled_slopes(
        (s[W0 + 2 + i], s[V0 + 2 + i], s[U0 + 2 + i]),
        (s[W1 + 2 + i], s[V1 + 2 + i], s[U1 + 2 + i]),
        (s[W2 + 2 + i], s[V2 + 2 + i], s[U2 + 2 + i]),
        closed, closed_north, p,
    )  # fmt: skip
    h = depth(q[0, j + 1, c + 2], real(0.5) * (south + north))
    y_l, h_l, v_l, u_l, y_h, h_h, v_h, u_h, rise = FACES(slopes, h, south, north, p)
    below = s[HIGH_Y + i], s[HIGH_H + i], s[HIGH_V + i], s[HIGH_U + i]
    return *flux_or_wall(closed, below, (y_l, h_l, v_l, u_l), p), y_h, h_h, v_h, u_h, rise


@cell
def no_flux_y(q, bed, s, j, c, i, p):
    """Return the result of `covered_flux_y` for dry cells."""
    zero = real(0.0)
    y_h = s[W1 + 2 + i] - bed_south(bed, j + 2, c + 2)
    return zero, zero, zero, zero, zero, y_h, zero, zero, zero, zero


@cell
def keep_flux_y(s, i, flux):
    """Move the fluxes of column i one row down and store a result of `covered_flux_y`; return the wave speed."""
    mass, below, above, along, speed, y_h, h_h, v_h, u_h, rise = flux
    s[SOUTH_M + i] = s[NORTH_M + i]
    s[SOUTH_N + i] = s[NORTH_N + i]
    s[SOUTH_T + i] = s[NORTH_T + i]
    s[RISE0 + i] = s[RISE1 + i]
    s[NORTH_M + i] = mass
    s[NORTH_B + i] = below
    s[NORTH_N + i] = above
    s[NORTH_T + i] = along
    s[HIGH_Y + i] = y_h
    s[HIGH_H + i] = h_h
    s[HIGH_V + i] = v_h
    s[HIGH_U + i] = u_h
    s[RISE1 + i] = rise
    return to_bits(speed)


@cell
def fluxes_y(q, domain, s, cells, below, kind, p):
    """Compute the faces of row j + 1 and the flux through its south faces; return the maximum wave speed.

    cells : `RowCells` with ghosts; below, kind : classes of row j and of row j + 1 (`row_class`).
    """
    fastest = to_bits(real(0.0))
    j, i0, n = cells
    bed, walls = domain.bed, domain.walls
    if WALLS and (has_walls(walls, SOUTH_FACE, j + 1, i0 + 2, n) or has_walls(walls, SOUTH_FACE, j + 2, i0 + 2, n)):
        for i in range(n):
            fastest = max(fastest, keep_flux_y(s, i, walled_flux_y(q, bed, walls, s, j, i0 + i, i, p)))
    elif below == COVERED and kind == COVERED:
        for i in range(n):
            fastest = max(fastest, keep_flux_y(s, i, covered_flux_y(q, bed, s, j, i0 + i, i, p)))
    elif below == DRY and kind == DRY:
        for i in range(n):
            fastest = max(fastest, keep_flux_y(s, i, no_flux_y(q, bed, s, j, i0 + i, i, p)))
    else:
        for i in range(n):
            fastest = max(fastest, keep_flux_y(s, i, any_flux_y(q, bed, s, j, i0 + i, i, p)))
    return from_bits(fastest)


@cell
def covered_faces_x(q, bed, s, j, c, i, p):
    """Return y, h, u, v at the west and east face of wet cell (j, c + 1), column i + 1 of the tile, and its rise."""
    west = bed_west(bed, j, c + 1)
    east = bed_west(bed, j, c + 2)
    w_l, u_l, v_l, w_h, u_h, v_h = COVERED_FACES(slopes_x(s, i, p), west, east, p)
    h_l, h_h = w_l - west, w_h - east
    return h_l, h_l, u_l, v_l, h_h, h_h, u_h, v_h, w_h - w_l


@cell
def any_faces_x(q, bed, s, j, c, i, p):
    """Return the result of `covered_faces_x` for any cell."""
    west = bed_west(bed, j, c + 1)
    east = bed_west(bed, j, c + 2)
    return FACES(slopes_x(s, i, p), depth(q[0, j, c + 1], real(0.5) * (west + east)), west, east, p)


@cell
def walled_faces_x(q, bed, walls, s, j, c, i, p):
    """Return the result of `covered_faces_x` for any cell of a row with closed faces."""
    west = bed_west(bed, j, c + 1)
    east = bed_west(bed, j, c + 2)
    slopes = walled_slopes(
        (s[W0 + i], s[U0 + i], s[V0 + i]),
        (s[W0 + i + 1], s[U0 + i + 1], s[V0 + i + 1]),
        (s[W0 + i + 2], s[U0 + i + 2], s[V0 + i + 2]),
        (walls[j, c + 1] & WEST_FACE) != 0, (walls[j, c + 2] & WEST_FACE) != 0, p,
    )  # fmt: skip
    return FACES(slopes, depth(q[0, j, c + 1], real(0.5) * (west + east)), west, east, p)


@cell
def keep_faces_x(s, i, faces):
    """Store a result of `covered_faces_x`."""
    y_l, h_l, u_l, v_l, y_h, h_h, u_h, v_h, rise = faces
    s[RISE_X + i] = rise
    s[WEST_Y + i] = y_l
    s[WEST_H + i] = h_l
    s[WEST_U + i] = u_l
    s[WEST_V + i] = v_l
    s[EAST_Y + i] = y_h
    s[EAST_H + i] = h_h
    s[EAST_U + i] = u_h
    s[EAST_V + i] = v_h


@cell
def keep_flux_x(s, i, flux):
    """Store the flux through face i of a row; return the wave speed."""
    mass, left, right, along, speed = flux
    s[FACE_M + i] = mass
    s[FACE_L + i] = left
    s[FACE_R + i] = right
    s[FACE_T + i] = along
    return to_bits(speed)


@cell
def covered_flux_x(s, i, p):
    """Return the flux through face i of a fully wet row."""
    return covered_flux(
        s[EAST_H + i], s[EAST_U + i], s[EAST_V + i], s[WEST_H + i + 1], s[WEST_U + i + 1], s[WEST_V + i + 1], p.g
    )


@cell
def any_flux_x(s, i, p):
    """Return the flux through face i of any row."""
    return central_upwind(
        s[EAST_Y + i], s[EAST_H + i], s[EAST_U + i], s[EAST_V + i],
        s[WEST_Y + i + 1], s[WEST_H + i + 1], s[WEST_U + i + 1], s[WEST_V + i + 1], p.g,
    )  # fmt: skip


@cell
def walled_flux_x(walls, s, j, c, i, p):
    """Return the flux through face i of a row with closed faces, the west face of cell (j, c + 2)."""
    west = s[EAST_Y + i], s[EAST_H + i], s[EAST_U + i], s[EAST_V + i]
    east = s[WEST_Y + i + 1], s[WEST_H + i + 1], s[WEST_U + i + 1], s[WEST_V + i + 1]
    return flux_or_wall((walls[j, c + 2] & WEST_FACE) != 0, west, east, p)


@cell
def fluxes_x(q, domain, s, cells, kind, p):
    """Compute west and east face values of row j and the flux through its n + 1 faces; return the maximum wave speed.

    cells : `RowCells` with ghosts; kind : class of the row (`row_class`).
    """
    fastest = to_bits(real(0.0))
    j, i0, n = cells
    bed, walls = domain.bed, domain.walls
    if WALLS and has_walls(walls, WEST_FACE, j, i0 + 1, n + 3):
        for i in range(n + 2):
            keep_faces_x(s, i, walled_faces_x(q, bed, walls, s, j, i0 + i, i, p))
        for i in range(n + 1):
            fastest = max(fastest, keep_flux_x(s, i, walled_flux_x(walls, s, j, i0 + i, i, p)))
    elif kind == COVERED:
        for i in range(n + 2):
            keep_faces_x(s, i, covered_faces_x(q, bed, s, j, i0 + i, i, p))
        for i in range(n + 1):
            fastest = max(fastest, keep_flux_x(s, i, covered_flux_x(s, i, p)))
    elif kind == DRY:
        zero = real(0.0)
        for i in range(n + 2):
            keep_faces_x(s, i, (zero, zero, zero, zero, zero, zero, zero, zero, zero))
            keep_flux_x(s, i, (zero, zero, zero, zero, zero))
    else:
        for i in range(n + 2):
            keep_faces_x(s, i, any_faces_x(q, bed, s, j, i0 + i, i, p))
        for i in range(n + 1):
            fastest = max(fastest, keep_flux_x(s, i, any_flux_x(s, i, p)))
    return from_bits(fastest)


@cell
def close_y(edges, s, side, i0, n):
    """Set the mass fluxes through the walls among n faces in y on a side to 0."""
    for i in range(n):
        s[NORTH_M + i] = flux_if_open(edges, side, i0 + i, s[NORTH_M + i])


@cell
def close_x(edges, s, side, row, i):
    """Set the mass flux through face i of a row on a side to 0 if the face is a wall."""
    s[FACE_M + i] = flux_if_open(edges, side, row, s[FACE_M + i])


@cell
def close_ends(edges, s, row, i0, n, nx):
    """Set the mass fluxes through walls at the ends of a row of n cells to 0."""
    if i0 == 0:
        close_x(edges, s, WEST, row, 0)
    if i0 + n == nx:
        close_x(edges, s, EAST, row, n)


@cell
def update(q, out, bed, forcing, s, cells, second, stage):
    """Compute cells of an interior row of the new state; in the second stage `out` has the state before the step."""
    row, i0, n = cells
    p, dt, seed = stage
    j = row + 2
    for i in range(n):
        c = i0 + i + 2
        h = depth(q[0, j, c], bed_centre(bed, j, c))
        gh = p.g * h
        r_h = p.over_dx * (s[FACE_M + i] - s[FACE_M + i + 1]) + p.over_dy * (s[SOUTH_M + i] - s[NORTH_M + i])
        r_u = p.over_dx * (s[FACE_R + i] - s[FACE_L + i + 1] - gh * s[RISE_X + i + 1]) + p.over_dy * (
            s[SOUTH_T + i] - s[NORTH_T + i]
        )
        r_v = p.over_dx * (s[FACE_T + i] - s[FACE_T + i + 1]) + p.over_dy * (
            s[SOUTH_N + i] - s[NORTH_B + i] - gh * s[RISE0 + i]
        )
        water, rates = Water(q[0, j, c], q[1, j, c], q[2, j, c], h, s[U0 + i + 2], s[V0 + i + 2]), (r_h, r_u, r_v)
        if TERMS:
            rates = with_terms(rates, water, forcing, row, i0 + i)
        noise = noise_of(seed, row, i0 + i)
        if second:
            eta, hu, hv = second_update(water, (out[0, j, c], out[1, j, c], out[2, j, c]), rates, noise, p, dt)
        else:
            eta, hu, hv = first_update(water, rates, noise, p, dt)
        out[0, j, c] = eta
        out[1, j, c] = hu
        out[2, j, c] = hv


@cell
def apply_friction(out, domain, cells, second, stage):
    """Apply bed friction to cells of an interior row of the new state, after a stage of both directions.

    The separate loop has independent square roots.
    """
    if FRICTION != 0:
        row, i0, n = cells
        p, j, dt = stage.p, row + 2, friction_duration(stage.dt, second)
        for i in range(n):
            c = i0 + i + 2
            h = depth(out[0, j, c], bed_centre(domain.bed, j, c))
            hu, hv = with_friction(out[1, j, c], out[2, j, c], h, manning_of(domain.manning, row, i0 + i, p), dt, p)
            out[1, j, c] = hu
            out[2, j, c] = hv


@cell
def compute_tile(buffers, domain, terms, s, tile, second, marks_live, stage):
    """Compute one tile; return its maximum rate, s-1, and its live cells, as bits."""
    for k in range(SCRATCH):
        s[k] = real(0.0)
    rate, live, kind, above = real(0.0), 0, SHORES, SHORES
    (j0, i0, rows, columns), q, out = tile, buffers.q, buffers.out
    p, bed, edges = stage.p, domain.bed, domain.edges
    ny, nx = q.shape[1] - 4, q.shape[2] - 4
    forcing = (terms, TERM_FACTORS(terms, 0))
    # One loop, whose first iterations compute the data below the first row: each call is inlined by the compiler.
    for r in range(rows + 4):
        velocities(q, bed, s, j0 + r, i0, columns + 4, p)
        if r >= 2:
            kind, above = above, row_class(bed, s, j0 + (r - 2), i0, columns + 2, p)
            met = fluxes_y(q, domain, s, RowCells(j0 + (r - 2), i0, columns), kind, above, p)
            rate = max(rate, met * p.over_dy) if r >= 3 else rate  # the first rows have no row below
        if r == 3 and j0 == 0:
            close_y(edges, s, SOUTH, i0, columns)
        if r >= 4:
            cells = RowCells(j0 + (r - 4), i0, columns)  # of the new state
            if cells.j == ny - 1:
                close_y(edges, s, NORTH, i0, columns)
            rate = max(rate, fluxes_x(q, domain, s, RowCells(j0 + (r - 2), i0, columns), kind, p) * p.over_dx)
            close_ends(edges, s, cells.j, i0, columns, nx)
            live |= live_bits(q, s, OVER0, j0 + (r - 2), i0, r - 4, rows, columns) if marks_live else 0
            if second:  # constants in each call, so that the loops over cells have no branches
                update(q, out, bed, forcing, s, cells, True, stage)
            else:
                update(q, out, bed, forcing, s, cells, False, stage)
            apply_friction(out, domain, cells, second, stage)
    return to_bits(rate), live


@entry
def stage_cpu(buffers, domain, terms, work, p, clock, phase, second):
    """Compute one stage from q into out over all tiles or the listed tiles; work : `TileWork`.

    rates receives the maximum rate per worker. The second stage of RK2 requires an accepted step; it reads the old
    state from `out` and overwrites it.
    """
    dt, seed = real(clock[DT]), seed_of_stage(clock, second, p)
    runs = open_gate(clock, phase) and (not second or clock[ACCEPTED] > 0.0)
    listed, active = work.listed, work.active
    scratch, tiles = work.scratch, work.tiles
    count = np.int64(active.work[np.int64(clock[STEPS]) & 1]) if listed else tiles.shape[0]
    # In a parallel loop Numba drops a store to an array of a tuple, or of an assignment to more than three variables.
    numbers, live_map, rates = active.listed, active.live, buffers.rates
    across = live_map.shape[1] - 2
    workers = min(count, scratch.shape[0]) if runs else 0
    for worker in prange(workers):
        stage, max_rate = Stage(p, dt, seed), to_bits(real(0.0))
        for k in range(worker, count, workers):
            t, marks_live = np.int64(numbers[k]) if listed else k, listed and not second
            tile = Tile(tiles[t, 0], tiles[t, 1], np.int64(tiles[t, 2]), np.int64(tiles[t, 3]))
            rate, live = compute_tile(buffers, domain, terms, scratch[worker], tile, second, marks_live, stage)
            max_rate = max(max_rate, rate)
            if marks_live:
                live_map[t // across + 1, t % across + 1] = live
        rates[worker] = max_rate
