"""Kernels of the Dirichlet box on one GPU: sine transforms of rows, and column systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.layouts.kinds import row_for
from eagre.solvers.poisson.columns import column_table
from eagre.solvers.poisson.columns_cuda import solve_columns_cuda
from eagre.solvers.poisson.rows_cuda import LayerPair, sine_layers_cuda, sine_rows_cuda, store_layers, store_modes
from eagre.solvers.poisson.sine_plan import SinePlan, sine_plan

SECTOR = {"single": 8, "double": 4}  # values per 32-byte sector; wavenumbers per block of columns
BANKS = {"single": 16, "double": 8}  # complex values per shared-memory access
VECTOR = {"single": 4, "double": 2}  # columns per thread in the update: 16 bytes


def plan_for(device: Device, nx: int) -> SinePlan | None:
    """Return the transform plan for rows of nx intervals on a device; None if they are too long."""
    threads = device.parameters("solver:poisson.transform").threads
    return sine_plan(nx, {row["length"]: row["threads"] for row in threads})


def registers(device: Device, plan: SinePlan, precision: str, update: bool = False) -> int:
    """Return the registers per thread of kernels that transform rows.

    With too few registers values spill to memory, which costs little in the cache and ten times the kernel time
    otherwise. But a block must fit: an SM sub-partition holds four warps of 112 registers or five of 96,
    which gives two blocks of nine warps instead of one.
    """
    tuning = device.parameters("solver:poisson.transform")
    row = row_for((tuning.registers_of_update if update else tuning.registers)[precision], plan.n)
    warps = -(-block_threads(device, plan, precision, update) // 32)
    max_registers = device.properties.registers_for(warps)
    return max_registers if row is None else min(row["registers"], max_registers)


def block_threads(device: Device, plan: SinePlan, precision: str, update: bool) -> int:
    """Return the threads per block: those of the passes; more if the update of rows then needs fewer iterations."""
    if not update:
        return plan.threads
    tuning = device.parameters("solver:poisson.transform")
    if plan.row <= tuning.short_rows:
        return max(plan.threads, min(tuning.short_threads, -(-plan.row // VECTOR[precision])))
    more = {row["intervals"]: row["threads"] for row in tuning.threads_of_update[precision]}
    return more.get(plan.row, plan.threads)


@dataclass(frozen=True)
class ColumnShape:
    """Partition of column systems: rows per thread, wavenumbers per block, threads, registers per thread."""

    chunk_rows: int
    columns: int
    threads: int
    registers: int


def tile_width(device: Device, plan: SinePlan, precision: str) -> int:
    """Return the wavenumbers per tile of the spectrum; strides along a row end in the same column of another tile."""
    width = SECTOR[precision] * (2 if plan.row >= device.parameters("solver:poisson.tiles").wide_from else 1)
    return width if plan.threads % width == 0 and plan.inner % width == 0 else SECTOR[precision]


def column_shape(device: Device, ny: int, precision: str) -> ColumnShape | None:
    """Return the partition for ny intervals, or None if a block cannot hold a column."""
    partition, columns = row_for(device.parameters("solver:poisson.columns").cuts[precision], ny), SECTOR[precision]
    if partition is None:
        return None
    threads = -(-(-(-(ny - 1) // partition["own"]) * columns) // 32) * 32
    return ColumnShape(partition["own"], columns, threads, partition["registers"])


class Box:
    """Launches that transform and solve on arrays with boundary points, (ny + 1, nx + 1).

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
        shape = column_shape(device, ny, precision)
        if shape is None:
            raise ValueError(f"There is no column kernel for {ny} intervals.")
        self.shape = shape
        plan = plan_for(device, nx)
        if plan is None:
            raise ValueError(f"There is no transform for {nx} intervals.")
        self.plan, self.width = plan, tile_width(device, plan, precision)
        self.interleaved = (
            device.parameters("solver:poisson.tiles").side_by_side if self.width > SECTOR[precision] else 1
        )
        self.early = device.parameters("solver:poisson.overlap").release if device.starts_early else 0
        self.table = device.array(self.plan.table.astype(self.real))

    @staticmethod
    def serves(device: Device, nx: int, ny: int, precision: str) -> bool:
        """Return whether a box of this size is supported: a block must hold a row, and a column."""
        plan = plan_for(device, nx)
        if plan is None or column_shape(device, ny, precision) is None:
            return False
        return plan.shared_bytes(np.dtype(check_precision(precision)).itemsize) <= device.properties.shared_block

    def spectrum(self) -> Any:
        """Return an array for the transform of the rows, in tiles (`rows_cuda.first_index`)."""
        group = self.shape.chunk_rows * self.interleaved if self.interleaved > 1 else 1
        return self.device.zeros((-(-self.nx // self.width), -(-self.ny // group) * group, self.width), self.real)

    @property
    def tiles(self) -> dict[str, int]:
        """Switches for the memory layout of a spectrum (`rows_cuda.first_index`)."""
        return {"WIDTH": self.width, "PIECE": self.shape.chunk_rows, "INTERLEAVED": self.interleaved}

    def geometry(
        self, update: bool = False, back: bool = False, layers: bool = False
    ) -> tuple[tuple[int], tuple[int], int]:
        """Return grid, block and shared memory of kernels that (update and) transform rows.

        back : two rows of a spectrum per block, to a field; layers : a row of each of two layers per block.
        """
        threads = block_threads(self.device, self.plan, self.precision, update)
        blocks = self.ny - 1 if layers else self.ny // 2
        if back and self.interleaved > 1:  # `rows_cuda.rows_of_block`
            groups, remaining = divmod(self.ny - 1, 2 * self.shape.chunk_rows)
            blocks = groups * self.shape.chunk_rows + min(remaining, self.shape.chunk_rows)
        return (blocks,), (threads,), self.plan.shared_bytes(np.dtype(self.real).itemsize)

    def switches(self, update: bool = False) -> dict[str, Any]:
        """Return the switches of kernels that transform rows; `update` : of a kernel that computes the field first."""
        threads = block_threads(self.device, self.plan, self.precision, update)
        vector = VECTOR[self.precision]
        width = {
            **self.tiles,
            "TO_TILES": True,
            "THREADS": threads,
            "VECTOR": vector,
            "SPAN": vector + 2,
        }
        limit = registers(self.device, self.plan, self.precision, update)
        limits = {"REGISTERS": limit, "BANKS": BANKS[self.precision], "EARLY": self.early}
        return {**self.plan.switches(), **width, **limits}

    def rows(self, source: Any, out: Any) -> Launch:
        """Return a launch of sine transforms of the rows of a field to a spectrum, or of a spectrum to a field."""
        switches = {**self.switches(), "FROM_TILES": source.ndim == 3, "TO_TILES": out.ndim == 3}
        program = self.device.program(sine_rows_cuda, self.precision, switches)
        return Launch(program, (source, out, self.table), *self.geometry(back=source.ndim == 3), early=self.early > 0)

    def layer_rows(self, source: Sequence[Any], out: LayerPair) -> Launch:
        """Return a launch of sine transforms of two layers to spectra of their vertical modes, or back."""
        back = source[0].ndim == 3
        switches = {"FROM_TILES": back, "TO_TILES": not back, "STORE": store_layers if back else store_modes}
        program = self.device.program(sine_layers_cuda, self.precision, {**self.switches(), **switches})
        return Launch(program, (*source, out, self.table), *self.geometry(layers=True), early=self.early > 0)

    def columns(self, spectrum: Any, screening: float = 0.0, factor: float = 1.0, walls: bool = True) -> Launch:
        """Return a launch that solves (Lap - screening) psi = factor zeta on transformed rows in place.

        walls : see `column_table`.
        """
        shape = self.shape
        table = column_table(self.nx, self.ny, self.dx, self.dy, screening, shape.chunk_rows, factor, walls)
        blocks = -(-self.nx // shape.columns)
        switches = {"OWN": shape.chunk_rows, "COLUMNS": shape.columns, "REGISTERS": shape.registers}
        switches |= {"EARLY": self.early, **self.tiles}
        program = self.device.program(solve_columns_cuda, self.precision, switches)
        flat = spectrum.reshape(-1)
        table = self.device.array(table.astype(self.real))
        arguments = (flat, flat, table, np.int32(self.ny + 1), np.int32(spectrum.shape[1]))
        return Launch(program, arguments, (blocks,), (shape.threads,), early=self.early > 0)


class ArrayBox:
    """`Box` for right-hand sides without boundary points."""

    def __init__(self, box: Box, screening: float) -> None:
        self.box = box
        self._field = box.device.zeros((box.ny + 1, box.nx + 1), box.real)
        spectrum = box.spectrum()
        self._launches = [
            box.rows(self._field, spectrum), box.columns(spectrum, screening), box.rows(spectrum, self._field)
        ]  # fmt: skip

    @classmethod
    def of(cls, solver: Any, device: Device, precision: str) -> ArrayBox | None:
        """Return the box of a `PoissonSolver`, or None if its kernels do not support the problem."""
        axes = solver.axes
        walls = all(axis.boundary == "dirichlet" and axis.location == "points" for axis in axes)
        if len(axes) != 2 or not walls or solver.symbol != "five-point":
            return None
        (my, mx), (dy, dx) = solver.shape, (axis.h for axis in axes)
        if min(my, mx) < 3 or not Box.serves(device, mx + 1, my + 1, precision):
            return None
        return cls(Box(device, precision, mx + 1, my + 1, dx, dy), solver.screening)

    def solve(self, f: Any) -> Any:
        """Return psi as a new array."""
        device = self.box.device
        device.synchronize()
        self._field[1:-1, 1:-1] = f
        _finish(f)
        device.run(self._launches)
        device.synchronize()
        return self._field[1:-1, 1:-1].copy()


def _finish(f: Any) -> None:
    """Wait for the stream of the caller."""
    from eagre.backend.device import array_module, on_gpu

    if on_gpu(f):
        array_module(f).cuda.get_current_stream().synchronize()
