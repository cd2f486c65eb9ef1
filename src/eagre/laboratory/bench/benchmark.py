"""Benchmark of a model: verify the results first, then time the steps.

Records have the keys `KEYS`. Speeds are compared with the bandwidth of a large copy, measured in the same call on the
same device with the same number of threads.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from statistics import median
from typing import Any

from eagre.backend.compilation.origin import cache_bytes
from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.timing import times_of
from eagre.contract import Model, field_type
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.operations import rate_text
from eagre.laboratory.bench.subject import Benchmark
from eagre.tuning.roofline import peak_operations

IDENTITY = ("model", "case", "variant", "precision", "device", "threads", "shape")
"""Keys that identify a measurement."""
KEYS = (
    *IDENTITY,
    *("steps", "ms_per_step", "ms_best", "cell_steps_per_s", "bytes_per_cell", "fraction_of_copy", "copy_gb_per_s"),
    *("error", "commit", "date", "versions"),
)
SUBJECTS = {
    "shallow-water": ("eagre.laboratory.bench.shallow_water", "WetBasin"),
    "shallow-water-adi": ("eagre.laboratory.bench.shallow_water_adi", "Pool"),
    "barotropic": ("eagre.laboratory.bench.barotropic", "DoubleGyre"),
    "potential-waves": ("eagre.laboratory.bench.potential_waves", "Tanks"),
    "anelastic": ("eagre.laboratory.bench.anelastic", "Turbulence"),
}


def bench(kind: str, *arguments: Any, **options: Any) -> list[dict[str, Any]]:
    """Return the records of `measurements`, with the same parameters."""
    return list(measurements(kind, *arguments, **options))


def measurements(
    kind: str,
    device: str | Device = "auto",
    precision: str | None = None,
    sizes: Sequence[int] | None = None,
    *,
    variants: Sequence[str] | None = None,
    repeats: int = 5,
    seconds: float = 0.05,
    commit: str | None = None,
    compare: bool = True,
) -> Iterator[dict[str, Any]]:
    """Verify and time a model for each size, precision and variant.

    Parameters
    ----------
    kind : str
        ``"shallow-water"``, a wet basin with friction between walls; ``"shallow-water-adi"``, the pool of
        `eagre.laboratory.cases.mike21`; ``"barotropic"``, the double gyre of `eagre.laboratory.cases.gyres`;
        ``"potential-waves"``, the tanks of `eagre.laboratory.cases.wave_tanks`; ``"anelastic"``, the decaying
        turbulence of `eagre.laboratory.cases.atmosphere`.
    device : str or Device
    precision : {"single", "double"}, optional
        Both by default.
    sizes : sequence of int, optional
        Cells or points per side; by default all sizes of the benchmark that fit the device.
    variants : sequence of str, optional
        ``"rk2"``, ``"euler"``; ``"mike21"`` or ``"bleichrodt2011"`` (scheme of the source) and ``"default"`` for the
        other models; all by default.
    repeats : int
        Number of timings; the median and the minimum are recorded.
    seconds : float, s
        Minimum duration of one timing.
    commit : str, optional
        Commit of the source; determined by git by default.
    compare : bool
        Whether to compare with the CPU first, which needs a long compilation.

    Yields
    ------
    dict
        Records with the keys `KEYS`; on a CPU for one thread and for all threads.

    Raises
    ------
    InputError
        For a model or a variant without a benchmark.
    EagreError
        If a result is wrong.
    """
    subject = subject_of(kind, variants or ())
    for variant in variants or subject.variants:
        for size in sizes or ():
            subject.check_size(size, variant)
    chosen = select(device)
    origin = machine.provenance(chosen, commit)
    copies = machine.copy_speeds(chosen)
    for real in (precision,) if precision else ("single", "double"):
        peaks = machine.each_threads(chosen, lambda real=real: peak_operations(chosen, real))
        for variant in variants or subject.variants:
            differences: dict[tuple[int, int] | None, float | None] = {None: None}
            for size in sizes or subject.sizes[chosen.kind]:
                shape = subject.compared_shape(size) if compare else None
                if shape is not None and shape not in differences:
                    differences[shape] = subject.compared(shape, chosen, real, variant)
                try:
                    model = subject.checked_model(size, chosen, real, variant)
                except MemoryNeededError:
                    if sizes:
                        raise
                    continue
                for threads, copy in copies.items():
                    with machine.threads_limited(chosen, threads):
                        steps, per_step = _time_steps(subject, model, chosen, repeats, seconds)
                    record = _record(subject, kind, model, chosen, variant, threads, copy, per_step)
                    checked = subject.verified(model, differences[shape]) + subject.against_paper(record)
                    checked += rate_text(record, peaks[threads])
                    record |= {"steps": steps, "error": checked} | origin
                    yield {key: record[key] for key in KEYS}
                del model
                gc.collect()


def subject_of(kind: str, variants: Iterable[str] = ()) -> Benchmark:
    """Return the benchmark of a model after a check of the variants."""
    if kind not in SUBJECTS:
        allowed = ", ".join(f'"{name}"' for name in SUBJECTS)
        raise InputError(f"the model {kind!r}", allowed=allowed, problem="There is no benchmark of this model.")
    module, name = SUBJECTS[kind]
    subject = getattr(import_module(module), name)()
    for variant in variants:
        if variant not in (*subject.variants, *subject.also):
            allowed = (*subject.variants, *subject.also)
            problem = "The benchmark does not have this variant."
            raise InputError(f"the variant {variant!r}", allowed=", ".join(map(repr, allowed)), problem=problem)
    return subject


def merged(known: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of both; a new record replaces an old record with the same `IDENTITY`."""

    def identity(record: Mapping[str, Any]) -> str:
        return repr([list(value) if isinstance(value, tuple) else value for value in map(record.get, IDENTITY)])

    return list({identity(record): dict(record) for record in [*known, *new]}.values())


