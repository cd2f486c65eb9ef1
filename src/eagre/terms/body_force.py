"""Uniform or patterned body force, for example a tide-generating force or the slope of a tilted flume."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.terms.base import Quantity, Term, checked_pattern
from eagre.time_varying.series import Series


@cell
def body_force(h, along, across, acceleration):
    """Force on the unit discharge, m2 s-2: h times the prescribed acceleration (compare `atmospheric_pressure`)."""
    return h * acceleration


@dataclass(frozen=True, eq=False)
class BodyForce(Term):
    """Body force: a prescribed acceleration of the water, m s-2.

    In a closed basin at rest the surface has the slope a/g.

    Parameters
    ----------
    x, y : float or Series, m s-2
        Acceleration, positive eastwards (x) and northwards (y), at most 10 m s-2.
    pattern : (ny, nx) array, optional
        Factor of both components, per cell.
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
