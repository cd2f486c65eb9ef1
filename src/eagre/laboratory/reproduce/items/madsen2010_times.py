"""Times, memory and block sizes of M. G. Madsen (2010): items of chapters 5 and 6 for `madsen2010`."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device
from eagre.errors import EagreError
from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.measure import Timing, alternating, gpu_only, steady_bandwidth
from eagre.laboratory.reproduce.registry import Item, Line, Run, compared, holds, misprint, not_run, without_lines

GRIDS = {"257x17x6": (17, 257, 7), "1537x129x9": (129, 1537, 9), "3073x257x17": (257, 3073, 17)}
"""Rows, columns and vertical points by grid of the paper, whose 6 layers and a ghost layer are 7 points in Eagre."""
CPU_SECONDS = (0.0, 120.0, 600.0)  # time allowed for an item from which a CPU runs the grids
MS = {"us": 1e-3, "ms": 1.0}
SPACING, DEPTH, ORDER = 1.0 / 32.0, 0.25, 6  # m
ROUNDING = {"single": 1e-3, "double": 1e-8}  # of differences of the results of two versions, relative
AMPLITUDE = 0.05  # of the potential at the surface, m2 s-1
SCREENING = 1e4  # m^-2; two sweeps then solve the equation on one grid
OTHERS = "variants of kernels that Eagre does not have"
COARSE, FINE = 257, 2049  # points along x of the benchmark
GAUSS_SEIDEL = "Gauss-Seidel, words per column"
LAYERS = 17  # with which the printed largest systems fill the memory
MEMORY = 4 * 2**30  # bytes
END = 1e9  # s, not reached


class Work(NamedTuple):
    """Work to be timed, its result for verification, and the number of repetitions that one call has."""

    call: Callable[[], None]
    result: Callable[[], np.ndarray]
    count: int = 1


def bytes_per_unknown(precision: str, layers: int) -> float:
    """Return the maximum memory that NumPy allocates for two steps of a tank on a CPU, bytes per unknown."""
    from eagre.laboratory.cases.wave_tanks import standing_wave

    def stepped(points: int) -> None:
        model = standing_wave(points, vertical_points=layers, device="cpu", precision=precision)
        model.advance(END, max_steps=2)

    points = 129
    stepped(17)  # compiled programs are not counted
    tracemalloc.start()
    try:
        stepped(points)
        return tracemalloc.get_traced_memory()[1] / ((layers - 1) * points**2)
    finally:
        tracemalloc.stop()


def memory(run: Run) -> Iterator[Line]:
    """Compare the largest systems in 4 GiB with the formula of the paper and with the arrays of a run."""
    factor, constant = map(int, re.findall(r"\d+", str(run.number(GAUSS_SEIDEL, "value").value)))
    for number in run.numbers():
        if number.unit != "unknowns":
            yield not_run(number, "a formula; that of Gauss-Seidel is evaluated for the largest systems")
            continue
        precision = next(name for name in ("double", "single") if name in number.row)
        column = (factor * LAYERS + constant) * np.dtype(precision).itemsize
        printed = float(number.value)
        note = f"formula (6.9) with {LAYERS} layers: approximate"
        yield holds(number, MEMORY / column * LAYERS, 0.98 * printed, 1.03 * printed, note=note)
        each = bytes_per_unknown(precision, LAYERS)
        computed = run.derived(number.row, "Eagre", number.text, "unknowns")
        note = f"{each:.1f} bytes per unknown on a CPU, single corrections, 129 x 129 x {LAYERS} points"
        yield holds(computed, MEMORY / each, 0.95 * printed, note=note)


# -- kernels -------------------------------------------------------------------------------------------------------


def laplace_work(stage: str, device: Device, grid: str, precision: str, *, plain: bool) -> Work:
    """Return the residual of high order ("defect") or an iteration ("iteration") below crossing waves."""
    from eagre.models.potential_waves.laplace.solver import LaplaceProblem
    from eagre.models.potential_waves.laplace.stencils import Vertical

    ny, nx, layers = GRIDS[grid]
    problem = LaplaceProblem(
        np.full((ny, nx), DEPTH), (SPACING, SPACING), Vertical(layers, ORDER), (False, False), device, precision,
        plain=plain,
    )  # fmt: skip
    x, y = (np.cos(2.0 * np.pi * SPACING * np.arange(count)) for count in (nx, ny))
    device.fill(problem.fields, np.stack([0.01 * x + 0.0 * y[:, None], AMPLITUDE * x * y[:, None]]))
    problem.solve(1e-2 * ROUNDING[precision] * AMPLITUDE)  # both versions stop after other numbers of iterations
    problem.go_on()
    launches = problem.defect() if stage == "defect" else problem.iteration(1.0)
    return Work(device.repeated(launches, 1), lambda: device.host(problem.w))


def sweep_work(device: Device, grid: str, precision: str, *, plain: bool) -> Work:
    """Return two red-black sweeps of all lines along sigma: a sweep of the vertical modes on one grid."""
    from eagre.solvers.multigrid import Multigrid

    ny, nx, layers = GRIDS[grid]
    solver = Multigrid(
        (ny, nx), (SPACING, SPACING), layers=[1.0] * (layers - 1), screening=np.full((ny, nx), SCREENING), levels=1,
        device=device, precision=precision, plain=plain,
    )  # fmt: skip
    device.fill(solver.f, np.random.default_rng(1).random((layers - 1, ny, nx)).astype(solver.real))
    return Work(device.repeated(solver.cycle_launches(from_zero=True), 1), lambda: device.host(solver.u), 2)


def timed_pair(device: Device, precision: str, make: Callable[..., Work]) -> dict[str, Timing]:
    """Return the durations of plain kernels and of the kernels, s, after a comparison of their results."""
    works = {name: make(plain=name == "plain") for name in ("plain", "kernel")}
    for work in works.values():
        work.call()
    plain, kernel = (work.result() for work in works.values())
    difference = float(np.abs(kernel - plain).max() / np.abs(plain).max())
    if not difference <= ROUNDING[precision]:
        raise EagreError(f"The results of the kernels and of the plain kernels differ by {difference:.2g}.")
    results = alternating(device, {name: work.call for name, work in works.items()})
    counts = {name: work.count for name, work in works.items()}
    return {name: Timing(*(value / counts[name] for value in timing)) for name, timing in results.items()}


def kernel_table(run: Run, precision: str, make: Callable[..., Work]) -> Iterator[Line]:
    """Compare the times of the naive and of the first optimised kernel with plain kernels and kernels of Eagre."""
    from eagre.backend.select import select

    device = select(run.device)
    for grid, seconds in zip(GRIDS, CPU_SECONDS, strict=True):
        pair = {"plain": run.number("naive", grid), "kernel": run.number("A", grid)}
        if not run.on_gpu and run.max_seconds < seconds:
            write = f"eagre reproduce {run.paper.name} {run.item} --most {seconds:.0f}"
            yield from (gpu_only(run, number, f"takes minutes on a CPU: {write}") for number in pair.values())
            continue
        with steady_bandwidth(device) as bandwidth:
            results = timed_pair(device, precision, partial(make, device, grid, precision))
        gain = results["plain"].median / results["kernel"].median
        for name, number in pair.items():
            notes = f"plain kernels / fast kernels {gain:.3g}", bandwidth.note
            yield compared(number, 1e3 * results[name].median / MS[number.unit], "; ".join(filter(None, notes)))
    yield from sums_of_passes(run)
    others = [one for one in run.numbers() if one.row not in ("naive", "A", "B total") and one.unit in MS]
    yield not_run(run.derived(", ".join(dict.fromkeys(one.row for one in others)), "time", "", "ms"), OTHERS)


def sums_of_passes(run: Run) -> Iterator[Line]:
    """Compare the totals of variant B with the sums of its two passes."""
    for total in run.numbers("B total"):
        passes = sum(run.paper.value(run.item, f"B pass {n}", total.column) for n in (1, 2))
        printed = float(total.value)
        if abs(printed - passes) > 0.1 * passes:
            yield misprint(total, passes, f"{passes:.0f}", "sum of both passes; it is faster than variant A")
        else:
            yield holds(total, passes, 0.99 * printed, 1.01 * printed, note="sum of both passes, rounded")


def kernels_gain(run: Run) -> Iterator[Line]:
    """Compare the speedup of an iteration by optimised kernels."""
    from eagre.backend.select import select

    device = select(run.device)
    for number in run.numbers():
        precision = number.row.split(" ")[-1]
        grid = next(iter(GRIDS))
        results = timed_pair(device, precision, partial(laplace_work, "iteration", device, grid, precision))
        note = f"iteration on {grid}: plain kernels {1e3 * results['plain'].median:.3g} ms"
        yield compared(number, results["plain"].median / results["kernel"].median, note)


# -- steps and block sizes -----------------------------------------------------------------------------------------


def core_times(run: Run) -> Iterator[Line]:
    """Compare steps over Whalin's shoal on one core with another model, and on a GPU with one core."""
    from eagre.laboratory.bench import measurements
    from eagre.laboratory.bench.potential_waves import OTHER_MS

    precision = run.precision or "double"
    options: dict[str, Any] = {"precision": precision, "variants": ["whalin"]}
    core = {
        record["shape"][-1]: record
        for record in measurements("potential-waves", "cpu", sizes=[COARSE, *([FINE] if run.on_gpu else [])], **options)
        if record["threads"] == 1
    }
    other = Number(run.item, "OceanWave3D-Fortran90, one core", "257x17x7", f"{OTHER_MS['whalin'][1]:g}", "ms per step")
    yield compared(other, core[COARSE]["ms_per_step"], core[COARSE]["error"])
    if not run.on_gpu:
        yield from (gpu_only(run, number) for number in run.numbers())
        return
    gpu = {
        record["shape"][-1]: record["ms_per_step"]
        for record in measurements("potential-waves", run.device, sizes=[COARSE, FINE], **options)
    }
    for number in run.numbers():
        size = COARSE if "small" in number.row else FINE
        yield compared(number, core[size]["ms_per_step"] / gpu[size], f"{size} points along x, whole steps")


