"""Checks of forcing and mixing, and their limit of the explicit time step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.arguments import of_type
from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.forcing.profile_forcing import Forcing, profile_of
from eagre.models.anelastic.inputs import checked_side_sponges
from eagre.models.anelastic.stability import forcing_rate, forcing_rows, longest_explicit_step
from eagre.models.anelastic.subgrid.closure import Smagorinsky, stiffness_of
from eagre.models.anelastic.subgrid.surface import Surface


class ForcingAndMixing(NamedTuple):
    """Checked forcing and mixing, by the names of `Setup`."""

    viscosity: float
    diffusivity: float
    side_sponges: np.ndarray | None
    forcing: Forcing
    surface: Surface | None
    closure: Smagorinsky | None
    forcing_rates: np.ndarray  # (nz, ny)

    def fields(self, scalars: int) -> int:
        """Return the number of fields with explicit tendencies."""
        forcing = self.forcing.profiles().keys() - {"geostrophic_wind_x", "geostrophic_wind_y"}
        if not (self.viscosity or self.diffusivity or forcing or self.surface or self.closure) and (
            self.side_sponges is None
        ):
            return 0
        return 4 + scalars

    def longest_step(self, metric: Metric, levels: Levels, atmosphere: Atmosphere) -> float:
        """Return the maximum stable time step of constant viscosity, forcing and drag, s.

        The drag is evaluated with the ambient or geostrophic wind. With a closure, its limit and the limit of the drag
        are evaluated during the run.
        """
        stiffness = 1.0 if self.closure is None else self.closure.stiffness
        max_viscosity = max(self.viscosity, self.diffusivity) * stiffness
        rate = 4.0 * max_viscosity * float(stiffness_of(metric).max())
        if self.surface is not None and self.closure is None:
            rate += self.surface.decay(levels, self._wind(levels, atmosphere))
        return longest_explicit_step(rate + forcing_rate(self.forcing, self.side_sponges, levels))

    def _wind(self, levels: Levels, atmosphere: Atmosphere) -> np.ndarray:
        """Return the maximum of ambient and geostrophic wind speed at the first level above the surface, m/s."""
        z, speeds = levels.z[1], []
        for u, v in filter(None, (atmosphere.wind, self.forcing.geostrophic)):
            speeds.append(np.hypot(profile_of("u", u)(z), profile_of("v", v)(z)) + np.zeros(z.shape))
        return np.max(speeds, axis=0)


def checked_forcing(
    levels: Levels,
    grid: Grid,
    *,
    stratified: bool,
    scalars: tuple[str, ...],
    coriolis: float,
    viscosity: float,
    diffusivity: float | None,
    side_sponges: Mapping[str, Any] | None,
    forcing: Forcing | None,
    surface: Surface | None,
    closure: Smagorinsky | None,
    walled: bool,
) -> ForcingAndMixing:
    """Return checked values; raise `InputError` for invalid values and combinations."""
    nu = checked_number("viscosity", viscosity, 0.0, 1e9)
    diffusion = nu if diffusivity is None else checked_number("diffusivity", diffusivity, 0.0, 1e9)
    drive = of_type("forcing", forcing or Forcing(), Forcing, "Forcing(geostrophic=(10.0, 0.0))")
    surface = surface and of_type("surface", surface, Surface, "Surface(roughness=0.1)")
    closure = closure and of_type("closure", closure, Smagorinsky, "Smagorinsky()")
    if drive.geostrophic is not None and coriolis == 0.0:
        got = "geostrophic wind without a Coriolis parameter"
        raise InputError(
            got,
            allowed="geostrophic wind with coriolis or latitude",
            fix="latitude = 45.0",
            problem="A geostrophic wind requires a Coriolis parameter.",
        )
    drive.check(levels.z, stratified, scalars)
    ground = None if surface is None else surface.checked(grid, levels, stratified, walled)
    sides = checked_side_sponges(side_sponges, grid)
    rates = forcing_rows(drive, sides, levels, (levels.height.size, grid.ny))
    return ForcingAndMixing(nu, diffusion, sides, drive, ground, closure and closure.checked(), rates)
