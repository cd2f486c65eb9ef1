"""Points, lines and polygons of a file, in the coordinate system of a grid, and named points and lines.

GeoJSON needs no library; other formats (GeoPackage, Shapefile, FlatGeobuf) are read by pyogrio. Named points
and lines can also be rows of a CSV table.
"""

from __future__ import annotations

import csv
import importlib
import importlib.util
import io
import json
import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.files import choose, listing, reading
from eagre.io.rasters.lattice import reprojected
from eagre.io.rasters.raster import WHERE, parse_crs
from eagre.io.tables.table import reading_rows

GEOJSON = (".geojson", ".json")
SUFFIXES = (*GEOJSON, ".gpkg", ".shp", ".fgb")
LONGITUDE_LATITUDE = "OGC:CRS84"


class Feature(NamedTuple):
    """Feature of a vector file.

    Parameters
    ----------
    name : str
        Its property "name", or its id or number.
    geometry : dict
        As in GeoJSON: ``type`` and ``coordinates``.
    properties : dict
        Properties in the file.
    """

    name: str
    geometry: Mapping[str, Any]
    properties: Mapping[str, Any]

    def simple_geometries(self) -> Iterator[tuple[str, Any]]:
        """Return type and coordinates of each part: Point, LineString or Polygon."""
        kind, coordinates = self.geometry["type"], self.geometry["coordinates"]
        if kind.startswith("Multi"):
            yield from ((kind.removeprefix("Multi"), one) for one in coordinates)
        else:
            yield kind, coordinates


