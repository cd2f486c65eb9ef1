"""Cosine and sine transforms between walls on a GPU, against sums in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import Device
from eagre.solvers.poisson.axes import WallTransforms, transformed

pytestmark = pytest.mark.simulator


def simulated() -> Device:
    from eagre.backend.simulated import SimulatedDevice

    return SimulatedDevice()


def matrix(n, sine):
    """Factors of the transform of type I of n values."""
    if sine:
        k = np.arange(1, n + 1)
        return 2.0 * np.sin(np.pi * np.outer(k, k) / (n + 1))
    k = np.arange(n)
    weight = np.where((k == 0) | (k == n - 1), 1.0, 2.0)
    return weight * np.cos(np.pi * np.outer(k, k) / (n - 1))


def summed(x, axis, sine):
    return np.moveaxis(np.moveaxis(x, axis, -1) @ matrix(x.shape[axis], sine).T, -1, axis)


@pytest.mark.parametrize("sine", [False, True])
@pytest.mark.parametrize("shape", [(2,), (9,), (5, 40), (3, 2, 5), (2, 33, 34), (1, 8, 1)])
def test_sums(shape, sine):
    """Even and odd numbers of intervals, tiles that are cut, and both in one array."""
    x = np.random.default_rng(len(shape)).standard_normal(shape)
    axes = [axis for axis, n in enumerate(shape) if n > 1]
    device = simulated()
    transforms = WallTransforms(device, "double", shape, axes, sine)
    for axis in axes:
        out, back = np.full(shape, np.nan), x.copy()
        device.run(transforms.launches(axis, x, out))
        np.testing.assert_allclose(out, summed(x, axis, sine), rtol=0.0, atol=2e-14 * shape[axis])
        device.run([*transforms.launches(axis, back, back), *transforms.launches(axis, back, back, inverse=True)])
        np.testing.assert_allclose(back, x, rtol=0.0, atol=1e-14 * shape[axis])


def test_single_precision_and_strided_arrays():
    x = np.random.default_rng(1).standard_normal((7, 6)).astype("f4").T
    found = transformed(simulated(), x, -1, sine=False, inverse=False)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, summed(x.astype("f8"), 1, False), rtol=0.0, atol=1e-5)
