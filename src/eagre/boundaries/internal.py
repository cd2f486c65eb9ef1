"""Conditions along lines and in areas inside the domain: walls that close faces, and discharges into cells.

A line closes a face if it separates the centres of the two adjacent cells. The closed faces form a staircase that no
path between adjacent cells crosses, without gaps, for any cell size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from eagre.arguments import of_type
from eagre.backend.compilation.cells import cell
from eagre.boundaries.base import Condition
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.terms.base import Quantity
from eagre.terms.collect import Contribution, Terms

WEST_FACE, SOUTH_FACE = 1, 2  # bits of a map of closed faces: west and south face of a cell


@cell
def poured(rate):
    """Discharge into a cell per area, m s-1: dh/dt = Q(t) / area, without momentum."""
    return rate


@dataclass(frozen=True)
class InternalLine:
    """Condition along a line inside the domain, or at a point.

    Parameters
    ----------
    points : sequence of (x, y), m
        Vertices of the line; a single vertex is a point. The line is closed if its last vertex equals its first.
    condition : Wall or Discharge
        A wall closes the faces that the line separates, for any water level. A discharge, 0 or more, enters the cells
        that the line crosses, distributed evenly along its length.
    name : str, optional
        Name in the water balance. The default is "internal 1", "internal 2" and so on.
    """

    points: Sequence[Sequence[float]]
    condition: Condition
    name: str = ""


@dataclass(frozen=True)
class InternalArea(InternalLine):
    """Condition in a polygon inside the domain.

    A wall closes the outline of the polygon. A discharge enters all cells whose centres are inside. The parameters are
    those of `InternalLine`, with three or more points.
    """


def check_inside(internal: Any, grid: Grid) -> list[tuple[str, np.ndarray, InternalLine]]:
    """Return the name and the points, (n, 2), of all lines and areas.

    Raises
    ------
    InputError
        If an object is not a line or area, a condition is not supported inside the domain, or a point is outside the
        domain.
    """
    if not isinstance(internal, Iterable) or not all(isinstance(one, InternalLine) for one in internal):
        raise InputError(
            f"internal = {internal!r}",
            allowed="a list of InternalLine(points, condition) and InternalArea(points, condition)",
            fix="internal = [InternalLine([(100.0, 0.0), (100.0, 250.0)], Wall())]",
            problem="The argument internal is not a list of internal lines and areas.",
        )  # fmt: skip
    names = [one.name or f"internal {k}" for k, one in enumerate(internal, 1)]
    for name, one in zip(names, internal, strict=True):
        of_type(f"condition of {name}", one.condition, Condition, "Wall()")
    lines = [(name, _points(one, name, grid), one) for name, one in zip(names, internal, strict=True)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"two internal lines or areas with the name {twice!r}", allowed="a unique name for each",
            problem="The names of internal lines and areas are not unique.",
        )  # fmt: skip
    for name, _, line in lines:
        if not is_wall(line) and not line.condition.may_be_inside:
            raise InputError(
                f"{type(line.condition).__name__} on {name}", allowed="Wall() or Discharge(..) inside the domain",
                problem="This condition is not supported inside the domain.",
            )  # fmt: skip
    return lines


def is_wall(line: InternalLine) -> bool:
    """Return whether a line closes faces."""
    return line.condition.closed and not line.condition.periodic


def _points(line: InternalLine, name: str, grid: Grid) -> np.ndarray:
    """Return the points of a line; an area repeats its first point at the end."""
    min_points = 3 if isinstance(line, InternalArea) else 2 if is_wall(line) else 1
    try:
        points = np.asarray(line.points, np.float64)
    except (TypeError, ValueError, OverflowError):
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1:] != (2,) or len(points) < min_points or not np.isfinite(points).all():
        raise InputError(
            f"points = {line.points!r} of {name}", allowed=f"{min_points} or more pairs (x, y), metres",
            fix="points = [[100.0, 0.0], [100.0, 250.0], [180.0, 250.0]]",
            problem=f"The points of {name} are not a list of {min_points} or more finite pairs.",
        )  # fmt: skip
    west, east, south, north = grid.extent
    for x, y in zip(points[:, 0], points[:, 1], strict=True):
        if not (west <= x <= east and south <= y <= north):
            raise InputError(
                f"the point ({x:.10g}, {y:.10g}) of {name}",
                allowed=f"x in [{west:.10g}, {east:.10g}], y in [{south:.10g}, {north:.10g}] (the domain)",
                problem="A point of an internal line or area lies outside the domain.",
            )
    return np.concatenate([points, points[:1]]) if isinstance(line, InternalArea) else points


# -- walls ------------------------------------------------------------------------------------------


def closed_faces(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the faces that a line through `points`, (n, 2), closes: (ny, nx) bits WEST_FACE and SOUTH_FACE.

    A face is closed if the line passes between the centres of its cells: the centres are on different sides of a
    straight section of the line, and the ends of the section are on different sides of the line through both centres. A
    line through a centre counts as slightly further east and less further north. So each face is either crossed or not,
    and closed lines have no gaps.
    """
    closed = np.zeros(grid.shape, np.uint8)
    for rows, columns, _, west, south in passed_faces(points, grid):
        faces = closed[rows, columns]
        faces[:, 1:] |= np.where(west, WEST_FACE, 0).astype(np.uint8)
        faces[1:] |= np.where(south, SOUTH_FACE, 0).astype(np.uint8)
    return closed


