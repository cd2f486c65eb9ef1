"""The ground: heat flux, and drag by the log law over a roughness length.

    dtheta'/dt = Q / (d/2)             at the ground, where a point owns half a cell d/2 high
    tau        = u*^2 U1 / |U1|,       u* = kappa |U1| / ln(z1 / z0),    U1: wind at the first level over the ground
    F          = kappa u* (z1 / 2) (U1 - U0) / z1      between both levels, unless a closure mixes more

The ground takes tau from the lowest half cell, which F supplies from the level above: the wind at the ground comes to
U1 - 2 u* / kappa, that of the log law at 0.14 z1. What the ground takes is what the column loses.

Source: neutral log law with kappa = 0.4; R. B. Stull, An Introduction to Boundary Layer Meteorology (1988), section
9.7, doi:10.1007/978-94-009-3027-8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, real, switch
from eagre.backend.device import Device, Work, check_precision
from eagre.constants import VON_KARMAN
from eagre.models.anelastic.rest import RestState
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.surface import Surface
from eagre.series import Series

MIXED = switch("MIXED", False)  # whether a closure mixes already


class Ground(NamedTuple):
    """Planes (ny, nx): kappa / ln(z1 / z0); what turns a flux into a tendency of the lowest levels, 1/m."""

    root: Any
    over_half: Any  # of a flux through the ground, at the ground
    low: Any  # of a flux between the lowest levels, at the ground
    high: Any  # and at the first level
    over_z1: Any


@cell
def add_heat(k, j, i, flux, pattern, over_half, out):
    """D of theta' at the ground; region (1, ny, nx)."""
    out[k, j, i] += flux[0] * pattern[j, i] * over_half[j, i]


@cell
def friction_at(u, v, ground, k, j, i):
    """u* over row k."""
    return ground.root[j, i] * math.sqrt(u[k + 1, j, i] * u[k + 1, j, i] + v[k + 1, j, i] * v[k + 1, j, i])


@cell
def supply_at(friction, mixing, ground, k, j, i):
    """What a difference between the two lowest levels is multiplied by, m/s."""
    supply = real(0.5 * VON_KARMAN) * friction
    if MIXED:
        supply -= real(0.5) * (mixing[k, j, i] + mixing[k + 1, j, i]) * ground.over_z1[j, i]
    return max(supply, real(0.0))


@cell
def add_stress(k, j, i, u, v, mixing, ground, du, dv):
    """D of u and v at the two lowest levels; region (1, ny, nx)."""
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
    """Launches that add what the ground does to D.

    Parameters
    ----------
    setup : Setup
    device : Device
    precision : {"single", "double"}
    rest : RestState
    jacobian : (nz, 1, 1) or (nz, ny, nx)

    Attributes
    ----------
    flux : (1,)
        Of heat at the time that was set, K m/s.
    pattern : (ny, nx)
        A factor on it.
    ground : Ground
    """

    def __init__(self, setup: Setup, device: Device, precision: str, rest: RestState, jacobian: np.ndarray) -> None:
        self._setup, self._device, self._precision = setup, device, precision
        self._real = check_precision(precision)
        self._surface = setup.surface or Surface()
        self.flux = device.zeros((1,), self._real)
        self._now = 0.0
        if setup.surface is None:
            return
        plane, dz, z = np.ones(setup.grid.shape), setup.spacing[0], setup.levels.z
        rho, thick = rest.density, jacobian * dz
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
        """Take the heat flux of a model time, s."""
        flux = self._surface.heat_flux
        value = flux(time) if isinstance(flux, Series) else float(flux)
        if value != self._now:
            self._device.fill(self.flux, np.full(1, value, self._real))
            self._now = value

    def launches(self, u: Any, v: Any, out: Mapping[str, Any], mixing: Any = None) -> list[Work]:
        """Launches that add to D of theta', u and v; mixing : (nz, ny, nx), m2/s, what a closure mixes with."""
        surface, found = self._setup.surface, []
        region = (1, *self._setup.grid.shape)
        if surface is None:
            return []
        if "theta" in out and surface.heats:
            loop = self._device.loop(add_heat, self._precision)
            arguments = (self.flux, self.pattern, self.ground.over_half, out["theta"])
            found.append(self._device.over(loop, region, arguments))
        if surface.roughness is not None:
            loop = self._device.loop(add_stress, self._precision, {"MIXED": mixing is not None})
            arguments = (u, v, u if mixing is None else mixing, self.ground, out["u"], out["v"])
            found.append(self._device.over(loop, region, arguments))
        return found
