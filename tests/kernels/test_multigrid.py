"""The cells of a multigrid cycle on a simulated GPU do what they do on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.solvers.multigrid import Multigrid


@pytest.mark.simulator
def test_simulated_cycle():
    from eagre.backend.simulated import SimulatedDevice

    rng = np.random.default_rng(3)
    q, f, found = rng.uniform(0.5, 2.0, (3, 4)), rng.standard_normal((2, 3, 4)), []
    for device in (SimulatedDevice(), "cpu"):
        solver = Multigrid((3, 4), (0.1, 0.12), layers=[30.0, 3.0], screening=q, periodic=(False, True), device=device)
        solver.device.fill(solver.f, f)
        solver.device.run(solver.cycle_launches(from_zero=True))
        found.append(solver.device.host(solver.u))
    assert np.abs(found[0] - found[1]).max() < 1e-14
