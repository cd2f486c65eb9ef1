"""Lines through which the discharge of a run is summed: face by face along the cells, with a sign."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.boundaries.internal import passed_faces
from eagre.errors import InputError
from eagre.fields import Variable
from eagre.grid import Grid

VARIABLES = (
    Variable(
        "discharge", "m3 s-1", "discharge through the cross-section, positive to its right, mean since the last record",
        "water_volume_transport_in_river_channel", cell_methods="time: mean",
    ),
    Variable(
        "volume", "m3", "water volume through the cross-section since the start of the run, positive to its right",
        cell_methods="time: sum",
    ),
)  # fmt: skip


class CrossSections:
    """Lines of a run, as faces between cells.

    Positive is what goes to the right of someone who walks from the first point to the last: through a ring of
    points against the clock, outwards.

    Parameters
    ----------
    given : mapping of str to sequence of (x, y)
        Points of each line, m, two or more inside the domain. A face counts if the line passes between the centres of
        its cells; a line that passes it there and back counts it not at all.
    grid : Grid

    Attributes
    ----------
    names : list of str
    faces : (faces, 4) array of int
        j and i of the cell to the east or north of a face, 1 for a face in x or 2 in y, and the sign of a flow to the
        right.
    lengths : (faces,) array, m
    held : (faces,) array of int
        Where they stand among the faces of the whole domain.

    Raises
    ------
    InputError
        For points outside the domain, or a line that passes no face.
    """

    def __init__(self, given: Mapping[str, Sequence[Any]], grid: Grid) -> None:
        self.names, self.points = list(given), [_checked(name, points, grid) for name, points in given.items()]
        each = []
        for name, points in zip(self.names, self.points, strict=True):
            faces = _faces(points, grid)
            if not len(faces):
                raise InputError(
                    f"the cross-section {name}",
                    allowed=f"a line longer than a cell ({grid.dx:g} x {grid.dy:g} m), not along a side of the domain",
                    fix=_across(name, grid),
                    problem="The cross-section crosses no cell face: it passes between no two cell centres.",
                )
            each.append(faces)
        self.faces = np.concatenate(each)
        self.lengths = np.where(self.faces[:, 2] == 1, grid.dy, grid.dx)
        self.held = np.arange(len(self.faces))
        self._starts = np.append(0, np.cumsum([len(faces) for faces in each]))[:-1]

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sums over the faces of each line."""
        return np.add.reduceat(values, self._starts)

    def part(self, first: int, last: int, origin: int) -> CrossSections:
        """The faces of cells in rows first .. last - 1, numbered from row `origin` on, as a band has them; no sums."""
        found = copy(self)
        found.held = np.flatnonzero((self.faces[:, 0] >= first) & (self.faces[:, 0] < last))
        found.faces, found.lengths = self.faces[found.held] - (origin, 0, 0, 0), self.lengths[found.held]
        return found


