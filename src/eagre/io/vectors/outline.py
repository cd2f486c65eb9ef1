"""Outlines of areas as GeoJSON (RFC 7946): polygons in longitude and latitude of WGS 84 (CRS84)."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.io.files import writing
from eagre.io.rasters.cog import Frame
from eagre.io.records.output_paths import Growing

DIGITS = 7
"""Decimal digits of degrees: 1 cm."""
LONGEST_EDGE = 1000.0
"""Maximum length of a straight edge, m; in degrees its chord deviates by 3 cm at 60 degrees north."""

Ring = list[tuple[float, float]]


def outline(inside: np.ndarray, frame: Frame, properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outline of an area as a MultiPolygon along the edges of cells.

    Parameters
    ----------
    inside : (ny, nx) array of bool
        Row 0 = south. Cells that share only a corner are separate polygons.
    frame : Frame
        Frame with a coordinate system.
    properties : mapping
        Properties of the feature.

    Returns
    -------
    dict
        A GeoJSON Feature. Outer rings are anticlockwise, holes clockwise (section 3.1.6); polygons are split
        at the antimeridian (3.1.9). Without cells the geometry has no polygon.

    Raises
    ------
    InputError
        If the coordinate system is unknown.
    """
    from rasterio.features import shapes
    from rasterio.warp import transform_geom

    if frame.crs is None:
        raise InputError(
            "a map without a coordinate system",
            allowed="a map with a coordinate system, because GeoJSON holds longitude and latitude",
            fix='--crs EPSG:CODE, or crs = "EPSG:CODE" in the [grid] of the case',
            problem="The coordinate system of the map is unknown.",
        )
    cells = np.ascontiguousarray(inside[::-1], np.uint8)
    outlines = shapes(cells, mask=cells.astype(bool), connectivity=4, transform=frame.transform(cells.shape[0]))
    polygons: list[list[Ring]] = []
    for shape, _ in outlines:
        dense = {"type": "Polygon", "coordinates": [_densified(ring) for ring in shape["coordinates"]]}
        degrees = transform_geom(frame.crs, "OGC:CRS84", dense)
        polygon_list = degrees["coordinates"] if degrees["type"] == "MultiPolygon" else [degrees["coordinates"]]
        polygons += [
            [_oriented(ring, hole=number > 0) for number, ring in enumerate(polygon)] for polygon in polygon_list
        ]
    geometry = {"type": "MultiPolygon", "coordinates": polygons}
    return {"type": "Feature", "properties": dict(properties), "geometry": geometry}


def write_geojson(path: Path, features: Sequence[Mapping[str, Any]]) -> None:
    """Write features as one collection; an incomplete file is never left behind.

    Raises
    ------
    WriteError
        If the disk is full.
    """
    output = Growing(path, there=False)
    try:
        with writing(path, safe="an existing file is unchanged", fix="free disk space"):
            with output.current_path.open("w", encoding="utf-8") as file:
                json.dump({"type": "FeatureCollection", "features": list(features)}, file, separators=(",", ":"))
                file.write("\n")
            output.take_name()
    finally:
        output.discard()


def _densified(ring: Iterable[tuple[float, float]]) -> Ring:
    """Return a closed line with points on its edges, at most `LONGEST_EDGE` apart."""
    corners = list(ring)
    points: Ring = []
    for (x, y), (x_next, y_next) in itertools.pairwise(corners):
        count = max(1, int(np.ceil(np.hypot(x_next - x, y_next - y) / LONGEST_EDGE)))
        points += [(x + (x_next - x) * n / count, y + (y_next - y) * n / count) for n in range(count)]
    return [*points, corners[-1]]


def _oriented(ring: Sequence[Sequence[float]], hole: bool) -> Ring:
    """Return a closed line with rounded coordinates: anticlockwise, or clockwise around a hole."""
    points = [(round(point[0], DIGITS), round(point[1], DIGITS)) for point in ring]
    x, y = np.asarray(points).T
    area = float(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]))
    return points[::-1] if (area < 0) != hole else points
