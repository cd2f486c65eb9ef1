"""Kernels of the Dirichlet box on one GPU, bound to arrays: sine transforms of rows, systems of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.solvers.poisson.columns import column_table
from eagre.solvers.poisson.columns_cuda import solve_columns_cuda
from eagre.solvers.poisson.rows_cuda import sine_rows_cuda
from eagre.solvers.poisson.sine_plan import SinePlan, sine_plan

EARLY_END = 2  # `rows_cuda.begin`: to let the next kernel start at once is slower from 129 points on
SECTOR = {"single": 8, "double": 4}  # values of 32 bytes, the least that memory moves: wavenumbers a block of columns
WIDE = 1024  # intervals of a row from which tiles of the spectrum are two sectors wide
BANKS = {"single": 16, "double": 8}  # complex numbers that the banks of shared memory give at once
BESIDE = 2  # pieces of columns whose rows lie side by side in tiles of two sectors: whole lines for a warp
VECTOR = {"single": 4, "double": 2}  # columns of a thread in the update
MORE_THREADS = {(2048, "single"): 192, (2048, "double"): 160, (4096, "double"): 320}
"""Of the update, by intervals of a row: one turn less, and as many blocks at once."""
PART = 16384  # registers of a quarter of a multiprocessor (compute capability 9.0), dealt out warp by warp


def registers(plan: SinePlan, precision: str, update: bool = False) -> int:
    """Registers a thread of kernels that transform rows, measured on an H200 (benchmarks/NOTES.md).

    With too few the values of a thread spill to memory, which costs little as long as everything is in cache and ten
    times the kernel's time when it is not. A quarter of a multiprocessor holds PART / (32 registers) warps: at 112
    registers four, at 96 five, which is two blocks of nine warps in place of one.
    """
    if plan.n > 2048:
        wanted = {"single": 72, "double": 96}[precision]
    elif precision == "single":
        wanted = 96 if plan.n < 2048 else 80
    else:
        wanted = 96 if plan.n == 1024 or (update and plan.n == 2048) else 128
    warps = -(-block_threads(plan, precision, update) // 32)
    return min(wanted, PART // (32 * -(-warps // 4)) // 8 * 8)


def block_threads(plan: SinePlan, precision: str, update: bool) -> int:
    """Threads of a block: as many as the passes use; more where the update of rows then takes fewer turns."""
    if not update:
        return plan.threads
    if plan.row <= 640:
        return max(plan.threads, min(256, -(-plan.row // VECTOR[precision])))
    return MORE_THREADS.get((plan.row, precision), plan.threads)


@dataclass(frozen=True)
class ColumnShape:
    """How a column system is cut: rows a thread owns, wavenumbers a block, threads, registers a thread.

    `inner` : rows of a thread that lie in its registers; the others lie in shared memory.
    """

    own: int
    columns: int
    threads: int
    registers: int
    inner: int

    def shared_bytes(self, itemsize: int) -> int:
        """Dynamic shared memory of a block."""
        return (self.own - self.inner) * self.threads * itemsize


def tile_width(plan: SinePlan, precision: str) -> int:
    """Wavenumbers of a tile of the spectrum; steps along a row end in the same column of another tile."""
    width = SECTOR[precision] * (2 if plan.row >= WIDE else 1)
    return width if plan.threads % width == 0 and plan.inner % width == 0 else SECTOR[precision]


def column_shape(ny: int, precision: str) -> ColumnShape | None:
    """The cut for ny intervals, or None if a block cannot hold the height."""
    columns = SECTOR[precision]
    steps = ((256, 8, 8, 64), (640, 16, 16, 64), (1300, 32, 32, 128), (2048, 64, 64, 128), (4096, 64, 32, 64))
    if precision == "double":
        steps = ((640, 8, 8, 64), (1300, 16, 16, 96), (4096, 32, 32, 128))
    for highest, own, inner, limit in steps:
        if ny <= highest:
            threads = -(-(-(-(ny - 1) // own) * columns) // 32) * 32
            return ColumnShape(own, columns, threads, limit, inner)
    return None


class Box:
    """Launches that transform and solve on arrays with rims, (ny + 1, nx + 1), walls on the rims.

    Parameters
    ----------
    device : Device
        A GPU, or its simulator.
    precision : {"single", "double"}
    nx, ny : int
        Intervals.
    dx, dy : float
        Spacing.
    """

    def __init__(self, device: Device, precision: str, nx: int, ny: int, dx: float, dy: float) -> None:
        self.device, self.precision = device, precision
        self.nx, self.ny, self.dx, self.dy = nx, ny, dx, dy
        self.real = check_precision(precision)
        shape = column_shape(ny, precision)
        if shape is None:
            raise ValueError(f"no column kernel for {ny} intervals")
        self.shape = shape
        plan = sine_plan(nx)
        if plan is None:
            raise ValueError(f"no transform for {nx} intervals")
        self.plan, self.width = plan, tile_width(plan, precision)
        self.beside = BESIDE if self.width > SECTOR[precision] else 1
        self.early = EARLY_END if device.starts_early else 0
        self.table = device.array(self.plan.table.astype(self.real))

    @staticmethod
    def serves(nx: int, ny: int, precision: str) -> bool:
        """Whether a box of that size can be solved."""
        return sine_plan(nx) is not None and column_shape(ny, precision) is not None

    def spectrum(self) -> Any:
        """An array for the transform of the rows, in tiles (`rows_cuda.first_place`)."""
        group = self.shape.own * self.beside if self.beside > 1 else 1
        return self.device.zeros((-(-self.nx // self.width), -(-self.ny // group) * group, self.width), self.real)

    @property
    def tiles(self) -> dict[str, int]:
        """Switches that say how a spectrum lies in memory (`rows_cuda.first_place`)."""
        return {"WIDTH": self.width, "PIECE": self.shape.own, "BESIDE": self.beside}

    def geometry(self, update: bool = False, back: bool = False) -> tuple[tuple[int], tuple[int], int]:
        """Grid, block and shared memory of kernels that transform rows (and update them first), `back`: to a field."""
        threads, blocks = block_threads(self.plan, self.precision, update), self.ny // 2
        if back and self.beside > 1:  # `rows_cuda.rows_of_block`
            groups, rest = divmod(self.ny - 1, 2 * self.shape.own)
            blocks = groups * self.shape.own + min(rest, self.shape.own)
        return (blocks,), (threads,), self.plan.shared_bytes(np.dtype(self.real).itemsize)

    def switches(self, update: bool = False) -> dict[str, Any]:
        """Switches of kernels that transform rows; `update`: of one that makes the field first."""
        threads = block_threads(self.plan, self.precision, update)
        vector = VECTOR[self.precision]
        width = {
            **self.tiles,
            "TO_TILES": True,
            "THREADS": threads,
            "VECTOR": vector,
            "SPAN": vector + 2,
        }
        limits = {"REGISTERS": registers(self.plan, self.precision, update), "BANKS": BANKS[self.precision]}
        limits["EARLY"] = self.early
        return {**self.plan.switches(), **width, **limits}

    def rows(self, source: Any, out: Any) -> Launch:
        """Sine transforms along the rows of a field into a spectrum, or of a spectrum into a field."""
        switches = {**self.switches(), "FROM_TILES": source.ndim == 3, "TO_TILES": out.ndim == 3}
        program = self.device.program(sine_rows_cuda, self.precision, switches)
        return Launch(program, (source, out, self.table), *self.geometry(back=source.ndim == 3), early=self.early > 0)

    def columns(self, spectrum: Any, screening: float = 0.0, factor: float = 1.0, walls: bool = True) -> Launch:
        """Solve (Lap - screening) psi = factor zeta on transformed rows, in place; `walls` as of `column_table`."""
        shape = self.shape
        table = column_table(self.nx, self.ny, self.dx, self.dy, screening, shape.own, factor, walls)
        blocks = -(-self.nx // shape.columns)
        switches = {"OWN": shape.own, "INNER": shape.inner, "COLUMNS": shape.columns, "THREADS": shape.threads}
        switches |= {**self.tiles, "REGISTERS": shape.registers}
        alone = 2 * shape.registers * shape.threads > 4 * PART  # a multiprocessor holds no second block
        ahead = self.device.multiprocessors if alone and self.early else 0
        switches |= {"EARLY": self.early, "AHEAD": ahead}
        program = self.device.program(solve_columns_cuda, self.precision, switches)
        flat = spectrum.reshape(-1)
        table = self.device.array(table.astype(self.real))
        arguments = (flat, flat, table, np.int32(self.ny + 1), np.int32(spectrum.shape[1]))
        shared = shape.shared_bytes(np.dtype(self.real).itemsize)
        return Launch(program, arguments, (blocks,), (shape.threads,), shared, early=self.early > 0)


class ArrayBox:
    """A `Box` for right-hand sides without rims."""

    def __init__(self, box: Box, screening: float) -> None:
        self.box = box
        self._field = box.device.zeros((box.ny + 1, box.nx + 1), box.real)
        spectrum = box.spectrum()
        self._launches = [
            box.rows(self._field, spectrum), box.columns(spectrum, screening), box.rows(spectrum, self._field)
        ]  # fmt: skip

    @classmethod
    def of(cls, solver: Any, device: Device, precision: str) -> ArrayBox | None:
        """The box of a `PoissonSolver`, or None where its kernels do not serve."""
        axes = solver.axes
        walls = all(axis.boundary == "dirichlet" and axis.location == "points" for axis in axes)
        if len(axes) != 2 or not walls or solver.symbol != "five-point":
            return None
        (my, mx), (dy, dx) = solver.shape, (axis.h for axis in axes)
        if min(my, mx) < 3 or not Box.serves(mx + 1, my + 1, precision):
            return None
        return cls(Box(device, precision, mx + 1, my + 1, dx, dy), solver.screening)

    def solve(self, f: Any) -> Any:
        """Psi, a new array."""
        device = self.box.device
        device.synchronize()
        self._field[1:-1, 1:-1] = f
        _finish(f)
        device.run(self._launches)
        device.synchronize()
        return self._field[1:-1, 1:-1].copy()


def _finish(f: Any) -> None:
    """Wait for the stream on which the caller works."""
    from eagre.backend.arrays import array_module, on_gpu

    if on_gpu(f):
        array_module(f).cuda.get_current_stream().synchronize()
