"""How an engine takes many steps at once, and what its sums over rows say: alike on one device and on several."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.models.shallow_water_adi import diagnostics
from eagre.stepping.rounds import Rounds

ON_CPU = (2, 20)


def steps_of(device: Device) -> tuple[int, int]:
    """Steps whose forcing is looked up at once, which a CUDA graph holds; and steps between two looks at the state."""
    if device.kind == "cpu":
        return ON_CPU
    layout = device.layout("shallow-water-adi.steps")
    return layout.graph, layout.look


def rounds_of(engine: Any) -> Rounds:
    """Rounds of up to `engine.batch` steps, halved down to one; launches of a step depend on its place in the round."""

    def schedule(parity: int, count: int) -> tuple[list[Any], int]:
        return [one for k in range(count) for one in engine.launches((parity + k) % 2, 2 * k)], 1

    sizes = [engine.batch >> k for k in range(engine.batch.bit_length())]
    return Rounds(engine.device, schedule, sizes)


def run(engine: Any, steps: int, start: float, made: int) -> None:
    """Make `steps` steps of the leg that began at `start`, s, and has had `made` steps."""
    done = 0
    while done < steps:
        count = engine.rounds.size_for(steps - done)
        engine.look_up_series(start, made + done, count)
        engine.rounds.run(engine.parity, count)
        engine.parity = (engine.parity + count) % 2
        done += count


def first_bad(rows: np.ndarray) -> tuple[int, int] | None:
    """(j, i) of the first cell that is not finite, or None, from `diagnostics.row_sums_cpu` of all rows."""
    columns = rows[:, diagnostics.FIRST_BAD]
    bad = np.flatnonzero(columns < diagnostics.NOWHERE)
    return (int(bad[0]), int(columns[bad[0]])) if bad.size else None
