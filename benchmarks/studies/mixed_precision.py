"""Mixed precision of the tridiagonal solver: single-precision solves, residuals in double precision (row F36).

From the root of the repository: ``PYTHONPATH=src python benchmarks/studies/mixed_precision.py``. Prints the error
against the exact answer and the time beside those of a solve in double precision, for systems along the first axis of
(n, lines). Why it does not pay: docs/development/decisions/0014-no-mixed-precision-of-lines.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.solvers.tridiagonal.solve import best_method, launches

REFINEMENTS = 3


@cell
def rounded(j, i, a, b, c, d, a_1, b_1, c_1, d_1):
    """The system in single precision; its right side is the first residual."""
    a_1[j, i], b_1[j, i], c_1[j, i], d_1[j, i] = a[j, i], b[j, i], c[j, i], d[j, i]


@cell
def refined(j, i, a, b, c, d, x, step, out, residual):
    """out = x + step, and what is left of the right side, d - A out, in single precision."""
    own = x[j, i] + step[j, i]
    left = d[j, i] - b[j, i] * own
    if j > 0:
        left -= a[j, i] * (x[j - 1, i] + step[j - 1, i])
    if j < b.shape[0] - 1:
        left -= c[j, i] * (x[j + 1, i] + step[j + 1, i])
    out[j, i] = own
    residual[j, i] = left


@cell
def added(j, i, x, step, out):
    """out = x + step."""
    out[j, i] = x[j, i] + step[j, i]


class Systems:
    """Diagonally dominant systems on a device with a known answer, and both ways to solve them.

    Attributes
    ----------
    answer : (n, lines) array
        The exact x, on the host.
    """

    def __init__(self, device: Any, n: int, lines: int) -> None:
        self.device, self.shape = device, (n, lines)
        rng = np.random.default_rng(1)
        a, c, x = rng.standard_normal((3, *self.shape))
        b = abs(a) + abs(c) + 0.5
        d = b * x
        d[1:] += a[1:] * x[:-1]
        d[:-1] += c[:-1] * x[1:]
        self.answer = x
        self.double = [device.array(array) for array in (a, b, c, d)]
        self.single = [device.zeros(self.shape, np.float32) for _ in range(4)]
        self.step = device.zeros(self.shape, np.float32)
        self.x = [device.zeros(self.shape, np.float64) for _ in range(2)]
        self.nothing = device.zeros(self.shape, np.float64)

    def _solve(self, precision: str, arrays: list[Any], x: Any) -> list[Any]:
        n, lines = self.shape
        method = best_method(self.device, 1, n, lines, x.dtype.itemsize)
        flat = [array.reshape(1, n, lines) for array in arrays]
        return launches(self.device, precision, flat, x.reshape(1, n, lines), method)

    def in_double(self) -> list[Any]:
        """Launches that solve into x[0] in double precision."""
        return self._solve("double", self.double, self.x[0])

    def in_mixed(self, refinements: int) -> list[Any]:
        """Launches that solve into x[0] by a solve in single precision and as many refinements."""
        over, loop = self.device.over, self.device.loop
        made = [over(loop(rounded, "double"), self.shape, (*self.double, *self.single))]
        solve = self._solve("single", self.single, self.step)
        residual = self.single[3]
        x = self.nothing
        for k in range(refinements):
            out = self.x[(refinements - k) % 2]
            made += [*solve, over(loop(refined, "double"), self.shape, (*self.double, x, self.step, out, residual))]
            x = out
        return [*made, *solve, over(loop(added, "double"), self.shape, (x, self.step, self.x[0]))]

    def error(self, made: list[Any]) -> float:
        """Largest error of a run of launches, relative to the largest x."""
        self.device.run(made)
        return float(abs(self.device.host(self.x[0]) - self.answer).max() / abs(self.answer).max())


def main(told: Callable[..., None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 4096])
    asked = parser.parse_args()
    device: Any = select(asked.device)
    told(f"{device.name}: a large copy moves {copy_bandwidth(device) / 1e9:.0f} GB/s")
    for n in asked.sizes:
        systems = Systems(device, n, n)
        ways = {"double": systems.in_double()}
        ways |= {f"single, {k} refinements": systems.in_mixed(k) for k in range(REFINEMENTS)}
        base = 0.0
        for name, made in ways.items():
            error = systems.error(made)
            seconds = float(np.median(times_of(device, device.repeated(made, 1), repeats=7, warm_up=2)))
            base = base or seconds
            told(f"{n:6} {name:24} {1e3 * seconds:9.3f} ms {seconds / base:6.2f} of double   error {error:.1e}")


if __name__ == "__main__":
    main()
