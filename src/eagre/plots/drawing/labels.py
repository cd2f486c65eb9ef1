"""Labels of variables, units, dates and periods."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from eagre.io.netcdf_attributes import read_reference

_THRESHOLD = re.compile(r"(arrival_time|duration)(_rise)?_([\dp]+(?:e[-+]?\d+)?)mm")
_STATISTIC = re.compile(r"time: (maximum|minimum|mean|variance)")
_EXTREME = re.compile(
    r"^([xy]-component of )?(?:largest|highest|maximum|smallest|lowest|minimum|mean|variance of) (?:the )?"
)


def label_of(attributes: Mapping[Any, Any], name: str) -> str:
    """Return a label such as ``"water depth (m)"`` from CF attributes."""
    long_name = str(attributes.get("long_name") or name.replace("_", " ")).partition(";")[0]
    return with_units(long_name, str(attributes.get("units") or ""))


def with_units(text: str, units: str) -> str:
    """Append units in parentheses, except for dimensionless quantities."""
    return f"{text} ({pretty_units(units)})" if units and units != "1" else text


def short_label(name: str, attributes: Mapping[Any, Any], units: str) -> str:
    """Return the label of a field for a colour bar.

    Maps with a threshold, such as ``arrival_time_300mm``, are labelled ``"arrival time, depth > 0.3 m (min)"``. Words
    for a maximum or minimum are left out, because `period_of` has them.
    """
    if threshold := _THRESHOLD.fullmatch(name):
        stem, rise, millimetres = threshold.groups()
        metres = 1e-3 * float(millimetres.replace("p", "."))
        return with_units(f"{stem.replace('_', ' ')}, {'rise' if rise else 'depth'} > {metres:.10g} m", units)
    long_name = str(attributes.get("long_name") or name.replace("_", " ")).partition(";")[0]
    if is_statistic(attributes):
        long_name = _EXTREME.sub(r"\1", long_name)
    return with_units(long_name, units)


def arrival_threshold(name: str) -> float | None:
    """Return the depth, m, of a map such as ``arrival_time_300mm``; None for other fields."""
    threshold = _THRESHOLD.fullmatch(name)
    if threshold is None or threshold.group(1) != "arrival_time" or threshold.group(2):
        return None
    return 1e-3 * float(threshold.group(3).replace("p", "."))


def is_statistic(attributes: Mapping[Any, Any]) -> bool:
    """Return whether the cell methods of a variable are a statistic over a period that labels state."""
    return _STATISTIC.search(str(attributes.get("cell_methods", ""))) is not None


def start_of(attributes: Mapping[Any, Any], otherwise: float = 0.0) -> float:
    """Return the start of the period of a statistic, s, from the comment in its cell methods, or `otherwise`."""
    start = re.search(r"from ([-+.\de]+) s", str(attributes.get("cell_methods", "")))
    return float(start.group(1)) if start else otherwise


def period_of(attributes: Mapping[Any, Any], bounds: tuple[float, float] | None) -> str:
    """Return the method and period of a statistic, such as ``"maximum over 0 to 1 h"``; empty without `bounds`, s."""
    method = _STATISTIC.search(str(attributes.get("cell_methods", "")))
    return "" if method is None or bounds is None else f"{method.group(1)} over {time_span(*bounds)}"


def time_span(first: float, last: float) -> str:
    """Return a period such as ``"0 to 1 h"``, in the largest unit that needs at most two decimals; times in s."""
    for name, seconds in (("d", 86400.0), ("h", 3600.0), ("min", 60.0)):
        numbers = [first / seconds, last / seconds]
        if last >= seconds and all(abs(number - round(number, 2)) < 1e-9 for number in numbers):
            return f"{numbers[0]:g} to {numbers[1]:g} {name}"
    return f"{first:g} to {last:g} s"


def pretty_units(units: str) -> str:
    """Return units such as ``"m2 s-1"`` with superscripts in mathtext."""
    return re.sub(r"([A-Za-z])(-?\d+)", r"\1$^{\2}$", units)


def plain(label: str) -> str:
    """Return a label without mathtext: ``"m2 s-1"`` instead of superscripts."""
    return re.sub(r"\$\^\{(-?\d+)\}\$", r"\1", label)


def date_of(units: str, seconds: float) -> str:
    """Return date and time of `seconds` after the reference in ``"seconds since ..."``, or an empty string.

    Fractions of a second are written to the microsecond, without trailing zeros.
    """
    start = date_of_zero(units)
    try:
        text = "" if start is None else (start + datetime.timedelta(seconds=seconds)).isoformat(" ")
    except OverflowError:
        return ""
    return text.rstrip("0") if "." in text else text


def date_of_zero(units: str) -> datetime.datetime | None:
    """Return the reference date in ``"seconds since ..."``, UTC, or None."""
    return read_reference(units.partition("since")[2])


def time_unit(span: float) -> tuple[str, float]:
    """Return the unit for times up to `span`, s, and the factor from seconds to it."""
    for name, seconds, minimum in (("d", 86400.0, 3.0), ("h", 3600.0, 3.0), ("min", 60.0, 5.0)):
        if span >= minimum * seconds:
            return name, 1.0 / seconds
    return "s", 1.0
