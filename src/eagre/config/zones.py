"""Values by zone: polygons of a file, and what holds inside each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import Field

from eagre.config.features import FeatureValue, cells_in_none
from eagre.config.section import Section
from eagre.config.values import VectorFile
from eagre.errors import InputError
from eagre.grid import Grid


class Zones(Section):
    """Polygons of a file, and the value inside each."""

    zones: VectorFile = Field(
        description="polygons, a later one over an earlier: .geojson, or .gpkg, .shp, .fgb with eagre[vector]",
        examples=["landuse.geojson"],
    )
    layer: str | None = Field(default=None, description="the layer of a file that holds several")
    value: str | float = Field(
        description="the property of the polygons that has the value (SI, or texts with a unit), or one value for all",
        examples=["n"],
    )
    outside: Any = Field(
        default="error",
        description='"error", or the value of cells with their centre in none: a number, an expression or a raster',
        examples=[0.03],
    )


@dataclass(frozen=True)
class ZoneValues:
    """Values of the cells by zone.

    Parameters
    ----------
    section : Zones
    dimension : str
        Of the values, for their units.
    outside : object, optional
        What gives the values of other cells, by `at_centres(grid, bed)`.
    """

    section: Zones
    dimension: str
    outside: Any = None

    def __post_init__(self) -> None:
        self._value()  # a wrong one is refused here

    def _value(self) -> FeatureValue:
        return FeatureValue(self.section.value, self.dimension, "value")

    def at_centres(self, grid: Grid, bed: np.ndarray | float) -> np.ndarray:
        """Values at the centres of `grid`, (ny, nx).

        Raises
        ------
        InputError
            If a polygon has no value, none lies in the domain, or cells lie in none and `outside` is not given.
        """
        from eagre.io.vector import read_features, zone_numbers

        path = self.section.zones
        features = read_features(path, grid, ("Polygon",), self.section.layer)
        values = np.array([self._value().of(one, "polygon", path) for one in features])
        numbers = zone_numbers(features, grid)
        out = numbers < 0
        if out.all():
            self._refuse_elsewhere(features, grid)
        if not out.any():
            return values[numbers]
        if self.outside is None:
            raise cells_in_none(out, grid, path, "polygon", fix=f"outside = {values[0]:g}")
        return np.where(out, self.outside.at_centres(grid, bed), values[numbers])

    def _refuse_elsewhere(self, features: Any, grid: Grid) -> None:
        from eagre.io.raster import WHERE
        from eagre.io.vector import points_of

        points = np.concatenate([points_of(one.geometry["coordinates"]) for one in features])
        (west, south), (east, north) = points.min(0), points.max(0)
        raise InputError(
            f"{self.section.zones}: polygons at x {west:.10g} to {east:.10g}, y {south:.10g} to {north:.10g} in the "
            f"grid's coordinates ({(grid.crs or 'of no known system')[:60]}), none over a centre",
            allowed="x {:.10g} to {:.10g}, y {:.10g} to {:.10g}".format(*grid.extent),
            fix=f'crs = "EPSG:32633" {WHERE}, and in the file the system that it is in',
        )
