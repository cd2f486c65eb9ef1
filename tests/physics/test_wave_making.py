"""Waves made and taken at a side beside relaxation zones: flux inlet, piston, active absorption, sponge."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eagre import Grid, PotentialWaves, SpongeLayer
from eagre.backend.select import select
from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.boundaries.sides import Sponge
from eagre.models.potential_waves.boundaries.wave_checks import wavemaker_reflection
from eagre.models.potential_waves.boundaries.wavemaker import (
    Inlet,
    Wall,
    of_wall,
    profile_coefficients,
    stroke_of_height,
)
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.sampling.reflection import IncidentWaves, Line, _of_height
from eagre.models.potential_waves.step import Steps
from eagre.waves import AiryWave, Jonswap, Sea, StreamFunctionWave, separate_reflection, wave_number
from oracle.potential_waves import along as differences

DEVICE, GRAVITY, DEPTH = select("cpu"), 9.81, 0.45


def flume(forcing, linear=True, length=24.0, points=121, zones=(), along="x", small=1e-9):
    """Steps of a flume between walls; `forcing` makes what acts from the problem and its depth."""
    shape = (1, points) if along == "x" else (points, 1)
    h = np.full(shape, DEPTH)
    spacing = (1.0, length / (points - 1)) if along == "x" else (length / (points - 1), 1.0)
    problem = LaplaceProblem(h, spacing, Vertical(7, 6), (False, False), DEVICE, "double", linear)
    return problem, Steps(problem, GRAVITY, small, zones, forcing(problem, h))


def record(problem, steps, dt, end):
    found = []
    while steps.time < end - 1e-9:
        steps.step(dt)
        found.append(DEVICE.host(problem.eta).reshape(-1).copy())
    return np.array(found)


@pytest.mark.nojit
def test_the_potential_of_the_wall_by_hand():
    """Harmonic, its bed closed, 1 m/s through all of the water at the side; gone after some depths."""
    f, high = profile_coefficients(), 4.0 * DEPTH
    n = 2.0 * np.arange(f.size) + 1.0

    def a(s, z):
        k = n * math.pi / high
        return -(f / k * np.exp(-k * s) * np.cos(k * (z + DEPTH))).sum()

    step, places = 1e-4, [0.0, 0.3, 1.1, 4.0]
    wall = Wall(
        np.exp(-math.pi * np.array(places) / (4.0 * DEPTH)), np.ones(1), 1.0, 0.0, DEPTH, f, f * high / (n * math.pi)
    )
    for i, s in enumerate(places):
        eta = np.full((1, 1, 4), 0.04)
        found = of_wall(eta, 0, i, wall)
        z = 0.04
        assert found[0] == pytest.approx(a(s, z))
        assert found[1] == pytest.approx((a(s + step, z) - a(s - step, z)) / (2.0 * step), abs=1e-5)
        assert found[2] == pytest.approx((a(s, z + step) - a(s, z - step)) / (2.0 * step), abs=1e-5)
        assert a(s, -DEPTH + step) == pytest.approx(a(s, -DEPTH - step))
    near = [(a(1e-4, z) - a(0.0, z)) / 1e-4 for z in np.linspace(-DEPTH, 0.1, 7)]
    assert near == pytest.approx(np.ones(7), abs=2e-3)
    assert abs(a(8.0 * DEPTH, 0.0) - a(9.0 * DEPTH, 0.0)) < 2e-3 * DEPTH


@pytest.mark.parametrize("side", ["west", "north"])
def test_what_the_wall_adds_as_the_formulas(side):
    """eta_t += a_z - grad eta . grad a; phi~_t -= a_t + grad phi~ . grad a + |grad a|^2 / 2, with sums over cosines."""
    along, n, speed, rate = "x" if side == "west" else "y", 61, 0.3, -0.7
    problem, steps = flume(lambda p, h: [], False, 12.0, n, along=along)
    place = np.linspace(0.0, 12.0, n)
    eta, phi = 0.05 * np.cos(np.pi * place / 4.0), 0.2 * np.cos(np.pi * place / 3.0)
    DEVICE.fill(problem.fields, np.stack([eta, phi]).reshape(2, *problem.shape))
    inlet = Inlet(problem, np.full(problem.shape, DEPTH), side, lambda t: speed, lambda t: rate, GRAVITY)
    inlet.add(0.0, 0.1, 0, steps._rates)
    found = DEVICE.host(steps._rates).reshape(2, n)
    away, sign = (place, 1.0) if side == "west" else (12.0 - place, -1.0)
    f = profile_coefficients()
    k = (2.0 * np.arange(f.size) + 1.0)[:, None] * math.pi / (4.0 * DEPTH)
    left = f[:, None] * np.exp(-k * away)
    a, a_n = -(left / k * np.cos(k * (eta + DEPTH))).sum(axis=0), (left * np.cos(k * (eta + DEPTH))).sum(axis=0)
    a_z, d = (left * np.sin(k * (eta + DEPTH))).sum(axis=0), differences(n, 0.2, 6, 1, False)
    assert found[0] == pytest.approx(speed * (a_z - sign * a_n * (d @ eta)), abs=1e-12)
    known = rate * a + speed * sign * a_n * (d @ phi) + 0.5 * speed**2 * (a_n**2 + a_z**2)
    assert found[1] == pytest.approx(-known, abs=1e-12)


def test_a_side_lets_out_what_differs_from_its_target():
    """U -= sqrt(g / h) (eta - target) at the side, and dU/dt likewise: the rates of an inlet of that velocity."""
    problem, steps = flume(lambda p, h: [], False, 12.0, 61)
    place, h = np.linspace(0.0, 12.0, 61), np.full((1, 61), DEPTH)
    eta, phi = 0.05 * np.cos(np.pi * place / 4.0), 0.2 * np.cos(np.pi * place / 3.0)
    DEVICE.fill(problem.fields, np.stack([eta, phi]).reshape(2, 1, 61))
    root, rates = math.sqrt(GRAVITY / DEPTH), []

    def add(*moves, **more):
        DEVICE.fill(steps._rates, np.zeros((2, 1, 61)))
        Inlet(problem, h, "west", *moves, GRAVITY, **more).add(2.0, 0.1, 0, steps._rates)
        rates.append(DEVICE.host(steps._rates).copy())

    add(lambda t: 0.3 * t, lambda t: -0.7, target=lambda t: 0.01 * t, target_rate=lambda t: 0.02 * t)
    speed = 0.6 - root * (0.05 - 0.02)
    add(lambda t: speed, lambda t: -0.7 - root * (rates[0][0, 0, 0] - 0.04))
    np.testing.assert_allclose(rates[0], rates[1], rtol=0, atol=1e-13)
    assert np.abs(rates[0]).max() > 0.1


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("side", ["west", "east", "south", "north"])
def test_what_flows_in_is_there(side, linear):
    """The volume grows by U (h + eta) a second: with a small U by U h t."""
    speed, along = 1e-3, "x" if side in ("west", "east") else "y"
    signal = (lambda t: speed * min(t, 1.0)), (lambda t: speed * (t < 1.0))
    problem, steps = flume(
        lambda p, h: [Inlet(p, h, side, *signal, GRAVITY, linear=linear)], linear, 8.0, 65, along=along
    )  # fmt: skip
    record(problem, steps, 0.05, 2.0)
    eta = DEVICE.host(problem.eta).reshape(-1)
    volume = (eta.sum() - 0.5 * (eta[0] + eta[-1])) * 8.0 / 64
    assert volume == pytest.approx(speed * DEPTH * 1.5, rel=0.01)
    near, far = (eta[:8].mean(), eta[-8:].mean()) if side in ("west", "south") else (eta[-8:].mean(), eta[:8].mean())
    assert near > 10.0 * abs(far)


def test_a_piston_and_a_sponge():
    """The piston makes the height of Biesel's function; what comes back from the sponge is below 2 %."""
    period, height = 1.6, 0.01
    omega, k = 2.0 * math.pi / period, float(wave_number(2.0 * math.pi / period, DEPTH))
    amplitude = 0.5 * stroke_of_height(height, k, DEPTH) * omega

    def velocity(t):
        return amplitude * math.cos(omega * t) * min(1.0, t / 3.2)

    def acceleration(t):
        rising = amplitude * math.cos(omega * t) / 3.2 if t < 3.2 else 0.0
        return rising - amplitude * omega * math.sin(omega * t) * min(1.0, t / 3.2)

    problem, steps = flume(
        lambda p, h: [
            Inlet(p, h, "west", velocity, acceleration, GRAVITY, linear=True),
            Sponge(p, "east", 6.0, period, DEPTH, GRAVITY),
        ],
        length=16.0, points=161,
    )  # fmt: skip
    found = record(problem, steps, period / 32.0, 14.0 * period)[-128:]
    x = problem.points[0]
    gauges = [40, 46, 54]
    apart = separate_reflection(found[:, gauges].T, x[gauges], period / 32.0, depth=DEPTH, taper=0.0)
    assert apart.coefficient < 0.02
    assert apart.incident_height == pytest.approx(height * math.sqrt(2.0), rel=0.01)


