"""A wind over the gyres that changes with time: what it adds, step by step, and how a run goes on with it."""

from __future__ import annotations

import numpy as np
import pytest

from barotropic_runs import CASES, assert_repeats_and_restarts, model_on
from eagre import BarotropicVorticity, Grid, NodeGrid, RecordTimeAxis, TimeVaryingField
from eagre.errors import InputError
from eagre.models.barotropic.adams_bashforth import WEIGHTS
from eagre.models.barotropic.forcing.wind import moving_curl, stress_of_wind, varying_curl
from eagre.time_varying.series import Series

STEP = 0.01
GRID = Grid.from_points(17, 14, np.pi, np.pi)
SHAPE = np.sin(GRID.mesh()[0]) * np.sin(2.0 * GRID.mesh()[1])
"""A mode of the basin: it does not carry itself, so that without beta and friction only the wind changes it."""
GUST = Series(np.array([0.0, 0.033, 0.05, 0.2]), np.array([0.0, 2.0, -1.0, 4.0]), "a gust")
"""Records between steps, and at one."""


def blown(factor=GUST, **options):
    options = {"device": "cpu", "precision": "double", "time_step": STEP, **options}
    return BarotropicVorticity(GRID, wind_forcing=varying_curl(SHAPE, factor), **options)


def summed(scheme, count):
    """What Adams-Bashforth makes of the gust in `count` steps, started with as many terms as there are."""
    gusts = np.interp(STEP * np.arange(count), GUST.times, GUST.values)
    order, total = {"ab2": 2, "ab3": 3}[scheme], 0.0
    for n in range(count):
        weights = WEIGHTS[min(order, n + 1)]
        total += STEP * sum(w * gusts[n - age] for age, w in enumerate(weights) if w)
    return total


@pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]], ids=["one", "two"])
@pytest.mark.parametrize(("precision", "tolerance"), [("double", 1e-14), ("single", 5e-7)])
@pytest.mark.parametrize("scheme", ["ab2", "ab3"])
def test_vorticity_is_the_sum_of_the_gusts(scheme, precision, tolerance, device):
    model = blown(scheme=scheme, precision=precision, device=device)
    for end in (0.07, 0.2):
        model.advance(end)
        expected = summed(scheme, model.steps) * SHAPE
        np.testing.assert_allclose(
            model.field("relative_vorticity"), expected, rtol=0, atol=tolerance * np.abs(expected).max()
        )


def test_a_wind_that_grows_evenly_is_integrated_exactly():
    """After the first step, of Euler, which gives n dt^2 / 2 less: t^2 / 2."""
    model = blown(Series(np.array([0.0, 1.0]), np.array([0.0, 1.0]), "growing"), scheme="ab2")
    model.advance(0.5)
    missing = 0.5 * STEP**2  # of the first step alone
    np.testing.assert_allclose(model.field("relative_vorticity"), (0.5 * 0.5**2 - missing) * SHAPE, rtol=0, atol=1e-15)


def test_a_run_that_begins_later_meets_the_same_gusts():
    later = Series(GUST.times + 64.0, GUST.values, "a later gust")
    model = blown(later, start_time=64.0)
    model.advance(64.2)
    np.testing.assert_allclose(model.field("relative_vorticity"), summed("ab3", 20) * SHAPE, rtol=0, atol=1e-12)


def test_what_the_wind_is_now_is_told():
    model = blown()
    for end in (0.03, 0.05, 0.12, 0.2):
        model.advance(end)
        gust = GUST(model.time)
        np.testing.assert_allclose(model.field("wind_forcing"), gust * SHAPE, atol=1e-14)
        psi = model.field("streamfunction")
        fed = -(psi * gust * SHAPE)[1:-1, 1:-1].sum() * GRID.cell_area
        assert model.energy_budget()["wind"] == pytest.approx(fed, rel=1e-12)
    assert not model.variables["wind_forcing"].static
    assert BarotropicVorticity.double_gyre(9, time_step=1e-6, device="cpu").variables["wind_forcing"].static


@pytest.mark.parametrize("cut_at", [0.02, 0.04, 0.05, 0.11])
@pytest.mark.parametrize("device", ["cpu", ["cpu", "cpu"]], ids=["one", "two"])
def test_runs_repeat_and_restart_bit_for_bit(cut_at, device):
    assert_repeats_and_restarts(lambda: blown(precision="single", device=device), cut_at, 0.19)


