"""Block shapes of a Laplacian that advances along z on a GPU: the fastest of all shapes, and shapes chosen by rules.

After Table IX of K. A. Rojek et al., Concurrency Computat. Pract. Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417. The
kernel is for GPUs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cuda, entry, real
from eagre.backend.device import Device, Launch, check_precision
from eagre.backend.timing import times_of
from eagre.tuning.block_size import Limits, choose_block, choose_march, shapes

PLANES = (1, 2, 4, 8, 16, 32, 64, 128, 1024)
"""Numbers of planes per block."""
MIN_THREADS = 64
OPERATIONS = 7
"""Operations per point."""
Shape = tuple[int, int, int]


class Speed(NamedTuple):
    """Shape of blocks, (rows, columns, planes), and speed, points per second."""

    shape: Shape
    speed: float


class BlockSpeeds(NamedTuple):
    """Fastest shape, shape of Algorithm 3 of the paper, and shape of `choose_march`."""

    best: Speed
    algorithm_3: Speed
    rule: Speed


@entry
def laplacian(a, out, planes):
    """Seven points with weights 1 and -6 inside a cube, `planes` planes per block; the outermost points are kept."""
    i = np.uint32(cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x)
    j = np.uint32(cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y)
    nz, ny, nx = a.shape
    first = np.uint32(max(1, cuda.blockIdx.z * planes))
    end = np.uint32(min(nz - 1, (cuda.blockIdx.z + 1) * planes))
    if i < 1 or i >= nx - 1 or j < 1 or j >= ny - 1 or first >= end:
        return
    below, here = a[first - np.uint32(1), j, i], a[first, j, i]
    for k in range(first, end):
        above = a[k + np.uint32(1), j, i]
        around = a[k, j, i - np.uint32(1)] + a[k, j, i + np.uint32(1)]
        around += a[k, j - np.uint32(1), i] + a[k, j + np.uint32(1), i]
        out[k, j, i] = around + below + above - real(6.0) * here
        below, here = here, above


def block_speeds(device: Device, points: int, precision: str = "double") -> BlockSpeeds:
    """Time all block shapes on a cube of `points` per side, and return the fastest and the chosen shapes."""
    properties, limits, speed = device.properties, Limits.of(device.properties), _timer(device, points, precision)
    word = check_precision(precision)(0).itemsize
    speeds = {}
    for rows, columns in blocks(points):
        for planes in (one for one in PLANES if one < 2 * points):
            speeds[rows, columns, planes] = speed((rows, columns, planes))
    best = max(speeds, key=lambda shape: speeds[shape])
    chosen = choose_block(limits, (points, points), word=word)
    resident = properties.multiprocessors * limits.blocks_at_once(chosen.threads)
    algorithm_3 = chosen.rows, chosen.columns, planes_of(points, chosen.rows, chosen.columns, resident)
    rule = choose_march(properties, (points, points, points), word=word)
    return BlockSpeeds(*(Speed(shape, speed(shape)) for shape in (best, algorithm_3, rule)))


def blocks(points: int) -> Iterator[tuple[int, int]]:
    """Yield the rows and columns of all blocks of whole warps that are not much larger than the cube."""
    for threads in range(MIN_THREADS, 1025, 32):
        for rows, columns in shapes(threads):
            if columns < points + 32 and rows < 2 * points:
                yield rows, columns


def planes_of(points: int, rows: int, columns: int, resident: int) -> int:
    """Return the planes per block with which the blocks of the cube are as many as can be resident."""
    tiles = -(-points // rows) * -(-points // columns)
    return max(1, -(-points // max(1, round(resident / tiles))))


def _timer(device: Device, points: int, precision: str) -> Callable[[Shape], float]:
    """Return a function that measures the speed of a shape, points per second."""
    dtype = check_precision(precision)
    values = np.random.default_rng(0).uniform(-1.0, 1.0, (points,) * 3).astype(dtype)
    source, target = device.array(values), device.zeros(values.shape, dtype)
    program, repeats = device.program(laplacian, precision), max(2, round(2e7 / points**3))

    def speed(shape: Shape) -> float:
        rows, columns, planes = shape
        grid = -(-points // columns), -(-points // rows), -(-points // planes)
        launch = Launch(program, (source, target, planes), grid, (columns, rows, 1))
        seconds = times_of(device, device.repeated([launch], repeats), repeats=3, warm_up=1)
        return points**3 * repeats / statistics.median(seconds)

    return speed
