"""From the first version of a sweep in the MIKE 21 thesis to ours: the ranking of its tables, on one core or a GPU.

``PYTHONPATH=src python benchmarks/studies/mike21_sweeps.py --device cuda --sizes 256 2048`` compares every version
with the model and then prints milliseconds of the two sweeps of a step and the gain over the first. The GPU's
versions are the thesis's S1N (a thread a line, rows stored), S1N2 (the sweep along x by transposes), S14 (mass rows
folded in) and S23/S24 (a block a line, parallel cyclic reduction, lines of 1023 cells at most), with rows on the fly
between them.
"""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

import mike21_sweep_kernels as sweeps
import numpy as np

from eagre.backend.device import Device, Launch
from eagre.backend.select import select
from eagre.backend.timing import times_of
from eagre.bench.machine import threads_limited
from eagre.cases.mike21 import pool
from eagre.errors import EagreError
from eagre.models.shallow_water_adi.kernels import BEYOND
from eagre.models.shallow_water_adi.layout import layout_of

LARGEST_DIFFERENCE = {"single": 1e-4, "double": 1e-11}
THREADS = 64
LONGEST_BLOCK = 1023


class Version(NamedTuple):
    """A version: its kernels, the sweep that goes by transposes ("x", "y" or none), whether mass rows are folded in."""

    name: str
    kernels: tuple[Any, ...]
    transposed: str = ""
    folded: bool = False


CPU = (
    Version("rows stored, line by line", (sweeps.stored_cpu,)),
    Version("+ along y by transposes", (sweeps.stored_cpu,), "y"),
    Version("+ mass rows folded in", (sweeps.stored_cpu,), "y", True),
    Version("rows on the fly", (sweeps.marched_cpu,), "y"),
)
GPU = (
    Version("S1N: rows stored, a thread a line", (sweeps.build_cuda, sweeps.solve_cuda)),
    Version("S1N2: + along x by transposes", (sweeps.build_cuda, sweeps.solve_cuda), "x"),
    Version("S14: + mass rows folded in", (sweeps.build_cuda, sweeps.solve_cuda), "x", True),
    Version("rows on the fly, a thread a line", (sweeps.marched_cuda,), "x"),
    Version("S24: a block a line, reduced in parallel", (sweeps.reduced_cuda,), "y"),
)