Passed = tuple[slice, slice, np.ndarray, np.ndarray, np.ndarray]


def passed_faces(points: np.ndarray, grid: Grid) -> Iterator[Passed]:
    """Yield the faces that each straight section of a line crosses; see `closed_faces`.

    Yields the rows and columns near the section, whether each of their cells is left of it, and whether the section
    crosses each face in x and in y, except the first.
    """
    for (x_a, y_a), (x_b, y_b) in pairwise(points):
        columns = _near(x_a, x_b, grid.x0, grid.dx, grid.nx)
        rows = _near(y_a, y_b, grid.y0, grid.dy, grid.ny)
        x, y = grid.x[columns], grid.y[rows][:, None]
        cross_product = (x_b - x_a) * (y - y_a) - (y_b - y_a) * (x - x_a)
        left = (cross_product > 0.0) | ((cross_product == 0.0) & (y_b > y_a or (y_b == y_a and x_b < x_a)))
        west = (left[:, 1:] != left[:, :-1]) & ((y_a < y) != (y_b < y))
        south = (left[1:] != left[:-1]) & ((x_a < x) != (x_b < x))
        yield rows, columns, left, west, south


def _near(a: float, b: float, origin: float, size: float, cells: int) -> slice:
    """Return the cells along an axis whose centres a section from a to b can separate."""
    low = math.floor((min(a, b) - origin) / size) - 1
    return slice(max(low, 0), min(math.floor((max(a, b) - origin) / size) + 2, cells))


def walls_inside(internal: Sequence[InternalLine], grid: Grid) -> np.ndarray | None:
    """Return the faces that internal walls close, (ny, nx) bits, or None without internal walls.

    Raises
    ------
    InputError
        If a wall closes no face.
    """
    closed = None
    for name, points, line in check_inside(internal, grid):
        if not is_wall(line):
            continue
        faces = closed_faces(points, grid)
        if not faces.any():
            raise InputError(
                f"the wall {name}",
                allowed=f"a line that is longer than a cell ({grid.dx:g} x {grid.dy:g} m), inside the domain",
                problem="The wall closes no cell face: it passes between no two cell centres.",
            )
        closed = faces if closed is None else closed | faces
    return closed


def check_open_sides(closed: np.ndarray, segments: Sequence[Any]) -> None:
    """Raise `InputError` if a wall runs along an open boundary at a distance of one cell.

    The boundary requires two cells.
    """
    high = {"west": (slice(None), 1), "east": (slice(None), -1), "south": (1, slice(None)), "north": (-1, slice(None))}
    for segment in segments:
        across_x = segment.side in ("west", "east")
        if segment.condition.closed or closed.shape[1 if across_x else 0] < 2:
            continue
        faces = closed[high[segment.side]] & (WEST_FACE if across_x else SOUTH_FACE)
        if faces[segment.first : segment.last].any():
            raise InputError(
                f"an internal wall along the {segment.side} side, one cell from an open segment",
                allowed="two cells between an internal wall and an open boundary",
                problem="An internal wall is too close to an open boundary.",
            )


