"""Anelastic model of atmospheric flow, after EULAG (equations: README.md in this folder)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.advection.plan import Options
from eagre.arguments import of_type
from eagre.backend.device import Device, check_precision
from eagre.backend.tuned import device_for
from eagre.checks import check_sample, checked_number
from eagre.contract import field_type
from eagre.device_mesh import rows_of_process
from eagre.fields import Variable
from eagre.grid import Grid, Levels
from eagre.local_rows import LocalRows
from eagre.models.anelastic.base.atmosphere import Atmosphere, check_height, checked_atmosphere
from eagre.models.anelastic.engine import Engine
from eagre.models.anelastic.forcing.open_boundaries import open_axes
from eagre.models.anelastic.forcing.profile_forcing import Forcing
from eagre.models.anelastic.inputs import (
    HELD,
    SIDES,
    check_memory,
    checked_boundaries,
    checked_forcing,
    checked_levels,
    checked_start,
    checked_top_sponge,
)
from eagre.models.anelastic.sampling.averaging import maps_of, requested_statistics, stored_fields
from eagre.models.anelastic.sampling.extremes import Maxima
from eagre.models.anelastic.sampling.interpolation import Probes
from eagre.models.anelastic.sampling.mean_profiles import EVERY, MeanProfiles
from eagre.models.anelastic.sampling.outputs import (
    blocked_wind,
    diagnostics_of,
    field_of,
    fields_of,
    notes_of,
    settings_of,
    snapshot_of,
    summary_rows_of,
    variables_of,
)
from eagre.models.anelastic.sampling.slices import Slice
from eagre.models.anelastic.sampling.spectra import Spectra
from eagre.models.anelastic.setup import Setup, metric_of
from eagre.models.anelastic.stability import checked_steps
from eagre.models.anelastic.stepper import CHECK_INTERVAL, Stepper
from eagre.models.anelastic.subgrid.closure import Smagorinsky
from eagre.models.anelastic.subgrid.surface import Surface
from eagre.models.base import BaseModel
from eagre.models.restart_state import RestartReference, check_state, grid_state
from eagre.names import unknown_field
from eagre.plausible import plausible_number
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics
from eagre.stepping.mapped import RunMaps

MIN_TOLERANCE = {"single": 1e-8, "double": 1e-14}


class AnelasticFlow(BaseModel):
    """Anelastic (sound-proof) model of the atmosphere: gravity waves, turbulence, convection, flow over orography.

    The reference density depends on height alone. MPDATA advects velocity and potential temperature. Pressure,
    buoyancy, the Coriolis force and the sponge layer below the top are implicit.

    Parameters
    ----------
    grid : Grid
        Horizontal grid. Its cell centres are the columns of points; the outermost points are located on the walls
        (`Grid.from_points`). A periodic axis of n points has the period n dx. With one row (ny = 1) the flow is
        two-dimensional in x and z.
    levels : int or (nz,) array, m
        Number of equidistant levels from 0 to `top_height`, or heights of the levels above flat terrain, starting at 0.
    top_height : float, m
        Height of the domain; the period where z is periodic.
    atmosphere : Atmosphere
        Equations, reference state and ambient state (`eagre.Atmosphere`); incompressible by default.
    velocity : tuple of three floats or (nz, ny, nx) arrays, m/s
        Initial u, v, w; the first projection removes their divergence. The default is the ambient wind.
    theta, theta_perturbation : float or (nz, ny, nx) array, K
        Initial potential temperature, or its difference from the ambient potential temperature (0 by default). The
        output fields of these names can be used. At most one of the two is allowed.
    scalars : mapping of name to (nz, ny, nx) array
        Initial fields of passive scalars, by name.
    boundaries : mapping of "x", "y", "z" to "periodic", "wall" or (x and y) "open"
        Boundary conditions; by default x and y are periodic and z has walls. The ambient wind sets the velocity normal
        to an open boundary. Inflow has the ambient wind and potential temperature and the initial scalars of the
        boundary.
    terrain_height : float or (ny, nx) array, m
        Height of the terrain. Levels follow the terrain; their slope decreases to 0 at the top.
    coriolis : float, s-1
        Coriolis parameter f; positive in the northern hemisphere.
    viscosity, diffusivity : float, m2/s
        Constant viscosity of momentum and diffusivity of theta and scalars, explicit in time. The default of the
        diffusivity is the viscosity.
    top_sponge : (thickness, rate) or (nz,) array
        Sponge layer below the top: thickness, m, and damping rate at the top, s-1; or the rates of all levels. Rayleigh
        damping of wind and theta towards the ambient state.
    side_sponges : mapping of "x", "y" to (thickness, rate)
        Sponge layers at both ends of an axis: thickness, m, and damping rate at the boundary, s-1.
    forcing : Forcing
        Vertical profiles of geostrophic wind, subsidence, heating and nudging.
    surface : Surface
        Heat flux and drag at the surface.
    time_statistics : eagre.TimeStatistics
        Means, variances, covariances and extremes over time at every point; see the attribute `maps`.
    closure : Smagorinsky
        Subgrid-scale eddy viscosity; without it MPDATA provides the dissipation (implicit LES).
    time_step : float, s
        Constant time step; without it the step adapts to `courant_number`.
    courant_number : float
        Maximum outflow Courant number of a step: the fraction of its mass that a cell loses. At most 1 in one
        dimension, 0.592 in two and 0.529 in three. The default is 0.5.
    tolerance : float
        Maximum residual divergence of a step times the time step.
    third_order, nonoscillatory : bool
        Options of the advection scheme; see `eagre.advection.Mpdata`.
    device : str, or a sequence of them
        "auto", "cpu", "cuda" or "cuda:N". Several devices, ["cuda:0", "cuda:1"] or "cuda:0,cuda:1", divide the rows of
        the grid.
    precision : {"single", "double"}
    start_time : float, s

    Raises
    ------
    InputError
        For values outside the allowed ranges and for arrays of the wrong shape.
    DeviceError, MemoryNeededError
        If the device is not available, or its memory is not sufficient.

    Notes
    -----
    Good values: courant_number 0.5. Limits: no moisture, no radiation, no sound waves, free-slip walls.

    References
    ----------
    J. M. Prusa, P. K. Smolarkiewicz, A. A. Wyszogrodzki, Comput. Fluids 37, 1193-1207 (2008),
    doi:10.1016/j.compfluid.2007.12.001.
    """

    kind = "anelastic"
    _restart_notes: tuple[str, ...] = ()  # notes on the restart state
    _profile_options: tuple[int, Any] | None = None  # sampling interval in steps, heights

    def __init__(
        self,
        grid: Grid,
        levels: Any,
        *,
        top_height: float | None = None,
        atmosphere: Atmosphere | None = None,
        velocity: tuple[Any, Any, Any] | None = None,
        theta: Any = None,
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
        kinds, base, names = checked_boundaries(boundaries), checked_atmosphere(atmosphere), tuple(scalars or ())
        grid_levels = checked_levels(levels, top_height, terrain_height, grid, kinds[0] == "periodic")
        shape = (grid_levels.height.size, *grid.shape)
        self.device = device_for(device, self.kind, shape[0] * grid.cells, precision)
        check_height(base, float(grid_levels.height[-1]), kinds[0] == "periodic")
        terms = checked_forcing(
            grid_levels, grid, stratified=base.gravity > 0.0, scalars=names, coriolis=coriolis,
            viscosity=viscosity, diffusivity=diffusivity, side_sponges=side_sponges, forcing=forcing,
            surface=surface, closure=closure, walled=kinds[0] == "wall",
        )  # fmt: skip
        requested = requested_statistics(time_statistics, fields_of(base.gravity > 0.0, names), names, shape[0])
        check_memory(
            shape, self.device, precision, forced=terms.fields(len(names)), stratified=base.gravity > 0.0,
            terrain=grid_levels.terrain_height is not None, scalars=len(names), closure=closure is not None,
            averaged=stored_fields(requested, precision, shape[0]),
        )  # fmt: skip
        stability_limit = terms.longest_step(metric_of(grid_levels, grid, kinds), grid_levels, base)
        longest, self._courant = checked_steps(time_step, courant_number, stability_limit, shape)
        self.setup = Setup(
            grid=grid, levels=grid_levels, boundaries=kinds, air=base, time_step=longest,
            adaptive=self._courant is not None, coriolis=plausible_number("coriolis", coriolis, "coriolis"),
            top_sponge=checked_top_sponge(top_sponge, grid_levels.height),
            **terms._asdict(),
            tolerance=checked_number("tolerance", tolerance, MIN_TOLERANCE[precision], 0.1),
            scalars=names, time_statistics=requested,
            advection=Options.checked(third_order=third_order, nonoscillatory=nonoscillatory),
        )  # fmt: skip
        rows = LocalRows.of(self.device, grid, margin=0)
        with rows.agreed_errors():
            fields = checked_start(self.setup, velocity, theta, theta_perturbation, scalars, rows)
        start = {} if velocity is None else {axis: fields[name] for axis, name in zip("xyz", "uvw", strict=True)}
        self._start_notes = blocked_wind(self.setup, start, "velocity at the start", rows)
        self._engine = Engine(self.setup, self.device, precision)
        self._engine.start(fields)
        self._stepper = Stepper(self._engine, float(start_time), self._courant, self._engine.first_step(self._courant))

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine = Engine(self.setup, self.device, self.precision)
        self._stepper = Stepper(self._engine, 0.0, self._courant, self.setup.time_step)
        if self._profile_options is not None:
            self._stepper.profiles = MeanProfiles(self._engine, 0.0, *self._profile_options)

    @property
    def engine(self) -> Engine:
        """Device-side state and kernels, for user-defined diagnostics."""
        return self._engine

    # -- time ---------------------------------------------------------------------------------------

    @property
    def levels(self) -> Levels:
        """Heights of the grid points."""
        return self.setup.levels

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._stepper.time

    @property
    def steps(self) -> int:
        """Number of completed time steps."""
        return int(self._engine.counts["steps"])

    @property
    def time_step(self) -> float:
        """Length of the next step, s; the step that ends at an output time can be shorter."""
        return self._stepper.time_step

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Advance to the time `until`, s, or by `max_steps` steps.

        Raises
        ------
        InputError
            If `until` is before the current model time.
        BlowUpError
            If the pressure solver does not converge, the Courant number exceeds 1, or a field is not finite. The model
            then holds the last good state.
        """
        stepper = self._stepper
        advance(stepper, stepper.checkpoint, until, max_steps, check_interval=CHECK_INTERVAL)

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """A function that makes `count` steps and looks at none: for timing."""

        def make() -> None:
            self._stepper.step(np.inf, count)

        return make

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Variable]:
        """Fields that `field` returns, by name."""
        return {variable.name: variable for variable in variables_of(self.setup)}

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a field, (nz, ny, nx), or (ny, nx) for a field without levels.

        The array is empty in processes other than the first.
        """
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        return field_of(self._engine, name).astype(field_type(self))

    def snapshot(self, names: Sequence[str]) -> Callable[[], dict[str, np.ndarray]]:
        """Start an asynchronous copy of the current fields; return a function that waits for the copy."""
        return snapshot_of(self._engine, names, field_type(self))

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Return the values of fields without levels in columns (j, i)."""
        flat = [name for name, variable in self.variables.items() if not variable.levels]
        j, i = check_sample(names, points, flat, self.grid)
        fields = {name: self.field(name) for name in names}
        return {name: field[j, i] if field.size else field for name, field in fields.items()}

    def profiles(self, every: int = EVERY, heights: Any = None) -> MeanProfiles:
        """Start horizontally averaged profile statistics; they replace earlier ones.

        Parameters
        ----------
        every : int
            Number of steps between two samples.
        heights : (n,) array, m, optional
            Heights above z = 0. The default is the levels; over terrain, the levels of flat terrain from its lowest
            point upwards.

        Returns
        -------
        MeanProfiles
            Its ``take(model.time)`` returns the profiles since the last `take` and restarts the averages.

        Raises
        ------
        InputError
            For heights below the terrain or above the top.
        """
        statistics = MeanProfiles(self._engine, self.time, every, heights)
        self._profile_options = (statistics.every, None if heights is None else statistics.heights)
        self._stepper.profiles = statistics
        self._stepper.checkpoint.forget()
        return statistics

    @property
    def profile_statistics(self) -> MeanProfiles | None:
        """Profile statistics started by `profiles`; None before the first call."""
        return self._stepper.profiles

    @property
    def maps(self) -> RunMaps | None:
        """Requested time statistics at the grid points, up to the current time; None without a request."""
        return maps_of(self._engine, lambda: (self._stepper.maps_state(), self.time))

    def slice(self, variables: Sequence[str] | None = None, **plane: float | None) -> Slice:
        """Return a sampler of a plane; its ``sample()`` returns the current fields in the plane.

        `plane` is one of x, y, z, m above z = 0, or of the indices i, j, k: ``model.slice(["w"], z=500.0)``. A plane at
        z is horizontal; values below the terrain are NaN. A plane at k follows the terrain.
        """
        return Slice(lambda: self._engine, variables, **plane)

    def probes(self, points: Mapping[str, Mapping[str, Any]], variables: Sequence[str] | None = None) -> Probes:
        """Return a sampler of named probes, {"mast": {"x": 0.0, "y": 0.0, "z": [10, 40]}}.

        Heights are above z = 0, m. A probe without z is a column of all levels. Fields are interpolated linearly.
        """
        return Probes(lambda: self._engine, points, variables)

    def spectra(
        self, heights: Sequence[float], variables: Sequence[str] | None = None, axes: Sequence[str] | None = None
    ) -> Spectra:
        """Return a sampler of one-sided spectra along the periodic axes x and y at heights, m above z = 0."""
        return Spectra(lambda: self._engine, heights, variables, axes)

    def maxima(self) -> Maxima:
        """Return a sampler of extremes of wind, theta' and scalars, Courant numbers, divergence and iterations."""
        return Maxima(lambda: self._engine)

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the complete state for a bitwise identical restart."""
        references = self.restart_references
        return {**with_perturbation(self._stepper.whole_state()), **grid_state(self.grid, references)}

    @property
    def rows_of_process(self) -> tuple[int, int]:
        """Rows of the grid that `restore` reads in this process: the first, and one past the last."""
        return rows_of_process(self._engine.device, self.grid)

    @property
    def restart_references(self) -> dict[str, RestartReference]:
        """Data of the model that a state depends on: levels, terrain, base state, boundaries."""
        return restart_references(self.setup)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Load a state returned by `state`.

        Levels, terrain, base state and boundary conditions must be the same. Forcing, closure, viscosity and scalars
        can differ; notes of the model state which scalars were dropped or initialised.
        """
        restored = adapt_state(without_perturbation(state), self._stepper.state(), self.setup, fresh=self.steps == 0)
        self._stepper.restore(restored.state)
        self._engine.steps.begin_tendencies(restored.begun, self.time)
        self._restart_notes = restored.notes
        self._stepper.checkpoint.forget()

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Return kinetic energy, J, and per unit mass, extremes of wind and theta', stability number and divergence."""
        return dict(diagnostics_of(self._engine))

    def statistics(self) -> dict[str, float]:
        """Return the number of steps, the time steps, s, and the pressure iterations per step."""
        counts, first = self._engine.counts, math.nan if self.steps else self.time_step
        return {
            "steps": self.steps,
            "redone_steps": 0,
            "dt_min": counts["dt_min"] if counts["dt_max"] else first,
            "dt_max": counts["dt_max"] or first,
            "iterations_a_step": counts["iterations"] / max(1.0, counts["steps"]),
        }

    @property
    def bytes_per_step(self) -> int:
        """Compulsory memory traffic per point and step, bytes: advection, residual, direct solution, final wind."""
        values = 10 + 5 + 14 + 7 + 2 * self.setup.stratified
        return values * field_type(self).itemsize

    @property
    def notes(self) -> list[str]:
        """Notes about the set-up, shown before the run."""
        return [*notes_of(self.setup), *self._start_notes, *self._restart_notes]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """Rows (label, text) of the run summary."""
        return summary_rows_of(self._engine)

    def settings(self) -> dict[str, str | float | int]:
        """Return the resolved configuration, for the attributes of output files."""
        return {**settings_of(self.setup), "device": str(self.device), "precision": self.precision}


