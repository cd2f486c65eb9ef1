"""Cells of the shallow-water model: one stage of the central-upwind scheme.

State arrays are (3, ny + 4, nx + 4): eta, the surface as `eagre.kernels.elevation` stores it (m), and unit
discharges hu, hv (m2 s-1) at centres, with two ghost cells a side. The bed is (ny + 5, nx + 5), m over the datum of
the run, at corners: corner (j, i) is the low corner of cell (j, i). Surfaces are compared as elevations w over the
datum; depths come from eta. The equation numbers are those of README.md beside this file.
"""

from typing import NamedTuple

import numpy as np

from eagre.backend.cells import cell, real, switch
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.elevation import added, mean_added, of_twice, seed_of
from eagre.kernels.limiters import half_slope
from eagre.kernels.roots import larger, power_minus_seven_thirds, reciprocal, root, select, smaller
from eagre.stepping.clock import STEPS
from eagre.terms.compose import FORCE_X, FORCE_Y, WATER

DRY_ULP = switch("DRY_ULP", 1e-15)  # eight units in the last place: rounding of w and of the bed


class Parameters(NamedTuple):
    """Numbers of a run, in the precision of the run."""

    theta: np.floating  # half the limiter's theta
    central: np.floating  # 1 / (2 theta): weight of the central difference
    kappa: np.floating  # desingularisation depth, m
    kappa4: np.floating  # its fourth power, m4
    dry: np.floating  # depth below which a cell counts as dry, m
    g: np.floating  # m s-2
    over_dx: np.floating  # 1/dx, m-1
    over_dy: np.floating  # 1/dy, m-1
    friction: np.floating  # g n^2 of a uniform Manning n
    first_row: np.floating  # of the domain that is row 0 here


# -- what is reconstructed in a cell and what a face sees of it: the two wet/dry treatments ---------


@cell
def over_depth(h, p):
    """Desingularised 1/h, m-1."""
    return desingularised_inverse(h, p.kappa4)


@cell
def velocity_of_cell(q, over_h):
    """Hydrostatic treatment: the desingularised velocity is what is reconstructed."""
    return q * over_h


@cell
def wedge(w, w_l, w_h, h, b_high, p):
    """How much deeper than the mean the water of a shore cell stands at its high face, -h to h, m.

    A level surface that the bed cuts makes a wedge; it needs water that stands against it, so it is
    no thicker than the neighbour's surface lies above the bed of the cell. A film that runs down to
    a lower neighbour stays as deep as it is.
    """
    zero = real(0.0)
    undo = real(4.0) * p.central  # of the scale of the differences
    behind = larger(smaller(h - undo * w_l, h), zero)
    ahead = larger(smaller(h + undo * w_h, h), zero)
    level = smaller(larger(w - b_high, zero), h + h) - h
    return smaller(larger(level, -behind), ahead)


@cell
def covered(least, w, p):
    """Whether water covers both faces of a cell, so that its surface is a plain limited slope.

    least : lower bound of the depths at its faces, whose mean is the depth of the cell, m; w : its surface, m.
    """
    return least >= p.dry + real(DRY_ULP) * abs(w)


@cell
def hydrostatic_covered(w, w_l, w_h, u, u_l, u_h, v, v_l, v_h, b_low, b_high, p):
    """Face values of a covered cell: w, u, v at its low face, then at its high one; see `hydrostatic_faces`."""
    s = half_slope(w_l, w_h, p)
    s_u = half_slope(u_l, u_h, p)
    s_v = half_slope(v_l, v_h, p)
    return w - s, u - s_u, v - s_v, w + s, u + s_u, v + s_v


