"""The transcription of the pressure problem holds together on its own."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.anelastic_pressure import Pressure, gcr


def over_a_hill(g=0.0, periodic=(False, True, False), shape=(6, 5, 7)):
    y, x = np.meshgrid(np.arange(shape[1]), np.arange(shape[2]), indexing="ij")
    hill = 0.8 * np.exp(-((x - 3.0) ** 2) / 4.0 - ((y - 2.0) ** 2) / 3.0)
    return Pressure(shape, (1.0, 1.5, 1.2), periodic, hill=hill, density=lambda z: np.exp(-z / 4.0), g=g)


def flow(problem):
    return np.random.default_rng(3).standard_normal((3, *problem.shape))


@pytest.mark.parametrize("g", [0.0, 0.3])
@pytest.mark.parametrize("periodic", [(False, True, False), (False, False, False)])
def test_no_divergence_and_no_flow_through_sides(g, periodic):
    problem = over_a_hill(g, periodic)
    hat = flow(problem)
    v = problem.velocity(hat, problem.solve(hat))
    assert np.abs(problem.divergence(v)).max() < 1e-13
    through = np.einsum("Ia...,a...->I...", problem.geometry[2], v)
    assert np.abs(through[problem.sides]).max() < 1e-15
    assert np.abs(v - hat).max() > 0.1


def test_the_operator_is_symmetric_with_half_weights_on_sides():
    problem = over_a_hill()
    weighed = problem.matrix.multiply((problem.weight * problem.rho).ravel()[:, None]).toarray()
    assert np.abs(weighed - weighed.T).max() < 1e-15 * np.abs(weighed).max() * 10
    assert np.linalg.eigvalsh(0.5 * (weighed + weighed.T)).max() < 1e-12


def test_null_space_is_one_constant_a_class():
    problem = over_a_hill(shape=(4, 4, 5))
    assert np.sum(np.abs(np.linalg.svd(problem.matrix.toarray(), compute_uv=False)) < 1e-12) == 8
    assert len(np.unique(problem.classes)) == 8


def test_the_symbol_of_a_periodic_box():
    n, d = 8, 0.5
    problem = Pressure((1, 1, n), (1.0, 1.0, d), (True, True, True))
    wave = np.exp(2j * np.pi * np.arange(n) / n)
    assert np.allclose(problem.matrix @ wave, -((np.sin(2 * np.pi / n) / d) ** 2) * wave, atol=1e-14)


@pytest.mark.parametrize("kept", [1, 3, 5])
def test_kept_directions_change_nothing_where_the_operator_is_symmetric(kept):
    problem = over_a_hill()
    right = problem.divergence(problem.start(flow(problem))).ravel()
    weight = (problem.weight * problem.rho).ravel()
    x, made = gcr(lambda q: problem.matrix @ q, right, kept=kept, small=1e-9, weight=weight)
    assert np.abs(problem.matrix @ x - right).max() < 2e-9
    assert made == gcr(lambda q: problem.matrix @ q, right, kept=1, small=1e-9, weight=weight)[1]
