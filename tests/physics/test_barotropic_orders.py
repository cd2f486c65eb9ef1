"""Numerics of the barotropic model: the tendency term by term, orders in space and time, walls, sizes, threads."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from eagre import BarotropicVorticity, Grid
from eagre.backend.select import select
from eagre.laboratory.bench.machine import threads_limited
from eagre.laboratory.validation.measures import observed_orders
from oracle.barotropic import double_gyre

BETA, VISCOSITY, FRICTION = 3.0, 0.02, 0.3
PHYSICS = {"beta": BETA, "viscosity": VISCOSITY, "bottom_friction": FRICTION, "device": "cpu", "precision": "double"}


def scalar_tendency(p, z, curl, dx, dy, j, i, arakawa):
    """F at one point, written out; p = psi, z = zeta, [j][i]."""
    east_west = (p[j][i + 1] - p[j][i - 1]) / (2 * dx)
    north_south = (p[j + 1][i] - p[j - 1][i]) / (2 * dy)
    jacobian = east_west * (z[j + 1][i] - z[j - 1][i]) / (2 * dy) - north_south * (z[j][i + 1] - z[j][i - 1]) / (2 * dx)
    if arakawa:
        # (psi zeta_y)_x - (psi zeta_x)_y and (zeta psi_x)_y - (zeta psi_y)_x, of the neighbours' differences.
        second = third = 0.0
        for side in (-1, 1):
            second += side * p[j][i + side] * (z[j + 1][i + side] - z[j - 1][i + side])
            second -= side * p[j + side][i] * (z[j + side][i + 1] - z[j + side][i - 1])
            third += side * z[j + side][i] * (p[j + side][i + 1] - p[j + side][i - 1])
            third -= side * z[j][i + side] * (p[j + 1][i + side] - p[j - 1][i + side])
        jacobian = (jacobian + second / (4 * dx * dy) + third / (4 * dx * dy)) / 3
    laplacian = (z[j][i + 1] - 2 * z[j][i] + z[j][i - 1]) / dx**2 + (z[j + 1][i] - 2 * z[j][i] + z[j - 1][i]) / dy**2
    return -jacobian - BETA * east_west + VISCOSITY * laplacian - FRICTION * z[j][i] + curl[j][i]


@pytest.mark.parametrize("jacobian", ["arakawa", "advective"])
def test_tendency_of_a_scalar_loop(jacobian):
    rng = np.random.default_rng(5)
    grid = Grid.from_points(9, 8, 2.6, 3.0)
    zeta, curl = np.zeros(grid.shape), rng.standard_normal(grid.shape)
    zeta[1:-1, 1:-1] = 20.0 * rng.standard_normal((6, 7))
    model = BarotropicVorticity(
        grid, time_step=1e-3, wind_forcing=curl, relative_vorticity=zeta, jacobian=jacobian, **PHYSICS
    )
    psi = model.field("streamfunction").tolist()
    model.advance(1e-3)
    found = model.state()["tendency0_0"]
    for j in range(1, grid.ny - 1):
        for i in range(1, grid.nx - 1):
            expected = scalar_tendency(psi, zeta.tolist(), curl.tolist(), grid.dx, grid.dy, j, i, jacobian == "arakawa")
            assert found[j, i] == pytest.approx(expected, rel=1e-11, abs=1e-11)


def eddy(scheme, dt, end):
    """A gyre driven from an eddy, at `end`."""
    grid = Grid.from_points(21, 17, math.pi, math.pi)
    x, y = grid.mesh()
    zeta = -5.0 * np.sin(x) * np.sin(2 * y) - 5.0 * np.sin(2 * x) * np.sin(y)
    model = BarotropicVorticity(grid, time_step=dt, relative_vorticity=zeta, scheme=scheme, **PHYSICS)
    model.advance(end)
    return model


def test_second_order_in_time():
    """AB2 with its first step of Euler: errors at dt, dt / 2, dt / 4 against a much shorter step."""
    exact = eddy("ab3", 1.25e-4, 0.32).field("streamfunction")
    errors = [np.abs(eddy("ab2", dt, 0.32).field("streamfunction") - exact).max() for dt in (8e-3, 4e-3, 2e-3)]
    assert np.abs(np.array(observed_orders(errors)) - 2.0).max() < 0.15


def test_walls_stand_still_to_the_last_bit():
    """Free slip: psi = 0 and zeta = 0, exactly, and so the second derivative of psi across a wall vanishes."""
    curvature = []
    for points in (17, 33, 65):
        grid = Grid.from_points(points, points, math.pi, math.pi)
        x, y = grid.mesh()
        options = {**PHYSICS, "viscosity": 1.0, "wind_forcing": np.sin(x) * np.sin(2 * y)}
        model = BarotropicVorticity(grid, time_step=1e-4, **options)
        model.advance(0.1)
        psi = model.field("streamfunction")
        for field in (psi, model.field("relative_vorticity")):
            for rim in (field[0], field[-1], field[:, 0], field[:, -1]):
                assert (rim == 0.0).all()
        second = (2 * psi[:, 0] - 5 * psi[:, 1] + 4 * psi[:, 2] - psi[:, 3]) / grid.dx**2
        curvature.append(np.abs(second).max() / np.abs(model.field("relative_vorticity")).max())
    assert all(fine < 0.4 * coarse for coarse, fine in itertools.pairwise(curvature))


@pytest.mark.parametrize("points", [31, 33, 259])
def test_sizes_of_any_kind(points):
    """Powers of two plus one or not: as the transcription."""
    model = BarotropicVorticity.double_gyre(
        points, jacobian="advective", scheme="ab2", device="cpu", precision="double"
    )
    oracle = double_gyre(points)
    model.advance(1e-6)
    for _ in range(10):
        oracle.step(1e-7)
    assert np.abs(model.field("streamfunction") - oracle.psi).max() < 1e-12 * np.abs(oracle.psi).max()


@pytest.mark.parametrize("precision", ["single", "double"])
def test_runs_repeat_on_any_number_of_threads(precision, monkeypatch):
    monkeypatch.setattr("eagre.backend.cpu.compiler.MAX_SERIAL_ELEMENTS", 0)  # small launches take all threads too
    found = []
    for threads in (1, 2, 2):
        with threads_limited(select("cpu"), threads):
            model = BarotropicVorticity.double_gyre(
                65, reynolds=1.0, time_step=1e-6, device="cpu", precision=precision, walls="no-slip"
            )
            model.advance(5e-5)
            found.append(model.state())
    for other in found[1:]:
        for name, value in found[0].items():
            assert np.array_equal(value, other[name], equal_nan=True), name


@pytest.mark.parametrize("points", [257, 1025, pytest.param(4097, marks=pytest.mark.slow)])
def test_streamfunction_in_single_precision(points):
    """The sine transform and the columns keep 6 digits at every size; the printed cosines would lose 3 of them."""
    grid = Grid.from_points(points, points, math.pi, math.pi)
    zeta = np.zeros(grid.shape)
    noise = np.random.default_rng(0).standard_normal((points - 2, points - 2))
    zeta[1:-1, 1:-1] = (-1.36e5 * np.sin(2.0 * grid.y)[:, None] * (math.pi - grid.x) / math.pi)[
        1:-1, 1:-1
    ] + 100 * noise
    psi = [
        BarotropicVorticity(grid, time_step=1e-9, relative_vorticity=zeta, device="cpu", precision=precision)
        .field("streamfunction")
        .astype(np.float64)
        for precision in ("single", "double")
    ]
    assert np.linalg.norm(psi[0] - psi[1]) < 1e-6 * np.linalg.norm(psi[1])
