"""Speed of the tridiagonal solvers on a GPU beside cuSPARSE's, verified first.

``PYTHONPATH=src python benchmarks/tridiagonal.py`` prints a table: milliseconds, and per cent of the
copy bandwidth when a, b, c, d are read and x is written once each. ``--json FILE`` writes records.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from eagre.backend.device import select
from eagre.backend.timing import copy_bandwidth, times_of

bench: Any = importlib.import_module("eagre.cases.bench")
driver: Any = importlib.import_module("eagre.solvers.tridiagonal.solve")
REAL = {"single": np.float32, "double": np.float64}


def systems(device: Any, lines: int, n: int, axis: int, real: Any) -> list[Any]:
    """Diagonally dominant systems on the device, (lines, n) or (n, lines)."""
    shape = (lines, n) if axis == 1 else (n, lines)
    rng = np.random.default_rng(1)
    small = [rng.standard_normal((min(shape[0], 64), shape[1])).astype(real) for _ in range(3)]
    a, c, d = (device.array(np.tile(x, (shape[0] // len(x), 1))) for x in small)
    with device.stream:
        b = abs(a) + abs(c) + 0.5
    return [a, b, c, d]


def residual(flat: list[Any], x: Any) -> float:
    """Largest |a x_{i-1} + b x_i + c x_{i+1} - d| over the largest |d|."""
    a, b, c, d = flat
    left = b * x - d
    left[:, 1:] += a[:, 1:] * x[:, :-1]
    left[:, :-1] += c[:, :-1] * x[:, 1:]
    return float(abs(left).max() / abs(d).max())


def gtsv2(device: Any, flat: list[Any], precision: str) -> Any:
    """cuSPARSE's gtsv2StridedBatch for contiguous systems, as a function of no arguments."""
    import cupy
    from cupy_backends.cuda.libs import cusparse

    handle = cusparse.create()
    a, b, c, d = (x.reshape(-1) for x in flat)
    lines, n = flat[1].shape[0], flat[1].shape[1]
    a, c, x = a.copy(), c.copy(), d.copy()
    a.reshape(lines, n)[:, 0] = 0
    c.reshape(lines, n)[:, -1] = 0
    letter = {"single": "s", "double": "d"}[precision]
    pointers = (a.data.ptr, b.data.ptr, c.data.ptr, x.data.ptr, lines, n)
    size = getattr(cusparse, f"{letter}gtsv2StridedBatch_bufferSizeExt")(handle, n, *pointers)
    buffer = cupy.empty((int(size),), cupy.uint8)
    call = getattr(cusparse, f"{letter}gtsv2StridedBatch")

    def go() -> None:
        with device.stream:  # CuPy's calls go to its current stream
            call(handle, n, *pointers, buffer.data.ptr)

    return go, x, d, buffer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[256, 1024, 2048, 4096, 8192])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--tiles", action="store_true", help="try several layouts")
    parser.add_argument("--commit")
    asked = parser.parse_args()
    device: Any = select("cuda")
    copy = copy_bandwidth(device)
    print(f"copy {copy / 1e9:.0f} GB/s")
    records = []
    for precision in ("single", "double"):
        for n in asked.sizes:
            for axis in (1, 0):
                for variant, seconds, error in measured(device, precision, n, axis, asked.tiles):
                    moved = 5 * n * n * np.dtype(REAL[precision]).itemsize
                    print(
                        f"{precision} {n:6} axis {axis} {variant:34} {1e3 * seconds:9.3f} ms "
                        f"{moved / copy / seconds:5.0%} of copy  residual {error:.1e}", flush=True,
                    )  # fmt: skip
                    records.append(record(device, precision, n, axis, variant, seconds, error, copy, asked.commit))
    if asked.json:
        known = json.loads(asked.json.read_text()) if asked.json.exists() else []
        asked.json.write_text(json.dumps(bench.merged(known, records), indent=1) + "\n")


def measured(device: Any, precision: str, n: int, axis: int, tiles: bool) -> Any:
    """(name, seconds, residual) of each method."""
    given = systems(device, n, n, axis, REAL[precision])
    flat = [x.reshape(n, n, 1) if axis == 1 else x.reshape(1, n, n) for x in given]
    layouts: list[tuple[str, dict[str, int]]] = [("partition", {})]
    if tiles and axis == 1:
        layouts += [(f"partition warps={w}", {"TILE_WARPS": w}) for w in (4, 6)]
    if tiles and axis == 0:
        pairs = ((8, 4), (12, 4), (8, 6))
        layouts += [(f"partition rows={r} threads={t}", {"TILE_ROWS": r, "TILE_THREADS": t}) for r, t in pairs]
    for name, numbers in layouts:
        before = {key: getattr(driver, key) for key in numbers}
        try:
            for key, value in numbers.items():
                setattr(driver, key, value)
            x = device.zeros(flat[1].shape, flat[1].dtype)
            run = driver.launches(device, precision, flat, x)
            device.run(run)
            device.synchronize()
            repeats = max(1, 2048 // n)
            seconds = min(times_of(device, device.repeated(run, repeats), repeats=5)) / repeats
            with device.stream:
                yield name, seconds, residual(flat, x)
        except Exception as error:
            print("NOT", precision, n, axis, name, type(error).__name__, str(error)[:300], flush=True)
        for key, value in before.items():
            setattr(driver, key, value)
    if n <= 4096 or axis == 0:
        x = driver._thomas(device, precision, flat)
        seconds = min(times_of(device, lambda: driver._thomas(device, precision, flat), repeats=3))
        with device.stream:
            yield "thomas", seconds, residual(flat, x)
    if axis == 1:
        try:
            go, x, d, _buffer = gtsv2(device, given, precision)
            seconds = min(times_of(device, go, repeats=5))
            with device.stream:
                x[...] = d
            go()
            with device.stream:
                yield "cusparse gtsv2StridedBatch", seconds, residual(flat, x.reshape(flat[1].shape))
        except Exception as error:
            print("NOT cusparse", type(error).__name__, str(error)[:300], flush=True)


def record(
    device: Any, precision: str, n: int, axis: int, variant: str, seconds: float, error: float, copy: float,
    commit: str | None,
) -> dict[str, Any]:  # fmt: skip
    """One measurement in the schema of `eagre.cases.bench`."""
    moved = 5 * np.dtype(REAL[precision]).itemsize
    found = {
        "model": "solver:tridiagonal", "case": f"axis {axis}", "variant": variant, "precision": precision,
        "device": bench.device_name(device), "threads": 0, "shape": [n, n], "steps": 1, "ms_per_step": 1e3 * seconds,
        "ms_best": 1e3 * seconds, "cell_steps_per_s": n * n / seconds, "bytes_per_cell": moved,
        "fraction_of_copy": moved * n * n / copy / seconds if n >= 2048 else None, "copy_gb_per_s": copy / 1e9,
        "error": f"residual {error:.1e}", "commit": commit or bench._commit(), "date": bench._today(),
        "versions": bench._versions(device),
    }  # fmt: skip
    return {key: found[key] for key in bench.KEYS}


if __name__ == "__main__":
    main()
