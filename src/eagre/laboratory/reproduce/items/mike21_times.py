"""Run times of the pool of MIKE 21 and of the versions of the sweeps, for the items of `mike21`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.benchmark import SOURCE_OPERATIONS, kernel_times
from eagre.laboratory.bench.papers.mike21_sweeps import CPU, EXTRA, GPU, LONGEST_BLOCK, Sweeps
from eagre.laboratory.bench.shallow_water_adi import COMPARED_SHAPE, PAPER_GB, PAPER_WORDS, Pool
from eagre.laboratory.papers import Number
from eagre.laboratory.reproduce.measure import Timing, alternating, gpu_only, steady_bandwidth
from eagre.laboratory.reproduce.registry import Line, Run, compared, exact, explained, holds, misprint, not_run

OPERATIONS = SOURCE_OPERATIONS["shallow-water-adi"][1]  # per cell and step, as the paper counts
STEPS = 100  # of the durations in the paper
CELL_STEPS = 2**21  # per timing on one core
SWEEP_SIZE, SWEEP_STEPS = 512, 1000  # cells per side and steps of figure 6.4
SWEEPS_PER_TIMING = 4
TIMED_STEPS = 10  # per timing of the versions on a GPU
INTERMEDIATE = "intermediate version; Eagre contains S1N, S1N2, S14 and S24 only"
TRUNCATED = "the printed duration is truncated, not rounded"
GROWTH = (3.0, 5.5)  # of the time if the cells per side double
EXPONENT = (1.7, 2.6)
BUILDING = (25.0, 75.0)  # % of the time
PARALLEL_SIZES = (64, 1024)  # cells per side
BOUNDED_PROCESSORS = (16, 1024)
BALANCE = "the fraction depends on the speed of powers, divisions and memory relative to each other"


def step_times(device: Device, cases: Sequence[tuple[str, int]], repeats: int = 7) -> dict[tuple[str, int], Timing]:
    """Return the durations of a step, s, by precision and cells per side; on a CPU with one thread.

    The models are timed alternately. Their volumes are verified, and a GPU is compared with the CPU in a short run.
    """
    subject = Pool()
    differences = {real: subject.compared(COMPARED_SHAPE, device, real, "mike21") for real, _ in cases}
    models = {f"{real} {n}": subject.checked_model(n, device, real, "mike21") for real, n in cases}
    counts = [subject.steps_a_call["cuda"] if device.kind == "cuda" else max(2, CELL_STEPS // n**2) for _, n in cases]
    works = {name: models[name].steps_without_checks(count) for name, count in zip(models, counts, strict=True)}
    with machine.threads_limited(device, 1):
        timings = alternating(device, works, repeats)
    for model in models.values():
        subject.verified(model, differences[model.precision])
    pairs = zip(cases, timings.values(), counts, strict=True)
    return {case: Timing(*(seconds / count for seconds in timing)) for case, timing, count in pairs}


def core_times(run: Run, sizes: Sequence[int]) -> tuple[dict[int, Timing], str]:
    """Return the durations of a step on one core, s, by cells per side, in double precision; and a note."""
    device = select("cpu")
    with steady_bandwidth(device) as bandwidth:
        times = {n: timing for (_, n), timing in step_times(device, [("double", n) for n in sizes]).items()}
    run.data["times"] = {"Eagre": {n: STEPS * timing.median for n, timing in times.items()}}
    return times, bandwidth.note


def table_6_1(run: Run) -> Iterator[Line]:
    """Time the pool on one core, and compare the growth of the time with the number of cells."""
    sizes = [int(number.column) for number in run.numbers("C implementation")]
    times, note = core_times(run, sizes)
    for number in run.numbers():
        yield compared(number, STEPS * times[int(number.column)].median, note)
        run.data["times"].setdefault(number.row, {})[int(number.column)] = float(number.value)
    first, last = sizes[0], sizes[-1]
    doublings = len(sizes) - 1
    for row in ("MIKE 21 HD", "C implementation"):
        growth = run.paper.value(run.item, row, str(last)) / run.paper.value(run.item, row, str(first))
        number = run.derived(row, f"growth from {first} to {last}", f"{growth:.1f}")
        measured = times[last].minimum / times[first].minimum
        yield holds(number, measured, GROWTH[0] ** doublings, GROWTH[1] ** doublings, note="proportional to the cells")


def amdahl(fraction: float, processors: float) -> float:
    """Return the bound of Amdahl's law on the speedup with a constant problem, for the parallel fraction."""
    return 1.0 / ((1.0 - fraction) + fraction / processors)


def gustafson(fraction: float, processors: float) -> float:
    """Return the bound of Gustafson's law on the speedup with a constant problem per processor."""
    return processors + (1.0 - fraction) * (1.0 - processors)


