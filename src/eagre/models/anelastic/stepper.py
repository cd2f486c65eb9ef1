"""The time of an anelastic run: equal steps or steps by the Courant number, one that lands, and what goes wrong."""

from __future__ import annotations

import numpy as np

from eagre.errors import BlowUpError, ConvergenceError
from eagre.models.anelastic.averages import Averages
from eagre.models.anelastic.engine import COMPONENTS, Engine
from eagre.stepping.advance import Failure
from eagre.stepping.keeper import Keeper, State

LOOK_EVERY = 20  # steps between two looks at all fields
KEEP_SECONDS = {"cpu": 1.0, "cuda": 5.0}  # wall time between two copies of the state to the host
NEARLY = 1e-9  # of a step: a time as near as this is met
LIMIT = 1.0  # of the Courant number: above it a cell loses more than it has
GROWTH = 1.1  # of a time step from one to the next


class Stepper:
    """Steps of an engine from `start`, s; see `eagre.stepping.advance.Stepper`.

    Parameters
    ----------
    engine : Engine
    start : float, s
    courant : float or None
        The Courant number that steps aim at; None: all steps are the set-up's.
    first : float
        The first time step, s.
    """

    def __init__(self, engine: Engine, start: float, courant: float | None, first: float) -> None:
        self.engine, self.setup, self.courant = engine, engine.setup, courant
        self.time_step = first
        self._landed, self._since = start, 0.0  # the time that was met last, and what was made since then
        self._failure: Failure | None = None
        self.averages: Averages | None = None
        self.keeper = Keeper(self.state, self.restore, KEEP_SECONDS[engine.device.kind])

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._landed + self._since

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps, the last one shortened to end at `until`, s."""
        made, tries = 0, True
        while made < count and self._failure is None:
            left = until - self.time
            if left <= 0.0:
                return made
            ahead = self._ahead(until, count - made) if tries else []
            if ahead:
                tries = self._at_once(ahead)  # or they are made one by one
                made += len(ahead) * tries
                continue
            lands = left <= self.time_step * (1.0 + NEARLY)
            dt = left if left < self.time_step * (1.0 - NEARLY) else self.time_step
            try:
                self.engine.advance(dt, self.time)
            except ConvergenceError as error:
                what = f"the pressure has no solution (dt div = {error.norm:.2g} after {error.iterations} iterations)"
                self._failure = Failure(what)
                return made
            self._landed, self._since = (until, 0.0) if lands else (self._landed, self._since + dt)
            made += 1
            found = self.engine.counts["courant"]
            if not found <= LIMIT:
                k, j = self.engine.worst
                self._failure = Failure(f"a Courant number of {found:.3g}, above {LIMIT:g}, in row k = {k}", (j, 0))
            self._adapt(dt, found)
            if self.averages is not None:
                self.averages.stepped(self.time)
        return made

    def _ahead(self, until: float, count: int) -> list[float]:
        """`_since` after each of up to `count` equal steps that nobody needs to look at."""
        dt, found = self.time_step, [self._since]
        if self.courant is not None or not self.engine.is_steady(dt):
            return []
        count = count if self.averages is None else min(count, self.averages.left)
        while len(found) <= count and until - (self._landed + found[-1]) > dt * (1.0 + NEARLY):
            found.append(found[-1] + dt)
        return found[1:] if len(found) > 2 else []

    def _at_once(self, ahead: list[float]) -> bool:
        """Make the steps of `_ahead`; False, and none is made, if that cannot be."""
        found = self.engine.advance_many(self.time_step, len(ahead))
        if found is None:
            return False
        for self._since in ahead:
            if self.averages is not None:
                self.averages.stepped(self.time)
        if not found <= LIMIT:
            self._failure = Failure(f"a Courant number of {found:.3g}, above {LIMIT:g}")
        return True

    def _adapt(self, dt: float, found: float) -> None:
        """Choose the next time step from the Courant number of the last."""
        if self.courant is None:
            return
        wanted = min(self.setup.time_step, dt * self.courant / max(found, 1e-12))
        self.time_step = min(wanted, GROWTH * self.time_step)

    def look(self) -> Failure | None:
        """What is wrong with the state."""
        if self._failure is not None:
            return self._failure
        if self.engine.is_finite():
            return None
        for name in (*COMPONENTS, *(("theta",) if self.setup.stratified else ())):
            wrong = ~np.isfinite(self.engine.field(name))
            if wrong.any():
                k, j, i = np.argwhere(wrong)[0]
                return Failure(f"{name} is not finite at level {k}", (int(j), int(i)))
        return None

    def blow_up(self, failure: Failure) -> BlowUpError:
        """The error, with the fastest place before the first bad step."""
        setup, speeds = self.setup, np.sqrt(sum(one**2 for one in self.engine.velocity()))
        k, j, i = (int(n) for n in np.unravel_index(int(np.argmax(speeds)), speeds.shape))
        grid, z = setup.grid, np.broadcast_to(setup.levels.z, setup.shape)
        place = f"x = {grid.x[i]:.6g} m, y = {grid.y[j]:.6g} m, z = {z[k, j, i]:.6g} m"
        return BlowUpError(
            self.time + self.time_step,
            (k, j, i),
            f"{failure.what}; the wind is strongest, {speeds[k, j, i]:.4g} m/s, at {place}; "
            f"the last good state is of t = {self.time:.6g} s",
            advice="a shorter time_step, or courant = 0.5 in its place",
        )

    def state(self) -> State:
        """Host copies of everything that a bitwise restart needs."""
        gathered = {} if self.averages is None else self.averages.state()
        return {**self.engine.state(), **gathered, "clock": np.array([self._landed, self._since, self.time_step])}

    def restore(self, state: State) -> None:
        """Take up a state of `state`."""
        self.engine.restore(state)
        self._landed, self._since, self.time_step = map(float, state["clock"])
        self._failure = None
        if self.averages is not None:
            self.averages.restore(state, self.time)
