"""Separation of incident and reflected waves: sums of small waves made here, gauges that suit them and others."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.waves import separate_reflection

GRAVITY, DEPTH = 9.80665, 0.8
LINES = ([0.0, 1.1], [0.0, 0.7, 1.6], [3.0, 3.5, 4.2, 5.0], [0.0, 0.4, 0.9, 1.5, 2.2])


def wave_numbers(omega):
    """omega^2 = g k tanh(k h) by bisection."""
    low, high = np.full_like(omega, 1e-6), np.full_like(omega, 1e4)
    for _ in range(80):
        middle = 0.5 * (low + high)
        below = GRAVITY * middle * np.tanh(middle * DEPTH) < omega**2
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return low


def waves(positions, t, frequency, amplitude, phase, sign=1.0):
    """Surface of waves towards larger (sign 1) or smaller positions, (gauges, times), m."""
    omega = 2.0 * np.pi * np.atleast_1d(frequency)
    k = sign * wave_numbers(omega)
    theta = np.asarray(positions)[:, None, None] * k + phase - t[:, None] * omega
    return (np.atleast_1d(amplitude) * np.cos(theta)).sum(axis=-1)


def sea(positions, t, coefficient, seed=1):
    """A sea with a narrow peak at 0.5 Hz that a wall at 12 m reflects with the coefficient."""
    rng = np.random.default_rng(seed)
    f = rng.uniform(0.3, 0.9, 150)
    amplitude = 0.02 * np.exp(-(((f - 0.5) / 0.12) ** 2))
    ahead = rng.uniform(0.0, 2.0 * np.pi, f.size)
    back = ahead + 24.0 * wave_numbers(2.0 * np.pi * f)
    return waves(positions, t, f, amplitude, ahead) + waves(positions, t, f, coefficient * amplitude, back, -1.0)


def regular(positions, t, coefficient):
    return waves(positions, t, 0.5, 0.05, 0.4) + waves(positions, t, 0.5, 0.05 * coefficient, 1.9, -1.0)


@pytest.mark.parametrize("positions", LINES)
@pytest.mark.parametrize("coefficient", [0.0, 0.1, 0.5, 0.9])
@pytest.mark.parametrize(("interval", "duration"), [(0.05, 60.0), (0.047, 31.3), (0.1, 15.1)])
def test_regular_waves_in_records_of_any_length(positions, coefficient, interval, duration):
    t = np.arange(0.0, duration, interval)
    found = separate_reflection(regular(positions, t, coefficient), positions, interval, DEPTH)
    assert found.coefficient == pytest.approx(coefficient, abs=0.002)
    assert found.incident_height == pytest.approx(4.0 * 0.05 / math.sqrt(2.0), rel=0.002)
    assert found.variance_fraction > 0.99
    assert math.isnan(found.residual) if len(positions) == 2 else found.residual < 1e-5


@pytest.mark.parametrize("positions", LINES)
@pytest.mark.parametrize("coefficient", [0.0, 0.1, 0.3, 0.6, 0.9])
def test_seas(positions, coefficient):
    """The coefficient of a record, up to the part of the reflected sea that lies outside of the window."""
    t = np.arange(0.0, 600.0, 0.1)
    found = separate_reflection(sea(positions, t, coefficient), positions, 0.1, DEPTH)
    assert found.coefficient == pytest.approx(coefficient, abs=0.006, rel=0.04)
    incident = sea([0.0], t, 0.0)
    window = np.sin(np.pi * (np.arange(t.size) + 0.5) / t.size) ** 2
    height = 4.0 * math.sqrt(np.mean((incident * window) ** 2) / np.mean(window**2))
    assert found.incident_height == pytest.approx(height, rel=0.02)
    assert found.variance_fraction > 0.95


@pytest.mark.parametrize("positions", LINES)
def test_noise(positions):
    """White noise of 5 % of the height of regular waves, none of them reflected."""
    t = np.arange(0.0, 60.0, 0.05)
    noise = 0.05 * 0.035 * np.random.default_rng(3).standard_normal((len(positions), t.size))
    found = separate_reflection(regular(positions, t, 0.2) + noise, positions, 0.05, DEPTH)
    assert found.coefficient == pytest.approx(0.2, abs=0.01)
    assert 0.98 < found.variance_fraction < 1.0


LENGTH = 2.0 * math.pi / float(wave_numbers(np.array([math.pi]))[0])


@pytest.mark.parametrize(
    "positions",
    [
        [0.0, 0.5 * LENGTH], [0.0, 0.5 * LENGTH, LENGTH], [1.0, 1.0 + LENGTH], [0.0, 0.52 * LENGTH],
        [0.0, 0.03 * LENGTH], [0.0, 0.01 * LENGTH, 0.02 * LENGTH], [0.0, 0.75 * LENGTH],
        [0.0, 0.5 * LENGTH, 1.5 * LENGTH, 2.0 * LENGTH],
    ],
)  # fmt: skip
@pytest.mark.parametrize("surface", [regular, sea])
def test_gauges_that_cannot_separate_the_waves(positions, surface):
    t = np.arange(0.0, 200.0, 0.1)
    noise = 1e-4 * np.random.default_rng(3).standard_normal((len(positions), t.size))
    with pytest.raises(InputError, match="of the variance only; 80% are needed"):
        separate_reflection(surface(positions, t, 0.01) + noise, positions, 0.1, DEPTH)


def test_a_third_gauge_helps_two_that_are_half_a_wave_length_apart():
    positions, t = [0.0, 0.5 * LENGTH, 0.15 * LENGTH], np.arange(0.0, 60.0, 0.05)
    found = separate_reflection(regular(positions, t, 0.4), positions, 0.05, DEPTH)
    assert found.coefficient == pytest.approx(0.4, rel=1e-3)


def test_a_band_leaves_out_waves_that_the_gauges_do_not_suit():
    positions, t = [0.0, 1.1, 1.5], np.arange(0.0, 100.0, 0.05)
    short = waves(positions, t, 2.5, 0.05, 0.3)
    with pytest.raises(InputError, match="of the variance only"):
        separate_reflection(regular(positions, t, 0.3) + short, positions, 0.05, DEPTH)
    found = separate_reflection(regular(positions, t, 0.3) + short, positions, 0.05, DEPTH, band=(0.3, 0.7))
    assert found.coefficient == pytest.approx(0.3, rel=0.02)


def test_residual_of_waves_that_do_not_run_along_the_line():
    """A wave across the line has the same phase at all gauges: a part of its variance fits no two waves along it."""
    positions, t = [0.0, 0.9, 2.0], np.arange(0.0, 60.0, 0.05)
    across = waves([0.0, 0.0, 0.0], t, 0.5, 0.05, 0.0)
    k = 2.0 * math.pi / LENGTH
    fit = np.exp(1j * k * np.outer(positions, [1.0, -1.0]))
    left = np.ones(3) - fit @ np.linalg.lstsq(fit, np.ones(3), rcond=None)[0]
    expected = float(np.sum(np.abs(left) ** 2)) / 3.0
    found = separate_reflection(across, positions, 0.05, DEPTH)
    assert expected > 0.02 and found.residual == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(
    ("duration", "interval", "words"),
    [
        (8.0, 0.1, ["4 peak periods", "too short"]),
        (200.0, 0.8, ["2.5 per period", "too coarse"]),
        (0.5, 0.1, ["5 sam"]),
    ],
)
def test_records_that_are_too_short_or_too_coarse(duration, interval, words):
    t = np.arange(0.0, duration - 1e-9, interval)
    with pytest.raises(InputError) as caught:
        separate_reflection(regular([0.0, 1.1], t, 0.1), [0.0, 1.1], interval, DEPTH)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_records_with_gaps_or_without_waves():
    t = np.arange(0.0, 60.0, 0.1)
    eta = regular([0.0, 1.1], t, 0.1)
    eta[1, 7] = np.nan
    for bad, words in ((eta, "missing values"), (np.ones_like(eta), "hold no waves")):
        with pytest.raises(InputError, match=words):
            separate_reflection(bad, [0.0, 1.1], 0.1, DEPTH)