def _across(name: str, grid: Grid) -> str:
    """A line to write, through the middle of the domain from its south to its north."""
    x, (_, _, south, north) = grid.x[grid.nx // 2], grid.extent
    return f"{name} = [[{x:.10g}, {south:.10g}], [{x:.10g}, {north:.10g}]]"


def _checked(name: str, points: Any, grid: Grid) -> np.ndarray:
    """Points of a line, (n, 2)."""
    fix = _across(name, grid)
    try:
        array = np.array(points, np.float64)
    except (TypeError, ValueError):
        array = np.zeros(0)
    if array.ndim != 2 or array.shape[1:] != (2,) or len(array) < 2 or not np.isfinite(array).all():
        raise InputError(
            f"{name} = {points!r}", allowed="two or more points [x, y], m", fix=fix,
            problem=f"The cross-section {name} is not a list of points.",
        )  # fmt: skip
    for x, y in zip(array[:, 0], array[:, 1], strict=True):
        try:
            grid.cell_of(float(x), float(y))
        except InputError as error:
            raise InputError(
                f"{error.what} of the cross-section {name}", allowed=error.allowed, fix=fix, problem=error.problem
            ) from None
    return array


def _faces(points: np.ndarray, grid: Grid) -> np.ndarray:
    """Faces that a line passes, (n, 4); see `CrossSections`."""
    signs = np.zeros((2, *grid.shape), np.int64)
    for rows, columns, left, west, south in passed_faces(points, grid):
        part = signs[:, rows, columns]
        part[0, :, 1:] += west * np.where(left[:, :-1], 1, -1)
        part[1, 1:] += south * np.where(left[:-1], 1, -1)
    found = [np.column_stack([*np.nonzero(one), np.full(np.count_nonzero(one), across), one[one != 0]])
             for across, one in enumerate(signs, 1)]  # fmt: skip
    return np.concatenate(found).astype(np.int64)


class CrossSectionBook:
    """The book of what goes through the lines of a run, on its device, a row a face; nothing without lines.

    Models derive from it, and say what a row is and when it is booked.

    Parameters
    ----------
    lines : CrossSections or None
    device : Device
    table : (faces, 4) array of int
        Of the faces, as the model's book has it.
    columns : tuple of int
        Of a row.
    """

    def __init__(
        self, lines: CrossSections | None, device: Device, table: np.ndarray, columns: tuple[int, ...] = ()
    ) -> None:
        self.device, self.lines, self.table = device, lines, table
        self.faces = device.array(table)
        self.book = device.zeros((max(1, len(table)), *columns), np.float64)

    def join(self, parts: Sequence[CrossSectionBook]) -> None:
        """Take what the books of bands have of their faces."""
        if self.lines is not None:
            rows = np.zeros(self.book.shape)
            for part in parts:
                assert part.lines is not None
                rows[part.lines.held] = part.device.host(part.book)[: len(part.table)]
            self.device.fill(self.book, rows)

    def cut(self, state: Mapping[str, np.ndarray], part: CrossSectionBook) -> dict[str, np.ndarray]:
        """What a state has of the faces of a part; nothing where it has other lines."""
        if part.lines is None or not self.goes_on(state):
            return {"cross_sections_faces": np.zeros(0)}
        return {"cross_sections": state["cross_sections"][part.lines.held], "cross_sections_faces": part.table}

    def state(self) -> dict[str, np.ndarray]:
        """The book and its faces, for a restart."""
        if self.lines is None:
            return {}
        return {"cross_sections": self.device.host(self.book), "cross_sections_faces": self.table}

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Whether the book of a state is one of the same faces."""
        return len(self.table) > 0 and np.array_equal(state.get("cross_sections_faces", np.zeros(0)), self.table)


class CrossSectionSeries:
    """What a run gives of its lines over time; `names`, `coordinates`, `variables` and `sample` serve a file.

    Parameters
    ----------
    lines : CrossSections
    present : callable
        Gives the time, s, and what went through each line since the start, m3.
    """

    variables: Sequence[Variable] = VARIABLES

    def __init__(self, lines: CrossSections, present: Callable[[], tuple[float, np.ndarray]]) -> None:
        self.names, self._present = lines.names, present
        middle = [0.5 * (points[0] + points[-1]) for points in lines.points]
        paths = ["LINESTRING (" + ", ".join(f"{x:.10g} {y:.10g}" for x, y in points) + ")" for points in lines.points]
        self.coordinates: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
            **{
                axis: (
                    np.array([point[k] for point in middle]),
                    {
                        "standard_name": f"projection_{axis}_coordinate",
                        "long_name": f"{axis} of the midpoint between the ends of the cross-section",
                        "units": "m",
                    },
                )
                for k, axis in enumerate("xy")
            },
            "path": (
                np.array(paths, dtype=object),
                {"long_name": "points of the cross-section; flow to its right is positive"},
            ),
        }
        self._last = np.full(1 + len(self.names), np.nan)

    def volumes(self) -> dict[str, float]:
        """What went to the right of each line since the start, m3."""
        return dict(zip(self.names, self._present()[1].tolist(), strict=True))

    def sample(self) -> dict[str, np.ndarray]:
        """Mean discharges since the call before, not numbers in the first, and volumes since the start, (lines,)."""
        time, volumes = self._present()
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (volumes - self._last[1:]) / (time - self._last[0])
        self._last = np.append(time, volumes)
        return {"discharge": mean, "volume": volumes}

    def state(self) -> dict[str, np.ndarray]:
        """Time and volumes of the last call, for a restart."""
        return {"cross_sections_last": self._last}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from a state, if it has these lines."""
        last = state.get("cross_sections_last")
        self._last = np.array(last) if last is not None and last.shape == self._last.shape else self._last * np.nan
