"""Set-up of a run of the explicit shallow-water model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from eagre.boundaries import SIDES, FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.boundaries.ghosts import padded_bed
from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE
from eagre.grid import Grid, centre_bed
from eagre.models.shallow_water import kernels as cells
from eagre.models.shallow_water.datum import Datum
from eagre.restart_references import RestartReference, bed_references
from eagre.stepping.averages import StatisticsPlan
from eagre.stepping.maps import Maps
from eagre.stepping.substeps import STAGES
from eagre.terms.collect import Terms
from eagre.time_varying.series import Series

TREATMENTS: dict[str, dict[str, Any]] = {
    "hydrostatic": {
        "PRIMITIVE": cells.velocity_of_cell,
        "FACES": cells.hydrostatic_faces,
        "COVERED_FACES": cells.hydrostatic_wet_faces,
        "RESET": True,
        "OF_DISCHARGES": False,
    },
    "kurganov-petrova": {
        "PRIMITIVE": cells.discharge_of_cell,
        "FACES": cells.kurganov_petrova_faces,
        "COVERED_FACES": cells.kurganov_petrova_wet_faces,
        "RESET": False,
        "OF_DISCHARGES": True,
    },
}


@dataclass(frozen=True, eq=False)
class Setup:
    """Complete set-up of a run, checked by the model; arrays are float64 on the host."""

    grid: Grid
    bed: np.ndarray  # bed elevation at the corners, (ny + 1, nx + 1), m
    datum: Datum
    segments: Sequence[FaceRange]
    manning: np.ndarray  # (ny, nx), s m-1/3
    terms: Terms
    scheme: str
    wet_dry: str
    active_tiles: str  # "auto", "on" or "off"
    minmod_theta: float
    kappa: float
    gravity: float
    courant_number: float
    time_step_control: str
    longest_step: float
    first_step: float
    fixed: bool
    kernels: str = "fast"  # or "reference"
    walls: np.ndarray | None = None  # (ny, nx) bits of closed internal faces, `eagre.boundaries.internal`
    maps: Maps | None = None  # maps to accumulate
    time_statistics: StatisticsPlan | None = None
    cross_sections: CrossSections | None = None  # cross-sections for the discharge
    first_row: int = 0  # global index of local row 0
    live: float = 1.0  # fraction of cells that the first step can change; sets the rows per warp on a GPU
    predicted_fraction: float = 1.0  # time step of split schemes as a fraction of the limit of the previous step

    @property
    def split(self) -> int:
        """Number of stages that a split scheme advances at once, 0 for other schemes; see `eagre.stepping.substeps`."""
        return STAGES.get(self.scheme, 0)

    @cached_property
    def series(self) -> list[Series]:
        """Series that drive the run: one per segment, then the factors of the source terms.

        Elevations are relative to the datum.
        """
        boundary_series = []
        for segment in self.segments:
            prescribed = segment.condition.value(segment.width)
            lower = self.datum.level if segment.condition.gives_level else 0.0
            boundary_series.append(Series(prescribed.times, prescribed.values - lower, prescribed.name))
        return boundary_series + self.terms.series

    @property
    def restart_references(self) -> dict[str, RestartReference]:
        """Reference data that the values of a state depend on."""
        return bed_references(self.bed)

    @property
    def uniform_manning(self) -> bool:
        """True if Manning's n is uniform."""
        return bool((self.manning == self.manning.flat[0]).all())

    @property
    def faced(self) -> Sequence[FaceRange]:
        """Segments with boundary faces of this subdomain; `segments` can include halo rows of other subdomains."""
        return self.segments

    def padded_bed(self) -> np.ndarray:
        """Return the bed above the datum at the corners with a margin of two, (ny + 5, nx + 5), m."""
        return padded_bed(self.bed - self.datum.level, *self.periodic, self.segments)

    @cached_property
    def centre_bed(self) -> np.ndarray:
        """Bed of the cells above the datum, (ny, nx), m, bitwise identical to the bed on the device."""
        corners = self.bed - self.datum.level
        return centre_bed(corners.astype(np.float32) if self.datum.over_base else corners).astype(np.float64)

    @cached_property
    def dry_eta(self) -> np.ndarray:
        """eta of dry cells, (ny, nx), m."""
        return self.centre_bed - self.datum.base(self.centre_bed)

    def surface_of(self, eta: np.ndarray) -> np.ndarray:
        """Return the surface elevation of the interior cells, (ny, nx), m."""
        return self.datum.surface(eta.astype(np.float64), self.centre_bed)

    def padded_walls(self) -> np.ndarray:
        """Return the closed faces, as bits, in the layout of the cells with ghosts, (ny + 5, nx + 5).

        Ghosts copy the cells that they mirror or repeat. Faces on the boundary are closed by their condition.
        """
        assert self.walls is not None
        padded = np.zeros((self.grid.ny + 5, self.grid.nx + 5), np.uint8)
        periodic_x, periodic_y = self.periodic
        for bit, faces, is_periodic in ((SOUTH_FACE, padded, periodic_y), (WEST_FACE, padded.T, periodic_x)):
            closed = self.walls & bit if faces is padded else (self.walls & bit).T
            n = closed.shape[0]
            for k in range(-2, n + 3):
                inner = k % n if is_periodic else (k if 0 <= k <= n else -k if k < 0 else 2 * n - k)
                if 0 < inner < n:
                    faces[k + 2, 2 : 2 + closed.shape[1]] |= closed[inner]
        return padded

    def sides_at(self, time: float) -> np.ndarray:
        """Return side, cells, kind, level and value per segment: the data that the ghosts at `time`, s, depend on."""
        kinds = [crc32(type(s.condition).__name__.encode()) for s in self.segments]
        ranges = [(SIDES.index(s.side), s.first, s.last) for s in self.segments]
        rows = [(*p, k, s.condition.still_level()) for p, k, s in zip(ranges, kinds, self.segments, strict=True)]
        values = self.values_at(time)[: len(rows)]
        return np.array([(*row, value) for row, value in zip(rows, values, strict=True)], np.float64)

    @property
    def varies(self) -> bool:
        """True if any series changes with time."""
        return any(not series.is_constant for series in self.series)

    @property
    def array_count(self) -> int:
        """Number of device arrays of the size of the grid: three states of three fields, bed, friction, terms."""
        terms = sum(self.terms.maps(role) for role in ("water", "x", "y"))
        return 10 + (not self.uniform_manning) + terms

    @property
    def closed(self) -> bool:
        """True if no water crosses any side."""
        return all(segment.condition.closed for segment in self.segments)

    @property
    def has_parts(self) -> bool:
        """True if a side has walls and other conditions."""
        kinds = {(segment.side, segment.condition.closed) for segment in self.segments}
        return len(kinds) > len({side for side, _ in kinds})

    @property
    def periodic(self) -> tuple[bool, bool]:
        """Periodicity of the domain in x and in y."""
        west, south = (any(s.condition.periodic for s in self.segments if s.side == side) for side in ("west", "south"))
        return west, south

    def values_at(self, time: float) -> np.ndarray:
        """Return the values of all series at a time, s."""
        return np.array([series(time) for series in self.series])

    def parameters(self, real: Any) -> cells.Parameters:
        """Return the parameters of the kernels in the precision of the run."""
        uniform = float(self.gravity * self.manning.flat[0] ** 2) if self.uniform_manning else 0.0
        numbers = (
            0.5 * self.minmod_theta, 0.5 / self.minmod_theta, self.kappa, self.kappa**4, 1e-3 * self.kappa,
            self.gravity, 1.0 / self.grid.dx, 1.0 / self.grid.dy, uniform, self.first_row,
        )  # fmt: skip
        return cells.Parameters._make(map(real, numbers))
