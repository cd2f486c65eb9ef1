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
Y = {
    "single": [(8, 16, 64), (8, 16, 96), (8, 8, 80), (8, 8, 64), (16, 8, 96), (4, 32, 64), (4, 16, 64)],
    "double": [(8, 16, 128), (8, 12, 128), (8, 12, 80), (6, 16, 64), (4, 24, 80), (8, 8, 128), (4, 16, 128)],
}
X = {
    "single": [(8, 16, 96), (8, 32, 96), (8, 16, 80), (8, 16, 64), (4, 16, 96), (16, 16, 64)],
    "double": [(8, 16, 168), (8, 16, 128), (16, 16, 128), (8, 32, 128), (4, 16, 168), (16, 32, 128)],
}
OVERLAP = {"single": 40, "double": 88}


def basin(n: int, precision: str, device: Any, **options: Any) -> ShallowWaterADI:
    """The seed's benchmark: 100 m cells, 20 s steps, Manning number 32, a hump on 50 m of water."""
    grid = Grid(n, n, 100.0, 100.0)
    x = np.arange(n) - n / 2 + 0.5
    hump = np.exp(-((x * 32 / n) ** 2) / 2)
    return ShallowWaterADI(
        grid, -50.0, 20.0, surface_elevation=hump * hump[:, None], manning=1 / 32, device=device,
        precision=precision, **options,
    )  # fmt: skip


def variants(precision: str) -> list[dict[str, Any]]:
    """Layouts to time; each changes one sweep."""
    found: list[dict[str, Any]] = []
    for rows, threads, registers in Y[precision]:
        found.append({"which": 1, "rows": rows, "threads": threads, "registers": (96, registers)})
    for warps, run, registers in X[precision]:
        found.append({"which": 0, "warps": warps, "run": run, "registers": (registers, 96), "overlap": OVERLAP[precision]})
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
        engine.replan(mode_y=1, **variant)
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
    jobs = [(p, v, options) for p in precisions for v in variants(p)]
    with ProcessPoolExecutor(14) as pool:
        for told in pool.map(prepare, jobs):
            if told:
                print("NOT", told)
    device = select("cuda")
    copy = copy_bandwidth(device)
    print(f"copy {copy / 1e9:.0f} GB/s; {n} x {n}; {options}")
    for precision in precisions:
        engine = basin(n, precision, device, **options)._engine
        floor = 7 * n * n * np.dtype(engine.real).itemsize / copy
        for variant in variants(precision):
            name = " ".join(f"{k}={v}" for k, v in variant.items())
            which = variant.pop("which")
            try:
                engine.replan(mode_y=1, **variant)
                seconds = time_of(engine, which)
                print(f"{precision} {'xy'[which]} {1e6 * seconds:9.1f} us {floor / seconds:5.0%} of copy  {name}", flush=True)
            except Exception as error:
                print(f"{precision} NOT {name}: {type(error).__name__} {str(error)[:200]}", flush=True)


if __name__ == "__main__":
    main()
