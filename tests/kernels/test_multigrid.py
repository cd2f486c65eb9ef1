"""Multigrid cycles on a simulated GPU, in one block and by marches, do what the plain cells do."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.solvers.multigrid import Multigrid


@pytest.mark.simulator
def test_simulated_cycle():
    from eagre.backend.simulated import SimulatedDevice

    rng = np.random.default_rng(3)
    q, f, found = rng.uniform(0.5, 2.0, (3, 4)), rng.standard_normal((2, 3, 4)), []
    for device, plain in ((SimulatedDevice(), False), ("cpu", True)):
        solver = Multigrid(
            (3, 4), (0.1, 0.12), layers=[3.0, 30.0], screening=q, periodic=(False, True), device=device, plain=plain
        )
        solver.device.fill(solver.f, f)
        solver.device.run(solver.cycle_launches(from_zero=True))
        found.append(solver.device.host(solver.u))
    assert np.abs(found[0] - found[1]).max() < 1e-14


@pytest.mark.simulator
@pytest.mark.parametrize(("shape", "periodic"), [((9, 17), (False, False)), ((12, 20), (True, True))])
def test_simulated_march(shape, periodic, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice
    from eagre.solvers.multigrid import plan_cuda

    monkeypatch.setattr(plan_cuda, "SHORTEST", 8)
    monkeypatch.setattr(plan_cuda.CudaCycle, "_first_in_block", lambda self: 1)
    rng = np.random.default_rng(4)
    q, f, found = rng.uniform(0.5, 2.0, shape), rng.standard_normal((1, *shape)), []
    for device, plain in ((SimulatedDevice(), False), ("cpu", True)):
        known = {"layers": [2.5], "screening": q, "periodic": periodic, "device": device, "plain": plain}
        solver = Multigrid(shape, (0.1, 0.13), **known)
        solver.device.fill(solver.f, f)
        launches = solver.cycle_launches(from_zero=True)
        solver.device.run(launches)
        found.append(solver.device.host(solver.u))
        assert plain or len(launches) == 3
    assert np.abs(found[0] - found[1]).max() < 1e-14
