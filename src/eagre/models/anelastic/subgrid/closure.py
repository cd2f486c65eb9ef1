"""Smagorinsky-Lilly closure: parameters, mixing lengths, stability rates, and point functions of diffusion.

    K = l^2 sqrt(max(0, 2 S:S - N^2 / Pr)),    1/l^2 = 1/(c D)^2 + 1/(kappa z)^2 with surface drag

Source: J. Smagorinsky, Mon. Weather Rev. 91, 99-164 (1963), doi:10.1175/1520-0493(1963)091<0099:GCEWTP>2.3.CO;2; D. K.
Lilly, Tellus 14, 148-172 (1962), doi:10.3402/tellusa.v14i2.9537; near the surface: P. J. Mason, D. J. Thomson, J. Fluid
Mech. 242, 51-78 (1992), doi:10.1017/S0022112092002271.

The diffusion of scalars and momentum acts between neighbours. Each point is the corner of eight boxes; in a box
derivatives are those along the three edges that meet at the point. With grad = sum_I g^I d/dx_I (g^x = (1, 0, g13) and
so on: `Slopes`), the mean over the boxes of the dissipation

    Q = K |grad f|^2,    of momentum    Q = 2 K S:S,    2 S = grad v + (grad v)^T

is a quadratic form of differences, and the tendency is its gradient. Momentum is conserved, energy decreases, only
flows without strain have no dissipation, and boundaries are free of stress. Terms of one axis are differences between
neighbours; terms of two axes are centred differences over two grid spacings, one-sided at boundaries:

    F_I = h K sum_(J != I) [(g^I . g^J) d_J v + g^J (g^I . d_J v)],    D = (1/h) (compact + sum_I d_I F_I)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.checks import checked_number
from eagre.constants import VON_KARMAN
from eagre.models.anelastic.base.grid_lines import axis_x, axis_y, axis_z, centre, line_at, lower, upper
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.operator import Vector, differences
from eagre.models.anelastic.step_kernels import profile_at

Array = np.ndarray
TERRAIN = switch("TERRAIN", False)
CLOSED = switch("CLOSED", False)  # True with a closure in addition to the constant coefficient
STRATIFIED = switch("STRATIFIED", True)
CAPPED = switch("CAPPED", False)  # True if K is limited to the stable value of the time step


@dataclass(frozen=True)
class Smagorinsky:
    """Smagorinsky-Lilly eddy viscosity.

    Parameters
    ----------
    constant : float
        Smagorinsky constant c; 0.17 for isotropic turbulence, 0.1 for shear flow.
    prandtl : float
        Turbulent Prandtl number Pr: the diffusivity of theta and scalars is K / Pr; K = 0 for N^2 / (2 S:S) > Pr.
    length : float, m, optional
        Filter length D; by default the cube root of the cell volume (in two dimensions the square root of the area).
    """

    constant: float = 0.17
    prandtl: float = 1.0 / 3.0
    length: float | None = None

    def checked(self) -> Smagorinsky:
        """Return a checked copy."""
        length = None if self.length is None else checked_number("length", self.length, 1e-6, 1e9)
        constant = checked_number("constant", self.constant, 0.0, 10.0)
        return Smagorinsky(constant, checked_number("prandtl", self.prandtl, 0.01, 100.0), length)

    @property
    def stiffness(self) -> float:
        """Maximum ratio of the damping to K times a Laplacian: 2 for normal stresses, 1 / Pr for theta."""
        return max(2.0, 1.0 / self.prandtl)


def square_length(closure: Smagorinsky, metric: Metric, matched: bool) -> Array:
    """Return l^2, (nz, 1, 1) or (nz, ny, nx), m2; `matched`: l approaches kappa z at the surface."""
    dz = metric.jacobian * metric.spacing[0]
    sizes = [size for size, n in zip((dz, *metric.spacing[1:]), metric.shape, strict=True) if n > 1]
    grid_length = np.prod(np.broadcast_arrays(*sizes), axis=0) ** (1.0 / len(sizes)) if sizes else np.ones(dz.shape)
    free = (closure.constant * (grid_length if closure.length is None else closure.length)) ** 2 + np.zeros(dz.shape)
    if not matched:
        return free
    wall = (VON_KARMAN * (metric.height - metric.height[:1])) ** 2
    return free * wall / np.maximum(free + wall, 1e-300)


def stiffness_of(metric: Metric) -> Array:
    """Return s = ``sum_a (sum_I |g^I_a| / d_I)^2``, (nz, 1, 1) or (nz, ny, nx), m-2; maximum decay rate: 4 K s."""
    over = [1.0 / d if n > 1 else 0.0 for d, n in zip(metric.spacing, metric.shape, strict=True)]
    up = over[0] / metric.jacobian
    if not metric.terrain:
        return over[2] ** 2 + over[1] ** 2 + up**2
    fade = metric.fade[:, None, None] if metric.fade.size > 1 else metric.fade
    east, north = (np.abs(fade * slope) * up for slope in (metric.slope_x, metric.slope_y))
    return (over[2] + east) ** 2 + (over[1] + north) ** 2 + up**2


class Mixing(NamedTuple):
    """K = base + share field, m2/s; base: constant, field: K of the closure, (nz, ny, nx)."""

    base: Any
    factor: Any
    field: Any


class Medium(NamedTuple):
    """Density times Jacobian, and the metric; see `kernels.Slopes`."""

    h: Any
    stretch: Any
    fade: Any
    squeeze: Any
    slope_x: Any
    slope_y: Any


@cell
def weight_at(m, mix, k, j, i):
    """Compute h K at a point."""
    if CLOSED:
        return profile_at(m.h, k, j, i) * (mix.base + mix.factor * mix.field[k, j, i])
    return profile_at(m.h, k, j, i) * mix.base


@cell
def upward_at(m, k, j, i):
    """Compute g^z = (g13, g23, g33) at a point."""
    if TERRAIN:
        return Vector(m.fade[k] * m.slope_x[j, i], m.fade[k] * m.slope_y[j, i], m.stretch[k] * m.squeeze[j, i])
    return Vector(real(0.0), real(0.0), m.stretch[k])


@cell
def dot(a, b):
    """a . b."""
    return a.x * b.x + a.y * b.y + a.z * b.z


@cell
def half_over_square(p):
    """Return 1 / (2 d^2), at a boundary 1 / d^2: factor of the differences to neighbours."""
    return p.over * p.over * (real(1.0) if p.on else real(2.0))


@cell
def across(high, low, p):
    """Compute the derivative of F by the adjoint differences; F at a boundary enters with the sign of its end."""
    if p.on:
        return (high + low) * p.over if p.low == p.here else -(high + low) * p.over
    return (high - low) * p.over


# -- scalars ------------------------------------------------------------------------------------------------


@cell
def along(f, m, mix, z, y, x):
    """Compute compact terms of a scalar along x and y at a point."""
    k, j, i = z.here, y.here, x.here
    here, a = f[k, j, i], weight_at(m, mix, k, j, i)
    west = (a + weight_at(m, mix, k, j, x.low)) * (f[k, j, x.low] - here)
    east = (a + weight_at(m, mix, k, j, x.high)) * (f[k, j, x.high] - here)
    south = (a + weight_at(m, mix, k, y.low, i)) * (f[k, y.low, i] - here)
    north = (a + weight_at(m, mix, k, y.high, i)) * (f[k, y.high, i] - here)
    return half_over_square(x) * (west + east) + half_over_square(y) * (south + north)


@cell
def steep(m, mix, k, j, i):
    """Compute h K |g^z|^2."""
    g = upward_at(m, k, j, i)
    return weight_at(m, mix, k, j, i) * dot(g, g)


@cell
def up(f, m, mix, z, y, x):
    """Compute compact terms of a scalar along z."""
    k, j, i = z.here, y.here, x.here
    here, a = f[k, j, i], steep(m, mix, k, j, i)
    below = (a + steep(m, mix, z.low, j, i)) * (f[z.low, j, i] - here)
    above = (a + steep(m, mix, z.high, j, i)) * (f[z.high, j, i] - here)
    return half_over_square(z) * (below + above)


@cell
def slanted(f, m, mix, z, y, x):
    """Compute F of a scalar: h K (g13 f_z, g23 f_z, g13 f_x + g23 f_y)."""
    g, d = upward_at(m, z.here, y.here, x.here), differences(f, z, y, x)
    a = weight_at(m, mix, z.here, y.here, x.here)
    return Vector(a * g.x * d.z, a * g.y * d.z, a * (g.x * d.x + g.y * d.y))


@cell
def diffuse(k, j, i, f, m, grid, mix, out):
    """Compute D of a scalar."""
    z, y, x = line_at(k, axis_z(grid)), line_at(j, axis_y(grid)), line_at(i, axis_x(grid))
    zc, yc, xc = centre(z), centre(y), centre(x)
    total = along(f, m, mix, zc, yc, xc) + up(f, m, mix, zc, yc, xc)
    if TERRAIN:
        total += across(slanted(f, m, mix, zc, yc, upper(x)).x, slanted(f, m, mix, zc, yc, lower(x)).x, xc)
        total += across(slanted(f, m, mix, zc, upper(y), xc).y, slanted(f, m, mix, zc, lower(y), xc).y, yc)
        total += across(slanted(f, m, mix, upper(z), yc, xc).z, slanted(f, m, mix, lower(z), yc, xc).z, zc)
    out[k, j, i] = total / profile_at(m.h, k, j, i)


@cell
def with_ambient(k, j, i, theta, ambient, out):
    """Compute the sum of theta' and ambient theta, which the closure mixes."""
    out[k, j, i] = theta[k, j, i] + profile_at(ambient, k, j, i)


