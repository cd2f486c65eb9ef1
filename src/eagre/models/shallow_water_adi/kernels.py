"""Point functions of the ADI model: mass and momentum equations of a line, with the mass equations eliminated.

A sweep is written once, for a line along x. The sweep along y is its transpose (x and y, p and q, dx and dy exchanged).
On a line, P_i is the new flux through face i between cells i - 1 and i; old fields have lower-case letters. The mass
equation of a cell (README.md, equation 1) is

    z_new = r - w (P_{i+1} - P_i),      w = dt / (4 dx).

Substitution in the momentum equation (equation 2) leaves one unknown per cell:

    A P_{i-1} + B P_i + C P_{i+1} = D.

All equations are multiplied by dt, so that A, B, C are dimensionless. A bed of LAND or higher is land or outside the
domain. Without MAY_DRY all cells of the domain stay wet, and only cells outside have negative depths.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.implicit_lines import (
    CONVECTION,
    DRYING,
    LAND,
    MAX_COURANT,
    MAY_DRY,
    MIN_DEPTH,
    depth,
    drying_drag,
    minimum_depth,
    resistance,
)
from eagre.kernels.roots import hypotenuse, larger, reciprocal, select, smaller
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.terms.compose import TERM_FACTORS
from eagre.terms.infiltration import infiltrated

OUTSIDE = 1e30  # bed of land and outside the domain, m
BEYOND = 1e12  # bed outside a domain without MAY_DRY, m: sums of depths are nonzero, and squares are finite
# Maximum ratio of 1/h^2 in the friction to 1/h^2 of the face: a thin cell at a front does not set the friction.
FRONT = 2.0

UNEVEN = 1e-30  # minimum denominator of the limiter

DISSIPATION = switch("DISSIPATION", True)  # upwinding at high Froude numbers or for extrema of p across the lines
VISCOUS = switch("VISCOUS", False)
WALLS = switch("WALLS", False)  # whether internal faces are closed

# Flags of the closed faces of a cell: its low and high face on the line, its faces to the lines below and above.
LOW, HIGH, BELOW, ABOVE = 1, 2, 4, 8


class Parameters(NamedTuple):
    """Parameters of one sweep, in the precision of the run; "along" and "across" the lines."""

    w: np.floating  # dt / (4 dx), s m-1
    w_across: np.floating  # dt / (4 dy)
    push: np.floating  # dt g / (2 dx)
    friction: np.floating  # dt g n^2, or dt g / C^2, where uniform; dt where it is a map
    dry: np.floating  # depth above the higher bed below which a face is closed, m
    g: np.floating  # m s-2
    over_g: np.floating
    dt: np.floating  # s
    viscosity: np.floating  # dt E / dx^2
    viscosity_across: np.floating  # dt E / dy^2
    cell_speed: np.floating  # dx / dt, m s-1
    aspect: np.floating  # dy / dx


class Fields(NamedTuple):
    """Padded fields of a sweep, along and across its lines, and the map of the friction."""

    z: Any
    bed: Any
    flux: Any
    across_old: Any
    across_new: Any
    z_new: Any
    flux_new: Any
    friction: Any


class Ends(NamedTuple):
    """Boundary conditions at the two ends of every line: kinds (WALL ..) and slots of their values."""

    low: np.ndarray
    low_slot: np.ndarray
    high: np.ndarray
    high_slot: np.ndarray
    values: np.ndarray  # of the series, (rows, slots), double
    row: int  # row of the values of a sweep


@cell
def over_depth(h, p):
    """1/h, m-1."""
    if MAY_DRY:
        return reciprocal(larger(h, minimum_depth(p)))
    return reciprocal(h)


@cell
def beyond(d, closed, face):
    """Return the bed d of a neighbour, or the bed of land if the face to it is closed; closed : faces of the cell."""
    if WALLS:
        return select((closed & face) != 0, real(OUTSIDE), d)
    return d


@cell
def row_or_wall(closed, a, b, c, d):
    """Return A, B, C, D of the low face of a cell, or of the equation P = 0; closed : faces of the cell."""
    if WALLS:
        wall, zero = (closed & LOW) != 0, real(0.0)
        return select(wall, zero, a), select(wall, real(1.0), b), select(wall, zero, c), select(wall, zero, d)
    return a, b, c, d


@cell
def upwinding(fr2):
    """Return the upwinding weight from the squared Froude number: 0 up to Fr = 1/4, 1 from Fr = 1."""
    return smaller(larger(real(16.0 / 15.0) * fr2 - real(1.0 / 15.0), real(0.0)), real(1.0))


@cell
def known_surface(z, p_low, p_high, q_low, q_high, p):
    """Return r: the surface after half a step without the new fluxes along the line (equation 1).

    q : sums of old and new fluxes.
    """
    return z + p.w * (p_low - p_high) + p.w_across * (q_low - q_high)


@cell
def depth_change(z, d, h, bed):
    """Return the depth of the upstream cell (z, d) less the depth h of the cell, whose bed is `bed` (equation 4).

    Only water above the bed of the cell counts. Where the bed rises, a larger upstream depth is reduced by the rise, to
    no less than half of the difference: water on a crest does not have the velocity of the deep water upstream.
    """
    ridge = larger(d, bed)
    above = z - ridge
    change = above - h
    reduced = smaller(change, larger(real(0.5) * change, change - (ridge - d)))
    return select(above > real(0.0), reduced, real(0.0))


@cell
def advection_factors(p_low, p_high, h, over_h, bed, low_neighbour, high_neighbour, p):
    """Return the factors of P at the low and the high face in the momentum that a cell advects (equation 4).

    low_neighbour, high_neighbour : surface and bed of the neighbours on the line. At high Froude numbers both P and the
    depth in the velocity of p are upstream values: with the depth of the cell itself, a step in the depth would grow
    for Froude numbers above 1.
    """
    if not CONVECTION:
        return real(0.0), real(0.0)
    both = p_low + p_high
    flow = both * over_h
    weight = real(0.0)
    if DISSIPATION:
        weight = upwinding(real(0.25) * flow * flow * over_h * p.over_g)
        forward = both > real(0.0)
        z_up = select(forward, low_neighbour[0], high_neighbour[0])
        d_up = select(forward, low_neighbour[1], high_neighbour[1])
        flow = both * over_depth(h + real(0.5) * weight * depth_change(z_up, d_up, h, bed), p)
    k = p.w * flow
    if DRYING:
        k = smaller(larger(k, -real(MAX_COURANT)), real(MAX_COURANT))
    up = weight * abs(k)
    return k + up, k - up


@cell
def depth_pair(h, h_beyond):
    """Return the sum of the depths of two adjacent cells across the lines; a dry cell counts as the other cell."""
    total = h + h_beyond
    if MAY_DRY:
        return select(h * h_beyond > real(0.0), total, total + total)
    return total


@cell
def slip_flux(p_below, p_above, q_l, q_r, p):
    """Return the correction of the sum of two fluxes along the lines at a corner next to land (equation 5b).

    One of the fluxes is 0, at a closed face. Its substitute makes the vorticity of the corner 0, so that the water
    slips along the coast: the other flux plus the difference of the cross fluxes. The difference is limited to twice
    the other flux, because a larger difference would empty thin cells.
    """
    both = p_below + p_above
    limit = real(2.0) * abs(both)
    correction = smaller(larger(p.aspect * (q_r - q_l), -limit), limit)
    return both + select(p_below == real(0.0), -correction, correction)


@cell
def corner_flux(p_below, p_above, q_l, q_r, depths, min_l, min_r, p):
    """Return dt/dy times the flux of p through a corner, and the missing upwind part (equations 5, 5b).

    q_l, q_r : cross fluxes on both sides of the corner; depths : sum of the four depths; least_l, least_r : smaller
    depth of the two cells on each side. p is explicit across the lines. Central differences alone would be unstable, so
    the upwinding weight is at least |v| dt/dy (Lax and Wendroff).
    """
    wet = smaller(min_l, min_r) > real(0.0)
    out = lacks = real(0.0)
    if CONVECTION:
        over = reciprocal(larger(depths, real(MIN_DEPTH)) if MAY_DRY else depths)
        v = (q_l + q_r) * over
        rate = real(4.0) * p.w_across * v
        if DRYING:
            rate = smaller(larger(rate, -real(MAX_COURANT)), real(MAX_COURANT))
        both, difference = p_below + p_above, p_above - p_below
        if DISSIPATION:
            speed = abs(rate)
            fast = upwinding(real(16.0) * v * v * over * p.over_g)
            up = larger(fast, smaller(speed + speed, real(1.0)))
            # Beyond an open boundary both cells of a line are outside; the slip correction does not apply.
            slips = (p_below * p_above == real(0.0)) & (not wet) & (larger(min_l, min_r) > real(0.0))
            slip = select(slips, larger(real(1.0) - fast - real(4.0) * speed, real(0.0)), real(0.0))
            both = both + slip * slip_flux(p_below, p_above, q_l, q_r, p)
            difference = (speed - slip * speed) * difference
            out = rate * both - up * difference
            lacks = difference - up * difference
        else:
            out = rate * both
    if VISCOUS:
        out = out - select(wet, p.viscosity_across * (p_above - p_below), real(0.0))
    return out, lacks


@cell
def across_lines(below, above):
    """Return the net momentum flux across the lines, with a limiter (equation 5a).

    below, above : `corner_flux` of both corners. The missing upwind part is added in full at extrema of p across the
    lines and vanishes where p is smooth (van Albada's limiter).
    """
    flux_below, lacks_below = below
    flux_above, lacks_above = above
    net = flux_below - flux_above
    if CONVECTION:
        if DISSIPATION:
            change = lacks_above - lacks_below
            squares = larger(lacks_above * lacks_above + lacks_below * lacks_below, real(UNEVEN))
            net = net + smaller(change * change * reciprocal(squares), real(1.0)) * change
    return net


@cell
def contraction_depths(depths, h_l, h_r, over_ridge):
    """Return the sum of depths at a face for flow onto a higher bed (equation 11a).

    The harmonic mean of the depths conserves the energy head. The arithmetic mean accelerates the flow over a step with
    the pressure on its deep side. 3/2 of the smaller depth is close to the harmonic mean for depth ratios of 2 to 5;
    smaller ratios change nothing. The depth above the ridge prevents a thin cell from closing a face.
    """
    return smaller(depths, larger(real(3.0) * smaller(h_l, h_r), over_ridge + over_ridge))


@cell
def weir_limits(low, high, ridge, over_ridge, s, depths, factor, p):
    """Return s, the sum of depths, w and r of both cells, modified for drying, and whether the face is closed.

    If a surface lies below the higher bed, the water falls over that bed as over a weir. The bed then replaces the
    surface, less the friction loss of critical flow along the cell, so that a thin layer flows down a slope at
    Manning's speed. There and in thin water the depth above the higher bed is used. The friction never uses a much
    thinner mean depth (depth ratios below 1.7 are unchanged).
    """
    zero = real(0.0)
    shallow = (smaller(low.h, high.h) < p.dry + p.dry) | (smaller(low.z, high.z) < ridge)
    over = reciprocal(larger(over_ridge, p.dry))
    s = select(shallow, over * over, smaller(s, real(FRONT) * over * over))
    h = larger(over_ridge, zero)
    level = ridge - p.cell_speed * resistance(h * h, s, factor)
    falls_l, falls_r = low.z < level, high.z < level
    return (
        s,
        select(shallow, over_ridge + over_ridge, depths),
        select(falls_l, zero, p.w),
        select(falls_r, zero, p.w),
        select(falls_l, level, low.r),
        select(falls_r, level, high.r),
        over_ridge <= p.dry,
    )


class LineCell(NamedTuple):
    """Data of a cell for the two adjacent faces on its line."""

    z: Any
    d: Any
    h: Any
    over: Any  # 1/h
    r: Any  # `known_surface`
    from_low: Any  # factor of P at the low face (`advection_factors`)
    from_high: Any
    below: Any  # `depth_pair` with the cell of the line below
    above: Any
    min_below: Any  # smaller depth of these two cells
    min_above: Any
    q_sum: Any  # sum of the four cross fluxes
    q_below: Any  # new cross flux at the low edge
    q_above: Any


@cell
def line_cell(z, d, across_depths, neighbours, along, edges, rain, p):
    """Return the cell from the surrounding fields.

    across_depths : depths of the neighbours on the lines below and above.
    neighbours : surface and bed of the low and of the high neighbour on the line, used for upwinding.
    along : old fluxes at its low and high face.
    edges : sums of the old and the new cross flux at its low and high edge, then the new ones.
    rain : rain of half a step, m.
    """
    (h_below, h_above), (p_low, p_high), (q_low, q_high, qn_low, qn_high) = across_depths, along, edges
    h = depth(z, d)
    over = over_depth(h, p)
    r = known_surface(z, p_low, p_high, q_low, q_high, p) + rain
    from_low, from_high = advection_factors(p_low, p_high, h, over, d, neighbours[0], neighbours[1], p)
    return LineCell(
        z, d, h, over, r, from_low, from_high, depth_pair(h, h_below), depth_pair(h, h_above),
        smaller(h, h_below), smaller(h, h_above), q_low + q_high, qn_low, qn_high,
    )  # fmt: skip


@cell
def momentum_row(low, high, p_here, push, factor, p):
    """Return A, B, C, D of a face between two cells (equations 2, 3); for a closed face A = C = D = 0 and B is nonzero.

    push : all explicit terms, times dt.
    """
    d_l, d_r, h_l, h_r, r_l, r_r = low.d, high.d, low.h, high.h, low.r, high.r
    zero, one = real(0.0), real(1.0)
    w_l, w_r = p.w, p.w
    s = real(0.5) * (low.over * low.over + high.over * high.over)
    depths = h_l + h_r
    if MAY_DRY:
        closed = (d_l > real(LAND)) | (d_r > real(LAND))
    else:
        closed = (h_l < zero) | (h_r < zero)
    if DRYING:
        ridge = larger(d_l, d_r)
        over_ridge = larger(low.z, high.z) - ridge
        depths = select(p_here * (d_r - d_l) > zero, contraction_depths(depths, h_l, h_r, over_ridge), depths)
        s, depths, w_l, w_r, r_l, r_r, closed = weir_limits(low, high, ridge, over_ridge, s, depths, factor, p)
    gravity = p.push * depths
    across = real(0.125) * (low.q_sum + high.q_sum)
    drag = resistance(hypotenuse(p_here, across), s, factor)
    a = -low.from_low - gravity * w_l
    b = one + drag + (high.from_low - low.from_high) + gravity * (w_l + w_r)
    c = high.from_high - gravity * w_r
    d = p_here + push - gravity * (r_r - r_l)
    if DRYING:
        b = b + drying_drag(abs(p_here), select(p_here > zero, h_l, h_r), p)
    if VISCOUS:
        a, b, c = a - p.viscosity, b + (p.viscosity + p.viscosity), c - p.viscosity
    return select(closed, zero, a), b, select(closed, zero, c), select(closed, zero, d)


@cell
def row_between(low, high, p_here, flux_below, flux_above, factor, forced, p):
    """Return A, B, C, D of the face between two cells of a line.

    flux_below, flux_above : `corner_flux` of its corners.
    """
    return momentum_row(low, high, p_here, forced + across_lines(flux_below, flux_above), factor, p)


@cell
def flux_below(low, high, p_below, p_here, p):
    """Return `corner_flux` of the corner below the face between two cells."""
    depths = low.below + high.below
    return corner_flux(p_below, p_here, low.q_below, high.q_below, depths, low.min_below, high.min_below, p)


@cell
def flux_above(low, high, p_here, p_above, p):
    """Return `corner_flux` of the corner above the face between two cells."""
    depths = low.above + high.above
    return corner_flux(p_here, p_above, low.q_above, high.q_above, depths, low.min_above, high.min_above, p)


@cell
def face_row(z, d, flux, across, factor, forced, rain, p):
    """Return A, B, C, D of a face from the surrounding fields, and r of its high cell.

    z, d : eight cells: (low, high) of the line below, of the line itself and of the line above, then the cell before
    low and the cell after high. flux : old P at the low, this and the high face, then at this face of the line below
    and above. across : old and new cross fluxes, (low, high) cell at the low edge of the line, then at the high edge.
    forced : explicit forces times dt. rain : of half a step, m, on the low and the high cell.
    """
    qo, qn = across
    p_low, p_here, p_high, p_below, p_above = flux
    low = line_cell(
        z[2], d[2], (depth(z[0], d[0]), depth(z[4], d[4])), ((z[6], d[6]), (z[3], d[3])),
        (p_low, p_here), (qo[0] + qn[0], qo[2] + qn[2], qn[0], qn[2]), rain[0], p,
    )  # fmt: skip
    high = line_cell(
        z[3], d[3], (depth(z[1], d[1]), depth(z[5], d[5])), ((z[2], d[2]), (z[7], d[7])),
        (p_here, p_high), (qo[1] + qn[1], qo[3] + qn[3], qn[1], qn[3]), rain[1], p,
    )  # fmt: skip
    below = flux_below(low, high, p_below, p_here, p)
    above = flux_above(low, high, p_here, p_above, p)
    a, b, c, e = row_between(low, high, p_here, below, above, factor, forced, p)
    return a, b, c, e, high.r


# -- the two ends of a line -------------------------------------------------------------------------

WALL = 0  # kind of a wall; other kinds are the numbers of the conditions of the run, from 1
MAX_KINDS = 6


@cell
def closed_end(value, end, p):
    """Return the equation P = 0 of a wall."""
    return real(1.0), real(0.0), real(0.0)


END_1 = switch("END_1", closed_end)
END_2 = switch("END_2", closed_end)
END_3 = switch("END_3", closed_end)
END_4 = switch("END_4", closed_end)
END_5 = switch("END_5", closed_end)
END_6 = switch("END_6", closed_end)


@cell
def end_row(kind, value, end, p):
    """Return B, E, D of a boundary face for the condition numbered `kind` (see `eagre.boundaries.base.Condition`)."""
    if kind == 1:
        return END_1(value, end, p)
    if kind == 2:
        return END_2(value, end, p)
    if kind == 3:
        return END_3(value, end, p)
    if kind == 4:
        return END_4(value, end, p)
    if kind == 5:
        return END_5(value, end, p)
    if kind == 6:
        return END_6(value, end, p)
    return closed_end(value, end, p)


@cell
def infiltrate(j, i, z, bed, soil, terms, p):
    """Remove the infiltration of a step from interior cell (j, i) of the surface z; the discharges do not change.

    soil : cumulative infiltration, m
    """
    row, column = j + 1, i + PADDING
    forcing = (terms, TERM_FACTORS(terms, 0))
    level, depth = infiltrated(z[row, column], bed[row, column], soil[j, i], p.dt, forcing, j, (j, i))
    z[row, column] = level
    soil[j, i] = depth