@cell
def hydrostatic_faces(w, w_l, w_h, u, u_l, u_h, v, v_l, v_h, h, b_low, b_high, p):
    """Face values of any cell: y, h, u, v at its low face, then at its high one, and the rise of its surface, m.

    w, u, v : cell values; _l, _h : scaled differences to the low and the high side;
    h : depth; b_low, b_high : bed at the faces. y : surface over the bed of the face, m; h : depth there, m.

    Where the reconstructed surface stays above the bed, the bed at the face is that of the face, and y is h.
    A shore cell, whose surface would cut the bed, keeps a level surface, and its water stands on a
    bed of its own, as deep on the average as the cell: 0 <= h_face <= 2 h, whatever the rounding of w.
    A dry cell is flat.
    """
    zero = real(0.0)
    w_low, u_low, v_low, w_high, u_high, v_high = hydrostatic_covered(
        w, w_l, w_h, u, u_l, u_h, v, v_l, v_h, b_low, b_high, p
    )
    dry = h < p.dry + real(DRY_ULP) * abs(w)
    shore = (smaller(w_high - b_high, w_low - b_low) < zero) | dry
    more = select(dry, zero, wedge(w, w_l, w_h, h, b_high, p))
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
    """Kurganov-Petrova treatment: the unit discharge itself is reconstructed."""
    return q


@cell
def discharges_to_velocities(h_low, q_low, r_low, h_high, q_high, r_high, p):
    """Velocities at the low face, then at the high one, from depth and unit discharges q, r at the faces."""
    over_low = over_depth(larger(h_low, real(0.0)), p)
    over_high = over_depth(larger(h_high, real(0.0)), p)
    return q_low * over_low, r_low * over_low, q_high * over_high, r_high * over_high


@cell
def kurganov_petrova_covered(w, w_l, w_h, u, u_l, u_h, v, v_l, v_h, b_low, b_high, p):
    """As `hydrostatic_covered`, in the document's treatment; u, v here are unit discharges."""
    s = half_slope(w_l, w_h, p)
    s_u = half_slope(u_l, u_h, p)
    s_v = half_slope(v_l, v_h, p)
    w_low, w_high = w - s, w + s
    u_low, v_low, u_high, v_high = discharges_to_velocities(
        w_low - b_low, u - s_u, v - s_v, w_high - b_high, u + s_u, v + s_v, p
    )
    return w_low, u_low, v_low, w_high, u_high, v_high


@cell
def kurganov_petrova_faces(w, w_l, w_h, u, u_l, u_h, v, v_l, v_h, h, b_low, b_high, p):
    """As `hydrostatic_faces`, in the document's treatment; u, v here are unit discharges.

    A surface that would cut the bed at one face is turned about the cell's mean until it touches
    it there (Kurganov and Petrova 2007, equation (2.8)); not balanced in partly wet cells.
    """
    high = w + half_slope(w_l, w_h, p)
    low = w + w - high
    cut_high = high < b_high
    cut_low = low < b_low
    w_high = select(cut_high, b_high, select(cut_low, w + w - b_low, high))
    w_low = select(cut_high, w + w - b_high, select(cut_low, b_low, low))
    h_low, h_high = of_twice(w_low - b_low, h), of_twice(w_high - b_high, h)
    s_u = half_slope(u_l, u_h, p)
    s_v = half_slope(v_l, v_h, p)
    u_low, v_low, u_high, v_high = discharges_to_velocities(h_low, u - s_u, v - s_v, h_high, u + s_u, v + s_v, p)
    return h_low, h_low, u_low, v_low, h_high, h_high, u_high, v_high, w_high - w_low


PRIMITIVE = switch("PRIMITIVE", velocity_of_cell)
FACES = switch("FACES", hydrostatic_faces)
COVERED_FACES = switch("COVERED_FACES", hydrostatic_covered)
SKIP_DRY = switch("SKIP_DRY", False)  # early exit: leave out the fluxes between dry rows, hydrostatic only
RESET = switch("RESET", True)  # hydrostatic: hu := h u where the velocity is desingularised
SECOND = switch("SECOND", False)  # the second stage of SSP-RK2
PART = switch("PART", 0)  # what a kernel of one direction makes, see below
FRICTION = switch("FRICTION", 0)  # 0 none, 1 uniform, 2 a map of g n^2

