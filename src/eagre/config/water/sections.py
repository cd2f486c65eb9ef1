"""Common sections of the shallow-water models: initial state, boundaries, sources."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import PlainValidator, PrivateAttr, ValidationInfo, model_validator

from eagre.config.case import Case
from eagre.config.problems import Key
from eagre.config.section import Section, case_key, check, only_one
from eagre.config.sections import MapsSection, MeasuredSection, locations_of_file
from eagre.config.toml import literal
from eagre.config.values.field_values import (
    DeficitField,
    DepthField,
    ElevationField,
    FieldValue,
    InfiltrationField,
    NumberField,
    PressureField,
    SpeedField,
    SuctionField,
    cells_in_none,
    property_of,
)
from eagre.config.values.signals import NumberSignal, SeriesFile, Signal, StressSignal, signal
from eagre.config.values.types import Beta, InputFile, PositiveSeconds, Rate, SeriesOutputFile, key_of
from eagre.config.water.conditions import BoundariesSection, InsidePlace
from eagre.config.water.terrain import BedSection, GridSection, check_terrain, make_terrain
from eagre.config.water.weather import CycloneSection, WeatherSection
from eagre.constants import GRAVITY
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.vectors import NamedLocations, read_lines
from eagre.local_rows import LocalRows
from eagre.time_varying.series import Series

if TYPE_CHECKING:
    from eagre.boundaries import InternalLine
    from eagre.grid import Grid
    from eagre.io import ProbeWriter


MAX_ZONES = 1000


def _series(value: Any, info: ValidationInfo) -> Any:
    from eagre.config.values.types import input_of

    if isinstance(value, str):
        return SeriesFile(file=input_of(value, info, ".csv", ".txt", ".tsv", ".nc"))
    if isinstance(value, dict) and isinstance(value.get("file"), str) and not isinstance(value.get("value"), dict):
        return check(SeriesFile, value, info.context)
    if isinstance(value, dict) and value:
        return value
    allowed = "a file with one column per zone, or a table of zone = a number, a string with a unit or a series"
    raise InputError(f"{key_of(info)} = {literal(value)}", allowed=allowed, fix='series = "rain.csv"')


class ZoneSeries(Section):
    """Zones of a file with one series per zone."""

    zones: InputFile = case_key(
        "polygons (.geojson, or .gpkg, .shp, .fgb with eagre[vector]; later polygons have priority), or a "
        "raster of zone numbers",
        "catchments.geojson",
    )
    layer: str | None = case_key("layer of a vector file with several layers", default=None)
    name: str = case_key("property of the polygons with the name of the series", default="name")
    series: Annotated[Any, PlainValidator(_series)] = case_key(
        "CSV or NetCDF file with one column per zone, { file, time, units }, or a table of zone = number or series",
        "rain.csv",
    )
    outside: Any = case_key('"error", or the value or series of cells outside all zones', default="error")


@dataclass(frozen=True)
class ZoneSignals:
    """Values or series of each zone.

    Parameters
    ----------
    section : ZoneSeries
    dimension : str
    named : dict of str to Signal, or SeriesFile
        Signals by zone; or the file whose columns have the names of the zones.
    outside : Signal, optional
    """

    section: ZoneSeries
    dimension: str
    named: dict[str, Signal] | SeriesFile
    outside: Signal | None

    def fractions(self, grid: Grid) -> tuple[list[str], np.ndarray]:
        """Return the names of the zones in the domain, and masks that are 1 in cells whose centre is in the zone."""
        from eagre.io.vectors import SUFFIXES

        by_polygon = self.section.zones.suffix.lower() in SUFFIXES
        zones = self._of_polygons(grid) if by_polygon else self._of_raster(grid)
        if not zones:
            raise InputError(
                f"{self.section.zones}: no zone lies in the domain", allowed="at least one zone in the domain"
            )
        return list(zones), np.stack(list(zones.values()))

    def resolve(
        self, grid: Grid, end: float, start_date: datetime | None = None
    ) -> tuple[list[float | Series], np.ndarray]:
        """Return values or series of the zones, and their masks, (zones, ny, nx); a non-empty outside is the last mask.

        Raises
        ------
        InputError
            If a zone has no series, a series does not cover 0 to `end`, s, or cells are outside all zones and
            `outside` is not set.
        """
        names, fractions = self.fractions(grid)
        values = []
        for name in names:
            try:
                values.append(self._signal_of(name).resolve(0.0, end, start_date))
            except InputError as error:
                fix = "" if isinstance(self.named, SeriesFile) else error.fix
                raise InputError(
                    f"the zone {name}: {error.what}", allowed=error.allowed, fix=fix, problem=error.problem
                ) from None
        uncovered = 1.0 - fractions.sum(0)
        if not uncovered.any():
            return values, fractions
        if self.outside is None:
            raise cells_in_none(uncovered > 0.0, grid, self.section.zones, "zone", fix="outside = 0.0")
        return [*values, self.outside.resolve(0.0, end, start_date)], np.concatenate([fractions, uncovered[None]])

    def _signal_of(self, name: str) -> Signal:
        from eagre.io.files import choose

        if isinstance(self.named, SeriesFile):
            return Signal(self.named.model_copy(update={"value": name}), self.dimension)
        choose(name, self.named, "series of")
        return self.named[name]

    def _of_polygons(self, grid: Grid) -> dict[str, np.ndarray]:
        from eagre.io.vectors import read_features, zone_numbers

        path, key = self.section.zones, self.section.name
        features = read_features(path, grid, ("Polygon",), self.section.layer)
        if key == "name":
            names = [one.name for one in features]
        else:
            names = [_text(property_of(one, key, "polygon", path, "name")) for one in features]
        numbers = zone_numbers(features, grid)
        values_by_zone: dict[str, np.ndarray] = {}
        for number, name in enumerate(names):
            inside = numbers == number
            if inside.any():
                values_by_zone[name] = (
                    values_by_zone[name] + inside if name in values_by_zone else inside.astype(np.float64)
                )
        return values_by_zone

    def _of_raster(self, grid: Grid) -> dict[str, np.ndarray]:
        from eagre.io import read_raster
        from eagre.io.rasters.warp import around, onto

        if self.section.layer is not None or self.section.name != "name":
            raise InputError(f"layer or name with {self.section.zones}", allowed="with polygons only")
        raster = onto(grid, [read_raster(self.section.zones, around=around(grid))], nearest=True)
        rows = np.floor((grid.y - raster.y0) / raster.dy).astype(int)
        columns = np.floor((grid.x - raster.x0) / raster.dx).astype(int)
        held = ((rows >= 0) & (rows < raster.ny))[:, None] & ((columns >= 0) & (columns < raster.nx))
        values = raster.elevation[np.ix_(rows.clip(0, raster.ny - 1), columns.clip(0, raster.nx - 1))]
        held &= np.isfinite(values)
        codes = np.unique(values[held])
        if codes.size > MAX_ZONES or (codes != np.round(codes)).any():
            got = f"{raster.name} with {codes.size} values, such as {codes[np.argmax(codes != np.round(codes))]:.10g}"
            raise InputError(got, allowed=f"at most {MAX_ZONES} integer zone numbers")
        return {f"{number:.0f}": (held & (values == number)).astype(np.float64) for number in codes}


def _text(value: Any) -> str:
    """Convert a property to a name; integers have no decimal point."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def zone_signal(dimension: str) -> PlainValidator:
    """Return a validator that reads a signal of a dimension, or zones with one series per zone."""
    plain = signal(dimension).func

    def read(value: Any, info: ValidationInfo) -> Signal | ZoneSignals:
        if isinstance(value, ZoneSignals):
            return value
        if not (isinstance(value, dict) and "zones" in value):
            return plain(value, info)  # type: ignore[call-arg]
        section = check(ZoneSeries, value, info.context)
        named = section.series
        if not isinstance(named, SeriesFile):
            named = {str(zone): _named(plain, one, info, str(zone)) for zone, one in named.items()}
        outside = None if section.outside == "error" else _named(plain, section.outside, info, "outside")
        return ZoneSignals(section, dimension, named, outside)

    return PlainValidator(read)


