"""Tables and figures of Aackermann and Dinesen Pedersen (2012).

P. E. Aackermann and P. J. Dinesen Pedersen, Development of a GPU-accelerated MIKE 21 solver for water wave dynamics,
MSc thesis, DTU (2012).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth
from eagre.laboratory.bench.papers.mike21_sweeps import GPU, Sweeps
from eagre.laboratory.bench.shallow_water_adi import PAPER_GB, PAPER_WORDS
from eagre.laboratory.bench.transfers import transfer_times
from eagre.laboratory.cases.mike21 import pool
from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.items import mike21_times as times
from eagre.laboratory.reproduce.items.mike21_times import STEPS, TIMED_STEPS, cell_rate, step_times
from eagre.laboratory.reproduce.measure import alternating, gpu_only, validated
from eagre.laboratory.reproduce.registry import (
    COUNTERS,
    Item,
    Line,
    Run,
    compared,
    exact,
    explained,
    holds,
    not_run,
    without_lines,
)
from eagre.models.shallow_water_adi.memory_layout import DEVICE_WORDS, device_bytes
from eagre.tuning.roofline import peak_operations

SINGLE_OVER_DOUBLE = (1.2, 3.0)
SIZES = {
    "S14, 3008": 3008, "S14, 3072": 3072, "S14": 3072, "S2 CR-PCR, up to 512": 512, "S2 CR-PCR": 512,
    "S14 largest": 3072, "S2 CR-PCR largest, 512": 512, "S1 just above 1024": 1056, "S2 just below 1024": 992,
}  # fmt: skip
"""Cells per side of the figures of chapter 9, by row."""
METHODS = {"table-8.23": "pcr", "table-8.24": "cr-pcr"}
SYSTEMS, UNKNOWNS = 256, 512  # of 256 x 256 cells: surface and flux alternate along a line
WITHOUT_FRICTION = DEVICE_WORDS - 1  # arrays of the pool, which has no map of friction
FILLED = 8 * 2**30  # bytes; larger grids take more memory of the host than it may have
MEMORY_RATIO = (0.99, 1.02)  # of the used over the predicted memory
SIDE = 2048  # of the transpose and of the transfers


def table_7_2(run: Run) -> Iterator[Line]:
    """Measure the rates of multiply-adds in both precisions."""
    device = select(run.device)
    rates = {precision: peak_operations(device, precision) / 1e9 for precision in ("single", "double")}
    rates["ratio"] = rates["single"] / rates["double"]
    for number in run.numbers():
        yield compared(number, rates[number.column])


def table_8_1(run: Run) -> Iterator[Line]:
    """Time copies of all arrays between host and GPU."""
    copies = transfer_times("shallow-water-adi", run.device, run.precision or "double", SIDE, "mike21", steps=1)
    times = {tuple(one.name.removeprefix("all arrays ").split(", ")): one for one in copies}
    for number in run.numbers():
        one = times["in" if number.column.startswith("HtoD") else "out", number.row]
        computed = one.bytes / one.seconds / 1e9 if number.unit == "GB/s" else 1e3 * one.seconds
        yield compared(number, computed, f"{one.bytes / 1e6:.4g} MB")
    printed = run.paper.value(run.item, "pinned", "DtoH") / run.paper.value(run.item, "pageable", "DtoH")
    ratio = times["out", "pinned"].seconds / times["out", "pageable"].seconds
    yield holds(run.derived("pinned over pageable", "DtoH", f"{printed:.2f}"), ratio, maximum=1.0)


def table_8_3(run: Run) -> Iterator[Line]:
    """Compare the bandwidth of the transpose with its duration, and time a transpose on a GPU."""
    duration = run.paper.value(run.item, "duration ms", "one transpose")
    for number in run.numbers():
        if number.row == "bandwidth GB/s":
            note = f"{SIDE} x {SIDE} values in double precision, GB of 1000 MiB, from the printed duration"
            yield exact(number, 16 * SIDE**2 / PAPER_GB / (1e-3 * duration), note)
        elif number.row != "duration ms":
            yield not_run(number, COUNTERS)
        elif not run.on_gpu:
            yield gpu_only(run, number)
        else:
            device = select(run.device)
            seconds = transpose_seconds(device, SIDE)
            yield compared(number, 1e3 * seconds)
            fraction = 16 * SIDE**2 / seconds / copy_bandwidth(device)
            yield holds(Number(run.item, "one transpose", "fraction of the copy bandwidth", ""), fraction, minimum=0.7)


def transpose_seconds(device: Device, side: int) -> float:
    """Return the duration of a transpose of side x side values in double precision, after verification."""
    from eagre.solvers.poisson.reference import TILE, TRANSPOSE_BLOCK, transpose_cuda

    values = np.random.default_rng(0).standard_normal((side, side))
    source, target = device.array(values), device.zeros((side, side), np.float64)
    blocks = -(-side // TILE)
    launch = Launch(device.program(transpose_cuda, "double"), (source, target), (blocks, blocks), TRANSPOSE_BLOCK)
    device.run([launch])
    if not np.array_equal(device.host(target), values.T):
        raise ArithmeticError("The transpose is wrong.")
    return alternating(device, {"": device.repeated([launch], TIMED_STEPS)})[""].minimum / TIMED_STEPS


def solvers(run: Run) -> Iterator[Line]:
    """Compare a reduction method with LAPACK, and time all methods on a GPU."""
    method, device = METHODS[run.item], select(run.device)
    flat = systems(device)
    number = Number(run.item, f"{method}, {SYSTEMS} systems of {UNKNOWNS}", "difference from LAPACK", "", "1")
    yield holds(number, difference_from_lapack(device, flat, method), maximum=1e-13, note="relative to the maximum")
    fastest = run.number("duration ms", "shared memory")
    if run.on_gpu:
        seconds = method_seconds(device, flat)
        others = ", ".join(f"{name} {1e3 * value:.3g} ms" for name, value in seconds.items())
        yield compared(fastest, 1e3 * seconds[method], f"solves only, without building: {others}")
    else:
        yield gpu_only(run, fastest)
    yield not_run(Number(run.item, "other rows", "all columns", "", ""), COUNTERS)


def systems(device: Device) -> list[Any]:
    """Return a, b, c, d of diagonally dominant random systems, each (SYSTEMS, UNKNOWNS)."""
    a, c, d = np.random.default_rng(1).standard_normal((3, SYSTEMS, UNKNOWNS))
    a[:, 0] = c[:, -1] = 0.0
    return [device.array(one) for one in (a, abs(a) + abs(c) + 0.5, c, d)]


def difference_from_lapack(device: Device, flat: list[Any], method: str) -> float:
    """Return the maximum difference of the solutions of all systems from LAPACK, relative to the maximum."""
    from scipy.linalg import solve_banded

    from eagre.solvers.tridiagonal import solve

    solution = device.host(solve(*flat, method=method)).ravel()
    a, b, c, d = (device.host(one).ravel() for one in flat)
    expected = solve_banded((1, 1), np.stack([np.roll(c, 1), b, np.roll(a, -1)]), d)
    return float(np.abs(solution - expected).max() / np.abs(expected).max())


def method_seconds(device: Device, flat: list[Any]) -> dict[str, float]:
    """Return the durations of the methods of a GPU, s."""
    from eagre.solvers.tridiagonal.solve import launches

    lines = [one.reshape(SYSTEMS, UNKNOWNS, 1) for one in flat]
    x = device.zeros(lines[1].shape, lines[1].dtype)
    works = {
        name: device.repeated(launches(device, "double", lines, x, name), TIMED_STEPS)
        for name in ("cr-pcr", "pcr", "cr", "thomas", "partition")
    }
    return {name: timing.median / TIMED_STEPS for name, timing in alternating(device, works).items()}


def figure_9_1(run: Run) -> Iterator[Line]:
    """Time the version S14 with blocks of 32 to 1024 threads, for which a thread has at most 64 registers."""
    (number,) = run.numbers()
    device = select(run.device)
    sweeps = Sweeps(device, run.precision or "double", 1024)
    sweeps.difference(GPU["S14"])
    blocks = [2**k for k in range(5, 11)]
    works = {f"{threads}": sweeps.work(GPU["S14"], TIMED_STEPS, threads=threads, REGISTERS=64) for threads in blocks}
    seconds = {threads: timing.median for threads, timing in alternating(device, works).items()}
    minimum = min(seconds.values())
    for threads, value in seconds.items():
        yield compared(Number(run.item, f"{threads} threads", "time over the minimum", ""), value / minimum)
    yield compared(number, f"up to {max(seconds.values()) / minimum:.2g} times")


def filled_memory(run: Run) -> Line:
    """Fill `FILLED` bytes of a GPU, compute two steps, and compare the used with the predicted memory."""
    number = Number(run.item, f"pool in {FILLED / 2**30:.0f} GiB", "used over predicted", "", "1")
    if not run.on_gpu:
        return gpu_only(run, number)
    device = select(run.device)
    pool((64, 64), device, "double", "mike21").advance(1.0)  # compiles the programs, which take memory too
    free = device.free_memory()
    side = math.isqrt(FILLED // (8 * WITHOUT_FRICTION))
    model = pool((side, side), device, "double", "mike21")
    model.advance(2.0 * model.time_step)
    ratio = (free - device.free_memory()) / device_bytes(side, side, 8, maps=WITHOUT_FRICTION - DEVICE_WORDS)
    return holds(number, ratio, *MEMORY_RATIO, note=f"{side} x {side} cells, double precision")


def speedups(run: Run) -> Iterator[Line]:
    """Measure speedup and bandwidth of Eagre on a GPU, relative to one core of this machine in double precision.

    Figure 9.10 compares single precision on the GPU with one core in the same precision.
    """
    precision = "single" if run.item in ("figure-9.10", "figure-9.11") else "double"
    for number in run.numbers():
        sizes = [SIZES[number.row]] if number.row in SIZES else [128, 256, 512, 1024, 2048, 3584]
        cases = [(precision, n) for n in sizes]
        gpu = step_times(select(run.device), cases)
        if number.column == "bandwidth":
            rate = cell_rate(sizes[0], STEPS * gpu[cases[0]].median)
            width = 4 if precision == "single" else 8
            note = f"for the {PAPER_WORDS} values per cell and step of the paper; Eagre reads and writes fewer"
            yield compared(number, rate * PAPER_WORDS * width / PAPER_GB, note)
        else:
            core = step_times(select("cpu"), cases)
            yield compared(
                number, min(core[case].median / gpu[case].median for case in cases), f"{sizes} cells per side"
            )


def figure_9_10(run: Run) -> Iterator[Line]:
    """Compare the ratio of the times in double and single precision on one core; speedups need a GPU."""
    sizes = (256, 1024, 2048)
    device = select("cpu")
    times = step_times(device, [(precision, n) for n in sizes for precision in ("double", "single")])
    s1 = run.paper.value(run.item, "S14, 3072", "speedup") / run.paper.value("figure-9.3", "S14, 3072", "speedup")
    for n in sizes:
        ratio = times["double", n].minimum / times["single", n].minimum
        number = run.derived(f"S14, 3072; Eagre, one core, {n}", "time of double over single", f"{s1:.1f}")
        yield holds(number, ratio, *SINGLE_OVER_DOUBLE, note="ratio of the speedups of figures 9.10 and 9.3")
    yield from speedups(run) if run.on_gpu else (gpu_only(run, number) for number in run.numbers())


PARALLEL_FROM = 256
MEMORY = 1536 * 2**20  # bytes of the GTX 590
WORD = {"single": 4, "double": 8}
WORDS = {"S1N": (19, 47, 20), "S14": (15, 43, 26)}
"""Values in memory for n cells per side by version, as coefficients of n^2, n and 1."""


class Divided(np.ndarray):
    """Array that counts its divisions."""

    divisions = 0

    def __truediv__(self, other: Any) -> Any:
        """Divide and count."""
        Divided.divisions += 1
        return super().__truediv__(other)


def formula_value(text: str, n: int, m: int) -> float:
    """Return the value of a printed formula such as ``17 (n - m) + 12 m log2(m)``."""
    product = re.sub(r"(?<=[\dnm])\s*(?=[nml(])(?<!log2)", "*", text)
    return float(eval(product, {"__builtins__": {}}, {"n": n, "m": m, "log2": math.log2}))


def table_5_1(run: Run) -> Iterator[Line]:
    """Count the operations and steps of the reduction methods for 512 unknowns, combined from 256 unknowns on."""
    rows = {"PCR": UNKNOWNS, "CR": 1, "CR-PCR": PARALLEL_FROM}
    for number in run.numbers():
        value = formula_value(number.text, UNKNOWNS, PARALLEL_FROM)
        printed = run.derived(number.row, f"{number.column}, n {UNKNOWNS}, m {PARALLEL_FROM}", f"{value:.0f}")
        if number.row not in rows:
            yield not_run(printed, "counts the rows of both sweeps of the Thomas algorithm: a definition")
        elif number.column == "operations":
            operations = counted_operations(rows[number.row])
            yield holds(printed, operations, 0.85 * value, 1.01 * value, note="fewer at the ends of the system")
        elif number.row == "PCR":
            yield exact(printed, counted_steps(rows[number.row]))
        else:
            note = "the paper solves the last two rows in one step, Eagre reduces to one row"
            yield explained(printed, counted_steps(rows[number.row]), value + 1, value + 1, note=note)


def counted_operations(parallel_from: int) -> int:
    """Return the number of floating-point operations of a solve by reduction, changes of sign not counted."""
    from eagre.solvers.tridiagonal.reduction_cuda import reduce_arrays
    from eagre.tuning.roofline import operations_of

    return operations_of(lambda a, b, c, d: reduce_arrays(a, b, c, d, parallel_from), *_system())


def counted_steps(parallel_from: int) -> int:
    """Return the number of steps of a solve by reduction.

    A step of the parallel reduction has two divisions of arrays, a level of the cyclic reduction two when it eliminates
    and one when it substitutes; one division completes the solve.
    """
    from eagre.solvers.tridiagonal.reduction_cuda import reduce_arrays

    def divisions(n: int, rows: int) -> int:
        Divided.divisions = 0
        a, b, c, d = (one.view(Divided) for one in _system(n))
        reduce_arrays(a, b, c, d, rows)
        return Divided.divisions - 1

    parallel = divisions(parallel_from, parallel_from)
    levels = (divisions(UNKNOWNS, parallel_from) - parallel) // 3
    return 2 * levels + parallel // 2


def _system(n: int = UNKNOWNS) -> tuple[np.ndarray, ...]:
    """Return the diagonals and the right-hand side of a diagonally dominant system, each (1, n, 1)."""
    a, b, c, d = (np.full((1, n, 1), value) for value in (-1.0, 4.0, -1.0, 1.0))
    a[:, 0] = c[:, -1] = 0.0
    return a, b, c, d


def section_8_2_5(run: Run) -> Iterator[Line]:
    """Compare the largest grids in 1536 MiB with the formulas of the paper, and with the arrays of Eagre."""
    from eagre.models.shallow_water_adi.memory_layout import DEVICE_WORDS

    for number in run.numbers():
        *_, version, precision = number.row.split(" ")
        side, printed = max_side(WORDS[version], WORD[precision]), float(number.value)
        yield holds(number, side, printed, printed + 1, note="printed as approximate: at most one less than the root")
    for precision, width in WORD.items():
        number = Number(run.item, f"Eagre {precision}", "cells per side", "", "1")
        yield compared(number, max_side((DEVICE_WORDS, 0, 0), width), f"{DEVICE_WORDS} values in memory per cell")
    yield filled_memory(run)


def items_of_validation(name: str, quantity: str = "") -> dict[str, Any]:
    """Return `lines` and `draw` of an item that runs a validation; `quantity` is that of the number of the item."""
    kind = "shallow-water-adi"

    def lines(run: Run) -> Iterator[Line]:
        def number_of(result: Any) -> Number | None:
            return next(iter(run.numbers())) if result.quantity == quantity else None

        yield from validated(run, kind, [name], number_of)

    def draw(path: Path, run: Run, lines: Sequence[Line]) -> None:
        from eagre.laboratory.validation import validate

        with TemporaryDirectory() as folder:
            validate(kind, [name], folder, run.device, "double")
            path.write_bytes((Path(folder) / f"{name}-double.png").read_bytes())

    return {"lines": lines, "draw": draw}


def section_9_4(run: Run) -> Iterator[Line]:
    """Compare single with double precision in the pool after 100 and 1000 steps."""
    (number,) = run.numbers()
    curves = {n: errors_of_single(run.device, n) for n in (128, 256)}
    run.data["curves"] = curves
    side = max(curves)
    first, last = min(curves[side]), max(curves[side])
    for steps in (first, last):
        note = f"{side} x {side} cells, {steps} steps"
        yield holds(number, curves[side][steps], maximum=float(number.value), note=note)
    growth = curves[side][last] / curves[side][first]
    yield holds(Number(run.item, f"error after {last} over {first} steps", "ratio", "above 1"), growth, 1.5, 50.0)
    sizes = curves[side][last] / curves[min(curves)][last]
    row = f"error on {side} over {min(curves)} cells per side"
    yield holds(Number(run.item, row, "ratio", "about 1"), sizes, 0.2, 5.0, note=f"after {last} steps")


def errors_of_single(device: Any, n: int, steps: Sequence[int] = (100, 200, 500, 1000)) -> dict[int, float]:
    """Return the maximum difference of the surface in single from double precision, m, by number of steps."""
    single, double = (pool((n, n), device, precision, "mike21") for precision in ("single", "double"))
    errors = {}
    for step in steps:
        for model in (single, double):
            model.advance(step * model.time_step)
        surfaces = [model.field("surface_elevation").astype(float) for model in (single, double)]
        errors[step] = float(np.abs(surfaces[0] - surfaces[1]).max())
    return errors


def draw_errors(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the error of single precision over the number of steps."""
    from eagre.plots.drawing.style import new_figure

    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for n, curve in run.data["curves"].items():
        axes.loglog(list(curve), list(curve.values()), "o-", label=f"{n} x {n} cells")
    axes.axhline(float(run.numbers()[0].value), color="k", linestyle="--", label="paper: decimal place")
    axes.set(xlabel="steps", ylabel="max |single - double| of the surface [m]", title="Error of single precision")
    axes.legend()
    figure.savefig(path, dpi=120)


