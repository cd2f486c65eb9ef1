"""Kernels of the Dirichlet box on one GPU, bound to arrays: sine transforms of rows, systems of columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.solvers.poisson.columns import column_table
from eagre.solvers.poisson.columns_cuda import solve_columns_ahead_cuda, solve_columns_cuda
from eagre.solvers.poisson.rows_cuda import sine_rows_cuda
from eagre.solvers.poisson.sine_plan import SinePlan, sine_plan

LAST_USE: frozenset[bool] = frozenset()
ASKING: frozenset[str] = frozenset(["copies"])
EARLY_END = 2  # `rows_cuda.begin`: to let the next kernel start at once is slower from 129 points on
SECTOR = {"single": 8, "double": 4}  # values of 32 bytes, the least that memory moves: wavenumbers a block of columns
PIECE = {"single": 4, "double": 2}  # columns of a thread in the update
WIDER = 2
WIDE = 2048  # intervals of a row from which tiles of the spectrum are as wide as a line of memory
PART, SHARED = 16384, 227 * 1024  # registers of a quarter, bytes of a multiprocessor (compute capability 9.0)


def registers(plan: SinePlan, precision: str, update: bool = False) -> int:
    """Registers a thread of kernels that transform rows, measured on an H200 (benchmarks/NOTES.md).

    With too few the values of a thread spill to memory, which costs little as long as everything is in
    cache and ten times the kernel's time when it is not.
    """
    if plan.threads > 512:
        wanted = {"single": 80 if update else 56, "double": 96}[precision]
    elif plan.n > 2048:
        wanted = 96
    elif precision == "single":
        wanted = 96 if plan.n < 2048 else 80
    else:
        wanted = 96 if plan.n == 1024 else 128
    return min(wanted, PART // (32 * -(-block_threads(plan, precision, update) // 128)) // 8 * 8)


def blocks_at_once(threads: int, registers: int, shared: int) -> int:
    """Blocks that a multiprocessor holds: its four parts deal out registers warp by warp."""
    warps = -(-threads // 32)
    held = 4 * (PART // (32 * (-(-registers // 8) * 8)))
    return min(held // warps, SHARED // (shared + 1024), 64 // warps)


def block_threads(plan: SinePlan, precision: str, update: bool) -> int:
    """Threads of a block: as many as the passes use; more for the update of short rows, which then waits once."""
    if update and plan.row <= 640:
        return max(plan.threads, min(256, -(-(plan.row + 1) // PIECE[precision])))
    return plan.threads


@dataclass(frozen=True)
class ColumnShape:
    """How a column system is cut: rows a thread owns, wavenumbers a block, threads, registers a thread."""

    own: int
    columns: int
    threads: int
    registers: int


COLUMN_STEPS = {
    "single": ((256, 8, 8, 64), (640, 16, 8, 64), (1300, 32, 8, 128), (4096, 64, 8, 128)),
    "double": ((640, 8, 4, 64), (1300, 16, 4, 96), (4096, 32, 4, 128)),
}
"""Up to how many intervals -> rows a thread owns, wavenumbers a block, registers a thread; by measurement."""


def tile_width(plan: SinePlan, precision: str) -> int:
    """Wavenumbers of a tile of the spectrum; steps along a row end in the same column of another tile."""
    width = SECTOR[precision] * (WIDER if plan.row >= WIDE else 1)
    return width if plan.threads % width == 0 and plan.inner % width == 0 else SECTOR[precision]


def column_shape(ny: int, precision: str) -> ColumnShape | None:
    """The cut for ny intervals, or None if a block cannot hold the height."""
    for highest, own, columns, limit in COLUMN_STEPS[precision]:
        if ny <= highest:
            threads = -(-(-(-(ny - 1) // own) * columns) // 32) * 32
            return ColumnShape(own, columns, threads, limit)
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
        self.early = EARLY_END if device.starts_early else 0
        self.table = device.array(self.plan.table.astype(self.real))

    @staticmethod
    def serves(nx: int, ny: int, precision: str) -> bool:
        """Whether a box of that size can be solved."""
        return sine_plan(nx) is not None and column_shape(ny, precision) is not None

    def spectrum(self) -> Any:
        """An array for the transform of the rows: tiles of as many wavenumbers as a block of columns holds."""
        return self.device.zeros((-(-self.nx // self.width), self.ny, self.width), self.real)

    def geometry(self, update: bool = False) -> tuple[tuple[int], tuple[int], int]:
        """Grid, block and shared memory of kernels that transform rows (and update them first)."""
        return (
            (self.ny // 2,),
            (block_threads(self.plan, self.precision, update),),
            self.plan.shared_bytes(np.dtype(self.real).itemsize),
        )

    def switches(self, update: bool = False) -> dict[str, Any]:
        """Switches of kernels that transform rows; `update`: of one that makes the field first."""
        (blocks,), (threads,), shared = self.geometry(update)
        limit = registers(self.plan, self.precision, update)
        width = {"WIDTH": self.width, "TO_TILES": True, "THREADS": threads}
        ahead = self._ahead("update" if update else "rows", blocks, threads, limit, shared)
        return {**self.plan.switches(), **width, "REGISTERS": limit, "EARLY": self.early, "AHEAD": ahead}

    def _ahead(self, kernel: str, blocks: int, threads: int, registers: int, shared: int = 0) -> int:
        """Blocks that the card works on at once, if more are to come: what the next ones read is asked for."""
        if kernel not in ASKING or not self.device.starts_early:
            return 0
        at_once = max(1, blocks_at_once(threads, registers, shared)) * self.device.multiprocessors
        return at_once if at_once < blocks else 0

    def rows(self, source: Any, out: Any) -> Launch:
        """Sine transforms along the rows of a field into a spectrum, or of a spectrum into a field."""
        switches = {**self.switches(), "FROM_TILES": source.ndim == 3, "TO_TILES": out.ndim == 3}
        switches["LAST_USE"] = (source.ndim == 3) in LAST_USE
        program = self.device.program(sine_rows_cuda, self.precision, switches)
        return Launch(program, (source, out, self.table), *self.geometry(), early=self.early > 0)

    def columns(self, spectrum: Any, screening: float = 0.0, factor: float = 1.0) -> Launch:
        """Solve (Lap - screening) psi = factor zeta on transformed rows, in place."""
        shape = self.shape
        table = column_table(self.nx, self.ny, self.dx, self.dy, screening, shape.own, factor)
        blocks = -(-self.nx // shape.columns)
        switches = {"OWN": shape.own, "COLUMNS": shape.columns, "WIDTH": self.width, "REGISTERS": shape.registers}
        ahead = self._ahead("columns", blocks, shape.threads, shape.registers)
        switches |= {"EARLY": self.early, "AHEAD": ahead}
        at_once = blocks_at_once(shape.threads, shape.registers, 0) * self.device.multiprocessors
        entry, stage = solve_columns_cuda, 0
        if "copies" in ASKING and blocks > at_once:
            blocks, entry = at_once, solve_columns_ahead_cuda
            stage = shape.threads * (shape.own + 1) * np.dtype(self.real).itemsize
        program = self.device.program(entry, self.precision, switches)
        flat = spectrum.reshape(-1)
        arguments = (flat, flat, self.device.array(table.astype(self.real)), np.int32(self.ny + 1))
        return Launch(program, arguments, (blocks,), (shape.threads,), stage, early=self.early > 0)


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
