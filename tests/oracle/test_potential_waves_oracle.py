"""The reference model of potential-flow waves has its orders and periods, so that it may judge the package."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.potential_waves import Tank, along, weights


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_weights_are_exact_for_polynomials(order):
    nodes = np.sort(np.random.default_rng(order).uniform(-1.0, 1.0, order + 1))
    for power in range(order + 1):
        first = power * 0.3 ** (power - 1) if power else 0.0
        second = power * (power - 1) * 0.3 ** (power - 2) if power > 1 else 0.0
        assert weights(0.3, nodes, 1) @ nodes**power == pytest.approx(first, abs=1e-10)
        assert weights(0.3, nodes, 2) @ nodes**power == pytest.approx(second, abs=1e-8)


def test_weights_of_the_bottom_are_those_of_the_source():
    assert 12.0 * weights(0.0, np.arange(-1.0, 4.0), 1) == pytest.approx([-3, -10, 18, -6, 1])


def test_lines_are_mirrored_or_periodic():
    x = np.pi * np.arange(17) / 16
    even = along(17, x[1], 6, 2, periodic=False) @ np.cos(3.0 * x)
    assert np.abs(even + 9.0 * np.cos(3.0 * x)).max() < 5e-3 * 9.0
    x = 2.0 * np.pi * np.arange(32) / 32
    assert np.abs(along(32, x[1], 6, 1, periodic=True) @ np.sin(3.0 * x) - 3.0 * np.cos(3.0 * x)).max() < 1e-2


def harmonic(order, n, nz, clustered, slope):
    """Relative errors of Phi and w~ for a harmonic function over a bed that slopes, under a curved surface."""
    x, y = np.meshgrid(np.arange(n) / n, np.arange(n) / n)
    wave, k, m = 2.0 * np.pi, 2.0 * np.pi, np.hypot(2.0 * np.pi, 2.0 * np.pi)
    h = 0.25 + slope * np.sin(wave * x) * np.cos(wave * y) / wave
    h_x, h_y = slope * np.cos(wave * x) * np.cos(wave * y), -slope * np.sin(wave * x) * np.sin(wave * y)
    eta = 0.02 * np.cos(wave * x) + 0.01 * np.sin(wave * (x + y))
    tank = Tank(h, 1.0 / n, 1.0 / n, nz, order, True, True, clustered)
    z = tank.sigma[:nz, None, None] * (h + eta) - h
    phi = np.cosh(m * (z + 0.3)) * np.sin(k * x) * np.cos(k * y)
    w = m * np.sinh(m * (z + 0.3)) * np.sin(k * x) * np.cos(k * y)
    u, v = (np.cosh(m * (z[-1] + 0.3)) * k * q for q in (np.cos(k * x) * np.cos(k * y), -np.sin(k * x) * np.sin(k * y)))
    found, upward = tank.solved(eta, phi[0], w[-1] + h_x * u + h_y * v)
    return np.array([np.abs(found - phi).max() / np.abs(phi).max(), np.abs(upward - w[0]).max() / np.abs(w[0]).max()])


@pytest.mark.parametrize(("order", "least"), [(2, 1.85), (4, 3.6), (6, 5.2)])
def test_order_over_a_bed_that_slopes(order, least):
    coarse, fine = harmonic(order, 12, 10, True, 0.3), harmonic(order, 16, 13, True, 0.3)
    assert (np.log(coarse / fine) / np.log(4.0 / 3.0) > least).all()


@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize("clustered", [True, False])
def test_order_under_a_wave(order, clustered):
    """Phi = cosh(k sigma d) / cosh(kh) sin kx is harmonic over a flat bed, whatever the surface."""
    k, h, errors = 2.0 * np.pi, 1.0 / np.pi, []
    for n, nz in ((16, 9), (32, 17)):
        x = np.arange(n)[None] / n
        eta = 0.02 * np.cos(k * x)
        phi, w = (f(k * (h + eta)) / np.cosh(k * h) * np.sin(k * x) for f in (np.cosh, np.sinh))
        tank = Tank(np.full((1, n), h), 1.0 / n, 1.0, nz, order, True, True, clustered)
        errors.append(np.abs(tank.solved(eta, phi)[1] - k * w).max())
    assert np.log2(errors[0] / errors[1]) > order - 0.5


def test_linear_standing_wave_between_walls():
    """A period of the linear wave brings it back, to order 4 in time."""
    n, h, g = 17, 0.3, 9.81
    x = np.arange(n)[None] / (n - 1)
    k = np.pi
    period = 2.0 * np.pi / np.sqrt(g * k * np.tanh(k * h))
    errors = []
    for steps in (8, 16):
        tank = Tank(np.full((1, n), h), 1.0 / (n - 1), 1.0, 9, 6, linear=True, gravity=g)
        eta, phi = 1e-3 * np.cos(k * x), np.zeros((1, n))
        for _ in range(steps):
            eta, phi = tank.step(eta, phi, period / steps)
        errors.append(np.abs(eta - 1e-3 * np.cos(k * x)).max() / 1e-3)
    assert errors[1] < 2e-3
    assert np.log2(errors[0] / errors[1]) > 3.7


def test_linear_mode_keeps_the_slope_of_the_bed():
    """In very shallow water w~ = -(h phi_x)_x, also where the bed slopes."""
    n = 64
    x = np.arange(n)[None] / n
    h = 0.001 + 0.0004 * np.sin(2.0 * np.pi * x)
    tank = Tank(h, 1.0 / n, 1.0, 9, 6, True, True, linear=True)
    phi = np.cos(2.0 * np.pi * x)
    flux = -2.0 * np.pi * h * np.sin(2.0 * np.pi * x)
    w = -(along(n, 1.0 / n, 6, 1, True) @ flux[0])
    assert np.abs(tank.solved(0.0 * h, phi)[1][0] - w).max() < 1e-4 * np.abs(w).max()


def test_a_uniform_row_is_the_plane():
    rng = np.random.default_rng(2)
    x = np.arange(16)[None] / 16
    h, eta = 0.3 + 0.05 * np.cos(2.0 * np.pi * x), 0.01 * rng.standard_normal((1, 16))
    phi = rng.standard_normal((1, 16))
    plane = Tank(h, 1 / 16, 1.0, 7, 4, True, True).rates(eta, phi)
    rows = [np.repeat(q, 6, axis=0) for q in (h, eta, phi)]
    volume = Tank(rows[0], 1 / 16, 0.1, 7, 4, True, False).rates(rows[1], rows[2])
    for a, b in zip(plane, volume, strict=True):
        assert np.abs(a - b).max() < 1e-9 * np.abs(a).max()