class Ladder:
    """Arrays and launches of all versions for one model."""

    def __init__(self, device: Device, precision: str, n: int) -> None:
        self.device, self.precision, self.n = device, precision, n
        model = pool((n, n + 8), device, precision, "mike21")
        model.advance((10 if device.target != "simulator" else 1) * model.time_step)  # water moves in both directions
        self.engine = engine = model._engine
        self.ours = engine.launches(engine.parity, 0)
        self.out = [device.zeros(engine.z[0].shape, engine.real) for _ in range(2)]
        turned = layout_of((n + 8, n)).shape
        self.turned = [device.zeros(turned, engine.real) for _ in range(7)]
        device.fill(self.turned[1], np.full(turned, BEYOND, engine.real))
        workers = n + 8 if device.kind == "cuda" else 1
        self.system = device.zeros((sweeps.VECTORS, n + 9, workers), engine.real)

    def launches(self, version: Version, which: int) -> list[Launch]:
        """Launches of a sweep (0 along x, 1 along y) of a version."""
        lines, cells = (self.n, self.n + 8) if which == 0 else (self.n + 8, self.n)
        fields, out, around = self.ours[which].arguments[:5], self.out, ([], [])
        along_x = which == 0
        if version.transposed == "xy"[which]:
            around = (
                [self._transpose(a, b, self.n, self.n + 8) for a, b in zip(fields, self.turned[:5], strict=True)],
                [self._transpose(a, b, self.n + 8, self.n) for a, b in zip(self.turned[5:], out, strict=True)],
            )
            fields, out, along_x = self.turned[:5], self.turned[5:], not along_x
        switches = {**self.engine.switches, "ALONG_X": along_x, "FOLDED": version.folded}
        arguments = (*fields, *out, self.system, lines, cells, self.engine.numbers[which])
        programs = [self.device.program(kernel, self.precision, switches) for kernel in version.kernels]
        if version.kernels[0] is sweeps.reduced_cuda:
            block = 32 * -(-(cells + 1) // 32)
            shape = ((lines,), (block,), 4 * block * np.dtype(self.engine.real).itemsize)
        else:
            shape = ((-(-lines // THREADS),), (THREADS,), 0)
        return [*around[0], *(Launch(program, arguments, *shape) for program in programs), *around[1]]

    def _transpose(self, source: Any, target: Any, rows: int, columns: int) -> Launch:
        kernel = sweeps.transpose_cuda if self.device.kind == "cuda" else sweeps.transpose_cpu
        program = self.device.program(kernel, self.precision, {})
        grid = (-(-(columns + 2) // sweeps.TILE), -(-(rows + 2) // sweeps.TILE))
        return Launch(program, (source, target, rows, columns), grid, (sweeps.TILE, 8))

    def difference(self, version: Version) -> float:
        """Largest difference of the new surface and flux from the model's, relative to the largest; raises if large."""
        worst = 0.0
        for which in (0, 1):
            self.device.run([self.ours[which]])
            self.device.run(self.launches(version, which))
            for mine, theirs in zip(self.out, self.ours[which].arguments[5:7], strict=True):
                inside = np.s_[1 : self.n + 1, sweeps.PADDING : sweeps.PADDING + self.n + 8]
                a, b = self.device.host(mine)[inside].astype(float), self.device.host(theirs)[inside].astype(float)
                worst = max(worst, float(np.abs(a - b).max() / np.abs(b).max()))
        if not worst <= LARGEST_DIFFERENCE[self.precision]:
            raise EagreError(f"{version.name}, {self.precision}: differs from the model by {worst:.2g}")
        return worst

    def work(self, version: Version | None, times: int) -> Any:
        """Both sweeps of a version, or of the model, so many times."""
        launches = self.ours if version is None else [*self.launches(version, 0), *self.launches(version, 1)]
        return self.device.repeated(launches, times)


def shortest(device: Device, works: list[Any], rounds: int = 9) -> list[float]:
    """Shortest seconds of each work; the works take turns, so that a busy machine slows all of them."""
    found = [min(times_of(device, work, repeats=1)) for work in works]
    for _ in range(rounds):
        found = [min(best, *times_of(device, work, 1, 0)) for best, work in zip(found, works, strict=True)]
    return found


def compare(device: Device, precision: str, n: int, timed: bool = True) -> None:
    """Print the table of one size."""
    ladder = Ladder(device, precision, n)
    print(f"{device}, {precision}, {n} x {n + 8}: ms a step, gain, Mcell-steps/s, difference from the model")
    versions: list[Version | None] = []
    for version in GPU if device.kind == "cuda" else CPU:
        if version.kernels[0] is sweeps.reduced_cuda and n + 8 > LONGEST_BLOCK:
            print(f"{version.name:42} lines above {LONGEST_BLOCK} cells do not fit a block")
        else:
            versions.append(version)
    errors = [ladder.difference(version) for version in versions if version] + [0.0]
    names = [version.name for version in versions if version] + ["the model"]
    times = 10 if device.kind == "cuda" else 1
    taken = shortest(device, [ladder.work(one, times) for one in (*versions, None)]) if timed else []
    for k, (name, error) in enumerate(zip(names, errors, strict=True)):
        told = ""
        if timed:
            speed = n * (n + 8) * times / taken[k] / 1e6
            told = f"{1e3 * taken[k] / times:10.3f}{taken[0] / taken[k]:8.1f}{speed:10.0f}"
        print(f"{name:42}{told}  {error:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda; simulator: no times, on tiny grids")
    parser.add_argument("--sizes", nargs="+", type=int, default=[256, 1024])
    parser.add_argument("--precision", choices=("single", "double"), help="else both")
    asked = parser.parse_args()
    timed = asked.device != "simulator"
    if timed:
        device = select(asked.device)
    else:
        from eagre.backend.simulated import SimulatedDevice

        device = SimulatedDevice()
    with threads_limited(device, 1):
        for precision in (asked.precision,) if asked.precision else ("single", "double"):
            for n in asked.sizes:
                compare(device, precision, n, timed)


if __name__ == "__main__":
    main()
