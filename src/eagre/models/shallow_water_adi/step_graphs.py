"""Operations of engines for one device and for several devices: batches of steps as graphs, state and row sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.kernels.water_sums import named_sums
from eagre.models.shallow_water_adi.sampling import diagnostics
from eagre.stepping.step_graphs import StepGraphs

ON_CPU = (2, 20)


def steps_of(device: Device) -> tuple[int, int]:
    """Return the steps per CUDA graph, whose forcing is evaluated at once, and the steps between state checks."""
    if device.kind == "cpu":
        return ON_CPU
    parameters = device.parameters("shallow-water-adi.steps")
    return parameters.graph, parameters.look


class StepBatches:
    """Batches of steps, state and sums of an engine, for one device and for several devices."""

    setup: Any
    device: Any
    batch: int  # maximum steps per graph
    parity: int
    launches: Callable[[int, int], list[Any]]
    evaluate_series: Callable[[float, int, int], None]
    row_sums: Callable[[], np.ndarray]
    collected: Callable[[Callable[[Any], dict[str, np.ndarray]]], dict[str, np.ndarray]]
    plan_state: Callable[[], dict[str, np.ndarray]]
    balance: Any
    lines: Any

    def bind_steps(self) -> None:
        """Set graphs of up to `batch` steps, halved down to one; launches depend on the position in the graph."""

        def schedule(parity: int, count: int) -> tuple[list[Any], int]:
            return [one for k in range(count) for one in self.launches((parity + k) % 2, 2 * k)], 1

        sizes = [self.batch >> k for k in range(self.batch.bit_length())]
        self.step_graphs = StepGraphs(self.device, schedule, sizes)

    def run(self, steps: int, start: float, steps_completed: int) -> None:
        """Make `steps` steps of a batch; start : start of the batch, s; steps_completed : its steps before."""
        done = 0
        while done < steps:
            count = self.step_graphs.size_for(steps - done)
            self.evaluate_series(start, steps_completed + done, count)
            self.step_graphs.run(self.parity, count)
            self.parity = (self.parity + count) % 2
            done += count

    def state(self) -> dict[str, np.ndarray]:
        """Return the state for a bitwise-identical restart, on one device or on several; fields see `collected`."""
        return self.collected(lambda rows: rows.fields()) | self.small_state()

    def small_state(self) -> dict[str, np.ndarray]:
        """Return the part of a state without rows: water balance, cross-sections and plan."""
        return {**self.balance.state(), **self.lines.state(), **self.plan_state()}

    def sums(self) -> dict[str, float]:
        """Return sums and extremes over the domain, in double precision, bitwise reproducible."""
        return named_sums(self.row_sums(), self.setup.grid)

    def bad_cell(self) -> tuple[int, int] | None:
        """Return (j, i) of the first cell that is not finite, or None."""
        return first_bad(self.row_sums())


def first_bad(rows: np.ndarray) -> tuple[int, int] | None:
    """Return (j, i) of the first cell that is not finite, or None, from the row sums (`diagnostics.row_sums_cpu`)."""
    columns = rows[:, diagnostics.FIRST_BAD]
    bad = np.flatnonzero(columns < diagnostics.NOWHERE)
    return (int(bad[0]), int(columns[bad[0]])) if bad.size else None
