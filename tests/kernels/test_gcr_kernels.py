"""GCR(k) on devices: rows of a CPU, simulated blocks of a GPU, against plain cells and the transcription."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import CpuDevice, Launch, PlainDevice
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.column_sweeps import (
    Sweeps,
    Symbols,
    column_solver,
    mode_divider,
    solve_column,
)
from eagre.models.anelastic.preconditioners.spectral import periodic_factors, solve_periodic_cpu
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.models.anelastic.pressure.projection import Projection
from eagre.models.anelastic.pressure.separable import stencil_of
from eagre.solvers.gcr.fused_cuda import set_image
from kernels.recording import ir_of, loops_of, scattered_of, vectors_of

SHAPE = (3, 1, 5)


def projected(device, precision="double", **options):
    """A wind over a hill between walls in x; its velocity, its pressure, what was made."""
    hill = 0.3 * np.exp(-((np.arange(SHAPE[2]) - 2.0) ** 2))[None] * np.ones((SHAPE[1], 1))
    metric = Metric(SHAPE, (1.0, 1.0, 1.0), ("wall", "periodic", "wall"), hill=hill)
    density = np.exp(-metric.height / 3.0)
    options = {"tolerance": 1e-2, "max_iterations": 9, "method": "gcr", **options}
    projection = Projection(device, precision, metric, density, **options)
    device.fill(projection.u, np.random.default_rng(1).standard_normal(SHAPE).astype(projection.u.dtype))
    made = projection.solve(1.0)
    return np.stack([device.host(one) for one in (projection.u, projection.v, projection.w)]), made


@pytest.mark.simulator
def test_simulated_blocks():
    from eagre.backend.simulated import SimulatedDevice

    options = {"preconditioner": "fft", "num_directions": 2}
    (v, made), (expected, plain) = (projected(device(), **options) for device in (SimulatedDevice, PlainDevice))
    assert made.iterations == plain.iterations > 1
    assert np.abs(v - expected).max() < 1e-12


@pytest.mark.simulator
@pytest.mark.parametrize("preconditioner", ["none", "chebyshev"])
@pytest.mark.parametrize("sides", [("periodic", "periodic", "wall"), ("wall", "wall", "periodic")])
def test_fused_iterations(sides, preconditioner):
    """Two kernels an iteration, and marches of sweeps, make what one for each part of it makes."""
    from eagre.backend.simulated import SimulatedDevice

    shape, found = (5, 3, 6), []
    for kernels in ("fast", "reference"):
        metric = Metric(shape, (1.0, 1.5, 2.0), sides)
        density = 1.0 if sides[0] == "periodic" else np.exp(-metric.height / 3.0)
        projection = Projection(
            SimulatedDevice(), "double", metric, density,
            tolerance=1e-6, max_iterations=40, method="gcr", preconditioner=preconditioner, sweeps=3, kernels=kernels,
        )  # fmt: skip
        projection.set_coefficients(np.linspace(0.5, 1.0, 5) if sides[0] == "wall" else 0.9, 0.0, 0.8)
        projection.u[...] = np.random.default_rng(1).standard_normal(shape)
        made = projection.solve(1.0)
        found.append((made.iterations, made.divergence, projection.phi.copy(), projection.u.copy()))
    (count, left, phi, u), (counted, also_left, its_phi, its_u) = found
    assert count == counted > (3 if preconditioner == "none" else 1)
    assert left == pytest.approx(also_left, rel=1e-3)
    np.testing.assert_allclose(phi, its_phi, atol=1e-10)
    np.testing.assert_allclose(u, its_u, atol=1e-10)


@pytest.mark.simulator
@pytest.mark.parametrize("nz", [1, 2, 3, 9, 10, 18])
def test_chains_of_columns(nz):
    """Threads for each chain make what `solve_column` makes, in place."""
    from eagre.backend.simulated import SimulatedDevice

    random = np.random.default_rng(nz)
    f, inverse = random.standard_normal((nz, 2, 10)), random.random((nz, 2, 5))
    coupling, scale = random.random((nz, 1, 1)), random.random(nz)
    coupling[max(0, nz - 2) :] = 0.0
    expected, device = f.copy(), SimulatedDevice()
    plain = PlainDevice()
    loop = plain.loop(solve_column, "double", {"PARTS": 2})
    plain.run([plain.over(loop, (2, 5), (expected, inverse, coupling, scale))])
    device.run([column_solver(device, "double", {"PARTS": 2})((f, inverse, coupling, scale))])
    np.testing.assert_allclose(f, expected, rtol=0.0, atol=1e-14)


@pytest.mark.simulator
@pytest.mark.parametrize("nz", [1, 5, 8])
def test_modes_are_divided(nz):
    """Four levels a thread make what `divide` makes."""
    from eagre.backend.simulated import SimulatedDevice

    random = np.random.default_rng(nz)
    f, tables = random.standard_normal((nz, 9, 6)), Symbols(*(random.random(n) for n in (nz, nz, 9, 3, nz)))
    tables.along_z[0] = tables.along_y[0] = tables.along_x[0] = 0.0
    expected = f.copy()
    PlainDevice().run([mode_divider(PlainDevice(), "double", 2)(expected, tables)])
    SimulatedDevice().run([mode_divider(SimulatedDevice(), "double", 2)(f, tables)])
    np.testing.assert_array_equal(f, expected)
    assert f[0, 0, 0] == 0.0 and np.abs(f[0, 0, 2:]).min() > 0.0


@pytest.mark.parametrize("nz", [2, 5, 8])
def test_columns_that_close(nz):
    """(e + 2 c) q - c (q_(k+2) + q_(k-2)) = -scale b round a periodic z; chains without e have the mean 0."""
    rng = np.random.default_rng(nz)
    e, c, scale = rng.random((2, 3)) + 1e-4, 0.7, 1.3
    e[0, 0] = 0.0
    b = rng.standard_normal((nz, 2, 3))
    chains = range(1 if nz % 2 else 2)
    for first in chains:
        b[first :: len(chains), 0, 0] -= b[first :: len(chains), 0, 0].mean()
    q, made = b.copy(), periodic_factors(e, c, scale, nz)
    PlainDevice().run([Launch(PlainDevice().program(solve_periodic_cpu, "double"), (q, made, np.zeros((2, 3))))])
    left = (e + 2.0 * c) * q - c * (np.roll(q, 2, 0) + np.roll(q, -2, 0)) + scale * b
    np.testing.assert_allclose(left, 0.0, atol=1e-13)
    assert max(abs(q[first :: len(chains), 0, 0].mean()) for first in chains) < 1e-14


@pytest.mark.parametrize("sides", [("periodic", "wall", "periodic"), ("wall", "periodic", "wall")])
@pytest.mark.parametrize("shape", [(5, 1, 4), (4, 5, 3)])
def test_star_of_the_operator(shape, sides):
    """Tables of lines make the L of the model's cells."""
    levels = None if sides[0] == "periodic" else np.cumsum([0.0, 1.0, 1.1, 1.3, 1.4][: shape[0]])
    metric = Metric(shape, (1.0, 1.5, 2.0), sides, levels=levels)
    random, real = np.random.default_rng(4), lambda low: random.uniform(low, 1.0, (shape[0], 1, 1))
    operator = PressureOperator(PlainDevice(), "double", metric, real(0.5), real(0.3), 0.0 * real(0.3), real(0.4))
    q, image, expected = random.standard_normal(shape), np.zeros(shape), np.zeros(shape)
    PlainDevice().run(operator.apply(q, expected))
    for k, j, i in np.ndindex(shape):
        set_image(k, j, i, q, stencil_of(operator), image)
    np.testing.assert_allclose(image, expected, rtol=0.0, atol=1e-13)
    assert np.abs(image).max() > 0.1


@pytest.mark.slow
def test_rows_over_terrain_are_vectorised():
    """laplc and columns, in single precision: vectors of neighbours, nothing gathered but at the ends of rows."""
    hill = 0.3 * np.exp(-((np.arange(33) - 16.0) ** 2) / 20.0)[None] * np.ones((5, 1))
    metric = Metric((7, 5, 33), (1.0, 1.0, 1.0), ("wall", "periodic", "periodic"), hill=hill)
    projection = Projection(CpuDevice(), "single", metric, np.exp(-metric.height / 3.0), preconditioner="line-jacobi")
    q, out = np.ones((2, 7, 5, 33), np.float32)
    fluxes, differences = (loops_of(ir_of(one)) for one in projection.operator.apply(q, out))
    assert any(products >= 18 and scattered == 0 for products, scattered in fluxes), "rows in the air"
    assert any(products >= 28 and scattered == 0 for products, scattered in fluxes), "rows by the ground and the top"
    assert any(products >= 3 and scattered == 0 for products, scattered in differences)
    columns = ir_of(Sweeps(projection.operator, "line-jacobi", 1).launches(q, out)[1])
    assert vectors_of(columns, "fmul") >= 4 and scattered_of(columns) == 0
