"""Tables and figures of A. B. Amundsen, Auto-tuning shallow water simulations on GPUs, University of Oslo (2014)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.laboratory.reproduce.items.amundsen2014_tuning import BLOCKS, FLOODS, GAINS, LARGE, OTHER_KERNELS
from eagre.laboratory.reproduce.measure import Timing, alternating, steady_bandwidth
from eagre.laboratory.reproduce.registry import Item, Line, Run, compared, exact, explained, holds, without_lines

FRACTIONS = (0.6, 0.8, 0.9, 0.95, 0.97, 0.99, 1.0)
SCHEMES = ("rk2", "srk2", "euler", "ds1", "ds2")
SECOND_ORDER = ("rk2", "srk2", "ds2")
CELLS, PAPER_CELLS = 250, 500  # per side of the dam breaks
REPEATED = 2  # steps: a rejected step of "ds2" ends a pair of steps
LEVEL = 0.9  # of the highest speed: the speed levels out
CELL_STEPS = {"cpu": 2**20, "cuda": 2**26}  # timed at once, on at least `MIN_STEPS` steps
MIN_STEPS, REPEATS = 4, 5
KERNELS = "a stage of srk2 has one kernel per direction, a stage of rk2 one kernel"


def cells_of(run: Run) -> int:
    """Return the cells per side of the dam breaks, those of the paper if there is time."""
    return PAPER_CELLS if run.on_gpu or run.max_seconds >= LARGE else CELLS


def options_of(run: Run) -> dict[str, Any]:
    """Return the options of the models: single precision unless the user requested another one."""
    from eagre.laboratory.cases.amundsen2014 import OPTIONS

    return {**OPTIONS, "device": run.device, "precision": run.precision or "single"}


def figure_3_2(run: Run) -> Iterator[Line]:
    """Compare the work of the dry dam break by time step relative to the limit of the previous step."""
    from eagre.laboratory.cases.amundsen2014 import circular_dam_dry

    case = circular_dam_dry(cells_of(run))
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
    best = min(work, key=lambda fraction: work[fraction])
    excess = work[float(number.value)] / work[best] - 1.0
    yield holds(number, best, passed=excess <= 0.02, note=f"r with the least work; {excess:.1%} more work at 0.95")
    gain = run.derived("choice of r", "gain", "20", "%", number.note)
    yield compared(gain, 100.0 * (work[0.8] / work[best] - 1.0), "from r = 0.8; the range of the figure is not known")


def draw_work(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the work over r."""
    from eagre.plots.drawing.style import new_figure

    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    axes.plot(*zip(*run.data["work"].items(), strict=True), "o-")
    axes.axvline(float(run.numbers()[0].value), color="0.6", linestyle="--", label="paper")
    axes.set(
        xlabel="r, time step / limit of the previous step",
        ylabel="steps, computed",
        title=f"{run.paper.name} {run.item}",
    )
    axes.legend()
    figure.savefig(path, dpi=120)


@cache
def depths_of(n: int, device: Any, precision: str) -> dict[str, np.ndarray]:
    """Return the depths of the wet dam break by scheme, shared by the figures 3.4 and 3.5."""
    from eagre.laboratory.cases.amundsen2014 import OPTIONS
    from eagre.laboratory.validation.shallow_water import dam_depths

    return dam_depths(n, device=device, precision=precision, **OPTIONS)


def dam_lines(run: Run, schemes: tuple[str, str]) -> Iterator[Line]:
    """Compare the wet dam break of two schemes of the same order."""
    from eagre.laboratory.validation.result import Result
    from eagre.laboratory.validation.shallow_water import dam_checks

    precision = run.precision or "single"
    run.data["depths"] = depths = depths_of(cells_of(run), run.device, precision)
    run.data["schemes"] = schemes
    (number,) = run.numbers()
    first, second = schemes
    difference = f"dam, L1 difference of {second} and {first} [m]"
    shown = (difference, "dam, L1 difference of rk2 and euler [m]", *(f"dam, L1 error of {one} [m]" for one in schemes))
    for check in dam_checks(depths):
        result = Result(run.item, precision, *check[:-1])
        note = ", ".join(filter(None, (result.limit_text, result.detail)))
        row = run.derived(check.quantity, "value", "", "")
        if check.quantity == difference:
            yield holds(number, check.value, passed=result.passed, note=f"{check.quantity}: {note}")
        elif f"/ L1 error of {first}" in check.quantity:
            yield holds(row, check.value, passed=result.passed, note=note)
        elif check.quantity in shown:
            yield compared(row, check.value, note)


