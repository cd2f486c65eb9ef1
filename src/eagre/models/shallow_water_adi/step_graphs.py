"""Step graphs of several steps and evaluation of row sums, for one device and for several devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.models.shallow_water_adi.sampling import diagnostics
from eagre.stepping.step_graphs import StepGraphs

ON_CPU = (2, 20)


def steps_of(device: Device) -> tuple[int, int]:
    """Return the steps per CUDA graph, whose forcing is evaluated at once, and the steps between state checks."""
    if device.kind == "cpu":
        return ON_CPU
    parameters = device.parameters("shallow-water-adi.steps")
    return parameters.graph, parameters.look


def step_graphs_of(engine: Any) -> StepGraphs:
    """Return rounds of up to `engine.batch` steps, halved down to one; launches depend on the position in the round."""

    def schedule(parity: int, count: int) -> tuple[list[Any], int]:
        return [one for k in range(count) for one in engine.launches((parity + k) % 2, 2 * k)], 1

    sizes = [engine.batch >> k for k in range(engine.batch.bit_length())]
    return StepGraphs(engine.device, schedule, sizes)


def run(engine: Any, steps: int, start: float, steps_completed: int) -> None:
    """Make `steps` steps of a batch; start : start of the batch, s; made : completed steps of the batch."""
    done = 0
    while done < steps:
        count = engine.step_graphs.size_for(steps - done)
        engine.evaluate_series(start, steps_completed + done, count)
        engine.step_graphs.run(engine.parity, count)
        engine.parity = (engine.parity + count) % 2
        done += count


def first_bad(rows: np.ndarray) -> tuple[int, int] | None:
    """Return (j, i) of the first cell that is not finite, or None, from the row sums (`diagnostics.row_sums_cpu`)."""
    columns = rows[:, diagnostics.FIRST_BAD]
    bad = np.flatnonzero(columns < diagnostics.NOWHERE)
    return (int(bad[0]), int(columns[bad[0]])) if bad.size else None
