"""Cells of the anelastic step against its oracle, plain and compiled, walls and periodic, flat and over a hill."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import CpuDevice, PlainDevice
from eagre.models.anelastic import step_kernels
from eagre.models.anelastic.advector import FaceFluxes
from eagre.models.anelastic.step_kernels import Slopes, StepCoefficients, Velocity
from oracle import anelastic as oracle

RNG = np.random.default_rng(3)


def air_of(shape, walls, hill):
    """An oracle's air, and the parts that its slopes are products of."""
    nz, ny, nx = shape
    plane = (ny, nx) if hill else (1, 1)
    density = 1.0 + RNG.random((nz, *plane))
    stretch, fade = 1.0 + RNG.random(nz), RNG.random(nz)
    squeeze, slope_x, slope_y = (RNG.random((ny, nx)) + 0.5 if hill else np.ones((ny, nx)) for _ in range(3))
    column = (slice(None), None, None)
    slopes = {"g33": stretch[column] * squeeze}
    if hill:
        slopes |= {"g13": fade[column] * slope_x, "g23": fade[column] * slope_y}
    air = oracle.Air((0.5, 0.9, 0.7), walls, 0.2, density * np.ones(shape), **slopes)
    return air, density, (stretch, fade, squeeze, slope_x, slope_y)


def wind_of(air, shape):
    """A random wind that blows through no wall."""
    u, v, w = (RNG.standard_normal(shape) for _ in range(3))
    if air.walls[2]:
        u[:, :, [0, -1]] = 0.0
    if air.walls[1]:
        v[:, [0, -1]] = 0.0
    if air.walls[0]:
        w[[0, -1]] = -((air.g13 * u + air.g23 * v) / air.g33)[[0, -1]]
    return [u, v, w]


GRIDS = pytest.mark.parametrize(
    ("shape", "walls"),
    [
        ((4, 5, 6), (True, False, False)),
        ((5, 4, 3), (False, True, True)),
        ((4, 1, 6), (True, False, True)),
        ((1, 5, 6), (False, False, False)),
        ((2, 2, 2), (True, True, True)),
    ],
)


@pytest.mark.simulator
@pytest.mark.parametrize("hill", [False, True])
@GRIDS
def test_faces_in_one_kernel(shape, walls, hill):
    """On a GPU: as the oracle, and the Courant number of all points is the largest of the blocks'."""
    from eagre.backend.simulated import SimulatedDevice

    device = SimulatedDevice()
    advector, air = check_advector(device, shape, walls, hill, "double")
    mass, found = air.density, (advector.v1, advector.v2, advector.v3)
    leaving = sum(
        np.maximum(np.roll(v, -1, axis), 0.0)[cut] - np.minimum(v, 0.0)[cut]
        for v, axis, cut in zip(found, (2, 1, 0), (np.s_[:, :, :-1], np.s_[:, :-1], np.s_[:-1]), strict=True)
    )
    assert advector.partial_maxima.max() == pytest.approx((leaving / mass).max(), rel=1e-13)


@pytest.mark.nojit
@pytest.mark.parametrize("device", [PlainDevice(), CpuDevice()], ids=["plain", "compiled"])
@pytest.mark.parametrize("precision", ["single", "double"])
@pytest.mark.parametrize("hill", [False, True])
@GRIDS
def test_the_advector_is_that_of_the_oracle(device, shape, walls, hill, precision):
    check_advector(device, shape, walls, hill, precision)


@pytest.mark.nojit
@pytest.mark.parametrize("device", [PlainDevice(), CpuDevice()], ids=["plain", "compiled"])
@pytest.mark.parametrize("hill", [False, True])
def test_what_leaves_a_cell_over_its_mass(device, hill):
    """Through all six faces, the largest of each row; rows one after the other, level by level."""
    nz, ny, nx = shape = (3, 4, 5)
    v1, v2, v3 = (RNG.standard_normal(one) for one in ((nz, ny, nx + 1), (nz, ny + 1, nx), (nz + 1, ny, nx)))
    mass = 1.0 + RNG.random(shape if hill else (nz, 1, 1))
    leaving = sum(
        np.maximum(np.take(v, range(1, n + 1), axis), 0.0) - np.minimum(np.take(v, range(n), axis), 0.0)
        for v, n, axis in ((v1, nx, 2), (v2, ny, 1), (v3, nz, 0))
    )
    out = device.zeros((nz * ny,), np.float64)
    loop = device.loop(step_kernels.max_outflow, "double", {"TERRAIN": hill})
    device.run([device.over(loop, (nz * ny,), (*map(device.array, (v1, v2, v3, mass)), out))])
    device.synchronize()
    np.testing.assert_allclose(device.host(out).reshape(nz, ny), (leaving / mass).max(axis=2), rtol=1e-14)


def check_advector(device, shape, walls, hill, precision):
    air, density, parts = air_of(shape, walls, hill)
    now, then = (wind_of(air, shape) for _ in range(2))
    ratio = 0.4
    expected = oracle.faces([(1.0 + ratio) * a - ratio * b for a, b in zip(now, then, strict=True)], air)
    real = np.float32 if precision == "single" else np.float64

    def on(values):
        return device.array(np.asarray(values, real))

    advector = FaceFluxes(
        device, precision, shape, on(density), Slopes(*map(on, parts)),
        tuple("wall" if wall else "periodic" for wall in walls), hill,
    )  # fmt: skip
    pace = StepCoefficients(device, precision, air.spacing)
    pace.set(air.dt, air.dt / (2.0 * ratio))
    device.run(advector.launches(Velocity(*map(on, now)), Velocity(*map(on, then)), pace))
    device.synchronize()
    for found, wanted in zip((advector.v1, advector.v2, advector.v3), expected, strict=True):
        np.testing.assert_allclose(
            device.host(found), wanted, rtol=0, atol=(3e-6 if precision == "single" else 1e-14) * 3.0
        )
    return advector, air


def test_the_advector_of_a_wind_without_divergence_has_none():
    shape, walls = (5, 4, 6), (True, True, False)
    air, density, parts = air_of(shape, walls, False)
    v, _ = oracle.project([RNG.standard_normal(shape) for _ in range(3)], air)
    device = CpuDevice()
    advector = FaceFluxes(device, "double", shape, density, Slopes(*parts), ("wall", "wall", "periodic"), False)
    pace = StepCoefficients(device, "double", air.spacing)
    pace.set(air.dt, air.dt)
    device.run(advector.launches(Velocity(*v), Velocity(*v), pace))
    v1, v2, v3 = advector.v1, advector.v2, advector.v3
    net = np.diff(v1, axis=2) + np.diff(v2, axis=1) + np.diff(v3, axis=0)
    assert np.abs(net).max() < 1e-13
