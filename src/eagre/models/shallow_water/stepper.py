"""Stepper of the explicit model for `eagre.stepping.advance`: batches of steps, state checks and blow-up errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.errors import BlowUpError
from eagre.grid import centre_bed
from eagre.stepping import clock as ck
from eagre.stepping.advance import Failure
from eagre.stepping.checkpoint import InMemoryCheckpoint, State
from eagre.stepping.plausibility import PlausibilityBounds, cell_of_extreme, highest_surface, plausibility_bounds

KEEP_SECONDS = {"cpu": 0.0, "cuda": 20.0}  # minimum wall time between checkpoints on the host, s
CPU_LOOK_STEPS = 50  # steps between state checks on a CPU
FIXED_ADVICE = "a shorter time_step, or an adaptive time step (without time_step)"
FAILURES = {1: "values that are not finite", 2: "the time step collapsed"}  # key: value of FAILED in the clock


class Stepper:
    """Stepper of an engine; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Any, eta: np.ndarray) -> None:
        self.engine = engine
        self.bounds = self._bounds_with(case_bounds(engine.setup, self.time), eta) if engine.setup.fixed else None
        kind = engine.device.kind
        self.checkpoint = InMemoryCheckpoint(self.state, self.restore, KEEP_SECONDS[kind])
        self.check_interval = CPU_LOOK_STEPS if kind == "cpu" else engine.device.parameters("shallow-water.steps").look

    @property
    def time(self) -> float:
        """Model time, s."""
        return float(self.engine.seen[ck.T])

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s, or to the time when other records of fields are required."""
        terms = self.engine.setup.terms
        end = terms.end(self.time)
        steps_completed = self.engine.step_batch(min(until, end), count)
        if self.time >= end:
            terms.use(self.time)
            self.engine.next_records(self.time)
        return steps_completed

    def check_state(self) -> Failure | None:
        """Return the failure of the last batch of steps, or None.

        With a fixed time step the plausibility bounds are checked too.
        """
        failure, recorder = self._failure(), self.engine.recorder
        if recorder is not None:
            recorder.give() if failure is None else recorder.forget()
        return failure

    def _failure(self) -> Failure | None:
        failure = self.engine.failure
        if failure:
            return Failure(FAILURES[failure], self.engine.bad_cell())
        excess = self.bounds.excess(self.engine.sums(), self.time) if self.bounds is not None else None
        return Failure(excess.what, extreme_cell(self.engine, excess.name)) if excess is not None else None

    def _bounds_with(self, bounds: PlausibilityBounds, eta: np.ndarray) -> PlausibilityBounds:
        """Return the plausibility bounds of a run with this eta, (ny, nx), m."""
        setup = self.engine.setup
        return bounds.begun_with(self.engine.sums(), highest_surface(setup.surface_of(eta), centre_bed(setup.bed)))

    def state(self) -> State:
        """Return the complete state for a bitwise-identical restart."""
        return self.engine.state()

    def restore(self, state: State) -> None:
        """Restore a state of `state`."""
        self.engine.setup.terms.use(float(state["clock"][ck.T]))
        self.engine.restore(state)

    def go_on_from(self, state: State) -> None:
        """Restore a state of another run and extend the plausibility bounds to that state."""
        self.restore(state)
        if self.bounds is not None:
            self.bounds = self._bounds_with(self.bounds, state["q"][0, 2:-2, 2:-2])

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error with the time of the last good step and the bad cell, or else the fastest cell."""
        cell = failure.cell or self.engine.fastest_cell()
        advice = {"advice": FIXED_ADVICE} if self.engine.setup.fixed else {}
        return BlowUpError(self.time, cell, failure.what, **advice)


def case_bounds(setup: Any, start: float) -> PlausibilityBounds:
    """Return the plausibility bounds of a case, without the initial water."""
    numbers = {"manning": float(setup.manning.max()), "thinnest": setup.kappa}
    bed = centre_bed(setup.bed)
    return plausibility_bounds(setup.grid, bed, setup.segments, setup.terms, setup.gravity, start, **numbers)


def extreme_cell(engine: Any, name: str) -> tuple[int, int]:
    """Return (j, i) of an extreme among the sums, from host copies of the fields."""
    fields = engine.derived()
    return cell_of_extreme(name, fields[1], np.hypot(fields[4], fields[5]))
