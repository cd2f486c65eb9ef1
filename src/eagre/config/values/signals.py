"""Time-dependent values: a number, a series file, a table, an expression in t, or a tide from harmonic constituents."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Annotated, Any

import numpy as np
from pydantic import PlainValidator, ValidationInfo, model_validator

from eagre.arguments import check_series_fill
from eagre.config.section import Section, case_key, check
from eagre.config.toml import literal
from eagre.config.values.expressions import Expression
from eagre.config.values.types import InputFile, PositiveSeconds, Seconds, key_of
from eagre.config.values.units import DIMENSIONS, is_quantity, number_of, parse_quantity, unit_factor
from eagre.errors import InputError
from eagre.names import nearest
from eagre.time_varying import tides
from eagre.time_varying.sampling import check_resolved, resolving_step
from eagre.time_varying.series import Series

MAX_SAMPLES = 10_000_000
"""Maximum number of samples of an expression or a tide."""
_PHASES = "reference of the phase lags"
_SUPERSCRIPTS = str.maketrans("\u00b2\u00b3\u207b\u00b9", "23-1")


def _phases(value: Any, info: ValidationInfo) -> str | datetime:
    if value in ("greenwich", "start") or isinstance(value, datetime):
        return value
    if isinstance(value, (date, str)):
        with suppress(ValueError):
            return datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    near = nearest(value, ("greenwich", "start")) if isinstance(value, str) else None
    raise InputError(
        f"phases = {literal(value)}", allowed=f"{_PHASES}: greenwich, start or a date",
        fix=f'phases = "{near or "greenwich"}"',
    )  # fmt: skip


class SeriesTides(Section):
    """Tide: a mean and constituents, M2 = [amplitude, phase lag in degrees], sampled and interpolated linearly."""

    constituents: dict[str, Any] = case_key(
        "constituents by name: [amplitude, phase lag in degrees]", {"M2": [1.21, 143.0], "S2": [0.42, 190.0]}
    )
    phases: Annotated[str | datetime, PlainValidator(_phases)] = case_key(
        f"{_PHASES}: greenwich, start (of the run) or a date", "greenwich"
    )
    mean: float | str = case_key("mean level added to the sum of constituents", "10 cm", default=0.0)
    every: PositiveSeconds = case_key("time between samples, at most 1/20 of the shortest period", "60 s", default=60.0)

    def checked(self, dimension: str) -> dict[str, tuple[float, float]]:
        """Return amplitudes in SI units of `dimension` and lags; raise `InputError` for invalid values."""
        constituents = {}
        for name, pair in self.constituents.items():
            if not (isinstance(pair, list) and len(pair) == 2 and type(pair[1]) in (int, float)):
                allowed = "[amplitude, phase lag], the lag a number in degrees"
                raise InputError(f"{name} = {literal(pair)}", allowed=allowed, fix=f"{name} = [1.21, 143.0]")
            constituents[name] = parse_quantity(pair[0], dimension, name), float(pair[1])
        return tides.checked(constituents)

    def series(self, start: float, end: float, dimension: str, start_date: datetime | None) -> Series:
        """Sample the tide from `start` to `end`, s, in SI units of `dimension`."""
        if self.phases != "start" and start_date is None:
            raise InputError(
                f"phases = {literal(self.phases)} without start_date in [run]",
                allowed='start_date, or phases = "start"', fix="start_date = 2026-01-31T00:00:00",
            )  # fmt: skip
        check_samples(start, end, self.every)
        return Series.from_tides(
            self.checked(dimension), end, phases=self.phases, start_date=start_date, every=self.every, start=start,
            mean=parse_quantity(self.mean, dimension, "mean"),
        )  # fmt: skip


def check_samples(start: float, end: float, every: float) -> None:
    """Raise an error for more than `MAX_SAMPLES` samples from `start` to `end`, s."""
    count = np.ceil((end - start) / every)
    if count > MAX_SAMPLES:
        raise InputError(f"every = {every:g} s, i.e. {count:.0f} samples", allowed="at most 10 million samples")


class SeriesFile(Section):
    """Series from a column of a CSV or NetCDF file. The unit in the time column's name, as in ``t (h)``, is applied."""

    file: InputFile = case_key("CSV or NetCDF file, relative to the case file", "river.csv")
    time: str | None = case_key("name of the time column; default: the first column", "time", default=None)
    value: str | None = case_key("name of the value column; default: the second column", "q", default=None)
    units: str | None = case_key(
        "unit of the values, such as mm/h; default: the unit in brackets in the column's name, or SI",
        "mm/h",
        default=None,
    )

    def series(self, dimension: str, start_date: datetime | None = None) -> Series:
        """Read the file: times in s (dates relative to `start_date`), values in SI units of `dimension`."""
        from eagre.io import read_series

        def scale(written: str) -> float:
            unit = self.units or written.strip().translate(_SUPERSCRIPTS)
            if unit in ("", "-"):
                return 1.0
            try:
                return unit_factor(unit, dimension)
            except InputError as error:
                fix = f'units = "{DIMENSIONS[dimension].si}", or the unit of the file'
                raise InputError(
                    f"{self.file} with {error.what}", allowed=error.allowed, fix=fix, problem=error.problem
                ) from None

        return read_series(self.file, time=self.time, value=self.value, scale=scale, start=start_date, need_start=True)


