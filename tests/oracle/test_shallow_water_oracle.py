"""The reference model gives the specification's figures, so that it may judge the package."""

from __future__ import annotations

import numpy as np
import pytest

from oracle.shallow_water import ShallowWaterOracle, minmod, velocity

TREATMENTS = ("hydrostatic", "kurganov-petrova")


def circular_dam(n, outside=0.5, **options):
    size = 40.0 / n
    model = ShallowWaterOracle(np.zeros((n + 1, n + 1)), size, size, **options)
    x = (np.arange(n) + 0.5) * size - 20.0
    inside = x[:, None] ** 2 + x**2 <= 6.25
    return model, model.at_rest(np.where(inside, 2.5, outside))


def random_pools(seed, **options):
    rng = np.random.default_rng(seed)
    model = ShallowWaterOracle(rng.standard_normal((31, 41)), 1.0, 1.5, **options)
    depth = np.maximum(rng.standard_normal((30, 40)), 0) * 10.0 ** rng.uniform(-6, 0.5, (30, 40))
    moving = 3.0 * depth * rng.standard_normal((2, 30, 40))
    return model, np.concatenate([(model.bed_centre + depth)[None], moving])


def test_minmod_table():
    a = np.array([1.0, -3.0, 1.0, 0.0, 2.0])
    b = np.array([2.0, -1.0, -1.0, 1.0, 2.0])
    c = np.array([3.0, -2.0, 1.0, 1.0, 2.0])
    assert minmod(a, b, c).tolist() == [1.0, -1.0, 0.0, 0.0, 2.0]


def test_desingularised_velocity():
    h = np.array([0.0, 1e-8, 5e-3, 1e-2, 2.0])
    u = velocity(h, 3.0 * h, 1e-2)
    assert u[0] == 0.0 and u[1] < 1e-10 and 0 < u[2] < 3.0 and u[3:] == pytest.approx([3.0, 3.0], rel=1e-15)


@pytest.mark.parametrize(
    ("time", "steps", "centre", "largest"), [(1.0, 300, 0.4005, 0.9946), (2.0, 536, 0.0930, 0.8776)]
)
@pytest.mark.slow
def test_figures_of_the_specification(time, steps, centre, largest):
    model, q = circular_dam(500, wet_dry="kurganov-petrova")
    q = model.run(model.run(q, 1.0), time)
    assert model.steps == steps
    assert q[0][250, 250] == pytest.approx(centre, abs=6e-5) and q[0].max() == pytest.approx(largest, abs=6e-5)


def test_circular_dam_is_symmetric_and_keeps_its_water():
    for treatment in TREATMENTS:
        for outside in (0.5, 0.0):
            model, q = circular_dam(50, outside, wet_dry=treatment)
            end = model.run(q, 1.0)
            assert np.array_equal(end[0], end[0].T) and np.array_equal(end[1], end[2].T)
            assert np.array_equal(end[0], end[0][:, ::-1]) and np.array_equal(end[1], -end[1][:, ::-1])
            assert end[0].sum() == pytest.approx(q[0].sum(), rel=1e-14) and model.clamped == 0.0


@pytest.mark.parametrize("treatment", TREATMENTS)
def test_sine_takes_154_steps(treatment):
    around = {"south": "periodic", "north": "periodic"}
    model = ShallowWaterOracle(np.zeros((2, 1025)), 1.0, 1.0, wet_dry=treatment, sides=around)
    surface = 5.0 + np.sin(2 * np.pi * np.arange(1024) / 1024)
    model.run(model.at_rest(surface[None]), 5.0)
    assert model.steps == 154


@pytest.mark.parametrize("films", [True, False])
def test_hydrostatic_treatment_keeps_any_lake_exactly(films):
    for seed in range(5):
        bed = np.random.default_rng(seed).standard_normal((31, 41))
        model = ShallowWaterOracle(bed, 1.0, 1.5, films=films)
        q = start = model.at_rest(0.2)
        for _ in range(50):
            q = model.step(q)
        assert np.array_equal(q, start)


def test_shore_defect_of_the_documents_treatment():
    x = np.arange(65) - 32.0
    bed = -1.0 + 2.0 * np.exp(-(x[:, None] ** 2 + x**2) / 60.0)
    model = ShallowWaterOracle(bed, 1.0, 1.0, wet_dry="kurganov-petrova")
    q = model.at_rest(0.3)
    for _ in range(100):
        q = model.step(q)
    assert 1e-3 < np.abs(q[1:]).max() < 3e-2


@pytest.mark.parametrize("treatment", TREATMENTS)
@pytest.mark.parametrize("scheme", ["rk2", "euler"])
def test_depth_stays_positive_and_mass_is_kept(treatment, scheme):
    for seed in range(6):
        model, q = random_pools(seed, wet_dry=treatment, scheme=scheme, kappa=1e-2)
        volume = model.depth(q).sum()
        for _ in range(40):
            q = model.step(q)
        assert model.clamped <= 1e-15 and model.depth(q).sum() == pytest.approx(volume, rel=1e-13)


def test_films_run_down_a_rough_slope():
    """Rain on a rough slope (no pits): the discharge in the cells is what has rained uphill of them."""
    rng = np.random.default_rng(2)
    x = np.arange(31) * 10.0
    bed = np.repeat((0.1 * (300.0 - x) + 0.2 * rng.uniform(-1, 1, 31))[None], 3, 0)
    sides = {"east": "outflow", "south": "periodic", "north": "periodic"}
    rain, found = 2e-5, {}
    for films in (True, False):
        model = ShallowWaterOracle(bed, 10.0, 10.0, manning=0.03, kappa=1e-4, sides=sides, films=films, max_dt=1.0)
        q = model.at_rest(-100.0)
        while model.time < 600.0:
            before = model.time
            q = model.step(q, 600.0)
            q[0] += rain * (model.time - before)
        found[films] = q[1][0, 5:-2].mean() / (rain * x[6:-2]).mean()
    assert found[True] == pytest.approx(1.0, abs=0.15)
    assert found[False] < 0.5
