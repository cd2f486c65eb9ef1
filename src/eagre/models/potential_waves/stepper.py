"""The time of a potential-flow run: equal steps, and a shorter one to land; what there is to say when waves break."""

from __future__ import annotations

import numpy as np

from eagre.errors import BlowUpError, ConvergenceError
from eagre.models.potential_waves.diagnostics import steepest
from eagre.models.potential_waves.engine import Engine
from eagre.stepping.advance import Failure
from eagre.stepping.keeper import Keeper, State

LOOK_EVERY = 8  # steps between two looks at the state, each a copy of the surface to the host
KEEP_SECONDS = {"cpu": 0.5, "cuda": 5.0}  # wall time between two copies of the state to the host
NEARLY = 1e-9  # of a step: a time as near as this is met


class Stepper:
    """Steps of an engine from `start`, s; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Engine, start: float) -> None:
        self.engine, self.setup = engine, engine.setup
        self._landed, self._since = start, 0  # the time that was met last, and steps since then
        self._failure: Failure | None = None
        engine.begin(lambda: self.time)
        self.keeper = Keeper(self.state, self.restore, KEEP_SECONDS[engine.device.kind])
        self.look_steps = LOOK_EVERY

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._landed + self._since * self.setup.time_step

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps, the last one shortened to end at `until`, s."""
        dt = self.setup.time_step
        for made in range(count):
            now = self.time
            if now >= until:
                return made
            lands = until - now <= dt * (1.0 + NEARLY)
            try:
                self.engine.advance(now, until - now if lands else dt)
            except ConvergenceError as error:
                what = (
                    f"the Laplace problem has no solution ({error.norm:.2g} m2/s after {error.iterations} iterations)"
                )
                self._failure = Failure(what)
                return made
            self._landed, self._since = (until, 0) if lands else (self._landed, self._since + 1)
        return count

    def look(self) -> Failure | None:
        """What is wrong with the state."""
        if self._failure is not None:
            return self._failure
        surface = self.engine.surface()
        dry = (self.setup.depth + surface[0] <= 0.0) & (not self.setup.linear)
        for wrong, what in (
            (~np.isfinite(surface).all(axis=0), "values that are not finite"),
            (dry, "a surface that meets the bed"),
        ):
            if wrong.any():
                j, i = np.argwhere(wrong)[0]
                return Failure(what, (int(j), int(i)))
        return None

    def blow_up(self, failure: Failure) -> BlowUpError:
        """The error, with the steepest place of the surface before the first bad step."""
        setup, grid = self.setup, self.setup.grid
        eta = self.engine.surface()[0]
        slope, (j, i) = steepest(eta, setup)
        where = f"x = {grid.x[i]:.6g} m" + (f", y = {grid.y[j]:.6g} m" if grid.ny > 1 else "")
        height = f"{float(eta.max()):.4g} and {float(eta.min()):.4g} m"
        breaking = "" if setup.breaking else "[breaking] in the case (breaking=True), with which steep waves run on; "
        return BlowUpError(
            self.time + setup.time_step,
            failure.cell or (j, i),
            f"{failure.what}; the surface is steepest, with a slope of {slope:.3g}, at {where}, "
            f"and between {height} over water {setup.depth[j, i]:.4g} m deep; "
            f"the last good state is of t = {self.time:.6g} s",
            advice=f"{breaking}lower waves (with a slope above 0.4 they are about to break), a shorter time_step, or "
            "more points",
        )

    def state(self) -> State:
        """Host copies of everything that a bitwise restart needs."""
        return {**self.engine.state(), "clock": np.array([self._landed, self._since, self.setup.time_step])}

    def restore(self, state: State) -> None:
        """Take up a state of `state`; its time is that of its own steps, whatever the next ones are."""
        landed, since, *dt = map(float, state["clock"])
        self._landed, self._since = landed, int(since)
        if dt and dt[0] != self.setup.time_step:
            self._landed, self._since = landed + self._since * dt[0], 0
        self.engine.restore(state, self.time)
        self._failure = None
