"""The oracle of the anelastic step against closed forms: it has to be right before anything is compared with it."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.anelastic import Air, State, accelerated, divergence, project, step

RNG = np.random.default_rng(7)


def random_air(walls=(True, False, True), hill=True, **more):
    nz, ny, nx = 6, 5, 7
    z = np.linspace(0.0, 1.0, nz)[:, None, None]
    x = np.arange(nx)[None, None, :]
    y = np.arange(ny)[None, :, None]
    rho = np.exp(-0.7 * z) * (1.0 + 0.1 * np.sin(1.3 * x + y))
    slopes = {}
    if hill:
        slopes = {
            "g13": 0.3 * (z - 1.0) * np.sin(np.pi * x / (nx - 1)) * np.cos(y),  # a hill is level at a wall
            "g23": 0.2 * (z - 1.0) * np.sin(np.pi * y / (ny - 1)),
            "g33": 1.0 + 0.1 * np.cos(x) + 0.0 * y,
        }
    return Air((0.5, 0.9, 0.7), walls, 0.2, rho, **slopes, **more)


@pytest.mark.parametrize(
    "walls", [(True, False, False), (True, True, True), (False, False, False), (True, False, True)]
)
@pytest.mark.parametrize("more", [{}, {"coriolis": 2.0, "absorber": 0.8, "stability": 3.0}])
def test_a_projected_wind_has_no_divergence_and_passes_no_wall(walls, more):
    air = random_air(walls, **more)
    shape = air.density.shape
    v, _ = project([RNG.standard_normal(shape) for _ in range(3)], air)
    scale = max(np.abs(one).max() for one in v)
    assert np.abs(divergence(v, air)).max() < 1e-11 * scale
    w = air.g13 * v[0] + air.g23 * v[1] + air.g33 * v[2]
    if walls[0]:
        assert np.abs(w[[0, -1]]).max() < 1e-13 * scale
    if walls[2]:
        assert np.abs(v[0][:, :, [0, -1]]).max() < 1e-13 * scale


def test_the_operator_is_symmetric_with_half_weights_on_walls():
    air = random_air((True, True, False))
    shape = air.density.shape
    weight = air.density.copy()
    weight[[0, -1]] *= 0.5
    weight[:, [0, -1]] *= 0.5
    a, b = RNG.standard_normal(shape), RNG.standard_normal(shape)
    zero = [np.zeros(shape)] * 3
    la, lb = (divergence(accelerated(zero, one, air), air) for one in (a, b))
    assert abs(np.sum(weight * a * lb) - np.sum(weight * b * la)) < 1e-12 * np.abs(weight * a * lb).sum()


def test_a_buoyant_column_oscillates_with_its_frequency():
    """One column, periodic along z: w' = b theta', theta' = -S w; the trapezoidal rule turns by 2 atan(N dt / 2)."""
    n, dt, steps = 2.0, 0.05, 100
    one = np.ones((3, 1, 1))
    air = Air((1.0, 1.0, 1.0), (False, False, False), dt, one, stability=n**2, lapse=n**2, buoyancy=1.0)
    v = [0.0 * one, 0.0 * one, one]
    state = State(v, 0.0 * one, v, [0.0 * one, 0.0 * one, 0.0 * one, -0.5 * dt * n**2 * one], 0.0 * one)
    for _ in range(steps):
        state = step(state, air)
    angle = 2.0 * steps * np.arctan(0.5 * n * dt)
    np.testing.assert_allclose(state.v[2], np.cos(angle) * one, atol=1e-12)
    np.testing.assert_allclose(state.theta / n, -np.sin(angle) * one, atol=1e-12)


def test_an_inertial_circle_turns_to_the_right_of_the_wind():
    f, dt = 0.5, 0.1
    air = Air((1.0, 1.0, 1.0), (False, False, False), dt, np.ones((1, 1, 1)), coriolis=f)
    one = np.ones((1, 1, 1))
    state = State([one, 0.0 * one, 0.0 * one], 0.0 * one, [one, 0.0 * one, 0.0 * one], [0.0 * one] * 4, 0.0 * one)
    gamma = 0.5 * f * dt
    state.forces[1] = -gamma * one  # dt/2 dv/dt = -f u dt/2
    for _ in range(50):
        state = step(state, air)
    u, v = state.v[0].item(), state.v[1].item()
    angle = -100.0 * np.arctan(gamma)
    np.testing.assert_allclose([u, v], [np.cos(angle), np.sin(angle)], atol=1e-12)
