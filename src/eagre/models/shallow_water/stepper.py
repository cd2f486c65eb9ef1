"""An explicit run as `eagre.stepping.advance` drives it: legs of the engine, and what to say when they blow up."""

from __future__ import annotations

from typing import Any

from eagre.errors import BlowUpError
from eagre.stepping import clock as ck
from eagre.stepping.advance import Failure
from eagre.stepping.keeper import Keeper, State

KEEP_SECONDS = {"cpu": 0.0, "cuda": 20.0}  # wall time between two copies of the state to the host
CPU_LOOK_STEPS = 50  # between two looks at the state
FIXED_ADVICE = "a shorter fixed_time_step, or none"
FAILURES = {1: "values that are not finite", 2: "the time step collapsed"}  # by the clock's FAILED


class Stepper:
    """Steps of an engine; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        kind = engine.device.kind
        self.keeper = Keeper(self.state, self.restore, KEEP_SECONDS[kind])
        self.look_steps = CPU_LOOK_STEPS if kind == "cpu" else engine.device.layout("shallow-water.steps").look

    @property
    def time(self) -> float:
        """Model time, s."""
        return float(self.engine.seen[ck.T])

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s."""
        return self.engine.leg(until, count)

    def look(self) -> Failure | None:
        """What the last leg reported."""
        failure = self.engine.failure
        return Failure(FAILURES[failure], self.engine.bad_cell()) if failure else None

    def state(self) -> State:
        """Everything that a restart needs to go on bit for bit."""
        return self.engine.state()

    def restore(self, state: State) -> None:
        """Take up a state of `state`."""
        self.engine.restore(state)

    def blow_up(self, failure: Failure) -> BlowUpError:
        """The error, with the time before the first bad step and the bad cell, or the fastest one before it."""
        cell = failure.cell or self.engine.fastest_cell()
        advice = {"advice": FIXED_ADVICE} if self.engine.setup.fixed else {}
        return BlowUpError(self.time, cell, failure.what, **advice)
