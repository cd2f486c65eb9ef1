"""What the flow of the barotropic model carries: a tracer and two layers term by term, particles along known paths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid, Layers
from eagre.backend.select import select
from eagre.laboratory.validation.measures import observed_orders
from eagre.models.barotropic.kernels import drifted
from oracle.barotropic import COEFFICIENTS, JACOBIANS, centre, laplacian


@pytest.mark.parametrize("viscosity_scheme", ["explicit", "implicit"])
@pytest.mark.parametrize(("scheme", "jacobian"), [("ab3", "arakawa"), ("ab2", "advective")])
def test_tracer_as_the_transcription(viscosity_scheme, scheme, jacobian):
    """C_t = -J(psi, c) + kappa Lap c, no flux through the walls, whatever the vorticity does."""
    rng = np.random.default_rng(2)
    grid = Grid.from_points(14, 11, 2.6, 3.0)
    c, zeta = 1.0 + rng.random(grid.shape), 20.0 * rng.standard_normal(grid.shape)
    model = BarotropicVorticity(
        grid, time_step=1e-3, relative_vorticity=zeta, viscosity=0.05, viscosity_scheme=viscosity_scheme,
        tracer=c, tracer_diffusivity=0.1, scheme=scheme, jacobian=jacobian, device="cpu", precision="double",
    )  # fmt: skip
    history = []
    for step in range(1, 8):
        c = np.pad(c[1:-1, 1:-1], 1, mode="edge")
        psi = model.field("streamfunction")
        f = 0.1 * laplacian(c, grid.dx, grid.dy) - JACOBIANS[jacobian](psi, c, grid.dx, grid.dy)
        history = [f, *history][: int(scheme[2])]
        for weight, old in zip(COEFFICIENTS[len(history)], history, strict=True):
            c[1:-1, 1:-1] += 1e-3 * weight * old
        model.advance(step * 1e-3)
        assert np.abs(model.field("tracer") - c)[1:-1, 1:-1].max() < 1e-13
    assert model.field("tracer")[1:-1, 1:-1].sum() > 0.0


@pytest.mark.parametrize("wind", ["none", "jet", "noise"])
@pytest.mark.parametrize("terms", [{}, {"topography": True}], ids=["flat", "topography"])
def test_layers_as_the_transcription(terms, wind):
    """Wind on the upper layer, bottom friction and topography on the lower one; zeta = q + F (psi - other psi)."""
    rng = np.random.default_rng(6)
    grid, layers, viscosity, friction, beta = Grid.from_points(14, 11, 2.6, 3.0), Layers(3.0, 1.0), 0.05, 0.2, 3.0
    q = [np.pad(20.0 * rng.standard_normal((9, 12)), 1) for _ in range(2)]
    noise = rng.standard_normal(grid.shape)
    bed = 5.0 * rng.standard_normal(grid.shape) if terms else np.zeros(grid.shape)
    curl = {"none": 0.0 * noise, "jet": np.sin(grid.y[:, None]) + 0.0 * noise, "noise": noise}[wind]
    model = BarotropicVorticity(
        grid, time_step=1e-3, potential_vorticity=q[0], potential_vorticity_lower=q[1], layers=layers, beta=beta,
        viscosity=viscosity, bottom_friction=friction, wind_forcing=curl, topography=bed if terms else None,
        device="cpu", precision="double",
    )  # fmt: skip
    history = [[], []]
    for step in range(1, 6):
        psi = [model.field("streamfunction"), model.field("streamfunction_lower")]
        for k, p in enumerate(psi):
            zeta = q[k] + layers.coupling_parameter(k) * (p - psi[1 - k])
            f = viscosity * laplacian(zeta, grid.dx, grid.dy) - JACOBIANS["arakawa"](p, q[k], grid.dx, grid.dy)
            f -= beta * (centre(p, 0, 1) - centre(p, 0, -1)) / (2 * grid.dx)
            if k == 0:
                f += centre(curl, 0, 0)
            else:
                f -= friction * centre(zeta, 0, 0) + JACOBIANS["arakawa"](p, bed, grid.dx, grid.dy)
            history[k] = [f, *history[k]][:3]
        for k in (0, 1):
            for weight, old in zip(COEFFICIENTS[len(history[k])], history[k], strict=True):
                q[k][1:-1, 1:-1] += 1e-3 * weight * old
        model.advance(step * 1e-3)
        for k, name in enumerate(("potential_vorticity", "potential_vorticity_lower")):
            assert np.abs(model.field(name) - q[k]).max() < 1e-12


def test_particles_move_by_a_rule_of_second_order():
    """In psi = x y, which is bilinear everywhere, a particle goes along x0 exp(-t), y0 exp(t)."""
    device = select("cpu")
    program = device.loop(drifted, "double")
    psi = np.outer(np.arange(12.0), np.arange(10.0))
    errors = []
    for steps in (10, 20, 40):
        place = np.array([[7.0], [1.5]])
        arguments = (psi, place, 10, 1.0 / steps, 0.0, 0.0)
        for _ in range(steps):
            device.run([device.over(program, (1,), arguments)])
        errors.append(float(np.abs(place[:, 0] - [7.0 / math.e, 1.5 * math.e]).max()))
    assert np.abs(np.array(observed_orders(errors)) - 2.0).max() < 0.1 and errors[-1] < 2e-3


def test_particles_drift_with_the_bilinear_flow_of_their_own_cell():
    """Of noise, in each cell, those at walls too, and no further than the walls."""
    device, rng = select("cpu"), np.random.default_rng(4)
    ny, nx = 6, 5
    psi = rng.standard_normal((ny, nx))
    j, i = (one.ravel() for one in np.meshgrid(np.arange(ny - 1), np.arange(nx - 1), indexing="ij"))
    a, b = 0.2 + 0.6 * rng.random((2, j.size))
    place, small = np.array([i + a, j + b]), 1e-7
    start = place.copy()
    device.run([device.over(device.loop(drifted, "double"), (j.size,), (psi, place, nx, small, 0.0, 0.0))])
    west, east = psi[j + 1, i] - psi[j, i], psi[j + 1, i + 1] - psi[j, i + 1]
    south, north = psi[j, i + 1] - psi[j, i], psi[j + 1, i + 1] - psi[j + 1, i]
    u, v = -((1.0 - a) * west + a * east), (1.0 - b) * south + b * north
    np.testing.assert_allclose((place - start) / small, [u, v], rtol=0, atol=1e-5)
    y, x = np.mgrid[0.0:ny, 0.0:nx]
    for plane, end in ((x, [2.5, ny - 1.0]), (-x, [2.5, 0.0]), (y, [0.0, 2.5]), (-y, [nx - 1.0, 2.5])):
        place = np.array([[2.5], [2.5]])
        device.run([device.over(device.loop(drifted, "double"), (1,), (plane, place, nx, 100.0, 0.0, 0.0))])
        np.testing.assert_allclose(place[:, 0], end, rtol=0, atol=1e-10)


@pytest.mark.parametrize("basin", ["channel", "periodic"])
def test_particles_go_round_a_period(basin):
    """Zonal jets psi = sin(m y): u = -m cos(m y), nothing else moves; several rounds both ways."""
    nx, ny = 16, 64
    m = 2.0 if basin == "periodic" else 1.0
    height = 2.0 * math.pi / m
    grid = Grid(nx, ny, 0.25, height / ny) if basin == "periodic" else Grid(nx, ny + 1, 0.25, height / ny)
    y = grid.y - grid.y[0]
    psi = np.repeat(np.sin(m * y)[:, None], nx, axis=1)
    lap = -((2.0 / grid.dy * math.sin(0.5 * m * grid.dy)) ** 2)
    start = np.array([[grid.x[0] + 0.3, grid.y[0] + 0.01], [grid.x[0] + 1.7, grid.y[0] + 0.5 * height + 0.01]])
    model = BarotropicVorticity(
        grid,
        time_step=0.01,
        basin=basin,
        relative_vorticity=lap * psi,
        particles=start,
        device="cpu",
        precision="double",
    )
    assert np.abs(model.particle_positions - start).max() < 1e-14
    assert np.abs(model.field("streamfunction") - psi).max() < 1e-12
    period = nx * grid.dx
    for time in 0.25 * np.arange(1, 29):
        model.advance(time)
        x = model.particle_positions[:, 0]
        assert ((x >= grid.x[0]) & (x < grid.x[0] + period)).all()
    speed = math.sin(m * grid.dy) / grid.dy  # of the bilinear psi in the cell beside y = 0
    expected = grid.x[0] + np.mod(start[:, 0] - grid.x[0] + np.array([-speed, speed]) * 7.0, period)
    found = model.particle_positions
    assert np.abs(found[:, 0] - expected).max() < 1e-9
    assert np.abs(found[:, 1] - start[:, 1]).max() < 1e-12
    assert speed * 7.0 > 1.5 * period
