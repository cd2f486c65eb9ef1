"""Speed of cases as users have them, by the wall clock around `advance`; records go where those of `speed.py` do.

From the root of the repository: ``PYTHONPATH=src python benchmarks/users_cases.py --device cuda [--cases user coast]``.

user: hills of a rough coast, partly dry, a map of Manning's n, rain, rotation and an absorbing side (explicit), or dry
and wet with friction and rotation (implicit). coast: 392 x 243 cells, an absorbing side driven by a series, wet and
dry. advance: the wet basin of ``eagre bench``. leg: 14 steps between two looks, and a sample of 29 points after each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from records import COLUMNS, RESULTS, keep, line

import eagre
from eagre.backend.select import select
from eagre.contract import Model
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.shallow_water import basin

FAR = 1e7  # s: to where series reach
REPEATS = 5


def hills(n: int) -> np.ndarray:
    """Bed at the corners of n x n cells, m: a slope from -60 to 10 m with hills, some above water."""
    rng = np.random.default_rng(3)
    x, y = np.linspace(0.0, 1.0, n + 1)[None, :], np.linspace(0.0, 1.0, n + 1)[:, None]
    bed = -60.0 + 70.0 * x**2 + 5.0 * np.sin(9.0 * x) * np.cos(7.0 * y)
    for _ in range(25):
        at_x, at_y, wide = rng.uniform(0.2, 1.0, 3)
        high = rng.uniform(10.0, 80.0)
        bed = bed + high * np.exp(-((x - at_x) ** 2 + (y - at_y) ** 2) / (0.01 + 0.05 * wide) ** 2)
    return bed


def user(n: int, device: Any, precision: str) -> Model:
    """The explicit model with all that a user has."""
    return eagre.ShallowWater(
        eagre.Grid(n, n, 20.0, 20.0), hills(n), surface_elevation=0.0, device=device, precision=precision,
        manning=np.full((n, n), 0.025) * np.linspace(0.8, 1.2, n), boundaries=eagre.Boundaries(eagre.Absorbing(1.0)),
        sources=[eagre.Rain(1e-6), eagre.Coriolis(latitude=35.0)],
    )  # fmt: skip


def implicit(n: int, device: Any, precision: str) -> Model:
    """The implicit model on hills that end 2 m below still water."""
    return eagre.ShallowWaterADI(
        eagre.Grid(n, n, 20.0, 20.0), np.minimum(hills(n), -2.0), surface_elevation=0.0, time_step=5.0, manning=0.03,
        sources=[eagre.Coriolis(latitude=35.0)], device=device, precision=precision,
    )  # fmt: skip


def coast(nx: int, ny: int, device: Any, precision: str) -> Model:
    """A beach with an island, and waves of 10 minutes from the west."""
    x, y = np.linspace(0.0, 1.0, nx + 1)[None, :], np.linspace(-1.0, 1.0, ny + 1)[:, None]
    bed = -10.0 + 13.0 * x**2 + 1.5 * y**2 * x + 2.0 * np.exp(-((x - 0.7) ** 2 + (y + 0.1) ** 2) / 0.005)
    times = np.linspace(0.0, 2.0 * FAR, 200_001)
    waves = eagre.Series(times, 0.5 * np.sin(2.0 * np.pi * times / 600.0))
    return eagre.ShallowWater(
        eagre.Grid(nx, ny, 10.0, 10.0), bed, surface_elevation=0.0, manning=0.01, device=device, precision=precision,
        boundaries=eagre.Boundaries(eagre.Absorbing(waves)),
    )  # fmt: skip


def seconds_a_step(model: Model, steps: int) -> list[float]:
    """Of `steps` steps in one call, several times."""
    model.advance(FAR, max_steps=40)
    found = []
    for _ in range(REPEATS):
        before, began = model.steps, time.perf_counter()
        model.advance(FAR, max_steps=steps)
        found.append((time.perf_counter() - began) / (model.steps - before))
    return found


def seconds_a_leg(model: Model, steps: int) -> list[float]:
    """Of a step of legs of `steps` steps, each followed by a sample."""
    points = [(int(j), int(i)) for j, i in zip(np.linspace(3, 400, 29), np.linspace(5, 800, 29), strict=True)]
    found = []
    for _ in range(40):
        began = time.perf_counter()
        model.advance(FAR, max_steps=steps)
        model.sample(["surface_elevation"], points)
        found.append((time.perf_counter() - began) / steps)
    return found[10:]


Timed = Callable[[Model, int], list[float]]
CASES: dict[str, list[tuple[Callable[[Any, str], Model], int, str, Timed]]] = {
    "user": [
        (lambda device, precision: user(8192, device, precision), 40, "single", seconds_a_step),
        (lambda device, precision: user(2048, device, precision), 300, "single", seconds_a_step),
        (lambda device, precision: user(2048, device, precision), 300, "double", seconds_a_step),
        (lambda device, precision: implicit(2048, device, precision), 300, "single", seconds_a_step),
        (lambda device, precision: implicit(2048, device, precision), 200, "double", seconds_a_step),
    ],
    "coast": [
        (lambda device, precision: coast(392, 243, device, precision), 3000, "single", seconds_a_step),
        (lambda device, precision: coast(392, 243, device, precision), 3000, "double", seconds_a_step),
    ],
    "advance": [
        (lambda device, precision: basin((256, 256), device, precision, "rk2"), 4000, "single", seconds_a_step),
        (lambda device, precision: basin((256, 256), device, precision, "rk2"), 4000, "double", seconds_a_step),
    ],
    "leg": [(lambda device, precision: coast(860, 460, device, precision), 14, "single", seconds_a_leg)],
}


def record(case: str, model: Model, device: Any, found: list[float], copy: float, origin: dict[str, Any]) -> Any:
    """Return the measured times as a record with the keys `eagre.laboratory.bench.benchmark.KEYS`."""
    shape, cells, scheme = (
        list(model.grid.shape),
        model.grid.cells,
        "rk2" if model.kind == "shallow-water" else "default",
    )
    assert np.isfinite(model.diagnostics()["volume"])
    return {
        "model": model.kind, "case": case, "variant": scheme, "precision": model.precision,
        "device": machine.device_name(device), "threads": 0, "shape": shape, "steps": model.steps,
        "ms_per_step": 1e3 * median(found), "ms_best": 1e3 * min(found), "cell_steps_per_s": cells / median(found),
        "bytes_per_cell": model.bytes_per_step, "fraction_of_copy": None, "copy_gb_per_s": copy / 1e9,
        "error": f"volume {abs(model.diagnostics()['volume_error']):.1e}", **origin,
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda", help="cuda or cuda:N")
    parser.add_argument("--cases", nargs="+", choices=tuple(CASES), default=list(CASES))
    parser.add_argument("--commit", help="what the records say where there is no git")
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file, or a folder for <device>.json")
    asked = parser.parse_args()
    device = select(asked.device)
    origin, copy = machine.provenance(device, asked.commit), next(iter(machine.copy_speeds(device).values()))
    print(COLUMNS)
    for case in asked.cases:
        for make, steps, precision, timed in CASES[case]:
            model = make(device, precision)
            found = record(case, model, device, timed(model, steps), copy, origin)
            keep(asked.output, found)
            print(f"{case:8} {model.kind:18}", line(found), flush=True)
            del model


if __name__ == "__main__":
    main()
