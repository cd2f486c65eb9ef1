"""Items of Amundsen (2014) that search launch parameters, and the large dry dam break with early exit.

The searches are those of `eagre tune` on its benchmark. Their results are not stored and do not change later runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.timing import times_of
from eagre.laboratory.reproduce.measure import steady_bandwidth
from eagre.laboratory.reproduce.registry import Item, Line, Run, compared, explained, holds, not_run, without_lines

KIND = "shallow-water"
SIZES = {"cuda": 512, "cpu": 256}  # cells per side of a search
SCHEMES = ("rk2", "srk2", "ds2")
OTHER_KERNELS = "block sizes of kernels that Eagre does not have: its kernels have rows, registers and strips"
NOTHING_TO_SEARCH = "needs a GPU: the kernels of this scheme have no launch parameters on a CPU"
LARGE = 300.0  # s: items run at a larger size
CELLS, MANY_CELLS = 250, 1000  # per side of the dry dam break
INTERVAL = 0.1  # s of simulated time between comparisons of the water


class Search(NamedTuple):
    """Result of a search (`tuner.Found`), its duration, s, a device with the best values, and a warning."""

    result: Any
    seconds: float
    device: Any
    warning: str = ""

    @property
    def best(self) -> str:
        """Best launch parameters, or a statement that the shipped ones are the best."""
        from eagre.tuning.space import describe

        return describe(self.result.outcome.best) if self.result.outcome.best else "as shipped"

    @property
    def note(self) -> str:
        """Best launch parameters, number of trials, spread of their times, and warning."""
        from eagre.tuning.timings import relative

        trials = [one for one in self.result.outcome.trials if not one.failed]
        times = [relative(one.seconds, one.beside, "cuda") for one in trials]
        size = " x ".join(map(str, self.result.shape))
        spread = f"slowest {max(times) / min(times):.2f} times the fastest"
        return "; ".join(filter(None, (self.best, f"{len(trials)} choices, {size} cells", spread, self.warning)))


@cache
def search_of(scheme: str, device: Any, precision: str) -> Search | None:
    """Search the launch parameters of a scheme without storing the result; None if it has none on the device."""
    from eagre.backend.compilation.origin import origin_of
    from eagre.backend.select import select
    from eagre.laboratory.bench.tuning.compilers import Compilers
    from eagre.laboratory.bench.tuning.tuner import Found, target_at
    from eagre.laboratory.bench.tuning.workload import StepsOfBenchmark, base_of
    from eagre.tuning.session import tune
    from eagre.tuning.space import spaces_of
    from eagre.tuning.timings import Journal

    chosen = select(device)
    size = SIZES[chosen.kind]
    target = target_at(KIND, chosen, precision, size)
    spaces = spaces_of(KIND, chosen.kind, target.use.size)
    space = next((one for one in spaces if one.variant == scheme), None)
    if space is None:
        return None
    start, use = time.perf_counter(), target.use_of(space)
    journal = Journal(None, space.name, use, origin_of(chosen, KIND), target.shape)
    with steady_bandwidth(chosen) as bandwidth, Compilers(chosen) as compilers:
        outcome = tune(space, StepsOfBenchmark(space, chosen, precision, size, compilers), journal)
    best = chosen.with_parameters({**base_of(space, chosen, precision, size), **outcome.values}, "search")
    return Search(Found(outcome, use, target.shape), time.perf_counter() - start, best, bandwidth.note)


def searches_of(run: Run) -> dict[str, Search]:
    """Return the searches of all schemes that have one on the device, for the lines and the picture."""
    results = {scheme: search_of(scheme, run.device, run.precision or "single") for scheme in SCHEMES}
    run.data["searches"] = searches = {scheme: one for scheme, one in results.items() if one is not None}
    return searches


def draw_searches(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the times of all choices."""
    from eagre.laboratory.bench.tuning.tuner import dump
    from eagre.plots.landscape import draw_landscape

    draw_landscape(dump([one.result for one in run.data["searches"].values()]), path)


