"""Named locations in a case: gauges, probes and cross sections, also read from files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainValidator, ValidationInfo

from eagre.config.problems import read_each
from eagre.config.section import Section, case_key, check
from eagre.config.toml import literal
from eagre.config.values.types import input_of
from eagre.config.water.terrain import Crs
from eagre.errors import InputError
from eagre.io.vectors.named_locations import NamedLocations
from eagre.io.vectors.vector import SUFFIXES


def _file(value: Any, info: ValidationInfo) -> Path:
    return input_of(value, info, ".csv", *SUFFIXES)


class PlacesFile(Section):
    """Named points or lines of a file, transformed to the coordinate system of the grid.

    A file name alone, as in `points = "gauges.csv"`, has the same effect as `points = { file = "gauges.csv" }`.
    """

    file: Annotated[Path, PlainValidator(_file)] = case_key(
        ".csv (name, x, y, or easting, northing, or lon, lat; rows of a name form a line), .geojson, or "
        ".gpkg, .shp, .fgb (eagre[vector])",
        "gauges.csv",
    )
    layer: str | None = case_key("layer of a file with several layers", default=None)
    crs: Crs | None = case_key("coordinate system; overrides the system of the file", default=None)


def locations_of_file(value: Any, info: ValidationInfo, read: Callable[..., NamedLocations]) -> NamedLocations | None:
    """Read a file name or a table with a file by `read`; return None for other values."""
    if isinstance(value, dict) and isinstance(value.get("file"), str):
        section = check(PlacesFile, value, info.context)
        return read(section.file, section.layer, section.crs)
    return read(_file(value, info)) if isinstance(value, str) else None


def named(section: type[Section], example: dict[str, Any]) -> BeforeValidator:
    """Return a validator that accepts a table of named tables as a list; `example` is one table without name."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value

        def one(name: str, table: Any) -> Section:
            if not isinstance(table, dict) or "name" in table:
                got, fix = f"{name} = {literal(table)}", f"{name} = {literal(example)}"
                raise InputError(got, allowed="tables by name, or [[points]] with the key name", fix=fix)
            return check(section, {"name": name, **table}, info.context)

        return read_each(value.items(), one)

    return BeforeValidator(read)


def check_unique_names(locations: list[Any]) -> list[Any]:
    """Raise an error if two locations have the same name."""
    names = [one.name for one in locations]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two called {name!r}", allowed="unique names", fix=f'name = "{name} 2"')
    return locations
