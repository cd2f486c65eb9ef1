"""Tables [[bed.levees]]: lines along which the bed is raised to a crest elevation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field, model_validator

from eagre.boundaries.internal import length_in_cells
from eagre.config.section import Section
from eagre.config.values.features import FeatureValue
from eagre.config.values.types import PointXY, VectorFile
from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.grid import Grid


class LeveeSection(Section):
    """Levee, road or wall along a line; the bed of crossed cells is raised to the crest elevation."""

    points: list[PointXY] | None = Field(
        default=None, min_length=2, description="vertices [x, y] of a polyline, metres",
        examples=[[[100.0, 0.0], [100.0, 250.0]]],
    )  # fmt: skip
    file: VectorFile | None = Field(
        default=None, description="alternative to points: lines of a file (.geojson; .gpkg, .shp, .fgb: eagre[vector])",
        examples=["levees.geojson"],
    )  # fmt: skip
    layer: str | None = Field(default=None, description="layer of a file with several layers")
    crest: float | str = Field(
        description="crest elevation, metres, or the name of the property with the crest elevation", examples=["3.2 m"]
    )

    @model_validator(mode="after")
    def _one_location(self) -> LeveeSection:
        if (self.points is None) == (self.file is None):
            got = "neither points nor file" if self.file is None else "both points and file"
            raise InputError(got, allowed="one of them", fix='file = "levees.geojson"')
        if self.points is not None:
            parse_quantity(self.crest, "length", "crest")
        self._crests()  # raises an error for an invalid crest
        if self.layer is not None and self.file is None:
            raise InputError("layer without file", allowed="layer with a file of several layers")
        return self

    def _crests(self) -> FeatureValue:
        """Return the crest elevation of each line of the file."""
        return FeatureValue(self.crest, "length", "crest")

    def raised(self, grid: Grid, corners: np.ndarray) -> np.ndarray:
        """Return the bed elevation raised by the levee.

        Parameters
        ----------
        grid : Grid
        corners : (ny + 1, nx + 1) array
            Bed elevation, m.

        Raises
        ------
        InputError
            If a file cannot be read, a line has no crest, or no line crosses the domain.
        """
        crest = np.full(grid.shape, -np.inf)
        for height, points in self._lines(grid):
            np.maximum(crest, np.where(length_in_cells(points, grid) > 0.0, height, -np.inf), out=crest)
        if not (crest > -np.inf).any():
            west, east, south, north = grid.extent
            raise InputError(
                f"a levee ({self.file or self.points}) that crosses no cell",
                allowed=f"lines in x {west:.10g} to {east:.10g}, y {south:.10g} to {north:.10g} (the domain)",
            )
        raised_corners = np.array(corners)  # each cell raises its four corners
        for rows in (slice(None, -1), slice(1, None)):
            for columns in (slice(None, -1), slice(1, None)):
                np.maximum(raised_corners[rows, columns], crest, out=raised_corners[rows, columns])
        return raised_corners

    def _lines(self, grid: Grid) -> Iterator[tuple[float, np.ndarray]]:
        """Yield crest elevation and vertices, (n, 2), of each line."""
        if self.points is not None:
            yield parse_quantity(self.crest, "length", "crest"), np.array(self.points, np.float64)
            return
        from eagre.io.vectors.vector import read_features

        assert self.file is not None
        for feature in read_features(self.file, grid, ("LineString",), self.layer):
            height = self._crests().of(feature, "line", self.file)
            for _, coordinates in feature.simple_geometries():
                yield height, np.array([point[:2] for point in coordinates], np.float64)
