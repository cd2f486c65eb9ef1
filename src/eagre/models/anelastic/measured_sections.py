"""Sections of a case file for what is measured on the way: profiles."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from eagre.config.sections import MeasuredSection
from eagre.config.values import Metres, NetcdfFile, PositiveSeconds

if TYPE_CHECKING:
    from eagre.io import ProfileWriter
    from eagre.models.anelastic.model import AnelasticFlow


class ProfilesSection(MeasuredSection):
    """Horizontally averaged profiles over time, in a NetCDF file."""

    at_start: ClassVar[bool] = False

    file: NetcdfFile = Field(
        description="a file name that ends in .nc, relative to the case file", examples=["profiles.nc"]
    )
    interval: PositiveSeconds = Field(description="the time that an average is taken over", examples=["10 min"])
    every: int = Field(default=10, description="steps between two samples of an average", ge=1, examples=[10])
    heights: list[Metres] | None = Field(
        default=None,
        description="where, metres over z = 0; without them the levels, over a hill those of flat ground",
        examples=[[10.0, 50.0, 100.0]],
    )

    @property
    def note(self) -> str:
        """What the file holds."""
        return f"averages over {self.interval:g} s of every {self.every} steps"

    def open(self, path: Path, model: AnelasticFlow, **options: Any) -> ProfileWriter:
        """The writer of what the model gathers."""
        from eagre.io import ProfileWriter

        gathered = model.gathered or model.averages(self.every, self.heights)
        return ProfileWriter(path, model, gathered, **options)
