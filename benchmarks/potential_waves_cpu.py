"""Seconds of a step of potential-flow waves on one core, and the error of w~ that its solutions have.

    NUMBA_NUM_THREADS=1 python benchmarks/potential_waves_cpu.py [plain]

The cases have the sizes of the peer's (OceanWave3D in Fortran, one core: 0.278 s, 0.65 s, 2.00 s a step): Whalin's
shoal, 257 x 17 columns of 7 layers, Berkhoff's, 257 x 129 of 5, and a standing wave, 129 x 129 of 9.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from eagre.backend.select import select
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.step import Steps

GRAVITY = 9.82
CASES = {  # points along y and x, layers, order, period s, wave height m, depth at the ends m, length and breadth m
    "whalin": ((17, 257), 7, 6, 2.0, 0.0150, (0.4572, 0.1524), (35.0, 3.048)),
    "berkhoff": ((129, 257), 5, 4, 1.0, 0.0464, (0.45, 0.20), (25.0, 20.0)),
    "standing": ((129, 129), 9, 6, 1.13409, 0.0893, (2.0, 2.0), (2.0, 2.0)),
}


def wave_number(period: float, depth: float) -> float:
    """Of a linear wave, 1/m."""
    omega2 = (2.0 * np.pi / period) ** 2
    k = omega2 / GRAVITY
    for _ in range(50):
        k = 0.5 * (k + omega2 / (GRAVITY * np.tanh(k * depth)))
    return k


def started(name: str, precision: str, **more: Any) -> tuple[LaplaceProblem, float, float]:
    """The problem of a case under a wave, its time step and the height of the wave."""
    (ny, nx), nz, order, period, height, (deep, shallow), (length, breadth) = CASES[name]
    dx, dy = length / (nx - 1), breadth / (ny - 1)
    x, y = np.meshgrid(dx * np.arange(nx), dy * np.arange(ny))
    along = np.clip((x / length - 0.25) / 0.5, 0.0, 1.0)
    h = deep + (shallow - deep) * along**2 * (3.0 - 2.0 * along)
    h *= 1.0 - (0.1 * np.cos(2.0 * np.pi * y / breadth) * np.sin(np.pi * along) if deep > shallow else 0.0)
    k, omega = wave_number(period, deep), 2.0 * np.pi / period
    if name == "standing":
        eta, phi = 0.5 * height * np.cos(np.pi * x) * np.cos(np.pi * y), np.zeros_like(x)
    else:
        inside = np.sin(np.pi * x / length) ** 2
        eta = 0.5 * height * inside * np.cos(k * x)
        phi = 0.5 * height * inside * GRAVITY / omega * np.sin(k * x)
    problem = LaplaceProblem(h, (dy, dx), Vertical(nz, order), (False, False), select("cpu"), precision, **more)
    problem.device.fill(problem.fields, np.stack([eta, phi]))
    return problem, period / 50.0, height


def measure(name: str, precision: str, correction: str, warm: int, timed: int, **more: Any) -> None:
    """Print the median and the best of some steps, iterations a solution, and the error of w~ at the end."""
    problem, dt, height = started(name, precision, correction=correction, **more)
    small = 1e-6 * height * np.sqrt(GRAVITY * height)
    steps, seconds, iterations = Steps(problem, GRAVITY, small), [], 0
    for _ in range(warm):
        steps.step(dt)
    for _ in range(timed):
        begin = time.perf_counter()
        iterations += steps.step(dt)
        seconds.append(time.perf_counter() - begin)
    problem.solve(small)
    w = problem.device.host(problem.w)
    problem.solve(1e-4 * small if precision == "double" else small)
    error = np.sqrt(np.mean((w - problem.device.host(problem.w)) ** 2)) / np.abs(w).max()
    unknowns = (problem.vertical.nz - 1) * problem.shape[0] * problem.shape[1]
    one = float(np.median(seconds))
    each = 1e9 * one * timed / iterations / unknowns
    times = f"{one:7.4f} s/step, best {min(seconds):7.4f}  {each:6.1f} ns/unknown/iteration"
    counts = f"{unknowns:7d} unknowns  {iterations / timed / 4:4.1f} iterations/solution"
    print(f"{name:9} {precision:6} {correction:6} {counts}  {times}  error of w~ {error:.1e}", flush=True)


def main() -> None:
    plain = "plain" in sys.argv[1:]
    for name in CASES:
        for precision, correction in (("single", "single"), ("double", "single"), ("double", "double")):
            measure(name, precision, correction, *((1, 2) if plain else (4, 9)), plain=plain)


if __name__ == "__main__":
    main()
