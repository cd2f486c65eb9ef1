"""Elliptic solvers for the streamfunction, by basin and device, with a common interface.

`forward` transforms a field, `solve` applies (Lap - screening)^-1 in transformed space, and `backward` applies the
inverse transform. With two layers the vertical modes are formed between `forward` and `backward`. The Helmholtz term
`screening` is the inverse squared deformation radius.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch
from eagre.solvers.poisson import PoissonSolver
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.columns import CHUNK, column_table, solve_columns_cpu

Launches = list[Launch | HostCall]
FEW_POINTS = 40_000  # size up to which multithreading slows down SciPy's transform


def sine_transform(field: Any) -> None:
    """Apply the sine transform along x to the interior of a field in place; the result is twice the sum."""
    import scipy.fft

    from eagre.solvers.poisson.axes import workers

    inner = field[1:-1, 1:-1]
    threads = workers() if inner.size > FEW_POINTS else 1
    transformed = scipy.fft.dst(inner, type=1, axis=1, overwrite_x=True, workers=threads)
    if not np.shares_memory(transformed, inner):
        inner[...] = transformed


class Inversion:
    """Interface of elliptic solvers; `layer` selects the arrays of a layer."""

    def work(self, layer: int, field: Any) -> Any:
        """Return the array of a layer between `forward` and `backward`."""
        raise NotImplementedError

    def forward(self, layer: int, field: Any) -> Launches:
        """Return the launches of the forward transform of a field."""
        raise NotImplementedError

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0) -> Launches:
        """Return the launches that solve (Lap - screening) psi = factor zeta in place in the array of `work`."""
        raise NotImplementedError

    def backward(self, layer: int, field: Any) -> Launches:
        """Return the launches of the inverse transform into a field."""
        raise NotImplementedError


class CpuBox(Inversion):
    """Box with walls on the CPU: SciPy's sine transform along x, tridiagonal systems along y, in place."""

    def __init__(self, device: Device, precision: str, real: Any, nx: int, ny: int, dx: float, dy: float) -> None:
        self.device, self.precision, self.real = device, precision, real
        self.size = (nx, ny, dx, dy)
        self._scratch = np.zeros((-(-(nx - 1) // CHUNK), 2, CHUNK), real)
        self._carry = np.zeros(CHUNK)

    def work(self, layer: int, field: Any) -> Any:
        return field

    def forward(self, layer: int, field: Any) -> Launches:
        return [HostCall(sine_transform, (field,))]

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0, walls: bool = True) -> Launches:
        table = column_table(*self.size, screening, 1, 0.25 * factor, walls)[:, 1:]
        program = self.device.program(solve_columns_cpu, self.precision)
        arguments = (field, np.ascontiguousarray(table, self.real), self._scratch, self._carry)
        return [Launch(program, arguments)]

    def backward(self, layer: int, field: Any) -> Launches:
        return [HostCall(sine_transform, (field,))]


class CudaBox(Inversion):
    """Box with walls on a GPU: kernels of `eagre.solvers.poisson.box_cuda`."""

    def __init__(self, box: Box, layers: int) -> None:
        self.box = box
        self._spectra = [box.spectrum() for _ in range(layers)]

    def work(self, layer: int, field: Any) -> Any:
        return self._spectra[layer]

    def forward(self, layer: int, field: Any) -> Launches:
        return [self.box.rows(field, self._spectra[layer])]

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0, walls: bool = True) -> Launches:
        return [self.box.columns(self._spectra[layer], screening, factor, walls)]

    def backward(self, layer: int, field: Any) -> Launches:
        return [self.box.rows(self._spectra[layer], field)]


class TransformInversion(Inversion):
    """Any basin: `PoissonSolver` on the unknown points."""

    def __init__(
        self,
        shape: tuple[int, int],
        spacing: tuple[float, float],
        boundaries: tuple[str, str],
        kernels: str = "fast",
    ) -> None:
        self.problem, self.kernels = (shape, spacing, boundaries), kernels

    def work(self, layer: int, field: Any) -> Any:
        return field

    def forward(self, layer: int, field: Any) -> Launches:
        return []

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0) -> Launches:
        solver = PoissonSolver(*self.problem, screening=screening, kernels=self.kernels)
        return [HostCall(_solve, (solver, field, factor))]

    def backward(self, layer: int, field: Any) -> Launches:
        return []


def _solve(solver: PoissonSolver, field: Any, factor: float) -> None:
    inner = field[1:-1, 1:-1]
    solution = solver.solve(inner)
    inner[...] = solution if factor == 1.0 else solution * solution.dtype.type(factor)
