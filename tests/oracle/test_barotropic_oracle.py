"""The barotropic reference model gives the specification's figures, so that it may judge the package."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.barotropic import (
    BarotropicOracle,
    advective_jacobian,
    arakawa_jacobian,
    double_gyre,
    invert,
    laplacian,
)


@pytest.mark.parametrize(
    ("points", "psi_max", "energy", "enstrophy"), [(33, 6.2027, 999.98, 3.18031e5), (65, 5.9268, 982.45, 8.91960e5)]
)
def test_start_of_the_double_gyre(points, psi_max, energy, enstrophy):
    model = double_gyre(points)
    for _ in range(10_000):
        model.step(1e-7)
    assert model.psi.max() == pytest.approx(psi_max, rel=1e-5)
    assert model.energy() == pytest.approx(energy, rel=1e-5)
    assert model.enstrophy() == pytest.approx(enstrophy, rel=2e-6)


def test_first_step_is_the_wind():
    model = double_gyre(17)
    model.step(1e-7)
    expected = -1e-7 * 1.36e5 * np.sin(2 * model.y[1:-1, None]) * np.ones((1, 15))
    assert np.abs(model.zeta[1:-1, 1:-1] - expected).max() < 1e-17


def test_jacobians_and_what_they_conserve():
    rng = np.random.default_rng(1)
    p, z = np.zeros((2, 20, 25))
    p[1:-1, 1:-1], z[1:-1, 1:-1] = rng.standard_normal((2, 18, 23))
    for jacobian, conserves in ((arakawa_jacobian, True), (advective_jacobian, False)):
        j = jacobian(p, z, 0.1, 0.2)
        for field in (p, z):
            total = (field[1:-1, 1:-1] * j).sum() / np.abs(field[1:-1, 1:-1] * j).sum()
            assert (abs(total) < 1e-14) == conserves
    x, y = np.meshgrid(np.linspace(0, 1, 101), np.linspace(0, 2, 151))
    p, z = np.sin(2 * x) * np.cos(y), np.exp(x) * y
    exact = 2 * np.cos(2 * x) * np.cos(y) * np.exp(x) + np.sin(2 * x) * np.sin(y) * np.exp(x) * y
    for jacobian in (arakawa_jacobian, advective_jacobian):
        assert np.abs(jacobian(p, z, 0.01, 2 / 150) - exact[1:-1, 1:-1]).max() < 2e-3


def test_inversion_is_exact():
    zeta = np.zeros((17, 29))
    zeta[1:-1, 1:-1] = np.random.default_rng(2).standard_normal((15, 27))
    psi = invert(zeta, 0.3, 0.2, screening=0.7)
    assert np.abs(laplacian(psi, 0.3, 0.2) - 0.7 * psi[1:-1, 1:-1] - zeta[1:-1, 1:-1]).max() < 1e-12


def test_boundary_current_is_in_the_west():
    model = BarotropicOracle(
        32,
        32,
        np.pi,
        np.pi,
        beta=1000.0,
        viscosity=1 / 0.314,
        curl=-1e-9 * np.sin(2 * np.linspace(0, np.pi, 33))[:, None],
    )
    for _ in range(2000):
        model.step(0.314 * model.dx**2 / 16)
    speed = np.abs(model.psi[:, 1:] - model.psi[:, :-1]).max(axis=0)
    assert speed.argmax() == 0
