"""The time of a barotropic run: fixed steps from a start, and what there is to say when they blow up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.errors import BlowUpError
from eagre.models.barotropic.adams_bashforth import state_for
from eagre.models.barotropic.stability import flow_limit, wave_limit
from eagre.stepping.advance import Failure
from eagre.stepping.keeper import Keeper, State

CPU_LOOK_STEPS = 100  # between two looks at the state
KEEP_SECONDS = {"cpu": 0.5, "cuda": 20.0}  # wall time between two copies of the state to the host
MANY = 2**53  # steps
NEARLY = 1e-6  # of a step: as near as this, a time is met


class Stepper:
    """Steps of an engine from `start`, s; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Any, start: float) -> None:
        self.engine, self.setup = engine, engine.setup
        self.start = start
        self._landed: float | None = None
        engine.resume_maps({}, start)
        kind = engine.device.kind
        self.keeper = Keeper(self.state, self.restore, KEEP_SECONDS[kind])
        self.look_steps = CPU_LOOK_STEPS if kind == "cpu" else engine.device.layout("barotropic.steps").look

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._landed if self._landed is not None else self.start + self.engine.steps * self.setup.time_step

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps, the last of them the first at or after `until`, s."""
        exact = (until - self.start) / self.setup.time_step
        last = math.ceil(exact - NEARLY)
        made = max(0, min(count, last - self.engine.steps))
        if made > 0:
            made = min(made, self._blown())
            self.engine.advance(made)
            self._landed = None
        # A time that is a multiple of the step is met exactly, whatever the rounding of the product.
        if self.engine.steps >= last and (made == 0 or abs(last - exact) < NEARLY):
            self._landed = float(until)
        return made

    def _blown(self) -> int:
        """Have the records of a wind that changes with time at hand; returns for how many steps they are enough."""
        steps, moving = self.engine.steps, self.setup.moving
        if moving is None:
            return MANY
        begun = self.start + steps * self.setup.time_step
        moving.use(begun)
        self.engine.use_wind(steps, self.start)
        last = math.ceil((moving.instants.end(begun) - self.start) / self.setup.time_step - NEARLY)
        return max(1, last - steps)

    def look(self) -> Failure | None:
        """What is wrong with the state; the place cannot be seen: psi spreads what is not finite over the basin."""
        with np.errstate(all="ignore"):
            found = self.engine.integrals()
        finite = math.isfinite(found["energy"]) and math.isfinite(found["max_vorticity"])
        return None if finite else Failure("values that are not finite")

    def blow_up(self, failure: Failure) -> BlowUpError:
        """The error, with the point of the largest vorticity before the first bad step; goes back to the kept state."""
        engine, grid, dt = self.engine, self.setup.grid, self.setup.time_step
        time = self.time + dt
        size = np.abs(engine.points("q"))
        j, i = np.unravel_index(int(size.argmax()), size.shape)
        self.keeper.roll_back()
        u, v = engine.speeds()
        limit = min(flow_limit(u, v, grid.dx, grid.dy), wave_limit(self.setup), 0.5 * dt)
        return BlowUpError(
            time,
            (int(j), int(i)),
            f"{failure.what}; the last good state is of t = {self.time:.6g}",
            advice=f"a time_step below {limit:.2g} (see its limits at the start of the run), or more viscosity",
        )

    def state(self) -> State:
        """Host copies of everything that a bitwise restart needs."""
        landed = math.nan if self._landed is None else self._landed
        times = {"start": self.start, "landed": landed, "time_step": self.setup.time_step}
        return {**self.engine.state(), **self.engine.maps_state(), **{k: np.array(time) for k, time in times.items()}}

    def restore(self, state: State) -> None:
        """Take up a state of `state`, also of another time step or order (see `state_for`)."""
        state = dict(state_for(self.setup, state))
        self.engine.restore(state)
        self.start, landed = float(state["start"]), float(state["landed"])
        self._landed = None if math.isnan(landed) else landed
        self.engine.resume_maps(state, self.time)
