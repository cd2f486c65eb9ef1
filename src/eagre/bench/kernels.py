"""What each kernel of a model's step takes: calls, time and share."""

from __future__ import annotations

from typing import NamedTuple

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.watched import watched
from eagre.bench.benchmark import subject_of

STEPS = 3


class KernelTime(NamedTuple):
    """A kernel in a step."""

    name: str
    calls: float  # a step
    microseconds: float  # a step
    share: float  # of all kernels


def kernel_times(
    kind: str,
    device: str | Device = "auto",
    precision: str = "single",
    size: int | None = None,
    variant: str | None = None,
    steps: int = STEPS,
) -> list[KernelTime]:
    """Times of the kernels of a model's benchmark, the longest first, each launch alone on an idle device.

    A step takes less than their sum where launches overlap, and more where the host makes it wait.

    Parameters
    ----------
    kind : str
        As in `bench`.
    device : str or Device
    precision : {"single", "double"}
    size : int, optional
        Cells or points a side; else the smallest of the model's benchmark.
    variant : str, optional
        Else its first.
    steps : int
        That are watched, after as many others.

    Raises
    ------
    InputError
        For a model or a variant without a benchmark, and for several GPUs.
    """
    subject, chosen = subject_of(kind, [variant] if variant else ()), select(device)
    variant, watching = variant or subject.variants[0], watched(chosen)
    model = subject.checked_model(size or subject.sizes[chosen.kind][0], watching, precision, variant)
    work = model.steps_without_checks(1)
    for _ in range(steps):
        work()
    watching.forget()
    before = model.steps
    for _ in range(steps):
        work()
    made, total = model.steps - before, sum(one.seconds for one in watching.seen.values())
    rows = [
        KernelTime(name, one.calls / made, 1e6 * one.seconds / made, one.seconds / total)
        for name, one in watching.seen.items()
    ]
    return sorted(rows, key=lambda row: -row.share)
