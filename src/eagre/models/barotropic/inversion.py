"""Elliptic solvers for the streamfunction, by basin and device, with a common interface.

`forward` transforms the fields of all layers, `solve` applies (Lap - screening)^-1 in transformed space, and `backward`
applies the inverse transform. `copied_backward` applies it between two solutions of one transform. With two layers
`solve` solves for a vertical mode; the modes are formed between `forward` and `backward`, or by both (`forms_modes`).
The Helmholtz term `screening` is the inverse squared deformation radius.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device, HostCall, Launch
from eagre.solvers.poisson import PoissonSolver
from eagre.solvers.poisson.box_cuda import Box
from eagre.solvers.poisson.columns import CHUNK, column_table, solve_columns_cpu
from eagre.solvers.poisson.rows_cuda import LayerPair
from eagre.solvers.poisson.slabs import CpuInterfaces, CudaInterfaces, Slab

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


def copied_transform(source: Any, out: Any) -> None:
    """Set the interior of `out` to the sine transform of `source`."""
    out[1:-1, 1:-1] = source[1:-1, 1:-1]
    sine_transform(out)


class Inversion:
    """Interface of elliptic solvers; `layer` selects the arrays of a layer or of a vertical mode.

    forms_modes : whether `forward` and `backward` convert between layers and vertical modes.
    norm : factor of a forward and an inverse transform, which `solve` divides by.
    """

    forms_modes = False
    norm = 1.0

    def interface(self, slab: Slab, screening: float) -> CpuInterfaces:
        """Return the joints of the columns of a slab with the columns of other slabs; for a box with walls."""
        raise NotImplementedError

    def spectra_of(self, fields: list[Any]) -> Sequence[Any]:
        """Return the arrays that `forward` writes for the fields of all layers."""
        return fields

    def work(self, layer: int, field: Any) -> Any:
        """Return the array of a layer or mode between `solve` and `backward`."""
        raise NotImplementedError

    def forward(self, fields: list[Any]) -> Launches:
        """Return the launches of the forward transforms of the fields of all layers."""
        raise NotImplementedError

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0, walls: bool = True) -> Launches:
        """Return the launches that solve (Lap - screening) psi = factor zeta in place in the array of `work`.

        walls : False to solve a slab without contributions from outside (`interface`)
        """
        raise NotImplementedError

    def backward(self, fields: list[Any]) -> Launches:
        """Return the launches of the inverse transform into the fields of all layers."""
        raise NotImplementedError

    def copied_backward(self, work: Any, out: Any) -> Launches:
        """Return the launches of the inverse transform of an array of `work`, which is kept, into another field."""
        raise NotImplementedError


class CpuBox(Inversion):
    """Box with walls on the CPU: SciPy's sine transform along x, tridiagonal systems along y, in place."""

    def __init__(self, device: Device, precision: str, real: Any, nx: int, ny: int, dx: float, dy: float) -> None:
        self.device, self.precision, self.real = device, precision, real
        self.size, self.norm = (nx, ny, dx, dy), 2.0 * nx
        self._scratch = np.zeros((-(-(nx - 1) // CHUNK), 2, CHUNK), real)
        self._carry = np.zeros(CHUNK)

    def interface(self, slab: Slab, screening: float) -> CpuInterfaces:
        nx, _, dx, dy = self.size
        return CpuInterfaces(self.device, self.precision, slab.index, list(slab.heights), nx, dx, dy, screening)

    def work(self, layer: int, field: Any) -> Any:
        return field

    def forward(self, fields: list[Any]) -> Launches:
        return [HostCall(sine_transform, (field,)) for field in fields]

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0, walls: bool = True) -> Launches:
        table = column_table(*self.size, screening, 1, 0.25 * factor, walls)[:, 1:]
        program = self.device.program(solve_columns_cpu, self.precision)
        arguments = (field, np.ascontiguousarray(table, self.real), self._scratch, self._carry)
        return [Launch(program, arguments)]

    def backward(self, fields: list[Any]) -> Launches:
        return [HostCall(sine_transform, (field,)) for field in fields]

    def copied_backward(self, work: Any, out: Any) -> Launches:
        return [HostCall(copied_transform, (work, out))]


class CudaBox(Inversion):
    """Box with walls on a GPU: kernels of `eagre.solvers.poisson.box_cuda`.

    fraction : thickness fraction of the upper of two layers, or None.
    spectra : transform of the field, or of the vertical modes of two layers.
    """

    forms_modes = True

    def __init__(self, box: Box, fraction: float | None) -> None:
        self.box, self.norm = box, 0.5 * box.nx
        self.spectra = [box.spectrum() for _ in range(1 if fraction is None else 2)]
        self._fraction = None if fraction is None else box.real(fraction)

    def pair(self, arrays: Sequence[Any]) -> LayerPair:
        """Return arrays of two layers or of both modes with the thickness fraction of the upper layer."""
        return LayerPair._make((*arrays, self._fraction))

    def interface(self, slab: Slab, screening: float) -> CpuInterfaces:
        box, heights = self.box, list(slab.heights)
        problem = (slab.index, heights, box.nx, box.dx, box.dy, screening)
        return CudaInterfaces(box.device, box.precision, *problem, tiles=box.tiles)

    def spectra_of(self, fields: list[Any]) -> Sequence[Any]:
        return self.spectra

    def work(self, layer: int, field: Any) -> Any:
        return self.spectra[layer]

    def forward(self, fields: list[Any]) -> Launches:
        if self._fraction is None:
            return [self.box.rows(fields[0], self.spectra[0])]
        return [self.box.layer_rows(fields, self.pair(self.spectra))]

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0, walls: bool = True) -> Launches:
        return [self.box.columns(self.spectra[layer], screening, factor, walls)]

    def backward(self, fields: list[Any]) -> Launches:
        if self._fraction is None:
            return [self.box.rows(self.spectra[0], fields[0])]
        return [self.box.layer_rows(self.spectra, self.pair(fields))]

    def copied_backward(self, work: Any, out: Any) -> Launches:
        return [self.box.rows(work, out)]


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

    def forward(self, fields: list[Any]) -> Launches:
        return []

    def solve(self, layer: int, field: Any, screening: float, factor: float = 1.0, walls: bool = True) -> Launches:
        solver = PoissonSolver(*self.problem, screening=screening, kernels=self.kernels)
        return [HostCall(_solve, (solver, field, factor))]

    def backward(self, fields: list[Any]) -> Launches:
        return []

    def copied_backward(self, work: Any, out: Any) -> Launches:
        return [HostCall(_copy, (work, out))]


def _copy(source: Any, out: Any) -> None:
    out[...] = source


def _solve(solver: PoissonSolver, field: Any, factor: float) -> None:
    inner = field[1:-1, 1:-1]
    solution = solver.solve(inner)
    inner[...] = solution if factor == 1.0 else solution * solution.dtype.type(factor)
