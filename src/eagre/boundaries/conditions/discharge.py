"""Discharge boundary condition: prescribed inflow or outflow."""

import math
from dataclasses import dataclass
from typing import Annotated

from eagre.backend.compilation.cells import cell, real, switch
from eagre.boundaries.base import Key, PrescribedDischarge
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.implicit_lines import DRYING, LAND, depth, fastest_out
from eagre.kernels.limiters import half_slope, scaled_difference
from eagre.kernels.roots import larger, reciprocal, select, smaller
from eagre.time_varying.series import Series

OF_DISCHARGES = switch("OF_DISCHARGES", False)  # whether faces reconstruct unit discharges instead of velocities


@cell
def balanced_velocity(u_in, u_q, c):
    """Velocity on the outer side of a face that gives the flux u_q h, with the velocity u_in on the inner side.

    Depth h and wave speed c are the same on both sides. The central-upwind flux then is
    h (a+ u_out - a- u_in) / (a+ - a-) with a+ = max(u) + c and a- = min(u) - c. It is linear in u_out for u_out < u_in,
    quadratic for u_out > u_in, and equal to h u_out if no wave travels outwards.
    """
    zero = real(0.0)
    half = u_in + real(0.5) * (c - u_q)
    rise = max(u_q - u_in, zero)
    up = rise * c / (half + math.sqrt(max(half * half + real(2.0) * rise * c, zero)) + real(1e-20))
    down = min(u_q - u_in, zero) * c / (c + max(u_q, real(-0.5) * c) + real(1e-20))
    return u_q if min(u_in, u_q) >= c else u_in + real(2.0) * (up + down)


@cell
def slope_behind(rise, inner, p):
    """Difference to the next cell outside for which the limited half slope is `rise`.

    inner : difference to the cell inside.

    This function inverts `eagre.kernels.limiters.half_slope`. The slope has the sign of `inner` and is at most theta/2
    of `inner`.
    """
    zero = real(0.0)
    sign = real(1.0) if inner > zero else real(-1.0)
    size = min(max(sign * rise, zero), p.theta * abs(inner))
    return sign * max(size / p.theta, max(real(4.0) * size - abs(inner), zero))


@cell
def shore_or_slope(w_1, w_2, h_1, bed_rise):
    """Bed rise and limited surface rise per cell towards the outside, and whether the cell is at a wet-dry front.

    bed_rise : rise of the bed towards the outside per cell. A cell is at a wet-dry front if the bed falls towards the
    outside by more than twice its depth per cell. It then has a level surface and a constant velocity, and the fall of
    its bed is limited so that the depth at the face is 2 h (`eagre.models.shallow_water.kernels.hydrostatic_faces`).
    Inflow passes over this modified bed, as over a crest. The surface falls towards the outside, relative to a falling
    bed, by at most half the depth above the higher of the cell and the face.
    """
    zero = real(0.0)
    slope = bed_rise if OF_DISCHARGES else max(bed_rise, real(-2.0) * h_1)
    if slope > bed_rise:
        return slope, zero, True
    margin = real(0.5) * h_1
    lowest = min(slope, zero) - real(0.5) * max(h_1 - max(real(0.5) * slope, zero), zero)
    return slope, min(max(w_1 - w_2, lowest), max(slope, zero) + margin), False


@cell
def surfaces(w_1, w_2, h_1, bed_face, slope, rise, m, p):
    """Surface of ghost m and surface at the face, for a surface that rises by `rise` per cell.

    If the kernel reconstructs discharges, the surface at a wet-dry front is rotated until it touches the bed at the far
    end of the cell, and is 2 h above the bed of the face.
    """
    w_k = w_1 + rise
    if OF_DISCHARGES and real(-2.0) * h_1 > slope:
        w_k = bed_face + real(2.0) * h_1
        return w_k, w_k
    w_face = w_1 + half_slope(scaled_difference(w_2, w_1, p), scaled_difference(w_1, w_k, p), p)
    if m > real(1.5):
        w_k -= slope_behind(w_face - w_k, w_1 - w_k, p)
    return w_k, w_face


