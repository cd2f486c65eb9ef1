"""Choice of a method, and its launches for arrays (outer, n, inner) with systems along the middle axis.

The choice follows measurements with `benchmarks/tridiagonal.py --choice`. On a GPU the partition method is the fastest
for many or long systems, but it needs four launches if a line is longer than one partition (128 unknowns if they are
contiguous in memory, the rows of a block along other axes). These launches are two thirds of the 12 to 17 us of small
batches, for which one launch of a reduction is faster.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.solvers.tridiagonal import columns, partition, reduction_cuda, thomas
from eagre.solvers.tridiagonal.link import Coupling

EPSILON = {"single": 1e-8, "double": 1e-17}


def launches(device: Device, precision: str, flat: list[Any], x: Any, method: str) -> list[Launch]:
    """Return launches that solve a, b, c, d into x by a method with kernels on the device."""
    if method == "thomas":
        return [_thomas(device, precision, flat, x)]
    if method == "partition":
        return _partition(device, precision, flat, x)
    return [reduction_cuda.launch_of(device, precision, flat, x, method)]


def _thomas(device: Device, precision: str, flat: list[Any], x: Any) -> Launch:
    b = flat[1]
    outer, rows, inner = b.shape
    if device.kind == "cuda":
        program = device.program(thomas.thomas_cuda, precision)
        store, block = device.zeros(b.shape, b.dtype), device.parameters("solver:tridiagonal.thomas").threads
        return Launch(program, (*flat, x, store), (-(-outer * inner // block),), (block,))
    strided, threads = inner > 1, getattr(device, "threads", 1)
    columns_each = -(-outer * inner // (thomas.LINES * threads)) * thomas.LINES
    width = min(thomas.COLUMNS, inner, columns_each) if strided else thomas.LINES
    blocks = outer * -(-inner // width) if strided else -(-outer // width)
    workers = min(threads, blocks)
    scratch = np.zeros((workers, rows, width if strided else 2 * width), b.dtype)
    if strided:
        return Launch(device.program(thomas.thomas_columns_cpu, precision), (*flat, x, scratch))
    tiles = np.ones((workers, 4 * thomas.TILE * thomas.LINES), b.dtype)
    lines = [array.reshape(outer, rows) for array in (*flat, x)]
    return Launch(device.program(thomas.thomas_rows_cpu, precision), (*lines, scratch, tiles))


class PartitionPlan(NamedTuple):
    """Partition of systems into blocks."""

    entry: Any
    switches: dict[str, Any]
    arrays: tuple[Any, ...]
    grid: tuple[int, int]  # groups of columns or lines, blocks of each
    block: tuple[int, int]
    shared: int  # shared memory per block, bytes
    lanes: int  # adjacent lines
    lines: int
    partitions: int  # partitions per line


def _partition_plan(device: Device, precision: str, flat: list[Any], x: Any) -> PartitionPlan:
    outer, rows, inner = flat[1].shape
    if inner > 1:
        parameters = device.parameters("solver:tridiagonal.columns")
        grid = (outer * -(-inner // 32), -(-rows // (parameters.rows * parameters.threads)))
        shared = columns.shared_bytes(parameters.rows, parameters.threads, flat[1].dtype.itemsize)
        registers = parameters.registers[precision]
        switches = {"ROWS": parameters.rows, "THREADS": parameters.threads, "REGISTERS": registers}
        arrays = (*flat, x)
        lines = 32 * grid[0]
        block = (32, parameters.threads)
        return PartitionPlan(partition.columns_cuda, switches, arrays, grid, block, shared, 32, lines, grid[1])
    parameters = device.parameters("solver:tridiagonal.lines")
    warps = min(parameters.warps, -(-rows // CELLS))
    grid = (outer, -(-rows // (CELLS * warps)))
    switches = {"WARPS": warps, "VECTORS": rows % 4 == 0, "REGISTERS": parameters.registers[precision]}
    arrays = tuple(array.reshape(outer, rows) for array in (*flat, x))
    return PartitionPlan(partition.rows_cuda, switches, arrays, grid, (32, warps), 0, 1, outer, grid[1] * warps)


def _partition(device: Device, precision: str, flat: list[Any], x: Any) -> list[Launch]:
    """Return the fast pass, then the exact passes, which return immediately if they are not needed."""
    plan = _partition_plan(device, precision, flat, x)
    epsilon, total = EPSILON[precision], plan.grid[0] * plan.grid[1]
    coupling = _workspace(device, precision, plan.lines * plan.partitions, total)
    device.copy(coupling.guard, coupling.guard * 0)
    modes = (columns.ALONE,) if plan.partitions == 1 else (columns.EXCHANGE, columns.REDUCE, None, columns.FINISH)
    block, few = (device.parameters(f"solver:tridiagonal.{name}") for name in ("seams", "exact"))
    passes = []
    for mode in modes:
        if mode is None:
            program = device.program(columns.interfaces_cuda, precision, {"LANES": plan.lanes, "GATE": epsilon})
            blocks = (-(-plan.lines // block.threads),)
            arguments = (coupling.table, coupling.interfaces, coupling.guard, plan.partitions, plan.lines)
            passes.append(Launch(program, arguments, blocks, (block.threads,)))
            continue
        program = device.program(plan.entry, precision, {**plan.switches, "MODE": mode, "EPSILON": epsilon})
        blocks = plan.grid if mode in (columns.ALONE, columns.EXCHANGE) else (min(total, few.blocks),)
        arguments = (plan.arrays[:4], plan.arrays[4], coupling, total, plan.grid[1])
        launch = Launch(program, arguments, blocks, plan.block, plan.shared)
        again = mode == columns.EXCHANGE and device.target == "simulator"
        passes += [launch] * (2 if again else 1)
    return passes


@lru_cache(maxsize=4)
def _workspace(device: Device, precision: str, partitions: int, blocks: int) -> Coupling:
    """Return arrays for published values, interface unknowns, flags of blocks and the guard."""
    real, bits = (np.float32, np.int32) if precision == "single" else (np.float64, np.int64)
    return Coupling(
        device.zeros((columns.WORDS * partitions,), real),
        device.zeros((2 * partitions,), real),
        device.zeros((blocks + 1,), np.uint32),
        device.zeros((1,), bits),
    )


CELLS = 128  # rows per warp for contiguous systems


def best_method(device: Device, outer: int, rows: int, inner: int, itemsize: int) -> str:
    """Return the method for arrays (outer, n, inner) on a device."""
    if device.kind == "cpu":
        return "thomas"
    limits, systems = device.parameters("solver:tridiagonal.choice"), outer * inner
    block = device.parameters("solver:tridiagonal.columns")
    if inner == 1:
        longest = limits.longest_of_few if systems <= limits.few else limits.longest
        if CELLS < rows <= longest and systems <= limits.some:
            return "pcr"
    elif itemsize == 8 and systems <= limits.some and block.rows * block.threads < rows <= limits.longest:
        if rows & (rows - 1) == 0:  # no padding
            return "pcr"
        if rows < limits.longest_padded:
            return "cr-pcr"
    return "partition"
