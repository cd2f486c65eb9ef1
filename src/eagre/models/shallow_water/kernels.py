"""Point functions of the explicit shallow-water model: one stage of the central-upwind scheme.

State arrays are (3, ny + 4, nx + 4): eta, the surface as stored by `eagre.kernels.elevation` (m), and the unit
discharges hu, hv (m2 s-1) at centres, with two ghost cells on each side. The bed is (ny + 5, nx + 5), m above the datum
of the run, at corners: corner (j, i) is the low corner of cell (j, i). Surfaces are compared as elevations w above the
datum; depths follow from eta. Equation numbers refer to README.md of this folder.
"""

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.central_upwind import central_upwind, desingularised_inverse
from eagre.kernels.elevation import added, mean_added, of_twice, seed_of
from eagre.kernels.limiters import half_slope, scaled_difference
from eagre.kernels.roots import larger, power_minus_seven_thirds, reciprocal, root, select, smaller
from eagre.stepping.clock import STEPS
from eagre.terms.compose import FORCE_X, FORCE_Y, WATER

DRY_ULP = switch("DRY_ULP", 1e-15)  # eight units in the last place, for the rounding of w and of the bed


class Parameters(NamedTuple):
    """Parameters of a run, in the precision of the run."""

    theta: np.floating  # half of the limiter parameter theta
    central: np.floating  # 1 / (2 theta): weight of the central difference
    kappa: np.floating  # desingularisation depth, m
    kappa4: np.floating  # fourth power of kappa, m4
    dry: np.floating  # depth below which a cell counts as dry, m
    g: np.floating  # m s-2
    over_dx: np.floating  # 1/dx, m-1
    over_dy: np.floating  # 1/dy, m-1
    friction: np.floating  # g n^2 of a uniform Manning n
    first_row: np.floating  # global index of local row 0


class Domain(NamedTuple):
    """Constant arrays of a run; the source terms are separate because a parallel loop takes no tuples of tuples."""

    bed: Any  # at corners, m
    manning: Any  # g n^2, read if FRICTION is 2
    edges: Any  # see `eagre.boundaries.edges.edge_table`
    walls: Any  # see `eagre.boundaries.internal`


class Buffers(NamedTuple):
    """States of a stage: computed from q into out; old : before the step. `out` can be `old`. rates : maximum rates."""

    q: Any
    old: Any
    out: Any
    rates: Any


class SplitBuffers(NamedTuple):
    """`Buffers` of a kernel of one direction; left : the tendencies of the kernel along x."""

    q: Any
    old: Any
    out: Any
    left: Any
    rates: Any


class Stage(NamedTuple):
    """Numbers of a stage: the parameters of the run, the time step, s, and the seed of the rounding."""

    p: Any
    dt: Any
    seed: Any


class Water(NamedTuple):
    """Water of a cell at the start of a stage; in a sweep hu and u are normal to its faces, hv and v tangential."""

    eta: Any
    hu: Any
    hv: Any
    h: Any
    u: Any
    v: Any


class Slopes(NamedTuple):
    """Surface and normal and tangential velocity of a cell, with scaled differences to the low and the high side."""

    w: Any
    w_l: Any
    w_h: Any
    u: Any
    u_l: Any
    u_h: Any
    v: Any
    v_l: Any
    v_h: Any


# -- reconstruction and face values of the two wetting-and-drying schemes ---------------------------


@cell
def slopes_of(low, centre, high, p):
    """Return `Slopes` of the middle one of three cells of a line: surface, normal and tangential velocity of each."""
    w, u, v = centre[0], centre[1], centre[2]
    return Slopes(
        w, scaled_difference(low[0], w, p), scaled_difference(w, high[0], p),
        u, scaled_difference(low[1], u, p), scaled_difference(u, high[1], p),
        v, scaled_difference(low[2], v, p), scaled_difference(v, high[2], p),
    )  # fmt: skip


