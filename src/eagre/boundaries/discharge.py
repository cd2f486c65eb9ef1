"""Prescribed discharge: the water that enters is given."""

import math
from dataclasses import dataclass
from typing import Annotated

from eagre.backend.cells import cell, real, switch
from eagre.boundaries.base import GivenDischarge, Key
from eagre.kernels.central_upwind import desingularised_inverse
from eagre.kernels.implicit_lines import DRYING, LAND, depth, fastest_out
from eagre.kernels.limiters import half_slope, scaled_difference
from eagre.kernels.roots import larger, reciprocal, select, smaller
from eagre.series import Series

OF_DISCHARGES = switch("OF_DISCHARGES", False)  # the march reconstructs unit discharges at faces, not velocities


@cell
def balanced_velocity(u_in, u_q, c):
    """Velocity on the outer side of a face, u_in on its inner side, that lets u_q h through.

    Depth h and wave speed c are the same on both sides; the central-upwind flux then is
    h (a+ u_out - a- u_in) / (a+ - a-) with a+ = max(u) + c and a- = min(u) - c, linear in u_out where
    u_out < u_in and quadratic where not, and h u_out where nothing travels outwards.
    """
    zero = real(0.0)
    half = u_in + real(0.5) * (c - u_q)
    rise = max(u_q - u_in, zero)
    up = rise * c / (half + math.sqrt(max(half * half + real(2.0) * rise * c, zero)) + real(1e-20))
    down = min(u_q - u_in, zero) * c / (c + max(u_q, real(-0.5) * c) + real(1e-20))
    return u_q if min(u_in, u_q) >= c else u_in + real(2.0) * (up + down)


@cell
def slope_behind(rise, ahead, p):
    """Difference to the next cell behind for which the limited half slope is `rise`, `ahead` the one before.

    Turns `eagre.kernels.limiters.half_slope` round; it has no slope of the other sign than `ahead`
    and none above theta/2 of it.
    """
    zero = real(0.0)
    sign = real(1.0) if ahead > zero else real(-1.0)
    size = min(max(sign * rise, zero), p.theta * abs(ahead))
    return sign * max(size / p.theta, max(real(4.0) * size - abs(ahead), zero))


@cell
def inflow_surface(w_1, bed_1, bed_k, slope, m, critical, p):
    """Surface of ghost m for which water stands `critical` above the bed of the face, w_1 inside."""
    face = bed_1 + real(0.5) * slope + critical
    if real(2.0) * slope < critical:
        return face
    first = bed_1 + slope + critical
    if m < real(1.5):
        return first
    return first - slope_behind(face - first, w_1 - first, p)


@cell
def shore_or_slope(w_1, w_2, h_1, bed_rise):
    """What the face sees of a bed that rises outwards by `bed_rise` a cell: that rise, that of the surface, if shore.

    A cell of less water than half a step of the bed that rises inland is a shore: it keeps a level surface and a
    velocity without slope, and stands on a bed of its own, as deep at the face as 2 h
    (`eagre.models.shallow_water.kernels.hydrostatic_faces`). Water enters over that bed, as over a crest.
    """
    zero = real(0.0)
    slope = bed_rise if OF_DISCHARGES else max(bed_rise, real(-2.0) * h_1)
    if slope > bed_rise:
        return slope, zero, True
    room = real(0.5) * h_1
    return slope, min(max(w_1 - w_2, min(slope, zero) - room), max(slope, zero) + room), False