# -- momentum -----------------------------------------------------------------------------------------------


@cell
def step_to(v, k, j, i, n, o, p):
    """Compute the difference of v between two points."""
    return Vector(v.x[n, o, p] - v.x[k, j, i], v.y[n, o, p] - v.y[k, j, i], v.z[n, o, p] - v.z[k, j, i])


@cell
def compact_x(v, m, mix, z, y, x):
    """Compute terms along x; the x-component has factor 2."""
    k, j, i = z.here, y.here, x.here
    a, c = weight_at(m, mix, k, j, i), half_over_square(x)
    west, east = c * (a + weight_at(m, mix, k, j, x.low)), c * (a + weight_at(m, mix, k, j, x.high))
    p, q = step_to(v, k, j, i, k, j, x.low), step_to(v, k, j, i, k, j, x.high)
    return Vector(real(2.0) * (west * p.x + east * q.x), west * p.y + east * q.y, west * p.z + east * q.z)


@cell
def compact_y(v, m, mix, z, y, x):
    """Compute terms along y."""
    k, j, i = z.here, y.here, x.here
    a, c = weight_at(m, mix, k, j, i), half_over_square(y)
    south, north = c * (a + weight_at(m, mix, k, y.low, i)), c * (a + weight_at(m, mix, k, y.high, i))
    p, q = step_to(v, k, j, i, k, y.low, i), step_to(v, k, j, i, k, y.high, i)
    return Vector(south * p.x + north * q.x, real(2.0) * (south * p.y + north * q.y), south * p.z + north * q.z)


