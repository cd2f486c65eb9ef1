"""What acts on potential-flow waves: CUDA (simulated) = CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.surface.surface_filter import SurfaceFilter
from wave_forcing_runs import rates_of_forcing


@pytest.mark.simulator
def test_simulated_cuda_equals_the_cpu():
    from eagre.backend.simulated.device import SimulatedDevice

    (ours, our_log), (theirs, their_log) = (rates_of_forcing(d) for d in (SimulatedDevice(), select("cpu")))
    assert our_log and [breaker.x for breaker in our_log] == [breaker.x for breaker in their_log]
    assert np.abs(ours - theirs).max() < 1e-12


@pytest.mark.simulator
def test_the_filter_of_the_surface_on_simulated_cuda():
    from eagre.backend.simulated.device import SimulatedDevice

    filtered = []
    for device in (SimulatedDevice(), select("cpu")):
        problem = LaplaceProblem(np.ones((9, 12)), (0.5, 0.5), Vertical(3, 2), (False, True), device, "double")
        device.fill(problem.fields, np.random.default_rng(2).normal(size=(2, 9, 12)))
        SurfaceFilter(problem).apply()
        filtered.append(device.host(problem.fields))
    np.testing.assert_allclose(filtered[0], filtered[1], rtol=0, atol=1e-14)
