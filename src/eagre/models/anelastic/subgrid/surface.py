"""Surface fluxes of heat and momentum: arguments of the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.arguments import array_copy
from eagre.constants import VON_KARMAN
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.time_varying.series import Series

MIN_LOG = 2.0  # minimum of log(z1 / z0): below it the wind at the surface would reverse


@dataclass(frozen=True, eq=False)
class Surface:
    """Surface heat flux and drag.

    Parameters
    ----------
    heat_flux : float or Series, K m/s
        Kinematic heat flux w' theta' of potential temperature per horizontal area, positive upwards. The sensible heat
        flux, W/m2, is this flux times `Atmosphere.heat_capacity` at the surface, about 1200 J m-3 K-1.
    pattern : (ny, nx) array, optional
        Factor of the heat flux at each point.
    roughness : float or (ny, nx) array, m, optional
        Roughness length z0; without it the surface is free-slip.
    """

    heat_flux: float | Series = 0.0
    pattern: Any = None
    roughness: Any = None

    @property
    def heats(self) -> bool:
        """True for a heat flux that is not 0."""
        return bool(Series.of(self.heat_flux, "heat_flux").values.any())

    def checked(self, grid: Grid, levels: Levels, stratified: bool, walled: bool) -> Surface:
        """Return a checked copy.

        Raises
        ------
        InputError
            Without a bottom wall, for a heat flux without buoyancy, or a roughness too large for the first level.
        """
        if not walled or levels.height.size < 2:
            raise InputError(
                "surface without a bottom wall",
                allowed="walls along z and at least two levels",
                problem="A surface requires a bottom wall.",
            )
        flux = Series.of(self.heat_flux, "heat_flux")
        if not stratified and flux.values.any():
            raise InputError("heat_flux in incompressible flow", allowed="equations with buoyancy",
                             fix='equations = "boussinesq"',
                             problem="Incompressible flow has no heat flux.")  # fmt: skip
        pattern = _plane("pattern", 1.0 if self.pattern is None else self.pattern, grid)
        if self.roughness is None:
            return Surface(flux, pattern)
        rough = _plane("roughness", self.roughness, grid)
        first = levels.z[1] - levels.z[0] + np.zeros(grid.shape)
        worst = np.unravel_index(int(np.argmax(rough / first)), grid.shape)
        max_roughness = float(first[worst]) / math.exp(MIN_LOG)
        if not (rough > 0.0).all() or rough[worst] >= max_roughness:
            got = float(rough.min() if not (rough > 0.0).all() else rough[worst])
            raise InputError(
                f"roughness = {got:g} m with the first level at {first[worst]:g} m",
                allowed=f"above 0 and below {max_roughness:.3g} m, the height of the first level divided by e^2",
                fix="roughness = 0.1", problem="The roughness length does not fit the height of the first level.",
            )  # fmt: skip
        return Surface(flux, pattern, rough)

    def decay(self, levels: Levels, wind: np.ndarray) -> float:
        """Return the maximum decay rate of a wind difference between the two lowest levels, s-1.

        The flux 0.2 u* times the difference (`surface_fluxes`) acts on a layer of thickness z1 and on one of half this
        thickness: ``0.6 u* / z1``.

        wind : speed at the first level above the surface, m/s.
        """
        if self.roughness is None:
            return 0.0
        z1 = levels.z[1] - levels.z[0]
        friction = VON_KARMAN * wind / np.log(z1 / self.roughness)
        return float(np.max(1.5 * VON_KARMAN * friction / z1))


def _plane(name: str, value: Any, grid: Grid) -> np.ndarray:
    array = array_copy(name, value)
    if array.shape not in ((), grid.shape) or not np.isfinite(array).all():
        raise InputError(
            f"{name} of shape {array.shape}",
            allowed=f"finite numbers, one or {grid.shape}",
            problem=f"The shape or a value of {name} is not allowed.",
        )
    return array + np.zeros(grid.shape)
