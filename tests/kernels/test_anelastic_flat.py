"""Kernels of a GPU over flat ground, with several points a thread, against the model's cells."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import PlainDevice
from eagre.models.anelastic import step_kernels
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.pressure.projection import Projection
from eagre.models.anelastic.pressure.separable import elementwise
from eagre.models.anelastic.step_kernels import StepCoefficients

pytestmark = pytest.mark.simulator
SHAPE = (5, 3, 8)


def simulated():
    from eagre.backend.simulated import SimulatedDevice

    return SimulatedDevice()


def projected(device, precision, sides, in_forces):
    """Velocity and half forces after a direct solution; what was made."""
    metric = Metric(SHAPE, (1.0, 1.5, 2.0), sides)
    density = 1.0 if sides[0] == "periodic" else np.exp(-metric.height / 3.0)
    wind, forces = np.random.default_rng(1).standard_normal((2, 3, *SHAPE))
    wind, forces = (one.astype("f4" if precision == "single" else "f8") for one in (wind, forces))
    projection = Projection(
        device, precision, metric, density, velocity=tuple(wind), forces=tuple(forces), provisional_in_forces=in_forces,
        tolerance=1e-5 if precision == "single" else 1e-12,
    )  # fmt: skip
    through = np.random.default_rng(2).standard_normal((2, *SHAPE))
    ends = {"x": through[..., 0], "y": through[:, :, 0], "z": through[:, 0]}
    if "open" in sides:
        projection.set_normal(**{axis: ends[axis] for axis, side in zip("zyx", sides, strict=True) if side == "open"})
    projection.set_coefficients(0.9, 0.0, 0.8 if sides[0] == "periodic" else np.linspace(0.5, 1.0, SHAPE[0]))
    made = projection.solve(1.0)
    return np.concatenate([wind, forces]), made


@pytest.mark.parametrize("in_forces", [False, True])
@pytest.mark.parametrize("sides", [("periodic", "periodic", "periodic"), ("wall", "periodic", "periodic")])
@pytest.mark.parametrize("precision", ["single", "double"])
def test_direct_solutions(precision, sides, in_forces):
    found, made = projected(simulated(), precision, sides, in_forces)
    expected, plain = projected(PlainDevice(), precision, sides, in_forces)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-6 if precision == "single" else 1e-13)
    assert made.iterations == plain.iterations == 1


@pytest.mark.parametrize("in_forces", [False, True])
@pytest.mark.parametrize(
    "sides",
    [
        ("wall", "wall", "wall"),
        ("wall", "open", "open"),
        ("wall", "wall", "open"),
        ("wall", "open", "periodic"),
        ("open", "periodic", "open"),
    ],
)
def test_walls_and_open_boundaries(sides, in_forces):
    found, made = projected(simulated(), "double", sides, in_forces)
    expected, plain = projected(PlainDevice(), "double", sides, in_forces)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)
    assert made.iterations == plain.iterations


@pytest.mark.parametrize("size", [(5, 3, 8), (5, 3, 7)])
@pytest.mark.parametrize("driven", [False, True])
def test_what_is_advected(driven, size):
    x, force, drag = np.random.default_rng(1).standard_normal((3, *size)).astype("f4")
    past, expected, before = x.copy(), x.copy(), 0.0 * x
    device, plain = simulated(), PlainDevice()
    pace, its = (StepCoefficients(one, "single", (1.0, 1.0, 1.0)) for one in (device, plain))
    for one in (pace, its):
        one.set(0.3, 0.2)
    loop = plain.loop(step_kernels.add_force_to_wind, "single", {"DRIVEN": driven})
    plain.run([plain.over(loop, size, (expected, force, drag, its.numbers, before))])
    past[...] = 0.0
    device.run([elementwise(device, "single", driven, (x, force, drag, pace.numbers, past))])
    np.testing.assert_allclose(x, expected, rtol=1e-6)
    np.testing.assert_array_equal(past, before)
