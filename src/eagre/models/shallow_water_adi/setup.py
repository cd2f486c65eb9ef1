"""Set-up of a run of the ADI model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from eagre.boundaries import FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.grid import Grid
from eagre.models.shallow_water_adi.kernels import LAND, WALL
from eagre.models.shallow_water_adi.options import Numerics
from eagre.models.shallow_water_adi.sides import sides_of
from eagre.restart_references import RestartReference, bed_references
from eagre.stepping.averages import StatisticsPlan
from eagre.stepping.maps import Maps
from eagre.terms.collect import Terms
from eagre.time_varying.series import Series


class Segment(NamedTuple):
    """Part of the lines along y that the row slab of a device solves; the slabs exchange the ends of their parts.

    A part has the north faces of rows first .. last - 1 of the slab, in the first slab also the south face of row 0.
    """

    rank: int
    count: int  # number of slabs
    first: int
    last: int


@dataclass(frozen=True, eq=False)
class Setup(Numerics):
    """Complete set-up of a run, checked by the model; arrays are float64 on the host."""

    grid: Grid
    bed: np.ndarray  # (ny, nx) at centres, m above `level`; OUTSIDE on land
    segments: Sequence[FaceRange]
    friction: np.ndarray  # (ny, nx): g n^2, or g / C^2
    law: str  # "manning" or "chezy"
    terms: Terms
    dry_depth: float = field(kw_only=True)
    deepest: float  # maximum initial depth, m
    dries: bool | None = None  # `may_dry` of the whole domain, for a subdomain
    segment: Segment | None = None  # part of the lines along y, for a subdomain; None if it solves whole lines
    kernels: str = "fast"  # or "reference"
    level: float = 0.0  # reference level of elevations, m: see `level_of`
    walls: np.ndarray | None = None  # (ny, nx) bits of closed internal faces, `eagre.boundaries.internal`
    maps: Maps | None = None  # maps to accumulate
    time_statistics: StatisticsPlan | None = None
    cross_sections: CrossSections | None = None  # cross-sections for the discharge

    @property
    def may_dry(self) -> bool:
        """True if a rule of the scheme checks for dry neighbours; all cells outside the domain are dry."""
        if self.dries is not None:
            return self.dries
        is_open = any(side.kind != WALL for side in sides_of(self.segments, self.level))
        is_open |= self.walls is not None
        rules = self.drying == "on" or self.dissipation == "froude" or self.viscosity > 0.0
        return rules or is_open or bool((self.bed > LAND).any())

    @property
    def restart_references(self) -> dict[str, RestartReference]:
        """Reference data that the values of a state depend on."""
        land = self.bed >= LAND
        land_rows = RestartReference(
            "land fraction of rows", land.mean(axis=1), "", "the land mask of the run that wrote the state"
        )
        bed = np.where(land, 0.0, self.bed + self.level)
        return {"land_rows": land_rows, **bed_references(bed.mean(axis=1), bed.mean(axis=0))}

    @property
    def series(self) -> list[Series]:
        """Series that drive the run: one per segment, then the factors of the terms.

        Elevations are relative to the level.
        """
        side_series = [side.series for side in sides_of(self.segments, self.level)]
        return side_series + self.terms.series