def block_sizes(scheme: str) -> Callable[[Run], Iterator[Line]]:
    """Return the lines of the best launch parameters of a scheme."""

    def lines(run: Run) -> Iterator[Line]:
        search = search_of(scheme, run.device, run.precision or "single")
        assert search is not None
        run.data["searches"] = {scheme: search}
        for number in run.numbers():
            yield compared(number, search.best, f"{scheme}: {search.note}")

    return lines


def advance_alternately(
    runs: Mapping[str, tuple[Any, Mapping[str, Any]]], times: Iterable[float], on_interval: Callable[[float], None]
) -> dict[str, list[float]]:
    """Advance models alternately and return the duration of each interval, s.

    Parameters
    ----------
    runs : mapping of str to (model, launch parameters)
        The number of CPU threads is taken from the launch parameters.
    times : iterable of float, s
        Ends of the intervals.
    on_interval : callable(time)
        Called after each interval.
    """
    from eagre.laboratory.bench.tuning.workload import threads_of

    ends = list(times)
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for model, _ in runs.values():  # compile
        start = model.state()
        model.advance(ends[0])
        model.restore(start)
    for end in ends:
        for name, (model, values) in runs.items():
            with threads_of(model.device, values):
                seconds[name] += times_of(model.device, partial(model.advance, end), repeats=1, warm_up=0)
        on_interval(end)
    return seconds


def gain_of(reference: Sequence[float], tuned: Sequence[float]) -> float:
    """Return the gain of speed in %, the median of all intervals."""
    return 100.0 * (median(np.divide(reference, tuned)) - 1.0)


@cache
def peak_gain(scheme: str, device: Any, precision: str) -> float:
    """Return the gain of a search in the run of the Gaussian peak, %; 0 if the shipped values are the fastest."""
    from eagre.backend.select import select
    from eagre.laboratory.cases.amundsen2014 import gaussian_peak

    search = search_of(scheme, device, precision)
    assert search is not None
    if not (values := search.result.outcome.values):
        return 0.0
    case, options = gaussian_peak(), {"scheme": scheme, "precision": precision, "active_tiles": "off"}
    shipped, best = (case.model(device=one, **options) for one in (select(device), search.device))
    runs = {"shipped": (shipped, {}), "best": (best, values)}
    seconds = advance_alternately(runs, np.linspace(0.0, case.end_time, 21)[1:], lambda time: None)
    return gain_of(seconds["shipped"], seconds["best"])


def gains(run: Run) -> Iterator[Line]:
    """Compare the gain of a search over the launch parameters that Eagre ships, in the run of the Gaussian peak."""
    searches = searches_of(run)
    shown = [f"{scheme} {peak_gain(scheme, run.device, run.precision or 'single'):.1f}" for scheme in searches]
    for number in run.numbers(column="gain of tuning"):
        yield compared(number, ", ".join(shown), "; ".join(f"{one}: {search.note}" for one, search in searches.items()))


def table_4_1(run: Run) -> Iterator[Line]:
    """Compare the gains of the table; the block sizes belong to kernels that Eagre does not have."""
    blocks = run.derived("block sizes", "14 kernels, 3 GPUs", "", "width x height")
    yield not_run(blocks, OTHER_KERNELS)
    searches = searches_of(run)
    for number in run.numbers():
        if number.row not in SCHEMES:
            continue
        if number.row in searches:
            gain = peak_gain(number.row, run.device, run.precision or "single")
            yield compared(number, gain, f"Gaussian peak; {searches[number.row].note}")
        else:
            yield not_run(number, NOTHING_TO_SEARCH)


