"""Timing on a device, and its copy bandwidth."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device


def times_of(device: Device, work: Callable[[], None], repeats: int = 7, warm_up: int = 2) -> list[float]:
    """Return the seconds of each of `repeats` calls of `work`, with an idle device before and after."""
    for _ in range(warm_up):
        work()
    seconds = []
    for _ in range(repeats):
        device.synchronize()
        start = time.perf_counter()
        work()
        device.synchronize()
        seconds.append(time.perf_counter() - start)
    return seconds


@cell
def copied(j, i, source, target):
    """Copy one element."""
    target[j, i] = source[j, i]


def copy_bandwidth(device: Device, megabytes: int = 0) -> float:
    """Return the bandwidth of a large copy, read plus written, bytes per second: best of several.

    `megabytes` is the size of one array; the default exceeds all caches of the device.
    """
    megabytes = megabytes or (4096 if device.kind == "cuda" else 256)
    columns = 4096
    rows = megabytes * 2**20 // (4 * columns)
    source, target = (device.zeros((rows, columns), np.float32) for _ in range(2))
    source[...] = 1.0  # untouched zeros may share one page of memory
    if device.kind == "cuda":
        seconds = times_of(device, lambda: device.copy(target, source), repeats=10)
    else:
        launch = device.over(device.loop(copied, "single"), (rows, columns), (source, target))
        seconds = times_of(device, lambda: device.run([launch]), repeats=5)
    return 2.0 * 4.0 * rows * columns / min(seconds)
