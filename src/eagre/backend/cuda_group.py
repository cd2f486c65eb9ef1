# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""Several NVIDIA GPUs in one process: streams that wait for one another, and one graph over all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cupy

from eagre.backend.cells import cell, switch
from eagre.backend.cuda import keep_loaded
from eagre.backend.cuda_device import CudaDevice
from eagre.backend.device import Device, HostCall, Launch
from eagre.backend.group import MEET, Group, Stage

AT_ONCE = 4  # copies of one kernel
COPIES = switch("COPIES", AT_ONCE)  # of them those that there are
LONG, LANES = 32768, 256  # elements from which on a copy is made by whole blocks of so many threads
ANY_WAY = 4  # cudaMemcpyDefault: the addresses say which devices
ALREADY_ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled


@cell
def taken(one, i, target_0, source_0, target_1, source_1, target_2, source_2, target_3, source_3):
    """Element i of AT_ONCE copies; `one` is 0. All loads cross the links before the first store."""
    value_0 = source_0[min(i, source_0.shape[0] - 1)]
    if COPIES > 1:
        value_1 = source_1[min(i, source_1.shape[0] - 1)]
    if COPIES > 2:
        value_2 = source_2[min(i, source_2.shape[0] - 1)]
    if COPIES > 3:
        value_3 = source_3[min(i, source_3.shape[0] - 1)]
    if i < target_0.shape[0]:
        target_0[i] = value_0
    if COPIES > 1 and i < target_1.shape[0]:
        target_1[i] = value_1
    if COPIES > 2 and i < target_2.shape[0]:
        target_2[i] = value_2
    if COPIES > 3 and i < target_3.shape[0]:
        target_3[i] = value_3


class CudaGroup(Group):
    """GPUs of one host."""

    def __init__(self, members: Sequence[Device]) -> None:
        super().__init__(members)
        keep_loaded()
        self._gpus = [gpu for gpu in dict.fromkeys(members) if isinstance(gpu, CudaDevice)]
        self._events = []
        for gpu in self._gpus:
            gpu.use()
            self._events.append(cupy.cuda.Event(disable_timing=True))
        # Without direct access copies go through the host, which cannot be captured.
        self.graphs = all([_reach(one, other) for one in self._gpus for other in self._gpus if one is not other])

    def run(self, schedule: Sequence[Stage]) -> None:
        """Run the stages of a schedule in order; returns before the devices have done so."""
        for stage in _without_gaps(schedule):
            if stage is MEET:
                self.meet()
            for member, launches in zip(self.members, stage, strict=False):
                member.run(_after_others(launches))

    def repeated(self, schedule: Sequence[Stage], times: int) -> Callable[[], None]:
        """Capture `times` rounds on all devices in one CUDA graph, if copies between them are direct."""
        if not self.graphs:
            return super().repeated(schedule, times)
        first = self._gpus[0]
        schedule = [self._bound(stage) for stage in schedule]
        self.synchronize()
        first.use()
        first.stream.begin_capture()
        try:
            self._gather_behind(first)
            for _ in range(times):
                self.run(schedule)
            self._wait(first)
        except BaseException:
            with suppress(cupy.cuda.runtime.CUDARuntimeError):  # or the stream would be of no more use
                first.stream.end_capture()
            raise
        first.use()
        graph = first.stream.end_capture()

        def go() -> None:
            self._wait(first)
            first.use()
            graph.launch(first.stream)
            self._gather_behind(first)

        go.graph, go.arguments = graph, list(schedule)  # type: ignore[attr-defined]
        return go

    def meet(self) -> None:
        """Let every stream wait for all."""
        for gpu, event in zip(self._gpus, self._events, strict=True):
            gpu.use()
            event.record(gpu.stream)
        for gpu in self._gpus:
            gpu.use()
            for other, event in zip(self._gpus, self._events, strict=True):
                if other is not gpu:
                    gpu.stream.wait_event(event)

    def exchange(self, member: Device, pairs: Sequence[tuple[Any, Any]]) -> list[Launch | HostCall]:
        """Copies by a kernel of the owner of the targets where GPUs reach one another's memory, else by the driver."""
        if not (self.graphs and pairs):
            return [HostCall(_copy, pair) for pair in pairs]
        made: list[Launch | HostCall] = []
        for start in range(0, len(pairs), AT_ONCE):
            some = [*pairs[start : start + AT_ONCE]]
            copies = {"COPIES": len(some)}
            some += [some[-1]] * (AT_ONCE - len(some))
            arguments = tuple(array.reshape(-1) for pair in some for array in pair)
            precision = "single" if arguments[0].itemsize == 4 else "double"
            program, longest = member.loop(taken, precision, copies), max(array.size for array in arguments)
            if longest < LONG:
                made.append(member.over(program, (1, longest), arguments))
            else:
                made.append(Launch(program, (1, longest, *arguments), (-(-longest // LANES),), (LANES,)))
        return made

    def _bound(self, stage: Stage) -> Stage:
        if stage is MEET:
            return MEET
        return [gpu.bound(launches) for gpu, launches in zip(self.members, stage, strict=True)]  # type: ignore[attr-defined]

    def _wait(self, one: CudaDevice) -> None:
        """Let one stream wait for all."""
        for gpu, event in zip(self._gpus, self._events, strict=True):
            if gpu is not one:
                gpu.use()
                event.record(gpu.stream)
                one.use()
                one.stream.wait_event(event)

    def _gather_behind(self, one: CudaDevice) -> None:
        """Let all streams wait for one."""
        one.use()
        event = self._events[self._gpus.index(one)]
        event.record(one.stream)
        for gpu in self._gpus:
            if gpu is not one:
                gpu.use()
                gpu.stream.wait_event(event)


def _reach(one: CudaDevice, other: CudaDevice) -> bool:
    """Give one GPU direct access to the memory of another; False if there is none."""
    runtime = cupy.cuda.runtime
    if not runtime.deviceCanAccessPeer(one.index, other.index):
        return False
    one.use()
    try:
        runtime.deviceEnablePeerAccess(other.index)
    except runtime.CUDARuntimeError as error:
        if error.status != ALREADY_ENABLED:
            raise
    return True


def _without_gaps(schedule: Sequence[Stage]) -> list[Stage]:
    """A schedule whose stages between two meetings are one: its kernels may overlap."""
    found: list[Stage] = []
    for stage in schedule:
        if stage is MEET or not found or found[-1] is MEET:
            found.append(stage)
        else:
            found[-1] = [[*before, *after] for before, after in zip(found[-1], stage, strict=True)]
    return found


def _after_others(launches: Sequence[Launch | HostCall]) -> list[Launch | HostCall]:
    """Launches that come after a copy or a meeting wait for it: they cannot overlap its end."""
    made: list[Launch | HostCall] = []
    for launch in launches:
        if isinstance(launch, Launch) and launch.early and not (made and isinstance(made[-1], Launch)):
            launch = launch._replace(early=False)
        made.append(launch)
    return made


def _copy(target: Any, source: Any) -> None:
    """Copy between memories of GPUs on the current stream."""
    stream = cupy.cuda.get_current_stream()
    cupy.cuda.runtime.memcpyAsync(target.data.ptr, source.data.ptr, source.nbytes, ANY_WAY, stream.ptr)
