"""What tuning gains, as Amundsen (2014) tabled it: layouts before and after, gain by kernel, scheme, size and case.

``PYTHONPATH=src python benchmarks/studies/tuning_tables.py compile 512 1024 4096`` compiles variants, several at once.
Without ``compile`` it searches the spaces of the explicit model at these sizes on the wet basin, in single precision
(``double``: in double), and prints for each microseconds of a step with the shipped layouts and with those that were
picked, in turn, the gain, and how far the pick is from the best of all trials. Then whole steps with the shipped and
the tuned layouts in the three cases of the thesis: a wet sine, a circular dam on water, one on a dry bed (Manning 0.03,
as the basin has). ``space=NAME`` searches one space only, ``scheme=rk2`` times one scheme. ``exhaustive`` times all
rows and registers of Euler's march instead, and what a descent finds among them. ``EAGRE_TUNING`` says where timings
go, ``compiled`` that all is compiled, ``also=8192`` compares at another size of the same class.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import fmean
from typing import Any

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.tuned import chosen, use_of
from eagre.bench.tuner import Found, tune_benchmark
from eagre.bench.workload import StepsOfBenchmark, StepsOfModel, timer_of
from eagre.cases import amundsen2014
from eagre.models.shallow_water.model import ShallowWater
from eagre.tuning.search import descend
from eagre.tuning.space import Choice, Space, words
from eagre.tuning.spaces import spaces_of
from eagre.tuning.statistics import typical, without_outliers

MODEL = "shallow-water"
CASES: dict[str, Callable[[int], Any]] = {
    "wet sine": amundsen2014.sine,
    "circular dam": amundsen2014.circular_dam_wet,
    "dry-bed dam": amundsen2014.circular_dam_big,
}
STEPS, RUNS = 20, 8


def started(case: Any, device: Device, precision: str, scheme: str) -> Any:
    """A model of a case at its start."""
    model = ShallowWater(
        case.grid, case.bed_elevation, depth=case.initial.depth, device=device, precision=precision, scheme=scheme,
        manning=0.03,
    )  # fmt: skip
    model._engine.chooser.never()  # no list of tiles: what is compared is the march
    return model


def steps_of(case: Any, device: Device, precision: str, scheme: str) -> Callable[[], float]:
    """Seconds a step of a run, warmed up."""
    model = started(case, device, precision, scheme)
    work, timer = model.unchecked_steps(STEPS), timer_of(device)

    def run() -> float:
        before = model.steps
        taken = timer(work)
        return taken / max(1, model.steps - before)

    run(), run()
    return run


def compared(device: Device, precision: str, sizes: list[int], schemes: tuple[str, ...]) -> list[dict[str, Any]]:
    """Shipped against tuned, in turn, in each case."""
    rows = []
    for size in sizes:
        for name, make in CASES.items():
            case = make(size)
            for scheme in schemes:
                tuned = chosen(device, MODEL, size * size, precision, scheme)
                both = [steps_of(case, where, precision, scheme) for where in (device, tuned.device)]
                runs = [[clock() for clock in both] for _ in range(RUNS)]
                before, after = (typical([run[n] for run in runs], device.kind) for n in (0, 1))
                rate = size * size / after / 1e9
                told = f"{size} {name}, {scheme}, {precision}: {1e6 * before:.2f} -> {1e6 * after:.2f} us a step"
                print(f"{told}, {before / after - 1.0:+.1%}, {rate:.2f} Gcell-steps/s", flush=True)
                rows.append({"size": size, "case": name, "scheme": scheme, "gain": before / after - 1.0})
    return rows


def told(found: Found) -> str:
    """One line of the table, and how far the pick is from the fastest of all trials."""
    outcome = found.outcome
    good = [trial for trial in outcome.trials if not trial.failed]
    best = min(fmean(without_outliers(trial.seconds)) for trial in good)
    own = [trial for trial in good if trial.values == outcome.values]
    apart = fmean(without_outliers(own[0].seconds)) / best - 1.0 if own else float("nan")
    size = " x ".join(map(str, found.shape))
    line = f"{outcome.space.name} {found.use.scheme} {found.use.precision} {size}: {1e6 * outcome.before:.2f} -> "
    line += (
        f"{1e6 * outcome.after:.2f} us, gain {outcome.gain:.1%}, {words(outcome.best)}, {apart:.1%} from the best of "
    )
    failed = sum(bool(trial.failed) for trial in outcome.trials)
    bits = "same bits" if outcome.same_bits else "other rounding"
    return f"{line}{len(good)} trials ({failed} failed, {outcome.pruned} pruned), {bits}"


def exhaustive(device: Device, precision: str, size: int, compiling: bool) -> None:
    """Rows and registers of Euler's march, all of them, against what a descent finds among them."""
    load, space = load_of(device, precision, size, "euler")
    choices = [one for one in space.choices(load.shipped, load.card, precision) if "early" not in one]
    load.compile([space.values(one, load.shipped, precision) for one in choices])
    if compiling:
        return
    times: dict[str, float] = {}

    def cost(choice: Choice) -> float:
        if words(choice) not in times:
            clock = load.clock(space.values(choice, load.shipped, precision))
            times[words(choice)] = typical([clock() for _ in range(8)], device.kind)
        return times[words(choice)]

    picked = descend(choices[0], choices, cost)
    asked, best = len(times), min(choices, key=cost)
    told = (
        f"exhaustive, euler, {size}, {precision}: {len(choices)} choices, best {words(best)} {1e6 * cost(best):.2f} us"
    )
    apart = cost(picked) / cost(best) - 1.0
    print(f"{told}; a descent asked for {asked}, picked {words(picked)}, {apart:.1%} slower", flush=True)
    for name, seconds in sorted(times.items(), key=lambda item: item[1]):
        print(f"   {name}: {1e6 * seconds:.2f} us", flush=True)


