"""Operations per cell of a step, counted on the kernels of a CPU in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import PlainDevice
from eagre.tuning.roofline import Operations, count_of


class CountingDevice(PlainDevice):
    """Plain Python that counts the operations of its launches in `count` while `counts` is True."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()
        self.counts = False
        self._run_each = self._count_each

    def _count_each(self, calls: Any, times: int = 1) -> None:
        for _ in range(times):
            for program, arguments, _few in calls:
                if self.counts:
                    self.count += count_of(program, *arguments)
                program(*arguments)


def count_of_step(make: Callable[[int, CountingDevice], Any], size: int) -> np.ndarray:
    """Return the operations per step of ``make(size, device)`` after two steps, in the order of `Operations`."""
    device = CountingDevice()
    model = make(size, device)
    model.advance(1e9, max_steps=2)
    device.counts, before = True, model.steps
    model.advance(1e9, max_steps=1)
    return np.array([device.count[name] for name in Operations._fields]) / (model.steps - before)


def operations_per_cell(make: Callable[[int, CountingDevice], Any], sizes: Sequence[int]) -> Operations:
    """Return the operations per cell of n x n cells: half of the second difference over three sizes 1 apart.

    The operations of edges are linear in n, and those of a step as a whole are constant: they drop out.
    """
    low, middle, high = (count_of_step(make, size) for size in sizes)
    return Operations(*((high - 2.0 * middle + low) / 2.0).tolist())
