"""Boundaries of a domain in the tile kernels (`tile_cuda`): ghost cells computed on load, and the water balance."""

from typing import NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, load_early, real, switch
from eagre.boundaries.base import GhostCell
from eagre.boundaries.edges import (
    BED_1,
    BED_2,
    BED_FACE,
    BED_GHOSTS,
    BOOK,
    CLOSED,
    EAST,
    ELEVATIONS,
    KIND,
    LEVEL,
    NORTH,
    SEGMENT,
    SOUTH,
    WEST,
)
from eagre.boundaries.ghosts import ghost_of_kind
from eagre.kernels.elevation import base
from eagre.kernels.roots import select
from eagre.models.shallow_water.kernels import SECOND
from eagre.models.shallow_water.sampling.water_balance import RATE, RATE_2, SUM, SUM_END

WRAP_X = switch("WRAP_X", False)  # whether the sides to the west and east are periodic
WRAP_Y = switch("WRAP_Y", False)
OPEN = switch("OPEN", False)  # whether a side is open; otherwise all non-periodic sides are walls


class Sides(NamedTuple):
    """Data of the four sides."""

    edges: np.ndarray  # see `eagre.boundaries.edges.edge_table`
    levels: np.ndarray  # see `eagre.boundaries.edges.edge_levels`
    values: np.ndarray  # value of each segment at the time of either state buffer, (2, segments), double
    budget: np.ndarray  # of the water balance


class Source(NamedTuple):
    """Initial state of a stage: pair[parity] or q_stage, (3, ny + 4, nx + 4) each."""

    pair: np.ndarray
    q_stage: np.ndarray
    parity: bool | np.bool_


@cell
def one_of(pair, parity, j, i):
    """Load eta, hu, hv of cell (j, i) of pair[parity]; both buffers are loaded, to avoid a wait for the parity."""
    even, odd = pair[0], pair[1]
    eta, hu, hv = load_early(even, 0, j, i), load_early(even, 1, j, i), load_early(even, 2, j, i)
    other_eta, other_hu, other_hv = load_early(odd, 0, j, i), load_early(odd, 1, j, i), load_early(odd, 2, j, i)
    return select(parity, other_eta, eta), select(parity, other_hu, hu), select(parity, other_hv, hv)


@cell
def state_at(source, j, i):
    """Return eta, hu, hv of interior cell (j, i) of the padded arrays at the start of the stage."""
    j, i = np.uint32(j), np.uint32(i)
    if SECOND:
        q_stage = source.q_stage
        return q_stage[0, j, i], q_stage[1, j, i], q_stage[2, j, i]
    return one_of(source.pair, source.parity, j, i)


@cell
def side_of(j, i, ny, nx):
    """Return the side beyond which cell (j, i) of the padded arrays lies, and the layer, 0 or 1.

    The side of interior cells is -1.
    """
    side, layer = -1, 0
    if i < 2:
        side, layer = WEST, 1 - i
    elif i >= nx + 2:
        side, layer = EAST, i - nx - 2
    elif j < 2:
        side, layer = SOUTH, 1 - j
    elif j >= ny + 2:
        side, layer = NORTH, j - ny - 2
    return side, layer


@cell
def inner_cell(k, n, wrap):
    """Return the index of the cell that cell k of a padded row of n cells copies at periodic sides or walls."""
    if k < 2:
        k = k + n if wrap else 3 - k
    elif k >= n + 2:
        k = k - n if wrap else n + n + 3 - k
    return max(2, min(k, n + 1))


@cell
def mirrored_state(source, j, i, ny, nx):
    """Return the state of cell (j, i) if every side is periodic or a wall: a copy of an interior cell."""
    eta, hu, hv = state_at(source, inner_cell(j, ny, WRAP_Y), inner_cell(i, nx, WRAP_X))
    if not WRAP_X and (i < 2 or i >= nx + 2):
        hu = -hu
    if not WRAP_Y and (j < 2 or j >= ny + 2):
        hv = -hv
    return eta, hu, hv


class Ghost(NamedTuple):
    """Data of the face at a cell and at the cell beyond, available before the state."""

    side: int  # -1 if neither cell is a ghost, or both are copies at a periodic side
    layer: int  # layer of the cell: 0 next to the domain, 1 beyond, -1 if only the cell beyond is a ghost
    segment: int
    kind: int
    elevations: int  # which of the condition's values are elevations (`Condition.elevations`)
    level: float  # m above the datum
    bed_1: float  # bed of the two interior cells and both ghosts, m above the datum
    bed_2: float
    bed_near: float
    bed_far: float
    bed_face: float


@cell
def across_of(side, j, i, ny, nx):
    """Return the indices of the first and second interior cells at ghost (j, i), and the sign of inflow."""
    in_x, low = side <= EAST, side == WEST or side == SOUTH
    first, inward = 2 if low else (nx if in_x else ny) + 1, 1 if low else -1
    fj, fi = min(max(j, 2), ny + 1), min(max(i, 2), nx + 1)
    if in_x:
        return fj, first, fj, first + inward, inward
    return first, fi, first + inward, fi, inward