def chapter_5(run: Run) -> Iterator[Line]:
    """Compare the duration of the searches."""
    searches = searches_of(run)
    (number,) = run.numbers()
    tried = sum(len(search.result.outcome.trials) for search in searches.values())
    seconds = sum(search.seconds for search in searches.values())
    yield compared(number, seconds / 60.0, f"{', '.join(searches)}: {tried} choices, {run.precision or 'single'}")


class Flood(NamedTuple):
    """Large dry dam break with and without early exit.

    Attributes
    ----------
    n : int
        Cells per side.
    wet_time : float, s
        First time, in steps of `INTERVAL`, at which all cells are wet; infinite if some cells remain dry.
    same_bits : bool
        Whether the water is bitwise identical at all times.
    seconds : dict of str to list of float
        Duration of each interval, ``"off"`` and ``"on"``, measured alternately; with the best launch parameters
        of a search also ``"off, tuned"`` and ``"on, tuned"``, if they differ from the shipped ones.
    """

    n: int
    wet_time: float
    same_bits: bool
    seconds: dict[str, list[float]]

    def gain(self, name: str) -> float:
        """Return the gain of the best launch parameters, %."""
        return gain_of(self.seconds[name], self.seconds.get(f"{name}, tuned", self.seconds[name]))


@cache
def flood_of(n: int, device: Any, precision: str, searched: bool) -> Flood:
    """Run the dry dam break with and without early exit, and with the best launch parameters if `searched`."""
    from eagre.backend.select import select
    from eagre.laboratory.cases.amundsen2014 import circular_dam_big

    case, search = circular_dam_big(n), search_of("rk2", device, precision) if searched else None
    ways: list[tuple[str, Any, Mapping[str, Any]]] = [("", select(device), {})]
    if search is not None and search.result.outcome.values:
        ways.append((", tuned", search.device, search.result.outcome.values))
    runs = {
        f"{name}{suffix}": (case.model(device=where, precision=precision, active_tiles=name), values)
        for suffix, where, values in ways
        for name in ("off", "on")
    }
    wet_times, same_bits = [math.inf], []
    (off, _), (on, _) = runs["off"], runs["on"]

    def on_interval(end: float) -> None:
        depth = off.field("depth")
        same_bits.append(off.steps == on.steps and np.array_equal(depth, on.field("depth")))
        if depth.min() > 0.0:
            wet_times.append(end)

    seconds = advance_alternately(
        runs, np.linspace(0.0, case.end_time, round(case.end_time / INTERVAL) + 1)[1:], on_interval
    )
    return Flood(n, float(min(wet_times)), all(same_bits), seconds)


def flood(run: Run, searched: bool) -> Flood:
    """Return the dam break, for the lines and the picture."""
    n = MANY_CELLS if run.on_gpu or run.max_seconds >= LARGE else CELLS
    run.data["flood"] = result = flood_of(n, run.device, run.precision or "single", searched)
    return result


def early_exit(run: Run) -> Iterator[Line]:
    """Compare the dry dam break with and without early exit, and the gain of a search in both."""
    result = flood(run, searched=True)
    note = f"rk2, {result.n}^2 cells"
    same = run.derived("early exit on and off", "depth and steps", "equal")
    yield holds(same, "equal" if result.same_bits else "different", passed=result.same_bits, note=note)
    off, on = result.seconds["off"], result.seconds["on"]
    speed = run.derived("early exit", "speed relative to no early exit", "")
    yield holds(speed, median(np.divide(off, on)), 0.7, note=f"{note}, median of intervals of {INTERVAL} s")
    total = run.derived("early exit", "speed of the whole run relative to no early exit", "")
    yield compared(total, sum(off) / sum(on), note)
    search = search_of("rk2", run.device, run.precision or "single")
    searched = "" if search is None else search.note
    for number in run.numbers():
        gain = result.gain("off" if "without" in number.column else "on")
        yield compared(number, gain, f"{note}; search with a wet basin: {searched}")


