"""Weather fields that vary in space and time: records on nodes with a spacing of one or more cells.

A node is located at every n-th cell corner. Interpolation is bilinear between nodes and linear in time between records.
Two records are in use at a time; a background thread reads the next one.
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
from eagre.time_varying.series import Series

KEPT = 4  # records on the host: two in use, the next one, and one that other devices may still need
MAX_STRIDE = 256


@dataclass(frozen=True)
class NodeGrid:
    """Nodes of records: node (m, n) is the south-west corner of cell (step_y m, step_x n).

    A field that is linear between nodes therefore has a constant slope in each cell.

    Parameters
    ----------
    ny, nx : int
        Number of cells of the grid; the last nodes are at or beyond the last cells.
    step_y, step_x : int
        Number of cells between nodes, a power of two: positions of cells between nodes are exact in any precision.
    """

    ny: int
    nx: int
    step_y: int = 1
    step_x: int = 1

    @classmethod
    def within(cls, grid: Grid, spacing: float) -> NodeGrid:
        """Return nodes at most `spacing`, m, apart; one node per cell if cells are larger."""

        def step(size: float, cells: int) -> int:
            max_step = max(1.0, min(spacing / size, MAX_STRIDE, 2.0 * cells))
            return 1 << int(np.log2(max_step))

        return cls(grid.ny, grid.nx, step(grid.dy, grid.ny), step(grid.dx, grid.nx))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of nodes along y and x; the last nodes are at the last corners or beyond."""
        return -(-self.ny // self.step_y) + 1, -(-self.nx // self.step_x) + 1

    def points(self, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """Return x, (columns,), and y, (rows,), of the nodes, m."""
        rows, columns = self.shape
        x = grid.x0 + self.step_x * np.arange(columns) * grid.dx
        return x, grid.y0 + self.step_y * np.arange(rows) * grid.dy

    def locate(self, axis: int, low: float, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the preceding node and the fractional position to the next node of `count` points one cell apart.

        low : position of the first point, in cells; 0.5 is the centre of the first cell.
        """
        coordinate = (low + np.arange(count)) / (self.step_y if axis == 0 else self.step_x)
        node = np.clip(coordinate.astype(int), 0, self.shape[axis] - 2)
        return node, coordinate - node


@dataclass(frozen=True, eq=False)
class RecordTimeAxis:
    """Times of records, s, two or more, increasing.

    name : source of the records, for error messages; files : source file of each record, if there are several files.
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
                problem="The record times do not increase." if times.size > 1 else "At least two records are required.",
            )
        object.__setattr__(self, "times", times)

    @cached_property
    def hats(self) -> tuple[Series, Series]:
        """Interpolation weights of the even and of the odd records over time: 1 at their own times, 0 at the others."""
        odd = np.arange(self.times.size) % 2
        return Series(self.times, 1.0 - odd, self.name), Series(self.times, 1.0 * odd, self.name)

    def name_of(self, k: int) -> str:
        """Return the source of record k, for error messages."""
        return self.files[k] if self.files else self.name

    def first(self, time: float) -> int:
        """Return the index of the last record at or before `time`, s; the next record is the other one in use."""
        return int(np.clip(np.searchsorted(self.times, time, side="right") - 1, 0, self.times.size - 2))

    def in_slot(self, slot: int, time: float) -> int:
        """Return the index of the record that slot 0 (even records) or 1 (odd records) holds at `time`, s."""
        first = self.first(time)
        return first if first % 2 == slot else first + 1

    def end(self, time: float) -> float:
        """Return the time, s, until which the two records of `time` are sufficient."""
        return float(self.times[self.first(time) + 1])


class TimeVaryingField:
    """Weather field that varies in space and time; records are read during the run.

    Parameters
    ----------
    instants : RecordTimeAxis
        Times of the records.
    nodes : NodeGrid
        Nodes of the records.
    read : callable
        Function of the record index k that returns the record, (rows, columns); called sequentially in a thread.
    name : str
        Description of the field, for error messages: ``"wind along x"``.
    most : float
        Largest plausible absolute value; bounds the effect of the field before it is read.
    unit : str
        Unit of the values.
    quantity : str
        Key of `eagre.plausible.QUANTITIES` for the plausible range; empty if only `most` bounds the values.
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
        self.used = (0, 1)  # indices of the records in use, by slot

    def record(self, k: int) -> np.ndarray:
        """Return the checked values of record k on the nodes, and start reading the next record.

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
        """Return `values` as record k after the checks of `record`."""
        where = f"{self.instants.name_of(k)}: {self.name} at t = {self.instants.times[k]:g} s"
        if values.shape != self.nodes.shape:
            raise InputError(
                f"{where} of shape {values.shape}", allowed=f"values on {self.nodes.shape} nodes",
                problem="The shape of the record does not match the nodes.",
            )  # fmt: skip
        if not np.isfinite(values).all():
            missing = int((~np.isfinite(values)).sum())
            raise InputError(
                f"{where} is missing at {missing} of {values.size} places of the grid",
                allowed="values at all nodes (fill gaps before)",
                problem="The record has missing values.",
            )
        if self.quantity:
            check_plausible(self.quantity, values, where, key=self.name)
        if (max_value := float(np.abs(values).max())) > self.most:
            raise InputError(
                f"{where} comes to {max_value:g} {self.unit}",
                allowed=f"{self.most:g} {self.unit} at most: check the unit in the file",
                problem=f"The {self.name} exceeds its largest plausible value.",
            )
        return values

    def use(self, time: float) -> None:
        """Load the records for `time`, s, for later calls of `in_use`."""
        self.used = (self.instants.in_slot(0, time), self.instants.in_slot(1, time))
        for k in sorted(self.used):
            self.record(k)

    def in_use(self, slot: int) -> np.ndarray:
        """Return the record of a slot at the time of the last call of `use`."""
        return self.record(self.used[slot])

    def at(self, time: float) -> np.ndarray:
        """Return values on the nodes at `time`, s."""
        k, times = self.instants.first(time), self.instants.times
        weight = min(max((time - times[k]) / (times[k + 1] - times[k]), 0.0), 1.0)
        return (1.0 - weight) * self.record(k) + weight * self.record(k + 1)
