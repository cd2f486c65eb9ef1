"""Section [maps]: time statistics of all models; maxima, arrival times and durations of shallow water."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import model_validator

from eagre.config.problems import Problems, problem_of
from eagre.config.section import case_key
from eagre.config.sections import MeasuredSection
from eagre.config.values.types import (
    AveragedNames,
    FieldsFile,
    Metres,
    PositiveSeconds,
    Seconds,
    TwoNames,
    variable_names,
)
from eagre.errors import InputError

if TYPE_CHECKING:
    from eagre.io import MeasuredWriter
    from eagre.stepping.averages import TimeStatistics
    from eagre.stepping.maps import Maps


class AveragesSection(MeasuredSection):
    """Maps of time means, variances, covariances and extremes, in a NetCDF file or a Zarr store."""

    at_start: ClassVar[bool] = False
    usual: ClassVar[str] = "velocity"  # a field of all models with this section

    file: FieldsFile = case_key("file name with the suffix .nc or .zarr, relative to the case file", "maps.nc")
    interval: PositiveSeconds | None = case_key(  # type: ignore[assignment]
        "time between records, each cumulative from the start; default: one record at the end", "1 h", default=None
    )
    mean: AveragedNames = case_key("names of fields; velocity stands for its components", ["velocity"], default=[])
    variance: AveragedNames = case_key("names of fields", ["velocity"], default=[])
    covariance: list[TwoNames] = case_key("pairs of names of fields", [["velocity_x", "velocity_y"]], default=[])
    from_: Seconds | None = case_key(
        "start of time statistics; default: start of the run", "10 d", default=None, alias="from"
    )
    every: int = case_key(
        "sampling interval of means and variances in steps; extremes use every step", 10, default=1, ge=1
    )
    maximum: AveragedNames = case_key("names of fields: maximum at each point", ["speed"], default=[])
    minimum: AveragedNames = case_key("names of fields: minimum at each point", ["velocity_x"], default=[])
    time_of_maximum: AveragedNames = case_key("names of fields: first time of the maximum", ["speed"], default=[])

    @model_validator(mode="after")
    def _possible(self) -> AveragesSection:
        try:
            self.check()
        except InputError as error:
            word = error.what.partition(" ")[0]
            raise Problems(problem_of(error, (word,) if word in self.keys() else ())) from None
        return self

    def check(self) -> None:
        """Raise an error for inconsistent keys."""
        self.time_statistics()

    @property
    def note(self) -> str:
        """Description of the file for the summary."""
        requested = {
            "means of": self.mean, "variances of": self.variance,
            "covariances of": [*map(" and ".join, self.covariance)], "largest": self.maximum,
            "smallest": self.minimum, "times of the largest": self.time_of_maximum,
        }  # fmt: skip
        return "; ".join(f"{what} {', '.join(names)}" for what, names in requested.items() if names)

    @property
    def averages_any(self) -> bool:
        """True if a mean, variance, covariance or extreme is requested."""
        from eagre.stepping.averages import KINDS

        return any(getattr(self, key) for key in KINDS)

    def time_statistics(self, **options: Any) -> TimeStatistics | None:
        """Create the time statistics; `options`: further arguments of `TimeStatistics`."""
        from eagre.stepping.averages import KINDS, TimeStatistics

        if not self.averages_any:
            fix = f'mean = ["{self.usual}"]'
            raise InputError("no mean, variance, covariance or extreme", allowed="at least one", fix=fix)
        start = -math.inf if self.from_ is None else self.from_
        statistics = {key: getattr(self, key) for key in KINDS}
        return TimeStatistics(**statistics, start=start, every=self.every, **options)

    def open(self, path: Path, model: Any, **options: Any) -> MeasuredWriter:
        """Open the writer of the maps."""
        from eagre.io import MeasuredWriter

        return MeasuredWriter(path, model, model.maps, **options)


class MapsSection(AveragesSection):
    """Maps of maxima, arrival times, durations and time statistics, in a NetCDF file or a Zarr store."""

    variables: Annotated[list[str], variable_names("max_depth")] | None = case_key(
        "any of max_surface_elevation, max_depth, time_of_max_depth, max_speed, max_unit_discharge, "
        "max_hazard_rating and hazard_class; default: the first four, or none with time statistics",
        ["max_depth", "max_speed"],
        default=None,
    )
    arrival_depths: list[Metres] = case_key(
        "depths, metres: first time at which each is exceeded", ["1 cm", "30 cm"], default=[]
    )
    arrival_rises: list[Metres] = case_key(
        "rises of the surface, metres: first time at which each rise above the initial level is exceeded",
        ["10 cm"],
        default=[],
    )
    duration_depths: list[Metres] = case_key(
        "depths, metres: total duration for which each is exceeded", ["30 cm"], default=[]
    )
    wet_depth: Metres = case_key("depth up to which a cell counts as dry, metres", "1 cm", default=0.0)

    def check(self) -> None:
        """Raise an error for inconsistent keys."""
        self.make()
        self.time_statistics()

    @property
    def note(self) -> str:
        """Description of the file for the summary."""
        maps = self.make()
        names = ", ".join(one.name for one in maps.outputs) if maps is not None else ""
        return "; ".join(text for text in (names, super().note) if text)

    def make(self) -> Maps | None:
        """Create the maps other than time statistics; None without any."""
        from eagre.stepping.maps import Maps

        keys = ("variables", "arrival_depths", "arrival_rises", "duration_depths")
        arguments = self.model_dump(include={*keys, "wet_depth"}, exclude_none=True)
        if self.averages_any and self.variables is None:
            arguments["variables"] = []
            if not any(arguments[key] for key in keys):
                return None
        return Maps(**arguments)

    def time_statistics(self, **options: Any) -> TimeStatistics | None:
        """Create the time statistics; None without any. See `AveragesSection`."""
        requested = self.averages_any or self.from_ is not None or self.every > 1
        return super().time_statistics(**options) if requested else None
