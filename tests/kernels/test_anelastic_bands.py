"""A run of air in bands on simulated GPUs: that of one, to the tolerance of its pressure."""

from __future__ import annotations

import numpy as np
import pytest

from anelastic_runs import assert_close, fields_of
from eagre import AnelasticFlow, Grid
from eagre.backend.device import HostCall
from eagre.models.anelastic.atmosphere import boussinesq

pytestmark = pytest.mark.simulator


class Upstream:
    """Advection in one loop: simulated threads are slow."""

    def __init__(self, *_):
        pass

    def together(self, fields, _):
        def move(x, out):
            out[...] = x + 0.1 * (np.roll(x, 1, 1) - x)

        return [HostCall(move, (x, out)) for x, out, _ in fields]


@pytest.fixture(autouse=True)
def short_advection(monkeypatch):
    monkeypatch.setattr("eagre.models.anelastic.stages.plan_of", Upstream)


def flow(device, hill, **options):
    """Stratified noise over flat ground, or over a hill between walls along y."""
    grid = Grid.of_points(3, 8, 200.0, 800.0, periodic=(True, not hill))
    ground = hill * np.exp(-(((grid.y[:, None] - 400.0) / 200.0) ** 2)) * np.ones(3)
    side = "wall" if hill else "periodic"
    wind = np.random.default_rng(1).standard_normal((3, 3, 8, 3))
    air = boussinesq(buoyancy_frequency=0.02)
    return AnelasticFlow(
        grid, 3, height=300.0, atmosphere=air, velocity=tuple(wind), ground=ground, time_step=2.0, sides={"y": side},
        tolerance=1e-7, coriolis=0.02 if hill else 0.0, precision="double", device=device, **options,
    )  # fmt: skip


@pytest.mark.parametrize(("hill", "steps"), [(0.0, 2), (30.0, 1)])
def test_as_one_gpu(hill, steps):
    from eagre.backend.simulated import SimulatedDevice

    ours, theirs = (flow(device, hill) for device in ([SimulatedDevice()] * 2, SimulatedDevice()))
    for model in (ours, theirs):
        model.advance(1e9, max_steps=steps)
    assert len(ours.engine.parts) == 2 and ours.engine.is_finite()
    assert_close(fields_of(ours), fields_of(theirs), 1e-6 if hill else 1e-10)
    iterations = ours.statistics()["iterations_a_step"]
    assert iterations == pytest.approx(theirs.statistics()["iterations_a_step"], abs=1.0 if hill else 0.0)
    assert ours.engine.counts["courant"] == pytest.approx(theirs.engine.counts["courant"], rel=1e-6)
