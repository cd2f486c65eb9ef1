# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false
# pyright: reportMissingImports=false, reportIndexIssue=false
"""Several NVIDIA GPUs in one process: streams that wait for one another, and one graph for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import cupy

from eagre.backend.cuda.compiler import keep_loaded
from eagre.backend.cuda.device import CudaDevice
from eagre.backend.device import Device, HostCall, Launch
from eagre.backend.group import BARRIER, Group, Stage, after_others, without_gaps
from eagre.backend.peer_copies import Pair, copy_launches

ANY_WAY = 4  # cudaMemcpyDefault: devices inferred from the addresses
ALREADY_ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled


class CudaGroup(Group):
    """Group of GPUs of one host."""

    def __init__(self, devices: Sequence[Device]) -> None:
        super().__init__(devices)
        keep_loaded()
        self._gpus = [gpu for gpu in dict.fromkeys(devices) if isinstance(gpu, CudaDevice)]
        self._events = []
        for gpu in self._gpus:
            gpu.use()
            self._events.append(cupy.cuda.Event(disable_timing=True))
        # Copies without peer access use the host and cannot be captured.
        pairs = [(one, other) for one in self._gpus for other in self._gpus if one is not other]
        self.graphs = all([_enable_peer_access(one, other) for one, other in pairs])

    def run(self, schedule: Sequence[Stage]) -> None:
        """Queue the stages of a schedule in order, without waiting for the devices."""
        for stage in without_gaps(schedule):
            if stage is BARRIER:
                self.barrier()
            for device, launches in zip(self.devices, stage, strict=False):
                device.run(after_others(launches))

    def repeated(self, schedule: Sequence[Stage], times: int) -> Callable[[], None]:
        """Capture `times` repetitions on all devices in one CUDA graph, if peer access and capture are possible."""
        schedule = [self._bound(stage) for stage in schedule]
        if not self.graphs or not _can_be_held(schedule):
            return super().repeated(schedule, times)
        first = self._gpus[0]
        self.synchronize()
        first.use()
        first.stream.begin_capture()
        try:
            self._gather_behind(first)
            for _ in range(times):
                self.run(schedule)
            self._wait(first)
        except BaseException:
            with suppress(cupy.cuda.runtime.CUDARuntimeError):  # otherwise the stream remains unusable
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

    def barrier(self) -> None:
        """Let every stream wait for all streams."""
        for gpu, event in zip(self._gpus, self._events, strict=True):
            gpu.use()
            event.record(gpu.stream)
        for gpu in self._gpus:
            gpu.use()
            for other, event in zip(self._gpus, self._events, strict=True):
                if other is not gpu:
                    gpu.stream.wait_event(event)

    def copies(self, device: Device, pairs: Sequence[Pair]) -> list[Launch | HostCall]:
        """Return copies by a kernel on the owner of the targets with peer access, otherwise by the driver."""
        if self.graphs and pairs:
            return [*copy_launches(device, pairs)]
        return [HostCall(_copy, pair) for pair in pairs]

    def _bound(self, stage: Stage) -> Stage:
        if stage is BARRIER:
            return BARRIER
        pairs = zip(self.devices, stage, strict=True)
        return [gpu.bound(launches) for gpu, launches in pairs]  # type: ignore[attr-defined]

    def _wait(self, one: CudaDevice) -> None:
        """Let one stream wait for all streams."""
        for gpu, event in zip(self._gpus, self._events, strict=True):
            if gpu is not one:
                gpu.use()
                event.record(gpu.stream)
                one.use()
                one.stream.wait_event(event)

    def _gather_behind(self, one: CudaDevice) -> None:
        """Let all streams wait for one stream."""
        one.use()
        event = self._events[self._gpus.index(one)]
        event.record(one.stream)
        for gpu in self._gpus:
            if gpu is not one:
                gpu.use()
                gpu.stream.wait_event(event)


def _enable_peer_access(one: CudaDevice, other: CudaDevice) -> bool:
    """Enable peer access of one GPU to the memory of another; return False if it is not available."""
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


def _can_be_held(schedule: Sequence[Stage]) -> bool:
    """Return whether a graph can hold a schedule."""
    all_ = (one for stage in schedule for launches in stage for one in launches)
    return not any(isinstance(one, HostCall) and not one.captured for one in all_)


def _copy(target: Any, source: Any) -> None:
    """Copy between memories of GPUs on the current stream, in as many contiguous parts as needed."""
    if not (target.flags.c_contiguous and source.flags.c_contiguous):
        for row, source_row in zip(target, source, strict=True):
            _copy(row, source_row)
        return
    stream = cupy.cuda.get_current_stream()
    cupy.cuda.runtime.memcpyAsync(target.data.ptr, source.data.ptr, source.nbytes, ANY_WAY, stream.ptr)