@cell
def over_depth(h, p):
    """Desingularised 1/h, m-1."""
    return desingularised_inverse(h, p.kappa4)


@cell
def velocity_of_cell(q, over_h):
    """Return the desingularised velocity, which the hydrostatic scheme reconstructs."""
    return q * over_h


@cell
def wedge(w, w_l, w_h, h, b_high, p):
    """Return the depth at the high face of a cell at the wet-dry front less its mean depth, -h to h, m.

    A level surface that intersects the bed forms a wedge. The wedge needs water on its deep side, so its thickness is
    limited by the height of the neighbour's surface above the bed of the cell. A thin layer that runs down to a lower
    neighbour keeps its depth.
    """
    zero = real(0.0)
    undo = real(4.0) * p.central  # reverses the scale of the differences
    water_low = larger(smaller(h - undo * w_l, h), zero)
    water_high = larger(smaller(h + undo * w_h, h), zero)
    level = smaller(larger(w - b_high, zero), h + h) - h
    return smaller(larger(level, -water_low), water_high)


@cell
def fully_wet(min_depth, w, p):
    """Return whether a cell is fully wet at both faces, so that its surface is a plain limited slope.

    min_depth : lower bound of the depths at the faces, whose mean is the depth of the cell, m; w : surface of the cell,
    m.
    """
    return min_depth >= p.dry + real(DRY_ULP) * abs(w)


@cell
def half_slopes(d, p):
    """Return the limited half differences of the surface and both velocities of a cell with `Slopes` d."""
    return half_slope(d.w_l, d.w_h, p), half_slope(d.u_l, d.u_h, p), half_slope(d.v_l, d.v_h, p)


@cell
def hydrostatic_wet_faces(d, b_low, b_high, p):
    """Return w, u, v at the low face of a fully wet cell, then at the high face; see `hydrostatic_faces`."""
    s, s_u, s_v = half_slopes(d, p)
    return d.w - s, d.u - s_u, d.v - s_v, d.w + s, d.u + s_u, d.v + s_v


@cell
def hydrostatic_faces(d, h, b_low, b_high, p):
    """Return y, h, u, v at the low face of any cell, then at the high face, and the rise of its surface, m.

    d : `Slopes`; h : depth; b_low, b_high : bed at the faces. y : surface above the bed of the face, m; h : depth at
    the face, m.

    Where the reconstructed surface stays above the bed, y equals h. A cell at the wet-dry front, whose reconstructed
    surface would intersect the bed, keeps a level surface. Its bed is then modified so that the mean depth is that of
    the cell: 0 <= h_face <= 2 h, for any rounding of w. A dry cell has a level surface.
    """
    zero, w, u, v = real(0.0), d.w, d.u, d.v
    w_low, u_low, v_low, w_high, u_high, v_high = hydrostatic_wet_faces(d, b_low, b_high, p)
    dry = h < p.dry + real(DRY_ULP) * abs(w)
    shore = (smaller(w_high - b_high, w_low - b_low) < zero) | dry
    more = select(dry, zero, wedge(w, d.w_l, d.w_h, h, b_high, p))
    w_low, w_high = select(shore, w, w_low), select(shore, w, w_high)
    y_low, y_high = w_low - b_low, w_high - b_high
    return (
        y_low,
        select(shore, h - more, y_low),
        select(shore, u, u_low),
        select(shore, v, v_low),
        y_high,
        select(shore, h + more, y_high),
        select(shore, u, u_high),
        select(shore, v, v_high),
        w_high - w_low,
    )


@cell
def discharge_of_cell(q, over_h):
    """Return the unit discharge, which the Kurganov-Petrova scheme reconstructs."""
    return q


@cell
def discharges_to_velocities(h_low, q_low, r_low, h_high, q_high, r_high, p):
    """Return the velocities at the low and high face from depths and unit discharges q, r at the faces."""
    over_low = over_depth(larger(h_low, real(0.0)), p)
    over_high = over_depth(larger(h_high, real(0.0)), p)
    return q_low * over_low, r_low * over_low, q_high * over_high, r_high * over_high


