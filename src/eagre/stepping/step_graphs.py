"""Batches of steps whose launches are bound once and repeated; on a GPU each batch is one CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eagre.backend.device import Device
from eagre.backend.group import Group

Schedule = Callable[[int, int], tuple[Sequence[Any], int]]


class StepGraphs:
    """Batches of steps in several sizes.

    Buffers alternate from step to step, so the launches of a batch depend on the phase of its first step.

    Parameters
    ----------
    device : Device or Group
    schedule : callable
        ``schedule(phase, size)`` returns the launches (stages of a `Group`) of `size` steps from `phase`, and the
        number of repetitions. Called once for each phase and size.
    sizes : sequence of int
        Numbers of steps per batch, the largest first.
    """

    def __init__(self, device: Device | Group, schedule: Schedule, sizes: Sequence[int]) -> None:
        self._device, self._schedule, self.sizes = device, schedule, tuple(sizes)
        self._bound: dict[tuple[int, int], Callable[[], None]] = {}

    def size_for(self, count: int) -> int:
        """Return the largest batch size of at most `count` steps."""
        return next(size for size in self.sizes if size <= count)

    def run(self, phase: int, size: int) -> None:
        """Run a batch of `size` steps that starts in `phase`."""
        key = (phase, size)
        if key not in self._bound:
            self._bound[key] = self._device.repeated(*self._schedule(phase, size))
        self._bound[key]()

    def clear(self) -> None:
        """Discard bound batches after a change of the launches."""
        self._bound.clear()

    @property
    def bound(self) -> dict[tuple[int, int], Callable[[], None]]:
        """Bound batches, by phase and size; batches captured as CUDA graphs have an attribute `graph`."""
        return dict(self._bound)
