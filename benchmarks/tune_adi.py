"""Times of the ADI sweeps on a GPU for many layouts: where the choices of `plan` come from.

``python benchmarks/tune_adi.py 4096 single,double`` prints microseconds a sweep and per cent of the copy.
"""

from __future__ import annotations

import sys
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from eagre.backend.device import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.grid import Grid
from eagre.models.shallow_water_adi.model import ShallowWaterADI

SEED = {"dissipation": "none", "drying": "off"}
# rows of a thread, threads of a column, columns of a block, registers
Y = {"single": [(8, 8, 32, 64), (8, 8, 32, 56)], "double": [(8, 8, 32, 80), (8, 8, 32, 64), (8, 16, 16, 80)]}
# warps of a window, rows of a block, registers, overlap
X = {"single": [(6, 16, 80, 40), (6, 32, 80, 40)], "double": [(9, 16, 112, 80), (9, 32, 112, 80), (8, 16, 112, 80)]}
SMALL_Y = [(3, 16, 32, 64), (4, 64, 8, 64), (8, 32, 8, 128)]
SMALL_X = [(2, 1, 128, 40)]


def basin(n: int, precision: str, device: Any, **options: Any) -> ShallowWaterADI:
    """The seed's benchmark: 100 m cells, 20 s steps, Manning number 32, a hump on 50 m of water."""
    grid = Grid(n, n, 100.0, 100.0)
    x = np.arange(n) - n / 2 + 0.5
    hump = np.exp(-((x * 32 / n) ** 2) / 2)
    return ShallowWaterADI(
        grid, -50.0, 20.0, surface_elevation=hump * hump[:, None], manning=1 / 32, device=device,
        precision=precision, **options,
    )  # fmt: skip


def layouts(y: list[tuple[int, ...]], x: list[tuple[int, ...]], n: int) -> list[dict[str, Any]]:
    """Layouts to time on n x n cells; each changes one sweep."""
    found: list[dict[str, Any]] = []
    for rows, threads, width, registers in y:
        mode = 0 if rows * threads >= n - 1 else 1
        shape = {"rows": rows, "threads": threads, "width": width, "mode_y": mode}
        found.append({"which": 1, "registers": (96, registers), **shape})
    for warps, run, registers, overlap in x:
        found.append({"which": 0, "registers": (registers, 96), "warps": warps, "run": run, "overlap": overlap})
    return found


def prepare(job: tuple[str, dict[str, Any], dict[str, Any]]) -> str:
    """Compile one layout into the cache."""
    precision, variant, options = job
    try:
        device = select("cuda")
        model = basin(256, precision, device, **options)
        engine = model._engine
        variant = dict(variant)
        which = variant.pop("which")
        engine.replan(**{"mode_y": 1, **variant})
        device.run([engine.launches(0, 0)[which]])
        device.synchronize()
        return ""
    except Exception as error:
        return f"{precision} {variant}: {type(error).__name__} {str(error)[:300]}"


def time_of(engine: Any, which: int) -> float:
    """Seconds of one sweep."""
    device = engine.device
    launch = engine.launches(0, 0)[which]
    device.run([launch])
    device.synchronize()
    return min(times_of(device, device.repeated([launch], 10), repeats=4, warm_up=1)) / 10


def main() -> None:
    n = int(sys.argv[1])
    options = SEED if "seed" in sys.argv else {}
    precisions = sys.argv[2].split(",")
    large = {p: layouts(Y[p], X[p], n) for p in precisions}
    small = {p: layouts(SMALL_Y, SMALL_X, 256) for p in precisions}
    jobs = [(p, v, options) for p in precisions for v in large[p] + small[p]]
    with ProcessPoolExecutor(16) as pool:
        for told in pool.map(prepare, jobs):
            if told:
                print("NOT", told)
    device = select("cuda")
    copy = copy_bandwidth(device)
    print(f"copy {copy / 1e9:.0f} GB/s; {n} x {n}; {options}")
    for precision in precisions:
        engine = basin(n, precision, device, **options)._engine
        best = timed(engine, large[precision], copy)
        engine.replan(**best)
        step_of(engine, copy)
        engine = basin(256, precision, device, **options)._engine
        best = timed(engine, small[precision], copy)
        engine.replan(**best)
        step_of(engine, copy)


def timed(engine: Any, layouts: list[dict[str, Any]], copy: float) -> dict[str, Any]:
    """Print the time of each layout; the best of both sweeps, joined."""
    grid = engine.setup.grid
    floor = 7 * grid.cells * np.dtype(engine.real).itemsize / copy
    best: dict[int, tuple[float, dict[str, Any]]] = {}
    for layout in layouts:
        name = " ".join(f"{k}={v}" for k, v in layout.items())
        which = layout.pop("which")
        try:
            engine.replan(**layout)
            seconds = time_of(engine, which)
        except Exception as error:
            print(f"{engine.precision} NOT {name}: {type(error).__name__} {str(error)[:200]}", flush=True)
            continue
        if which not in best or seconds < best[which][0]:
            best[which] = (seconds, layout)
        told = f"{engine.precision} {grid.nx:5} {'xy'[which]} {1e6 * seconds:9.2f} us {floor / seconds:5.0%} of copy"
        print(told, name, flush=True)
    joined = {**best[0][1], **best[1][1]}
    joined["registers"] = (best[0][1]["registers"][0], best[1][1]["registers"][1])
    return joined


def step_of(engine: Any, copy: float) -> None:
    """Print the time of a step in a graph of many."""
    grid, device = engine.setup.grid, engine.device
    engine.run(64, 0.0, 0)
    seconds = min(times_of(device, lambda: engine.run(64, 0.0, 0), repeats=4, warm_up=1)) / 64
    share = 14 * grid.cells * np.dtype(engine.real).itemsize / copy / seconds
    told = f"{engine.precision} {grid.nx} step {1e6 * seconds:.2f} us, {grid.cells / seconds / 1e9:.1f} Gcell-steps/s"
    print(told, f"{share:.0%} of copy; guard {engine.lost():.1e}; {engine.plan}", flush=True)


if __name__ == "__main__":
    main()
