"""Memory access patterns on a GPU: coalescing, bank conflicts and divergence, after Bleichrodt (2011), chapter 1.

Each kernel is verified before its time counts. The effective bandwidth is (bytes read + bytes written) / time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cuda, entry, switch, word
from eagre.backend.device import Device, Launch
from eagre.backend.timing import times_of
from eagre.errors import EagreError
from eagre.solvers.poisson.reference import TILE, TRANSPOSE_BLOCK, transpose_cuda

COUNT = 2**26  # elements of the long arrays: far more than the caches hold
SIDE = 8192
THREADS = 256
DIVERGENT = switch("DIVERGENT", False)


@entry
def strided_copy(source, target, offset, stride):
    """Set target[k] = source[stride k + offset]."""
    k = np.uint64(cuda.blockIdx.x) * np.uint64(THREADS) + np.uint64(cuda.threadIdx.x)
    if k < np.uint64(target.shape[0]):
        target[k] = source[k * np.uint64(stride) + np.uint64(offset)]


@entry
def summed(source, sums):
    """Add THREADS elements per block; DIVERGENT: the active threads are scattered over all warps."""
    partial_sums = cuda.shared.array(THREADS, word)
    t = cuda.threadIdx.x
    partial_sums[t] = source[np.uint64(cuda.blockIdx.x) * np.uint64(THREADS) + np.uint64(t)]
    cuda.syncthreads()
    distance = 1 if DIVERGENT else THREADS // 2
    while (distance < THREADS) if DIVERGENT else (distance > 0):
        if DIVERGENT:
            if t % (2 * distance) == 0:
                partial_sums[t] += partial_sums[t + distance]
            distance *= 2
        else:
            if t < distance:
                partial_sums[t] += partial_sums[t + distance]
            distance //= 2
        cuda.syncthreads()
    if t == 0:
        sums[cuda.blockIdx.x] = partial_sums[0]


class Access(NamedTuple):
    """Kernel with an access pattern: name, launch, compulsory bytes, and a check of the result."""

    name: str
    launch: Launch
    compulsory_bytes: float
    correct: Callable[[], bool]


def coalescing(device: Device, count: int) -> Iterator[Access]:
    """Yield copies whose source starts at an offset, or is read with a stride."""
    source = device.array((np.arange(count + 64) % 1000).astype(np.float32))  # integers: exact
    program = device.program(strided_copy, "single")
    for offset, stride in ((0, 1), (1, 1), (17, 1), (0, 2), (0, 8), (0, 32)):
        size = count // stride
        target = device.zeros((size,), np.float32)
        expected = (np.arange(size, dtype=np.int64) * stride + offset) % 1000
        launch = Launch(program, (source, target, offset, stride), (-(-size // THREADS),), (THREADS,))
        yield Access(
            f"copy, offset {offset}, stride {stride}", launch, 8.0 * size, partial(equal, device, target, expected)
        )


def banks(device: Device, side: int) -> Iterator[Access]:
    """Yield transposes whose tile in shared memory is padded by a column, or not."""
    values = np.random.default_rng(0).standard_normal((side, side), dtype=np.float32)
    source = device.array(values)
    for width, what in ((33, "padded tile"), (32, "32 words of a column in one bank")):
        target = device.zeros((side, side), np.float32)
        program = device.program(transpose_cuda, "single", {"WIDTH": width})
        launch = Launch(program, (source, target), (-(-side // TILE), -(-side // TILE)), TRANSPOSE_BLOCK)
        yield Access(f"transpose, {what}", launch, 8.0 * side**2, partial(equal, device, target, values.T))


def divergence(device: Device, count: int) -> Iterator[Access]:
    """Yield sums in each block by contiguous or by scattered threads (M. Harris, Optimizing parallel reduction)."""
    values = (np.arange(count) % 7).astype(np.float32)
    source, expected = device.array(values), values.reshape(-1, THREADS).sum(axis=1)  # integers: exact
    for divergent in (False, True):
        sums = device.zeros((count // THREADS,), np.float32)
        program = device.program(summed, "single", {"DIVERGENT": divergent})
        launch = Launch(program, (source, sums), (count // THREADS,), (THREADS,))
        name = f"sum, {'scattered' if divergent else 'contiguous'} threads"
        yield Access(name, launch, 4.0 * count, partial(equal, device, sums, expected))


def equal(device: Device, speeds: Any, expected: np.ndarray) -> bool:
    """Return whether a device array has the expected values."""
    return bool((device.host(speeds) == expected).all())


def accesses(device: Device, count: int = COUNT, side: int = SIDE) -> Iterator[Access]:
    """Yield all kernels, on arrays of `count` elements and of `side` x `side`."""
    yield from coalescing(device, count)
    yield from banks(device, side)
    yield from divergence(device, count)


def access_bandwidths(device: Device) -> dict[str, float]:
    """Return the effective bandwidth of every kernel by name, bytes/s; raise `EagreError` for a wrong result."""
    speeds = {}
    for access in accesses(device):
        device.run([access.launch])
        if not access.correct():
            raise EagreError(f"The result of {access.name} is wrong on {device}.")
        speeds[access.name] = access.compulsory_bytes / min(
            times_of(device, partial(device.run, [access.launch]), repeats=10)
        )
    return speeds
