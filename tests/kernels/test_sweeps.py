"""Stages of the split schemes: the march of a simulated GPU and that of a CPU against the plain cell."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import ShallowWater
from eagre.backend.device import PlainDevice
from eagre.stepping import clock as ck
from kernels.conftest import BOUNDARIES, options_of
from kernels.test_targets_agree import TOLERANCE, state_of


def after_one(device, precision, *, nx, ny, **options):
    """The model after a step of a split scheme, or two made as one; its first step is taken as made."""
    model = ShallowWater(device=device, precision=precision, **{**options_of(nx, ny, seed=1), **options})
    engine = model._engine
    clock = engine.read_clock()
    clock[ck.STEPS] = 1.0
    engine.write_clock(clock)
    model.advance(0.04)
    assert model.steps == 3
    return model


SIMULATED = [
    ("ds2", "hydrostatic", "double", "open", 9, 5),
    ("ds1", "kurganov-petrova", "single", "periodic", 30, 3),
    ("ds1", "hydrostatic", "double", "walls", 33, 1),
]


@pytest.mark.simulator
@pytest.mark.parametrize(("scheme", "wet_dry", "precision", "sides", "nx", "ny"), SIMULATED)
def test_simulated_sweeps_equal_the_plain_cell(scheme, wet_dry, precision, sides, nx, ny):
    from eagre.backend.simulated import SimulatedDevice

    options = {"nx": nx, "ny": ny, "scheme": scheme, "wet_dry": wet_dry, "boundaries": BOUNDARIES[sides]}
    simulated = after_one(SimulatedDevice(), precision, **options)
    plain = after_one(PlainDevice(), precision, kernels="reference", **options)
    assert (simulated.settings()["kernels"], plain.settings()["kernels"]) == ("fast", "reference")
    assert abs(state_of(simulated) - state_of(plain)).max() < TOLERANCE[precision]
    assert simulated.statistics()["redone_steps"] == plain.statistics()["redone_steps"]
    np.testing.assert_allclose(
        list(simulated.inflow.values()), list(plain.inflow.values()), rtol=TOLERANCE[precision], atol=1e-15
    )


@pytest.mark.parametrize(("scheme", "wet_dry", "precision", "sides", "nx", "ny"), SIMULATED)
def test_the_march_of_a_cpu_equals_the_plain_cell(scheme, wet_dry, precision, sides, nx, ny):
    options = {"nx": nx, "ny": ny, "scheme": scheme, "wet_dry": wet_dry, "boundaries": BOUNDARIES[sides]}
    march, plain = (after_one(PlainDevice(), precision, kernels=way, **options) for way in ("fast", "reference"))
    assert (march.settings()["kernels"], plain.settings()["kernels"]) == ("fast", "reference")
    assert abs(state_of(march) - state_of(plain)).max() < TOLERANCE[precision]
    assert march.statistics() == pytest.approx(plain.statistics(), rel=1e-6)


def after_two(device, nx=9, **options):
    """The model after two accepted steps; of its own length after a refused one unless that is fixed."""
    model = ShallowWater(device=device, **{**options_of(nx, 5, seed=1), "time_step": None, **options})
    model.advance(9.0, max_steps=2)
    return model


@pytest.mark.parametrize("kernels", ["fast", "reference"])
def test_stages_in_two_parts_are_those_of_rk2(kernels):
    """SRK2: the same numbers, ghosts, inflow and steps."""
    options = {"boundaries": BOUNDARIES["open"], "precision": "double", "kernels": kernels}
    parts, whole = (after_two(PlainDevice(), scheme=scheme, **options) for scheme in ("srk2", "rk2"))
    assert parts.settings()["kernels"] == kernels and parts.statistics()["redone_steps"] == 1
    assert abs(state_of(parts) - state_of(whole)).max() < TOLERANCE["double"]
    assert parts.time == pytest.approx(whole.time, rel=1e-14)
    assert parts.inflow == pytest.approx(whole.inflow, rel=1e-12)


@pytest.mark.simulator
def test_simulated_stages_in_two_parts_are_those_of_rk2():
    from eagre.backend.simulated import SimulatedDevice

    options = {"nx": 7, "boundaries": BOUNDARIES["open"], "precision": "double", "time_step": 0.01}
    simulated = after_two(SimulatedDevice(), scheme="srk2", **options)
    whole = after_two(PlainDevice(), scheme="rk2", kernels="reference", **options)
    assert simulated.settings()["kernels"] == "fast"
    assert abs(state_of(simulated) - state_of(whole)).max() < TOLERANCE["double"]
