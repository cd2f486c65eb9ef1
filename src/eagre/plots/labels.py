"""Words for variables, units and dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any

from eagre.io.time_units import read_reference


def label_of(attributes: Mapping[Any, Any], name: str) -> str:
    """``"water depth (m)"`` from CF attributes."""
    long_name = str(attributes.get("long_name") or name.replace("_", " ")).partition(";")[0]
    units = str(attributes.get("units") or "")
    return f"{long_name} ({pretty_units(units)})" if units and units != "1" else long_name


def pretty_units(units: str) -> str:
    """``"m2 s-1"`` as mathematical text with raised powers."""
    return re.sub(r"([A-Za-z])(-?\d+)", r"\1$^{\2}$", units)


def plain(label: str) -> str:
    """A label as text, ``"m2 s-1"`` in place of raised powers."""
    return re.sub(r"\$\^\{(-?\d+)\}\$", r"\1", label)


def date_of(units: str, seconds: float) -> str:
    """Date and time of `seconds` after the reference in ``"seconds since ..."``; else an empty text.

    With as many digits of a second as there are, to the microsecond.
    """
    start = date_of_zero(units)
    try:
        text = "" if start is None else (start + datetime.timedelta(seconds=seconds)).isoformat(" ")
    except OverflowError:
        return ""
    return text.rstrip("0") if "." in text else text


def date_of_zero(units: str) -> datetime.datetime | None:
    """The reference in ``"seconds since ..."`` as UTC, or None."""
    reference = read_reference(units.partition("since")[2])
    return None if reference is None else reference.date


def time_unit(span: float) -> tuple[str, float]:
    """Unit in which times up to `span`, s, are read best, and its factor."""
    for name, seconds, least in (("d", 86400.0, 3.0), ("h", 3600.0, 3.0), ("min", 60.0, 5.0)):
        if span >= least * seconds:
            return name, 1.0 / seconds
    return "s", 1.0
