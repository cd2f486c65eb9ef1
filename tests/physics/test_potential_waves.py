"""Potential-flow waves: the Laplace problem and steps against the transcription, counts of iterations, exact waves."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.step import Steps
from eagre.solvers.finite_differences import centred, weights
from eagre.waves import AiryWave, CosineSpreading, Jonswap, Sea, StreamFunctionWave, separate_reflection
from oracle.potential_waves import Tank
from oracle.potential_waves import weights as known_weights

DEVICE = select("cpu")


def sea(shape, periodic, slope=0.3, depth=0.25):
    """Spacing, depth, elevation and potential of a basin of 1 m x 1 m that its walls mirror."""
    ny, nx = shape
    dy, dx = (1.0 / (n if round_ else max(n - 1, 1)) for n, round_ in zip(shape, periodic, strict=True))
    x, y = np.meshgrid(dx * np.arange(nx), dy * np.arange(ny))
    wave = 2.0 * np.pi
    h = depth + slope * np.cos(wave * x) * np.cos(wave * y) / wave
    eta = 0.02 * np.cos(wave * x) + 0.01 * np.cos(2.0 * wave * x) * np.cos(wave * y)
    return (dy, dx), h, eta, np.cos(wave * x) * np.cos(wave * y)


def laplace(shape, periodic, vertical, precision="double", linear=False, plain=False, correction=None, **more):
    """The problem on the CPU with its surface, and the transcription's tank."""
    spacing, h, eta, phi = sea(shape, periodic, **more)
    problem = LaplaceProblem(h, spacing, vertical, periodic, DEVICE, precision, linear, plain, correction=correction)
    DEVICE.fill(problem.fields, np.stack([eta, phi]))
    tank = Tank(
        h, spacing[1], spacing[0], vertical.nz, vertical.order, periodic[1], periodic[0], vertical.clustered, linear
    )
    return problem, tank, eta, phi


