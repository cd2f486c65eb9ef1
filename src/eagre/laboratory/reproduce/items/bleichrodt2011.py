"""Tables and figures of Bleichrodt (2011).

F. Bleichrodt, Accelerating finite differences for solving a barotropic ocean model on the GPU, MSc thesis, Utrecht
University (2011).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.measure import (
    alternating,
    benchmarked,
    draw_curves,
    draw_validation,
    gpu_only,
    validated,
)
from eagre.laboratory.reproduce.registry import Item, Line, Run, compared, exact, holds

ROUNDED = Number("section-3.1", "1450.563 + 3.141593", "single precision", "1453.705")
BANDWIDTH = Number("chapter-1", "Tesla M1060", "theoretical bandwidth", "102.4", "GB/s", "equation 1.1")
TIME_STEP = 1e-7  # of the double gyre on the finest grids
CLOCK, BUS = 800e6, 512  # Hz, bits of a Tesla M1060
PATTERNS = {
    "copy, offset 0, stride 1": "copy, offset 0, stride 32",
    "transpose, padded tile": "transpose, 32 words of a column in one bank",
    "sum, contiguous threads": "sum, scattered threads",
}
"""Fast memory accesses, and the slower kind."""
VARIANT = "bleichrodt2011"
LARGE, LARGE_SECONDS = 1025, 120.0
"""Grids of more points per side run on one core only if the item may take this long, s."""
SLOWER = {"259": ("257", 1.2), "515": ("513", 2.0)}
"""Grids with a slow transform: a slightly smaller grid, and the smallest quotient of the times."""
COARSE = 33
"""Points per side on both sides of the rule for the resolution."""


def chapter_1(run: Run) -> Iterator[Line]:
    """Compare the theoretical bandwidth of double data rate memory, and the order of access patterns on a GPU."""
    yield exact(BANDWIDTH, 2.0 * CLOCK * BUS / 8 / 1e9)
    if not run.on_gpu:
        yield from (gpu_only(run, Number(run.item, slow, f"over {fast}", "", "")) for fast, slow in PATTERNS.items())
        return
    from eagre.laboratory.bench.papers.memory_access import access_bandwidths

    speeds = access_bandwidths(select(run.device))
    for fast, slow in PATTERNS.items():
        ratio = speeds[slow] / speeds[fast]
        note = f"effective bandwidths {speeds[slow] / 1e9:.4g} and {speeds[fast] / 1e9:.4g} GB/s"
        yield holds(Number(run.item, slow, f"over {fast}", "", ""), ratio, maximum=1.0, note=note)


def table_b1(run: Run) -> Iterator[Line]:
    """Compare the time per step on one core in double precision and on a GPU in single precision."""
    sizes = [int(number.row) for number in run.numbers(column="CPU")]
    of_core = sizes if run.max_seconds >= LARGE_SECONDS else [size for size in sizes if size <= LARGE]

    def number_of(column: str, threads: int) -> Callable[[Mapping[str, Any]], Number | None]:
        return lambda record: run.number(record["shape"][0], column) if record["threads"] == threads else None

    core = replace(run, device="cpu", precision="double")
    yield from benchmarked(core, "barotropic", number_of("CPU", 1), sizes=of_core, variants=[VARIANT])
    yield from slow_transforms(run)
    if run.on_gpu:
        single = replace(run, precision="single")
        yield from benchmarked(single, "barotropic", number_of("GPU", 0), sizes=sizes, variants=[VARIANT])
    else:
        yield from (gpu_only(run, number) for number in run.numbers(column="GPU"))


def slow_transforms(run: Run) -> Iterator[Line]:
    """Compare grids whose number of intervals has a large prime factor with slightly smaller grids."""
    from eagre.laboratory.bench.machine import threads_limited
    from eagre.laboratory.cases.gyres import double_gyre

    device = select("cpu")
    for size, (smaller, minimum) in SLOWER.items():
        models = {points: double_gyre(int(points), device, "double", VARIANT) for points in (smaller, size)}
        with threads_limited(device, 1):
            works = {points: model.steps_without_checks(4) for points, model in models.items()}
            times = alternating(device, works, repeats=7)
        printed = run.paper.value(run.item, size, "CPU") / run.paper.value(run.item, smaller, "CPU")
        number = run.derived(f"{size} over {smaller}", "CPU", f"{printed:.3g}")
        note = f"{int(size) - 1} intervals have a large prime factor: {minimum:g} times the time at least"
        yield holds(number, times[size].minimum / times[smaller].minimum, minimum, note=note)


def draw_times(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the time per step over the number of points per side."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for number in run.numbers():
        curves.setdefault(f"{number.column}, paper", []).append((float(number.row), float(number.value)))
    for line in lines:
        if line.outcome == "compared":
            curves.setdefault(f"{line.column}, Eagre", []).append((float(line.row), float(line.computed or 0.0)))
    draw_curves(path, "Time per step of the double gyre", curves, "points per side", "time per step [ms]")


def table_b2(run: Run) -> Iterator[Line]:
    """Compare the speedups with the quotients of table B.1."""
    for number in run.numbers():
        gpu, cpu = (run.paper.value("table-B.1", number.row, column) for column in ("GPU", "CPU"))
        yield exact(number, cpu / gpu, "quotient of table B.1")


def table_3_1(run: Run) -> Iterator[Line]:
    """Compare the properties of single precision."""
    single = np.finfo(np.float32)
    digits = single.nmant + 1
    values = {
        "radix": float(single.eps) ** (-1.0 / single.nmant),
        "decimal digits": single.precision,
        "binary digits": digits,
        "smallest": float(single.tiny),
        "epsilon": float(single.eps),
    }
    for number in run.numbers():
        yield exact(number, values[number.row])


def section_3_1(run: Run) -> Iterator[Line]:
    """Compare the order of the truncation error and a sum in single precision; validate order and precisions."""
    (order,) = run.numbers()
    error = (math.pi / 2048) ** 2
    yield holds(order, error, 0.5e-6, 5e-6, note="h^2 on [0, pi] with 2049 points")
    terms = (np.float32(term) for term in ROUNDED.row.split(" + "))
    yield exact(ROUNDED, float(sum(terms, np.float32(0.0))))
    yield from validated(run, "barotropic", ["order", "precisions"])


def figure_3_3(run: Run) -> Iterator[Line]:
    """Compare the largest streamfunction, and the durations of the run on the hardware of the paper."""
    steps = run.paper.value(run.item, "time", "value") / run.paper.value(run.item, "time step", "value")
    gpu, core = (run.paper.value("table-B.1", "1025", column) for column in ("GPU", "CPU"))
    note = f"{steps:.0f} steps of table B.1"
    yield holds(run.number("time of the run on the GPU", "value"), steps * gpu / 60e3, 39.0, 41.0, note=note)
    day = Number(run.item, "time of the run on one core", "value", "24", "h", "a day")
    yield holds(day, steps * core / 3600e3, 24.0, 27.0, note=note)
    printed = run.number("largest psi", "value")
    for line in validated(run, "barotropic", ["figure-3.3"], pictures=True):
        if line.row == "figure-3.3: psi_max":
            smaller = "" if run.on_gpu else "; Re = 10 / 64, which has as many points per boundary layer"
            yield holds(printed, line.computed, 3.8, 4.1, note=line.note + smaller)
        else:
            yield line


def section_3(run: Run) -> Iterator[Line]:
    """Compare the fractions of time, the duration of the longest run, and the rule for the resolution."""
    longest = run.number("2049 points, ten years", "time of the run")
    steps = run.paper.value("figure-3.3", "time", "value") / TIME_STEP
    hours = steps * run.paper.value("table-B.1", "2049", "GPU") / 3600e3
    yield exact(longest, hours, f"{steps:.4g} steps of table B.1")
    update = 100.0 * update_fraction(run)
    for row, value in (("Poisson solver", 100.0 - update), ("update", update)):
        number = run.number(row, "share of time")
        if run.on_gpu:
            yield compared(number, value, "the update includes the first transform")
        else:
            yield holds(number, value, float(number.value) - 10.0, float(number.value) + 10.0, note="within 10 points")
    yield from resolution(run)


def update_fraction(run: Run) -> float:
    """Return the fraction of the time of a step of 1025 points per side that is spent in the update."""
    from eagre.laboratory.bench.benchmark import kernel_times

    profiles = [kernel_times("barotropic", run.device, "double", LARGE, VARIANT) for _ in range(4)]
    minimum = {
        name: min(one.microseconds for rows in profiles for one in rows if one.name == name)
        for name in {one.name for one in profiles[0]}
    }
    return sum(time for name, time in minimum.items() if "update" in name) / sum(minimum.values())


def resolution(run: Run) -> Iterator[Line]:
    """Compare the growth of the streamfunction on a grid that violates the rule, and on one that satisfies it."""
    from eagre.laboratory.cases.gyres import SCHEME
    from eagre.models.barotropic.model import BarotropicVorticity

    (rule,) = run.numbers(row="coarse grids diverge unless")
    setup = BarotropicVorticity.double_gyre(COARSE, device="cpu").setup
    spacing, beta = math.pi / (COARSE - 1), setup.beta
    finer = (5.5 * spacing) ** 3 * beta  # viscosity whose boundary layer is 5.5 h wide
    cases = {"violated": (setup.viscosity, 5e-7, 0.02), "satisfied": (finer, 0.1 * spacing**2 / finer, 1e-3)}
    for name, (viscosity, time_step, end) in cases.items():
        model = BarotropicVorticity.double_gyre(
            COARSE, reynolds=1.0 / viscosity, time_step=time_step, device=run.device, precision="double", **SCHEME
        )
        psi_max = []
        for time in (0.5 * end, end):
            model.advance(time)
            psi_max.append(model.diagnostics()["max_streamfunction"])
        growth, width = psi_max[1] / psi_max[0], (viscosity / beta) ** (1.0 / 3.0)
        number = replace(rule, row=f"growth of psi, rule {name}", column="second half of the run", text="", unit="")
        limits = (1.2, math.inf) if name == "violated" else (0.999, 1.001)
        note = f"{COARSE} points, 5 h is {5.0 * spacing / width:.3g} boundary layers, psi {psi_max[1]:.3g}"
        yield holds(number, growth, *limits, note=f"{note}; {rule.column} {rule.text}")


ITEMS = (
    Item("chapter-1", "Theoretical bandwidth and memory accesses", chapter_1),
    Item("table-B.1", "Time per step", table_b1, seconds=30.0, draw=draw_times),
    Item("table-B.2", "Speedup", table_b2),
    Item("table-3.1", "Properties of single precision", table_3_1),
    Item("section-3.1", "Errors of truncation and rounding", section_3_1, seconds=15.0),
    Item(
        "figure-3.3", "Double gyre with 1025 points per side", figure_3_3, seconds=12.0, gpu_seconds=90.0,
        draw=draw_validation,
    ),
    Item("section-3", "Fractions of time, duration of the longest run, and resolution", section_3, seconds=12.0),
)  # fmt: skip
