"""Multi-device execution: arrays decomposed into row slabs, and launches that run on all devices.

`DeviceMesh` implements `Device` for code that only creates arrays and launches: its arrays are `DistributedArray`, and
each launch is a stage of a `Group` (one list of launches for each device), optionally followed by `BARRIER`. Halo
exchange is not done here but by the caller, which knows the stencil width (`LocalTransport`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Cell
from eagre.backend.device import Device, Launch
from eagre.backend.group import Group
from eagre.decomposition import Decomposition
from eagre.errors import EagreError
from eagre.grid import Grid
from eagre.layouts.gpu_properties import GpuProperties


class DistributedArray:
    """Array that is distributed to the devices of a run.

    Parameters
    ----------
    arrays : sequence of arrays
        One per device, including halo rows.
    shape : tuple of int
        Global shape.
    axis : int or None
        Decomposed axis, counted from the end: -2 for fields (.., ny, nx), -1 for values per row (.., ny). None: each
        device has a full copy.
    """

    def __init__(self, arrays: Sequence[Any], shape: tuple[int, ...], axis: int | None) -> None:
        self.parts, self.shape, self.axis = tuple(arrays), shape, axis

    @property
    def dtype(self) -> Any:
        """Data type of the elements."""
        return self.parts[0].dtype

    def __getitem__(self, some: slice | int) -> DistributedArray:
        """Return a slice or an element of the first axis, which must not be the decomposed axis."""
        if self.axis is not None and len(self.shape) <= -self.axis:
            raise EagreError("Rows of a decomposed array cannot be selected.")
        arrays = [array_of_device[some] for array_of_device in self.parts]
        if isinstance(some, int):
            return DistributedArray(arrays, self.shape[1:], self.axis)
        return DistributedArray(arrays, (len(range(*some.indices(self.shape[0]))), *self.shape[1:]), self.axis)


class HostSlabs(NamedTuple):
    """Host copy of a distributed array: the slab of each device, None for devices of other processes; global shape."""

    slabs: list[np.ndarray | None]
    shape: tuple[int, ...]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)


class DeviceMesh(Device):
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
        self.is_first = group.is_first
        self.is_one, self.of_processes = False, group.of_processes
        self.graphs, self.multiprocessors = group.graphs, first.multiprocessors

    @property
    def properties(self) -> GpuProperties:
        return self.devices[0].properties

    # -- arrays -------------------------------------------------------------------------------------

    def held(self, rank: int) -> tuple[int, int]:
        """Return the rows held by a slab, including the halo: the first, and one past the last."""
        return self.rows.held(rank)[0]

    def owned(self, rank: int) -> slice:
        """Return the global rows owned by a slab."""
        return slice(*self.rows.owned(rank)[0])

    def inside(self, rank: int) -> slice:
        """Return the slice of the owned rows within the rows held."""
        (low, high), first = self.rows.owned(rank)[0], self.held(rank)[0]
        return slice(low - first, high - first)

    def local_values(self, values: np.ndarray, rank: int, axis: int = -2) -> np.ndarray:
        """Return the part of host values that a slab holds, for rows along an axis."""
        return values.take(range(*self.held(rank)), axis=axis, mode="wrap")

    def array(self, values: np.ndarray) -> DistributedArray:
        """Return a copy of the values on each device."""
        return DistributedArray([device.array(values) for device in self.devices], values.shape, None)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> DistributedArray:
        """Return an array of zeros on each device."""
        return DistributedArray([device.zeros(shape, dtype) for device in self.devices], shape, None)

    def field_zeros(self, shape: tuple[int, ...], dtype: Any) -> DistributedArray:
        """Return decomposed fields of zeros, (.., ny, nx)."""
        arrays = []
        for rank, device in enumerate(self.devices):
            low, high = self.held(rank)
            arrays.append(device.zeros((*shape[:-2], high - low, shape[-1]), dtype))
        return DistributedArray(arrays, shape, -2)

    def field(self, values: np.ndarray, axis: int = -2) -> DistributedArray:
        """Return a decomposed copy of host values with rows along an axis."""
        arrays = [device.array(self.local_values(values, rank, axis)) for rank, device in enumerate(self.devices)]
        return DistributedArray(arrays, values.shape, axis)

    def distributed_rows(self, values: np.ndarray) -> DistributedArray:
        """Return values per row, (ny,), on each device, with 0 in the halo rows."""
        arrays = []
        for rank, device in enumerate(self.devices):
            low, high = self.held(rank)
            local = np.zeros(high - low, values.dtype)
            local[self.inside(rank)] = values[self.owned(rank)]
            arrays.append(device.array(local))
        return DistributedArray(arrays, values.shape, -1)

    def add_up(self, sums: DistributedArray) -> None:
        """Replace replicated arrays by their sum over all devices."""
        hosts = self.group.host_of_each(sums.parts)
        self.fill(sums, sum(hosts[1:], hosts[0]))

    def host(self, array: Any) -> np.ndarray:
        if not isinstance(array, DistributedArray):
            return self.group.host(array)
        if array.axis is None:
            return self.group.host_of_replicated(array.parts)
        whole = np.empty(array.shape, array.dtype)
        trailing = (slice(None),) * (-1 - array.axis)
        for rank, values in enumerate(self.group.host_of_each(array.parts)):
            whole[(..., self.owned(rank), *trailing)] = values[(..., self.inside(rank), *trailing)]
        return whole

    def pinned_of_replicated(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        return self.group.pinned_of_replicated(shape, dtype)

    def transfer(self, target: Any, source: Any) -> Any:
        """Return a stage: a copy of a replicated array to pinned memory, or of pinned memory to all devices."""
        ranks = enumerate(self.devices)
        if isinstance(target, DistributedArray):
            return [[device.transfer(target.parts[rank], source)] for rank, device in ranks]
        first = self.group.rank
        return [[device.transfer(target, source.parts[rank])] if rank == first else [] for rank, device in ranks]

    def fill(self, array: DistributedArray, values: np.ndarray | HostSlabs) -> None:
        for rank, (device, array_of_device) in enumerate(zip(self.devices, array.parts, strict=True)):
            if device.is_remote:
                continue
            if isinstance(values, HostSlabs):
                device.fill(array_of_device, values.slabs[rank])
            else:
                axis = array.axis
                device.fill(array_of_device, values if axis is None else self.local_values(values, rank, axis))

    def fill_owned(self, array: DistributedArray, values: np.ndarray) -> None:
        if not self.of_processes:
            self.fill(array, values)
            return
        rank, device = self.group.rank, self.devices[self.group.rank]
        local = np.zeros(array.parts[rank].shape, array.dtype)
        local[..., self.inside(rank), :] = values
        device.fill(array.parts[rank], local)

    def local_copy(self, array: DistributedArray) -> HostSlabs:
        self.synchronize()
        return HostSlabs(self.group.local_values(lambda rank: self.devices[rank].host(array.parts[rank])), array.shape)

    def update(
        self, array: DistributedArray, function: Callable[[np.ndarray, np.ndarray], np.ndarray], other: HostSlabs
    ) -> None:
        copy = self.local_copy(array)
        values = self.group.local_values(lambda rank: function(copy.slabs[rank], other.slabs[rank]))  # type: ignore[arg-type]
        self.fill(array, HostSlabs(values, array.shape))

    def collect(self, arrays: Mapping[str, DistributedArray]) -> dict[str, np.ndarray]:
        self.synchronize()

        def owned(rank: int) -> dict[str, np.ndarray]:
            return {name: self._owned_part(array, rank) for name, array in arrays.items()}

        def join(name: str, slabs: list[np.ndarray]) -> np.ndarray:
            axis = arrays[name].axis
            return slabs[0] if axis is None else np.concatenate(slabs, axis=axis)

        return self.group.collect(owned, join)

    def begin_host(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        copies = self.collect({str(n): array for n, array in enumerate(arrays)})
        return lambda: list(copies.values())

    def each(self, arrays: Sequence[DistributedArray], evaluate: Callable[..., Any]) -> list[tuple[int, Any]]:
        self.synchronize()

        def value(rank: int) -> tuple[int, Any]:
            return self.owned(rank).start, evaluate(*(self._owned_part(array, rank) for array in arrays))

        return self.group.each(value)

    def _owned_part(self, array: DistributedArray, rank: int) -> np.ndarray:
        """Return a host copy of the owned rows of a part; see `local_values` of `Group`."""
        values = self.devices[rank].host(array.parts[rank])
        return values if array.axis is None else values[(..., self.inside(rank), *(slice(None),) * (-1 - array.axis))]

    def sample(self, array: DistributedArray, *indices: np.ndarray) -> np.ndarray:
        *over, j, i = np.broadcast_arrays(*indices)
        values = np.empty((array.shape[0], *j.shape), array.dtype)
        for rank, (device, array_of_device) in enumerate(zip(self.devices, array.parts, strict=True)):
            rows, first = self.owned(rank), self.held(rank)[0]
            here = (rows.start <= j) & (j < rows.stop)
            if here.any():
                values[:, here] = device.sample(array_of_device, *(k[here] for k in over), j[here] - first, i[here])
        return values

    def plane(self, array: DistributedArray, axis: int, n: int) -> np.ndarray:
        """Return a host copy of plane n normal to an axis of a field (nz, ny, nx)."""
        if axis == 1:
            owned = [self.owned(rank) for rank in range(len(self.devices))]
            rank = next(rank for rank, rows in enumerate(owned) if rows.start <= n < rows.stop)
            return self.devices[rank].host(array.parts[rank][:, n - self.held(rank)[0]])
        planes = []
        for rank, (device, array_of_device) in enumerate(zip(self.devices, array.parts, strict=True)):
            inside = self.inside(rank)
            planes.append(
                device.host(array_of_device[n])[inside]
                if axis == 0
                else device.host(array_of_device[:, :, n])[:, inside]
            )
        return np.concatenate(planes, axis=0 if axis == 0 else 1)

    def copy(self, target: DistributedArray, source: DistributedArray) -> None:
        for device, to, of in zip(self.devices, target.parts, source.parts, strict=True):
            device.copy(to, of)

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

    def agreed(self, value: Any) -> Any:
        return self.group.agreed(value)

    def program(self, entry: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        return self.devices[0].program(entry, precision, switches)

    def loop(self, cell: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        return self.devices[0].loop(cell, precision, switches)

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Any:
        """Return a stage: a loop over (.., ny, nx) on all rows held by each device."""
        if region[-2] != self.rows.shape[0]:
            raise EagreError(f"The loop covers {region}; allowed: regions that end in all {self.rows.shape} points.")
        stage: list[list[Launch]] = []
        for rank, device in enumerate(self.devices):
            low, high = self.held(rank)
            stage.append([device.over(program, (*region[:-2], high - low, region[-1]), part_of(arguments, rank))])
        return stage

    def over_all(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Any:
        """Return a stage in which each device runs the same loop with its parts of the arrays."""
        return [[one.over(program, region, part_of(arguments, rank))] for rank, one in enumerate(self.devices)]


def part_of(value: Any, rank: int) -> Any:
    """Return the part of an argument on a device; decomposed arrays are replaced also inside tuples."""
    if isinstance(value, DistributedArray):
        return value.parts[rank]
    if isinstance(value, tuple):
        items = tuple(part_of(item, rank) for item in value)
        return type(value)(*items) if hasattr(value, "_fields") else items
    return value


def rows_of_process(device: Any, grid: Grid) -> tuple[int, int]:
    """Return the rows of a grid that this process holds, with the halo: the first, and one past the last."""
    return device.held(device.group.rank) if device.of_processes else (0, grid.ny)
