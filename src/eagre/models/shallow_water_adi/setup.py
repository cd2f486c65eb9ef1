"""Set-up of a run of the ADI model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from eagre.boundaries import FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.boundaries.subdomain import clip_segments
from eagre.grid import Grid
from eagre.local_rows import LocalRows
from eagre.models.restart_state import RestartReference, bed_references
from eagre.models.shallow_water_adi.kernels import LAND, WALL
from eagre.models.shallow_water_adi.options import Numerics
from eagre.models.shallow_water_adi.sides import sides_of
from eagre.stepping.averages import StatisticsPlan
from eagre.stepping.maps import Maps
from eagre.terms.collect import Terms
from eagre.time_varying.series import Series

STATE = {"z": "centre", "p": "face_x", "q_before": "face_y", "q_after": "face_y"}  # fields of a state: locations
FIELDS = ("bed", "friction")  # fields of `Setup`, of which a process has its rows


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
    """Complete set-up of a run, checked by the model; arrays are float64 on the host, with the rows of this process."""

    grid: Grid
    rows: LocalRows
    bed: np.ndarray  # (rows, nx) at centres, m above `level`; OUTSIDE on land
    segments: Sequence[FaceRange]
    friction: np.ndarray  # (rows, nx): g n^2, or g / C^2
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

    @cached_property
    def may_dry(self) -> bool:
        """True if a rule of the scheme checks for dry neighbours; all cells outside the domain are dry."""
        if self.dries is not None:
            return self.dries
        is_open = any(side.kind != WALL for side in sides_of(self.segments, self.level))
        is_open |= self.walls is not None
        rules = self.drying == "on" or self.dissipation == "froude" or self.viscosity > 0.0
        return any(self.rows.each(rules or is_open or bool((self.bed > LAND).any())))

    @property
    def face_dry_depth(self) -> float:
        """Depth below which a face is closed, m; 0 without drying."""
        return self.dry_depth if self.drying == "on" else 0.0

    @cached_property
    def bed_range(self) -> tuple[float, float]:
        """Minimum and maximum bed of the cells that are not land, m above `level`; 0 if all cells are land."""
        low, high = self.rows.extremes(self.bed, where=self.bed < LAND)
        return (low, high) if low <= high else (0.0, 0.0)

    @cached_property
    def friction_range(self) -> tuple[float, float]:
        """Minimum and maximum of the friction factor in the domain."""
        return self.rows.extremes(self.friction)

    @property
    def restart_references(self) -> dict[str, RestartReference]:
        """Reference data that the values of a state depend on."""
        land = self.bed >= LAND
        land_rows = RestartReference(
            "land fraction of rows", self.rows.row_means(land), "", "the land mask of the run that wrote the state"
        )
        bed = np.where(land, 0.0, self.bed + self.level)
        return {"land_rows": land_rows, **bed_references(*self.rows.means(bed))}

    def of_rows(self, low: int, high: int) -> Setup:
        """Return the set-up of rows low .. high - 1; its fields are zeros without memory in other processes."""
        grid = replace(self.grid, ny=high - low, y0=self.grid.y0 + low * self.grid.dy)
        return replace(
            self,
            grid=grid,
            rows=LocalRows.whole(grid),
            **{name: self.rows.take(getattr(self, name), low, high) for name in FIELDS},
            walls=None if self.walls is None else self.walls[low:high],
            terms=self.terms.rows(low, high, grid),
            segments=clip_segments(self.segments, self.grid.ny, low, high, low),
            dries=self.may_dry,
        )

    @property
    def series(self) -> list[Series]:
        """Series that drive the run: one per segment, then the factors of the terms.

        Elevations are relative to the level.
        """
        side_series = [side.series for side in sides_of(self.segments, self.level)]
        return side_series + self.terms.series
