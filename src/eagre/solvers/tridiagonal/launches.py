"""How each method is launched for arrays (outer, n, inner) whose systems run along the middle axis."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.solvers.tridiagonal import columns, partition, reduction_cuda, thomas

EPSILON = {"single": 1e-8, "double": 1e-17}
TILE_ROWS, TILE_THREADS, TILE_WARPS = 8, 8, 8
EXACT_BLOCKS = 528  # of the exact passes, which mostly return at once


def launches(device: Device, precision: str, flat: list[Any], x: Any, method: str) -> list[Launch]:
    """Launches that solve a, b, c, d into x by a method that the device has as kernels."""
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
        store = device.zeros(b.shape, b.dtype)
        return Launch(program, (*flat, x, store), (-(-outer * inner // 64),), (64,))
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


def _partition(device: Device, precision: str, flat: list[Any], x: Any) -> list[Launch]:
    """The quick pass, then the exact ones, which return at once where they are not needed."""
    outer, rows, inner = flat[1].shape
    itemsize = flat[1].dtype.itemsize
    if inner > 1:
        strips, segments = outer * -(-inner // 32), -(-rows // (TILE_ROWS * TILE_THREADS))
        shape: tuple[Any, Any] = ((strips, segments), (32, TILE_THREADS))
        shared = columns.shared_bytes(TILE_ROWS, TILE_THREADS, itemsize)
        entry, lanes, lines, pieces = partition.columns_cuda, 32, 32 * strips, segments
        switches: dict[str, Any] = {"ROWS": TILE_ROWS, "THREADS": TILE_THREADS}
        switches["REGISTERS"] = 64 if itemsize == 4 else 80
        arrays = [*flat, x]
    else:
        warps = min(TILE_WARPS, -(-rows // 128))
        segments = -(-rows // (128 * warps))
        shape, shared = ((outer, segments), (32, warps)), 0
        entry, lanes, lines, pieces = partition.rows_cuda, 1, outer, segments * warps
        switches = {"WARPS": warps, "VECTORS": rows % 4 == 0, "REGISTERS": 64 if itemsize == 4 else 96}
        arrays = [array.reshape(outer, rows) for array in (*flat, x)]
    told, seams, flags, guard = _workspace(device, precision, lines * pieces, shape[0][0] * shape[0][1])
    device.copy(guard, guard * 0)
    epsilon, total = EPSILON[precision], shape[0][0] * shape[0][1]
    alone = pieces == 1
    modes = (columns.ALONE,) if alone else (columns.EXCHANGE, columns.REDUCE, None, columns.FINISH)
    made = []
    for mode in modes:
        if mode is None:
            program = device.program(columns.seams_cuda, precision, {"LANES": lanes, "GATE": epsilon})
            made.append(Launch(program, (told, seams, guard, pieces, lines), (-(-lines // 64),), (64,)))
            continue
        program = device.program(entry, precision, {**switches, "MODE": mode, "EPSILON": epsilon})
        blocks = shape[0] if mode in (columns.ALONE, columns.EXCHANGE) else (min(total, EXACT_BLOCKS),)
        arguments = (*arrays, told, seams, flags, guard, total, segments)
        launch = Launch(program, arguments, blocks, shape[1], shared)
        again = mode == columns.EXCHANGE and device.target == "simulator"
        made += [launch] * (2 if again else 1)
    return made


@lru_cache(maxsize=4)
def _workspace(device: Device, precision: str, pieces: int, blocks: int) -> tuple[Any, Any, Any, Any]:
    """What pieces tell, their seams, the blocks' flags and the guard."""
    real, bits = (np.float32, np.int32) if precision == "single" else (np.float64, np.int64)
    return (
        device.zeros((columns.WORDS * pieces,), real),
        device.zeros((2 * pieces,), real),
        device.zeros((blocks + 1,), np.uint32),
        device.zeros((1,), bits),
    )
