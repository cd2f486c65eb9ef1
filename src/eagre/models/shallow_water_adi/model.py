"""Implicit (ADI) shallow-water model: set-up, time stepping and restart (equations: README.md of this folder)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.arguments import of_type
from eagre.backend.device import Device
from eagre.backend.tuned import device_for
from eagre.boundaries import Boundaries, checked_boundaries
from eagre.boundaries.cross_sections import CrossSections, CrossSectionSeries
from eagre.boundaries.internal import placed_inside, wall_settings
from eagre.boundaries.open_sides import water_of, with_initial_water
from eagre.checks import check_memory, checked_field, checked_number, one_of
from eagre.config.options import attributes, checked
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.grid import Grid, centre_bed
from eagre.kernels.water_sums import rounding_rows, water_balance, water_rows
from eagre.local_rows import LocalRows
from eagre.models.base import BaseModel
from eagre.models.restart_state import check_state, grid_state
from eagre.models.shallow_water_adi.devices.multi_device import engine_for, local_rows
from eagre.models.shallow_water_adi.initial_state import face_flux, half_step, with_given_fluxes
from eagre.models.shallow_water_adi.inputs import (
    check_wet,
    chosen_precision,
    depth_of_dry_faces,
    fine_rain,
    input_fields,
    level_of,
    over_level,
)
from eagre.models.shallow_water_adi.kernels import OUTSIDE
from eagre.models.shallow_water_adi.memory_layout import DEVICE_WORDS, MAX_MARGIN, maps_of
from eagre.models.shallow_water_adi.options import Numerics
from eagre.models.shallow_water_adi.sampling.maps import QUANTITIES
from eagre.models.shallow_water_adi.sampling.outputs import Fields
from eagre.models.shallow_water_adi.setup import STATE, Setup
from eagre.models.shallow_water_adi.sides import sides_of
from eagre.models.shallow_water_adi.stepper import Stepper
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics, statistics_array_count, statistics_plan_of
from eagre.stepping.maps import Maps, planes_of
from eagre.terms.base import Term
from eagre.terms.collect import terms_of
from eagre.terms.infiltration import NAME


class ShallowWaterADI(Fields, BaseModel):
    """Implicit shallow-water model: alternating directions (ADI) on a staggered grid, as in MIKE 21 HD.

    Parameters
    ----------
    grid : Grid
    bed_elevation : float or (ny + 1, nx + 1) array, m
        Bed elevation at the cell corners, positive upwards. The bed of a cell is the mean of its four corners.
    time_step : float, s
        Fixed time step. It is reduced so that equal steps fit each output interval.
    surface_elevation, depth : float or (ny, nx) array, m
        Initial water. Give one of the two. Cells with a surface below the bed are dry.
    velocity_x, velocity_y : float or (ny, nx) array, m s-1
        Initial velocity.
    land_mask : (ny, nx) array of bool, optional
        Cells that are never wet, such as islands and the area outside an irregular coast.
    boundaries : Boundaries, optional
        Boundary conditions of the classes Wall, Stage, Discharge, NormalDepth and Absorbing. The default is walls on
        all sides.
    manning : float or (ny, nx) array, s m-1/3
        Manning's n, 0 (no friction) to 2. The Manning number of MIKE 21 is 1/n.
    chezy : float or (ny, nx) array, m1/2 s-1, optional
        Chezy's C, instead of `manning`.
    viscosity : float, m2 s-1
        Eddy viscosity of the unit discharges.
    sources : sequence of Rain, Infiltration, GreenAmpt, Coriolis, WindStress, AtmosphericPressure, BodyForce
        Source terms, at most one of each class.
    dissipation : {"froude", "none"}
        Numerical dissipation of the momentum advection. "froude": upwinding where the Froude number exceeds 1/4, and a
        limited Lax-Wendroff flux for the cross-advection. "none": central differences, as in the MIKE 21 thesis.
    momentum_advection : {"on", "off"}
        "off" omits the advection of momentum.
    drying : {"on", "off"}
        Wetting and drying. With "off" all cells except land must stay wet.
    dry_depth : float, m
        Water depth above the higher bed of a face below which the face is closed. Default: 1e-3 min(1 m, maximum
        initial depth).
    start : {"half-step", "zero"}
        Initial values of q half a time step before and after the start. "half-step": from the surface gradient (second
        order). "zero": the initial value for both, as in the first ADI codes (first order).
    gravity : float, m s-2
        Gravitational acceleration.
    kernels : {"fast", "reference"}
        "fast": the fastest kernels for the device. "reference": unoptimised kernels with one function per stage, slow,
        for comparisons.
    device : str, or sequence of str
        "auto", "cpu", "cuda" or "cuda:N". A list of devices distributes the rows: ["cuda:0", "cuda:1"] or
        "cuda:0,cuda:1".
    precision : {"single", "double"}, optional
        Floating-point precision of the fields. The default is "single", or "double" if single precision can lose more
        than 0.1 % of the rain on relief.
    start_time : float, s
        Time of the initial state.
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
        If a value is out of range, shapes do not match, or the model does not support a boundary condition.
    DeviceError
        If the device is not available.
    MemoryNeededError
        If the model does not fit the memory of the device.

    Notes
    -----
    Recommended values: 30 to 40 time steps per period of the shortest wave of interest, for any Courant number;
    sqrt(g h) dt / dx up to 1/2 in narrow channels oblique to the grid.

    Limits:

    - With drying, the outflow limiter reduces flow with |u| dt / dx above 1/2. The run summary reports the place, the
      duration and a time step that avoids the reduction.
    - Without drying, the scheme is unstable for |u| dt / dx above 1.
    - Shocks are smeared or oscillate. Bores and run-up are too weak.
    - Depths of drying cells can fall below 0 by a small fraction of the dry depth. The volume includes these depths.

    References
    ----------
    M. B. Abbott, A. Damsgaard and G. S. Rodenhuis, J. Hydraul. Res. 11(1), 1-28 (1973),
    doi:10.1080/00221687309499788.
    """

    kind = "shallow-water-adi"

    def __init__(
        self,
        grid: Grid,
        bed_elevation: Any,
        time_step: float,
        *,
        surface_elevation: Any = None,
        depth: Any = None,
        velocity_x: Any = 0.0,
        velocity_y: Any = 0.0,
        land_mask: Any = None,
        boundaries: Boundaries | None = None,
        manning: Any = 0.0,
        chezy: Any = None,
        viscosity: float = 0.0,
        sources: Sequence[Term] = (),
        dissipation: str = "froude",
        momentum_advection: str = "on",
        drying: str = "on",
        dry_depth: float | None = None,
        start: str = "half-step",
        gravity: float = GRAVITY,
        kernels: str = "fast",
        device: str | Device | Sequence[str | Device] = "auto",
        precision: str | None = None,
        start_time: float = 0.0,
        maps: Maps | None = None,
        time_statistics: TimeStatistics | None = None,
        cross_sections: Mapping[str, Any] | None = None,
    ) -> None:
        self.grid = of_type("grid", grid, Grid, "eagre.Grid(200, 100, 10.0, 10.0)")
        rows = local_rows(device_for(device, self.kind, grid.cells, precision or "single"), grid, kernels)
        _check_fields_fit(rows, device, precision or "single")
        fields = (bed_elevation, (surface_elevation, depth), (velocity_x, velocity_y), land_mask)
        corners, surface, thickness, discharge, dry_land = input_fields(rows, *fields)
        options = checked(locals(), Numerics)
        terms, self.boundaries = terms_of(sources, grid, start_time), checked_boundaries(boundaries)
        self._infiltrates, step = bool(terms.soil), options["time_step"]
        precision, self._why_precision = chosen_precision(precision, terms, surface, dry_land, rows, step)
        self.precision, self.device = precision, device_for(device, self.kind, grid.cells, precision)
        averaged = statistics_plan_of(time_statistics, self.variables, QUANTITIES.cells, maps)
        arrays = planes_of(maps) + statistics_array_count(averaged, precision) + maps_of(terms, self.device.kind)
        with rows.agreed_errors():
            check_memory(rows.held_grid, self.device, precision, DEVICE_WORDS + arrays, MAX_MARGIN)
            check_wet(thickness, dry_land, rows, drying == "on")
            friction, law = _friction(manning, chezy, options["gravity"], rows)
        self._bed, level = centre_bed(corners), level_of(precision, surface, dry_land, rows)
        time = checked_number("start_time", start_time, -1e12, 1e12)
        water, segments = np.where(dry_land, 0.0, thickness), self.boundaries.checked_segments(grid, options["gravity"])
        along_sides = water_of(rows.sides(surface), rows.sides(water), rows.sides(corners), time)
        segments, self._initial_notes = with_initial_water(segments, grid, along_sides)
        land = rows.everywhere(dry_land) if self.boundaries.internal else None
        terms, walls = placed_inside(self.boundaries.internal, segments, terms, land)
        check_viscosity(options["viscosity"], options["time_step"], grid)
        _, deepest = rows.extremes(water)
        options["dry_depth"] = depth_of_dry_faces(options["dry_depth"], deepest)
        self.setup = Setup(
            grid=grid, rows=rows,
            bed=np.where(dry_land, OUTSIDE, self._bed - level), level=level,
            segments=segments,
            friction=friction, law=law, terms=terms,
            **options,
            deepest=deepest,
            kernels=one_of("kernels", kernels, ("fast", "reference")),
            walls=walls,
            maps=maps, time_statistics=averaged,
            cross_sections=CrossSections(cross_sections, grid) if cross_sections else None,
        )  # fmt: skip
        self._begin(surface - level, discharge, time)

    def _begin(self, surface: np.ndarray, discharge: list[np.ndarray], start: float) -> None:
        """Build the engine and set the initial state, in the rows of this process."""
        self._engine = engine_for(self.setup, self.device, self.precision)
        setup, dt = self.setup.of_rows(self.setup.rows.low, self.setup.rows.high), self.setup.time_step
        sides = sides_of(setup.segments, setup.level)
        p, q = (face_flux(setup, sides, surface, flux, along) for flux, along in zip(discharge, "xy", strict=True))
        p, _ = with_given_fluxes(setup, sides, surface, (p, p), "x", start, dt)
        pair = half_step(setup, surface, p, q, dt, start) if setup.start == "half-step" else (q, q)
        pair = with_given_fluxes(setup, sides, surface, pair, "y", start, dt)
        self._engine.set_state(surface, p, *pair)
        self._first_time, self._stepper = start, Stepper(self._engine, start, surface)
        lines = self.setup.cross_sections
        self.cross_sections = None if lines is None else CrossSectionSeries(lines, self._through_lines)
        self._forget()

    def _through_lines(self) -> tuple[float, np.ndarray]:
        return self.time, self._engine.lines.volumes()

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine = engine_for(self.setup, self.device, self.precision)
        self._engine.set_state(*(state[name] for name in STATE))
        self._stepper = Stepper(self._engine, float(state["clock"][0]), state["z"])

    # -- time ---------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._stepper.time

    @property
    def steps(self) -> int:
        """Number of completed time steps."""
        return self._stepper.steps

    @property
    def time_step(self) -> float:
        """Present time step, s."""
        return self._engine.dt

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
        stepper, series = self._stepper, self.setup.series
        try:
            advance(stepper, stepper.checkpoint, until, max_steps, check_interval=stepper.check_interval, series=series)
        finally:
            self._forget()

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """Return a function that makes `count` steps without state checks, for timing."""

        def make() -> None:
            self._stepper.make(count)
            self._forget()

        return make

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Return the complete state for a bitwise-identical restart."""
        values = {**(self.cross_sections.state() if self.cross_sections else {}), "level": np.array(self.setup.level)}
        return {**self._stepper.whole_state(), **values, **grid_state(self.grid, self.setup.restart_references)}

    @property
    def rows_of_process(self) -> tuple[int, int]:
        """Rows of the grid that `restore` reads in this process: the first, and one past the last."""
        return self.setup.rows.low, self.setup.rows.high

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state that `state` of a model with the same set-up returned."""
        shapes = {name: self.grid.shape_of(location) for name, location in STATE.items()}
        shapes |= {NAME: self.grid.shape} if self._infiltrates and NAME in state else {}
        check_state(state, shapes, self.grid, ("clock",), self.setup.restart_references)
        held = self.setup.rows.held
        state = {name: held(values, STATE.get(name, "centre")) for name, values in state.items()}
        self._stepper.go_on_from(over_level(state, self.setup.level))
        if self.cross_sections:
            self.cross_sections.restore(state)
        if not self._engine.balance.goes_on(state):
            self._first_time = self.time
        self._stepper.checkpoint.forget()
        self._forget()

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Return the water volume, inflow, relative volume imbalance, energies and extremes."""
        sums = self._engine.sums()
        inflow, rain = self._engine.balance.amounts()
        sums["potential_energy"] += self.setup.gravity * self.setup.level * sums["volume"]
        first, soil = self._stepper.first_volume, self._stepper.infiltrated if self._infiltrates else None
        return {**sums, **water_balance(sums["volume"], first, sum(inflow.values()), rain, soil)}

    @property
    def inflow(self) -> dict[str, float]:
        """Inflow volume since the start, m3, by boundary segment or internal discharge.

        The name of a segment is its side, with its ends if it is shorter than the side: "west", "east 0 to 40 m".
        """
        return self._engine.balance.amounts()[0]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """Rows of the run summary: water balance, rounding, negative depths and |u| dt / dx."""
        grows = self.setup.momentum_advection == "on" and self.setup.viscosity == 0.0
        braked = self._stepper.courant_monitor.summary_rows(self.setup.time_step, self.setup.drying == "on", grows)
        prescribed = self._engine.balance.prescribed_volumes(self._first_time, self.time)
        diagnostics = self.diagnostics()
        rounded = rounding_rows(diagnostics) if self.precision == "single" else []
        negative_depth = self._stepper.courant_monitor.negative_depth_rows(self.setup.dry_depth)
        return [*water_rows(diagnostics, self.inflow, prescribed), *rounded, *negative_depth, *braked]

    @property
    def notes(self) -> Sequence[str]:
        """Notes for the user, printed before the run."""
        if self._why_precision:
            return [*self._initial_notes, self._why_precision]
        return [*self._initial_notes, *(fine_rain(self.setup) if self.precision == "single" else ())]

    @property
    def bytes_per_step(self) -> int:
        """Compulsory memory traffic per cell and step, bytes.

        A sweep reads z, d, its own flux and two time levels of the other flux, and writes two values.
        """
        return 14 * np.dtype(self._engine.real).itemsize

    def statistics(self) -> dict[str, float]:
        """Return the number of steps, the range of the time step, Courant numbers, limited time and neglected coupling.

        courant_max : long-wave Courant number in the deepest water. flow_courant_max, braked_seconds : see
        `CourantMonitor`. coupling_left_out : see `Engine.lost`.
        """
        depth = self._engine.sums()["max_depth"]
        distance = math.sqrt(self.setup.gravity * max(depth, 0.0)) * self._engine.dt
        return {
            "steps": self.steps,
            "dt_min": self._stepper.shortest if self.steps else math.nan,
            "dt_max": self._stepper.longest if self.steps else math.nan,
            "courant_max": distance / min(self.grid.dx, self.grid.dy),
            "flow_courant_max": self._stepper.courant_monitor.max_courant,
            "braked_seconds": self._stepper.courant_monitor.seconds,
            "coupling_left_out": self._engine.lost(),
        }

    def settings(self) -> dict[str, str | float | int]:
        """Return the resolved set-up, for the attributes of output files."""
        setup = self.setup
        roots = sorted(math.sqrt(factor / setup.gravity) for factor in setup.friction_range)
        low, high = roots if setup.law == "manning" else (1.0 / root for root in reversed(roots))
        return {
            **attributes(setup, Numerics),
            setup.law: low if low == high else f"map, {low:g} to {high:g}",
            "kernels": setup.kernels,
            "lines": self._engine.method,
            "device": str(self.device),
            "precision": self.precision,
            **({"precision_note": self._why_precision} if self._why_precision else {}),
            **wall_settings(setup.walls),
        }