def _named(plain: Any, value: Any, info: ValidationInfo, name: str) -> Signal:
    """Read the signal of one zone; errors state the zone instead of the key."""
    try:
        return plain(value, info)
    except InputError as error:
        section_key = f"{key_of(info)} = "
        what, fix = (text.replace(section_key, f"{name} = ", 1) for text in (error.what, error.fix))
        raise InputError(what, allowed=error.allowed, fix=fix, problem=error.problem) from None


def _paths(value: Any, info: ValidationInfo) -> NamedLocations:
    locations = locations_of_file(value, info, read_lines)
    if locations is not None:
        return locations
    if not isinstance(value, dict) or not value:
        got = f"paths = {literal(value)}"
        raise InputError(
            got, allowed="a table of cross sections", fix="paths = {weir = [[100.0, 0.0], [100.0, 250.0]]}"
        )
    return NamedLocations(value)


class CrossSectionsSection(MeasuredSection):
    """Time series of the discharge through cross sections, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("paths",)

    file: SeriesOutputFile = case_key(
        "file name with the suffix .nc or .csv, relative to the case file", "cross_sections.nc"
    )
    interval: PositiveSeconds = case_key("time between records; discharges are means over this time", "1 min")
    paths: Annotated[NamedLocations, PlainValidator(_paths)] = case_key(
        "table of name = [[x, y], [x, y], ..], metres, or a file of lines; positive to the right",
        {"weir": [[100.0, 0.0], [100.0, 250.0]]},
    )

    @property
    def note(self) -> str:
        """Description of the file for the summary."""
        return f"{', '.join(self.paths)} every {self.interval:g} s"

    def open(self, path: Path, model: Any, **options: Any) -> ProbeWriter:
        """Open the writer of the discharges."""
        from eagre.io import ProbeWriter

        return ProbeWriter(path, model, model.cross_sections, what="cross-section", **options)


class InitialSection(Section):
    """Initial state of the water."""

    surface_elevation: ElevationField | None = case_key("surface elevation, metres", 0.0, default=None)
    depth: DepthField | None = case_key("water depth, metres", 1.0, default=None)
    velocity_x: SpeedField = case_key("velocity to the east, m/s", 0.0, default=FieldValue(0.0))
    velocity_y: SpeedField = case_key("velocity to the north, m/s", 0.0, default=FieldValue(0.0))

    @model_validator(mode="after")
    def _one_level(self) -> InitialSection:
        if self.surface_elevation is not None and self.depth is not None:
            raise InputError("both surface_elevation and depth", allowed="one of them", fix="surface_elevation = 0.0")
        return self


class RainSection(Section):
    """Rain, uniform, as a pattern or by zone."""

    rate: Annotated[Signal | ZoneSignals, zone_signal("rain")] = case_key(
        "rain rate, m/s or a string with a unit, a series, or zones with one series per zone", "20 mm/h"
    )
    pattern: NumberField | None = case_key("factor per cell", "where(x < 100, 1, 0)", default=None)


class InfiltrationSection(Section):
    """Infiltration at a constant potential rate."""

    rate: InfiltrationField = case_key("potential infiltration rate, m/s or a string with a unit", "10 mm/h")


class GreenAmptSection(Section):
    """Infiltration after Green and Ampt (1911)."""

    hydraulic_conductivity: InfiltrationField = case_key(
        "hydraulic conductivity behind the wetting front, m/s or a string with a unit", "13 mm/h"
    )
    suction_head: SuctionField = case_key("suction head at the wetting front, metres", "110 mm")
    moisture_deficit: DeficitField = case_key("porosity minus initial water content, 0 to 1", 0.3)


class CoriolisSection(Section):
    """Coriolis force."""

    latitude: float | None = case_key("latitude, degrees north", 45.0, default=None, ge=-90, le=90)
    f: Rate | None = case_key("Coriolis parameter, 1/s", 1e-4, default=None)
    beta: Beta = case_key("northward gradient of f, 1/(m s)", 2e-11, default=0.0)

    @model_validator(mode="after")
    def _one_of_two(self) -> CoriolisSection:
        only_one(self, ("latitude", "f"), "latitude = 45.0")
        return self


class WindStressSection(Section):
    """Wind stress on the water surface."""

    x: StressSignal = case_key("eastward stress, N/m2", "0.1 N/m2", default=Signal(0.0, "stress"))
    y: StressSignal = case_key("northward stress, N/m2", "0.1 N/m2", default=Signal(0.0, "stress"))
    pattern: NumberField | None = case_key("factor per cell", "sin(pi * y / 1e6)", default=None)


class AtmosphericPressureSection(Section):
    """Atmospheric pressure on the water surface."""

    pressure: PressureField = case_key("atmospheric pressure, Pa", "1013 hPa")
    factor: NumberSignal = case_key("time-dependent factor", 1.0, default=Signal(1.0, "number"))


AccelerationSignal = Annotated[Signal, signal("acceleration")]


class BodyForceSection(Section):
    """Body force per unit mass (acceleration), such as a tide-generating force."""

    x: AccelerationSignal = case_key("eastward acceleration, m/s2", "1e-6 m/s2", default=Signal(0.0, "acceleration"))
    y: AccelerationSignal = case_key("northward acceleration, m/s2", "1e-6 m/s2", default=Signal(0.0, "acceleration"))
    pattern: NumberField | None = case_key("factor per cell", "x < 100", default=None)


class SourcesSection(Section):
    """Source terms: rain, infiltration, wind, pressure, Coriolis and body forces."""

    rain: RainSection | None = case_key("the section [sources.rain]", default=None)
    infiltration: InfiltrationSection | None = case_key("the section [sources.infiltration]", default=None)
    green_ampt: GreenAmptSection | None = case_key("the section [sources.green_ampt]", default=None)
    coriolis: CoriolisSection | None = case_key("the section [sources.coriolis]", default=None)
    wind_stress: WindStressSection | None = case_key("the section [sources.wind_stress]", default=None)
    atmospheric_pressure: AtmosphericPressureSection | None = case_key(
        "the section [sources.atmospheric_pressure]", default=None
    )
    body_force: BodyForceSection | None = case_key("the section [sources.body_force]", default=None)
    weather: WeatherSection | None = case_key("the section [sources.weather]", default=None)
    cyclone: CycloneSection | None = case_key("the section [sources.cyclone]", default=None)


class WaterCase(Case):
    """Base class of the cases of the shallow-water models: terrain, initial state, boundaries and sources."""

    grid: GridSection | None = case_key("the section [grid]", default=None)
    bed: BedSection = case_key("the section [bed]", {"value": 0.0})
    initial: InitialSection = case_key("the section [initial]", default_factory=InitialSection)
    boundaries: BoundariesSection = case_key("the section [boundaries]", default_factory=BoundariesSection)
    sources: SourcesSection = case_key("the section [sources]", default_factory=SourcesSection)
    maps: MapsSection | None = case_key("the section [maps]", default=None)
    cross_sections: CrossSectionsSection | None = case_key("the section [cross_sections]", default=None)
    _pressure_section: Any = PrivateAttr(None)  # the section that supplies the pressure

    @model_validator(mode="after")
    def _check_cells(self) -> WaterCase:
        check_terrain(self.grid, self.bed)
        return self

    def _terrain(
        self, rows_of: Callable[[Grid], LocalRows] = LocalRows.whole, device: Any = None
    ) -> tuple[LocalRows, np.ndarray, np.ndarray]:
        """Return the rows of this process, and the bed elevation at their corners and of their cells."""
        from eagre.checks import check_input_memory

        if self.grid is not None and self.bed.file is None:
            with self.at("grid"):
                self.grid.grid()
        with self.at("bed"):
            check = lambda grid: check_input_memory(rows_of(grid).held_grid)  # noqa: E731
            grid, corners = make_terrain(self.grid, self.bed, check, rows_of, device)
        return (
            rows_of(grid),
            corners,
            0.25 * (corners[:-1, :-1] + corners[:-1, 1:] + corners[1:, :-1] + corners[1:, 1:]),
        )

    def _options(
        self,
        rows: LocalRows,
        bed: np.ndarray,
        friction: Section | None,
        device: Any,
        precision: str | None,
        scheme: str = "",
        gravity: float | None = None,
    ) -> dict[str, Any]:
        """Return the arguments of a shallow-water model, except grid, bed and numerics."""
        from eagre.boundaries import Boundaries
        from eagre.boundaries.cross_sections import CrossSections

        grid, options = rows.grid, {}
        sections: dict[str, Section] = {"initial": self.initial} | ({"friction": friction} if friction else {})
        for section_name, section in sections.items():
            for name in type(section).model_fields:
                if getattr(section, name) is not None:
                    options[name] = self._values(section_name, section, name, rows, bed)
        with rows.agreed_errors():
            lay = partial(self._lines, grid)
            boundaries = Boundaries(**self.boundaries.make(self._signal, lay))
            sources = self._sources(grid, bed if rows.group is None or not self._maps else self._terrain()[2])
            boundaries = self._with_static_level(boundaries, sources, grid)
            with self.at("boundaries"):
                boundaries.checked_segments(grid, gravity or GRAVITY)
            options |= {"boundaries": boundaries, "sources": sources}
            if self.maps is not None:
                self.check_begin("maps")
                options |= {"maps": self.maps.make(), "time_statistics": self.maps.time_statistics()}
            if self.cross_sections is not None:
                with self.at("cross_sections", "paths"):
                    options["cross_sections"] = self.cross_sections.paths.on(grid)
                    CrossSections(options["cross_sections"], grid)
        with self.naming("run"):
            return options | self.place(device, precision, grid.cells, scheme)

    def _with_static_level(self, boundaries: Any, sources: list[Any], grid: Grid) -> Any:
        """Return boundaries whose levels include the inverse-barometer effect of the weather."""
        from eagre.boundaries import with_static_level
        from eagre.terms import WeatherPressure

        pressures = [term.pressure for term in sources if isinstance(term, WeatherPressure)]
        section = self._pressure_section
        if section is None or section.side_levels != "inverse-barometer" or not pressures:
            return boundaries
        numbers = (0.0, self.run.end_time, section.reference_pressure)
        return with_static_level(boundaries, pressures[0], grid, *numbers)

    @property
    def _maps(self) -> bool:
        """True if a source term has a map, which every process evaluates for the whole domain."""
        sections = [section for _, section in self.sources if section is not None]
        return any(isinstance(one, FieldValue) for section in sections for _, one in section)

    def _values(
        self, section_name: str, section: Section, name: str, grid: Grid | LocalRows, bed: np.ndarray
    ) -> float | np.ndarray:
        """Return the value of a field key; errors state the key."""
        with self.at(*section_name.split("."), name):
            return getattr(section, name).at_centres(grid, bed)

    def _lines(self, grid: Grid, location: InsidePlace, condition: Any, key: Key) -> list[InternalLine]:
        """Return the lines of a condition inside the domain; errors state the key."""
        with self.at(*key):
            return location.lines(condition, grid)

    def _signal(self, signal: Signal, key: Key) -> float | Series:
        """Return a constant, or a series that covers the run; errors state the key."""
        with self.at(*key):
            return signal.resolve(0.0, self.run.end_time, self.run.start_date)

    def _sources(self, grid: Grid, bed: np.ndarray) -> list[Any]:
        """Create the source terms of [sources]."""
        from eagre.terms import WeatherPressure

        sources: list[Any] = []
        for name, section in self.sources:
            if section is None:
                continue
            if isinstance(section, (WeatherSection, CycloneSection)):
                with self.at("sources", name, "file" if name == "weather" else "track"):
                    terms = section.make(grid, self.run.end_time, self.run.start_date)
                if any(isinstance(term, WeatherPressure) for term in terms):
                    self._pressure_section = section
                sources += terms
                continue
            sources.append(self._term(name, section, grid, bed))
        return sources

    def _term(self, name: str, section: Section, grid: Grid, bed: np.ndarray) -> Any:
        """Create the source term of a section whose keys are its arguments."""
        from eagre import terms

        values: dict[str, Any] = {}
        for key in type(section).model_fields:
            value = getattr(section, key)
            if isinstance(value, FieldValue):
                value = self._values(f"sources.{name}", section, key, grid, bed)
                if not isinstance(value, np.ndarray):
                    value = np.full(grid.shape, value)
            elif isinstance(value, Signal):
                value = self._signal(value, ("sources", name, key))
            values[key] = value
        if isinstance(section, RainSection) and isinstance(section.rate, ZoneSignals):
            with self.at("sources", name, "rate"):
                rates, fractions = section.rate.resolve(grid, self.run.end_time, self.run.start_date)
            return terms.ZoneRain(rates, fractions if values["pattern"] is None else fractions * values["pattern"])
        with self.at("sources", name):
            return getattr(terms, terms.class_name(name))(**values)

    @contextmanager
    def _naming_sources(self) -> Iterator[None]:
        """Add the section of [sources] to errors that the model raises for a term."""
        from eagre.terms import class_name
        from eagre.terms.collect import TermError

        try:
            yield
        except TermError as error:
            names = {class_name(name): name for name in type(self.sources).model_fields}
            name = {"ZoneRain": "rain", **names}.get(error.kind, "")
            if getattr(self.sources, name, None) is None:
                name = "weather" if self.sources.weather is not None else "cyclone"
            raise self.problem(("sources", name), error) from None