@pytest.mark.parametrize("order", [2, 4, 6, 8])
def test_weights_and_modes(order):
    for clustered in (True, False):
        vertical = Vertical(11, order, clustered)
        tank = Tank(np.ones((1, 16)), 0.1, 0.1, 11, order, clustered=clustered)
        assert np.abs(vertical.sigma - tank.sigma).max() < 1e-15
        for found, known in ((vertical.first, tank.first), (vertical.second, tank.second)):
            assert np.abs(found - known).max() < 1e-10 * np.abs(known).max()
        modes = vertical.modes()
        assert modes.decay[0] == pytest.approx(0.25 * np.pi**2, rel=5e-3) and (modes.decay > 0.0).all()
        assert np.abs(modes.to_modes @ modes.to_layers - np.eye(10)).max() < 1e-11
    assert centred(order, 0.5, 2) == pytest.approx(known_weights(0.0, np.arange(order + 1.0) - order // 2, 2) / 0.25)
    assert weights(0.3, np.arange(4.0), 0).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("clustered", [True, False])
@pytest.mark.parametrize("order", [2, 4, 6, 8])
@pytest.mark.parametrize(
    ("shape", "periodic"), [((1, 32), (False, True)), ((9, 16), (False, True)), ((17, 1), (False, False))]
)
def test_the_answer_of_elimination(shape, periodic, order, clustered):
    problem, tank, eta, phi = laplace(shape, periodic, Vertical(10, order, clustered))
    problem.solve(1e-13)
    potential, w = tank.solved(eta, phi)
    assert np.abs(DEVICE.host(problem.w)[0] - w).max() < 1e-9 * np.abs(w).max()
    assert np.abs(DEVICE.host(problem.psi)[:-1] + phi - potential).max() < 1e-10


@pytest.mark.parametrize("plain", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_single_corrections_take_no_digits(plain):
    """Of a problem in double precision: the answer of elimination, after as many iterations as with double ones."""
    found = {}
    for correction in ("single", "double"):
        problem, tank, eta, phi = laplace((9, 16), (False, True), Vertical(10, 6), correction=correction, plain=plain)
        found[correction] = problem.solve(1e-13).iterations
        assert problem.multigrid.f.dtype == (np.float32 if correction == "single" else np.float64)
        potential, w = tank.solved(eta, phi)
        assert np.abs(DEVICE.host(problem.w)[0] - w).max() < 1e-9 * np.abs(w).max()
        assert np.abs(DEVICE.host(problem.psi)[:-1] + phi - potential).max() < 1e-10
    assert found["single"] == found["double"]


def test_linear_waves_keep_the_slopes_of_the_bed():
    problem, tank, eta, phi = laplace((9, 16), (False, True), Vertical(8, 6), linear=True)
    problem.solve(1e-13)
    w = tank.solved(eta, phi)[1]
    assert np.abs(DEVICE.host(problem.w)[0] - w).max() < 1e-9 * np.abs(w).max()


def test_single_precision_of_shallow_water():
    """Psi = Phi - phi~ is what keeps it: w~ is a 40th of d phi~ / dx here."""
    errors = {}
    for precision in ("single", "double"):
        problem, *_ = laplace((1, 32), (False, True), Vertical(9, 6), precision, slope=0.0, depth=0.03)
        DEVICE.fill(problem.eta, np.zeros((1, 1, 32)))
        problem.solve(4e-9)
        errors[precision] = DEVICE.host(problem.w)
    assert np.abs(errors["single"] - errors["double"]).max() < 1e-6 * np.abs(errors["double"]).max()


@pytest.mark.parametrize(
    ("n", "order", "most"), [(32, 4, 6), (128, 4, 6), (32, 6, 6), (128, 6, 6), (512, 6, 6), (128, 8, 6)]
)
def test_iterations_do_not_depend_on_the_points(n, order, most):
    """From nothing to a correction of 1e-6 of the potential, under a wave over a flat bed."""
    problem, *_ = laplace((1, n), (False, True), Vertical(9, order), slope=0.0)
    found = problem.solve(1e-6)
    assert found.iterations <= most
    assert 0.0 < found.norm <= 1e-6 and found.norm == pytest.approx(problem.norm() / np.sqrt(8.0 * n))


def test_steps_as_the_transcription():
    problem, tank, eta, phi = laplace((5, 16), (False, True), Vertical(7, 4))
    steps, dt, phi = Steps(problem, 9.81, 1e-14), 0.01, 0.05 * phi
    DEVICE.fill(problem.fields, np.stack([eta, phi]))
    for _ in range(3):
        steps.step(dt)
        eta, phi = tank.step(eta, phi, dt)
    found = DEVICE.host(problem.fields)
    assert np.abs(found[0] - eta).max() < 1e-10 and np.abs(found[1] - phi).max() < 1e-10


def test_a_stream_function_wave_keeps_its_shape():
    """A wave of 60 % of the limiting steepness over three periods, 32 points a length, order 6."""
    wave = StreamFunctionWave(height=0.08, depth=1.0, length=1.0, gravity=9.82, eulerian_current=0.0)
    n, steps_a_period = 32, 40
    x, errors = np.arange(n)[None] / n, {}
    problem = LaplaceProblem(np.ones((1, n)), (1.0, 1.0 / n), Vertical(9, 6), (False, True), DEVICE, "double")
    start = np.stack([wave.elevation(x, 0.0, 0.0), wave.surface_potential(x, 0.0, 0.0)])
    DEVICE.fill(problem.fields, start)
    steps = Steps(problem, 9.82, 1e-9)
    for period in (1, 2, 3):
        for _ in range(steps_a_period):
            steps.step(wave.period / steps_a_period)
        errors[period] = np.abs(DEVICE.host(problem.fields)[0] - start[0]).max() / wave.height
    assert max(errors.values()) < 8e-4, errors


@pytest.mark.parametrize(
    ("given", "said"), [((7, 5), "order = 5"), ((6, 6), "madsen2010 are vertical_points = 7"), ((3, 2), "")]
)
def test_vertical_grids_that_are_refused(given, said):
    if not said:
        Vertical(*given)
        return
    with pytest.raises(InputError) as refused:
        Vertical(*given)
    assert said in str(refused.value)


@pytest.mark.parametrize(("h", "said"), [(np.ones((3, 8)), "8 x 3 points"), (np.zeros((1, 16)), "above 0 m")])
def test_basins_that_are_refused(h, said):
    with pytest.raises(InputError) as refused:
        LaplaceProblem(h, (0.1, 0.1), Vertical(9, 6), (False, True), DEVICE, "double")
    assert said in str(refused.value)


@pytest.mark.nojit
@pytest.mark.parametrize("linear", [False, True])
def test_a_step_of_a_small_basin(linear):
    """Small, so that it runs as plain Python too; sloping and curved in both directions, off the mirrors."""
    rng, shape, spacing = np.random.default_rng(4), (3, 4), (0.3, 0.25)
    h, eta = 0.5 + 0.05 * rng.standard_normal(shape), 0.01 * rng.standard_normal(shape)
    phi = 0.05 * rng.standard_normal(shape)
    problem = LaplaceProblem(h, spacing, Vertical(4, 2), (False, True), DEVICE, "double", linear)
    DEVICE.fill(problem.fields, np.stack([eta, phi]))
    Steps(problem, 9.81, 1e-13).step(0.05)
    tank = Tank(h, spacing[1], spacing[0], 4, 2, periodic_x=True, linear=linear)
    known = tank.step(eta, phi, 0.05)
    assert np.abs(DEVICE.host(problem.fields) - np.stack(known)).max() < 1e-10


# -- relaxation zones -----------------------------------------------------------------------------


def flume(linear, height, wave, dt, end, points=141, length=28.0):
    """Elevations at all points and times of a flume 0.45 m deep, waves from the west, absorbed in the east."""
    h = np.full((1, points), 0.45)
    problem = LaplaceProblem(h, (1.0, length / (points - 1)), Vertical(7, 6), (False, False), DEVICE, "double", linear)
    zones = [RelaxationZone("west", 4.0, 2.0, wave, ramp=4.0), RelaxationZone("east", 7.0, 2.0)]
    steps, found = Steps(problem, 9.81, 1e-7 * height, zones), []
    while steps.time < end - 1e-9:
        steps.step(dt)
        found.append(DEVICE.host(problem.eta)[0, 0])
    return problem.points[0], np.array(found)


def test_a_flume_of_linear_waves():
    """The height is made, and what comes back from the zones is below 1 %."""
    wave = AiryWave(height=0.01, depth=0.45, period=2.0)
    x, found = flume(True, 0.01, wave, 0.05, 40.0)
    last = found[-160:]  # four periods
    gauges = [70, 73, 77]
    apart = separate_reflection(last[:, gauges].T, x[gauges], 0.05, depth=0.45, taper=0.0)
    assert apart.coefficient < 0.01
    assert apart.incident_height == pytest.approx(0.01 * np.sqrt(2.0), rel=0.01)
    between = last[:, 30:100]
    heights = between.max(axis=0) - between.min(axis=0)
    assert np.abs(heights / 0.01 - 1.0).max() < 0.03
    assert np.abs(last[:, -1]).max() < 0.03 * 0.01  # what stands at the wall


@pytest.mark.nojit
@pytest.mark.parametrize("direction", [0.0, 0.4])
def test_what_a_zone_makes_is_the_wave_at_all_its_points(direction):
    """Of a wave along x one row is worked out, and has the bits of all."""
    wave = StreamFunctionWave(height=0.05, depth=0.5, length=2.0, eulerian_current=0.0, direction=direction)
    x, y = np.linspace(0.0, 3.0, 7), np.linspace(0.0, 1.0, 4)
    found = RelaxationZone("west", 3.0, wave.period, wave).target(x, y, 0.3)
    places = x[None, :] + 0.0 * y[:, None], y[:, None] + 0.0 * x[None, :], 0.3
    assert np.array_equal(found, np.stack([wave.elevation(*places), wave.surface_potential(*places)]))


def test_zones_are_drawn_to_after_each_stage():
    """Runge-Kutta's method with the transcription's rates; each stage sees what the zone made of the one before."""
    problem, tank, eta, phi = laplace((5, 16), (False, True), Vertical(7, 4))
    zone = RelaxationZone("south", 0.6, 1.0, AiryWave(height=0.05, depth=0.25, period=1.0, direction=0.5 * np.pi))
    steps, dt, fields = Steps(problem, 9.81, 1e-14, [zone]), 0.02, np.stack([eta, 0.05 * phi])
    DEVICE.fill(problem.fields, fields)
    keep = zone.keep(*problem.points, dt)

    def drawn(fields, time):
        return keep * fields + (1.0 - keep) * zone.target(*problem.points, time)

    for n in range(2):
        steps.step(dt)
        start, rates = fields, []
        for share in (0.5, 0.5, 1.0):
            rates.append(np.stack(tank.rates(*fields)))
            fields = drawn(start + share * dt * rates[-1], (n + share) * dt)
        rates.append(np.stack(tank.rates(*fields)))
        mean = (rates[0] + 2.0 * rates[1] + 2.0 * rates[2] + rates[3]) / 6.0
        fields = drawn(start + dt * mean, (n + 1.0) * dt)
    assert np.abs(DEVICE.host(problem.fields) - fields).max() < 1e-10


def test_zones_by_hand():
    x, y = np.linspace(0.0, 10.0, 11), np.array([0.0, 1.0])
    made = RelaxationZone("west", 4.0, 2.0, AiryWave(height=0.1, depth=1.0, period=2.0), ramp=2.0)
    keep = made.keep(x, y, 0.125)
    assert (
        keep[1, :5] == pytest.approx([0.0, 3 / 16 - 2 / 64, 0.5, 27 / 16 - 54 / 64, 1.0]) and (keep[:, 4:] == 1.0).all()
    )
    assert made.keep(x, y, 0.0625) == pytest.approx(np.sqrt(keep))
    absorbed = RelaxationZone("north", 0.5, 2.0, exponent=5.0).keep(x, np.linspace(0.0, 1.0, 5), 0.125)
    assert absorbed[:, 3] == pytest.approx([1.0, 1.0, 1.0, 1.0 - 0.5**5, 0.0])
    wave = made.waves
    assert made.target(x, y, 0.5)[0, 1] == pytest.approx(0.25 * wave.elevation(x, 1.0, 0.5))
    assert made.target(x, y, 5.0)[1, 0] == pytest.approx(wave.surface_potential(x, 0.0, 5.0))
    assert not RelaxationZone("east", 4.0, 2.0).target(x, y, 1.0).any()


def test_a_sea_is_made_by_a_table(monkeypatch):
    """As the sum of its waves, and not by it."""
    sea = Sea(Jonswap(0.1, 2.0), 1.0, spreading=CosineSpreading(s=10.0), count=20)
    zone, x, y = RelaxationZone("west", 4.0, 2.0, sea, ramp=2.0), np.linspace(0.0, 4.0, 5), np.linspace(0.0, 3.0, 3)
    known = [zone.target(x, y, t) for t in (0.7, 5.0)]
    for name in ("elevation", "surface_potential"):
        monkeypatch.setattr(Sea, name, lambda *_: pytest.fail("every wave at every place"))
    found = [zone.maker(x, y)(t) for t in (0.7, 5.0)]
    assert np.abs(np.array(found) - known).max() < 1e-12 * np.abs(known).max() + 1e-15


@pytest.mark.parametrize(
    "given",
    [{"side": "up"}, {"width": 0.0}, {"period": -1.0}, {"exponent": 0.0}, {"ramp": -1.0}, {"width": np.nan}],
)
def test_zones_that_are_refused(given):
    with pytest.raises(InputError) as refused:
        RelaxationZone(**{"side": "west", "width": 4.0, "period": 2.0, **given})
    assert next(iter(given)) in str(refused.value)