@cell
def surfaces(w_1, w_2, h_1, bed_face, slope, rise, m, p):
    """Surface of ghost m and at the face, where the surface goes on by `rise` a cell.

    Where the march reconstructs discharges, the surface of a shore is turned until it touches the bed at its far
    end, and stands 2 h above the bed of the face.
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
def discharge_ghost(near, second, copied, bed_1, bed_k, m, value, level, p):
    """Unit discharge `value` through the face; the depth there comes from the interior.

    The surface goes on with the slope of the two cells inside, so that a uniform flow enters as it
    is and both sides of the face are equally deep. The velocity of the first ghost makes the mean
    with the cell inside right, that of the second gives the first one the slope for which the flux
    is `value` exactly. Where the water inside is faster than its waves, or hardly there, the depth is at
    least the critical one, (q^2 / g)^(1/3): water enters a dry cell at Froude 1, from a level surface or,
    where the bed falls too steeply for that, from one along the bed. What is taken out leaves at 4 times
    the speed of waves at most: a faster ghost takes hardly more, and only shortens the time step. Where
    the march reconstructs discharges, u below is that over the depth at the face.
    """
    zero = real(0.0)
    w_1, n_1, _ = near
    w_2, n_2, bed_2 = second
    h_1 = max(w_1 - bed_1, zero)
    slope, rise, shore = shore_or_slope(w_1, w_2, h_1, (bed_k - bed_1) / m)
    bed_face = bed_1 + real(0.5) * slope
    w_k, w_face = surfaces(w_1, w_2, h_1, bed_face, slope, rise, m, p)
    h_k = max(w_k - bed_k, zero)
    h_face = max(w_face - bed_face, zero)
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
        h_k = inflow_surface(w_1, bed_1, bed_k, slope, m, critical, p) - bed_k
        u = q * desingularised_inverse(critical, p.kappa4)
    return bed_k + h_k, (h_face if OF_DISCHARGES else h_k) * u, zero


@cell
def given_flux(value, inward, z, d, p_here, carried, r, part, p):
    """P is given (equation 8 of the implicit model); none enters land, and none leaves that is not there.

    A step takes 2 w (p + P) of depth from the cell, w = dt / (4 dx), half of it in each sweep. With drying P takes
    `part` at most of what p leaves, so that the cell keeps what the next step takes with P as its old flux, and leaves
    no faster than `fastest_out`.
    """
    zero = real(0.0)
    if DRYING:
        left = larger(depth(r, d) + p.w * smaller(inward * p_here, zero), zero)
        h = depth(z, d)
        most = smaller(part * left * reciprocal(real(2.0) * p.w), h * fastest_out(h, inward, carried, p))
        value = larger(value, -most)
    return real(1.0), zero, select(d < real(LAND), inward * value, zero)


@cell
def discharge_end(value, inward, z, d, p_here, carried, r, factor, p):
    """See `given_flux`: a third of the water."""
    return given_flux(value, inward, z, d, p_here, carried, r, real(1.0 / 3.0), p)


@cell
def discharge_end_in_corner(value, inward, z, d, p_here, carried, r, factor, p):
    """See `given_flux`: half as much where another side takes from the same cell, as neither knows of the other."""
    return given_flux(value, inward, z, d, p_here, carried, r, real(1.0 / 6.0), p)


@dataclass(frozen=True)
class Discharge(GivenDischarge):
    """Prescribed discharge through the part, spread evenly over its width.

    Parameters
    ----------
    rate : float or Series
        Discharge, m3 s-1, positive into the domain.

    Notes
    -----
    The flux through each face is q = rate / width to rounding where water enters into water, and on dry
    ground where it runs off faster than its waves. Where friction holds a film back, some 1 % of
    what the first cell holds at critical depth, (q^2 / g)^(1/3), comes too much, until it is half as
    deep. What is taken out is right to 1e-6; no more can be taken out than flows to the boundary: a dry
    cell gives nothing. In the implicit model with drying water leaves as fast as its waves at most, or as it comes
    where that is faster, and no more than 2/3 h dx / dt, |u| dt / dx = 4/7 in steady flow (half of that in a corner
    between two open sides). Good places fall into the domain and are as wide as the stream.
    """

    rate: Annotated[float | Series, Key("flow, m3/s, positive into the domain", "discharge", "0.5 m3/s")]
    ghost = discharge_ghost
    line_end = discharge_end
    line_end_in_corner = discharge_end_in_corner
    gives_flux = True
    may_be_inside = True

    def deepest_arrival(self, width: float, lowest_bed: float, gravity: float) -> float:
        rate = self.value(width)
        return 0.0 if rate.is_constant else (max(float(rate.values.max()), 0.0) ** 2 / gravity) ** (1.0 / 3.0)
