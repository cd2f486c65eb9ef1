"""Breaking, inlet, sponge, and the flow below the surface on a real card: those of the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import cuda_problem, select
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.sampling.kinematics import Flow
from eagre.models.potential_waves.sampling.probes import Probes
from eagre.waves import StreamFunctionWave
from wave_forcing_runs import rates_of_forcing

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(cuda_problem() is not None, reason=f"no CUDA: {cuda_problem()}"),
]


def test_forcing_as_the_cpu():
    (ours, our_log), (theirs, their_log) = (rates_of_forcing(select(d)) for d in ("cuda", "cpu"))
    assert our_log and [breaker.x for breaker in our_log] == [breaker.x for breaker in their_log]
    assert np.abs(ours - theirs).max() < 1e-12


@pytest.mark.parametrize("precision", ["single", "double"])
def test_kinematics_as_the_cpu(precision):
    wave = StreamFunctionWave(0.1, 1.0, length=np.pi, eulerian_current=0.0)
    found = []
    for name in ("cuda", "cpu"):
        device, h, vertical, periodic = select(name), np.ones((4, 32)), Vertical(9, 6), (True, True)
        problem = LaplaceProblem(h, (np.pi / 32, np.pi / 32), vertical, periodic, device, precision)
        x, y = problem.points[0][None], problem.points[1][:, None]
        fields = wave.elevation(x, y, 0.0), wave.surface_potential(x, y, 0.0)
        device.fill(problem.fields, np.stack([np.broadcast_to(f, h.shape) for f in fields]))
        flow = Flow(problem, 9.81, 1e-7 if precision == "single" else 1e-12)
        flow.update()
        flow_at = flow.sample(Probes(h, problem.points, vertical, periodic, np.linspace(0.1, 3.0, 9), 0.05, z=-0.2))
        found.append(flow_at)
    for one, other in zip(*found, strict=True):
        assert np.abs(one - other).max() < (1e-4 if precision == "single" else 1e-10) * max(1.0, np.abs(other).max())
