"""What acts on potential-flow waves: CUDA (simulated) = CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import select
from wave_forcing_runs import rates_of_forcing


@pytest.mark.simulator
def test_simulated_cuda_equals_the_cpu():
    from eagre.backend.simulated import SimulatedDevice

    (ours, our_log), (theirs, their_log) = (rates_of_forcing(d) for d in (SimulatedDevice(), select("cpu")))
    assert our_log and [breaker.x for breaker in our_log] == [breaker.x for breaker in their_log]
    assert np.abs(ours - theirs).max() < 1e-12
