"""Point functions and coefficients of a time step, except pressure and advection.

Arrays are (nz, ny, nx). Base-state profiles are (nz, 1, 1), over terrain (nz, ny, nx), because the height of a level
varies. Names: h = rho_b G, the density in computational space; gx, gy, gz the derivatives of the vertical coordinate;
provisional: after advection, before the implicit forces; half = dt / 2.

Source: J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput. Fluids 37, 1193-1207 (2008),
doi:10.1016/j.compfluid.2007.12.001; P. K. Smolarkiewicz and L. G. Margolin, J. Comput. Phys. 140, 459-480 (1998),
doi:10.1006/jcph.1998.5901.

Some coefficients depend on the current and previous time step. On a GPU, kernels read them from device memory, so that
one CUDA graph serves steps of any length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, check_precision
from eagre.kernels.neighbour_indices import neighbour

HALF = 0  # dt/2
SCALE = 1  # ratio of dt to the previous step: increments dt/2 R are proportional to the time step
PREVIOUS_WEIGHT = 2  # the same ratio, 0 in the first step: weight of the previous tendency
ALONG_Z, ALONG_Y, ALONG_X = 3, 5, 7  # weights of the current and past velocity in face fluxes
SIZE = 9
TERRAIN = switch("TERRAIN", False)
DRIVEN = switch("DRIVEN", False)  # True for a field with explicit tendencies
STRATIFIED = switch("STRATIFIED", True)


class StepCoefficients:
    """Coefficients of a step.

    Parameters
    ----------
    device : Device
    precision : str
    spacing : (dz, dy, dx), m

    Attributes
    ----------
    numbers : SIZE numbers
        On a GPU a device array, otherwise a tuple that `set` replaces.
    dt : float64 (1,), on the device
        Time step, s.
    """

    def __init__(self, device: Device, precision: str, spacing: Sequence[float]) -> None:
        self._device, self._real, self._spacing = device, check_precision(precision), tuple(spacing)
        self._known: tuple[float, float] | None = None
        self.dt = device.zeros((1,), np.float64)
        self.numbers: Any = device.zeros((SIZE,), self._real) if device.kind == "cuda" else (self._real(0.0),) * SIZE

    def set(self, dt: float, previous: float) -> None:
        """Set the next and the previous time step, s; 0 without a previous step."""
        if self._known == (dt, previous):
            return
        last = previous or dt
        ratio, coefficients = 0.5 * dt / last, [0.5 * dt, dt / last, dt / previous if previous else 0.0]
        for spacing in self._spacing:
            half_ratio = 0.5 * dt / spacing
            coefficients += [half_ratio * (1.0 + ratio), -half_ratio * ratio]
        numbers = np.array(coefficients).astype(self._real)
        if self._device.kind == "cuda":
            self._device.fill(self.numbers, numbers)
        else:
            self.numbers = tuple(numbers)
        self._device.fill(self.dt, np.array([dt]))
        self._known = (dt, previous)


class Extrapolation(NamedTuple):
    """Weights of the current and past velocity at t + dt/2, times dt/2 divided by the grid spacing."""

    current: Any
    previous: Any


@cell
def profile_at(profile, k, j, i):
    """Return a base-state profile at a point."""
    if TERRAIN:
        return profile[k, j, i]
    return profile[k, 0, 0]


# -- advecting fluxes: Courant numbers times h at faces, at t + dt/2 ----------------------------------------


@cell
def mass_flux(k, j, i, q_n, q_nm1, h, weights):
    """Compute h times a horizontal velocity at t + dt/2, times dt/2 divided by the grid spacing."""
    return profile_at(h, k, j, i) * (weights.current * q_n[k, j, i] + weights.previous * q_nm1[k, j, i])


@cell
def rise(k, j, i, u, v, w, g):
    """Compute w* = u d zeta / dx + v d zeta / dy + w d zeta / dz."""
    if TERRAIN:
        along = g.slope_x[j, i] * u[k, j, i] + g.slope_y[j, i] * v[k, j, i]
        return g.fade[k] * along + g.stretch[k] * g.squeeze[j, i] * w[k, j, i]
    return g.stretch[k] * w[k, j, i]


@cell
def upward_mass_flux(k, j, i, wind_n, wind_nm1, h, g, weights):
    """Compute h w* at t + dt/2, times dt/2 divided by the grid spacing."""
    fresh = rise(k, j, i, wind_n.u, wind_n.v, wind_n.w, g)
    old = rise(k, j, i, wind_nm1.u, wind_nm1.v, wind_nm1.w, g)
    return profile_at(h, k, j, i) * (weights.current * fresh + weights.previous * old)


class Velocity(NamedTuple):
    """Three components at points."""

    u: Any
    v: Any
    w: Any


class Slopes(NamedTuple):
    """Vertical coordinate zeta: d zeta / dx = slope_x fade, d zeta / dy = slope_y fade, d zeta / dz = stretch squeeze.

    stretch and fade are (nz,), the others (ny, nx); for flat terrain only stretch is read.
    """

    stretch: Any
    fade: Any
    squeeze: Any
    slope_x: Any
    slope_y: Any


WALL, PERIODIC, OPEN = 0, 1, 2  # boundary conditions of an axis


@cell
def outer_face(side, inner, kind):
    """Return the flux of the face outside a wall or an open boundary, from the next face and the boundary point.

    At a wall it is the mirror image. At an open boundary its mean with the next face equals the flux through the
    boundary, because a boundary point has half a cell.
    """
    return real(4.0) * side - inner if kind == OPEN else -inner


# -- forces ------------------------------------------------------------------------------------------------


@cell
def add_force(k, j, i, x, force, drag, numbers):
    """Replace x by the advected field x + scale F + dt/2 D; F: previous increment dt/2 R, D: explicit tendency.

    numbers : see `eagre.models.anelastic.step_kernels.StepCoefficients`
    """
    value = x[k, j, i] + numbers[SCALE] * force[k, j, i]
    if DRIVEN:
        value += numbers[HALF] * drag[k, j, i]
    x[k, j, i] = value


@cell
def add_force_to_wind(k, j, i, x, force, drag, numbers, x_nm1):
    """Apply `add_force` and store x in x_nm1, the previous velocity of the next step."""
    x_nm1[k, j, i] = x[k, j, i]
    add_force(k, j, i, x, force, drag, numbers)


@cell
def add_tendency(k, j, i, x, drag, numbers):
    """Add dt/2 D to x, for fields without implicit forces."""
    x[k, j, i] += numbers[HALF] * drag[k, j, i]


@cell
def add_drag(k, j, i, provisional, drag, last, numbers):
    """Add the tendency at the end of the step: x + dt/2 ((1 + more) D^n - more D^(n-1)); store D^n in D^(n-1)."""
    tendency, more = drag[k, j, i], numbers[PREVIOUS_WEIGHT]
    provisional[k, j, i] += numbers[HALF] * ((real(1.0) + more) * tendency - more * last[k, j, i])
    last[k, j, i] = tendency


@cell
def take(k, j, i, x, advected):
    """Copy the advected field to x."""
    x[k, j, i] = advected[k, j, i]


class ImplicitTerms(NamedTuple):
    """Base-state profiles, and the inverse of the implicit operator, for one time step.

    c11, c12, c33 : see `eagre.models.anelastic.pressure.operator_launches`
    ue, ve : terms of the ambient wind in u and v, with the factors dt/2 alpha (same axis) and dt/2 f (other axis)
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
def without_pressure(k, j, i, provisional, theta, implicit, out):
    """Compute v^ = C (provisional v + ambient-wind terms + buoyancy of the provisional theta)."""
    u = provisional.u[k, j, i] + profile_at(implicit.ue, k, j, i)
    v = provisional.v[k, j, i] + profile_at(implicit.ve, k, j, i)
    c11, c12 = profile_at(implicit.c11, k, j, i), profile_at(implicit.c12, k, j, i)
    out.u[k, j, i] = c11 * u + c12 * v
    out.v[k, j, i] = c11 * v - c12 * u
    w = provisional.w[k, j, i]
    if STRATIFIED:
        w += profile_at(implicit.lift, k, j, i) * theta[k, j, i]
    out.w[k, j, i] = profile_at(implicit.c33, k, j, i) * w


