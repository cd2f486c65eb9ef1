"""Ready-made shallow-water cases: grid, bed, initial state, boundaries and, where known, the exact solution."""

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
    """Cell means at one time: water depth (ny, nx), m, and unit discharges (ny, nx), m2 s-1."""

    depth: np.ndarray
    discharge_x: np.ndarray
    discharge_y: np.ndarray

    @property
    def velocity_x(self) -> np.ndarray:
        """Velocity discharge_x / depth, 0 in dry cells, (ny, nx), m s-1."""
        return _ratio(self.discharge_x, self.depth)

    @property
    def velocity_y(self) -> np.ndarray:
        """Velocity discharge_y / depth, 0 in dry cells, (ny, nx), m s-1."""
        return _ratio(self.discharge_y, self.depth)


@dataclass(frozen=True, eq=False)
class WaterCase:
    """Shallow-water test case.

    Parameters
    ----------
    name : str
        Name in `eagre validate`.
    grid : Grid
    bed_elevation : (ny + 1, nx + 1), m
        Bed elevation at corners.
    initial : Water
    end_time : float, s
    boundaries : Boundaries
    manning : float, s m-1/3
    exact : callable, optional
        ``exact(t)`` returns the `Water` at time t, s.
    options : dict
        Additional arguments of `eagre.ShallowWater`.
    reference : str
        Source of the case and its solution, with DOI.
    gauges : dict
        Coordinates (x, y), m, by name.
    level : float, optional
        Surface elevation of still water, m, passed to the model instead of the depth to avoid rounding errors of
        depth plus bed.
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
        """Bed at centres, (ny, nx), m: mean of the four corners."""
        return centre_bed(self.bed_elevation)

    @property
    def surface_elevation(self) -> np.ndarray:
        """Initial surface elevation, (ny, nx), m; the bed in dry cells."""
        return self.bed_centre + self.initial.depth

    def model(self, **options: Any) -> Any:
        """Return an `eagre.ShallowWater` for this case; `options` override options of the case."""
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
    """Return water at rest with the surface elevation `surface`, m; cells with a higher bed are dry."""
    depth = np.maximum(np.asarray(surface, float) - centre_bed(bed), 0.0)
    return Water(depth, np.zeros_like(depth), np.zeros_like(depth))


def cell_means(grid: Grid, profile: Profile) -> Water:
    """Return cell means of ``profile(x, y) -> (h, u, v)`` by 3 x 3 Gauss points per cell (exact to degree 5).

    The result contains the means of h, h u and h v, as in a finite-volume model.
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
    """Return values of ``profile(x, y) -> (h, u, v)`` at the centres, as `Water`."""
    h, u, v = profile(*grid.mesh())
    h = np.broadcast_to(h, grid.shape).astype(float)
    return Water(h, h * u, h * v)


def _ratio(q: np.ndarray, h: np.ndarray) -> np.ndarray:
    wet = h > 0.0
    return np.where(wet, q / np.where(wet, h, 1.0), 0.0)
