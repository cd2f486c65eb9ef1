"""Launches of each method for arrays (outer, n, inner) with systems along the middle axis."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.solvers.tridiagonal import columns, partition, reduction_cuda, thomas
from eagre.solvers.tridiagonal.choice import CELLS

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
    side_by_side, threads = inner > 1, getattr(device, "threads", 1)
    share = -(-outer * inner // (thomas.LINES * threads)) * thomas.LINES
    width = min(thomas.COLUMNS, inner, share) if side_by_side else thomas.LINES
    blocks = outer * -(-inner // width) if side_by_side else -(-outer // width)
    workers = min(threads, blocks)
    scratch = np.zeros((workers, rows, width if side_by_side else 2 * width), b.dtype)
    if side_by_side:
        return Launch(device.program(thomas.thomas_columns_cpu, precision), (*flat, x, scratch))
    tiles = np.ones((workers, 4 * thomas.TILE * thomas.LINES), b.dtype)
    lines = [array.reshape(outer, rows) for array in (*flat, x)]
    return Launch(device.program(thomas.thomas_rows_cpu, precision), (*lines, scratch, tiles))


class Cut(NamedTuple):
    """Partition of systems into blocks."""

    entry: Any
    switches: dict[str, Any]
    arrays: list[Any]
    grid: tuple[int, int]  # strips or lines, blocks of each
    block: tuple[int, int]
    shared: int  # shared memory per block, bytes
    lanes: int  # adjacent lines
    lines: int
    pieces: int  # partitions per line


def _cut(device: Device, precision: str, flat: list[Any], x: Any) -> Cut:
    outer, rows, inner = flat[1].shape
    if inner > 1:
        layout = device.parameters("solver:tridiagonal.columns")
        grid = (outer * -(-inner // 32), -(-rows // (layout.rows * layout.threads)))
        shared = columns.shared_bytes(layout.rows, layout.threads, flat[1].dtype.itemsize)
        switches = {"ROWS": layout.rows, "THREADS": layout.threads, "REGISTERS": layout.registers[precision]}
        arrays = [*flat, x]
        lines = 32 * grid[0]
        return Cut(partition.columns_cuda, switches, arrays, grid, (32, layout.threads), shared, 32, lines, grid[1])
    layout = device.parameters("solver:tridiagonal.lines")
    warps = min(layout.warps, -(-rows // CELLS))
    grid = (outer, -(-rows // (CELLS * warps)))
    switches = {"WARPS": warps, "VECTORS": rows % 4 == 0, "REGISTERS": layout.registers[precision]}
    arrays = [array.reshape(outer, rows) for array in (*flat, x)]
    return Cut(partition.rows_cuda, switches, arrays, grid, (32, warps), 0, 1, outer, grid[1] * warps)


def _partition(device: Device, precision: str, flat: list[Any], x: Any) -> list[Launch]:
    """Return the fast pass, then the exact passes, which return immediately if they are not needed."""
    cut = _cut(device, precision, flat, x)
    told, seams, flags, guard = _workspace(device, precision, cut.lines * cut.pieces, cut.grid[0] * cut.grid[1])
    device.copy(guard, guard * 0)
    epsilon, total = EPSILON[precision], cut.grid[0] * cut.grid[1]
    modes = (columns.ALONE,) if cut.pieces == 1 else (columns.EXCHANGE, columns.REDUCE, None, columns.FINISH)
    block, few = (device.parameters(f"solver:tridiagonal.{name}") for name in ("seams", "exact"))
    made = []
    for mode in modes:
        if mode is None:
            program = device.program(columns.seams_cuda, precision, {"LANES": cut.lanes, "GATE": epsilon})
            blocks = (-(-cut.lines // block.threads),)
            made.append(Launch(program, (told, seams, guard, cut.pieces, cut.lines), blocks, (block.threads,)))
            continue
        program = device.program(cut.entry, precision, {**cut.switches, "MODE": mode, "EPSILON": epsilon})
        blocks = cut.grid if mode in (columns.ALONE, columns.EXCHANGE) else (min(total, few.blocks),)
        arguments = (*cut.arrays, told, seams, flags, guard, total, cut.grid[1])
        launch = Launch(program, arguments, blocks, cut.block, cut.shared)
        again = mode == columns.EXCHANGE and device.target == "simulator"
        made += [launch] * (2 if again else 1)
    return made


@lru_cache(maxsize=4)
def _workspace(device: Device, precision: str, pieces: int, blocks: int) -> tuple[Any, Any, Any, Any]:
    """Return arrays for published values, interface unknowns, flags of blocks and the guard."""
    real, bits = (np.float32, np.int32) if precision == "single" else (np.float64, np.int64)
    return (
        device.zeros((columns.WORDS * pieces,), real),
        device.zeros((2 * pieces,), real),
        device.zeros((blocks + 1,), np.uint32),
        device.zeros((1,), bits),
    )
