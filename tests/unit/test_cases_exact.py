"""The exact solutions solve the equations that they claim to solve."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.laboratory.cases.atmosphere import LongWave
from eagre.laboratory.cases.basins import (
    bowl,
    planar_frequency,
    radial_frequency,
    thacker_planar,
    thacker_radial,
)
from eagre.laboratory.cases.channels import (
    critical_depth,
    jump_channel,
    normal_depth,
    subcritical_channel,
    supercritical_channel,
    transcritical_channel,
)
from eagre.laboratory.cases.dam_breaks import ritter, stoker, stoker_states
from eagre.laboratory.cases.waves import simple_wave, standing_wave, vortex


def residuals(flow, bed, x, y, t, step):
    """Left-hand sides of the shallow-water equations by central differences, at points (x, y)."""

    def state(x, y, t):
        h, u, v = flow(x, y, t)
        return np.array([h, h * u, h * v])

    def flux(x, y, t, normal):
        h, u, v = flow(x, y, t)
        across = (u, v)[normal]
        parts = np.array([h * across, h * across * u, h * across * v])
        parts[1 + normal] += 0.5 * GRAVITY * h**2
        return parts

    tau = step / 10.0
    left = (state(x, y, t + tau) - state(x, y, t - tau)) / (2 * tau)
    left += (flux(x + step, y, t, 0) - flux(x - step, y, t, 0)) / (2 * step)
    left += (flux(x, y + step, t, 1) - flux(x, y - step, t, 1)) / (2 * step)
    h = flow(x, y, t)[0]
    left[1] += GRAVITY * h * (bed(x + step, y) - bed(x - step, y)) / (2 * step)
    left[2] += GRAVITY * h * (bed(x, y + step) - bed(x, y - step)) / (2 * step)
    return left


def flat(x, y):
    return np.zeros_like(x)


def points(rng, size):
    return rng.uniform(-size, size, 50), rng.uniform(-size, size, 50)


@pytest.mark.parametrize("t", [0.0, 300.0, 1234.0])
def test_planar_bowl_solves_the_equations(rng, t):
    def flow(x, y, t):
        return thacker_planar(x, y, t, 1.0, 2500.0, 500.0)

    x, y = points(rng, 1000.0)
    assert (flow(x, y, t)[0] > 0.1).all()
    assert np.abs(residuals(flow, lambda x, y: bowl(x, y, 1.0, 2500.0), x, y, t, 1.0)).max() < 1e-8


@pytest.mark.parametrize("t", [10.0, 300.0, 1234.0])
def test_radial_bowl_solves_the_equations(rng, t):
    def flow(x, y, t):
        return thacker_radial(x, y, t, 1.0, 2500.0, 2200.0)

    x, y = points(rng, 1000.0)
    assert (flow(x, y, t)[0] > 0.1).all()
    assert np.abs(residuals(flow, lambda x, y: bowl(x, y, 1.0, 2500.0), x, y, t, 1.0)).max() < 1e-8


def test_bowls_are_periodic_and_keep_their_volume():
    x, y = np.meshgrid(*(np.linspace(-4000, 4000, 801),) * 2)
    period = 2 * math.pi / planar_frequency(1.0, 2500.0)
    first, later, quarter = (thacker_planar(x, y, t * period, 1.0, 2500.0, 1250.0)[0] for t in (0, 1, 0.25))
    assert np.abs(first - later).max() < 1e-12
    assert quarter.sum() == pytest.approx(first.sum(), rel=1e-4)
    period = 2 * math.pi / radial_frequency(1.0, 2500.0)
    first, later, half = (thacker_radial(x, y, t * period, 1.0, 2500.0, 2000.0)[0] for t in (0, 1, 0.5))
    assert np.abs(first - later).max() < 1e-12
    assert half.sum() == pytest.approx(first.sum(), rel=1e-4)
    shore = np.hypot(x, y)[first > 0].max()
    assert shore == pytest.approx(2000.0, abs=10.0)


def test_simple_wave_solves_the_equations(rng):
    x, y = points(rng, 50.0)
    for t in (0.0, 5.0, 12.0):
        left = residuals(lambda x, y, t: simple_wave(x, t, 1.0, 0.05, 100.0), flat, x, y, t, 1e-2)
        assert np.abs(left).max() < 1e-5


def test_standing_wave_solves_the_equations_to_first_order(rng):
    x, y = points(rng, 50.0)
    left = residuals(lambda x, y, t: standing_wave(x, t, 1.0, 1e-4, 100.0), flat, x, y, 3.0, 1e-2)
    assert np.abs(left).max() < 1e-8  # of the order of amplitude^2


def test_vortex_is_steady_and_may_be_carried_along(rng):
    x, y = points(rng, 0.2)

    def flow(x, y, t):
        return vortex(x - 6.0 * t, y - 2.0 * t, wind=(6.0, 2.0))

    for t in (0.0, 0.01):
        terms = GRAVITY * 10.0 * 1.0
        assert np.abs(residuals(flow, flat, x, y, t, 1e-4)).max() < 1e-5 * terms
    h, u, v = vortex(np.array([0.26, 0.4]), np.array([0.0, 0.3]), depth=10.0)
    assert h == pytest.approx(10.0) and np.abs(u).max() == 0.0 and np.abs(v).max() == 0.0


def test_ritter_keeps_volume_and_momentum_balance():
    x = np.linspace(-20, 20, 200001)
    h, u = ritter(x, 1.5, 1.0)
    assert np.trapezoid(h, x) == pytest.approx(20.0, rel=1e-6)
    assert np.trapezoid(h * u, x) == pytest.approx(0.5 * GRAVITY * 1.5, rel=1e-6)  # g h^2 / 2 pushes at the far end
    at_dam = ritter(np.array([0.0]), 1.5, 1.0)
    assert at_dam[0][0] == pytest.approx(4.0 / 9.0) and at_dam[1][0] == pytest.approx(2.0 / 3.0 * math.sqrt(GRAVITY))


def test_stoker_jump_conditions_and_volume():
    h, u, bore = stoker_states(1.0, 0.1)
    assert bore * (h - 0.1) == pytest.approx(h * u, rel=1e-12)
    assert bore * h * u == pytest.approx(h * u * u + 0.5 * GRAVITY * (h**2 - 0.01), rel=1e-10)
    x = np.linspace(-20, 20, 400001)
    depth, speed = stoker(x, 1.5, 1.0, 0.1)
    assert np.trapezoid(depth, x) == pytest.approx(22.0, rel=1e-5)
    assert np.trapezoid(depth * speed, x) == pytest.approx(0.5 * GRAVITY * 0.99 * 1.5, rel=1e-5)
    near_dry, _ = stoker(x, 1.5, 1.0, 1e-9)
    assert np.abs(near_dry - ritter(x, 1.5, 1.0)[0]).max() < 2e-3


def test_stoker_refuses_what_it_cannot_solve():
    with pytest.raises(InputError, match="0 < low < high"):
        stoker_states(1.0, 0.0)


@pytest.mark.parametrize("make", [subcritical_channel, transcritical_channel, supercritical_channel])
def test_macdonald_bed_balances_the_flow(make):
    channel = make()
    x = np.linspace(0, channel.length, 8001)
    h, bed, q = channel.depth(x), channel.bed(x), channel.discharge
    total = q**2 / h + 0.5 * GRAVITY * h**2
    middle = 0.5 * (h[1:] + h[:-1])
    force = -GRAVITY * middle * np.diff(bed) - GRAVITY * (channel.manning * q) ** 2 / middle ** (7 / 3) * np.diff(x)
    assert np.abs(np.diff(total) - force).max() < 1e-6 * np.abs(force).max() + 1e-8
    assert bed[-1] == 0.0 and bed[0] > 0.0
    froude = q / np.sqrt(GRAVITY * h**3)
    assert (froude[-1] > 1) == channel.supercritical_end and (froude[0] > 1) == channel.supercritical_start
    assert channel.depth_slope(x[1:-1]) == pytest.approx((h[2:] - h[:-2]) / (x[2:] - x[:-2]), rel=1e-3, abs=1e-8)


def test_a_jump_keeps_the_momentum_and_its_bed_the_height():
    channel = jump_channel()
    x = np.concatenate([np.linspace(0.0, 500.0, 10001), np.linspace(500.0, 1000.0, 10001)[1:]])
    h, bed, q = channel.depth(x), channel.bed(x), channel.discharge
    total = q**2 / h + 0.5 * GRAVITY * h**2
    before, behind = total[10000], total[10001] - (total[10002] - total[10001])
    assert before == pytest.approx(behind, rel=1e-4) and h[10001] > 1.25 * h[10000]
    middle = 0.5 * (h[1:] + h[:-1])
    force = -GRAVITY * middle * np.diff(bed) - GRAVITY * (channel.manning * q) ** 2 / middle ** (7 / 3) * np.diff(x)
    apart = np.abs(np.diff(total) - force)
    assert np.delete(apart, 10000).max() < 1e-6 * np.abs(force).max() + 1e-8
    assert channel.bed(np.linspace(2.5, 997.5, 200)) == pytest.approx(bed[50::100], abs=1e-8)
    froude = q / np.sqrt(GRAVITY * h**3)
    assert froude[:10001].min() > 1.0 > froude[10001:].max() and channel.supercritical_start


def test_normal_and_critical_depth():
    h = normal_depth(1.5, 0.002, 0.03)
    assert h ** (5 / 3) * math.sqrt(0.002) / 0.03 == pytest.approx(1.5)
    assert math.sqrt(GRAVITY * critical_depth(1.5) ** 3) == pytest.approx(1.5)


@pytest.mark.parametrize("steepness", [0.01, 0.6, 0.8])
def test_long_waves_meet_their_equation_and_the_ground(steepness):
    """By differences; at small heights the hydrostatic wave of the literature, to (U / N a)^2."""
    half, wind, frequency, period = 1.0, 1.0, 20.0, 40.0
    x = period * np.arange(480) / 480
    from_top, hill = x - 0.5 * period, steepness * wind / frequency
    ground = hill / (1.0 + (from_top / half) ** 2)
    wave = LongWave(ground, period, wind, frequency)
    np.testing.assert_allclose(wave.displacement(x, ground)[0], ground, rtol=0, atol=2e-3 * hill)
    places, levels = np.meshgrid(x[200:280:7], ground.max() + np.linspace(0.01, 0.4, 9))
    step = 1e-4

    def moved(along, up):
        return wave.displacement(places + along * step, levels + up * step)

    size, along, up = moved(0, 0)
    np.testing.assert_allclose((moved(1, 0)[0] - moved(-1, 0)[0]) / (2 * step), along, rtol=0, atol=1e-5 * hill)
    np.testing.assert_allclose((moved(0, 1)[0] - moved(0, -1)[0]) / (2 * step), up, rtol=0, atol=1e-4 * hill)
    curved = (moved(1, 0)[1] - moved(-1, 0)[1] + moved(0, 1)[2] - moved(0, -1)[2]) / (2 * step)
    scorer = frequency / wind
    np.testing.assert_allclose(curved, -(scorer**2) * size, rtol=0, atol=1e-4 * scorer**2 * hill)
    if steepness == 0.01:
        apart, turned = places - 0.5 * period, scorer * levels
        linear = hill * half * (half * np.cos(turned) - apart * np.sin(turned)) / (half**2 + apart**2)
        np.testing.assert_allclose(size, linear, rtol=0, atol=0.04 * hill)
    assert (up.max() < 1.0) and (steepness < 0.5 or up.max() > 0.9 * steepness)


def test_long_waves_carry_energy_upward():
    """Lines of one phase lean against the wind: a quarter of a wave up, air is lifted ahead of the hill."""
    x = np.linspace(0.0, 40.0, 400, endpoint=False)
    wave = LongWave(0.01 / (1.0 + (x - 20.0) ** 2), 40.0, 1.0, 20.0)
    ahead, behind = (
        wave.displacement(np.array([20.0 + at]), np.array([0.25 * 2.0 * np.pi / 20.0]))[0] for at in (-1, 1)
    )
    assert ahead > 0.0 > behind
