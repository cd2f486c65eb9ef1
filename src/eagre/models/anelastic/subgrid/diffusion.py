"""Launches of diffusion: constant viscosity over flat terrain or orography, and a closure.

Over flat terrain on a GPU, threads stream upwards through several levels of a column. The formulas are those of
`closure` for g^x = (1, 0, 0), g^y = (0, 1, 0) and g^z = (0, 0, stretch). A thread keeps values of the previous levels
in registers: momentum needs 28 loads per point instead of 52. Fields have one dimension. The outermost axis of a region
are blocks of levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.advection.columns import block_of, levels_of
from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Work, check_precision
from eagre.models.anelastic import step_kernels
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.grid_lines import axis_x, axis_y, axis_z, centre, line_at
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.operator import Vector
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stability import max_diffusion_number
from eagre.models.anelastic.step_kernels import Axis, Slopes
from eagre.models.anelastic.subgrid.closure import (
    CLOSED,
    Layers,
    Medium,
    Mixing,
    across,
    bounded,
    diffuse,
    eddy_viscosity,
    half_over_square,
    match_ground,
    max_decay_rate,
    square_length,
    stiffness_of,
    stress,
    with_ambient,
)

STRATIFIED = switch("STRATIFIED", True)
Array = np.ndarray
PARITY = {"u": (1, 1, -1), "v": (1, -1, 1), "w": (-1, 1, 1)}
"""Signs of the mirror images of a field at walls of z, y and x; other fields (1, 1, 1)."""
EVEN = (1, 1, 1)
SHORTEST = 1e-9  # s: time step without a limit of K


class Offsets(NamedTuple):
    """Offsets of a point and its eight neighbours in a level, and the size of a level; unsigned."""

    here: Any
    west: Any
    east: Any
    south: Any
    north: Any
    south_west: Any
    south_east: Any
    north_west: Any
    north_east: Any
    level: Any


class FivePoints(NamedTuple):
    """A point and its neighbours on a level."""

    here: Any
    west: Any
    east: Any
    south: Any
    north: Any


class Level(NamedTuple):
    """Values of a level that the next two levels need: u and v along their own axes, w and K."""

    u: Any  # here, west, east
    v: Any  # here, south, north
    w: Any  # `FivePoints`
    weight: Any  # h K
    lift: Any  # h K stretch^2


@cell
def point(start, offset):
    """Return the index of a point of the level that begins at `start`."""
    return np.uint32(start + offset)


@cell
def offsets_of(y, x, ny, nx):
    """Return the offsets of a column; y, x : `Pair`."""
    here, low, high = np.uint32(y.here * nx), np.uint32(y.low * nx), np.uint32(y.high * nx)
    return Offsets(
        np.uint32(here + x.here), np.uint32(here + x.low), np.uint32(here + x.high),
        np.uint32(low + x.here), np.uint32(high + x.here),
        np.uint32(low + x.low), np.uint32(low + x.high), np.uint32(high + x.low), np.uint32(high + x.high),
        np.uint32(ny * nx),
    )  # fmt: skip


@cell
def five_points(f, n, p):
    """Return the values of a field on the level that starts at n."""
    return FivePoints(
        f[point(n, p.here)], f[point(n, p.west)], f[point(n, p.east)], f[point(n, p.south)], f[point(n, p.north)]
    )


@cell
def weight_of(m, mix, k, n):
    """Compute h K at point n of level k."""
    if CLOSED:
        return m.h[k, 0, 0] * (mix.base + mix.factor * mix.field[n])
    return m.h[k, 0, 0] * mix.base


@cell
def weights_of(m, mix, k, n, p):
    """Compute h K at a point and its neighbours on level k, which starts at n."""
    return FivePoints(
        weight_of(m, mix, k, point(n, p.here)),
        weight_of(m, mix, k, point(n, p.west)), weight_of(m, mix, k, point(n, p.east)),
        weight_of(m, mix, k, point(n, p.south)), weight_of(m, mix, k, point(n, p.north)),
    )  # fmt: skip


@cell
def level_at(k, v, m, mix, p):
    """Return the values of level k."""
    n = np.uint32(k * p.level)
    a = weight_of(m, mix, k, point(n, p.here))
    u = v.x[point(n, p.here)], v.x[point(n, p.west)], v.x[point(n, p.east)]
    return Level(
        u,
        (v.y[point(n, p.here)], v.y[point(n, p.south)], v.y[point(n, p.north)]),
        five_points(v.z, n, p),
        a,
        a * m.stretch[k] * m.stretch[k],
    )


@cell
def compact(f, below, above, weights, lifts):
    """Return differences to the six neighbours, each times a factor, along x, y and z; lifts : below and above."""
    x = weights.west * (f.west - f.here) + weights.east * (f.east - f.here)
    y = weights.south * (f.south - f.here) + weights.north * (f.north - f.here)
    return Vector(x, y, lifts[0] * (below - f.here) + lifts[1] * (above - f.here))


@cell
def means(a, lift, lift_below, lift_above, pairs):
    """Return the factors of `compact`, from h K and h K stretch^2; pairs : `Pair` along z, y and x."""
    z, y, x = pairs
    c_x, c_y, c_z = half_over_square(x), half_over_square(y), half_over_square(z)
    factors = FivePoints(
        a.here, c_x * (a.here + a.west), c_x * (a.here + a.east), c_y * (a.here + a.south), c_y * (a.here + a.north)
    )
    return factors, (c_z * (lift + lift_below), c_z * (lift + lift_above))


@cell
def momentum(n, v, p, three, a, stretches, pairs):
    """Return h D of u, v and w on the level that starts at n; three : levels below, here and above."""
    (b, c, t), (z, y, x), (stretch, s_b, s_t) = three, pairs, stretches
    factors, lifts = means(a, c.lift, b.lift, t.lift, pairs)
    u = FivePoints(c.u[0], c.u[1], c.u[2], v.x[point(n, p.south)], v.x[point(n, p.north)])
    v_ = FivePoints(c.v[0], v.y[point(n, p.west)], v.y[point(n, p.east)], c.v[1], c.v[2])
    du = compact(u, b.u[0], t.u[0], factors, lifts)
    dv = compact(v_, b.v[0], t.v[0], factors, lifts)
    dw = compact(c.w, b.w.here, t.w.here, factors, lifts)
    u_east = a.east * (v.x[point(n, p.north_east)] - v.x[point(n, p.south_east)])
    u_west = a.west * (v.x[point(n, p.north_west)] - v.x[point(n, p.south_west)])
    v_north = a.north * (v.y[point(n, p.north_east)] - v.y[point(n, p.north_west)])
    v_south = a.south * (v.y[point(n, p.south_east)] - v.y[point(n, p.south_west)])
    above, below = t.weight * s_t, b.weight * s_b
    along_x = across(above * (t.w.east - t.w.west), below * (b.w.east - b.w.west), z) * x.over
    along_y = across(above * (t.w.north - t.w.south), below * (b.w.north - b.w.south), z) * y.over
    rise_x = across(a.east * (t.u[2] - b.u[2]), a.west * (t.u[1] - b.u[1]), x)
    rise_y = across(a.north * (t.v[2] - b.v[2]), a.south * (t.v[1] - b.v[1]), y)
    return Vector(
        du.x + du.x + du.y + du.z + across(v_north, v_south, y) * x.over + along_x,
        dv.x + dv.y + dv.y + dv.z + across(u_east, u_west, x) * y.over + along_y,
        dw.x + dw.y + dw.z + dw.z + (rise_x + rise_y) * stretch * z.over,
    )


@cell
def column_of(j, i, grid):
    """Return `Pair` along y and x, and `Offsets`, of a column."""
    y, x = centre(line_at(j, axis_y(grid))), centre(line_at(i, axis_x(grid)))
    return y, x, offsets_of(y, x, grid.ny, grid.nx)


@cell
def slopes(f, n, p, y, x):
    """Return df/dx and df/dy on the level that starts at n."""
    along_x = (f[point(n, p.east)] - f[point(n, p.west)]) * x.over
    return along_x, (f[point(n, p.north)] - f[point(n, p.south)]) * y.over


@cell
def stress_column(k, j, i, v, space, mix, levels, out):
    """Compute D of u, v and w of level block k; space : `Medium` and `Grid`; see `closure.stress`."""
    m, grid = space
    y, x, p = column_of(j, i, grid)
    first, last = block_of(k, levels, grid.nz)
    b, c = level_at(centre(line_at(first, axis_z(grid))).low, v, m, mix, p), level_at(first, v, m, mix, p)
    for level in range(first, last):
        here = np.uint32(level)
        z, n = centre(line_at(here, axis_z(grid))), np.uint32(here * p.level)
        t = level_at(z.high, v, m, mix, p)
        stretches = m.stretch[here], m.stretch[z.low], m.stretch[z.high]
        d = momentum(n, v, p, (b, c, t), weights_of(m, mix, here, n, p), stretches, (z, y, x))
        over_h = real(1.0) / m.h[here, 0, 0]
        n = point(n, p.here)
        out.x[n], out.y[n], out.z[n] = d.x * over_h, d.y * over_h, d.z * over_h
        b, c = c, t


@cell
def diffuse_column(k, j, i, scalar, space, mix, levels, out):
    """Compute D of a scalar of level block k; scalar : field, and a profile to be added to it."""
    (f, ambient), (m, grid) = scalar, space
    y, x, p = column_of(j, i, grid)
    first, last = block_of(k, levels, grid.nz)
    low = centre(line_at(first, axis_z(grid))).low
    n, n_low = np.uint32(first * p.level + p.here), np.uint32(low * p.level + p.here)
    f_low, f_here = f[n_low] + ambient[low, 0, 0], f[n] + ambient[first, 0, 0]
    lift_low = weight_of(m, mix, low, n_low) * m.stretch[low] * m.stretch[low]
    for level in range(first, last):
        here = np.uint32(level)
        z, n = centre(line_at(here, axis_z(grid))), np.uint32(here * p.level)
        a, n_high = weights_of(m, mix, here, n, p), np.uint32(z.high * p.level + p.here)
        f_high, lift = f[n_high] + ambient[z.high, 0, 0], a.here * m.stretch[here] * m.stretch[here]
        lift_high = weight_of(m, mix, z.high, n_high) * m.stretch[z.high] * m.stretch[z.high]
        factors, lifts = means(a, lift, lift_low, lift_high, (z, y, x))
        plain = five_points(f, n, p)
        d = compact(plain, plain.here + (f_low - f_here), plain.here + (f_high - f_here), factors, lifts)
        out[point(n, p.here)] = (d.x + d.y + d.z) / m.h[here, 0, 0]
        f_low, f_here, lift_low = f_here, f_high, lift


@cell
def eddy_column(k, j, i, fields, space, layers, levels, out):
    """Compute K of the closure of level block k; fields : velocity and theta; see `closure.eddy_viscosity`."""
    (v, theta), (m, grid) = fields, space
    y, x, p = column_of(j, i, grid)
    first, last = block_of(k, levels, grid.nz)
    n = np.uint32(centre(line_at(first, axis_z(grid))).low * p.level + p.here)
    b = v.x[n], v.y[n], v.z[n], theta[n]
    n = np.uint32(first * p.level + p.here)
    c = v.x[n], v.y[n], v.z[n], theta[n]
    for level in range(first, last):
        here = np.uint32(level)
        z, n = centre(line_at(here, axis_z(grid))), np.uint32(here * p.level)
        up = np.uint32(z.high * p.level + p.here)
        t = v.x[up], v.y[up], v.z[up], theta[up]
        over = z.over * m.stretch[here]
        (ux, uy), (vx, vy), (wx, wy) = slopes(v.x, n, p, y, x), slopes(v.y, n, p, y, x), slopes(v.z, n, p, y, x)
        uz, vz, wz = (t[0] - b[0]) * over, (t[1] - b[1]) * over, (t[2] - b[2]) * over
        square = (uy + vx) * (uy + vx) + (uz + wx) * (uz + wx) + (vz + wy) * (vz + wy)
        square += real(2.0) * (ux * ux + vy * vy + wz * wz)
        if STRATIFIED:
            square -= layers.stability[here, 0, 0] + layers.buoyancy[here, 0, 0] * ((t[3] - b[3]) * over)
        eddy = layers.length2[here, 0, 0] * math.sqrt(max(square, real(0.0)))
        out[point(n, p.here)] = bounded(here, j, i, grid.ny, eddy, layers)
        b, c = c, t


class Diffusion:
    """Launches that compute the diffusion of fields in D.

    Parameters
    ----------
    setup : Setup
    device : Device
    precision : {"single", "double"}
    base : BaseState
    h : (nz, 1, 1), over terrain (nz, ny, nx), on the device
        Density times Jacobian.
    slopes : Slopes
        Slopes on the device.
    metric : Metric

    Attributes
    ----------
    mixing : (nz, ny, nx) or None
        K of the closure, m2/s.
    square_length : (nz, 1, 1) or (nz, ny, nx), or None
        l^2 of the closure, m2.
    space : Medium, Grid
        Grid arguments of the kernel functions of `closure`.
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, base: BaseState, h: Any, slopes: Slopes, metric: Metric
    ) -> None:
        self._setup, self._device, self._precision = setup, device, precision
        self._real, self._base_state, self._metric = check_precision(precision), base, metric
        self._h, self._slopes = h, slopes
        closed = setup.closure is not None
        self.mixing = device.zeros(setup.shape, self._real) if closed else None
        self._switches = {"TERRAIN": setup.terrain, "CLOSED": closed, "STRATIFIED": setup.stratified}
        self._switches["CAPPED"] = setup.adaptive
        rows = setup.shape[0] * setup.shape[1]
        self._rows = device.zeros((rows if closed else 1,), self._real)
        self._cap = device.zeros((1,), self._real)
        self._rate = self._array(self._stiffness()) if closed else None
        self._forcing = self._array(self._forcing_rates()) if closed else None
        self._measure = self._measuring() if closed else None
        self.square_length = self._array(self._square_length()) if closed else None
        self.space = Medium(h, *slopes), metric.grid(precision)
        self._whole = device.zeros(setup.shape, self._real) if closed and setup.stratified else None
        self._dt = 0.0
        self.set_time_step(SHORTEST)

    def serves(self, name: str) -> bool:
        """Return whether a field is diffused."""
        setup = self._setup
        return setup.viscous and (name not in setup.scalars or setup.diffusivity > 0.0 or setup.closure is not None)

    def launches(self, fields: Mapping[str, Any], out: Mapping[str, Any]) -> list[Work]:
        """Return launches that compute D from the current state."""
        setup, served = self._setup, [name for name in out if self.serves(name)]
        if not served:
            return []
        if setup.closure is None and not setup.terrain:
            return [self._flat(name, fields[name], out[name]) for name in served]
        medium, grid = self.space
        launches = self.eddies(fields)
        if self._streams:
            return launches + self._columns(fields, {name: out[name] for name in served})
        if setup.closure is not None:
            v, target = (Vector(*(source[name] for name in "uvw")) for source in (fields, out))
            launches.append(self._over(stress, setup.shape, v, medium, grid, self.mixing_of("u"), target))
            served = [name for name in served if name not in PARITY]
            fields, more = self.whole_theta(fields)
            launches += more
        for name in served:
            arguments = (fields[name], medium, grid, self.mixing_of(name), out[name])
            launches.append(self._over(diffuse, setup.shape, *arguments))
        return launches

    @property
    def _streams(self) -> bool:
        """True if threads stream upwards through columns: with a closure over flat terrain on a GPU."""
        setup = self._setup
        return self._device.kind == "cuda" and setup.closure is not None and not setup.terrain

    def _columns(self, fields: Mapping[str, Any], out: Mapping[str, Any]) -> list[Work]:
        """Return launches of the column kernels that compute D."""
        space, none = self.space, self._array(np.zeros(self._setup.levels.z.shape))
        v, target = (Vector(*(source[name].reshape(-1) for name in "uvw")) for source in (fields, out))
        launches = [self._over_columns(stress_column, (v, space, self._flat_mixing("u")), target)]
        for name in out:
            if name not in PARITY:
                ambient = none if self._whole is None or name != "theta" else self._ambient
                arguments = ((fields[name].reshape(-1), ambient), space, self._flat_mixing(name))
                launches.append(self._over_columns(diffuse_column, arguments, out[name].reshape(-1)))
        return launches

    def _flat_mixing(self, name: str) -> Mixing:
        """Return `mixing_of` with a field of one dimension."""
        mixing = self.mixing_of(name)
        return mixing._replace(field=mixing.field.reshape(-1))

    def _over_columns(self, cell: Any, arguments: tuple[Any, ...], out: Any) -> Work:
        nz, ny, nx = self._setup.shape
        levels = levels_of(self._device, (nz, ny, nx))
        registers = self._device.parameters("programs.columns").registers[self._precision]
        loop = self._device.loop(cell, self._precision, {**self._switches, "REGISTERS": registers})
        return self._device.over(loop, (-(-nz // levels), ny, nx), (*arguments, levels, out))

    def rates(self) -> Array:
        """Return the maximum decay rate by mixing and forcing in each row, (nz, ny), 1/s; 0 without a closure."""
        if self._measure is None:
            return np.zeros((1, 1))
        self._device.run([self._measure])
        return self._device.host(self._rows).reshape(self._setup.shape[:2])

    @property
    def measured(self) -> tuple[list[Work], Any]:
        """Return launches that compute the maximum decay rate of each row, and their output; none without a closure."""
        return ([], self._rows) if self._measure is None else ([self._measure], self._rows)

    def _measuring(self) -> Work:
        """Launch that computes the maximum decay rate of each row."""
        setup = self._setup
        arguments = (self.mixing, self._base, self._rate, self._forcing, self._rows)
        return self._over(max_decay_rate, (setup.shape[0] * setup.shape[1],), *arguments)

    @property
    def _base(self) -> Any:
        """Constant K, m2/s, with the decay rate of viscosity and diffusivity for the stiffness of the closure."""
        setup = self._setup
        stiffness = 1.0 if setup.closure is None else setup.closure.stiffness
        return self._real(max(setup.viscosity, setup.diffusivity / stiffness))

    def _forcing_rates(self) -> Array:
        """Explicit decay rates without mixing, by rows k ny + j, s-1."""
        rates = self._setup.forcing_rates
        return np.zeros(self._setup.shape[:2]).ravel() if rates is None else rates.ravel()

    def _stiffness(self) -> Array:
        """Decay rate per K, m-2."""
        closure = self._setup.closure
        return 4.0 * stiffness_of(self._metric) * (1.0 if closure is None else closure.stiffness)

    def set_time_step(self, dt: float) -> None:
        """Set the next time step, s, which limits K in runs with adaptive steps."""
        if self._setup.adaptive and self._setup.closure is not None and dt != self._dt:
            self._dt = dt
            self._device.fill(self._cap, np.full(1, max_diffusion_number(self._setup.shape) / dt, self._real))

    def mixing_of(self, name: str) -> Mixing:
        """Return K of a field."""
        setup = self._setup
        base = setup.viscosity if name in PARITY else setup.diffusivity
        factor = 1.0 if setup.closure is None or name in PARITY else 1.0 / setup.closure.prandtl
        field = self.mixing if self.mixing is not None else self._h
        return Mixing(self._real(base), self._real(factor), field)

    @property
    def _drags(self) -> bool:
        surface = self._setup.surface
        return surface is not None and surface.roughness is not None

    def _square_length(self) -> Array:
        """l^2, m2."""
        assert self._setup.closure is not None
        shape = self._base_state.stability.shape
        return square_length(self._setup.closure, self._metric, self._drags) + np.zeros(shape)

    def eddies(self, fields: Mapping[str, Any]) -> list[Work]:
        """Return launches that compute K of the closure."""
        setup, base, (medium, grid) = self._setup, self._base_state, self.space
        if setup.closure is None:
            return []
        over = 1.0 / setup.closure.prandtl
        layers = Layers(
            self.square_length,
            self._array(over * base.stability), self._array(over * base.buoyancy), self._rate, self._cap,
            self._base, self._forcing,
        )  # fmt: skip
        v = Vector(fields["u"], fields["v"], fields["w"])
        theta = fields.get("theta", fields["u"])
        if self._streams:
            flat = (Vector(*(one.reshape(-1) for one in v)), theta.reshape(-1)), self.space, layers
            launches = [self._over_columns(eddy_column, flat, self._flat_mixing("u").field)]
        else:
            launches = [self._over(eddy_viscosity, setup.shape, v, theta, medium, grid, layers, self.mixing)]
        if self._drags:
            first = (setup.levels.z[1] - setup.levels.z[0]) * np.ones(setup.grid.shape)
            shear = self._array(1.0 / (np.log(first / setup.surface.roughness) * first))  # type: ignore[union-attr]
            region = (1, *setup.grid.shape)
            launches.append(self._over(match_ground, region, v.x, v.y, layers, shear, self.mixing))
        return launches

    def whole_theta(self, fields: Mapping[str, Any]) -> tuple[dict[str, Any], list[Work]]:
        """Return fields with theta minus the minimum ambient theta instead of theta', and the launch that sets it."""
        if self._whole is None:
            return dict(fields), []
        launch = self._over(with_ambient, self._setup.shape, fields["theta"], self._ambient, self._whole)
        return {**fields, "theta": self._whole}, [launch]

    @property
    def _ambient(self) -> Any:
        """Ambient theta minus its minimum, K."""
        return self._array(self._base_state.theta - self._base_state.coldest)

    def _flat(self, name: str, field: Any, out: Any) -> Work:
        setup = self._setup
        size = setup.viscosity if name in PARITY else setup.diffusivity
        axes = [
            Axis(
                self._real(size / d**2 if n > 1 else 0.0), int(side == "periodic"),
                self._real(sign if side == "wall" else 1.0),
            )
            for n, d, side, sign in zip(
                setup.shape, setup.spacing, setup.boundaries, PARITY.get(name, EVEN), strict=True
            )
        ]  # fmt: skip
        return self._over(step_kernels.viscous, setup.shape, field, self._h, self._slopes.stretch, *axes[::-1], out)

    def _array(self, values: Array) -> Any:
        return self._device.array(np.ascontiguousarray(values, self._real))

    def _over(self, cell: Any, region: tuple[int, ...], *arguments: Any) -> Work:
        loop = self._device.loop(cell, self._precision, self._switches)
        return self._device.over(loop, region, arguments)