def wall_settings(closed: np.ndarray | None) -> dict[str, int]:
    """Return the entry of the model settings: number of cells with a closed west or south face."""
    return {} if closed is None else {"walls_inside": int((closed != 0).sum())}


# -- water ------------------------------------------------------------------------------------------


def length_in_cells(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Return the length of a line in each cell of the domain, (ny, nx), m; 1 in the cell of a point."""
    length, (west, east, south, north) = np.zeros(grid.shape), grid.extent
    if len(points) == 1 or (points == points[0]).all():
        length[grid.cell_of(*points[0])] = 1.0
        return length
    for a, b in pairwise(points):
        crossings = [np.array([0.0, 1.0])]
        for axis, edges in ((0, grid.x_corner), (1, grid.y_corner)):
            if a[axis] != b[axis]:
                crossings.append((edges - a[axis]) / (b[axis] - a[axis]))
        t = np.unique(np.clip(np.concatenate(crossings), 0.0, 1.0))
        midpoints = a + (0.5 * (t[1:] + t[:-1]))[:, None] * (b - a)
        held = (midpoints >= (west, south)).all(1) & (midpoints <= (east, north)).all(1)
        t, midpoints = (t[1:] - t[:-1])[held], midpoints[held]
        i = np.clip(((midpoints[:, 0] - grid.x0) / grid.dx).astype(int), 0, grid.nx - 1)
        j = np.clip(((midpoints[:, 1] - grid.y0) / grid.dy).astype(int), 0, grid.ny - 1)
        np.add.at(length, (j, i), t * math.hypot(*(b - a)))
    return length


def cells_in_area(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Return 1 for each cell with its centre in the polygon, (ny, nx), by counting the polygon edges to the west."""
    x, y = grid.mesh()
    inside = np.zeros(grid.shape, bool)
    for (x_a, y_a), (x_b, y_b) in pairwise(points):
        if y_a != y_b:
            inside ^= ((y_a < y) != (y_b < y)) & (x_a + (y - y_a) * ((x_b - x_a) / (y_b - y_a)) < x)
    return inside.astype(float)


def placed_inside(
    internal: Sequence[InternalLine], segments: Sequence[Any], terms: Terms, land: np.ndarray | None = None
) -> tuple[Terms, np.ndarray | None]:
    """Return the source terms with all internal discharges, and the closed faces (`with_poured`, `walls_inside`)."""
    walls = walls_inside(internal, terms.grid)
    if walls is not None:
        check_open_sides(walls, segments)
    return with_poured(terms, internal, land), walls


def with_poured(terms: Terms, internal: Sequence[InternalLine], land: np.ndarray | None = None) -> Terms:
    """Return the source terms of a run with the internal discharges; land : (ny, nx), cells without water.

    Raises
    ------
    InputError
        If a discharge is negative, or all of its cells are land.
    """
    grid, contributions = terms.grid, []
    for name, points, line in check_inside(internal, grid):
        series = line.condition.prescribed_discharge()
        if is_wall(line) or series is None:
            continue
        if (series.values < 0.0).any():
            raise InputError(
                f"a discharge of {series.values.min():g} m3/s on {name}",
                allowed="0 or more inside the domain",
                problem="A discharge inside the domain is negative; the model cannot remove water from cells.",
            )
        weights = cells_in_area(points, grid) if isinstance(line, InternalArea) else length_in_cells(points, grid)
        weights = weights if land is None else np.where(land, 0.0, weights)
        if weights.sum() == 0.0:
            what = "only land cells" if land is not None else "no cell centre"
            raise InputError(
                f"{name} with {what} inside", allowed="an area with at least one cell that is not land",
                problem="A discharge inside the domain has no cells.",
            )  # fmt: skip
        rate = Quantity.of(weights / (weights.sum() * grid.cell_area), series)
        contributions.append(Contribution("Poured", poured, (rate,), name))
    return replace(terms, water=(*terms.water, *contributions)) if contributions else terms
