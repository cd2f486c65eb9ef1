"""Point functions of the pressure operator: gradient and divergence by centred differences over two grid spacings.

In terrain-following coordinates (x, y, zeta), z = h + (1 - h / H) Z(zeta), with J = dz / dzeta and rho* = rho J::

    G1 = (1, 0, 0)    G2 = (0, 1, 0)    G3 = (g13, g23, g33) = (-z_x, -z_y, 1) / J
    grad phi = G1 phi_x + G2 phi_y + G3 phi_zeta
    v = v^ - C grad phi,    C = [[c11, c12, 0], [-c12, c11, 0], [0, 0, c33]]
    r = -(1 / rho*) sum_I d(rho* G_I . v) / dx_I

At a boundary of axis I the normal component G_I . v is prescribed (0 at a wall) and determines the derivative along I.
At the surface phi_zeta = G3 . (v^ - C (G1 phi_x + G2 phi_y)) / (G3 . C G3). A zero flux alone would permit wind through
the terrain. With weights rho*, halved at boundaries, the operator is symmetric for c12 = 0.

Fields are (nz, ny, nx); derivatives along an axis of one point are 0. Source: J. M. Prusa, P. K. Smolarkiewicz,
A. A. Wyszogrodzki, Comput. Fluids 37, 1193-1207 (2008), doi:10.1016/j.compfluid.2007.12.001.
"""

from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, real, switch
from eagre.models.anelastic.base.grid_lines import centre, lower, upper


class Medium(NamedTuple):
    """Coefficients at points: rho*, c11, c12, c33 as profiles (nz, 1, 1) or fields; the metric as columns and planes.

    g33 = squeeze stretch, g13 = west stretch_1, g23 = south stretch_1: stretch and stretch_1 (nz,), the rest (ny, nx).
    """

    density: Any
    c11: Any
    c12: Any
    c33: Any
    stretch: Any
    fade: Any
    squeeze: Any
    slope_x: Any
    slope_y: Any


class Normal(NamedTuple):
    """G_I . v at open boundaries: x (2, nz, ny), y (2, nz, nx), z (2, ny, nx); the lower boundary first."""

    x: Any
    y: Any
    z: Any


class Vector(NamedTuple):
    """Three components."""

    x: Any
    y: Any
    z: Any


class Tensor(NamedTuple):
    """C and the row G3 at a point."""

    c11: Any
    c12: Any
    c33: Any
    g13: Any
    g23: Any
    g33: Any


@cell
def of_profile(a, k, j, i):
    """Return a value of a profile, (nz, 1, 1)."""
    return a[k, 0, 0]


@cell
def of_field(a, k, j, i):
    """Return a value of a field, (nz, ny, nx)."""
    return a[k, j, i]


density_at = switch("DENSITY", of_profile)
c11_at = switch("C11", of_profile)
c12_at = switch("C12", of_profile)
c33_at = switch("C33", of_profile)
TERRAIN = switch("TERRAIN", False)
TURNING = switch("TURNING", False)  # True for c12 other than 0
OPEN = switch("OPEN", False)  # True with prescribed normal velocities


@cell
def tensor_at(medium, k, j, i):
    """Return C and G3 at a point."""
    c12 = c12_at(medium.c12, k, j, i) if TURNING else real(0.0)
    g13 = medium.slope_x[j, i] * medium.fade[k] if TERRAIN else real(0.0)
    g23 = medium.slope_y[j, i] * medium.fade[k] if TERRAIN else real(0.0)
    g33 = medium.stretch[k] * medium.squeeze[j, i] if TERRAIN else medium.stretch[k]
    return Tensor(c11_at(medium.c11, k, j, i), c12, c33_at(medium.c33, k, j, i), g13, g23, g33)


@cell
def prescribed_at(normal, z, y, x):
    """Return the prescribed G_I . v at boundaries."""
    if OPEN:
        a = normal.x[0 if x.here == 0 else 1, z.here, y.here] if x.on else real(0.0)
        b = normal.y[0 if y.here == 0 else 1, z.here, x.here] if y.on else real(0.0)
        c = normal.z[0 if z.here == 0 else 1, y.here, x.here] if z.on else real(0.0)
        return Vector(a, b, c)
    return Vector(real(0.0), real(0.0), real(0.0))


