"""Field values: a number, an expression, a raster file or zones; in three dimensions a number or an expression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo

from eagre.config.section import Section, case_key, check
from eagre.config.toml import literal
from eagre.config.values.expressions import Expression
from eagre.config.values.types import ClassTable, InputFiles, NoData, Shift, VectorFile, key_of
from eagre.config.values.units import DIMENSIONS, decimal_point, is_quantity, parse_quantity, unit_factor
from eagre.errors import InputError
from eagre.grid import Grid, Levels
from eagre.local_rows import LocalRows
from eagre.plausible import check_plausible

NAMES = ("x", "y", "bed")
"""Variables of expressions for fields at cell centres: coordinates, m, and bed elevation, m."""
VOLUME_NAMES = ("x", "y", "z", "terrain_height")
"""Names in expressions: coordinates and the height of the ground below, m; z is upward from 0, not from the ground."""


@dataclass(frozen=True)
class FeatureValue:
    """Value of each feature, as defined by a key of a case file.

    Parameters
    ----------
    given : float or str
        Value of all features (a number, SI, or a string with a unit), or the name of the property with the value.
    dimension : str
        Dimension of the value, for unit conversion.
    key : str
        Key in the case file, for error messages.

    Raises
    ------
    InputError
        For a value of another dimension.
    """

    given: float | str
    dimension: str
    key: str

    def __post_init__(self) -> None:
        if not self._is_property:
            parse_quantity(self.given, self.dimension, self.key)

    @property
    def _is_property(self) -> bool:
        return isinstance(self.given, str) and not is_quantity(self.given)

    def of(self, feature: Any, kind: str, path: Path | None) -> float:
        """Return the value of a feature, SI; `kind`, "line" or "polygon", and `path` are for error messages.

        Raises
        ------
        InputError
            If the property is missing or not a finite quantity.
        """
        if not self._is_property:
            return parse_quantity(self.given, self.dimension, self.key)
        name = str(self.given)
        held = property_of(feature, name, kind, path, self.key)
        try:
            return parse_quantity(held, self.dimension, name)
        except InputError as error:
            what = f"{path}, the {kind} {feature.name}: {error.what}"
            raise InputError(what, allowed=error.allowed, fix=error.fix, problem=error.problem) from None


def property_of(feature: Any, name: str, kind: str, path: Path | None, key: str) -> Any:
    """Return the property of a feature that a key of the case file names.

    Raises
    ------
    InputError
        If the property is missing; the message lists the available properties.
    """
    from eagre.io.files import choose

    choose(name, feature.properties, f"{path}, the {kind} {feature.name}: property", f'{key} = "{{}}"')
    held = feature.properties[name]
    return held.item() if isinstance(held, np.generic) else held


def cells_in_none(out: np.ndarray, grid: Grid, path: Path, kind: str, fix: str) -> InputError:
    """Return the error for cells, (ny, nx) bool, whose centres are outside all polygons or zones of a file."""
    j, i = (int(index) for index in np.argwhere(out)[0])
    return InputError(
        f"{path}: {out.sum()} of {out.size} cells in no {kind}; the first centre is "
        f"x = {grid.x[i]:.10g} m, y = {grid.y[j]:.10g} m",
        allowed=f"{kind}s that cover all cell centres, or a value outside", fix=fix,
    )  # fmt: skip


class Zones(Section):
    """Polygons of a file with one value per polygon."""

    zones: VectorFile = case_key(
        "polygons: .geojson, or .gpkg, .shp, .fgb with eagre[vector]; later polygons have priority", "landuse.geojson"
    )
    layer: str | None = case_key("layer of a file with several layers", default=None)
    value: str | float = case_key(
        "property of the polygons with the value (SI, or strings with a unit), or one value for all", "n"
    )
    outside: Any = case_key(
        '"error", or the value of cells whose centre is in no polygon: number, expression or raster',
        0.03,
        default="error",
    )


@dataclass(frozen=True)
class ZoneValues:
    """Cell values by zone.

    Parameters
    ----------
    section : Zones
    dimension : str
        Dimension of the values, for unit conversion.
    outside : object, optional
        Source of the values of other cells, with a method `at_centres(grid, bed)`.
    """

    section: Zones
    dimension: str
    outside: Any = None

    def __post_init__(self) -> None:
        self._value()  # raises an error for an invalid value

    def _value(self) -> FeatureValue:
        return FeatureValue(self.section.value, self.dimension, "value")

    def at_centres(self, rows: LocalRows, bed: np.ndarray | float) -> np.ndarray:
        """Return values at the cell centres of the rows of a process, (rows, nx).

        Raises
        ------
        InputError
            If a polygon has no value, no polygon is in the domain, or cells are in no polygon and `outside` is not set.
        """
        from eagre.io.vectors import read_features, zone_numbers

        path, grid = self.section.zones, rows.grid
        features = read_features(path, grid, ("Polygon",), self.section.layer)
        values = np.array([self._value().of(one, "polygon", path) for one in features])

        def checked_numbers() -> np.ndarray:
            numbers = zone_numbers(features, grid)
            out = numbers < 0
            if out.all():
                self._refuse_elsewhere(features, grid)
            if out.any() and self.outside is None:
                raise cells_in_none(out, grid, path, "polygon", fix=f"outside = {values[0]:g}")
            return numbers

        numbers = rows.from_first(checked_numbers)
        out = numbers < 0
        if not any(rows.each(bool(out.any()))):
            return values[numbers]
        return np.where(out, self.outside.at_centres(rows, bed), values[numbers])

    def _refuse_elsewhere(self, features: Any, grid: Grid) -> None:
        from eagre.io.rasters.raster import WHERE
        from eagre.io.vectors import points_of

        points = np.concatenate([points_of(one.geometry["coordinates"]) for one in features])
        (west, south), (east, north) = points.min(0), points.max(0)
        raise InputError(
            f"{self.section.zones}: polygons at x {west:.10g} to {east:.10g}, y {south:.10g} to {north:.10g} in the "
            f"grid's coordinates ({(grid.crs or 'with unknown coordinate system')[:60]}), which contain no cell centre",
            allowed="x {:.10g} to {:.10g}, y {:.10g} to {:.10g}".format(*grid.extent),
            fix=f'crs = "EPSG:32633" {WHERE}, and declare the coordinate system in the file',
        )


class RasterFile(Section):
    """Raster file that covers the domain; values are converted from the unit that the file declares."""

    file: InputFiles = case_key(
        "GeoTIFF, ESRI ASCII or NetCDF raster, or a list; the first file with data has priority", "field.tif"
    )
    band: int | None = case_key("band of a GeoTIFF with several bands, counted from 1", default=None, ge=1)
    variable: str | None = case_key("variable of a NetCDF file with several variables", default=None)
    record: int | None = case_key(
        "record of a time-dependent NetCDF variable, counted from 1; -1 is the last", -1, default=None
    )
    nodata: NoData = case_key('"error", or a number that replaces missing values', default="error")
    shift: Shift = case_key(
        "offset [x, y] added to the coordinates of the file, metres, as in [bed]", default=[0.0, 0.0]
    )

    def at_centres(
        self, grid: Grid, quantity: str = "", name: str = "value", dimension: str | None = None
    ) -> np.ndarray:
        """Return values at the cell centres of `grid`, (ny, nx); check the plausible range of `quantity`.

        dimension : key of `DIMENSIONS`: units that a file declares are converted to SI units; None: they are not used.
        """
        from eagre.io import raster_to_centres, read_raster
        from eagre.io.rasters.dem import check_raster_fill
        from eagre.io.rasters.warp import around, onto

        target = around(grid) if not any(self.shift) else None
        options: dict[str, Any] = {"band": self.band, "variable": self.variable, "record": self.record}
        rasters = [read_raster(file, around=target, **options).shifted(*self.shift) for file in self.file]
        rasters = [_in_si_units(raster, dimension) for raster in rasters]
        for raster in rasters:
            check_raster_fill(raster)
            if quantity:
                check_plausible(quantity, raster.elevation, name, raster.name)
        return raster_to_centres(onto(grid, rasters), grid, nodata=self.nodata)


def _in_si_units(raster: Any, dimension: str | None) -> Any:
    """Return a raster in SI units of a dimension; words after the unit, as in "m above datum", are ignored."""
    text = (raster.units or "").strip()
    if dimension is None or text in ("", "1", "-", "-1"):
        return raster
    unit = re.split(r"(?<=[A-Za-z])[\s_]+(?=[A-Za-z]{3})", text, maxsplit=1)[0]
    try:
        factor = unit_factor(unit, dimension)
    except InputError as error:
        raise InputError(f"{raster.name} in {text!r}", allowed=error.allowed) from None
    return raster if factor == 1.0 else replace(raster, elevation=factor * raster.elevation)


class ClassRaster(Section):
    """Raster of land-cover classes with a value per class."""

    classes: InputFiles = case_key(
        "raster of class numbers, or a list; the first file with data has priority", "worldcover.tif"
    )
    table: ClassTable = case_key(
        '"esa-worldcover", "nlcd", or a .csv file with the columns class and n (Manning)', "esa-worldcover"
    )
    band: int | None = case_key("band of a GeoTIFF with several bands, counted from 1", default=None, ge=1)
    variable: str | None = case_key("variable of a NetCDF file with several variables", default=None)
    nodata: NoData = case_key('"error", or the value of cells without a class', default="error")

    def at_centres(self, grid: Grid) -> np.ndarray:
        """Return the cell means of the class values, (ny, nx)."""
        from eagre.io import raster_to_centres, read_raster
        from eagre.io.landcover import read_class_table, values_of_classes
        from eagre.io.rasters.warp import around, onto

        table, target = read_class_table(self.table), around(grid)
        check_plausible("manning", list(table.values()), "n", f"the table {self.table}")
        rasters = [read_raster(file, around=target, band=self.band, variable=self.variable) for file in self.classes]
        values = values_of_classes(onto(grid, rasters, nearest=True), table, f"the table {self.table}")
        return raster_to_centres(values, grid, nodata=self.nodata)


@dataclass(frozen=True)
class FieldValue:
    """Field value: a number, an expression, a raster or zones.

    Parameters
    ----------
    source : float, Expression, RasterFile, ClassRaster or ZoneValues
    quantity : str
        Key of `eagre.plausible.QUANTITIES` for the plausible range; empty if not checked.
    name : str
        Name of the key, for error messages.
    dimension : str or None
        Key of `DIMENSIONS` for the units of rasters.
    """

    source: float | Expression | RasterFile | ClassRaster | ZoneValues
    quantity: str = ""
    name: str = "value"
    dimension: str | None = None

    def at_centres(self, grid: Grid | LocalRows, bed: np.ndarray | float = 0.0) -> float | np.ndarray:
        """Return a number, or an array of shape (ny, nx).

        Parameters
        ----------
        grid : Grid or LocalRows
            The grid, or the rows of a process; `bed` and the result then have these rows.
        bed : (ny, nx) array or float
            Bed elevation at cell centres, m, for expressions with ``bed``.

        Raises
        ------
        InputError
            For values outside the plausible range of the quantity.
        """
        rows = LocalRows.whole(grid)
        values = self._at_centres(rows, bed)
        if self.quantity:
            with rows.agreed_errors():
                check_plausible(self.quantity, values, self.name)
        return values

    def _at_centres(self, rows: LocalRows, bed: np.ndarray | float) -> float | np.ndarray:
        grid, source = rows.grid, self.source
        if isinstance(source, Expression):
            with rows.agreed_errors():
                return source(x=grid.x[None, :], y=grid.y[rows.low : rows.high, None], bed=bed)
        if isinstance(source, RasterFile):
            return rows.from_first(lambda: source.at_centres(grid, self.quantity, self.name, self.dimension))
        if isinstance(source, ClassRaster):
            return rows.from_first(lambda: source.at_centres(grid))
        if isinstance(source, ZoneValues):
            return source.at_centres(rows, bed)
        return source


def number_or_expression(value: Any, info: ValidationInfo, dimension: str | None, names: Sequence[str]) -> Any:
    """Return a number in SI units, or an expression in `names`; None for other values."""
    if isinstance(value, str) and not is_quantity(value) and decimal_point(value) is None:
        return Expression(value, names)
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return parse_quantity(value, dimension or "number", key_of(info))
    return None


def _field(dimension: str | None, classes: bool = False, quantity: str = "") -> PlainValidator:
    def field_value(source: Any, info: ValidationInfo) -> FieldValue:
        return FieldValue(source, quantity, key_of(info), dimension)

    def outside_of(zones: Zones, info: ValidationInfo) -> FieldValue | None:
        try:
            return None if zones.outside == "error" else read(zones.outside, info)
        except InputError as error:
            key, outside_key = f"{key_of(info)} = ", "outside = "
            what, fix = (text.replace(key, outside_key, 1) for text in (error.what, error.fix))
            raise InputError(what, allowed=error.allowed, fix=fix, problem=error.problem) from None

    def read(value: Any, info: ValidationInfo) -> FieldValue:
        if isinstance(value, FieldValue):
            return value
        if isinstance(value, dict) and "zones" in value:
            zones = check(Zones, value, info.context)
            return field_value(ZoneValues(zones, dimension or "number", outside_of(zones, info)), info)
        if isinstance(value, dict):
            section = ClassRaster if classes and "classes" in value else RasterFile
            return field_value(check(section, value, info.context), info)
        path = number_or_expression(value, info, dimension, NAMES)
        if path is not None:
            return field_value(path, info)
        unit = f" in {DIMENSIONS[dimension].si}" if dimension else ""
        tables = f"file, zones{' or classes' * classes}"
        raise InputError(
            f"{key_of(info)} = {literal(value)}",
            allowed=f"a number{unit}, an expression in x, y and bed, or a table with {tables}",
            fix=f'{key_of(info)} = "where(x < 10, 1.0, 0.0)"',
        )

    return PlainValidator(read)


LengthField = Annotated[FieldValue, _field("length")]
ElevationField = Annotated[FieldValue, _field("length", quantity="elevation")]
DepthField = Annotated[FieldValue, _field("length", quantity="depth")]
InfiltrationField = Annotated[FieldValue, _field("rain", quantity="infiltration")]
SuctionField = Annotated[FieldValue, _field("length", quantity="suction_head")]
DeficitField = Annotated[FieldValue, _field("number", quantity="moisture_deficit")]
SpeedField = Annotated[FieldValue, _field("speed")]
StressField = Annotated[FieldValue, _field("stress", quantity="wind_stress")]
PressureField = Annotated[FieldValue, _field("pressure")]
NumberField = Annotated[FieldValue, _field(None)]
ManningField = Annotated[FieldValue, _field(None, classes=True, quantity="manning")]
ChezyField = Annotated[FieldValue, _field(None, quantity="chezy")]


@dataclass(frozen=True)
class VolumeValue:
    """Field value: a number or an expression."""

    source: float | Expression

    def at_points(self, grid: Grid | LocalRows, levels: Levels) -> float | np.ndarray:
        """Return a number, or an array of shape (nz, ny, nx).

        grid : the grid, or the rows of a process; `levels` and the result then have these rows.
        """
        if isinstance(self.source, Expression):
            rows = LocalRows.whole(grid)
            ground = 0.0 if levels.terrain_height is None else levels.terrain_height
            z = np.broadcast_to(levels.z, (levels.height.size, *rows.shape_of("centre")))
            x, y = rows.grid.x[None, None, :], rows.grid.y[None, rows.low : rows.high, None]
            return self.source(x=x, y=y, z=z, terrain_height=ground)
        return self.source


def _volume(dimension: str | None) -> PlainValidator:
    def read(value: Any, info: ValidationInfo) -> VolumeValue:
        if isinstance(value, VolumeValue):
            return value
        value_read = number_or_expression(value, info, dimension, VOLUME_NAMES)
        if value_read is not None:
            return VolumeValue(value_read)
        unit = f" in {DIMENSIONS[dimension].si}" if dimension else ""
        raise InputError(
            f"{key_of(info)} = {literal(value)}",
            allowed=f"a number{unit}, or an expression in x, y, z and terrain_height",
            fix=f'{key_of(info)} = "2 * exp(-hypot(x, z - 2000)**2 / 1e6)"',
        )

    return PlainValidator(read)


SpeedVolume = Annotated[VolumeValue, _volume("speed")]
TemperatureVolume = Annotated[VolumeValue, _volume("temperature")]
NumberVolume = Annotated[VolumeValue, _volume(None)]
