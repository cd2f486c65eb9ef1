"""Records of the surface: waves from them, their statistics, incident and reflected waves."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.waves import (
    Jonswap,
    LinearWaves,
    MeasuredWaves,
    Sea,
    StreamFunctionWave,
    power_spectrum,
    sea_state,
    separate_reflection,
    wave_number,
    zero_crossings,
)

DEPTH = 12.0


def a_sea(direction=0.0, seed=1, height=1.5):
    return Sea(Jonswap(height, 7.0), DEPTH, count=400, mean_direction=direction, phase_seed=seed)


# -- from a record to waves ------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [600, 601])
def test_a_record_comes_back_at_its_gauge(rng, count):
    t = 3.0 + 0.4 * np.arange(count)
    eta = rng.standard_normal(count)
    if count % 2 == 0:  # nothing at half the sampling rate, which no wave can carry
        alternating = (-1.0) ** np.arange(count)
        eta -= np.mean(eta * alternating) * alternating
    waves = MeasuredWaves(t, eta + 0.3, DEPTH, x=12.0, y=5.0, direction=0.8)
    assert np.allclose(waves.elevation(12.0, 5.0, t), eta - eta.mean(), atol=1e-11)
    assert waves.mean_level == pytest.approx(0.3 + eta.mean())
    assert waves.duration == pytest.approx(0.4 * count)


def test_a_record_predicts_another_gauge():
    """A long-crested sea that repeats after the record, so that nothing is lost at its ends."""
    t = 0.5 * np.arange(1200)
    f = np.arange(40, 250) / 600.0
    amplitude = np.sqrt(2.0 * Jonswap(1.5, 7.0).density(f) / 600.0)
    phase = np.random.default_rng(5).uniform(0.0, 2 * np.pi, f.size)
    sea = LinearWaves(amplitude=amplitude, angular_frequency=2 * np.pi * f, direction=-0.6, phase=phase, depth=DEPTH)
    waves = MeasuredWaves(t, sea.elevation(10.0, 20.0, t), DEPTH, x=10.0, y=20.0, direction=-0.6)
    assert np.allclose(waves.elevation(95.0, -30.0, t), sea.elevation(95.0, -30.0, t), atol=1e-9)
    assert np.allclose(waves.surface_potential(95.0, 0.0, t), sea.surface_potential(95.0, 0.0, t), atol=1e-8)
    wrong = MeasuredWaves(t, sea.elevation(10.0, 20.0, t), DEPTH, x=10.0, y=20.0, direction=0.6)
    assert np.abs(wrong.elevation(95.0, -30.0, t) - sea.elevation(95.0, -30.0, t)).max() > 0.3


def test_band_and_taper():
    t = 0.25 * np.arange(2000)
    eta = np.sin(2 * np.pi * 0.1 * t) + 0.2 * np.sin(2 * np.pi * 1.0 * t)
    waves = MeasuredWaves(t, eta, DEPTH, band=(0.05, 0.5))
    assert np.allclose(waves.elevation(0.0, 0.0, t), np.sin(2 * np.pi * 0.1 * t), atol=1e-9)
    faded = MeasuredWaves(t, eta, DEPTH, taper=0.1).elevation(0.0, 0.0, t)
    assert np.abs(faded[:3]).max() < 1e-3 and np.allclose(faded[300:1700], eta[300:1700], atol=1e-3)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: MeasuredWaves([0.0, 1.0, 3.0, 4.0], [0.0] * 4, 1.0), ["even spacing", "np.interp"]),
        (lambda: MeasuredWaves([0.0, 1.0], [0.0] * 2, 1.0), ["4 or more"]),
        (lambda: MeasuredWaves(np.arange(50.0), np.ones(50), 1.0, band=(2.0, 3.0)), ["band = (2.0, 3.0)", "0.5 Hz"]),
        (lambda: MeasuredWaves(np.arange(50.0), np.ones(50), 1.0, taper=0.7), ["taper = 0.7"]),
        (lambda: sea_state(np.full(2250, 1.35), 0.1), ["a constant surface"]),
        (lambda: power_spectrum(np.full(2250, 1.35), 0.1), ["a constant surface"]),
        (lambda: sea_state(np.sin(np.arange(100)), -1.0), ["interval = -1"]),
        (lambda: zero_crossings(np.sin(np.arange(100)), 0.1, crossing="left"), ["up, down"]),
        (lambda: power_spectrum([1.0, math.nan] * 10, 0.1), ["finite"]),
        (lambda: separate_reflection(np.ones((2, 9)), [0.0, 0.0], 0.1, 1.0), ["different places"]),
        (
            lambda: separate_reflection(np.eye(2, 99), [0.0, 1.0], 1.0, 1.0, band=(0.01, 0.03), taper=0.0),
            ["1 m apart", "20 m"],
        ),
    ],
)
def test_errors_say_what_to_write(make, words):
    with pytest.raises(InputError) as caught:
        make()
    for word in words:
        assert word in str(caught.value)


# -- statistics ------------------------------------------------------------------------------------------


def test_state_of_a_sine():
    state = sea_state(0.2 + 0.5 * np.cos(2 * np.pi * np.arange(8000) * 0.05 / 4.0 + 0.3), 0.05)
    assert state.mean_level == pytest.approx(0.2, abs=1e-3)
    assert state.significant_height == pytest.approx(4 * 0.5 / math.sqrt(2), rel=1e-3)
    assert (state.highest, state.one_third_height) == (pytest.approx(1.0, rel=2e-3), pytest.approx(1.0, rel=2e-3))
    assert (state.mean_period, state.peak_period) == (pytest.approx(4.0, rel=1e-4), pytest.approx(4.0, rel=2e-3))
    assert (state.tm01, state.tm02) == (pytest.approx(4.0, rel=0.01), pytest.approx(4.0, rel=0.01))
    assert (state.skewness, state.asymmetry) == (pytest.approx(0.0, abs=1e-2), pytest.approx(0.0, abs=1e-2))
    assert state.count == 99


def test_state_of_a_sea():
    """Against the spectrum that it was made of, and Longuet-Higgins (1952): H1/3 = 4.004 sqrt(m0) of narrow seas."""
    spectrum = Jonswap(1.5, 7.0)
    eta = a_sea().elevation(0.0, 0.0, 0.4 * np.arange(2**14))
    state = sea_state(eta, 0.4)
    assert state.significant_height == pytest.approx(1.5, rel=0.03)
    assert 0.9 < state.one_third_height / state.significant_height < 1.0
    assert state.peak_period == pytest.approx(7.0, rel=0.05)
    m0, m1, m2 = (spectrum.moment(order) for order in (0, 1, 2))
    assert state.tm01 == pytest.approx(m0 / m1, rel=0.03)
    assert state.tm02 == pytest.approx(math.sqrt(m0 / m2), rel=0.03)
    assert state.mean_period == pytest.approx(math.sqrt(m0 / m2), rel=0.08)
    assert abs(state.skewness) < 0.1 and abs(state.asymmetry) < 0.1
    down = sea_state(eta, 0.4, crossing="down")
    assert abs(down.count - state.count) <= 1 and down.mean_period == pytest.approx(state.mean_period, rel=1e-3)
    assert down.highest != state.highest


def test_crossings_by_hand():
    eta = np.array([-1.0, 1.0, 3.0, 1.0, -1.0, -2.0, -1.0, 1.0, 2.0, -2.0, -1.0, 1.0])
    waves = zero_crossings(eta - eta.mean(), 2.0)
    assert np.allclose(waves.height, [5.0, 4.0]) and np.allclose(waves.crest - waves.trough, waves.height)
    assert np.allclose(waves.period, [12.0, 8.0])
    falling = zero_crossings(eta, 2.0, crossing="down")
    assert falling.count and np.allclose(falling.height, [4.0])


def test_skewness_and_asymmetry():
    wave = StreamFunctionWave(0.25, 0.6, length=8.0, eulerian_current=0.0)
    t = wave.period / 64 * np.arange(64 * 40)
    assert sea_state(wave.elevation(0.0, 0.0, t), wave.period / 64).skewness > 0.5
    theta = 2 * np.pi * np.arange(64 * 40) / 64
    steep_front = sum(np.sin(n * theta) / n for n in range(1, 9))  # rises fast, falls slowly
    assert sea_state(steep_front, 0.1).asymmetry < -0.3
    assert sea_state(steep_front[::-1], 0.1).asymmetry > 0.3


def test_spectrum_of_a_record():
    eta = a_sea().elevation(0.0, 0.0, 0.4 * np.arange(2**14))
    spectrum = power_spectrum(eta, 0.4, segment=512)
    assert spectrum.frequency[0] == pytest.approx(1 / (512 * 0.4))
    assert np.sum(spectrum.values) * spectrum.frequency[0] == pytest.approx(eta.var(), rel=0.02)
    near = (spectrum.frequency > 0.1) & (spectrum.frequency < 0.3)
    error = spectrum.values[near] - Jonswap(1.5, 7.0).density(spectrum.frequency[near])
    assert np.sqrt(np.mean(error**2)) < 0.12 * spectrum.values.max()


def test_peak_between_frequencies():
    """Pieces of 256 values of 0.1 s resolve 0.039 Hz; the peak is found to a sixth of that."""
    for share in (-0.3, 0.2, 0.4):
        frequency = (8.0 + share) / 25.6
        state = sea_state(np.sin(2 * np.pi * frequency * 0.1 * np.arange(8000)), 0.1, segment=256)
        assert 1.0 / state.peak_period == pytest.approx(frequency, abs=0.0065)


# -- reflection ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("positions", [[0.0, 1.1], [3.0, 4.1], [2.0, 0.0, 0.9], [0.0, 0.7, 1.6, 4.0]])
def test_reflection_of_regular_waves(positions):
    """Both waves with their own phase, over whole periods: to rounding."""
    k = float(wave_number(2 * np.pi / 2.0, 0.8))
    t = 0.05 * np.arange(800)
    x = np.array(positions)[:, None]
    eta = 0.05 * np.cos(k * x - np.pi * t + 0.4) + 0.015 * np.cos(-k * x - np.pi * t + 1.9) + 0.2
    found = separate_reflection(eta, positions, 0.05, 0.8)
    assert found.coefficient == pytest.approx(0.3, rel=1e-9)
    assert found.incident_height == pytest.approx(4 * 0.05 / math.sqrt(2), rel=1e-9)
    at = np.argmax(np.abs(found.incident))
    assert found.frequency[at] == pytest.approx(0.5)
    assert found.incident[at] == pytest.approx(0.05 * np.exp(-0.4j), rel=1e-9)
    assert found.reflected[at] == pytest.approx(0.015 * np.exp(-1.9j), rel=1e-9)


@pytest.mark.parametrize("positions", [[0.0, 6.0], [0.0, 5.0, 11.5]])
@pytest.mark.parametrize("coefficient", [0.05, 0.5])
def test_reflection_of_a_sea(positions, coefficient):
    """A sea going back, with other phases, beside the variances of the two in that record."""
    t = 0.4 * np.arange(2**13)
    ahead, back = a_sea(), a_sea(math.pi, seed=9, height=1.5 * coefficient)
    eta = np.array([ahead.elevation(x, 0.0, t) + back.elevation(x, 0.0, t) for x in positions])
    found = separate_reflection(eta, positions, 0.4, DEPTH, band=(0.1, 0.25), taper=0.05)
    f = np.fft.rfftfreq(t.size, 0.4)
    inside = (f >= 0.1) & (f <= 0.25)
    heights = [np.linalg.norm(np.fft.rfft(sea.elevation(0.0, 0.0, t))[inside]) for sea in (ahead, back)]
    assert found.coefficient == pytest.approx(heights[1] / heights[0], rel=0.03)
    assert found.coefficient == pytest.approx(coefficient, rel=0.07)
    none = np.array([ahead.elevation(x, 0.0, t) for x in positions])
    assert separate_reflection(none, positions, 0.4, DEPTH, band=(0.1, 0.25), taper=0.05).coefficient < 0.02