@pytest.mark.parametrize("name", [name for name in CASES if name != "changing wind"])
def test_a_wind_whose_records_are_equal_changes_no_bit(name):
    """In every set-up: what moves gets where a constant map is read."""
    still = Series(np.array([0.0, 2.5e-4, 1.0]), np.ones(3), "still")
    options = {"nx": 17, "ny": 14, "time_step": 1e-4, "biharmonic": 1e-4, **CASES[name]}
    ours, theirs = (model_on("cpu", factor=factor, **options) for factor in (still, None))
    for model in (ours, theirs):
        model.advance(8e-4)
    assert np.abs(theirs.field("wind_forcing")).max() > 1.0
    for key, value in theirs.state().items():
        np.testing.assert_array_equal(ours.state()[key], value, err_msg=key)


def stresses(times=(0.0, 1.0), **nodes):
    """Stress x and y, linear in y and x, with slopes that change in time, on nodes two spacings apart."""
    held = NodeGrid(**({"ny": 13, "nx": 16, "step_y": 2, "step_x": 2} | nodes))
    rows, columns = held.shape
    x = held.step_x * np.arange(columns) * GRID.dx
    y = held.step_y * np.arange(rows)[:, None] * GRID.dy
    instants = RecordTimeAxis(np.array(times), "made")
    pairs = (lambda k: 3.0 * y + 0.0 * x + k), (lambda k: (5.0 + 2.0 * k) * x + 0.0 * y)
    return tuple(
        TimeVaryingField(instants, held, read, f"stress {along}", 100.0, "N/m2")
        for along, read in zip("xy", pairs, strict=True)
    )


def test_curl_of_stresses_over_time():
    curl = moving_curl(*stresses(), GRID, 4.0)
    for k in (0, 1):
        np.testing.assert_allclose(curl.record(k), np.full(GRID.shape, (5.0 + 2.0 * k - 3.0) / 4.0), rtol=1e-12)
    across = moving_curl(*stresses(), GRID, 4.0, (True, True)).record(0)
    np.testing.assert_allclose(across[1:-1, 1:-1], 0.5, rtol=1e-12)
    assert across[5, 0] == pytest.approx(0.25 * (5.0 * (GRID.dx - 16 * GRID.dx) / (2 * GRID.dx) - 3.0))


def test_stress_of_a_wind():
    """Large and Pond (1981) by hand: 1.2e-3 to 11 m/s, 0.49e-3 + 0.065e-3 U above, here up to 2e-3."""
    nodes, instants = NodeGrid(4, 4), RecordTimeAxis(np.array([0.0, 1.0]), "made")
    u, v = np.zeros((2, *nodes.shape))
    u.flat[:3], v.flat[:3] = (3.0, 12.0, -30.0), (4.0, 16.0, 40.0)
    winds = [TimeVaryingField(instants, nodes, lambda k, one=one: one, "wind", 120.0, "m/s") for one in (u, v)]
    found = [one.record(0).flat[:3] for one in stress_of_wind(*winds, "large-pond", 2e-3, 1.2)]
    coefficients = np.array([1.2e-3, 0.49e-3 + 0.065e-3 * 20.0, 2e-3])
    along = 1.2 * coefficients * np.array([5.0, 20.0, 50.0]) ** 2
    np.testing.assert_allclose(found, along * np.array([[0.6, 0.6, -0.6], [0.8, 0.8, 0.8]]), rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: blown().advance(0.21), "a gust from 0 s to 0.2 s for a run from 0 s to 0.21 s"),
        (lambda: blown(start_time=-0.1), "a gust from 0 s"),
        (lambda: BarotropicVorticity(GRID, time_step=STEP, wind_forcing=varying_curl(SHAPE[1:], GUST)),
         r"\(14, 17\) p"),
        (lambda: moving_curl(*stresses(nx=17), GRID, 1.0), r"\(13, 16\) cells between the points"),
        (lambda: moving_curl(stresses()[0], stresses((0.0, 2.0))[1], GRID, 1.0), "stress_y at the same times"),
        (lambda: moving_curl(*stresses(ny=600), Grid.from_points(17, 601, 3.0, 9.0), 1.0).record(0), "x at t = 0 s"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(make, match):
    with pytest.raises(InputError, match=match):
        make()
