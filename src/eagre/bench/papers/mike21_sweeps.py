"""Versions of a sweep of Aackermann and Dinesen Pedersen (2012) for comparison with the model, on one core or a GPU.

P. E. Aackermann and P. J. Dinesen Pedersen, BSc thesis IMM-B.Sc.-2012-29, Technical University of Denmark (2012),
chapter 8. GPU versions: S1N (one thread per line, rows stored), S1N2 (the sweep along x with transposes), S14 (mass
rows folded in), rows on the fly, and S24 (one block per line, parallel cyclic reduction, at most 1023 cells per line).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.bench.papers import mike21_sweep_kernels as sweeps
from eagre.cases.mike21 import pool
from eagre.errors import EagreError
from eagre.models.shallow_water_adi.kernels import BEYOND
from eagre.models.shallow_water_adi.memory_layout import layout_of

MAX_DIFFERENCE = {"single": 1e-4, "double": 1e-11}
THREADS = 64
LONGEST_BLOCK = 1023  # cells per line
EXTRA = 8  # cells per row more than rows


class Version(NamedTuple):
    """Kernels of a version, the sweep with transposes ("x", "y" or none), and whether mass rows are folded in."""

    kernels: tuple[Any, ...]
    transposed: str = ""
    folded: bool = False


CPU = {
    "rows stored": Version((sweeps.stored_cpu,)),
    "transposed": Version((sweeps.stored_cpu,), "y"),
    "folded": Version((sweeps.stored_cpu,), "y", folded=True),
    "on the fly": Version((sweeps.on_the_fly_cpu,), "y"),
}
GPU = {
    "S1N": Version((sweeps.build_cuda, sweeps.solve_cuda)),
    "S1N2": Version((sweeps.build_cuda, sweeps.solve_cuda), "x"),
    "S14": Version((sweeps.build_cuda, sweeps.solve_cuda), "x", folded=True),
    "on the fly": Version((sweeps.on_the_fly_cuda,), "x"),
    "S24": Version((sweeps.reduced_cuda,), "y"),
}
"""Versions by name."""


class Sweeps:
    """Arrays and launches of all versions for one model, on n x (n + 8) cells."""

    def __init__(self, device: Device, precision: str, n: int) -> None:
        self.device, self.precision, self.n = device, precision, n
        model = pool((n, n + EXTRA), device, precision, "mike21")
        model.advance((10 if device.target != "simulator" else 1) * model.time_step)  # flow in both directions
        self.engine = engine = model._engine
        self.model_launches = engine.launches(engine.parity, 0)
        self.out = [device.zeros(engine.z[0].shape, engine.real) for _ in range(2)]
        transposed = layout_of((n + EXTRA, n)).shape
        self.transposed = [device.zeros(transposed, engine.real) for _ in range(7)]
        device.fill(self.transposed[1], np.full(transposed, BEYOND, engine.real))
        workers = n + EXTRA if device.kind == "cuda" else 1
        self.system = device.zeros((sweeps.VECTORS, n + EXTRA + 1, workers), engine.real)

    def launches(self, version: Version, which: int, threads: int = THREADS, **switches: Any) -> list[Launch]:
        """Return the launches of a sweep (0 along x, 1 along y) of a version; switches as in ``SOLVED=False``."""
        lines, cells = (self.n, self.n + EXTRA) if which == 0 else (self.n + EXTRA, self.n)
        fields, out, around = self.model_launches[which].arguments[:5], self.out, ([], [])
        along_x = which == 0
        if version.transposed == "xy"[which]:
            rows, columns = self.n, self.n + EXTRA
            into, back = zip(fields, self.transposed[:5], strict=True), zip(self.transposed[5:], out, strict=True)
            around = (
                [self._transpose(a, b, rows, columns) for a, b in into],
                [self._transpose(a, b, columns, rows) for a, b in back],
            )
            fields, out, along_x = self.transposed[:5], self.transposed[5:], not along_x
        switches = {**self.engine.switches, "ALONG_X": along_x, "FOLDED": version.folded, **switches}
        arguments = (*fields, *out, self.system, lines, cells, self.engine.numbers[which])
        kernels = [self.device.program(kernel, self.precision, switches) for kernel in version.kernels]
        if version.kernels[0] is sweeps.reduced_cuda:
            block = 32 * -(-(cells + 1) // 32)
            shape = ((lines,), (block,), 4 * block * np.dtype(self.engine.real).itemsize)
        else:
            shape = ((-(-lines // threads),), (threads,), 0)
        return [*around[0], *(Launch(program, arguments, *shape) for program in kernels), *around[1]]

    def _transpose(self, source: Any, target: Any, rows: int, columns: int) -> Launch:
        kernel = sweeps.transpose_cuda if self.device.kind == "cuda" else sweeps.transpose_cpu
        program = self.device.program(kernel, self.precision, {})
        grid = (-(-(columns + 2) // sweeps.TILE), -(-(rows + 2) // sweeps.TILE))
        return Launch(program, (source, target, rows, columns), grid, (sweeps.TILE, 8))

    def difference(self, version: Version) -> float:
        """Return the maximum difference of surface and flux from the model, relative to the maximum of the model.

        Raises `EagreError` for a difference that is not due to rounding.
        """
        maximum = 0.0
        for which in (0, 1):
            self.device.run([self.model_launches[which]])
            self.device.run(self.launches(version, which))
            for array, expected in zip(self.out, self.model_launches[which].arguments[5:7], strict=True):
                inside = np.s_[1 : self.n + 1, sweeps.PADDING : sweeps.PADDING + self.n + EXTRA]
                a, b = self.device.host(array)[inside].astype(float), self.device.host(expected)[inside].astype(float)
                maximum = max(maximum, float(np.abs(a - b).max() / np.abs(b).max()))
        if not maximum <= MAX_DIFFERENCE[self.precision]:
            names = ", ".join(kernel.__name__ for kernel in version.kernels)
            raise EagreError(f"The sweep of {names} differs from the model by {maximum:.2g} ({self.precision}).")
        return maximum

    def work(self, version: Version | None, times: int = 1, **options: Any) -> Callable[[], None]:
        """Return both sweeps of a version, or of the model, a number of times; options as in `launches`."""
        if version is None:
            return self.device.repeated(self.model_launches, times)
        launches = [launch for which in (0, 1) for launch in self.launches(version, which, **options)]
        return self.device.repeated(launches, times)
