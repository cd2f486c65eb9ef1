"""Schemes of the explicit model by cell-steps a second, and by time to solution at equal error.

``PYTHONPATH=src python benchmarks/studies/scheme_ranking.py --device cuda:0 --precision double --sizes 256 512 1024``
runs every scheme on ever finer grids of two cases, a vortex that travels (smooth, exact solution) and a dam that breaks
over water (against RK2 on a grid three times as fine as the finest), and prints for each run its steps, discarded
ones, cell-steps a second, wall time and error. Then, by interpolation between grids, the time to the error that the
first scheme has on the second grid.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from eagre.laboratory.cases import amundsen2014, waves
from eagre.laboratory.cases.water import WaterCase

SCHEMES = ("rk2", "srk2", "euler", "ds1", "ds2")
WAYS = tuple((scheme, cfl) for scheme in SCHEMES for cfl in (0.25, 0.5))


class Run(NamedTuple):
    """What a run took and how far its depths are off."""

    steps: int
    redone: int
    seconds: float
    error: float


def depth_of(model: Any) -> np.ndarray:
    """Depths, in double precision."""
    return np.asarray(model.field("depth"), np.float64)


def coarser(depth: np.ndarray, n: int) -> np.ndarray:
    """Means over the cells of a grid of n x n."""
    part = depth.shape[0] // n
    return depth.reshape(n, part, n, part).mean(axis=(1, 3))


def timed(
    case: WaterCase, exact: np.ndarray, device: str, precision: str, scheme: str, cfl: float, repeats: int
) -> Run:
    """The least time of some runs to the end of the case, after one that compiles and captures."""
    model = case.model(device=device, precision=precision, scheme=scheme, courant_number=cfl)
    start, best = model.state(), math.inf
    for repeat in range(repeats + 1):
        model.restore(start)
        begin = time.perf_counter()
        model.advance(case.end_time)
        best = min(best, time.perf_counter() - begin) if repeat else best
    found = model.statistics()
    error = float(np.abs(depth_of(model) - exact).sum() / np.abs(exact).sum())
    return Run(int(found["steps"]), int(found["redone_steps"]), best, error)


def time_to(error: float, runs: list[Run]) -> float:
    """Seconds until an error, by powers between two runs or beyond the last by a third; NaN where none comes near."""
    logs = [(math.log(run.error), math.log(run.seconds)) for run in runs]
    wanted = math.log(error)
    for (e_0, t_0), (e_1, t_1) in pairwise(logs):
        part = (wanted - e_0) / (e_1 - e_0) if e_1 < e_0 else math.nan  # nowhere on a way that leads off
        if (part >= 0.0 or (e_0, t_0) == logs[0]) and part <= 1.33 and part >= -1.0:
            return math.exp(t_0 + part * (t_1 - t_0))
    return math.nan


def ranked(name: str, make: Callable[[int], WaterCase], exact: Callable[[int], np.ndarray], asked: Any) -> None:
    """Runs of a case, and the times to one error."""
    found: dict[tuple[str, float], list[Run]] = {}
    for way in WAYS:
        if way[0] not in asked.schemes:
            continue
        for n in asked.sizes:
            run = timed(make(n), exact(n), asked.device, asked.precision, *way, asked.repeats)
            found.setdefault(way, []).append(run)
            speed = run.steps * n * n / run.seconds / 1e9
            print(
                f"{name} {n:5d} {way[0]:5s} cfl {way[1]:.2f}: {run.steps:5d} steps, {run.redone:3d} redone, "
                f"{run.seconds:8.4f} s, {speed:7.3f} Gcell-steps/s, error {run.error:.3e}",
                flush=True,
            )
    if len(asked.sizes) < 2:
        return
    wanted = found[asked.schemes[0], 0.25][1].error
    for way, runs in found.items():
        print(f"{name} to {wanted:.2e}: {way[0]:5s} cfl {way[1]:.2f} {time_to(wanted, runs):8.4f} s", flush=True)


def exact_vortex(n: int) -> np.ndarray:
    """Depths of the vortex at its end."""
    case = waves.travelling_vortex(n)
    assert case.exact is not None
    return case.exact(case.end_time).depth


def main() -> None:
    """See the top of the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="double")
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--schemes", nargs="+", default=SCHEMES, help="the first sets the error")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--cases", nargs="+", default=["vortex", "dam"])
    asked = parser.parse_args()
    if "vortex" in asked.cases:
        ranked("vortex", waves.travelling_vortex, exact_vortex, asked)
    if "dam" in asked.cases:
        fine = 3 * max(asked.sizes)
        reference = amundsen2014.circular_dam_wet(fine, end_time=1.0).model(
            device=asked.device, precision=asked.precision
        )
        reference.advance(1.0)
        depth = depth_of(reference)
        ranked("dam", lambda n: amundsen2014.circular_dam_wet(n, end_time=1.0), lambda n: coarser(depth, n), asked)


if __name__ == "__main__":
    main()
