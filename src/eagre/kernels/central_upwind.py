"""The central-upwind flux of the shallow-water equations, in well-balanced form.

References
----------
A. Kurganov and G. Petrova, Commun. Math. Sci. 5(1), 133-160 (2007), doi:10.4310/CMS.2007.v5.n1.a6.
E. Audusse et al., SIAM J. Sci. Comput. 25(6), 2050-2065 (2004), doi:10.1137/S1064827503431090
(the bed at a face is the higher of its two sides).
"""

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.roots import inverse_root, larger, reciprocal, root, select, smaller


@cell
def desingularised_inverse(h, kappa4):
    """Return 1/h for h >= kappa, decreasing to 0 with h below: sqrt(2) h / sqrt(h^4 + max(h^4, kappa^4)).

    h : depth, m, >= 0; kappa4 : fourth power of the desingularisation depth, m4.
    Kurganov and Petrova (2007), equation (2.17).
    """
    h2 = h * h
    h4 = h2 * h2
    return real(1.4142135623730951) * h * inverse_root(h4 + larger(h4, kappa4))


@cell
def covered_flux(h_l, u_l, v_l, h_r, u_r, v_r, g):
    """Return the flux through a submerged face: both sides have the same bed.

    Parameters
    ----------
    h : depth at the face, m, on its low side l and its high side r.
    u, v : velocity normal to and along the face, m s-1.
    g : m s-2.

    Returns
    -------
    mass : m2 s-1
        Water flux, positive from l to r.
    momentum_l, momentum_r : m3 s-2
        Flux of normal momentum minus the hydrostatic pressure g h^2/2 of side l or r. The pressure of the own side and
        the bed slope of a cell together are g h dw/dx, which the cell adds itself
        (`eagre.models.shallow_water.kernels`): for a level surface each term is exactly zero, in any precision.
    tangential : m3 s-2
        Flux of the momentum along the face.
    speed : m s-1
        Maximum wave speed, max(a+, -a-).

    Notes
    -----
    a+ = max(0, u_l + c_l, u_r + c_r), a- = min(0, u_l - c_l, u_r - c_r), c = sqrt(g h);
    F = (a+ f_l - a- f_r + a+ a- (q_r - q_l)) / (a+ - a-). The flux is zero if both sides are dry.
    """
    zero = real(0.0)
    c_l = root(g * h_l)
    c_r = root(g * h_r)
    a_p = larger(zero, larger(u_l + c_l, u_r + c_r))
    a_m = smaller(zero, smaller(u_l - c_l, u_r - c_r))
    inverse = reciprocal(a_p - a_m + real(1e-20))
    s_l = a_p * inverse
    s_r = a_m * inverse
    q_l = h_l * u_l
    q_r = h_r * u_r
    flow_l = s_l * (u_l - a_m)
    flow_r = s_r * (u_r - a_p)
    d = h_l - h_r
    mass = s_l * q_l - s_r * q_r - s_l * a_m * d
    common = flow_l * q_l - flow_r * q_r
    pressure = real(0.5) * g * (h_l + h_r) * d
    tangential = flow_l * (h_l * v_l) - flow_r * (h_r * v_r)
    return mass, common + s_r * pressure, common + s_l * pressure, tangential, larger(a_p, -a_m)


@cell
def central_upwind(y_l, h_l, u_l, v_l, y_r, h_r, u_r, v_r, g):
    """Return the flux through any face, wet or dry; see `covered_flux`.

    y : surface of each side relative to a common level, m: the bed if both sides have the same bed (y = h).

    The bed at the face is the higher of the beds of both sides, y - h. Water that falls from a bed above the surface of
    the other side carries the weight of the fall, g h (y_l - h_l - y_r); without it thin films stick on rough slopes.
    Depths are compared by the difference of y: no depth exceeds the depth of its side, and both are equal for a level
    surface, independent of the rounding of y.
    """
    zero = real(0.0)
    d = y_l - y_r
    step = (h_l - h_r) - d  # bed of side r minus bed of side l
    fall_l = g * h_l * larger(d - h_l, zero)
    fall_r = g * h_r * larger(-d - h_r, zero)
    covering_l = larger(select(step > zero, h_r + d, h_l), zero)
    covering_r = larger(select(step < zero, h_l - d, h_r), zero)
    mass, momentum_l, momentum_r, tangential, speed = covered_flux(covering_l, u_l, v_l, covering_r, u_r, v_r, g)
    return mass, momentum_l - fall_l, momentum_r - fall_r, tangential, speed
