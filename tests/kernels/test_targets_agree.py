"""The same cells on every target: plain Python, compiled CPU, CUDA simulator."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import ShallowWater
from eagre.backend.device import PlainDevice
from kernels.conftest import BOUNDARIES, options_of

TOLERANCE = {"single": 3e-6, "double": 3e-14}
SCHEMES = [("rk2", "hydrostatic", "single"), ("rk2", "kurganov-petrova", "double"), ("euler", "hydrostatic", "double")]


def states(device, precision, *, steps=3, nx=9, ny=7, boundaries=None, **more):
    """State after a few steps of a fixed length, (w, hu, hv)."""
    options = {**options_of(nx, ny, seed=1), **more}
    model = ShallowWater(boundaries=boundaries or BOUNDARIES["walls"], device=device, precision=precision, **options)
    model.advance(0.02 * steps)
    assert model.steps == steps
    return np.stack([model.field(name) for name in ("surface_elevation", "discharge_x", "discharge_y")])


@pytest.mark.parametrize(("scheme", "wet_dry", "precision"), SCHEMES)
def test_plain_python_equals_compiled(scheme, wet_dry, precision):
    plain = states(PlainDevice(), precision, steps=2, scheme=scheme, wet_dry=wet_dry)
    compiled = states("cpu", precision, steps=2, scheme=scheme, wet_dry=wet_dry)
    assert abs(plain - compiled).max() < TOLERANCE[precision]
    assert abs(compiled[1]).max() > 1e-2


# A simulated lane is a Python thread: grids are tiny, and one step shows what there is to show.
SIMULATED = [
    ("rk2", "hydrostatic", "double", "open"),
    ("rk2", "kurganov-petrova", "single", "periodic"),
    ("euler", "hydrostatic", "single", "walls"),
]


@pytest.mark.simulator
@pytest.mark.parametrize(("scheme", "wet_dry", "precision", "sides"), SIMULATED)
def test_simulated_kernels_equal_the_cpu(scheme, wet_dry, precision, sides):
    from eagre.backend.simulated import SimulatedDevice

    options = {"steps": 1, "nx": 9, "ny": 5, "scheme": scheme, "wet_dry": wet_dry, "boundaries": BOUNDARIES[sides]}
    simulated = states(SimulatedDevice(), precision, **options)
    compiled = states("cpu", precision, **options)
    assert abs(simulated - compiled).max() < TOLERANCE[precision]


@pytest.mark.simulator
@pytest.mark.parametrize(("nx", "ny"), [(1, 1), (29, 2)])
def test_simulated_odd_sizes(nx, ny):
    from eagre.backend.simulated import SimulatedDevice

    simulated = states(SimulatedDevice(), "double", steps=1, nx=nx, ny=ny, scheme="euler")
    compiled = states("cpu", "double", steps=1, nx=nx, ny=ny, scheme="euler")
    assert abs(simulated - compiled).max() < TOLERANCE["double"]


@pytest.mark.simulator
def test_simulated_time_step_control_equals_the_cpu():
    from eagre.backend.simulated import SimulatedDevice

    results = []
    for device in (SimulatedDevice(), "cpu"):
        options = {**options_of(6, 3, seed=2), "fixed_time_step": None}
        model = ShallowWater(device=device, precision="double", **options)
        model.advance(0.1)
        results.append((model.steps, model.statistics()["dt_min"], model.diagnostics()["volume"]))
    assert results[0][0] == results[1][0] > 1
    assert results[0][1] == pytest.approx(results[1][1], rel=1e-12)
    assert results[0][2] == pytest.approx(results[1][2], rel=1e-13)
