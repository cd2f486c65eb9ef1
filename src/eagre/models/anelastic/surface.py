"""What the ground does to the air, as a user hands it over."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.constants import VON_KARMAN
from eagre.errors import InputError
from eagre.given import own_array
from eagre.grid import Grid, Levels
from eagre.series import Series

SMALLEST_LOG = 2.0  # of z1 / z0: the wind at the ground would blow backwards


@dataclass(frozen=True, eq=False)
class Surface:
    """What the ground does to the air.

    Parameters
    ----------
    heat_flux : float or Series, K m/s
        Kinematic: the flux w' theta' of potential temperature, > 0 upwards, through a horizontal area. One of sensible
        heat, W/m2, is that times `Atmosphere.heat_capacity` at the ground, some 1200 J m-3 K-1.
    pattern : (ny, nx) array, optional
        A factor on it at each point.
    roughness : float or (ny, nx) array, m, optional
        z0; without it the wind slips.
    """

    heat_flux: float | Series = 0.0
    pattern: Any = None
    roughness: Any = None

    @property
    def heats(self) -> bool:
        """Whether there is any heat flux."""
        return bool(Series.of(self.heat_flux, "heat_flux").values.any())

    def checked(self, grid: Grid, levels: Levels, stratified: bool, walled: bool) -> Surface:
        """The same with arrays of its own.

        Raises
        ------
        InputError
            Where there is no ground, nothing is buoyant, or the roughness is too large for the first level.
        """
        if not walled or levels.height.size < 2:
            raise InputError("a surface without ground", allowed="walls across z, two levels or more")
        flux = Series.of(self.heat_flux, "heat_flux")
        if not stratified and flux.values.any():
            raise InputError("heat_flux in incompressible flow", allowed="air that is buoyant",
                             fix='equations = "boussinesq"')  # fmt: skip
        pattern = _plane("pattern", 1.0 if self.pattern is None else self.pattern, grid)
        if self.roughness is None:
            return Surface(flux, pattern)
        rough = _plane("roughness", self.roughness, grid)
        first = levels.z[1] - levels.z[0] + np.zeros(grid.shape)
        worst = np.unravel_index(int(np.argmax(rough / first)), grid.shape)
        largest = float(first[worst]) / math.exp(SMALLEST_LOG)
        if not (rough > 0.0).all() or rough[worst] >= largest:
            got = float(rough.min() if not (rough > 0.0).all() else rough[worst])
            raise InputError(
                f"roughness = {got:g} m below a first level at {first[worst]:g} m",
                allowed=f"above 0, and below {largest:.3g} m: the height over e^2", fix="roughness = 0.1",
            )  # fmt: skip
        return Surface(flux, pattern, rough)

    def decay(self, levels: Levels, wind: np.ndarray) -> float:
        """The fastest decay, s-1, of a difference of wind between the two lowest levels; wind : at the first one, m/s.

        Each gets of the flux 0.2 u* times it (`surface_fluxes`) what a layer as thick as the distance z1 of both and
        one half as thick do: ``0.6 u* / z1``.
        """
        if self.roughness is None:
            return 0.0
        z1 = levels.z[1] - levels.z[0]
        friction = VON_KARMAN * wind / np.log(z1 / self.roughness)
        return float(np.max(1.5 * VON_KARMAN * friction / z1))


def _plane(name: str, value: Any, grid: Grid) -> np.ndarray:
    array = own_array(name, value)
    if array.shape not in ((), grid.shape) or not np.isfinite(array).all():
        raise InputError(f"{name} of shape {array.shape}", allowed=f"finite numbers, one or {grid.shape}")
    return array + np.zeros(grid.shape)
