"""Jacobi's method for (Lap - screening) psi = f between walls, which stops by itself; a device of graphs."""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import PlainDevice, check_precision
from eagre.models.barotropic.kernels import five_points
from eagre.solvers.poisson import PoissonSolver
from eagre.stepping.convergence_loop import ConvergenceLoop, StopTest, is_iterating

SPACING = 0.1


@cell
def residual(a, f, j, i, over_h2, screening):
    """F - (Lap - screening) a at (j + 1, i + 1)."""
    k, m = j + 1, i + 1
    lap = five_points(a[j, m], a[k, i], a[k, m], a[k, i + 2], a[j + 2, m], over_h2, over_h2)
    return f[k, m] + screening * a[k, m] - lap


@cell
def jacobi(j, i, a, out, f, over_h2, screening, relaxation, control):
    """out = a + residual / diagonal."""
    if is_iterating(control):
        out[j + 1, i + 1] = a[j + 1, i + 1] + relaxation * residual(a, f, j, i, over_h2, screening)


@cell
def row_norm(i, a, f, partials, over_h2, screening, control):
    """Sum of the squares of the residuals of row i + 1."""
    if is_iterating(control):
        total = 0.0
        for m in range(a.shape[1] - 2):
            r = residual(a, f, i, m, over_h2, screening)
            total += float(r) * float(r)
        partials[i] = total


class Jacobi:
    """The problem on a device; two sweeps are an iteration, which ends in the array it began with."""

    def __init__(self, device, shape, screening, precision="double", look_every=20, with_start=True, recorded=1):
        self.device, (ny, nx), real = device, shape, check_precision(precision)
        self.f = np.random.default_rng(0).standard_normal(shape)
        self.expected = PoissonSolver(shape, (SPACING, SPACING), screening=screening).solve(self.f)
        a, b, f = (device.zeros((ny + 2, nx + 2), real) for _ in range(3))
        device.fill(f, np.pad(self.f, 1).astype(real))
        self.psi, self.test = a, StopTest(device, ny, recorded)
        numbers = tuple(map(real, (SPACING**-2, screening)))
        relaxation = real(-1.0 / (4.0 * SPACING**-2 + screening))
        sweep, norm = device.loop(jacobi, precision), device.loop(row_norm, precision)
        sweeps = [
            device.over(sweep, shape, (*pair, f, *numbers, relaxation, self.test.control)) for pair in ((a, b), (b, a))
        ]
        last = device.over(norm, (ny,), (a, f, self.test.partials, *numbers, self.test.control))
        self.until = ConvergenceLoop(device, self.test, [*sweeps, last], [last] if with_start else (), look_every)

    @property
    def error(self):
        """Largest difference from the direct solution, relative."""
        found = self.device.host(self.psi)[1:-1, 1:-1]
        return np.abs(found - self.expected).max() / np.abs(self.expected).max()


class DeviceWithGraphs(PlainDevice):
    """A round is one launch there, as on a GPU."""

    graphs = True
