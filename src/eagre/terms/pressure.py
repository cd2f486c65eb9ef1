"""Atmospheric pressure force: from a constant map times a factor in time, or from a time-varying field."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.constants import WATER_DENSITY
from eagre.grid import Grid
from eagre.plausible import check_plausible, check_pressure_of_force
from eagre.terms.base import Quantity, RecordQuantity, Term, checked_field, checked_map
from eagre.time_varying.fields import TimeVaryingField
from eagre.time_varying.series import Series


@cell
def atmospheric_pressure(h, along, across, acceleration):
    """Force on the unit discharge, m2 s-2: -h/rho dp/ds along the line.

    C. B. Vreugdenhil, Numerical Methods for Shallow-Water Flow (1994), chapter 2, doi:10.1007/978-94-015-8354-1.
    """
    return h * acceleration


@dataclass(frozen=True, eq=False)
class AtmosphericPressure(Term):
    """Atmospheric pressure at the water surface: a force -h/rho grad p.

    Parameters
    ----------
    pressure : (ny, nx) array, Pa
        Pressure at cell centres. Along a periodic axis it is periodic.
    factor : float or Series
        Factor in time.
    """

    pressure: np.ndarray
    factor: float | Series = 1.0
    periodic: tuple[str, ...] = field(default=(), init=False)

    force_cell: ClassVar[Cell | None] = atmospheric_pressure

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        pressure = checked_map(self.pressure, grid, "pressure")
        factor = Series.of(self.factor, "atmospheric pressure")
        check_pressure_of_force(pressure, "pressure")
        span = np.ptp(pressure) * np.abs(factor.values).max()
        check_plausible("pressure_anomaly", -span, "pressure", "the product of pressure and factor")
        acceleration = -gradient(pressure, grid, along, along in self.periodic) / WATER_DENSITY
        return (Quantity.of(acceleration, factor),)

    def in_domain(self, periodic: Sequence[str]) -> Term:
        term = replace(self)
        object.__setattr__(term, "periodic", tuple(periodic))
        return term

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        self.reject_ensemble("its gradient along y would couple the members")


def gradient(values: np.ndarray, grid: Grid, along: str, periodic: bool) -> np.ndarray:
    """Gradient at centres along "x" or "y": second order, one-sided at boundaries that are not periodic."""
    axis, size = (1, grid.dx) if along == "x" else (0, grid.dy)
    cells = values.shape[axis]
    if periodic:
        return (np.roll(values, -1, axis) - np.roll(values, 1, axis)) / (2.0 * size)
    return np.gradient(values, size, axis=axis, edge_order=2 if cells > 2 else 1) if cells > 1 else 0.0 * values


@cell
def weather_pressure(h, along, across, even, odd):
    """Force on the unit discharge, m2 s-2: -h/rho dp/ds along the line; see `atmospheric_pressure`."""
    return h * (even + odd)


@dataclass(frozen=True, eq=False)
class WeatherPressure(Term):
    """Sea-level pressure from a time-varying field, Pa: a force -h/rho grad p.

    The gradient is that of the bilinearly interpolated field, so that the force has a potential. For water at rest,
    eta = -p / (rho g).
    """

    pressure: TimeVaryingField

    force_cell: ClassVar[Cell | None] = weather_pressure

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        return RecordQuantity.pair(checked_field(self.pressure, grid, "pressure"), along, -1.0 / WATER_DENSITY)

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        self.reject_ensemble("its field would extend over all stacked members")
