"""The reference, one plain cell a stage, equals the fast kernels: CPU, plain Python, CUDA (simulated)."""

from __future__ import annotations

import pytest

from barotropic_runs import CASES, assert_same_states, model_on
from eagre.backend.device import PlainDevice
from eagre.errors import InputError
from eagre.solvers.poisson import PoissonSolver

TOLERANCE = {"single": 2e-5, "double": 1e-12}
TINY = {"nx": 9, "ny": 7, "time_step": 1e-3, "biharmonic": 1e-4}


def assert_reference_is_fast(device, steps, **options):
    ours, theirs = (model_on(device, kernels=kernels, **options) for kernels in ("reference", "fast"))
    for model in (ours, theirs):
        model.advance(steps * model.time_step)
    assert ours.steps == steps and ours._engine.kernels.name == "reference"
    # 1 - delta of `column_table` loses four digits where the screening, here 2 / (dt A), is that of implicit viscosity.
    tolerance = 1e-10 if "viscosity_scheme" in options else TOLERANCE[options.get("precision", "double")]
    assert_same_states(ours, theirs, tolerance)


@pytest.mark.parametrize("name", CASES)
def test_as_the_fast_kernels(name):
    assert_reference_is_fast("cpu", 20, nx=33, ny=25, **CASES[name])


@pytest.mark.parametrize("name", ["default", "all terms"])
def test_in_plain_python(name):
    ours, theirs = (
        model_on(PlainDevice(), kernels="reference", **TINY, **CASES[name]),
        model_on("cpu", **TINY, **CASES[name]),
    )
    for model in (ours, theirs):
        model.advance(3e-3)
    assert_same_states(ours, theirs, 1e-12)


@pytest.mark.simulator
@pytest.mark.parametrize("name", ["default", "ab2", "no-slip", "implicit", "compensated"])
def test_in_the_simulator(name):
    from eagre.backend.simulated import SimulatedDevice

    assert_reference_is_fast(SimulatedDevice(), 3, **{**TINY, "nx": 17}, **CASES[name])


def test_what_runs_is_said():
    """In the attributes of files and before the run, where it is not the fast kernels alone."""
    told = {
        kernels: (model.settings()["kernels"], [line for line in model.notes if line.startswith("kernels")])
        for kernels in ("fast", "reference")
        for model in [model_on("cpu", 17, 14, kernels=kernels)]
    }
    assert told["fast"] == ("fast", []) and told["reference"][0] == "reference"
    assert "reference (unoptimised)" in told["reference"][1][0] and 'kernels = "reference"' in told["reference"][1][0]
    kept = model_on("cpu", 17, 14, **CASES["compensated"])
    assert kept.settings()["kernels"] == "fast; update: reference" and "compensated_summation = true" in kept.notes[-1]
    with pytest.raises(InputError, match='kernels = "fast"'):
        model_on("cpu", 17, 14, kernels="fastest")
    with pytest.raises(InputError, match="kernels"):
        PoissonSolver((9, 9), (1.0, 1.0), kernels="slow")
    with pytest.raises(InputError, match='2 devices for one run with kernels = "reference"'):
        model_on("cpu,cpu", 17, 14, kernels="reference")
