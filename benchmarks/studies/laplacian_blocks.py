"""Blocks chosen at run time (Algorithm 3 of the paper) against all blocks: a Laplacian that marches up, on cubes.

    python benchmarks/studies/laplacian_blocks.py [--cubes 64 128 ...] [--precision double]

Prints for each cube the block and planes a march that are best of all, those of Algorithm 3, those of `choose_march` of
`eagre.tuning.block_size`, their speeds and shares, as Table IX of K. A. Rojek et al., Concurrency Computat. Pract.
Exper. 27, 937-957 (2015), doi:10.1002/cpe.3417; there Algorithm 3 reaches 90 % of the best for 64 points a side, 93 to
99 % above.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import cuda

from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth
from eagre.tuning.block_size import choose_block, choose_march, shapes
from eagre.tuning.occupancy import Limits

CUBES = (64, 128, 192, 256, 320, 384, 448, 512, 576)
MARCHES = (1, 2, 4, 8, 16, 32, 64, 128, 1024)  # planes
LEAST = 64  # threads of a block


@cuda.jit(fastmath=True)
def laplacian(a: Any, out: Any, planes: int) -> None:
    """Seven points with weights 1 and -6, columns along x; the outermost points are left as they are."""
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
        out[k, j, i] = around + below + above - a.dtype.type(6.0) * here
        below, here = here, above


def milliseconds(prepared: Any, arguments: tuple[Any, ...], stream: Any, repeats: int) -> float:
    """Of a launch among several that a graph makes one after the other: the median of three graphs."""
    import cupy

    stream.begin_capture()
    for _ in range(repeats):
        prepared(*arguments)
    graph = stream.end_capture()
    begin, end, found = cupy.cuda.Event(), cupy.cuda.Event(), []
    for _ in range(3):
        begin.record(stream)
        graph.launch(stream)
        end.record(stream)
        end.synchronize()
        found.append(cupy.cuda.get_elapsed_time(begin, end) / repeats)
    return statistics.median(found)


def blocks(n: int) -> Iterator[tuple[int, int]]:
    """Rows and columns of all blocks in whole warps that a cube has use for."""
    for threads in range(LEAST, 1025, 32):
        for rows, columns in shapes(threads):
            if columns < n + 32 and rows < 2 * n:
                yield rows, columns


def planes_of(n: int, rows: int, columns: int, at_once: int) -> int:
    """Planes a march with which every multiprocessor has all the blocks that it can run."""
    tiles = -(-n // rows) * -(-n // columns)
    return max(1, -(-n // max(1, round(at_once / tiles))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cubes", type=int, nargs="+", default=CUBES, metavar="N")
    parser.add_argument("--precision", choices=("single", "double"), default="double")
    parser.add_argument("--landscape", metavar="FILE", help="CSV of all: points, columns, rows, planes, Gcells/s")
    given = parser.parse_args()
    import cupy

    device = select("cuda")
    real = np.dtype(np.float32 if given.precision == "single" else np.float64)
    limits = Limits.of(device.facts)
    stream = cupy.cuda.Stream(non_blocking=True)
    numbered = cuda.external_stream(stream.ptr)
    copy = copy_bandwidth(device)
    print(f"{device.name}, {given.precision}, copy {copy / 1e9:.0f} GB/s; block X, Y and planes, Gcells/s")
    print(f"{'cube':>6}{'best':>16}{'Algorithm 3':>24}{'choose_march':>24}{'shares':>20}{'best/copy':>12}")
    for n in given.cubes:
        a = cuda.to_device(np.random.default_rng(0).uniform(-1.0, 1.0, (n, n, n)).astype(real))
        out = cuda.device_array_like(a)
        laplacian[(1, 1, 1), (32, 2, 1)](a, out, 4)
        registers = max(laplacian.get_regs_per_thread().values())

        def timed(rows: int, columns: int, planes: int, n: int = n, a: Any = a, out: Any = out) -> float:
            grid = -(-n // columns), -(-n // rows), -(-n // planes)
            ready = laplacian[grid, (columns, rows, 1), numbered]
            return n**3 / milliseconds(ready, (a, out, planes), stream, max(2, round(2e7 / n**3))) / 1e6

        speeds = {}
        for rows, columns in blocks(n):
            if limits.blocks_at_once(rows * columns, registers) == 0:
                continue
            for planes in (march for march in MARCHES if march < 2 * n):
                speeds[rows, columns, planes] = timed(rows, columns, planes)
        if given.landscape:
            with open(given.landscape, "a", encoding="utf-8") as table:
                table.writelines(f"{n},{c},{r},{p},{speed:.2f}\n" for (r, c, p), speed in speeds.items())
        best = max(speeds, key=lambda key: speeds[key])
        chosen = choose_block(limits, (n, n), registers=registers, word=real.itemsize)
        at_once = device.facts.multiprocessors * limits.blocks_at_once(chosen.threads, registers)
        found = [(chosen.rows, chosen.columns, planes_of(n, chosen.rows, chosen.columns, at_once))]
        found.append(choose_march(device.facts, (n, n, n), word=real.itemsize))
        top = max(speeds[best], timed(*best))
        told = f"{n:6}" + "".join(f"{c:6},{r:3},{p:5}{timed(r, c, p):8.1f}" for r, c, p in [best, *found])
        shares = [timed(*one) / top for one in found]
        print(told + "".join(f"{share:8.0%}" for share in shares) + f"{2 * real.itemsize * top * 1e9 / copy:9.0%}")


if __name__ == "__main__":
    main()
