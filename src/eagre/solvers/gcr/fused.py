"""GCR(1) without a preconditioner in two kernels per iteration, as launches on a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import fused_cuda, fused_source, kernels, kernels_cuda
from eagre.solvers.gcr.fused_cuda import LANES, ROWS
from eagre.solvers.gcr.iteration import ResidualTest, Weights, arrived, one_block
from eagre.solvers.gcr.separable_stencil import SeparableStencil, on_device
from eagre.stepping.convergence_loop import ConvergenceLoop, IterationResult


class Tiles(NamedTuple):
    """Grid tiling: tiles of LANES x ROWS threads, of `vector` columns each, and `planes` levels."""

    planes: int
    grid: tuple[int, int, int]
    vector: int

    @classmethod
    def of(cls, device: Device, shape: Sequence[int], vector: int = 1) -> Tiles:
        """Return the tiles of a grid (nz, ny, nx)."""
        nz, ny, nx = map(int, shape)
        across, along = -(-nx // (vector * LANES)), -(-ny // ROWS)
        parameters = device.parameters("solver:gcr")
        planes = min(parameters.levels, max(1, nz * across * along // (parameters.busy * device.multiprocessors)))
        return cls(planes, (across, along, -(-nz // planes)), vector)

    @property
    def blocks(self) -> int:
        """Number of blocks."""
        return math.prod(self.grid)

    def launch(self, program: Any, arguments: tuple[Any, ...]) -> Launch:
        """Return a launch over the grid."""
        return Launch(program, arguments, self.grid, (LANES, ROWS))


def vector_of(device: Device, precision: str, shape: Sequence[int], periodic_x: bool) -> int:
    """Return the number of adjacent points per thread: 16 bytes along a periodic axis of suitable length, or one."""
    vector = device.parameters("solver:gcr").points[precision]
    return vector if periodic_x and shape[-1] > vector and shape[-1] % vector == 0 else 1


class FusedIteration:
    """`GcrIteration` for k = 1, P = 1 and an operator that is a `SeparableStencil`; on a GPU.

    Parameters
    ----------
    device : Device
    precision : str
    phi, r : arrays (nz, ny, nx)
    test : ResidualTest
    start : sequence of launches
        Compute r from phi, and check convergence.
    stencil : SeparableStencil
        Operator L, on the host.
    periodic : bool
        Whether the vertical axis is periodic.
    weights : Weights
    iterations_per_check : int
        Number of iterations between host synchronisations, an even number.
    """

    def __init__(
        self,
        device: Device,
        precision: str,
        phi: Any,
        r: Any,
        test: ResidualTest,
        start: Sequence[Work],
        stencil: SeparableStencil,
        periodic: bool,
        weights: Weights,
        iterations_per_check: int = 8,
    ) -> None:
        real, shape = check_precision(precision), tuple(map(int, r.shape))
        tiles = Tiles.of(device, shape, vector_of(device, precision, shape, weights.edges[2] == 1.0))
        self._device, self.control = device, test.control
        self._stencil = stencil = on_device(stencil, device, real)
        scalars = device.zeros((kernels.NUMBERS + 2,), np.float64)
        partials = device.zeros((2, 1, tiles.blocks), np.float64)
        p, image, other = (device.zeros(shape, real) for _ in range(3))
        edges = device.array(np.array(weights.edges, real))
        weighing = kernels.of_point if tuple(weights.field.shape) == shape else kernels.of_level
        tables = (stencil, int(periodic and shape[0] > 1), weights.field, edges, tiles.planes)

        registers = device.parameters("solver:gcr").registers[precision]

        def on(text: str, *arguments: Any) -> Launch:
            switches = {"WEIGHT": weighing, "VECTOR": tiles.vector, "REGISTERS": registers}
            program = device.program(fused_cuda.kernel(text, tiles.vector), precision, switches)
            more = (*tables, scalars, test.control, partials, arrived(device))
            return tiles.launch(program, (*arguments, *more))

        iteration: list[Work] = []
        for here, there in ((r, other), (other, r)):
            iteration.append(on(fused_source.DIRECTION, here, p, image, phi))
            iteration.append(on(fused_source.ADVANCE, here, image, there))
        reset = one_block(device, kernels_cuda.begin_cuda, scalars, 1.0)
        self.until = ConvergenceLoop(device, test, iteration, [reset, *start], max(1, iterations_per_check // 2))
        loop = device.loop(fused_cuda.settle, precision)
        self._settle = device.over(loop, shape, (phi, p, scalars))

    @property
    def launches(self) -> list[Work]:
        """Launches of the start, an iteration and the end: for `Device.prepare`."""
        return [*self.until.launches, self._settle]

    def refill(self, stencil: SeparableStencil) -> None:
        """Set other coefficients."""
        for array, values in zip(self._stencil, stencil, strict=True):
            self._device.fill(array, np.asarray(values).astype(array.dtype))

    def unlooked(self, tolerance: Any, max_iterations: int, iterations: int) -> list[Work]:
        """See `ConvergenceLoop.unlooked`."""
        return [*self.until.unlooked(tolerance, max_iterations, -(-iterations // 2)), self._settle]

    def run(self, tolerance: float, max_iterations: int) -> IterationResult:
        """See `ConvergenceLoop.run`."""
        try:
            return self.until.run(tolerance, max_iterations)
        finally:
            self._device.run([self._settle])