def _check_fields_fit(rows: LocalRows, device: Any, precision: str) -> None:
    """Raise `MemoryNeededError` if the fields do not fit the device.

    The check precedes the allocation of arrays of the grid size on the host.
    """
    chosen = device_for(device, ShallowWaterADI.kind, rows.grid.cells, precision)
    with rows.agreed_errors():
        check_memory(rows.held_grid, chosen, precision, DEVICE_WORDS, MAX_MARGIN)


def _friction(manning: Any, chezy: Any, gravity: float, rows: LocalRows) -> tuple[np.ndarray, str]:
    if chezy is None:
        n = checked_field("manning", manning, rows, "centre", "manning")
        return gravity * n**2, "manning"
    if np.any(np.asarray(manning) != 0.0):
        raise InputError(
            "both manning and chezy", allowed="either manning or chezy", fix="chezy = 60.0",
            problem="Two bed-friction laws are given.",
        )  # fmt: skip
    return gravity / checked_field("chezy", chezy, rows, "centre", "chezy") ** 2, "chezy"


def check_viscosity(number: float, dt: float, grid: Grid) -> None:
    """Raise `InputError` for a viscosity, m2 s-1, above the stability limit for a time step dt, s."""
    maximum = 0.5 * min(grid.dx, grid.dy) ** 2 / dt
    if number > maximum:
        raise InputError(
            f"viscosity = {number:g} m2/s with time_step = {dt:g} s",
            allowed=f"at most dx^2 / (2 dt) = {maximum:g} m2/s",
            fix=f"time_step = {0.5 * min(grid.dx, grid.dy) ** 2 / number:g}",
            problem="The viscosity exceeds the stability limit of the explicit cross-diffusion.",
        )
