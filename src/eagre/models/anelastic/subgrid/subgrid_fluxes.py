"""Subgrid vertical fluxes of momentum, theta and scalars, and dissipation, of the closure.

    tau_x = -K (du/dz + dw/dx)    tau_y = -K (dv/dz + dw/dy)    q = -(K / Pr) dtheta/dz    epsilon = K^3 / l^4

Terms along z are means of the fluxes between a point and its neighbours, consistent with the diffusion of `closure`.
Fluxes at boundaries are 0, except surface drag and heat flux. With roughness, half of the flux that supplies the drag
(`surface_fluxes`) is added at the first level. epsilon follows from the Smagorinsky-Lilly equilibrium: shear production
K 2 S:S minus buoyancy destruction K N^2 / Pr.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.device import Device, Work, check_precision
from eagre.models.anelastic.base.grid_lines import axis_x, axis_y, axis_z, centre, line_at
from eagre.models.anelastic.pressure.operator import differences
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.step_kernels import profile_at
from eagre.models.anelastic.subgrid.closure import upward_at, weight_at
from eagre.models.anelastic.subgrid.diffusion import Diffusion
from eagre.models.anelastic.subgrid.surface_fluxes import SurfaceFluxes, friction_at, supply_at

TILT = switch("TILT", 0)  # axis of the dw/dx or dw/dy term: 1 x, 2 y, 0 none
TERRAIN = switch("TERRAIN", False)


@cell
def thick(m, mix, k, j, i):
    """Compute rho K (d zeta / dz)^2 at a point."""
    g = upward_at(m, k, j, i)
    return weight_at(m, mix, k, j, i) * g.z * g.z


@cell
def slope_of_w(w, m, z, y, x):
    """Compute dw/dx or dw/dy."""
    g, d = upward_at(m, z.here, y.here, x.here), differences(w, z, y, x)
    return d.x + g.x * d.z if TILT == 1 else d.y + g.y * d.z


@cell
def upward_flux(k, j, i, fields, m, grid, mix, out):
    """Compute the vertical flux of f divided by density, f: u (TILT 1), v (TILT 2) or a scalar; fields : f and w."""
    f, w = fields
    z = centre(line_at(k, axis_z(grid)))
    y, x = centre(line_at(j, axis_y(grid))), centre(line_at(i, axis_x(grid)))
    a = thick(m, mix, k, j, i)
    below = (a + thick(m, mix, z.low, j, i)) * (f[k, j, i] - f[z.low, j, i])
    above = (a + thick(m, mix, z.high, j, i)) * (f[z.high, j, i] - f[k, j, i])
    flux = real(0.5) * z.over * (below + above) / upward_at(m, k, j, i).z
    if TILT > 0:
        flux += weight_at(m, mix, k, j, i) * slope_of_w(w, m, z, y, x)
    out[k, j, i] = real(0.0) if z.on else -flux / profile_at(m.h, k, j, i)


@cell
def add_drag(k, j, i, winds, mixing, ground, weight, out):
    """Add the surface momentum flux, and half of the supplying flux at the first level; region (1, ny, nx).

    winds : the wind of the flux, u and v
    """
    wind, u, v = winds
    friction = friction_at(u, v, ground, k, j, i)
    supply = supply_at(friction, mixing, ground, k, j, i) * (wind[k + 1, j, i] - wind[k, j, i])
    out[k, j, i] = -ground.root[j, i] * friction * wind[k + 1, j, i]
    out[k + 1, j, i] -= real(0.5) * weight[j, i] * supply


@cell
def add_heat(k, j, i, flux, pattern, out):
    """Add the surface flux of theta; region (1, ny, nx)."""
    out[k, j, i] = flux[0] * pattern[j, i]


@cell
def dissipation(k, j, i, mixing, length2, out):
    """Compute K^3 / l^4."""
    square = profile_at(length2, k, j, i)
    over = mixing[k, j, i] / square if square > real(0.0) else real(0.0)
    out[k, j, i] = mixing[k, j, i] * over * over


class SubgridFluxes:
    """Launches that compute quantities of the closure, one at a time, in `field`.

    Parameters
    ----------
    setup : Setup
        Configuration with a closure.
    device : Device
    precision : {"single", "double"}
    density : (nz, 1, 1) or (nz, ny, nx), kg m-3
    fields : mapping of name to (nz, ny, nx)
        Current fields.
    diffusion : Diffusion
    ground : SurfaceFluxes

    Attributes
    ----------
    field : (nz, ny, nx)
        Output of the launches.
    """

    def __init__(
        self, setup: Setup, device: Device, precision: str, density: np.ndarray, fields: Any, diffusion: Diffusion,
        ground: SurfaceFluxes,
    ) -> None:  # fmt: skip
        self._setup, self._device, self._precision = setup, device, precision
        self._fields, self._diffusion, self._ground = fields, diffusion, ground
        real_type = check_precision(precision)
        self.field = device.zeros(setup.shape, real_type)
        weight = (
            0.5 * (1.0 + density[0] / density[1]) * np.ones(setup.grid.shape)
        )  # of fluxes between the two lowest levels
        self._weight = device.array(weight.astype(real_type))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of quantities: fields of the fluxes, and "dissipation"."""
        heat = ("theta",) if self._setup.stratified else ()
        return ("u", "v", *heat, *self._setup.scalars, "dissipation")

    def set_time(self, time: float) -> None:
        """Set the surface heat flux of a model time, s."""
        self._ground.set_time(time)

    def eddies(self) -> list[Work]:
        """Return launches that compute K of the current state; they precede the launches of quantities."""
        return [*self._diffusion.eddies(self._fields), *self._diffusion.whole_theta(self._fields)[1]]

    def launches(self, name: str) -> list[Work]:
        """Return launches that compute one of `names` in `field`."""
        setup, diffusion = self._setup, self._diffusion
        if name == "dissipation":
            return [self._over(dissipation, setup.shape, diffusion.mixing, diffusion.square_length, self.field)]
        fields, (medium, grid) = diffusion.whole_theta(self._fields)[0], diffusion.space
        tilt = {"u": 1, "v": 2}.get(name, 0)
        mixing = diffusion.mixing_of(name)
        arguments = ((fields[name], fields["w"]), medium, grid, mixing, self.field)
        return [self._over(upward_flux, setup.shape, *arguments, TILT=tilt), *self._at_ground(name)]

    def _at_ground(self, name: str) -> list[Work]:
        surface, ground, region = self._setup.surface, self._ground, (1, *self._setup.grid.shape)
        if surface is not None and surface.heats and name == "theta":
            return [self._over(add_heat, region, ground.flux, ground.pattern, self.field)]
        if surface is None or surface.roughness is None or name not in ("u", "v"):
            return []
        u, v = self._fields["u"], self._fields["v"]
        arguments = ((self._fields[name], u, v), self._diffusion.mixing, ground.ground, self._weight, self.field)
        return [self._over(add_drag, region, *arguments, MIXED=True)]

    def _over(self, cell: Any, region: tuple[int, ...], *arguments: Any, **switches: Any) -> Work:
        known = {"TERRAIN": self._setup.terrain, "CLOSED": True, **switches}
        return self._device.over(self._device.loop(cell, self._precision, known), region, arguments)
