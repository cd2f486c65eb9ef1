"""Data of a lane of the kernel `row_streaming_cuda`: rows, bed corners, faces, fluxes and walls of its column."""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, load_early, real, switch
from eagre.backend.cuda.warp import anywhere, from_lane_above, from_lane_below
from eagre.boundaries.edges import CLOSED, EAST, NORTH, WEST
from eagre.kernels.elevation import depth, surface
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, select, smaller
from eagre.models.shallow_water.kernels import PRIMITIVE, WALLS, Slopes, fully_wet, over_depth

WALL_ROWS = 5  # faces that a tile depends on: rows in addition to the rows of the tile
PARTS = switch("PARTS", False)  # whether a side has walls and other conditions, so that each face is looked up


class Row(NamedTuple):
    """Data of one row of a column; d_* are scaled differences to the row below."""

    w: float
    eta: float
    hu: float
    hv: float
    h: float
    over_h: float
    u: float
    v: float
    d_w: float
    d_u: float
    d_v: float


class State(NamedTuple):
    """Unknowns of a cell."""

    eta: float
    hu: float
    hv: float


class Bed(NamedTuple):
    """Bed at the corners to the west and to the east of a column."""

    west: float
    east: float


class Face(NamedTuple):
    """Depth and velocities on the south side of a fully wet face in y."""

    h: float
    v: float
    u: float


class Flux(NamedTuple):
    """Flux through a face; `low` and `high` are the normal-momentum fluxes of its low and high side."""

    mass: float
    low: float
    high: float
    tangential: float
    speed: float


class Walls(NamedTuple):
    """0 for a closed face, otherwise 1: west faces of a column, and its face on the north side."""

    west: float
    north: float


class Fluxes(NamedTuple):
    """Fluxes through the west, south and north faces of a cell, and the rise of its surface in x and y."""

    west: Flux
    rise_x: float
    south: Flux
    north: Flux
    rise_y: float


class Rows(NamedTuple):
    """Data of a lane that moves north: two rows, the state above them, corners, and the flux between the rows."""

    row: Row
    above: Row  # the row to its north
    top_state: State  # of the row above `above`
    south: Bed  # corners around the rows, from south to north
    north: Bed
    next_north: Bed
    top_corners: Bed
    flux: Flux  # through the south faces of the row
    face: Face  # at the north face of the row
    rise: float  # of the surface of the row in y
    shore: Any  # whether the row is `uncovered`


class InternalWalls(NamedTuple):
    """Bits of the closed internal faces, and whether a tile, in any lane, depends on a closed one."""

    faces: Any
    near: bool


class Lane(NamedTuple):
    """Column i of a lane, the walls around it, and its tasks."""

    i: Any
    walls: Any  # `Walls`
    internal: InternalWalls
    store: Any  # whether it writes its cells
    faced: Any  # whether it evaluates its west faces


class StageArrays(NamedTuple):
    """Arrays of a stage in a kernel, and the source terms; buffers : `Buffers` or `SplitBuffers`."""

    buffers: Any
    domain: Any
    forcing: Any
    maps: Any


@cell
def openness(edges, side, m):
    """Return 0 if face m of a side is a wall, otherwise 1: factor of the mass flux."""
    return select(edges[side, CLOSED, m] != 0, real(0.0), real(1.0))


@cell
def walls_of(edges, column, row, ny, nx):
    """Return `Walls` of a column; a side with one condition is represented by its first face."""
    west, north = real(1.0), openness(edges, NORTH, min(max(column, 2) - 2, nx - 1) if PARTS else 0)
    if column == 2 or column == nx + 2:
        west = openness(edges, WEST if column == 2 else EAST, min(row, ny - 1) if PARTS else 0)
    return Walls(west, north)


@cell
def internal_walls(faces, j0, rows, i):
    """Return `InternalWalls` of the column of a tile that begins at row j0 of the arrays with ghosts."""
    if WALLS:
        bits = 0
        for k in range(rows + WALL_ROWS):
            bits |= faces[min(j0 + k, faces.shape[0] - 1), i]
        return InternalWalls(faces, anywhere(bits != 0))
    return InternalWalls(faces, False)


@cell
def load_corners(bed, j, i):
    """Load the bed corners to the south of row j."""
    return Bed(bed[j, i], bed[j, i + 1])


@cell
def load_state(q, j, i):
    """Load eta, hu, hv of row j ahead of use."""
    return State(load_early(q, 0, j, i), load_early(q, 1, j, i), load_early(q, 2, j, i))


@cell
def bed_between(south, north):
    """Return the bed of a cell between the corners to its south and north, m."""
    return real(0.25) * ((south.west + north.west) + (south.east + north.east))


@cell
def make_row(state, south, north, below, p):
    """Return a row of a column from its state and the corners to its south and north."""
    eta, hu, hv = state
    b = bed_between(south, north)
    w, h = surface(eta, b), depth(eta, b)
    over_h = over_depth(h, p)
    u = PRIMITIVE(hu, over_h)
    v = PRIMITIVE(hv, over_h)
    return Row(
        w, eta, hu, hv, h, over_h, u, v,
        scaled_difference(below.w, w, p), scaled_difference(below.u, u, p), scaled_difference(below.v, v, p),
    )  # fmt: skip


@cell
def nothing():
    """Return a dry row."""
    zero = real(0.0)
    return Row(zero, zero, zero, zero, zero, zero, zero, zero, zero, zero, zero)


@cell
def with_mass(flux, mass):
    """Return a flux with another mass flux."""
    return Flux(mass, flux.low, flux.high, flux.tangential, flux.speed)


@cell
def face_bed(a, b):
    """Return the bed at the face between two corners."""
    return real(0.5) * (a + b)


@cell
def slopes_y(row, above):
    """Return `Slopes` in y of a row; above : the row to its north."""
    return Slopes(row.w, row.d_w, above.d_w, row.v, row.d_v, above.d_v, row.u, row.d_u, above.d_u)


@cell
def differences_x(x, p):
    """Return the scaled differences to the columns to the west and to the east."""
    east = scaled_difference(x, from_lane_above(x, 1), p)
    return from_lane_below(east, 1), east


@cell
def slopes_x(row, p):
    """Return `Slopes` in x of a row."""
    d_w, e_w = differences_x(row.w, p)
    d_u, e_u = differences_x(row.u, p)
    d_v, e_v = differences_x(row.v, p)
    return Slopes(row.w, d_w, e_w, row.u, d_u, e_u, row.v, d_v, e_v)


@cell
def uncovered(below, w, above, south, north, p):
    """Return whether a face of a cell of a row can be dry, in any lane.

    w : surface of the row; below, above : surfaces of the adjacent rows. A limited surface stays between the surfaces
    of the neighbouring cells. If these surfaces and its own are above the corners, its faces are wet.
    """
    low = smaller(smaller(w, smaller(below, above)), smaller(from_lane_below(w, 1), from_lane_above(w, 1)))
    high = larger(larger(south.west, south.east), larger(north.west, north.east))
    return anywhere(not fully_wet(low - high, w, p))