def load_of(device: Device, precision: str, size: int, scheme: str) -> tuple[StepsOfBenchmark, Space]:
    """The march of a scheme."""
    spaces = spaces_of(MODEL, device.kind, use_of(device, MODEL, "", precision, size * size).size)
    space = next(one for one in spaces if one.scheme == scheme or device.kind == "cpu")
    return StepsOfBenchmark(space, device, precision, size), space


def compile_all(device: Device, precision: str, sizes: list[int], only: list[str], schemes: tuple[str, ...]) -> None:
    """Compile what cannot be told from the choices of one axis."""
    for size in sizes:
        of_size = use_of(device, MODEL, "", precision, size * size).size
        for space in spaces_of(MODEL, device.kind, of_size):
            if (only and space.name not in only) or space.variant not in schemes:
                continue
            load = StepsOfBenchmark(space, device, precision, size)
            choices = space.choices(load.shipped, load.card, precision)
            chosen = [one for one in choices if space.covering(one)] if space.covering else choices
            load.compile([space.values(one, load.shipped, precision) for one in chosen])
            load.verify({})
            load.clock({})()


def main() -> None:
    asked, start = sys.argv[1:], time.perf_counter()
    sizes = [int(one) for one in asked if one.isdigit()]
    precision = "double" if "double" in asked else "single"
    device = select("cpu" if "cpu" in asked else "cuda")
    only = [one.removeprefix("space=") for one in asked if one.startswith("space=")]
    schemes = tuple(one.removeprefix("scheme=") for one in asked if one.startswith("scheme=")) or ("rk2", "euler")
    if "compiled" in asked:
        StepsOfBenchmark.compile = StepsOfModel.compile
    if "exhaustive" in asked:
        exhaustive(device, precision, sizes[0], "compile" in asked)
    elif "compile" in asked:
        compile_all(device, precision, sizes, only, schemes)
        for make in CASES.values():
            for scheme in schemes:
                steps_of(make(sizes[0]), device, precision, scheme)
    else:
        tell: Callable[[str], None] = (
            (lambda text: print("  ", text, flush=True)) if "tell" in asked else lambda text: None
        )
        for found in tune_benchmark(MODEL, device, precision, sizes, only=only, schemes=schemes, tell=tell):
            print(told(found), flush=True)
        print(f"searched in {time.perf_counter() - start:.1f} s", flush=True)
        more = [int(one.removeprefix("also=")) for one in asked if one.startswith("also=")]
        rows = compared(device, precision, [*sizes, *more], schemes)
        worst = min(row["gain"] for row in rows)
        print(f"worst {worst:+.1%}; {time.perf_counter() - start:.1f} s in all", flush=True)


if __name__ == "__main__":
    main()