Array = np.ndarray
State = Mapping[str, Array]
KINDS = SIDES["x"]  # boundary conditions of all axes
OWN = ("u", "v", "w", "theta", "phi", "previous_phi")
PERTURBATION = "theta_perturbation"  # theta' in restart files; earlier versions wrote it as theta


def restart_references(setup: Setup) -> dict[str, RestartReference]:
    """Return the reference data of a state: levels, terrain, base state, boundaries and wind at open boundaries."""
    levels, air, of = setup.levels, setup.air, "of the run that wrote it"
    z, box = levels.height, f"levels, top_height and terrain_height in [domain] {of}"
    ground = np.zeros(0) if levels.terrain_height is None else levels.terrain_height
    section, nothing = f"[atmosphere] {of}", np.zeros(z.shape)
    theta, density = (f"equations, {key} in {section}" for key in ("theta and frequencies", "theta and density"))
    references = {
        "heights": RestartReference("levels at heights", z, "m", box),
        "terrain_height": RestartReference("terrain height", ground, "m", box),
        "air_density": RestartReference("reference density", air.density(z) + nothing, "kg/m3", density),
        "air_reference": RestartReference("reference potential temperature", air.reference(z) + nothing, "K", theta),
        "air_ambient": RestartReference("ambient potential temperature", air.ambient(z) + nothing, "K", theta),
        "air_gravity": RestartReference("gravity", air.gravity, "m/s2", f"equations and gravity in {section}"),
    }
    for axis, kind in zip("zyx", setup.boundaries, strict=True):
        name = f"boundaries_{axis}"
        references[name] = RestartReference(name, KINDS.index(kind), "", f"{name} in [domain] {of}", KINDS)
    if open_axes(setup):
        for name, profile in zip("uv", air.wind, strict=True):
            what = f"ambient wind {name} at open boundaries"
            references[f"air_wind_{name}"] = RestartReference(what, profile(z) + nothing, "m/s", f"wind in {section}")
    return references


