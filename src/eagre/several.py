"""Multi-device execution: arrays decomposed into row slabs, and launches that run on all devices.

`SeveralDevices` implements `Device` for code that only creates arrays and launches: its arrays are `Banded`, and each
launch is a stage of a `Group` (one list of launches for each device), optionally followed by `BARRIER`. Halo exchange
is not done here but by the caller, which knows the stencil width (`LocalTransport`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.cells import Cell
from eagre.backend.device import Device, Launch
from eagre.backend.group import Group
from eagre.decomposition import Decomposition
from eagre.errors import EagreError
from eagre.layouts.facts import GpuProperties


class Banded:
    """Array distributed over several devices.

    Parameters
    ----------
    parts : sequence of arrays
        One per device, including halo rows.
    shape : tuple of int
        Global shape.
    axis : int or None
        Decomposed axis, counted from the end: -2 for fields (.., ny, nx), -1 for values per row (.., ny). None: each
        device has a full copy.
    """

    def __init__(self, parts: Sequence[Any], shape: tuple[int, ...], axis: int | None) -> None:
        self.parts, self.shape, self.axis = tuple(parts), shape, axis

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return self.parts[0].dtype

    def __getitem__(self, some: slice | int) -> Banded:
        """Return a slice or an element of the first axis, which must not be the decomposed axis."""
        if self.axis is not None and len(self.shape) <= -self.axis:
            raise EagreError("Rows of a decomposed array cannot be selected.")
        parts = [part[some] for part in self.parts]
        if isinstance(some, int):
            return Banded(parts, self.shape[1:], self.axis)
        return Banded(parts, (len(range(*some.indices(self.shape[0]))), *self.shape[1:]), self.axis)


class SeveralDevices(Device):
    """Group of devices, each with a slab of rows.

    Parameters
    ----------
    group : Group
    rows : Decomposition
        Row slabs of `eagre.decomposition.bands`, with `overlap` set and no elements before the first cell.
    """

    def __init__(self, group: Group, rows: Decomposition) -> None:
        first = group.devices[0]
        self.group, self.rows, self.devices = group, rows, group.devices
        self.kind, self.target, self.name = group.kind, first.target, group.name
        self.is_one = False
        self.graphs, self.multiprocessors = group.graphs, first.multiprocessors

    @property
    def properties(self) -> GpuProperties:
        return self.devices[0].properties

    # -- arrays -------------------------------------------------------------------------------------

    def held(self, rank: int) -> tuple[int, int]:
        """Return the rows held by a slab, including the halo: the first, and one past the last."""
        return self.rows.held(rank)[0]

    def own(self, rank: int) -> slice:
        """Return the global rows owned by a slab."""
        return slice(*self.rows.own(rank)[0])

    def inside(self, rank: int) -> slice:
        """Return the slice of the owned rows within the rows held."""
        (low, high), first = self.rows.own(rank)[0], self.held(rank)[0]
        return slice(low - first, high - first)

    def cut(self, values: np.ndarray, rank: int, axis: int = -2) -> np.ndarray:
        """Return the part of host values that a slab holds, for rows along an axis."""
        return values.take(range(*self.held(rank)), axis=axis, mode="wrap")

    def array(self, values: np.ndarray) -> Banded:
        """Return a copy of the values on each device."""
        return Banded([member.array(values) for member in self.devices], values.shape, None)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Banded:
        """Return an array of zeros on each device."""
        return Banded([member.zeros(shape, dtype) for member in self.devices], shape, None)

    def field_zeros(self, shape: tuple[int, ...], dtype: Any) -> Banded:
        """Return decomposed fields of zeros, (.., ny, nx)."""
        parts = []
        for rank, member in enumerate(self.devices):
            low, high = self.held(rank)
            parts.append(member.zeros((*shape[:-2], high - low, shape[-1]), dtype))
        return Banded(parts, shape, -2)

    def field(self, values: np.ndarray, axis: int = -2) -> Banded:
        """Return a decomposed copy of host values with rows along an axis."""
        parts = [member.array(self.cut(values, rank, axis)) for rank, member in enumerate(self.devices)]
        return Banded(parts, values.shape, axis)

    def own_rows(self, values: np.ndarray) -> Banded:
        """Return values per row, (ny,), on each device, with 0 in the halo rows."""
        parts = []
        for rank, member in enumerate(self.devices):
            low, high = self.held(rank)
            own = np.zeros(high - low, values.dtype)
            own[self.inside(rank)] = values[self.own(rank)]
            parts.append(member.array(own))
        return Banded(parts, values.shape, -1)

    def add_up(self, sums: Banded) -> None:
        """Replace replicated arrays by their sum over all devices."""
        found = [member.host(part) for member, part in zip(self.devices, sums.parts, strict=True)]
        self.fill(sums, sum(found[1:], found[0]))

    def host(self, array: Any) -> np.ndarray:
        if not isinstance(array, Banded):
            return self.group.host(array)
        if array.axis is None:
            return self.devices[0].host(array.parts[0])
        whole = np.empty(array.shape, array.dtype)
        behind = (slice(None),) * (-1 - array.axis)
        for rank, (member, part) in enumerate(zip(self.devices, array.parts, strict=True)):
            whole[(..., self.own(rank), *behind)] = member.host(part)[(..., self.inside(rank), *behind)]
        return whole

    def fill(self, array: Banded, values: np.ndarray) -> None:
        for rank, (member, part) in enumerate(zip(self.devices, array.parts, strict=True)):
            member.fill(part, values if array.axis is None else self.cut(values, rank, array.axis))

    def sample(self, array: Banded, *indices: np.ndarray) -> np.ndarray:
        *over, j, i = np.broadcast_arrays(*indices)
        found = np.empty((array.shape[0], *j.shape), array.dtype)
        for rank, (member, part) in enumerate(zip(self.devices, array.parts, strict=True)):
            own, first = self.own(rank), self.held(rank)[0]
            here = (own.start <= j) & (j < own.stop)
            if here.any():
                found[:, here] = member.sample(part, *(k[here] for k in over), j[here] - first, i[here])
        return found

    def plane(self, array: Banded, axis: int, n: int) -> np.ndarray:
        """Return a host copy of plane n normal to an axis of a field (nz, ny, nx)."""
        if axis == 1:
            rank = next(rank for rank in range(len(self.devices)) if self.own(rank).start <= n < self.own(rank).stop)
            return self.devices[rank].host(array.parts[rank][:, n - self.held(rank)[0]])
        found = []
        for rank, (member, part) in enumerate(zip(self.devices, array.parts, strict=True)):
            inside = self.inside(rank)
            found.append(member.host(part[n])[inside] if axis == 0 else member.host(part[:, :, n])[:, inside])
        return np.concatenate(found, axis=0 if axis == 0 else 1)

    def copy(self, target: Banded, source: Banded) -> None:
        for member, to, of in zip(self.devices, target.parts, source.parts, strict=True):
            member.copy(to, of)

    # -- launches -----------------------------------------------------------------------------------

    def run(self, launches: Sequence[Any]) -> None:
        self.group.run(launches)

    def prepare(self, launches: Sequence[Any]) -> None:
        self.devices[0].prepare([launch for stage in launches for launch in (stage[0] if stage else ())])

    def repeated(self, launches: Sequence[Any], times: int) -> Callable[[], None]:
        return self.group.repeated(launches, times)

    def synchronize(self) -> None:
        self.group.synchronize()

    def free_memory(self) -> int:
        return self.group.free_memory()

    def program(self, entry: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        return self.devices[0].program(entry, precision, switches)

    def loop(self, cell: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        return self.devices[0].loop(cell, precision, switches)

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Any:
        """Return a stage: a loop over (.., ny, nx) on all rows held by each device."""
        if region[-2] != self.rows.shape[0]:
            raise EagreError(f"The loop covers {region}; allowed: regions that end in all {self.rows.shape} points.")
        stage: list[list[Launch]] = []
        for rank, member in enumerate(self.devices):
            low, high = self.held(rank)
            stage.append([member.over(program, (*region[:-2], high - low, region[-1]), part_of(arguments, rank))])
        return stage

    def over_all(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Any:
        """Return a stage in which each device runs the same loop with its parts of the arrays."""
        return [[one.over(program, region, part_of(arguments, rank))] for rank, one in enumerate(self.devices)]


def part_of(value: Any, rank: int) -> Any:
    """Return the part of an argument on a device; decomposed arrays are replaced also inside tuples."""
    if isinstance(value, Banded):
        return value.parts[rank]
    if isinstance(value, tuple):
        items = tuple(part_of(item, rank) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    return value