def block_sizes(run: Run, space: str, precision: str) -> Iterator[Line]:
    """Compare the spread of the times of a search space; the tuned values are stored as by `eagre tune`."""
    from eagre.backend.select import select
    from eagre.laboratory.bench.tuning.tuner import tune_benchmark

    device = select(run.device)
    for grid, (_, nx, _) in GRIDS.items():
        for results in tune_benchmark("potential-waves", device, precision, [nx], only=[space]):
            seconds = sorted(median(trial.seconds) for trial in results.outcome.trials if trial.seconds)
            spread = 100.0 * (seconds[-1] / seconds[0] - 1.0) if seconds else None
            number = run.number("slowest 1", f"{grid} more than the fastest")
            best = results.outcome.best or "the present values"
            yield compared(number, spread, f"steps with {len(seconds)} choices of {space}; best: {best}")


COLUMNS, MARCH = "potential-waves.columns", "solver:multigrid.march"
BLOCKS = {
    "table-5.1": ("residual of high order, double precision", COLUMNS, "double"),
    "table-5.2": ("residual of high order, single precision", COLUMNS, "single"),
    "table-5.3": ("residual of low order", MARCH, "double"),
    "table-5.4": ("line smoother", MARCH, "double"),
}
HIGH_ORDER = partial(laplace_work, "defect")
ITEMS_OF_CHAPTER_5 = (
    *(
        Item(
            name, f"Block sizes of the {title}", partial(block_sizes, space=space, precision=precision),
            gpu_seconds=100.0, needs=("gpu",),
        )
        for name, (title, space, precision) in BLOCKS.items()
    ),
    *without_lines(
        "Eagre computes the residual of low order within the kernels of a cycle, so that it has no separate time",
        {
            "table-5.6": "Residual of low order, double precision",
            "table-5.7": "Residual of low order, single precision",
        },
    ),
    *without_lines(
        "Eagre has no point smoother in three dimensions: thin layers make its factor tend to 1; see chapter-2",
        {"table-5.8": "Point smoother, double precision", "table-5.9": "Point smoother, single precision"},
    ),
    *(
        Item(name, f"{title}, {precision} precision", partial(kernel_table, precision=precision, make=make),
             seconds=15.0)
        for name, title, precision, make in (
            ("table-5.10", "Line smoother", "single", sweep_work),
            ("table-5.11", "Line smoother", "double", sweep_work),
            ("table-5.12", "Residual of high order", "single", HIGH_ORDER),
            ("table-5.13", "Residual of high order", "double", HIGH_ORDER),
        )
    ),
)  # fmt: skip
ITEMS_OF_CHAPTER_6 = (
    Item("figure-6.11", "Memory", memory, seconds=30.0),
    Item("figure-6.12", "Speedup of the optimised kernels", kernels_gain, seconds=20.0),
    Item("figure-6.16", "Speedup over one core", core_times, seconds=30.0, gpu_seconds=60.0),
)
