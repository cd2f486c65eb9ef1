"""Prescribed wind stress on the water surface."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.constants import WATER_DENSITY
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.terms.assembly.base import Quantity, Term, checked_pattern
from eagre.time_varying.series import Series


@cell
def wind_stress(h, along, across, stress):
    """Force on the unit discharge, m2 s-2: tau / rho along the line, independent of the depth.

    C. B. Vreugdenhil, Numerical Methods for Shallow-Water Flow (1994), chapter 2, doi:10.1007/978-94-015-8354-1.
    """
    return stress


@dataclass(frozen=True, eq=False)
class WindStress(Term):
    """Wind stress on the water surface.

    Parameters
    ----------
    x, y : float or Series, N m-2
        Stress, positive eastwards (x) and northwards (y).
    pattern : (ny, nx) array, optional
        Factor of both components, per cell.
    """

    x: float | Series = 0.0
    y: float | Series = 0.0
    pattern: np.ndarray | None = None

    force_cell: ClassVar[Cell | None] = wind_stress

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        stress = Series.of(self.x if along == "x" else self.y, f"wind stress {along}")
        pattern = checked_pattern(self.pattern, grid, "wind stress")
        source = "" if stress.is_constant else stress.name
        check_plausible("wind_stress", np.abs(pattern).max() * stress.values, along, source)
        return (Quantity.of(pattern / WATER_DENSITY, stress),)
