"""The oracle of the ADI model itself: order of accuracy, rest, mass, mirror symmetry, and what the terms do."""

from __future__ import annotations

import numpy as np
import pytest

from oracle import adi


def run(z, p, q, d, o, steps, start="half-step"):
    """Steps from still or moving water; q is given at time 0."""
    qo, qn = adi.half_step_start(z, p, q, d, o) if start == "half-step" else (q.copy(), q.copy())
    for _ in range(steps):
        z, p, qo, qn = adi.step(z, p, qo, qn, d, o)
    return z, p, qo, qn


def still(ny, nx):
    return np.zeros((ny, nx + 1)), np.zeros((ny + 1, nx))


def standing_wave_error(n, start):
    """Largest error of a linear standing wave in a square after 0.35 periods at Courant number 2."""
    length, depth, g = 1000.0, 10.0, 9.81
    x = (np.arange(n) + 0.5) * length / n
    shape = np.cos(np.pi * x / length) * np.cos(np.pi * x / length)[:, None]
    omega = np.sqrt(2 * g * depth) * np.pi / length
    end = 0.35 * 2 * np.pi / omega
    steps = round(end * np.sqrt(g * depth) / (2 * length / n))
    o = adi.Options(length / n, length / n, end / steps, g, convection=False, linear_depth=depth)
    p, q = still(n, n)
    z, *_ = run(1e-3 * shape, p, q, np.full((n, n), -depth), o, steps, start)
    return abs(z - 1e-3 * shape * np.cos(omega * end)).max()


@pytest.mark.parametrize(("start", "low", "high"), [("half-step", 1.9, 2.15), ("zero", 0.8, 1.3)])
def test_order_depends_on_the_start(start, low, high):
    errors = [standing_wave_error(n, start) for n in (8, 16, 32)]
    order = np.log2(errors[-2] / errors[-1])
    assert low < order < high


def rough(ny, nx, rng):
    d = rng.uniform(-12.0, -8.0, (ny, nx))
    z = 0.2 * rng.standard_normal((ny, nx))
    p, q = rng.standard_normal((ny, nx + 1)), rng.standard_normal((ny + 1, nx))
    p[:, [0, -1]] = q[[0, -1]] = 0.0
    return z, p, q, d


def test_mass_is_kept_and_waves_move(rng):
    z, p, q, d = rough(7, 9, rng)
    o = adi.Options(100.0, 70.0, 20.0, manning=1 / 32, dissipation=True, viscosity=5.0, coriolis=1e-4)
    after, *_ = run(z, p, q, d, o, 20)
    assert abs(after.sum() - z.sum()) < 1e-13 * abs(z).sum()
    assert abs(after - z).max() > 0.05


def test_mirror_symmetry(rng):
    z, p, q, d = rough(6, 8, rng)
    o = adi.Options(100.0, 130.0, 20.0, manning=1 / 32)
    a = run(z, p, q, d, o, 3)
    b = run(z[:, ::-1], -p[:, ::-1], q[:, ::-1], d[:, ::-1], o, 3)
    assert abs(a[0] - b[0][:, ::-1]).max() < 1e-13
    assert abs(a[1] + b[1][:, ::-1]).max() < 1e-12


def test_lake_at_rest_with_shore_and_island(rng):
    d = rng.uniform(-2.0, 1.0, (6, 9))
    land = rng.random((6, 9)) < 0.2
    z = np.maximum(0.0, d)
    p, q = still(6, 9)
    o = adi.Options(10.0, 10.0, 2.0, manning=0.03, drying=0.01, land=land, dissipation=True)
    after, p, *_ = run(z, p, q, d, o, 10)
    assert abs(after - z).max() < 1e-14
    assert abs(p).max() < 1e-14


def test_convection_is_the_sum_form():
    """A residual written out with means: the product form of the printed coefficients would fail."""
    rng = np.random.default_rng(3)
    z, p, q, d = rough(1, 6, rng)
    q[:] = 0.0
    o = adi.Options(10.0, 10.0, 1.0)
    half, new = adi.x_sweep(z, p, q, q, d, o)
    h = (z - d)[0]
    cell = 0.25 * (new[0, 1:] + new[0, :-1]) * (p[0, 1:] + p[0, :-1]) / h
    for i in range(1, 6):
        slope = o.g * 0.5 * (h[i] + h[i - 1]) * (half[0, i] - half[0, i - 1]) / o.dx
        corners = adi.corner_momentum(p, q, z - d, h[None] > 0, 1, i, 0, o)[0] / o.dy
        assert abs((new[0, i] - p[0, i]) / o.dt + (cell[i] - cell[i - 1]) / o.dx + slope + corners) < 1e-12


@pytest.mark.parametrize(("kind", "value"), [("level", 0.3), ("flux", 0.5), ("waves", 0.2)])
def test_open_sides(kind, value):
    ny, nx = 3, 8
    p, q = still(ny, nx)
    o = adi.Options(50.0, 50.0, 10.0, manning=0.3, sides={"west": [(kind, value)] * ny})
    z, p, *_ = run(np.zeros((ny, nx)), p, q, np.full((ny, nx), -5.0), o, 150 if kind == "level" else 40)
    assert np.isfinite(z).all()
    if kind == "flux":
        assert z.sum() * 50.0 == pytest.approx(value * 10.0 * (40 - 0.5) * ny, rel=1e-12)
    else:
        assert z.mean() == pytest.approx(value, rel=0.02)