def geojson_features(path: Path) -> tuple[list[Feature], str | None]:
    """Read the features of a GeoJSON file, and the coordinate system that older files declare.

    Raises
    ------
    InputError
        If the file is not a FeatureCollection.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"))
        features = []
        for number, one in enumerate(data["features"], 1):
            if one["geometry"] is None:  # a feature without a place, which the standard allows
                continue
            properties = one.get("properties") or {}
            geometry = {"type": str(one["geometry"]["type"]), "coordinates": one["geometry"]["coordinates"]}
            features.append(Feature(_name_of(properties, one.get("id", number)), geometry, properties))
        crs = (data.get("crs") or {}).get("properties", {}).get("name")
    except RecursionError:
        problem = "The file nests lists or objects too deeply."
        raise InputError(f"{path}: no GeoJSON", allowed="a FeatureCollection", problem=problem) from None
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8",
            allowed="a FeatureCollection in UTF-8",
            problem=f"The file {path} is not encoded in UTF-8.",
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not GeoJSON ({error!r})",
            allowed="a FeatureCollection",
            problem=f"The file {path} is not a GeoJSON FeatureCollection.",
        ) from None
    return features, None if crs is None else str(crs)


def _name_of(properties: Mapping[str, Any], other: object) -> str:
    """Return the property "name" in any capitalisation; `other` if it is missing or empty."""
    names = [value for key, value in properties.items() if key.casefold() == "name"]
    named = names and names[0] is not None and names[0] == names[0] and str(names[0]).strip()
    return str(names[0]).strip() if named else str(other)


class Layer(NamedTuple):
    """Content of a file, in its own coordinate system.

    Parameters
    ----------
    path : Path
    features : list of Feature
    crs : str or None
        Coordinate system of the file.
    may_guess : bool
        Without `crs`: coordinates in the range of longitude and latitude are degrees (RFC 7946).
    """

    path: Path
    features: list[Feature]
    crs: str | None
    may_guess: bool


def layer_of(path: Path, kinds: Sequence[str], layer: str | None = None) -> Layer:
    """Read the features of a file without conversion; for arguments and errors see `read_features`."""
    from rasterio.features import is_valid_geom

    geojson = path.suffix.lower() in GEOJSON
    if geojson and layer is not None:
        raise InputError(
            f'layer = "{layer}" with {path}',
            allowed="layer for files that can hold several layers",
            problem="The key layer applies only to files that can hold several layers.",
        )
    features, crs = geojson_features(path) if geojson else _read_with_library(path, layer)
    for one in features:
        if one.geometry["type"].removeprefix("Multi") not in kinds:
            got = f"{path}: {one.name} of the type {one.geometry['type']}"
            raise InputError(
                got,
                allowed=listing(kinds),
                fix="a separate file for each type",
                problem=f"The geometry type of {one.name} in {path} is not supported here.",
            )
        if not (is_valid_geom(one.geometry) and _has_numbers(one.geometry)):
            got = f"{path}: {one.name}, a {one.geometry['type']} of {reprlib.repr(one.geometry['coordinates'])[:60]}"
            raise InputError(
                got,
                allowed="coordinates as in GeoJSON: [x, y] for points, lists of [x, y] for other types",
                problem=f"The coordinates of {one.name} in {path} are not valid.",
            )
    if not features:
        raise InputError(
            f"{path} without features", allowed="one or more features", problem=f"The file {path} has no features."
        )
    return Layer(path, features, crs, crs is None and geojson)


def _has_numbers(geometry: Mapping[str, Any]) -> bool:
    """Return whether every point of a geometry has two or more finite numbers."""
    kind = geometry["type"]
    depth = ("Point", "LineString", "Polygon").index(kind.removeprefix("Multi")) + kind.startswith("Multi")

    def is_whole(coordinates: Any, depth: int) -> bool:
        if not isinstance(coordinates, list | tuple) or not coordinates:
            return False
        if depth:
            return all(is_whole(one, depth - 1) for one in coordinates)
        return len(coordinates) >= 2 and all(isinstance(x, int | float) and math.isfinite(x) for x in coordinates[:2])

    return is_whole(geometry["coordinates"], depth)


def read_features(path: Path, grid: Grid, kinds: Sequence[str], layer: str | None = None) -> list[Feature]:
    """Read the features of a file, in the coordinate system of a grid.

    Parameters
    ----------
    path : Path
        File with a suffix in `SUFFIXES`.
    grid : Grid
        Without a coordinate system of the grid, coordinates are unchanged. GeoJSON without a declared system is in
        longitude and latitude (RFC 7946) if its numbers are in that range, else in the system of the grid.
    kinds : sequence of str
        Accepted types: Point, LineString, Polygon, including types of several parts (MultiPolygon ..).
    layer : str, optional
        Layer of a file with several layers.

    Raises
    ------
    InputError
        If a feature has another type, the file has no features, a coordinate system is not supported, or a library is
        missing.
    """
    held = layer_of(path, kinds, layer)
    points = np.concatenate([points_of(one.geometry["coordinates"]) for one in held.features])
    other_crs = system_to_leave(path, points, held.crs, held.may_guess, grid)
    if other_crs is None:
        return held.features
    from rasterio.warp import transform_geom

    geometries = transform_geom(other_crs, parse_crs(grid.crs), [dict(one.geometry) for one in held.features])
    return [one._replace(geometry=geometry) for one, geometry in zip(held.features, geometries, strict=True)]


def _read_with_library(path: Path, layer: str | None) -> tuple[list[Feature], str | None]:
    """Read the features of a file by pyogrio, and its coordinate system."""
    missing = [name for name in ("pyogrio", "shapely") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(
            f"{path}, without the library {missing[0]}", allowed="an installed library, or a .geojson file",
            fix="pip install 'eagre[vector]'", problem=f"The library {missing[0]} is not installed.",
        )  # fmt: skip
    shapely, pyogrio = importlib.import_module("shapely"), importlib.import_module("pyogrio")

    with reading(path):
        layers = [str(name) for name in pyogrio.list_layers(path)[:, 0]]
        if layer is not None:
            choose(layer, layers, "layer", 'layer = "{}"')
        elif len(layers) > 1:
            raise InputError(
                f"{path} with the layers {listing(layers)}",
                allowed="one",
                fix=f'layer = "{layers[0]}"',
                problem=f"The file {path} has several layers, and no layer is selected.",
            )
        about, ids, shapes, columns = pyogrio.raw.read(path, layer=layer, force_2d=True, return_fids=True)
        parsed = shapely.from_wkb(shapes)
    names = [str(name) for name in about["fields"]]
    features = []
    for index, shape in enumerate(parsed):
        properties = dict(zip(names, (column[index] for column in columns), strict=True))
        if shape is not None:
            features.append(Feature(_name_of(properties, ids[index]), shape.__geo_interface__, properties))
    return features, about["crs"]


def system_to_leave(path: Path | None, points: np.ndarray, crs: str | None, may_guess: bool, grid: Grid) -> Any:
    """Return the coordinate system from which points are transformed to the grid's; None if they are unchanged.

    Parameters
    ----------
    path : Path, optional
        The file, for errors.
    points : (n, 2) array
        Points of the file.
    crs : str, optional
        Coordinate system of the file. Default: the system of the grid.
    may_guess : bool
        Without `crs`: points in the range of longitude and latitude are degrees (RFC 7946).
    grid : Grid
        Without a coordinate system of the grid, points are unchanged, and degrees are an error.

    Raises
    ------
    InputError
        For an unsupported coordinate system, degrees and a grid without a coordinate system, or values out of range.
    """
    grid_crs = parse_crs(grid.crs)
    if crs is None and may_guess and grid_crs is not None and may_be_degrees(points):
        crs = LONGITUDE_LATITUDE
    if crs is None:
        return None
    other_crs = parse_crs(crs)
    if other_crs is None:
        raise InputError(
            f"{path} in {crs[:60]}",
            allowed="a coordinate system that GDAL supports",
            problem=f"The coordinate system of {path} is not supported.",
        )
    if grid_crs is None and other_crs.is_geographic:
        raise InputError(
            f"{path} in degrees",
            allowed="a grid with crs",
            fix=f'crs = "EPSG:32633" {WHERE}',
            problem=f"The coordinates of {path} are in degrees, and the coordinate system of the grid is unknown.",
        )
    if grid_crs is None or other_crs == grid_crs:
        return None
    check_degrees(other_crs, points, str(path))
    return other_crs


def may_be_degrees(points: np.ndarray) -> bool:
    """Return whether all points, (n, 2), can be longitudes and latitudes."""
    return bool((np.abs(points) <= (360.0, 90.0)).all())


def check_degrees(crs: Any, points: np.ndarray, name: str) -> None:
    """Raise `InputError` for points, (n, 2), out of the range of degrees, which are often swapped coordinates."""
    if crs.is_geographic and not may_be_degrees(points):
        x, y = points[int(np.argmax(~(np.abs(points) <= (360.0, 90.0)).all(1)))]
        got = f"{name}: longitude {x:.10g}, latitude {y:.10g}"
        raise InputError(
            got,
            allowed="longitude, then latitude, in degrees; latitudes from -90 to 90",
            problem=f"The coordinates of {name} are not longitude and latitude.",
        )


def points_of(coordinates: Any) -> np.ndarray:
    """Return all points of nested coordinates, (n, 2)."""
    if isinstance(coordinates[0], (int, float)):
        return np.array([coordinates[:2]], np.float64)
    return np.concatenate([points_of(one) for one in coordinates])


def zone_numbers(features: Sequence[Feature], grid: Grid) -> np.ndarray:
    """Return the polygon number at each cell centre, (ny, nx) int, row 0 = south; -1: none. Later polygons override."""
    from rasterio.features import rasterize
    from rasterio.transform import Affine

    zones = rasterize(
        [(one.geometry, number) for number, one in enumerate(features)],
        out_shape=grid.shape,
        transform=Affine(grid.dx, 0.0, grid.x0, 0.0, -grid.dy, grid.extent[3]),
        fill=-1,
        dtype=np.int32,
    )
    return np.ascontiguousarray(np.asarray(zones)[::-1])


Point = tuple[float, float]
COLUMNS = {
    **dict.fromkeys((("x", "y"), ("easting", "northing"))),
    **dict.fromkeys((("lon", "lat"), ("longitude", "latitude")), LONGITUDE_LATITUDE),
}
"""Pairs of columns of a table and their coordinate system."""


@dataclass(frozen=True)
class NamedLocations:
    """Points or lines by name, in the coordinates of a file or of the grid.

    Parameters
    ----------
    named : dict of str to list of (x, y)
        Points: one position each; lines: several.
    path : Path, optional
        The file; without it coordinates are in the coordinate system of the grid, m.
    crs : str, optional
        Coordinate system of the file.
    may_guess : bool
        Without `crs`: coordinates in the range of longitude and latitude are degrees (RFC 7946).
    """

    named: Mapping[str, Sequence[Any]]
    path: Path | None = None
    crs: str | None = None
    may_guess: bool = False

    def __len__(self) -> int:
        return len(self.named)

    def __iter__(self) -> Iterator[str]:
        return iter(self.named)

    def on(self, grid: Grid) -> dict[str, Sequence[Any]]:
        """Return the points or lines in the coordinates of a grid, m.

        Coordinates are unchanged if the coordinate system of the grid or of the file is unknown.

        Raises
        ------
        InputError
            For degrees and a grid without a coordinate system, an unsupported coordinate system, or a position that
            cannot be transformed.
        """
        points = np.array([point for one in self.named.values() for point in one] if self.path else [], np.float64)
        source_crs = system_to_leave(self.path, points, self.crs, self.may_guess, grid) if points.size else None
        if source_crs is None:
            return dict(self.named)
        x, y = reprojected(source_crs, parse_crs(grid.crs), points[:, 0], points[:, 1])
        there = zip(x.tolist(), y.tolist(), strict=True)
        identities: dict[str, Sequence[Any]] = {name: [next(there) for _ in one] for name, one in self.named.items()}
        for name, one in identities.items():
            if not np.isfinite(one).all():
                got = f"{self.path}: {name} at {list(self.named[name])!r}"
                raise InputError(
                    got,
                    allowed=f"positions that have coordinates in {(grid.crs or '')[:60]}",
                    problem=f"The position of {name} cannot be transformed to the coordinate system of the grid.",
                )
        return identities


def read_points(path: Path, layer: str | None = None, crs: str | None = None) -> NamedLocations:
    """Read points by name.

    Parameters
    ----------
    path : Path
        ``.csv``: a header with the columns name, x and y (or easting and northing), or name, lon and lat (degrees,
        WGS 84); other columns are ignored. Commas, semicolons or tabs separate columns, and decimal commas are valid
        unless commas separate columns. Or a file with features of the type Point that `read_features` reads,
        with a property "name" or an id.
    layer : str, optional
        Layer of a file with several layers.
    crs : str, optional
        Coordinate system of x and y; overrides the system of the file. Default for tables: the system of the grid.

    Raises
    ------
    InputError
        If the file has another content, or a name occurs twice.
    """
    rows, system, may_guess = _rows(path, "Point", layer)
    named: dict[str, list[Point]] = {}
    for name, points in rows:
        if name in named:
            raise InputError(
                f"{path}: {name!r} occurs twice",
                allowed="a unique name for each",
                problem=f"The name {name!r} occurs twice in {path}.",
            )
        named[name] = points
    return NamedLocations(named, path, crs or system, may_guess)


def read_lines(path: Path, layer: str | None = None, crs: str | None = None) -> NamedLocations:
    """Read lines by name: consecutive rows of one name in a table, or features of the type LineString.

    See `read_points`.
    """
    rows, system, may_guess = _rows(path, "LineString", layer)
    named: dict[str, list[Point]] = {}
    for name, points in rows:
        if name in named and not _is_table(path):
            raise InputError(
                f"{path}: {name!r} occurs twice",
                allowed="a unique name for each",
                problem=f"The name {name!r} occurs twice in {path}.",
            )
        named.setdefault(name, []).extend(points)
    return NamedLocations(named, path, crs or system, may_guess)


def _is_table(path: Path) -> bool:
    return path.suffix.lower() == ".csv"


def _rows(path: Path, kind: str, layer: str | None) -> tuple[list[tuple[str, list[Point]]], str | None, bool]:
    """Return names and positions, the coordinate system if the file declares one, and whether it may be guessed."""
    if _is_table(path):
        if layer is not None:
            raise InputError(
                f'layer = "{layer}" with {path}',
                allowed="layer for files that can hold several layers",
                problem="The key layer applies only to files that can hold several layers.",
            )
        rows, crs = _table(path)
        if not rows:
            raise InputError(
                f"{path} without a point", allowed="one or more points", problem=f"The file {path} has no points."
            )
        return rows, crs, False
    held = layer_of(path, (kind,), layer)
    identities = []
    for one in held.features:
        for number, (_, coordinates) in enumerate(one.simple_geometries(), 1):
            name = one.name if number == 1 else f"{one.name} ({number})"
            identities.append(
                (name, [_point(path, name, point) for point in ([coordinates] if kind == "Point" else coordinates)])
            )
    return identities, held.crs, held.may_guess


def _table(path: Path) -> tuple[list[tuple[str, list[Point]]], str | None]:
    """Return names and positions of a table, and the coordinate system of its columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        fix = f"iconv -f latin1 -t utf-8 {quote(str(path))} -o {quote(path.stem)}_utf8.csv"
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8",
            allowed="text in UTF-8",
            fix=fix,
            problem=f"The file {path} is not encoded in UTF-8.",
        ) from None
    delimiter = next((one for one in ";\t" if one in text.partition("\n")[0]), ",")
    with reading_rows(path):
        reader = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True, delimiter=delimiter)
        heads = [head.strip().casefold() for head in reader.fieldnames or ()]
        reader.fieldnames = heads
        held = [(reader.line_num, row) for row in reader]
    pair = next((pair for pair in COLUMNS if {"name", *pair} <= set(heads)), None)
    if pair is None:
        allowed = "name, x, y, or name, lon, lat"
        raise InputError(
            f"{path} with the columns {', '.join(heads)}",
            allowed=allowed,
            fix="name,x,y",
            problem=f"The table {path} has no columns of names and positions.",
        )
    point_for = "," if delimiter != "," else "."  # a decimal comma, where no comma parts the columns
    rows = []
    for number, row in held:
        line, name = f"line {number}", str(row["name"] or "").strip()
        _check_cells(row, f"{path}: {line}")
        if not name:
            raise InputError(
                f"{path}: {line} without a name",
                allowed="a unique name for each",
                problem=f"A point in {path} has no name.",
            )
        rows.append((name, [_point(path, line, [(row[key] or "").replace(point_for, ".") for key in pair])]))
    return rows, COLUMNS[pair]


def _check_cells(row: dict[Any, Any], where: str) -> None:
    """Raise `InputError` for a row with more values than the table has columns."""
    if any(row.get(None, ())):
        raise InputError(
            f"{where} with more values than columns",
            allowed="decimal points, or semicolons between values with decimal commas",
            problem="A row of the table has more values than columns.",
        )


def _point(path: Path, name: str, values: Any) -> Point:
    """Return the two coordinates of a position."""
    try:
        x, y = (float(value) for value in values[:2])
    except (TypeError, ValueError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise InputError(
            f"{path}: {name} at {values!r}",
            allowed="two finite numbers, x and y",
            problem=f"The position of {name} in {path} is not finite.",
        )
    return x, y