def section_2(run: Run) -> Iterator[Line]:
    """Measure the parallel fraction of a step on one core, and print the bounds of Amdahl and Gustafson for it.

    The parallel fraction is that of the kernels, which process independent grid lines; the rest of a step is the host.
    """
    printed = {number.column: number for number in run.numbers()}
    yield exact(printed["maximum speedup"], amdahl(0.8, math.inf))
    steps, note = core_times(run, PARALLEL_SIZES)
    with machine.threads_limited(select("cpu"), 1):
        kernels = {n: kernel_times("shallow-water-adi", "cpu", "double", n, "mike21") for n in PARALLEL_SIZES}
    fractions = {n: min(1.0, 1e-6 * sum(one.microseconds for one in kernels[n]) / steps[n].minimum) for n in kernels}
    large = max(fractions)
    yield compared(printed["parallel fraction"], fractions[large], f"{large} x {large} cells")
    for n, fraction in fractions.items():
        row = f"{n} x {n} cells"
        yield compared(Number(run.item, row, "parallel fraction", "", "1"), fraction, note)
        for name, law in (("Amdahl", amdahl), ("Gustafson", gustafson)):
            for processors in BOUNDED_PROCESSORS:
                column = f"{name}'s bound, {processors} cores"
                yield compared(Number(run.item, row, column, "", "1"), law(fraction, processors))


def figure_9_5(run: Run) -> Iterator[Line]:
    """Compare the exponent of the time as a function of the cells per side, on one core."""
    core, gpu = run.numbers()
    sizes = (128, 256, 512, 1024, 2048)
    times, note = core_times(run, sizes)
    minima = np.array([times[n].minimum for n in sizes])
    doublings = ", ".join(f"{value:.2g}" for value in np.log2(minima[1:] / minima[:-1]))
    note = "; ".join(filter(None, [f"{doublings} for doublings from {sizes[0]} to {sizes[-1]}", note]))
    yield holds(core, _exponent(sizes, minima), *EXPONENT, note=note)
    if not run.on_gpu:
        yield gpu_only(run, gpu)
        return
    sizes_on_gpu = (32, 64, 128, 256, 512, 1024)
    on_gpu = step_times(select(run.device), [("double", n) for n in sizes_on_gpu])
    yield compared(gpu, _exponent(sizes_on_gpu, [timing.minimum for timing in on_gpu.values()]))


