"""Values by zone, with zones as polygons of a file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eagre.config.section import Section, case_key
from eagre.config.values.types import VectorFile
from eagre.config.values.units import is_quantity, parse_quantity
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.local_rows import LocalRows


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
        from eagre.io.vectors.vector import read_features, zone_numbers

        path, grid = self.section.zones, rows.grid
        features = read_features(path, grid, ("Polygon",), self.section.layer)
        values = np.array([self._value().of(one, "polygon", path) for one in features])
        numbers = zone_numbers(features, grid)
        out = numbers < 0
        if out.all():
            self._refuse_elsewhere(features, grid)
        numbers = rows.held(numbers)
        if not out.any():
            return values[numbers]
        if self.outside is None:
            raise cells_in_none(out, grid, path, "polygon", fix=f"outside = {values[0]:g}")
        return np.where(rows.held(out), self.outside.at_centres(rows, bed), values[numbers])

    def _refuse_elsewhere(self, features: Any, grid: Grid) -> None:
        from eagre.io.rasters.raster import WHERE
        from eagre.io.vectors.vector import points_of

        points = np.concatenate([points_of(one.geometry["coordinates"]) for one in features])
        (west, south), (east, north) = points.min(0), points.max(0)
        raise InputError(
            f"{self.section.zones}: polygons at x {west:.10g} to {east:.10g}, y {south:.10g} to {north:.10g} in the "
            f"grid's coordinates ({(grid.crs or 'with unknown coordinate system')[:60]}), which contain no cell centre",
            allowed="x {:.10g} to {:.10g}, y {:.10g} to {:.10g}".format(*grid.extent),
            fix=f'crs = "EPSG:32633" {WHERE}, and declare the coordinate system in the file',
        )
