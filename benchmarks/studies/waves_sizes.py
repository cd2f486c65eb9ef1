"""Potential-flow waves on one device: an iteration of 10^6 to 10^9 unknowns, and the largest problem that runs.

    python benchmarks/studies/waves_sizes.py [--device cuda] [--layers 9] [--unknowns 1e6 1e7 1e8 1e9]
        [--preconditioner modes lines] [--precisions single double] [--largest 17 33] [--warm]

An iteration of the Laplace problem under waves over a wavy bed: milliseconds, ps an unknown, the time of each kernel;
the rate of its corrections, from nothing, and what a decade takes with that. `--largest` makes steps of as many
unknowns as the memory holds at once, with so many layers. With --warm kernels are compiled only.
"""

from __future__ import annotations

import argparse
import gc
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import RELAXATION, Vertical
from eagre.models.potential_waves.step import Steps

SPACING = 1.0 / 32.0  # m: 32 points a wave
DEPTH = 0.25  # m, 8 spacings
HILLS = 0.02  # m, of the bed
DECADES = 6  # iterations from nothing, whose last three give the rate
KEPT_FREE = 1.5e9  # bytes of a device that arrays leave


def plane_of(unknowns: float, layers: int) -> tuple[int, int]:
    """Rows and columns, those a multiple of 256 and one more, that make about so many unknowns."""
    points = unknowns / (layers - 1)
    nx = 256 * max(1, round(math.sqrt(4.0 / 3.0 * points) / 256)) + 1
    return 16 * max(1, round(points / nx / 16)) + 1, nx


def problem_of(device: Device, shape: tuple[int, int], vertical: Vertical, precision: str, kind: str) -> LaplaceProblem:
    """Crossing waves over a bed with slopes, in a tank with walls."""
    wave = 2.0 * np.pi * SPACING
    x, y = np.cos(wave * np.arange(shape[1])), np.cos(wave * np.arange(shape[0]))[:, None]
    slow = np.cos(0.25 * wave * np.arange(shape[1])) * np.cos(0.25 * wave * np.arange(shape[0]))[:, None]
    known = ((SPACING, SPACING), vertical, (False, False), device, precision)
    laplace = LaplaceProblem(DEPTH + HILLS * slow, *known, correction="single", preconditioner=kind)
    for field, values in ((laplace.eta, 0.01 * x + 0.0 * y), (laplace.phi, 0.05 * x * y)):
        device.fill(field, values[None])
    return laplace


def milliseconds(device: Device, launches: list[Any], count: int) -> float:
    """Of `launches`, so many times one after the other."""
    return 1e3 * statistics.median(times_of(device, device.repeated(launches, count), repeats=5, warm_up=1)) / count


def name_of(launch: Any) -> str:
    function = getattr(launch.program, "py_func", None)
    return getattr(function, "__name__", "?")


def iteration(device: Device, given: argparse.Namespace, unknowns: float, precision: str, kind: str) -> str:
    """A line of the table."""
    vertical = Vertical(given.layers, given.order)
    shape = plane_of(unknowns, given.layers)
    laplace = problem_of(device, shape, vertical, precision, kind)
    weight, count = (1.0 if kind == "lines" else RELAXATION[given.order]), shape[0] * shape[1] * (given.layers - 1)
    launches, norms = laplace.iteration(weight), []
    laplace.device.run(laplace.start())
    for _ in range(DECADES):
        laplace.go_on()
        device.run(launches)
        norms.append(laplace.norm())
    rate = (norms[-1] / norms[-4]) ** (1.0 / 3.0)
    again = max(1, min(50, round(2e8 / count)))
    whole = milliseconds(device, launches, again)
    parts: dict[str, float] = {}
    for launch in launches:
        parts[name_of(launch)] = parts.get(name_of(launch), 0.0) + 1e3 * milliseconds(device, [launch], again)
    each = ", ".join(f"{name} {value:.0f}" for name, value in parts.items())
    return (
        f"{shape[1]} x {shape[0]} x {given.layers} ({count:.3g}) {precision} {kind}: {whole:.3f} ms,"
        f" {1e9 * whole / count:.1f} ps an unknown; rate {rate:.3f},"
        f" a decade {-whole / math.log10(rate):.2f} ms; us: {each}"
    )


def largest(device: Device, given: argparse.Namespace, layers: int, precision: str) -> str:
    """Steps of as many unknowns as fit, found from what two small problems hold."""
    vertical = Vertical(layers, given.order)
    held: list[float] = []
    for shape in ((257, 257), (1025, 1025)):
        before = device.free_memory()
        steps = Steps(problem_of(device, shape, vertical, precision, "modes"), 9.81, 1e-6)
        held.append((before - device.free_memory()) / (shape[0] * shape[1] * (layers - 1)))
        del steps
        gc.collect()
    unknowns = (device.free_memory() - KEPT_FREE) / held[-1]
    nx = 16384 + 1
    shape = 16 * int(unknowns / (layers - 1) / nx / 16 - 1) + 1, nx
    count, start = shape[0] * shape[1] * (layers - 1), time.perf_counter()
    steps = Steps(problem_of(device, shape, vertical, precision, "modes"), 9.81, 1e-6)
    iterations = [steps.step(0.005)]
    begun, once = time.perf_counter(), time.perf_counter() - start
    iterations.append(steps.step(0.005))
    took, total = time.perf_counter() - begun, 0.0
    field = steps.laplace.eta
    for rows in np.array_split(np.arange(shape[0]), 64):
        total += float((field[0, rows[0] : rows[-1] + 1] ** 2).sum())
    assert math.isfinite(total)
    return (
        f"largest, {layers} layers, {precision}: {shape[1]} x {shape[0]} x {layers}, {count:.4g} unknowns,"
        f" {held[-1]:.1f} bytes each; a step {took:.2f} s, {iterations[-1]} iterations; first step after {once:.1f} s"
    )


def attempted(work: Callable[[], str], device: Device) -> None:
    """Print what it says, or why it did not."""
    try:
        print(work(), flush=True)
    except Exception as error:  # the next size may do
        print(f"not done: {type(error).__name__}: {str(error)[:200]}", flush=True)
    gc.collect()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--layers", type=int, default=9)
    parser.add_argument("--order", type=int, default=6)
    parser.add_argument("--unknowns", type=float, nargs="*", default=[1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9])
    parser.add_argument("--precisions", nargs="*", default=["single", "double"])
    parser.add_argument("--preconditioner", nargs="*", default=["modes"])
    parser.add_argument("--largest", type=int, nargs="*", default=[])
    parser.add_argument("--warm", action="store_true")
    given = parser.parse_args()
    device = select(given.device)
    if not given.warm:
        print(f"{device.name}: copy {copy_bandwidth(device) / 1e12:.2f} TB/s", flush=True)
    for precision in given.precisions:
        for kind in given.preconditioner:
            for unknowns in [2e5] if given.warm else given.unknowns:
                attempted(lambda u=unknowns, p=precision, k=kind: iteration(device, given, u, p, k), device)
        for layers in given.largest:
            if given.warm:
                small = problem_of(device, (257, 257), Vertical(layers, given.order), precision, "modes")
                Steps(small, 9.81, 1e-6).step(0.005)
            else:
                attempted(lambda n=layers, p=precision: largest(device, given, n, p), device)


if __name__ == "__main__":
    main()
