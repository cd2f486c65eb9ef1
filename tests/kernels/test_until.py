"""What ends an iteration on a GPU adds up as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import Launch
from eagre.stepping.until import ITERATING, ITERATIONS, MOST, NORM, SIZE, SMALL, THREADS, judge_cuda


@pytest.mark.simulator
@pytest.mark.parametrize(("count", "going"), [(3, 1.0), (THREADS, 1.0), (2 * THREADS + 5, 0.0)])
def test_simulated_judge(count, going):
    from eagre.backend.simulated import SimulatedDevice

    partials, control = np.arange(1.0, count + 1.0), np.zeros(SIZE)
    norm = np.sqrt(0.5 * count * (count + 1))
    control[[ITERATING, SMALL, MOST]] = 1.0, norm * (0.9 if going else 1.1), 100.0
    device = SimulatedDevice()
    held = device.array(control)
    device.run([Launch(device.program(judge_cuda, "double"), (device.array(partials), held), (1,), (THREADS,))])
    found = device.host(held)
    assert found[NORM] == norm and found[ITERATIONS] == 1.0 and found[ITERATING] == going
