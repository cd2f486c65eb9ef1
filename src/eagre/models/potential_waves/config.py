"""Case files of the potential-flow waves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.checks import check_input_memory
from eagre.config.case import Case
from eagre.config.problems import Key
from eagre.config.section import Section, case_key, only_one
from eagre.config.sections import AveragesSection, MeasuredSection, check_unique_names, named
from eagre.config.values.field_values import ElevationField, FieldValue, LengthField, NumberField
from eagre.config.values.signals import Signal, signal
from eagre.config.values.types import Acceleration, Metres, PositiveMetres, PositiveSeconds, Seconds, SeriesOutputFile
from eagre.config.water.terrain import Crs
from eagre.config.wave_tables import Wave
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.sides import STRENGTH as STRENGTH_OF_SPONGE
from eagre.models.potential_waves.boundaries.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.boundaries.wave_checks import wave_notes
from eagre.models.potential_waves.laplace.base import MAX_ITERATIONS
from eagre.models.potential_waves.laplace.stencils import check_layers
from eagre.models.potential_waves.sampling.kinematics import LEVELS
from eagre.models.potential_waves.sampling.outputs import BREAKING_COLUMNS, breaking_row
from eagre.models.potential_waves.surface.breaking import MAX_CREST_SPEED_RATIO, MAX_FRONT_SLOPE, STRENGTH
from eagre.solvers.multigrid.plan import STRETCHED

if TYPE_CHECKING:
    from eagre.io import ProbeWriter
    from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
    from eagre.models.potential_waves.model import PotentialWaves
    from eagre.waves import LinearWaves, RegularWave

SpeedSignal = Annotated[Signal, signal("speed")]
LengthSignal = Annotated[Signal, signal("length")]
Side = Literal["west", "east", "south", "north"]
REGULAR = ("airy", "stokes", "stream_function")
SEAS = ("jonswap", "pierson_moskowitz", "tma")  # spectra with a peak period
LEVEL = 0.01  # relative variation of the depth up to which the bed counts as level


def _several(value: Any) -> Any:
    """Return a single value as a list."""
    return value if isinstance(value, list) else [value]


Lengths = Annotated[list[Metres], BeforeValidator(_several), Field(min_length=1)]
Shares = Annotated[list[float], BeforeValidator(_several), Field(min_length=1)]


class ProbeSection(Section):
    """Probes at a point, or on a row or plane of points, at levels given by one of z, below and sigma."""

    name: str = case_key("name of the probe in the file; unique", "pile", min_length=1)
    x: Lengths = case_key("x coordinate or coordinates, metres; the flow is interpolated between grid points", 12.0)
    y: Lengths = case_key(
        "y coordinate or coordinates, metres; probes at every combination of x and y", 0.0, default=[0.0]
    )
    z: Lengths | None = case_key("fixed height or heights, metres above still water", [-0.3, -0.2, 0.0], default=None)
    below: Lengths | None = case_key(
        "instead of z: depth or depths below the moving surface, metres", 0.1, default=None
    )
    sigma: Shares | None = case_key("instead of z: relative height, 0 at the bed, 1 at the surface", 0.5, default=None)

    @model_validator(mode="after")
    def _one_level(self) -> ProbeSection:
        levels = [name for name in LEVELS if getattr(self, name) is not None]
        if len(levels) != 1:
            raise InputError(
                " and ".join(levels) or "no level", allowed="exactly one of z, below and sigma", fix="z = -0.1"
            )
        return self


Points = Annotated[
    list[ProbeSection], named(ProbeSection, {"x": 12.0, "z": [-0.2, -0.1]}), AfterValidator(check_unique_names)
]


class ProbesSection(MeasuredSection):
    """Time series of velocity, acceleration and pressure below the surface, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("points",)

    file: SeriesOutputFile = case_key("file name ending in .nc or .csv, relative to the case file", "probes.nc")
    interval: PositiveSeconds = case_key("time between records", "0.1 s")
    points: Points = case_key(
        "probes as tables by name, or the sections [[probes.points]]",
        [{"name": "pile", "x": 12.0, "z": [-0.2, -0.1]}],
        min_length=1,
    )

    @property
    def note(self) -> str:
        """Quantities in the file, for the run summary."""
        return "velocity, acceleration and pressure"

    def open(self, path: Path, model: PotentialWaves, **options: Any) -> ProbeWriter:
        """Return the writer of the probes of a model."""
        from eagre.io import ProbeWriter

        group = model.probe_group({one.name: one.model_dump(exclude={"name"}) for one in self.points})
        return ProbeWriter(path, model, group, **options)


