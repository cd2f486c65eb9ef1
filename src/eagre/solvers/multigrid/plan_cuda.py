"""Launches of a V cycle on a GPU: `streaming_cuda` on fine grids, one kernel for all grids that fit shared memory.

The kernel of the coarse grids has one block per layer. The formulas are those of `eagre.solvers.multigrid.kernels`. The
screening, solution and right-hand side of all grids are stored consecutively in shared memory: three values per point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, flat_load, flat_store, load_here, real, word
from eagre.backend.device import Device, Launch
from eagre.layouts.gpu_properties import MAX_THREADS
from eagre.solvers.multigrid import streaming_cuda
from eagre.solvers.multigrid.kernels import Screening
from eagre.solvers.multigrid.plan import Grid
from eagre.stepping.convergence_loop import is_iterating

WORDS = 3  # values per point: q, u, f
TABLE = 5  # values per grid in the table
NUMBERS = TABLE + 2  # including offsets to neighbours beyond the ends
MAX_GRIDS = 32  # maximum number of grids
STATIC = MAX_GRIDS * (4 * NUMBERS + 16)  # size of the table in shared memory, bytes
REST = Launch(lambda: None, ())


def threads_of(ny: int, nx: int) -> tuple[int, int]:
    """Return the threads along x and y for one colour of a grid: fewest iterations, then fewest threads."""
    best, width = (ny * nx, 0, 0, 0), (nx + 1) // 2
    for rows in range(1, min(ny, MAX_THREADS) + 1):
        around = -(-width // min(width, MAX_THREADS // rows))
        columns = -(-width // around)
        best = min(best, (-(-ny // rows) * around, rows * columns, columns, rows))
    return best[2:]


class Level(NamedTuple):
    """Grid in shared memory: number of points, offset, coarsening, and coefficients.

    west, east, south, north are offsets from the outermost points to the neighbours beyond them.
    """

    ny: int
    nx: int
    start: int
    step_y: int
    step_x: int
    over_dx2: Any
    over_dy2: Any
    west: Any
    east: Any
    south: Any
    north: Any


def table_of(grids: list[Grid]) -> tuple[np.ndarray, np.ndarray, int]:
    """Return points, offsets and coarsening of grids, (n, 5); weights along x and y, (n, 2); total number of points."""
    rows, start = [], 0
    for grid in grids:
        rows.append((*grid.shape, start, grid.step_y, grid.step_x))
        start += grid.shape[0] * grid.shape[1]
    over = [[grid.x.weight, grid.y.weight] for grid in grids]
    return np.array(rows, np.int32), np.array(over), start


@cell
def bring_table(numbers, spacings, table, over, periodic_x, periodic_y):
    """Copy the table for `level_of` to shared memory, one thread per grid."""
    n = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    if n < table.shape[0]:
        ny, nx = table[n, 0], table[n, 1]
        for k in range(TABLE):
            numbers[n, k] = table[n, k]
        numbers[n, TABLE] = nx - 1 if periodic_x else min(1, nx - 1)
        numbers[n, TABLE + 1] = (ny - 1 if periodic_y else min(1, ny - 1)) * nx
        spacings[n, 0], spacings[n, 1] = over[n, 0], over[n, 1]
    cuda.syncthreads()


@cell
def level_of(n, numbers, spacings):
    """Return grid n."""
    across, along = numbers[n, TABLE], numbers[n, TABLE + 1]
    return Level(
        numbers[n, 0], numbers[n, 1], numbers[n, 2], numbers[n, 3], numbers[n, 4], spacings[n, 0], spacings[n, 1],
        across, np.int32(-across), along, np.int32(-along),
    )  # fmt: skip


@cell
def got(shared, k):
    """Return value k."""
    return flat_load(shared, np.uint32(k), 0)


@cell
def put(shared, k, value):
    """Set value k."""
    flat_store(shared, np.uint32(k), 0, value)


@cell
def west_of(i, level):
    """Return the offset to the western neighbour of point i of a row: mirrored at a wall, or wrapped."""
    return level.west if i == 0 else np.int32(-1)


@cell
def east_of(i, level):
    """Return the offset to the eastern neighbour; see `west_of`."""
    return level.east if i == level.nx - 1 else np.int32(1)


@cell
def south_of(j, level):
    """Return the offset to the southern row; see `west_of`."""
    return level.south if j == 0 else -level.nx


@cell
def north_of(j, level):
    """Return the offset to the northern row; see `west_of`."""
    return level.north if j == level.ny - 1 else level.nx


@cell
def around(shared, k, i, south, north, level):
    """Return the sum of the four neighbours of point i of a row, at index k, divided by the squared distances."""
    across = got(shared, k + west_of(i, level)) + got(shared, k + east_of(i, level))
    return level.over_dx2 * across + level.over_dy2 * (got(shared, k + south) + got(shared, k + north))


@cell
def half_sweep(shared, total, level, s, colour, mode):
    """Relax the points of a colour; `mode` 1 treats all others as 0, 2 stores the residual instead of u."""
    centre = real(2.0) * (level.over_dx2 + level.over_dy2)
    j = np.int32(cuda.threadIdx.y)
    while j < level.ny:
        south, north = south_of(j, level), north_of(j, level)
        i = np.int32(2 * cuda.threadIdx.x + ((j + colour) & 1))
        while i < level.nx:
            n = level.start + j * level.nx + i
            f, diagonal = got(shared, 2 * total + n), centre + s * got(shared, n)
            total_around = real(0.0) if mode == 1 else around(shared, total + n, i, south, north, level)
            if mode == 2:
                value = f - total_around + diagonal * got(shared, total + n)
            else:
                value = (total_around - f) / diagonal
            put(shared, total + n, value)
            i += np.int32(2 * cuda.blockDim.x)
        j += np.int32(cuda.blockDim.y)
    cuda.syncthreads()


@cell
def left_in_row(shared, k, i, red, level):
    """Return residuals weighted along x (1/4, 1/2, 1/4 where x is coarsened); those of black points are 0."""
    if level.step_x == 1:
        return got(shared, k) if red else real(0.0)
    if red:
        return real(0.5) * got(shared, k)
    return real(0.25) * (got(shared, k + west_of(i, level)) + got(shared, k + east_of(i, level)))


@cell
def held_in_row(shared, k, i, level):
    """Return values weighted along x in the same way."""
    if level.step_x == 1:
        return got(shared, k)
    neighbours = got(shared, k + west_of(i, level)) + got(shared, k + east_of(i, level))
    return real(0.5) * got(shared, k) + real(0.25) * neighbours


@cell
def restrict(shared, total, level, coarse):
    """Restrict the screening and the right-hand side to the next grid, by full weighting."""
    j = np.int32(cuda.threadIdx.y)
    while j < coarse.ny:
        row = j * level.step_y
        south, north = south_of(row, level), north_of(row, level)
        i = np.int32(cuda.threadIdx.x)
        while i < coarse.nx:
            column = i * level.step_x
            n, red = level.start + row * level.nx + column, ((row + column) & 1) == 0
            q, f = held_in_row(shared, n, column, level), left_in_row(shared, total + n, column, red, level)
            if level.step_y == 2:
                low, high = held_in_row(shared, n + south, column, level), held_in_row(shared, n + north, column, level)
                q = real(0.5) * q + real(0.25) * (low + high)
                low = left_in_row(shared, total + n + south, column, not red, level)
                high = left_in_row(shared, total + n + north, column, not red, level)
                f = real(0.5) * f + real(0.25) * (low + high)
            k = coarse.start + j * coarse.nx + i
            put(shared, k, q)
            put(shared, 2 * total + k, f)
            i += np.int32(cuda.blockDim.x)
        j += np.int32(cuda.blockDim.y)
    cuda.syncthreads()


@cell
def between(shared, k, i, level, coarse):
    """Return the next grid's solution interpolated along x to point i of a row, from its row that starts at index k."""
    if level.step_x == 1:
        return got(shared, k + i)
    low = i >> 1
    value = got(shared, k + low)
    if i & 1:
        value = real(0.5) * (value + got(shared, k + low + east_of(low, coarse)))
    return value


