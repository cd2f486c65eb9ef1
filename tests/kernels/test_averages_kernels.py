"""Averages over time: a million steps in single precision against float64, and on a GPU, simulated."""

from __future__ import annotations

import numpy as np
import pytest

from barotropic_runs import model_on
from eagre import ShallowWater, ShallowWaterADI, TimeStatistics
from eagre.backend.compilation.cells import cell, serial_entry
from eagre.backend.select import select
from eagre.kernels.averages import LAST, NUMBERS, Planes, Quantities, averaged, weigh
from kernels.conftest import options_of
from kernels.test_potential_waves_model import tiny

STEPS = 10**6


@cell
def first(j, i, values, n):
    return values[0, n]


@cell
def second(j, i, values, n):
    return values[1, n]


PLANES = Planes(("first", "second"), (("first", "first"), ("second", "second"), ("first", "second")))
taken = averaged(Quantities("values, n", {"first": first, "second": second}), PLANES)


@serial_entry
def make_steps(times, values, sums, numbers):
    for n in range(1, times.size):
        weigh(numbers, times[n])
        taken(0, 0, values, n, sums, numbers)
        weigh(numbers, times[n])
        taken(0, 0, values, n, sums, numbers)


def test_a_million_steps_in_single_precision():
    """A large mean with a small fluctuation, and a slow drift; every state is taken up twice, the second in vain."""
    random = np.random.default_rng(2)
    times = np.concatenate([[0.0], np.cumsum(random.uniform(0.5, 1.5, STEPS))])
    noise = random.standard_normal((2, STEPS + 1))
    values = np.stack([1000.0 + 0.01 * noise[0], 0.003 * noise[0] + noise[1] * 0.01 + 1e-6 * times]).astype(np.float32)
    sums, numbers = np.zeros((5, 1, 1)), np.zeros(NUMBERS)
    select("cpu").program(make_steps, "single")(times, values, sums, numbers)
    weights, exact = np.diff(times), values[:, 1:].astype(np.float64)
    means = exact @ weights / times[-1]
    off = exact - means[:, None]
    covariance = (off * weights) @ off.T / times[-1]
    np.testing.assert_allclose(sums[:2, 0, 0], means, rtol=1e-13)
    found = sums[2:, 0, 0] / times[-1]
    np.testing.assert_allclose(found[:2], np.diag(covariance), rtol=1e-10)
    np.testing.assert_allclose(
        found[2], covariance[0, 1], rtol=0, atol=1e-8 * np.sqrt(covariance[0, 0] * covariance[1, 1])
    )
    assert numbers[LAST] == times[-1]


WATER = TimeStatistics(
    ["surface_elevation", "velocity", "discharge"], ["speed"], [("depth", "velocity_x")], maximum=["speed"]
)
GYRE = TimeStatistics(["streamfunction", "relative_vorticity", "speed"], ["velocity"], minimum=["relative_vorticity"])
WAVES = TimeStatistics(["surface_elevation", "velocity_x", "velocity_z"], maximum=["surface_elevation"])


def explicit(device, precision):
    options = {**options_of(6, 4, seed=2), "time_step": None, "precision": precision}
    return ShallowWater(device=device, time_statistics=WATER, **options)


def implicit(device, precision):
    options = options_of(6, 4, seed=2)
    for name in ("time_step", "desingularisation_depth"):
        del options[name]
    return ShallowWaterADI(time_step=0.05, device=device, precision=precision, time_statistics=WATER, **options)


def gyre(device, precision):
    return model_on(device, 9, 9, time_step=0.02, precision=precision, time_statistics=GYRE)


def waves(device, precision):
    return tiny(device, "double", time_statistics=WAVES)


@pytest.mark.simulator
@pytest.mark.parametrize("make", [explicit, implicit, gyre, waves])
def test_simulated_averages_equal_the_cpu(make):
    from eagre.backend.simulated import SimulatedDevice

    ours, theirs = (make(device, "single") for device in (SimulatedDevice(), "cpu"))
    for model in (ours, theirs):
        model.advance(0.05)
        model.restore(model.state())
        model.advance(0.1)
    expected = theirs.maps.sample()
    for name, values in ours.maps.sample().items():
        size = np.abs(expected[name]).max()
        assert size > 1e-5, name
        np.testing.assert_allclose(values, expected[name], rtol=0, atol=1e-3 * size, err_msg=name)