@cell
def ghost_data(sides, j, i, far_j, far_i, ny, nx):
    """Return the data of cell (j, i) of the padded arrays and of the cell beyond, before the state is loaded.

    Both can be the same cell.
    """
    zero = real(0.0)
    segment, kind, elevations, level, bed_1, bed_2, near, far, face = 0, 0, 0, zero, zero, zero, zero, zero, zero
    side, layer = side_of(j, i, ny, nx)
    if side < 0:
        side, layer = side_of(far_j, far_i, ny, nx)
        layer -= 1
    if (WRAP_X and side <= EAST) or (WRAP_Y and side >= SOUTH):
        side = -1
    if OPEN and side >= 0:
        m = min(max(j if side <= EAST else i, 2), (ny if side <= EAST else nx) + 1) - 2
        segment, kind = sides.edges[side, SEGMENT, m], sides.edges[side, KIND, m]
        elevations = sides.edges[side, ELEVATIONS, m]
        level, bed_1, bed_2 = sides.levels[side, LEVEL, m], sides.levels[side, BED_1, m], sides.levels[side, BED_2, m]
        near, far = sides.levels[side, BED_GHOSTS, m], sides.levels[side, BED_GHOSTS + 1, m]
        face = sides.levels[side, BED_FACE, m]
    return Ghost(side, layer, segment, kind, elevations, level, bed_1, bed_2, near, far, face)


@cell
def over(state, rise):
    """Return a state (eta, n, t or bed) with eta relative to a level `rise` lower, m."""
    return state[0] + rise, state[1], state[2]


@cell
def ghost_over(ghost, cells, copied_bed, bed_k, m, value, p):
    """Return eta and the normal and tangential discharges of ghost m, 1 or 2, with bed bed_k, m.

    cells : states of the first and second interior cells and of the cell that a wall would mirror, which has the bed
    `copied_bed`. See `eagre.boundaries.ghosts.ghost_cell`.
    """
    g, level = ghost, base(bed_k)
    first, second, copied = cells
    return ghost_of_kind(
        g.kind,
        GhostCell(
            over(first, base(g.bed_1) - level), (second[0] + (base(g.bed_2) - level), second[1], g.bed_2 - level),
            over(copied, base(copied_bed) - level), g.bed_1 - level, bed_k - level, g.bed_face - level, m,
        ),
        value - real(g.elevations & 1) * level, g.level - real(g.elevations >> 1) * level, p,
    )  # fmt: skip


@cell
def ghost_states(source, sides, ghost, j, i, p):
    """Return the states of the boundary cell and of both ghosts in the line of cell (j, i)."""
    ny, nx = source.q_stage.shape[1] - 4, source.q_stage.shape[2] - 4
    row = 1 if source.parity != SECOND else 0  # the stage state has the time of the buffer that the step fills
    even, odd = sides.values[0, ghost.segment], sides.values[1, ghost.segment]
    fj, fi, sj, si, inward = across_of(ghost.side, j, i, ny, nx)
    in_x, sign, g = ghost.side <= EAST, real(inward), ghost
    eta_1, hu_1, hv_1 = state_at(source, fj, fi)
    eta_2, hu_2, hv_2 = state_at(source, sj, si)
    first = (eta_1, sign * select(in_x, hu_1, hv_1), select(in_x, hv_1, hu_1))
    second = (eta_2, sign * select(in_x, hu_2, hv_2), select(in_x, hv_2, hu_2))
    value = real(odd if row == 1 else even)
    eta, n, t = ghost_over(g, (first, second, first), g.bed_1, g.bed_near, real(1.0), value, p)
    far_eta, far_n, far_t = ghost_over(g, (first, second, second), g.bed_2, g.bed_far, real(2.0), value, p)
    n, far_n = sign * n, sign * far_n
    near = (eta, select(in_x, n, t), select(in_x, t, n))
    return (eta_1, hu_1, hv_1), near, (far_eta, select(in_x, far_n, far_t), select(in_x, far_t, far_n))


@cell
def states_of(source, sides, ghost, j, i, far_j, far_i, p):
    """Return the initial state of the stage in cells (j, i) and (far_j, far_i) of the padded arrays.

    The cells can be ghosts. In the tile both are the same cell. Next to the tile the far cell lies beyond the other.
    """
    ny, nx = source.q_stage.shape[1] - 4, source.q_stage.shape[2] - 4
    if OPEN and ghost.side >= 0:
        inside, near, far = ghost_states(source, sides, ghost, j, i, p)
        if ghost.layer < 0:
            return inside, near
        return (near, far) if ghost.layer == 0 else (far, far)
    state = mirrored_state(source, j, i, ny, nx)
    beyond = state
    if far_j != j or far_i != i:
        beyond = mirrored_state(source, far_j, far_i, ny, nx)
    return state, beyond


@cell
def is_closed_face(sides, low, high, m, at_low, at_high, wrap):
    """Return whether the face at the low or the high end of row or column m is a wall."""
    closed = (at_low or at_high) and not wrap
    if OPEN and closed:
        closed = sides.edges[low if at_low else high, CLOSED, m] != 0
    return closed


@cell
def accumulate_face_volume(sides, side, m, time):
    """Accumulate the volume through face m of a side, if it is open, at the rates of its last step, up to `time`, s."""
    k = sides.edges[side, BOOK, m]
    if k >= 0:
        sides.budget[k, SUM] += (time - sides.budget[k, SUM_END]) * (sides.budget[k, RATE] + sides.budget[k, RATE_2])
        sides.budget[k, SUM_END] = time


@cell
def store_face_rate(sides, side, m, mass):
    """Store half of the flux of this stage through face m of a side, m2 s-1, positive along the axis, as a rate."""
    k = sides.edges[side, BOOK, m]
    inflow = 0.5 * float(mass) * (1.0 if side == WEST or side == SOUTH else -1.0)
    if k >= 0:
        sides.budget[k, RATE_2 if SECOND else RATE] = inflow
