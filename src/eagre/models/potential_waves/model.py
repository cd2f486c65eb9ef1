"""Fully nonlinear potential-flow waves: assembly and time step (equations: README.md in this folder)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.arguments import of_type
from eagre.backend.device import Device
from eagre.backend.tuned import device_for
from eagre.checks import check_sample, checked_number, checked_switch, one_of
from eagre.constants import GRAVITY
from eagre.contract import field_type
from eagre.device_mesh import rows_of_process
from eagre.fields import Variable
from eagre.grid import Grid
from eagre.models.base import BaseModel
from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
from eagre.models.potential_waves.boundaries.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.boundaries.wave_checks import check_zones, mean_wave_number
from eagre.models.potential_waves.engine import Engine
from eagre.models.potential_waves.inputs import (
    PERIODIC,
    check_kinds,
    check_memory,
    check_points,
    checked_breaking,
    checked_depth,
    checked_iteration,
    checked_multigrid,
    checked_preconditioner,
    checked_surface,
    checked_zones,
    correction_of,
    engine_of,
    min_significant_psi,
)
from eagre.models.potential_waves.laplace.base import MAX_ITERATIONS
from eagre.models.potential_waves.laplace.iteration import Convergence
from eagre.models.potential_waves.laplace.stencils import Vertical
from eagre.models.potential_waves.sampling.averaging import requested_averages
from eagre.models.potential_waves.sampling.diagnostics import energies, maximum_slope, volume
from eagre.models.potential_waves.sampling.kinematics import Kinematics, ProbeGroup
from eagre.models.potential_waves.sampling.outputs import (
    VARIABLES,
    field_of,
    notes_of,
    settings_of,
    summary_rows_of,
    variables_of,
)
from eagre.models.potential_waves.sampling.probes import Probes
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.stability import SPONGE_SAFETY_FACTOR, check_time_step, courant_step, longest_step
from eagre.models.potential_waves.stepper import Stepper
from eagre.models.potential_waves.surface.breaking import Breaker
from eagre.models.potential_waves.surface.surface_filter import checked_interval
from eagre.models.restart_state import check_state, grid_state
from eagre.names import unknown_field
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics, statistics_array_count
from eagre.stepping.mapped import RunMaps

WORDS_OF_PSI, WORDS_OF_CORRECTIONS = 3, 4  # values moved per unknown and iteration, with modes and a V(1,1) cycle
MIN_TOLERANCE = {"single": 2e-7, "double": 1e-13}  # corrections cannot fall below rounding error
USUAL_ITERATIONS = 6  # per Laplace solve, assumed before the first step


class PotentialWaves(BaseModel):
    """Fully nonlinear potential-flow waves for any relative depth, over a bed with slopes up to 1.5.

    The surface elevation and the surface potential are advanced by the classical Runge-Kutta method of order 4. Each of
    its four stages requires the solution of a Laplace problem for the potential below the surface.

    Parameters
    ----------
    grid : Grid
        Grid whose cell centres are the points (`Grid.from_points`); walls pass through the outermost points.
        A periodic axis of n points has the period n dx, and n must be even. One row (ny = 1) is a flume of width dy.
    depth : float or (ny, nx) array, m
        Still-water depth, positive everywhere.
    surface_elevation, surface_potential : float or (ny, nx) array, m and m2/s
        Initial surface elevation above still water, and initial velocity potential at the surface.
    periodic : {"none", "x", "y", "both"}
        Periodic axes; the sides of the other axes are walls.
    relaxation_zones : sequence of RelaxationZone
        Relaxation zones that generate or absorb waves.
    wavemakers : sequence of Wavemaker
        Sides with a piston wavemaker or a flux inlet.
    sponges : sequence of SpongeLayer
        Sponge layers that damp waves.
    order : {2, 4, 6, 8}
        Order of the finite differences.
    vertical_points : int
        Number of points from the surface to the bed, larger than `order`.
    vertical_clustering : bool
        Cluster the vertical points towards the surface; otherwise they are equidistant.
    linear : bool
        Solve the linearised equations (waves of small amplitude).
    time_step : float, s
        Time step; without it `courant_number` determines the time step.
    courant_number : float
        Courant number of a wave 20 points long in the deepest water: the number of spacings it travels per step.
    tolerance : float
        Tolerance of the Laplace solver: root mean square of the last correction relative to that of the potential.
    absolute_tolerance : float, m2 s-1
        Absolute tolerance of the Laplace solver. A solve has converged when the root mean square of a correction is at
        most max(absolute_tolerance, tolerance * scale); the scale is the root mean square of the difference of the
        potentials at bed and surface.
    max_iterations : int
        Maximum number of iterations per Laplace solve.
    on_nonconvergence : {"error", "continue"}
        Raise `BlowUpError` if a Laplace solve does not converge, or continue with the last iterate. The run summary
        then counts such solves. Corrections that are not finite are always an error.
    gravity : float, m s-2
        Acceleration of gravity.
    breaking : bool or dict
        Dissipate the energy of breaking crests. A dict sets `max_crest_speed_ratio`, `max_front_slope` and `strength`
        of `Breaking`.
    surface_filter : int
        Number of steps between applications of the surface filter (`surface_filter.SurfaceFilter`), which removes
        grid-scale sawtooth oscillations in steep waves; 0 disables it. 10 suits waves with 20 or more points.
    statistics_from : float, s
        Start of the surface statistics at every point: maximum, minimum and mean elevation, significant wave height.
    time_statistics : TimeStatistics, optional
        Means, variances and extremes of the surface and its velocity, accumulated at every step; see `maps`.
    multigrid : dict, optional
        Options of `eagre.solvers.multigrid.Multigrid` that replace its defaults: cycle, pre, post, levels, stretched,
        smoother, weight.
    device : str, or a sequence of them
        "auto", "cpu", "cuda" or "cuda:N". Several devices, as ["cuda:0", "cuda:1"] or "cuda:0,cuda:1", share the rows.
    preconditioner : {"modes", "lines"}
        Preconditioner of the Laplace solver. "modes" diagonalises the vertical operator and is the faster one. "lines"
        is available for comparison: differences of order 2, zebra sweeps of columns, no relaxation of corrections.
    correction_precision : {"single", "double"}
        Precision of the corrections in a double-precision run. Residuals are always computed in double precision, so
        single-precision corrections cost neither accuracy nor iterations.
    precision : {"single", "double"}
        Precision of the potential below the surface; surface fields are always in double precision.
    start_time : float, s
        Model time at the start.

    Raises
    ------
    InputError
        If a value is outside its range, shapes do not match, the bed is not below still water everywhere, or the time
        step exceeds the stability limit of the Runge-Kutta method.
    DeviceError, MemoryNeededError
        If the device is not available, or its memory is too small.

    Notes
    -----
    Good values: order 6, 9 vertical points, at least 20 points per wave length, at least 30 steps per period. Limits:
    breaking is parameterised, waves do not overturn, run-up occurs on walls only; beds steeper than 1:1 need more
    iterations.

    References
    ----------
    A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009),
    doi:10.1016/j.jcp.2008.11.028.
    """

    kind = "potential-waves"
    initial_notes: tuple[str, ...] = ()
    """Notes on the initial waves of a case file."""

    def __init__(
        self,
        grid: Grid,
        depth: Any,
        *,
        surface_elevation: Any = 0.0,
        surface_potential: Any = 0.0,
        periodic: str = "none",
        relaxation_zones: Sequence[RelaxationZone] = (),
        wavemakers: Sequence[Wavemaker] = (),
        sponges: Sequence[SpongeLayer] = (),
        order: int = 6,
        vertical_points: int = 9,
        vertical_clustering: bool = True,
        linear: bool = False,
        time_step: float | None = None,
        courant_number: float = 0.5,
        tolerance: float = 1e-5,
        absolute_tolerance: float = 0.0,
        max_iterations: int = MAX_ITERATIONS,
        on_nonconvergence: str = "error",
        gravity: float = GRAVITY,
        breaking: bool | Mapping[str, float] = False,
        surface_filter: int = 0,
        statistics_from: float | None = None,
        time_statistics: TimeStatistics | None = None,
        multigrid: Mapping[str, Any] | None = None,
        preconditioner: str = "modes",
        correction_precision: str = "single",
        device: str | Device | Sequence[str | Device] = "auto",
        precision: str = "single",
        start_time: float = 0.0,
    ) -> None:
        self.grid, self.precision = of_type("grid", grid, Grid, "eagre.Grid(200, 100, 10.0, 10.0)"), precision
        self.device = device_for(device, self.kind, grid.cells, precision)
        vertical = Vertical(vertical_points, order, checked_switch("vertical_clustering", vertical_clustering))
        check_kinds(relaxation_zones, wavemakers, sponges)
        requested: dict[str, Any] = requested_averages(VARIABLES, time_statistics, statistics_from)
        arrays = statistics_array_count(requested["time_statistics"], precision)
        check_memory(grid, self.device, precision, vertical_points, arrays)
        check_points(grid, periodic_axes := PERIODIC[one_of("periodic", periodic, tuple(PERIODIC))], order)
        h, g = checked_depth(depth, grid), checked_number("gravity", gravity, 1e-6, 1e6)
        check_zones(relaxation_zones, h, grid, periodic_axes)
        surface = checked_surface(surface_elevation, surface_potential, h, grid)
        longest = longest_step(h, grid, vertical, g, sponges)
        if time_step is None:
            time_step = courant_step(checked_number("courant_number", courant_number, 1e-6, 10.0), h, grid, g)
            time_step = min(time_step, SPONGE_SAFETY_FACTOR * longest) if sponges else time_step
        check_time_step(checked_number("time_step", time_step, 1e-12, 1e12), longest, sponges)
        self.setup = Setup(
            grid=grid,
            depth=h,
            periodic=periodic_axes,
            vertical=vertical,
            linear=checked_switch("linear", linear),
            time_step=float(time_step),
            tolerance=checked_number("tolerance", tolerance, MIN_TOLERANCE[precision], 0.1),
            **checked_iteration(absolute_tolerance, max_iterations, on_nonconvergence),
            initial_wave_number=mean_wave_number(surface, (grid.dy, grid.dx)),
            min_psi_scale=min_significant_psi(surface, h, relaxation_zones, wavemakers, grid, g),
            gravity=g,
            relaxation_zones=checked_zones(relaxation_zones, grid, periodic_axes, wavemakers),
            breaking=checked_breaking(breaking),
            multigrid=checked_multigrid(multigrid),
            preconditioner=checked_preconditioner(preconditioner, self.device),
            correction=correction_of(correction_precision, precision),
            wavemakers=tuple(wavemakers),
            sponges=tuple(sponges),
            surface_filter=checked_interval(surface_filter),
            **requested,
        )
        self._begin(surface, float(start_time))

    def _begin(self, surface: np.ndarray, start: float) -> None:
        """Build the engine and set its initial state."""
        self._engine = engine_of(self.setup, self.device, self.precision)
        self._engine.set_surface(surface)
        self._stepper = Stepper(self._engine, start)
        self._first_volume = volume(surface[0], self.setup)

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine = Engine(self.setup, self.device, self.precision)
        self._stepper = Stepper(self._engine, float(state["clock"][0]))

    # -- time ---------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._stepper.time

    @property
    def steps(self) -> int:
        """Number of completed steps."""
        return int(self._engine.counts["steps"])

    @property
    def time_step(self) -> float:
        """Time step, s; the last step before an output time is shorter."""
        return self.setup.time_step

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Advance to `until`, s, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` is before the present model time.
        BlowUpError
            If the Laplace solver diverges, as under breaking waves, or the solution is no longer finite. The model then
            holds the last valid state.
        """
        stepper, series = self._stepper, self.setup.series
        advance(stepper, stepper.checkpoint, until, max_steps, check_interval=stepper.check_interval, series=series)

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """Return a function that advances `count` steps without checks, for timing."""

        def make() -> None:
            self._stepper.step(np.inf, count)

        return make

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Variable]:
        """Fields that `field` returns, by name."""
        return {variable.name: variable for variable in variables_of(self.setup)}

    @property
    def breakers(self) -> list[Breaker]:
        """Breaking events so far, in chronological order."""
        return [] if self._engine.breaking is None else list(self._engine.breaking.log)

    @property
    def breakers_found(self) -> list[Breaker]:
        """`breakers`, and after a blow-up also the events between the last valid state and the blow-up."""
        return [] if self._engine.breaking is None else list(self._engine.breaking.detected)

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a field at the points, (ny, nx).

        Velocities need a Laplace solve, whose result the next step reuses.
        """
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        return field_of(self._engine, name).astype(field_type(self))

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Return values of fields at points (j, i)."""
        j, i = check_sample(names, points, self.variables, self.grid)
        rows = {"surface_elevation": 0, "surface_potential": 1}
        values = self._engine.device.sample(self._engine.laplace.fields, j, i) if rows.keys() & set(names) else None
        return {
            name: self.field(name)[j, i] if values is None or name not in rows
            else values[rows[name]].astype(field_type(self))
            for name in names
        }  # fmt: skip

    def kinematics(self, x: Any, y: Any = 0.0, **level: Any) -> Kinematics:
        """Return velocity, acceleration and pressure of the water at arbitrary points at the present time.

        Parameters
        ----------
        x, y : float or (n,) array, m
        level : float or (n,) array
            One of ``z=`` (m, upward from still water), ``below=`` (m below the surface) and ``sigma=`` (0 at the bed,
            1 at the surface).

        Notes
        -----
        Each call solves two Laplace problems. Calls do not change the results of the run.
        """
        setup = self.setup
        probes = Probes(setup.depth, (self.grid.x, self.grid.y), setup.vertical, setup.periodic, x, y, **level)
        return self._engine.flow().sample(probes)

    def probe_group(self, probes: Mapping[str, Mapping[str, Any]]) -> ProbeGroup:
        """Return named probes that sample the flow of this model during a run.

        Parameters
        ----------
        probes : mapping of str to mapping
            Probes by name, as in {"pile": {"x": 12.0, "z": [-0.2, -0.1]}}: x, y (default 0), m, and one of z, below and
            sigma of `kinematics`; each is a number or a list.
        """
        return ProbeGroup(self.setup, lambda: self._engine.flow(), probes)

    @property
    def maps(self) -> RunMaps | None:
        """Requested averages up to now (`maps.sample()` returns their values), or None."""
        requested = self.setup.time_statistics
        if requested is None:
            return None
        return RunMaps(self.grid, lambda: (self._engine.maps_state(), self.time), requested)

    def convergence(self) -> Convergence:
        """Return the convergence history of the last Laplace solve, also of a solve that failed.

        A time step has four solves; fields, probes and diagnostics may need further ones.

        Returns
        -------
        Convergence
            method, iterations, rate, norms (m2/s, one per iteration) and tolerance (m2/s).
        """
        return self._engine.laplace.convergence

    @property
    def statistics_start(self) -> float:
        """Start of the surface statistics, s; NaN if they are not enabled."""
        statistics = self._engine.statistics
        return math.nan if statistics is None else statistics.since

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the complete state; a run restarted from it is bitwise identical."""
        more = {"first_volume": np.array(self._first_volume)}
        return {**self._stepper.whole_state(), **more, **grid_state(self.grid, self.setup.restart_references)}

    @property
    def rows_of_process(self) -> tuple[int, int]:
        """Rows of the grid that `restore` reads in this process: the first, and one past the last."""
        return rows_of_process(self._engine.device, self.grid)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Load a state that `state` of a model with the same setup returned."""
        plane = self.grid.shape
        volume = (self.setup.vertical.nz + 1, *plane)
        fields = {"surface": (2, *plane), "psi": volume, "psi_before": volume, "w": (1, *plane)}
        check_state(
            state, fields, self.grid, ("counts", "ahead", "clock", "first_volume"), self.setup.restart_references
        )
        self._stepper.restore(state)
        self._first_volume = float(state["first_volume"])
        if self._engine.breaking is not None:
            self._engine.breaking.detected = dict.fromkeys(self.breakers)
        self._stepper.checkpoint.forget()

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Return volume, m3, energies, J, minimum and maximum surface elevation, m, and maximum surface slope.

        The relative volume error is included if the basin is closed. Energies are for a density of 1000 kg m-3.
        """
        setup, surface = self.setup, self._engine.surface()
        water_volume = volume(surface[0], setup)
        kinetic, potential = energies(surface, self._engine.vertical_velocity(), setup)
        values = {
            "volume": water_volume,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "energy": kinetic + potential,
            "min_surface_elevation": float(surface[0].min()),
            "max_surface_elevation": float(surface[0].max()),
            "max_slope": maximum_slope(surface[0], setup)[0],
        }
        return {**values, "volume_error": water_volume / self._first_volume - 1.0} if setup.closed else values

    def statistics(self) -> dict[str, float]:
        """Return the numbers of steps, the range of time steps, s, and the mean iterations per Laplace solve."""
        counts, first = self._engine.counts, math.nan if self.steps else self.time_step
        return {
            "steps": self.steps,
            "redone_steps": 0,
            "dt_min": counts["dt_min"] if counts["dt_max"] else first,
            "dt_max": counts["dt_max"] or first,
            "iterations_a_solve": self._engine.iterations_a_solve,
        }

    @property
    def bytes_per_step(self) -> int:
        """Compulsory memory traffic per point and step, bytes.

        A step has four Laplace solves; each iteration moves 7 values per unknown.
        """
        iterations = self._engine.iterations_a_solve or USUAL_ITERATIONS
        laplace = self._engine.laplace
        size = WORDS_OF_PSI * laplace.real().itemsize + WORDS_OF_CORRECTIONS * laplace.multigrid.real().itemsize
        return round(4.0 * iterations * size * (self.setup.vertical.nz - 1))

    @property
    def notes(self) -> list[str]:
        """Notes before the run: time step and its limit, relaxation zones, points per wave length, walls."""
        return [*notes_of(self.setup), *self.initial_notes]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """Rows of the run summary: solver iterations, surface elevation and slope, breaking, statistics."""
        return summary_rows_of(self._engine)

    def settings(self) -> dict[str, str | float | int]:
        """Return the resolved setup, for the attributes of output files."""
        return {**settings_of(self.setup), "device": str(self.device), "precision": self.precision}