def draw_dam(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the depth on the centre line."""
    from eagre.laboratory.validation.measures import draw_profile
    from eagre.laboratory.validation.shallow_water import FINE

    depths = run.data["depths"]
    n = depths[FINE].shape[0]
    rows = {name: depths[name][n // 2] for name in (*run.data["schemes"], FINE)}
    title = f"Wet circular dam, {n} x {n} cells, t = 1 s"
    draw_profile(path, title, (np.arange(n) + 0.5) * 40.0 / n, rows, label="depth [m]")


class StepTimes(NamedTuple):
    """Duration of a step by scheme, s, and the verification of the water with a note on the bandwidth."""

    seconds: dict[str, Timing]
    notes: dict[str, str]


@cache
def step_times(name: str, n: int, schemes: tuple[str, ...], device: Any, precision: str) -> StepTimes:
    """Return the duration of a step of a case by scheme, measured alternately; the volume is verified."""
    from eagre.backend.select import select
    from eagre.laboratory.bench.benchmark import subject_of
    from eagre.laboratory.cases import amundsen2014 as cases

    case, chosen, subject = getattr(cases, name)(n), select(device), subject_of("shallow-water")
    models = {
        scheme: case.model(scheme=scheme, device=chosen, precision=precision, active_tiles="off", **cases.OPTIONS)
        for scheme in schemes
    }
    count = max(MIN_STEPS, CELL_STEPS[chosen.kind] // case.grid.cells)
    works = {scheme: model.steps_without_checks(count) for scheme, model in models.items()}
    with steady_bandwidth(chosen) as bandwidth:
        timings = alternating(chosen, works, REPEATS)
    steps = {scheme: model.steps / (REPEATS + 1) for scheme, model in models.items()}
    verified = {scheme: subject.verified(model, None) for scheme, model in models.items()}
    seconds = {scheme: Timing(*(one / steps[scheme] for one in timing)) for scheme, timing in timings.items()}
    notes = {
        scheme: "; ".join(
            filter(None, (f"minimum {1e3 * seconds[scheme].minimum:.4g} ms per step", text, bandwidth.note))
        )
        for scheme, text in verified.items()
    }
    return StepTimes(seconds, notes)


def speeds_of(run: Run, sizes: Sequence[int], schemes: tuple[str, ...]) -> dict[str, list[float]]:
    """Return the cells per second of the wet dam break by scheme and size, for the lines and the picture."""
    precision = run.precision or "single"
    times = [step_times("circular_dam_wet", n, schemes, run.device, precision) for n in sizes]
    speeds = {name: [n * n / one.seconds[name].median for n, one in zip(sizes, times, strict=True)] for name in schemes}
    run.data.update(sizes=sizes, speeds=speeds, notes=times[-1].notes)
    return speeds


def figure_3_6(run: Run) -> Iterator[Line]:
    """Compare the speeds of the schemes in the dam break."""
    speeds = speeds_of(run, (125, 250, 500, 1000) if run.on_gpu else (125, 250, 500), SCHEMES)
    last = {name: values[-1] for name, values in speeds.items()}
    n = run.data["sizes"][-1]
    gain = 100.0 * (last["srk2"] / last["rk2"] - 1.0)
    note = f"{n}^2 cells; {KERNELS}"
    yield compared(run.number("Q1800M: srk2 over rk2", "gain"), gain, note)
    ranking = ", ".join(sorted(last, key=lambda name: -last[name]))
    yield compared(run.number("GTX480", "fastest"), ranking, f"{n}^2 cells, fastest first")
    for name, speed in last.items():
        yield compared(
            run.derived(name, "speed", "", "million cells/s"), speed / 1e6, f"{n}^2 cells; {run.data['notes'][name]}"
        )


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
    from eagre.plots.drawing.style import new_figure

    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for name, values in run.data["speeds"].items():
        axes.plot(run.data["sizes"], np.divide(values, 1e6), "o-", label=name)
    axes.set(xlabel="cells per side", ylabel="million cells per second", title=f"{run.paper.name} {run.item}")
    axes.legend()
    figure.savefig(path, dpi=120)


@cache
def steps_of(scheme: str, device: Any, precision: str) -> int:
    """Return the number of steps of the sine; it does not depend on the number of cells."""
    from eagre.laboratory.cases.amundsen2014 import OPTIONS
    from eagre.laboratory.validation.shallow_water import sine_steps_of

    return sine_steps_of(scheme=scheme, device=device, precision=precision, **OPTIONS)


def sine_table(run: Run) -> Iterator[Line]:
    """Compare steps and times of the sine."""
    from eagre.laboratory.cases.amundsen2014 import SINE_STEPS_OF_SCHEMES

    precision = run.precision or "single"
    n = int(run.number("rk2", "steps").note.split(" ")[-1])
    times = step_times("sine", n, SECOND_ORDER, run.device, precision)
    for number in run.numbers():
        steps = steps_of(number.row, run.device, precision)
        if number.column == "time":
            note = f"{steps} steps of {n}^2 cells; {times.notes[number.row]}"
            yield compared(number, steps * times.seconds[number.row].median, note)
        elif number.column == "steps per second":
            yield compared(number, 1.0 / times.seconds[number.row].median)
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
        ratio = steps[0] * times.seconds[scheme].median / (steps[1] * times.seconds["rk2"].median)
        yield compared(number, ratio, f"measured alternately; {KERNELS}")


SINES = {"table-4.2": "Sine, Q1800M", "table-4.3": "Sine, GTX435M", "table-4.4": "Sine, GTX480"}
PAIRS = {
    "figure-3.4": ("Wet circular dam, first order", ("euler", "ds1")),
    "figure-3.5": ("Wet circular dam, second order", ("rk2", "ds2")),
}


def _sines() -> tuple[Item, ...]:
    seconds = {"table-4.4": 20.0}
    return tuple(Item(name, title, sine_table, seconds.get(name, 6.0), 2.0) for name, title in SINES.items())


def _dams() -> tuple[Item, ...]:
    def lines(schemes: tuple[str, str]) -> Callable[[Run], Iterator[Line]]:
        return lambda run: dam_lines(run, schemes)

    return tuple(Item(name, title, lines(pair), 20.0, 3.0, draw=draw_dam) for name, (title, pair) in PAIRS.items())


ITEMS = (
    *without_lines(OTHER_KERNELS, {"table-3.1": "Block sizes before tuning"}),
    Item("figure-3.2", "Predicted part of the time step", figure_3_2, 10.0, 5.0, draw=draw_work),
    *_dams(),
    Item("figure-3.6", "Speed of the schemes before tuning", figure_3_6, 10.0, 5.0, draw=draw_speeds),
    *BLOCKS,
    Item("figure-4.13", "Speed by grid size", figure_4_13, 15.0, 5.0, draw=draw_speeds),
    *GAINS,
    *_sines(),
    *FLOODS,
)
