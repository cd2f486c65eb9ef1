"""Explicit tendencies of a step: diffusion, forcing by profiles, side sponge layers.

    D = D_diffusion + S - R x - w_s dx/dz - A (x - x_e)

S : sources (heating, nudging targets divided by the relaxation time); R : nudging rate; w_s : large-scale vertical
velocity, positive upwards, with upwind differences; A : damping rate of the side sponge layers; x_e : ambient value.
Profiles are read by `kernels.profile_at`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Work, check_precision
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.forcing.profile_forcing import profile_of, rates_of
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.step_kernels import Slopes, profile_at
from eagre.models.anelastic.subgrid.diffusion import Diffusion
from eagre.models.anelastic.subgrid.surface_fluxes import SurfaceFluxes

DIFFUSED = switch("DIFFUSED", False)  # True if D contains the diffusion
RELAXED = switch("RELAXED", False)  # True with sources or nudging
SUBSIDING = switch("SUBSIDING", False)
ABSORBED = switch("ABSORBED", False)  # True with side sponge layers


class Push(NamedTuple):
    """Profiles of the sources of a field, unit of the field per s, and rates, s-1; rate_sides : (ny, nx), s-1."""

    source: Any
    rate: Any
    subsidence: Any  # m/s
    over_dz: Any  # 1 / (z[k + 1] - z[k]), 1/m
    rate_sides: Any
    ambient: Any


@cell
def sinking(k, j, i, x, push):
    """Compute w_s dx/dz by upwind differences, one-sided at the ends."""
    speed = profile_at(push.subsidence, k, j, i)
    lower = np.int64(k) if speed < real(0.0) else np.int64(k) - 1
    lower = min(max(lower, np.int64(0)), np.int64(x.shape[0] - 2))
    return speed * (x[lower + 1, j, i] - x[lower, j, i]) * profile_at(push.over_dz, lower, j, i)


@cell
def add_push(k, j, i, x, push, out):
    """Add the forcing to D of a field."""
    total = out[k, j, i] if DIFFUSED else real(0.0)
    here = x[k, j, i]
    if RELAXED:
        total += profile_at(push.source, k, j, i) - profile_at(push.rate, k, j, i) * here
    if SUBSIDING:
        total -= sinking(k, j, i, x, push)
    if ABSORBED:
        total -= push.rate_sides[j, i] * (here - profile_at(push.ambient, k, j, i))
    out[k, j, i] = total


# -- inflow at open boundaries -------------------------------------------------------------------------------


@cell
def hold_x(k, j, i, x, v1, inflow):
    """Set inflow values at the boundaries of x; region (nz, ny, 2), i : boundary."""
    n = x.shape[2]
    enters = v1[k, j, n * i] if i == 0 else -v1[k, j, n * i]
    if enters > real(0.0):
        x[k, j, (n - 1) * i] = inflow[i, k, j]


@cell
def hold_y(k, j, i, x, v2, inflow):
    """Set inflow values at the boundaries of y; region (nz, 2, nx), j : boundary."""
    n = x.shape[1]
    enters = v2[k, n * j, i] if j == 0 else -v2[k, n * j, i]
    if enters > real(0.0):
        x[k, (n - 1) * j, i] = inflow[j, k, i]


Array = np.ndarray


def pushes(setup: Setup, base: BaseState) -> dict[str, tuple[Array, Array]]:
    """Return sources S and relaxation rates R by field name, both (nz, 1, 1) or (nz, ny, nx)."""
    forcing, z = setup.forcing, setup.levels.z
    nothing, terms = np.zeros(z.shape), {}
    if forcing.nudging is not None:
        rate = rates_of(forcing.nudging, z)
        for name, profile in forcing.nudging.targets().items():
            target = profile(z) - (base.theta if name == "theta" else 0.0)
            terms[name] = rate * target, rate
    source = nothing
    if forcing.heating is not None:
        source = source + profile_of("heating", forcing.heating)(z)
    if forcing.subsidence is not None and setup.stratified:
        source = source - profile_of("subsidence", forcing.subsidence)(z) * base.lapse
    if source.any():
        previous, rate = terms.get("theta", (nothing, nothing))
        terms["theta"] = previous + source, rate
    return terms


def forced_fields(setup: Setup, base: BaseState) -> tuple[str, ...]:
    """Return the names of the fields with explicit tendencies."""
    wind = ("u", "v", "w", "theta") if setup.stratified else ("u", "v", "w")
    names = set(pushes(setup, base))
    if setup.viscous or setup.side_sponges is not None:
        names |= set(wind)
    if setup.diffusivity > 0.0 or setup.closure is not None:
        names |= set(setup.scalars)
    if setup.forcing.subsidence is not None:
        names |= {"u", "v", *wind[3:], *setup.scalars}
    return tuple(name for name in (*wind, *setup.scalars) if name in names | at_ground(setup))


def at_ground(setup: Setup) -> set[str]:
    """Return the names of the fields with surface fluxes."""
    surface = setup.surface
    if surface is None:
        return set()
    return ({"theta"} if surface.heats else set()) | ({"u", "v"} if surface.roughness is not None else set())


class Tendencies:
    """Launches that compute the explicit tendencies D.

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
    fields : mapping of name to (nz, ny, nx)
        Current fields; D has the same names.

    Attributes
    ----------
    ground : SurfaceFluxes
    diffusion : Diffusion
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, base: BaseState, h: Any, slopes: Slopes,
        metric: Metric, fields: Mapping[str, Any], out: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._setup, self._device, self._precision = setup, device, precision
        self._real = check_precision(precision)
        self._fields, self._out = fields, out
        self.ground = SurfaceFluxes(setup, device, precision, base, metric.jacobian)
        self.diffusion = Diffusion(setup, device, precision, base, h, slopes, metric)
        surface = self.ground.launches(fields["u"], fields["v"], out, self.diffusion.mixing)
        self._launches = self.diffusion.launches(fields, out) + self._pushes(base) + surface

    def set_time(self, time: float, dt: float) -> None:
        """Set the data that depend on model time and the next time step, s."""
        self.ground.set_time(time)
        self.diffusion.set_time_step(dt)

    def launches(self) -> list[Work]:
        """Return launches that compute D from the current state."""
        return self._launches

    def _pushes(self, base: BaseState) -> list[Work]:
        setup, z, launches = self._setup, self._setup.levels.z, []
        terms, nothing = pushes(setup, base), self._profile(np.zeros(z.shape))
        sinks, speed, over_dz = setup.forcing.subsidence is not None, nothing, nothing
        if setup.forcing.subsidence is not None:
            speed = self._profile(profile_of("subsidence", setup.forcing.subsidence)(z) + np.zeros(z.shape))
            over_dz = self._profile(1.0 / np.diff(z, axis=0))
        sides = np.zeros((1, 1)) if setup.side_sponges is None else setup.side_sponges
        rate_sides = self._device.array(sides.astype(self._real))
        ambient = {"u": base.wind[0], "v": base.wind[1]}
        for name, out in self._out.items():
            source, rate = (self._profile(one) for one in terms[name]) if name in terms else (nothing, nothing)
            switches = {
                "DIFFUSED": self.diffusion.serves(name),
                "RELAXED": name in terms,
                "SUBSIDING": sinks and name != "w",
                "ABSORBED": setup.side_sponges is not None and name not in setup.scalars,
            }
            is_new = name in at_ground(setup) and not switches["DIFFUSED"]  # initialised to 0
            if not is_new and not any(switches[key] for key in ("RELAXED", "SUBSIDING", "ABSORBED")):
                continue
            around = self._profile(ambient[name]) if name in ambient else nothing
            push = Push(source, rate, speed, over_dz, rate_sides, around)
            launches.append(self._over(add_push, switches, self._fields[name], push, out))
        return launches

    def _profile(self, values: Array) -> Any:
        return self._device.array(np.ascontiguousarray(values, self._real))

    def _over(self, cell: Any, switches: dict[str, Any], *arguments: Any) -> Work:
        loop = self._device.loop(cell, self._precision, {"TERRAIN": self._setup.terrain, **switches})
        return self._device.over(loop, self._setup.shape, arguments)