@cell
def tilted(d, m, mix, k, j, i):
    """Compute h K (|g|^2 d + g (g . d)), g = g^z."""
    g, a = upward_at(m, k, j, i), weight_at(m, mix, k, j, i)
    size, projection = a * dot(g, g), a * dot(g, d)
    return Vector(size * d.x + projection * g.x, size * d.y + projection * g.y, size * d.z + projection * g.z)


@cell
def compact_z(v, m, mix, z, y, x):
    """Compute terms along z, with the mean tensor of two points."""
    k, j, i = z.here, y.here, x.here
    c = half_over_square(z)
    p, q = step_to(v, k, j, i, z.low, j, i), step_to(v, k, j, i, z.high, j, i)
    a, b = tilted(p, m, mix, k, j, i), tilted(p, m, mix, z.low, j, i)
    d, e = tilted(q, m, mix, k, j, i), tilted(q, m, mix, z.high, j, i)
    return Vector(c * (a.x + b.x + d.x + e.x), c * (a.y + b.y + d.y + e.y), c * (a.z + b.z + d.z + e.z))


@cell
def cross_x(v, m, mix, z, y, x):
    """Compute F_x."""
    g, a = upward_at(m, z.here, y.here, x.here), weight_at(m, mix, z.here, y.here, x.here)
    du, dv, dw = differences(v.x, z, y, x), differences(v.y, z, y, x), differences(v.z, z, y, x)
    along_y = du.y + g.x * dv.z + g.y * du.z
    return Vector(a * real(2.0) * g.x * du.z, a * along_y, a * (g.x * dw.z + g.z * du.z))


