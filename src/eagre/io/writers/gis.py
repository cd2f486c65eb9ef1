"""Files for a GIS: maps as Cloud-Optimised GeoTIFF, written by rasterio, and outlines of areas as GeoJSON (RFC 7946).

Outlines are polygons in longitude and latitude of WGS 84 (CRS84).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.io.files import writing
from eagre.io.records.output_paths import Growing

TILE = 512
"""Side of a tile, pixels; rasters larger than it get overviews, each with half the pixels along x and y."""
DIGITS = 7
"""Decimal digits of degrees: 1 cm."""
LONGEST_EDGE = 1000.0
"""Maximum length of a straight edge, m; in degrees its chord deviates by 3 cm at 60 degrees north."""

Ring = list[tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Band:
    """One band of a GeoTIFF.

    Parameters
    ----------
    values : (ny, nx) array
        Row 0 = south; NaN where there is no value.
    description : str
        Name of the band in a GIS.
    units : str
        UDUNITS string.
    tags : mapping
        Additional metadata of the band.
    """

    values: np.ndarray
    description: str
    units: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Frame:
    """Position and size of the cells of a map.

    Parameters
    ----------
    x0, y0 : float
        South-west edge, m.
    dx, dy : float
        Cell size, m.
    crs : rasterio.crs.CRS or None
    """

    x0: float
    y0: float
    dx: float
    dy: float
    crs: Any = None

    @classmethod
    def from_centres(cls, x: np.ndarray, y: np.ndarray, crs: Any = None) -> Frame:
        """Return the frame of cells with evenly spaced, increasing centres; cells of a single row or column are square.

        Raises
        ------
        InputError
            If there is only one cell.
        """
        steps = [float(axis[-1] - axis[0]) / (axis.size - 1) if axis.size > 1 else 0.0 for axis in (x, y)]
        if not any(steps):
            raise InputError(
                "a map of one cell",
                allowed="two or more cells",
                problem="The cell size is unknown, because the map has only one cell.",
            )
        dx, dy = steps[0] or steps[1], steps[1] or steps[0]
        return cls(float(x[0]) - 0.5 * dx, float(y[0]) - 0.5 * dy, dx, dy, crs)

    def transform(self, rows: int) -> Any:
        """Return the rasterio transform of an array of `rows` rows from north to south."""
        from rasterio.transform import Affine

        return Affine(self.dx, 0.0, self.x0, 0.0, -self.dy, self.y0 + rows * self.dy)


def write_geotiff(
    path: Path,
    frame: Frame,
    shape: tuple[int, int],
    bands: Iterable[Band],
    count: int,
    *,
    tags: Mapping[str, str] | None = None,
    classes: bool = False,
) -> None:
    """Write compressed single-precision bands with nodata NaN and overviews; an incomplete file is never left behind.

    Parameters
    ----------
    path : Path
        Path that `eagre.io.files.output_file` has checked; an existing file is replaced at the end.
    frame : Frame
    shape : (ny, nx)
    bands : iterable of Band
        `count` bands.
    tags : mapping, optional
        Metadata of the file.
    classes : bool
        Overviews show one of the pixels below, not their mean: for class numbers.

    Raises
    ------
    WriteError
        If the disk is full.
    """
    import rasterio

    ny, nx = shape
    output = Growing(path, there=False)
    options: dict[str, Any] = {
        "driver": "COG",
        "height": ny,
        "width": nx,
        "count": count,
        "dtype": "float32",
        "nodata": np.nan,
        "crs": frame.crs,
        "transform": frame.transform(ny),
        "compress": "deflate",
        "predictor": "yes",
        "blocksize": TILE,
        "overview_resampling": "nearest" if classes else "average",
        "bigtiff": "if_safer",
    }
    try:
        with writing(path, safe="an existing file is unchanged", fix="free disk space"):
            with _gdal_errors(), rasterio.open(output.current_path, "w", **options) as file:
                file.update_tags(AREA_OR_POINT="Area", **(tags or {}))
                for number, band in enumerate(bands, 1):
                    file.write(np.ascontiguousarray(band.values[::-1], np.float32), number)
                    file.set_band_description(number, band.description)
                    file.set_band_unit(number, band.units)
                    file.update_tags(number, **band.tags)
            output.take_name()
    finally:
        output.discard()


@contextmanager
def _gdal_errors() -> Iterator[None]:
    """Convert errors of rasterio about failed writes of GDAL to `OSError`."""
    from rasterio._err import CPLE_BaseError

    try:
        yield
    except (CPLE_BaseError, SystemError) as error:
        text = str(error) if isinstance(error, CPLE_BaseError) else "no reason given"
        raise OSError(f"GDAL stopped ({text}): a full disk, a quota or a folder that cannot be written") from error


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
