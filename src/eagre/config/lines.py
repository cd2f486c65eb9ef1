"""The section [cross_sections] of the models of water."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, PlainValidator, ValidationInfo

from eagre.config.places import places_of_file
from eagre.config.problems import Key
from eagre.config.sections import MeasuredSection
from eagre.config.toml import literal
from eagre.config.values import PositiveSeconds, SeriesOutputFile
from eagre.errors import InputError
from eagre.io.named_places import Places, read_lines

if TYPE_CHECKING:
    from eagre.io import ProbeWriter


def _paths(value: Any, info: ValidationInfo) -> Places:
    found = places_of_file(value, info, read_lines)
    if found is not None:
        return found
    if not isinstance(value, dict) or not value:
        got = f"paths = {literal(value)}"
        raise InputError(got, allowed="a table of lines", fix="paths = {weir = [[100.0, 0.0], [100.0, 250.0]]}")
    return Places(value)


class CrossSectionsSection(MeasuredSection):
    """Discharge through lines over time, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("paths",)

    file: SeriesOutputFile = Field(
        description="a file name that ends in .nc or .csv, relative to the case file", examples=["cross_sections.nc"]
    )
    interval: PositiveSeconds = Field(
        description="the time between records, over which discharges are means", examples=["1 min"]
    )
    paths: Annotated[Places, PlainValidator(_paths)] = Field(
        description="a table of name = [[x, y], [x, y], ..], metres, or a file of lines; positive is to the right",
        examples=[{"weir": [[100.0, 0.0], [100.0, 250.0]]}],
    )

    @property
    def note(self) -> str:
        """What the file holds."""
        return f"{', '.join(self.paths)} every {self.interval:g} s"

    def open(self, path: Path, model: Any, **options: Any) -> ProbeWriter:
        """The writer of the discharges of a model's lines."""
        from eagre.io import ProbeWriter

        return ProbeWriter(path, model, model.cross_sections, what="cross-section", **options)
