"""Copy kernels between the memories of GPUs: several copies per launch, all loads before the first store.

Complex arrays are transposed through shared memory: one array is stored by rows, the other by columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from eagre.backend.compilation.cells import cell, cplx, cuda, entry, switch
from eagre.backend.device import Device, Launch

ROWS_AT_ONCE = 4  # copies of contiguous arrays per kernel
BOXES_AT_ONCE = 7  # copies of strided arrays per kernel
TRANSPOSES_AT_ONCE = 4  # transposing copies per kernel
TILE, PITCH, TILE_ROWS = 32, 33, 8  # transposing block: tile size, row pitch, and rows of threads
COPIES = switch("COPIES", ROWS_AT_ONCE)  # number of copies in use

Pair = tuple[Any, Any]
"""Target and source, two arrays of the same shape."""


@cell
def copied_rows(i, target_0, source_0, target_1, source_1, target_2, source_2, target_3, source_3):
    """Copy element i of ROWS_AT_ONCE arrays. All loads are issued before the first store."""
    value_0 = source_0[min(i, source_0.shape[0] - 1)]
    if COPIES > 1:
        value_1 = source_1[min(i, source_1.shape[0] - 1)]
    if COPIES > 2:
        value_2 = source_2[min(i, source_2.shape[0] - 1)]
    if COPIES > 3:
        value_3 = source_3[min(i, source_3.shape[0] - 1)]
    if i < target_0.shape[0]:
        target_0[i] = value_0
    if COPIES > 1 and i < target_1.shape[0]:
        target_1[i] = value_1
    if COPIES > 2 and i < target_2.shape[0]:
        target_2[i] = value_2
    if COPIES > 3 and i < target_3.shape[0]:
        target_3[i] = value_3


class Boxes(NamedTuple):
    """BOXES_AT_ONCE arrays of three dimensions."""

    box_0: Any
    box_1: Any
    box_2: Any
    box_3: Any
    box_4: Any
    box_5: Any
    box_6: Any


@cell
def element(box, k, j, i):
    """Return element (k, j, i) of an array; indices are clipped to the last element along each axis."""
    return box[min(k, box.shape[0] - 1), min(j, box.shape[1] - 1), min(i, box.shape[2] - 1)]


@cell
def put(box, k, j, i, value):
    """Set element (k, j, i), if it exists."""
    if k < box.shape[0] and j < box.shape[1] and i < box.shape[2]:
        box[k, j, i] = value


@cell
def copied_boxes(k, j, i, targets, sources):
    """Copy element (k, j, i) of BOXES_AT_ONCE arrays, as far as it exists."""
    value_0 = element(sources.box_0, k, j, i)
    if COPIES > 1:
        value_1 = element(sources.box_1, k, j, i)
    if COPIES > 2:
        value_2 = element(sources.box_2, k, j, i)
    if COPIES > 3:
        value_3 = element(sources.box_3, k, j, i)
    if COPIES > 4:
        value_4 = element(sources.box_4, k, j, i)
    if COPIES > 5:
        value_5 = element(sources.box_5, k, j, i)
    if COPIES > 6:
        value_6 = element(sources.box_6, k, j, i)
    put(targets.box_0, k, j, i, value_0)
    if COPIES > 1:
        put(targets.box_1, k, j, i, value_1)
    if COPIES > 2:
        put(targets.box_2, k, j, i, value_2)
    if COPIES > 3:
        put(targets.box_3, k, j, i, value_3)
    if COPIES > 4:
        put(targets.box_4, k, j, i, value_4)
    if COPIES > 5:
        put(targets.box_5, k, j, i, value_5)
    if COPIES > 6:
        put(targets.box_6, k, j, i, value_6)


@cell
def transpose_tile(tile, k, target, source):
    """Transpose one tile of level k of target = source, (nz, rows, columns), per block; threads read along columns."""
    levels, rows, columns = source.shape
    x, i, j = cuda.threadIdx.x, cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for y in range(cuda.threadIdx.y, TILE, TILE_ROWS):
        if k < levels and j + y < rows and i + x < columns:
            tile[y, x] = source[k, j + y, i + x]
    cuda.syncthreads()
    for y in range(cuda.threadIdx.y, TILE, TILE_ROWS):
        if k < levels and j + x < rows and i + y < columns:
            target[k, j + x, i + y] = tile[x, y]


@entry
def transpose_cuda(target_0, source_0, target_1, source_1, target_2, source_2, target_3, source_3):
    """Transpose COPIES arrays (nz, rows, columns): sources are stored by columns, targets by rows.

    Blocks of one level of all copies are adjacent, so that transfers over NVLink overlap with local copies.
    """
    tile = cuda.shared.array((TILE, PITCH), cplx)
    k, copy = cuda.blockIdx.z // COPIES, cuda.blockIdx.z % COPIES
    if copy == 0:
        transpose_tile(tile, k, target_0, source_0)
    if COPIES > 1 and copy == 1:
        transpose_tile(tile, k, target_1, source_1)
    if COPIES > 2 and copy == 2:
        transpose_tile(tile, k, target_2, source_2)
    if COPIES > 3 and copy == 3:
        transpose_tile(tile, k, target_3, source_3)


def copy_launches(device: Device, pairs: Sequence[Pair]) -> list[Launch]:
    """Return launches on the device that owns the targets; it must be able to read the sources."""
    if pairs[0][0].dtype.kind == "c":
        return _transposes(device, pairs)
    if all(array.flags.c_contiguous for pair in pairs for array in pair):
        return _rows(device, pairs)
    return _boxes(device, pairs)


def _rows(device: Device, pairs: Sequence[Pair]) -> list[Launch]:
    launches, parameters = [], device.parameters("programs.copies")
    for some in _groups(pairs, ROWS_AT_ONCE):
        copies = {"COPIES": len(some)}
        some += [some[-1]] * (ROWS_AT_ONCE - len(some))
        arguments = tuple(array.reshape(-1) for pair in some for array in pair)
        program, longest = device.loop(copied_rows, _precision(arguments[0]), copies), max(a.size for a in arguments)
        if longest < parameters.long:
            launches.append(device.over(program, (longest,), arguments))
        else:
            blocks = -(-longest // parameters.threads)
            launches.append(Launch(program, (longest, *arguments), (blocks,), (parameters.threads,)))
    return launches


def _boxes(device: Device, pairs: Sequence[Pair]) -> list[Launch]:
    launches = []
    for some in _groups(pairs, BOXES_AT_ONCE):
        copies = {"COPIES": len(some)}
        some = [tuple(array[(None,) * (3 - array.ndim)] for array in pair) for pair in some]
        region = tuple(max(target.shape[axis] for target, _ in some) for axis in range(3))
        some += [some[-1]] * (BOXES_AT_ONCE - len(some))
        program = device.loop(copied_boxes, _precision(some[0][0]), copies)
        launches.append(device.over(program, region, tuple(Boxes(*arrays) for arrays in zip(*some, strict=True))))
    return launches


def _transposes(device: Device, pairs: Sequence[Pair]) -> list[Launch]:
    """Return launches that transpose arrays (nz, ny, nx) between row-major and column-major storage."""
    if pairs[0][1].strides[2] != pairs[0][1].itemsize:
        pairs = [(target.transpose(0, 2, 1), source.transpose(0, 2, 1)) for target, source in pairs]
    launches = []
    for some in _groups(pairs, TRANSPOSES_AT_ONCE):
        nz, rows, columns = (max(source.shape[axis] for _, source in some) for axis in range(3))
        grid = (-(-columns // TILE), -(-rows // TILE), nz * len(some))
        precision, copies = "single" if some[0][1].itemsize == 8 else "double", {"COPIES": len(some)}
        some += [some[-1]] * (TRANSPOSES_AT_ONCE - len(some))
        program = device.program(transpose_cuda, precision, copies)
        launches.append(Launch(program, tuple(array for pair in some for array in pair), grid, (TILE, TILE_ROWS)))
    return launches


def _groups(pairs: Sequence[Pair], max_size: int) -> list[list[Pair]]:
    return [[*pairs[start : start + max_size]] for start in range(0, len(pairs), max_size)]


def _precision(array: Any) -> str:
    return "single" if array.itemsize == 4 else "double"
