"""Anelastic flow of air, after EULAG: assembly and time step (equations: README.md in this folder)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.advection.plan import Options
from eagre.backend.device import Device, check_precision
from eagre.backend.tuned import device_for
from eagre.checks import check_sample, checked_number, grid_state
from eagre.contract import field_type
from eagre.fields import Variable
from eagre.given import of_type
from eagre.grid import Grid, Levels
from eagre.models.anelastic.atmosphere import Atmosphere, check_height, checked_air
from eagre.models.anelastic.averaging import asked_of_air, fields_kept, maps_of
from eagre.models.anelastic.closure import Smagorinsky
from eagre.models.anelastic.diagnostics import diagnostics_of
from eagre.models.anelastic.drives import checked_drives
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.forcing import Forcing
from eagre.models.anelastic.inputs import (
    check_memory,
    checked_boundaries,
    checked_levels,
    checked_start,
    checked_top_sponge,
)
from eagre.models.anelastic.maxima import Maxima
from eagre.models.anelastic.mean_profiles import EVERY, MeanProfiles
from eagre.models.anelastic.outputs import (
    blocked_wind,
    field_of,
    fields_of,
    notes_of,
    settings_of,
    snapshot_of,
    summary_rows_of,
    variables_of,
)
from eagre.models.anelastic.probes import Probes
from eagre.models.anelastic.restarting import stood_on, taken_up, with_perturbation, without_perturbation
from eagre.models.anelastic.setup import Setup, metric_of
from eagre.models.anelastic.slices import Slice
from eagre.models.anelastic.spectra import Spectra
from eagre.models.anelastic.stability import checked_steps
from eagre.models.anelastic.stepper import LOOK_EVERY, Stepper
from eagre.models.anelastic.surface import Surface
from eagre.models.base import BaseModel
from eagre.names import unknown_field
from eagre.plausible import plausible_number
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics
from eagre.stepping.mapped import RunMaps

SMALLEST_TOLERANCE = {"single": 1e-8, "double": 1e-14}


class AnelasticFlow(BaseModel):
    """Flow of air, or any fluid whose density depends on height alone: waves, turbulence, convection, flow over hills.

    MPDATA carries velocity and potential temperature; pressure, buoyancy, Coriolis force and absorbers are implicit.

    Parameters
    ----------
    grid : Grid
        Its cell centres are the columns; on walls stand the outermost ones (`Grid.from_points`). A periodic axis of n
        points has the period n dx. One row (ny = 1) is flow in a plane.
    levels : int or (nz,) array, m
        Number of equal levels from 0 to `top_height`, or their heights over flat ground from 0 on.
    top_height : float, m
        Height of the domain; the period where z is periodic.
    atmosphere : Atmosphere
        Equations, reference and ambient air (`eagre.models.anelastic.atmosphere`); without it incompressible.
    velocity : tuple of three floats or (nz, ny, nx) arrays, m/s
        u, v, w at the start; its divergence is taken out. Without it the ambient wind.
    theta_perturbation : float or (nz, ny, nx) array, K
        Difference of the initial potential temperature from the ambient one; 0 if not given.
    scalars : mapping of name to (nz, ny, nx) array
        What is carried along.
    boundaries : mapping of "x", "y", "z" to "periodic", "wall" or (x and y) "open"
        x and y are periodic and z has walls if not given. Through open sides blows the ambient wind; what flows in has
        its wind and temperature, and scalars as they are there at the start.
    terrain_height : float or (ny, nx) array, m
        Height of the ground; levels follow it and are flat at the top.
    coriolis : float, s-1
        f; > 0 turns wind to the right.
    viscosity, diffusivity : float, m2/s
        Of momentum, and of theta and scalars; explicit.
    top_sponge : (thickness, rate) or (nz,) array
        Layer below the top that draws wind and theta to the ambient air, m and s-1.
    side_sponges : mapping of "x", "y" to (thickness, rate)
        Layers at both ends of an axis that draw wind and theta to the ambient air, m and s-1.
    forcing : Forcing
        Geostrophic wind, subsidence, heating and nudging by profiles.
    surface : Surface
        Heat flux and drag of the ground.
    time_statistics : eagre.TimeStatistics
        Means, variances, covariances and extremes over time at every point; see the attribute `maps`.
    closure : Smagorinsky
        Eddy viscosity for what is smaller than the grid; without it that is left to MPDATA.
    time_step : float, s
        Without it steps follow `courant_number`.
    courant_number : float
        Share of its mass that a cell may lose in a step, which none goes above; at most 1 along one axis, 0.592 along
        two, 0.529 along three.
    tolerance : float
        dt times the largest divergence that the pressure leaves.
    third_order, nonoscillatory : bool
        Of advection, as of `eagre.advection.Mpdata`.
    device : str, or a sequence of them
        "auto", "cpu", "cuda" or "cuda:N"; several as ["cuda:0", "cuda:1"] or "cuda:0,cuda:1": each has a band of rows.
    precision : {"single", "double"}
    start_time : float, s

    Raises
    ------
    InputError
        For values outside these ranges or shapes that do not match.
    DeviceError, MemoryNeededError
        If the device is not there, or too small.

    Notes
    -----
    Good values: courant_number 0.5. Limits: no water, no radiation, sound is filtered; the wind at a wall slips.

    References
    ----------
    J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput. Fluids 37, 1193-1207 (2008),
    doi:10.1016/j.compfluid.2007.12.001.
    """

    kind = "anelastic"
    _taken_up: tuple[str, ...] = ()  # notes on the state that it goes on with
    _profiles_asked: tuple[int, Any] | None = None  # samples every so many steps, heights

    def __init__(
        self,
        grid: Grid,
        levels: Any,
        *,
        top_height: float | None = None,
        atmosphere: Atmosphere | None = None,
        velocity: tuple[Any, Any, Any] | None = None,
        theta_perturbation: Any = None,
        scalars: Mapping[str, Any] | None = None,
        boundaries: Mapping[str, str] | None = None,
        terrain_height: Any = None,
        coriolis: float = 0.0,
        viscosity: float = 0.0,
        diffusivity: float | None = None,
        top_sponge: Any = None,
        side_sponges: Mapping[str, tuple[float, float]] | None = None,
        forcing: Forcing | None = None,
        surface: Surface | None = None,
        closure: Smagorinsky | None = None,
        time_statistics: TimeStatistics | None = None,
        time_step: float | None = None,
        courant_number: float | None = None,
        tolerance: float = 1e-6,
        third_order: bool = False,
        nonoscillatory: bool = True,
        device: str | Device | Sequence[str | Device] = "auto",
        precision: str = "single",
        start_time: float = 0.0,
    ) -> None:
        check_precision(precision)
        self.grid, self.precision = of_type("grid", grid, Grid, "eagre.Grid(200, 100, 10.0, 10.0)"), precision
        kinds, air, names = checked_boundaries(boundaries), checked_air(atmosphere), tuple(scalars or ())
        found = checked_levels(levels, top_height, terrain_height, grid, kinds[0] == "periodic")
        shape = (found.height.size, *grid.shape)
        self.device = device_for(device, self.kind, shape[0] * grid.cells, precision)
        check_height(air, float(found.height[-1]), kinds[0] == "periodic")
        drives = checked_drives(
            found, grid, stratified=air.gravity > 0.0, scalars=names, coriolis=coriolis,
            viscosity=viscosity, diffusivity=diffusivity, side_sponges=side_sponges, forcing=forcing,
            surface=surface, closure=closure, walled=kinds[0] == "wall",
        )  # fmt: skip
        asked = asked_of_air(time_statistics, fields_of(air.gravity > 0.0, names), names, shape[0])
        check_memory(
            shape, self.device, precision, driven=drives.fields(len(names)), stratified=air.gravity > 0.0,
            terrain=found.terrain_height is not None, scalars=len(names), closure=closure is not None,
            averaged=fields_kept(asked, precision, shape[0]),
        )  # fmt: skip
        bears = drives.longest_step(metric_of(found, grid, kinds), found, air)
        longest, self._courant = checked_steps(time_step, courant_number, bears, shape)
        self.setup = Setup(
            grid=grid, levels=found, boundaries=kinds, air=air, time_step=longest, adaptive=self._courant is not None,
            coriolis=plausible_number("coriolis", coriolis, "coriolis"),
            top_sponge=checked_top_sponge(top_sponge, found.height),
            **drives._asdict(),
            tolerance=checked_number("tolerance", tolerance, SMALLEST_TOLERANCE[precision], 0.1),
            scalars=names, time_statistics=asked,
            advection=Options(third_order=bool(third_order), nonoscillatory=bool(nonoscillatory)),
        )  # fmt: skip
        fields = checked_start(self.setup, velocity, theta_perturbation, scalars)
        start = {} if velocity is None else {axis: fields[name] for axis, name in zip("xyz", "uvw", strict=True)}
        self._start_notes = blocked_wind(self.setup, start, "velocity at the start")
        self._engine = Engine(self.setup, self.device, precision)
        self._engine.start(fields)
        self._stepper = Stepper(self._engine, float(start_time), self._courant, self._engine.first_step(self._courant))

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine = Engine(self.setup, self.device, self.precision)
        self._stepper = Stepper(self._engine, 0.0, self._courant, self.setup.time_step)
        if self._profiles_asked is not None:
            self._stepper.profiles = MeanProfiles(self._engine, 0.0, *self._profiles_asked)

    @property
    def engine(self) -> Engine:
        """What works on the device; for diagnostics of one's own."""
        return self._engine

    # -- time ---------------------------------------------------------------------------------------

    @property
    def levels(self) -> Levels:
        """Heights of the points."""
        return self.setup.levels

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
        """Length of the next step, s; one that lands is shorter."""
        return self._stepper.time_step

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Step to `until`, s, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` lies before the present.
        BlowUpError
            If the pressure has no solution, the Courant number is above 1, or the flow is not finite; the model then
            holds the last good state.
        """
        stepper = self._stepper
        advance(stepper, stepper.keeper, until, max_steps, look_steps=LOOK_EVERY)

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

    def field(self, name: str) -> np.ndarray:
        """Host copy of a field, (nz, ny, nx), or (ny, nx) where it has no levels."""
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        return field_of(self._engine, name).astype(field_type(self))

    def snapshot(self, names: Sequence[str]) -> Callable[[], dict[str, np.ndarray]]:
        """Fields of the present moment, copied beside the steps that follow: a function that gives them."""
        return snapshot_of(self._engine, names, field_type(self))

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Values of fields without levels in columns (j, i)."""
        flat = [name for name, variable in self.variables.items() if not variable.levels]
        j, i = check_sample(names, points, flat, self.grid)
        return {name: self.field(name)[j, i] for name in names}

    def profiles(self, every: int = EVERY, heights: Any = None) -> MeanProfiles:
        """Begin to gather horizontally averaged profiles, in place of those that were gathered before.

        Parameters
        ----------
        every : int
            Steps between two samples.
        heights : (n,) array, m, optional
            Over z = 0; without them the levels, over a hill those of flat ground from the lowest ground on.

        Returns
        -------
        MeanProfiles
            Its ``take(model.time)`` gives the profiles since the last `take`, and begins anew.

        Raises
        ------
        InputError
            For heights under the ground or above the top.
        """
        found = MeanProfiles(self._engine, self.time, every, heights)
        self._profiles_asked = (found.every, None if heights is None else found.heights)
        self._stepper.profiles = found
        self._stepper.keeper.forget()
        return found

    @property
    def profile_statistics(self) -> MeanProfiles | None:
        """What `profiles` gathers; None where it was not asked to."""
        return self._stepper.profiles

    @property
    def maps(self) -> RunMaps | None:
        """The averages over time at points that were asked for, up to now; None where none were."""
        return maps_of(self._engine, lambda: (self._stepper.maps_state(), self.time))

    def slice(self, variables: Sequence[str] | None = None, **place: float | None) -> Slice:
        """A plane that follows this model through a run: its ``sample()`` gives the fields there.

        `place` is one of x, y, z, m over z = 0, or of the indices i, j, k: ``model.slice(["w"], z=500.0)``. A plane at
        z over a hill is level, and not a number under the ground; one at k follows the ground.
        """
        return Slice(lambda: self._engine, variables, **place)

    def probes(self, points: Mapping[str, Mapping[str, Any]], variables: Sequence[str] | None = None) -> Probes:
        """Probes with names, {"mast": {"x": 0.0, "y": 0.0, "z": [10, 40]}}, that follow this model through a run.

        Heights are over z = 0, m; without z a probe is a column of all levels. Fields are linear between points.
        """
        return Probes(lambda: self._engine, points, variables)

    def spectra(
        self, heights: Sequence[float], variables: Sequence[str] | None = None, axes: Sequence[str] | None = None
    ) -> Spectra:
        """One-sided spectra along the periodic ones of x and y at heights, m over z = 0."""
        return Spectra(lambda: self._engine, heights, variables, axes)

    def maxima(self) -> Maxima:
        """Extremes of wind, theta' and scalars, Courant numbers, divergence and iterations."""
        return Maxima(lambda: self._engine)

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a restart needs to go on bit for bit."""
        return {**with_perturbation(self._stepper.state()), **grid_state(self.grid, stood_on(self.setup))}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`, of a model over the same levels, with the same air at rest and the same sides.

        What drives and mixes the air may be other, and scalars too: see `notes`.
        """
        found = taken_up(without_perturbation(state), self._stepper.state(), self.setup, fresh=self.steps == 0)
        self._stepper.restore(found.state)
        self._engine.steps.begin_tendencies(found.begun, self.time)
        self._taken_up = found.notes
        self._stepper.keeper.forget()

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Kinetic energy, J, and of a unit of mass, extremes of wind and theta', Courant number, dt divergence."""
        return dict(diagnostics_of(self._engine))

    def statistics(self) -> dict[str, float]:
        """Steps, time steps, s, and iterations of the pressure a step."""
        counts = self._engine.counts
        return {
            "steps": self.steps,
            "redone_steps": 0,
            "dt_min": counts["dt_min"] if self.steps else self.time_step,
            "dt_max": counts["dt_max"] if self.steps else self.time_step,
            "iterations_a_step": counts["iterations"] / max(1.0, counts["steps"]),
        }

    @property
    def bytes_per_step(self) -> int:
        """Bytes a point that a step must move: advection of the wind, residual and a direct solution, final wind."""
        words = 10 + 5 + 14 + 7 + 2 * self.setup.stratified
        return words * field_type(self).itemsize

    @property
    def notes(self) -> list[str]:
        """What a user should know before the run."""
        return [*notes_of(self.setup), *self._start_notes, *self._taken_up]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """What the summary of a run tells of its end."""
        return summary_rows_of(self._engine)

    def settings(self) -> dict[str, str | float | int]:
        """The resolved set-up, for the attributes of output files."""
        return {**settings_of(self.setup), "device": str(self.device), "precision": self.precision}
