"""Iterations of the Laplace problem: counts that depend on neither points nor order, beds and waves that are steep."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.device import PlainDevice
from eagre.backend.select import select
from eagre.errors import ConvergenceError, InputError
from eagre.laboratory.cases.wave_tanks import whalin_depth
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.laplace import iteration
from eagre.models.potential_waves.laplace.iteration import ALPHA, SQUARES, ConjugateResiduals
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.step import Steps
from eagre.waves import AiryWave, StreamFunctionWave
from until_problem import DeviceWithGraphs

DEVICE = select("cpu")


def under_a_wave(n, order, kh=2.0 * np.pi, height=0.1, precision="double"):
    """A wave of length 1 m on n points, and the largest potential on it; height : of the length."""
    depth, x = kh / (2.0 * np.pi), np.arange(n)[None] / n
    wave = StreamFunctionWave(height=height, depth=depth, length=1.0, gravity=9.81, eulerian_current=0.0)
    problem = LaplaceProblem(
        np.full((1, n), depth), (1.0, 1.0 / n), Vertical(9, order), (False, True), DEVICE, precision
    )
    phi = wave.surface_potential(x, 0.0, 0.0)
    DEVICE.fill(problem.fields, np.stack([wave.elevation(x, 0.0, 0.0), phi]))
    return problem, np.abs(phi).max()


def over_a_bed(h, spacing, order, **more):
    """A small wave over a bed between walls."""
    problem = LaplaceProblem(h, spacing, Vertical(9, order), (False, False), DEVICE, "double", **more)
    x, y = np.meshgrid(*problem.points)
    DEVICE.fill(problem.fields, np.stack([0.01 * np.cos(2 * np.pi * x), np.cos(2 * np.pi * x) * np.cos(2 * np.pi * y)]))
    return problem


def ramp(slope, n=64):
    """A bed from deep to shallow, 4 m long, and its spacing."""
    x = np.arange(4 * n + 1)[None] / n
    return 0.6 - 0.25 * slope * np.tanh((x - 2.0) / 0.25), (1.0, 1.0 / n)


def cone(n=48, slope=0.76):
    x, y = np.meshgrid(np.arange(n + 1) / n, np.arange(n + 1) / n)
    return 0.5 - slope * np.maximum(0.0, 0.35 - np.sqrt((x - 0.5) ** 2 + (y - 0.5) ** 2 + 0.003)), (1 / n, 1 / n)


def bow(spacing=0.0238):
    """Whalin's bed beside the wall, where it is a square root: the finer the points, the steeper the first of them."""
    x, y = np.meshgrid(10.0 + 1.43 * spacing * np.arange(49), spacing * np.arange(17))
    return whalin_depth(x, y), (spacing, 1.43 * spacing)


@pytest.mark.parametrize(("order", "most"), [(4, 12), (6, 12), (8, 12)])
def test_steep_waves_on_any_number_of_points(order, most):
    """To 1e-8 of the potential from nothing, waves of 70 % of the limiting steepness."""
    found = [under_a_wave(n, order) for n in (96, 384, 1536)]
    counts = [problem.solve(1e-8 * scale).iterations for problem, scale in found]
    assert max(counts) <= most and max(counts) - min(counts) <= 1


@pytest.mark.parametrize(("kh", "height", "most"), [(0.3, 0.01, 8), (1.0, 0.06, 8), (20.0, 0.1, 11)])
def test_shallow_and_deep_water(kh, height, most):
    problem, scale = under_a_wave(64, 6, kh, height)
    assert problem.solve(1e-8 * scale).iterations <= most


@pytest.mark.parametrize("walls", [False, True])
@pytest.mark.parametrize("n", [96, 384, 1536, 6144])
def test_grids_from_coarse_to_fine(n, walls):
    """Corrections below 1e-7 from nothing, order 6, one wave of height 0.05 m."""
    points = n + walls
    x = np.arange(points)[None] / n
    problem = LaplaceProblem(
        np.full((1, points), 0.5), (1.0, 1.0 / n), Vertical(9, 6), (False, not walls), DEVICE, "double"
    )
    wave = np.cos(2.0 * np.pi * x)
    DEVICE.fill(problem.fields, np.stack([0.025 * wave, wave]))
    assert problem.solve(1e-7).iterations <= 8