# A kernel of one direction makes a whole sweep of a split scheme (0), or a part of a stage of both directions ("srk2"):
LEAVES = 1  # the one along x leaves its tendencies
TAKES_UP = 2  # the one along y adds its own and makes the stage


# -- the bed --------------------------------------------------------------------------------------


@cell
def bed_west(bed, j, i):
    """Bed at the west face of cell (j, i), m: the mean of its two corners."""
    return real(0.5) * (bed[j, i] + bed[j + 1, i])


@cell
def bed_south(bed, j, i):
    """Bed at the south face of cell (j, i), m."""
    return real(0.5) * (bed[j, i] + bed[j, i + 1])


@cell
def bed_centre(bed, j, i):
    """Bed of cell (j, i), m: the mean of its four corners, and so of opposite faces."""
    return real(0.5) * (bed_west(bed, j, i) + bed_west(bed, j, i + 1))


# -- the update -----------------------------------------------------------------------------------


@cell
def seed_of_stage(clock, second, p):
    """What the rounding of a stage begins from: see `eagre.kernels.elevation.seed_of`."""
    return seed_of(np.int64(clock[STEPS]) * 2 + (1 if second else 0), p.first_row)


@cell
def kept_momentum(h, q, u, p):
    """Unit discharge that a stage starts from: h u where the velocity is desingularised."""
    if RESET:
        return select(h < p.kappa, h * u, q)
    return q


@cell
def manning_loss(h, g_n2, dt, p):
    """Manning friction over the unit discharge, times dt: dt g n^2 / h^(7/3), s m-2; h counts as kappa at least."""
    return (dt * g_n2) * power_minus_seven_thirds(larger(h, p.kappa))


@cell
def share_kept(loss):
    """What implicit friction leaves of a momentum: k of k (1 + loss k) = 1, loss = dt a |q| of the momentum before."""
    return reciprocal(real(0.5) + root(real(0.25) + loss))


@cell
def rubbed(hu, hv, h, g_n2, dt, p):
    """Momenta of water of the new depth h after friction for dt by the speed that it leaves (2.9; decision 0078)."""
    if FRICTION == 0:
        return hu, hv
    keep = share_kept(root(hu * hu + hv * hv) * manning_loss(h, g_n2, dt, p))
    return hu * keep, hv * keep


@cell
def first_update(eta, hu, hv, h, u, v, r_h, r_u, r_v, noise, p, dt):
    """eta, hu, hv after a forward step with the tendencies r_h, r_u, r_v: Q* of equation 2.9 before friction."""
    hu = kept_momentum(h, hu, u, p) + dt * r_u
    hv = kept_momentum(h, hv, v, p) + dt * r_v
    return added(eta, dt * r_h, noise), hu, hv


@cell
def second_update(eta, hu, hv, eta_n, hu_n, hv_n, h, u, v, r_h, r_u, r_v, noise, p, dt):
    """As `first_update` after the second stage of SSP-RK2, from the state _n and the first stage."""
    half = real(0.5)
    hu = half * (hu_n + kept_momentum(h, hu, u, p) + dt * r_u)
    hv = half * (hv_n + kept_momentum(h, hv, v, p) + dt * r_v)
    return mean_added(eta_n, eta, dt * r_h, noise), hu, hv


@cell
def rubbed_for(dt, second):
    """How long friction acts in a stage, s: half of a step in the second."""
    return real(0.5) * dt if second else dt


@cell
def depth_after(h, eta, eta_n, r_h, second, dt):
    """Depth that friction finds behind a stage, m: below 0 where rounding has it so; eta_n before the step."""
    if second:
        return h + real(0.5) * (dt * r_h + (eta_n - eta))
    return h + dt * r_h


