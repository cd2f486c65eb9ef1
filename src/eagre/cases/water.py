"""What a ready-made case is: grid, bed, initial water, boundaries and, where one is known, the exact solution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eagre.boundaries import Boundaries
from eagre.grid import Grid, centre_bed

Profile = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]
GAUSS_POINTS = (-0.7745966692414834, 0.0, 0.7745966692414834)
GAUSS_WEIGHTS = (5.0 / 18.0, 8.0 / 18.0, 5.0 / 18.0)


@dataclass(frozen=True, eq=False)
class Water:
    """Cell means of the water at one time: depth (ny, nx), m, and unit discharges (ny, nx), m2 s-1."""

    depth: np.ndarray
    discharge_x: np.ndarray
    discharge_y: np.ndarray

    @property
    def velocity_x(self) -> np.ndarray:
        """discharge_x / depth, 0 where dry, (ny, nx), m s-1."""
        return _ratio(self.discharge_x, self.depth)

    @property
    def velocity_y(self) -> np.ndarray:
        """discharge_y / depth, 0 where dry, (ny, nx), m s-1."""
        return _ratio(self.discharge_y, self.depth)


@dataclass(frozen=True, eq=False)
class WaterCase:
    """A problem that a shallow-water model can be set on.

    Parameters
    ----------
    name : str
        As `eagre validate` knows it.
    grid : Grid
    bed_elevation : (ny + 1, nx + 1), m
        At corners.
    initial : Water
    end_time : float, s
    boundaries : Boundaries
    manning : float, s m-1/3
    exact : callable, optional
        ``exact(t)`` gives the `Water` at time t, s.
    options : dict
        Further arguments of `eagre.ShallowWater` that belong to the case.
    reference : str
        Where the case and its solution come from, with DOI.
    gauges : dict
        Name to (x, y), m.
    level : float, optional
        Surface elevation of still water, m: given to the model in place of the depth, so that no
        rounding of depth plus bed disturbs it.
    """

    name: str
    grid: Grid
    bed_elevation: np.ndarray
    initial: Water
    end_time: float
    boundaries: Boundaries = field(default_factory=Boundaries)
    manning: float = 0.0
    exact: Callable[[float], Water] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    reference: str = ""
    gauges: dict[str, tuple[float, float]] = field(default_factory=dict)
    level: float | None = None

    @property
    def bed_centre(self) -> np.ndarray:
        """Bed at centres, (ny, nx), m: the mean of the four corners."""
        return centre_bed(self.bed_elevation)

    @property
    def surface_elevation(self) -> np.ndarray:
        """Initial surface elevation, (ny, nx), m; the bed where dry."""
        return self.bed_centre + self.initial.depth

    def model(self, **options: Any) -> Any:
        """An `eagre.ShallowWater` set up for this case; `options` go before those of the case."""
        from eagre.models.shallow_water.model import ShallowWater

        water = {"depth": self.initial.depth} if self.level is None else {"surface_elevation": self.level}
        return ShallowWater(
            self.grid,
            self.bed_elevation,
            **water,
            velocity_x=self.initial.velocity_x,
            velocity_y=self.initial.velocity_y,
            boundaries=self.boundaries,
            manning=self.manning,
            **{**self.options, **options},
        )


def still_water(bed: np.ndarray, surface: float | np.ndarray) -> Water:
    """Water at rest whose surface is at `surface`, m, dry where the bed at the centre is higher."""
    depth = np.maximum(np.asarray(surface, float) - centre_bed(bed), 0.0)
    return Water(depth, np.zeros_like(depth), np.zeros_like(depth))


def cell_means(grid: Grid, profile: Profile) -> Water:
    """Cell means of ``profile(x, y) -> (h, u, v)`` by 3 x 3 Gauss points a cell (exact to degree 5).

    The means of h, h u and h v are taken: what a finite-volume model holds.
    """
    sums = [np.zeros(grid.shape) for _ in range(3)]
    for b, weight_y in zip(GAUSS_POINTS, GAUSS_WEIGHTS, strict=True):
        for a, weight_x in zip(GAUSS_POINTS, GAUSS_WEIGHTS, strict=True):
            x, y = np.meshgrid(grid.x + 0.5 * a * grid.dx, grid.y + 0.5 * b * grid.dy)
            h, u, v = profile(x, y)
            for total, value in zip(sums, (h, h * u, h * v), strict=True):
                total += weight_x * weight_y * value
    return Water(*sums)


def cell_centres(grid: Grid, profile: Profile) -> Water:
    """Values of ``profile(x, y) -> (h, u, v)`` at the centres, as `Water`."""
    h, u, v = profile(*grid.mesh())
    h = np.broadcast_to(h, grid.shape).astype(float)
    return Water(h, h * u, h * v)


def _ratio(q: np.ndarray, h: np.ndarray) -> np.ndarray:
    wet = h > 0.0
    return np.where(wet, q / np.where(wet, h, 1.0), 0.0)
