"""Reference dates of times, ``hours since 2026-01-31 02:00:00 +2:00``, with time zones as in UDUNITS."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

_DATE = re.compile(
    r"\s*(\d{1,4})-(\d{1,2})-(\d{1,2})(?:(?:T|\s+)(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}(?:\.\d*)?))?)?)?(?P<zone>.*)",
    re.DOTALL,
)
_CLOCK = re.compile(r"([+-]?)(\d{1,2}):(\d{1,2})")
_DIGITS = re.compile(r"([+-]?)(\d{1,4})")
ZONES = "a zone as +02:00, -3, 2:00, 0200, UTC, GMT or Z"
"""Forms of time zones, for messages."""


def read_reference(text: str) -> datetime | None:
    """Read a date with an optional time zone, UTC; return None for other text.

    The zone is subtracted: 02:00 in the zone 2:00 is midnight, UTC. Zones are those of the grammar of UDUNITS-2
    (`parser.y`: DATE CLOCK CLOCK, DATE CLOCK INT and DATE CLOCK ID), on which the CF conventions, section 4.4, rely:
    hours and minutes with or without a sign; one or two digits for hours, three or four for hours and minutes; UTC, GMT
    and Z.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute = (int(digits or 0) for digits in match.groups()[:5])
    offset = _offset(match["zone"])
    if offset is None:
        return None
    try:
        start = datetime(year, month, day, hour, minute)
        return start + timedelta(seconds=float(match[6] or 0.0)) - offset
    except (ValueError, OverflowError):
        return None


def _offset(zone: str) -> timedelta | None:
    """Return the offset of a time zone from UTC, positive in the east; None for an unknown zone."""
    text = zone.strip()
    if text.upper() in ("", "Z", "UTC", "GMT"):
        return timedelta(0)
    if zone[0] not in "+- \t":  # "12:00:002"
        return None
    if match := _CLOCK.fullmatch(text):
        hours, minutes = int(match[2]), int(match[3])
    elif match := _DIGITS.fullmatch(text):
        number = int(match[2])
        hours, minutes = divmod(number, 100) if len(match[2]) > 2 else (number, 0)
    else:
        return None
    if hours > 24 or minutes > 59:
        return None
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if match[1] == "-" else offset


def without_zone(units: str) -> str | None:
    """Return units of time with the date in UTC; unchanged without a zone, None for an unknown zone."""
    unit, since, text = units.partition(" since ")
    match = _DATE.fullmatch(text)
    if not since or match is None or not match["zone"].strip():
        return units
    date = read_reference(text)
    return None if date is None else f"{unit} since {date.isoformat(sep=' ')}"