def _time_steps(
    subject: Benchmark, model: Model, device: Device, repeats: int, seconds: float
) -> tuple[int, list[float]]:
    """Return the number of timed steps, and the seconds per step of each repeat."""
    work = model.steps_without_checks(subject.steps_a_call[device.kind])
    once = min(times_of(device, work, repeats=2, warm_up=1))
    repetitions = max(1, math.ceil(seconds / max(once, 1e-7)))

    def many() -> None:
        for _ in range(repetitions):
            work()

    if device.kind == "cuda":
        many()
    per_step, total = [], 0
    for _ in range(repeats):
        steps_before = model.steps
        seconds_taken = times_of(device, many, repeats=1, warm_up=0)[0]
        steps = model.steps - steps_before
        if steps < 1:
            raise EagreError(f"The model made no step in {repetitions} rounds on {device}.")
        per_step.append(seconds_taken / steps)
        total += steps
    return total, per_step


def _record(
    subject: Benchmark,
    kind: str,
    model: Model,
    device: Device,
    variant: str,
    threads: int,
    copy: float,
    per_step: Sequence[float],
) -> dict[str, Any]:
    shape = [*([] if model.levels is None else [model.levels.height.size]), *model.grid.shape]
    size = field_type(model).itemsize
    cells = math.prod(shape)
    speed = cells / median(per_step)
    traffic = model.bytes_per_step
    cached = subject.resident * size * cells < cache_bytes(device)  # and not held against the copy
    return {
        "model": kind,
        "case": subject.case,
        "variant": variant,
        "precision": model.precision,
        "device": machine.device_name(device),
        "threads": threads,
        "shape": shape,
        "ms_per_step": 1e3 * median(per_step),
        "ms_best": 1e3 * min(per_step),
        "cell_steps_per_s": speed,
        "bytes_per_cell": traffic,
        "fraction_of_copy": None if cached else traffic * speed / copy,
        "copy_gb_per_s": copy / 1e9,
    }
