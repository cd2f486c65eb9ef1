"""How every model goes on: steps up to a look, a look at the state, and the way back when it has blown up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from eagre.checks import check_until
from eagre.errors import BlowUpError
from eagre.series import Series
from eagre.stepping.keeper import Keeper, State


class Failure(NamedTuple):
    """What is wrong with a state."""

    what: str
    cell: tuple[int, int] | None = None  # (j, i) of the first bad cell, if it can be seen


class Stepper(Protocol):
    """A run's way through time, as `advance` drives it."""

    @property
    def time(self) -> float:
        """Model time, s."""
        ...

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s; returns how many. The last one lands."""
        ...

    def look(self) -> Failure | None:
        """What is wrong with the present state, or None."""
        ...

    def state(self) -> State:
        """Host copies of everything that a bitwise restart needs."""
        ...

    def restore(self, state: State) -> None:
        """Take up a state of `state`."""
        ...

    def blow_up(self, failure: Failure) -> BlowUpError:
        """The error to raise; the run stands before the first bad step, whose end has the failure."""
        ...


def advance(
    stepper: Stepper,
    keeper: Keeper,
    until: float,
    max_steps: int | None = None,
    *,
    look_steps: int,
    series: Sequence[Series] = (),
) -> None:
    """Step to `until`, s, or stop after `max_steps` steps.

    Parameters
    ----------
    stepper : Stepper
    keeper : Keeper
        Of the stepper's states.
    until : float, s
    max_steps : int or None
    look_steps : int
        Steps between two looks at the state.
    series : sequence of Series
        What drives the run; each has to cover it.

    Raises
    ------
    InputError
        If `until` lies before the present, or a series ends before it.
    BlowUpError
        If a look finds a failure; the run then stands at a good state.
    """
    check_until(until, stepper.time)
    for one in series:
        one.covers(stepper.time, until)
    left = max_steps if max_steps is not None else 2**53
    while left > 0 and stepper.time < until:
        keeper.keep()
        made = stepper.step(until, min(left, look_steps))
        keeper.steps += made
        failure = stepper.look()
        if failure is not None:
            raise first_failure(stepper, keeper, until, failure)
        left -= made


def first_failure(stepper: Stepper, keeper: Keeper, until: float, seen: Failure) -> BlowUpError:
    """Go back to the kept state, find the first bad step by halving, and return the error to raise.

    The run is left before the first bad step, unless the stepper's `blow_up` goes further back. seen : what the look
    found, which the error tells if a repeat of the steps does not have it.
    """
    span = keeper.steps + 1  # a step that was refused for good is not counted, but looked for
    keeper.roll_back()
    good = keeper.state
    assert good is not None
    while span > 0:
        count = max(1, span // 2)
        made = stepper.step(until, count)
        failure = stepper.look()
        if failure is None:
            span = span - max(1, made) if stepper.time < until else 0
            good = stepper.state()
            continue
        stepper.restore(good)
        if count == 1:
            return stepper.blow_up(failure)
        span = count
    keeper.roll_back()
    return stepper.blow_up(Failure(f"{seen.what}; a repeat of the steps had none", seen.cell))
