"""Tables and figures of A. B. Amundsen, Auto-tuning shallow water simulations on GPUs, University of Oslo (2014)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from eagre.reproduce.amundsen2014_tuning import BLOCKS, FLOODS, GAINS, LARGE
from eagre.reproduce.measure import Timing, alternating
from eagre.reproduce.registry import Item, Run, without_lines
from eagre.reproduce.verdicts import Line, compared, exact, explained, holds

FRACTIONS = (0.6, 0.8, 0.9, 0.95, 0.97, 0.99, 1.0)
SCHEMES = ("rk2", "srk2", "euler", "ds1", "ds2")
SECOND_ORDER = ("rk2", "srk2", "ds2")
REPEATED = 2  # steps: a rejected step of "ds2" ends a pair of steps
LEVEL = 0.9  # of the highest speed: the speed levels out
STEPS = 4  # timed at once


def options_of(run: Run) -> dict[str, Any]:
    """Return the options of the models: single precision unless the user requested another one."""
    from eagre.cases.amundsen2014 import OPTIONS

    return {**OPTIONS, "device": run.device, "precision": run.precision or "single"}


def figure_3_2(run: Run) -> Iterator[Line]:
    """Compare the work of the dry dam break by time step relative to the limit of the previous step."""
    from eagre.cases.amundsen2014 import circular_dam_dry

    case = circular_dam_dry(500 if run.max_seconds >= LARGE else 250)
    (number,) = run.numbers()
    work: dict[float, int] = {}
    for fraction in sorted({*FRACTIONS, float(number.value)}):
        model = case.model(scheme="ds2", predicted_fraction=fraction, active_tiles="off", **options_of(run))
        model.advance(case.end_time)
        steps, rejected = (int(model.statistics()[key]) for key in ("steps", "redone_steps"))
        work[fraction] = steps + REPEATED * rejected
        note = f"{steps} steps, {rejected} rejected, {case.grid.nx}^2 cells"
        yield compared(run.derived(f"r = {fraction}", "steps and repeated steps", ""), work[fraction], note)
    run.data["work"] = work
    least = min(work, key=lambda fraction: work[fraction])
    excess = work[float(number.value)] / work[least] - 1.0
    yield holds(number, least, passed=excess <= 0.02, note=f"r with the least work; {excess:.1%} more work at 0.95")
    gain = run.derived("choice of r", "gain", "20", "%", number.note)
    yield compared(gain, 100.0 * (work[0.8] / work[least] - 1.0), "from r = 0.8; the range of the figure is not known")


def draw_work(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the work over r."""
    from eagre.plots.style import new_figure

    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    axes.plot(*zip(*run.data["work"].items(), strict=True), "o-")
    axes.axvline(float(run.numbers()[0].value), color="0.6", linestyle="--", label="paper")
    axes.set(xlabel="r, time step / limit of the previous step", ylabel="steps, computed", title=lines[0].item)
    axes.legend()
    figure.savefig(path, dpi=120)


@cache
def depths_of(n: int, device: Any, precision: str) -> dict[str, np.ndarray]:
    """Return the depths of the wet dam break by scheme, shared by the figures 3.4 and 3.5."""
    from eagre.cases.amundsen2014 import OPTIONS
    from eagre.validation.shallow_water_waves import dam_depths

    return dam_depths(n, device=device, precision=precision, **OPTIONS)


def dam_lines(run: Run, schemes: tuple[str, str]) -> Iterator[Line]:
    """Compare the wet dam break of two schemes of the same order."""
    from eagre.validation.result import Result
    from eagre.validation.shallow_water_waves import dam_checks

    precision = run.precision or "single"
    run.data["depths"] = depths = depths_of(500 if run.max_seconds >= LARGE else 250, run.device, precision)
    run.data["schemes"] = schemes
    (number,) = run.numbers()
    first, second = schemes
    difference = f"dam, L1 difference of {second} and {first} [m]"
    shown = (difference, "dam, L1 difference of rk2 and euler [m]", *(f"dam, L1 error of {one} [m]" for one in schemes))
    for check in dam_checks(depths):
        if check.quantity in shown or f"/ L1 error of {first}" in check.quantity:
            result = Result(run.item, precision, *check[:-1])
            row = number if check.quantity == difference else run.derived(check.quantity, "value", "", "")
            note = ", ".join(filter(None, (check.quantity, result.limit_text, result.detail)))
            yield holds(row, check.value, passed=result.passed, note=note)


