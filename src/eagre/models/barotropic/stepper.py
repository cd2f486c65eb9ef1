"""Time stepping of a barotropic run with a fixed time step, and the report of a blow-up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.errors import BlowUpError
from eagre.models.barotropic.adams_bashforth import state_for
from eagre.models.barotropic.stability import flow_limit, wave_limit
from eagre.stepping.advance import Failure
from eagre.stepping.checkpoint import InMemoryCheckpoint, State

CPU_LOOK_STEPS = 100  # steps between two checks of the state
KEEP_SECONDS = {"cpu": 0.5, "cuda": 20.0}  # wall time between two checkpoints in host memory, s
NO_LIMIT = 2**53  # steps; no limit
TIME_TOLERANCE = 1e-6  # tolerance of output times, in time steps


class Stepper:
    """Time stepper of an engine from `start`, s; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Any, start: float) -> None:
        self.engine, self.setup = engine, engine.setup
        self.start = start
        self._landed: float | None = None
        engine.resume_maps({}, start)
        device = engine.device
        self.checkpoint = InMemoryCheckpoint(self.state, self.restore, KEEP_SECONDS[device.kind], device)
        self.check_interval = CPU_LOOK_STEPS if device.kind == "cpu" else device.parameters("barotropic.steps").look

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._landed if self._landed is not None else self.start + self.engine.steps * self.setup.time_step

    def step(self, until: float, count: int) -> int:
        """Advance to the first step at or after `until`, s, by at most `count` steps; return the number of steps."""
        exact = (until - self.start) / self.setup.time_step
        last = math.ceil(exact - TIME_TOLERANCE)
        steps_completed = max(0, min(count, last - self.engine.steps))
        if steps_completed > 0:
            steps_completed = min(steps_completed, self._blown())
            self.engine.advance(steps_completed)
            self._landed = None
        # Report a time that is a multiple of the time step exactly, without the rounding error of the product.
        if self.engine.steps >= last and (steps_completed == 0 or abs(last - exact) < TIME_TOLERANCE):
            self._landed = float(until)
        return steps_completed

    def _blown(self) -> int:
        """Load the records of a time-varying wind; return the number of steps that the records cover."""
        steps, wind = self.engine.steps, self.setup.time_varying_wind
        if wind is None:
            return NO_LIMIT
        begun = self.start + steps * self.setup.time_step
        wind.use(begun)
        self.engine.use_wind(steps, self.start)
        last = math.ceil((wind.instants.end(begun) - self.start) / self.setup.time_step - TIME_TOLERANCE)
        return max(1, last - steps)

    def check_state(self) -> Failure | None:
        """Check the state for non-finite values.

        The location is unknown, because the elliptic solver spreads non-finite values over the basin.
        """
        with np.errstate(all="ignore"):
            integrals = self.engine.integrals()
            tracer = self.engine.max_tracer()
        if not (math.isfinite(integrals["energy"]) and math.isfinite(integrals["max_vorticity"])):
            return Failure("values that are not finite")
        return None if math.isfinite(tracer) else Failure("values of the tracer that are not finite")

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error, with the point of maximum vorticity before the first bad step; restore the checkpoint."""
        engine, grid, dt = self.engine, self.setup.grid, self.setup.time_step
        time, point = self.time + dt, engine.strongest_vorticity()
        self.checkpoint.roll_back()
        u, v = engine.speeds()
        limit = min(flow_limit(u, v, grid.dx, grid.dy), wave_limit(self.setup), 0.5 * dt)
        damping = "viscosity" if self.setup.diffusivity is None else "viscosity, or more diffusivity of the tracer"
        return BlowUpError(
            time,
            point,
            f"{failure.what}; the last good state is of t = {self.time:.6g}",
            advice=f"a time_step below {limit:.2g} (see its limits at the start of the run), or more {damping}",
        )

    def state(self) -> State:
        """Return all data that a bitwise identical restart needs, with the fields of the rows of this process."""
        return {**self.engine.local_state(), **self._times()}

    def whole_state(self) -> State:
        """Return the state for restart files; the fields are in the first process only."""
        return {**self.engine.state(), **self.engine.maps_state(), **self._times()}

    def _times(self) -> State:
        landed = math.nan if self._landed is None else self._landed
        times = {"start": self.start, "landed": landed, "time_step": self.setup.time_step}
        return {k: np.array(time) for k, time in times.items()}

    def restore(self, state: State) -> None:
        """Restore a state of `state` of this model."""
        self.engine.restore_local(state)
        self._resume(state)

    def go_on_from(self, state: State) -> None:
        """Restore a state of `whole_state`; the time step and order may differ (see `state_for`)."""
        state = dict(state_for(self.setup, state))
        self.engine.restore(state)
        self._resume(state)

    def _resume(self, state: State) -> None:
        self.start, landed = float(state["start"]), float(state["landed"])
        self._landed = None if math.isnan(landed) else landed
        self.engine.resume_maps(state, self.time)