def _exponent(sizes: Sequence[int], seconds: Any) -> float:
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def draw_times(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the durations of 100 steps over the number of cells per side, with a line of order 2."""
    from eagre.plots.drawing.style import new_figure

    figure = new_figure(6.0, 4.5)
    axes = figure.subplots()
    for name, curve in run.data["times"].items():
        axes.loglog(list(curve), list(curve.values()), "o-", label=name)
    sizes = np.array(list(run.data["times"]["Eagre"]), float)
    first = next(iter(run.data["times"]["Eagre"].values()))
    axes.loglog(sizes, first * (sizes / sizes[0]) ** 2, "k--", linewidth=0.8, label="proportional to the cells")
    axes.set(xlabel="cells per side", ylabel="time of 100 steps [s]", title="One core, double precision")
    axes.legend()
    figure.savefig(path, dpi=120)


def figure_6_3(run: Run) -> Iterator[Line]:
    """Compare the fraction of time of building the rows with that of the algorithm of the paper on one core."""
    (number,) = run.numbers()
    seconds, _ = sweep_times()
    note = f"MIKE 21 HD is not available: algorithm of the C implementation; {BALANCE}"
    yield explained(number, 100.0 * seconds["rows"] / seconds["stored"], *BUILDING, note=note)


def figure_6_4(run: Run) -> Iterator[Line]:
    """Compare the parts of a step on one core: the sweeps of Eagre, and the algorithm of the paper."""
    printed = {number.row: float(number.value) for number in run.numbers()}
    total = printed["all"]
    seconds, difference = sweep_times()
    built = sum(value for row, value in printed.items() if row.startswith("Set"))
    number = run.derived("building of the rows", "fraction", f"{100.0 * built / total:.0f}", "%")
    note = f"algorithm of the paper: {BALANCE}; Eagre stores no rows, so that building has no separate time"
    yield explained(number, 100.0 * seconds["rows"] / seconds["stored"], *BUILDING, note=note)
    number = Number(run.item, "algorithm of the paper", "difference from Eagre", "", "1")
    yield holds(number, difference, maximum=1e-11, note="relative to the maximum, double precision")
    whole = seconds["x"] + seconds["y"]
    for along in "xy":
        row = f"{along} sweep with children"
        fraction = run.derived(row, "fraction", f"{100.0 * printed[row] / total:.0f}", "%")
        yield holds(fraction, 100.0 * seconds[along] / whole, 30.0, 70.0, note="the sweeps take similar times")
        yield compared(run.number(row, "time"), SWEEP_STEPS * seconds[along], f"{SWEEP_STEPS} steps")
    yield compared(run.number("all", "time"), SWEEP_STEPS * whole, "sum of both sweeps")


def sweep_times(size: int = SWEEP_SIZE) -> tuple[dict[str, float], float]:
    """Return minimum durations on one core, s, and the difference of the sweeps with stored rows from Eagre.

    ``x`` and ``y`` are the sweeps of Eagre, ``stored`` both sweeps with stored rows, ``rows`` the building of the rows.
    """
    device, version = select("cpu"), CPU["rows stored"]
    with machine.threads_limited(device, 1):
        sweeps = Sweeps(device, "double", size)
        difference = sweeps.difference(version)
        pairs = zip("xy", sweeps.model_launches, strict=True)
        works = {name: device.repeated([one], SWEEPS_PER_TIMING) for name, one in pairs}
        works["rows"] = sweeps.work(version, SWEEPS_PER_TIMING, SOLVED=False)
        works["stored"] = sweeps.work(version, SWEEPS_PER_TIMING)
        times = alternating(device, works, repeats=10)
    return {name: timing.minimum / SWEEPS_PER_TIMING for name, timing in times.items()}, difference


def versions(run: Run, side: int, reference: str) -> Iterator[Line]:
    """Compare the derived numbers of the versions of a sweep; time one core, and on a GPU the versions in Eagre.

    Parameters
    ----------
    run : Run
    side : int
        Cells per side.
    reference : str
        Table with the same core and the same number of cells whose rows have consistent numbers.
    """
    on_gpu = gpu_durations(select(run.device), side, run) if run.on_gpu else {}
    for number in run.numbers():
        if number.column == "duration":
            yield _duration(run, number, on_gpu)
        elif number.column != "duration of one core":
            yield _derived(run, number, side, reference)
    if run.item == reference:
        number = run.numbers(column="duration of one core")[0]
        times, note = core_times(run, [side])
        yield compared(number, STEPS * times[side].median, note)
    if "Eagre" in on_gpu:
        yield compared(Number(run.item, "Eagre", "duration", "", "s for 100 steps"), on_gpu["Eagre"])


def _duration(run: Run, number: Number, on_gpu: Mapping[str, float]) -> Line:
    version = number.row.removesuffix(" PCR")
    if version not in GPU:
        return not_run(number, INTERMEDIATE)
    if not on_gpu:
        return gpu_only(run, number)
    slowest = next(iter(on_gpu))
    return compared(number, on_gpu[version], f"{on_gpu[slowest] / on_gpu[version]:.3g} times as fast as {slowest}")


def _derived(run: Run, number: Number, side: int, reference: str) -> Line:
    """Return the comparison of a number that follows from the printed duration."""
    duration = run.paper.value(run.item, number.row, "duration")
    one_core = run.paper.value(run.item, number.row, "duration of one core")
    note = "from the printed duration"
    if number.column == "speedup":
        speedup = one_core / duration
        if number.row != "S24":
            return exact(number, speedup, note)
        return explained(number, speedup, one_core / (duration + 1e-3), one_core / duration, note=TRUNCATED)
    rate = cell_rate(side, duration)
    computed = rate * PAPER_WORDS * 8 / PAPER_GB if number.column == "bandwidth" else rate * OPERATIONS / 1e9
    row = next(one.row for one in run.paper.select(reference, column="duration"))
    if not _is_misprint(number):
        return exact(number, computed, note)
    correct = run.paper.value(reference, row, number.column) * run.paper.value(reference, row, "duration") / duration
    return misprint(number, computed, f"{correct:.1f}", f"by row {row} of {reference}")


def _is_misprint(number: Number) -> bool:
    return (number.row, number.column) == ("S1N2", "Gflops") or "half of the words" in number.note


def cell_rate(side: int, duration: float) -> float:
    """Return the cells per second of `STEPS` steps in `duration`, s."""
    return STEPS * side**2 / duration


def gpu_durations(device: Device, side: int, run: Run) -> dict[str, float]:
    """Return the durations of `STEPS` steps of the versions of the paper and of Eagre on a GPU, s, after verification.

    Versions with one block per line are left out if the lines are too long.
    """
    sweeps = Sweeps(device, run.precision or "double", side)
    chosen = {name: one for name, one in GPU.items() if name != "S24" or side + EXTRA <= LONGEST_BLOCK}
    for version in chosen.values():
        sweeps.difference(version)
    works = {name: sweeps.work(one, TIMED_STEPS) for name, one in {**chosen, "Eagre": None}.items()}
    return {name: STEPS / TIMED_STEPS * one.median for name, one in alternating(device, works).items()}
