"""MPDATA: formulas of a face or a point.

U is the flux of the advector through a face, dt/dx times density and Jacobian; h the density times Jacobian of a point,
and over_r = 2 / (h_left + h_right) at a face.

Sources: P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998), doi:10.1006/jcph.1998.5901;
K. A. Rojek et al., Concurrency Computat.: Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417, figures 2 and 3.
"""

from eagre.backend.compilation.cells import cell, real, switch
from eagre.kernels.roots import by_sign, larger, quotient, smaller

GAUGE = switch("GAUGE", True)
"""Infinite-gauge variant: pseudo velocities are fluxes, for fields of both signs. Otherwise sign-preserving."""
MIN_DIVISOR = switch("MIN_DIVISOR", 1e-37)
"""Smallest divisor in the precision of the build; prevents 0 / 0."""


@cell
def donor_flux(left, right, u):
    """Return the upwind flux through a face: max(0, u) left + min(0, u) right."""
    return u * by_sign(u, left, right)


@cell
def magnitude(x):
    """Return the quantity whose differences define pseudo velocities."""
    return x if GAUGE else abs(x)


@cell
def corrective_flux(left, right, v):
    """Return the flux of the pseudo velocity v."""
    return v if GAUGE else donor_flux(left, right, v)


@cell
def ratio_of_two(plus, minus):
    """Return (plus - minus) / (plus + minus), each one value; half of the difference in the infinite-gauge variant."""
    if GAUGE:
        return real(0.5) * (plus - minus)
    return quotient(plus - minus, larger(plus + minus, real(MIN_DIVISOR)))


@cell
def ratio_of_four(plus, minus):
    """Return the same ratio, each the sum of two values; a quarter of the difference in the infinite-gauge variant."""
    return cross_ratio(plus - minus, plus + minus)


@cell
def cross_ratio(difference, total):
    """Return the ratio for the difference and the sum of two pairs of values; the gauge variant ignores the sum."""
    if GAUGE:
        return real(0.25) * difference
    return quotient(difference, larger(total, real(MIN_DIVISOR)))


@cell
def ratio_of_eight(plus, minus):
    """Return the same ratio, each the sum of four values; an eighth of the difference in the infinite-gauge variant."""
    if GAUGE:
        return real(0.125) * (plus - minus)
    return quotient(plus - minus, larger(plus + minus, real(MIN_DIVISOR)))


@cell
def pseudo_velocity(u, over_r, left, right, s_m, m, s_n, n):
    """Return the pseudo velocity (|U| - U^2/r) D - U/(8 r) (S_m D_m + S_n D_n).

    D is the ratio of the two points, D_m and D_n the ratios of four points (m, n), one step forward along each other
    axis and one step back; S_m and S_n are the sums of the four faces of these axes around the face.
    """
    courant = u * over_r
    along = (abs(u) - u * courant) * ratio_of_two(right, left)
    return along - real(0.125) * courant * (s_m * m + s_n * n)


@cell
def face_velocity(u, over, left, right, s_m, difference_m, total_m, s_n, difference_n, total_n):
    """Return the same from over = 1 / (h_left + h_right) and the differences and sums of pairs (see `cross_ratio`)."""
    courant = u * over
    if GAUGE:
        along = (real(0.5) * abs(u) - u * courant) * (right - left)
        return along - real(0.0625) * courant * (s_m * difference_m + s_n * difference_n)
    along = (abs(u) - real(2.0) * u * courant) * ratio_of_two(right, left)
    cross = s_m * cross_ratio(difference_m, total_m) + s_n * cross_ratio(difference_n, total_n)
    return along - real(0.25) * courant * cross


@cell
def third_along(u, over_r, front, right, left, back):
    """Return -(U - 3 |U| U/r + 2 U^3/r^2)/3 D of the four points of a line about the face."""
    courant = u * over_r
    weight = u - real(3.0) * abs(u) * courant + real(2.0) * u * courant * courant
    return real(-1.0 / 3.0) * weight * ratio_of_four(front + back, right + left)


@cell
def third_across(u, over_r, s, right_up, left_up, right_down, left_down):
    """Return (|U| - 2 U^2/r) S/(4 r) D of the gradient along the axis, one step forward and back along another axis."""
    weight = abs(u) - real(2.0) * u * u * over_r
    return real(0.25) * weight * s * over_r * ratio_of_four(right_up + left_down, left_up + right_down)


@cell
def third_corners(u, over_r, s_m, s_n, same, opposite):
    """Return -U S_m S_n/(24 r^2) D of the corners; same, opposite : pairs of equal, opposite steps."""
    return real(-1.0 / 24.0) * u * s_m * s_n * over_r * over_r * ratio_of_eight(same, opposite)


@cell
def inflow(low, high):
    """Return the inflow of a point from two opposite faces."""
    return larger(low, real(0.0)) - smaller(high, real(0.0))


@cell
def flows(west, east, south, north, below, above):
    """Return the inflow and outflow of a point from six fluxes towards higher indices, to rounding."""
    net = ((west - east) + (south - north)) + (below - above)
    total = ((abs(west) + abs(east)) + (abs(south) + abs(north))) + (abs(below) + abs(above))
    return real(0.5) * (total + net), real(0.5) * (total - net)


@cell
def share_of(capacity, flow):
    """Return the allowed fraction of `flow` for a capacity `capacity` (at least 0), 0 to 1."""
    return quotient(capacity, larger(capacity + real(MIN_DIVISOR), flow))


@cell
def limiter(f, up_left, down_left, up, down):
    """Return the fraction of flux f that both points allow: `up` of the receiving and `down` of the giving point."""
    along, against = smaller(up, down_left), smaller(up_left, down)  # both computed: no load depends on the sign
    return along if f > real(0.0) else against
