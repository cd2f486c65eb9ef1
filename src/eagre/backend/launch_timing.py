"""Profiling device that runs launches one at a time and records their durations."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from eagre.backend.compilation.cells import Cell
from eagre.backend.device import Device, HostCall, Work


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