def draw_dam(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the depth on the centre line."""
    from eagre.validation.pictures import draw_profile
    from eagre.validation.shallow_water_waves import FINE

    depths = run.data["depths"]
    n = depths[FINE].shape[0]
    rows = {name: depths[name][n // 2] for name in (*run.data["schemes"], FINE)}
    title = f"Wet circular dam, {n} x {n} cells, t = 1 s"
    draw_profile(path, title, (np.arange(n) + 0.5) * 40.0 / n, rows, label="depth [m]")


@cache
def step_times(name: str, n: int, schemes: tuple[str, ...], device: Any, precision: str) -> dict[str, Timing]:
    """Return the duration of a step of a case by scheme, s, measured alternately."""
    from eagre.backend.select import select
    from eagre.cases import amundsen2014 as cases

    case, repeats = getattr(cases, name)(n), 5
    models = {
        scheme: case.model(scheme=scheme, device=device, precision=precision, active_tiles="off", **cases.OPTIONS)
        for scheme in schemes
    }
    works = {scheme: model.steps_without_checks(STEPS) for scheme, model in models.items()}
    timings = alternating(select(device), works, repeats)
    steps = {scheme: model.steps / (repeats + 1) for scheme, model in models.items()}
    return {scheme: Timing(*(seconds / steps[scheme] for seconds in one)) for scheme, one in timings.items()}


def speeds_of(run: Run, sizes: Sequence[int], schemes: tuple[str, ...]) -> dict[str, list[float]]:
    """Return the cells per second of the wet dam break by scheme and size, for the lines and the picture."""
    precision = run.precision or "single"
    times = [step_times("circular_dam_wet", n, schemes, run.device, precision) for n in sizes]
    speeds = {name: [n * n / one[name].median for n, one in zip(sizes, times, strict=True)] for name in schemes}
    run.data.update(sizes=sizes, speeds=speeds)
    return speeds


def figure_3_6(run: Run) -> Iterator[Line]:
    """Compare the speeds of the schemes in the dam break."""
    speeds = speeds_of(run, (125, 250, 500, 1000) if run.on_gpu else (125, 250, 500), SCHEMES)
    last = {name: values[-1] for name, values in speeds.items()}
    n = run.data["sizes"][-1]
    gain = 100.0 * (last["srk2"] / last["rk2"] - 1.0)
    note = f"{n}^2 cells; rk2 computes the fluxes of both directions in one kernel and reads the water once"
    yield compared(run.number("Q1800M: srk2 over rk2", "gain"), gain, note)
    ranking = ", ".join(sorted(last, key=lambda name: -last[name]))
    yield compared(run.number("GTX480", "fastest"), ranking, f"{n}^2 cells, fastest first")
    for name, speed in last.items():
        yield compared(run.derived(name, "speed", "", "million cells/s"), speed / 1e6, f"{n}^2 cells")


def figure_4_13(run: Run) -> Iterator[Line]:
    """Compare the size of the grid from which the speed is nearly constant."""
    sizes = (64, 128, 256, 512, 1024, *((2048, 4096) if run.on_gpu or run.max_seconds >= LARGE else ()))
    speeds = speeds_of(run, sizes, SECOND_ORDER)
    for name, values in speeds.items():
        level = next(n for n, speed in zip(sizes, values, strict=True) if speed >= LEVEL * max(values))
        (number,) = run.numbers() if name == "rk2" else [run.derived(name, run.numbers()[0].column, "", "1")]
        yield compared(number, level, f"{name}, {LEVEL:.0%} of the highest speed, {max(values) / 1e6:.4g} M cells/s")


def draw_speeds(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the speeds over the size of the grid."""
    from eagre.plots.style import new_figure

    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for name, values in run.data["speeds"].items():
        axes.plot(run.data["sizes"], np.divide(values, 1e6), "o-", label=name)
    axes.set(xlabel="cells per side", ylabel="million cells per second", title=lines[0].item)
    axes.legend()
    figure.savefig(path, dpi=120)


@cache
def steps_of(scheme: str, device: Any, precision: str) -> int:
    """Return the number of steps of the sine; it does not depend on the number of cells."""
    from eagre.cases.amundsen2014 import OPTIONS
    from eagre.validation.shallow_water_waves import sine_steps_of

    return sine_steps_of(scheme=scheme, device=device, precision=precision, **OPTIONS)


def sine_table(run: Run) -> Iterator[Line]:
    """Compare steps and times of the sine."""
    from eagre.cases.amundsen2014 import SINE_STEPS_OF_SCHEMES

    precision = run.precision or "single"
    n = int(run.number("rk2", "steps").note.split(" ")[-1])
    times = step_times("sine", n, SECOND_ORDER, run.device, precision)
    for number in run.numbers():
        steps = steps_of(number.row, run.device, precision)
        if number.column == "time":
            yield compared(number, steps * times[number.row].median, f"{steps} steps of {n}^2 cells")
        elif number.column == "steps a second":
            yield compared(number, 1.0 / times[number.row].median)
        elif number.value != (expected := SINE_STEPS_OF_SCHEMES[number.row]):
            note = (
                f"the other GPUs of the paper need {expected} steps for the same flow; no reading of the case gives 171"
            )
            yield explained(number, steps, expected, expected, note=note)
        else:
            yield exact(number, steps)
    for scheme in SECOND_ORDER[1:]:
        printed = run.paper.value(run.item, scheme, "time") / run.paper.value(run.item, "rk2", "time")
        number = run.derived(scheme, "time / time of rk2", f"{printed:.2f}")
        steps = [steps_of(one, run.device, precision) for one in (scheme, "rk2")]
        ratio = steps[0] * times[scheme].median / (steps[1] * times["rk2"].median)
        yield compared(number, ratio, "measured alternately; rk2 reads the water once for both directions")


SINES = {"table-4.2": "Sine, Q1800M", "table-4.3": "Sine, GTX435M", "table-4.4": "Sine, GTX480"}
PAIRS = {
    "figure-3.4": ("Wet circular dam, first order", ("euler", "ds1")),
    "figure-3.5": ("Wet circular dam, second order", ("rk2", "ds2")),
}


def _sines() -> tuple[Item, ...]:
    seconds = {"table-4.4": 20.0}
    return tuple(Item(name, title, sine_table, seconds.get(name, 5.0), 2.0) for name, title in SINES.items())


def _dams() -> tuple[Item, ...]:
    def lines(schemes: tuple[str, str]) -> Callable[[Run], Iterator[Line]]:
        return lambda run: dam_lines(run, schemes)

    return tuple(Item(name, title, lines(pair), 20.0, 3.0, draw=draw_dam) for name, (title, pair) in PAIRS.items())


ITEMS = (
    *without_lines(
        "block sizes of kernels that Eagre does not have: its kernels have rows, registers and strips",
        {"table-3.1": "Block sizes before tuning"},
    ),
    Item("figure-3.2", "Predicted part of the time step", figure_3_2, 10.0, 5.0, draw=draw_work),
    *_dams(),
    Item("figure-3.6", "Speed of the schemes before tuning", figure_3_6, 10.0, 5.0, draw=draw_speeds),
    *BLOCKS,
    Item("figure-4.13", "Speed by grid size", figure_4_13, 15.0, 5.0, draw=draw_speeds),
    *GAINS,
    *_sines(),
    *FLOODS,
)
