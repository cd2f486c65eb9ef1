"""Words for variables, units and dates."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Any


def label_of(attributes: Mapping[Any, Any], name: str) -> str:
    """``"water depth (m)"`` from CF attributes."""
    long_name = str(attributes.get("long_name") or name.replace("_", " ")).partition(";")[0]
    units = str(attributes.get("units") or "")
    return f"{long_name} ({pretty_units(units)})" if units and units != "1" else long_name


def pretty_units(units: str) -> str:
    """``"m2 s-1"`` as mathematical text with raised powers."""
    return re.sub(r"([A-Za-z])(-?\d+)", r"\1$^{\2}$", units)


def date_of(units: str, seconds: float) -> str:
    """Date and time of `seconds` after the reference in ``"seconds since ..."``; else an empty text."""
    _, found, reference = units.partition("since")
    if not found:
        return ""
    try:
        start = datetime.datetime.fromisoformat(reference.strip().replace(" UTC", "+00:00"))
        return (start + datetime.timedelta(seconds=seconds)).replace(tzinfo=None).isoformat(" ", "seconds")
    except (ValueError, OverflowError):
        return ""


def time_unit(span: float) -> tuple[str, float]:
    """Unit in which times up to `span`, s, are read best, and its factor."""
    for name, seconds, least in (("d", 86400.0, 3.0), ("h", 3600.0, 3.0), ("min", 60.0, 5.0)):
        if span >= least * seconds:
            return name, 1.0 / seconds
    return "s", 1.0