@cell
def finish_theta(k, j, i, theta, provisional, w, implicit):
    """Compute theta'^(n+1), and overwrite the provisional value by its increment dt/2 R."""
    old = provisional[k, j, i]
    new = profile_at(implicit.keep, k, j, i) * (old - profile_at(implicit.lapse, k, j, i) * w[k, j, i])
    theta[k, j, i] = new
    provisional[k, j, i] = new - old


# -- viscosity ---------------------------------------------------------------------------------------------


class Axis(NamedTuple):
    """Arguments of second differences along an axis."""

    over_d2: Any  # viscosity divided by the squared spacing; 0 along an axis of one point
    periodic: int
    sign: Any  # sign of the mirror image at a wall


@cell
def viscous(k, j, i, f, h, stretch, x, y, z, out):
    """Compute D = (1/h) div(h nu grad f) by second differences between neighbours, for flat terrain.

    The density is a profile, and the vertical derivative stretch d/dzeta: the weight along z is h stretch^2.
    """
    nz, ny, nx = f.shape
    here, mass = f[k, j, i], profile_at(h, k, j, i)
    west, east = neighbour(i, -1, nx, x.periodic), neighbour(i, 1, nx, x.periodic)
    south, north = neighbour(j, -1, ny, y.periodic), neighbour(j, 1, ny, y.periodic)
    below, above = neighbour(k, -1, nz, z.periodic), neighbour(k, 1, nz, z.periodic)
    f_west = f[k, j, west] * (x.sign if i == 0 and not x.periodic else real(1.0))
    f_east = f[k, j, east] * (x.sign if i == nx - 1 and not x.periodic else real(1.0))
    f_south = f[k, south, i] * (y.sign if j == 0 and not y.periodic else real(1.0))
    f_north = f[k, north, i] * (y.sign if j == ny - 1 and not y.periodic else real(1.0))
    f_below = f[below, j, i] * (z.sign if k == 0 and not z.periodic else real(1.0))
    f_above = f[above, j, i] * (z.sign if k == nz - 1 and not z.periodic else real(1.0))
    along_x = mass * (f_west - here + (f_east - here))
    along_y = mass * (f_south - here + (f_north - here))
    weight = stretch[k] * stretch[k] * mass
    weight_below = stretch[below] * stretch[below] * h[below, 0, 0]
    weight_above = stretch[above] * stretch[above] * h[above, 0, 0]
    along_z = (weight_below + weight) * (f_below - here) + (weight + weight_above) * (f_above - here)
    out[k, j, i] = (x.over_d2 * along_x + y.over_d2 * along_y + real(0.5) * z.over_d2 * along_z) / mass


# -- the Courant number ------------------------------------------------------------------------------------


@cell
def max_outflow(i, v1, v2, v3, h, out):
    """Compute the maximum outflow Courant number of a row; region (nz ny), rows k ny + j."""
    ny, nx = v1.shape[1], v2.shape[2]
    k = i // ny
    j = i - k * ny
    max_courant = real(0.0)
    for n in range(nx):
        along_x = max(v1[k, j, n + 1], real(0.0)) - min(v1[k, j, n], real(0.0))
        along_y = max(v2[k, j + 1, n], real(0.0)) - min(v2[k, j, n], real(0.0))
        along_z = max(v3[k + 1, j, n], real(0.0)) - min(v3[k, j, n], real(0.0))
        mass = h[k, j, n] if TERRAIN else h[k, 0, 0]
        max_courant = max(max_courant, (along_x + along_y + along_z) / mass)
    out[i] = max_courant
