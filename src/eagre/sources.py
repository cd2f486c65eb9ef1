"""Sources of water and momentum: rain, rotation, wind stress, atmospheric pressure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eagre.constants import EARTH_ROTATION, WATER_DENSITY
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.series import Series

HEAVIEST_RAIN = 0.1  # m s-1, a hundred times what has been measured: above it a unit was forgotten
FACTORS = ("rain", "stress_x", "stress_y", "force")


@dataclass(frozen=True, eq=False)
class Rain:
    """Rain on the whole domain.

    Parameters
    ----------
    rate : float or Series, m s-1
        Rainfall rate, 0 to 0.1; 20 mm/h is 20e-3 / 3600.
    pattern : (ny, nx) array, optional
        Multiplies the rate cell by cell, >= 0.
    """

    rate: float | Series
    pattern: np.ndarray | None = None


@dataclass(frozen=True)
class Coriolis:
    """Rotation: f hv on hu and -f hu on hv.

    Parameters
    ----------
    latitude : float, degrees north
        Gives f = 2 Omega sin(latitude) where `f` is not given.
    f : float, s-1
        Coriolis parameter at the middle of the domain, > 0 in the northern hemisphere.
    beta : float, m-1 s-1
        Growth of f with y (beta plane); 0 is an f-plane.
    """

    latitude: float | None = None
    f: float | None = None
    beta: float = 0.0

    def __post_init__(self) -> None:
        if (self.latitude is None) == (self.f is None):
            raise InputError(
                f"latitude = {self.latitude}, f = {self.f}",
                allowed="exactly one of latitude (degrees) and f (s-1)",
                fix="Coriolis(latitude=35.0)",
            )
        if self.latitude is not None and not -90.0 <= self.latitude <= 90.0:
            raise InputError(f"latitude = {self.latitude}", allowed="degrees north, -90 to 90")

    @property
    def parameter(self) -> float:
        """f at the middle of the domain, s-1."""
        if self.f is not None:
            return self.f
        assert self.latitude is not None
        return 2.0 * EARTH_ROTATION * math.sin(math.radians(self.latitude))


@dataclass(frozen=True, eq=False)
class WindStress:
    """Stress of the wind on the surface, N m-2, positive eastward (x) and northward (y).

    `pattern`, (ny, nx), multiplies both components cell by cell.
    """

    x: float | Series = 0.0
    y: float | Series = 0.0
    pattern: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class AtmosphericPressure:
    """Pressure at the surface, Pa, (ny, nx), times `factor`: a force -h/rho grad p."""

    pressure: np.ndarray
    factor: float | Series = 1.0


Source = Rain | Coriolis | WindStress | AtmosphericPressure


@dataclass(frozen=True, eq=False)
class SourceMaps:
    """Maps at interior cells and the series of their factors (in the order of `FACTORS`)."""

    rain: np.ndarray
    stress: np.ndarray
    accel_x: np.ndarray
    accel_y: np.ndarray
    coriolis: np.ndarray
    factors: tuple[Series, ...]

    @property
    def wettest(self) -> float:
        """Largest rain in any cell at any time, m s-1."""
        return float(self.factors[0].values.max() * self.rain.max())


def source_maps(sources: Sequence[Source], grid: Grid) -> SourceMaps:
    """Collect sources into the maps that the kernels read.

    Raises
    ------
    InputError
        For one source without a list, two of one kind, a pattern of the wrong shape, or rain that is negative or
        cannot be.
    """
    if isinstance(sources, Source):
        raise InputError(f"sources = {type(sources).__name__}(...)", allowed="a list", fix="sources=[...]")
    kinds = [type(source) for source in sources]
    for kind in kinds:
        if kinds.count(kind) > 1:
            raise InputError(f"{kinds.count(kind)} sources of kind {kind.__name__}", allowed="one of each kind")
    none = np.zeros(grid.shape)
    maps = {"rain": none, "stress": none, "accel_x": none, "accel_y": none}
    coriolis = np.zeros(grid.ny)
    factors = dict.fromkeys(FACTORS, Series.constant(0.0))
    for source in sources:
        if isinstance(source, Rain):
            rate = Series.of(source.rate, "rain")
            if (rate.values < 0).any():
                raise InputError(f"a rain rate of {rate.values.min():g} m/s", allowed="rates >= 0")
            maps["rain"], factors["rain"] = _pattern(source.pattern, grid, "rain"), rate
            if (maps["rain"] < 0).any():
                raise InputError(f"a rain pattern of {maps['rain'].min():g}", allowed="factors >= 0")
            wettest = float(rate.values.max() * maps["rain"].max())
            if wettest > HEAVIEST_RAIN:
                raise InputError(
                    f"rain of {wettest:g} m/s, that is {3.6e6 * wettest:g} mm/h",
                    allowed=f"rates in m/s, to {HEAVIEST_RAIN:g}",
                    fix=f'rate = "{wettest:g} mm/h", in Python {wettest:g}e-3 / 3600',
                )
        elif isinstance(source, WindStress):
            maps["stress"] = _pattern(source.pattern, grid, "wind stress") / WATER_DENSITY
            factors["stress_x"] = Series.of(source.x, "wind stress x")
            factors["stress_y"] = Series.of(source.y, "wind stress y")
        elif isinstance(source, AtmosphericPressure):
            maps["accel_x"], maps["accel_y"] = _pressure_force(_pattern(source.pressure, grid, "pressure"), grid)
            factors["force"] = Series.of(source.factor, "atmospheric pressure")
        elif isinstance(source, Coriolis):
            middle = grid.y0 + 0.5 * grid.ny * grid.dy
            coriolis = source.parameter + source.beta * (grid.y - middle)
        else:
            raise InputError(f"a source {source!r}", allowed="Rain, Coriolis, WindStress, AtmosphericPressure")
    return SourceMaps(**maps, coriolis=coriolis, factors=tuple(factors[name] for name in FACTORS))


def _pattern(pattern: np.ndarray | None, grid: Grid, name: str) -> np.ndarray:
    if pattern is None:
        return np.ones(grid.shape)
    pattern = np.asarray(pattern, dtype=np.float64)
    if pattern.shape != grid.shape:
        raise InputError(f"a {name} map of shape {pattern.shape}", allowed=f"shape (ny, nx) = {grid.shape}")
    if not np.isfinite(pattern).all():
        raise InputError(f"a {name} map that is not finite everywhere", allowed="finite numbers")
    return pattern


def _pressure_force(pressure: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Acceleration -grad p / rho at centres, m s-2: of second order, one-sided at the sides."""

    def gradient(size: float, axis: int) -> np.ndarray:
        cells = pressure.shape[axis]
        return np.gradient(pressure, size, axis=axis, edge_order=2 if cells > 2 else 1) if cells > 1 else 0.0 * pressure

    return -gradient(grid.dx, 1) / WATER_DENSITY, -gradient(grid.dy, 0) / WATER_DENSITY
