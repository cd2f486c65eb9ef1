"""Rain on the water surface, without momentum: one rate, a time-varying field, or a rate per zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.terms.base import Quantity, RecordQuantity, Term, checked_field, checked_map, checked_pattern
from eagre.time_varying.fields import TimeVaryingField
from eagre.time_varying.series import Series


@cell
def rain(rate):
    """Rain on a cell, m s-1: dh/dt = R. Rain adds no momentum: hu and hv stay unchanged."""
    return rate


@dataclass(frozen=True, eq=False)
class Rain(Term):
    """Rain on the whole domain.

    Parameters
    ----------
    rate : float or Series, m s-1
        Rainfall rate, 0 to 1e-3; 20 mm/h is 20e-3 / 3600.
    pattern : (ny, nx) array, optional
        Factor of the rate per cell, 0 or more.
    """

    rate: float | Series
    pattern: np.ndarray | None = None

    water_cell: ClassVar[Cell | None] = rain

    def water(self, grid: Grid) -> tuple[Quantity, ...]:
        pattern = checked_pattern(self.pattern, grid, "rain")
        return (Quantity.of(pattern, checked_rain(self.rate, pattern)),)


def checked_rain(rainfall: float | Series, pattern: np.ndarray) -> Series:
    """Return the rainfall rate as a series, m s-1, checked together with its pattern."""
    rate = Series.of(rainfall, "rain")
    if (pattern < 0).any():
        raise InputError(
            f"a factor of {pattern.min():g}", allowed="factors >= 0", problem="The rain pattern has negative values."
        )
    check_plausible("rain", rate.values * pattern.max(), "rate", "" if rate.is_constant else rate.name)
    return rate


@cell
def weather_rain(even, odd):
    """Rain on a cell, m s-1: sum of the weighted values of two records. Rain adds no momentum."""
    return even + odd


@dataclass(frozen=True, eq=False)
class WeatherRain(Term):
    """Rain from a time-varying field, m s-1, bilinear in space and linear in time."""

    rate: TimeVaryingField

    water_cell: ClassVar[Cell | None] = weather_rain

    def water(self, grid: Grid) -> tuple[Quantity, ...]:
        return RecordQuantity.pair(checked_field(self.rate, grid, "rain"))

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        self.reject_ensemble("its field would extend over all stacked members")


MAX_RATES = 24  # maximum number of time-varying rates: kernels take one map per rate, and 4 KiB of arguments in total


@dataclass(frozen=True, eq=False)
class ZoneRain(Term):
    """Rain with a separate rate in each zone of the domain.

    Parameters
    ----------
    rates : sequence of float or Series, m s-1
        Rainfall rate of each zone, 0 to 1e-3.
    patterns : (zones, ny, nx) array
        Factors of each rate per cell, 0 or more: 1 in the zone and 0 elsewhere, or the fraction of the cell in the
        zone. The rain of a cell is the sum over the zones.

    Notes
    -----
    A step reads one map per time-varying rate (zones with the same `Series` share a map), and one map for all constant
    rates.
    """

    rates: Sequence[float | Series]
    patterns: np.ndarray

    water_cell: ClassVar[Cell | None] = rain
    one_by_one: ClassVar[bool] = True

    def water(self, grid: Grid) -> tuple[Quantity, ...]:
        patterns = np.asarray(self.patterns, np.float64)
        if patterns.shape != (len(self.rates), *grid.shape) or not self.rates:
            raise InputError(
                f"patterns of shape {patterns.shape} for {len(self.rates)} rates",
                allowed=f"shape (rates, ny, nx) = {(len(self.rates), *grid.shape)}, one rate or more",
                problem="The rain patterns do not fit the rates and the grid.",
            )  # fmt: skip
        same, in_time = np.zeros(grid.shape), {}
        for rate, factors in zip(self.rates, patterns, strict=True):
            pattern = checked_map(factors, grid, "rain")
            series = checked_rain(rate, pattern)
            if series.is_constant:
                same += series.values[0] * pattern
            else:
                of = id(rate)
                in_time[of] = series, pattern + in_time[of][1] if of in in_time else pattern
        if len(in_time) > MAX_RATES:
            raise InputError(
                f"{len(in_time)} time-varying rain rates", allowed=f"at most {MAX_RATES}",
                fix="zones that share a series, or [sources.weather]",
                problem="The rain has too many time-varying rates.",
            )  # fmt: skip
        quantities = [Quantity.of(pattern, series) for series, pattern in in_time.values()]
        return (Quantity.of(same), *quantities)

    def for_ensemble(self, stacked: Callable[[np.ndarray], np.ndarray]) -> Any:
        return replace(self, patterns=np.stack([stacked(one) for one in np.asarray(self.patterns)]))
