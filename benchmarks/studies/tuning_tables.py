"""What tuning gains, as Amundsen (2014) tabled it: layouts before and after, gain by kernel, scheme, size and case.

``PYTHONPATH=src python benchmarks/studies/tuning_tables.py search 512 1024 4096`` searches the spaces of the explicit
model at these sizes on the wet basin, in single precision (``double``: in double), and prints for each microseconds of
a step with the shipped layouts and with those that were picked, in turn, the gain, and how far the pick is from the
best that was timed again. ``cases`` instead times steps with the shipped and the tuned layouts in turn, in the three
cases of the thesis: a wet sine, a circular dam on water, one on a dry bed (Manning 0.03, as the basin has).
``exhaustive`` times all choices of a march but whether it starts early, and tells what a descent finds among them.
``compile`` before any of these compiles only. ``scheme=rk2``, ``space=NAME``, ``model=barotropic`` narrow it or search
another model; ``pick=16,80`` compares with so many rows and registers in the first stage in place of what was found.
``kept=FILE`` holds what was measured, from which another call goes on; ``EAGRE_TUNING`` says where timings go.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.tuned import chosen, use_of
from eagre.laboratory.bench.tuning.compilers import Compilers
from eagre.laboratory.bench.tuning.tuner import Found, tune_benchmark
from eagre.laboratory.bench.tuning.workload import StepsOfBenchmark, first_needed, timer_of
from eagre.laboratory.cases import amundsen2014
from eagre.models.shallow_water.model import ShallowWater
from eagre.tuning.session import descend
from eagre.tuning.space import Choice, Space, describe, spaces_of
from eagre.tuning.timings import relative, typical

MODEL = "shallow-water"
CASES: dict[str, Callable[[int], Any]] = {
    "wet sine": amundsen2014.sine,
    "circular dam": amundsen2014.circular_dam_wet,
    "dry-bed dam": amundsen2014.circular_dam_big,
}
STEPS, RUNS, TURNS = 20, 4, 3


class Results:
    """Rows of a table by name, in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows = json.loads(path.read_text()) if path and path.exists() else {}

    def made(self, name: str, measure: Callable[[], Any]) -> Any:
        """A row: what was measured before, or is now."""
        if name not in self.rows:
            self.put(name, measure())
        return self.rows[name]

    def put(self, name: str, row: Any) -> None:
        """Keep a row."""
        self.rows[name] = row
        if self.path:
            self.path.write_text(json.dumps(self.rows, indent=1) + "\n")


def picked(device: Device, precision: str, size: int, scheme: str, pick: str) -> Device:
    """The device with the layouts that were found, or that are named."""
    if not pick:
        return chosen(device, MODEL, size * size, precision, scheme).device
    rows, first = map(int, pick.split(","))
    march = f"{MODEL}.march"
    registers = json.loads(json.dumps(device.table.values[f"{march}.registers"]))
    registers[precision]["first"] = first
    return device.with_parameters({f"{march}.longest": rows, f"{march}.registers": registers}, "a pick")


def compared(case: Any, devices: tuple[Device, ...], precision: str, scheme: str) -> list[float]:
    """Seconds a step with the layouts of each device, in turn."""
    options: dict[str, Any] = {"device": devices[0], "precision": precision, "scheme": scheme, "manning": 0.03}
    model: Any = ShallowWater(case.grid, case.bed_elevation, depth=case.initial.depth, **options)
    timer, runs = timer_of(devices[0]), [[] for _ in devices]
    for _ in range(TURNS):
        for device, found in zip(devices, runs, strict=True):
            model.use_tuning(device)
            model._engine.chooser.never()  # no list of tiles: what is compared is the march
            work = model.steps_without_checks(STEPS)
            timer(work)
            for _ in range(RUNS):
                before = model.steps
                taken = timer(work)
                found.append(taken / max(1, model.steps - before))
    return [typical(found, devices[0].kind) for found in runs]


def cases(device: Device, precision: str, sizes: list[int], schemes: tuple[str, ...], pick: str, kept: Results) -> None:
    """All cases, and the smallest gain."""
    gains = []
    for size in sizes:
        for name, make in CASES.items():
            made: list[Any] = []  # for all schemes
            for scheme in schemes:
                label = f"{size} {name}, {scheme}, {precision}{', ' + pick if pick else ''}"

                def measure(size: int = size, scheme: str = scheme, make: Any = make, made: Any = made) -> list[float]:
                    made.extend([] if made else [make(size)])
                    both = (device, picked(device, precision, size, scheme, pick))
                    return compared(made[0], both, precision, scheme)

                before, after = kept.made(label, measure)
                gains.append(before / after - 1.0)
                rate = size * size / after / 1e9
                told = f"{1e6 * before:.2f} -> {1e6 * after:.2f} us a step, {gains[-1]:+.1%}"
                print(f"{label}: {told}, {rate:.2f} Gcell-steps/s", flush=True)
    print(f"worst {min(gains):+.1%}", flush=True)


