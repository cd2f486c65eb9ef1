"""Time loop of all models: batches of steps, state checks, and location of the first invalid step after a blow-up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from eagre.checks import check_until, checked_count
from eagre.errors import BlowUpError
from eagre.stepping.checkpoint import InMemoryCheckpoint, State
from eagre.time_varying.series import Series


class Failure(NamedTuple):
    """Description of an invalid state."""

    what: str
    cell: tuple[int, int] | None = None  # (j, i) of the first invalid cell, if known


MAX_STEPS = 2**53  # larger numbers of steps are not exact in the clock of a device


class Stepper(Protocol):
    """Interface of the time stepping that `advance` uses."""

    @property
    def time(self) -> float:
        """Model time, s."""
        ...

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s, and return their number; the last step ends at `until`."""
        ...

    def check_state(self) -> Failure | None:
        """Check the current state; return a failure or None."""
        ...

    def state(self) -> State:
        """Host copies of everything that a bitwise restart needs."""
        ...

    def restore(self, state: State) -> None:
        """Restore a state returned by `state`."""
        ...

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error to raise; the model is at the state before the first invalid step."""
        ...


def advance(
    stepper: Stepper,
    checkpoint: InMemoryCheckpoint,
    until: float,
    max_steps: int | None = None,
    *,
    check_interval: int,
    series: Sequence[Series] = (),
) -> None:
    """Advance to `until`, s, or by at most `max_steps` steps.

    Parameters
    ----------
    stepper : Stepper
    checkpoint : InMemoryCheckpoint
        In-memory checkpoint of the stepper.
    until : float, s
    max_steps : int or None
    check_interval : int
        Number of steps between state checks.
    series : sequence of Series
        Time series that force the run; each must cover the interval.

    Raises
    ------
    InputError
        If `until` is earlier than the current time, or a series ends before it.
    BlowUpError
        If a state check fails; the model then holds a valid state.
    """
    check_until(until, stepper.time)
    for one in series:
        one.covers(stepper.time, until)
    left = MAX_STEPS if max_steps is None else checked_count("max_steps", max_steps, 0, MAX_STEPS)
    while left > 0 and stepper.time < until:
        checkpoint.keep()
        steps_completed = stepper.step(until, min(left, check_interval))
        checkpoint.steps += steps_completed
        failure = stepper.check_state()
        if failure is not None:
            raise first_failure(stepper, checkpoint, until, failure)
        left -= steps_completed


def first_failure(stepper: Stepper, checkpoint: InMemoryCheckpoint, until: float, seen: Failure) -> BlowUpError:
    """Roll back to the checkpoint, find the first invalid step by bisection, and return the error to raise.

    The model is left before the first invalid step, or at an earlier state if `blow_up` of the stepper rolls back
    further.
    seen : failure of the state check, reported if the repeated steps are valid.
    """
    span = checkpoint.steps + 1  # plus one: a step that was rejected permanently is not counted
    checkpoint.roll_back()
    good = checkpoint.state
    assert good is not None
    while span > 0:
        count = max(1, span // 2)
        steps_completed = stepper.step(until, count)
        failure = stepper.check_state()
        if failure is None:
            span = span - max(1, steps_completed) if stepper.time < until else 0
            good = stepper.state()
            continue
        stepper.restore(good)
        if count == 1:
            return stepper.blow_up(failure)
        span = count
    checkpoint.roll_back()
    return stepper.blow_up(Failure(f"{seen.what}; the failure did not recur when the steps were repeated", seen.cell))
