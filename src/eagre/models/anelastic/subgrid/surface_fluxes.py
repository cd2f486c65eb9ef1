"""Surface fluxes: heat flux, and drag by the log law with a roughness length.

    dtheta'/dt = Q / (d/2)             at the surface, where a point has half a cell of height d/2
    tau        = u*^2 U1 / |U1|,       u* = kappa |U1| / ln(z1 / z0),    U1: wind at the first level above the surface
    F          = kappa u* (z1 / 2) (U1 - U0) / z1      between the two levels, unless a closure mixes more

The drag tau acts on the lowest half cell, and F transports momentum from the level above. The wind at the surface
approaches U1 - 2 u* / kappa, the value of the log law at 0.14 z1. The column loses exactly the momentum of the drag.

Source: neutral log law with kappa = 0.4; R. B. Stull, An Introduction to Boundary Layer Meteorology (1988), section
9.7, doi:10.1007/978-94-009-3027-8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Work, check_precision
from eagre.constants import VON_KARMAN
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.time_varying.series import Series

MIXED = switch("MIXED", False)  # True with a closure


class Ground(NamedTuple):
    """Planes (ny, nx): kappa / ln(z1 / z0), and factors from fluxes to tendencies of the lowest levels, 1/m."""

    root: Any
    over_half: Any  # of a surface flux, at the surface
    low: Any  # of a flux between the lowest levels, at the surface
    high: Any  # of the same flux, at the first level
    over_z1: Any


@cell
def add_heat(k, j, i, flux, pattern, over_half, out):
    """Add the surface heat flux to D of theta'; region (1, ny, nx)."""
    out[k, j, i] += flux[0] * pattern[j, i] * over_half[j, i]


@cell
def friction_at(u, v, ground, k, j, i):
    """Compute u* from the wind at level k + 1."""
    return ground.root[j, i] * math.sqrt(u[k + 1, j, i] * u[k + 1, j, i] + v[k + 1, j, i] * v[k + 1, j, i])


@cell
def supply_at(friction, mixing, ground, k, j, i):
    """Compute the exchange velocity between the two lowest levels, m/s."""
    supply = real(0.5 * VON_KARMAN) * friction
    if MIXED:
        supply -= real(0.5) * (mixing[k, j, i] + mixing[k + 1, j, i]) * ground.over_z1[j, i]
    return max(supply, real(0.0))


@cell
def add_stress(k, j, i, wind, mixing, ground, rates):
    """Add the drag to D of u and v at the two lowest levels; region (1, ny, nx); wind : u and v; rates : D of both."""
    (u, v), (du, dv) = wind, rates
    first_u, first_v = u[k + 1, j, i], v[k + 1, j, i]
    friction = friction_at(u, v, ground, k, j, i)
    drag = ground.root[j, i] * friction * ground.over_half[j, i]
    supply = supply_at(friction, mixing, ground, k, j, i)
    flux_u, flux_v = supply * (first_u - u[k, j, i]), supply * (first_v - v[k, j, i])
    du[k, j, i] += ground.low[j, i] * flux_u - drag * first_u
    dv[k, j, i] += ground.low[j, i] * flux_v - drag * first_v
    du[k + 1, j, i] -= ground.high[j, i] * flux_u
    dv[k + 1, j, i] -= ground.high[j, i] * flux_v


class SurfaceFluxes:
    """Launches that add surface fluxes to D.

    Parameters
    ----------
    setup : Setup
    device : Device
    precision : {"single", "double"}
    base : BaseState
    jacobian : (nz, 1, 1) or (nz, ny, nx)

    Attributes
    ----------
    flux : (1,)
        Heat flux at the current time, K m/s.
    pattern : (ny, nx)
        Factor of the heat flux.
    ground : Ground
    """

    def __init__(self, setup: Setup, device: Device, precision: str, base: BaseState, jacobian: np.ndarray) -> None:
        self._setup, self._device, self._precision = setup, device, precision
        self._real = check_precision(precision)
        self._surface = setup.surface or Surface()
        self.flux = device.zeros((1,), self._real)
        self._now = 0.0
        if setup.surface is None:
            return
        plane, dz, z = np.ones(setup.grid.shape), setup.spacing[0], setup.levels.z
        rho, thick = base.density, jacobian * dz
        between = 0.5 * (rho[0] + rho[1])
        planes = {
            "root": 0.0 * plane if setup.surface.roughness is None else VON_KARMAN / np.log(
                (z[1] - z[0]) / setup.surface.roughness
            ),
            "over_half": 2.0 / thick[0] * plane,
            "low": 2.0 * between / (rho[0] * thick[0]) * plane,
            "high": between / (rho[1] * thick[1]) * plane,
            "over_z1": 1.0 / (z[1] - z[0]) * plane,
        }  # fmt: skip
        self.ground = Ground(**{name: device.array(one.astype(self._real)) for name, one in planes.items()})
        self.pattern = device.array(setup.surface.pattern.astype(self._real))

    def set_time(self, time: float) -> None:
        """Set the heat flux of a model time, s."""
        flux = self._surface.heat_flux
        value = flux(time) if isinstance(flux, Series) else float(flux)
        if value != self._now:
            self._device.fill(self.flux, np.full(1, value, self._real))
            self._now = value

    def launches(self, u: Any, v: Any, out: Mapping[str, Any], mixing: Any = None) -> list[Work]:
        """Return launches that add to D of theta', u and v; mixing : K of a closure, (nz, ny, nx), m2/s."""
        surface, launches = self._setup.surface, []
        region = (1, *self._setup.grid.shape)
        if surface is None:
            return []
        if "theta" in out and surface.heats:
            loop = self._device.loop(add_heat, self._precision)
            arguments = (self.flux, self.pattern, self.ground.over_half, out["theta"])
            launches.append(self._device.over(loop, region, arguments))
        if surface.roughness is not None:
            loop = self._device.loop(add_stress, self._precision, {"MIXED": mixing is not None})
            arguments = ((u, v), u if mixing is None else mixing, self.ground, (out["u"], out["v"]))
            launches.append(self._device.over(loop, region, arguments))
        return launches