def _whole_order(order: int) -> int:
    if order not in (2, 4, 6, 8):
        raise InputError(f"order = {order}", allowed="2, 4, 6 or 8", fix="order = 6")
    return order


class MultigridSection(Section):
    """Multigrid preconditioner of the horizontal equations; the defaults are the fastest known."""

    cycle: Literal["V", "W", "F"] = case_key("cycle: V, W or F", "W", default="V")
    pre: int = case_key("number of pre-smoothing sweeps", 2, default=1, ge=0, le=100)
    post: int = case_key("number of post-smoothing sweeps", 2, default=1, ge=0, le=100)
    levels: int | None = case_key("maximum number of grids", 4, default=None, ge=1)
    stretched: float = case_key(
        "largest ratio of grid spacings up to which both axes are coarsened", 2.0, default=STRETCHED, ge=1.0
    )
    smoother: Literal["red-black", "jacobi"] = case_key("smoother: red-black or jacobi", "jacobi", default="red-black")
    weight: float = case_key("weight of Jacobi sweeps", 0.8, default=0.8, gt=0, le=1)

    @model_validator(mode="after")
    def _sweeps(self) -> MultigridSection:
        if self.pre + self.post < 1:
            raise InputError("pre = 0 and post = 0", allowed="at least one sweep in total", fix="post = 1")
        return self


class NumericsSection(Section):
    """Order, vertical grid, time step and options of the scheme."""

    order: Annotated[int, AfterValidator(_whole_order)] = case_key(
        "order of the finite differences: 2, 4, 6 or 8", 6, default=6
    )
    vertical_points: int = case_key(
        "number of points from the surface to the bed, larger than order", 9, default=9, ge=3
    )
    vertical_clustering: bool = case_key("whether to cluster the vertical points towards the surface", default=True)
    linear: bool = case_key("whether to solve the linearised equations", True, default=False)
    time_step: PositiveSeconds | None = case_key(
        "time step; without it courant_number determines the time step", "0.05 s", default=None
    )
    courant_number: float = case_key(
        "spacings that a wave 20 points long travels per step", 0.5, default=0.5, gt=0, le=10
    )
    tolerance: float = case_key(
        "tolerance of the Laplace solver: relative size of the last correction", 1e-5, default=1e-5, gt=0, le=0.1
    )
    absolute_tolerance: float = case_key(
        "absolute tolerance of the Laplace solver, m2/s; the larger of both tolerances is used", 1e-7, default=0.0, ge=0
    )
    max_iterations: int = case_key(
        "maximum number of iterations per Laplace solve", 200, default=MAX_ITERATIONS, ge=1, le=100000
    )
    on_nonconvergence: Literal["error", "continue"] = case_key(
        "action after max_iterations: error, or continue with the last iterate", "continue", default="error"
    )
    gravity: Acceleration = case_key("acceleration of gravity, m/s2", 9.81, default=GRAVITY)
    surface_filter: int = case_key(
        "number of steps between Savitzky-Golay filterings of the surface; 0: none", 10, default=0, ge=0
    )
    correction_precision: Literal["single", "double"] = case_key(
        "precision of the corrections in a double-precision run", "double", default="single"
    )
    preconditioner: Literal["modes", "lines"] = case_key(
        "preconditioner: modes, or lines along sigma, which is slower", "lines", default="modes"
    )
    multigrid: MultigridSection | None = case_key("the section [numerics.multigrid]", default=None)

    @model_validator(mode="after")
    def _one_step(self) -> NumericsSection:
        if self.time_step is not None and "courant_number" in self.model_fields_set:
            raise InputError("both time_step and courant_number", allowed="one of the two", fix="courant_number = 0.5")
        check_layers(self.vertical_points, self.order)
        return self


