"""Sections of the case files of all models: [run], [output], [gauges], [restart], [maps]; named locations."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, PlainValidator, ValidationInfo, model_validator

from eagre.config.problems import Key, Problems, problem_of, read_each
from eagre.config.section import Section, case_key, check
from eagre.config.toml import literal
from eagre.config.values.types import (
    AveragedNames,
    DeviceName,
    Extent,
    FieldsFile,
    InputFile,
    Metres,
    NetcdfFile,
    PositiveSeconds,
    Precision,
    Seconds,
    SeriesOutputFile,
    TwoNames,
    VariableNames,
    input_of,
    variable_names,
)
from eagre.config.values.units import is_quantity
from eagre.config.water.terrain import Crs
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.vectors import SUFFIXES, NamedLocations, read_points

if TYPE_CHECKING:
    from eagre.io import MeasuredWriter
    from eagre.stepping.averages import TimeStatistics
    from eagre.stepping.maps import Maps


def _file(value: Any, info: ValidationInfo) -> Path:
    return input_of(value, info, ".csv", *SUFFIXES)


class PlacesFile(Section):
    """Named points or lines of a file, transformed to the coordinate system of the grid.

    A file name alone, as in `points = "gauges.csv"`, has the same effect as `points = { file = "gauges.csv" }`.
    """

    file: Annotated[Path, PlainValidator(_file)] = case_key(
        ".csv (name, x, y, or easting, northing, or lon, lat; rows of a name form a line), .geojson, or "
        ".gpkg, .shp, .fgb (eagre[vector])",
        "gauges.csv",
    )
    layer: str | None = case_key("layer of a file with several layers", default=None)
    crs: Crs | None = case_key("coordinate system; overrides the system of the file", default=None)


def locations_of_file(value: Any, info: ValidationInfo, read: Callable[..., NamedLocations]) -> NamedLocations | None:
    """Read a file name or a table with a file by `read`; return None for other values."""
    if isinstance(value, dict) and isinstance(value.get("file"), str):
        section = check(PlacesFile, value, info.context)
        return read(section.file, section.layer, section.crs)
    return read(_file(value, info)) if isinstance(value, str) else None


def named(section: type[Section], example: dict[str, Any]) -> BeforeValidator:
    """Return a validator that accepts a table of named tables as a list; `example` is one table without name."""

    def read(value: Any, info: ValidationInfo) -> Any:
        if not isinstance(value, dict):
            return value

        def one(name: str, table: Any) -> Section:
            if not isinstance(table, dict) or "name" in table:
                got, fix = f"{name} = {literal(table)}", f"{name} = {literal(example)}"
                raise InputError(got, allowed="tables by name, or [[points]] with the key name", fix=fix)
            return check(section, {"name": name, **table}, info.context)

        return read_each(value.items(), one)

    return BeforeValidator(read)


def check_unique_names(locations: list[Any]) -> list[Any]:
    """Raise an error if two locations have the same name."""
    names = [one.name for one in locations]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"two called {name!r}", allowed="unique names", fix=f'name = "{name} 2"')
    return locations


def _date(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.date):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, str):
        try:
            return datetime.datetime.fromisoformat(value)
        except ValueError:
            pass
    raise InputError(
        f"start_date = {literal(value)}", allowed="a date, or a date and time", fix="start_date = 2026-01-31T12:00:00"
    )


class PointSection(Section):
    """Gauge: a named point."""

    name: str = case_key("unique name in the output file", "harbour", min_length=1)
    x: Metres = case_key("x coordinate, metres", 100.0)
    y: Metres = case_key("y coordinate, metres", 50.0)


def _points(points: Any, info: ValidationInfo) -> NamedLocations:
    locations = locations_of_file(points, info, read_points)
    if locations is not None:
        return locations
    if not isinstance(points, (dict, list)) or not points:
        raise InputError(
            f"points = {literal(points)}", allowed="a table of points", fix="points = {harbour = [100.0, 50.0]}"
        )
    rows = check_unique_names(
        read_each(points.items() if isinstance(points, dict) else enumerate(points), partial(_point, info))
    )
    return NamedLocations({row.name: [(row.x, row.y)] for row in rows})


def _point(info: ValidationInfo, name: str | int, coordinates: Any) -> PointSection:
    """Read a gauge: [x, y], x alone or a table with x and y by name, or a table with the key name."""
    if isinstance(name, int):
        return check(PointSection, coordinates, info.context)
    if isinstance(coordinates, dict) and "name" not in coordinates:
        return check(PointSection, {"name": name, **coordinates}, info.context)
    fix = f"{name} = [100.0, 50.0]"
    if (isinstance(coordinates, (int, float)) and not isinstance(coordinates, bool)) or (
        isinstance(coordinates, str) and is_quantity(coordinates)
    ):
        coordinates, has_y = (coordinates, 0.0), False
    else:
        has_y = True
    if not (isinstance(coordinates, (list, tuple)) and len(coordinates) == 2):
        raise InputError(f"{name} = {literal(coordinates)}", allowed="[x, y], two numbers in metres", fix=fix)
    try:
        point = check(PointSection, {"name": name, "x": coordinates[0], "y": coordinates[1]}, info.context)
        return point if has_y else point.model_copy(update={"y": math.nan})
    except Problems as error:
        raise Problems([replace(one, key=(), fix=fix) for one in error.problems]) from None


Points = Annotated[NamedLocations, PlainValidator(_points)]
Date = Annotated[datetime.datetime, BeforeValidator(_date)]


class RunSection(Section):
    """Duration, device and precision of the run."""

    end_time: PositiveSeconds = case_key('model time at the end of the run, such as "2 h"; the run starts at 0', "2 h")
    device: DeviceName = case_key(
        "auto, cpu, cuda or cuda:<number>; several, separated by commas, share a run", default="auto"
    )
    precision: Precision = case_key("floating-point precision: single or double", default="single")
    tuning: Literal["auto", "same-bits", "off"] = case_key(
        "use of tuned parameters: auto, same-bits (only those that do not change results) or off",
        "auto",
        default="auto",
    )
    start_date: Date | None = case_key(
        "date of model time 0, UTC, for output files and for dates in series and weather files", default=None
    )


class OutputSection(Section):
    """Fields over time in a NetCDF file or a Zarr store; several outputs are tables `[[output]]`."""

    file: FieldsFile = case_key("file name with the suffix .nc or .zarr, relative to the case file", "out.nc")
    interval: PositiveSeconds | None = case_key(
        "time between records; default: the initial and the final state", "60 s", default=None
    )
    variables: VariableNames | None = case_key(
        "names of fields; velocity stands for its components", ["depth", "velocity"], default=None
    )
    extent: Extent | None = case_key(
        "[west, east, south, north] of the output region, metres; default: the whole domain",
        [0.0, 1000.0, 0.0, 500.0],
        default=None,
    )
    stride: int = case_key("write every n-th cell along x and y", 4, default=1, ge=1)
    compression: int = case_key("compression level: 0 (none) or 1 (fast) to 9", 0, default=1, ge=0, le=9)
    overwrite: bool = case_key("replace an existing file", False, default=False)


def _outputs(value: Any, info: ValidationInfo) -> OutputSection | list[OutputSection]:
    """Read a table, or a list of tables; report every invalid table."""
    if not isinstance(value, list):
        return check(OutputSection, value, info.context)
    if not value:
        raise InputError("output = []", allowed="tables [[output]]", fix='[[output]]\nfile = "out.nc"')
    return read_each(enumerate(value), lambda _, item: check(OutputSection, item, info.context))


Outputs = Annotated[OutputSection | list[OutputSection], PlainValidator(_outputs)]


class GaugesSection(Section):
    """Time series at points, in a NetCDF or CSV file."""

    file: SeriesOutputFile = case_key("file name with the suffix .nc or .csv, relative to the case file", "gauges.nc")
    interval: PositiveSeconds = case_key("time between records", "1 s")
    points: Points = case_key(
        "table of name = [x, y], metres, or of tables with x and y, or a file of points; on a grid with "
        "one row also name = x",
        {"harbour": [100.0, 50.0]},
    )
    variables: VariableNames | None = case_key(
        "names of fields; velocity stands for its components", ["surface_elevation"], default=None
    )

    def on(self, grid: Grid) -> dict[str, tuple[float, float]]:
        """Return the points in the coordinates of a grid, m; points without y are in the row of the grid.

        Raises
        ------
        InputError
            If a point has no y and the grid has several rows.
        """
        points = {name: point for name, (point,) in self.points.on(grid).items()}
        for name, (x, y) in points.items():
            if math.isnan(y) and grid.ny > 1:
                problem = f"The point {name} has no y, and the grid has {grid.ny} rows."
                raise InputError(f"{name} = {x:g}", allowed="[x, y]", fix=f"{name} = [{x:g}, 0.0]", problem=problem)
        return {name: (x, float(grid.y[0]) if math.isnan(y) else y) for name, (x, y) in points.items()}


class MeasuredSection(Section):
    """Base class of sections of in-run output other than fields and gauges."""

    file: SeriesOutputFile = case_key("file name with the suffix .nc or .csv, relative to the case file")
    interval: PositiveSeconds = case_key("time between records")

    at_start: ClassVar[bool] = True  # whether the initial state is written
    culprit: ClassVar[Key] = ()  # the invalid key if `open` rejects its input

    @property
    def any(self) -> bool:
        """True if there is anything to write."""
        return True

    @property
    def note(self) -> str:
        """Description of the file for the summary."""
        raise NotImplementedError(f"{type(self).__name__}.note")

    def open(self, path: Path, model: Any, **options: Any) -> Any:
        """Open the writer of the file: a context manager whose `write(model)` appends a record.

        Raises
        ------
        InputError
            If the model does not support the output.
        """
        raise NotImplementedError(f"{type(self).__name__}.open")


class RestartSection(Section):
    """Restart files, from which a run continues with identical results."""

    file: NetcdfFile | None = case_key("file name with the suffix .nc", "restart.nc", default=None)
    interval: PositiveSeconds | None = case_key(
        "model time between restart files; each replaces the previous file", "1 h", default=None
    )
    from_: InputFile | None = case_key(
        "restart file from which the run continues", "restart.nc", default=None, alias="from"
    )


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
