"""Times of the ADI sweeps on a GPU for many layouts: where the choices of `plan` come from.

``python benchmarks/tune_adi.py scan.json`` compiles every layout first, several at once, then prints a line for
each: microseconds of a sweep, per cent of the copy of its seven words a cell, and the largest difference of a run
with it from one with the first layout of that size. The file lists sizes:

    [{"n": 4096, "precision": "double", "x": [{"warps": 9, "run": 16}], "y": [{"rows": 8, "threads": 12}]}]

``python benchmarks/tune_adi.py scan.json once`` launches each sweep once, for a profiler.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.device import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.grid import Grid
from eagre.models.shallow_water_adi.model import ShallowWaterADI

SEED = {"dissipation": "none", "drying": "off"}
STEPS = 16  # of the runs that are compared


def basin(n: int, precision: str, device: Any, **options: Any) -> ShallowWaterADI:
    """The seed's benchmark: 100 m cells, 20 s steps, Manning number 32, a hump on 50 m of water."""
    grid = Grid(n, n, 100.0, 100.0)
    x = np.arange(n) - n / 2 + 0.5
    hump = np.exp(-((x * 32 / n) ** 2) / 2)
    return ShallowWaterADI(
        grid, -50.0, 20.0, surface_elevation=hump * hump[:, None], manning=1 / 32, device=device,
        precision=precision, **options,
    )  # fmt: skip


def layouts(size: dict[str, Any], along: str) -> list[dict[str, Any]]:
    """Layouts of one sweep of a size, as `replan` takes them."""
    found = []
    for layout in size.get(along, []):
        layout = dict(layout)
        pair = [112, 80] if size["precision"] == "double" else [80, 64]
        pair["xy".index(along)] = layout.pop("registers", pair["xy".index(along)])
        found.append({**layout, "registers": tuple(pair)})
    return found


def default_of(size: dict[str, Any]) -> dict[str, Any]:
    """The layout whose other sweep goes with every one of a size."""
    return {"registers": (112, 80) if size["precision"] == "double" else (80, 64)}


import eagre.models.shallow_water_adi.engine as engine_module
import old_sweep_x
NEW_X = engine_module.sweep_cuda_x.sweep_x_cuda
def replan(engine, layout):
    layout = dict(layout)
    old = layout.pop("old", False)
    engine_module.sweep_cuda_x.sweep_x_cuda = old_sweep_x.sweep_x_cuda if old else NEW_X
    engine.replan(**layout)


def prepare(job: tuple[dict[str, Any], str, dict[str, Any]]) -> str:
    """Compile one layout into the cache."""
    size, along, layout = job
    try:
        device = select("cuda")
        engine = basin(min(size["n"], 512), size["precision"], device, **size.get("options", SEED))._engine
        replan(engine, layout)
        device.run([engine.launches(0, 0)["xy".index(along)]])
        device.synchronize()
        return ""
    except Exception as error:
        return f"{size['n']} {along} {layout}: {type(error).__name__} {str(error)[:300]}"


def time_of(engine: Any, which: int) -> float:
    """Seconds of one sweep."""
    device = engine.device
    launch = engine.launches(0, 0)[which]
    device.run([launch])
    device.synchronize()
    return min(times_of(device, device.repeated([launch], 10), repeats=3, warm_up=1)) / 10


def outcome(engine: Any) -> np.ndarray:
    """The surface after a few steps from the start."""
    state = engine.start
    engine.restore(state)
    engine.run(STEPS, 0.0, 0)
    return engine.surface()


def timed(size: dict[str, Any], device: Any, copy: float) -> None:
    """Print the time of each layout, then that of a step with the best of both."""
    n, precision = size["n"], size["precision"]
    engine = basin(n, precision, device, **size.get("options", SEED))._engine
    floor = 7 * n * n * np.dtype(engine.real).itemsize / copy
    small = basin(min(n, 512), precision, device, **size.get("options", SEED))._engine
    small.start = small.state()
    replan(small, default_of(size))
    wanted = outcome(small)
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    for along in "xy":
        for layout in layouts(size, along):
            name = " ".join(f"{k}={v}" for k, v in layout.items() if k != "registers")
            name += f" regs={layout['registers']['xy'.index(along)]}"
            try:
                replan(engine, layout)
                seconds = time_of(engine, "xy".index(along))
                replan(small, layout)
                off = abs(outcome(small) - wanted).max()
            except Exception as error:
                print(f"{precision} {n} NOT {along} {name}: {type(error).__name__} {str(error)[:200]}", flush=True)
                continue
            if layout.get("old"):
                pass
            elif along not in best or seconds < best[along][0]:
                best[along] = (seconds, layout)
            told = f"{precision[0]} {n:5} {along} {1e6 * seconds:8.2f} us {floor / seconds:5.1%} off {off:.0e}"
            print(told, name, flush=True)
    joined = {**best["x"][1], **best["y"][1]}
    joined["registers"] = (best["x"][1]["registers"][0], best["y"][1]["registers"][1])
    replan(engine, joined)
    engine.run(64, 0.0, 0)
    seconds = min(times_of(device, lambda: engine.run(64, 0.0, 0), repeats=3, warm_up=1)) / 64
    rate = f"{1e6 * seconds:.2f} us, {n * n / seconds / 1e9:.2f} Gcell-steps/s, {2 * floor / seconds:.1%}"
    print(f"{precision} {n} STEP {rate}; guard {engine.lost():.1e}", flush=True)
    print(engine.plan, flush=True)


def main() -> None:
    """Time what the file lists."""
    sizes = json.loads(Path(sys.argv[1]).read_text())
    device = None
    if "once" in sys.argv:
        device = select("cuda")
        for size in sizes:
            engine = basin(size["n"], size["precision"], device, **size.get("options", SEED))._engine
            for along in "xy":
                for layout in layouts(size, along):
                    replan(engine, layout)
                    device.run([engine.launches(0, 0)["xy".index(along)]])
        device.synchronize()
        return
    jobs = [(size, along, layout) for size in sizes for along in "xy" for layout in layouts(size, along)]
    jobs = [(size, along, default_of(size)) for size in sizes for along in "xy"] + jobs
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for told in pool.map(prepare, jobs):
            if told:
                print("NOT", told, flush=True)
    while os.path.exists(f"/proc/{os.environ.get('WAIT_FOR', 'none')}"):
        time.sleep(0.2)
    print(time.strftime("%T"), flush=True)
    device = select("cuda")
    copy = copy_bandwidth(device)
    print(f"copy {copy / 1e9:.0f} GB/s", flush=True)
    for size in sizes:
        try:
            timed(size, device, copy)
        except Exception as error:
            print("NOT", size["n"], type(error).__name__, str(error)[:300], flush=True)


if __name__ == "__main__":
    main()
