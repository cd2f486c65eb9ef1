"""Tables [[bed.levees]]: lines along which the ground is raised to a crest."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field, model_validator

from eagre.boundaries.internal import share_of_cells
from eagre.config.features import FeatureValue
from eagre.config.section import Section
from eagre.config.units import parse_quantity
from eagre.config.values import PointXY, VectorFile
from eagre.errors import InputError
from eagre.grid import Grid


class LeveeSection(Section):
    """A levee, road or wall along a line: the ground of the cells that it crosses is no lower than its crest."""

    points: list[PointXY] | None = Field(
        default=None, min_length=2, description="points [x, y] of a line, metres, through which it goes straight",
        examples=[[[100.0, 0.0], [100.0, 250.0]]],
    )  # fmt: skip
    file: VectorFile | None = Field(
        default=None, description="in place of points: lines of .geojson, or .gpkg, .shp, .fgb with eagre[vector]",
        examples=["levees.geojson"],
    )  # fmt: skip
    layer: str | None = Field(default=None, description="the layer of a file that holds several")
    crest: float | str = Field(
        description="elevation of the crest, metres, or the property of the lines that has it", examples=["3.2 m"]
    )

    @model_validator(mode="after")
    def _one_place(self) -> LeveeSection:
        if (self.points is None) == (self.file is None):
            got = "neither points nor file" if self.file is None else "both points and file"
            raise InputError(got, allowed="one of them", fix='file = "levees.geojson"')
        if self.points is not None:
            parse_quantity(self.crest, "length", "crest")
        self._crests()  # a wrong one is refused here
        if self.layer is not None and self.file is None:
            raise InputError("layer without file", allowed="layer with files that hold several")
        return self

    def _crests(self) -> FeatureValue:
        """The crest of each line of the file."""
        return FeatureValue(self.crest, "length", "crest")

    def raised(self, grid: Grid, corners: np.ndarray) -> np.ndarray:
        """The bed with the levee on it.

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
            np.maximum(crest, np.where(share_of_cells(points, grid) > 0.0, height, -np.inf), out=crest)
        if not (crest > -np.inf).any():
            west, east, south, north = grid.extent
            raise InputError(
                f"a levee ({self.file or self.points}) that crosses no cell",
                allowed=f"lines in x {west:.10g} to {east:.10g}, y {south:.10g} to {north:.10g} (the domain)",
            )
        found = np.array(corners)  # of which each cell raises its four
        for rows in (slice(None, -1), slice(1, None)):
            for columns in (slice(None, -1), slice(1, None)):
                np.maximum(found[rows, columns], crest, out=found[rows, columns])
        return found

    def _lines(self, grid: Grid) -> Iterator[tuple[float, np.ndarray]]:
        """Crest and points, (n, 2), of each line."""
        if self.points is not None:
            yield parse_quantity(self.crest, "length", "crest"), np.array(self.points, np.float64)
            return
        from eagre.io.vector import read_features

        assert self.file is not None
        for feature in read_features(self.file, grid, ("LineString",), self.layer):
            height = self._crests().of(feature, "line", self.file)
            for _, at in feature.parts():
                yield height, np.array([point[:2] for point in at], np.float64)
