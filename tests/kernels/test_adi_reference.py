"""The reference, one plain cell a stage, equals the fast sweeps: CPU, plain Python, CUDA (simulated)."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.backend.device import PlainDevice
from kernels.test_adi_kernels import FORCES, OPEN, largest_difference, states
from physics.test_adi_against_oracle import everything

CASES = {
    "everything": {},
    "walls": {"boundaries": None, "sources": (), "manning": 0.03},
    "chezy": {"chezy": 40.0, "manning": 0.0, "dissipation": "none"},
    "no drying": {"drying": "off", "deeper": 20.0, "viscosity": 0.0, "momentum_advection": "off"},
}
TAKING = eagre.Boundaries(west=eagre.Discharge(-9e4), north=eagre.Discharge(-9e4))  # more than there is
BEACH = np.linspace(-4.0, 1.0, 13) + np.zeros((7, 1))
TINY = {"nx": 12, "ny": 6, "bed": BEACH, "sources": FORCES, "steps": 1}


@pytest.mark.parametrize("name", CASES)
def test_as_the_fast_kernels(name):
    """The reference is compiled in the first case only: plain Python takes 2 s per case, compilation 15 s."""
    found = []
    for kernels, device in (("reference", "cpu" if name == "everything" else PlainDevice()), ("fast", "cpu")):
        model = everything(kernels=kernels, device=device, **CASES[name])
        model.advance(30.0, max_steps=3)
        assert model.settings()["kernels"] == kernels
        found.append(model.state())
    assert largest_difference(*found) < 1e-10
    assert abs(found[0]["p"]).max() > 0.1


def test_in_plain_python():
    """As compiled, and in single precision."""
    options = {**TINY, "boundaries": OPEN, "kernels": "reference"}
    assert largest_difference(states(PlainDevice(), **options), states("cpu", **options)) < 1e-11
    pairs = ((PlainDevice(), "reference"), ("cpu", "fast"))
    single = [states(device, "single", **{**options, "kernels": kernels}) for device, kernels in pairs]
    assert largest_difference(*single) < 1e-3


@pytest.mark.simulator
@pytest.mark.parametrize(
    "more", [{"boundaries": OPEN, "viscosity": 2.0}, {"drying": "off", "bed": None}, {"boundaries": TAKING}]
)
def test_on_a_simulated_gpu(more):
    """The GPU's own sweeps, and the plain cells there, as the plain cells on the CPU."""
    from eagre.backend.simulated import SimulatedDevice

    options = {**TINY, **more}
    wanted = states("cpu", kernels="reference", **options)
    for kernels in ("reference", "fast"):
        assert largest_difference(states(SimulatedDevice(), kernels=kernels, **options), wanted) < 1e-10


def test_what_there_is_not_is_refused():
    with pytest.raises(eagre.InputError, match="kernels"):
        everything(kernels="fastest")