@cell
def add_coarse(shared, total, level, coarse):
    """Add the bilinear interpolation of the next grid's solution to the black points; red points are relaxed next."""
    j = np.int32(cuda.threadIdx.y)
    while j < level.ny:
        row = j if level.step_y == 1 else j >> 1
        k, north = total + coarse.start + row * coarse.nx, north_of(row, coarse)
        i = np.int32(2 * cuda.threadIdx.x + ((j + 1) & 1))
        while i < level.nx:
            value = between(shared, k, i, level, coarse)
            if level.step_y == 2 and j & 1:
                value = real(0.5) * (value + between(shared, k + north, i, level, coarse))
            n = total + level.start + j * level.nx + i
            put(shared, n, got(shared, n) + value)
            i += np.int32(2 * cuda.blockDim.x)
        j += np.int32(cuda.blockDim.y)
    cuda.syncthreads()


class Grids(NamedTuple):
    """Table of the grids, 1 / dx^2 and 1 / dy^2 of each, their points, and whether the axes are periodic."""

    table: Any
    over: Any
    total: int
    periodic_x: int
    periodic_y: int


@cell
def take_up(shared, total, f, q, m, level):
    """Load the right-hand side and the screening of the finest grid, and set the solution of all grids to 0.

    An axis of one point has itself as neighbour with a factor of 0, so its memory must not contain NaN.
    """
    for n in range(cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x, total, cuda.blockDim.x * cuda.blockDim.y):
        put(shared, total + n, real(0.0))
    first, points = np.int64(m) * f.shape[1] * f.shape[2], np.int32(level.ny * level.nx)
    threads = np.int32(cuda.blockDim.x * cuda.blockDim.y)
    n = np.int32(cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x)
    while n < points:  # two at a time, so that both loads are in flight
        other = min(n + threads, points - 1)
        q_n, q_other = load_here(q, np.uint32(n), 0), load_here(q, np.uint32(other), 0)
        f_n, f_other = load_here(f, first, np.uint32(n)), load_here(f, first, np.uint32(other))
        put(shared, n, q_n)
        put(shared, other, q_other)
        put(shared, 2 * total + n, f_n)
        put(shared, 2 * total + other, f_other)
        n += 2 * threads
    cuda.syncthreads()


