"""How steps are taken, many at once, and what is summed over a state: alike on one device and on several."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.kernels.water_sums import named_sums
from eagre.models.shallow_water_adi import diagnostics

ON_CPU = (2, 20)


def steps_of(device: Device) -> tuple[int, int]:
    """Steps whose forcing is looked up at once, which a CUDA graph holds; and steps between two looks at the state."""
    if device.kind == "cpu":
        return ON_CPU
    layout = device.layout("shallow-water-adi.steps")
    return layout.graph, layout.look


class Stepping:
    """An engine's way through time; a subclass has the arrays and makes the rounds of steps."""

    setup: Any
    device: Any
    batch: int  # steps at once, at most
    look_steps: int  # between two looks at the state
    parity: Any  # which of two arrays hold the newer fluxes, 0 or 1
    _rounds: dict[tuple[int, int], Callable[[], None]]
    _look_up: Callable[[float, int, int], None]
    _warm_up: Callable[[], None]
    launches: Callable[[int, int], list[Any]]
    _look: Callable[[], np.ndarray]

    def run(self, steps: int, start: float, made: int) -> None:
        """Make `steps` steps of the leg that began at `start`, s, and has had `made` steps."""
        done = 0
        while done < steps:
            count = self.batch
            while count > steps - done:
                count //= 2
            self._look_up(start, made + done, count)
            key = (self.parity, count)
            if key not in self._rounds:
                self._rounds[key] = self._round(*key)
            self._rounds[key]()
            self.parity = (self.parity + count) % 2
            done += count

    def _round(self, parity: int, count: int) -> Callable[[], None]:
        if self.device.graphs and not self._rounds:
            self._warm_up()
        steps = [one for k in range(count) for one in self.launches((parity + k) % 2, 2 * k)]
        return self.device.repeated(steps, 1)

    def sums(self) -> dict[str, float]:
        """Sums and extremes over the domain, in double precision; the same bits every time."""
        return named_sums(self._look(), self.setup.grid)

    def bad_cell(self) -> tuple[int, int] | None:
        """(j, i) of the first cell that is not finite, or None."""
        columns = self._look()[:, diagnostics.FIRST_BAD]
        rows = np.flatnonzero(columns < diagnostics.NOWHERE)
        return (int(rows[0]), int(columns[rows[0]])) if rows.size else None
