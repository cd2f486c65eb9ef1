"""The section [probes] of a case file: points under the surface at which the flow is written over time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.config.places import named, own_names
from eagre.config.problems import Key
from eagre.config.section import Section
from eagre.config.sections import MeasuredSection
from eagre.config.values import Metres, PositiveSeconds, SeriesOutputFile
from eagre.errors import InputError
from eagre.models.potential_waves.probe_group import LEVELS

if TYPE_CHECKING:
    from eagre.io import ProbeWriter
    from eagre.models.potential_waves.model import PotentialWaves


def _several(value: Any) -> Any:
    """One level as a list."""
    return value if isinstance(value, list) else [value]


Lengths = Annotated[list[Metres], BeforeValidator(_several), Field(min_length=1)]
Shares = Annotated[list[float], BeforeValidator(_several), Field(min_length=1)]


class ProbeSection(Section):
    """Probes at a place, or on a row or a plane of places; one of z, below and sigma says at which levels."""

    name: str = Field(description="its name in the file; unlike the others", min_length=1, examples=["pile"])
    x: Lengths = Field(description="place or places, metres; between points the flow is interpolated", examples=[12.0])
    y: Lengths = Field(
        default=[0.0], description="place or places, metres: probes stand at every x and y", examples=[0.0]
    )
    z: Lengths | None = Field(
        default=None, description="fixed level or levels, metres above still water", examples=[[-0.3, -0.2, 0.0]]
    )
    below: Lengths | None = Field(
        default=None, description="in place of z: metres under the surface, wherever that is", examples=[0.1]
    )
    sigma: Shares | None = Field(
        default=None, description="in place of z: share of the depth, 0 at the bed, 1 at the surface", examples=[0.5]
    )

    @model_validator(mode="after")
    def _one_level(self) -> ProbeSection:
        given = [name for name in LEVELS if getattr(self, name) is not None]
        if len(given) != 1:
            raise InputError(" and ".join(given) or "no level", allowed="one of z, below and sigma", fix="z = -0.1")
        return self


Points = Annotated[list[ProbeSection], named(ProbeSection, {"x": 12.0, "z": [-0.2, -0.1]}), AfterValidator(own_names)]


class ProbesSection(MeasuredSection):
    """Velocity, acceleration and pressure under the surface over time, in a NetCDF or CSV file."""

    culprit: ClassVar[Key] = ("points",)

    file: SeriesOutputFile = Field(
        description="a file name that ends in .nc or .csv, relative to the case file", examples=["probes.nc"]
    )
    interval: PositiveSeconds = Field(description="the time between records", examples=["0.1 s"])
    points: Points = Field(
        description="tables by name, or the sections [[probes.points]]", min_length=1,
        examples=[[{"name": "pile", "x": 12.0, "z": [-0.2, -0.1]}]],
    )  # fmt: skip

    @property
    def note(self) -> str:
        """What the file holds."""
        return "velocity, acceleration and pressure"

    def open(self, path: Path, model: PotentialWaves, **options: Any) -> ProbeWriter:
        """The writer of a model's probes."""
        from eagre.io import ProbeWriter

        group = model.probe_group({one.name: one.model_dump(exclude={"name"}) for one in self.points})
        return ProbeWriter(path, model, group, **options)
