"""Atmospheric pressure force from a time-varying field."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.constants import WATER_DENSITY
from eagre.grid import Grid
from eagre.terms.assembly.base import Quantity, Term
from eagre.terms.assembly.record_quantities import RecordQuantity, checked_field
from eagre.time_varying.fields import TimeVaryingField


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
