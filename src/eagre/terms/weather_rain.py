"""Rain from a time-varying field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.grid import Grid
from eagre.terms.assembly.base import Quantity, Term
from eagre.terms.assembly.record_quantities import RecordQuantity, checked_field
from eagre.time_varying.fields import TimeVaryingField


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
