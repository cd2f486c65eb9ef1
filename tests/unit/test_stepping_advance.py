"""What all models share of their time loop: rounds of steps, the kept state, looks and the way back."""

from __future__ import annotations

import math

import numpy as np
import pytest

from eagre.backend.device import HostCall, PlainDevice
from eagre.errors import BlowUpError, InputError
from eagre.stepping.advance import Failure, advance
from eagre.stepping.checkpoint import InMemoryCheckpoint
from eagre.stepping.step_graphs import StepGraphs
from eagre.time_varying.series import Series


class Count:
    """A run that counts its steps of 1 s; from step `bad` on its state is not finite."""

    def __init__(self, bad=math.inf, refused=False):
        self.bad, self.refused = bad, refused
        self.steps, self.looks, self.made, self.stuck = 0, 0, [], False
        self.checkpoint = InMemoryCheckpoint(self.state, self.restore, 0.0, PlainDevice())

    @property
    def time(self):
        return float(self.steps)

    def step(self, until, count):
        made = min(count, math.ceil(until) - self.steps)
        if self.refused and self.steps + made >= self.bad:  # the bad step is never accepted
            made, self.stuck = int(self.bad) - 1 - self.steps, True
        self.steps += made
        self.made.append(made)
        return made

    def check_state(self):
        self.looks += 1
        bad = self.stuck or (not self.refused and self.steps >= self.bad)
        return Failure("not a number", (1, 2)) if bad else None

    def state(self):
        return {"steps": np.array(self.steps)}

    def restore(self, state):
        self.steps, self.stuck = int(state["steps"]), False

    def blow_up(self, failure):
        return BlowUpError(self.time, failure.cell, failure.what)


def test_steps_go_from_look_to_look():
    run = Count()
    advance(run, run.checkpoint, 25.0, check_interval=10)
    assert run.made == [10, 10, 5] and run.looks == 3 and run.checkpoint.state["steps"] == 20
    advance(run, run.checkpoint, 100.0, 12, check_interval=10)
    assert run.made[3:] == [10, 2]
    advance(run, run.checkpoint, run.time, check_interval=10)
    assert len(run.made) == 5


def test_targets_and_series_are_checked():
    run = Count()
    for until in (-1.0, math.inf, math.nan):
        with pytest.raises(InputError, match="until"):
            advance(run, run.checkpoint, until, check_interval=10)
    short = Series(np.array([0.0, 5.0]), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match="covers the whole run"):
        advance(run, run.checkpoint, 6.0, check_interval=10, series=[short])
    assert not run.made


@pytest.mark.parametrize("bad", [1, 2, 7, 50, 51, 99, 100])
@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("seconds", [0.0, math.inf])
def test_the_first_bad_step_is_found(bad, refused, seconds):
    """Wherever it lies between the kept state and the look, which is far behind if states are kept rarely."""
    run = Count(bad, refused)
    run.checkpoint.seconds = seconds
    with pytest.raises(BlowUpError, match="not a number") as caught:
        advance(run, run.checkpoint, 1000.0, check_interval=20)
    assert run.steps == caught.value.time == bad - 1 and caught.value.cell == (1, 2)
    rounds = math.ceil(bad / 20)
    span = (20 * rounds if seconds else 20) + 1
    assert run.looks <= rounds + 1 + math.ceil(math.log2(span))  # halving, not step by step


@pytest.mark.parametrize("until", [100.0, 20.0])
def test_a_failure_that_does_not_come_again_is_said_so(until):
    """Nor up to the end of the run, which the repeat does not pass."""
    run = Count(15)
    calls = []

    def check_state():
        calls.append(run.time)
        assert len(calls) < 20
        return Failure("not a number", (1, 2)) if len(calls) == 2 else None

    run.check_state = check_state
    with pytest.raises(BlowUpError, match="not a number; the failure did not recur when the steps were repeated"):
        advance(run, run.checkpoint, until, check_interval=10)
    assert run.steps == 10 and max(calls) <= until


def test_states_are_kept_now_and_then():
    run = Count()
    run.checkpoint.seconds = math.inf
    advance(run, run.checkpoint, 50.0, check_interval=10)
    assert run.checkpoint.state["steps"] == 0 and run.checkpoint.steps == 50
    run.checkpoint.roll_back()
    assert run.steps == 0
    run.checkpoint.forget()
    with pytest.raises(RuntimeError, match="keep first"):
        run.checkpoint.roll_back()


def test_rounds_are_bound_once():
    made, asked = [], []

    def schedule(phase, size):
        asked.append((phase, size))
        return [HostCall(made.append, (phase,)), HostCall(made.append, (1 - phase,))], size // 2

    rounds = StepGraphs(PlainDevice(), schedule, (8, 2))
    assert [rounds.size_for(count) for count in (2, 7, 8, 100)] == [2, 2, 8, 8]
    for _ in range(3):
        rounds.run(1, 8)
    assert made == 12 * [1, 0] and asked == [(1, 8)] and set(rounds.bound) == {(1, 8)}
    rounds.run(0, 2)
    rounds.clear()
    rounds.run(0, 2)
    assert asked == [(1, 8), (0, 2), (0, 2)] and made[24:] == [0, 1, 0, 1]


def test_copies_of_a_large_state_are_rare(monkeypatch):
    """Twenty times as long as one takes lies between two."""
    now = [0.0]
    monkeypatch.setattr("eagre.stepping.checkpoint.perf_counter", lambda: now[0])

    def take():
        now[0] += 2.0
        return {}

    keeper = InMemoryCheckpoint(take, lambda _: None, 5.0, PlainDevice())
    keeper.keep()
    for later, copied in ((6.0, False), (39.9, False), (40.1, True)):
        keeper.steps, now[0] = 1, 2.0 + later
        keeper.keep()
        assert (keeper.steps == 0) == copied
