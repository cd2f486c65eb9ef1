"""What a lane of `march_cuda` holds of its column: rows, corners of the bed, faces, fluxes and walls."""

from typing import NamedTuple

from eagre.backend.cells import cell, load_ahead, real, switch
from eagre.backend.warp import anywhere, from_lane_above, from_lane_below
from eagre.boundaries.edges import CLOSED, EAST, NORTH, WEST
from eagre.kernels.elevation import depth, surface
from eagre.kernels.limiters import scaled_difference
from eagre.kernels.roots import larger, select, smaller
from eagre.models.shallow_water.kernels import PRIMITIVE, covered, over_depth

PARTS = switch("PARTS", False)  # whether a side has walls and other conditions: its faces are looked up one by one


class Row(NamedTuple):
    """What a lane holds of one row of its column; d_* are scaled differences to the row below."""

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
    """The unknowns of a cell."""

    eta: float
    hu: float
    hv: float


class Bed(NamedTuple):
    """Bed at the corners to the west and to the east of a lane's column."""

    west: float
    east: float


class Face(NamedTuple):
    """Depth and velocity on the south side of a face in y, where water covers it."""

    h: float
    v: float
    u: float


class Flux(NamedTuple):
    """Flux through a face; `low` and `high` are that of normal momentum as its two sides see it."""

    mass: float
    low: float
    high: float
    tangential: float
    speed: float


class Walls(NamedTuple):
    """0 where no water crosses, else 1: the west faces of a lane's column, and its face on the northern side."""

    west: float
    north: float


@cell
def openness(edges, side, m):
    """0 where face m of a side is a wall, else 1: what a flux of mass is multiplied by."""
    return select(edges[side, CLOSED, m] != 0, real(0.0), real(1.0))


@cell
def walls_of(edges, column, row, ny, nx):
    """`Walls` of a lane's column; of whole sides those of the first face."""
    west, north = real(1.0), openness(edges, NORTH, min(max(column, 2) - 2, nx - 1) if PARTS else 0)
    if column == 2 or column == nx + 2:
        west = openness(edges, WEST if column == 2 else EAST, min(row, ny - 1) if PARTS else 0)
    return Walls(west, north)


@cell
def load_corners(bed, j, i):
    """Bed corners to the south of row j."""
    return Bed(bed[j, i], bed[j, i + 1])


@cell
def load_state(q, j, i):
    """eta, hu, hv of row j, asked for now and needed later."""
    return State(load_ahead(q, 0, j, i), load_ahead(q, 1, j, i), load_ahead(q, 2, j, i))


@cell
def bed_between(south, north):
    """Bed of a lane's cell between the corners to its south and north, m."""
    return real(0.25) * ((south.west + north.west) + (south.east + north.east))


@cell
def make_row(state, south, north, below, p):
    """A row of a lane's column from its state and the corners to its south and north."""
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
def middle(a, b):
    """Bed at the face between two corners."""
    return real(0.5) * (a + b)


@cell
def uncovered(below, w, above, south, north, p):
    """Whether the surface w of a row may leave a face of a cell dry, in any lane.

    below, above : the surfaces of the rows beside it. A limited surface stays between those of the
    cell's neighbours: where they and its own are above its corners, water covers its faces.
    """
    low = smaller(smaller(w, smaller(below, above)), smaller(from_lane_below(w, 1), from_lane_above(w, 1)))
    high = larger(larger(south.west, south.east), larger(north.west, north.east))
    return anywhere(not covered(low - high, w, p))
