"""Multi-device execution of one run: each device has its part, its stream and its list of launches; halo exchanges.

A schedule is a list of stages and barriers. A stage is a list of launches for every device; devices run their lists
independently. At `BARRIER` every device waits until all have completed the previous stages. A stage may read data that
another device wrote before the last barrier (`LocalTransport`), and no other data of that device.

Halo exchanges between subdomains are by name: (field, region, neighbour), independent of the neighbour's arrays. A
subdomain *publishes* arrays under names. A `Message` names a part of a published field, the rank that owns it and the
rank that receives it. The list of messages of an exchange is the same in every process, as it depends on the
decomposition only: a transport selects the messages that its ranks receive by `target`, and the messages that they send
by `source`.

`LocalTransport` serves the devices of one process: exchanges are copies by each device from the memory of others.
`eagre.backend.mpi` serves processes, each with one device: one packed message per neighbour, or peer memory of GPUs.
`Group.transport` returns the transport of a group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

import numpy as np

from eagre.backend.device import Device, HostCall, Launch, Work

Stage = Sequence[Sequence[Work]]
"""Launches of each device; see `eagre.backend.group`."""
Region = tuple[Any, ...]  # index into a published array


class Message(NamedTuple):
    """Part of a field that one subdomain receives from another."""

    field: str
    source: int  # rank
    target: int  # rank
    there: Region  # region of the source array
    here: Region  # region of the target array, of the same shape
    into: str = ""  # name of the target array, if different


class Transport(Protocol):
    """Interface of the communication between devices."""

    def publish(self, rank: int, field: str, array: Any) -> None:
        """Set the array that holds a field of a subdomain of this process."""
        ...

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """Return the launches, for every rank of this process, of these messages between published arrays.

        They must be run between two barriers (`eagre.backend.group.BARRIER`): the sources are written before the first
        and not overwritten before the second.
        """
        ...


class LocalTransport:
    """Transport between devices of one process."""

    def __init__(self, group: Any) -> None:
        self.group = group
        self._published: dict[tuple[int, str], Any] = {}

    def publish(self, rank: int, field: str, array: Any) -> None:
        """See `Transport.publish`."""
        self._published[rank, field] = array

    def exchange(self, messages: Iterable[Message]) -> Stage:
        """See `Transport.exchange`; the owner of the target copies."""
        pairs: list[list[tuple[Any, Any]]] = [[] for _ in self.group.devices]
        for message in messages:
            target = self._published[message.target, message.into or message.field][message.here]
            source = self._published[message.source, message.field][message.there]
            pairs[message.target].append((target, source))
        return [self.group.copies(device, some) for device, some in zip(self.group.devices, pairs, strict=True)]


ALIGNMENT = 16  # bytes: start of each region of a packed message


def message_size(regions: Sequence[Any]) -> int:
    """Return the size of a message with copies of arrays, bytes."""
    return sum(_size(region) for region in regions)


def region_views(message: Any, regions: Sequence[Any]) -> list[Any]:
    """Return views of a message, uint8 (n,), with the shapes and types of arrays."""
    views, start = [], 0
    for region in regions:
        stop = start + math.prod(region.shape) * region.dtype.itemsize
        views.append(message[start:stop].view(region.dtype).reshape(region.shape))
        start += _size(region)
    return views


def _size(region: Any) -> int:
    return -(-math.prod(region.shape) * region.dtype.itemsize // ALIGNMENT) * ALIGNMENT


BARRIER: Stage = ()
"""Barrier between two stages of a schedule: every device waits for all."""


def in_sequence(*stages: Stage) -> Stage:
    """Return one stage with the launches of several stages in order, for every device."""
    by_device = zip(*stages, strict=True)
    return [[launch for launches in device_launches for launch in launches] for device_launches in by_device]


def without_gaps(schedule: Sequence[Stage]) -> list[Stage]:
    """Merge the stages between two barriers of a schedule, so that their kernels may overlap."""
    merged: list[Stage] = []
    for stage in schedule:
        if stage is BARRIER or not merged or merged[-1] is BARRIER:
            merged.append(stage)
        else:
            merged[-1] = in_sequence(merged[-1], stage)
    return merged


def after_others(launches: Sequence[Work]) -> list[Work]:
    """Return launches that wait for a previous copy or barrier instead of overlapping with its end."""
    ordered: list[Work] = []
    for launch in launches:
        if isinstance(launch, Launch) and launch.early and not (ordered and isinstance(ordered[-1], Launch)):
            launch = launch._replace(early=False)
        ordered.append(launch)
    return ordered


class Group:
    """Devices of one kind; here host devices that run sequentially; see `eagre.backend.cuda.group` for GPUs."""

    graphs = False
    of_processes = False  # see `Device`
    rank = 0  # number of this process

    def __init__(self, devices: Sequence[Device]) -> None:
        self.devices = tuple(devices)
        self.kind = devices[0].kind
        names = [str(device) for device in devices]
        same = len(set(names)) == 1
        self.name = f"{len(names)} bands on {names[0]}" if same else ", ".join(names)

    @property
    def is_first(self) -> bool:
        """True in the process that writes files, which alone has the arrays of `collect`."""
        return self.rank == 0

    def __reduce__(self) -> tuple[type[Group], tuple[tuple[Device, ...]]]:
        return type(self), (self.devices,)

    def run(self, schedule: Sequence[Stage]) -> None:
        """Run the stages of a schedule in order."""
        for stage in schedule:
            if stage is BARRIER:
                self.barrier()
            for device, launches in zip(self.devices, stage, strict=False):
                device.run(launches)

    def bound(self, schedule: Sequence[Stage]) -> list[Stage]:
        """Return the schedule; see `Device.bound`."""
        return list(schedule)

    def repeated(self, schedule: Sequence[Stage], times: int) -> Callable[[], None]:
        """Return a function that runs a schedule `times` times, with the barriers of the schedule only."""

        def go() -> None:
            for _ in range(times):
                self.run(schedule)

        return go

    def barrier(self) -> None:
        """Let every device wait for all devices."""

    def transport(self) -> Transport:
        """Return a new transport between the devices."""
        return LocalTransport(self)

    def copies(self, device: Device, pairs: Sequence[tuple[Any, Any]]) -> list[Launch | HostCall]:
        """Return copies (target, source) of equal shape by `device`, which owns the targets."""
        return [HostCall(np.copyto, pair) for pair in pairs]

    def synchronize(self) -> None:
        """Wait until all launches are complete."""
        for device in self.devices:
            device.synchronize()

    def parameters(self, kernel: str) -> SimpleNamespace:
        """Return the launch parameters of joint work: the parameters of the first device."""
        return self.devices[0].parameters(kernel)

    def free_memory(self) -> int:
        """Return the free memory of all devices, bytes."""
        return sum(device.free_memory() for device in dict.fromkeys(self.devices))

    def agreed(self, value: Any) -> Any:
        """Return a value that all processes of a run use, of the first process; see `Device.agreed`."""
        return value

    def local_values(self, evaluate: Callable[[int], Any]) -> list[Any]:
        """Return a value of each device by rank; None for devices of other processes, for which it is not computed."""
        return [evaluate(rank) for rank in range(len(self.devices))]

    def each(self, evaluate: Callable[[int], Any]) -> list[Any]:
        """Return a small value of each device by rank in all processes; the process of the device computes it."""
        return self.local_values(evaluate)

    def collect(
        self, evaluate: Callable[[int], Mapping[str, np.ndarray]], join: Callable[[str, list[np.ndarray]], np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Return arrays joined from the arrays of all devices; only the first process has them, others return {}.

        evaluate : returns arrays by name for a rank, in the process that has the device. join : joins arrays of a name.
        """
        by_rank = self.local_values(evaluate)
        return {name: join(name, [one[name] for one in by_rank]) for name in by_rank[0]}

    def host_of_each(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        """Return host copies of one array of each device."""
        return [device.host(array) for device, array in zip(self.devices, arrays, strict=True)]

    def host_of_replicated(self, arrays: Sequence[Any]) -> np.ndarray:
        """Return a host copy of an array that has the same values on each device."""
        return self.devices[0].host(arrays[0])

    def pinned_of_replicated(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        """See `Device.pinned_of_replicated`."""
        return self.devices[0].pinned(shape, dtype)

    def host(self, array: np.ndarray) -> np.ndarray:
        """Return a copy of an array that was collected on the host."""
        return np.array(array, copy=True)

    def __str__(self) -> str:
        return self.name
