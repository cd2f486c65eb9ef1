"""Configuration of a run of the anelastic model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from eagre.advection.plan import Options
from eagre.grid import Grid, Levels
from eagre.models.anelastic.base.atmosphere import Atmosphere
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.base.vertical_profiles import Layers
from eagre.models.anelastic.forcing.profile_forcing import Forcing
from eagre.models.anelastic.subgrid.closure import Smagorinsky
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.stepping.averages import StatisticsPlan
from eagre.time_varying.series import Series

EQUAL = 1e-6  # relative difference of the spacings of equidistant levels


@dataclass(frozen=True, eq=False)
class Setup:
    """Checked configuration of a run."""

    grid: Grid  # cell centres are the columns of points
    levels: Levels
    boundaries: tuple[str, str, str]  # of z, y, x: "periodic", "wall", of y and x "open"
    air: Atmosphere
    time_step: float  # s, maximum
    coriolis: float  # s-1
    viscosity: float  # m2/s
    diffusivity: float  # m2/s, of theta
    top_sponge: np.ndarray  # (nz,), s-1
    tolerance: float  # maximum of dt max |div|
    scalars: tuple[str, ...] = ()
    side_sponges: np.ndarray | None = None  # (ny, nx), s-1
    forcing: Forcing = field(default_factory=Forcing)
    surface: Surface | None = None
    closure: Smagorinsky | None = None
    forcing_rates: np.ndarray | None = None  # (nz, ny), s-1: explicit decay rates in rows along x, without mixing
    adaptive: bool = False  # True for adaptive time steps
    advection: Options = field(default_factory=Options)
    time_statistics: StatisticsPlan | None = None  # requested statistics at points

    @property
    def shape(self) -> tuple[int, int, int]:
        """(nz, ny, nx)."""
        return (self.levels.height.size, *self.grid.shape)

    @property
    def spacing(self) -> tuple[float, float, float]:
        """(dz, dy, dx) in computational space, m."""
        return spacing_of(self.levels, self.grid)

    @property
    def layers(self) -> Layers:
        """Thickness of the layers around equidistant levels, or bounds of layers halfway between unequal levels."""
        steps, z = np.diff(self.levels.height), self.levels.z
        if not steps.size or np.ptp(steps) <= EQUAL * steps.max():
            return self.spacing[0]
        halfway = 0.5 * (z[1:] + z[:-1])
        return np.concatenate([z[:1], halfway]), np.concatenate([halfway, z[-1:]])

    @property
    def top_height(self) -> float:
        """Height of the domain, m: to the top wall, or the period along z."""
        count = self.levels.height.size
        return self.spacing[0] * (count if self.boundaries[0] == "periodic" else max(count - 1, 1))

    @property
    def heat_varies(self) -> bool:
        """True if the surface heat flux depends on time."""
        return self.surface is not None and np.ptp(Series.of(self.surface.heat_flux, "heat_flux").values) > 0.0

    @property
    def terrain(self) -> bool:
        """True for terrain that is not flat."""
        return self.levels.terrain_height is not None

    @property
    def viscous(self) -> bool:
        """True with viscosity, diffusivity or a closure."""
        return self.viscosity > 0.0 or self.diffusivity > 0.0 or self.closure is not None

    @property
    def stratified(self) -> bool:
        """True with buoyancy."""
        return self.air.gravity > 0.0


def metric_of(levels: Levels, grid: Grid, sides: tuple[str, str, str]) -> Metric:
    """Return the metric of the terrain-following coordinate."""
    shape, height = (levels.height.size, *grid.shape), levels.height if sides[0] != "periodic" else None
    return Metric(shape, spacing_of(levels, grid), sides, levels=height, hill=levels.terrain_height)


def spacing_of(levels: Levels, grid: Grid) -> tuple[float, float, float]:
    """Return (dz, dy, dx) in computational space, m; dz is the mean for unequal levels."""
    height = levels.height
    return (float(height[-1]) / (height.size - 1) if height.size > 1 else 1.0), grid.dy, grid.dx