def with_perturbation(state: State) -> dict[str, Array]:
    """Return a state in which theta' has the name that it has in output files, not the internal name theta."""
    return {PERTURBATION if name == "theta" else name: array for name, array in state.items()}


def without_perturbation(state: State) -> dict[str, Array]:
    """Return a state with internal names; restart files of earlier versions have them already."""
    return {"theta" if name == PERTURBATION else name: array for name, array in state.items()}


@dataclass(frozen=True)
class AdaptedState:
    """State that a run can continue from.

    Attributes
    ----------
    state : mapping of name to array
        Complete state, including added fields.
    begun : tuple of str
        Fields whose explicit tendency of the previous step is unknown.
    notes : tuple of str
        Notes for the user.
    """

    state: dict[str, Array]
    begun: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def adapt_state(state: State, current: State, setup: Setup, fresh: bool) -> AdaptedState:
    """Adapt the state of a run with other scalars or other forcing.

    Scalars that the state lacks keep their initial values if the run is `fresh`, that is, has no completed step.
    Scalars that the run does not define are dropped.

    Parameters
    ----------
    state, current : mapping of name to array
        State to load; current state of the run, with fields as `Device.local_copy` returns them.
    setup : Setup
    fresh : bool

    Raises
    ------
    InputError
        For a state of another model or grid, or with other reference data.
    """
    # profiles (keys "averages...") and maps can be requested again
    current = {name: array for name, array in current.items() if not name.startswith(("averages", "maps"))}
    check_state(state, {}, setup.grid, references=restart_references(setup))
    adapted = _with_missing_fields(state, current, setup, fresh)
    added = [name for name in adapted.state if name not in state]  # fields of the run, which need no check
    fields = {name: array.shape for name, array in current.items() if array.ndim == 3 and name not in added}
    check_state(adapted.state, fields, setup.grid, [name for name in current if name not in (*fields, *added)])
    return adapted