@cell
def cross_y(v, m, mix, z, y, x):
    """Compute F_y."""
    g, a = upward_at(m, z.here, y.here, x.here), weight_at(m, mix, z.here, y.here, x.here)
    du, dv, dw = differences(v.x, z, y, x), differences(v.y, z, y, x), differences(v.z, z, y, x)
    along_x = dv.x + g.y * du.z + g.x * dv.z
    return Vector(a * along_x, a * real(2.0) * g.y * dv.z, a * (g.y * dw.z + g.z * dv.z))


@cell
def cross_z(v, m, mix, z, y, x):
    """Compute F_z."""
    g, a = upward_at(m, z.here, y.here, x.here), weight_at(m, mix, z.here, y.here, x.here)
    du, dv, dw = differences(v.x, z, y, x), differences(v.y, z, y, x), differences(v.z, z, y, x)
    east = g.x * du.x + g.y * dv.x + g.z * dw.x
    north = g.x * du.y + g.y * dv.y + g.z * dw.y
    return Vector(
        a * (g.x * du.x + g.y * du.y + east), a * (g.x * dv.x + g.y * dv.y + north), a * (g.x * dw.x + g.y * dw.y)
    )


@cell
def crossed(high, low, p):
    """`across` of vectors."""
    return Vector(across(high.x, low.x, p), across(high.y, low.y, p), across(high.z, low.z, p))


@cell
def stress(k, j, i, v, m, grid, mix, out):
    """Compute D of u, v and w."""
    z, y, x = line_at(k, axis_z(grid)), line_at(j, axis_y(grid)), line_at(i, axis_x(grid))
    zc, yc, xc = centre(z), centre(y), centre(x)
    a, b, c = compact_x(v, m, mix, zc, yc, xc), compact_y(v, m, mix, zc, yc, xc), compact_z(v, m, mix, zc, yc, xc)
    d = crossed(cross_x(v, m, mix, zc, yc, upper(x)), cross_x(v, m, mix, zc, yc, lower(x)), xc)
    e = crossed(cross_y(v, m, mix, zc, upper(y), xc), cross_y(v, m, mix, zc, lower(y), xc), yc)
    f = crossed(cross_z(v, m, mix, upper(z), yc, xc), cross_z(v, m, mix, lower(z), yc, xc), zc)
    h = profile_at(m.h, k, j, i)
    out.x[k, j, i] = (a.x + b.x + c.x + d.x + e.x + f.x) / h
    out.y[k, j, i] = (a.y + b.y + c.y + d.y + e.y + f.y) / h
    out.z[k, j, i] = (a.z + b.z + c.z + d.z + e.z + f.z) / h


