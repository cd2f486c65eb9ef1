"""GCR(k) on devices: rows of a CPU, simulated blocks of a GPU, against plain cells and the transcription."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import CpuDevice, PlainDevice
from eagre.models.anelastic.metric import Metric
from eagre.models.anelastic.projection import Projection
from eagre.models.anelastic.sweeps import Sweeps
from kernels.recording import ir_of, scattered_of, vectors_of

SHAPE = (3, 1, 5)


def projected(device, precision="double", **options):
    """A wind over a hill between walls in x; its velocity, its pressure, what was made."""
    hill = 0.3 * np.exp(-((np.arange(SHAPE[2]) - 2.0) ** 2))[None] * np.ones((SHAPE[1], 1))
    metric = Metric(SHAPE, (1.0, 1.0, 1.0), ("wall", "periodic", "wall"), hill=hill)
    density = np.exp(-metric.height / 3.0)
    options = {"tolerance": 1e-2, "most": 9, "method": "gcr", **options}
    projection = Projection(device, precision, metric, density, **options)
    device.fill(projection.u, np.random.default_rng(1).standard_normal(SHAPE).astype(projection.u.dtype))
    made = projection.solve(1.0)
    return np.stack([device.host(one) for one in (projection.u, projection.v, projection.w)]), made


@pytest.mark.simulator
def test_simulated_blocks():
    from eagre.backend.simulated import SimulatedDevice

    options = {"preconditioner": "fft", "kept": 2}
    (v, made), (expected, plain) = (projected(device(), **options) for device in (SimulatedDevice, PlainDevice))
    assert made.iterations == plain.iterations > 1
    assert np.abs(v - expected).max() < 1e-12


@pytest.mark.slow
def test_rows_over_terrain_are_vectorised():
    """laplc and columns, in single precision: vectors of neighbours, nothing gathered."""
    hill = 0.3 * np.exp(-((np.arange(33) - 16.0) ** 2) / 20.0)[None] * np.ones((5, 1))
    metric = Metric((7, 5, 33), (1.0, 1.0, 1.0), ("wall", "periodic", "periodic"), hill=hill)
    projection = Projection(CpuDevice(), "single", metric, np.exp(-metric.height / 3.0), preconditioner="line-jacobi")
    q, out = np.ones((2, 7, 5, 33), np.float32)
    launches = [projection.operator.apply(q, out), *Sweeps(projection.operator, "line-jacobi", 1).launches(q, out)[1:2]]
    for launch, products in zip(launches, (40, 4), strict=True):
        text = ir_of(launch)
        assert vectors_of(text, "fmul") >= products and scattered_of(text) == 0
