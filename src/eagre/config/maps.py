"""The section [maps] of the models of water."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from eagre.config.sections import MeasuredSection
from eagre.config.values import FieldsFile, Metres, PositiveSeconds, VariableNames

if TYPE_CHECKING:
    from eagre.io import MeasuredWriter
    from eagre.stepping.maps import Maps


class MapsSection(MeasuredSection):
    """Maps of what was largest, when water came and how long it stayed, in a NetCDF file or a Zarr store."""

    at_start: ClassVar[bool] = False

    file: FieldsFile = Field(
        description="a file name that ends in .nc or .zarr, relative to the case file", examples=["maps.nc"]
    )
    interval: PositiveSeconds | None = Field(  # type: ignore[assignment]
        default=None, description="the time between records, each up to its time; without it the last", examples=["1 h"]
    )
    variables: VariableNames | None = Field(
        default=None,
        description="of max_surface_elevation, max_depth, time_of_max_depth, max_speed, max_unit_discharge, "
        "max_hazard_rating and hazard_class; the first four if not given",
        examples=[["max_depth", "max_speed"]],
    )
    arrival_depths: list[Metres] = Field(
        default=[], description="when the depth first is above each, metres", examples=[["1 cm", "30 cm"]]
    )
    arrival_rises: list[Metres] = Field(
        default=[],
        description="when the surface first is over that of the start by more than each, metres",
        examples=[["10 cm"]],
    )
    duration_depths: list[Metres] = Field(
        default=[], description="how long in all the depth is above each, metres", examples=[["30 cm"]]
    )
    wet_depth: Metres = Field(
        default=0.0, description="depth up to which water does not count, metres", examples=["1 cm"]
    )

    @model_validator(mode="after")
    def _possible(self) -> MapsSection:
        self.make()
        return self

    @property
    def note(self) -> str:
        """What the file holds."""
        return ", ".join(one.name for one in self.make().outputs)

    def make(self) -> Maps:
        """What the model is asked for."""
        from eagre.stepping.maps import Maps

        given = self.model_dump(exclude={"file", "interval"}, exclude_none=True)
        return Maps(**given)

    def open(self, path: Path, model: Any, **options: Any) -> MeasuredWriter:
        """The writer of what the model gathers."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.maps, **options)
