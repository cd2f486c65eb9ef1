"""Infiltration by the kernels of a GPU, simulated, as on the CPU; with maps, rejected steps and active tiles."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import GreenAmpt, Maps, Rain, ShallowWater, ShallowWaterADI
from kernels.conftest import options_of

pytestmark = pytest.mark.simulator
TOLERANCE = {"single": 1e-5, "double": 1e-13}
SOURCES = [Rain(1e-4), GreenAmpt(np.linspace(0.0, 1e-2, 24).reshape(4, 6), np.array([[0.1]] * 4) * np.ones(6), 0.3)]


def assert_equal(ours, theirs, precision, names=("depth", "velocity_x", "infiltration_depth")):
    assert ours.steps == theirs.steps >= 2
    for name in names:
        np.testing.assert_allclose(
            ours.field(name), theirs.field(name), rtol=0, atol=20 * TOLERANCE[precision], err_msg=name
        )
    assert ours.diagnostics()["volume_infiltrated"] == pytest.approx(
        theirs.diagnostics()["volume_infiltrated"], rel=1e-4
    )
    assert theirs.field("infiltration_depth").max() > 1e-2 > theirs.field("infiltration_depth").min()


@pytest.mark.parametrize(
    ("precision", "options"),
    [
        ("single", {"scheme": "rk2", "active_tiles": "on"}),
        ("double", {"scheme": "rk2", "maps": Maps(["max_depth"]), "time_step_control": "exact"}),
        ("double", {"scheme": "euler"}),
        ("double", {"scheme": "ds2"}),
    ],
)
def test_simulated_infiltration_equals_the_cpu(precision, options):
    from eagre.backend.simulated import SimulatedDevice

    runs = []
    for device in (SimulatedDevice(), "cpu"):
        more = {**options_of(6, 4, seed=2), "time_step": None, "precision": precision, "sources": SOURCES, **options}
        runs.append(ShallowWater(device=device, **more))
        runs[-1].advance(0.1)
        runs[-1].restore(runs[-1].state())
        runs[-1].advance(0.2)
    assert_equal(*runs, precision)
    if "maps" in options:
        ours, theirs = (one.maps.sample() for one in runs)
        np.testing.assert_allclose(ours["max_depth"], theirs["max_depth"], rtol=0, atol=1e-13)
        np.testing.assert_array_equal(theirs["infiltration_depth"], runs[1].field("infiltration_depth"))


def test_simulated_infiltration_of_the_implicit_model_equals_the_cpu():
    from eagre.backend.simulated import SimulatedDevice

    runs = []
    for device in (SimulatedDevice(), "cpu"):
        options = options_of(6, 4, seed=2)
        for name in ("time_step", "desingularisation_depth"):
            del options[name]
        runs.append(ShallowWaterADI(time_step=0.05, device=device, precision="double", sources=SOURCES, **options))
        runs[-1].advance(0.2)
    assert_equal(*runs, "double")
