"""Time series of boundaries and sources, from text tables and NetCDF."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from eagre.arguments import check_series_fill
from eagre.errors import InputError
from eagre.io.files import choose, input_file, listing, read_values
from eagre.io.netcdf_attributes import ZONES, read_reference, without_invalid
from eagre.io.rasters.netcdf_raster import open_netcdf
from eagre.io.tables.table import Table, find_column, parse_date, read_table, split_unit
from eagre.time_varying.series import Series

_SECONDS = {
    "s": 1.0, "sec": 1.0, "second": 1.0, "seconds": 1.0, "ms": 1e-3,
    "min": 60.0, "minute": 60.0, "minutes": 60.0,
    "h": 3600.0, "hr": 3600.0, "hrs": 3600.0, "hour": 3600.0, "hours": 3600.0,
    "d": 86400.0, "day": 86400.0, "days": 86400.0,
}  # fmt: skip


def read_series(
    path: str | os.PathLike[str],
    *,
    time: str | None = None,
    value: str | None = None,
    scale: float | Callable[[str], float] = 1.0,
    start: str | datetime | None = None,
    need_start: bool = False,
) -> Series:
    """Read a time series.

    Parameters
    ----------
    path : path-like
        A text table with a header (comma, semicolon, tab or blank separated), or NetCDF (``.nc``).
    time : str, optional
        Column of the times. Default: the first column. The unit in its name (``"t (h)"``) is applied; the
        default is seconds. ISO dates and times since a date, ``"t (h since 2026-01-31)"``, are valid.
    value : str, optional
        Column of the values; required if there are several besides the time. The unit in brackets may be left out.
    scale : float or callable
        Factor on the values, for example 0.01 for a column in cm; or a function that returns the factor for the unit in
        brackets or in the NetCDF attribute (an empty string if there is no unit).
    start : str or datetime, optional
        Date of model time 0, for dates in the file. Default: the first row is time 0.
    need_start : bool
        Raise an error for dates in the file without `start`, because two files may begin on different days.

    Returns
    -------
    Series
        Times in s, values times `scale`, named after the file.

    Raises
    ------
    InputError
        If the file or a column is missing, a cell is not a finite number, or times do not increase.
    """
    if not callable(scale) and not (isinstance(scale, (int, float, np.number)) and math.isfinite(scale) and scale != 0):
        raise InputError(f"scale = {scale!r}", allowed="a number other than 0", fix="scale = 1.0")
    full = input_file(path, "series")
    origin = _seconds_of(start)
    if full.suffix.lower() in (".nc", ".nc4", ".cdf"):
        times, first, values, unit = _from_netcdf(full, time, value)
    else:
        times, first, values, unit = _from_table(read_table(full), time, value)
    if first is not None:
        times = times + _shift(first, float(times[0]), origin, need_start, full)
    check_series_fill(times, values, str(full))
    factor = scale(unit) if callable(scale) else float(scale)
    return Series(times, values * factor, str(full))


def _shift(zero: float, earliest: float, origin: float | None, need_start: bool, path: Path) -> float:
    """Return the offset, s, from times after the date `zero` (s since 1970) to times after `origin`."""
    if origin is not None:
        return zero - origin
    if need_start:
        date = (datetime(1970, 1, 1) + timedelta(seconds=zero + earliest)).isoformat()
        raise InputError(
            f"{path}: dates from {date}, without the date of model time 0",
            allowed="start_date in [run]",
            fix=f"start_date = {date}",
            problem=f"The times of {path} are dates, and the date of model time 0 is unknown.",
        )
    return -earliest


def _seconds_of(start: str | date | None) -> float | None:
    """Return `start` as seconds since 1970-01-01."""
    if start is None:
        return None
    parsed = parse_date(start if isinstance(start, str) else start.isoformat())
    if parsed is None:
        raise InputError(
            f"start = {start!r}",
            allowed="an ISO date",
            fix='start = "2026-01-31T12:00:00"',
            problem="The start date is not an ISO date.",
        )
    return (parsed - datetime(1970, 1, 1)).total_seconds()


Column = tuple[np.ndarray, float | None, np.ndarray, str]
"""Times, s; their reference date, s since 1970 (None: model time); values; unit of the values."""


def _from_table(table: Table, time: str | None, value: str | None) -> Column:
    """Return times, reference date, values and unit of a text table."""
    names = table.names
    column = find_column(names, time, table.path, "time") if time is not None else _time_column(names)
    others = [name for k, name in enumerate(names) if k != column]
    if value is not None:
        of = find_column(names, value, table.path, "value")
    elif len(others) == 1:
        of = names.index(others[0])
    else:
        raise InputError(
            f"{table.path}: {len(others)} columns besides the time and no value",
            allowed=listing(others, 20) or "a column of values besides the time",
            fix=f'value = "{others[0]}"' if others else "",
            problem=f"The table {table.path} has {'several columns' if others else 'no column'} besides the time.",
        )
    if parse_date(table.cells(0)[column]) is not None:
        times = table.dates(column)
        return times - times[0], float(times[0]), table.numbers([of])[:, 0], split_unit(names[of])[1]
    data = table.numbers([column, of])
    times = data[:, 0] * seconds_per_unit(names[column], table.path)
    return times, _date_of_zero(names[column], table.path), data[:, 1], split_unit(names[of])[1]


def _date_of_zero(name: str, path: Path) -> float | None:
    """Return the reference date in a unit such as ``h since 2026-01-31 12:00``, s since 1970, or None."""
    _, since, text = split_unit(name)[1].partition(" since ")
    if not since:
        return None
    date = read_reference(text)
    if date is None:
        allowed = f"an ISO date, without a zone (UTC) or with {ZONES}"
        raise InputError(
            f"{path}: {text.strip()!r} as a date",
            allowed=allowed,
            fix="t (s since 2026-01-31)",
            problem=f"The reference date of the times in {path} is not an ISO date.",
        )
    return (date - datetime(1970, 1, 1)).total_seconds()


def _time_column(names: list[str]) -> int:
    """Return the column named time, else the first column."""
    for k, name in enumerate(names):
        if split_unit(name)[0].casefold() in ("time", "t", "date", "datetime"):
            return k
    return 0


def seconds_per_unit(name: str, path: Path) -> float:
    """Return the factor from the unit in the name of a time column to seconds."""
    unit = split_unit(name)[1].casefold().split(" since ")[0].strip()
    if not unit:
        return 1.0
    if unit not in _SECONDS:
        raise InputError(
            f"{path}: time column {name!r} in {unit!r}",
            allowed="s, min, h or d in brackets",
            fix=f"{split_unit(name)[0]} (s)",
            problem=f"The time units of {path} are not supported.",
        )
    return _SECONDS[unit]


def _from_netcdf(path: Path, time: str | None, value: str | None) -> Column:
    """Return times, reference date, values and unit of a one-dimensional variable."""
    with open_netcdf(path, decode_timedelta=False) as dataset:
        fitting = [
            str(name)
            for name, array in dataset.data_vars.items()
            if array.ndim == 1 and array.dtype.kind in "fiu" and str(name) != time
        ]
        if value is None and len(fitting) != 1:
            raise InputError(
                f"{path}: {len(fitting)} one-dimensional variables and no value",
                allowed=listing(fitting, 20) or "a variable with the time as its only dimension",
                fix=f'value = "{fitting[0]}"' if fitting else "",
                problem=f"The file {path} has {'several' if fitting else 'no'} one-dimensional variables.",
            )
        value = fitting[0] if value is None else value
        choose(value, fitting, f"{path}: value", 'value = "{}"')
        array = dataset[value]
        name = str(array.dims[0]) if time is None else time
        if name not in dataset.variables or dataset[name].shape != array.shape:
            raise InputError(
                f"{path}: no times {name!r} for {value}",
                allowed="a 1-D time coordinate",
                fix='time = "time"',
                problem=f"The variable {value} in {path} has no times {name!r}.",
            )
        unit = str(array.attrs.get("units", ""))
        values = without_invalid(read_values(array, path, "NetCDF file"), array)
        return *_netcdf_times(dataset[name], path), values, unit


def _netcdf_times(coordinate: Any, path: Path) -> tuple[np.ndarray, float | None]:
    """Return the times of a coordinate, s, and their reference date, s since 1970, or None for plain numbers."""
    values = np.asarray(coordinate.values)
    if not values.size:
        raise InputError(
            f"{path}: no times in {coordinate.name}", allowed="one or more records", problem=f"{path} has no records."
        )
    if values.dtype.kind == "M":
        seconds = (values - np.datetime64("1970-01-01")) / np.timedelta64(1, "s")
        return seconds - seconds[0], float(seconds[0])
    if values.dtype.kind not in "fiu":
        raise InputError(
            f"{path}: times of type {values.dtype}",
            allowed="numbers of seconds, or dates",
            problem=f"The times of {path} are neither numbers nor supported dates.",
        )
    unit = str(coordinate.attrs.get("units", "s"))
    return values.astype(np.float64) * seconds_per_unit(f"{coordinate.name} ({unit})", path), None
