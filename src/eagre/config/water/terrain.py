"""Sections [grid] and [bed]: the computational grid, the bed elevation and its levees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.boundaries.internal import length_in_cells
from eagre.config.problems import Problem, Problems
from eagre.config.section import Section, case_key, only_one
from eagre.config.values.expressions import Expression
from eagre.config.values.field_values import FeatureValue
from eagre.config.values.types import (
    Coordinate,
    Extent,
    InputFiles,
    Metres,
    NoData,
    PointXY,
    Shift,
    VectorFile,
    quantity,
)
from eagre.config.values.units import parse_quantity
from eagre.constants import LONGEST, SHORTEST
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.local_rows import LocalRows, processes_of, value_of_first


class LeveeSection(Section):
    """Levee, road or wall along a line; the bed of crossed cells is raised to the crest elevation."""

    points: list[PointXY] | None = case_key(
        "vertices [x, y] of a polyline, metres", [[100.0, 0.0], [100.0, 250.0]], default=None, min_length=2
    )
    file: VectorFile | None = case_key(
        "alternative to points: lines of a file (.geojson; .gpkg, .shp, .fgb: eagre[vector])",
        "levees.geojson",
        default=None,
    )
    layer: str | None = case_key("layer of a file with several layers", default=None)
    crest: float | str = case_key(
        "crest elevation, metres, or the name of the property with the crest elevation", "3.2 m"
    )

    @model_validator(mode="after")
    def _one_location(self) -> LeveeSection:
        only_one(self, ("points", "file"), 'file = "levees.geojson"')
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
        from eagre.io.vectors import read_features

        assert self.file is not None
        for feature in read_features(self.file, grid, ("LineString",), self.layer):
            height = self._crests().of(feature, "line", self.file)
            for _, coordinates in feature.simple_geometries():
                yield height, np.array([point[:2] for point in coordinates], np.float64)


def checked_crs(text: str) -> str:
    """Return the coordinate system if it is valid."""
    from eagre.io.rasters.raster import parse_crs

    if parse_crs(text) is None:
        raise InputError(f'crs = "{text}"', allowed="an EPSG code, or WKT", fix='crs = "EPSG:32633"')
    return text


if TYPE_CHECKING:
    from eagre.io.rasters.raster import Around, Dem

CellSize = Annotated[float, quantity("length"), Field(ge=SHORTEST, le=LONGEST)]


def _crs_text(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        raise InputError(f"crs = {value}", allowed="a string: an EPSG code, or WKT", fix=f'crs = "EPSG:{value}"')
    return value


Crs = Annotated[str, BeforeValidator(_crs_text), AfterValidator(checked_crs)]
_MOST = 2**31 - 1


class GridSection(Section):
    """Computational grid: nx, ny and dx, or dx and extent, or dx and a bed file."""

    nx: int | None = case_key("number of cells along x, >= 1", 200, default=None, ge=1, le=_MOST)
    ny: int | None = case_key("number of cells along y, >= 1", 100, default=None, ge=1, le=_MOST)
    dx: CellSize | None = case_key("cell size along x, metres", 10.0, default=None)
    dy: CellSize | None = case_key("cell size along y, metres; default: dx", 10.0, default=None)
    x0: Coordinate | None = case_key("x of the south-west corner, metres", 0.0, default=None)
    y0: Coordinate | None = case_key("y of the south-west corner, metres", 0.0, default=None)
    extent: Extent | None = case_key(
        "[west, east, south, north] of the domain, metres", [0.0, 1000.0, 0.0, 500.0], default=None
    )
    crs: Crs | None = case_key("coordinate reference system, such as EPSG:32633", default=None)

    @model_validator(mode="after")
    def _one_way(self) -> GridSection:
        counts = self.nx is not None or self.ny is not None
        if counts and self.extent is not None:
            raise InputError("both nx, ny and extent", allowed="nx, ny and dx, or extent and dx")
        if (self.x0 is not None or self.y0 is not None) and not counts:
            raise InputError("x0 or y0 without nx and ny", allowed="nx, ny, dx, x0, y0, or dx and extent")
        missing = [name for name in ("nx", "ny", "dx") if getattr(self, name) is None]
        if counts and missing:
            got = f"no {' and no '.join(missing)}"
            raise InputError(got, allowed="nx, ny and dx together", fix=f"{missing[0]} = 10")
        return self

    @property
    def is_complete(self) -> bool:
        """True if the section defines the grid without a bed file."""
        return self.nx is not None or (self.extent is not None and self.dx is not None)

    def grid(self) -> Grid:
        """Create the grid of a complete section."""
        assert self.dx is not None
        dy = self.dy or self.dx
        if self.nx is not None and self.ny is not None:
            return Grid(self.nx, self.ny, self.dx, dy, self.x0 or 0.0, self.y0 or 0.0, self.crs)
        assert self.extent is not None
        west, east, south, north = self.extent
        nx, ny = _whole("dx", east - west, self.dx), _whole("dy", north - south, dy)
        return Grid(nx, ny, self.dx, dy, west, south, self.crs)


class BedSection(Section):
    """Bed elevation, metres, positive up: a file, a number or an expression in x and y."""

    file: InputFiles | None = case_key(
        "GeoTIFF, ESRI ASCII or NetCDF raster, or a list; the first file with data has priority",
        "bed.tif",
        default=None,
    )
    value: Metres | None = case_key("uniform bed elevation, metres", 0.0, default=None)
    expression: str | None = case_key("bed elevation as an expression in x and y, metres", "0.01 * x", default=None)
    positive: Literal["up", "down"] | None = case_key(
        "direction of values: up (elevations, default) or down (depths); required for undeclared depths",
        "up",
        default=None,
    )
    nodata: NoData = case_key('"error", or the elevation of cells without data, metres', default="error")
    crests: Literal["keep", "mean"] = case_key(
        "keep (levees and dams up to three raster cells wide keep their height) or mean (averaged)",
        "keep",
        default="keep",
    )
    offset: Metres = case_key("vertical offset added to the values of the file, metres", default=0.0)
    shift: Shift = case_key(
        "offset [x, y] added to the file's coordinates, metres; the result is in the crs of [grid]", default=[0.0, 0.0]
    )
    band: int | None = case_key("band of a GeoTIFF with several bands, counted from 1", default=None, ge=1)
    variable: str | None = case_key("variable of a NetCDF file with several variables", default=None)
    coordinates: Literal["file", "metres"] = case_key(
        "metres: coordinates of a file without coordinate system are metres, as for a flume", "metres", default="file"
    )
    record: int | None = case_key(
        "record of a time-dependent NetCDF variable, counted from 1; -1 is the last", -1, default=None
    )
    levees: list[LeveeSection] = case_key("tables [[bed.levees]]", default_factory=list)

    @model_validator(mode="after")
    def _one_source(self) -> BedSection:
        specified = [name for name in ("file", "value", "expression") if getattr(self, name) is not None]
        if len(specified) != 1:
            raise InputError(
                " and ".join(specified) or "no file, no value and no expression",
                allowed="exactly one of file, value, expression",
                fix='file = "bed.tif", or value = 0.0, or expression = "0.01 * x"',
            )
        for name in sorted(self.model_fields_set - {*specified, "levees"}):
            if self.file is None:
                raise InputError(f"{name} without file", allowed=f"{name} with file only")
        if self.expression is not None:
            Expression(self.expression)
        return self


def check_terrain(grid: GridSection | None, bed: BedSection) -> None:
    """Raise `Problems` unless the two sections define the cells."""
    if bed.file is None and (grid is None or not grid.is_complete):
        got = "nothing: this section is needed" if grid is None else f"only {', '.join(sorted(grid.model_fields_set))}"
        allowed = "nx, ny and dx, or extent and dx, or a file in [bed]"
        raise Problems([Problem(("grid",), got, allowed, "[grid]\nnx = 200\nny = 100\ndx = 10.0")])


def make_terrain(
    grid: GridSection | None,
    bed: BedSection,
    check: Callable[[Grid], object] | None = None,
    rows_of: Callable[[Grid], LocalRows] = LocalRows.whole,
    device: Any = None,
) -> tuple[Grid, np.ndarray]:
    """Create the grid and the bed elevation at its corners.

    Parameters
    ----------
    grid : GridSection or None
        None: use the cells of the bed file.
    bed : BedSection
    check : callable, optional
        Called with the grid before arrays are allocated; raises an error if the memory is too small.
    rows_of : callable, optional
        Returns the rows of this process.
    device : Device, Group or str, optional
        Device of the model. In several processes the first one reads files, and evaluates a bed with levees, for the
        whole domain.

    Returns
    -------
    grid : Grid
    bed_elevation : (rows + 1, nx + 1) array, m
        Positive up, row 0 in the south, in the rows of this process.

    Raises
    ------
    InputError
        If neither a complete grid nor a bed file is given, or the file does not cover the grid.
    """
    dems: list[Dem] = []  # in the first process
    if bed.file is None:
        check_terrain(grid, bed)
        cells = (grid or GridSection()).grid()
    else:
        cells = value_of_first(processes_of(device), lambda: _grid_of_files(grid or GridSection(), bed, dems))
    if check is not None:
        check(cells)
    rows = rows_of(cells)
    if bed.file is None and not bed.levees:
        with rows.agreed_errors():
            return cells, _elevation(bed, rows)

    def elevation() -> np.ndarray:
        corners = _elevation(bed, LocalRows.whole(cells)) if bed.file is None else _of_files(bed, cells, dems)
        for levee in bed.levees:
            corners = levee.raised(cells, corners)
        return corners

    return cells, rows.from_first(elevation, "corner")


def _elevation(bed: BedSection, rows: LocalRows) -> np.ndarray:
    """Return a bed of one value or of an expression at the corners of rows."""
    if bed.expression is None:
        return np.full(rows.shape_of("corner"), bed.value, dtype=np.float64)
    y = rows.grid.y_corner[rows.low : rows.high + 1, None]
    return Expression(bed.expression)(x=rows.grid.x_corner[None, :], y=y)


def _of_files(bed: BedSection, grid: Grid, dems: list[Dem]) -> np.ndarray:
    """Return the bed of raster files at the corners of a grid."""
    from eagre.io import dem_to_corners
    from eagre.io.rasters.warp import onto

    return dem_to_corners(onto(grid, dems), grid, nodata=bed.nodata, crests=bed.crests)


def _grid_of_files(section: GridSection, bed: BedSection, dems: list[Dem]) -> Grid:
    """Read the raster files of a bed into `dems` and return the grid, with their coordinate system."""
    from eagre.io import grid_from_dem
    from eagre.io.rasters.raster import Around
    from eagre.io.rasters.warp import around

    assert bed.file is not None
    extent = None
    if section.extent is not None:
        west, east, south, north = section.extent
        extent = (west, east, south, north)
    if section.is_complete and (section.crs is not None or len(bed.file) > 1):
        grid = section.grid()
        dems += _dems(bed, around(grid))
    else:
        dems += _dems(bed, None if section.crs is None else Around(section.crs))
        _need_grid(section, dems)
        grid = section.grid() if section.nx is not None else grid_from_dem(dems[0], section.dx, section.dy, extent)
    return replace(grid, crs=section.crs or dems[0].crs)


_BED_OPTIONS = ("positive", "band", "variable", "record", "coordinates")


def _dems(bed: BedSection, target: Around | None) -> list[Dem]:
    """Read the rasters of a bed; rasters to be warped stay in the coordinate system of the file."""
    from eagre.io import read_dem

    options: dict[str, Any] = {name: getattr(bed, name) for name in _BED_OPTIONS}
    target = None if any(bed.shift) else target
    dems = [read_dem(file, vertical_offset=bed.offset, around=target, **options) for file in bed.file or ()]
    return [dem.shifted(*bed.shift) for dem in dems]


def _need_grid(section: GridSection, dems: list[Dem]) -> None:
    """Raise an error if rasters do not define the cells: several rasters, or another coordinate system."""
    from eagre.io.rasters.raster import Around, parse_crs
    from eagre.io.rasters.warp import cells_within

    first = dems[0]
    other = section.crs is not None and Around(section.crs).differs(parse_crs(first.crs))
    if len(dems) == 1 and not other:
        return
    got = f"{first.name} in {(first.crs or '')[:60]} for {(section.crs or '')[:60]}" if other else f"{len(dems)} files"
    raise InputError(
        f"{got} without the cells of the grid",
        allowed="dx and extent in [grid], an integer number of cells along each axis",
        fix=cells_within(first, section.crs if other else first.crs, section.dx, section.dy),
    )


def _whole(key: str, length: float, step: float) -> int:
    """Return the number of cells in `length`; raise an error if it is not an integer."""
    count = round(length / step)
    if count < 1 or abs(count * step - length) > 1e-6 * step * max(count, 1):
        raise InputError(
            f"{key} = {step:g} for an extent of {length:g} m, i.e. {length / step:.6g} cells",
            allowed="a cell size that divides the extent",
            fix=f"{key} = {length / max(count, 1):.10g}",
        )
    return count
