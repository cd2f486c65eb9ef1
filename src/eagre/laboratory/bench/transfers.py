"""Copies between host and device: all arrays of a state, and fields copied to the host after every step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.timing import times_of
from eagre.contract import Model
from eagre.laboratory.bench.benchmark import subject_of

STEPS = 100
ENDLESS = 1e9  # model time that no benchmark reaches, s


class TransferTime(NamedTuple):
    """Median time of copies or steps; bytes : copied, 0 for steps alone."""

    name: str
    seconds: float
    bytes: int


def transfer_times(
    kind: str,
    device: str | Device = "auto",
    precision: str = "single",
    size: int | None = None,
    variant: str | None = None,
    steps: int = STEPS,
    repeats: int = 3,
    fields: Sequence[str] | None = None,
) -> list[TransferTime]:
    """Return the times of copies of a model's benchmark.

    On a GPU, all arrays of a state are copied in and out, with pageable and with pinned host memory. On all devices,
    three loops are timed in turns: `steps` steps, copies of fields to the host without steps, and both, where a thread
    receives the fields during the next step.

    Parameters
    ----------
    kind : str
        As in `bench`.
    device : str or Device
    precision : {"single", "double"}
    size : int, optional
        Cells or points per side; the smallest size of the benchmark by default.
    variant : str, optional
        The first variant by default.
    steps : int
        Number of steps per loop.
    repeats : int
        Number of timings; the median is returned.
    fields : sequence of str, optional
        Fields that are copied; all time-dependent fields by default, including those that the host derives.

    Raises
    ------
    InputError
        For a model or a variant without a benchmark, and for a size that the benchmark does not support.
    """
    subject, chosen = subject_of(kind, [variant] if variant else ()), select(device)
    variant = variant or subject.variants[0]
    model = subject.checked_model(size or subject.sizes[chosen.kind][0], chosen, precision, variant)
    times = _array_copies(chosen, model.state(), repeats) if chosen.kind == "cuda" else []
    return times + _step_copies(model, steps, repeats, fields)


def _array_copies(device: Device, state: Mapping[str, np.ndarray], repeats: int) -> list[TransferTime]:
    """Return the times of copies of all arrays of a state to a GPU and back."""
    host = [np.ascontiguousarray(values) for values in state.values() if values.nbytes]
    there = [device.array(values) for values in host]
    pinned = [device.pinned(values.shape, values.dtype) for values in host]
    total = sum(values.nbytes for values in host)
    pairs = list(zip(there, host, strict=True))
    into = [device.transfer(target, source) for target, source in zip(there, pinned, strict=True)]
    back = [device.transfer(target, source) for target, source in zip(pinned, there, strict=True)]
    loops: dict[str, Callable[[], Any]] = {
        "all arrays in, pageable": lambda: [device.fill(target, source) for target, source in pairs],
        "all arrays out, pageable": lambda: [device.host(source) for source in there],
        "all arrays in, pinned": lambda: device.run(into),
        "all arrays out, pinned": lambda: device.run(back),
    }
    return [
        TransferTime(name, median(times_of(device, loop, repeats=repeats, warm_up=1)), total)
        for name, loop in loops.items()
    ]


def _step_copies(model: Model, steps: int, repeats: int, fields: Sequence[str] | None = None) -> list[TransferTime]:
    """Return the times of steps alone, of copies alone, and of steps with a copy after each."""
    changing = [name for name, one in model.variables.items() if not one.static]
    names, copied = (changing, "all fields") if fields is None else (fields, ", ".join(fields))
    total = steps * sum(model.field(name).nbytes for name in names)

    def loop(advances: bool, copies: bool) -> float:
        start = perf_counter()
        with ThreadPoolExecutor(1) as receiver:
            last = None
            for _ in range(steps):
                if advances:
                    model.advance(ENDLESS, max_steps=1)
                if copies:
                    if last is not None:
                        last.result()
                    last = receiver.submit(model.snapshot(names))
            if last is not None:
                last.result()
        return perf_counter() - start

    kinds = {
        f"{steps} steps alone": (True, False),
        f"{steps} copies of {copied} alone": (False, True),
        f"{steps} steps, {copied} copied after each": (True, True),
    }
    model.advance(ENDLESS, max_steps=2)
    model.snapshot(names)()
    times = [[loop(*kind) for kind in kinds.values()] for _ in range(repeats)]
    return [
        TransferTime(name, median(column), total if copies else 0)
        for (name, (_, copies)), column in zip(kinds.items(), zip(*times, strict=True), strict=True)
    ]


def hidden_fraction(times: list[TransferTime]) -> float:
    """Return the fraction of the time of the copies that is hidden behind the steps, 0 to 1."""
    steps, copies, both = (one.seconds for one in times[-3:])
    return min(max((steps + copies - both) / copies, 0.0), 1.0)
