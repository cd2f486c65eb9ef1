"""Rounds: the launches of many steps, bound once and run again and again; on a GPU each round is one graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from eagre.backend.device import Device
from eagre.backend.group import Group

Schedule = Callable[[int, int], tuple[Sequence[Any], int]]


class Rounds:
    """Rounds of steps in several sizes.

    Buffers change places from step to step, so the launches of a round depend on its first step's phase.

    Parameters
    ----------
    device : Device or Group
    schedule : callable
        ``schedule(phase, size)``: what `size` steps from `phase` on are, as launches (stages of a `Group`) and
        how often these repeat. Called once for each phase and size.
    sizes : sequence of int
        Steps that a round may have, the largest first.
    """

    def __init__(self, device: Device | Group, schedule: Schedule, sizes: Sequence[int]) -> None:
        self._device, self._schedule, self.sizes = device, schedule, tuple(sizes)
        self._bound: dict[tuple[int, int], Callable[[], None]] = {}

    def size_for(self, count: int) -> int:
        """The largest round of at most `count` steps."""
        return next(size for size in self.sizes if size <= count)

    def run(self, phase: int, size: int) -> None:
        """Run a round of `size` steps that starts in `phase`."""
        key = (phase, size)
        if key not in self._bound:
            self._bound[key] = self._device.repeated(*self._schedule(phase, size))
        self._bound[key]()

    def clear(self) -> None:
        """Forget what is bound: launches have changed."""
        self._bound.clear()

    @property
    def bound(self) -> dict[tuple[int, int], Callable[[], None]]:
        """The rounds that are bound, by phase and size; those captured as CUDA graphs have an attribute `graph`."""
        return dict(self._bound)
