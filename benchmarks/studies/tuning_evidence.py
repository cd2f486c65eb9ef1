"""All evidence of the tuner on one device, by one command that goes on where it was stopped.

``PYTHONPATH=src python benchmarks/studies/tuning_evidence.py evidence`` keeps all in the folder `evidence`: a store of
its own, the timings of the searches, and each row of the tables in `rows.json` as it is measured. It begins nothing new
after ``--budget 460`` s; the same command measures what is missing, in the order of what is worth most:

1. `eagre tune shallow-water` as a user has it, in both precisions, and its wall time
2. schemes by time to equal error (`scheme_ranking.py`), and by cell-steps a second
3. steps with the card's general values, those that ship for the class of size, and the tuned ones, in turn: three cases
   of the thesis, 512 to 16384 cells a side
4. all choices of the marches of RK2 and forward Euler against what a descent finds among them

``--missing`` measures just what no run had measured by November 2026, in less than 8 minutes by count
(`tuning_missing.py` has the list and its order).
Then, or alone with ``--only-print``, it prints tables as Amundsen (2014) has them (sections 6.1 to 6.3), and how far
they meet what was asked.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
import scheme_ranking
import tuning_missing
import tuning_tables
from tuning_tables import CASES, MODEL, Results

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.tuned import chosen, shipped_values, use_of
from eagre.errors import EagreError
from eagre.laboratory.bench.tuning.compilers import Compilers
from eagre.laboratory.bench.tuning.schemes import tune_schemes
from eagre.laboratory.bench.tuning.tuner import begin_compiling, tune_benchmark
from eagre.laboratory.cases import amundsen2014, waves
from eagre.tuning.space import describe

SCHEMES = ("rk2", "euler", "srk2", "ds1", "ds2")
FEWER_FROM = 8192  # cells a side, from which only RK2 and Euler are timed: starts take long
SINGLE_FROM = 16384  # cells a side, from which only single precision is
SLOWER = 0.02  # asked: tuned layouts are slower than the general ones by this part at most
APART = 0.03  # asked: what a search picks takes longer than the best of all choices by this part at most
WALL = 180.0  # asked: s that a search of the whole space takes
Row = tuple[str, Callable[[], Any]]


def tuned_row(found: Any) -> dict[str, Any]:
    """What is told of a search."""
    outcome = found.outcome
    failed = sum(bool(trial.failed) for trial in outcome.trials)
    again = sum(bool(trial.again) for trial in outcome.trials)
    return {
        "space": outcome.space.name, "scheme": found.use.scheme, "precision": found.use.precision,
        "shape": list(found.shape), "size": found.use.size,
        "before": outcome.shipped_seconds, "after": outcome.tuned_seconds,
        "best": describe(outcome.best), "apart": outcome.apart, "again": again, "tried": len(outcome.trials),
        "failed": failed, "same_bits": outcome.same_bits,
    }  # fmt: skip


def searched(device: Device, asked: Any, rows: Results, time_is_up: Callable[[], bool]) -> bool:
    """The searches of a command, precision by precision; whether all are done. Timings are kept in any case."""
    missing = [one for one in asked.precisions if f"tune {one}" not in rows.rows]
    with Compilers(device) as compilers:
        begin_compiling(MODEL, device, missing, asked.tune_sizes, compilers)
        for precision in missing:
            begin, found = time.perf_counter(), []
            for one in tune_benchmark(MODEL, device, precision, asked.tune_sizes, compilers=compilers):
                found.append(tuned_row(one))
                print(f"   {found[-1]}", flush=True)
                if time_is_up():
                    break
            else:
                tune_schemes(MODEL, device, precision, asked.tune_sizes, tell=lambda text: print(f"   {text}"))
                rows.put(f"tune {precision}", found)
            rows.put("wall", rows.rows.get("wall", 0.0) + time.perf_counter() - begin)
            if time_is_up():
                break
    return all(f"tune {one}" in rows.rows for one in asked.precisions)


def ranked(device: Device, asked: Any, precision: str) -> Iterator[Row]:
    """Runs of all schemes on ever finer grids of a vortex and a dam."""
    reference: list[Any] = []

    def exact(case: str, n: int) -> Any:
        if case == "vortex":
            return scheme_ranking.exact_vortex(n)
        if not reference:
            fine = amundsen2014.circular_dam_wet(3 * max(asked.ranking), end_time=1.0)
            model = fine.model(device=device, precision=precision)
            model.advance(1.0)
            reference.append(scheme_ranking.depth_of(model))
        return scheme_ranking.coarser(reference[0], n)

    def make(case: str, n: int) -> Any:
        return waves.travelling_vortex(n) if case == "vortex" else amundsen2014.circular_dam_wet(n, end_time=1.0)

    for case in ("vortex", "dam"):
        for scheme, cfl in ((one, cfl) for one in asked.schemes for cfl in (0.25, 0.5)):
            for n in asked.ranking:

                def measure(case: str = case, scheme: str = scheme, cfl: float = cfl, n: int = n) -> Any:
                    run = scheme_ranking.timed(make(case, n), exact(case, n), device, precision, scheme, cfl, 2)
                    return {**run._asdict(), "rate": run.steps * n * n / run.seconds}

                yield f"rank {case} {scheme} {cfl} {n} {precision}", measure


def variants(device: Device, precision: str, scheme: str, size: int) -> dict[str, Device]:
    """The device with the card's general values, those of the class of size, and the tuned ones, where they differ."""
    use = use_of(device, MODEL, scheme, precision, size * size)
    found = {"general": device.with_parameters({}, "general")}
    if values := shipped_values(device, use):
        found["class"] = device.with_parameters(values, "class")
    best = chosen(device, MODEL, size * size, precision, scheme)
    if best.tuned:
        found["tuned"] = best.device
    return found