@cell
def updated(eta, hu, hv, eta_n, hu_n, hv_n, h, u, v, r_h, r_u, r_v, g_n2, noise, p, dt):
    """New eta, hu, hv of a cell in the stage that SECOND names."""
    h_new = depth_after(h, eta, eta_n, r_h, SECOND, dt)
    if SECOND:
        eta, hu, hv = second_update(eta, hu, hv, eta_n, hu_n, hv_n, h, u, v, r_h, r_u, r_v, noise, p, dt)
    else:
        eta, hu, hv = first_update(eta, hu, hv, h, u, v, r_h, r_u, r_v, noise, p, dt)
    hu, hv = rubbed(hu, hv, h_new, g_n2, rubbed_for(dt, SECOND), p)
    return eta, hu, hv


@cell
def rubbed_across(m, m_old, t_old, h, g_n2, dt, p):
    """The momentum m across the faces of a sweep after friction by the speed that it leaves.

    As `rubbed`, with t along the faces as friction by the speed of before would have to find it to leave it as it is.
    """
    if FRICTION == 0:
        return m
    loss = manning_loss(h, g_n2, dt, p)
    t = t_old * (real(1.0) + loss * root(m_old * m_old + t_old * t_old))
    return m * share_kept(loss * root(m * m + t * t))


@cell
def first_of_sweep(eta, m, t, r_h, r_m, r_t, noise, dt):
    """eta and the momenta m across and t along the faces of a sweep after a forward step before friction."""
    return added(eta, dt * r_h, noise), m + dt * r_m, t + dt * r_t


@cell
def second_of_sweep(eta, m, t, eta_n, m_n, t_n, r_h, r_m, r_t, noise, dt):
    """As `first_of_sweep` after the second stage of SSP-RK2, from the state _n and the first stage."""
    half = real(0.5)
    return mean_added(eta_n, eta, dt * r_h, noise), half * (m_n + m + dt * r_m), half * (t_n + t + dt * r_t)


@cell
def updated_in_sweep(
    eta, m, t, eta_n, m_n, t_n, h, u_m, u_t, r_h, r_m, r_t, g_n2, noise, second, p, dt
):  # fmt: skip
    """New eta, m, t of a cell in a stage of a sweep; only m is rubbed."""
    m_old, t_old = kept_momentum(h, m, u_m, p), kept_momentum(h, t, u_t, p)
    h_new = depth_after(h, eta, eta_n, r_h, second, dt)
    if second:
        eta, m, t = second_of_sweep(eta, m_old, t_old, eta_n, m_n, t_n, r_h, r_m, r_t, noise, dt)
    else:
        eta, m, t = first_of_sweep(eta, m_old, t_old, r_h, r_m, r_t, noise, dt)
    return eta, rubbed_across(m, m_old, t_old, h_new, g_n2, rubbed_for(dt, second), p), t


@cell
def seed_of_sweep(clock, stage, p):
    """As `seed_of_stage`, for a stage of a step that is split into sweeps."""
    return seed_of(np.int64(clock[STEPS]) * 4 + stage, p.first_row)


@cell
def seed_of_part(clock, stage, second, p):
    """The seed of a kernel of one direction."""
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
def with_terms(r_h, r_u, r_v, h, hu, hv, forcing, j, i):
    """Tendencies with the terms of the run added at interior cell (j, i); forcing: see `eagre.terms.compose`."""
    at = (j, i)
    return (
        WATER(r_h, forcing, j, at),
        FORCE_X(r_u, h, hu, hv, forcing, j, at),
        FORCE_Y(r_v, h, hv, hu, forcing, j, at),
    )


@cell
def with_terms_of_sweep(r_h, r_m, h, m, t, across, forcing, j, i):
    """Tendencies with what the terms add in a sweep: half of the water, and the force across its faces."""
    at = (j, i)
    r_h += real(0.5) * WATER(real(0.0), forcing, j, at)
    return r_h, FORCE_X(r_m, h, m, t, forcing, j, at) if across == 1 else FORCE_Y(r_m, h, m, t, forcing, j, at)
