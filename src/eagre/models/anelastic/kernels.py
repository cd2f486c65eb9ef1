"""What a step of the anelastic model does at a point, as plain cells; pressure and advection have their own.

Arrays are (nz, ny, nx). Profiles of the air at rest are (nz, 1, 1) over flat ground and (nz, ny, nx) over a hill, as
the height of a level changes there. Names: h = rho_b G, the density in computational space; gx, gy, gz the derivatives
of the vertical coordinate; hat: after advection, before the implicit forces; half = dt / 2.

Source: J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput. Fluids 37, 1193-1207 (2008),
doi:10.1016/j.compfluid.2007.12.001; P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998),
doi:10.1006/jcph.1998.5901.
"""

from typing import Any, NamedTuple

from eagre.backend.cells import cell, real, switch

TERRAIN = switch("TERRAIN", False)
VISCOUS = switch("VISCOUS", False)


class Extrapolation(NamedTuple):
    """Weights of the present and the past velocity at half a step on, times half a time step over the spacing."""

    now: Any
    then: Any


@cell
def at(profile, k, j, i):
    """A profile of the air at rest at a point."""
    if TERRAIN:
        return profile[k, j, i]
    return profile[k, 0, 0]


# -- the advector: Courant fluxes at faces, of velocities half a step on ------------------------------------


@cell
def mass_flux(k, j, i, now, then, h, weights):
    """h times a horizontal velocity half a step on, times half a time step over the spacing."""
    return h[k, j, i] * (weights.now * now[k, j, i] + weights.then * then[k, j, i])


@cell
def rise(k, j, i, u, v, w, g):
    """w* = u d zeta / dx + v d zeta / dy + w d zeta / dz."""
    if TERRAIN:
        return g.gx[k, j, i] * u[k, j, i] + g.gy[k, j, i] * v[k, j, i] + g.gz[k, j, i] * w[k, j, i]
    return g.gz[k, 0, 0] * w[k, j, i]


@cell
def upward_mass_flux(k, j, i, now, then, h, g, weights):
    """h w* half a step on, times half a time step over the spacing."""
    fresh = rise(k, j, i, now.u, now.v, now.w, g)
    old = rise(k, j, i, then.u, then.v, then.w, g)
    return h[k, j, i] * (weights.now * fresh + weights.then * old)


class Velocity(NamedTuple):
    """Three components at points."""

    u: Any
    v: Any
    w: Any


class Slopes(NamedTuple):
    """Derivatives of the vertical coordinate; over flat ground gx and gy are not read."""

    gx: Any
    gy: Any
    gz: Any


@cell
def face_x(k, j, i, now, then, h, weights, out):
    """v1 at the face behind point i; region (nz, ny, nx - 1)."""
    first, second = mass_flux(k, j, i, now, then, h, weights), mass_flux(k, j, i + 1, now, then, h, weights)
    out[k, j, i + 1] = first + second


@cell
def face_y(k, j, i, now, then, h, weights, out):
    """v2 at the face behind point j; region (nz, ny - 1, nx)."""
    first, second = mass_flux(k, j, i, now, then, h, weights), mass_flux(k, j + 1, i, now, then, h, weights)
    out[k, j + 1, i] = first + second


@cell
def face_z(k, j, i, now, then, h, g, weights, out):
    """v3 at the face above point k; region (nz - 1, ny, nx)."""
    first = upward_mass_flux(k, j, i, now, then, h, g, weights)
    out[k + 1, j, i] = first + upward_mass_flux(k + 1, j, i, now, then, h, g, weights)


@cell
def ends_x(k, j, i, now, then, h, weights, out, periodic):
    """The outer faces of a row: those of the other end, or the mirror image; region (nz, ny, 1)."""
    n = now.shape[2]
    low, high = -out[k, j, 1], -out[k, j, n - 1]
    if periodic:
        low = mass_flux(k, j, n - 1, now, then, h, weights) + mass_flux(k, j, 0, now, then, h, weights)
        high = low
    out[k, j, 0] = low
    out[k, j, n] = high


