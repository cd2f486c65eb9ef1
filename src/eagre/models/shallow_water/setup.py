"""Set-up of a run of the explicit shallow-water model, and the limits of its time step and of thin water."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from eagre.boundaries import SIDES, FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.boundaries.ghosts import check_periodic_bed, padded_bed
from eagre.boundaries.internal import SOUTH_FACE, WEST_FACE
from eagre.checks import DEVICE_WORDS, check_memory
from eagre.errors import InputError
from eagre.grid import Grid, centre_bed
from eagre.local_rows import LocalRows, Sides
from eagre.models.restart_state import RestartReference, bed_references
from eagre.models.shallow_water import kernels as cells
from eagre.models.shallow_water.datum import Datum
from eagre.models.shallow_water.options import MIN_KAPPA, UNBOUNDED, Numerics
from eagre.stepping.averages import StatisticsPlan, statistics_array_count
from eagre.stepping.maps import Maps, planes_of
from eagre.stepping.substeps import STAGES
from eagre.terms.collect import ROLES, Terms
from eagre.terms.infiltration import soil_array_count
from eagre.time_varying.series import Series

TO_EVERY_CELL = ("srk2", *STAGES)  # schemes without active-tile lists
WORK_STATE = ("srk2", "ds2")  # schemes with a fourth state on the device


def longest_step_with_water_to_come(
    terms: Terms, segments: Sequence[FaceRange], grid: Grid, bed: Sides, gravity: float
) -> float:
    """Return the limit of the time step for rain and for water from boundary series, s; bed : corners, m."""
    arrivals = longest_step_with_arrivals(segments, grid, bed, gravity)
    return min(longest_step_with_rain(terms, grid, gravity), arrivals)


class Steps(NamedTuple):
    """Maximum time step and maximum first step, s, and whether the time step is fixed."""

    longest_step: float
    first_step: float
    fixed: bool


def steps_of(longest: float | None, fixed: float | None, coming: float, first: Callable[[], float]) -> Steps:
    """Return the limits of the time step, s.

    longest, fixed : options of the user. coming : limit for water that arrives later. first : returns the limit of the
    first adaptive step.
    """
    if fixed is not None:
        return Steps(fixed, fixed, True)
    step = min(longest or UNBOUNDED, coming)
    return Steps(step, min(step, first()), False)


def longest_step_with_arrivals(segments: Sequence[FaceRange], grid: Grid, bed: Sides, gravity: float) -> float:
    """Return the limit for water that boundary series bring to dry cells, s.

    The limit is dx / (4 sqrt(g h)) with the maximum depth h of that water.
    """
    deepest = max(segment.deepest_arrival(bed.of(segment.side), gravity) for segment in segments)
    return 0.25 * min(grid.dx, grid.dy) / math.sqrt(gravity * deepest) if deepest > 0.0 else UNBOUNDED


def longest_step_with_rain(terms: Terms, grid: Grid, gravity: float) -> float:
    """Return the limit for rain on dry cells, where no wave limits the time step.

    The thin layer of one step obeys the limit of waves: h = R dt and sqrt(g h) dt <= dx / 4 give
    dt = (dx / 4)^(2/3) (g R)^(-1/3).
    """
    if terms.wettest <= 0.0:
        return UNBOUNDED
    return (0.25 * min(grid.dx, grid.dy)) ** (2.0 / 3.0) / (gravity * terms.wettest) ** (1.0 / 3.0)


def desingularisation_depth_of(value: float | None, scale: float, wet_dry: str) -> float:
    """Return the desingularisation depth, m; the default is a fraction of the maximum initial depth, `scale`, m."""
    if value is not None:
        return value
    if wet_dry == "hydrostatic":
        return max(MIN_KAPPA, 1e-4 * min(1.0, scale)) if scale > 0 else 1e-4
    return max(MIN_KAPPA, min(0.01, 0.01 * scale)) if scale > 0 else 1e-3


def consistent(options: Mapping[str, Any], kernels: str) -> dict[str, Any]:
    """Return the options of a run as they are used; raise `InputError` for options that exclude each other."""
    scheme, split = options["scheme"], options["scheme"] in STAGES
    if split and options["time_step_control"] == "exact":
        raise InputError(
            f'time_step_control = "exact" with scheme = "{scheme}"',
            allowed='time_step_control = "predicted" with "ds1" and "ds2"',
            fix='time_step_control = "predicted"',
            problem='time_step_control = "exact" is not supported by the split schemes: the limit of the second sweep '
            "is unknown at the start of the step.",
        )
    tiles = checked_active_tiles(options["active_tiles"], options["wet_dry"], kernels, scheme)
    return {**options, "active_tiles": tiles, "predicted_fraction": options["predicted_fraction"] if split else 1.0}


def checked_active_tiles(requested: str, wet_dry: str, kernels: str, scheme: str) -> str:
    """Return "auto", "on" or "off": the option, or "off" where skipping dry tiles would not be exact.

    The reference kernels compute all cells.
    """
    exact, plain = wet_dry == "hydrostatic", kernels == "reference"
    if requested == "on" and not exact:
        raise InputError(
            f'active_tiles = "on" with wet_dry = "{wet_dry}"',
            allowed='active_tiles = "on" with wet_dry = "hydrostatic"',
            fix='active_tiles = "auto"',
            problem="Dry tiles cannot be skipped: this wetting-and-drying scheme has fluxes between dry cells.",
        )
    if requested == "on" and plain:
        raise InputError(
            'active_tiles = "on" with kernels = "reference"',
            allowed='active_tiles = "auto" or "off" with kernels = "reference"',
            fix='active_tiles = "auto"',
            problem="Dry tiles cannot be skipped: the reference kernels compute all cells.",
        )
    if requested == "on" and scheme in TO_EVERY_CELL:
        raise InputError(
            f'active_tiles = "on" with scheme = "{scheme}"',
            allowed='active_tiles = "on" with scheme = "rk2" or "euler"',
            fix='active_tiles = "auto"',
            problem="Dry tiles cannot be skipped in every step: this scheme computes all cells.",
        )
    return requested if exact and not plain else "off"


def check_device_memory(
    rows: LocalRows,
    device: Any,
    precision: str,
    scheme: str,
    maps: Maps | None,
    time_statistics: StatisticsPlan | None,
    terms: Terms,
) -> None:
    """Raise `MemoryNeededError` if the arrays do not fit the devices, or their input does not fit the host."""
    forced = terms.record_maps(device.kind) + sum(terms.maps(role) for role in ROLES)
    arrays = planes_of(maps) + statistics_array_count(time_statistics, precision) + 3 * (scheme in WORK_STATE)
    arrays += soil_array_count(terms, precision, 2)
    check_memory(rows.held_grid, device, precision, DEVICE_WORDS + forced + arrays)


def requested_outputs(
    maps: Maps | None, time_statistics: StatisticsPlan | None, lines: Mapping[str, Any] | None, grid: Grid
) -> dict[str, Any]:
    """Return the maps, time statistics and cross-sections of a set-up."""
    return {
        "maps": maps,
        "time_statistics": time_statistics,
        "cross_sections": CrossSections(lines, grid) if lines else None,
    }


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
class Setup(Numerics):
    """Complete set-up of a run, checked by the model; arrays are float64 on the host, with the rows of this process."""

    grid: Grid
    rows: LocalRows
    bed: np.ndarray  # bed elevation at the corners, (rows + 1, nx + 1), m
    datum: Datum
    segments: Sequence[FaceRange]
    manning: np.ndarray  # (rows, nx), s m-1/3
    terms: Terms
    kappa: float
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
        return bed_references(*self._bed_means)

    @cached_property
    def bed_sides(self) -> Sides:
        """Bed at the corners along the sides of the domain, m."""
        return self.rows.sides(self.bed)

    def check_periodic_bed(self) -> None:
        """Raise `InputError` if the bed elevations of two periodic sides differ."""
        if any(self.periodic):
            low, high = self.rows.extremes(self.bed)
            check_periodic_bed(self.bed_sides, high - low, *self.periodic)

    @property
    def exclusive_corners(self) -> np.ndarray:
        """Bed at the corners that this subdomain has before the next one, m."""
        return self.bed if self.first_row + self.grid.ny == self.rows.grid.ny else self.bed[:-1]

    @cached_property
    def _bed_means(self) -> tuple[np.ndarray, np.ndarray]:
        return self.rows.means(self.bed)

    @cached_property
    def manning_range(self) -> tuple[float, float]:
        """Minimum and maximum of Manning's n in the domain, s m-1/3."""
        return self.rows.extremes(self.manning)

    @property
    def uniform_manning(self) -> bool:
        """True if Manning's n is uniform."""
        return self.manning_range[0] == self.manning_range[1]

    @property
    def faced(self) -> Sequence[FaceRange]:
        """Segments with boundary faces of this subdomain; `segments` can include halo rows of other subdomains."""
        return self.segments

    def padded_bed(self) -> np.ndarray:
        """Return the bed above the datum at the corners with a margin of two, (ny + 5, nx + 5), m."""
        return padded_bed(self.bed - self.datum.level, *self.periodic, self.segments)

    @cached_property
    def centre_bed(self) -> np.ndarray:
        """Bed of the cells above the datum, (rows, nx), m, bitwise identical to the bed on the device."""
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
        """Number of device arrays of the size of the grid: three or four states, bed, friction, terms."""
        terms = sum(self.terms.maps(role) for role in ROLES) + soil_array_count(self.terms, "single", 2)
        return 10 + 3 * (self.scheme in WORK_STATE) + (not self.uniform_manning) + terms

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
        uniform = float(self.gravity * self.manning_range[0] ** 2) if self.uniform_manning else 0.0
        numbers = (
            0.5 * self.minmod_theta, 0.5 / self.minmod_theta, self.kappa, self.kappa**4, 1e-3 * self.kappa,
            self.gravity, 1.0 / self.grid.dx, 1.0 / self.grid.dy, uniform, self.first_row,
        )  # fmt: skip
        return cells.Parameters._make(map(real, numbers))