@pytest.mark.parametrize("moves", [False, True])
def test_waves_of_a_piston_that_are_high(moves):
    """Nonlinear: the first harmonic is that of Biesel's function within 3 %, also with the piston's displacement."""
    period, height = 1.6, 0.04
    omega, k = 2.0 * math.pi / period, float(wave_number(2.0 * math.pi / period, DEPTH))
    amplitude = 0.5 * stroke_of_height(height, k, DEPTH) * omega
    problem, steps = flume(
        lambda p, h: [
            Inlet(
                p, h, "west", lambda t: amplitude * math.sin(omega * t),
                lambda t: amplitude * omega * math.cos(omega * t), GRAVITY,
                position=(lambda t: amplitude / omega * (1.0 - math.cos(omega * t))) if moves else None,
            ),
            Sponge(p, "east", 6.0, period, DEPTH, GRAVITY),
        ],
        linear=False, small=1e-7,
    )  # fmt: skip
    found = record(problem, steps, period / 32.0, 16.0 * period)[-64:]
    first = 2.0 * np.abs(np.fft.rfft(found[:, 40:60], axis=0)[2]) / 64
    assert 2.0 * first.mean() == pytest.approx(height, rel=0.03)


@pytest.mark.parametrize(("kh", "length"), [(0.3, 32.0), (1.0, 16.0)])
def test_active_absorption_reflects_what_is_predicted(kh, length):
    """Waves from a zone in the west meet the east: 0.7 % comes back at k h 0.3, 6.6 % at k h 1."""
    period = 2.0 * math.pi / math.sqrt(GRAVITY * kh * math.tanh(kh) / DEPTH)
    wave = AiryWave(height=0.01, depth=DEPTH, period=period)
    problem, steps = flume(
        lambda p, h: [
            Inlet(p, h, "east", lambda t: 0.0, lambda t: 0.0, GRAVITY, linear=True, target=lambda t: 0.0)
        ],
        zones=[RelaxationZone("west", 0.25 * length, period, wave, ramp=period)], length=length, points=161,
    )  # fmt: skip
    record_of_gauges = record(problem, steps, period / 32.0, 3.2 * length / wave.celerity + 4.0 * period)[-64:]
    x, gauges = problem.points[0], [80, 88, 100]
    apart = separate_reflection(record_of_gauges[:, gauges].T, x[gauges], period / 32.0, depth=DEPTH, taper=0.0)
    assert apart.coefficient == pytest.approx(wavemaker_reflection(kh), abs=0.012)
    assert apart.incident_height == pytest.approx(0.01 * math.sqrt(2.0), rel=0.03)


