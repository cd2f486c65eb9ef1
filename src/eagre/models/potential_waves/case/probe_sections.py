"""The section [probes] of a case file: time series of the flow at points below the surface."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from eagre.config.problems import Key
from eagre.config.section import Section, case_key
from eagre.config.sections import MeasuredSection, check_unique_names, named
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

    name: str = case_key("name of the probe in the file; unique", "pile", min_length=1)
    x: Lengths = case_key("x coordinate or coordinates, metres; the flow is interpolated between grid points", 12.0)
    y: Lengths = case_key(
        "y coordinate or coordinates, metres; probes at every combination of x and y", 0.0, default=[0.0]
    )
    z: Lengths | None = case_key("fixed height or heights, metres above still water", [-0.3, -0.2, 0.0], default=None)
    below: Lengths | None = case_key(
        "instead of z: depth or depths below the moving surface, metres", 0.1, default=None
    )
    sigma: Shares | None = case_key("instead of z: relative height, 0 at the bed, 1 at the surface", 0.5, default=None)

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

    file: SeriesOutputFile = case_key("file name ending in .nc or .csv, relative to the case file", "probes.nc")
    interval: PositiveSeconds = case_key("time between records", "0.1 s")
    points: Points = case_key(
        "probes as tables by name, or the sections [[probes.points]]",
        [{"name": "pile", "x": 12.0, "z": [-0.2, -0.1]}],
        min_length=1,
    )

    @property
    def note(self) -> str:
        """Quantities in the file, for the run summary."""
        return "velocity, acceleration and pressure"

    def open(self, path: Path, model: PotentialWaves, **options: Any) -> ProbeWriter:
        """Return the writer of the probes of a model."""
        from eagre.io import ProbeWriter

        group = model.probe_group({one.name: one.model_dump(exclude={"name"}) for one in self.points})
        return ProbeWriter(path, model, group, **options)