@cell
def after_sides(provisional, t, x_on, y_on, prescribed):
    """Return horizontal v^ and C (u, v, c11, c22, c12) after elimination of boundary derivatives along x and y."""
    u, v, a11, a22, a12 = provisional.x, provisional.y, t.c11, t.c11, t.c12
    if x_on:
        if TURNING:
            v += a12 / a11 * (u - prescribed.x)
            a22 += a12 * a12 / a11
        u, a11, a12 = prescribed.x, real(0.0), real(0.0)
    if y_on:
        if TURNING:
            u -= a12 / a22 * (v - prescribed.y)
            a11 += a12 * a12 / a22
        v, a22, a12 = prescribed.y, real(0.0), real(0.0)
    return u, v, a11, a22, a12


@cell
def corrected(q, provisional, t, on, prescribed):
    """Return v = v^ - C grad phi with prescribed normal components; q: derivatives of phi along x, y, zeta."""
    u, v, a11, a22, a12 = after_sides(provisional, t, on.x, on.y, prescribed)
    slope = q.z
    if TERRAIN and on.z:
        flow = t.g13 * (u - a11 * q.x - a12 * q.y) + t.g23 * (v + a12 * q.x - a22 * q.y) + t.g33 * provisional.z
        through = t.g13 * t.g13 * a11 + t.g23 * t.g23 * a22 + t.g33 * t.g33 * t.c33
        slope = (flow - prescribed.z) / through
    g1 = q.x + t.g13 * slope
    g2 = q.y + t.g23 * slope
    u, v = u - (a11 * g1 + a12 * g2), v - (a22 * g2 - a12 * g1)
    if on.z:
        return Vector(u, v, (prescribed.z - t.g13 * u - t.g23 * v) / t.g33)
    return Vector(u, v, provisional.z - t.c33 * t.g33 * slope)


@cell
def differences(q, z, y, x):
    """Return derivatives along x, y, zeta at a point."""
    qx = (q[z.here, y.here, x.high] - q[z.here, y.here, x.low]) * x.over
    qy = (q[z.here, y.high, x.here] - q[z.here, y.low, x.here]) * y.over
    qz = (q[z.high, y.here, x.here] - q[z.low, y.here, x.here]) * z.over
    return Vector(qx, qy, qz)


@cell
def no_flow(provisional, z, y, x):
    """Return v^ = 0, for the operator alone."""
    return Vector(real(0.0), real(0.0), real(0.0))


@cell
def flow(provisional, z, y, x):
    """Return v^ at a point."""
    k, j, i = z.here, y.here, x.here
    return Vector(provisional.x[k, j, i], provisional.y[k, j, i], provisional.z[k, j, i])


class Wind(NamedTuple):
    """Velocities after a projection, and the increments dt/2 R, their change."""

    x: Any
    y: Any
    z: Any
    force_x: Any
    force_y: Any
    force_z: Any


IN_PLACE = switch("IN_PLACE", True)  # True if v^ is stored in the output array of v, False if in the force arrays
FINISHES = switch("FINISHES", False)  # True if the forces are set to v minus their values, v_hat
GUESSED = switch("GUESSED", True)  # True if phi is not 0
PROVISIONAL = switch("PROVISIONAL", flow)  # `flow` for residuals and velocities, `no_flow` for the operator


@cell
def velocity_at(q, provisional, medium, normal, z, y, x):
    """Return the velocity at a point."""
    prescribed = prescribed_at(normal, z, y, x)
    t = tensor_at(medium, z.here, y.here, x.here)
    slopes = differences(q, z, y, x) if GUESSED else Vector(real(0.0), real(0.0), real(0.0))
    return corrected(slopes, PROVISIONAL(provisional, z, y, x), t, Vector(x.on, y.on, z.on), prescribed)


@cell
def flux_up(v, medium, k, j, i):
    """Return rho* G3 . v at a point."""
    t = tensor_at(medium, k, j, i)
    return density_at(medium.density, k, j, i) * (t.g13 * v.x + t.g23 * v.y + t.g33 * v.z)


@cell
def flux_x(q, provisional, medium, normal, z, y, x):
    """Return rho* u."""
    density = density_at(medium.density, z.here, y.here, x.here)
    return density * velocity_at(q, provisional, medium, normal, z, y, x).x


@cell
def flux_y(q, provisional, medium, normal, z, y, x):
    """Return rho* v."""
    density = density_at(medium.density, z.here, y.here, x.here)
    return density * velocity_at(q, provisional, medium, normal, z, y, x).y


@cell
def flux_z(q, provisional, medium, normal, z, y, x):
    """Return rho* G3 . v."""
    return flux_up(velocity_at(q, provisional, medium, normal, z, y, x), medium, z.here, y.here, x.here)