# -- the closure ---------------------------------------------------------------------------------------------


@cell
def square_strain(v, m, z, y, x):
    """Compute 2 S:S from centred differences, s-2."""
    g = upward_at(m, z.here, y.here, x.here)
    du, dv, dw = differences(v.x, z, y, x), differences(v.y, z, y, x), differences(v.z, z, y, x)
    ux, vx, wx = du.x + g.x * du.z, dv.x + g.x * dv.z, dw.x + g.x * dw.z
    uy, vy, wy = du.y + g.y * du.z, dv.y + g.y * dv.z, dw.y + g.y * dw.z
    uz, vz, wz = g.z * du.z, g.z * dv.z, g.z * dw.z
    shear = (uy + vx) * (uy + vx) + (uz + wx) * (uz + wx) + (vz + wy) * (vz + wy)
    return real(2.0) * (ux * ux + vy * vy + wz * wz) + shear


class Layers(NamedTuple):
    """Profiles: squared length, m2; N^2 / Pr, s-2; g / (theta_b Pr), m s-2 K-1; decay rate per K, m-2.

    cap : (1,), s-1, maximum stable decay rate of the step; base : constant part of K, m2/s
    forcing : (nz ny,), s-1, decay rates of nudging, subsidence and side sponge layers in rows k ny + j
    """

    length2: Any
    stability: Any
    buoyancy: Any
    rate: Any
    cap: Any
    base: Any
    forcing: Any


@cell
def bounded(k, j, i, ny, eddy, layers):
    """Return K of the closure, limited to the stable decay rate of the step; ny : rows of a level."""
    if CAPPED:
        left = layers.cap[0] - layers.forcing[k * ny + j]
        return min(eddy, max(left / profile_at(layers.rate, k, j, i) - layers.base, real(0.0)))
    return eddy


@cell
def eddy_viscosity(k, j, i, v, theta, m, grid, layers, out):
    """Compute the Smagorinsky-Lilly viscosity l^2 sqrt(max(0, 2 S:S - N^2 / Pr)), m2/s."""
    z = centre(line_at(k, axis_z(grid)))
    y, x = centre(line_at(j, axis_y(grid))), centre(line_at(i, axis_x(grid)))
    square = square_strain(v, m, z, y, x)
    if STRATIFIED:
        lapse = (theta[z.high, j, i] - theta[z.low, j, i]) * z.over * upward_at(m, k, j, i).z
        square -= profile_at(layers.stability, k, j, i) + profile_at(layers.buoyancy, k, j, i) * lapse
    eddy = profile_at(layers.length2, k, j, i) * math.sqrt(max(square, real(0.0)))
    out[k, j, i] = bounded(k, j, i, out.shape[1], eddy, layers)


@cell
def match_ground(k, j, i, u, v, layers, root_over, out):
    """Compute K at the first level from the shear of the log law, u* / (kappa z1); region (1, ny, nx)."""
    speed = math.sqrt(u[k + 1, j, i] * u[k + 1, j, i] + v[k + 1, j, i] * v[k + 1, j, i])
    eddy = profile_at(layers.length2, k + 1, j, i) * root_over[j, i] * speed
    out[k + 1, j, i] = bounded(k + 1, j, i, out.shape[1], eddy, layers)


@cell
def max_decay_rate(i, mixing, base, rate, forcing, out):
    """Compute the maximum decay rate by K of a row, plus the forcing rate, 1/s; region (nz ny), rows k ny + j."""
    ny, nx = mixing.shape[1], mixing.shape[2]
    k = i // ny
    j = i - k * ny
    max_rate = real(0.0)
    for n in range(nx):
        max_rate = max(max_rate, (base + mixing[k, j, n]) * (rate[k, j, n] if TERRAIN else rate[k, 0, 0]))
    out[i] = max_rate + forcing[i]
