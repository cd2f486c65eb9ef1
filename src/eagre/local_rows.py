"""Rows of a grid whose input fields a process holds, and reductions over the rows of all processes.

In a run in several processes each process evaluates the bed, the roughness and the initial state in the rows of its
subdomain and in `MARGIN` rows of the neighbours. Minima, sums and checks of whole fields are collective operations. In
a run in one process, all rows are local and the operations do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eagre.backend.group import Group
from eagre.decomposition import check_thickness, equal_parts
from eagre.errors import EagreError
from eagre.grid import Grid, Levels

MARGIN = 2  # rows of the neighbours


@dataclass(frozen=True, eq=False)
class Sides:
    """A field, (rows, columns), along the sides of the domain; `of` returns an array for the indices 0, 1, -2, -1.

    along_x : the first three and the last three rows of the field. along_y : columns 0, 1, -2, -1. In one process both
    are the field.
    """

    along_x: np.ndarray
    along_y: np.ndarray

    def of(self, side: str) -> np.ndarray:
        """Return an array that has the first two and the last two rows or columns of the field, at a side."""
        return self.along_x if side in ("south", "north") else self.along_y


@dataclass(frozen=True, eq=False)
class LocalRows:
    """Rows of a grid in this process.

    Attributes
    ----------
    grid : Grid
        Grid of the whole domain.
    group : Group or None
        Devices of all processes; None in one process.
    first, last : int
        Rows of the subdomain: first .. last - 1.
    low, high : int
        Rows of host fields: low .. high - 1.
    """

    grid: Grid
    group: Any
    first: int
    last: int
    low: int
    high: int

    @classmethod
    def of(
        cls, device: Any, grid: Grid, min_rows: int = 1, margin: int = MARGIN, walls: int = 0,
        heights_of: Callable[[int, int], Sequence[int]] = equal_parts,
    ) -> LocalRows:  # fmt: skip
        """Return the rows of this process and `margin` rows of its neighbours.

        walls : rows on the southern and on the northern wall, which the first and the last process have in addition.
        heights_of : returns the numbers of rows of all processes from the number of rows and of processes.

        Raises
        ------
        InputError
            If a process has less than `min_rows` rows.
        """
        if processes_of(device) is None:
            return cls.whole(grid)
        count, inner = len(device.devices), grid.ny - 2 * walls
        check_thickness(device, inner, min_rows, "rows", f"{min_rows} rows or more each")
        starts = np.cumsum([walls, *heights_of(inner, count)])
        starts[0], starts[-1] = 0, grid.ny
        first, last = int(starts[device.rank]), int(starts[device.rank + 1])
        return cls(grid, device, first, last, max(first - margin, 0), min(last + margin, grid.ny))

    @classmethod
    def whole(cls, grid: Grid | LocalRows) -> LocalRows:
        """Return all rows of a grid; `LocalRows` are returned unchanged."""
        return grid if isinstance(grid, LocalRows) else cls(grid, None, 0, grid.ny, 0, grid.ny)

    @property
    def held_grid(self) -> Grid:
        """Grid of the rows low .. high - 1; its coordinates are rounded differently."""
        return replace(self.grid, ny=self.high - self.low, y0=self.grid.y0 + self.low * self.grid.dy)

    def shape_of(self, location: str) -> tuple[int, int]:
        """Return the shape of a host field at "centre" or "corner"."""
        return self.held_grid.shape_of(location)

    def held(self, values: Any, location: str = "centre") -> Any:
        """Return the rows low .. high - 1 of a field of the whole domain, (.., ny, nx); other values are unchanged."""
        rows, columns = self.grid.shape_of(location)
        if self.group is None or np.shape(values)[-2:] != (rows, columns):
            return values
        return np.asarray(values)[..., self.low : self.high + rows - self.grid.ny, :]

    def held_levels(self, levels: Levels) -> Levels:
        """Return levels over the terrain of the rows low .. high - 1."""
        return replace(levels, terrain_height=self.held(levels.terrain_height))

    def take(self, values: np.ndarray, first: int, last: int) -> np.ndarray:
        """Return the rows first .. last - 1 of a host field; zeros without memory for rows of other processes."""
        if self.low <= first and last <= self.low + values.shape[0]:
            return values[first - self.low : last - self.low]
        return np.broadcast_to(np.zeros((), values.dtype), (last - first, *values.shape[1:]))

    def owned(self, values: np.ndarray) -> np.ndarray:
        """Return the rows of the subdomain of a host field; of corners the last process has one more."""
        extra = values.shape[0] > self.high - self.low and self.last == self.grid.ny
        return self.take(values, self.first, self.last + extra)

    def from_first(self, evaluate: Callable[[], np.ndarray], location: str = "centre") -> np.ndarray:
        """Return the rows low .. high - 1 of a field of the whole domain, which the first process alone evaluates.

        An `EagreError` of the first process is raised by all; no collective operation may be in `evaluate`.
        """
        if self.group is None:
            return evaluate()
        with self.agreed_errors():
            field = evaluate() if self.group.is_first else None
        bounds = self.each((self.low, self.high + (location == "corner")))
        return self.group.scatter(None if field is None else [field[low:high] for low, high in bounds])

    def each(self, value: Any) -> list[Any]:
        """Return the values of all processes, which are small."""
        return [value] if self.group is None else self.group.each(lambda _: value)

    def extremes(self, values: np.ndarray, where: Any = True) -> tuple[float, float]:
        """Return the minimum and the maximum of a host field in the domain; inf and -inf if `where` is False."""
        low, high = values.min(where=where, initial=np.inf), values.max(where=where, initial=-np.inf)
        each = self.each((float(low), float(high)))
        return min(low for low, _ in each), max(high for _, high in each)

    def everywhere(self, values: np.ndarray) -> np.ndarray:
        """Return a host field of the whole domain, in all processes."""
        return values if self.group is None else np.concatenate(self.each(self.owned(values)))

    def values_in(self, values: np.ndarray, j: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Return the values of a host field in cells (j, i) of the domain, in all processes."""
        local = np.zeros(np.broadcast_shapes(j.shape, i.shape), values.dtype)
        here = np.broadcast_to((j >= self.first) & (j < self.last), local.shape)
        j, i = (np.broadcast_to(one, local.shape)[here] for one in (j, i))
        for cells, cell_values in self.each((here, values[j - self.low, i])):
            local[cells] = cell_values
        return local

    def agreed_errors(self) -> AbstractContextManager[None]:
        """Raise an `EagreError` of the block in all processes; no collective operation may be in the block."""
        return agreed_errors(self.group)

    def sides(self, values: np.ndarray) -> Sides:
        """Return a host field along the sides of the whole domain, in all processes."""
        if self.group is None:
            return Sides(values, values)
        owned, columns = self.owned(values), [0, 1 % values.shape[1], -2 % values.shape[1], -1]
        each = self.each((owned[:3], owned[-3:], owned[:, columns]))
        along_x = np.concatenate([each[0][0], each[-1][1]])
        return Sides(along_x, np.concatenate([one[2] for one in each]))

    def row_means(self, values: np.ndarray) -> np.ndarray:
        """Return the means of a host field over each row of the domain."""
        return np.concatenate(self.each(self.owned(values).mean(axis=1)))

    def means(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the means of a host field over each row and each column, bitwise equal to the means of one process."""
        owned, rows = self.owned(values), self.row_means(values)
        if self.group is None:
            return rows, values.mean(axis=0)
        sums = np.zeros((0, values.shape[1]))
        for rank in range(len(self.group.devices)):  # rows are added from south to north
            added = owned if rank == self.group.rank else owned[:0]
            sums = self.each(np.add.reduce(np.concatenate([sums, added]), axis=0, keepdims=True))[rank]
        return rows, sums[0] / rows.size


def processes_of(device: Any) -> Group | None:
    """Return the devices of all processes; None if the run has one process."""
    return device if isinstance(device, Group) and device.of_processes else None


def value_of_first(group: Group | None, evaluate: Callable[[], Any]) -> Any:
    """Return a small value that the first process alone evaluates; an `EagreError` is raised by all processes."""
    if group is None:
        return evaluate()
    with agreed_errors(group):
        value = evaluate() if group.is_first else None
    return group.agreed(value)


@contextmanager
def agreed_errors(group: Group | None) -> Iterator[None]:
    """Raise an `EagreError` of the block in all processes; no collective operation may be in the block."""
    if group is None:
        yield
        return
    error: EagreError | None = None
    try:
        yield
    except EagreError as one:
        error = one
    for failure in group.each(lambda _: None if error is None else (type(error), error.args, error.__dict__)):
        if failure is not None:
            kind, arguments, attributes = failure
            raised = kind.__new__(kind)
            raised.args = arguments
            raised.__dict__.update(attributes)
            raise raised