@cell
def residual_of(q, provisional, medium, normal, z, y, x):
    """Return r = -(1 / rho*) div(rho* v) at a point; with `PROVISIONAL` = `no_flow`: L q."""
    zc, yc, xc = centre(z), centre(y), centre(x)
    east = flux_x(q, provisional, medium, normal, zc, yc, upper(x))
    west = flux_x(q, provisional, medium, normal, zc, yc, lower(x))
    north = flux_y(q, provisional, medium, normal, zc, upper(y), xc)
    south = flux_y(q, provisional, medium, normal, zc, lower(y), xc)
    above = flux_z(q, provisional, medium, normal, upper(z), yc, xc)
    below = flux_z(q, provisional, medium, normal, lower(z), yc, xc)
    total = (east - west) * x.over + (north - south) * y.over + (above - below) * z.over
    return -total / density_at(medium.density, z.here, y.here, x.here)


@cell
def set_residual(q, provisional, out, medium, normal, z, y, x):
    """Compute prforc and divrhs in one: r, or L q."""
    out.x[z.here, y.here, x.here] = residual_of(q, provisional, medium, normal, z, y, x)


@cell
def set_fluxes(q, provisional, out, medium, normal, z, y, x):
    """Compute rho* u, rho* v and rho* G3 . v."""
    v = velocity_at(q, provisional, medium, normal, centre(z), centre(y), centre(x))
    k, j, i = z.here, y.here, x.here
    density = density_at(medium.density, k, j, i)
    out.x[k, j, i] = density * v.x
    out.y[k, j, i] = density * v.y
    out.z[k, j, i] = flux_up(v, medium, k, j, i)


@cell
def set_residual_of_fluxes(q, fluxes, out, medium, normal, z, y, x):
    """Compute `residual_of` from the results of `set_fluxes`; q is not read."""
    k, j, i = z.here, y.here, x.here
    total = (fluxes.x[k, j, x.high] - fluxes.x[k, j, x.low]) * x.over
    total += (fluxes.y[k, y.high, i] - fluxes.y[k, y.low, i]) * y.over
    total += (fluxes.z[z.high, j, i] - fluxes.z[z.low, j, i]) * z.over
    out.x[k, j, i] = -total / density_at(medium.density, k, j, i)


@cell
def set_velocity(q, provisional, out, medium, normal, z, y, x):
    """Compute prforc: the velocity."""
    v = velocity_at(q, provisional, medium, normal, centre(z), centre(y), centre(x))
    k, j, i = z.here, y.here, x.here
    out.x[k, j, i] = v.x
    out.y[k, j, i] = v.y
    out.z[k, j, i] = v.z


@cell
def set_wind(q, provisional, out, medium, normal, z, y, x):
    """Compute prforc in place, and the increments dt/2 R of the step; out: `Wind`; provisional is not read."""
    if IN_PLACE:
        v = velocity_at(q, out, medium, normal, centre(z), centre(y), centre(x))
    else:
        stored = Vector(out.force_x, out.force_y, out.force_z)
        v = velocity_at(q, stored, medium, normal, centre(z), centre(y), centre(x))
    k, j, i = z.here, y.here, x.here
    if FINISHES:
        out.force_x[k, j, i] = v.x - out.force_x[k, j, i]
        out.force_y[k, j, i] = v.y - out.force_y[k, j, i]
        out.force_z[k, j, i] = v.z - out.force_z[k, j, i]
    out.x[k, j, i] = v.x
    out.y[k, j, i] = v.y
    out.z[k, j, i] = v.z


@cell
def set_divergence(q, provisional, out, medium, normal, z, y, x):
    """Compute divrhs: r of the velocity `provisional`; q is not read."""
    k, j, i = z.here, y.here, x.here
    total = (
        density_at(medium.density, k, j, x.high) * provisional.x[k, j, x.high]
        - density_at(medium.density, k, j, x.low) * provisional.x[k, j, x.low]
    ) * x.over
    total += (
        density_at(medium.density, k, y.high, i) * provisional.y[k, y.high, i]
        - density_at(medium.density, k, y.low, i) * provisional.y[k, y.low, i]
    ) * y.over
    above = flux_up(flow(provisional, upper(z), centre(y), centre(x)), medium, z.high, j, i)
    below = flux_up(flow(provisional, lower(z), centre(y), centre(x)), medium, z.low, j, i)
    total += (above - below) * z.over
    out.x[k, j, i] = -total / density_at(medium.density, k, j, i)
