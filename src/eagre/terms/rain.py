"""Rain on the water surface, without momentum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.terms.assembly.base import Quantity, Term, checked_pattern
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
