"""A force on all of the water alike: a tide-generating force, the slope of a tilted flume, a driven channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eagre.backend.cells import Cell, cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.series import Series
from eagre.terms.base import Quantity, Term, checked_pattern


@cell
def body_force(h, along, across, acceleration):
    """Force on the unit discharge, m2 s-2: h a, as the pressure gradient's (`atmospheric_pressure`) with a given."""
    return h * acceleration


@dataclass(frozen=True, eq=False)
class BodyForce(Term):
    """An acceleration of all water, m s-2, positive eastward (x) and northward (y); forces h x and h y.

    In a closed basin the surface comes to rest with the slope a/g. `pattern`, (ny, nx), multiplies both components cell
    by cell.
    """

    x: float | Series = 0.0
    y: float | Series = 0.0
    pattern: np.ndarray | None = None

    force_cell: ClassVar[Cell | None] = body_force

    def force(self, along: str, grid: Grid) -> tuple[Quantity, ...]:
        acceleration = Series.of(self.x if along == "x" else self.y, f"body force {along}")
        if not (abs(acceleration.values) <= 10.0).all():
            raise InputError(
                f"{along} = {abs(acceleration.values).max():g} m/s2",
                allowed="-10 to 10 m/s2; a tide-generating force has about 1e-6 m/s2",
                problem="The body force is implausibly large.",
            )
        return (Quantity.of(checked_pattern(self.pattern, grid, "body force"), acceleration),)
