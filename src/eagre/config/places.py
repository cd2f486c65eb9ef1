"""Named points and lines of a file in a case: gauges, and lines through which the discharge is summed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, PlainValidator, ValidationInfo

from eagre.config.section import Section, check
from eagre.config.terrain import Crs
from eagre.config.values import input_of
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
