"""Named places in a case: gauges, probes, and lines through which the discharge is summed, of a file too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainValidator, ValidationInfo

from eagre.config.problems import read_each
from eagre.config.section import Section, check
from eagre.config.terrain import Crs
from eagre.config.toml import literal
from eagre.config.values import input_of
from eagre.errors import InputError
from eagre.io.named_places import Places
from eagre.io.vector import SUFFIXES


def _file(value: Any, info: ValidationInfo) -> Path:
    return input_of(value, info, ".csv", *SUFFIXES)


class PlacesFile(Section):
    """Named points or lines of a file, warped to the grid's coordinate system; the name of a file alone will do."""

    file: Annotated[Path, PlainValidator(_file)] = Field(
        description=".csv (name, x, y, or easting, northing, or lon, lat; rows of one name are a line), .geojson, or "
        ".gpkg, .shp, .fgb with eagre[vector]",
        examples=["gauges.csv"],
    )
    layer: str | None = Field(default=None, description="the layer of a file that holds several")
    crs: Crs | None = Field(default=None, description="coordinate system, in place of what the file says")


def places_of_file(value: Any, info: ValidationInfo, read: Callable[..., Places]) -> Places | None:
    """What the name of a file or the table of one gives, read by `read`; None for anything else."""
    if isinstance(value, dict) and isinstance(value.get("file"), str):
        section = check(PlacesFile, value, info.context)
        return read(section.file, section.layer, section.crs)
    return read(_file(value, info)) if isinstance(value, str) else None


def named(section: type[Section], example: dict[str, Any]) -> BeforeValidator:
    """What also takes a table by name for a list of tables that have a name; `example` is one, without its name."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value

        def one(name: str, table: Any) -> Section:
            if not isinstance(table, dict) or "name" in table:
                got, fix = f"{name} = {literal(table)}", f"{name} = {literal(example)}"
                raise InputError(got, allowed="tables by their names, or [[points]] with a name", fix=fix)
            return check(section, {"name": name, **table}, info.context)

        return read_each(value.items(), one)

    return BeforeValidator(read)


def own_names(places: list[Any]) -> list[Any]:
    """Refuse two places of one name."""
    names = [one.name for one in places]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two called {name!r}", allowed="a name of its own for each", fix=f'name = "{name} 2"')
    return places