def in_turn(device: Device, precision: str, scheme: str, size: int, case: Any) -> dict[str, float]:
    """Seconds a step of a case with all variants, in turn."""
    made = variants(device, precision, scheme, size)
    times = tuning_tables.compared(case, tuple(made.values()), precision, scheme)
    return dict(zip(made, times, strict=True))


def compared(device: Device, asked: Any, precision: str, sizes: Sequence[int]) -> Iterator[Row]:
    """Steps of the thesis's cases with all variants in turn."""
    for size in sizes:
        for scheme in asked.schemes:
            for name, make in CASES.items():

                def measure(size: int = size, scheme: str = scheme, make: Any = make) -> Any:
                    return in_turn(device, precision, scheme, size, make(size))

                large = scheme not in ("rk2", "euler") and size >= FEWER_FROM
                if not large and not (precision == "double" and size >= SINGLE_FROM):
                    yield f"case {size} {name}, {scheme}, {precision}", measure


def plan(device: Device, asked: Any) -> Iterator[Row]:
    """All rows behind the searches, what is worth most first."""
    usual = [size for size in asked.sizes if size < FEWER_FROM]
    for precision in asked.precisions:
        yield from ranked(device, asked, precision)
        yield from compared(device, asked, precision, usual)
    for size in sorted(set(asked.sizes) - set(usual)):
        for precision in asked.precisions:
            yield from compared(device, asked, precision, [size])


def everything(device: Device, asked: Any, rows: Results, start: float) -> bool:
    """Measure what is missing; whether all is there."""

    def time_is_up() -> bool:
        return time.perf_counter() - start > asked.budget

    if asked.missing:
        asked_for = tuning_missing.missing(device, asked, rows, partial(in_turn, device), time_is_up)
        return measured(asked_for, rows, start, time_is_up)
    if not searched(device, asked, rows, time_is_up):
        return False
    if not measured(plan(device, asked), rows, start, time_is_up):
        return False
    with Compilers(device) as compilers:
        for scheme in ("rk2", "euler") if device.kind == "cuda" else ():
            for size in asked.exhaustive:
                if time_is_up():
                    return False
                found = tuning_tables.exhaustive(device, asked.precisions[0], size, scheme, compilers, rows)
                tuning_tables.print_exhaustive(found)
    return True


def measured(plan: Iterable[Row], rows: Results, start: float, time_is_up: Callable[[], bool]) -> bool:
    """Rows that are missing, one by one; whether all are there. One that fails is told, and the others go on."""
    failed = 0
    for name, measure in plan:
        if name not in rows.rows:
            if time_is_up():
                return False
            try:
                told = measure()
                if told is None:  # the time was up before its end
                    return False
                rows.put(name, told)
            except (EagreError, MemoryError) as error:
                told, failed = f"left out: {error}", failed + 1
            print(f"{time.perf_counter() - start:7.1f} s {name}: {told}", flush=True)
    return not failed


def prefixed(rows: dict[str, Any], start: str) -> dict[str, Any]:
    """Rows whose names begin so."""
    return {name.removeprefix(start): row for name, row in rows.items() if name.startswith(start)}


def print_searches(rows: dict[str, Any]) -> None:
    """Gain and best choice by kernel, scheme and size (tables 6.1 and 6.2 of the thesis)."""
    found = [one for rows_of in prefixed(rows, "tune ").values() for one in rows_of]
    if not found:
        return
    names = "space, scheme, precision, cells, before us, after us, gain, best, from the best that was timed again"
    print(f"\n| {names.replace(', ', ' | ')} |")
    print("|---|---|---|---|---|---|---|---|---|")
    for one in found:
        size, gain = " x ".join(map(str, one["shape"])), one["before"] / one["after"] - 1.0
        line = f"| {one['space']} | {one['scheme'] or 'all'} | {one['precision']} | {size} | {1e6 * one['before']:.2f} "
        line += f"| {1e6 * one['after']:.2f} | {gain:+.1%} | {one['best']} "
        line += f"| {one['apart']:.1%} of {one['again']}, {one['tried']} tried |"
        print(line)
    worst = max(one["apart"] for one in found)
    print(f"\npicks: at most {worst:.1%} from the best that was timed again beside them (asked {APART:.0%})")
    print(f"searches: {rows.get('wall', 0.0):.0f} s (asked {WALL:.0f} s for the whole space)")