@pytest.mark.parametrize("plain", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("bed", "method", "counts"),
    [
        (ramp(0.5), "one weight", {4: 13, 6: 13}),
        (ramp(0.58), "three weights", {4: 14, 6: 14, 8: 14}),
        (ramp(1.0), "conjugate residuals", {4: 23, 6: 23, 8: 25}),
        (cone(), "conjugate residuals", {4: 19, 6: 20, 8: 22}),
        (bow(), "one weight", {4: 10, 6: 10, 8: 11}),
    ],
    ids=["1:2", "0.58", "1:1", "cone", "bow"],
)
def test_steep_beds(bed, method, counts, plain):
    for order, most in counts.items() if not plain else [(4, counts[4])]:
        problem = over_a_bed(*bed, order, plain=plain)
        iterations, norm = problem.solve(1e-8)
        history = problem.convergence
        assert history.method == method and 0.0 < history.rate < 0.6
        assert iterations == history.iterations == history.norms.size <= most
        assert history.norms[-1] == norm <= 1e-8 < history.norms[:-1].min()


def test_rest_over_a_steep_bed():
    problem = over_a_bed(*ramp(1.0), 6)
    DEVICE.fill(problem.fields, np.zeros(problem.fields.shape))
    assert problem.solve(1e-9) == (1, 0.0)


def test_large_products_of_single_precision():
    """Of residuals of 1e20, whose squares single precision does not have: else a share of 0 looked like a solution."""
    problem = over_a_bed(*ramp(1.0, 16), 4, correction="single")
    residuals = ConjugateResiduals(problem)
    r, layers = residuals._r, problem.vertical.nz - 1
    DEVICE.fill(r, np.full(r.shape, 1e20))
    DEVICE.fill(residuals._images[:layers], np.full(r.shape, 2e20))
    DEVICE.run(residuals._products(2, "set_step"))
    found = DEVICE.host(residuals._numbers)
    assert found[SQUARES] == pytest.approx(4e40 * r.size, rel=1e-6) and found[ALPHA] == pytest.approx(0.5, rel=1e-6)


def test_a_bed_that_is_steep_at_one_point_is_left_to_weights():
    """As many iterations as of conjugate residuals from the start, of a third of the work: the rate decides."""
    problem = over_a_bed(*bow(), 6)
    assert 0.6 < problem._max_bed_slope() < iteration.STEEP
    solved = problem.solve(1e-8).iterations
    problem._iteration._steep = True
    DEVICE.fill(problem.psi, np.zeros(problem.psi.shape))
    assert problem.solve(1e-8).iterations >= solved - 1


def test_a_bed_that_is_too_steep_is_refused():
    with pytest.raises(InputError) as refused:
        over_a_bed(*ramp(1.8), 6)
    assert "slope of 1.8 at x = 2 m, y = 0 m" in str(refused.value) and "1.5 at most" in str(refused.value)
    over_a_bed(*ramp(1.45), 6)


def test_conjugate_residuals_go_on_where_weights_fail(monkeypatch):
    """The same answer as from weights alone."""
    known = over_a_bed(*ramp(0.5), 6)
    known.solve(1e-12)
    monkeypatch.setattr(iteration, "FAILING", 0.05)
    problem = over_a_bed(*ramp(0.5), 6)
    problem.solve(1e-12)
    assert problem.convergence.method == "conjugate residuals"
    assert np.abs(DEVICE.host(problem.w) - DEVICE.host(known.w)).max() < 1e-9


def test_single_corrections_of_a_steep_bed():
    """Conjugate residuals in single precision end where double ones do."""
    found = [over_a_bed(*ramp(1.0), 6, correction=correction) for correction in ("single", "double")]
    counts = [problem.solve(1e-12).iterations for problem in found]
    assert found[0].convergence.method == "conjugate residuals"
    assert np.abs(DEVICE.host(found[0].w) - DEVICE.host(found[1].w)).max() < 1e-9
    assert counts[0] == counts[1]


@pytest.mark.parametrize("slope", [0.3, 1.0])
def test_too_few_iterations(slope):
    problem = over_a_bed(*ramp(slope), 6, max_iterations=7)
    with pytest.raises(ConvergenceError, match="after 7 iterations") as caught:
        problem.solve(1e-12)
    assert caught.value.wanted == 1e-12 and caught.value.norm == problem.convergence.norms[-1]


