"""GCR(1) without a preconditioner in two kernels per iteration, as launches on a GPU."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import fused_cuda, fused_text, kernels, kernels_cuda
from eagre.solvers.gcr.fused_cuda import LANES, ROWS
from eagre.solvers.gcr.iteration import ResidualTest, Weights, arrived, one_block
from eagre.solvers.gcr.star import Star, on_device
from eagre.stepping.until import ConvergenceLoop, IterationResult


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
        layout = device.layout("solver:gcr")
        planes = min(layout.levels, max(1, nz * across * along // (layout.busy * device.multiprocessors)))
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
    vector = device.layout("solver:gcr").points[precision]
    return vector if periodic_x and shape[-1] > vector and shape[-1] % vector == 0 else 1


class FusedIteration:
    """`GcrIteration` for k = 1, P = 1 and an operator that is a `Star`; on a GPU.

    Parameters
    ----------
    device : Device
    precision : str
    phi, r : arrays (nz, ny, nx)
    test : ResidualTest
    start : sequence of launches
        Compute r from phi, and check convergence.
    star : Star
        Operator L, on the host.
    periodic : bool
        Whether the vertical axis is periodic.
    weights : Weights
    look_every : int
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
        star: Star,
        periodic: bool,
        weights: Weights,
        look_every: int = 8,
    ) -> None:
        real, shape = check_precision(precision), tuple(map(int, r.shape))
        tiles = Tiles.of(device, shape, vector_of(device, precision, shape, weights.edges[2] == 1.0))
        self._device, self.control = device, test.control
        self._star = star = on_device(star, device, real)
        scalars = device.zeros((kernels.NUMBERS + 2,), np.float64)
        parts = device.zeros((2, 1, tiles.blocks), np.float64)
        p, image, other = (device.zeros(shape, real) for _ in range(3))
        edges = device.array(np.array(weights.edges, real))
        weighing = kernels.of_point if tuple(weights.field.shape) == shape else kernels.of_level
        tables = (star, int(periodic and shape[0] > 1), weights.field, edges, tiles.planes)

        registers = device.layout("solver:gcr").registers[precision]

        def on(text: str, *arguments: Any) -> Launch:
            switches = {"WEIGHT": weighing, "VECTOR": tiles.vector, "REGISTERS": registers}
            program = device.program(fused_cuda.kernel(text, tiles.vector), precision, switches)
            more = (*tables, scalars, test.control, parts, arrived(device))
            return tiles.launch(program, (*arguments, *more))

        iteration: list[Work] = []
        for here, there in ((r, other), (other, r)):
            iteration.append(on(fused_text.DIRECTION, here, p, image, phi))
            iteration.append(on(fused_text.ADVANCE, here, image, there))
        reset = one_block(device, kernels_cuda.begin_cuda, scalars, 1.0)
        self.until = ConvergenceLoop(device, test, iteration, [reset, *start], max(1, look_every // 2))
        loop = device.loop(fused_cuda.settle, precision)
        self._settle = device.over(loop, shape, (phi, p, scalars))

    @property
    def launches(self) -> list[Work]:
        """Launches of the start, an iteration and the end: for `Device.prepare`."""
        return [*self.until.launches, self._settle]

    def refill(self, star: Star) -> None:
        """Set other coefficients."""
        for array, values in zip(self._star, star, strict=True):
            self._device.fill(array, np.asarray(values).astype(array.dtype))

    def unlooked(self, small: Any, most: int, iterations: int) -> list[Work]:
        """See `ConvergenceLoop.unlooked`."""
        return [*self.until.unlooked(small, most, -(-iterations // 2)), self._settle]

    def run(self, small: float, most: int) -> IterationResult:
        """See `ConvergenceLoop.run`."""
        try:
            return self.until.run(small, most)
        finally:
            self._device.run([self._settle])
