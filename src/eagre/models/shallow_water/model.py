"""Explicit shallow-water model: set-up, time stepping, output and restart (equations: README.md of this folder)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from eagre.arguments import of_type
from eagre.backend.device import Device
from eagre.backend.tuned import device_for
from eagre.boundaries import Boundaries, checked_boundaries
from eagre.boundaries.cross_sections import CrossSectionSeries
from eagre.boundaries.internal import placed_inside, wall_settings
from eagre.boundaries.open_sides import OpenSides, with_initial_water
from eagre.checks import check_sample, checked_number, one_of
from eagre.config.options import attributes, checked
from eagre.constants import GRAVITY
from eagre.contract import Recording
from eagre.errors import BlowUpError
from eagre.fields import WATER_VARIABLES, Variable, sampled_names
from eagre.grid import Grid, centre_bed
from eagre.kernels.water_sums import water_balance, water_rows
from eagre.local_rows import LocalRows
from eagre.models.base import BaseModel
from eagre.models.restart_state import check_state, grid_state
from eagre.models.shallow_water.active_tiles import live_fraction
from eagre.models.shallow_water.datum import Datum, over_datum
from eagre.models.shallow_water.devices.multi_device import MIN_ROWS, engine_for
from eagre.models.shallow_water.input_fields import InputFields
from eagre.models.shallow_water.options import Numerics, on_or_off
from eagre.models.shallow_water.sampling.averaging import QUANTITIES
from eagre.models.shallow_water.setup import (
    Setup,
    check_device_memory,
    consistent,
    desingularisation_depth_of,
    longest_step_with_water_to_come,
    requested_outputs,
    steps_of,
)
from eagre.names import unknown_field
from eagre.stepping import clock as ck
from eagre.stepping.advance import Failure, advance
from eagre.stepping.averages import TimeStatistics, statistics_plan_of
from eagre.stepping.checkpoint import InMemoryCheckpoint, State
from eagre.stepping.mapped import RunMaps
from eagre.stepping.maps import Maps, Water
from eagre.stepping.plausibility import PlausibilityBounds, highest_surface, plausibility_bounds
from eagre.stepping.recording import Recorder
from eagre.terms.base import Term
from eagre.terms.collect import terms_of
from eagre.terms.infiltration import INFILTRATION_DEPTH, NAME

KEEP_SECONDS = {"cpu": 0.0, "cuda": 20.0}  # minimum wall time between checkpoints on the host, s
CPU_LOOK_STEPS = 50  # steps between state checks on a CPU
FIXED_ADVICE = "a shorter time_step, or an adaptive time step (without time_step)"
FAILURES = {1: "values that are not finite", 2: "the time step collapsed"}  # key: value of FAILED in the clock


class Stepper:
    """Stepper of an engine; see `eagre.stepping.advance.Stepper`."""

    def __init__(self, engine: Any, eta: np.ndarray) -> None:
        self.engine = engine
        self.bounds = self._bounds_with(case_bounds(engine.setup, self.time), eta) if engine.setup.fixed else None
        device = engine.device
        self.checkpoint = InMemoryCheckpoint(self.state, self.restore, KEEP_SECONDS[device.kind], device)
        self.check_interval = CPU_LOOK_STEPS if device.kind == "cpu" else device.parameters("shallow-water.steps").look

    @property
    def time(self) -> float:
        """Model time, s."""
        return float(self.engine.seen[ck.T])

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s, or to the time when other records of fields are required."""
        terms = self.engine.setup.terms
        end = terms.end(self.time)
        steps_completed = self.engine.step_batch(min(until, end), count)
        if self.time >= end:
            terms.use(self.time)
            self.engine.next_records(self.time)
        return steps_completed

    def check_state(self) -> Failure | None:
        """Return the failure of the last batch of steps, or None.

        With a fixed time step the plausibility bounds are checked too.
        """
        failure, recorder = self._failure(), self.engine.recorder
        if recorder is not None:
            recorder.give() if failure is None else recorder.forget()
        return failure

    def _failure(self) -> Failure | None:
        failure = self.engine.failure
        if failure:
            return Failure(FAILURES[failure], self.engine.bad_cell())
        excess = self.bounds.excess(self.engine.sums(), self.time) if self.bounds is not None else None
        return Failure(excess.what, extreme_cell(self.engine, excess.name)) if excess is not None else None

    def _bounds_with(self, bounds: PlausibilityBounds, eta: np.ndarray) -> PlausibilityBounds:
        """Return the plausibility bounds of a run with this eta in the rows of this process, m."""
        setup = self.engine.setup
        highest = max(setup.rows.each(highest_surface(setup.surface_of(eta), centre_bed(setup.bed))))
        return bounds.begun_with(self.engine.sums(), highest)

    def state(self) -> State:
        """Return the complete state for a bitwise-identical restart."""
        return self.engine.checkpoint_state()

    def restore(self, state: State) -> None:
        """Restore a state of `state`."""
        self.engine.setup.terms.use(float(state["clock"][ck.T]))
        self.engine.restore_checkpoint(state)

    def go_on_from(self, state: State) -> None:
        """Restore a state of another run and extend the plausibility bounds to that state."""
        self.engine.setup.terms.use(float(state["clock"][ck.T]))
        self.engine.restore(state)
        if self.bounds is not None:
            self.bounds = self._bounds_with(self.bounds, self.engine.setup.rows.held(state["q"][0, 2:-2, 2:-2]))

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error with the time of the last good step and the bad cell, or else the fastest cell."""
        cell = failure.cell or extreme_cell(self.engine, "max_speed")
        advice = {"advice": FIXED_ADVICE} if self.engine.setup.fixed else {}
        return BlowUpError(self.time, cell, failure.what, **advice)


def case_bounds(setup: Any, start: float) -> PlausibilityBounds:
    """Return the plausibility bounds of a case, without the initial water."""
    numbers = {"manning": setup.manning_range[1], "thinnest": setup.kappa}
    bed = centre_bed(setup.bed)
    extremes = np.array(setup.rows.extremes(bed))
    return plausibility_bounds(setup.grid, extremes, setup.segments, setup.terms, setup.gravity, start, **numbers)


def extreme_cell(engine: Any, name: str) -> tuple[int, int]:
    """Return (j, i) of an extreme among the sums: "max_speed", "max_depth" or "min_depth"."""
    of = {"max_speed": speed_of, "max_depth": lambda fields: fields[1], "min_depth": lambda fields: -fields[1]}[name]
    return engine.extreme(of)[1:]


def speed_of(fields: np.ndarray) -> np.ndarray:
    """Return the speed, (ny, nx), m s-1, from the fields of `Engine.derived`."""
    return np.hypot(fields[4], fields[5])


class ShallowWater(BaseModel):
    """Explicit second-order central-upwind shallow-water model (Kurganov and Petrova 2007).

    Parameters
    ----------
    grid : Grid
    bed_elevation : float or (ny + 1, nx + 1) array, m
        Bed elevation at the cell corners, positive upwards.
    surface_elevation, depth : float or (ny, nx) array, m
        Initial water. Give one of the two. Cells with a surface below the bed are dry.
    velocity_x, velocity_y : float or (ny, nx) array, m s-1
        Initial velocity.
    boundaries : Boundaries, optional
        Boundary conditions. The default is walls on all sides.
    manning : float or (ny, nx) array, s m-1/3
        Manning's n, 0 (no friction) to 2.
    sources : sequence of Rain, Infiltration, GreenAmpt, Coriolis, WindStress, AtmosphericPressure, BodyForce
        Source terms, at most one of each class.
    scheme : {"rk2", "euler", "srk2", "ds1", "ds2"}
        Time integration. "rk2": second-order SSP Runge-Kutta. "euler": forward Euler. "srk2": "rk2" with one kernel per
        direction of a stage. "ds1": dimensional splitting Y X with forward Euler sweeps. "ds2": dimensional splitting
        X Y Y X with Runge-Kutta sweeps, which advances two time steps at once (see `eagre.stepping.substeps`).
    wet_dry : {"hydrostatic", "kurganov-petrova"}
        Wetting-and-drying scheme. "hydrostatic" preserves a lake at rest exactly for any position of the wet-dry front.
        "kurganov-petrova" is the scheme of Kurganov and Petrova (2007), with small waves at partly wet cells.
    active_tiles : {"auto", "on", "off"}
        Skip tiles of dry cells that the next step cannot flood. The results are bitwise identical, except that "srk2"
        and "ds2" use "rk2" on the other tiles (see Notes). "on": always, not with split schemes;
        "auto": only while this is faster (see Notes); "off": compute all cells in every step. With "auto" and "on" the
        dry rows of the other tiles are skipped too. Requires ``wet_dry="hydrostatic"``.
    minmod_theta : float
        Parameter of the minmod limiter, 1 (most diffusive) to 2 (least diffusive).
    courant_number : float
        Courant number, at most 0.5. The depth remains non-negative up to 0.25.
    desingularisation_depth : float, m
        Depth below which the velocity is desingularised. Default: 1e-4 min(1 m, maximum initial depth) for
        "hydrostatic", min(0.01 m, 1 % of the maximum initial depth) for "kurganov-petrova".
    time_step_control : {"predicted", "exact"}
        "predicted": the rates of the previous step determine the time step; a step that exceeds its limit is rejected
        and repeated. "exact": the first stage determines the limit and is then repeated. See `eagre.stepping.clock`.
    predicted_fraction : float
        Time step of "ds1" and "ds2" as a fraction of the limit of the previous step, 0.5 to 1. Values above 0.95 cause
        more rejected steps.
    max_time_step : float, s, optional
        Upper limit of the adaptive time step.
    time_step : float, s, optional
        Fixed time step. The Courant number is then not used.
    gravity : float, m s-2
        Gravitational acceleration.
    device : str or sequence of str
        "auto", "cpu", "cuda" or "cuda:N", or several devices.
    precision : {"single", "double"}
        Floating-point precision of the fields.
    start_time : float, s
        Time of the initial state.
    kernels : {"fast", "reference"}
        "fast": the fastest kernels for the device and the options. "reference": unoptimised kernels with one function
        per stage, slow, for comparisons.
    maps : Maps, optional
        Maps accumulated at every step; see the attribute `maps`.
    time_statistics : TimeStatistics, optional
        Time statistics accumulated at every step; see the attribute `maps`.
    cross_sections : mapping of str to sequence of (x, y), m, optional
        Cross-sections for the discharge, by name. Flow to the right of the line is positive. See the attribute
        `cross_sections`.

    Raises
    ------
    InputError
        If a value is out of range, shapes do not match, or the bed is not finite.
    DeviceError
        If the device is not available.
    MemoryNeededError
        If the model does not fit the memory of the device.

    Notes
    -----
    Recommended values: minmod_theta = 1.3, courant_number = 0.25, n = 0.02 to 0.035 for natural channels.

    Limits: depth-averaged, hydrostatic flow; no turbulence closure.

    Single precision: cells whose bed is above the datum (the lowest initial surface) keep 7 digits of the depth. The
    other cells keep 7 digits of the surface elevation above the datum. The relative error of the water volume is about
    1e-6 per day.

    ``active_tiles="auto"`` uses a list of active tiles if less than half of the cells are wet at the start. The model
    stops using the list when a state check finds more than three quarters of the tiles active, and decides again every
    32 state checks. Grids that a GPU advances in two launches, and runs on several devices, use no list. With "srk2"
    and "ds2", steps on the list are steps of "rk2" with a Courant number of at most 0.25; the model decides every 512
    steps by the fraction of wet cells. "ds1" uses no list.

    References
    ----------
    A. Kurganov and G. Petrova, Commun. Math. Sci. 5(1), 133-160 (2007), doi:10.4310/CMS.2007.v5.n1.a6.
    """

    kind = "shallow-water"

    def __init__(
        self,
        grid: Grid,
        bed_elevation: Any,
        *,
        surface_elevation: Any = None,
        depth: Any = None,
        velocity_x: Any = 0.0,
        velocity_y: Any = 0.0,
        boundaries: Boundaries | None = None,
        manning: Any = 0.0,
        sources: Sequence[Term] = (),
        scheme: str = "rk2",
        wet_dry: str = "hydrostatic",
        active_tiles: str | bool = "auto",
        minmod_theta: float = 1.3,
        courant_number: float = 0.25,
        desingularisation_depth: float | None = None,
        time_step_control: str = "predicted",
        predicted_fraction: float = 0.95,
        max_time_step: float | None = None,
        time_step: float | None = None,
        gravity: float = GRAVITY,
        device: str | Device | Sequence[str | Device] = "auto",
        precision: str = "single",
        start_time: float = 0.0,
        kernels: str = "fast",
        maps: Maps | None = None,
        time_statistics: TimeStatistics | None = None,
        cross_sections: Mapping[str, Any] | None = None,
    ) -> None:
        self.grid, self.precision = of_type("grid", grid, Grid, "eagre.Grid(200, 100, 10.0, 10.0)"), precision
        self.device = device_for(device, self.kind, grid.cells, precision, scheme)
        self.boundaries = checked_boundaries(boundaries)
        terms = terms_of(sources, grid, start_time, self.boundaries.periodic)
        self._infiltrates = bool(terms.soil)
        requested = statistics_plan_of(time_statistics, self.variables, QUANTITIES.cells, maps)
        rows = LocalRows.of(self.device, grid, MIN_ROWS)
        with rows.agreed_errors():
            check_device_memory(rows, self.device, precision, scheme, maps, requested, terms)
        fields = InputFields.of(rows, bed_elevation, manning, (surface_elevation, depth), (velocity_x, velocity_y))
        options = checked({**locals(), "active_tiles": on_or_off(active_tiles)}, Numerics)
        gravity, courant_number = options["gravity"], options["courant_number"]
        start_time = checked_number("start_time", start_time, -1e12, 1e12)
        segments = self.boundaries.checked_segments(grid, gravity)
        sides = rows.sides(fields.bed)
        segments, self._initial_notes = with_initial_water(segments, grid, fields.water_along(sides, start_time))
        terms, walls = placed_inside(self.boundaries.internal, segments, terms)
        coming = longest_step_with_water_to_come(terms, segments, grid, sides, gravity)
        steps = steps_of(max_time_step, time_step, coming, partial(fields.first_step, courant_number, gravity))
        self.setup = Setup(
            grid=grid,
            rows=rows,
            bed=fields.bed,
            datum=Datum.of(precision, fields.lowest_surface),
            segments=segments,
            manning=fields.manning,
            terms=terms,
            **consistent(options, kernels),
            kappa=desingularisation_depth_of(options["desingularisation_depth"], fields.max_depth, wet_dry),
            **steps._asdict(),
            live=live_fraction(fields.depth, rows, terms, segments) if wet_dry == "hydrostatic" else 1.0,
            kernels=one_of("kernels", kernels, ("fast", "reference")),
            walls=walls,
            **requested_outputs(maps, requested, cross_sections, grid),
        )
        self._begin(fields.state(self.setup.datum, self.setup.centre_bed, of_level=depth is None), start_time)

    def _begin(self, state: tuple[np.ndarray, np.ndarray, np.ndarray], time: float) -> None:
        """Build the engine and set the initial state, in the rows of this process."""
        self.setup.check_periodic_bed()
        self._engine = engine_for(self.setup, self.device, self.precision)
        self._engine.set_state(*state, time)
        self._stepper = Stepper(self._engine, state[0])
        self._first_time, self._first_volume = time, self._engine.sums()["volume"]
        self._first_infiltrated = 0.0
        self._map_bed: np.ndarray | None = None
        self._cache: tuple[int, dict[Any, np.ndarray]] | None = None
        lines = self.setup.cross_sections
        self.cross_sections = None if lines is None else CrossSectionSeries(lines, self._through_lines)

    def _through_lines(self) -> tuple[float, np.ndarray]:
        return self.time, self._engine.lines.volumes(self.time)

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        eta, hu, hv = state["q"][:, 2:-2, 2:-2]
        self._begin((eta, hu, hv), float(state["clock"][ck.T]))

    # -- time ---------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._stepper.time

    @property
    def steps(self) -> int:
        """Number of completed time steps."""
        return int(self._engine.seen[ck.STEPS])

    @property
    def time_step(self) -> float:
        """Next time step before clipping to an output time, s."""
        return float(self._engine.seen[ck.FREE])

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Advance to `until`, s, exactly, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` is before the present time, or a series ends before `until`.
        BlowUpError
            If the solution is not finite or leaves the plausibility bounds of the case. The model then holds the last
            valid state.
        """
        stepper = self._stepper
        try:
            advance(
                stepper, stepper.checkpoint, until, max_steps, check_interval=stepper.check_interval,
                series=self.setup.series,
            )  # fmt: skip
        finally:
            self._cache = None

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """Return a function that makes `count` steps without state checks, for timing."""
        return self._engine.unchecked(self.time + 1e9, count)

    # -- fields -------------------------------------------------------------------------------------

    @property
    def variables(self) -> dict[str, Variable]:
        """Output fields by name."""
        soil = (INFILTRATION_DEPTH,) if self._infiltrates else ()
        return {variable.name: variable for variable in (*WATER_VARIABLES, *soil)}

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a field, (ny, nx); an empty array in processes other than the first.

        In dry cells the depth and the velocity are 0, and the surface elevation is the bed elevation.
        """
        if name not in self.variables:
            raise unknown_field(name, self.variables)
        if name == INFILTRATION_DEPTH.name:
            return self._engine.collected(lambda engine: engine.infiltration_depth()).get(NAME, np.empty(0))
        if self._cache is None or self._cache[0] != self.steps:
            self._cache = (self.steps, {})
        derived = self._cache[1]

        def fields_of_rows(engine: Any) -> dict[str, np.ndarray]:
            if engine not in derived:
                derived[engine] = engine.derived()
            return self._fields_of(derived[engine], engine.setup.centre_bed, [name])

        return self._engine.collected(fields_of_rows).get(name, np.empty(0))

    def _fields_of(self, values: np.ndarray, bed: np.ndarray, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return output fields from eta, h, hu, hv, u and v and the bed.

        bed : elevation above the datum, m, in double precision.
        """
        eta, h, hu, hv, u, v = values
        datum = self.setup.datum
        dry = h <= self._engine.parameters.dry
        zero = np.zeros((), h.dtype)
        fields = {
            "surface_elevation": lambda: datum.surface(eta, bed).astype(h.dtype),
            "depth": lambda: np.maximum(h, zero),
            "discharge_x": lambda: np.where(dry, zero, hu),
            "discharge_y": lambda: np.where(dry, zero, hv),
            "velocity_x": lambda: np.where(dry, zero, u),
            "velocity_y": lambda: np.where(dry, zero, v),
            "speed": lambda: np.where(dry, zero, np.hypot(u, v)),
            "bed": lambda: np.broadcast_to((datum.level + bed).astype(h.dtype), h.shape),
        }
        return {name: fields[name]() for name in names}

    def sample(self, names: Sequence[str], points: Sequence[tuple[int, int]]) -> dict[str, np.ndarray]:
        """Return the values of fields in cells (j, i)."""
        values = self._engine.cell_values(*check_sample(names, points, sampled_names(self.variables), self.grid))
        return self._fields_of(values[:6], values[6].astype(np.float64), names)

    def start_sampling(self, recording: Recording | None) -> bool:
        """Start, or with None stop, in-run sampling of cells; return True: the model supports it."""
        if recording is None:
            self._engine.start_sampling(None)
            return True
        names, points = recording.names, recording.points
        j, i = check_sample(names, points, sampled_names(self.variables), self.grid)
        bed = self._engine.cell_values(j, i)[6].astype(np.float64)
        values_of = partial(self._fields_of, bed=bed, names=names)
        self._engine.start_sampling(partial(Recorder, recording, values_of, self.time), j, i)
        return True

    @property
    def maps(self) -> RunMaps | None:
        """Requested maps and time statistics, accumulated to the present time; None if none were requested.

        `maps.sample()` returns the values.
        """
        setup = self.setup
        if setup.maps is None and setup.time_statistics is None:
            return None
        if self._map_bed is None:
            beds = self._engine.collected(lambda engine: {"bed": engine.setup.centre_bed})
            self._map_bed = beds.get("bed", np.zeros(0))  # in the first process
        datum, centre = setup.datum, self._map_bed
        dry_eta = centre - datum.base(centre)
        water = Water(
            lambda eta: datum.surface(eta.astype(np.float64), centre), lambda eta: eta.astype(np.float64) - dry_eta
        )
        level, bed = {"surface_elevation": datum.level}, datum.level + centre
        state = lambda: (self._engine.maps_state(), self.time)  # noqa: E731
        return RunMaps(
            self.grid, state, setup.time_statistics, level, maps=setup.maps, bed=bed, water=water,
            infiltrates=self._infiltrates,
        )  # fmt: skip

    @property
    def bed_elevation(self) -> np.ndarray:
        """Bed elevation at the cell corners, (ny + 1, nx + 1), m."""
        return self._engine.collected(lambda engine: {"bed": engine.setup.exclusive_corners.copy()}).get(
            "bed", np.empty(0)
        )

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the complete state for a bitwise-identical restart."""
        totals = {
            "first_volume": np.array(self._first_volume),
            **({"first_infiltrated": np.array(self._first_infiltrated)} if self._infiltrates else {}),
            **(self.cross_sections.state() if self.cross_sections else {}),
        }
        setup = self.setup
        return {
            **self._engine.state(),
            **totals,
            **setup.datum.state(),
            **grid_state(self.grid, setup.restart_references),
        }

    @property
    def rows_of_process(self) -> tuple[int, int]:
        """Rows of the grid that `restore` reads in this process: the first, and one past the last."""
        return self.setup.rows.low, self.setup.rows.high

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state that `state` of a model with the same set-up returned."""
        fields, numbers = {"q": self._engine.shape}, ("clock", "first_volume")
        fields |= {NAME: self.grid.shape} if self._infiltrates and NAME in state else {}
        check_state(state, fields, self.grid, numbers, self.setup.restart_references)
        self._stepper.go_on_from(over_datum(state, self.setup.datum, self.setup.bed, self.setup.rows))
        self._first_volume = float(state["first_volume"])
        self._first_infiltrated = float(state.get("first_infiltrated", 0.0))
        if self.cross_sections:
            self.cross_sections.restore(state)
        if not self._engine.balance.goes_on(state):
            self._first_time, self._first_volume = self.time, self._engine.sums()["volume"]
            self._first_infiltrated = self._infiltrated_volume
        self._cache = None
        self._stepper.checkpoint.forget()

    # -- summary ------------------------------------------------------------------------------------

    @property
    def _infiltrated_volume(self) -> float:
        """Volume that has infiltrated, m3."""
        return float(self._engine.soil_sums().sum()) * self.grid.cell_area

    def diagnostics(self) -> dict[str, float]:
        """Return the water volume, inflow, relative volume imbalance, energies and extremes."""
        sums = self._engine.sums()
        inflow, rain = self._engine.balance.amounts(self.time)
        soil = self._infiltrated_volume - self._first_infiltrated if self._infiltrates else None
        return {**sums, **water_balance(sums["volume"], self._first_volume, sum(inflow.values()), rain, soil)}

    @property
    def inflow(self) -> dict[str, float]:
        """Inflow volume since the start, m3, by boundary segment or internal discharge.

        The name of a segment is its side, with its ends if it is shorter than the side: "west", "east 0 to 40 m".
        """
        return self._engine.balance.amounts(self.time)[0]

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user, printed before the run."""
        return self._initial_notes

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """Rows of the run summary: water balance and notes on the boundaries."""
        requested = self._engine.balance.prescribed_volumes(self._first_time, self.time)
        sides = OpenSides(self.setup.segments, self.grid)
        said = sides.notes(self.sample, self.setup.gravity)
        return [*self._scheme_rows(), *water_rows(self.diagnostics(), self.inflow, requested), *said]

    def _scheme_rows(self) -> list[tuple[str, str]]:
        """Row with the number of steps of each scheme, if a scheme alternates with "rk2" on active tiles."""
        scheme, listed = self.setup.scheme, self._engine.listed_steps
        if scheme not in ("srk2", "ds2") or listed == 0:
            return []
        first = 1 if self.setup.split else 0  # the first step of a split scheme is a step of "rk2" on all tiles
        rk2 = f"rk2 {listed + first:,} steps, {listed:,} of them on active tiles"
        return [("schemes", f"{rk2}; {scheme} {self.steps - listed - first:,} steps")]

    @property
    def bytes_per_step(self) -> int:
        """Compulsory memory traffic per cell and step, bytes.

        The first stage reads 4 values and writes 3. The second stage reads 3 more.
        """
        values = {"rk2": 17, "euler": 7, "srk2": 37, "ds1": 14, "ds2": 34}[self.setup.scheme]
        return values * np.dtype(self._engine.real).itemsize

    def statistics(self) -> dict[str, float]:
        """Return numbers of steps and rejected steps, the range of the time step and the maximum Courant number."""
        clock = self._engine.seen
        return {
            "steps": int(clock[ck.STEPS]),
            "redone_steps": int(clock[ck.REDONE]),
            "dt_min": float(clock[ck.DT_MIN]) if clock[ck.DT_MAX] else math.nan,
            "dt_max": float(clock[ck.DT_MAX]) or math.nan,
            "courant_max": float(clock[ck.COURANT]),
        }

    def settings(self) -> dict[str, str | float | int]:
        """Return the resolved set-up, for the attributes of output files."""
        setup = self.setup
        low, high = setup.manning_range
        return {
            **attributes(setup, Numerics),
            "desingularisation_depth": setup.kappa,
            "manning": low if setup.uniform_manning else f"map, {low:g} to {high:g}",
            "kernels": self._engine.schedule.name,
            "device": str(self.device),
            "precision": self.precision,
            **wall_settings(setup.walls),
        }
