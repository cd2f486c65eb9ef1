"""How fast the implicit model runs here: the seed's benchmark, verified and then timed.

Cells of 100 m, steps of 20 s, Manning number 32, a hump of 1 m on 50 m of water (Courant number 4.4).
Records are those of `eagre.cases.bench`; a cell reads and writes 14 words a step at least.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Sequence
from statistics import median
from typing import Any

import numpy as np

from eagre.backend.device import Device, select
from eagre.backend.timing import times_of
from eagre.errors import EagreError, MemoryNeededError
from eagre.grid import Grid

CASE = "pool"
WORDS = 14
SIZES = {"cpu": (1024,), "cuda": (256, 512, 1024, 2048, 4096, 8192)}
VARIANTS = {"seed": {"dissipation": "none", "drying": "off"}, "default": {}}
LARGEST_DIFFERENCE = {"single": 2e-5, "double": 1e-12}
LARGEST_VOLUME_ERROR = {"single": 1e-5, "double": 1e-12}
COMPARED = (171, 300)


def pool(shape: tuple[int, int], device: str | Device, precision: str, variant: str) -> Any:
    """The model at the start: a hump in the middle, sigma n / 32 cells, water at rest."""
    from eagre.models.shallow_water_adi.model import ShallowWaterADI

    ny, nx = shape
    grid = Grid(nx, ny, 100.0, 100.0)
    x, y = (np.exp(-(((np.arange(n) - n / 2 + 0.5) * 32.0 / n) ** 2) / 2.0) for n in (nx, ny))
    return ShallowWaterADI(
        grid, -50.0, 20.0, surface_elevation=x * y[:, None], manning=1 / 32, device=device, precision=precision,
        **VARIANTS[variant],
    )  # fmt: skip


def bench_adi(
    device: str | Device = "auto",
    precision: str | None = None,
    sizes: Sequence[int] | None = None,
    *,
    variants: Sequence[str] = ("seed", "default"),
    repeats: int = 5,
    seconds: float = 0.05,
    commit: str | None = None,
    compare: bool = True,
) -> list[dict[str, Any]]:
    """Verify and time the implicit model; arguments and records as of `eagre.cases.bench`.

    The variant "seed" is the document's scheme, "default" has dissipation and drying as well. `compare`
    off leaves out the comparison with the CPU, whose programs take long to compile.
    """
    shared = _shared()
    chosen = select(device)
    common = {"commit": commit or shared._commit(), "date": shared._today(), "versions": shared._versions(chosen)}
    copies = {count: shared._copy_speed(chosen, count) for count in shared._thread_counts(chosen)}
    records = []
    for real in (precision,) if precision else ("single", "double"):
        for variant in variants:
            difference = _difference_from_cpu(chosen, real, variant) if compare else math.nan
            for size in sizes or SIZES[chosen.kind]:
                try:
                    model = pool((size, size), chosen, real, variant)
                except MemoryNeededError:
                    if sizes:
                        raise
                    continue
                for threads, copy in copies.items():
                    with shared.threads_limited(chosen, threads):
                        steps, per_step = _time_steps(model, repeats, seconds)
                    told = _verified(model, difference)
                    found = _record(shared, model, variant, threads, copy, steps, per_step)
                    records.append(found | {"error": told} | common)
                del model
                gc.collect()
    return [{key: record[key] for key in shared.KEYS} for record in records]


def _shared() -> Any:
    """The module `eagre.cases.bench`, whose name in the package is its function."""
    from importlib import import_module

    return import_module("eagre.cases.bench")


def _difference_from_cpu(device: Device, precision: str, variant: str) -> float:
    """Largest relative difference of a short run from the same one on the CPU; 0 on the CPU."""
    if device.kind == "cpu":
        return 0.0
    states = []
    for where in (device, "cpu"):
        model = pool(COMPARED, where, precision, variant)
        model.advance(200.0)
        states.append(model.state())
    ours, theirs = states
    worst = max(
        float(np.abs(ours[k].astype(float) - theirs[k]).max() / np.abs(theirs[k]).max()) for k in ("z", "p", "q_after")
    )
    if not worst <= LARGEST_DIFFERENCE[precision]:
        raise EagreError(f"{variant}, {precision}: {device} differs from the CPU by {worst:.2g}")
    return worst


def _verified(model: Any, difference: float) -> str:
    """What was verified after the timed steps, in words."""
    error = abs(model.diagnostics()["volume_error"])
    if not error <= LARGEST_VOLUME_ERROR[model.precision] or model._engine.bad_cell():
        raise EagreError(f"{model.precision}, {model.device}: the volume changed by {error:.2g} of itself")
    if model.device.kind == "cpu":
        return f"volume {error:.1e}"
    compared = "" if math.isnan(difference) else f", against the CPU {difference:.1e}"
    return f"volume {error:.1e}{compared}; coupling left out {model._engine.lost():.1e}"


def _time_steps(model: Any, repeats: int, seconds: float) -> tuple[int, list[float]]:
    """Steps that were timed, and seconds per step of each repeat."""
    engine, device = model._engine, model.device
    batch = 64 if device.kind == "cuda" else 2

    def work() -> None:
        engine.run(batch, 0.0, 0)

    once = min(times_of(device, work, repeats=2, warm_up=1))
    rounds = max(1, math.ceil(seconds / max(once, 1e-7)))

    def many() -> None:
        for _ in range(rounds):
            work()

    taken = times_of(device, many, repeats=repeats, warm_up=1)
    return repeats * rounds * batch, [one / (rounds * batch) for one in taken]


def _record(
    shared: Any, model: Any, variant: str, threads: int, copy: float, steps: int, per_step: Sequence[float]
) -> dict[str, Any]:
    size = np.dtype(model._engine.real).itemsize
    speed = model.grid.cells / median(per_step)
    cached = 7 * size * model.grid.cells < shared.CACHE_BYTES[model.device.kind]
    return {
        "model": model.kind,
        "case": CASE,
        "variant": variant,
        "precision": model.precision,
        "device": shared.device_name(model.device),
        "threads": threads,
        "shape": list(model.grid.shape),
        "steps": steps,
        "ms_per_step": 1e3 * median(per_step),
        "ms_best": 1e3 * min(per_step),
        "cell_steps_per_s": speed,
        "bytes_per_cell": WORDS * size,
        "fraction_of_copy": None if cached else WORDS * size * speed / copy,
        "copy_gb_per_s": copy / 1e9,
    }
