"""Devices of the processes of an MPI communicator, as one `Group`.

All processes run the same host program on the devices of all ranks. In each process one device is real; the others are
remote: their arrays are never touched and their launches do nothing. A copy to the host (`host`, `sample`, a `transfer`
to pinned memory) is a collective operation: the owner of the device copies and broadcasts. All processes therefore hold
the same values and take the same decisions. Fields for output are sent to the first process only (`MpiGroup.collect`).
Results are bitwise equal to those of as many devices in one process. The
wall clock and other values that processes may measure differently are taken from rank 0 (`MpiGroup.agreed`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch, Transfer, Work
from eagre.backend.group import BARRIER, Group, Stage, Transport, after_others
from eagre.backend.mpi.transport import MpiTransport, wait
from eagre.errors import EagreError

MAX_MESSAGE = 1 << 30  # bytes of one broadcast: MPI counts are 32-bit integers


class CallToHost(HostCall):
    """Copy to pinned memory by a function."""


class TransferToHost(Transfer):
    """Copy to pinned memory by the driver of a GPU."""


class Shared(Device):
    """Operations that involve all processes; `connected` adds them to the types of local and of remote devices.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm
    owner : int
        Rank of the process that has the device.
    """

    comm: Any
    owner: int
    alone = False
    """True while a process reads its own device without the others (set on the class)."""
    reading = True
    """True while all processes make the same call, so values can be read (set on the class)."""
    _pinned: list[np.ndarray]
    _received: dict[int, np.ndarray]  # regions of `_pinned` that launches wrote since the last synchronisation

    def broadcast(self, values: np.ndarray) -> np.ndarray:
        """Overwrite host values, which are C-contiguous, by the values of the owner, and return them."""
        wait(self.begin_broadcast(values))
        return values

    def begin_broadcast(self, values: np.ndarray) -> list[Any]:
        """Begin to overwrite host values, which are C-contiguous, by the values of the owner; return the requests.

        Raises
        ------
        EagreError
            If the other processes do not take part in reading it.
        """
        if Shared.alone:
            return []
        if not Shared.reading:
            raise EagreError(
                "A device was read outside of the methods of the model, which all processes call together.\n"
                "allowed: methods and attributes of the model\n"
                'write:   model.field("...")'
            )
        return [self.comm.Ibcast(chunk, root=self.owner) for chunk in chunks(values)]

    def local_copy(self, array: Any) -> np.ndarray:
        """Return a host copy of an array, of which only the owner has the values."""
        return np.ascontiguousarray(super().host(array))

    def host(self, array: Any) -> np.ndarray:
        return self.broadcast(self.local_copy(array))

    def begin_host(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        return Device.begin_host(self, arrays)

    def sample(self, array: Any, *indices: np.ndarray) -> np.ndarray:
        return self.broadcast(np.ascontiguousarray(super().sample(array, *indices)))

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        self._pinned.append(super().pinned(shape, dtype))
        return self._pinned[-1]

    def transfer(self, target: Any, source: Any) -> Work:
        work = super().transfer(target, source)
        if not (isinstance(target, np.ndarray) and any(np.may_share_memory(target, one) for one in self._pinned)):
            return work
        return CallToHost(*work) if isinstance(work, HostCall) else TransferToHost(*work)

    def prepare(self, launches: Sequence[Work]) -> None:
        """Do nothing: every process compiles what it runs."""

    def note_received(self, launches: Iterable[Work]) -> None:
        """Note that launches write to pinned memory."""
        for one in launches:
            if isinstance(one, CallToHost):
                self._received[one.arguments[0].ctypes.data] = one.arguments[0]
            elif isinstance(one, TransferToHost):
                self._received[one.target.ctypes.data] = one.target

    def run(self, launches: Sequence[Work]) -> None:
        super().run(launches)
        self.note_received(launches)

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        go, to_host = super().repeated(launches, times), _to_host(launches)

        def go_and_note() -> None:
            go()
            self.note_received(to_host)

        return go_and_note if to_host else go

    def synchronize(self) -> None:
        super().synchronize()
        if Shared.alone:
            return
        received, self._received = self._received, {}
        for values in received.values():
            values[...] = self.broadcast(np.ascontiguousarray(values))

    def free_memory(self) -> int:
        return self.comm.bcast(super().free_memory() if self.comm.rank == self.owner else 0, root=self.owner)


class Remote(Device):
    """Device of another process: arrays have a shape only, launches do nothing."""

    is_remote = True

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.zeros(values.shape, values.dtype)  # never touched: the system assigns no memory

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.zeros(shape, dtype)

    def host(self, array: Any) -> np.ndarray:
        return np.empty(array.shape, array.dtype)

    def sample(self, array: Any, *indices: np.ndarray) -> np.ndarray:
        return np.array(array[(slice(None), *indices)])

    def fill(self, array: Any, values: np.ndarray) -> None:
        """Do nothing."""

    def copy(self, target: Any, source: Any) -> None:
        """Do nothing."""

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.zeros(shape, dtype)

    def transfer(self, target: Any, source: Any) -> Work:
        return HostCall(_nothing, (target, source))

    def run(self, launches: Sequence[Work]) -> None:
        """Do nothing."""

    def bound(self, launches: Sequence[Work]) -> list[Work]:
        return list(launches)

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        return _nothing

    def real_transforms(self, a: Any, spectrum: Any, out: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        return HostCall(_nothing, ()), HostCall(_nothing, ())

    def complex_transforms(self, a: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        return HostCall(_nothing, ()), HostCall(_nothing, ())

    def synchronize(self) -> None:
        """Do nothing."""

    def joined(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Launch:
        return Launch(program, ())


class MpiGroup(Group):
    """Devices of all processes of a communicator; see `connected`."""

    of_processes = True

    def __init__(self, devices: Sequence[Device]) -> None:
        super().__init__(devices)
        shared = [device for device in self.devices if isinstance(device, Shared)]
        self.comm = shared[0].comm
        self.rank, self.local = self.comm.rank, shared[self.comm.rank]
        self.graphs = self.local.graphs
        self.peers = peers_of(self.comm, self.local) if self.kind == "cuda" else None
        names = self.comm.allgather(str(self.local))
        self._same_processors = len(set(self.comm.allgather(self.local.processor))) == 1
        each = names[0] if len(set(names)) == 1 else ", ".join(names)
        self.name = f"{len(names)} processes: {each}{' each' if len(set(names)) == 1 else ''}"

    def run(self, schedule: Sequence[Stage]) -> None:
        for stage in schedule:
            if stage is not BARRIER:  # a process waits for the messages of its exchanges only
                for device, launches in zip(self.devices, stage, strict=True):
                    device.run(after_others(launches))

    def repeated(self, schedule: Sequence[Stage], times: int) -> Callable[[], None]:
        stages = [stage for stage in schedule if stage is not BARRIER]
        regions = [[launch for stage in stages for launch in after_others(stage[rank])] for rank in self._ranks]
        each = [device.repeated(region, times) for device, region in zip(self.devices, regions, strict=True)]
        calls = [go for go in each if go is not _nothing]

        def go() -> None:
            for call in calls:
                call()

        return go

    def barrier(self) -> None:
        """Do nothing: a process waits for the messages of its exchanges only."""

    def transport(self) -> Transport:
        return MpiTransport(self) if self.peers is None else self.peers.transport(self)

    @property
    def transport_name(self) -> str:
        """Name of the transport between the devices."""
        if self.kind == "cuda":
            return "NCCL" if self.peers is None else "peer memory"
        return "MPI"

    def copies(self, device: Device, pairs: Sequence[tuple[Any, Any]]) -> list[Launch | HostCall]:
        """Return copies between arrays of one device."""
        if device is not self.local or not pairs:
            return []
        if device.kind == "cuda":
            from eagre.backend.peer_copies import copy_launches

            return [*copy_launches(device, pairs)]
        return super().copies(device, pairs)

    def agreed(self, value: Any) -> Any:
        return self.comm.bcast(value, root=0)

    def local_values(self, evaluate: Callable[[int], Any]) -> list[Any]:
        Shared.alone = True
        try:
            return [evaluate(rank) if rank == self.rank else None for rank in self._ranks]
        finally:
            Shared.alone = False

    def each(self, evaluate: Callable[[int], Any]) -> list[Any]:
        value = self.local_values(evaluate)[self.rank]
        wait([self.comm.Ibarrier()])
        return self.comm.allgather(value)

    def collect(
        self, evaluate: Callable[[int], Mapping[str, np.ndarray]], join: Callable[[str, list[np.ndarray]], np.ndarray]
    ) -> dict[str, np.ndarray]:
        values = self.local_values(evaluate)[self.rank]
        wait([self.comm.Ibarrier()])
        headers = self.comm.gather({name: (one.shape, one.dtype) for name, one in values.items()}, root=0)
        joined = {}
        for name, value in values.items():
            arrays = _gather(self.comm, value, None if headers is None else [one[name] for one in headers])
            if arrays is not None:
                joined[name] = join(name, arrays)
        return joined

    def scatter(self, arrays: Sequence[np.ndarray] | None) -> np.ndarray:
        """Return the array of this process; see `scattered`."""
        return scattered(self.comm, arrays)

    def host_of_each(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        pairs: list[tuple[Any, np.ndarray]] = []
        for device, array in zip(self.devices, arrays, strict=True):
            pairs.append((device, device.local_copy(array)))  # type: ignore[attr-defined]
        wait([request for device, values in pairs for request in device.begin_broadcast(values)])
        return [values for _, values in pairs]

    def host_of_replicated(self, arrays: Sequence[Any]) -> np.ndarray:
        """See `Group.host_of_replicated`: the copy of this process, or of the first if processors differ."""
        if self._same_processors:
            return self.local.local_copy(arrays[self.rank])  # type: ignore[attr-defined]
        return super().host_of_replicated(arrays)

    def pinned_of_replicated(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        return super(Shared, self.local).pinned(shape, dtype) if self._same_processors else None  # type: ignore[misc]

    @property
    def _ranks(self) -> range:
        return range(len(self.devices))


def connected(local: Device, comm: Any) -> MpiGroup:
    """Return the group of the devices of all processes of a communicator.

    local : device of this process; all processes have devices of one kind
    """
    kind = type(local)
    local_type = type(f"Own{kind.__name__}", (Shared, kind), {})
    remote_type = type(f"Remote{kind.__name__}", (Shared, Remote, kind), {})
    return MpiGroup(
        [_copy_of(local, local_type if rank == comm.rank else remote_type, comm, rank) for rank in range(comm.size)]
    )


def _gather(comm: Any, value: np.ndarray, headers: Sequence[tuple[Any, Any]] | None) -> list[np.ndarray] | None:
    """Return the arrays of all processes in the first process, None in others; headers : shape and type of each."""
    if headers is None:
        wait([comm.Isend(chunk, dest=0) for chunk in chunks(np.ascontiguousarray(value))])
        return None
    arrays = [value, *(np.empty(shape, dtype) for shape, dtype in headers[1:])]
    wait([comm.Irecv(chunk, source=n) for n, one in enumerate(arrays[1:], 1) for chunk in chunks(one)])
    return arrays


def scattered(comm: Any, arrays: Sequence[np.ndarray] | None) -> np.ndarray:
    """Return a copy of the array of this process.

    arrays : arrays of all processes in the first process, None in others
    """
    if arrays is None:
        wait([comm.Ibarrier()])
        received = np.empty(*comm.scatter(None, root=0))
        wait([comm.Irecv(chunk, source=0) for chunk in chunks(received)])
        return received
    wait([comm.Ibarrier()])
    comm.scatter([(one.shape, one.dtype) for one in arrays], root=0)
    for rank, one in enumerate(arrays[1:], 1):
        wait([comm.Isend(chunk, dest=rank) for chunk in chunks(np.ascontiguousarray(one))])
    return np.array(arrays[0])


def chunks(values: np.ndarray) -> list[np.ndarray]:
    """Return the bytes of a C-contiguous array in messages of limited size."""
    elements = values.reshape(-1).view(np.uint8)
    return [elements[start : start + MAX_MESSAGE] for start in range(0, elements.size, MAX_MESSAGE)]


def _copy_of(local: Device, of: type, comm: Any, owner: int) -> Any:
    device = object.__new__(of)
    device.__dict__.update(local.__dict__, comm=comm, owner=owner, _pinned=[], _received={})
    return device


def peers_of(comm: Any, device: Device) -> Any:
    """Return `eagre.backend.mpi.gpu_exchange.Peers` if the GPUs can read the memory of each other, otherwise None."""
    from eagre.backend.mpi import gpu_exchange

    return gpu_exchange.peers_of(comm, device)


def _to_host(launches: Iterable[Work]) -> list[Work]:
    return [one for one in launches if isinstance(one, CallToHost | TransferToHost)]


def _nothing(*arguments: Any) -> None:
    """Do nothing."""
