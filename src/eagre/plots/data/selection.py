"""Selection of variables and records of result files by names, times and dates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from eagre.config.values.units import parse_quantity
from eagre.errors import InputError
from eagre.io.tables.table import parse_date
from eagre.names import did_you_mean, nearest
from eagre.plots.drawing.style import date_of, date_of_zero


def known_variable(
    name: str, known: list[str], path: Path, derivable: Sequence[str] = (), fix: str = "--variable {}"
) -> str:
    """Return `name`, or raise `InputError` with the stored and derivable names of a file; fix : option with a name."""
    possible = [*known, *derivable]
    if name not in possible:
        near = nearest(name, possible) or possible[0]
        allowed = f"in {path.name}: {', '.join(known)}"
        if derivable:
            allowed += f"; derived: {', '.join(derivable)}"
        raise InputError(
            f'variable "{name}"{did_you_mean(name, possible)}', allowed=allowed, fix=fix.format(near),
            problem=f'The file has no variable "{name}".',
        )  # fmt: skip
    return name


def nearest_record(path: Path, times: np.ndarray, time: str | None, units: str = "") -> int:
    """Return the index of the record nearest to a time such as ``"2 h"``, ``"first"`` or ``"last"``.

    None is the last record. If the `units` of the times have a reference date, `time` may be a date, such as
    ``"2026-01-31T06:30"``.
    """
    if time is None or time == "last":
        return times.size - 1
    if time == "first":
        return 0
    first, last = float(times[0]), float(times[-1])
    date, zero = parse_date(time), date_of_zero(units)
    if date is None:
        seconds = parse_quantity(number_or_text(time), "time", "--time")
    elif zero is None:
        allowed = f"a time, {path.name} has no dates: {first:g} s to {last:g} s"
        raise InputError(
            f"--time {time}",
            allowed=allowed,
            fix=f'--time "{last:g} s"',
            problem="The times of the file are not dates.",
        )
    else:
        seconds = (date - zero).total_seconds()
    slack = 0.5 * (last - first) / max(times.size - 1, 1) + 1e-9
    if not first - slack <= seconds <= last + slack:
        allowed = f"{first:g} s to {last:g} s in {path.name}"
        if zero is not None:
            allowed += f", or {date_of(units, first)} to {date_of(units, last)}"
        raise InputError(
            f"--time {time}", allowed=allowed, fix=f'--time "{last:g} s"',
            problem="The time is outside the period of the file.",
        )  # fmt: skip
    return int(np.argmin(np.abs(times - seconds)))


def number_or_text(text: str) -> float | str:
    """Convert a plain number in SI units to float; return any other string unchanged."""
    try:
        return float(text)
    except ValueError:
        return text
