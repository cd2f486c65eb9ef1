"""The engine of the potential-flow waves: the Laplace problem and its steps, with counts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.errors import ConvergenceError
from eagre.models.potential_waves.averaging import OF_THE_SURFACE, SurfaceAverages
from eagre.models.potential_waves.breaking import Breaker, Breaking
from eagre.models.potential_waves.inlet import with_forcing
from eagre.models.potential_waves.kinematics import Flow
from eagre.models.potential_waves.laplace import LaplaceProblem
from eagre.models.potential_waves.laplace_bands import LaplaceBands
from eagre.models.potential_waves.laplace_base import Laplace
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.step import STAGES, Steps
from eagre.models.potential_waves.surface_filter import SurfaceFilter

COUNTS = ("steps", "iterations", "dt_min", "dt_max")


class Engine:
    """A run on one device or several.

    Attributes
    ----------
    laplace : Laplace
        Its `fields` are the state.
    counts : dict
        Steps, iterations of all their Laplace problems, shortest and longest time step, s.
    breaking : Breaking or None
    averages : SurfaceAverages
    statistics : SurfaceAverages or None
        Of the section of that name.
    """

    def __init__(self, setup: Setup, device: Device | Group, precision: str) -> None:
        self.setup = setup
        known = (setup.depth, setup.spacing, setup.vertical, setup.periodic)
        places = setup.grid.x, setup.grid.y
        more = {"linear": setup.linear, "multigrid": setup.multigrid, "correction": setup.correction, "points": places}
        self.laplace: Laplace = (
            LaplaceBands(*known, device, precision, **more)
            if isinstance(device, Group)
            else LaplaceProblem(*known, device, precision, **more, preconditioner=setup.preconditioner)
        )
        self.device = self.laplace.device
        self.breaking = None
        if setup.breaking is not None:
            known = (self.laplace, setup.depth, setup.spacing, setup.periodic, setup.gravity)
            self.breaking = Breaking(*known, *setup.breaking)
        inlets = [wavemaker.inlet(self.laplace, setup) for wavemaker in setup.wavemakers]
        sponges = [layer.sponge(self.laplace, setup) for layer in setup.sponges]
        self._sides: list[Any] = [*inlets, *sponges]
        self.paddle_velocity = self.laplace.surface_zeros(3) if inlets else None
        self.averages = SurfaceAverages(self, setup.time_statistics)
        self.statistics = None if setup.statistics is None else SurfaceAverages(self, setup.statistics)
        breaking = [] if self.breaking is None else [self.breaking]
        forcing = [*inlets, *breaking, *sponges]  # sponges last: they take the whole of eta_t
        self._steps = Steps(self.laplace, setup.gravity, 0.0, setup.relaxation_zones, forcing)
        self._steps.taken = self._take_up
        self._rates: Any = self.laplace.surface_zeros(2) if inlets else None
        self._set_rates: list[Any] = list(self.laplace.rates(self._rates, setup.gravity)) if inlets else []
        self._filter = SurfaceFilter(self.laplace) if setup.surface_filter else None
        self.counts = {"steps": 0.0, "iterations": 0.0, "dt_min": math.inf, "dt_max": 0.0}

    # -- steps --------------------------------------------------------------------------------------

    def advance(self, time: float, dt: float) -> None:
        """Step from a time, s, by dt, s; in parts where breaking waves need shorter steps.

        Raises
        ------
        ConvergenceError
            If a Laplace problem has no solution; the fields are then those of a stage, of no use.
        """
        counts, parts = self.counts, self._parts(dt)
        part = dt / parts
        for n in range(parts):
            self._steps.time = time + n * part
            self._aim()
            counts["iterations"] += self._steps.step(part)
            counts["steps"] += 1.0
            if self._filter is not None and counts["steps"] % self.setup.surface_filter == 0.0:
                self._filter.apply()
            counts["dt_min"], counts["dt_max"] = min(counts["dt_min"], part), max(counts["dt_max"], part)

    def _parts(self, dt: float) -> int:
        """Parts of a step of dt, s: more than one where crests that break carry short waves too far in one."""
        if self.breaking is None:
            return 1
        self._aim()
        self._steps.look()
        return self.breaking.parts(dt)

    def _aim(self) -> None:
        """Set what is small: the tolerance times the size of Psi at the bottom, by root mean square."""
        if self._steps.ahead is None:
            size = self.laplace.size_at_bottom()
            self._steps.small = self.setup.tolerance * max(size, self.setup.smallest)

    def look(self) -> bool:
        """Find the vertical velocity of the present surface; returns whether there is one.

        The next step begins with that, so that a run has the same bits whether it is looked at or not.
        """
        self._aim()
        try:
            self._steps.look()
        except ConvergenceError:
            return False
        return True

    def _take_up(self, time: float) -> None:
        """Take up the state of a time, s, whose vertical velocity is there."""
        self._average(time)
        if self.statistics is not None:
            self.statistics.take_up(time)

    def _average(self, time: float) -> None:
        """Add the state of a time, s, to the averages."""
        averages = self.averages.asked
        if averages is not None and not set(averages.planes.quantities) <= OF_THE_SURFACE:
            self._find_paddle_velocity(time)
        self.averages.take_up(time)

    def begin(self, clock: Callable[[], float]) -> None:
        """Begin averages now; clock : tells the time, s."""
        self._clock = clock
        self._resume({}, clock())

    def maps_state(self) -> dict[str, np.ndarray]:
        """The averages, with the present state taken up if its flow can be found."""
        asked = self.averages.asked
        if asked is not None and (set(asked.planes.quantities) <= OF_THE_SURFACE or self.look()):
            self._average(self._clock())
        return self.averages.state()

    def statistics_now(self) -> dict[str, np.ndarray]:
        """What the section of statistics asks for, with the present state taken up; nothing without one."""
        if self.statistics is None or self.setup.statistics is None:
            return {}
        self.statistics.take_up(self._clock())
        return self.setup.statistics.values(self.statistics.state(), {})

    def flow(self) -> Flow:
        """The flow under the present surface: the same bits whether that was looked at before or not.

        Raises
        ------
        ConvergenceError
            If there is none.
        """
        self.look()
        known = self.laplace, self.setup.gravity, self._steps.small
        flow = Flow(*known, linear=self.setup.linear, forcing=self._sides)
        flow.update(self._clock())
        return flow

    @property
    def iterations_a_solve(self) -> float:
        """Mean of all steps; 0 before the first."""
        return self.counts["iterations"] / max(1.0, len(STAGES) * self.counts["steps"])

    # -- the state ----------------------------------------------------------------------------------

    def set_surface(self, surface: np.ndarray) -> None:
        """Start from an elevation, m, and the potential on it, m2/s, (2, ny, nx)."""
        self.device.fill(self.laplace.fields, surface)

    def surface(self) -> np.ndarray:
        """Elevation, m, and the potential on it, m2/s, (2, ny, nx), float64."""
        return self.device.host(self.laplace.fields)

    def velocity_of_wavemakers(self) -> np.ndarray:
        """Return what paddles add to the velocity at the surface, (3, ny, nx), m/s; NaN where unknown."""
        if self.paddle_velocity is None:
            return np.zeros((3, *self.setup.grid.shape))
        if not self.look():
            return np.full((3, *self.setup.grid.shape), np.nan)
        self._find_paddle_velocity(self._clock())
        return self.device.host(self.paddle_velocity)

    def _find_paddle_velocity(self, time: float) -> None:
        """Find the velocity that paddles add at the surface at a time, s, whose vertical velocity is there."""
        if self.paddle_velocity is None:
            return
        self.device.run(self._set_rates)
        self.device.fill(self.paddle_velocity, np.zeros((3, *self.setup.grid.shape)))
        for inlet, speed, _ in with_forcing(self._sides, time, self._rates):
            inlet.add_velocity(speed, self.paddle_velocity)

    def vertical_velocity(self) -> np.ndarray:
        """Of the water at the surface, (ny, nx), m/s, float64; NaN where it cannot be found."""
        if not self.look():
            return np.full(self.setup.grid.shape, np.nan)
        return self.device.host(self.laplace.w)[0].astype(np.float64)

    def state(self) -> dict[str, np.ndarray]:
        """Host copies of everything that a bitwise restart needs but for the time."""
        host, laplace, ahead = self.device.host, self.laplace, self._steps.ahead
        more = self.averages.state()
        if self.statistics is not None:
            more |= {name.replace("maps", "statistics"): own for name, own in self.statistics.state().items()}
        if self.breaking is not None:
            none = np.zeros(len(Breaker._fields))  # a first row, since files hold no empty arrays
            more["breakers"] = np.array([none, *self.breaking.log])
        return {
            **more,
            "surface": host(laplace.fields),
            "psi": host(laplace.psi),
            "psi_before": host(self._steps.before),
            "w": host(laplace.w),
            "counts": np.array([self.counts[name] for name in COUNTS]),
            "ahead": np.array([-1.0 if ahead is None else ahead, self._steps.small, self._steps.last]),
        }

    def restore(self, state: dict[str, np.ndarray], time: float) -> None:
        """Take up a state of `state`, of a time, s."""
        laplace, before = self.laplace, self._steps.before
        kept = {"surface": laplace.fields, "psi": laplace.psi, "psi_before": before, "w": laplace.w}
        for name, array in kept.items():
            self.device.fill(array, state[name].astype(array.dtype))
        self.counts = dict(zip(COUNTS, map(float, state["counts"]), strict=True))
        ahead, self._steps.small, self._steps.last = map(float, state["ahead"])
        self._steps.ahead = None if ahead < 0.0 else int(ahead)
        self._resume(state, time)
        if self.breaking is not None:
            self.breaking.log = [Breaker(*map(float, row)) for row in state.get("breakers", ())[1:]]
            self.breaking.active = list(self.breaking.log)  # those that have ended are left out at the next look

    def _resume(self, state: dict[str, np.ndarray], time: float) -> None:
        """Go on with the averages of a state of a time, s, or begin."""
        self.averages.take_over(state, time)
        if self.statistics is not None:
            own = {name.replace("statistics", "maps"): one for name, one in state.items() if "statistics" in name}
            self.statistics.take_over(own, time)
