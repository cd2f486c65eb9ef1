"""Timing on a device: works, the copy bandwidth, and a profiling device that times each launch."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import Cell, cell
from eagre.backend.device import Device, HostCall, Work


def times_of(device: Device, work: Callable[[], None], repeats: int = 7, warm_up: int = 2) -> list[float]:
    """Return the seconds of each of `repeats` calls of `work`, with an idle device before and after."""
    for _ in range(warm_up):
        work()
    seconds = []
    for _ in range(repeats):
        device.synchronize()
        start = time.perf_counter()
        work()
        device.synchronize()
        seconds.append(time.perf_counter() - start)
    return seconds


@cell
def copied(j, i, source, target):
    """Copy one element."""
    target[j, i] = source[j, i]


def copy_bandwidth(device: Device, megabytes: int = 0) -> float:
    """Return the bandwidth of a large copy, read plus written, bytes per second: best of several.

    `megabytes` is the size of one array; the default exceeds all caches of the device.
    """
    megabytes = megabytes or (4096 if device.kind == "cuda" else 256)
    columns = 4096
    rows = megabytes * 2**20 // (4 * columns)
    source, target = (device.zeros((rows, columns), np.float32) for _ in range(2))
    source[...] = 1.0  # untouched zeros may share one page of memory
    if device.kind == "cuda":
        seconds = times_of(device, lambda: device.copy(target, source), repeats=10)
    else:
        launch = device.over(device.loop(copied, "single"), (rows, columns), (source, target))
        seconds = times_of(device, lambda: device.run([launch]), repeats=5)
    return 2.0 * 4.0 * rows * columns / min(seconds)


class TimedLaunch(NamedTuple):
    """Recorded calls and time of one kernel."""

    calls: int
    seconds: float


def profiling_device(device: Device) -> Any:
    """Return a profiling copy of a device for one model: `seen` has the calls and seconds of each kernel.

    Launches are timed separately on an idle device; `forget` restarts the recording.

    Parameters
    ----------
    device : Device
        One CPU or one GPU.
    """
    kind = type(f"Profiling{type(device).__name__}", (_ProfilingDevice, type(device)), {})
    clone = object.__new__(kind)
    clone.__dict__.update(device.__dict__)
    clone.names, clone.clock = {}, _cuda_clock(clone) if device.kind == "cuda" else _host_clock
    clone.forget()
    return clone


class _ProfilingDevice(Device):
    """Methods of a profiling device."""

    graphs = False
    starts_early = False
    names: dict[Any, str]
    seen: dict[str, TimedLaunch]
    clock: Callable[[Callable[[], None]], float]

    def forget(self) -> None:
        """Restart the recording."""
        self.seen = {}

    def program(self, entry: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        program = super().program(entry, precision, switches)
        self.names[program] = entry.name
        return program

    def loop(self, cell: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        program = super().loop(cell, precision, switches)
        self.names[program] = cell.name
        return program

    def run(self, launches: Sequence[Work]) -> None:
        run = super().run
        for launch in launches:
            seconds = self.clock(lambda launch=launch: run([launch]))
            name = self._name(launch)
            previous = self.seen.get(name, TimedLaunch(0, 0.0))
            self.seen[name] = TimedLaunch(previous.calls + 1, previous.seconds + seconds)

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        sequence = list(launches)

        def go() -> None:
            for _ in range(times):
                self.run(sequence)

        return go

    def _name(self, launch: Work) -> str:
        program = getattr(launch, "program", None)
        if program is None:
            return "copy"
        if isinstance(launch, HostCall):
            return getattr(program, "__name__", type(program).__name__)
        return self.names.get(program, getattr(program, "__name__", "a program"))


def _host_clock(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _cuda_clock(device: Any) -> Callable[[Callable[[], None]], float]:
    from eagre.backend.cuda.device import seconds_of

    return lambda work: seconds_of(device, work)
