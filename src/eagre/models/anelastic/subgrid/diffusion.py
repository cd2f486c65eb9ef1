"""Launches of diffusion: constant viscosity over flat terrain or orography, and a closure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from eagre.advection.columns import levels_of
from eagre.backend.device import Device, Work, check_precision
from eagre.models.anelastic import step_kernels
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.operator import Vector
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.stability import max_diffusion_number
from eagre.models.anelastic.step_kernels import Axis, Slopes
from eagre.models.anelastic.subgrid import columns
from eagre.models.anelastic.subgrid.closure import (
    Layers,
    Medium,
    Mixing,
    diffuse,
    eddy_viscosity,
    match_ground,
    max_decay_rate,
    square_length,
    stiffness_of,
    stress,
    with_ambient,
)

Array = np.ndarray
PARITY = {"u": (1, 1, -1), "v": (1, -1, 1), "w": (-1, 1, 1)}
"""Signs of the mirror images of a field at walls of z, y and x; other fields (1, 1, 1)."""
EVEN = (1, 1, 1)
SHORTEST = 1e-9  # s: time step without a limit of K


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
        """Return launches of `columns` that compute D."""
        space, none = self.space, self._array(np.zeros(self._setup.levels.z.shape))
        v, target = (Vector(*(source[name].reshape(-1) for name in "uvw")) for source in (fields, out))
        launches = [self._over_columns(columns.stress_column, (v, space, self._flat_mixing("u")), target)]
        for name in out:
            if name not in PARITY:
                ambient = none if self._whole is None or name != "theta" else self._ambient
                arguments = ((fields[name].reshape(-1), ambient), space, self._flat_mixing(name))
                launches.append(self._over_columns(columns.diffuse_column, arguments, out[name].reshape(-1)))
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
            launches = [self._over_columns(columns.eddy_column, flat, self._flat_mixing("u").field)]
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
