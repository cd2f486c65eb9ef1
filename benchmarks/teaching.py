"""Four lessons of the document's first chapter on the GPU at hand: coalescing, banks, divergence, effective bandwidth.

From the root of the repository: ``PYTHONPATH=src python benchmarks/teaching.py``. Every kernel is verified first.
B_e = (bytes read + bytes written) / time; the last column compares it with a large copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.cells import cuda, entry, switch, word
from eagre.backend.device import Launch, select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.errors import EagreError
from eagre.solvers.poisson.reference import transpose_cuda

COUNT = 2**26  # elements of the long arrays: far more than the caches hold
SIDE = 8192
THREADS = 256
DIVERGENT = switch("DIVERGENT", False)


@entry
def gathered(source, target, offset, stride):
    """target[k] = source[stride k + offset]: a warp reads as many sectors as its addresses touch."""
    k = np.uint64(cuda.blockIdx.x) * np.uint64(THREADS) + np.uint64(cuda.threadIdx.x)
    if k < np.uint64(target.shape[0]):
        target[k] = source[k * np.uint64(stride) + np.uint64(offset)]


@entry
def summed(source, sums):
    """Sum of THREADS elements a block; DIVERGENT: the active threads lie apart, so that all warps stay half idle."""
    part = cuda.shared.array(THREADS, word)
    t = cuda.threadIdx.x
    part[t] = source[np.uint64(cuda.blockIdx.x) * np.uint64(THREADS) + np.uint64(t)]
    cuda.syncthreads()
    distance = 1 if DIVERGENT else THREADS // 2
    while (distance < THREADS) if DIVERGENT else (distance > 0):
        if DIVERGENT:
            if t % (2 * distance) == 0:
                part[t] += part[t + distance]
            distance *= 2
        else:
            if t < distance:
                part[t] += part[t + distance]
            distance //= 2
        cuda.syncthreads()
    if t == 0:
        sums[cuda.blockIdx.x] = part[0]


def told(name: str, device: Any, launch: Launch, moved: float, copy: float, right: bool) -> None:
    """Time a launch and print its line."""
    if not right:
        raise EagreError(f"{name}: the answer is wrong")
    seconds = min(times_of(device, lambda: device.run([launch]), repeats=10))
    print(f"{name:44}{1e3 * seconds:9.3f} ms {1e-9 * moved / seconds:7.0f} GB/s {moved / seconds / copy:6.0%}")


def coalescing(device: Any, copy: float) -> None:
    """Copies whose source starts at an offset, or is read with a stride."""
    source = device.array(np.arange(COUNT + 64, dtype=np.float32) % 1000)
    program = device.program(gathered, "single")
    for offset, stride in ((0, 1), (1, 1), (17, 1), (0, 2), (0, 8), (0, 32)):
        count = COUNT // stride
        target = device.zeros((count,), np.float32)
        launch = Launch(program, (source, target, offset, stride), (-(-count // THREADS),), (THREADS,))
        device.run([launch])
        expected = (np.arange(count, dtype=np.int64) * stride + offset) % 1000
        right = bool((device.host(target) == expected).all())
        told(f"copy, offset {offset}, stride {stride}", device, launch, 8.0 * count, copy, right)


def banks(device: Any, copy: float) -> None:
    """A transpose whose tile in shared memory is padded by a column, or not."""
    values = np.random.default_rng(0).standard_normal((SIDE, SIDE), dtype=np.float32)
    source, target = device.array(values), device.zeros((SIDE, SIDE), np.float32)
    for width, what in ((33, "padded tile"), (32, "32 words of a column in one bank")):
        program = device.program(transpose_cuda, "single", {"WIDTH": width})
        launch = Launch(program, (source, target), (SIDE // 32, SIDE // 32), (32, 8))
        device.run([launch])
        right = bool((device.host(target) == values.T).all())
        told(f"transpose, {what}", device, launch, 8.0 * SIDE**2, copy, right)


def divergence(device: Any, copy: float) -> None:
    """A sum in each block by neighbouring or by scattered threads (after M. Harris, Optimizing parallel reduction)."""
    source = device.array(np.ones(COUNT, np.float32))
    sums = device.zeros((COUNT // THREADS,), np.float32)
    for divergent in (False, True):
        program = device.program(summed, "single", {"DIVERGENT": divergent})
        launch = Launch(program, (source, sums), (COUNT // THREADS,), (THREADS,))
        device.run([launch])
        right = bool((device.host(sums) == THREADS).all())
        told(f"sum, {'scattered' if divergent else 'neighbouring'} threads", device, launch, 4.0 * COUNT, copy, right)


def main() -> None:
    """All lessons."""
    device = select("cuda")
    copy = copy_bandwidth(device)
    print(f"{device}: a large copy moves {copy / 1e9:.0f} GB/s")
    for lesson in (coalescing, banks, divergence):
        lesson(device, copy)


if __name__ == "__main__":
    main()
