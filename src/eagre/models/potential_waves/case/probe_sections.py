"""The section [probes] of a case file: time series of the flow at points below the surface."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.config.named_locations import check_unique_names, named
from eagre.config.problems import Key
from eagre.config.section import Section
from eagre.config.sections import MeasuredSection
from eagre.config.values.types import Metres, PositiveSeconds, SeriesOutputFile
from eagre.errors import InputError
from eagre.models.potential_waves.sampling.probe_group import LEVELS

if TYPE_CHECKING:
    from eagre.io import ProbeWriter
    from eagre.models.potential_waves.model import PotentialWaves


def _several(value: Any) -> Any:
    """Return a single value as a list."""
    return value if isinstance(value, list) else [value]


Lengths = Annotated[list[Metres], BeforeValidator(_several), Field(min_length=1)]
Shares = Annotated[list[float], BeforeValidator(_several), Field(min_length=1)]


class ProbeSection(Section):
    """Probes at a point, or on a row or plane of points, at levels given by one of z, below and sigma."""

    name: str = Field(description="name of the probe in the file; unique", min_length=1, examples=["pile"])
    x: Lengths = Field(
        description="x coordinate or coordinates, metres; the flow is interpolated between grid points", examples=[12.0]
    )
    y: Lengths = Field(
        default=[0.0],
        description="y coordinate or coordinates, metres; probes at every combination of x and y",
        examples=[0.0],
    )
    z: Lengths | None = Field(
        default=None, description="fixed height or heights, metres above still water", examples=[[-0.3, -0.2, 0.0]]
    )
    below: Lengths | None = Field(
        default=None, description="instead of z: depth or depths below the moving surface, metres", examples=[0.1]
    )
    sigma: Shares | None = Field(
        default=None, description="instead of z: relative height, 0 at the bed, 1 at the surface", examples=[0.5]
    )

    @model_validator(mode="after")
    def _one_level(self) -> ProbeSection:
        levels = [name for name in LEVELS if getattr(self, name) is not None]
        if len(levels) != 1:
            raise InputError(
                " and ".join(levels) or "no level", allowed="exactly one of z, below and sigma", fix="z = -0.1"
            )
        return self


Points = Annotated[
    list[ProbeSection], named(ProbeSection, {"x": 12.0, "z": [-0.2, -0.1]}), AfterValidator(check_unique_names)
]


class ProbesSection(MeasuredSection):
    """Time series of velocity, acceleration and pressure below the surface, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("points",)

    file: SeriesOutputFile = Field(
        description="file name ending in .nc or .csv, relative to the case file", examples=["probes.nc"]
    )
    interval: PositiveSeconds = Field(description="time between records", examples=["0.1 s"])
    points: Points = Field(
        description="probes as tables by name, or the sections [[probes.points]]", min_length=1,
        examples=[[{"name": "pile", "x": 12.0, "z": [-0.2, -0.1]}]],
    )  # fmt: skip

    @property
    def note(self) -> str:
        """Quantities in the file, for the run summary."""
        return "velocity, acceleration and pressure"

    def open(self, path: Path, model: PotentialWaves, **options: Any) -> ProbeWriter:
        """Return the writer of the probes of a model."""
        from eagre.io import ProbeWriter

        group = model.probe_group({one.name: one.model_dump(exclude={"name"}) for one in self.points})
        return ProbeWriter(path, model, group, **options)
