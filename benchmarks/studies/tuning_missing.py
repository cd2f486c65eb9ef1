"""Rows of `tuning_evidence.py --missing`: what was not measured before, what is worth most first.

1. picks of searches against all choices: RK2 in double precision, a split scheme on a small grid
2. early exit with other rows of a march, a pond on 5 % of a plain
3. the largest grid: RK2 and forward Euler in the three cases of the thesis
4. split schemes on a large grid
5. `eagre tune` of all spaces as a user has it, and its wall time; RK2 in single precision as in 1
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import early_exit
import tuning_tables
from tuning_tables import CASES, MODEL, Results

from eagre.backend.device import Device
from eagre.laboratory.bench.tuning.compilers import Compilers
from eagre.laboratory.bench.tuning.tuner import begin_compiling, tune_benchmark
from eagre.tuning.space import describe

Row = tuple[str, Callable[[], Any]]
PICKS = (("rk2", "double", 4), ("srk2", "double", 1))  # and cells a side, in quarters of the largest
LAST = ("rk2", "single", 4)
SPLIT = ("ds2", "srk2", "ds1")
ROWS = (0, 8, 16, 32, 64)  # of a march; 0: those of the rule


def missing(
    device: Device, asked: Any, rows: Results, compared: Callable[..., Any], time_is_up: Callable[[], bool]
) -> Iterator[Row]:
    """All rows; `compared` : times of a case with the layouts that count for it."""

    def picked(scheme: str, precision: str, part: int) -> Row:
        size = asked.pick_size * part // 4
        return f"pick {scheme} {precision} {size}", lambda: pick(device, precision, size, scheme, rows)

    yield from (picked(*one) for one in PICKS)
    for height in ROWS:
        for way in ("on", "off"):
            name = f"early exit {asked.exit_size} double rows {height} {way}"
            yield name, lambda a=(device, asked.exit_size, height, way): early(*a)
    yield from cases(asked.largest, ("rk2", "euler"), compared)
    yield from cases(asked.split_size, SPLIT, compared)
    yield "all spaces, s", lambda: whole_search(device, asked, rows, time_is_up)
    yield picked(*LAST)


def cases(size: int, schemes: tuple[str, ...], compared: Callable[..., Any]) -> Iterator[Row]:
    """Steps in single precision, a case with all schemes before the next one is made."""
    for name in CASES:
        for scheme in schemes:
            label = f"case {size} {name}, {scheme}, single"
            yield label, lambda a=(name, size, scheme): compared("single", a[2], a[1], made(a[0], a[1]))


@lru_cache(maxsize=1)
def made(name: str, size: int) -> Any:
    """A case of the thesis; large ones take long to make."""
    return CASES[name](size)


def pick(device: Device, precision: str, size: int, scheme: str, rows: Results) -> dict[str, Any]:
    """What a search takes, and how far it is from the best of all choices, each in turn with what ships."""
    with Compilers(device) as compilers:
        space = tuning_tables.march_of(device, precision, size, scheme)
        options = {"only": [space.name], "schemes": [scheme], "compilers": compilers}
        (found,) = tune_benchmark(MODEL, device, precision, [size], **options)
        every = tuning_tables.exhaustive(device, precision, size, scheme, compilers, rows)
    tuning_tables.print_exhaustive(every)
    own, best = describe(found.outcome.best), min(every, key=lambda one: every[one])
    tried, again = len(found.outcome.trials), sum(bool(trial.again) for trial in found.outcome.trials)
    return {
        "pick": own, "best": best, "choices": len(every), "tried": tried, "again": again, "told": found.outcome.apart,
        "apart": every[own] / every[best] - 1.0 if own in every else None, "gain": found.outcome.gain,
    }  # fmt: skip


def early(device: Device, size: int, height: int, way: str) -> dict[str, float]:
    """Milliseconds of a step, and the part of the tiles that is listed."""
    march = f"{MODEL}.march"
    own = {f"{march}.longest": height, f"{march}.shortest": height} if height else {}
    where = device.with_parameters(own, "rows") if own else device
    model = early_exit.flood(size, 0.05, where, "double", way)
    found = early_exit.milliseconds(model, early_exit.STEPS[device.kind])
    return {"ms": found, "listed": model._engine.active_fraction()}


def whole_search(device: Device, asked: Any, rows: Results, time_is_up: Callable[[], bool]) -> float | None:
    """Seconds of a search of all spaces in both precisions, of the calls that it took; None where it has to go on."""
    so_far = "all spaces so far, s"
    begin = time.perf_counter() - rows.rows.get(so_far, 0.0)
    with Compilers(device) as compilers:
        begin_compiling(MODEL, device, asked.precisions, asked.tune_sizes, compilers)
        for precision in asked.precisions:
            for found in tune_benchmark(MODEL, device, precision, asked.tune_sizes, compilers=compilers):
                said = f"{found.use.scheme} {precision} {found.shape}: {describe(found.outcome.best)}"
                print(f"   {said}, {found.outcome.gain:+.1%}, {found.outcome.apart:.1%} apart", flush=True)
                rows.put(so_far, time.perf_counter() - begin)
                if time_is_up():
                    return None
    return time.perf_counter() - begin


def print_missing(rows: dict[str, Any]) -> None:
    """Picks beside all choices, early exit by rows, the wall time of a search."""
    picks = {name: row for name, row in rows.items() if name.startswith("pick ")}
    if picks:
        print("\n| search | pick | best of all choices | from it | by its own timings | tried, again, all |")
        print("|---|---|---|---|---|---|")
    for name, row in picks.items():
        apart = "not among them" if row["apart"] is None else f"{row['apart']:.1%}"
        counts = f"{row['tried']}, {row['again']}, {row['choices']}"
        print(f"| {name[5:]} | {row['pick']} | {row['best']} | {apart} | {row['told']:.1%} | {counts} |")
    exits = {name: row for name, row in rows.items() if name.startswith("early exit ")}
    if exits:
        print("\n| early exit, ms a step | on | off | listed | times as fast as all cells with the rows of the rule |")
        print("|---|---|---|---|---|")
    for name in dict.fromkeys(name.rpartition(" ")[0] for name in exits):
        on, off = (exits.get(f"{name} {way}", {}) for way in ("on", "off"))
        rule = exits.get(f"{name.rpartition(' ')[0]} 0 off", {}).get("ms")
        gain = f"{rule / on['ms']:.1f}" if rule and on else ""
        told = [f"{one['ms']:.3f}" if one else "" for one in (on, off)]
        print(f"| {name[11:]} | {' | '.join(told)} | {on.get('listed', 0.0):.1%} | {gain} |")
    if "all spaces, s" in rows:
        print(f"\na search of all spaces: {rows['all spaces, s']:.0f} s")
