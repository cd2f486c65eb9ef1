"""An explicit run as `eagre.stepping.advance` drives it: legs of the engine, and what to say when they blow up."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.errors import BlowUpError
from eagre.grid import centre_bed
from eagre.stepping import clock as ck
from eagre.stepping.advance import Failure
from eagre.stepping.keeper import Keeper, State
from eagre.stepping.reach import Reach, cell_of_extreme, highest_surface, reach_of

KEEP_SECONDS = {"cpu": 0.0, "cuda": 20.0}  # wall time between two copies of the state to the host
CPU_LOOK_STEPS = 50  # between two looks at the state
FIXED_ADVICE = "a shorter time_step, or an adaptive time step (without time_step)"
FAILURES = {1: "values that are not finite", 2: "the time step collapsed"}  # key: value of FAILED in the clock


class Stepper:
    """Steps of an engine; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Any, eta: np.ndarray) -> None:
        self.engine = engine
        self.reach = self._reach(reach_of_case(engine.setup, self.time), eta) if engine.setup.fixed else None
        kind = engine.device.kind
        self.keeper = Keeper(self.state, self.restore, KEEP_SECONDS[kind])
        self.look_steps = CPU_LOOK_STEPS if kind == "cpu" else engine.device.layout("shallow-water.steps").look

    @property
    def time(self) -> float:
        """Model time, s."""
        return float(self.engine.seen[ck.T])

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s, or to where other records of what moves are needed."""
        terms = self.engine.setup.terms
        end = terms.end(self.time)
        made = self.engine.leg(min(until, end), count)
        if self.time >= end:
            terms.use(self.time)
            self.engine.next_records(self.time)
        return made

    def look(self) -> Failure | None:
        """What the last leg reported; with a fixed step, which the waves do not bound, also what they have become."""
        failure, recorder = self._failure(), self.engine.recorder
        if recorder is not None:
            recorder.give() if failure is None else recorder.forget()
        return failure

    def _failure(self) -> Failure | None:
        failure = self.engine.failure
        if failure:
            return Failure(FAILURES[failure], self.engine.bad_cell())
        excess = self.reach.excess(self.engine.sums(), self.time) if self.reach is not None else None
        return Failure(excess.what, largest_cell(self.engine, excess.name)) if excess is not None else None

    def _reach(self, reach: Reach, eta: np.ndarray) -> Reach:
        """The bounds of a run that has this eta now, (ny, nx), m."""
        setup = self.engine.setup
        return reach.begun_with(self.engine.sums(), highest_surface(setup.surface_of(eta), centre_bed(setup.bed)))

    def state(self) -> State:
        """Everything that a restart needs to go on bit for bit."""
        return self.engine.state()

    def restore(self, state: State) -> None:
        """Take up a state of `state`."""
        self.engine.setup.terms.use(float(state["clock"][ck.T]))
        self.engine.restore(state)

    def go_on_from(self, state: State) -> None:
        """Take up a state of another run: bounds rise to what it has, which a way back within a run leaves alone."""
        self.restore(state)
        if self.reach is not None:
            self.reach = self._reach(self.reach, state["q"][0, 2:-2, 2:-2])

    def blow_up(self, failure: Failure) -> BlowUpError:
        """The error, with the time before the first bad step and the bad cell, or the fastest one before it."""
        cell = failure.cell or self.engine.fastest_cell()
        advice = {"advice": FIXED_ADVICE} if self.engine.setup.fixed else {}
        return BlowUpError(self.time, cell, failure.what, **advice)


def reach_of_case(setup: Any, start: float) -> Reach:
    """Bounds of what the water of a case can reach, before the water at the start is known."""
    numbers = {"manning": float(setup.manning.max()), "thinnest": setup.kappa}
    bed = centre_bed(setup.bed)
    return reach_of(setup.grid, bed, setup.segments, setup.terms, setup.gravity, start, **numbers)


def largest_cell(engine: Any, name: str) -> tuple[int, int]:
    """(j, i) of an extreme among the sums, from host copies of the fields."""
    fields = engine.derived()
    return cell_of_extreme(name, fields[1], np.hypot(fields[4], fields[5]))