@cell
def kurganov_petrova_wet_faces(d, b_low, b_high, p):
    """See `hydrostatic_wet_faces`, for the scheme of Kurganov and Petrova (2007); u and v are unit discharges."""
    s, s_u, s_v = half_slopes(d, p)
    w_low, w_high = d.w - s, d.w + s
    u_low, v_low, u_high, v_high = discharges_to_velocities(
        w_low - b_low, d.u - s_u, d.v - s_v, w_high - b_high, d.u + s_u, d.v + s_v, p
    )
    return w_low, u_low, v_low, w_high, u_high, v_high


@cell
def kurganov_petrova_faces(d, h, b_low, b_high, p):
    """See `hydrostatic_faces`, for the scheme of Kurganov and Petrova (2007); u and v are unit discharges.

    A surface that would intersect the bed at one face is rotated about the mean of the cell until it touches the bed
    there (equation (2.8) of the paper). Partly wet cells are not well balanced.
    """
    w, u, v = d.w, d.u, d.v
    s, s_u, s_v = half_slopes(d, p)
    high = w + s
    low = w + w - high
    is_high_below = high < b_high
    is_low_below = low < b_low
    w_high = select(is_high_below, b_high, select(is_low_below, w + w - b_low, high))
    w_low = select(is_high_below, w + w - b_high, select(is_low_below, b_low, low))
    h_low, h_high = of_twice(w_low - b_low, h), of_twice(w_high - b_high, h)
    u_low, v_low, u_high, v_high = discharges_to_velocities(h_low, u - s_u, v - s_v, h_high, u + s_u, v + s_v, p)
    return h_low, h_low, u_low, v_low, h_high, h_high, u_high, v_high, w_high - w_low


PRIMITIVE = switch("PRIMITIVE", velocity_of_cell)
FACES = switch("FACES", hydrostatic_faces)
COVERED_FACES = switch("COVERED_FACES", hydrostatic_wet_faces)
SKIP_DRY = switch("SKIP_DRY", False)  # skip the fluxes between dry rows, hydrostatic scheme only
RESET = switch("RESET", True)  # hydrostatic scheme: hu := h u where the velocity is desingularised
SECOND = switch("SECOND", False)  # the second stage of SSP-RK2
PART = switch("PART", 0)  # part that a kernel of one direction computes, see below
WALLS = switch("WALLS", False)  # whether internal faces are closed
FRICTION = switch("FRICTION", 0)  # 0 none, 1 uniform, 2 a map of g n^2

# A kernel of one direction computes a whole sweep of a split scheme (0), or a part of an unsplit stage ("srk2"):
LEAVES = 1  # the kernel along x stores its tendencies
TAKES_UP = 2  # the kernel along y adds its tendencies and completes the stage


# -- the bed --------------------------------------------------------------------------------------


@cell
def bed_west(bed, j, i):
    """Bed at the west face of cell (j, i), m: mean of its two corners."""
    return real(0.5) * (bed[j, i] + bed[j + 1, i])


@cell
def bed_south(bed, j, i):
    """Bed at the south face of cell (j, i), m."""
    return real(0.5) * (bed[j, i] + bed[j, i + 1])


@cell
def bed_centre(bed, j, i):
    """Bed of cell (j, i), m: mean of its four corners, and so of opposite faces."""
    return real(0.5) * (bed_west(bed, j, i) + bed_west(bed, j, i + 1))


# -- internal walls ---------------------------------------------------------------------------------


