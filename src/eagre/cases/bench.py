"""How fast a model runs here: the answer is verified first, then the steps are timed.

Records have the keys of `KEYS`. Speeds are held against the bandwidth of a large copy that is
measured in the same call, on the same device and with as many threads.
"""

from __future__ import annotations

import gc
import math
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from eagre.backend.device import Device, select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.errors import EagreError, InputError, MemoryNeededError
from eagre.grid import Grid

IDENTITY = ("model", "case", "variant", "precision", "device", "threads", "shape")
"""Keys that tell two measurements of the same thing."""
KEYS = (
    *IDENTITY,
    *("steps", "ms_per_step", "ms_best", "cell_steps_per_s", "bytes_per_cell", "fraction_of_copy", "copy_gb_per_s"),
    *("error", "commit", "date", "versions"),
)
CASE = "wet-basin"
SIZES = {"cpu": (1024,), "cuda": (256, 1024, 2048, 8192)}
CACHE_BYTES = {"cpu": 32e6, "cuda": 60e6}  # what fits in here is not held against the copy
WORDS = {"rk2": 17, "euler": 7}  # a cell must read and write in a step: 3 + 1 + 3, and 3 + 1 + 3 + 3
LARGEST_VOLUME_ERROR = {"single": 2e-5, "double": 1e-12}  # in the first 10,000 steps; in proportion after
LARGEST_DIFFERENCE = {"single": 2e-5, "double": 1e-11}  # CUDA against the CPU, relative
COMPARED_SHAPE, COMPARED_TIME = (171, 200), 10.0
PACKAGES = ("eagre", "numpy", "numba", "llvmlite", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")


def bench(
    kind: str,
    device: str | Device = "auto",
    precision: str | None = None,
    sizes: Sequence[int] | None = None,
    *,
    variants: Sequence[str] | None = None,
    repeats: int = 5,
    seconds: float = 0.05,
    commit: str | None = None,
) -> list[dict[str, Any]]:
    """Verify and time a model on a wet basin with friction, N x N cells between walls.

    Parameters
    ----------
    kind : str
        ``"shallow-water"``, ``"shallow-water-adi"`` or ``"barotropic"`` (the document's double gyre).
    device : str or Device
    precision : {"single", "double"}, optional
        Else both.
    sizes : sequence of int, optional
        N; else 256, 1024, 2048 and 8192 as far as they fit on a GPU, 1024 on a CPU.
    variants : sequence of str, optional
        ``"rk2"``, ``"euler"``; ``"seed"``, ``"default"`` for "barotropic"; else all.
    repeats : int
        Timings, of which the median and the best are kept.
    seconds : float, s
        Least length of one timing.
    commit : str, optional
        Else what git says of the source.

    Returns
    -------
    list of dict
        With the keys `KEYS`; on a CPU for one thread and for all.

    Raises
    ------
    InputError
        For a model without a benchmark.
    EagreError
        If water was lost, or CUDA and CPU disagree.
    """
    if kind == "shallow-water-adi":
        from eagre.cases.bench_adi import bench_adi

        return bench_adi(device, precision, sizes, repeats=repeats, seconds=seconds, commit=commit)
    if kind not in ("shallow-water", "barotropic"):
        raise InputError(f"the model {kind!r}", allowed='"shallow-water", "shallow-water-adi", "barotropic"')
    chosen = select(device)
    common = {"commit": commit or _commit(), "date": _today(), "versions": _versions(chosen)}
    records = []
    if kind == "barotropic":
        from eagre.cases import bench_barotropic

        copies = {count: _copy_speed(chosen, count) for count in _thread_counts(chosen)}
        for real in (precision,) if precision else ("single", "double"):
            options = (tuple(variants or bench_barotropic.VARIANTS), copies, repeats, seconds)
            records += [record | common for record in bench_barotropic.measure(chosen, real, sizes, *options)]
        return [{key: record[key] for key in KEYS} for record in records]
    variants = variants or ("rk2", "euler")
    copies = {count: _copy_speed(chosen, count) for count in _thread_counts(chosen)}
    for real in (precision,) if precision else ("single", "double"):
        for variant in variants:
            difference = _difference_from_cpu(chosen, real, variant)
            for size in sizes or SIZES[chosen.kind]:
                try:
                    model = _basin((size, size), chosen, real, variant)
                except MemoryNeededError:
                    if sizes:
                        raise
                    continue
                for threads, copy in copies.items():
                    with threads_limited(chosen, threads):
                        steps, per_step = _time_steps(model, repeats, seconds)
                    told = _verified(model, difference)
                    records.append(_record(model, variant, threads, copy, steps, per_step) | {"error": told} | common)
                del model
                gc.collect()
    return [{key: record[key] for key in KEYS} for record in records]


def merged(known: Iterable[Mapping[str, Any]], new: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Records of both; a new one replaces an old one with the same `IDENTITY`."""

    def identity(record: Mapping[str, Any]) -> str:
        return repr([list(value) if isinstance(value, tuple) else value for value in map(record.get, IDENTITY)])

    return list({identity(record): dict(record) for record in [*known, *new]}.values())


def resident_words(model: Any) -> float:
    """Words of the model's precision a cell that its arrays occupy on the device."""
    found: dict[int, int] = {}

    def count(value: Any) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                count(item)
        elif not isinstance(value, (type, np.generic)) and hasattr(value, "nbytes"):
            base = getattr(value, "base", None)  # of a view
            whole = value if base is None else base
            found[id(whole)] = int(whole.nbytes)

    for value in vars(model._engine).values():
        count(value)
    return sum(found.values()) / model.grid.cells / np.dtype(model._engine.real).itemsize


# -- the case -------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _initial(shape: tuple[int, int]) -> tuple[Grid, np.ndarray, np.ndarray]:
    """Grid, bed at the corners and surface: a hump of water over a varying bed, wet everywhere."""
    ny, nx = shape
    grid = Grid(nx, ny, 1.0, 1.0)
    x, y, x_corner, y_corner = grid.x, grid.y[:, None], grid.x_corner, grid.y_corner[:, None]
    bed = 0.1 * np.sin(7.0 * x_corner / nx) * np.cos(5.0 * y_corner / ny)
    hump = 0.2 * np.exp(-(((x - nx / 2) / (nx / 4)) ** 2)) * np.exp(-(((y - ny / 2) / (ny / 4)) ** 2))
    return grid, bed, 1.0 + hump + 1e-3 * np.sin(x) * np.cos(y)


def _basin(shape: tuple[int, int], device: str | Device, precision: str, scheme: str) -> Any:
    from eagre.models.shallow_water.model import ShallowWater

    grid, bed, surface = _initial(shape)
    return ShallowWater(
        grid, bed, surface_elevation=surface, manning=0.03, device=device, precision=precision, scheme=scheme
    )


# -- verification ---------------------------------------------------------------------------------


def _difference_from_cpu(device: Device, precision: str, scheme: str) -> float:
    """Largest relative difference of a short run from the same one on the CPU; 0 on the CPU."""
    if device.kind == "cpu":
        return 0.0
    ours, theirs = (_basin(COMPARED_SHAPE, where, precision, scheme) for where in (device, "cpu"))
    worst = 0.0
    for model in (ours, theirs):
        model.advance(COMPARED_TIME)
    for names in (("depth",), ("discharge_x", "discharge_y")):
        expected = np.stack([theirs.field(name).astype(np.float64) for name in names])
        found = np.stack([ours.field(name).astype(np.float64) for name in names])
        worst = max(worst, float(np.abs(found - expected).max() / np.abs(expected).max()))
    if not worst <= LARGEST_DIFFERENCE[precision]:
        raise EagreError(f"{scheme}, {precision}: {device} differs from the CPU by {worst:.2g}")
    return worst


def _verified(model: Any, difference: float) -> str:
    """What was verified after the timed steps, in words."""
    error = abs(model.diagnostics()["volume_error"])
    if not error <= LARGEST_VOLUME_ERROR[model.precision] * max(1.0, model.steps / 10_000):
        raise EagreError(f"{model.precision}, {model.device}: the volume changed by {error:.2g} of itself")
    compared = "" if model.device.kind == "cpu" else f", against the CPU {difference:.1e}"
    return f"volume {error:.1e}{compared}; {resident_words(model):.1f} words a cell"


# -- timing ---------------------------------------------------------------------------------------


def _time_steps(model: Any, repeats: int, seconds: float) -> tuple[int, list[float]]:
    """Steps that were timed, and seconds per step of each repeat."""
    engine, device = model._engine, model.device
    engine.start(1e9, 2**50)
    engine.round()
    once = min(times_of(device, engine.round, repeats=2, warm_up=1))
    rounds = max(1, math.ceil(seconds / max(once, 1e-7)))

    def work() -> None:
        for _ in range(rounds):
            engine.round()

    per_step, total = [], 0
    for repeat in range(repeats):
        warm_up = 1 if repeat == 0 and device.kind == "cuda" else 0
        for _ in range(warm_up):
            work()
        device.synchronize()
        before = model.steps
        taken = times_of(device, work, repeats=1, warm_up=0)[0]
        made = model.steps - before
        if made < 1:
            raise EagreError(f"{model.device}: no step was made in {rounds} rounds")
        per_step.append(taken / made)
        total += made
    return total, per_step


def _record(
    model: Any, variant: str, threads: int, copy: float, steps: int, per_step: Sequence[float]
) -> dict[str, Any]:
    size = np.dtype(model._engine.real).itemsize
    speed = model.grid.cells / median(per_step)
    moved = WORDS[variant] * size
    cached = resident_words(model) * size * model.grid.cells < CACHE_BYTES[model.device.kind]
    return {
        "model": model.kind,
        "case": CASE,
        "variant": variant,
        "precision": model.precision,
        "device": device_name(model.device),
        "threads": threads,
        "shape": list(model.grid.shape),
        "steps": steps,
        "ms_per_step": 1e3 * median(per_step),
        "ms_best": 1e3 * min(per_step),
        "cell_steps_per_s": speed,
        "bytes_per_cell": moved,
        "fraction_of_copy": None if cached else moved * speed / copy,
        "copy_gb_per_s": copy / 1e9,
    }


def _copy_speed(device: Device, threads: int) -> float:
    with threads_limited(device, threads):
        return copy_bandwidth(device)


def _thread_counts(device: Device) -> list[int]:
    """Thread counts to measure: one and all on a CPU; 0 where threads are not counted."""
    if device.kind != "cpu":
        return [0]
    from eagre.backend.cpu import threads

    return sorted({1, threads()})


@contextmanager
def threads_limited(device: Device, count: int) -> Iterator[None]:
    """Let the CPU use `count` threads for a while."""
    if device.kind != "cpu":
        yield
        return
    from eagre.backend.cpu import set_threads, threads

    before = threads()
    set_threads(count)
    try:
        yield
    finally:
        set_threads(before)


# -- where and when -------------------------------------------------------------------------------


def device_name(device: Device) -> str:
    """Name of the chip: "NVIDIA H200", or the processor."""
    if device.kind == "cuda":
        return re.sub(r"^cuda:\d+ \((.*)\)$", r"\1", device.name)
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1).strip() if found else platform.processor() or platform.machine()


def _versions(device: Device) -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    driver = Path("/proc/driver/nvidia/version")
    if device.kind == "cuda" and driver.exists():
        found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", driver.read_text())
        versions["driver"] = found.group(1) if found else "unknown"
    return versions


def _commit() -> str:
    """Short hash of the source's commit, with "-dirty" where files differ from it."""
    folder = Path(__file__).resolve().parent
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
