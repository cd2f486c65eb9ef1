"""A run of air in bands on simulated GPUs: that of one, to the tolerance of its pressure."""

from __future__ import annotations

import numpy as np
import pytest

from anelastic_runs import assert_close, fields_of
from eagre import AnelasticFlow, Grid
from eagre.backend.device import HostCall
from eagre.models.anelastic.base.atmosphere import Atmosphere

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


def flow(device, hill, sides="wall", time_step=2.0, courant_number=None):
    """Stratified noise over flat ground, or over a hill between walls along y; in a box that is periodic, neutral."""
    grid = Grid.from_points(nx := 3 if hill else 5, 8, 200.0, 800.0, periodic=(True, not hill))
    ground = hill * np.exp(-(((grid.y[:, None] - 400.0) / 200.0) ** 2)) * np.ones(nx)
    side = "wall" if hill else "periodic"
    wind = np.random.default_rng(1).standard_normal((3, 3, 8, nx))
    air = Atmosphere.boussinesq(buoyancy_frequency=0.02 if sides == "wall" else 0.0)
    return AnelasticFlow(
        grid, 3, top_height=300.0, atmosphere=air, velocity=tuple(wind), terrain_height=ground, time_step=time_step,
        courant_number=courant_number,
        tolerance=1e-7, coriolis=0.02 if hill else 0.0, precision="double", device=device,
        boundaries={"y": side, "z": sides},
    )  # fmt: skip


@pytest.mark.parametrize(("hill", "sides", "steps"), [(0.0, "wall", 2), (0.0, "periodic", 2), (30.0, "wall", 1)])
def test_as_one_gpu(hill, sides, steps):
    """Rows of a mode of x lie side by side over flat ground, with levels transformed or not."""
    from eagre.backend.simulated import SimulatedDevice

    ours, theirs = (flow(device, hill, sides) for device in ([SimulatedDevice()] * 2, SimulatedDevice()))
    for model in (ours, theirs):
        model.advance(1e9, max_steps=steps)
    assert len(ours.engine.subdomains) == 2 and ours.engine.is_finite()
    assert_close(fields_of(ours), fields_of(theirs), 1e-6 if hill else 1e-10)
    iterations = ours.statistics()["iterations_a_step"]
    assert iterations == pytest.approx(theirs.statistics()["iterations_a_step"], abs=1.0 if hill else 0.0)
    assert ours.engine.counts["courant"] == pytest.approx(theirs.engine.counts["courant"], rel=1e-6)


@pytest.mark.parametrize(("side", "buoyancy_frequency"), [("wall", 0.02), ("open", 0.02), ("open", 0.0)])
def test_sides_as_one_gpu(side, buoyancy_frequency):
    """Cosines along x and y; without buoyancy the flow before the pressure is in the arrays of forces."""
    from eagre.backend.simulated import SimulatedDevice

    grid, wind = Grid.from_points(5, 8, 400.0, 700.0), np.random.default_rng(1).standard_normal((3, 3, 8, 5))
    air = Atmosphere.boussinesq(buoyancy_frequency=buoyancy_frequency, wind=(1.0, 0.5))
    ours, theirs = (
        AnelasticFlow(
            grid, 3, top_height=300.0, atmosphere=air, velocity=tuple(wind), time_step=2.0, tolerance=1e-9,
            precision="double", device=device, boundaries={"x": side, "y": side},
        )
        for device in ([SimulatedDevice()] * 2, SimulatedDevice())
    )  # fmt: skip
    for model in (ours, theirs):
        model.advance(1e9, max_steps=2)
    assert len(ours.engine.subdomains) == 2 and ours.engine.is_finite()
    assert_close(fields_of(ours), fields_of(theirs), 1e-9)


def test_steps_by_the_courant_number_are_those_of_one_gpu():
    """They are looked at before they are made, and shortened: the wind speeds up from rest."""
    from eagre.backend.simulated import SimulatedDevice

    known = {"time_step": None, "courant_number": 0.01}
    ours, theirs = (flow(device, 0.0, **known) for device in ([SimulatedDevice()] * 2, SimulatedDevice()))
    for model in (ours, theirs):
        model.advance(1e9, max_steps=3)
    assert ours.engine.fastest <= 0.01 and ours.statistics()["dt_min"] < 0.9 * ours.statistics()["dt_max"]
    for name in ("steps", "dt_min", "dt_max"):
        assert ours.statistics()[name] == pytest.approx(theirs.statistics()[name], rel=1e-9), name


def test_the_largest_courant_number_is_that_of_own_rows():
    """Rows beside a cut end as at a wall, where half of a cell loses twice its share; a place is told above 1 alone."""
    from eagre.backend.simulated import SimulatedDevice

    slow, fast = (flow([SimulatedDevice()] * 2, 0.0, time_step=step) for step in (2.0, 60.0))
    for model, place in ((slow, (0, 0)), (fast, None)):
        steps = model.engine.steps
        steps.set_out(model.setup.time_step)
        steps.device.run([*steps.explicit(), *steps._measure()])
        rows = steps._of_rows(lambda stages: stages.measured())
        k, j = np.unravel_index(rows.argmax(), rows.shape)
        most, found = steps.courant()
        assert most == pytest.approx(rows.max(), rel=1e-12) and found == ((k, j) if place is None else place)
        assert (most > 1.0) == (place is None)
