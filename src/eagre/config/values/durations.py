"""Durations in clock or ISO 8601 notation, and their notation in case files."""

from __future__ import annotations

import re

_CLOCK = re.compile(r"\s*()()(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*")
_ISO = re.compile(r"\s*P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?\s*", re.IGNORECASE)
_DATE = re.compile(r"\s*\d{4}-\d\d-\d\d.*")
_MINUTES = re.compile(r"(?<=\d)\s*[mM](?![A-Za-z])")


def is_date(text: str) -> bool:
    """Return whether a string starts with an ISO 8601 date."""
    return _DATE.fullmatch(text) is not None


def written_out(text: str) -> str | None:
    """Return ``"1 h 30 min"`` for ``"01:30:00"`` (hours first) or ``"PT1H30M"``; None for any other string."""
    match = _CLOCK.fullmatch(text) or _ISO.fullmatch(text)
    if match is None or not any(match.groups()):
        return None
    units = ("week", "d", "h", "min", "s")
    numbers = [float(number or 0.0) for number in match.groups()]
    terms = [f"{number:.10g} {unit}" for number, unit in zip(numbers, units, strict=True) if number]
    return " ".join(terms) or "0 s"


def with_minutes(text: str) -> str:
    """Return the string with the unit m (metres) replaced by min."""
    return _MINUTES.sub(" min", text)
