"""Times of the ADI sweeps on a GPU for many layouts: where the choices of `plan` come from.

``python benchmarks/studies/tune_adi.py 4096 double [SAVED.json]`` compiles every layout first, several at once, then
prints a line for each: microseconds of a sweep, per cent of the copy of its seven words a cell, and how far the
surface is off after a few steps from that with the plan's own layout; at last a step with the best of both sweeps.
What was timed is added to the file, from which `plots.py` draws the study of block sizes.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.grid import Grid
from eagre.models.shallow_water_adi.model import ShallowWaterADI

MIKE21 = {"dissipation": "none", "drying": "off"}
STEPS = 16  # of the runs that are compared
CHECKED = 512  # cells a side of those
# warps of a window, rows of a block, registers, whether a row is loaded while the one before is joined
X = {
    "single": [(6, 16, 80, False), (6, 32, 80, False), (7, 16, 72, False), (8, 16, 80, False), (6, 16, 80, True)],
    "double": [(w, 16, 128, False) for w in (4, 5, 7, 8, 12, 16)]
    + [(8, 32, 128, False), (8, 16, 112, False), (10, 16, 96, False), (9, 16, 168, False)]
    + [(12, 16, 168, True), (12, 32, 168, True), (12, 16, 144, True), (8, 16, 128, True), (4, 16, 128, True)],
}
SMALL_X = [(2, 1, 128, False), (2, 2, 128, False), (2, 1, 168, True)]
# rows of a thread, threads of a column, columns of a block, registers, words kept of a row, whether all is asked for
Y = {
    "single": [(8, 8, 32, 64, 4, True), (8, 8, 32, 64, 4, False), (8, 8, 32, 64, 3, True), (8, 8, 16, 64, 4, True)],
    "double": [(10, 10, 32, 96, kinds, ask) for kinds in (3, 4) for ask in (False, True)]
    + [(8, 12, 32, 80, 3, False), (12, 8, 32, 128, 3, False), (8, 12, 16, 80, 3, False), (14, 7, 32, 128, 3, False)],
}
SMALL_Y = [(3, 16, 16, 64, 4, False), (3, 32, 8, 96, 4, False), (4, 64, 4, 96, 4, False), (4, 64, 8, 80, 4, False)]


def basin(n: int, precision: str, device: Any, **options: Any) -> ShallowWaterADI:
    """The MIKE 21 pool: 100 m cells, 20 s steps, Manning number 32, a hump on 50 m of water."""
    grid = Grid(n, n, 100.0, 100.0)
    x = np.arange(n) - n / 2 + 0.5
    hump = np.exp(-((x * 32 / n) ** 2) / 2)
    return ShallowWaterADI(
        grid, -50.0, 20.0, surface_elevation=hump * hump[:, None], manning=1 / 32, device=device,
        precision=precision, **options,
    )  # fmt: skip


def layouts(n: int, precision: str) -> list[tuple[str, dict[str, Any]]]:
    """Layouts to time on n x n cells, as `replan` takes them; each changes one sweep."""
    along_x, along_y = (SMALL_X, SMALL_Y) if n <= 256 else (X[precision], Y[precision])
    other = {"single": (80, 64), "double": (128, 96)}[precision]
    found: list[tuple[str, dict[str, Any]]] = []
    for warps, run, registers, ahead in along_x:
        shape = {"warps": warps, "run": run, "preload": ahead, "registers": (registers, other[1])}
        found.append(("x", shape))
    for rows, threads, width, registers, kinds, ask in along_y:
        shape = {"rows": rows, "threads": threads, "width": width, "kinds": kinds, "prefetch": ask}
        mode = 0 if rows * threads >= n - 1 else 1
        found.append(("y", {**shape, "mode_y": mode, "registers": (other[0], registers)}))
    return found


def prepare(job: tuple[int, str, str, dict[str, Any]]) -> str:
    """Compile one layout into the cache."""
    n, precision, along, layout = job
    try:
        device = select("cuda")
        engine = basin(min(n, CHECKED), precision, device, **MIKE21)._engine
        engine.replan(**layout)
        device.run([engine.launches(0, 0)["xy".index(along)]])
        device.synchronize()
        return ""
    except Exception as error:
        return f"{along} {layout}: {type(error).__name__} {str(error)[:300]}"


def time_of(engine: Any, along: str) -> float:
    """Seconds of one sweep."""
    device = engine.device
    launch = engine.launches(0, 0)["xy".index(along)]
    device.run([launch])
    device.synchronize()
    return min(times_of(device, device.repeated([launch], 10), repeats=3, warm_up=1)) / 10


def outcome(engine: Any, start: dict[str, np.ndarray]) -> np.ndarray:
    """The surface after a few steps."""
    engine.restore(start)
    engine.run(STEPS, 0.0, 0)
    return engine.surface()


def timed(n: int, precision: str, device: Any, copy: float) -> list[dict[str, Any]]:
    """Print and return the time of each layout, then print that of a step with the best of both sweeps."""
    engine = basin(n, precision, device, **MIKE21)._engine
    floor = 7 * n * n * np.dtype(engine.real).itemsize / copy
    small = basin(min(n, CHECKED), precision, device, **MIKE21)._engine
    start = small.state()
    wanted = outcome(small, start)
    best: dict[str, tuple[float, dict[str, Any]]] = {}
    records = []
    for along, layout in layouts(n, precision):
        shape = {**layout, "registers": layout["registers"]["xy".index(along)]}
        name = " ".join(f"{key}={value}" for key, value in shape.items())
        try:
            engine.replan(**layout)
            seconds = time_of(engine, along)
            small.replan(**layout)
            off = abs(outcome(small, start) - wanted).max()
        except Exception as error:
            print(f"{along} NOT {name}: {type(error).__name__} {str(error)[:200]}", flush=True)
            continue
        print(f"{along} {1e6 * seconds:9.2f} us {floor / seconds:5.0%} of copy, off {off:.0e}: {name}", flush=True)
        threads = 32 * shape["warps"] if along == "x" else shape["width"] * shape["threads"]
        times = {"us": round(1e6 * seconds, 2), "share_of_copy": round(floor / seconds, 3)}
        records.append({"sweep": along, "precision": precision, "n": n, **shape, **times, "block": threads})
        if along not in best or seconds < best[along][0]:
            best[along] = (seconds, layout)
    engine.replan(**joined(best["x"][1], best["y"][1]))
    engine.run(64, 0.0, 0)
    seconds = min(times_of(device, lambda: engine.run(64, 0.0, 0), repeats=4, warm_up=1)) / 64
    told = f"step {1e6 * seconds:.2f} us, {n * n / seconds / 1e9:.1f} Gcell-steps/s, {2 * floor / seconds:.0%} of copy"
    print(f"{told}; guard {engine.lost():.1e}; {engine.plan}", flush=True)
    return records


def joined(x: dict[str, Any], y: dict[str, Any]) -> dict[str, Any]:
    """One layout of the best of both sweeps."""
    return {**x, **y, "registers": (x["registers"][0], y["registers"][1])}


def main() -> None:
    n, precision = int(sys.argv[1]), sys.argv[2]
    jobs = [(n, precision, along, layout) for along, layout in layouts(n, precision)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for told in pool.map(prepare, jobs):
            if told:
                print("NOT", told, flush=True)
    device = select("cuda")
    copy = copy_bandwidth(device)
    print(f"copy {copy / 1e9:.0f} GB/s; {n} x {n}, {precision}", flush=True)
    records = timed(n, precision, device, copy)
    if len(sys.argv) > 3:
        path = Path(sys.argv[3])
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        lines = [json.dumps(record) for record in known + records]
        path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