@entry
def cycle_in_block(u, f, screening, used, grids, sweeps, control):
    """Compute layer m of u by block m: one V(pre, post) cycle for f with a zero initial guess, pre, post > 0.

    used : number of grids of a layer; grids : `Grids`; sweeps : pre, post and the number on the coarsest grid, which is
    pre + post where a layer stops earlier.
    """
    shared = cuda.shared.array(0, word)
    if is_iterating(control):
        table, over, total, periodic_x, periodic_y = grids
        pre, post, last = sweeps
        m, total = cuda.blockIdx.x, np.int32(total)
        count = used[m]
        at_end = last if count == table.shape[0] else pre + post
        numbers = cuda.shared.array((MAX_GRIDS, NUMBERS), np.int32)
        spacings = cuda.shared.array((MAX_GRIDS, 2), word)
        bring_table(numbers, spacings, table, over, periodic_x, periodic_y)
        level = level_of(np.int32(0), numbers, spacings)
        take_up(shared, total, f, screening.q, m, level)
        for step in range(2 * count - 1):  # one code path for all grids: code that runs once must be fetched first
            n = min(step, 2 * count - 2 - step)
            level = level_of(np.int32(n), numbers, spacings)
            coarse = level_of(np.int32(min(n + 1, count - 1)), numbers, spacings)
            repeats = pre if step < count - 1 else (at_end if step == count - 1 else post)
            if step >= count:
                add_coarse(shared, total, level, coarse)
            halves, half = 2 * repeats + (1 if step < count - 1 else 0), 0
            while half < halves:
                mode = 2 if half == 2 * repeats else (1 if half == 0 and step < count else 0)
                half_sweep(shared, total, level, screening.s[m], half & 1, mode)
                half += 1
            if step < count - 1:
                restrict(shared, total, level, coarse)
        level = level_of(np.int32(0), numbers, spacings)
        for j in range(np.int32(cuda.threadIdx.y), level.ny, np.int32(cuda.blockDim.y)):
            for i in range(np.int32(cuda.threadIdx.x), level.nx, np.int32(cuda.blockDim.x)):
                n = np.uint32(j * level.nx + i)
                flat_store(u, np.int64(m) * level.ny * level.nx, n, got(shared, total + n))


"""Placeholder in the launches of a cycle for omitted grids."""

SHORTEST = 64  # minimum number of points along each axis for the streaming kernels


