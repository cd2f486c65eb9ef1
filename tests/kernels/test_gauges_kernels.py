"""Values that simulated kernels of a GPU take on their way: those of a run that is stopped for each of them."""

from __future__ import annotations

import pytest

from eagre.models.shallow_water import schedules
from physics.test_gauges import assert_same, both

pytestmark = pytest.mark.simulator


@pytest.mark.parametrize("kernel", ["march", "tiles"])
def test_simulated_values_taken_on_the_way_are_those_of_stops(kernel, monkeypatch):
    from eagre.backend.simulated.device import SimulatedDevice

    if kernel == "march":
        monkeypatch.setattr(schedules.Tiles, "serve", staticmethod(lambda setup, device: False))
    ours, theirs = both(every=0.03, end=0.1, device=SimulatedDevice())
    assert_same(ours, theirs)
    assert len(ours.times) == 5
