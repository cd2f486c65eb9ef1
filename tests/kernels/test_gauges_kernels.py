"""Values that simulated kernels of a GPU take on their way: those of a run that is stopped for each of them."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.contract import Recording
from eagre.models.shallow_water import schedules
from physics.test_gauges import NAMES, POINTS, assert_same, both
from physics.test_maps import dam_break

pytestmark = pytest.mark.simulator


@pytest.mark.parametrize("kernel", ["march", "tiles"])
def test_simulated_values_taken_on_the_way_are_those_of_stops(kernel, monkeypatch):
    from eagre.backend.simulated import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, theirs = both(every=0.03, end=0.1, device=SimulatedDevice())
    assert_same(ours, theirs)
    assert len(ours.times) == 5


@pytest.mark.parametrize(
    ("kernel", "options"),
    [("march", {}), ("tiles", {}), ("tiles", {"scheme": "ds2"}), ("tiles", {"kernels": "reference"})],
)
def test_kernels_that_are_loaded_before_a_capture_make_no_step(kernel, options, monkeypatch):
    """The batch before ended after three steps, before its end time. Sampling adds launches, which are then loaded."""
    from eagre.backend.simulated import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    monkeypatch.setattr(SimulatedDevice, "graphs", True)
    models = [dam_break(maps=None, device=SimulatedDevice(), **options) for _ in range(2)]
    for model in models:
        model.advance(5.0, max_steps=3)
    models[0].start_sampling(Recording(NAMES, POINTS, lambda start, end, count: [], lambda times, values: None))
    for model in models:
        model.advance(5.0, max_steps=3)
    sampled, plain = models
    assert (sampled.time, sampled.steps) == (plain.time, 6)
    for name in ("depth", "discharge_x"):
        np.testing.assert_array_equal(sampled.field(name), plain.field(name))
    assert sampled.diagnostics() == plain.diagnostics()
