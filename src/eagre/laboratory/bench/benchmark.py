"""Benchmark of a model: verify the results, then time the steps; operations per step, and profile of the kernels.

Records have the keys `KEYS`. Speeds are compared with the bandwidth of a large copy, measured in the same call on the
same device with the same number of threads.

The constants of operations per cell and step are counted on the kernels of a CPU in double precision
(`tests/unit/test_bench_operations.py`), without the edges of tiles. Comparisons, minima, maxima, signs and |x| are not
counted. The potential-flow waves, whose steps iterate, and the anelastic model, whose tiles overlap, have no constants.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from statistics import median
from typing import Any, NamedTuple

from eagre.backend.compilation.origin import cache_bytes
from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.timing import profiling_device, times_of
from eagre.contract import Model, field_type
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.subject import Benchmark
from eagre.tuning.roofline import Operations, Routine, peak_operations

OPERATIONS = {
    ("shallow-water", "rk2"): Operations(213, 221, 8, 16),
    ("shallow-water", "euler"): Operations(105, 109, 4, 8),
    ("shallow-water", "srk2"): Operations(235, 249, 10, 18),
    ("shallow-water", "ds1"): Operations(129, 152, 6, 14),
    ("shallow-water", "ds2"): Operations(264, 310, 12, 28),
    ("shallow-water-adi", "mike21"): Operations(150, 83, 19, 4),
    ("shallow-water-adi", "default"): Operations(248, 219, 29, 6),
    ("barotropic", "bleichrodt2011"): Operations(24, 12, 1, 0),
    ("barotropic", "default"): Operations(41, 20, 1, 0),
}
"""Operations per cell and step, by model and variant of its benchmark; without the transforms of the barotropic model.

An open boundary, rain, wind or a varying roughness add operations.
"""

TRANSFORMS = {"barotropic": 2}
"""Sine transforms of every row per step; 5/2 log2(n) operations per point each, the usual count of real transforms."""

SOURCE_OPERATIONS = {"shallow-water-adi": ("mike21", 422)}
"""Operations per cell and step that the source of a model counts, with its name."""
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
STEPS = 3


def operations_of_step(record: Mapping[str, Any]) -> float | None:
    """Return the operations per cell and step of a benchmark record; None if they were not counted."""
    counted = OPERATIONS.get((record["model"], record["variant"]))
    if counted is None:
        return None
    return counted.total + TRANSFORMS.get(record["model"], 0) * 2.5 * math.log2(record["shape"][-1])


def rate_text(record: Mapping[str, Any], peak: float) -> str:
    """Return the rate of operations of a record and its fraction of the roofline, or an empty text.

    The roofline is the smaller of `peak`, operations/s, and the rate at the copy bandwidth, which limits grids larger
    than the cache only.
    """
    operations, speed = operations_of_step(record), record["cell_steps_per_s"]
    if operations is None:
        return ""
    limited = record["fraction_of_copy"] is not None
    bandwidth = 1e9 * record["copy_gb_per_s"] if limited else math.inf
    rates = Routine(record["model"], operations, record["bytes_per_cell"]).measured(speed, 1.0, bandwidth, peak)
    text = f"; {rates.operations / 1e9:.3g} Gflop/s, {rates.fraction:.0%} of the roofline"
    if record["model"] not in SOURCE_OPERATIONS:
        return text
    name, number = SOURCE_OPERATIONS[record["model"]]
    return f"{text}; {number * speed / 1e9:.3g} Gflop/s as {name} counts"


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
