"""Case files of the potential-flow waves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from eagre.checks import check_input_memory
from eagre.config.case import Case
from eagre.config.maps import AveragesSection
from eagre.config.section import Section
from eagre.config.values.field_values import ElevationField, FieldValue, LengthField, NumberField
from eagre.config.values.signals import Signal, signal
from eagre.config.values.types import Metres, PositiveMetres, PositiveSeconds, Seconds
from eagre.config.water.terrain import Crs
from eagre.config.wave_tables import Wave
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.boundaries.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.boundaries.sponge import STRENGTH as STRENGTH_OF_SPONGE
from eagre.models.potential_waves.boundaries.wave_checks import wave_notes
from eagre.models.potential_waves.case.numerics_section import NumericsSection
from eagre.models.potential_waves.case.probe_sections import ProbesSection
from eagre.models.potential_waves.sampling.outputs import BREAKING_COLUMNS, breaking_row
from eagre.models.potential_waves.surface.breaking import MAX_CREST_SPEED_RATIO, MAX_FRONT_SLOPE, STRENGTH

if TYPE_CHECKING:
    from eagre.models.potential_waves.boundaries.relaxation_zones import RelaxationZone
    from eagre.models.potential_waves.model import PotentialWaves
    from eagre.waves import LinearWaves, RegularWave

SpeedSignal = Annotated[Signal, signal("speed")]
LengthSignal = Annotated[Signal, signal("length")]
Side = Literal["west", "east", "south", "north"]
REGULAR = ("airy", "stokes", "stream_function")
SEAS = ("jonswap", "pierson_moskowitz", "tma")  # spectra with a peak period
LEVEL = 0.01  # relative variation of the depth up to which the bed counts as level


class BasinSection(Section):
    """Rectangular basin and its grid points, with walls or periodic."""

    nx: int = Field(description="number of points along x, including the points on walls", ge=1, examples=[257])
    ny: int = Field(
        default=1, description="number of points along y; 1: a flume, waves along x only", ge=1, examples=[129]
    )
    length_x: PositiveMetres = Field(description="length from wall to wall, or the period, metres", examples=[20.0])
    length_y: PositiveMetres = Field(
        default=1.0, description="width from wall to wall, or the period, metres; the width of a flume", examples=[10.0]
    )
    x0: Metres = Field(default=0.0, description="x coordinate of the first point, metres")
    y0: Metres = Field(default=0.0, description="y coordinate of the first point, metres")
    crs: Crs | None = Field(
        default=None, description="coordinate reference system of x and y, such as EPSG:32633", examples=["EPSG:32633"]
    )
    periodic: Literal["none", "x", "y", "both"] = Field(
        default="none", description="periodic axes: none (walls on all sides), x, y or both", examples=["x"]
    )
    depth: LengthField | None = Field(
        default=None, description="still-water depth, metres, positive everywhere", examples=[0.4]
    )
    bed: ElevationField | None = Field(
        default=None,
        description="instead of depth: bed elevation, metres, positive upward; still water is at 0",
        examples=[-0.4],
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> BasinSection:
        if (self.depth is None) == (self.bed is None):
            got = "neither depth nor bed" if self.bed is None else "both depth and bed"
            raise InputError(got, allowed="either depth or bed", fix="depth = 0.4")
        return self

    def grid(self) -> Grid:
        """Return the grid whose cell centres are the points."""
        periodic = self.periodic in ("x", "both"), self.periodic in ("y", "both")
        grid = Grid.from_points(self.nx, self.ny, self.length_x, self.length_y, self.x0, self.y0, periodic)
        return replace(grid, crs=self.crs)


class InitialSection(Section):
    """Initial surface: elevation and potential, or a wave."""

    surface_elevation: ElevationField = Field(
        default=FieldValue(0.0), description="initial surface elevation, metres", examples=["0.05 * cos(pi * x / 10)"]
    )
    surface_potential: NumberField = Field(
        default=FieldValue(0.0), description="initial surface potential, m2/s", examples=[0.0]
    )
    wave: Wave | None = Field(
        default=None, description="instead of both: a wave or sea at time 0, a table with its kind",
        examples=[{"kind": "stream_function", "height": 0.1, "length": 4.0, "eulerian_current": 0.0}],
    )  # fmt: skip
    depth: PositiveMetres | None = Field(
        default=None,
        description="depth of the wave theory, metres; required over a bed that is not level",
        examples=[0.4],
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

    side: Side = Field(description="west, east, south or north", examples=["west"])
    width: PositiveMetres = Field(description="one to two wave lengths, metres", examples=[4.0])
    wave: Wave | None = Field(
        default=None, description="waves to generate, a table with its kind; without it the zone absorbs waves",
        examples=[{"kind": "stream_function", "height": 0.02, "period": "2 s", "stokes_current": 0.0}],
    )  # fmt: skip
    depth: PositiveMetres | None = Field(
        default=None,
        description="depth of the wave theory, metres; required if the bed of the zone is not level",
        examples=[0.4],
    )
    period: PositiveSeconds | None = Field(
        default=None, description="period of the incident waves; default: that of wave or of another relaxation zone",
        examples=["2 s"],
    )  # fmt: skip
    ramp: Seconds = Field(
        default=0.0, description="duration over which the generated waves rise from still water", ge=0, examples=["5 s"]
    )
    exponent: float = Field(default=3.5, description="exponent of the absorption profile", gt=0, examples=[3.5])


class WavemakerSection(Section):
    """Piston wavemaker or flux inlet along a side, defined by velocity or position."""

    side: Side = Field(description="west, east, south or north", examples=["west"])
    velocity: SpeedSignal | None = Field(
        default=None,
        description="velocity of the paddle or the inflow, m/s, positive into the basin; a number is an inflow",
        examples=[{"file": "paddle.csv"}],
    )
    position: LengthSignal | None = Field(
        default=None,
        description="instead of velocity: paddle position, metres, within one depth of its first value",
        examples=[{"file": "paddle.csv"}],
    )
    active_absorption: bool = Field(default=False, description="whether to absorb incident long waves at the side")
    target: LengthSignal = Field(
        default=Signal(0.0, "length"),
        description="target surface elevation of the active absorption, metres",
        examples=[0.0],
    )


class SpongeSection(Section):
    """Sponge layer along a side: surface pressure damps the waves and conserves the volume of water."""

    side: Side = Field(description="west, east, south or north", examples=["east"])
    width: PositiveMetres = Field(description="one to two wave lengths, metres", examples=[4.0])
    period: PositiveSeconds = Field(description="period of the incident waves", examples=["2 s"])
    strength: float = Field(
        default=STRENGTH_OF_SPONGE,
        description="damping strength: the reflection coefficient is about exp(-strength)",
        gt=0,
        examples=[6.0],
    )


class BreakingSection(Section):
    """Detection of breaking crests, and dissipation of their energy."""

    max_crest_speed_ratio: float = Field(
        default=MAX_CREST_SPEED_RATIO,
        description="ratio of water speed to crest speed above which a crest breaks",
        gt=0,
        examples=[0.855],
    )
    max_front_slope: float = Field(
        default=MAX_FRONT_SLOPE, description="front slope above which a crest breaks", gt=0, examples=[0.577]
    )
    strength: float = Field(
        default=STRENGTH, description="eddy viscosity relative to H L / T of the breaking wave", gt=0, examples=[0.02]
    )


class StatisticsSection(Section):
    """Surface statistics at every point as output variables: extremes, mean and significant wave height."""

    from_: Seconds = Field(default=0.0, alias="from", description="start time of the statistics", ge=0,
                           examples=["60 s"])  # fmt: skip


class PotentialWavesCase(Case):
    """A case file of the potential-flow waves: ``PotentialWavesCase.load("case.toml").build()``."""

    kind: ClassVar[str] = "potential-waves"
    default_variables: ClassVar[tuple[str, ...]] = ("surface_elevation",)
    gauge_variables: ClassVar[tuple[str, ...]] = ("surface_elevation",)

    basin: BasinSection = Field(
        description="the section [basin]", examples=[{"nx": 257, "length_x": 20.0, "depth": 0.4}]
    )
    initial: InitialSection = Field(default_factory=InitialSection, description="the section [initial]")
    relaxation_zones: list[RelaxationZoneSection] = Field(
        default_factory=list, description="the sections [[relaxation_zones]]"
    )
    wavemakers: list[WavemakerSection] = Field(default_factory=list, description="the sections [[wavemakers]]")
    sponges: list[SpongeSection] = Field(default_factory=list, description="the sections [[sponges]]")
    breaking: BreakingSection | None = Field(default=None, description="the section [breaking]")
    statistics: StatisticsSection | None = Field(default=None, description="the section [statistics]")
    maps: AveragesSection | None = Field(default=None, description="the section [maps]")
    probes: ProbesSection | None = Field(default=None, description="the section [probes]")
    numerics: NumericsSection = Field(default_factory=NumericsSection, description="the section [numerics]")

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
        """Build the model.

        Parameters
        ----------
        device, precision : str or Device, str, optional
            Replacements for the values of [run].

        Returns
        -------
        PotentialWaves
        """
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
