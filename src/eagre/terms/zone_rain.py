"""Rain by zone: one time-varying rate per zone of the domain."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.terms.assembly.base import Quantity, Term, checked_map
from eagre.terms.rain import checked_rain, rain
from eagre.time_varying.series import Series

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
