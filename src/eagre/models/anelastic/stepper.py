"""Time stepping of an anelastic run: constant or adaptive steps, output times, and failures."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eagre.errors import BlowUpError, ConvergenceError
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.sampling.averaging import PointAverages
from eagre.models.anelastic.sampling.mean_profiles import MeanProfiles
from eagre.models.anelastic.stability import COURANT, LIMIT, SAFETY_FACTOR, rounded_down
from eagre.stepping.advance import Failure
from eagre.stepping.checkpoint import InMemoryCheckpoint, State

CHECK_INTERVAL = 20  # steps between two checks of all fields
KEEP_SECONDS = {"cpu": 1.0, "cuda": 5.0}  # wall-clock time between in-memory checkpoints, s
TIME_TOLERANCE = 1e-9  # tolerance of output times, as a fraction of the time step
LONGER = 0.01  # relative change of the last step before an output time, instead of two equal steps
GROWTH = 1.1  # maximum ratio of consecutive time steps
WINDOW = 10  # number of equal adaptive steps
SLOW = 1.2  # ratio of possible to current time step above which the step grows immediately


class Stepper:
    """Time stepping of an engine from `start`; see `eagre.stepping.advance.Stepper`.

    Parameters
    ----------
    engine : Engine
    start : float, s
    courant : float or None
        Maximum Courant number of a step; None for a constant time step.
    first : float
        First time step.
    """

    def __init__(self, engine: Engine, start: float, courant: float | None, first: float) -> None:
        self.engine, self.setup, self.courant = engine, engine.setup, courant
        self.time_step = first
        self._landed, self._since = start, 0.0  # last output time, and time since then
        self._failure: Failure | None = None
        self._fastest = 0.0  # Courant or diffusion number of the last step, accepted or rejected
        self._mixed: tuple[tuple[int, int, int], float] | None = None  # location and K of an excessive diffusion number
        self._settled = True  # True if the Courant number is close to its target
        self.profiles: MeanProfiles | None = None
        self.maps = PointAverages(engine, start)
        device = engine.device
        self.checkpoint = InMemoryCheckpoint(self.checkpoint_state, self.restore, KEEP_SECONDS[device.kind], device)

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._landed + self._since

    def step(self, until: float, count: int) -> int:
        """Complete up to `count` steps; the last one is shortened to end at `until`, s."""
        completed, alone = 0, 0  # steps taken one by one after a failed batch
        while completed < count and self._failure is None:
            left = until - self.time
            if left <= 0.0:
                return completed
            dt, ends_interval = self._next(left)
            is_single = dt != self.time_step or ends_interval or alone > 0
            batch = [self._since + dt] if is_single else self._batch(until, count - completed)
            if alone or not self.engine.has_step_batches or not self._at_once(dt, batch):
                alone = max(alone, len(batch)) - 1 if self.engine.has_step_batches else 0
                batch = batch[:1]
                if (accepted_dt := self._alone(dt)) is None:
                    return completed
                if accepted_dt < dt:
                    dt, ends_interval, batch = accepted_dt, False, [self._since + accepted_dt]
                    self.time_step = dt
            self._register(dt, batch, until if ends_interval else None)
            completed += len(batch)
        return completed

    def _next(self, left: float) -> tuple[float, bool]:
        """Return the length of the next step, s, and whether it ends the interval `left`, s.

        The last two steps before an output time are equal, so that no step is much shorter than the next one. The
        increment dt/2 R of a step, with the error of its pressure, is scaled by the ratio of the time steps. Because
        forces are means of both ends of a step, the error would cause long-lasting oscillations of the pressure.
        """
        step = self.time_step
        if left <= step * (1.0 + LONGER):
            return (left if abs(left - step) > TIME_TOLERANCE * step else step), True
        return (0.5 * left if left < step * (2.0 - LONGER) else step), False

    def _alone(self, dt: float) -> float | None:
        """Advance one step of dt, s, or a shorter one, and return its length; None without convergence."""
        try:
            return self.engine.advance(dt, self.time, self._max_courant, clipped=dt != self.time_step)
        except ConvergenceError as error:
            what = f"dt div = {error.norm:.2g} after {error.iterations} iterations"
            self._failure = Failure(f"the pressure solver did not converge ({what})")
            return None

    @property
    def _max_courant(self) -> float:
        """Maximum Courant number of adaptive steps; infinite for a constant time step."""
        return math.inf if self.courant is None else self.courant

    def _batch(self, until: float, count: int) -> list[float]:
        """Return `_since` after each of up to `count` equal steps without host synchronisation; at least one."""
        dt, times = self.time_step, [self._since + self.time_step]
        if self.profiles is not None:
            count = min(count, self.profiles.left)
        count = min(count, self.maps.left)
        if self.courant is not None:
            count = min(count, WINDOW - int(self.engine.counts["steps"]) % WINDOW) if self._settled else 1
        while len(times) < count and self._next(until - (self._landed + times[-1])) == (dt, False):
            times.append(times[-1] + dt)
        return times

    def _at_once(self, dt: float, batch: list[float]) -> bool:
        """Advance the steps of `_batch` as one batch; return False, without a completed step, on failure."""
        times = [self.time, *(self._landed + since for since in batch[:-1])]
        min_courant = 0.0
        if self.courant is not None and len(batch) > 1 and self.setup.time_step > SLOW * dt:
            min_courant = SAFETY_FACTOR * self.courant / SLOW
        return self.engine.advance_many(dt, times, min_courant, self._max_courant, clipped=dt != self.time_step)

    def _register(self, dt: float, batch: list[float], landed: float | None) -> None:
        """Register completed steps, with `_since` after each, and adapt the time step."""
        courant = self._fastest = self.engine.counts["courant"]
        self._mixed = None
        if not courant <= self.engine.stability_limit:
            self._failure = self._too_long(courant)
        for self._since in batch:
            if landed is not None:
                self._landed, self._since = landed, 0.0
            if self.profiles is not None:
                self.profiles.stepped(self.time)
        self.maps.stepped(self.time, len(batch))
        self._adapt(dt, courant)

    def _too_long(self, courant: float) -> Failure:
        """Return the failure of a Courant or diffusion number above its limit."""
        (k, j), limit = self.engine.worst, f"above {self.engine.stability_limit:.3g}"
        if not self.engine.mixes:
            return Failure(f"a Courant number of {courant:.3g}, {limit}, in row k = {k}", (j, 0))
        self._mixed = self.engine.strongest_mixing()
        what = f"a diffusion number of {courant:.3g}, {limit} in this wind"
        return Failure(f"{what}: dt times the maximum decay rate by mixing and forcing", (j, 0))

    def _adapt(self, dt: float, courant: float) -> None:
        """Choose the next time step from the last Courant number, every `WINDOW` steps or after a large change.

        `engine.advance` shortens steps above the limit of the Courant number; this method also applies the limit of the
        diffusion number. Equal steps in between need no host synchronisation and no new implicit coefficients.
        """
        if self.courant is None:
            return
        target, old = min(self.setup.time_step, dt * SAFETY_FACTOR * self.courant / max(courant, 1e-12)), self.time_step
        self._settled = target <= SLOW * old
        if int(self.engine.counts["steps"]) % WINDOW and self._settled and courant <= self.courant:
            return
        self.time_step = min(target, GROWTH * old)

    def check_state(self) -> Failure | None:
        """Return a failure of the current state, or None."""
        if self._failure is not None:
            return self._failure
        if self.engine.is_finite():
            return None
        for name in self.engine.steps.fields.present:
            if (point := self.engine.first_invalid_point(name)) is not None:
                k, j, i = point
                return Failure(f"{name} is not finite at level {k}", (j, i))
        return None

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error, with the location of the maximum wind or of the maximum eddy viscosity."""
        if self._mixed is not None:
            (k, j, i), eddy = self._mixed
            what = f"maximum eddy viscosity, K = {eddy:.4g} m2/s,"
        else:
            (k, j, i), speed = self.engine.strongest_wind()
            what = f"maximum wind speed, {speed:.4g} m/s,"
        grid, z = self.setup.grid, np.broadcast_to(self.setup.levels.z, self.setup.shape)
        position = f"x = {grid.x[i]:.6g} m, y = {grid.y[j]:.6g} m, z = {z[k, j, i]:.6g} m"
        return BlowUpError(
            self.time + self.time_step,
            (k, j, i),
            f"{failure.what}; {what} at {position}; the last valid state is at t = {self.time:.6g} s",
            advice=self._advice(),
        )

    def _advice(self) -> str:
        """Return a stable time step for this wind, as a line of a case file."""
        if self.courant is not None:
            return f"courant_number = {0.5 * self.courant:.2g}"
        shorter = self.time_step * COURANT / max(LIMIT, self._fastest)
        return f"time_step = {rounded_down(shorter):g}, or courant_number = {COURANT:g} without time_step"

    def whole_state(self) -> State:
        """Return the complete state for a bitwise identical restart; the fields are in the first process only."""
        return self.engine.state() | self._run_state(self.maps.state)

    def state(self) -> State:
        """Return the complete state, with the fields of the rows of this process, for `restore`."""
        return self.engine.local_state() | self._run_state(self.maps.local_state)

    def checkpoint_state(self) -> State:
        """Return the state for the in-memory checkpoint, in the memory of the engine."""
        return self.engine.checkpoint() | self._run_state(self.maps.local_state)

    def _run_state(self, maps_state: Callable[[], State]) -> State:
        self.maps.note(self.time)
        profiles = {} if self.profiles is None else self.profiles.state()
        return {**maps_state(), **profiles, "clock": np.array([self._landed, self._since, self.time_step])}

    def maps_state(self) -> State:
        """Return the time statistics up to the current time."""
        self.maps.note(self.time)
        return self.maps.state()

    def restore(self, state: State) -> None:
        """Load a state of `state`; an adaptive time step continues with the last step of the state."""
        self.engine.restore(state)
        self._landed, self._since, last = map(float, state["clock"])
        self.time_step = self.setup.time_step if self.courant is None else min(last, self.setup.time_step)
        self._failure = None
        self.maps.take_over(state, self.time)
        if self.profiles is not None:
            self.profiles.restore(state, self.time)
