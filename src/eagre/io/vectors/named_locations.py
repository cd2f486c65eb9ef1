"""Named points and lines from files: CSV, GeoJSON, GeoPackage and other vector formats."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.rasters.lattice import reprojected
from eagre.io.rasters.raster import parse_crs
from eagre.io.tables.table import reading_rows
from eagre.io.vectors.vector import LONGITUDE_LATITUDE, layer_of, system_to_leave

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
        unless commas separate columns. Or a file with features of the type Point that `vector.read_features` reads,
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
        if not name:
            raise InputError(
                f"{path}: {line} without a name",
                allowed="a unique name for each",
                problem=f"A point in {path} has no name.",
            )
        rows.append((name, [_point(path, line, [(row[key] or "").replace(point_for, ".") for key in pair])]))
    return rows, COLUMNS[pair]


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
