"""One series per zone, with zones as polygons of a file or a raster of zone numbers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from pydantic import Field, PlainValidator, ValidationInfo

from eagre.config.section import Section, check
from eagre.config.toml import literal
from eagre.config.values.signals import SeriesFile, Signal, signal
from eagre.config.values.types import InputFile, key_of
from eagre.config.values.zones import cells_in_none, property_of
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.time_varying.series import Series

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

    zones: InputFile = Field(
        description="polygons (.geojson, or .gpkg, .shp, .fgb with eagre[vector]; later polygons have priority), or a "
        "raster of zone numbers",
        examples=["catchments.geojson"],
    )
    layer: str | None = Field(default=None, description="layer of a vector file with several layers")
    name: str = Field(default="name", description="property of the polygons with the name of the series")
    series: Annotated[Any, PlainValidator(_series)] = Field(
        description="CSV or NetCDF file with one column per zone, { file, time, units }, or a table of zone = number "
        "or series",
        examples=["rain.csv"],
    )
    outside: Any = Field(default="error", description='"error", or the value or series of cells outside all zones')


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
        from eagre.io.vectors.vector import SUFFIXES

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
        from eagre.io.vectors.vector import read_features, zone_numbers

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
