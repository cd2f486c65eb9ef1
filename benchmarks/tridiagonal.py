"""Speed of the tridiagonal solvers beside cuSPARSE's, and whether `solve` picks the fastest; verified first.

``PYTHONPATH=src python benchmarks/tridiagonal.py`` (on a GPU) prints milliseconds, and per cent of the
copy bandwidth when a, b, c, d are read and x is written once each; keeps the records in ``benchmarks/results``.
``--choice`` times every method for many lengths and numbers of systems, on a GPU or with ``--device
cpu`` on the CPU, and prints where the choice of `solve` is more than 10 % slower than the best one.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from records import RESULTS, keep

from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.laboratory.bench import machine
from eagre.laboratory.bench.benchmark import KEYS
from eagre.solvers.tridiagonal.reduction_cuda import PARALLEL_FROM, fits, reduce_arrays
from eagre.solvers.tridiagonal.solve import best_method, launches

REAL = {"single": np.float32, "double": np.float64}
LENGTHS = (32, 33, 64, 100, 128, 200, 256, 400, 512, 777, 1024, 1500, 2048, 3000, 4096)
SYSTEMS = {"cuda": (1, 32, 512, 4096), "cpu": (1, 32, 512)}
METHODS = {"cuda": ("partition", "cr-pcr", "pcr", "cr", "thomas"), "cpu": ("thomas", "cr-pcr", "cr", "pcr")}


class Systems:
    """Diagonally dominant systems on a device, cut from one array of random numbers."""

    def __init__(self, device: Any, precision: str, words: int) -> None:
        self.device = device
        rng = np.random.default_rng(1)
        block = rng.standard_normal((3, min(words, 2**20))).astype(REAL[precision])
        a, c, d = (device.array(np.tile(x, -(-words // x.size))[:words]) for x in block)
        with device.stream if device.kind == "cuda" else device.joined():
            self.flat = [a, abs(a) + abs(c) + 0.5, c, d]

    def cut(self, lines: int, n: int, axis: int) -> list[Any]:
        """a, b, c, d of shape (outer, n, inner)."""
        shape = (lines, n, 1) if axis == 1 else (1, n, lines)
        return [array[: lines * n].reshape(shape) for array in self.flat]


def residual(flat: list[Any], x: Any) -> float:
    """Largest |a x_{i-1} + b x_i + c x_{i+1} - d| over the largest |d|."""
    a, b, c, d = flat
    left = b * x - d
    left[:, 1:] += a[:, 1:] * x[:, :-1]
    left[:, :-1] += c[:, :-1] * x[:, 1:]
    return float(abs(left).max() / abs(d).max())


def gtsv2(device: Any, flat: list[Any], precision: str) -> tuple[Callable[[], None], Any, Any]:
    """cuSPARSE's gtsv2StridedBatch for contiguous systems: a function of no arguments, x, and what must live on."""
    import cupy
    from cupy_backends.cuda.libs import cusparse

    handle = cusparse.create()
    lines, n = flat[1].shape[:2]
    with device.stream:
        a, b, c, x = (array.reshape(-1).copy() for array in flat)
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

    return go, x, (a, b, c, buffer)


def timed(device: Any, precision: str, flat: list[Any], method: str, worth: float = np.inf) -> tuple[float, float]:
    """Seconds and residual of one method; a method that is slower than `worth` seconds is timed once or twice."""
    x = device.zeros(flat[1].shape, flat[1].dtype)
    if device.kind == "cpu" and method != "thomas":
        found: list[Any] = []
        seconds = min(times_of(device, lambda: found.append(reduce_arrays(*flat, PARALLEL_FROM[method])), 3, 1))
        return seconds, residual(flat, found[-1])
    run = launches(device, precision, flat, x, method)
    device.run(run)
    # As a graph: what the host needs to launch one would decide how many there are, and so what is measured.
    once = min(times_of(device, device.repeated(run, 1), repeats=2, warm_up=1))
    if once < worth:
        repeats = max(1, min(50, int(1e-3 / once)))
        once = min(times_of(device, device.repeated(run, repeats), repeats=4, warm_up=1)) / repeats
    if device.kind == "cpu":
        return once, residual(flat, x)
    with device.stream:
        return once, residual(flat, x)