def print_cases(rows: dict[str, Any]) -> None:
    """Gain over the general values by case, size and scheme; which scheme makes most cell-steps (table 6.3)."""
    found = prefixed(rows, "case ")
    if not found:
        return
    print("\n| cells, case, scheme, precision | general, us | class | tuned | Gcell-steps/s |\n|---|---|---|---|---|")
    worst: list[tuple[float, str]] = []
    rates: dict[str, dict[str, float]] = {}
    for name, times in found.items():
        size, base, last = int(name.partition(" ")[0]), times["general"], [*times.values()][-1]
        gains = {one: base / times[one] - 1.0 for one in times}
        worst += [(gains[one], f"{name}: {one}") for one in times if one != "general"]
        told = [f"{gains[one]:+.1%}" if one in gains else "same" for one in ("class", "tuned")]
        print(f"| {name} | {1e6 * base:.2f} | {' | '.join(told)} | {size * size / last / 1e9:.2f} |")
        case, scheme, precision = name.split(", ")
        rates.setdefault(f"{case}, {precision}", {})[scheme] = size * size / last
    for place, of_schemes in rates.items():
        order = sorted(of_schemes, key=lambda one: -of_schemes[one])
        print(f"{place}: most cell-steps: {', '.join(f'{one} {of_schemes[one] / 1e9:.2f}' for one in order)}")
    if worst:
        print(f"worst: {min(worst)[0]:+.1%} ({min(worst)[1]}; asked no worse than -{SLOWER:.0%})")


def print_ranking(rows: dict[str, Any]) -> None:
    """Time to the error that RK2 has at 0.25 on the second grid, and cell-steps a second on the finest."""
    runs: dict[tuple[str, str], dict[tuple[str, str], list[dict[str, Any]]]] = {}
    for name, row in prefixed(rows, "rank ").items():
        case, scheme, cfl, _, precision = name.split(" ")
        runs.setdefault((case, precision), {}).setdefault((scheme, cfl), []).append(row)
    for (case, precision), found in runs.items():
        usual = found.get(("rk2", "0.25"), [])
        if len(usual) < 2:
            continue
        wanted = usual[1]["error"]
        print(f"\n{case}, {precision}, to an error of {wanted:.2e}")
        print("| scheme | cfl | ms to it | Gcell-steps/s | steps, discarded |\n|---|---|---|---|---|")
        times = {way: scheme_ranking.time_to(wanted, [run_of(one) for one in of]) for way, of in found.items()}
        for way in sorted(found, key=lambda one: (times[one] != times[one], times[one])):
            last = found[way][-1]
            told = f"{1e3 * times[way]:.3f}" if times[way] == times[way] else "not reached"
            print(f"| {way[0]} | {way[1]} | {told} | {last['rate'] / 1e9:.3f} | {last['steps']}, {last['redone']} |")


def run_of(row: dict[str, Any]) -> scheme_ranking.Run:
    """A row as `scheme_ranking` has it."""
    return scheme_ranking.Run(row["steps"], row["redone"], row["seconds"], row["error"])


def arguments(given: Sequence[str] | None) -> Any:
    """What was asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precisions", nargs="+", default=["single", "double"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[512, 1024, 2048, 4096, 8192, 16384])
    parser.add_argument("--tune-sizes", type=int, nargs="+", default=None, help="else those of eagre tune")
    parser.add_argument("--ranking", type=int, nargs="+", default=[256, 512, 1024])
    parser.add_argument("--exhaustive", type=int, nargs="*", default=[2048])
    parser.add_argument("--schemes", nargs="+", default=SCHEMES)
    parser.add_argument("--budget", type=float, default=460.0, help="s, after which nothing new is begun")
    parser.add_argument("--only-print", action="store_true")
    parser.add_argument("--missing", action="store_true", help="just what was not measured before")
    for name, size in (("largest", 16384), ("split-size", 8192), ("exit-size", 4096), ("pick-size", 2048)):
        parser.add_argument(f"--{name}", type=int, default=size, help="cells a side, with --missing")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """See the top of the file; 0 if all is measured, 1 if another call has to go on."""
    asked, start = arguments(given), time.perf_counter()
    asked.folder.mkdir(parents=True, exist_ok=True)
    rows, done = Results(asked.folder / "rows.json"), True
    if not asked.only_print:
        os.environ["EAGRE_TUNING"] = str(asked.folder / "tuning")
        device = select(asked.device)
        if rows.made("device", lambda: str(device)) != str(device):
            raise SystemExit(f"{asked.folder} is of {rows.rows['device']}, this is {device}: another folder")
        done = everything(device, asked, rows, start)
    print_searches(rows.rows)
    print_cases(rows.rows)
    print_ranking(rows.rows)
    tuning_missing.print_missing(rows.rows)
    told = "nothing was measured" if asked.only_print else "all is there" if done else "the same command goes on"
    print(f"\n{rows.rows.get('device')}: {told}, {time.perf_counter() - start:.0f} s")
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
