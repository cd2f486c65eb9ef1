"""Fields of the weather that change in space and time: records on nodes that are coarser than the cells.

A node lies at every n-th corner of a cell. Between nodes a field is bilinear, between records linear in time. Only two
records are in use at a time; the next is read in a thread meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.plausible import check_plausible
from eagre.series import Series

KEPT = 4  # records on the host: two in use, the next, and one that several devices may still ask for
LARGEST_STRIDE = 256


@dataclass(frozen=True)
class NodeGrid:
    """Where the values of records lie: node (m, n) at the south-west corner of cell (step_y m, step_x n).

    So what is linear between nodes has in every cell one slope, that from face to face.

    Parameters
    ----------
    ny, nx : int
        Cells of the grid; the last nodes lie on or beyond the last cells.
    step_y, step_x : int
        Cells between nodes, powers of two: the place of a cell among nodes is exact in any precision.
    """

    ny: int
    nx: int
    step_y: int = 1
    step_x: int = 1

    @classmethod
    def within(cls, grid: Grid, spacing: float) -> NodeGrid:
        """Nodes at most `spacing`, m, apart, or one a cell where cells are larger than that."""

        def step(size: float, cells: int) -> int:
            most = max(1.0, min(spacing / size, LARGEST_STRIDE, 2.0 * cells))
            return 1 << int(np.log2(most))

        return cls(grid.ny, grid.nx, step(grid.dy, grid.ny), step(grid.dx, grid.nx))

    @property
    def shape(self) -> tuple[int, int]:
        """Nodes along y and x; the last ones lie at the last corners or beyond."""
        return -(-self.ny // self.step_y) + 1, -(-self.nx // self.step_x) + 1

    def points(self, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """x, (columns,), and y, (rows,), of the nodes, m."""
        rows, columns = self.shape
        x = grid.x0 + self.step_x * np.arange(columns) * grid.dx
        return x, grid.y0 + self.step_y * np.arange(rows) * grid.dy

    def place(self, axis: int, low: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Node before each of `count` places a cell apart, and the part of the way to the next.

        low : the first of them, in cells: 0.5 is the centre of the first cell.
        """
        place = (low + np.arange(count)) / (self.step_y if axis == 0 else self.step_x)
        node = np.clip(place.astype(int), 0, self.shape[axis] - 2)
        return node, place - node


@dataclass(frozen=True, eq=False)
class RecordTimeAxis:
    """The times of records, s, two or more, increasing.

    name : of where they come from, for errors; files : the same for each record, where they come from several.
    """

    times: np.ndarray
    name: str
    files: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        times = np.array(self.times, np.float64)
        if times.ndim != 1 or times.size < 2 or not np.isfinite(times).all() or not (np.diff(times) > 0).all():
            raise InputError(
                f"{self.name}: {times.size} times" + ("" if times.size < 2 else " that do not increase"),
                allowed="two or more, increasing",
            )
        object.__setattr__(self, "times", times)

    @cached_property
    def hats(self) -> tuple[Series, Series]:
        """Factors of the records 0, 2, 4 .. and of 1, 3, 5 ..: 1 at their own times, 0 at the others'."""
        odd = np.arange(self.times.size) % 2
        return Series(self.times, 1.0 - odd, self.name), Series(self.times, 1.0 * odd, self.name)

    def name_of(self, k: int) -> str:
        """Of where record k comes from."""
        return self.files[k] if self.files else self.name

    def first(self, time: float) -> int:
        """Number of the record before `time`, s, or at it; the other one in use follows."""
        return int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, self.times.size - 2))

    def in_slot(self, slot: int, time: float) -> int:
        """Number of the record that slot 0 (even ones) or 1 (odd ones) holds at `time`, s."""
        first = self.first(time)
        return first if first % 2 == slot else first + 1

    def end(self, time: float) -> float:
        """Until when the two records of `time`, s, are enough."""
        return float(self.times[self.first(time) + 1])


class TimeVaryingField:
    """A field of the weather that changes in space and time, read record by record while the model goes on.

    Parameters
    ----------
    instants : RecordTimeAxis
    nodes : NodeGrid
    read : callable
        Gives record k, (rows, columns) of the nodes; called in a thread, one record after the other.
    name : str
        What it is, for errors: ``"wind along x"``.
    most : float
        Largest absolute value that is believed; bounds what the field can do before it is read.
    unit : str
    quantity : str
        Key of `eagre.plausible.QUANTITIES` for the range of the values; empty if only `most` bounds them.
    """

    def __init__(
        self, instants: RecordTimeAxis, nodes: NodeGrid, read: Callable[[int], np.ndarray], name: str, most: float,
        unit: str, quantity: str = "",
    ) -> None:  # fmt: skip
        self.instants, self.nodes, self.name, self.most, self.unit = instants, nodes, name, most, unit
        self.quantity = quantity
        self.read = read
        self._records: dict[int, np.ndarray] = {}
        self._coming: dict[int, Future[np.ndarray]] = {}
        self._pool: ThreadPoolExecutor | None = None
        self.used = (0, 1)  # the records in use, by slot

    def record(self, k: int) -> np.ndarray:
        """Values of record k on the nodes, checked; the one after it begins to be read.

        Raises
        ------
        InputError
            For values that are missing, not finite, beyond `most` or implausible.
        """
        if k not in self._records:
            coming = self._coming.pop(k, None)
            values = np.asarray(self.read(k) if coming is None else coming.result(), np.float64)
            self._records[k] = self.checked(values, k)
            for old in sorted(self._records, key=lambda one: abs(one - k))[KEPT:]:
                del self._records[old]
            self._begin(k + 1)
        return self._records[k]

    def _begin(self, k: int) -> None:
        if k >= self.instants.times.size or k in self._records or k in self._coming:
            return
        self._coming.clear()
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="eagre-weather")
        self._coming[k] = self._pool.submit(self.read, k)

    def checked(self, values: np.ndarray, k: int) -> np.ndarray:
        """`values` as record k; raises `InputError` as `record` does."""
        where = f"{self.instants.name_of(k)}: {self.name} at t = {self.instants.times[k]:g} s"
        if values.shape != self.nodes.shape:
            raise InputError(f"{where} of shape {values.shape}", allowed=f"values on {self.nodes.shape} nodes")
        if not np.isfinite(values).all():
            missing = int((~np.isfinite(values)).sum())
            raise InputError(
                f"{where} is missing at {missing} of {values.size} places of the grid",
                allowed="values everywhere over the grid (fill gaps before)",
            )
        if self.quantity:
            check_plausible(self.quantity, values, where, key=self.name)
        if (largest := float(np.abs(values).max())) > self.most:
            raise InputError(
                f"{where} comes to {largest:g} {self.unit}",
                allowed=f"{self.most:g} {self.unit} at most: is the unit in the file the right one?",
            )
        return values

    def use(self, time: float) -> None:
        """Have the records for `time`, s, at hand: what `in_use` gives from then on."""
        self.used = (self.instants.in_slot(0, time), self.instants.in_slot(1, time))
        for k in sorted(self.used):
            self.record(k)

    def in_use(self, slot: int) -> np.ndarray:
        """The record of a slot at the time of the last `use`."""
        return self.record(self.used[slot])

    def at(self, time: float) -> np.ndarray:
        """Values on the nodes at `time`, s."""
        k, times = self.instants.first(time), self.instants.times
        part = min(max((time - times[k]) / (times[k + 1] - times[k]), 0.0), 1.0)
        return (1.0 - part) * self.record(k) + part * self.record(k + 1)
