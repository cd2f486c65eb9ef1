"""The section [maps]: averages and extremes of all models; largest, soonest and longest of those of shallow water."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field, model_validator

from eagre.config.problems import Problems, problem_of
from eagre.config.sections import MeasuredSection
from eagre.config.values import AveragedNames, FieldsFile, Metres, PositiveSeconds, Seconds, TwoNames, variable_names
from eagre.errors import InputError

if TYPE_CHECKING:
    from eagre.io import MeasuredWriter
    from eagre.stepping.averages import TimeStatistics
    from eagre.stepping.maps import Maps


class AveragesSection(MeasuredSection):
    """Maps of means, variances, covariances and extremes over time, in a NetCDF file or a Zarr store."""

    at_start: ClassVar[bool] = False
    usual: ClassVar[str] = "velocity"  # a field that all models with this section have

    file: FieldsFile = Field(
        description="a file name that ends in .nc or .zarr, relative to the case file", examples=["maps.nc"]
    )
    interval: PositiveSeconds | None = Field(  # type: ignore[assignment]
        default=None, description="the time between records, each up to its time; without it the last", examples=["1 h"]
    )
    mean: AveragedNames = Field(
        default=[], description="names of fields; velocity is its components", examples=[["velocity"]]
    )
    variance: AveragedNames = Field(default=[], description="names of fields", examples=[["velocity"]])
    covariance: list[TwoNames] = Field(
        default=[], description="pairs of names of fields", examples=[[["velocity_x", "velocity_y"]]]
    )
    from_: Seconds | None = Field(
        default=None, alias="from", description="when averages begin; at the start if not given", examples=["10 d"]
    )
    every: int = Field(
        default=1,
        description="steps from one state that averages count to the next; extremes count all",
        ge=1,
        examples=[10],
    )
    maximum: AveragedNames = Field(
        default=[], description="names of fields whose largest value at each place is wanted", examples=[["speed"]]
    )
    minimum: AveragedNames = Field(default=[], description="the smallest likewise", examples=[["velocity_x"]])
    time_of_maximum: AveragedNames = Field(
        default=[], description="names of fields: when the largest value came first", examples=[["speed"]]
    )

    @model_validator(mode="after")
    def _possible(self) -> AveragesSection:
        try:
            self.check()
        except InputError as error:
            word = error.what.partition(" ")[0]
            raise Problems(problem_of(error, (word,) if word in self.keys() else ())) from None
        return self

    def check(self) -> None:
        """Refuse what nothing can be made of."""
        self.time_statistics()

    @property
    def note(self) -> str:
        """What the file holds."""
        asked = {
            "means of": self.mean, "variances of": self.variance,
            "covariances of": [*map(" and ".join, self.covariance)], "largest": self.maximum,
            "smallest": self.minimum, "times of the largest": self.time_of_maximum,
        }  # fmt: skip
        return "; ".join(f"{what} {', '.join(names)}" for what, names in asked.items() if names)

    @property
    def averages_any(self) -> bool:
        """Whether there is a mean, a variance, a covariance or an extreme."""
        from eagre.stepping.averages import KINDS

        return any(getattr(self, key) for key in KINDS)

    def time_statistics(self, **options: Any) -> TimeStatistics | None:
        """The averages that the model is asked for; `options` : more arguments of `TimeStatistics`."""
        from eagre.stepping.averages import KINDS, TimeStatistics

        if not self.averages_any:
            fix = f'mean = ["{self.usual}"]'
            raise InputError("no mean, variance, covariance or extreme", allowed="one", fix=fix)
        start = -math.inf if self.from_ is None else self.from_
        given = {key: getattr(self, key) for key in KINDS}
        return TimeStatistics(**given, start=start, every=self.every, **options)

    def open(self, path: Path, model: Any, **options: Any) -> MeasuredWriter:
        """The writer of what the model gathers."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.maps, **options)


class MapsSection(AveragesSection):
    """Maps of what was largest, soonest and longest, averages and extremes over time, in NetCDF or a Zarr store."""

    variables: Annotated[list[str], variable_names("max_depth")] | None = Field(
        default=None,
        description="of max_surface_elevation, max_depth, time_of_max_depth, max_speed, max_unit_discharge, "
        "max_hazard_rating and hazard_class; the first four if not given, unless averages or extremes are asked for",
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

    def check(self) -> None:
        """Refuse what nothing can be made of."""
        self.make()
        self.time_statistics()

    @property
    def note(self) -> str:
        """What the file holds."""
        maps = self.make()
        names = ", ".join(one.name for one in maps.outputs) if maps is not None else ""
        return "; ".join(text for text in (names, super().note) if text)

    def make(self) -> Maps | None:
        """What the model is asked for beside averages."""
        from eagre.stepping.maps import Maps

        keys = ("variables", "arrival_depths", "arrival_rises", "duration_depths")
        given = self.model_dump(include={*keys, "wet_depth"}, exclude_none=True)
        if self.averages_any and self.variables is None:
            given["variables"] = []
            if not any(given[key] for key in keys):
                return None
        return Maps(**given)

    def time_statistics(self, **options: Any) -> TimeStatistics | None:
        """As of `AveragesSection`, if any are asked for."""
        wanted = self.averages_any or self.from_ is not None or self.every > 1
        return super().time_statistics(**options) if wanted else None
