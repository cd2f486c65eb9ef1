"""Time stepping of a potential-flow run: equal steps, shortened to hit output times; error report of a blow-up."""

from __future__ import annotations

import numpy as np

from eagre.errors import BlowUpError, ConvergenceError
from eagre.models.potential_waves.engine import Engine
from eagre.models.potential_waves.sampling.diagnostics import maximum_slope
from eagre.stepping.advance import Failure
from eagre.stepping.checkpoint import InMemoryCheckpoint, State

STEPS_PER_CHECK = 8  # steps between state checks, each of which copies the surface to the host
KEEP_SECONDS = {"cpu": 0.5, "cuda": 5.0}  # minimum wall time between copies of the state to the host, s
TIME_TOLERANCE = 1e-9  # tolerance for hitting an output time, in steps


class Stepper:
    """Time stepper of an engine from `start`, s; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Engine, start: float) -> None:
        self.engine, self.setup = engine, engine.setup
        self._landed, self._since = start, 0  # last output time, and steps since then
        self._failure: Failure | None = None
        engine.begin(lambda: self.time)
        device = engine.device
        self.checkpoint = InMemoryCheckpoint(self.state, self.restore, KEEP_SECONDS[device.kind], device)
        self.check_interval = STEPS_PER_CHECK

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._landed + self._since * self.setup.time_step

    def step(self, until: float, count: int) -> int:
        """Advance up to `count` steps, the last one shortened to end at `until`, s; return the number of steps."""
        dt = self.setup.time_step
        for completed in range(count):
            time = self.time
            if time >= until:
                return completed
            ends_at_output = until - time <= dt * (1.0 + TIME_TOLERANCE)
            try:
                self.engine.advance(time, until - time if ends_at_output else dt)
            except ConvergenceError as error:
                norm = f"{error.norm:.2g} m2/s after {error.iterations} iterations; tolerance {error.wanted:.2g} m2/s"
                self._failure = Failure(f"the Laplace solver did not converge ({norm})")
                return completed
            self._landed, self._since = (until, 0) if ends_at_output else (self._landed, self._since + 1)
        return count

    def check_state(self) -> Failure | None:
        """Return the failure of the present state, or None."""
        if self._failure is not None:
            return self._failure
        surface = self.engine.surface()
        dry = (self.setup.depth + surface[0] <= 0.0) & (not self.setup.linear)
        for wrong, what in (
            (~np.isfinite(surface).all(axis=0), "the surface is not finite"),
            (dry, "the surface reaches the bed"),
        ):
            if wrong.any():
                j, i = np.argwhere(wrong)[0]
                return Failure(what, (int(j), int(i)))
        return None

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error, with the location of the largest surface slope before the failed step."""
        setup, grid = self.setup, self.setup.grid
        eta = self.engine.surface()[0]
        slope, (j, i) = maximum_slope(eta, setup)
        where = f"x = {grid.x[i]:.6g} m" + (f", y = {grid.y[j]:.6g} m" if grid.ny > 1 else "")
        height = f"{float(eta.max()):.4g} and {float(eta.min()):.4g} m"
        breaking = "" if setup.breaking else "[breaking] in the case (breaking=True), which dissipates steep waves; "
        return BlowUpError(
            self.time + setup.time_step,
            failure.cell or (j, i),
            f"{failure.what}; the largest slope of the surface is {slope:.3g} at {where}, "
            f"{setup.depth[j, i]:.4g} m deep; the surface is between {height}; "
            f"the last valid state is at t = {self.time:.6g} s",
            advice=f"{breaking}lower waves (slopes above 0.4 almost break), a shorter time_step or more points",
        )

    def state(self) -> State:
        """Return the complete state, with the fields of the rows of this process, for `restore`."""
        return self.engine.local_state() | self._clock()

    def whole_state(self) -> State:
        """Return the complete state for a bitwise identical restart; the fields are in the first process only."""
        return self.engine.state() | self._clock()

    def _clock(self) -> State:
        return {"clock": np.array([self._landed, self._since, self.setup.time_step])}

    def restore(self, state: State) -> None:
        """Load a state of `state`; its time results from its own time step, which may differ from the present one."""
        landed, since, *dt = map(float, state["clock"])
        self._landed, self._since = landed, int(since)
        if dt and dt[0] != self.setup.time_step:
            self._landed, self._since = landed + self._since * dt[0], 0
        self.engine.restore(state, self.time)
        self._failure = None
