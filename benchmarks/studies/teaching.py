"""Four lessons of Bleichrodt (2011), chapter 1, on the GPU at hand: coalescing, banks, divergence, bandwidth.

From the root of the repository: ``PYTHONPATH=src python benchmarks/studies/teaching.py``. Every kernel is verified
first. B_e = (bytes read + bytes written) / time; the last column compares it with a large copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cuda, entry, switch, word
from eagre.backend.device import Launch
from eagre.backend.select import select
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


class Lesson(NamedTuple):
    """A kernel to time: its name, launch, the bytes that it must move, and whether its answer is right."""

    name: str
    launch: Launch
    moved: float
    right: Callable[[], bool]


def coalescing(device: Any, count: int) -> Iterator[Lesson]:
    """Copies whose source starts at an offset, or is read with a stride."""
    source = device.array((np.arange(count + 64) % 1000).astype(np.float32))  # whole numbers: exact
    program = device.program(gathered, "single")
    for offset, stride in ((0, 1), (1, 1), (17, 1), (0, 2), (0, 8), (0, 32)):
        size = count // stride
        target = device.zeros((size,), np.float32)
        expected = (np.arange(size, dtype=np.int64) * stride + offset) % 1000
        launch = Launch(program, (source, target, offset, stride), (-(-size // THREADS),), (THREADS,))
        yield Lesson(
            f"copy, offset {offset}, stride {stride}", launch, 8.0 * size, partial(equal, device, target, expected)
        )


def banks(device: Any, side: int) -> Iterator[Lesson]:
    """A transpose whose tile in shared memory is padded by a column, or not."""
    values = np.random.default_rng(0).standard_normal((side, side), dtype=np.float32)
    source = device.array(values)
    for width, what in ((33, "padded tile"), (32, "32 words of a column in one bank")):
        target = device.zeros((side, side), np.float32)
        program = device.program(transpose_cuda, "single", {"WIDTH": width})
        launch = Launch(program, (source, target), (-(-side // 32), -(-side // 32)), (32, 8))
        yield Lesson(f"transpose, {what}", launch, 8.0 * side**2, partial(equal, device, target, values.T))


def divergence(device: Any, count: int) -> Iterator[Lesson]:
    """A sum in each block by neighbouring or by scattered threads (after M. Harris, Optimizing parallel reduction)."""
    values = (np.arange(count) % 7).astype(np.float32)
    source, expected = device.array(values), values.reshape(-1, THREADS).sum(axis=1)  # whole numbers: exact
    for divergent in (False, True):
        sums = device.zeros((count // THREADS,), np.float32)
        program = device.program(summed, "single", {"DIVERGENT": divergent})
        launch = Launch(program, (source, sums), (count // THREADS,), (THREADS,))
        name = f"sum, {'scattered' if divergent else 'neighbouring'} threads"
        yield Lesson(name, launch, 4.0 * count, partial(equal, device, sums, expected))


def equal(device: Any, found: Any, expected: np.ndarray) -> bool:
    """Whether a device array holds the expected values."""
    return bool((device.host(found) == expected).all())


def lessons(device: Any, count: int = COUNT, side: int = SIDE) -> Iterator[Lesson]:
    """All of them, on arrays of `count` elements and `side` x `side`."""
    yield from coalescing(device, count)
    yield from banks(device, side)
    yield from divergence(device, count)


def main() -> None:
    """Verify and time every lesson."""
    device = select("cuda")
    copy = copy_bandwidth(device)
    print(f"{device}: a large copy moves {copy / 1e9:.0f} GB/s")
    for lesson in lessons(device):
        device.run([lesson.launch])
        if not lesson.right():
            raise EagreError(f"{lesson.name}: the answer is wrong")
        seconds = min(times_of(device, partial(device.run, [lesson.launch]), repeats=10))
        speed = lesson.moved / seconds
        print(f"{lesson.name:44}{1e3 * seconds:9.3f} ms {1e-9 * speed:7.0f} GB/s {speed / copy:6.0%}")


if __name__ == "__main__":
    main()
