"""GCR(1) without a preconditioner on a GPU: an iteration in two kernels with a traffic of ten values per point.

    direction   phi += beta p of the previous iteration,  p = r + alpha p,  L p = L r + alpha L p;  beta
    advance     r' = r + beta L p;  alpha of the next iteration from L r', computed from r and L p at neighbours

Both kernels recompute L r, so it is never stored. The last block adds the partial sums of all blocks in order, so
results are bitwise reproducible. r alternates between two arrays, as neighbours read the old one.

The source is unrolled for VECTOR points per thread along x: ``{name}`` stands for the array elements of a thread,
``name[0], name[1], ..``. A thread streams upwards: a, b, c, d, e are two levels below, the current level, and two
levels above. All loads of a level are issued before the first use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import (
    Entry,
    cell,
    cuda,
    flat_load,
    flat_store,
    load_four,
    load_two,
    load_volatile,
    real,
    store_four,
    store_two,
    switch,
    written,
)
from eagre.backend.compilation.unrolled import unrolled
from eagre.backend.cuda.warp import thread
from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.solvers.gcr import kernels
from eagre.solvers.gcr.iteration import ResidualTest, Weights, arrived, one_block
from eagre.solvers.gcr.kernels import (
    BETA,
    COUNT,
    NUMBERS,
    check_residual,
    is_last,
    set_shares,
    set_step,
    share_of,
    weight_at,
)
from eagre.stepping.convergence_loop import ConvergenceLoop, IterationResult, add_up, is_iterating, max_over_block

LANES, ROWS = 32, 8
BLOCK = LANES * ROWS
VECTOR = switch("VECTOR", 1)  # adjacent points per thread: 1, 2 or 4
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


class Near(NamedTuple):
    """Column of points: flat indices of it and its horizontal neighbours, and the factors of L."""

    here: Any
    to_east: Any
    to_west: Any
    to_north: Any
    to_south: Any
    east: Any
    west: Any
    north: Any
    south: Any


@cell
def column(stencil, j, i, last, nx):
    """Return the column at (j, i), whose eastern neighbours are those of the point `last`."""
    row = np.uint32(j * np.uint32(nx))
    to_east, to_west = np.uint32(row + stencil.to_east[last]), np.uint32(row + stencil.to_west[i])
    to_north = np.uint32(stencil.to_north[j] * np.uint32(nx) + i)
    to_south = np.uint32(stencil.to_south[j] * np.uint32(nx) + i)
    return Near(
        np.uint32(row + i), to_east, to_west, to_north, to_south,
        stencil.east[i], stencil.west[i], stencil.north[j], stencil.south[j],
    )  # fmt: skip


@cell
def near(stencil, j, i, nx):
    """Return the column at (j, i)."""
    return column(stencil, j, i, np.uint32(i + np.uint32(VECTOR - 2 if VECTOR > 1 else 0)), nx)


@cell
def next_to(first, j, i, nx):
    """Return `near` for an operator with adjacent neighbours: neighbours along x of all points of a thread."""
    return column(first, j, i, np.uint32(i + np.uint32(VECTOR - 1)), nx)


@cell
def level(k, nz, size, periodic):
    """Return the flat index of the first point of level k, -2 to nz + 1: wrapped if periodic, otherwise clipped."""
    if k < 0:
        k = k + nz if periodic else 0
    if k > nz - 1:
        k = k - nz if periodic else nz - 1
    return np.uint32(np.uint32(k) * np.uint32(size))


@cell
def block_number():
    """Return the linear index of this block."""
    return (cuda.blockIdx.z * cuda.gridDim.y + cuda.blockIdx.y) * cuda.gridDim.x + cuda.blockIdx.x


@cell
def store_parts(tree, t, first, second, partials, is_largest):
    """Store the two partial results of a block, the first a sum or maximum, in rows 0 and 1."""
    block, blocks = block_number(), partials.shape[2]
    if is_largest:
        max_over_block(tree, t, BLOCK, first)
    else:
        add_up(tree, t, BLOCK, first)
    if t == 0 and block < blocks:
        partials[0, 0, block] = tree[0]
    cuda.syncthreads()
    add_up(tree, t, BLOCK, second)
    if t == 0 and block < blocks:
        partials[1, 0, block] = tree[0]


@cell
def both_totals(tree, t, partials, is_largest):
    """Return the sum or maximum of the first row and the sum of the second row, by one block."""
    first, second = 0.0, 0.0
    blocks = partials.shape[2]
    for m in range(t, blocks, BLOCK):
        one = load_volatile(partials, m, 0)
        first = max(first, one) if is_largest else first + one
        second += load_volatile(partials, m, blocks)
    if is_largest:
        max_over_block(tree, t, BLOCK, first)
    else:
        add_up(tree, t, BLOCK, first)
    first = tree[0]
    cuda.syncthreads()
    add_up(tree, t, BLOCK, second)
    return first, tree[0]


@cell
def load(array, start, offset):
    """Return VECTOR values from an index."""
    if VECTOR == 4:
        return load_four(array, start, offset)
    if VECTOR == 2:
        return load_two(array, start, offset)
    return (flat_load(array, start, offset),)


@cell
def load_sides(array, start, offset):
    """Return the values next to the points of a thread: two, or one for one point per thread."""
    if VECTOR > 1:
        return load_two(array, start, offset)
    return (flat_load(array, start, offset),)


@cell
def store(array, start, offset, values):
    """Store VECTOR values from an index."""
    if VECTOR == 4:
        store_four(array, start, offset, values)
    elif VECTOR == 2:
        store_two(array, start, offset, values)
    else:
        flat_store(array, start, offset, values[0])


SCOPE: dict[str, Any] = {
    "np": np, "cuda": cuda, "real": real, "thread": thread, "is_iterating": is_iterating, "share_of": share_of,
    "weight_at": weight_at, "near": near, "level": level, "load": load, "load_sides": load_sides, "store": store,
    "store_parts": store_parts, "is_last": is_last, "both_totals": both_totals, "set_step": set_step,
    "set_shares": set_shares, "check_residual": check_residual, "BETA": BETA, "COUNT": COUNT, "NUMBERS": NUMBERS,
    "BLOCK": BLOCK, "LANES": LANES, "ROWS": ROWS,
}  # fmt: skip


def kernel(text: str, vector: int, scope: Mapping[str, Any] = SCOPE, **known: int) -> Entry:
    """Return a kernel for `vector` points per thread; scope: called functions; known: constants."""
    side = min(2, vector)
    side_names = {"west", "east", "its_west", "its_east"}
    points = {
        name: "".join(f"{name}[{v}]," for v in range(side if name in side_names else vector))
        for name in re.findall(r"{(\w+)}", text)
    }
    source = unrolled(text.format_map(points), {"VECTOR": vector, "SIDE": side, **known})
    generated: Any = written(source, dict(scope))
    entry = Entry(generated.function)
    entry.source = source
    return entry


@cell
def settle(k, j, i, phi, p, scalars):
    """Set phi += beta p of the last iteration."""
    if scalars[COUNT] > 0.0:
        phi[k, j, i] += real(scalars[BETA]) * p[k, j, i]


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
            program = device.program(kernel(text, tiles.vector), precision, switches)
            more = (*tables, scalars, test.control, partials, arrived(device))
            return tiles.launch(program, (*arguments, *more))

        iteration: list[Work] = []
        for here, there in ((r, other), (other, r)):
            iteration.append(on(DIRECTION, here, p, image, phi))
            iteration.append(on(ADVANCE, here, image, there))
        reset = one_block(device, kernels.begin_cuda, scalars, 1.0)
        self.until = ConvergenceLoop(device, test, iteration, [reset, *start], max(1, iterations_per_check // 2))
        loop = device.loop(settle, precision)
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
