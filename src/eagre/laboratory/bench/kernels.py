"""Kernel profile of a model step: calls, time and fraction of each kernel."""

from __future__ import annotations

from typing import NamedTuple

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.timing import profiling_device
from eagre.laboratory.bench.benchmark import subject_of

STEPS = 3


class KernelTime(NamedTuple):
    """Timing of a kernel within a step."""

    name: str
    calls: float  # per step
    microseconds: float  # per step
    share: float  # fraction of the time of all kernels


def kernel_times(
    kind: str,
    device: str | Device = "auto",
    precision: str = "single",
    size: int | None = None,
    variant: str | None = None,
    steps: int = STEPS,
) -> list[KernelTime]:
    """Return the kernel times of a model's benchmark, the longest first; each launch is timed alone on an idle device.

    The time of a step is less than their sum if launches overlap, and more if the device waits for the host.

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
        Number of profiled steps, after the same number of warm-up steps.

    Raises
    ------
    InputError
        For a model or a variant without a benchmark, and for several GPUs.
    """
    subject, chosen = subject_of(kind, [variant] if variant else ()), select(device)
    variant, watching = variant or subject.variants[0], profiling_device(chosen)
    model = subject.checked_model(size or subject.sizes[chosen.kind][0], watching, precision, variant)
    work = model.steps_without_checks(1)
    for _ in range(steps):
        work()
    watching.forget()
    steps_before = model.steps
    for _ in range(steps):
        work()
    built, total = model.steps - steps_before, sum(one.seconds for one in watching.seen.values())
    rows = [
        KernelTime(name, one.calls / built, 1e6 * one.seconds / built, one.seconds / total)
        for name, one in watching.seen.items()
    ]
    return sorted(rows, key=lambda row: -row.share)