@cell
def discharge_ghost(cell_data, value, level, p):
    """Ghost state for the unit discharge `value` through the face, with the depth from the interior.

    The surface is extrapolated with the slope of the two interior cells, so that uniform flow enters unchanged and both
    sides of the face have the same depth. Ghosts have a level bed where it rises outwards. The velocity of the first
    ghost gives the mean with the interior cell. The velocity of the second ghost gives the slope of the first ghost for
    which the flux is exactly `value`. Where the interior is supercritical or nearly dry, the depth is at least the
    critical depth (q^2 / g)^(1/3). Inflow into a dry cell has Froude number 1, from a level surface. Outflow is limited
    to 4 times the wave speed: a faster ghost hardly increases the outflow and shortens the time step. If the kernel
    reconstructs discharges, u below is the velocity for the depth at the face.
    """
    near, second, _, bed_1, bed_k, bed_face, m = cell_data
    zero = real(0.0)
    w_1, n_1, _ = near
    w_2, n_2, bed_2 = second
    h_1 = max(w_1 - bed_1, zero)
    slope, rise, shore = shore_or_slope(w_1, w_2, h_1, real(2.0) * (bed_face - bed_1))
    bed_face = bed_1 + real(0.5) * slope
    w_k, w_face = surfaces(w_1, w_2, h_1, bed_face, slope, rise, m, p)
    dry = value <= zero and w_1 <= bed_face  # no water reaches the face
    h_k = zero if dry else max(w_k - bed_k, zero)
    h_face = zero if dry else max(w_face - bed_face, zero)
    q = max(value, zero)
    critical = (q * q / p.g) ** real(1.0 / 3.0)
    over_face = desingularised_inverse(h_face, p.kappa4)
    u_1 = n_1 * (over_face if OF_DISCHARGES else desingularised_inverse(h_1, p.kappa4))
    u_2 = n_2 * (over_face if OF_DISCHARGES else desingularised_inverse(max(w_2 - bed_2, zero), p.kappa4))
    c = math.sqrt(p.g * h_face)
    u_q = larger(value * over_face, real(-4.0) * c)
    u = real(2.0) * u_q - u_1
    u_2 = u_1 if shore else u_2
    if m > real(1.5):
        change = half_slope(scaled_difference(u, u_1, p), scaled_difference(u_1, u_2, p), p)
        u_out = balanced_velocity(u_1 - change, u_q, c)
        u -= slope_behind(u_out - u, u_1 - u, p)
    if h_face < critical and (h_face < real(0.5) * critical or n_1 * n_1 >= p.g * h_1 * h_1 * h_1):
        h_face = critical
        h_k = bed_face + critical - bed_k
        u = q * desingularised_inverse(critical, p.kappa4)
    return bed_k + h_k, (h_face if OF_DISCHARGES else h_k) * u, zero


@cell
def prescribed_flux(value, end, fraction, p):
    """Boundary equation of a prescribed flux P (equation 8 of the ADI model), with limits for land and for outflow.

    A step takes 2 w (p + P) of depth from the cell, w = dt / (4 dx), half of it in each sweep. With drying, P takes at
    most this `fraction` of the depth that p leaves, so that the cell keeps the volume that the next step takes with P
    as its old flux. The outflow velocity is limited by `fastest_out`.
    """
    inward, z, d, p_here, carried, r, _ = end
    zero = real(0.0)
    if DRYING:
        left = larger(depth(r, d) + p.w * smaller(inward * p_here, zero), zero)
        h = depth(z, d)
        limit = smaller(fraction * left * reciprocal(real(2.0) * p.w), h * fastest_out(h, inward, carried, p))
        value = larger(value, -limit)
    return real(1.0), zero, select(d < real(LAND), inward * value, zero)


@cell
def discharge_end(value, end, p):
    """See `prescribed_flux`; the outflow takes at most a third of the depth."""
    return prescribed_flux(value, end, real(1.0 / 3.0), p)


@cell
def discharge_end_in_corner(value, end, p):
    """See `prescribed_flux`; the outflow takes at most a sixth of the depth.

    A second boundary can drain the same cell.
    """
    return prescribed_flux(value, end, real(1.0 / 6.0), p)


@dataclass(frozen=True)
class Discharge(PrescribedDischarge):
    """Prescribed discharge through a side or segment, distributed evenly over its width.

    Parameters
    ----------
    rate : float or Series
        Discharge, m3 s-1, positive into the domain.

    Notes
    -----
    The flux through each face is q = rate / width to rounding error for inflow into water, and for inflow onto dry bed
    that drains at supercritical speed. If friction retains a thin layer in the first cell, the inflow is too large
    until the layer is half as deep as the critical depth (q^2 / g)^(1/3). The excess is about 1 % of the volume of the
    first cell at critical depth. If the bed of the face is higher than that of the first cell, and the surface of that
    cell is above the face by less than half the critical depth, the inflow is up to 11 % too large.

    Outflow has a relative error of 1e-6 and is limited by the flow to the boundary; dry cells have no outflow. In the
    ADI model with drying, the outflow velocity is at most the wave speed, or the interior velocity if the flow is
    supercritical. The outflow is also limited to 2/3 h dx / dt, |u| dt / dx = 4/7 in steady flow. The limit is half as
    large in a corner between two open boundaries.

    Use this condition where the bed falls into the domain and the segment is as wide as the stream.
    """

    rate: Annotated[float | Series, Key("discharge, m3/s, positive into the domain", "discharge", "0.5 m3/s")]
    ghost = discharge_ghost
    line_end = discharge_end
    line_end_in_corner = discharge_end_in_corner
    gives_flux = True
    level_ghosts = True
    may_be_inside = True

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        rate = self.value(width)
        return 0.0 if rate.is_constant else (max(float(rate.values.max()), 0.0) ** 2 / gravity) ** (1.0 / 3.0)
