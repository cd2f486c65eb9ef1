"""Records of weather files: their times, periods and units, and the subset that a run needs.

Values are instantaneous, or amounts or means over periods.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.io.rasters.netcdf_raster import USUAL, undated
from eagre.io.tables.series import seconds_per_unit
from eagre.io.tables.table import parse_date
from eagre.plausible import QUANTITIES
from eagre.time_varying.fields import NodeGrid, RecordTimeAxis, TimeVaryingField

Exponents = tuple[int, int, int]
"""Powers of (metre, kilogram, second)."""

_METRE, _SECOND, _PASCAL, _SPEED = (1, 0, 0), (0, 0, 1), (-1, 1, -2), (1, 0, -1)
_NAMES: dict[str, tuple[float, Exponents]] = {
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), (1.0, _METRE)),
    **dict.fromkeys(("cm", "centimetre", "centimetres", "centimeter", "centimeters"), (1e-2, _METRE)),
    **dict.fromkeys(("mm", "millimetre", "millimetres", "millimeter", "millimeters"), (1e-3, _METRE)),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), (1e3, _METRE)),
    **dict.fromkeys(("in", "inch", "inches"), (0.0254, _METRE)),
    **dict.fromkeys(("ft", "foot", "feet"), (0.3048, _METRE)),
    **dict.fromkeys(("s", "sec", "second", "seconds"), (1.0, _SECOND)),
    **dict.fromkeys(("min", "minute", "minutes"), (60.0, _SECOND)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), (3600.0, _SECOND)),
    **dict.fromkeys(("d", "day", "days"), (86400.0, _SECOND)),
    "kg": (1.0, (0, 1, 0)),
    "g": (1e-3, (0, 1, 0)),
    **dict.fromkeys(("kt", "kts", "kn", "knot", "knots"), (1852.0 / 3600.0, _SPEED)),
    **dict.fromkeys(("N", "newton", "newtons"), (1.0, (1, 1, -2))),
    **dict.fromkeys(("Pa", "pascal", "pascals"), (1.0, _PASCAL)),
    **dict.fromkeys(("hPa", "hectopascal", "hectopascals"), (1e2, _PASCAL)),
    **dict.fromkeys(("mbar", "mb", "millibar", "millibars"), (1e2, _PASCAL)),
    **dict.fromkeys(("kPa", "kilopascal", "kilopascals"), (1e3, _PASCAL)),
    "bar": (1e5, _PASCAL),
}
_TERM = re.compile(r"([*/.]?)\s*(?:(?<=/)(\d+)\s*)?([A-Za-z]+)(?:(?:\^|\*\*)?([+-]?\d))?\s*")
_DENOMINATOR = re.compile(r"/\(([^()]*)\)")
_FACTORS = re.compile(r"\d+\s*[A-Za-z]+|\S+")
_PER = re.compile(r"\s+per\s+|\s*/\s*", re.IGNORECASE)


class Units(NamedTuple):
    """Valid units of a quantity.

    Attributes
    ----------
    what : str
        Name of the quantity, for messages.
    examples : str
        Examples, for messages.
    rates, amounts : dict of tuple to float
        Factors to SI by dimension: of the quantity itself, and of its sum over the period before a record.
    """

    what: str
    examples: str
    rates: dict[Exponents, float]
    amounts: dict[Exponents, float]


class Read(NamedTuple):
    """Result of parsing a unit.

    Attributes
    ----------
    factor : float
        Factor to SI.
    is_amount : bool
        Whether values are sums over the period before a record.
    is_mean : bool
        Whether values are means over the period before a record, such as "mm/3h": the amount of 3 hours as a rate.
    """

    factor: float
    is_amount: bool = False
    is_mean: bool = False


RAIN = Units(
    "rain", "m s-1, mm h-1, mm/3h, mm day-1, kg m-2 s-1 (rates); m, mm, kg m-2 (amounts since the previous record)",
    {_SPEED: 1.0, (-2, 1, -1): 1e-3}, {_METRE: 1.0, (-2, 1, 0): 1e-3},
)  # fmt: skip
SPEED = Units("wind", "m s-1, km h-1, knots", {_SPEED: 1.0}, {})
PRESSURE = Units("pressure", "Pa, hPa, mbar", {_PASCAL: 1.0}, {})
STRESS = Units(
    "stress", "N m-2, Pa; N m-2 s (sums since the previous record)", {_PASCAL: 1.0}, {(-1, 1, -1): 1.0},
)  # fmt: skip


def read_unit(text: str, units: Units, what: str) -> Read:
    """Read the unit of a variable.

    Parameters
    ----------
    text : str
        Unit in the file: "kg m**-2 s**-1".
    units : Units
    what : str
        File and variable, for messages.

    Raises
    ------
    InputError
        If the text is empty, has an unknown name or is not a unit of the quantity. No other unit is suggested, because
        the unit of the values is known to the author of the file only.
    """
    parsed = _parse(text)
    if parsed is not None:
        factor, exponents, per_several = parsed
        for known, is_amount in ((units.rates, False), (units.amounts, True)):
            if exponents in known:
                return Read(factor * known[exponents], is_amount, per_several)
    known_as = f'The unit "{text}" is not a known unit of {units.what}.' if text else "The variable has no units."
    raise InputError(f"{what} in {text!r}", allowed=f"units of {units.what}: {units.examples}", problem=known_as)


def _parse(text: str) -> tuple[float, Exponents, bool] | None:
    """Return factor, dimension and whether it is per several units of time ("mm/3h"); None if it cannot be read."""
    text = _DENOMINATOR.sub(lambda match: "/" + "/".join(_FACTORS.findall(match[1])), _PER.sub("/", text.strip()))
    factor, exponents, position, per_several = 1.0, (0, 0, 0), 0, False
    while position < len(text):
        match = _TERM.match(text, position)
        if match is None or match[3] not in _NAMES:
            return None
        operator, count, name, power = match.groups()
        scale, base = _NAMES[name]
        n = int(power or 1) * (-1 if operator == "/" else 1)
        if count is not None:
            if base != _SECOND or n != -1:
                return None
            factor, per_several = factor / int(count), int(count) > 1
        factor *= scale**n
        exponents = (exponents[0] + n * base[0], exponents[1] + n * base[1], exponents[2] + n * base[2])
        position = match.end()
    return factor, exponents, per_several


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
    if times.size > 1 and not (np.diff(times) > 0.0).all():
        raise InputError(
            f"{name}: {times.size} times that do not increase",
            allowed="increasing times",
            problem="The record times do not increase.",
        )
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
            first = str(values[0])[:19] if values.size else "2026-01-31T00:00:00"
            raise InputError(
                f"{path}: dates{f' from {first}' if values.size else ''}, without the date of model time 0",
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


MIN_RAIN = 3e-8
"""Largest negative rain that is treated as a rounding error: 0.1 mm/h, m s-1."""
MAX_GAP_STEPS = 1.5
"""Maximum gap between consecutive files, in record intervals; months have different lengths."""


class Kind(NamedTuple):
    """A quantity as stored in files."""

    what: str
    names: tuple[str, ...]  # names of variables: ERA5, old and new, and common names
    standard_names: tuple[str, ...]
    units: Units
    quantity: str  # key of `eagre.plausible.QUANTITIES`
    rounding: float = 0.0  # negative values down to minus this are rounding errors of 0


class RecordSeries(NamedTuple):
    """A quantity in one file."""

    path: Path
    variable: str
    times: np.ndarray  # (n,), s of the model
    bounds: np.ndarray | None  # (n, 2), s, for amounts and means with bounds
    amounts: bool
    means: bool
    nodes: NodeGrid
    read: Callable[[int, float], np.ndarray]  # a record of the file times a factor, at the nodes


def joined(series: Sequence[RecordSeries], kind: Kind) -> TimeVaryingField:
    """Return the field of the series, sorted by time.

    Raises
    ------
    InputError
        If a file has no records, or files overlap in time, have a gap or differ in grid or kind; see `record_times`.
    """
    for one_series in series:
        if not one_series.times.size:
            raise InputError(
                f"{one_series.path}: {one_series.variable} without records",
                allowed="one or more records",
                problem=f"The variable {one_series.variable} in {one_series.path} has no records.",
            )
    series = sorted(series, key=lambda one: (one.times[0], one.times[-1]))
    for previous, following in itertools.pairwise(series):
        _check_alike(previous, following, kind)
        _check_follow(previous, following, kind, _step(previous, following, series))
    times = np.concatenate([one_series.times for one_series in series])
    bounds = [one_series.bounds for one_series in series if one_series.bounds is not None]
    name = ", ".join(str(one_series.path) for one_series in series)
    first = series[0]
    counted = record_times(times, np.concatenate(bounds) if bounds else None, first.amounts, first.means, name)
    starts = np.cumsum([0, *(one_series.times.size for one_series in series)])
    file = np.searchsorted(starts, counted.records, side="right") - 1

    def read(k: int) -> np.ndarray:
        one_series = series[file[k]]
        values = one_series.read(int(counted.records[k] - starts[file[k]]), float(counted.factors[k]))
        return np.where((values < 0.0) & (values >= -kind.rounding), 0.0, values)

    time_axis = RecordTimeAxis(counted.times, name, tuple(str(series[number].path) for number in file))
    known = QUANTITIES[kind.quantity]
    bound = max(abs(known.minimum), abs(known.maximum))
    return TimeVaryingField(time_axis, first.nodes, read, kind.what, bound, known.unit, kind.quantity)


def _step(previous: RecordSeries, following: RecordSeries, series: Sequence[RecordSeries]) -> float:
    """Return the record interval of two files, s: the longest in them, or the shortest between single-record files."""
    steps = [one_series.times for one_series in (previous, following) if one_series.times.size > 1]
    if steps:
        return max(float(np.diff(times).max()) for times in steps)
    return float(np.diff([one_series.times[0] for one_series in series]).min())


def _check_follow(previous: RecordSeries, following: RecordSeries, kind: Kind, step: float) -> None:
    """Raise `InputError` for files that overlap in time or have a gap between them."""
    if previous.bounds is not None and following.bounds is not None:
        end, begin = float(previous.bounds[-1, 1]), float(following.bounds[0, 0])
        slack = 1e-6 * float(following.bounds[0, 1] - following.bounds[0, 0])
        overlap, gap = begin < end - slack, begin > end + slack
    else:
        end, begin = float(previous.times[-1]), float(following.times[0])
        overlap, gap = begin <= end, begin - end > MAX_GAP_STEPS * step
    if overlap or gap:
        got = f"{kind.what} in {previous.path} and in {following.path}: to t = {end:g} s and from t = {begin:g} s"
        raise InputError(
            got + (", which overlap" if overlap else f", a gap longer than the interval of {step:g} s"),
            allowed="consecutive files, or one file and the name of its variable",
            problem=f"The files of {kind.what} {'overlap in time' if overlap else 'have a gap in time'}.",
        )


def _check_alike(previous: RecordSeries, following: RecordSeries, kind: Kind) -> None:
    """Raise `InputError` for files whose values have different kinds of periods or different grids."""
    sorts = [_sort(one) for one in (previous, following)]
    if sorts[0] != sorts[1]:
        got = f"{kind.what} as {sorts[0]} in {previous.path} and as {sorts[1]} in {following.path}"
        raise InputError(
            got,
            allowed="files with records of one kind",
            problem=f"The records of the files of {kind.what} differ in kind (instantaneous values, amounts or means).",
        )
    if previous.nodes != following.nodes:
        got = f"{kind.what} on grids of different spacings in {previous.path} and in {following.path}"
        raise InputError(
            got, allowed="files with the same grid", problem=f"The files of {kind.what} have different grids."
        )


def _sort(one_series: RecordSeries) -> str:
    """Return the kind of period of the values of a file."""
    kind_name = "amounts" if one_series.amounts else "means" if one_series.means else "instantaneous values"
    return kind_name if one_series.bounds is None else f"{kind_name} with bounds"
