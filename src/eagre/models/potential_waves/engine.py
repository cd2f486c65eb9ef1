"""Engine of the potential-flow waves: Laplace solver, time steps, forcing and statistics of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.device_mesh import HostSlabs
from eagre.errors import ConvergenceError
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.laplace.solver import LaplaceProblem
from eagre.models.potential_waves.laplace.solver_subdomains import DistributedLaplace
from eagre.models.potential_waves.sampling.averaging import OF_THE_SURFACE, SurfaceAverages
from eagre.models.potential_waves.sampling.kinematics import Flow
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.step import STAGES, Steps
from eagre.models.potential_waves.surface.breaking import Breaker, Breaking
from eagre.models.potential_waves.surface.surface_filter import SurfaceFilter
from eagre.stepping.clock import UNCUT

COUNTS = ("steps", "iterations", "dt_min", "dt_max")


class Engine:
    """Run on one or several devices.

    Attributes
    ----------
    laplace : Laplace
        Laplace solver; its `fields` are the state.
    counts : dict
        Number of steps, total iterations of their Laplace solves, shortest and longest time step, s.
    breaking : Breaking or None
    averages : SurfaceAverages
    statistics : SurfaceAverages or None
        Averages for the surface statistics (case section [statistics]).
    """

    def __init__(self, setup: Setup, device: Device | Group, precision: str) -> None:
        self.setup = setup
        known = (setup.depth, setup.spacing, setup.vertical, setup.periodic)
        points = setup.grid.x, setup.grid.y
        more = {"linear": setup.linear, "multigrid": setup.multigrid, "correction": setup.correction, "points": points}
        more |= {"max_iterations": setup.max_iterations, "on_nonconvergence": setup.on_nonconvergence}
        self.laplace: Laplace = (
            DistributedLaplace(*known, device, precision, **more)
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
        self._inlets, self._sides = inlets, [*inlets, *sponges]
        self.paddle_velocity = self.laplace.surface_zeros(3) if inlets else None
        self.averages = SurfaceAverages(self, setup.time_statistics)
        self.statistics = None if setup.statistics is None else SurfaceAverages(self, setup.statistics)
        breaking = [] if self.breaking is None else [self.breaking]
        forcing = [*inlets, *breaking, *sponges]  # sponges last: they use the complete eta_t
        self._steps = Steps(self.laplace, setup.gravity, 0.0, setup.relaxation_zones, forcing)
        self._steps.on_step_start = self._take_up
        self._rates: Any = self.laplace.surface_zeros(2) if inlets else None
        self._set_rates: list[Any] = list(self.laplace.rates(self._rates, setup.gravity)) if inlets else []
        self._filter = SurfaceFilter(self.laplace) if setup.surface_filter else None
        self.counts = {"steps": 0.0, "iterations": 0.0, "dt_min": math.inf, "dt_max": 0.0}

    # -- steps --------------------------------------------------------------------------------------

    def advance(self, time: float, dt: float) -> None:
        """Advance from a time, s, by dt, s, with substeps if breaking waves require them.

        A dt below the time step, which ends at an output time, does not count in the range of time steps.

        Raises
        ------
        ConvergenceError
            If the Laplace solver does not converge. The fields then hold an unusable intermediate stage.
        """
        counts, substeps = self.counts, self._substeps(dt)
        substep_dt = dt / substeps
        for n in range(substeps):
            self._steps.time = time + n * substep_dt
            self._aim()
            counts["iterations"] += self._steps.step(substep_dt)
            counts["steps"] += 1.0
            if self._filter is not None and counts["steps"] % self.setup.surface_filter == 0.0:
                self._filter.apply()
            if dt >= UNCUT * self.setup.time_step:
                counts["dt_min"] = min(counts["dt_min"], substep_dt)
                counts["dt_max"] = max(counts["dt_max"], substep_dt)

    def _substeps(self, dt: float) -> int:
        """Return the number of substeps of a step of dt, s; see `Breaking.substeps`."""
        if self.breaking is None:
            return 1
        self._aim()
        self._steps.compute_w()
        return self.breaking.substeps(dt)

    def _aim(self) -> None:
        """Set the tolerance: the absolute one, or if larger the relative one times the RMS of Psi at the bottom."""
        if self._steps.first_iterations is None:
            size = self.laplace.size_at_bottom()
            relative = self.setup.tolerance * max(size, self.setup.min_psi_scale)
            self._steps.tolerance = max(self.setup.absolute_tolerance, relative)

    def compute_w(self) -> bool:
        """Compute the vertical velocity at the present surface; return whether the solver converged.

        The next step reuses the solution, so results do not depend on whether this method is called.
        """
        self._aim()
        try:
            self._steps.compute_w()
        except ConvergenceError:
            return False
        return True

    def _take_up(self, time: float) -> None:
        """Accumulate the state at a time, s, whose vertical velocity is known, into averages and statistics."""
        self._average(time)
        if self.statistics is not None:
            self.statistics.take_up(time)

    def _average(self, time: float) -> None:
        """Accumulate the state at a time, s, into the averages."""
        averages = self.averages.plan
        if averages is not None and not set(averages.planes.quantities) <= OF_THE_SURFACE:
            self._find_paddle_velocity(time)
        self.averages.take_up(time)

    def begin(self, clock: Callable[[], float]) -> None:
        """Start the averages now; `clock` returns the model time, s."""
        self._clock = clock
        self._resume({}, clock())

    def maps_state(self) -> dict[str, np.ndarray]:
        """Return the averages, including the present state if its flow can be computed."""
        requested = self.averages.plan
        if requested is not None and (set(requested.planes.quantities) <= OF_THE_SURFACE or self.compute_w()):
            self._average(self._clock())
        return self.averages.state()

    def statistics_now(self) -> dict[str, np.ndarray]:
        """Return the surface statistics, including the present state; empty without them or in other processes."""
        if self.statistics is None or self.setup.statistics is None:
            return {}
        self.statistics.take_up(self._clock())
        state = self.statistics.state()
        return self.setup.statistics.values(state, {}) if state else {}

    def flow(self) -> Flow:
        """Return the flow below the present surface.

        Raises
        ------
        ConvergenceError
            If the Laplace solver does not converge.
        """
        self.compute_w()
        known = self.laplace, self.setup.gravity, self._steps.tolerance
        flow = Flow(*known, linear=self.setup.linear, forcing=self._sides)
        flow.update(self._clock())
        return flow

    @property
    def iterations_a_solve(self) -> float:
        """Mean iterations per Laplace solve over all steps; 0 before the first step."""
        return self.counts["iterations"] / max(1.0, len(STAGES) * self.counts["steps"])

    # -- the state ----------------------------------------------------------------------------------

    def set_surface(self, surface: np.ndarray) -> None:
        """Set the surface elevation, m, and the surface potential, m2/s, (2, ny, nx)."""
        self.device.fill(self.laplace.fields, surface)

    def surface(self) -> np.ndarray:
        """Return the surface elevation, m, and the surface potential, m2/s, (2, ny, nx), float64."""
        return self.device.host(self.laplace.fields)

    def velocity_of_wavemakers(self) -> np.ndarray:
        """Return the surface velocity due to wavemakers, (3, ny, nx), m/s; NaN if the solver does not converge."""
        if self.paddle_velocity is None:
            return np.zeros((3, *self.setup.grid.shape))
        if not self.compute_w():
            return np.full((3, *self.setup.grid.shape), np.nan)
        self._find_paddle_velocity(self._clock())
        return self.device.host(self.paddle_velocity)

    def _find_paddle_velocity(self, time: float) -> None:
        """Compute the surface velocity due to wavemakers at a time, s, whose vertical velocity is known."""
        if self.paddle_velocity is None:
            return
        self.device.run(self._set_rates)
        self.device.fill(self.paddle_velocity, np.zeros((3, *self.setup.grid.shape)))
        for forcing in self._sides:
            forcing.add(time, 0.0, 0, self._rates)
        for inlet in self._inlets:
            inlet.add_velocity(self.paddle_velocity)

    def vertical_velocity(self) -> np.ndarray:
        """Return the vertical velocity at the surface, (ny, nx), m/s, float64; NaN if the solver does not converge."""
        if not self.compute_w():
            return np.full(self.setup.grid.shape, np.nan)
        return self.device.host(self.laplace.w)[0].astype(np.float64)

    def state(self) -> dict[str, np.ndarray]:
        """Return host copies of the complete state except for the time, for a bitwise identical restart.

        Of several processes, only the first has the fields.
        """
        return self._other_state(lambda one: one.state()) | self.device.collect(self._state_arrays())

    def local_state(self) -> dict[str, Any]:
        """Return the state in the rows of this process, for `restore`."""
        fields = {name: self.device.local_copy(one) for name, one in self._state_arrays().items()}
        return self._other_state(lambda one: one.local_state()) | fields

    def _state_arrays(self) -> dict[str, Any]:
        laplace = self.laplace
        return {"surface": laplace.fields, "psi": laplace.psi, "psi_before": self._steps.psi_mid, "w": laplace.w}

    def _other_state(self, state_of: Callable[[SurfaceAverages], dict[str, Any]]) -> dict[str, Any]:
        """Return the averages, the breaking events, the counts and the numbers of the next Laplace solve.

        state_of : returns the state of averages.
        """
        more, count = state_of(self.averages), self._steps.first_iterations
        if self.statistics is not None:
            more |= {name.replace("maps", "statistics"): value for name, value in state_of(self.statistics).items()}
        if self.breaking is not None:
            none = np.zeros(len(Breaker._fields))  # an extra first row, because files cannot hold empty arrays
            more["breakers"] = np.array([none, *self.breaking.log])
        return {
            **more,
            "counts": np.array([self.counts[name] for name in COUNTS]),
            "ahead": np.array([-1.0 if count is None else count, self._steps.tolerance, self._steps.last]),
        }

    def restore(self, state: dict[str, Any], time: float) -> None:
        """Load a state of `state` or `local_state` at a time, s."""
        for name, array in self._state_arrays().items():
            values = state[name]
            is_local = isinstance(values, HostSlabs)
            self.device.fill(array, values if is_local else values.astype(array.dtype, copy=False))
        self.counts = dict(zip(COUNTS, map(float, state["counts"]), strict=True))
        first_iterations, self._steps.tolerance, self._steps.last = map(float, state["ahead"])
        self._steps.first_iterations = None if first_iterations < 0.0 else int(first_iterations)
        self._resume(state, time)
        if self.breaking is not None:
            self.breaking.log = [Breaker(*map(float, row)) for row in state.get("breakers", ())[1:]]
            self.breaking.active = list(self.breaking.log)  # finished events are removed at the next detection

    def _resume(self, state: dict[str, np.ndarray], time: float) -> None:
        """Resume the averages from a state at a time, s, or start them."""
        self.averages.take_over(state, time)
        if self.statistics is not None:
            values = {name.replace("statistics", "maps"): one for name, one in state.items() if "statistics" in name}
            self.statistics.take_over(values, time)
