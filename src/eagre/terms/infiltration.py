"""Infiltration at a constant potential rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.grid import Grid
from eagre.terms.assembly.base import Quantity, Term, checked_amount


@cell
def infiltration(h, soil, dt, rate):
    """Potential infiltration depth of a step, m: f dt."""
    return rate * dt


@dataclass(frozen=True, eq=False)
class Infiltration(Term):
    """Infiltration at a constant potential rate, while a cell has water.

    Parameters
    ----------
    rate : float or (ny, nx) array, m s-1
        Potential infiltration rate, 0 to 1e-2; 10 mm/h is 10e-3 / 3600.

    Notes
    -----
    The cumulative infiltration is the field `infiltration_depth`. A step removes at most the water of a cell, so rain
    up to the rate infiltrates completely.
    """

    rate: float | np.ndarray

    soil_cell: ClassVar[Cell | None] = infiltration

    def infiltration(self, grid: Grid) -> tuple[Quantity, ...]:
        return (Quantity.of(checked_amount(self.rate, grid, "rate", "infiltration")),)
