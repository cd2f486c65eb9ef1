"""The plain stage of the explicit model, one cell after the other, against the fast kernels: every option."""

from __future__ import annotations

import numpy as np
import pytest

from eagre import Boundaries, Grid, ShallowWater, Stage, Wall
from eagre.boundaries import InternalArea, InternalLine
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


def walled(kernels, **options):
    """Model with walls along both axes, at an angle and around an area, over several tiles of rough ground."""
    rng = np.random.default_rng(3)
    grid = Grid(300, 70, 2.0, 1.5)
    lines = [InternalLine([(31.0, 10.0), (500.0, 90.0)], Wall()), InternalLine([(400.0, 0.0), (400.0, 60.0)], Wall())]
    ring = InternalArea([(100.0, 20.0), (200.0, 20.0), (200.0, 80.0), (90.0, 60.0)], Wall())
    own = {
        "surface_elevation": 0.1 * rng.standard_normal(grid.shape), "velocity_x": 0.2, "velocity_y": -0.1,
        "boundaries": Boundaries(west=Stage(0.1), internal=[*lines, ring]), "manning": 0.03, "device": "cpu",
    }  # fmt: skip
    return ShallowWater(grid, rng.uniform(-1.0, 0.2, (71, 301)), kernels=kernels, **own, **options)


@pytest.mark.parametrize(
    ("scheme", "wet_dry", "precision"),
    [
        ("rk2", "hydrostatic", "double"),
        ("rk2", "hydrostatic", "single"),
        ("euler", "kurganov-petrova", "double"),
        ("srk2", "hydrostatic", "double"),
        ("ds2", "kurganov-petrova", "double"),
    ],
)
def test_walls_inside_equal_those_of_the_reference(scheme, wet_dry, precision):
    fast, plain = (walled(k, scheme=scheme, wet_dry=wet_dry, precision=precision) for k in ("fast", "reference"))
    for model in (fast, plain):
        model.advance(1.0)
    assert (fast.settings()["kernels"], plain.settings()["kernels"]) == ("fast", "reference")
    assert fast.steps == plain.steps > 5
    assert fast.time_step == pytest.approx(plain.time_step, rel=1e-6 if precision == "single" else 1e-13)
    for field in NAMES:
        error = abs(fast.field(field).astype(np.float64) - plain.field(field)).max()
        assert error < (2e-6 if precision == "single" else 1e-13)
    assert abs(plain.field("discharge_x")).max() > 0.1


@pytest.mark.simulator
@pytest.mark.parametrize("sides", ["walls", "open"])
def test_simulated_reference_equals_the_cpu(sides):
    from eagre.backend.simulated import SimulatedDevice

    options = {"steps": 1, "nx": 7, "ny": 5, "boundaries": BOUNDARIES[sides], "kernels": "reference"}
    simulated, compiled = (ran(device, "double", **options) for device in (SimulatedDevice(), "cpu"))
    assert abs(state_of(simulated) - state_of(compiled)).max() < 1e-13


def test_other_kernels_are_refused():
    with pytest.raises(InputError, match="reference"):
        ran("cpu", "double", kernels="refrence")
