"""Items of `mike21` that need a GPU, and the tables of its solvers and its transpose."""

from __future__ import annotations

import math
from collections.abc import Iterator
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
from eagre.laboratory.reproduce.items.mike21_times import STEPS, TIMED_STEPS, cell_rate, step_times
from eagre.laboratory.reproduce.measure import alternating, gpu_only
from eagre.laboratory.reproduce.registry import COUNTERS, Run
from eagre.laboratory.reproduce.verdicts import Line, compared, exact, holds, not_run
from eagre.models.shallow_water_adi.memory_layout import DEVICE_WORDS, device_bytes
from eagre.tuning.bandwidth import peak_operations

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
    from eagre.solvers.tridiagonal.launches import launches

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
