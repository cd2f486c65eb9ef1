"""Units in the header of spectrum tables."""

from __future__ import annotations

import math
import re
from pathlib import Path

from eagre.errors import InputError

_RADIANS = 2.0 * math.pi  # per cycle
_FREQUENCIES = {
    "Hz": 1.0, "mHz": 1e-3, "kHz": 1e3, "1/s": 1.0, "s-1": 1.0, "rad/s": 1.0 / _RADIANS, "rads-1": 1.0 / _RADIANS,
}  # fmt: skip
"""Factors to Hz, by unit without blanks."""
_LENGTHS = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "ft": 0.3048}
_PER_FREQUENCY = {
    "/Hz": 1.0, "Hz-1": 1.0, "/mHz": 1e3, "/kHz": 1e-3,
    **dict.fromkeys(("/(rad/s)", "s/rad", "srad-1", "/rads", "rad-1s"), _RADIANS),
}  # fmt: skip
_DENSITIES = {
    f"{length}2{per}": metres**2 * factor
    for length, metres in _LENGTHS.items()
    for per, factor in _PER_FREQUENCY.items()
}
"""Factors to m2/Hz, by unit without blanks."""
_BRACKETS = re.compile(r".*?[(\[](.*)[)\]]\s*")
_SUPERSCRIPTS = str.maketrans("\u00b2\u207b\u00b9", "2-1")
HEADER = "f (Hz),S (m2/Hz)"


def frequency_factor(column: str, path: Path) -> float:
    """Return the factor from the unit in the name of a frequency column to Hz."""
    return _factor(column, path, _FREQUENCIES, "Hz, mHz, kHz, 1/s or rad/s")


def density_factor(column: str, path: Path, frequency: float) -> float:
    """Return the factor from the unit in the name of a density column to m2/Hz.

    `frequency` is the factor of the frequency column: m2 s is per rad/s if frequencies are in rad/s, else per Hz.
    """
    seconds = _RADIANS if frequency == _FREQUENCIES["rad/s"] else 1.0
    factors = _DENSITIES | {f"{length}2s": metres**2 * seconds for length, metres in _LENGTHS.items()}
    return _factor(column, path, factors, "m2/Hz, m2 s, m2 s/rad or m2/(rad/s), also with cm, mm or ft")


def _factor(column: str, path: Path, factors: dict[str, float], allowed: str) -> float:
    match = _BRACKETS.fullmatch(column)
    written = match[1].strip() if match else ""
    unit = re.sub(r"[\s^*.\u00b7]", "", written.translate(_SUPERSCRIPTS))
    if unit in factors:
        return factors[unit]
    what = f"the unit {written!r} of the column {column!r}" if written else f"the column {column!r} without a unit"
    raise InputError(
        f"{path}: {what}", allowed=f"{allowed}, in brackets in the header", fix=HEADER,
        problem="The table of a spectrum needs the units of frequency and density in its header.",
    )  # fmt: skip
