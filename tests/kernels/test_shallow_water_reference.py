"""The plain stage of the explicit model, one cell after the other, against the fast kernels: every option."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from kernels.conftest import BOUNDARIES
from kernels.test_targets_agree import ran, state_of
from launch_setups import EXPLICIT, explicit

NAMES = ("surface_elevation", "discharge_x", "discharge_y")


def both(name, precision, device="cpu"):
    own = {"sides": "walls", "forced": False, "friction": "none", **EXPLICIT[name]}
    for kernels in ("fast", "reference"):
        given = {"precision": precision, "kernels": kernels, **own.get("given", {})}
        model = explicit(device, nx=17, ny=13, **{**own, "given": given})
        model.advance(1e4, max_steps=5)
        yield model


@pytest.mark.parametrize("name", EXPLICIT)
def test_fast_kernels_equal_the_reference(name):
    fast, plain = both(name, "double")
    assert (fast.settings()["kernels"], plain.settings()["kernels"]) == ("fast", "reference")
    assert fast.steps == plain.steps > 0
    for field in NAMES:
        np.testing.assert_allclose(fast.field(field), plain.field(field), rtol=0, atol=1e-13)
    assert abs(plain.field("discharge_x")).max() > 1e-3


@pytest.mark.simulator
@pytest.mark.parametrize("sides", ["walls", "open"])
def test_simulated_reference_equals_the_cpu(sides):
    from eagre.backend.simulated.device import SimulatedDevice

    options = {"steps": 1, "nx": 7, "ny": 5, "boundaries": BOUNDARIES[sides], "kernels": "reference"}
    simulated, compiled = (ran(device, "double", **options) for device in (SimulatedDevice(), "cpu"))
    assert abs(state_of(simulated) - state_of(compiled)).max() < 1e-13


def test_other_kernels_are_refused():
    with pytest.raises(InputError, match="reference"):
        ran("cpu", "double", kernels="refrence")