class BasinSection(Section):
    """Rectangular basin and its grid points, with walls or periodic."""

    nx: int = case_key("number of points along x, including the points on walls", 257, ge=1)
    ny: int = case_key("number of points along y; 1: a flume, waves along x only", 129, default=1, ge=1)
    length_x: PositiveMetres = case_key("length from wall to wall, or the period, metres", 20.0)
    length_y: PositiveMetres = case_key(
        "width from wall to wall, or the period, metres; the width of a flume", 10.0, default=1.0
    )
    x0: Metres = case_key("x coordinate of the first point, metres", default=0.0)
    y0: Metres = case_key("y coordinate of the first point, metres", default=0.0)
    crs: Crs | None = case_key("coordinate reference system of x and y, such as EPSG:32633", "EPSG:32633", default=None)
    periodic: Literal["none", "x", "y", "both"] = case_key(
        "periodic axes: none (walls on all sides), x, y or both", "x", default="none"
    )
    depth: LengthField | None = case_key("still-water depth, metres, positive everywhere", 0.4, default=None)
    bed: ElevationField | None = case_key(
        "instead of depth: bed elevation, metres, positive upward; still water is at 0", -0.4, default=None
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> BasinSection:
        only_one(self, ("depth", "bed"), "depth = 0.4", "either depth or bed")
        return self

    def grid(self) -> Grid:
        """Return the grid whose cell centres are the points."""
        periodic = self.periodic in ("x", "both"), self.periodic in ("y", "both")
        grid = Grid.from_points(self.nx, self.ny, self.length_x, self.length_y, self.x0, self.y0, periodic)
        return replace(grid, crs=self.crs)


class InitialSection(Section):
    """Initial surface: elevation and potential, or a wave."""

    surface_elevation: ElevationField = case_key(
        "initial surface elevation, metres", "0.05 * cos(pi * x / 10)", default=FieldValue(0.0)
    )
    surface_potential: NumberField = case_key("initial surface potential, m2/s", 0.0, default=FieldValue(0.0))
    wave: Wave | None = case_key(
        "instead of both: a wave or sea at time 0, a table with its kind",
        {"kind": "stream_function", "height": 0.1, "length": 4.0, "eulerian_current": 0.0},
        default=None,
    )
    depth: PositiveMetres | None = case_key(
        "depth of the wave theory, metres; required over a bed that is not level", 0.4, default=None
    )

    @model_validator(mode="after")
    def _one_way(self) -> InitialSection:
        keys = sorted(self.model_fields_set & {"surface_elevation", "surface_potential"})
        if self.wave is not None and keys:
            raise InputError(f"both wave and {keys[0]}", allowed="either wave, or elevation and potential")
        if self.wave is None and self.depth is not None:
            raise InputError("depth without wave", allowed="depth together with wave only")
        return self


class RelaxationZoneSection(Section):
    """Relaxation zone along a side that generates or absorbs waves."""

    side: Side = case_key("west, east, south or north", "west")
    width: PositiveMetres = case_key("one to two wave lengths, metres", 4.0)
    wave: Wave | None = case_key(
        "waves to generate, a table with its kind; without it the zone absorbs waves",
        {"kind": "stream_function", "height": 0.02, "period": "2 s", "stokes_current": 0.0},
        default=None,
    )
    depth: PositiveMetres | None = case_key(
        "depth of the wave theory, metres; required if the bed of the zone is not level", 0.4, default=None
    )
    period: PositiveSeconds | None = case_key(
        "period of the incident waves; default: that of wave or of another relaxation zone", "2 s", default=None
    )
    ramp: Seconds = case_key("duration over which the generated waves rise from still water", "5 s", default=0.0, ge=0)
    exponent: float = case_key("exponent of the absorption profile", 3.5, default=3.5, gt=0)


class WavemakerSection(Section):
    """Piston wavemaker or flux inlet along a side, defined by velocity or position."""

    side: Side = case_key("west, east, south or north", "west")
    velocity: SpeedSignal | None = case_key(
        "velocity of the paddle or the inflow, m/s, positive into the basin; a number is an inflow",
        {"file": "paddle.csv"},
        default=None,
    )
    position: LengthSignal | None = case_key(
        "instead of velocity: paddle position, metres, within one depth of its first value",
        {"file": "paddle.csv"},
        default=None,
    )
    active_absorption: bool = case_key("whether to absorb incident long waves at the side", default=False)
    target: LengthSignal = case_key(
        "target surface elevation of the active absorption, metres", 0.0, default=Signal(0.0, "length")
    )


class SpongeSection(Section):
    """Sponge layer along a side: surface pressure damps the waves and conserves the volume of water."""

    side: Side = case_key("west, east, south or north", "east")
    width: PositiveMetres = case_key("one to two wave lengths, metres", 4.0)
    period: PositiveSeconds = case_key("period of the incident waves", "2 s")
    strength: float = case_key(
        "damping strength: the reflection coefficient is about exp(-strength)", 6.0, default=STRENGTH_OF_SPONGE, gt=0
    )


class BreakingSection(Section):
    """Detection of breaking crests, and dissipation of their energy."""

    max_crest_speed_ratio: float = case_key(
        "ratio of water speed to crest speed above which a crest breaks", 0.855, default=MAX_CREST_SPEED_RATIO, gt=0
    )
    max_front_slope: float = case_key("front slope above which a crest breaks", 0.577, default=MAX_FRONT_SLOPE, gt=0)
    strength: float = case_key("eddy viscosity relative to H L / T of the breaking wave", 0.02, default=STRENGTH, gt=0)


class StatisticsSection(Section):
    """Surface statistics at every point as output variables: extremes, mean and significant wave height."""

    from_: Seconds = case_key("start time of the statistics", "60 s", default=0.0, alias="from", ge=0)


class PotentialWavesCase(Case):
    """A case file of the potential-flow waves: ``PotentialWavesCase.load("case.toml").build()``."""

    kind: ClassVar[str] = "potential-waves"
    default_variables: ClassVar[tuple[str, ...]] = ("surface_elevation",)
    gauge_variables: ClassVar[tuple[str, ...]] = ("surface_elevation",)

    basin: BasinSection = case_key("the section [basin]", {"nx": 257, "length_x": 20.0, "depth": 0.4})
    initial: InitialSection = case_key("the section [initial]", default_factory=InitialSection)
    relaxation_zones: list[RelaxationZoneSection] = case_key("the sections [[relaxation_zones]]", default_factory=list)
    wavemakers: list[WavemakerSection] = case_key("the sections [[wavemakers]]", default_factory=list)
    sponges: list[SpongeSection] = case_key("the sections [[sponges]]", default_factory=list)
    breaking: BreakingSection | None = case_key("the section [breaking]", default=None)
    statistics: StatisticsSection | None = case_key("the section [statistics]", default=None)
    maps: AveragesSection | None = case_key("the section [maps]", default=None)
    probes: ProbesSection | None = case_key("the section [probes]", default=None)
    numerics: NumericsSection = case_key("the section [numerics]", default_factory=NumericsSection)

    @property
    def log_name(self) -> str:
        """Name of the log of breaking events."""
        return "" if self.breaking is None else "breaking"

    def log(self, model: Any) -> tuple[list[str], list[tuple[float, ...]]]:
        """Return column names and rows of the log of breaking events, in chronological order."""
        return list(BREAKING_COLUMNS), [breaking_row(breaker) for breaker in model.breakers_found]

    def findings(self, model: Any, records: Callable[[str], tuple[Any, Any]]) -> list[tuple[str, str]]:
        """Return the reflection coefficient if the gauges and the record length permit it."""
        from eagre.models.potential_waves.sampling.reflection import IncidentWaves, goes_straight, reflection_of

        makers = [section for section in self.relaxation_zones if section.wave is not None]
        if self.gauges is None or len(makers) != 1 or self.wavemakers:
            return []
        name, (section,) = "surface_elevation", makers
        kind = section.wave.kind if section.wave else ""
        waves = [zone.waves for zone in model.setup.relaxation_zones if zone.waves is not None]
        period = period_of(section.wave, waves[0])
        if name not in (self.gauges.variables or self.gauge_variables) or period is None:
            return []
        if kind not in (*REGULAR, *SEAS) or not goes_straight(section.side, section.wave):
            return []
        incident = IncidentWaves(section.side, period, kind in REGULAR, section.ramp)
        return reflection_of(model.setup, incident, list(self.gauges.on(model.grid).values()), lambda: records(name))

    def build(self, device: Any = None, precision: str | None = None) -> PotentialWaves:
        from eagre.models.potential_waves.model import PotentialWaves

        with self.at("basin"):
            grid = self.basin.grid()
        check_input_memory(grid)
        depth = self._depth(grid)
        wave = self._initial_wave(grid, depth)
        options: dict[str, Any] = {**self._surface(grid, wave), "relaxation_zones": self._zones(grid, depth)}
        options["wavemakers"] = self._wavemakers()
        self._check_zones(options["relaxation_zones"], options["wavemakers"], grid, depth)
        options |= {"sponges": [SpongeLayer(**one.model_dump()) for one in self.sponges]}
        if self.breaking is not None:
            options["breaking"] = self.breaking.model_dump()
        if self.statistics is not None:
            self.check_begin("statistics")
            options["statistics_from"] = self.statistics.from_
        if self.maps is not None:
            self.check_begin("maps")
            options["time_statistics"] = self.maps.time_statistics()
        with self.naming("basin", "initial", "numerics", "run", "maps"):
            model = PotentialWaves(
                grid,
                depth,
                periodic=self.basin.periodic,
                **self.place(device, precision, grid.cells),
                **self.numerics.model_dump(),
                **options,
            )
        model.initial_notes = tuple(wave_notes(wave, grid, "initial wave"))
        return model

    def _depth(self, grid: Grid) -> np.ndarray:
        """Return the still-water depth at the points, (ny, nx), m."""
        for name, sign in (("depth", 1.0), ("bed", -1.0)):
            value = getattr(self.basin, name)
            if value is not None:
                from eagre.models.potential_waves.inputs import checked_depth

                with self.at("basin", name):
                    return checked_depth(sign * np.asarray(value.at_centres(grid)), grid)
        raise AssertionError("neither depth nor bed")

    def _initial_wave(self, grid: Grid, depth: np.ndarray) -> RegularWave | LinearWaves | None:
        """Return the wave of [initial], or None."""
        if self.initial.wave is None:
            return None
        from eagre.models.potential_waves.boundaries.wave_checks import check_initial
        from eagre.models.potential_waves.inputs import PERIODIC

        with self.at("initial", "wave"):
            wave = self.initial.wave.make(_depth_for(self.initial.depth, depth, "[initial]"), self.numerics.gravity)
            check_initial(wave, depth, grid, PERIODIC[self.basin.periodic])
        return wave

    def _surface(self, grid: Grid, wave: RegularWave | LinearWaves | None) -> dict[str, Any]:
        """Return the initial surface elevation and potential."""
        if wave is None:
            initial = {}
            for name in ("surface_elevation", "surface_potential"):
                with self.at("initial", name):
                    initial[name] = getattr(self.initial, name).at_centres(grid)
            return initial
        points = grid.x[None, :], grid.y[:, None], 0.0
        fields = {"surface_elevation": wave.elevation(*points), "surface_potential": wave.surface_potential(*points)}
        return {name: np.broadcast_to(values, grid.shape) for name, values in fields.items()}

    def _wavemakers(self) -> list[Wavemaker]:
        """Return the wavemakers, with signals that cover the run."""
        wavemakers = []
        for number, section in enumerate(self.wavemakers):
            signals = {}
            for name in ("velocity", "position", "target"):
                value = getattr(section, name)
                with self.at("wavemakers", number, name):
                    signals[name] = value and value.resolve(0.0, self.run.end_time, self.run.start_date)
            with self.at("wavemakers", number):
                wavemakers.append(Wavemaker(section.side, active_absorption=section.active_absorption, **signals))
        return wavemakers

    def _zones(self, grid: Grid, depth: np.ndarray) -> list[RelaxationZone]:
        """Return the relaxation zones, each with its wave and a period."""
        from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
        from eagre.models.potential_waves.boundaries.wave_checks import depth_under
        from eagre.models.potential_waves.inputs import PERIODIC, check_zone_width, checked_zones

        generated = []
        for number, section in enumerate(self.relaxation_zones):
            with self.at("relaxation_zones", number):
                check_zone_width(section.side, section.width, grid, PERIODIC[self.basin.periodic])
            with self.at("relaxation_zones", number, "wave"):
                waves = None
                if section.wave is not None:
                    h = _depth_for(section.depth, depth_under(section, grid, depth), "this zone")
                    waves = section.wave.make(h, self.numerics.gravity)
            generated.append((section, waves))
        periods = (section.period or period_of(section.wave, waves) for section, waves in generated)
        known = [period for period in periods if period]
        zones: list[RelaxationZone] = []
        for number, (section, waves) in enumerate(generated):
            with self.at("relaxation_zones", number):
                period = section.period or period_of(section.wave, waves) or (known[0] if known else None)
                if period is None:
                    allowed, fix = "the period of the waves to absorb", 'period = "2 s"'
                    raise InputError("a relaxation zone without a period", allowed=allowed, fix=fix)
                zone = RelaxationZone(section.side, section.width, period, waves, section.exponent, section.ramp)
                zones += checked_zones([zone], grid, PERIODIC[self.basin.periodic])
        return zones

    def _check_zones(
        self, zones: list[RelaxationZone], wavemakers: list[Wavemaker], grid: Grid, depth: np.ndarray
    ) -> None:
        """Reject sides with two zones or wavemakers, and waves that contradict the basin."""
        from eagre.models.potential_waves.boundaries.wave_checks import check_zone
        from eagre.models.potential_waves.inputs import PERIODIC, check_sides

        with self.at("relaxation_zones" if self.relaxation_zones else "wavemakers"):
            check_sides(zones, wavemakers)
        for number, zone in enumerate(zones):
            with self.at("relaxation_zones", number):
                check_zone(zone, zones, depth, grid, PERIODIC[self.basin.periodic])


def period_of(section: Any, waves: Any) -> float | None:
    """Return the period of a wave or the peak period of a sea, s, or None if neither section nor wave has one."""
    period = getattr(section, "period", None) or getattr(section, "peak_period", None)
    return period or getattr(waves, "period", None)


def _depth_for(wave_depth: float | None, depth: np.ndarray, where: str) -> float:
    """Return the depth for the theory of a wave: the given one, or the depth of a level bed."""
    if wave_depth is not None:
        return wave_depth
    low, high = float(depth.min()), float(depth.max())
    if high - low > LEVEL * high:
        raise InputError(
            f"a wave over a bed {low:.4g} to {high:.4g} m below still water",
            allowed=f"the depth of the wave theory, in {where}",
            fix=f"depth = {high:.4g}",
        )
    return float(depth.mean())
