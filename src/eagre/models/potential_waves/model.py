"""Fully nonlinear potential-flow waves: assembly and time step (equations: README.md in this folder)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.tuned import device_for
from eagre.checks import check_sample, check_state, checked_number, grid_state, one_of
from eagre.constants import GRAVITY
from eagre.contract import field_type
from eagre.fields import Variable
from eagre.given import of_type
from eagre.grid import Grid
from eagre.models.base import BaseModel
from eagre.models.potential_waves.averaging import asked_of_waves
from eagre.models.potential_waves.breaking import Breaker
from eagre.models.potential_waves.diagnostics import energies, steepest, volume
from eagre.models.potential_waves.engine import Engine
from eagre.models.potential_waves.inputs import (
    PERIODIC,
    check_kinds,
    check_memory,
    check_points,
    checked_breaking,
    checked_depth,
    checked_multigrid,
    checked_preconditioner,
    checked_surface,
    checked_zones,
    correction_of,
    engine_of,
    smallest_psi,
)
from eagre.models.potential_waves.kinematics import Kinematics
from eagre.models.potential_waves.outputs import (
    VARIABLES,
    field_of,
    notes_of,
    settings_of,
    summary_rows_of,
    variables_of,
)
from eagre.models.potential_waves.predicted_errors import mean_wave_number
from eagre.models.potential_waves.probe_group import ProbeGroup
from eagre.models.potential_waves.probes import Probes
from eagre.models.potential_waves.setup import Setup
from eagre.models.potential_waves.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.stability import SPARE, check_time_step, courant_step, longest_step
from eagre.models.potential_waves.stencils import Vertical
from eagre.models.potential_waves.stepper import Stepper
from eagre.models.potential_waves.surface_filter import checked_interval
from eagre.models.potential_waves.wave_checks import check_zones
from eagre.models.potential_waves.zones import RelaxationZone
from eagre.names import unknown_field
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics, words_of
from eagre.stepping.mapped import RunMaps

WORDS_OF_PSI, WORDS_OF_CORRECTIONS = 3, 4  # an unknown and iteration, with the modes and a V(1,1) cycle
SMALLEST_TOLERANCE = {"single": 2e-7, "double": 1e-13}  # rounding does not let corrections become smaller
USUAL_ITERATIONS = 6  # of a Laplace problem, before there is a count


class PotentialWaves(BaseModel):
    """Nonlinear waves on water of any depth, without vorticity, over a bed of slope 1.5 at most.

    The elevation and the potential on the surface are stepped by Runge-Kutta's method of order 4; a Laplace problem
    for the water below is solved in each of its four stages.

    Parameters
    ----------
    grid : Grid
        Its cell centres are the points; walls stand on the outermost ones (`Grid.from_points`). A periodic axis of n
        points has the period n dx, and n is even. One row of points (ny = 1) is a flume dy wide.
    depth : float or (ny, nx) array, m
        Of still water, > 0 everywhere.
    surface_elevation, surface_potential : float or (ny, nx) array, m and m2/s
        At the start, over still water.
    periodic : {"none", "x", "y", "both"}
    relaxation_zones : sequence of RelaxationZone
        Strips along sides in which waves are made or absorbed.
    wavemakers : sequence of Wavemaker
        Sides that are pistons, or through which water flows.
    sponges : sequence of SpongeLayer
        Strips along sides that take the energy of waves.
    order : {2, 4, 6, 8}
        Of the differences.
    vertical_points : int
        Points from the surface to the bed, more than `order`.
    vertical_clustering : bool
        Whether they are denser towards the surface.
    linear : bool
        Waves of small height.
    time_step : float, s
        Without it by `courant_number`.
    courant_number : float
        Spacings that a wave of 20 points runs in a time step.
    tolerance : float
        Of the Laplace problems: the last correction relative to the potential below the surface, by root mean square.
    gravity : float, m s-2
    breaking : bool or dict
        Whether crests that break are dissipated; a dict of `max_crest_speed_ratio`, `max_front_slope` and `strength`
        of `Breaking`.
    surface_filter : int
        Number of steps between two applications of the filter of the surface (`surface_filter.SurfaceFilter`), which
        removes sawtooth waves of the grid in steep waves; 0 for none. 10 suits waves of 20 points and more.
    statistics_from : float, s
        From here on the highest, lowest and mean surface and the significant height are gathered at every point.
    time_statistics : TimeStatistics, optional
        Means, variances and extremes of the surface and its velocity, gathered at every step; see the attribute `maps`.
    multigrid : dict, optional
        Other choices of `eagre.solvers.multigrid.Multigrid` than its defaults, as they are given there: cycle, pre,
        post, levels, stretched, smoother, weight.
    device : str, or a sequence of them
        "auto", "cpu", "cuda" or "cuda:N"; several as ["cuda:0", "cuda:1"] or "cuda:0,cuda:1": each has a band of rows.
    preconditioner : {"modes", "lines"}
        Of the Laplace problems. Modes of the vertical operator are the fastest known; lines along sigma are there to
        compare with: differences of order 2, zebra sweeps of columns, corrections that are not relaxed.
    correction_precision : {"single", "double"}
        Of the corrections of a run in double precision: what is missing is always found in double precision, so that
        single corrections cost neither digits nor iterations.
    precision : {"single", "double"}
        Of the water below the surface; the surface itself is always kept in double precision.
    start_time : float, s

    Raises
    ------
    InputError
        For values outside these ranges, shapes that do not match, a bed that is not below still water everywhere,
        or a time step that Runge-Kutta's method does not bear.
    DeviceError, MemoryNeededError
        If the device is not there, or too small.

    Notes
    -----
    Good values: order 6, 9 layers, 20 points or more a wave length, 30 steps or more a period. Limits: breaking is a
    model, no overturning, no run-up but on walls; a bed steeper than 1:1 costs iterations.

    References
    ----------
    A. P. Engsig-Karup, H. B. Bingham, O. Lindberg, J. Comput. Phys. 228, 2100-2118 (2009),
    doi:10.1016/j.jcp.2008.11.028.
    """

    kind = "potential-waves"
    initial_notes: tuple[str, ...] = ()
    """Notes on the waves from which a case file made the initial surface."""

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
        vertical = Vertical(vertical_points, order, bool(vertical_clustering))
        check_kinds(relaxation_zones, wavemakers, sponges)
        asked = asked_of_waves(VARIABLES, time_statistics, statistics_from)
        check_memory(grid, self.device, precision, vertical_points, words_of(asked["time_statistics"], precision))
        check_points(grid, wraps := PERIODIC[one_of("periodic", periodic, tuple(PERIODIC))], order)
        h, g = checked_depth(depth, grid), checked_number("gravity", gravity, 1e-6, 1e6)
        check_zones(relaxation_zones, h, grid, wraps)
        surface = checked_surface(surface_elevation, surface_potential, h, grid)
        longest = longest_step(h, grid, vertical, g, sponges)
        if time_step is None:
            time_step = courant_step(checked_number("courant_number", courant_number, 1e-6, 10.0), h, grid, g)
            time_step = min(time_step, SPARE * longest) if sponges else time_step
        check_time_step(checked_number("time_step", time_step, 1e-12, 1e12), longest, sponges)
        self.setup = Setup(
            grid=grid,
            depth=h,
            periodic=wraps,
            vertical=vertical,
            linear=bool(linear),
            time_step=float(time_step),
            tolerance=checked_number("tolerance", tolerance, SMALLEST_TOLERANCE[precision], 0.1),
            initial_wave_number=mean_wave_number(surface, (grid.dy, grid.dx)),
            smallest=smallest_psi(surface, h, relaxation_zones, wavemakers, grid, g),
            gravity=g,
            relaxation_zones=checked_zones(relaxation_zones, grid, wraps, wavemakers),
            breaking=checked_breaking(breaking),
            multigrid=checked_multigrid(multigrid),
            preconditioner=checked_preconditioner(preconditioner, self.device),
            correction=correction_of(correction_precision, precision),
            wavemakers=tuple(wavemakers),
            sponges=tuple(sponges),
            surface_filter=checked_interval(surface_filter),
            **asked,
        )
        self._begin(surface, float(start_time))

    def _begin(self, surface: np.ndarray, start: float) -> None:
        """Build the engine and set its first state."""
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
        """Steps made."""
        return int(self._engine.counts["steps"])

    @property
    def time_step(self) -> float:
        """The time step, s; the last one before a landing is shorter."""
        return self.setup.time_step

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Step to `until`, s, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` lies before the present.
        BlowUpError
            If a Laplace problem has no solution, as under breaking waves, or the solution stops being finite; the model
            then holds the last good state.
        """
        stepper = self._stepper
        advance(stepper, stepper.keeper, until, max_steps, look_steps=stepper.look_steps, series=self.setup.series)

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """A function that makes `count` steps and looks at none: for timing."""

        def make() -> None:
            self._stepper.step(np.inf, count)

        return make

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Variable]:
        """The fields that `field` gives."""
        return {variable.name: variable for variable in variables_of(self.setup)}

    @property
    def breakers(self) -> list[Breaker]:
        """Every crest that broke, in the order of time."""
        return [] if self._engine.breaking is None else list(self._engine.breaking.log)

    @property
    def breakers_found(self) -> list[Breaker]:
        """`breakers`, and after a blow-up also those between the last good state and it."""
        return [] if self._engine.breaking is None else list(self._engine.breaking.found)

    def field(self, name: str) -> np.ndarray:
        """Host copy of a field at the points, (ny, nx); velocities need a Laplace problem, the next step's first."""
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        return field_of(self._engine, name).astype(field_type(self))

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Values of fields at points (j, i)."""
        j, i = check_sample(names, points, self.variables, self.grid)
        rows = {"surface_elevation": 0, "surface_potential": 1}
        found = self._engine.device.pick(self._engine.laplace.fields, j, i) if rows.keys() & set(names) else None
        return {
            name: self.field(name)[j, i] if found is None or name not in rows
            else found[rows[name]].astype(field_type(self))
            for name in names
        }  # fmt: skip

    def kinematics(self, x: Any, y: Any = 0.0, **level: Any) -> Kinematics:
        """Velocity, acceleration and pressure of the water at points of the present, between those of the grid.

        Parameters
        ----------
        x, y : float or (n,) array, m
        level : float or (n,) array
            One of ``z=`` (m, upward from still water), ``below=`` (m under the surface) and ``sigma=`` (0 at the bed,
            1 at the surface). Two Laplace problems a call; the run goes on with the same bits.
        """
        setup = self.setup
        places = Probes(setup.depth, (self.grid.x, self.grid.y), setup.vertical, setup.periodic, x, y, **level)
        return self._engine.flow().at(places)

    def probe_group(self, probes: Mapping[str, Mapping[str, Any]]) -> ProbeGroup:
        """Probes with names, {"pile": {"x": 12.0, "z": [-0.2, -0.1]}}, that follow this model through a run.

        Of each name x, y (default 0), m, and one of z, below and sigma as of `kinematics`, a number or several.
        """
        return ProbeGroup(self.setup, lambda: self._engine.flow(), probes)

    @property
    def maps(self) -> RunMaps | None:
        """The averages that were asked for, up to now: `maps.sample()` gives them; None where none were."""
        asked = self.setup.time_statistics
        return RunMaps(self.grid, lambda: (self._engine.maps_state(), self.time), asked) if asked is not None else None

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a restart needs to go on bit for bit."""
        more = {"first_volume": np.array(self._first_volume)}
        return {**self._stepper.state(), **more, **grid_state(self.grid, self.setup.stood_on)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state` from a model of the same set-up."""
        plane = self.grid.shape
        volume = (self.setup.vertical.nz + 1, *plane)
        fields = {"surface": (2, *plane), "psi": volume, "psi_before": volume, "w": (1, *plane)}
        check_state(state, fields, self.grid, ("counts", "ahead", "clock", "first_volume"), self.setup.stood_on)
        self._stepper.restore(state)
        self._first_volume = float(state["first_volume"])
        if self._engine.breaking is not None:
            self._engine.breaking.found = dict.fromkeys(self.breakers)
        self._stepper.keeper.forget()

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Volume, m3, energies, J, lowest and highest surface, m, and its largest slope.

        The volume's error is relative, and told where no water comes or goes. Energies are of water of 1000 kg m-3.
        """
        setup, surface = self.setup, self._engine.surface()
        now = volume(surface[0], setup)
        kinetic, potential = energies(surface, self._engine.vertical_velocity(), setup)
        found = {
            "volume": now,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
            "energy": kinetic + potential,
            "min_surface_elevation": float(surface[0].min()),
            "max_surface_elevation": float(surface[0].max()),
            "max_slope": steepest(surface[0], setup)[0],
        }
        return {**found, "volume_error": now / self._first_volume - 1.0} if setup.closed else found

    def statistics(self) -> dict[str, float]:
        """Steps, time steps, s, and iterations of a Laplace problem."""
        counts = self._engine.counts
        shortest = min(counts["dt_min"], self.time_step) if self.steps == 0 else counts["dt_min"]
        longest = counts["dt_max"] if self.steps else self.time_step
        return {
            "steps": self.steps,
            "redone_steps": 0,
            "dt_min": shortest,
            "dt_max": longest,
            "iterations_a_solve": self._engine.iterations_a_solve,
        }

    @property
    def bytes_per_step(self) -> int:
        """Bytes a point that a step must move: four Laplace problems of so many iterations, 7 words an unknown each."""
        iterations = self._engine.iterations_a_solve or USUAL_ITERATIONS
        laplace = self._engine.laplace
        size = WORDS_OF_PSI * laplace.real().itemsize + WORDS_OF_CORRECTIONS * laplace.multigrid.real().itemsize
        return round(4.0 * iterations * size * (self.setup.vertical.nz - 1))

    @property
    def notes(self) -> list[str]:
        """What a user should know before the run: the time step and its limit, zones, points a wave, walls."""
        return [*notes_of(self.setup), *self.initial_notes]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """What the summary of a run tells of its end: iterations, and the steepest place of the surface."""
        return summary_rows_of(self._engine)

    def settings(self) -> dict[str, str | float | int]:
        """The resolved set-up, for the attributes of output files."""
        return {**settings_of(self.setup), "device": str(self.device), "precision": self.precision}
