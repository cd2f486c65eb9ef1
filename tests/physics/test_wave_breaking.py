"""Breaking potential-flow waves: what is found, what is taken out, what is left alone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre import Grid, PotentialWaves
from eagre.backend.select import select
from eagre.errors import BlowUpError, ConvergenceError, InputError
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.step import Steps
from eagre.models.potential_waves.surface.breaking import (
    MAX_ADVECTION,
    RATIO,
    SLOPE,
    SPEED_X,
    SPEED_Y,
    Breaker,
    Breaking,
    length_of_speed,
    max_first_difference,
)
from eagre.waves import AiryWave, StreamFunctionWave, angular_frequency

DEVICE = select("cpu")
GRAVITY, DEPTH = 9.81, 0.5


def basin(height, factor=1.0, shape=(1, 48), direction=0.0, breaks=True, vertical=None, **options):
    """A wave 1 m long, `factor` times as high as the steady one, in a periodic basin of one length."""
    wave = StreamFunctionWave(height, DEPTH, length=1.0, eulerian_current=0.0, direction=direction)
    ny, nx = shape
    side = 1.0 / max(math.cos(direction), 1e-9) if ny == 1 else math.sqrt(2.0)
    spacing, periodic = (side / ny, side / nx), (ny > 1, True)
    h = np.full(shape, DEPTH)
    problem = LaplaceProblem(h, spacing, vertical or Vertical(9, 6), periodic, DEVICE, "double")
    x, y = problem.points[0][None], problem.points[1][:, None]
    fields = wave.elevation(x, y, 0.0), wave.surface_potential(x, y, 0.0)
    DEVICE.fill(problem.fields, factor * np.stack([np.broadcast_to(f, shape) for f in fields]))
    breaking = Breaking(problem, h, spacing, periodic, GRAVITY, **options)
    return wave, problem, Steps(problem, GRAVITY, 1e-7, forcing=[breaking] if breaks else []), breaking


def energy(problem):
    """By the area and density of water, m3/s2; solves for the surface of the moment."""
    problem.solve(1e-7)
    rates = problem.surface_zeros(2)
    DEVICE.run([problem.plane("set_rates", problem.eta, problem.phi, problem.w, rates, GRAVITY, problem.lines)])
    eta, phi = DEVICE.host(problem.fields)
    return 0.5 * (phi * DEVICE.host(rates)[0]).mean() + 0.5 * GRAVITY * (eta**2).mean()


def test_a_wave_beyond_the_limit_runs_on_and_loses_energy():
    """H/L 0.13 where 0.14 is the highest and the shape is not that of a steady wave: without breaking the run ends."""
    wave, problem, steps, _ = basin(0.1, 1.3, breaks=False)
    with pytest.raises(ConvergenceError):
        for _ in range(300):  # crests of three times the height first: conjugate residuals go on long
            steps.step(wave.period / 80.0)

    wave, problem, steps, breaking = basin(0.1, 1.3)
    start, energies = energy(problem), []
    for n in range(200):
        steps.step(wave.period / 80.0)
        if n % 40 == 39:
            energies.append(energy(problem))
    assert breaking.log and (np.diff([start, *energies]) < 1e-3 * start).all()
    assert 0.3 * start < energies[-1] < 0.8 * start
    first = breaking.log[0]
    assert 0.1 * wave.period < first.time < wave.period and 0.0 <= first.x < 1.0
    assert first.ratio > 0.855 or first.slope > math.tan(math.radians(30.0))
    assert not breaking.active or breaking.active[0].time > first.time


def test_a_wave_below_the_limit_has_the_same_bits():
    found = []
    for breaks in (False, True):
        wave, problem, steps, breaking = basin(0.1, breaks=breaks)
        for _ in range(40):
            steps.step(wave.period / 40.0)
        assert breaking.log == []
        found.append(DEVICE.host(problem.fields).copy())
    assert np.array_equal(*found)


@pytest.mark.parametrize(("direction", "shape"), [(0.0, (1, 64)), (0.25 * math.pi, (64, 64))])
def test_the_speed_of_a_crest(direction, shape):
    """u_c, c and the front of a steady wave of 0.7 of the highest: a breaker only with a limit of u_c / c = 0.3."""
    wave, problem, steps, breaking = basin(0.1, shape=shape, direction=direction, vertical=Vertical(11, 6))
    problem.solve(1e-9)
    DEVICE.run(steps._parts["rates"])
    breaking.add(0.0, 0.01, 0, steps._rates)
    found = DEVICE.host(breaking._crest_fields)
    u = float(np.hypot(*np.asarray(wave.velocity(0.0, 0.0, wave.crest, 0.0)[:2])))
    assert found[RATIO, 0, 0] == pytest.approx(u / wave.celerity, rel=5e-3)
    speed = found[[SPEED_X, SPEED_Y], 0, 0]
    assert speed == pytest.approx(
        wave.celerity * np.array([math.cos(direction), math.sin(direction)]), rel=5e-3, abs=1e-9
    )
    x = np.linspace(0.0, 1.0, 2001)
    steepest = np.abs(np.gradient(wave.elevation(x * math.cos(direction), x * math.sin(direction), 0.0), x)).max()
    assert found[SLOPE].max() == pytest.approx(steepest, rel=0.02) and breaking.log == []
    rates = DEVICE.host(steps._rates).copy()
    _, problem, steps, breaking = basin(0.1, shape=shape, direction=direction, max_crest_speed_ratio=0.3)
    problem.solve(1e-9)
    DEVICE.run(steps._parts["rates"])
    breaking.add(2.0, 0.01, 0, steps._rates)
    first = breaking.log[0]
    assert first.time == 2.0 and first.speed == pytest.approx(wave.celerity, rel=1e-2)
    assert first.crest == pytest.approx(wave.crest, rel=1e-3)
    assert np.abs(DEVICE.host(steps._rates) - rates).max() > 1e-3


@pytest.mark.nojit
def test_what_is_spread_by_hand():
    """The rate of a wave cos(k x) of uniform nu is -2 nu (2 sin(k dx / 2) / dx)^2 times it; of any nu, the sum is 0."""
    n, across = 12, 8
    _, problem, _, breaking = basin(0.05, shape=(across, n), vertical=Vertical(4, 2))
    dx, dy = math.sqrt(2.0) / n, math.sqrt(2.0) / across
    x, y = np.meshgrid(2.0 * np.pi * np.arange(n) / n, 2.0 * np.pi * np.arange(across) / across)
    wave, shape = np.cos(x + y), (2, across, n)
    DEVICE.fill(problem.fields, np.stack([wave, 3.0 * wave]))
    loop, rates = breaking._loops["spread"], problem.surface_zeros(2)
    rng = np.random.default_rng(2)
    for nu in (np.full((1, across, n), 0.1), rng.uniform(0.0, 1.0, (1, across, n))):
        DEVICE.fill(breaking._nu, nu)
        DEVICE.fill(rates, np.zeros(shape))
        arguments = (rates, problem.fields, breaking._nu, breaking._inverse, problem.lines)
        DEVICE.run([DEVICE.over(loop, shape, arguments)])
        found = DEVICE.host(rates)
        if np.ptp(nu) == 0.0:
            decay = 0.8 * ((math.sin(math.pi / n) / dx) ** 2 + (math.sin(math.pi / across) / dy) ** 2)
            assert found[0] == pytest.approx(-decay * wave) and found[1] == pytest.approx(-3.0 * decay * wave)
        assert np.abs(found).max() > 0.1 and abs(found.sum()) < 1e-10


@pytest.mark.nojit
def test_crests_by_hand():
    """A bump that the water carries along x at 2 m/s: eta_t = -2 eta_x, so its speed is 2."""
    n = 16
    _, problem, _, breaking = basin(0.05, shape=(1, n), vertical=Vertical(4, 2))
    x = np.arange(n) / n
    eta = 0.02 * np.cos(2.0 * np.pi * (x - 0.5))
    rate = 2.0 * 0.02 * 2.0 * np.pi * np.sin(2.0 * np.pi * (x - 0.5))
    phi = np.sin(2.0 * np.pi * (x - 0.5)) / (2.0 * np.pi)  # u = cos: 1 m/s at the crest
    DEVICE.fill(problem.fields, np.stack([eta, phi])[:, None])
    DEVICE.fill(problem.w, np.zeros((1, 1, n)))
    DEVICE.fill(breaking._bed, np.where(x == 0.5, DEPTH, 0.1 * DEPTH)[None, None])  # that of the crest counts
    rates = problem.surface_zeros(2)
    DEVICE.fill(rates, np.stack([rate, 0.0 * rate])[:, None])
    breaking.add(0.0, 0.01, 0, rates)
    found = DEVICE.host(breaking._crest_fields)[:, 0]
    u = math.sin(2.0 * math.pi / n) / (2.0 * math.pi / n)
    # second differences of order 2 see the bump less bent than it is, first ones its rise less steep
    step = 2.0 * math.pi / n
    speed = 2.0 * (math.sin(step) / step) / (2.0 * math.sin(0.5 * step) / step) ** 2
    assert found[RATIO, 8] == pytest.approx(u / speed) and found[SPEED_X, 8] == pytest.approx(speed)
    assert np.count_nonzero(found[RATIO]) == 1
    DEVICE.fill(rates, np.zeros((2, 1, n)))  # a crest that stands: the speed is that of its curvature
    breaking.add(0.0, 0.01, 0, rates)
    k = 2.0 * math.pi * (2.0 * math.sin(0.5 * step) / step)
    slowest = 0.8 * math.sqrt(GRAVITY / k * math.tanh(k * DEPTH))
    assert DEVICE.host(breaking._crest_fields)[SPEED_X, 0, 8] == pytest.approx(slowest)


def test_a_standing_wave_has_no_way():
    """At its crest water and crest are both at rest: the speed is that of the linear wave, and nothing breaks."""
    _, problem, steps, breaking = basin(0.05)
    x = np.arange(48) / 48.0
    DEVICE.fill(problem.fields, np.stack([0.05 * np.cos(2.0 * np.pi * x), 1e-9 * np.cos(2.0 * np.pi * x)])[:, None])
    for _ in range(40):
        steps.step(0.01)
    assert breaking.log == []


# -- steps of waves that break --------------------------------------------------------------------


def steep_waves(steepness, steps, count=1, vertical_points=9):
    """Linear waves 1 m long in water half as deep, far too high for their shape, 64 points each; steps a period."""
    grid = Grid.from_points(64 * count, 1, float(count), 1.0, periodic=(True, False))
    wave = AiryWave(height=steepness, depth=DEPTH, length=1.0)
    surface = wave.elevation(grid.x[None], 0.0, 0.0), wave.surface_potential(grid.x[None], 0.0, 0.0)
    return wave, PotentialWaves(
        grid, DEPTH, surface_elevation=surface[0], surface_potential=surface[1], periodic="x", breaking=True,
        device="cpu", time_step=wave.period / steps, vertical_points=vertical_points,
    )  # fmt: skip


def test_long_steps_are_cut_where_waves_break(monkeypatch):
    """Water as fast as the crest carries short waves 4 of 2.83 in a step; a run of cut steps goes on from its state."""
    wave, model = steep_waves(0.11, 25)
    energies = []
    for quarter in range(1, 9):
        model.advance(0.25 * quarter * wave.period)
        energies.append(model.diagnostics()["energy"])
        if quarter == 3:
            _, other = steep_waves(0.11, 25)
            other.restore(model.state())
            for one in (model, other):
                one.advance(0.9 * wave.period)
            assert np.array_equal(model.state()["surface"], other.state()["surface"])
    assert model.breakers and (np.diff(energies) < 1e-3 * energies[0]).all() and energies[-1] < 0.8 * energies[0]
    assert model.statistics()["dt_min"] < 0.6 * model.time_step
    monkeypatch.setattr(Breaking, "substeps", lambda *_: 1)
    with pytest.raises(BlowUpError):
        steep_waves(0.11, 25)[1].advance(2.0 * wave.period)


def test_waves_side_by_side_break_both():
    """The speed of these crests is taken for that of a wave 2.4 m long: the next one, 1 m away, is not the same."""
    wave, model = steep_waves(0.134, 40, count=2, vertical_points=13)
    model.advance(0.8 * wave.period)
    first, second = model.breakers[:2]
    assert first.time == second.time and second.x - first.x == pytest.approx(1.0)


@pytest.mark.nojit
def test_parts_by_hand():
    """Water of cos(x) m/s, whose difference of order 2 is sin(s) / s of it, s = 2 pi / 16: twice that and half."""
    n = 16
    _, problem, _, breaking = basin(0.05, shape=(1, n), vertical=Vertical(4, 2))
    phi = 2.0 * np.sin(2.0 * np.pi * np.arange(n) / n) / (2.0 * np.pi)
    DEVICE.fill(problem.fields, np.stack([0.0 * phi, phi])[:, None])
    swift = 2.0 * math.sin(2.0 * math.pi / n) / (2.0 * math.pi / n) * n  # times 1, the symbol of order 2
    for dt, parts in (
        (0.99 * MAX_ADVECTION / swift, 1),
        (1.01 * MAX_ADVECTION / swift, 2),
        (3.5 * MAX_ADVECTION / swift, 4),
        (9.0, 16),
    ):
        assert breaking.substeps(dt) == parts
    DEVICE.fill(problem.phi, np.full((1, 1, n), np.nan))
    assert breaking.substeps(0.1) == 1


def test_what_belongs_to_a_crest_by_hand():
    """A crest beside one that breaks is that one up to a quarter of its length, the shorter way around both axes."""
    *_, breaking = basin(0.05, shape=(24, 36), direction=0.25 * math.pi)
    side = math.sqrt(2.0)
    dx, dy = side / 36, side / 24
    breaking.active.append(Breaker(2.0, 1.3, 0.1, 0.9, 0.0, 0.5, -0.4, 0.1, 2.0))
    # half a second later it is at x = 1.55 - side, y = side - 0.1
    away = breaking._away(breaking.active[0], 2.5, np.array([0.2]), np.array([0.05]))
    assert [float(one[0]) for one in away] == pytest.approx([0.2 - 1.55 + side, 0.15])
    breaking._around = side, 0.9  # as of an oblong basin
    away = breaking._away(breaking.active[0], 2.5, np.array([0.2]), np.array([0.85]))
    assert [float(one[0]) for one in away] == pytest.approx([0.2 - 1.55 + side, 0.05])
    breaking._around = side, side
    at_rest = breaking.active[0]._replace(ratio=1e-15)  # at a wall the direction of the speed is rounding
    away = breaking._away(at_rest, 2.5, np.array([1.2]), np.array([0.3]))
    assert [float(one[0]) for one in away] == pytest.approx([-0.1, 0.2])
    found = np.array([1.0, 1.2, 0.0, 0.0])
    breaking._h = 0.3 + 0.1 * np.random.default_rng(1).random((24, 36))
    for along, is_new in ((0.45, False), (0.55, True)):
        i, j = round((1.55 - side + along) / dx), round((side - 0.1) / dy)
        assert abs(math.hypot(i * dx - 1.55 + side, j * dy - side + 0.1) - along) < 0.04
        before = len(breaking.log)
        breaking._begin(2.5, (j, i), found, 0.3)
        assert len(breaking.log) == before + is_new
    assert breaking.log[-1].length == length_of_speed(1.2, float(breaking._h[j, i]), GRAVITY)


def test_viscosity_is_no_more_than_a_step_bears():
    """nu = 0.02 H c at a crest; of the fastest change 8 nu (1 / dx^2 + 1 / dy^2) a step bears 2 / dt."""
    *_, breaking = basin(0.05, shape=(24, 36), direction=0.25 * math.pi)
    breaking.active.append(Breaker(0.0, 0.0, 0.0, 0.9, 0.0, 0.3, 0.4, 0.1, 1.0))
    assert breaking._viscosity(0.0, 1e-3).max() == pytest.approx(0.02 * 0.1 * 0.5)
    squares = (36**2 + 24**2) / 2.0
    assert breaking._viscosity(0.0, 10.0).max() == pytest.approx(2.0 / (8.0 * squares * 10.0))


def test_the_largest_that_a_difference_makes_of_a_wave():
    symbols = [max_first_difference(order) for order in (2, 4, 6, 8)]
    assert symbols == pytest.approx([1.0, 1.372, 1.586, 1.732], abs=2e-3)


def test_lengths_of_speeds():
    for length in (0.2, 1.0, 4.0):
        k = 2.0 * math.pi / length
        speed = math.sqrt(GRAVITY / k * math.tanh(k * DEPTH))
        assert float(angular_frequency(k, DEPTH, GRAVITY)) / k == pytest.approx(speed)
        assert length_of_speed(speed, DEPTH, GRAVITY) == pytest.approx(length, rel=1e-9)
    assert length_of_speed(3.0, DEPTH, GRAVITY) == 10.0 * DEPTH


@pytest.mark.parametrize("change", [{"max_crest_speed_ratio": 0.0}, {"max_front_slope": -1.0}, {"strength": math.nan}])
def test_numbers_that_are_refused(change):
    with pytest.raises(InputError) as refused:
        basin(0.05, **change)
    assert next(iter(change)) in str(refused.value)
