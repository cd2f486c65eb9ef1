"""A model of potential-flow waves on a simulated GPU is that on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Grid, PotentialWaves, RelaxationZone
from eagre.waves import AiryWave


def tiny(device, precision="double", **options):
    """A few points with a zone that makes waves, one that absorbs them, and statistics."""
    grid = Grid.from_points(6, 3, 1.0, 0.4)
    wave = AiryWave(height=0.01, depth=0.3, period=1.0)
    zones = [RelaxationZone("west", 0.5, 1.0, wave), RelaxationZone("east", 0.4, 1.0)]
    return PotentialWaves(
        grid, 0.3, surface_elevation=0.01 * np.cos(np.pi * grid.x) * np.ones((3, 1)), relaxation_zones=zones,
        order=2, vertical_points=3, device=device, precision=precision, statistics_from=0.0, breaking=True,
        time_step=0.02, tolerance=1e-3,
        correction_precision="double", **options,
    )  # fmt: skip


@pytest.mark.simulator
def test_simulated_model():
    from eagre.backend.simulated import SimulatedDevice

    ours, theirs = tiny(SimulatedDevice()), tiny("cpu")
    for model in (ours, theirs):
        model.advance(1.0, max_steps=1)
    for name in ours.variables:
        np.testing.assert_allclose(ours.field(name), theirs.field(name), rtol=0.0, atol=1e-12, err_msg=name)
    assert ours.diagnostics() == pytest.approx(theirs.diagnostics(), abs=1e-9)
    again = tiny(SimulatedDevice())
    again.restore(ours.state())
    assert again.sample(["surface_elevation"], [(0, 1)]) == ours.sample(["surface_elevation"], [(0, 1)])