def test_a_sponge_is_as_strong_as_is_asked_for():
    problem, _ = flume(lambda p, h: [], False, 8.0, 65)
    setup = SimpleNamespace(depth=np.full((1, 65), DEPTH), gravity=GRAVITY)
    mu = [DEVICE.host(SpongeLayer("east", 4.0, 1.6, *more).sponge(problem, setup)._mu) for more in ((), (3.0,))]
    assert mu[1].max() > 0.0 and mu[0] == pytest.approx(2.0 * mu[1])
    s = np.clip((problem.points[0] - 4.0) / 4.0, 0.0, 1.0)  # s^2 (3 - 2 s), level at both ends
    np.testing.assert_allclose(mu[0][0, 0] / mu[0].max(), 3.0 * s**2 - 2.0 * s**3, rtol=0, atol=1e-12)


def test_a_sponge_only_takes():
    """The energy of waves in a closed basin never grows, and is gone after some periods."""
    problem, steps = flume(lambda p, h: [Sponge(p, "north", 4.0, 1.6, DEPTH, GRAVITY)], False, 8.0, 65, along="y")
    y = problem.points[1]
    DEVICE.fill(problem.eta, 0.02 * np.cos(2.0 * np.pi * y / 4.0)[None, :, None])
    energies = []
    for _ in range(160):
        rates = steps._rates
        steps.step(0.05)
        problem.solve(1e-9)
        DEVICE.run([problem.plane("set_rates", problem.eta, problem.phi, problem.w, rates, GRAVITY, problem.lines)])
        eta, phi = DEVICE.host(problem.fields)[:, :, 0]
        inner = np.r_[0.5, np.ones(63), 0.5]
        energies.append(float(inner @ (GRAVITY * eta**2 + phi * DEVICE.host(rates)[0, :, 0])))
    assert (np.diff(energies) < 1e-4 * energies[0]).all() and energies[-1] < 0.05 * energies[0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"side": "up"}, "'up'"),
        ({"h": "slope"}, "flat bed"),
        ({"length": 2.0}, "of water in front of"),
    ],
)
def test_inlets_that_are_refused(change, said):
    x = np.linspace(0.0, change.get("length", 10.0), 65)
    h = np.full((1, 65), DEPTH) + (0.02 * x if "h" in change else 0.0)
    problem = LaplaceProblem(h, (1.0, x[1]), Vertical(5, 4), (False, False), DEVICE, "double")
    with pytest.raises(InputError) as refused:
        Inlet(problem, h, change.get("side", "west"), lambda t: 0.0, lambda t: 0.0, GRAVITY)
    assert said in str(refused.value)
    periodic = LaplaceProblem(np.ones((1, 16)), (1.0, 1.0), Vertical(5, 4), (False, True), DEVICE, "double")
    with pytest.raises(InputError) as refused:
        Inlet(periodic, np.ones((1, 16)), "west", lambda t: 0.0, lambda t: 0.0, GRAVITY)
    assert "periodic" in str(refused.value)


