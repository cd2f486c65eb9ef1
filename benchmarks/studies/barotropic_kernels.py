"""Where a barotropic step spends its time on a GPU: time, bytes and bandwidth of each kernel, shares of the two parts.

The bandwidth is the effective one: bytes that a kernel must read and write, over its time. It stands beside the
bandwidth of a large copy on the same card; fields that fit the cache can do better than that.
From the root of the repository: ``PYTHONPATH=src python benchmarks/studies/barotropic_kernels.py [points ...]``.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from eagre.backend.device import Launch
from eagre.backend.select import select
from eagre.backend.timing import copy_bandwidth, times_of
from eagre.laboratory.cases.gyres import VARIANTS, double_gyre

REPEATS = 20
POINTS = (257, 513, 1025, 2049, 4097)


def microseconds(device: Any, launches: list[Launch]) -> float:
    """Best time of a list of launches within a graph, one after the other."""
    alone = [launch._replace(early=False) for launch in launches]
    device.run(alone)
    device.synchronize()
    return 1e6 * min(times_of(device, device.repeated(alone, REPEATS), repeats=8)) / REPEATS


def kernels_of(model: Any) -> dict[str, int]:
    """Kernels of a step, and the words a point that each reads and writes."""
    return {"update + transform": 4 + model.setup.order, "columns": 2, "transform back": 2}


def main() -> None:
    """Print the table for every size, precision and scheme."""
    device = select("cuda")
    copy = copy_bandwidth(device) / 1e9
    print(f"{device}, copy {copy:.0f} GB/s")
    for points in [int(word) for word in sys.argv[1:]] or POINTS:
        for precision in ("single", "double"):
            for variant in VARIANTS:
                model = double_gyre(points, device, precision, variant)
                model._engine.advance(4)
                words, step = kernels_of(model), model._engine.launches[0]
                times = [microseconds(device, [launch]) for launch in step]
                share = times[0] / sum(times)
                print(f"{points} {precision} {variant}: update {share:.0%}, Poisson {1 - share:.0%} (24, 76)")
                for (name, count), time in zip(words.items(), times, strict=True):
                    moved = count * np.dtype(model._engine.real).itemsize * points**2
                    speed = 1e-3 * moved / time
                    print(f"  {name:20}{time:9.2f} us {1e-6 * moved:9.2f} MB {speed:7.0f} GB/s {speed / copy:6.0%}")


if __name__ == "__main__":
    main()
