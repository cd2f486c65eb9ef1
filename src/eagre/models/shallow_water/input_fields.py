"""Input fields in the rows of this process: bed, Manning's n, initial water and velocity."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eagre.boundaries import FaceRange
from eagre.boundaries.base import InitialWater
from eagre.boundaries.open_sides import water_of
from eagre.checks import checked_field, initial_surface
from eagre.grid import Grid
from eagre.local_rows import LocalRows, Sides
from eagre.models.shallow_water.datum import Datum
from eagre.models.shallow_water.options import UNBOUNDED


class InputFields(NamedTuple):
    """Checked fields, float64, with the rows of this process; extremes are those of the domain.

    Attributes
    ----------
    rows : LocalRows
    bed : (rows + 1, nx + 1) array, m
    manning : (rows, nx) array, s m-1/3
    surface, depth : (rows, nx) array, m
    u, v : (rows, nx) array, m s-1
    """

    rows: LocalRows
    bed: np.ndarray
    manning: np.ndarray
    surface: np.ndarray
    depth: np.ndarray
    u: np.ndarray
    v: np.ndarray

    @classmethod
    def of(
        cls, rows: LocalRows, bed: Any, manning: Any, water: tuple[Any, Any], velocity: tuple[Any, Any]
    ) -> InputFields:
        """Check the arguments of the model; water : surface elevation and depth, of which one is None.

        Raises
        ------
        InputError
            In all processes, for values that one of them rejects.
        """
        with rows.agreed_errors():
            bed = checked_field("bed_elevation", bed, rows, "corner", "elevation")
            surface, depth = initial_surface(*water, bed, rows)
            manning = checked_field("manning", manning, rows, "centre", "manning")
            u, v = (checked_field(f"velocity_{a}", one, rows, "centre") for a, one in zip("xy", velocity, strict=True))
            return cls(rows, bed, manning, surface, depth, u, v)
        raise AssertionError  # the block returns or raises

    @property
    def lowest_surface(self) -> float:
        """Minimum of the surface of water or dry bed, m."""
        return self.rows.extremes(self.surface)[0]

    @property
    def max_depth(self) -> float:
        """Maximum depth, m."""
        return self.rows.extremes(self.depth)[1]

    def first_step(self, courant_number: float, gravity: float) -> float:
        """Return the limit of the first step, s, for water at rest, which has no speed yet."""
        return min(self.rows.each(first_step(self.surface, self.depth, self.rows.grid, courant_number, gravity)))

    def state(self, datum: Datum, bed: np.ndarray, *, of_level: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return eta, hu and hv; bed : of the cells above the datum, m; of_level : see `Datum.eta_of_level`."""
        stored = datum.eta_of_level if of_level else datum.eta
        return stored(bed, self.surface, self.depth), self.depth * self.u, self.depth * self.v

    def water_along(self, bed: Sides, time: float) -> Callable[[FaceRange], InitialWater]:
        """Return a function that returns the initial water along a segment; bed : corners, m."""
        return water_of(self.rows.sides(self.surface), self.rows.sides(self.depth), bed, time)


def first_step(surface: np.ndarray, depth: np.ndarray, grid: Grid, courant_number: float, gravity: float) -> float:
    """Return the limit of the first step in some rows, s.

    A surface drop d between adjacent cells accelerates the water to the speed g d dt / dx after dt; the limit is
    courant_number dx / dt.
    """
    max_drop = 0.0
    for axis, size in ((0, grid.dy), (1, grid.dx)):
        drop, wet = np.diff(surface, axis=axis), depth > 0.0
        low, high = (np.moveaxis(wet, axis, 0)[side] for side in (slice(None, -1), slice(1, None)))
        falls = np.where(np.moveaxis(drop, axis, 0) > 0.0, high, low)
        max_drop = max(max_drop, float((np.abs(np.moveaxis(drop, axis, 0)) * falls).max(initial=0.0)) / size**2)
    return math.sqrt(courant_number / (gravity * max_drop)) if max_drop > 0.0 else UNBOUNDED