def max_side(coefficients: tuple[int, int, int], width: int) -> int:
    """Return the largest number of cells per side that fit `MEMORY`, for values of `width` bytes."""
    a, b, c = coefficients
    start = math.isqrt(MEMORY // (width * a)) + 1
    return next(n for n in count(start, -1) if width * (a * n * n + b * n + c) <= MEMORY)


def version_item(name: str, title: str, seconds: float = 0.0) -> Item:
    """Return the item of a table of versions of the sweeps."""
    side, reference = (2048, "table-8.4") if name in LARGE else (256, "table-8.25")
    return Item(name, title, partial(times.versions, side=side, reference=reference), seconds, gpu_seconds=60.0)


LARGE = ("table-8.4", "table-8.8", "table-8.11", "table-8.13")
"""Tables for 2048 x 2048 cells."""
GPU_ITEM: dict[str, Any] = {"needs": ("gpu",), "gpu_seconds": 30.0}
ITEMS = (
    Item("section-2", "Bounds of the speedup by Amdahl and Gustafson", times.section_2, 5.0),
    Item("table-5.1", "Operations and steps of tridiagonal solvers", table_5_1, seconds=1.0),
    Item(
        "table-6.1", "Run times of MIKE 21 HD and of the C implementation", times.table_6_1, 6.0, draw=times.draw_times
    ),
    Item("figure-6.3", "Fraction of time of building the rows, MIKE 21 HD", times.figure_6_3, 10.0),
    Item("figure-6.4", "Run times of the parts of the C implementation", times.figure_6_4, 10.0),
    Item(
        "figure-6.5",
        "Order of accuracy",
        seconds=5.0,
        **items_of_validation("standing-wave-1d", "order of the surface"),
    ),
    Item("figure-6.6", "Waves in a closed basin, figures 6.6 to 6.9", seconds=5.0, **items_of_validation("pool")),
    Item("table-7.2", "Rate of multiply-adds in single and double precision", table_7_2, **GPU_ITEM),
    Item("table-8.1", "Copies between host and GPU", table_8_1, **GPU_ITEM),
    Item("table-8.3", "Transpose", table_8_3),
    version_item("table-8.4", "Speedup of S1N and S1N2", 20.0),
    version_item("table-8.8", "Speedup of S12"),
    version_item("table-8.11", "Speedup of S13"),
    version_item("table-8.13", "Speedup of S14"),
    version_item("table-8.16", "Speedup of S2N and S22"),
    version_item("table-8.18", "Speedup of S23"),
    version_item("table-8.22", "Speedup of S24"),
    Item("table-8.23", "Parallel cyclic reduction", solvers, 2.0, gpu_seconds=30.0),
    Item("table-8.24", "Combined reduction", solvers, 2.0, gpu_seconds=30.0),
    version_item("table-8.25", "Speedup of the solvers with shared memory", 6.0),
    Item("figure-9.1", "Threads per block", figure_9_1, **GPU_ITEM),
    Item("figure-9.3", "Speedup of S1, double precision", speedups, **GPU_ITEM),
    Item("figure-9.4", "Bandwidth of S1, double precision", speedups, **GPU_ITEM),
    Item("figure-9.5", "Run time by grid size", times.figure_9_5, 30.0, draw=times.draw_times),
    Item("figure-9.6", "Speedup of S2, double precision", speedups, **GPU_ITEM),
    Item("figure-9.7", "Bandwidth of S2, double precision", speedups, **GPU_ITEM),
    Item("figure-9.9", "Smallest speedup of the better method", speedups, **GPU_ITEM),
    Item("figure-9.10", "Speedup in single precision", figure_9_10, 30.0, gpu_seconds=60.0),
    Item("figure-9.11", "Bandwidth in single precision", speedups, **GPU_ITEM),
    Item("section-9.4", "Error of single precision", section_9_4, 10.0, draw=draw_errors),
    Item("section-8.2.5", "Largest grid in 1536 MiB", section_8_2_5, gpu_seconds=60.0),
    *without_lines(
        COUNTERS,
        {
            "table-7.1": "Counters of S1N, single precision",
            "table-8.2": "Kernels of S1N",
            "table-8.5": "Kernels of S12",
            "table-8.6": "Kernels of S12 without L1 cache",
            "table-8.7": "Kernels of S12 with 48 kB of L1 cache",
            "table-8.9": "Kernels of S12 by the profiler",
            "table-8.10": "Kernels of S12 and S13",
            "table-8.12": "Local memory of S13",
            "table-8.14": "Kernels of S2N",
            "table-8.15": "Kernels of S22",
            "table-8.17": "Kernels of S23",
            "table-8.20": "Kernels of S24",
            "table-8.21": "Instructions of S23 and S24",
            "table-9.1": "Local memory of S24",
        },
    ),
    *without_lines(
        "current GPUs have no switch for 48 kB or none of the L1 cache", {"table-8.19": "S24 with other L1 caches"}
    ),
)
