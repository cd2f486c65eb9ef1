"""Times of the records of a file: instantaneous values, and amounts or means over periods."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.io.rasters.netcdf_raster import USUAL, undated
from eagre.io.tables.series import seconds_per_unit
from eagre.io.tables.table import parse_date


class RecordTimes(NamedTuple):
    """Times, s, the record of the file at each time, and the factor on its values."""

    times: np.ndarray
    records: np.ndarray
    factors: np.ndarray


def record_times(times: np.ndarray, bounds: np.ndarray | None, amounts: bool, means: bool, name: str) -> RecordTimes:
    """Return the times at which records apply.

    Parameters
    ----------
    times : (n,), model time, s
    bounds : (n, 2), s, or None
        Bounds of the periods of amounts and means.
    amounts, means : bool
        Whether values are sums or means over a period: between the bounds if there are any, else since the previous
        record. They are assigned to the middle of the period. The first and the last value are held constant to the
        ends, so that over many records the total equals the total of the file. A factor converts amounts to rates.
    name : str
        File name, for errors.

    Raises
    ------
    InputError
        For a single amount without bounds, and for periods that overlap or have gaps.
    """
    if not (amounts or means):
        return RecordTimes(times, np.arange(times.size), np.ones(times.size))
    if bounds is None and times.size < 2:
        raise InputError(
            f"{name}: amounts or means of {times.size} record",
            allowed="two or more records, or time bounds",
            problem=f"The period of an amount or mean in {name} is unknown.",
        )
    if bounds is None:
        low, high = times - np.diff(times, prepend=2.0 * times[0] - times[1]), times
    else:
        low, high = bounds.T
        _check_bounds(low, high, name)
    held = np.concatenate([[0], np.arange(times.size), [times.size - 1]])
    factors = 1.0 / (high - low) if amounts else np.ones(times.size)
    return RecordTimes(np.concatenate([low[:1], 0.5 * (low + high), high[-1:]]), held, factors[held])


def model_bounds(dataset: Any, coordinate: Any, path: Path, start: str | date | None) -> np.ndarray | None:
    """Return the time bounds, (n, 2), model time, s; None if the file has none."""
    bounds = bounds_of(dataset, coordinate)
    if bounds is None:
        return None
    return np.stack([model_times(coordinate.copy(data=bounds[:, k]), path, start) for k in (0, 1)], axis=1)


def bounds_of(dataset: Any, coordinate: Any) -> np.ndarray | None:
    """Return the time bounds, (n, 2), in the units of the coordinate; None if the file has none."""
    name = coordinate.attrs.get("bounds") or coordinate.encoding.get("bounds")
    if name is None or name not in dataset.variables or dataset[name].shape != (coordinate.size, 2):
        return None
    return np.asarray(dataset[name].values)


def _check_bounds(low: np.ndarray, high: np.ndarray, name: str) -> None:
    """Raise `InputError` for periods that are empty, overlap or have gaps."""
    if not (high > low).all():
        raise InputError(
            f"{name}: time bounds that do not increase",
            allowed="an upper bound above each lower bound",
            problem=f"The time bounds of {name} do not increase.",
        )
    if low.size > 1 and (np.diff(low) == 0.0).all():
        raise InputError(
            f"{name}: accumulated values (time bounds with one start)",
            allowed="amounts or means of consecutive periods (subtract each record from the next)",
            problem=f"The values of {name} accumulate from a fixed start time.",
        )
    apart = np.abs(low[1:] - high[:-1])
    if (apart > 1e-6 * (high - low)[1:]).any():
        k = int(np.argmax(apart > 1e-6 * (high - low)[1:]))
        raise InputError(
            f"{name}: record {k + 1} ends at {high[k]:g} s, the next record begins at {low[k + 1]:g} s",
            allowed="amounts or means of consecutive periods",
            problem=f"The time bounds of {name} overlap or have a gap.",
        )


def model_times(coordinate: Any, path: Path, start: str | date | None) -> np.ndarray:
    """Return the times of a coordinate, model time, s.

    Raises
    ------
    InputError
        For dates without a start date, and for times that are not numeric.
    """
    values = np.asarray(coordinate.values)
    if values.dtype.kind == "M":
        if start is None:
            first = str(values[0])[:19]
            raise InputError(
                f"{path}: dates from {first}, without the date of model time 0",
                allowed="start_date in [run]",
                fix=f"start_date = {first}",
                problem=f"The times of {path} are dates, and the date of model time 0 is unknown.",
            )  # fmt: skip
        origin = parse_date(start) if isinstance(start, str) else datetime.fromisoformat(start.isoformat())
        if origin is None:
            raise InputError(
                f"start = {start!r}",
                allowed="an ISO date",
                fix='start = "2026-01-31T12:00:00"',
                problem="The start date is not an ISO date.",
            )
        return (values - np.datetime64(origin)) / np.timedelta64(1, "s")
    if values.dtype.kind not in "fiu":
        calendar = coordinate.encoding.get("calendar") or coordinate.attrs.get("calendar")
        if calendar and calendar not in USUAL:
            raise undated(path, "", calendar)
        got = f"times of type {values.dtype}" + (f" in the calendar {calendar}" if calendar else "")
        raise InputError(
            f"{path}: {got}",
            allowed="numbers, or dates since 1582-10-15",
            problem=f"The times of {path} are neither numbers nor supported dates.",
        )
    unit = str(coordinate.attrs.get("units", "s"))
    return values.astype(np.float64) * seconds_per_unit(f"{coordinate.name} ({unit})", path)