@cell
def flux_or_wall(closed, low, high, p):
    """Return `central_upwind` of the states (y, h, u, v) of both sides of a face.

    A closed face has no mass flux, and the mirror state of each side on the other side.
    """
    y_l, h_l, u_l, v_l = low
    y_r, h_r, u_r, v_r = high
    _, momentum_l, _, _, speed_l = central_upwind(
        y_l, h_l, u_l, v_l,
        select(closed, y_l, y_r), select(closed, h_l, h_r), select(closed, -u_l, u_r), select(closed, v_l, v_r), p.g,
    )  # fmt: skip
    mass, _, momentum_r, along, speed_r = central_upwind(
        select(closed, y_r, y_l), select(closed, h_r, h_l), select(closed, -u_r, u_l), select(closed, v_r, v_l),
        y_r, h_r, u_r, v_r, p.g,
    )  # fmt: skip
    return select(closed, real(0.0), mass), momentum_l, momentum_r, along, larger(speed_l, speed_r)


# -- the update -----------------------------------------------------------------------------------


@cell
def seed_of_stage(clock, second, p):
    """Return the seed of the rounding of a stage; see `eagre.kernels.elevation.seed_of`."""
    return seed_of(np.int64(clock[STEPS]) * 2 + (1 if second else 0), p.first_row)


@cell
def kept_momentum(h, q, u, p):
    """Return the unit discharge at the start of a stage: h u where the velocity is desingularised."""
    if RESET:
        return select(h < p.kappa, h * u, q)
    return q


@cell
def manning_loss(h, g_n2, dt, p):
    """Return Manning friction per unit discharge, times dt: dt g n^2 / h^(7/3), s m-2, with h at least kappa."""
    return (dt * g_n2) * power_minus_seven_thirds(larger(h, p.kappa))


@cell
def momentum_fraction(loss):
    """Return the fraction k of momentum after implicit friction: k (1 + loss k) = 1, loss = dt a |q| before."""
    return reciprocal(real(0.5) + root(real(0.25) + loss))


@cell
def with_friction(hu, hv, h, g_n2, dt, p):
    """Return hu and hv after implicit bed friction at the new depth h over dt (equation 2.9; decision 0078)."""
    if FRICTION == 0:
        return hu, hv
    keep = momentum_fraction(root(hu * hu + hv * hv) * manning_loss(h, g_n2, dt, p))
    return hu * keep, hv * keep


@cell
def first_update(water, rates, noise, p, dt):
    """Return eta, hu, hv after a forward step with the tendencies of h, hu, hv: Q* of equation 2.9 before friction."""
    hu = kept_momentum(water.h, water.hu, water.u, p) + dt * rates[1]
    hv = kept_momentum(water.h, water.hv, water.v, p) + dt * rates[2]
    return added(water.eta, dt * rates[0], noise), hu, hv


@cell
def second_update(water, state_n, rates, noise, p, dt):
    """Return eta, hu, hv after the second stage of SSP-RK2, before friction; state_n : those at the start of the step.

    water : after the first stage
    """
    half = real(0.5)
    hu = half * (state_n[1] + kept_momentum(water.h, water.hu, water.u, p) + dt * rates[1])
    hv = half * (state_n[2] + kept_momentum(water.h, water.hv, water.v, p) + dt * rates[2])
    return mean_added(state_n[0], water.eta, dt * rates[0], noise), hu, hv


@cell
def friction_duration(dt, second):
    """Return the duration of friction in a stage, s: half of the step in the second stage."""
    return real(0.5) * dt if second else dt


@cell
def depth_after(h, eta, eta_n, r_h, second, dt):
    """Return the depth after a stage, m, for friction; rounding can make it negative; eta_n : before the step."""
    if second:
        return h + real(0.5) * (dt * r_h + (eta_n - eta))
    return h + dt * r_h


@cell
def updated(water, state_n, rates, g_n2, noise, p, dt):
    """Return the new eta, hu, hv of a cell after the stage selected by SECOND; see `second_update`."""
    h_new = depth_after(water.h, water.eta, state_n[0], rates[0], SECOND, dt)
    if SECOND:
        eta, hu, hv = second_update(water, state_n, rates, noise, p, dt)
    else:
        eta, hu, hv = first_update(water, rates, noise, p, dt)
    hu, hv = with_friction(hu, hv, h_new, g_n2, friction_duration(dt, SECOND), p)
    return eta, hu, hv