def test_a_solution_does_not_depend_on_those_before():
    """Nothing but psi is carried on: a continued run equals an unbroken one."""
    first, second = over_a_bed(*ramp(1.0), 6), over_a_bed(*ramp(1.0), 6)
    first.solve(1e-9)
    DEVICE.fill(first.psi, np.zeros(first.psi.shape))
    first.solve(1e-9)
    second.solve(1e-9)
    assert np.array_equal(DEVICE.host(first.psi), DEVICE.host(second.psi))


@pytest.mark.parametrize("axis", [0, 1])
def test_moved_data_give_moved_answers_bit_for_bit(axis):
    """By even numbers of points of the coarsest grid, which keep the colours."""
    shape, rng, found = (48, 48), np.random.default_rng(0), []
    h = 0.5 + 0.005 * rng.standard_normal(shape)  # gentle: conjugate residuals add up in another order
    fields = 0.01 * rng.standard_normal((2, *shape))
    for shift in (0, 16):
        problem = LaplaceProblem(np.roll(h, shift, axis), (0.1, 0.1), Vertical(9, 6), (True, True), DEVICE, "double")
        assert shift % 2 ** len(problem.multigrid.grids) == 0
        DEVICE.fill(problem.fields, np.roll(fields, shift, axis + 1))
        problem.solve(1e-9)
        found.append(np.roll(DEVICE.host(problem.w), -shift, axis + 1))
    assert np.array_equal(*found)


def test_the_last_solution_is_a_good_guess():
    """Steps of a 40th of a period: 5.5 iterations a solution in place of 8, and 4.25 where it goes on straight."""
    problem, scale = under_a_wave(64, 6, height=0.05)
    cold = problem.solve(1e-5 * scale).iterations
    steps, period = Steps(problem, 9.81, 1e-5 * scale), 0.79
    warm = [steps.step(period / 40.0) for _ in range(5)][1:]
    assert cold <= 8 and max(warm) <= 17


def test_a_guess_goes_on_straight_after_a_step_as_long(monkeypatch):
    """Before both solutions half a step after the last; before the first of them only if the last step was as long."""
    problem, scale = under_a_wave(32, 4, height=0.02)
    steps, made = Steps(problem, 9.81, 1e-5 * scale), []
    solve, straight = steps._solve, "extrapolated guess"
    monkeypatch.setattr(
        steps, "_solve", lambda t: (made.extend([steps.last] * steps._waiting.count(straight)), solve(t))[1]
    )
    for dt in (0.01, 0.01, 0.005, 0.01, 0.01):
        steps.step(dt)
    assert made == [0.0, 0.01, 0.01, 0.01, 0.005, 0.01, 0.01]


@pytest.mark.nojit
def test_a_straight_guess():
    rng, problem = np.random.default_rng(0), over_a_bed(np.ones((3, 4)), (0.3, 0.3), 2)
    steps = Steps(problem, 9.81, 1.0)
    before, now = rng.standard_normal((2, *problem.psi.shape))
    DEVICE.fill(steps.psi_mid, before)
    DEVICE.fill(problem.psi, now)
    DEVICE.run(steps._parts["extrapolated guess"])
    assert np.abs(DEVICE.host(problem.psi) - (2.0 * now - before)).max() < 1e-15
    assert np.array_equal(DEVICE.host(steps.psi_mid), now)
    DEVICE.run(steps._parts["guess"])
    assert np.array_equal(DEVICE.host(steps.psi_mid), DEVICE.host(problem.psi))


@pytest.mark.nojit
def test_a_step_in_graphs(monkeypatch):
    """Where rounds are one launch, as on a GPU, a step is the same: what waits comes in the same order."""
    monkeypatch.setattr(iteration, "SYNC_INTERVAL", 1)  # plain cells do not stop within a round
    found, wave = [], AiryWave(height=0.02, depth=0.5, length=2.0)
    for device in (PlainDevice(), DeviceWithGraphs()):
        known = ((1.0, 0.25), Vertical(4, 2), (False, False), device, "double")
        problem = LaplaceProblem(np.full((1, 17), 0.5), *known)
        steps = Steps(
            problem,
            9.81,
            1e-6,
            [RelaxationZone("west", 1.0, wave.period, wave), RelaxationZone("east", 1.0, wave.period)],
        )
        iterations = [steps.step(dt) for dt in (0.05, 0.05, 0.025)]
        found.append((device.host(problem.fields), device.host(problem.psi), iterations))
    assert np.abs(found[0][0]).max() > 1e-4 and found[0][2] == found[1][2]
    assert all(np.array_equal(*both) for both in zip(found[0][:2], found[1][:2], strict=True))
