"""GCR(1) without a preconditioner in two kernels per iteration: their source, and their launches on a GPU.

The source is unrolled for VECTOR points per thread along x: ``{name}`` stands for the array elements of a thread,
``name[0], name[1], ..``. A thread streams upwards: a, b, c, d, e are two levels below, the current level, and two
levels above. All loads of a level are issued before the first use.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import fused_cuda, kernels, kernels_cuda
from eagre.solvers.gcr.fused_cuda import LANES, ROWS
from eagre.solvers.gcr.iteration import ResidualTest, Weights, arrived, one_block
from eagre.stepping.convergence_loop import ConvergenceLoop, IterationResult

DIRECTION = """
def direction_cuda(r, p, image, phi, stencil, periodic, weight, edges, planes, scalars, control, parts, arrived):
    tree = cuda.shared.array(BLOCK, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = thread()
    if is_iterating(control):
        begun, beta, alpha = scalars[COUNT] > 0.0, real(scalars[BETA]), real(scalars[NUMBERS + 1])
        i = np.uint32((cuda.blockIdx.x * LANES + cuda.threadIdx.x) * VECTOR)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = r.shape
        along, square = 0.0, 0.0
        if i < nx and j < ny:
            n, side = near(stencil, j, i, nx), share_of(edges[1], ny, j) * share_of(edges[2], nx, i)
            first, size = cuda.blockIdx.z * planes, ny * nx
            {a} = load(r, level(first - 2, nz, size, periodic), n.here)
            {b} = load(r, level(first - 1, nz, size, periodic), n.here)
            {c} = load(r, level(first, nz, size, periodic), n.here)
            {d} = load(r, level(first + 1, nz, size, periodic), n.here)
            for m in range(first, min(nz, first + planes)):
                k = np.uint32(m)
                start = np.uint32(k * np.uint32(size))
                {e} = load(r, level(m + 2, nz, size, periodic), n.here)
                {north} = load(r, start, n.to_north)
                {south} = load(r, start, n.to_south)
                {west} = load_sides(r, start, n.to_west)
                {east} = load_sides(r, start, n.to_east)
                {old} = load(p, start, n.here)
                {image_old} = load(image, start, n.here)
                {solution} = load(phi, start, n.here)
                across, up, down = stencil.across[k], stencil.up[k], stencil.down[k]
                one = weight_at(weight, k, j, i) * share_of(edges[0], nz, k) * side
                gain, length = real(0.0), real(0.0)
                for v in range(VECTOR):
                    solution[v] += beta * (old[v] if begun else real(0.0))
                    its[v] = n.east * ((east[v + SIDE - VECTOR] if v + SIDE >= VECTOR else c[v + 2]) - c[v])
                    its[v] += n.west * ((west[v] if v < SIDE else c[v - 2]) - c[v])
                    its[v] += n.north * (north[v] - c[v]) + n.south * (south[v] - c[v])
                    its[v] = across * its[v] + up * (e[v] - c[v]) + down * (a[v] - c[v])
                    its[v] += alpha * image_old[v] if begun else real(0.0)
                    old[v] = c[v] + (alpha * old[v] if begun else real(0.0))
                    gain += its[v] * c[v]
                    length += its[v] * its[v]
                store(phi, start, n.here, ({solution}))
                store(p, start, n.here, ({old}))
                store(image, start, n.here, ({its}))
                along += float(one * gain)
                square += float(one * length)
                for v in range(VECTOR):
                    a[v], b[v], c[v], d[v] = b[v], c[v], d[v], e[v]
        store_parts(tree, t, along, square, parts, False)
        if is_last(flag, t, parts.shape[2], arrived):
            along, square = both_totals(tree, t, parts, False)
            if t == 0:
                set_step(scalars, control, along, square)
"""

ADVANCE = """
def advance_cuda(r, image, new, stencil, periodic, weight, edges, planes, scalars, control, parts, arrived):
    tree = cuda.shared.array(BLOCK, np.float64)
    flag = cuda.shared.array(1, np.float64)
    t = thread()
    if is_iterating(control):
        beta = real(scalars[BETA])
        i = np.uint32((cuda.blockIdx.x * LANES + cuda.threadIdx.x) * VECTOR)
        j = np.uint32(cuda.blockIdx.y * ROWS + cuda.threadIdx.y)
        nz, ny, nx = r.shape
        largest, along = real(0.0), 0.0
        if i < nx and j < ny:
            n, side = near(stencil, j, i, nx), share_of(edges[1], ny, j) * share_of(edges[2], nx, i)
            first, size = cuda.blockIdx.z * planes, ny * nx
            {a} = load(r, level(first - 2, nz, size, periodic), n.here)
            {b} = load(r, level(first - 1, nz, size, periodic), n.here)
            {c} = load(r, level(first, nz, size, periodic), n.here)
            {d} = load(r, level(first + 1, nz, size, periodic), n.here)
            {a_its} = load(image, level(first - 2, nz, size, periodic), n.here)
            {b_its} = load(image, level(first - 1, nz, size, periodic), n.here)
            {its} = load(image, level(first, nz, size, periodic), n.here)
            {its_above} = load(image, level(first + 1, nz, size, periodic), n.here)
            for v in range(VECTOR):
                a[v] += beta * a_its[v]
                b[v] += beta * b_its[v]
                c[v] += beta * its[v]
                d[v] += beta * its_above[v]
            for m in range(first, min(nz, first + planes)):
                k = np.uint32(m)
                start, ahead = np.uint32(k * np.uint32(size)), level(m + 2, nz, size, periodic)
                {e} = load(r, ahead, n.here)
                {its_ahead} = load(image, ahead, n.here)
                {north} = load(r, start, n.to_north)
                {its_north} = load(image, start, n.to_north)
                {south} = load(r, start, n.to_south)
                {its_south} = load(image, start, n.to_south)
                {west} = load_sides(r, start, n.to_west)
                {its_west} = load_sides(image, start, n.to_west)
                {east} = load_sides(r, start, n.to_east)
                {its_east} = load_sides(image, start, n.to_east)
                across, up, down = stencil.across[k], stencil.up[k], stencil.down[k]
                one = weight_at(weight, k, j, i) * share_of(edges[0], nz, k) * side
                gain = real(0.0)
                for v in range(SIDE):
                    west[v] += beta * its_west[v]
                    east[v] += beta * its_east[v]
                for v in range(VECTOR):
                    e[v] += beta * its_ahead[v]
                    other[v] = n.east * ((east[v + SIDE - VECTOR] if v + SIDE >= VECTOR else c[v + 2]) - c[v])
                    other[v] += n.west * ((west[v] if v < SIDE else c[v - 2]) - c[v])
                    other[v] += n.north * (north[v] + beta * its_north[v] - c[v])
                    other[v] += n.south * (south[v] + beta * its_south[v] - c[v])
                    other[v] = across * other[v] + up * (e[v] - c[v]) + down * (a[v] - c[v])
                    gain += other[v] * its[v]
                    largest = max(largest, abs(c[v]))
                store(new, start, n.here, ({c}))
                along += float(one * gain)
                for v in range(VECTOR):
                    a[v], b[v], c[v], d[v] = b[v], c[v], d[v], e[v]
                    its[v], its_above[v] = its_above[v], its_ahead[v]
        store_parts(tree, t, float(largest), along, parts, True)
        if is_last(flag, t, parts.shape[2], arrived):
            most, along = both_totals(tree, t, parts, True)
            if t == 0:
                set_shares(scalars, 0, along)
                check_residual(control, most, abs(along))
"""


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
            iteration.append(on(DIRECTION, here, p, image, phi))
            iteration.append(on(ADVANCE, here, image, there))
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


class SeparableStencil(NamedTuple):
    """Factors and indices of neighbours.

    L q = across_k (east_i (q_e - q) + west_i (q_w - q) + north_j (q_n - q) + south_j (q_s - q))
    + up_k (q_a - q) + down_k (q_b - q): e, w the points `to_east` and `to_west`; n, s, a (above) and b alike.
    Without a neighbour on one side the factor is 0 and the index arbitrary.
    """

    across: Any
    up: Any
    down: Any
    to_above: Any
    to_below: Any
    north: Any
    south: Any
    to_north: Any
    to_south: Any
    east: Any
    west: Any
    to_east: Any
    to_west: Any


REALS = ("across", "up", "down", "north", "south", "east", "west")


def on_device(stencil: SeparableStencil, device: Device, real: Any) -> SeparableStencil:
    """Return the tables on a device, in one precision, with unsigned indices."""
    tables = {
        name: device.array(np.asarray(values).astype(real if name in REALS else np.uint32))
        for name, values in stencil._asdict().items()
    }
    return SeparableStencil(**tables)


@cell
def stencil_at(q, stencil, k, j, i):
    """Return L q at a point."""
    c = q[k, j, i]
    total = stencil.east[i] * (q[k, j, stencil.to_east[i]] - c) + stencil.west[i] * (q[k, j, stencil.to_west[i]] - c)
    total += (
        stencil.north[j] * (q[k, stencil.to_north[j], i] - c) + stencil.south[j] * (q[k, stencil.to_south[j], i] - c)
    )  # fmt: skip
    above, below = q[stencil.to_above[k], j, i], q[stencil.to_below[k], j, i]
    return stencil.across[k] * total + stencil.up[k] * (above - c) + stencil.down[k] * (below - c)


@cell
def set_image(k, j, i, q, stencil, out):
    """Set out = L q."""
    out[k, j, i] = stencil_at(q, stencil, k, j, i)