def _with_missing_fields(state: State, current: State, setup: Setup, fresh: bool) -> AdaptedState:
    if "previous_phi" in current and "phi" in state:  # restart files of earlier versions lack it
        state = {"previous_phi": state["phi"], **state}
    added = [name for name in current if name.startswith("drag_") and name not in state]
    unknown_tendencies = tuple(name.removeprefix("drag_") for name in added)
    begun = [name for name in setup.scalars if name not in state and fresh]
    left = [name for name in carried(state) if name not in setup.scalars]
    lacking = {*added, *begun}
    ambient = {name for name in current if name.startswith("inflow_") and name.split("_", 2)[2] in OWN}
    lacking |= ambient | {name for name in current if name.startswith("inflow_") and name.split("_", 2)[2] in begun}
    time = float(state["clock"][0] + state["clock"][1]) if "clock" in state else 0.0
    said = [f"scalar {name} starts from its initial values at t = {time:g} s: not in the restart" for name in begun]
    said += [f"scalar {name} of the restart is dropped: the case does not define it" for name in left]
    return AdaptedState({**{name: current[name] for name in lacking}, **state}, unknown_tendencies, tuple(said))


def carried(state: State) -> list[str]:
    """Return the names of the scalars of a state."""
    fields = (name for name, array in state.items() if np.ndim(array) == 3 and name not in OWN)
    return [name for name in fields if not name.startswith(HELD)]