@cell
def with_friction_across(m, m_old, t_old, h, g_n2, dt, p):
    """Return the momentum m normal to the faces of a sweep after implicit friction.

    See `with_friction`. The tangential momentum t is the value that friction at the old speed would reduce to its old
    value.
    """
    if FRICTION == 0:
        return m
    loss = manning_loss(h, g_n2, dt, p)
    t = t_old * (real(1.0) + loss * root(m_old * m_old + t_old * t_old))
    return m * momentum_fraction(loss * root(m * m + t * t))


@cell
def first_of_sweep(eta, m, t, rates, noise, dt):
    """Return eta and the momenta m normal and t tangential to the faces after a forward step, before friction."""
    return added(eta, dt * rates[0], noise), m + dt * rates[1], t + dt * rates[2]


@cell
def second_of_sweep(eta, m, t, state_n, rates, noise, dt):
    """Return the same after the second stage of SSP-RK2; state_n : eta, m, t at the start of the step."""
    half = real(0.5)
    eta = mean_added(state_n[0], eta, dt * rates[0], noise)
    return eta, half * (state_n[1] + m + dt * rates[1]), half * (state_n[2] + t + dt * rates[2])


@cell
def updated_in_sweep(water, state_n, rates, g_n2, noise, second, p, dt):
    """Return the new eta, m, t of a cell after a stage of a sweep; friction acts on m only."""
    m_old, t_old = kept_momentum(water.h, water.hu, water.u, p), kept_momentum(water.h, water.hv, water.v, p)
    h_new = depth_after(water.h, water.eta, state_n[0], rates[0], second, dt)
    if second:
        eta, m, t = second_of_sweep(water.eta, m_old, t_old, state_n, rates, noise, dt)
    else:
        eta, m, t = first_of_sweep(water.eta, m_old, t_old, rates, noise, dt)
    return eta, with_friction_across(m, m_old, t_old, h_new, g_n2, friction_duration(dt, second), p), t


@cell
def seed_of_sweep(clock, stage, p):
    """Return the seed of the rounding of a stage of a split step; see `seed_of_stage`."""
    return seed_of(np.int64(clock[STEPS]) * 4 + stage, p.first_row)


@cell
def seed_of_part(clock, stage, second, p):
    """Return the seed of the rounding of a kernel of one direction."""
    if PART == 0:
        return seed_of_sweep(clock, stage, p)
    return seed_of_stage(clock, second, p)


@cell
def manning_of(manning, j, i, p):
    """g n^2 of interior cell (j, i), m^(1/3)."""
    if FRICTION == 2:
        return manning[j, i]
    return p.friction


@cell
def with_terms(rates, water, forcing, j, i):
    """Return the tendencies including the source terms at interior cell (j, i).

    forcing : see `eagre.terms.compose`
    """
    index, h, hu, hv = (j, i), water.h, water.hu, water.hv
    return (
        WATER(rates[0], forcing, j, index),
        FORCE_X(rates[1], h, hu, hv, forcing, j, index),
        FORCE_Y(rates[2], h, hv, hu, forcing, j, index),
    )


@cell
def with_terms_of_sweep(rates, water, across, forcing, j, i):
    """Return the tendencies of a sweep including half of the mass sources and the force normal to its faces."""
    index, h, m, t = (j, i), water.h, water.hu, water.hv
    r_h, r_m, r_t = rates
    r_h += real(0.5) * WATER(real(0.0), forcing, j, index)
    r_m = FORCE_X(r_m, h, m, t, forcing, j, index) if across == 1 else FORCE_Y(r_m, h, m, t, forcing, j, index)
    return r_h, r_m, r_t