class CudaCycle:
    """V(pre, post) cycles of a `Multigrid` on a GPU, pre and post above 0.

    Parameters
    ----------
    device : Device
    precision : {"single", "double"}
    grids : sequence of Grid
    points : sequence of Points
        Coefficients of the grids.
    s : array on the device, (layers,)
    is_open : bool
        Whether the cycle on the last grid is omitted; `REST` takes its position.
    sweeps : (pre, post)

    Attributes
    ----------
    takes_pairs : bool
        Whether u and f of the finest grid can be 16-bit pairs of layers (`streaming_cuda`).
    """

    def __init__(
        self, device: Device, precision: str, grids: Sequence[Grid], points: Sequence[Any], s: Any,
        is_open: bool = False, sweeps: tuple[int, int] = (1, 1),
    ) -> None:  # fmt: skip
        self.device, self._grids, self._points, self._s = device, list(grids), points, s
        self._real = np.float32 if precision == "single" else np.float64
        self._tuning, block = device.parameters("solver:multigrid.march"), device.parameters("solver:multigrid.block")
        known = {"REGISTERS": self._tuning.registers[precision]}
        self._down, self._up = (
            device.program(one, precision, known) for one in (streaming_cuda.down, streaming_cuda.up)
        )
        self._block = device.program(cycle_in_block, precision, {"REGISTERS": block.registers})
        known = {"REGISTERS": self._tuning.registers_of_pairs}
        self._pairs = [
            device.program(one, precision, known) for one in (streaming_cuda.down_pairs, streaming_cuda.up_pairs)
        ]
        self._is_open = is_open
        self.in_block = len(self._grids) - 1 if is_open else self._first_in_block()
        has_kind = precision == "single" and device.properties.compute_capability >= (8, 0)
        self.takes_pairs = has_kind and self.in_block > 0 and len(grids) > 1 and self.is_streamed(0, sweeps)
        self._always = device.array(np.ones(1))

    def _first_in_block(self) -> int:
        """Return the finest grid that fits shared memory with all coarser ones, or the number of grids."""
        sizes, max_bytes = [grid.shape[0] * grid.shape[1] for grid in self._grids], self.device.properties.shared_block
        word = WORDS * np.dtype(self._real).itemsize
        fits = (n for n in range(len(sizes)) if word * sum(sizes[n:]) + STATIC <= max_bytes)
        return next(fits, len(sizes))

    def is_streamed(self, level: int, sweeps: tuple[int, int]) -> bool:
        """Return whether a grid uses streaming kernels."""
        grid = self._grids[level]
        return sweeps == (1, 1) and (grid.step_y, grid.step_x) == (2, 2) and min(grid.shape) >= SHORTEST

    def launches(
        self,
        level: int,
        arrays: Sequence[tuple[Any, Any, Any]],
        used: Sequence[int],
        sweeps: tuple[int, int],
        last: int,
        plain: Callable[[int, list[Launch]], list[Launch]],
        control: Any = None,
    ) -> list[Launch]:
        """Return the cycle from a grid on, with a zero initial guess.

        Parameters
        ----------
        level : int
        arrays : sequence of (u, f, q)
            Arrays of the grids.
        used : sequence of int
            Number of grids of each layer.
        sweeps : (pre, post)
        last : int
            Number of sweeps on the coarsest grid.
        plain : callable
            ``plain(level, coarser)``: cycle on a grid without a fast kernel, around the cycle on the coarser grids.
        control : array, optional
            Control data of a `StopTest`: launches do nothing after convergence.
        """
        control = self._always if control is None else control
        layers = sum(count > level for count in used)
        if not layers:
            return []
        if self._is_open and level + 1 == len(self._grids):
            return [REST]
        u, f, q = arrays[level]
        screening = Screening(self._s, q)
        if level >= self.in_block:
            return [
                self._in_block(
                    level, u, f, screening, [count - level for count in used[:layers]], sweeps, last, control
                )
            ]
        coarser = level + 1 < len(self._grids)
        coarse_launches = self.launches(level + 1, arrays, used, sweeps, last, plain, control) if coarser else []
        if not coarser or not self.is_streamed(level, sweeps):
            return plain(level, coarse_launches)
        visiting = sum(count > level + 1 for count in used)
        (e, coarse_f, _), stream = arrays[level + 1], self._stream
        going_down, going_up = self._pairs if f.dtype == np.uint32 else (self._down, self._up)
        down = [stream(going_down, level, visiting, f, screening, coarse_f, control=control)] if visiting else []
        return [*down, *coarse_launches, stream(going_up, level, layers, u, f, screening, e, control=control)]

    def _stream(self, program: Any, level: int, count: int, *arguments: Any, control: Any) -> Launch:
        (ny, nx), tuning = self._grids[level].shape, self._tuning
        layers = -(-count // 2) if program in self._pairs else count
        tiles, min_warps = -(-nx // streaming_cuda.STRIP), tuning.busy * self.device.multiprocessors
        rows = next((n for n in tuning.rows if tiles * -(-ny // n) * layers >= min_warps), tuning.rows[-1])
        blocks, block = (tiles, -(-ny // rows), -(-layers // tuning.warps)), (streaming_cuda.LANES, tuning.warps)
        return Launch(program, (*arguments, count, rows, self._points[level], control), blocks, block)

    def _in_block(
        self,
        level: int,
        u: Any,
        f: Any,
        screening: Screening,
        used: list[int],
        sweeps: tuple[int, int],
        last: int,
        control: Any,
    ) -> Launch:
        grids = self._grids[level:]
        table, over, total = table_of(grids)
        columns, rows = threads_of(*grids[0].shape)
        number, table = self.device.array(np.array(used, np.int32)), self.device.array(table)
        over = self.device.array(over.astype(self._real))
        coarsening = Grids(table, over, total, int(grids[0].x.periodic), int(grids[0].y.periodic))
        arguments = (u, f, screening, number, coarsening, (*sweeps, last), control)
        shared = WORDS * total * np.dtype(self._real).itemsize
        return Launch(self._block, arguments, (len(used),), (columns, rows), shared)
