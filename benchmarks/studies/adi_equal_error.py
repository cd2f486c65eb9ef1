"""Time to solution at equal error of the implicit and the explicit shallow-water model, on one core.

``PYTHONPATH=src python benchmarks/studies/adi_equal_error.py`` prints, for two small waves with exact solutions, the
error of every run against its time, the shortest time to a given error, and the error against the Courant number.
``... fjord`` does the latter for a tide in a crooked channel, whose reference is the same grid at Courant number 1/4:
alternating directions lose waves that must turn many corners in one step (G. S. Stelling, A. K. Wiersma and J. B. T.
M. Willemse, J. Hydraul. Eng. 112(9), 802-817 (1986), doi:10.1061/(ASCE)0733-9429(1986)112:9(802)). ``... bay`` does
it for the demo's bay, where the reference is the explicit model on half the cell size.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from eagre import Boundaries, Grid, Series, ShallowWater, ShallowWaterADI, Stage
from eagre.backend.select import select
from eagre.laboratory.bench.machine import threads_limited

G = 9.81
CELLS = (16, 32, 64, 128, 256)
COURANT = (0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0)
TARGETS = (0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


class Wave(NamedTuple):
    """A small wave: ``options(grid)`` sets it up, ``exact(x, y)`` is its surface at `end`, s; `size` by `width` m."""

    name: str
    size: float
    width: float
    depth: float
    amplitude: float
    end: float
    options: Callable[[Grid], dict[str, Any]]
    exact: Callable[[np.ndarray, np.ndarray], np.ndarray]


class Run(NamedTuple):
    """Error relative to the largest amplitude, seconds, steps."""

    error: float
    seconds: float
    steps: int


def basin() -> Wave:
    """A standing wave across both diagonals of an ocean basin, 400 km x 400 km x 4 km, after 1.35 periods."""
    size, depth, a = 400e3, 4000.0, 1e-3
    omega = math.sqrt(2.0 * G * depth) * math.pi / size

    def shape(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return a * np.cos(math.pi * x / size) * np.cos(math.pi * y / size)

    end = 1.35 * 2.0 * math.pi / omega
    return Wave(
        "basin", size, size, depth, a, end, lambda grid: {"surface_elevation": shape(*grid.mesh())},
        lambda x, y: shape(x, y) * math.cos(omega * end),
    )  # fmt: skip


def tide() -> Wave:
    """A tide of 3 h in a closed channel, 50 km x 12.5 km x 10 m: z = a cos(k (L - x)) / cos(k L) cos(w t)."""
    size, depth, a, period = 50e3, 10.0, 1e-5, 10800.0
    omega = 2.0 * math.pi / period
    k = omega / math.sqrt(G * depth)
    largest = a / abs(math.cos(k * size))
    end = 3.1 * period
    times = np.linspace(0.0, 1.2 * end, 20001)
    level = Series(times, a * np.cos(omega * times))

    def shape(x: np.ndarray) -> np.ndarray:
        return a * np.cos(k * (size - x)) / math.cos(k * size)

    return Wave(
        "tide", size, 0.25 * size, depth, largest, end,
        lambda grid: {"surface_elevation": shape(grid.mesh()[0]), "boundaries": Boundaries(west=Stage(level))},
        lambda x, y: shape(x) * math.cos(omega * end),
    )  # fmt: skip


def run(wave: Wave, n: int, courant: float | None) -> Run:
    """One run on n cells along x: explicit without a Courant number, else implicit; the best of three times."""
    rows = round(n * wave.width / wave.size)
    grid = Grid(n, rows, wave.size / n, wave.size / n)
    options = {"device": "cpu", "precision": "double"} | wave.options(grid)
    best, model = math.inf, None
    for _ in range(3):
        if courant is None:
            model = ShallowWater(grid, -wave.depth, **options)
        else:
            steps = math.ceil(wave.end * math.sqrt(G * wave.depth) / (courant * grid.dx))
            model = ShallowWaterADI(grid, -wave.depth, wave.end / steps, drying="off", dissipation="none", **options)
        start = perf_counter()
        model.advance(wave.end)
        best = min(best, perf_counter() - start)
    assert model is not None
    apart = model.field("surface_elevation").astype(float) - wave.exact(*grid.mesh())
    return Run(float(np.abs(apart).max()) / wave.amplitude, best, model.steps)


def time_at(runs: list[Run], target: float) -> float:
    """Shortest time to an error of `target`, interpolated between neighbouring runs (log-log); NaN if none has it."""
    for coarse, fine in pairwise(runs):
        if fine.error <= target <= coarse.error:
            part = math.log(coarse.error / target) / math.log(coarse.error / fine.error)
            return coarse.seconds * (fine.seconds / coarse.seconds) ** part
    return math.nan


def compare(wave: Wave) -> None:
    """Print error and time of every run, then the shortest times to each target."""
    explicit, implicit = [], {c: [] for c in COURANT}
    print(f"{wave.name}: error (relative to the amplitude), ms; explicit, then implicit by Courant number")
    print("n        explicit  " + "".join(f"{c:>17g}" for c in COURANT))
    for n in CELLS:
        explicit.append(run(wave, n, None))
        row = [explicit[-1]]
        for c in COURANT:
            implicit[c].append(run(wave, n, c))
            row.append(implicit[c][-1])
        print(f"{n:4} " + "".join(f" {one.error:8.1e} {1e3 * one.seconds:7.1f}" for one in row), flush=True)
    for target in TARGETS:
        slow = time_at(explicit, target)
        times = {c: time_at(runs, target) for c, runs in implicit.items()}
        found = {c: t for c, t in times.items() if not math.isnan(t)}
        if found:
            c = min(found, key=lambda key: found[key])
            told = f"error {target:g}: explicit {1e3 * slow:.1f} ms, implicit {1e3 * found[c]:.1f} ms at {c:g}"
            print(f"{told}: {slow / found[c]:.1f} x")


def fjord() -> None:
    """A tide of 2 h in a channel 10 cells wide: error against the Courant number, the channel more and more askew."""
    n, size, depth, a, period = 120, 500.0, 20.0, 0.01, 7200.0
    grid = Grid(n, n, size, size)
    x, y = grid.mesh()
    times = np.arange(0.0, 10.0 * period, 20.0)
    part = np.minimum(1.0, times / period)
    onset = part * part * (3.0 - 2.0 * part)  # smooth: a kink in time keeps an error of first order
    sides = Boundaries(west=Stage(Series(times, a * onset * np.sin(2.0 * math.pi * times / period))))
    for length in (math.inf, 160e3, 80e3, 40e3):
        land = np.abs(y - 30e3 - 20e3 * np.sin(2.0 * math.pi * x / length)) > 2500.0
        found = {}
        for courant in (0.25, *COURANT[:7]):
            step = courant * size / math.sqrt(G * depth)
            options = {"land_mask": land, "boundaries": sides, "manning": 0.02, "drying": "off", "device": "cpu"}
            model = ShallowWaterADI(grid, -depth, step, surface_elevation=0.0, precision="double", **options)
            model.advance(2.4 * period)
            found[courant] = np.where(land, 0.0, model.field("surface_elevation"))
        reference = found.pop(0.25)
        errors = [f"{c:g}: {np.abs(z - reference).max() / np.abs(reference).max():.1e}" for c, z in found.items()]
        print(f"steepest slope {40e3 * math.pi / length:.1f}, error at Courant number {', '.join(errors)}", flush=True)


def bay() -> None:
    """RMS differences at the demo's gauges on cells of 40 m from the explicit model on 20 m, for several steps."""
    from eagre.laboratory.validation.shallow_water_adi import run_bay

    times = np.arange(0.0, 3601.0, 10.0)
    reference = run_bay(times, 20.0, None, "cpu", "single")
    print(f"explicit, 20 m: {reference.steps} steps, {reference.seconds:.1f} s, {1e-4 * reference.flooded:.0f} ha")
    for cell, step in [(40.0, None), *((40.0, s) for s in (0.5, 1.0, 2.0, 4.0)), (20.0, 0.5), (20.0, 1.0)]:
        found = run_bay(times, cell, step, "cpu", "single")
        rms = [float(np.sqrt(((found.gauges[k] - v) ** 2).mean())) for k, v in reference.gauges.items()]
        name = "explicit" if step is None else f"implicit, {step:g} s"
        told = f"{cell:g} m, {name}: {found.steps} steps, {found.seconds:.1f} s, {1e-4 * found.flooded:.0f} ha, RMS"
        print(told, " ".join(f"{value:.3f}" for value in rms), flush=True)


if __name__ == "__main__":
    with threads_limited(select("cpu"), 1):
        if "bay" in sys.argv:
            bay()
        elif "fjord" in sys.argv:
            fjord()
        else:
            for wave in (basin(), tide()):
                run(wave, 16, None)
                run(wave, 16, 1.0)  # both are compiled now
                compare(wave)