def choices(device: Any, precisions: list[str]) -> float:
    """Print the time of each method for many sizes; the worst ratio of the choice's time to the best one."""
    worst = 1.0
    for precision in precisions:
        systems = Systems(device, precision, max(LENGTHS) * max(SYSTEMS[device.kind]))
        for axis in (1, 0):
            for n in LENGTHS:
                for lines in SYSTEMS[device.kind]:
                    flat = systems.cut(lines, n, axis)
                    itemsize = flat[1].dtype.itemsize
                    took: dict[str, float] = {}
                    for method in METHODS[device.kind]:
                        if method in PARALLEL_FROM and device.kind == "cuda" and not fits(n, itemsize):
                            continue
                        best = min(took.values(), default=np.inf)
                        took[method], error = timed(device, precision, flat, method, max(30.0 * best, 1e-3))
                        if error > (1e-5 if precision == "single" else 1e-13):
                            print(f"NOT {precision} axis {axis} n {n} x {lines} {method}: residual {error:.1e}")
                    outer, inner = (lines, 1) if axis == 1 else (1, lines)
                    chosen = best_method(device, outer, n, inner, itemsize)
                    ratio = took[chosen] / min(took.values())
                    worst = max(worst, ratio)
                    told = " ".join(f"{1e6 * seconds:.1f}" for seconds in took.values())
                    mark = " SLOW" if ratio > 1.1 else ""
                    print(f"{precision} {axis} {n} {lines}: {told} {chosen} {ratio:.2f}{mark}", flush=True)
    return worst


def measured(device: Any, precision: str, n: int, axis: int) -> Iterator[tuple[str, float, float]]:
    """(name, seconds, residual) of the methods and the peer for n systems of n."""
    flat = Systems(device, precision, n * n).cut(n, n, axis)
    for method in ("partition", "cr-pcr", "thomas"):
        if (method == "thomas" and n > 4096 and axis == 1) or (method == "cr-pcr" and not fits(n, flat[1].itemsize)):
            continue
        yield method, *timed(device, precision, flat, method)
    if axis == 1:
        go, x, _kept = gtsv2(device, flat, precision)
        go()
        with device.stream:
            error = residual(flat, x.reshape(flat[1].shape))
        yield "cusparse gtsv2StridedBatch", min(times_of(device, go, repeats=5)), error


def record(
    device: Any, precision: str, n: int, axis: int, variant: str, seconds: float, error: float, copy: float,
    commit: str | None,
) -> dict[str, Any]:  # fmt: skip
    """One measurement in the schema of `eagre.laboratory.bench.benchmark`."""
    moved = 5 * np.dtype(REAL[precision]).itemsize
    found = {
        "model": "solver:tridiagonal", "case": f"axis {axis}", "variant": variant, "precision": precision,
        "device": machine.device_name(device), "threads": 0, "shape": [n, n], "steps": 1, "ms_per_step": 1e3 * seconds,
        "ms_best": 1e3 * seconds, "cell_steps_per_s": n * n / seconds, "bytes_per_cell": moved,
        "fraction_of_copy": moved * n * n / copy / seconds if n >= 2048 else None, "copy_gb_per_s": copy / 1e9,
        "error": f"residual {error:.1e}",
    } | machine.provenance(device, commit)  # fmt: skip
    return {key: found[key] for key in KEYS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", nargs="+", default=["single", "double"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[256, 1024, 2048, 4096, 8192])
    parser.add_argument("--output", type=Path, default=RESULTS, help="JSON file, or a folder for <device>.json")
    parser.add_argument("--choice", action="store_true", help="time every method and judge the automatic choice")
    parser.add_argument("--commit")
    asked = parser.parse_args()
    device: Any = select(asked.device)
    if asked.choice:
        print("microseconds of", ", ".join(METHODS[device.kind]), "; the choice; its time over the best")
        print(f"worst {choices(device, asked.precision):.2f}")
        return
    copy = copy_bandwidth(device)
    print(f"copy {copy / 1e9:.0f} GB/s")
    for precision in asked.precision:
        for n in asked.sizes:
            for axis in (1, 0):
                for variant, seconds, error in measured(device, precision, n, axis):
                    share = 5 * n * n * np.dtype(REAL[precision]).itemsize / copy / seconds
                    print(
                        f"{precision} {n:6} axis {axis} {variant:28} {1e3 * seconds:9.3f} ms {share:5.0%} of copy  "
                        f"residual {error:.1e}", flush=True,
                    )  # fmt: skip
                    found = record(device, precision, n, axis, variant, seconds, error, copy, asked.commit)
                    keep(asked.output, found)


if __name__ == "__main__":
    main()
