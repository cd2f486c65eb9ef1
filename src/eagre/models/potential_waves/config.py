"""Case files of the potential-flow waves, and how a model is made from one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, model_validator

from eagre.checks import check_input_memory
from eagre.config.case import Case
from eagre.config.fieldvalues import ElevationField, FieldValue, LengthField, NumberField
from eagre.config.maps import AveragesSection
from eagre.config.section import Section
from eagre.config.signals import Signal, signal
from eagre.config.terrain import Crs
from eagre.config.values import Metres, PositiveMetres, PositiveSeconds, Seconds, one_of
from eagre.config.waves import Wave
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.models.potential_waves.breaking import MAX_CREST_SPEED_RATIO, MAX_FRONT_SLOPE, STRENGTH
from eagre.models.potential_waves.numerics_section import NumericsSection
from eagre.models.potential_waves.outputs import BREAKING_COLUMNS, breaking_row
from eagre.models.potential_waves.probe_sections import ProbesSection
from eagre.models.potential_waves.sides import SpongeLayer, Wavemaker
from eagre.models.potential_waves.sponge import STRENGTH as STRENGTH_OF_SPONGE
from eagre.models.potential_waves.wave_notes import wave_notes

if TYPE_CHECKING:
    from eagre.models.potential_waves.model import PotentialWaves
    from eagre.models.potential_waves.zones import RelaxationZone
    from eagre.waves import LinearWaves, RegularWave

SpeedSignal = Annotated[Signal, signal("speed")]
LengthSignal = Annotated[Signal, signal("length")]
Side = Annotated[str, one_of("west", "east", "south", "north")]
REGULAR = ("airy", "stokes", "stream_function")
SEAS = ("jonswap", "pierson_moskowitz", "tma")  # that have a peak period
LEVEL = 0.01  # relative change of the depth up to which waves take its mean


class BasinSection(Section):
    """The basin and its points: a rectangle between walls, or periodic."""

    nx: int = Field(description="points along x, those on walls included", ge=1, examples=[257])
    ny: int = Field(default=1, description="points along y; 1: a flume, waves along x only", ge=1, examples=[129])
    length_x: PositiveMetres = Field(description="from wall to wall, or the period, metres", examples=[20.0])
    length_y: PositiveMetres = Field(
        default=1.0, description="from wall to wall, or the period, metres; the width of a flume", examples=[10.0]
    )
    x0: Metres = Field(default=0.0, description="x of the first point, metres")
    y0: Metres = Field(default=0.0, description="y of the first point, metres")
    crs: Crs | None = Field(
        default=None, description="coordinate reference system of x and y, such as EPSG:32633", examples=["EPSG:32633"]
    )
    periodic: Annotated[str, one_of("none", "x", "y", "both")] = Field(
        default="none", description="none (walls all round), x, y or both", examples=["x"]
    )
    depth: LengthField | None = Field(
        default=None, description="depth of still water, metres, above 0 everywhere", examples=[0.4]
    )
    bed: ElevationField | None = Field(
        default=None,
        description="in place of depth: elevation of the bed, metres, positive up; still water is at 0",
        examples=[-0.4],
    )

    @model_validator(mode="after")
    def _one_of_two(self) -> BasinSection:
        if (self.depth is None) == (self.bed is None):
            got = "neither depth nor bed" if self.bed is None else "both depth and bed"
            raise InputError(got, allowed="one of them", fix="depth = 0.4")
        return self

    def grid(self) -> Grid:
        """The grid whose centres are the points."""
        wraps = self.periodic in ("x", "both"), self.periodic in ("y", "both")
        grid = Grid.from_points(self.nx, self.ny, self.length_x, self.length_y, self.x0, self.y0, wraps)
        return replace(grid, crs=self.crs)


class InitialSection(Section):
    """The surface at the start: elevation and potential, or a wave."""

    surface_elevation: ElevationField = Field(
        default=FieldValue(0.0), description="elevation, metres", examples=["0.05 * cos(pi * x / 10)"]
    )
    surface_potential: NumberField = Field(default=FieldValue(0.0), description="potential on it, m2/s", examples=[0.0])
    wave: Wave | None = Field(
        default=None, description="in place of both: a wave or a sea at time 0, a table with its kind",
        examples=[{"kind": "stream_function", "height": 0.1, "length": 4.0, "eulerian_current": 0.0}],
    )  # fmt: skip
    depth: PositiveMetres | None = Field(
        default=None, description="depth that the wave is for; needed where the bed is not level", examples=[0.4]
    )

    @model_validator(mode="after")
    def _one_way(self) -> InitialSection:
        given = sorted(self.model_fields_set & {"surface_elevation", "surface_potential"})
        if self.wave is not None and given:
            raise InputError(f"both wave and {given[0]}", allowed="a wave, or elevation and potential")
        if self.wave is None and self.depth is not None:
            raise InputError("depth without wave", allowed="depth with a wave only")
        return self


class RelaxationZoneSection(Section):
    """A strip along a side in which waves are made, or absorbed."""

    side: Side = Field(description="west, east, south or north", examples=["west"])
    width: PositiveMetres = Field(description="one to two wave lengths, metres", examples=[4.0])
    wave: Wave | None = Field(
        default=None, description="what it makes, a table with its kind; without it waves are absorbed",
        examples=[{"kind": "stream_function", "height": 0.02, "period": "2 s", "stokes_current": 0.0}],
    )  # fmt: skip
    depth: PositiveMetres | None = Field(
        default=None, description="depth that the wave is for; needed where the zone's bed is not level", examples=[0.4]
    )
    period: PositiveSeconds | None = Field(
        default=None, description="of the waves that come; without it the wave's, or that of another zone",
        examples=["2 s"],
    )  # fmt: skip
    ramp: Seconds = Field(
        default=0.0, description="time in which what it makes rises from still water", ge=0, examples=["5 s"]
    )
    exponent: float = Field(default=3.5, description="of the profile of absorption", gt=0, examples=[3.5])


class WavemakerSection(Section):
    """A side that is a piston wavemaker, or through which water flows; velocity or position says how."""

    side: Side = Field(description="west, east, south or north", examples=["west"])
    velocity: SpeedSignal | None = Field(
        default=None,
        description="of the paddle or the water, m/s, positive into the water; a number is an inflow",
        examples=[{"file": "paddle.csv"}],
    )
    position: LengthSignal | None = Field(
        default=None,
        description="instead of velocity: position of the paddle, metres, within one depth of its first value",
        examples=[{"file": "paddle.csv"}],
    )
    active_absorption: bool = Field(default=False, description="whether long waves that come to it are let out")
    target: LengthSignal = Field(
        default=Signal(0.0, "length"), description="elevation beside which waves are let out, metres", examples=[0.0]
    )


class SpongeSection(Section):
    """A strip along a side in which pressure on the surface takes the energy of waves, and no water."""

    side: Side = Field(description="west, east, south or north", examples=["east"])
    width: PositiveMetres = Field(description="one to two wave lengths, metres", examples=[4.0])
    period: PositiveSeconds = Field(description="of the waves that come", examples=["2 s"])
    strength: float = Field(default=STRENGTH_OF_SPONGE, description="exp(-strength) is left", gt=0, examples=[6.0])


class BreakingSection(Section):
    """Crests that break are found and dissipated."""

    max_crest_speed_ratio: float = Field(
        default=MAX_CREST_SPEED_RATIO, description="speed of the water over that of the crest", gt=0, examples=[0.855]
    )
    max_front_slope: float = Field(default=MAX_FRONT_SLOPE, description="slope of a front", gt=0, examples=[0.577])
    strength: float = Field(default=STRENGTH, description="of the eddy viscosity, over H L / T", gt=0, examples=[0.02])


class StatisticsSection(Section):
    """Highest, lowest and mean surface and the significant height at every point, as further variables."""

    from_: Seconds = Field(default=0.0, alias="from", description="time from which on they are gathered", ge=0,
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
        """Of the crests that broke."""
        return "" if self.breaking is None else "breaking"

    def log(self, model: Any) -> tuple[list[str], list[tuple[float, ...]]]:
        """The crests that broke, in the order of time."""
        return list(BREAKING_COLUMNS), [breaking_row(breaker) for breaker in model.breakers_found]

    def findings(self, model: Any, records: Callable[[str], tuple[Any, Any]]) -> list[tuple[str, str]]:
        """The reflection coefficient, where gauges and their time suffice for it."""
        from eagre.models.potential_waves.reflecting import Made, goes_straight, reflection_of

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
        made = Made(section.side, period, kind in REGULAR, section.ramp)
        return reflection_of(model.setup, made, list(self.gauges.on(model.grid).values()), lambda: records(name))

    def build(self, device: Any = None, precision: str | None = None) -> PotentialWaves:
        """Make the model: basin, surface and zones.

        Parameters
        ----------
        device, precision : str or Device, str, optional
            In place of those in [run].

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
        """Depth of still water at the points, (ny, nx), m."""
        for name, sign in (("depth", 1.0), ("bed", -1.0)):
            value = getattr(self.basin, name)
            if value is not None:
                from eagre.models.potential_waves.inputs import checked_depth

                with self.at("basin", name):
                    return checked_depth(sign * np.asarray(value.at_centres(grid)), grid)
        raise AssertionError("one of depth and bed is there")

    def _initial_wave(self, grid: Grid, depth: np.ndarray) -> RegularWave | LinearWaves | None:
        """Return the wave of [initial], or None."""
        if self.initial.wave is None:
            return None
        from eagre.models.potential_waves.inputs import PERIODIC
        from eagre.models.potential_waves.wave_checks import check_initial

        with self.at("initial", "wave"):
            wave = self.initial.wave.make(_depth_for(self.initial.depth, depth, "[initial]"), self.numerics.gravity)
            check_initial(wave, depth, grid, PERIODIC[self.basin.periodic])
        return wave

    def _surface(self, grid: Grid, wave: RegularWave | LinearWaves | None) -> dict[str, Any]:
        """Elevation and potential at the start."""
        if wave is None:
            found = {}
            for name in ("surface_elevation", "surface_potential"):
                with self.at("initial", name):
                    found[name] = getattr(self.initial, name).at_centres(grid)
            return found
        points = grid.x[None, :], grid.y[:, None], 0.0
        fields = {"surface_elevation": wave.elevation(*points), "surface_potential": wave.surface_potential(*points)}
        return {name: np.broadcast_to(values, grid.shape) for name, values in fields.items()}

    def _wavemakers(self) -> list[Wavemaker]:
        """The wavemakers, with signals that cover the run."""
        made = []
        for number, section in enumerate(self.wavemakers):
            signals = {}
            for name in ("velocity", "position", "target"):
                given = getattr(section, name)
                with self.at("wavemakers", number, name):
                    signals[name] = given and given.resolve(0.0, self.run.end_time, self.run.start_date)
            with self.at("wavemakers", number):
                made.append(Wavemaker(section.side, active_absorption=section.active_absorption, **signals))
        return made

    def _zones(self, grid: Grid, depth: np.ndarray) -> list[RelaxationZone]:
        """The zones, each with its wave and a period."""
        from eagre.models.potential_waves.inputs import PERIODIC, check_place, checked_zones
        from eagre.models.potential_waves.wave_checks import depth_under
        from eagre.models.potential_waves.zones import RelaxationZone

        made = []
        for number, section in enumerate(self.relaxation_zones):
            with self.at("relaxation_zones", number):
                check_place(section.side, section.width, grid, PERIODIC[self.basin.periodic])
            with self.at("relaxation_zones", number, "wave"):
                waves = None
                if section.wave is not None:
                    h = _depth_for(section.depth, depth_under(section, grid, depth), "this zone")
                    waves = section.wave.make(h, self.numerics.gravity)
            made.append((section, waves))
        periods = (section.period or period_of(section.wave, waves) for section, waves in made)
        known = [period for period in periods if period]
        zones: list[RelaxationZone] = []
        for number, (section, waves) in enumerate(made):
            with self.at("relaxation_zones", number):
                period = section.period or period_of(section.wave, waves) or (known[0] if known else None)
                if period is None:
                    allowed, fix = "that of the waves to absorb", 'period = "2 s"'
                    raise InputError("a zone without a period", allowed=allowed, fix=fix)
                zone = RelaxationZone(section.side, section.width, period, waves, section.exponent, section.ramp)
                zones += checked_zones([zone], grid, PERIODIC[self.basin.periodic])
        return zones

    def _check_zones(
        self, zones: list[RelaxationZone], wavemakers: list[Wavemaker], grid: Grid, depth: np.ndarray
    ) -> None:
        """Reject sides that are used twice and waves that contradict the basin."""
        from eagre.models.potential_waves.inputs import PERIODIC, check_sides
        from eagre.models.potential_waves.wave_checks import check_zone

        with self.at("relaxation_zones" if self.relaxation_zones else "wavemakers"):
            check_sides(zones, wavemakers)
        for number, zone in enumerate(zones):
            with self.at("relaxation_zones", number):
                check_zone(zone, zones, depth, grid, PERIODIC[self.basin.periodic])


def period_of(section: Any, waves: Any) -> float | None:
    """Period of a wave, s, or the peak period of a sea, if its section or itself knows one."""
    own = getattr(section, "period", None) or getattr(section, "peak_period", None)
    return own or getattr(waves, "period", None)


def _depth_for(given: float | None, depth: np.ndarray, where: str) -> float:
    """The depth that a wave is for: what is given, or that of a level bed."""
    if given is not None:
        return given
    low, high = float(depth.min()), float(depth.max())
    if high - low > LEVEL * high:
        raise InputError(
            f"a wave over a bed {low:.4g} to {high:.4g} m below still water",
            allowed=f"the depth that it is for, in {where}",
            fix=f"depth = {high:.4g}",
        )
    return float(depth.mean())
