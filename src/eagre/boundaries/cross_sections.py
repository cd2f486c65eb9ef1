"""Cross-sections: the discharge of a run through lines, summed over cell faces with a sign."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from eagre.arguments import of_type
from eagre.backend.device import Device
from eagre.boundaries.internal import passed_faces
from eagre.errors import InputError
from eagre.fields import TIME_BOUNDS, Variable, time_bounds
from eagre.grid import Grid

VARIABLES = (
    Variable(
        "discharge", "m3 s-1", "discharge through the cross-section, positive to its right, mean since the last record",
        "water_volume_transport_in_river_channel", cell_methods="time: mean",
    ),
    Variable(
        "volume", "m3", "water volume through the cross-section since the start of the run, positive to its right",
        cell_methods="time: sum (comment: since the start of the run)",
    ),
)  # fmt: skip


class CrossSections:
    """Cross-sections of a run as sets of cell faces.

    Flow to the right of the line is positive, in the direction from the first point to the last. Outflow through a
    closed line with counterclockwise points is positive.

    Parameters
    ----------
    vertices : mapping of str to sequence of (x, y)
        Points of each line, m, two or more inside the domain. A face counts if the line passes between the centres of
        its cells. A line that crosses a face forwards and backwards does not include it.
    grid : Grid

    Attributes
    ----------
    names : list of str
        Names of the cross-sections.
    faces : (faces, 4) array of int
        j and i of the cell to the east or north of a face, 1 for a face in x or 2 in y, and the sign of flow to the
        right.
    lengths : (faces,) array, m
        Lengths of the faces.
    held : (faces,) array of int
        Indices among the faces of the whole domain.

    Raises
    ------
    InputError
        If a point is outside the domain, or a line crosses no face.
    """

    def __init__(self, vertices: Mapping[str, Sequence[Any]], grid: Grid) -> None:
        of_type("cross_sections", vertices, Mapping, 'cross_sections = {"gate": [(0.0, 50.0), (100.0, 50.0)]}')
        self.names, self.points = list(vertices), [_checked(name, points, grid) for name, points in vertices.items()]
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
        """Return the sums over the faces of each cross-section."""
        return np.add.reduceat(values, self._starts)

    def subset(self, first: int, last: int, origin: int) -> CrossSections:
        """Return the faces of cells in rows first .. last - 1, numbered from row `origin`, for a row slab.

        The result does not support `sums`.
        """
        subset = copy(self)
        subset.held = np.flatnonzero((self.faces[:, 0] >= first) & (self.faces[:, 0] < last))
        subset.faces, subset.lengths = self.faces[subset.held] - (origin, 0, 0, 0), self.lengths[subset.held]
        return subset


def _across(name: str, grid: Grid) -> str:
    """Return an example line through the middle of the domain, from south to north."""
    x, (_, _, south, north) = grid.x[grid.nx // 2], grid.extent
    return f"{name} = [[{x:.10g}, {south:.10g}], [{x:.10g}, {north:.10g}]]"


def _checked(name: str, points: Any, grid: Grid) -> np.ndarray:
    """Return the checked points of a cross-section, (n, 2)."""
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
    """Return the faces that a line crosses, (n, 4); see `CrossSections`."""
    signs = np.zeros((2, *grid.shape), np.int64)
    for rows, columns, left, west, south in passed_faces(points, grid):
        signs_nearby = signs[:, rows, columns]
        signs_nearby[0, :, 1:] += west * np.where(left[:, :-1], 1, -1)
        signs_nearby[1, 1:] += south * np.where(left[:-1], 1, -1)
    faces = [np.column_stack([*np.nonzero(one), np.full(np.count_nonzero(one), across), one[one != 0]])
             for across, one in enumerate(signs, 1)]  # fmt: skip
    return np.concatenate(faces).astype(np.int64)


class CrossSectionVolumes:
    """Accumulated volumes through the faces of the cross-sections of a run, on its device.

    Subclasses of the models define the columns of a row and the time of accumulation. Without cross-sections the object
    is empty.

    Parameters
    ----------
    lines : CrossSections or None
    device : Device
    table : (faces, 4) array of int
        Table of the faces, in the format of the model.
    columns : tuple of int
        Columns of a row.
    """

    def __init__(
        self, lines: CrossSections | None, device: Device, table: np.ndarray, columns: tuple[int, ...] = ()
    ) -> None:
        self.device, self.lines, self.table = device, lines, table
        self.faces = device.array(table)
        self.sums = device.zeros((max(1, len(table)), *columns), np.float64)

    def join(self, slabs: Sequence[CrossSectionVolumes]) -> None:
        """Collect the accumulated volumes of the faces of all row slabs."""
        if self.lines is not None:
            rows = np.zeros(self.sums.shape)
            for slab in slabs:
                assert slab.lines is not None
                rows[slab.lines.held] = slab.device.host(slab.sums)[: len(slab.table)]
            self.device.fill(self.sums, rows)

    def subset_of_state(self, state: Mapping[str, np.ndarray], slab: CrossSectionVolumes) -> dict[str, np.ndarray]:
        """Return the part of a state for the faces of a row slab; empty if the state has other cross-sections."""
        if slab.lines is None or not self.goes_on(state):
            return {"cross_sections_faces": np.zeros(0)}
        return {"cross_sections": state["cross_sections"][slab.lines.held], "cross_sections_faces": slab.table}

    def state(self) -> dict[str, np.ndarray]:
        """Return the accumulated volumes and the faces, for a restart."""
        if self.lines is None:
            return {}
        return {"cross_sections": self.device.host(self.sums), "cross_sections_faces": self.table}

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Return whether a state has the same faces."""
        return len(self.table) > 0 and np.array_equal(state.get("cross_sections_faces", np.zeros(0)), self.table)


class CrossSectionSeries:
    """Time series of the cross-sections of a run, for output files.

    Parameters
    ----------
    lines : CrossSections
    present : callable
        Returns the time, s, and the volume through each cross-section since the start, m3.
    """

    variables: Sequence[Variable] = VARIABLES

    def __init__(self, lines: CrossSections, present: Callable[[], tuple[float, np.ndarray]]) -> None:
        self.names, self._present = lines.names, present
        midpoints = [0.5 * (points[0] + points[-1]) for points in lines.points]
        paths = ["LINESTRING (" + ", ".join(f"{x:.10g} {y:.10g}" for x, y in points) + ")" for points in lines.points]
        self.coordinates: dict[str, tuple[np.ndarray, dict[str, Any]]] = {
            **{
                axis: (
                    np.array([point[k] for point in midpoints]),
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
        """Return the volume through each cross-section since the start, positive to its right, m3."""
        return dict(zip(self.names, self._present()[1].tolist(), strict=True))

    def sample(self) -> dict[str, np.ndarray]:
        """Return mean discharges since the previous call and volumes since the start, (lines,).

        The first call returns NaN for the discharges. ``time_bounds`` are the times of the previous and of this call.
        """
        time, volumes = self._present()
        start = time if np.isnan(self._last[0]) else self._last[0]
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (volumes - self._last[1:]) / (time - self._last[0])
        self._last = np.append(time, volumes)
        return {"discharge": mean, "volume": volumes, TIME_BOUNDS: time_bounds(start, time)}

    def state(self) -> dict[str, np.ndarray]:
        """Return the time and the volumes of the last call, for a restart."""
        return {"cross_sections_last": self._last}

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the time and the volumes of the last call if the state has these cross-sections."""
        last = state.get("cross_sections_last")
        self._last = np.array(last) if last is not None and last.shape == self._last.shape else self._last * np.nan