def wet_bed(run: Run) -> Iterator[Line]:
    """Compare the time at which the bed is wet."""
    result = flood(run, searched=False)
    (number,) = run.numbers()
    yield explained(number, result.wet_time, *WET_LIMITS, note=f"{result.n}^2 cells; {_fastest_front()}")


def _fastest_front() -> str:
    """Return the reason why the bed cannot be wet at the printed time."""
    from eagre.constants import GRAVITY

    depth, radius, side = 10.0, 6.5, 100.0
    speed, distance = 2.0 * math.sqrt(GRAVITY * depth), side / math.sqrt(2.0) - radius
    return f"a front moves at most at 2 sqrt(g h) = {speed:.1f} m/s and needs {distance / speed:.1f} s to the corners"


WET_LIMITS = (3.7, 4.0)  # s


def draw_flood(path: Path, run: Run, lines: Sequence[Line]) -> None:
    """Draw the duration of equal intervals over the simulated time."""
    from eagre.plots.drawing.style import new_figure

    result = run.data["flood"]
    figure = new_figure(6.0, 4.0)
    axes = figure.subplots()
    for name, seconds in result.seconds.items():
        axes.plot(INTERVAL * np.arange(1, len(seconds) + 1), seconds, "-", label=f"early exit {name}")
    label = f"duration of {INTERVAL} s of flow [s]"
    axes.set(
        xlabel="simulated time [s]", ylabel=label, title=f"Dry circular dam, {result.n} x {result.n} cells", ylim=0
    )
    axes.legend()
    figure.savefig(path, dpi=120)


def _searched(scheme: str, titles: dict[str, str]) -> tuple[Item, ...]:
    lines = block_sizes(scheme)
    return tuple(
        Item(name, title, lines, 60.0, 60.0, needs=("gpu",), draw=draw_searches) for name, title in titles.items()
    )


BLOCKS = (
    *_searched("rk2", {"figure-4.1": "Block sizes of FGH, Q1800M", "figure-4.2": "Block sizes of FGH, GTX480"}),
    *_searched(
        "srk2",
        {
            "figure-4.3": "Block lengths of the line kernels, Q1800M",
            "figure-4.5": "Block sizes of the Y block, Q1800M",
            "figure-4.6": "Block sizes of the Y block, GTX480",
        },
    ),
    *without_lines(
        "Eagre updates the water in the kernel of the fluxes and has no separate Runge-Kutta kernel",
        {
            "figure-4.7": "Block sizes of RK, Q1800M",
            "figure-4.8": "Block sizes of RK with the wet map, Q1800M",
            "figure-4.9": "Block sizes of RK, GTX480",
        },
    ),
    *without_lines(
        "Eagre computes sweeps along y without transposing arrays",
        {
            "figure-4.11": "Block sizes of the transposes, Q1800M",
            "figure-4.12": "Block sizes of the transposes, GTX480",
        },
    ),
)
"""Block sizes of the kernels."""

GAINS = (
    *(
        Item(f"figure-4.{number}", f"Gain of tuning, {gpu}", gains, 50.0, 60.0, draw=draw_searches)
        for number, gpu in ((14, "Q1800M"), (15, "GTX480"), (16, "GTX435M"))
    ),
    Item("table-4.1", "Tuned block sizes", table_4_1, 50.0, 60.0, draw=draw_searches),
)
"""Gains of tuning."""

FLOODS = (
    *(
        Item(f"figure-4.{number}", f"Dry dam, gain of tuning, {gpu}", early_exit, 55.0, 60.0, draw=draw_flood)
        for number, gpu in ((18, "Q1800M"), (19, "GTX480"), (20, "GTX435M"))
    ),
    Item("section-4.4.2", "Time at which the bed is wet", wet_bed, 15.0, 5.0, draw=draw_flood),
    Item("chapter-5", "Duration of the tuning", chapter_5, 50.0, 60.0, draw=draw_searches),
)
"""Dry dam break, and the duration of the searches."""
