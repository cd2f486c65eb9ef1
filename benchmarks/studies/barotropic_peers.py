"""The step of Bleichrodt (2011) as a straight port to an array library, for scale: SciPy on a CPU, CuPy on a GPU.

From the root of the repository: ``PYTHONPATH=src python benchmarks/studies/barotropic_peers.py cpu 1025``.
Slices for the differences, library transforms along both axes, nothing fused; psi is compared with Eagre's.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from eagre.backend.device import array_module
from eagre.laboratory.cases.gyres import double_gyre

ALPHA = BETA = 1.36e5
REYNOLDS, DT = 20.83, 1e-7


def sine(x: Any, axis: int, inverse: bool) -> Any:
    """The library's sine transform, or one of doubled length where it has none."""
    module = array_module(x)
    if module is np:
        import scipy.fft

        return (scipy.fft.idst if inverse else scipy.fft.dst)(x, type=1, axis=axis)
    x = module.moveaxis(x, axis, -1)
    n = x.shape[-1]
    zero = module.zeros((*x.shape[:-1], 1), x.dtype)
    whole = module.concatenate([zero, x, zero, -x[..., ::-1]], axis=-1)
    result = -module.fft.rfft(whole, axis=-1).imag[..., 1 : n + 1]
    return module.moveaxis((result / whole.shape[-1] if inverse else result).astype(x.dtype), -1, axis)


class Port:
    """psi, zeta and the old tendency in arrays of one library."""

    def __init__(self, module: Any, points: int, dtype: Any) -> None:
        n = points - 1
        self.h = np.pi / n
        y = module.asarray(self.h * np.arange(1, n), dtype=dtype)
        self.curl = (-ALPHA * module.sin(2 * y))[:, None].astype(dtype)
        symbol = (2.0 / self.h * np.sin(0.5 * np.pi * np.arange(1, n) / n)) ** 2
        self.factor = module.asarray(-1.0 / (symbol[:, None] + symbol), dtype=dtype)
        self.psi, self.zeta = (module.zeros((points, points), dtype) for _ in range(2))
        self.old = None

    def step(self) -> None:
        """AB2 with the advective Jacobian."""
        p, z, h = self.psi, self.zeta, self.h
        west, east = (slice(1, -1), slice(0, -2)), (slice(1, -1), slice(2, None))
        south, north = (slice(0, -2), slice(1, -1)), (slice(2, None), slice(1, -1))
        inner = (slice(1, -1), slice(1, -1))
        px, py = (p[east] - p[west]) / (2 * h), (p[north] - p[south]) / (2 * h)
        zx, zy = (z[east] - z[west]) / (2 * h), (z[north] - z[south]) / (2 * h)
        f = py * zx - px * (zy + BETA) + (z[east] + z[west] + z[north] + z[south] - 4 * z[inner]) / (h * h * REYNOLDS)
        f += self.curl
        z[inner] += DT * f if self.old is None else DT * (1.5 * f - 0.5 * self.old)
        self.old = f
        x = sine(sine(z[inner], 1, False), 0, False) * self.factor
        p[inner] = sine(sine(x, 1, True), 0, True)


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if device == "cpu":
        module: Any = np
    else:
        import cupy

        module = cupy
    for points in [int(word) for word in sys.argv[2:]] or [257, 1025]:
        for precision, dtype in (("single", np.float32), ("double", np.float64)):
            port = Port(module, points, dtype)
            for _ in range(6):
                port.step()
            ours = double_gyre(points, "cpu", precision, "bleichrodt2011")
            ours.advance(6 * DT)
            expected = ours.field("streamfunction").astype(np.float64)
            psi = port.psi if module is np else module.asnumpy(port.psi)
            apart = np.linalg.norm(psi - expected) / np.linalg.norm(expected)
            times = []
            for _ in range(5):
                start = time.perf_counter()
                for _ in range(4):
                    port.step()
                if module is not np:
                    module.cuda.get_current_stream().synchronize()
                times.append((time.perf_counter() - start) / 4)
            told = f"{1e6 * min(times):.1f} us a step, {apart:.1e} from Eagre"
            print(f"{device} {points} {precision}: {told}", flush=True)


if __name__ == "__main__":
    main()
