"""Steps of the anelastic model that follow the Courant number: when their length changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eagre.backend.select import select
from eagre.grid import Grid
from eagre.models.anelastic.stability import SAFETY_FACTOR
from eagre.models.anelastic.stepper import GROWTH, SLOW, WINDOW, Stepper

MOST = 0.5
AIM = SAFETY_FACTOR * MOST


class Engine:
    """Steps of which only the Courant number is known: dt times a rate."""

    has_step_batches, device, precision, stability_limit = False, select("cpu"), "double", 1.0
    setup = SimpleNamespace(time_step=10.0, time_statistics=None, grid=Grid(1, 1, 1.0, 1.0))

    def __init__(self, rate):
        self.rate, self.counts, self.made = rate, {"steps": 0.0, "courant": 0.0}, []

    def advance(self, dt, time, most, *, clipped):
        rate = self.rate(len(self.made) + 1)
        dt = SAFETY_FACTOR * most / rate if dt * rate > most else dt
        self.made.append(dt)
        self.counts["steps"] += 1.0
        self.counts["courant"] = dt * rate
        return dt


def steps_of(rate, count, first):
    engine: Any = Engine(rate)
    assert Stepper(engine, 0.0, MOST, first).step(1e9, count) == count
    return np.array(engine.made), np.array([dt * rate(n + 1) for n, dt in enumerate(engine.made)])


@pytest.mark.nojit
def test_steps_are_equal_for_ten():
    made, courant = steps_of(lambda n: 1.0 + 0.004 * n, 60, AIM)
    changes = np.flatnonzero(np.diff(made)) + 1
    assert changes.size == 5 and not (changes % WINDOW).any()
    np.testing.assert_allclose(
        made[WINDOW::WINDOW], made[WINDOW - 1 :: WINDOW][:-1] * AIM / courant[WINDOW - 1 :: WINDOW][:-1]
    )
    assert AIM < courant.max() < MOST


@pytest.mark.nojit
def test_a_flow_that_speeds_up_shortens_steps_between():
    """And the next window begins where it would have."""
    made, courant = steps_of(lambda n: 1.0 + 0.02 * n, 60, AIM)
    assert courant.max() <= MOST and courant[1:].min() > AIM / 1.1
    np.testing.assert_allclose(made[WINDOW::WINDOW] * (1.0 + 0.02 * np.arange(WINDOW, 60, WINDOW)), AIM)


@pytest.mark.nojit
def test_steps_that_are_far_too_short_grow_at_once_and_those_too_long_shrink():
    made, courant = steps_of(lambda n: 1.0 if n < 43 else 2.0, 60, 0.1)
    growing = np.flatnonzero(courant[:40] * SLOW < AIM)
    np.testing.assert_allclose(made[growing + 1] / made[growing], GROWTH)
    assert growing.size == growing[-1] + 1 < 20 < np.flatnonzero(np.diff(made) < 0.0)[0]
    assert courant.max() <= MOST
    assert made[42] == pytest.approx(AIM / 2.0)  # the first step of the faster flow


@pytest.mark.nojit
def test_steps_at_their_longest_are_not_looked_at_again():
    made, _ = steps_of(lambda n: 1e-3, 30, 10.0)
    assert set(made) == {10.0}


@pytest.mark.nojit
@pytest.mark.parametrize("legs", [False, True])
@pytest.mark.parametrize(
    ("interval", "steps"),
    [(30.00002, [10.0, 10.0, 10.00002]), (29.99998, [10.0, 10.0, 9.99998]), (30.2, [10.0, 10.0, 5.1, 5.1])],
)
def test_a_step_is_a_little_longer_or_two_are_equal_rather_than_the_last_one_tiny(interval, steps, legs):
    """As where 0.333333 s does not divide 1 s: a step of 1e-6 s each second."""
    engine: Any = Engine(lambda n: 0.05)
    engine.has_step_batches = legs

    def many(dt, times, least, most, *, clipped):
        for time in times:
            engine.advance(dt, time, most, clipped=clipped)
        return True

    engine.advance_many = many
    stepper = Stepper(engine, 0.0, None, 10.0)
    for landing in (1, 2):
        while stepper.time < landing * interval:
            stepper.step(landing * interval, 100)
    np.testing.assert_allclose(engine.made, 2 * steps, rtol=1e-9)
    assert stepper.time == 2 * interval
