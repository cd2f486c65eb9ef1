"""Points, lines and polygons of a file, in the coordinate system of a grid.

GeoJSON needs no library; other formats (GeoPackage, Shapefile, FlatGeobuf) are read by pyogrio.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.files import choose, listing, reading
from eagre.io.rasters.raster import WHERE, parse_crs

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
