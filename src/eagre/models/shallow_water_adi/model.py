"""The implicit shallow-water model: assembly and time (equations: README.md beside this file)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.group import Group
from eagre.backend.tuned import device_for
from eagre.boundaries import Boundaries, checked_boundaries
from eagre.boundaries.internal import placed_inside, walls_in_words
from eagre.boundaries.lines import CrossSections, CrossSectionSeries
from eagre.boundaries.open_sides import with_initial_water
from eagre.checks import (
    check_memory,
    check_state,
    checked_field,
    checked_number,
    grid_state,
    initial_surface,
    one_of,
)
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.given import of_type
from eagre.grid import Grid, centre_bed
from eagre.kernels.water_sums import rounding_rows, water_balance, water_rows
from eagre.models.base import BaseModel
from eagre.models.shallow_water_adi.averaging import QUANTITIES
from eagre.models.shallow_water_adi.bands import engine_for
from eagre.models.shallow_water_adi.inputs import (
    check_wet,
    checked_land,
    chosen_precision,
    depth_of_dry_faces,
    fine_rain,
    level_of,
    over_level,
)
from eagre.models.shallow_water_adi.kernels import OUTSIDE
from eagre.models.shallow_water_adi.layout import DEVICE_WORDS, LARGEST_MARGIN, maps_of
from eagre.models.shallow_water_adi.output import Fields
from eagre.models.shallow_water_adi.setup import Setup
from eagre.models.shallow_water_adi.start import face_flux, half_step, with_given_fluxes
from eagre.models.shallow_water_adi.stepper import Stepper
from eagre.stepping.advance import advance
from eagre.stepping.averages import TimeStatistics, asked_of, words_of
from eagre.stepping.maps import Maps, planes_of
from eagre.terms.base import Term
from eagre.terms.collect import terms_of


class ShallowWaterADI(Fields, BaseModel):
    """Implicit shallow-water model: alternating directions on a staggered grid, as in MIKE 21 HD.

    Parameters
    ----------
    grid : Grid
    bed_elevation : float or (ny + 1, nx + 1) array, m
        At cell corners, positive up; a cell has the mean of its four.
    time_step : float, s
        Fixed; stretches to an output time that is no multiple of it are cut into equal, shorter steps.
    surface_elevation, depth : float or (ny, nx) array, m
        Initial water, one of the two; a surface below the bed means dry.
    velocity_x, velocity_y : float or (ny, nx) array, m s-1
        Initial velocity.
    land_mask : (ny, nx) array of bool, optional
        Cells that are never wet: islands, and what lies outside an irregular coast.
    boundaries : Boundaries
        Of Wall, Stage, Discharge, NormalDepth and Absorbing; walls all round if not given.
    manning : float or (ny, nx) array, s m-1/3
        Manning's n, 0 (no friction) to 2. MIKE 21's Manning number is 1/n.
    chezy : float or (ny, nx) array, m1/2 s-1, optional
        Chezy's C in place of `manning`.
    viscosity : float, m2 s-1
        Eddy viscosity of the unit discharges.
    sources : sequence of Rain, Coriolis, WindStress, AtmosphericPressure, BodyForce
    dissipation : {"froude", "none"}
        "froude": upwinding of the momentum where the Froude number is above 1/4, with a Lax-Wendroff flux and
        a limiter across the lines. "none": central differences, as in the MIKE 21 thesis.
    momentum_advection : {"on", "off"}
        "off" leaves out the convective terms.
    drying : {"on", "off"}
        Whether cells may flood and dry; without it all cells but land must stay wet.
    dry_depth : float, m
        Water over the higher bed of a face below which the face is closed. Default 1e-3 min(1 m,
        largest depth).
    start : {"half-step", "zero"}
        How q begins half a step before and after the start: pushed by the surface's slope (second
        order), or both as given (the first programs' way, first order).
    gravity : float, m s-2
    kernels : {"fast", "reference"}
        The fastest kernels that there are for the device, or one plain cell a stage (slow; to compare).
    device : str, or a sequence of them
        "auto", "cpu", "cuda" or "cuda:N"; several share the rows: ["cuda:0", "cuda:1"] or "cuda:0,cuda:1".
    precision : {"single", "double"}, optional
        Default "single", or "double" where single precision can lose more than 0.1 % of the rain on relief.
    start_time : float, s
    maps : Maps, optional
    time_statistics : TimeStatistics, optional
        What is gathered at every step; see the attribute `maps`.
    cross_sections : mapping of str to sequence of (x, y), m, optional
        Lines through which the discharge is summed, positive to their right; see the attribute `cross_sections`.

    Raises
    ------
    InputError
        For values outside these ranges, shapes that do not match, or a side that this model has not.
    DeviceError, MemoryNeededError
        If the device is not there, or too small.

    Notes
    -----
    Good values: 30 to 40 steps in a period of the shortest wave that matters, whatever the Courant number;
    sqrt(g h) dt / dx up to 1/2 in narrow channels that run askew to the grid. Limits: with drying, flow above
    |u| dt / dx = 1/2 is held back (the summary of a run says where, how long, and a step that avoids it); without,
    it is not stable above 1; shocks are smeared or ripple, bores and run-up are too weak. Depths of drying cells may
    fall below 0 by a small part of the dry depth; the volume counts that.

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
        _check_fields_fit(grid, device, precision or "single")
        corners = checked_field("bed_elevation", bed_elevation, grid, "corner", "elevation")
        self.bed, (surface, thickness) = centre_bed(corners), initial_surface(surface_elevation, depth, corners, grid)
        dry_land, step = checked_land(land_mask, grid), checked_number("time_step", time_step, 1e-9, 1e9)
        terms, self.boundaries = terms_of(sources, grid, start_time), checked_boundaries(boundaries)
        precision, self._why_precision = chosen_precision(precision, terms, surface, dry_land, step)
        self.precision, self.device = precision, device_for(device, self.kind, grid.cells, precision)
        averaged = asked_of(time_statistics, self.variables, QUANTITIES.cells, maps)
        size = DEVICE_WORDS + maps_of(terms, self.device.kind) + planes_of(maps) + words_of(averaged, precision)
        check_memory(grid, self.device, precision, size, LARGEST_MARGIN)
        time, level = checked_number("start_time", start_time, -1e12, 1e12), level_of(precision, surface, dry_land)
        water, segments = np.where(dry_land, 0.0, thickness), self.boundaries.checked_segments(grid, gravity)
        segments, self._initial_notes = with_initial_water(segments, grid, surface, water, corners, time)
        terms, walls = placed_inside(self.boundaries.internal, segments, terms, dry_land)
        friction, law = _friction(manning, chezy, gravity, grid)
        self.setup = Setup(
            grid=grid,
            bed=np.where(dry_land, OUTSIDE, self.bed - level),
            level=level,
            segments=segments,
            friction=friction, law=law,
            terms=terms,
            gravity=checked_number("gravity", gravity, 1e-6, 1e3),
            viscosity=_viscosity(viscosity, step, grid),
            dissipation=one_of("dissipation", dissipation, ("froude", "none")) == "froude",
            momentum_advection=one_of("momentum_advection", momentum_advection, ("on", "off")) == "on",
            drying=one_of("drying", drying, ("on", "off")) == "on",
            dry_depth=depth_of_dry_faces(dry_depth, water),
            time_step=step, deepest=float(water.max()),
            kernels=self._kernels(one_of("kernels", kernels, ("fast", "reference")), walls),
            walls=walls,
            maps=maps, time_statistics=averaged,
            cross_sections=CrossSections(cross_sections, grid) if cross_sections else None,
        )  # fmt: skip
        check_wet(thickness, dry_land, self.setup.drying)
        self._start = one_of("start", start, ("half-step", "zero"))
        speeds = (checked_field(f"velocity_{a}", u, grid, "centre") for a, u in (("x", velocity_x), ("y", velocity_y)))
        self._begin(surface - level, [thickness * u for u in speeds], time)

    def _kernels(self, asked: str, walls: np.ndarray | None) -> str:
        """Which kernels run: with walls inside the domain those of a GPU are the plain ones."""
        if walls is None or self.device.kind == "cpu":
            return asked
        if isinstance(self.device, Group):
            raise InputError(
                f"internal walls on {len(self.device.members)} devices", allowed="one GPU, or CPUs",
                fix='device = "cuda"', problem="Internal walls are not supported on several GPUs.",
            )  # fmt: skip
        return "reference"

    def _begin(self, surface: np.ndarray, discharge: list[np.ndarray], start: float) -> None:
        """Build the engine and set its first state."""
        if self.setup.kernels == "reference" and isinstance(self.device, Group):
            got = f'{len(self.device.members)} devices for one run with kernels = "reference"'
            raise InputError(
                got, allowed='one device, or kernels = "fast"', fix='kernels = "fast"',
                problem="The reference kernels run on one device only.",
            )  # fmt: skip
        self._engine = engine_for(self.setup, self.device, self.precision)
        sides, dt = self._engine.sides, self.setup.time_step
        p, q = (face_flux(self.setup, sides, surface, flux, along) for flux, along in zip(discharge, "xy", strict=True))
        p, _ = with_given_fluxes(self.setup, sides, surface, (p, p), "x", start)
        pair = half_step(self.setup, surface, p, q, dt, start) if self._start == "half-step" else (q, q)
        pair = with_given_fluxes(self.setup, sides, surface, pair, "y", start)
        self._engine.set_state(surface, p, *pair)
        self._first_time, self._stepper = start, Stepper(self._engine, start, surface)
        lines = self.setup.cross_sections
        self.cross_sections = None if lines is None else CrossSectionSeries(lines, self._through_lines)
        self._forget()

    def _through_lines(self) -> tuple[float, np.ndarray]:
        return self.time, self._engine.lines.volumes()

    def _begin_anew(self, state: dict[str, np.ndarray]) -> None:
        self._engine = engine_for(self.setup, self.device, self.precision)
        self._engine.set_state(*(state[name] for name in ("z", "p", "q_before", "q_after")))
        self._stepper = Stepper(self._engine, float(state["clock"][0]), state["z"])

    # -- time ---------------------------------------------------------------------------------------

    @property
    def time(self) -> float:
        """Model time, s."""
        return self._stepper.time

    @property
    def steps(self) -> int:
        """Steps made."""
        return self._stepper.steps

    @property
    def time_step(self) -> float:
        """Time step in use, s."""
        return self._engine.dt

    def advance(self, until: float, max_steps: int | None = None) -> None:
        """Step to `until`, s, and land on it exactly, or stop after `max_steps` steps.

        Raises
        ------
        InputError
            If `until` lies before the present, or a series ends before it.
        BlowUpError
            If the solution stops being finite, or leaves what the water of the case can reach; the model then
            holds the last good state.
        """
        stepper, series = self._stepper, self.setup.series
        try:
            advance(stepper, stepper.keeper, until, max_steps, look_steps=stepper.look_steps, series=series)
        finally:
            self._forget()

    def steps_without_checks(self, count: int) -> Callable[[], None]:
        """A function that makes `count` steps and reads nothing: for timing."""

        def make() -> None:
            self._stepper.make(count)
            self._forget()

        return make

    # -- restart ------------------------------------------------------------------------------------

    def state(self) -> dict[str, np.ndarray]:
        """Everything that a restart needs to go on bit for bit."""
        own = {**(self.cross_sections.state() if self.cross_sections else {}), "level": np.array(self.setup.level)}
        return {**self._stepper.state(), **own, **grid_state(self.grid, self.setup.stood_on)}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state` from a model of the same set-up."""
        places = {"z": "centre", "p": "face_x", "q_before": "face_y", "q_after": "face_y"}
        check_state(
            state,
            {name: self.grid.shape_of(at) for name, at in places.items()},
            self.grid,
            ("clock",),
            self.setup.stood_on,
        )
        self._stepper.go_on_from(over_level(state, self.setup.level))
        if self.cross_sections:
            self.cross_sections.restore(state)
        if not self._engine.balance.goes_on(state):
            self._first_time = self.time
        self._stepper.keeper.forget()
        self._forget()

    # -- summary ------------------------------------------------------------------------------------

    def diagnostics(self) -> dict[str, float]:
        """Volume, what came in, what of its change neither explains (relative), energies and extremes."""
        found = self._engine.sums()
        inflow, rain = self._engine.balance.amounts()
        found["potential_energy"] += self.setup.gravity * self.setup.level * found["volume"]
        return {**found, **water_balance(found["volume"], self._stepper.first_volume, sum(inflow.values()), rain)}

    @property
    def inflow(self) -> dict[str, float]:
        """Water that came in since the start, m3, by the name of the open side or part ("west", "east 0 to 40 m")."""
        return self._engine.balance.amounts()[0]

    @property
    def summary_rows(self) -> list[tuple[str, str]]:
        """Where water came from or went to, and how fast it crossed cells or emptied them, for the summary of a run."""
        grows = self.setup.momentum_advection and self.setup.viscosity == 0.0
        braked = self._stepper.brake.summary_rows(self.setup.time_step, self.setup.drying, grows)
        asked = self._engine.balance.asked(self._first_time, self.time)
        found = self.diagnostics()
        rounded = rounding_rows(found) if self.precision == "single" else []
        overdrawn = self._stepper.brake.overdrawn(self.setup.dry_depth)
        return [*water_rows(found, self.inflow, asked), *rounded, *overdrawn, *braked]

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know before the run."""
        if self._why_precision:
            return [*self._initial_notes, self._why_precision]
        return [*self._initial_notes, *(fine_rain(self.setup) if self.precision == "single" else ())]

    @property
    def bytes_per_step(self) -> int:
        """Bytes a cell that a step must move: a sweep reads z, d, its flux, the other's two levels, and writes two."""
        return 14 * np.dtype(self._engine.real).itemsize

    def statistics(self) -> dict[str, float]:
        """Steps, range of the time step, Courant number of long waves in the deepest water; `Brake`; `Engine.lost`."""
        depth = self._engine.sums()["max_depth"]
        reach = math.sqrt(self.setup.gravity * max(depth, 0.0)) * self._engine.dt
        return {
            "steps": self.steps,
            "dt_min": self._stepper.shortest if self.steps else math.nan,
            "dt_max": self._stepper.longest if self.steps else math.nan,
            "courant_max": reach / min(self.grid.dx, self.grid.dy),
            "flow_courant_max": self._stepper.brake.largest,
            "braked_seconds": self._stepper.brake.seconds,
            "coupling_left_out": self._engine.lost(),
        }

    def settings(self) -> dict[str, str | float | int]:
        """The resolved set-up, for the attributes of output files."""
        setup = self.setup
        factor = setup.friction / setup.gravity
        values = np.sqrt(factor) if setup.law == "manning" else 1.0 / np.sqrt(factor)
        same = bool((values == values.flat[0]).all())
        on = {True: "on", False: "off"}
        return {
            "time_step": setup.time_step,
            setup.law: float(values.flat[0]) if same else f"map, {values.min():g} to {values.max():g}",
            "viscosity": setup.viscosity,
            "dissipation": "froude" if setup.dissipation else "none",
            "momentum_advection": on[setup.momentum_advection],
            "drying": on[setup.drying],
            "dry_depth": setup.dry_depth,
            "start": self._start,
            "gravity": setup.gravity,
            "kernels": setup.kernels,
            "lines": self._engine.method,
            "device": str(self.device),
            "precision": self.precision,
            **({"precision_note": self._why_precision} if self._why_precision else {}),
            **walls_in_words(setup.walls),
        }


def _check_fields_fit(grid: Grid, device: Any, precision: str) -> None:
    """Raise an error if the fields alone do not fit, before arrays of the size of the grid are made on the host."""
    chosen = device_for(device, ShallowWaterADI.kind, grid.cells, precision)
    check_memory(grid, chosen, precision, DEVICE_WORDS, LARGEST_MARGIN)


def _friction(manning: Any, chezy: Any, gravity: float, grid: Grid) -> tuple[np.ndarray, str]:
    if chezy is None:
        n = checked_field("manning", manning, grid, "centre", "manning")
        return gravity * n**2, "manning"
    if np.any(np.asarray(manning) != 0.0):
        raise InputError(
            "both manning and chezy", allowed="either manning or chezy", fix="chezy = 60.0",
            problem="Two bed-friction laws are given.",
        )  # fmt: skip
    return gravity / checked_field("chezy", chezy, grid, "centre", "chezy") ** 2, "chezy"


def _viscosity(value: float, dt: float, grid: Grid) -> float:
    number = checked_number("viscosity", value, 0.0, 1e9)
    most = 0.5 * min(grid.dx, grid.dy) ** 2 / dt
    if number > most:
        raise InputError(
            f"viscosity = {number:g} m2/s with time_step = {dt:g} s",
            allowed=f"at most dx^2 / (2 dt) = {most:g} m2/s",
            fix=f"time_step = {0.5 * min(grid.dx, grid.dy) ** 2 / number:g}",
            problem="The viscosity exceeds the stability limit of the explicit cross-diffusion.",
        )
    return number