class SeriesTable(Section):
    """Series of times and values written in the case file."""

    times: list[Seconds] = case_key("increasing times, numbers in s or strings with a unit", [0, "1 h"])
    values: list[float | str] = case_key("one value per time, numbers in SI units or strings with a unit", [0, 1])

    @model_validator(mode="after")
    def _same_length(self) -> SeriesTable:
        if len(self.times) != len(self.values) or not self.times:
            raise InputError(
                f"{len(self.times)} times and {len(self.values)} values", allowed="one value per time, at least one"
            )
        return self

    def series(self, dimension: str) -> Series:
        """Create the series with values in SI units of `dimension`."""
        values = [parse_quantity(value, dimension, "values") for value in self.values]
        written = [number_of(value) for value in self.values]
        check_series_fill(np.array(self.times), np.array(written), "the table of times and values")
        return Series(np.array(self.times), np.array(values), "the table of times and values")


class SeriesExpression(Section):
    """Series from an expression in the time t (seconds), sampled every `every` and interpolated linearly.

    An interpolation error above 2 % of the range of the expression is an error; choose a shorter `every`.
    """

    expression: str = case_key("arithmetic expression in t, seconds", "0.5 * sin(2 * pi * t / 44712)")
    every: PositiveSeconds = case_key("time between samples", "60 s")

    @model_validator(mode="after")
    def _can_be_read(self) -> SeriesExpression:
        Expression(self.expression, ("t",))
        return self

    def series(self, start: float, end: float) -> Series:
        """Sample the expression from `start` to `end`, s."""
        check_samples(start, end, self.every)
        count = max(2, int(np.ceil((end - start) / self.every - 1e-9)) + 1)
        times, expression = start + self.every * np.arange(count), Expression(self.expression, ("t",))
        series = Series(times, expression(t=times), f'"{self.expression}"')
        check_resolved(lambda moments: expression(t=moments), series.times, series.values, series.name)
        return series


Source = SeriesFile | SeriesTable | SeriesExpression | SeriesTides
"""Tables that define a series."""


@dataclass(frozen=True)
class Signal:
    """A constant, or the source of a series.

    Parameters
    ----------
    source : float, SeriesFile, SeriesTable, SeriesExpression or SeriesTides
    dimension : str
        A key of `eagre.config.values.units.DIMENSIONS`.
    """

    source: float | Source
    dimension: str

    def resolve(self, start: float, end: float, start_date: datetime | None = None) -> float | Series:
        """Return the constant or the series, in SI units.

        Raises
        ------
        InputError
            If a series does not cover `start` to `end`, s.
        """
        if isinstance(self.source, (int, float)):
            return float(self.source)
        if isinstance(self.source, SeriesExpression):
            return self.source.series(start, end)
        if isinstance(self.source, SeriesTides):
            return self.source.series(start, end, self.dimension, start_date)
        if isinstance(self.source, SeriesTable):
            series = self.source.series(self.dimension)
        else:
            series = self.source.series(self.dimension, start_date)
        series.covers(start, end)
        return series


def signal(dimension: str) -> PlainValidator:
    """Return a validator that reads a number, a string with a unit, or a series, of a dimension."""

    def read(value: Any, info: ValidationInfo) -> Signal:
        if isinstance(value, Signal):
            return value
        if isinstance(value, dict):
            return Signal(_source(value, info, dimension), dimension)
        if isinstance(value, str) and not is_quantity(value) and _in_time(value):
            key = key_of(info)
            raise InputError(
                f'{key} = "{value}"',
                allowed="an expression in t in a table with the sampling interval",
                fix=f'{key} = {{expression = "{value}", every = {_step_of(value):g}}}',
            )
        if isinstance(value, (int, float, str)) and not isinstance(value, bool):
            return Signal(parse_quantity(value, dimension, key_of(info)), dimension)
        raise InputError(
            f"{key_of(info)} = {literal(value)}",
            allowed=f'a number in {DIMENSIONS[dimension].si}, a string such as "{DIMENSIONS[dimension].example}", '
            "or a table with file, times and values, expression, or constituents",
            fix=f'{key_of(info)} = {{file = "series.csv"}}',
        )

    return PlainValidator(read)


def _source(value: dict[str, Any], info: ValidationInfo, dimension: str) -> Source:
    """Read the table by the kind that its keys indicate."""
    if "constituents" in value or "phases" in value:
        tide = check(SeriesTides, value, info.context)
        tide.checked(dimension)
        parse_quantity(tide.mean, dimension, "mean")
        return tide
    if "expression" in value:
        return check(SeriesExpression, value, info.context)
    if "times" in value or "values" in value:
        table = check(SeriesTable, value, info.context)
        table.series(dimension)
        return table
    source = check(SeriesFile, value, info.context)
    if source.units:
        unit_factor(source.units, dimension)
    return source


def _in_time(text: str) -> bool:
    """Return whether a string is an expression in t."""
    try:
        Expression(text, ("t",))
    except InputError:
        return False
    return True


def _step_of(text: str) -> float:
    """Return a time between samples, s, that resolves an expression in t over 100 minutes, a minute at most."""
    expression = Expression(text, ("t",))
    try:
        return resolving_step(lambda moments: expression(t=moments), 0.0, 6000.0, 60.0) or 60.0
    except InputError:  # not finite somewhere
        return 60.0


StressSignal = Annotated[Signal, signal("stress")]
HeatFluxSignal = Annotated[Signal, signal("heat flux")]
KinematicHeatFluxSignal = Annotated[Signal, signal("kinematic heat flux")]
NumberSignal = Annotated[Signal, signal("number")]
