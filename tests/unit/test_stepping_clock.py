"""The clock in plain Python: which steps are accepted, how long the next is, when a leg ends."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.kernels.bits import to_bits
from eagre.stepping import clock as ck
from eagre.stepping.substeps import begin_attempt


def plain(cell):
    """The Python function of a cell."""
    return getattr(cell, "py_func", cell)


def ready(until=10.0, dt=0.5, steps=100, **values):
    """A clock under way at t = 1 s."""
    clock = np.zeros(ck.SIZE)
    clock[[ck.T, ck.DT, ck.FREE, ck.UNTIL, ck.STEPS_LEFT, ck.RUNNING]] = 1.0, dt, dt, until, steps, 1.0
    clock[[ck.CFL, ck.LIMIT, ck.DT_MIN, ck.TOLERANCE]] = 0.25, 2.0, math.inf, 0.1
    for name, value in values.items():
        clock[getattr(ck, name)] = value
    return clock


@pytest.mark.parametrize(
    ("rate", "dt", "tolerance", "accepted"),
    [
        (0.5, 0.5, 0.0, True),  # the limit itself, 0.25
        (0.5000001, 0.5, 0.0, False),
        (0.5000001, 0.5, -1.0, False),  # exact steps: below 0 is not below the limit
        (0.5, 0.5, -1.0, True),
        (0.549, 0.5, 0.1, True),
        (0.551, 0.5, 0.1, False),
    ],
)
def test_steps_that_respect_the_rate_are_accepted(rate, dt, tolerance, accepted):
    assert bool(plain(ck.allowed)(rate, dt, 0.25, tolerance)) is accepted


def test_an_accepted_step_is_booked():
    clock = ready(COURANT=0.2, TOLERANCE=0.1, PARITY=1.0)
    plain(ck.check_whole_step)(clock, 0.48, 0.4)
    assert clock[ck.T] == 1.5 and clock[ck.STEPS] == 1.0 and clock[ck.STEPS_LEFT] == 99.0
    assert clock[ck.DT_MIN] == clock[ck.DT_MAX] == 0.5
    assert clock[ck.COURANT] == 0.48 * 0.5 and clock[ck.PARITY] == 0.0 and clock[ck.REDONE] == 0.0
    assert clock[ck.DT] == clock[ck.FREE] == 0.25 / 0.4  # from what the last stage found
    plain(ck.check_whole_step)(clock, 0.1, 0.2)
    assert clock[ck.COURANT] == 0.48 * 0.5, "the largest one stays"
    assert clock[ck.DT_MIN] == 0.5 and clock[ck.DT_MAX] == 0.25 / 0.4 and clock[ck.STEPS] == 2.0


def test_a_refused_step_is_made_again_with_the_rate_that_it_found():
    clock = ready(PARITY=1.0)
    plain(ck.check_whole_step)(clock, 1.0, 7.0)
    assert clock[ck.T] == 1.0 and clock[ck.STEPS] == 0.0 and clock[ck.STEPS_LEFT] == 100.0
    assert clock[ck.REDONE] == 1.0 and clock[ck.DT] == 0.25 and clock[ck.PARITY] == 1.0 and clock[ck.COURANT] == 0.0


@pytest.mark.parametrize("tolerance", [0.0, -1.0])
def test_exact_steps_begin_with_the_longest_step(tolerance):
    clock = ready(TOLERANCE=tolerance)
    plain(ck.check_whole_step)(clock, 0.1, 0.4)
    assert clock[ck.FREE] == (0.25 / 0.4 if tolerance == 0.0 else 2.0)


def test_a_leg_ends_at_its_time_and_after_its_steps():
    landing = ready(until=1.5)
    plain(ck.check_whole_step)(landing, 0.1, 0.1)
    assert landing[ck.T] == 1.5 and landing[ck.RUNNING] == 0.0
    for left, running in ((1, 0.0), (2, 1.0)):
        clock = ready(steps=left)
        plain(ck.check_whole_step)(clock, 0.1, 0.1)
        assert clock[ck.RUNNING] == running and clock[ck.STEPS_LEFT] == left - 1


def test_the_last_step_is_cut_to_land_and_the_next_leg_goes_on_with_the_free_one():
    clock = ready(until=1.7)
    plain(ck.check_whole_step)(clock, 0.1, 0.5)
    assert clock[ck.FREE] == 0.5 and clock[ck.DT] == pytest.approx(0.2)
    clock[[ck.NEXT_UNTIL, ck.NEXT_STEPS, ck.ACCEPTED]] = 9.0, 3.0, 1.0
    plain(ck.start_batch)(clock, np.zeros(1), ck.EITHER)
    assert (clock[ck.UNTIL], clock[ck.STEPS_LEFT], clock[ck.DT], clock[ck.RUNNING]) == (9.0, 3.0, 0.5, 1.0)
    assert clock[ck.ACCEPTED] == 0.0


@pytest.mark.parametrize(
    ("dt", "free", "until", "counted"),
    [
        (0.5, 0.5, 10.0, True),  # a step between output times
        (0.2, 0.5, 1.2, False),  # shortened to end at the output time
        (0.5, 0.5, 1.5, True),  # ends there without being shortened
        (0.5 * (1.0 - 1e-12), 0.5, 1.5, True),  # up to the rounding error of the time
        (0.5, 0.7, 10.0, True),  # the limit has grown in a later stage of the step
    ],
)
def test_steps_that_are_shortened_to_an_output_time_do_not_count_in_their_range(dt, free, until, counted):
    clock = ready(until=until, dt=dt, FREE=free)
    assert plain(ck.move)(clock, 1.0, dt, until, 1.0) == min(1.0 + dt, until)
    assert clock[ck.STEPS] == 1.0
    assert (clock[ck.DT_MIN], clock[ck.DT_MAX]) == ((dt, dt) if counted else (math.inf, 0.0))


def test_a_leg_of_no_length_does_not_run():
    for until, steps in ((1.0, 5.0), (2.0, 0.0)):
        clock = ready(NEXT_UNTIL=until, NEXT_STEPS=steps)
        plain(ck.start_batch)(clock, np.zeros(1), ck.EITHER)
        assert clock[ck.RUNNING] == 0.0


@pytest.mark.parametrize(("rate", "failed"), [(math.inf, 1.0), (1e29, 2.0), (1.0, 0.0)])
def test_what_is_no_rate_ends_the_run(rate, failed):
    clock = ready()
    bits = np.array([int(plain(to_bits)(np.float64(rate)))], np.int64)
    rate = 2.0 * ck.INFINITE_RATE if rate == math.inf else rate
    plain(ck.choose)(clock, rate, 1.0, 10.0, 0.25, 2.0)
    assert bits[0] > 0 and clock[ck.FAILED] == failed and clock[ck.RUNNING] == (0.0 if failed else 1.0)


@pytest.mark.parametrize(("part", "failed"), [(1.001, 0.0), (0.999, 2.0)])
@pytest.mark.parametrize("until", [0.1, 1000.0])
def test_steps_that_are_nothing_beside_the_time_end_the_run(until, part, failed):
    clock = ready(until=until)
    plain(ck.choose)(clock, 0.25 / (part * ck.COLLAPSED * until), 0.0, until, 0.25, 2.0)
    assert clock[ck.FAILED] == failed and clock[ck.RUNNING] == (0.0 if failed else 1.0)


def test_a_stage_waits_for_its_turn():
    for parity, turn, running, gate in ((0.0, 0, 1.0, True), (0.0, 1, 1.0, False), (1.0, ck.EITHER, 1.0, True),
                                        (0.0, 0, 0.0, False)):  # fmt: skip
        assert bool(plain(ck.open_gate)(ready(PARITY=parity, RUNNING=running), turn)) is gate


def bits_of(rates):
    """Rates as stages leave them."""
    return np.array([int(plain(to_bits)(np.float64(rate))) for rate in rates], np.int64)


def test_the_largest_rate_is_found_and_reset():
    for rates in ([3.0, 1.0, 2.0], [1.0, 3.0, 2.0], [1.0, 2.0, 3.0]):
        left = bits_of(rates)
        assert plain(ck.max_rate_of)(left) == 3.0 and not left.any()


def test_two_stages_make_a_step_of_the_clock():
    clock, rates = ready(), bits_of([0.48])
    plain(ck.check_first_stage)(clock, rates, 0)
    assert clock[ck.ACCEPTED] == 1.0 and clock[ck.COURANT] == 0.24 and clock[ck.T] == 1.0
    plain(ck.finish)(clock, bits_of([0.4]), 0)
    assert clock[ck.T] == 1.5 and clock[ck.ACCEPTED] == 0.0 and clock[ck.PARITY] == 1.0 and clock[ck.DT] == 0.25 / 0.4
    plain(ck.finish)(clock, bits_of([0.4]), 1)
    assert clock[ck.PARITY] == 0.0
    refused = ready()
    plain(ck.check_first_stage)(refused, bits_of([1.0]), ck.EITHER)
    assert refused[ck.ACCEPTED] == 0.0 and refused[ck.REDONE] == 1.0 and refused[ck.DT] == 0.25


@pytest.mark.parametrize("parity", [0.0, 1.0])
def test_parity_is_known_before_a_step_is_judged(parity):
    for rate, attempted in ((0.1, 1.0), (0.1, 0.0), (9.0, 1.0)):
        clock = ready(ATTEMPTED=attempted, PARITY=parity)
        expected = plain(ck.parity_after)(clock, rate)
        plain(ck.check_attempt)(clock, rate, 0.2)
        assert clock[ck.PARITY] == expected and clock[ck.ATTEMPTED] == 0.0
        booked = 1.0 if attempted and rate < 1.0 else 0.0
        assert clock[ck.STEPS] == booked and expected == (1.0 - parity if booked else parity)


def test_every_word_of_the_clock_has_a_place_of_its_own():
    words = ("T DT UNTIL STEPS REDONE COURANT DT_MIN DT_MAX RUNNING ACCEPTED FAILED CFL LIMIT STEPS_LEFT TOLERANCE "
             "PARITY FREE ATTEMPTED NEXT_UNTIL NEXT_STEPS").split()  # fmt: skip
    assert sorted(getattr(ck, word) for word in words) == list(range(ck.SIZE))


@pytest.mark.parametrize("until", [1e8, 1e15, 1e300])
@pytest.mark.parametrize(("now", "dt", "failed"), [(0.0, 1e-6, 0.0), (1e6, 1e-6, 0.0), (1e15, 5.0, 2.0)])
def test_a_late_end_does_not_make_a_step_collapse(now, until, dt, failed):
    """A step has collapsed where the time cannot hold it (spacing of numbers at 1e15: 0.125), however late the end."""
    clock = ready(until=until)
    plain(ck.choose)(clock, 0.25 / dt, now, max(until, now), 0.25, 2.0 * dt)
    assert clock[ck.FAILED] == failed
    clock = ready(until=until)
    plain(begin_attempt)(clock, dt, now, max(until, now))  # of schemes that are split into sweeps
    assert clock[ck.FAILED] == failed