@pytest.mark.parametrize("change", [{"side": "up"}, {"width": 0.0}, {"period": -1.0}, {"strength": math.nan}])
def test_sponges_that_are_refused(change):
    problem = LaplaceProblem(np.ones((1, 16)), (1.0, 1.0), Vertical(5, 4), (False, False), DEVICE, "double")
    given = {"side": "east", "width": 4.0, "period": 2.0, "depth": 1.0, "gravity": GRAVITY}
    with pytest.raises(InputError) as refused:
        Sponge(problem, **{**given, **change})
    assert next(iter(change)) in str(refused.value)


@pytest.mark.parametrize(("kh", "steepness"), [(1.2, 0.06), (2.0, 0.08), (4.0, 0.1)])
def test_what_linear_theory_takes_for_reflection_in_high_waves(kh, steepness):
    """Of a stream function wave that nothing reflects: it is longer than a small one of its period."""
    period = 2.0 * np.pi / np.sqrt(GRAVITY * kh * np.tanh(kh))
    wave = StreamFunctionWave(2.0 * steepness / kh, 1.0, period=period, eulerian_current=0.0)
    x, t = np.array([3.0, 3.4, 4.1]) / kh, np.arange(256) * 8.0 * period / 256
    eta = wave.elevation(x[:, None], 0.0, t[None])
    found = separate_reflection(eta, x, t[1], 1.0, band=(0.75 / period, 1.25 / period), taper=0.0)
    setup: Any = SimpleNamespace(gravity=GRAVITY)
    line = Line("x", [0, 1, 2], x, 1.0, 0.0)
    expected = _of_height(setup, IncidentWaves("west", period, True, 0.0), line, found.incident_height)
    assert found.coefficient == pytest.approx(expected, rel=0.05) and found.coefficient > 2e-3


def reflection_of_a_sea(width, samples):
    """The coefficient that gauges find in a flume with a sea of 2 s, absorbed over `width` m, and in the sea itself."""
    sea = Sea(Jonswap(0.01, 2.0), 0.45, count=200)
    grid = Grid.from_points(145, 1, 28.8, 1.0)
    zones = [RelaxationZone("west", 4.0, 2.0, sea, ramp=4.0), RelaxationZone("east", width, 2.0)]
    model = PotentialWaves(
        grid,
        0.45,
        relaxation_zones=zones,
        order=4,
        vertical_points=6,
        linear=True,
        device="cpu",
        time_step=0.1,
        tolerance=1e-4,
    )
    gauges, times, records = np.array([40, 42, 46, 52, 60]), 40.0 + 0.2 * np.arange(samples), []
    for time in times:
        model.advance(time)
        records.append(model.field("surface_elevation")[0, gauges])
    x = grid.x[gauges]
    exact = [sea.elevation(place, 0.0, times) for place in x]
    return [
        separate_reflection(surfaces, x, 0.2, 0.45, band=(0.3, 0.8), taper=0.1).coefficient
        for surfaces in (np.array(records).T, np.array(exact))
    ]


def test_a_zone_reflects_little_of_a_sea():
    """Of two lengths of the peak's wave: what 80 s of the sea itself are taken to reflect, and 0.1 % more."""
    found, floor = reflection_of_a_sea(8.0, 400)
    assert found < 0.04 and abs(found - floor) < 0.002


@pytest.mark.slow
def test_zones_of_one_and_of_two_lengths_reflect_a_sea():
    """Over 320 s, in which the sea itself seems to reflect 0.75 %: 7 % of one length, 0.9 % of two."""
    one, two = (reflection_of_a_sea(width, 1600)[0] for width in (4.0, 8.0))
    assert 0.05 < one < 0.08 and two < 0.0125