def told(found: Found) -> str:
    """One line of the table, and how far the pick is from the fastest that was timed again."""
    outcome = found.outcome
    again = sum(bool(trial.again) for trial in outcome.trials)
    size = " x ".join(map(str, found.shape))
    line = f"{outcome.space.name} {found.use.scheme} {found.use.precision} {size}: "
    line += f"{1e6 * outcome.shipped_seconds:.2f} -> "
    line += f"{1e6 * outcome.tuned_seconds:.2f} us, gain {outcome.gain:.1%}, {describe(outcome.best) or 'as shipped'}, "
    failed = sum(bool(trial.failed) for trial in outcome.trials)
    bits = "same bits" if outcome.same_bits else "other rounding"
    return f"{line}{outcome.apart:.1%} from the best of {again} ({len(outcome.trials)} tried, {failed} failed), {bits}"


def exhaustive(
    device: Device, precision: str, size: int, scheme: str, compilers: Compilers, kept: Results
) -> dict[str, float]:
    """Time of each choice of a march over that of what ships, in turn; those that begin early or not are left out."""
    space = march_of(device, precision, size, scheme)
    load = StepsOfBenchmark(space, device, precision, size, compilers)
    compilers.compile([first_needed(space, device, precision, size)])
    found = {}
    for choice in space.choices(load.shipped, load.info, precision):

        def measure(choice: Choice = choice) -> float:
            values = space.values(choice, load.shipped, precision)
            clocks = [load.clock(one) for one in (values, {})]
            pairs = [[clock() for clock in clocks] for _ in range(RUNS + 1)]
            return relative(*map(list, zip(*pairs, strict=True)), kind=device.kind)

        if choice and "early" not in choice:
            label = f"exhaustive {size} {scheme} {precision}: {describe(choice)}"
            found[describe(choice)] = kept.made(label, measure)
    return {describe({}): 1.0, **found}


def print_exhaustive(found: dict[str, float]) -> None:
    """What a descent finds among all choices, the best eight and the worst three, by time over what ships."""
    asked: list[str] = []
    choices = [named_choice(one) for one in found]
    pick = describe(descend(choices[0], choices, lambda one: (asked.append(describe(one)), found[describe(one)])[1]))
    ranked = sorted(found, key=lambda one: found[one])
    print(f"a descent asked for {len(set(asked))} of {len(found)}, picked {pick}: {found[pick]:.4f}")
    print(f"best {ranked[0]}, {found[pick] / found[ranked[0]] - 1.0:.1%} better")
    for name in (*ranked[:8], *ranked[-3:]):
        print(f"   {name}: {found[name]:.4f}", flush=True)


def named_choice(told: str) -> dict[str, str]:
    """A choice by its words, which tell choices apart as well as their values do."""
    return dict(one.rsplit(" ", 1) for one in told.split(", ")) if told != describe({}) else {}


def march_of(device: Device, precision: str, size: int, scheme: str) -> Space:
    """The march, or the sweeps, of a scheme; what there is on a CPU."""
    spaces = spaces_of(MODEL, device.kind, use_of(device, MODEL, "", precision, size * size).size)
    return next(one for one in spaces if device.kind == "cpu" or (one.scheme == scheme and one.covering is not None))


def main() -> None:
    asked, start = sys.argv[1:], time.perf_counter()

    def named(name: str) -> tuple[str, ...]:
        return tuple(one.removeprefix(f"{name}=") for one in asked if one.startswith(f"{name}="))

    def tell(text: str) -> None:
        if "tell" in asked:
            print(f"   {time.perf_counter() - start:6.2f} {text}", flush=True)

    sizes = [int(one) for one in asked if one.isdigit()]
    precision = "double" if "double" in asked else "single"
    device, kept = select("cpu" if "cpu" in asked else "cuda"), Results(next(map(Path, named("kept")), None))
    model, schemes, compiling = (*named("model"), MODEL)[0], named("scheme"), "compile" in asked
    with Compilers(device) as compilers:
        if "exhaustive" in asked:
            scheme = (*schemes, "rk2")[0]
            if compiling:
                space = march_of(device, precision, sizes[0], scheme)
                compilers.compile([first_needed(space, device, precision, sizes[0])])
            else:
                print_exhaustive(exhaustive(device, precision, sizes[0], scheme, compilers, kept))
        elif "cases" in asked:
            cases(device, precision, sizes, schemes or ("rk2", "euler"), (*named("pick"), "")[0], kept)
        elif compiling:
            for size in sizes:
                cells = size ** (3 if model == "anelastic" else 2)
                spaces = spaces_of(model, device.kind, use_of(device, model, "", precision, cells).size)
                spaces = [one for one in spaces if one.name in (named("space") or (one.name,))]
                spaces = [one for one in spaces if one.scheme in ("", *(schemes or (one.scheme,)))]
                said = compilers.compile([first_needed(one, device, precision, size) for one in spaces])
                print(
                    f"{time.perf_counter() - start:.1f} s: {size}: {len(said)} compiled", *{one for one in said if one}
                )
        else:
            for found in tune_benchmark(
                model, device, precision, sizes, only=named("space"), schemes=schemes, tell=tell
            ):
                print(f"{time.perf_counter() - start:.1f} s {told(found)}", flush=True)
    print(f"{time.perf_counter() - start:.1f} s", flush=True)


if __name__ == "__main__":
    main()
