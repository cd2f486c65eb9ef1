"""Named points and lines of a file: CSV with columns name, x, y, or GeoJSON."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eagre.errors import InputError
from eagre.io.vector import geojson_features

Point = tuple[float, float]


def read_points(path: Path) -> dict[str, Point]:
    """Points by name, m.

    Parameters
    ----------
    path : Path
        ``.csv``: a header with the columns name, x and y, among others; or GeoJSON features of the type Point, with a
        property "name", or else an id. Coordinates are those of the grid.

    Raises
    ------
    InputError
        If the file is no such, or a name stands twice; it says where.
    """
    if path.suffix.lower() == ".csv":
        rows = _csv_rows(path)
    else:
        rows = [(name, _point(path, name, own)) for name, own in _features(path, "Point")]
    return _by_name(path, rows)


def read_lines(path: Path) -> dict[str, list[Point]]:
    """Points of lines by name, m, from GeoJSON features of the type LineString; as `read_points`."""
    rows = []
    for name, own in _features(path, "LineString"):
        points = own if isinstance(own, list) else []
        rows.append((name, [_point(path, name, one) for one in points]))
    return _by_name(path, rows)


def _by_name(path: Path, rows: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, place in rows:
        if name in found:
            raise InputError(f"{path}: {name!r} stands twice", allowed="a name of its own for each")
        found[name] = place
    if not found:
        raise InputError(f"{path} without a place", allowed="one or more")
    return found


def _csv_rows(path: Path) -> list[tuple[str, Point]]:
    """Names and points of a table."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, skipinitialspace=True)
        heads = [head.strip() for head in reader.fieldnames or ()]
        reader.fieldnames = heads
        if not {"name", "x", "y"} <= set(heads):
            raise InputError(f"{path} with the columns {', '.join(heads)}", allowed="name, x, y", fix="name,x,y")
        return [(str(row["name"]), _point(path, f"line {reader.line_num}", [row["x"], row["y"]])) for row in reader]


def _features(path: Path, kind: str) -> list[tuple[str, Any]]:
    """Names and coordinates of the features of a type."""
    found = []
    for number, one in enumerate(geojson_features(path)[0], 1):
        if one.geometry["type"] != kind:
            got = f"{path}: feature {number} of the type {one.geometry['type']}"
            raise InputError(got, allowed=kind, fix="a file of its own for each type")
        found.append((one.name, one.geometry["coordinates"]))
    return found


def _point(path: Path, name: str, values: Any) -> Point:
    """Two numbers of a place."""
    try:
        x, y = (float(value) for value in values[:2])
    except (TypeError, ValueError):
        x = y = math.nan
    if not (math.isfinite(x) and math.isfinite(y)):
        raise InputError(f"{path}: {name} at {values!r}", allowed="two numbers, x and y in m")
    return x, y
