"""Boundary conditions on the four sides of the domain, and the ranges of boundary faces with one condition each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from eagre.arguments import of_type, real_number
from eagre.boundaries.base import Condition, InitialWater
from eagre.boundaries.conditions.wall import Wall
from eagre.boundaries.internal import InternalLine
from eagre.errors import InputError
from eagre.grid import Grid

SIDES = ("west", "east", "south", "north")


@dataclass(frozen=True)
class BoundarySegment:
    """Boundary condition on a segment of a side.

    Parameters
    ----------
    start, stop : float, m
        Ends of the segment: y on the west and east sides, x on the south and north sides.
    condition : Condition
        Boundary condition of the segment.
    """

    start: float
    stop: float
    condition: Condition


@dataclass(frozen=True)
class FaceRange:
    """Contiguous boundary cells with one condition: cells first .. last - 1 of a side."""

    side: str
    first: int
    last: int
    condition: Condition
    width: float

    def initial_water(self, surface: np.ndarray, depth: np.ndarray, bed: np.ndarray, time: float) -> InitialWater:
        """Return the initial water along the range.

        surface, depth : (ny, nx), m. bed : corners, (ny + 1, nx + 1), m. The first two and last two rows or columns of
        the side are enough (`eagre.local_rows.Sides`).
        """
        row = {"west": 0, "south": 0, "east": -1, "north": -1}[self.side]
        if self.side in ("west", "east"):
            surface, depth, bed = surface.T, depth.T, bed.T
        outer = bed[row : row + 2] if row == 0 else bed[-2:]
        corners = outer[:, self.first : self.last + 1]
        cells = slice(self.first, self.last)
        return InitialWater(surface[row, cells], depth[row, cells], float(corners.min()), float(np.ptp(corners)), time)

    def deepest_arrival(self, bed: np.ndarray, gravity: float) -> float:
        """See `Condition.deepest_arrival`; bed : corners of the grid, (ny + 1, nx + 1), m."""
        edges = {"west": bed[:, 0], "east": bed[:, -1], "south": bed[0], "north": bed[-1]}
        lowest = float(edges[self.side][self.first : self.last + 1].min())
        return self.condition.deepest_arrival(self.width, lowest, gravity)


@dataclass(frozen=True)
class Boundaries:
    """Boundary conditions on the four sides of the domain. The default is walls.

    Parameters
    ----------
    west, east, south, north : Condition or sequence of BoundarySegment
        `Wall`, `Periodic`, `Stage`, `Discharge`, `Inflow`, `Outflow`, `NormalDepth` or `Absorbing`, or segments of the
        side with one condition each. Cells of the side outside all segments are walls. Discharges are positive into the
        domain on every side.
    internal : sequence of InternalLine or InternalArea
        Walls and discharges inside the domain.
    """

    west: Condition | Sequence[BoundarySegment] = field(default_factory=Wall)
    east: Condition | Sequence[BoundarySegment] = field(default_factory=Wall)
    south: Condition | Sequence[BoundarySegment] = field(default_factory=Wall)
    north: Condition | Sequence[BoundarySegment] = field(default_factory=Wall)
    internal: Sequence[InternalLine] = ()

    def __post_init__(self) -> None:
        for side in SIDES:
            _check_side(side, getattr(self, side))

    def segments(self, grid: Grid) -> list[FaceRange]:
        """Return the boundary cells of `grid` as ranges, side by side, each cell exactly once.

        Raises
        ------
        InputError
            If only one of two opposite sides is periodic, segments overlap or lie outside the side, or the grid is one
            cell wide between a wall and an open boundary: the mirror image at the wall requires a second cell.
        """
        for a, b in (("west", "east"), ("south", "north")):
            first, second = (getattr(getattr(self, side), "periodic", False) for side in (a, b))
            if first != second:
                raise InputError(
                    f"a periodic {a if first else b} side and a {b if first else a} side that is not periodic",
                    allowed="both sides periodic, or neither",
                    fix=f"{b if first else a} = Periodic()",
                    problem="A periodic side needs a periodic opposite side.",
                )
        segments = [segment for side in SIDES for segment in _side(side, getattr(self, side), grid)]
        for cells, sides, name in ((grid.nx, SIDES[:2], "nx"), (grid.ny, SIDES[2:], "ny")):
            kinds = {segment.condition.closed for segment in segments if segment.side in sides}
            if cells == 1 and len(kinds) > 1:
                raise InputError(
                    f"{name} = 1 between an open and a closed side ({' and '.join(sides)})",
                    allowed="both sides open or both closed, or two or more cells",
                    fix=f"{name} = 2",
                    problem="A grid that is one cell wide needs opposite sides that are both open or both closed.",
                )
        return segments

    def checked_segments(self, grid: Grid, gravity: float) -> list[FaceRange]:
        """Return `segments`; raise `InputError` if a condition rejects its segment (`Condition.check`)."""
        segments = self.segments(grid)
        for segment in segments:
            segment.condition.check(segment.side, segment.width, gravity)
        return segments

    @property
    def periodic(self) -> tuple[str, ...]:
        """Axes along which the domain is periodic."""
        sides = {"x": self.west, "y": self.south}
        return tuple(axis for axis, side in sides.items() if isinstance(side, Condition) and side.periodic)

    @property
    def closed(self) -> bool:
        """True if no water can cross the boundary: walls and periodic sides only."""
        return all(condition.closed for side in SIDES for condition in _conditions(getattr(self, side)))


def checked_boundaries(boundaries: Any) -> Boundaries:
    """Return `boundaries`, or walls for None.

    Raises
    ------
    InputError
        If `boundaries` is not an object of the class `Boundaries`.
    """
    if boundaries is None or isinstance(boundaries, Boundaries):
        return boundaries or Boundaries()
    raise InputError(
        f"boundaries = {boundaries!r}", allowed="Boundaries(west=..., east=..., south=..., north=...)",
        fix="Boundaries(west=Wall())", problem="The argument boundaries is not an object of the class Boundaries.",
    )  # fmt: skip


def _check_side(side: str, condition: Any) -> None:
    if isinstance(condition, Condition):
        return
    if (
        isinstance(condition, str)
        or not isinstance(condition, Sequence)
        or not all(isinstance(segment, BoundarySegment) for segment in condition)
    ):
        raise InputError(
            f"{side} = {condition!r}",
            allowed="a condition such as Wall(), or a list of BoundarySegment(start, stop, condition)",
            fix=f"{side} = Wall(), or {side} = [BoundarySegment(0.0, 100.0, Outflow())]",
            problem=f"The {side} side is neither a boundary condition nor a list of boundary segments.",
        )
    for segment in condition:
        of_type(f"condition of a segment of the {side} side", segment.condition, Condition, "Wall()")


def _conditions(condition: Condition | Sequence[BoundarySegment]) -> list[Condition]:
    return [condition] if isinstance(condition, Condition) else [segment.condition for segment in condition]


def cells_of(segment: BoundarySegment, size: float, origin: float) -> tuple[int, int]:
    """Return the first cell of a segment and the cell after its last; size, origin : of the cells along the side, m."""
    ends = [real_number(name, getattr(segment, name)) for name in ("start", "stop")]
    first, last = (round((end - origin) / size) if math.isfinite(end) else -1 for end in ends)
    return first, last


def _side(side: str, condition: Condition | Sequence[BoundarySegment], grid: Grid) -> list[FaceRange]:
    along_x = side in ("south", "north")
    cells, size, origin = (grid.nx, grid.dx, grid.x0) if along_x else (grid.ny, grid.dy, grid.y0)
    if isinstance(condition, Condition):
        return [FaceRange(side, 0, cells, condition, cells * size)]
    segments: list[FaceRange] = []
    reached = 0
    for segment in sorted(condition, key=lambda segment: segment.start):
        if segment.condition.periodic:
            raise InputError(
                f"a periodic segment of the {side} side", allowed="Periodic() on a whole side",
                problem="A boundary segment cannot be periodic.",
            )  # fmt: skip
        first, last = cells_of(segment, size, origin)
        if not (0 <= first < last <= cells):
            raise InputError(
                f"the segment {segment.start:.10g} m .. {segment.stop:.10g} m of the {side} side",
                allowed=f"start < stop within {origin:.10g} .. {origin + cells * size:.10g} m "
                f"({'x' if along_x else 'y'} of the domain), one cell ({size:g} m) or more",
                problem="A boundary segment is shorter than a cell or lies outside the domain.",
            )
        if first < reached:
            raise InputError(
                f"two segments of the {side} side with an overlap at {segment.start:.10g} m",
                allowed="segments without overlap", problem="Two boundary segments overlap.",
            )  # fmt: skip
        if first > reached:
            segments.append(FaceRange(side, reached, first, Wall(), (first - reached) * size))
        segments.append(FaceRange(side, first, last, segment.condition, (last - first) * size))
        reached = last
    if reached < cells:
        segments.append(FaceRange(side, reached, cells, Wall(), (cells - reached) * size))
    return segments