@cell
def ends_y(k, j, i, now, then, h, weights, out, periodic):
    """The outer faces along y; region (nz, 1, nx)."""
    n = now.shape[1]
    low, high = -out[k, 1, i], -out[k, n - 1, i]
    if periodic:
        low = mass_flux(k, n - 1, i, now, then, h, weights) + mass_flux(k, 0, i, now, then, h, weights)
        high = low
    out[k, 0, i] = low
    out[k, n, i] = high


@cell
def ends_z(k, j, i, now, then, h, g, weights, out, periodic):
    """The outer faces along z; region (1, ny, nx)."""
    n = h.shape[0]
    low, high = -out[1, j, i], -out[n - 1, j, i]
    if periodic:
        low = upward_mass_flux(n - 1, j, i, now, then, h, g, weights)
        low += upward_mass_flux(0, j, i, now, then, h, g, weights)
        high = low
    out[0, j, i] = low
    out[n, j, i] = high


# -- forces ------------------------------------------------------------------------------------------------


@cell
def add_force(k, j, i, x, force, drag, half, scale, out):
    """What is advected: x + scale F + dt/2 D, where F is the last step's half force and D the explicit tendency."""
    value = x[k, j, i] + scale * force[k, j, i]
    if VISCOUS:
        value += half * drag[k, j, i]
    out[k, j, i] = value


@cell
def add_drag(k, j, i, hat, drag, last, half, more):
    """The explicit tendency of the end of the step, extrapolated: hat + dt/2 ((1 + more) D^n - more D^(n-1))."""
    hat[k, j, i] += half * ((real(1.0) + more) * drag[k, j, i] - more * last[k, j, i])


class AtRest(NamedTuple):
    """Profiles of the air at rest, and the inverse of what is implicit, for one time step.

    c11, c12, c33 : as of `eagre.models.anelastic.coefficients`
    ue, ve : ambient wind times dt/2 alpha (own axis) and dt/2 f (the other one) already: what is added to u and v
    lift : dt/2 (g / theta_b) / (1 + dt/2 beta)
    lapse : dt/2 d theta_e / dz
    keep : 1 / (1 + dt/2 beta)
    """

    c11: Any
    c12: Any
    c33: Any
    ue: Any
    ve: Any
    lift: Any
    lapse: Any
    keep: Any


@cell
def without_pressure(k, j, i, hat, theta, rest, out):
    """v^ = C (v_hat + what the air at rest asks for + buoyancy of theta_hat)."""
    u = hat.u[k, j, i] + at(rest.ue, k, j, i)
    v = hat.v[k, j, i] + at(rest.ve, k, j, i)
    c11, c12 = at(rest.c11, k, j, i), at(rest.c12, k, j, i)
    out.u[k, j, i] = c11 * u + c12 * v
    out.v[k, j, i] = c11 * v - c12 * u
    out.w[k, j, i] = at(rest.c33, k, j, i) * (hat.w[k, j, i] + at(rest.lift, k, j, i) * theta[k, j, i])


@cell
def finish_velocity(k, j, i, new, hat):
    """Half forces of the next step, in place of hat: v^(n+1) - v_hat."""
    hat.u[k, j, i] = new.u[k, j, i] - hat.u[k, j, i]
    hat.v[k, j, i] = new.v[k, j, i] - hat.v[k, j, i]
    hat.w[k, j, i] = new.w[k, j, i] - hat.w[k, j, i]


@cell
def finish_theta(k, j, i, theta, hat, w, rest):
    """theta'^(n+1) and, in place of hat, its half force."""
    old = hat[k, j, i]
    new = at(rest.keep, k, j, i) * (old - at(rest.lapse, k, j, i) * w[k, j, i])
    theta[k, j, i] = new
    hat[k, j, i] = new - old
