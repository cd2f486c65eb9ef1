"""Checks of all that drives and mixes the air, and the longest time step that it bears."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.models.anelastic.forcing import Forcing
from eagre.models.anelastic.inputs import checked_side_absorber
from eagre.models.anelastic.stability import forcing_rate
from eagre.models.anelastic.surface import Surface


class Drives(NamedTuple):
    """What `Setup` has of it, by the same names."""

    viscosity: float
    diffusivity: float
    side_absorber: np.ndarray | None
    forcing: Forcing
    surface: Surface | None

    def rate(self, levels: Levels) -> float:
        """The fastest decay of explicit tendencies but viscosity, s-1."""
        return forcing_rate(self.forcing, self.side_absorber, levels)


def checked_drives(
    levels: Levels,
    grid: Grid,
    *,
    stratified: bool,
    scalars: tuple[str, ...],
    coriolis: float,
    viscosity: float,
    diffusivity: float | None,
    side_absorber: Mapping[str, Any] | None,
    forcing: Forcing | None,
    surface: Surface | None,
    walled: bool,
) -> Drives:
    """Refuse what cannot be, and what does not go together."""
    nu = checked_number("viscosity", viscosity, 0.0, 1e9)
    diffusion = nu if diffusivity is None else checked_number("diffusivity", diffusivity, 0.0, 1e9)
    if levels.ground is not None and nu + diffusion > 0.0:
        raise InputError("viscosity over ground that is not flat", allowed="viscosity = 0: the scheme dissipates")
    drive = forcing or Forcing()
    if drive.geostrophic is not None and coriolis == 0.0:
        raise InputError("geostrophic wind where nothing turns", allowed="coriolis or latitude", fix="latitude = 45.0")
    drive.check(float(levels.height[-1]), stratified, scalars)
    ground = None if surface is None else surface.checked(grid, levels, stratified, walled)
    return Drives(nu, diffusion, checked_side_absorber(side_absorber, grid), drive, ground)
