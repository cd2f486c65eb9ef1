"""The section [cross_sections] of the models of water."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, ValidationInfo

from eagre.config.named_locations import locations_of_file
from eagre.config.problems import Key
from eagre.config.sections import MeasuredSection
from eagre.config.toml import literal
from eagre.config.values.types import PositiveSeconds, SeriesOutputFile
from eagre.errors import InputError
from eagre.io.vectors.named_locations import NamedLocations, read_lines

if TYPE_CHECKING:
    from eagre.io import ProbeWriter


def _paths(value: Any, info: ValidationInfo) -> NamedLocations:
    locations = locations_of_file(value, info, read_lines)
    if locations is not None:
        return locations
    if not isinstance(value, dict) or not value:
        got = f"paths = {literal(value)}"
        raise InputError(
            got, allowed="a table of cross sections", fix="paths = {weir = [[100.0, 0.0], [100.0, 250.0]]}"
        )
    return NamedLocations(value)


class CrossSectionsSection(MeasuredSection):
    """Time series of the discharge through cross sections, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("paths",)

    file: SeriesOutputFile = Field(
        description="file name with the suffix .nc or .csv, relative to the case file", examples=["cross_sections.nc"]
    )
    interval: PositiveSeconds = Field(
        description="time between records; discharges are means over this time", examples=["1 min"]
    )
    paths: Annotated[NamedLocations, PlainValidator(_paths)] = Field(
        description="table of name = [[x, y], [x, y], ..], metres, or a file of lines; positive to the right",
        examples=[{"weir": [[100.0, 0.0], [100.0, 250.0]]}],
    )

    @property
    def note(self) -> str:
        """Description of the file for the summary."""
        return f"{', '.join(self.paths)} every {self.interval:g} s"

    def open(self, path: Path, model: Any, **options: Any) -> ProbeWriter:
        """Open the writer of the discharges."""
        from eagre.io import ProbeWriter

        return ProbeWriter(path, model, model.cross_sections, what="cross-section", **options)
