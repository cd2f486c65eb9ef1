"""Memory bandwidth of a device (driver copy; loops that read, copy and add), and its rate of multiply-adds."""

from __future__ import annotations

import numpy as np

from eagre.backend.compilation.cells import cell, real, switch
from eagre.backend.compilation.program import PRECISIONS
from eagre.backend.device import Device
from eagre.backend.timing import copied, copy_bandwidth, times_of

COLUMNS = 4096
CHAIN = 32  # length of a chain of dependent multiply-adds
REPEATS = switch("REPEATS", 1)  # chains behind each other
REPEATS_CUDA = 64  # hide the times of a launch and of the memory, which are those of hundreds of multiply-adds


@cell
def added(j, i, a, b, target):
    """Add one element of two arrays."""
    target[j, i] = a[j, i] + b[j, i]


@cell
def chained(j, i, a):
    """Apply two chains of CHAIN multiply-adds to one element, REPEATS times."""
    x = a[j, i]
    y = x + real(1.0)
    for _ in range(REPEATS):
        for _ in range(CHAIN):
            x = x * real(0.999) + real(0.001)
            y = y * real(0.998) + real(0.001)
    a[j, i] = x + y


def peak_operations(device: Device, precision: str, rows: int = 0) -> float:
    """Return the rate of multiply-adds in a compiled loop, operations per second (two each): best of several runs.

    rows : of 1024 elements; by default enough for all threads, and few enough for the cache of a CPU.
    """
    on_gpu = device.kind == "cuda"
    repeats = REPEATS_CUDA if on_gpu else 1
    shape = (rows or (2**14 if on_gpu else 512), 1024)
    array = device.array(np.ones(shape, np.dtype(PRECISIONS[precision])))
    launch = device.over(device.loop(chained, precision, {"REPEATS": repeats}), shape, (array,))
    seconds = min(times_of(device, lambda: device.run([launch])))
    return 4.0 * CHAIN * repeats * shape[0] * shape[1] / seconds


def bandwidths(device: Device, precision: str = "single", megabytes: int = 0) -> dict[str, float]:
    """Return bandwidths in bytes per second, read plus written, as the best of several runs.

    Parameters
    ----------
    device : Device
        From `eagre.backend.select.select`.
    precision : {"single", "double"}
        Precision of the elements of the loops.
    megabytes : int
        Size of one array; the default exceeds any cache.

    Returns
    -------
    dict
        ``device copy`` (by the driver, on a GPU), ``copy`` and ``sum`` (two arrays read, one written) by loops.
    """
    size = megabytes or (4096 if device.kind == "cuda" else 256)
    dtype = np.dtype(PRECISIONS[precision])
    shape = (max(1, size * 2**20 // (dtype.itemsize * COLUMNS)), COLUMNS)
    arrays = [device.zeros(shape, dtype) for _ in range(3)]
    for array in arrays:
        array[...] = 1.0  # untouched zeros may all be one page of memory
    rates = {"device copy": copy_bandwidth(device, size)}
    for name, formula, used in (("copy", copied, arrays[1:]), ("sum", added, arrays)):
        launch = device.over(device.loop(formula, precision), shape, tuple(used))
        seconds = times_of(device, lambda launch=launch: device.run([launch]), repeats=7)
        rates[name] = len(used) * dtype.itemsize * shape[0] * shape[1] / min(seconds)
    return rates
