"""Quantities with units: ``"2 h"``, ``"20 mm/h"``, ``"0.5 m3/s"`` become numbers in SI units.

A plain number is in SI units. A string is a number and a unit; the unit is a product of known
names with integer powers, written ``m3/s``, ``m3 s-1`` or ``m^3/s``. Every key of a case file
declares its dimension; a unit of another dimension is an error.
"""

from __future__ import annotations

import datetime
import math
import re
from dataclasses import dataclass

from eagre.config.toml import literal
from eagre.errors import InputError

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


Exponents = tuple[int, int, int, int]
"""Powers of (metre, kilogram, second, kelvin)."""

_METRE, _SECOND, _PASCAL, _NONE = (1, 0, 0, 0), (0, 0, 1, 0), (-1, 1, -2, 0), (0, 0, 0, 0)

UNITS: dict[str, tuple[float, Exponents]] = {
    "1": (1.0, _NONE),
    **dict.fromkeys(("deg", "degree", "degrees"), (math.pi / 180.0, _NONE)),
    "rad": (1.0, _NONE),
    "%": (0.01, _NONE),
    "mm": (1e-3, _METRE),
    "cm": (1e-2, _METRE),
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), (1.0, _METRE)),
    "km": (1e3, _METRE),
    **dict.fromkeys(("in", "inch", "inches"), (0.0254, _METRE)),
    **dict.fromkeys(("ft", "foot", "feet"), (0.3048, _METRE)),
    "mi": (1609.344, _METRE),
    "nmi": (1852.0, _METRE),
    "ms": (1e-3, _SECOND),
    **dict.fromkeys(("s", "sec", "second", "seconds"), (1.0, _SECOND)),
    **dict.fromkeys(("min", "minute", "minutes"), (60.0, _SECOND)),
    **dict.fromkeys(("h", "hr", "hour", "hours"), (3600.0, _SECOND)),
    **dict.fromkeys(("d", "day", "days"), (86400.0, _SECOND)),
    **dict.fromkeys(("week", "weeks"), (604800.0, _SECOND)),
    "g": (1e-3, (0, 1, 0, 0)),
    "kg": (1.0, (0, 1, 0, 0)),
    **dict.fromkeys(("l", "L"), (1e-3, (3, 0, 0, 0))),
    "cfs": (0.3048**3, (3, 0, -1, 0)),
    **dict.fromkeys(("kn", "kt", "kts", "knot", "knots"), (1852.0 / 3600.0, (1, 0, -1, 0))),
    "N": (1.0, (1, 1, -2, 0)),
    "Pa": (1.0, _PASCAL),
    **dict.fromkeys(("hPa", "mbar", "mb", "millibar", "millibars"), (1e2, _PASCAL)),
    "kPa": (1e3, _PASCAL),
    "bar": (1e5, _PASCAL),
    "Hz": (1.0, (0, 0, -1, 0)),
    "mHz": (1e-3, (0, 0, -1, 0)),
    "kHz": (1e3, (0, 0, -1, 0)),
    "K": (1.0, (0, 0, 0, 1)),
    "W": (1.0, (2, 1, -3, 0)),
    "kW": (1e3, (2, 1, -3, 0)),
}
"""Known unit names: factor to SI and powers of metre, kilogram, second and kelvin."""

_ANGLES, _CYCLES = {"rad", "deg", "degree", "degrees"}, {"Hz", "mHz", "kHz"}


@dataclass(frozen=True)
class Dimension:
    """Dimension of the quantity of a key.

    Parameters
    ----------
    exponents : tuple of int
        Powers of (metre, kilogram, second, kelvin).
    si : str
        SI unit of plain numbers.
    units : str
        Common units, for messages and the reference.
    example : str
        Example value, for messages.
    """

    exponents: Exponents
    si: str
    units: str
    example: str


DIMENSIONS = {
    "time": Dimension(_SECOND, "s", "ms, s, min, h, d", "2 h"),
    "length": Dimension(_METRE, "m", "mm, cm, m, km, ft", "10 m"),
    "speed": Dimension((1, 0, -1, 0), "m/s", "m/s, cm/s, km/h, kn", "0.5 m/s"),
    "rain": Dimension((1, 0, -1, 0), "m/s", "mm/h, mm/d, in/h, m/s", "20 mm/h"),
    "discharge": Dimension((3, 0, -1, 0), "m3/s", "m3/s, l/s, m3/h, ft3/s", "0.5 m3/s"),
    "pressure": Dimension(_PASCAL, "Pa", "Pa, hPa, kPa, mbar, bar", "1013 hPa"),
    "stress": Dimension(_PASCAL, "N/m2", "N/m2, Pa", "0.1 N/m2"),
    "acceleration": Dimension((1, 0, -2, 0), "m/s2", "m/s2", "9.81 m/s2"),
    "viscosity": Dimension((2, 0, -1, 0), "m2/s", "m2/s", "10 m2/s"),
    "frequency": Dimension((0, 0, -1, 0), "Hz", "mHz, Hz, 1/s, rad/s", "0.1 Hz"),
    "rate": Dimension((0, 0, -1, 0), "1/s", "1/s, 1/h, 1/d, rad/s", "1e-4 1/s"),
    "beta": Dimension((-1, 0, -1, 0), "1/(m s)", "m-1 s-1", "2e-11 m-1 s-1"),
    "temperature": Dimension((0, 0, 0, 1), "K", "K", "300 K"),
    "heating": Dimension((0, 0, -1, 1), "K/s", "K/s, K/h, K/d", "-2 K/d"),
    "kinematic heat flux": Dimension((1, 0, -1, 1), "K m/s", "K m/s", "0.1 K m/s"),
    "heat flux": Dimension((0, 1, -3, 0), "W/m2", "W/m2, kW/m2", "120 W/m2"),
    "number": Dimension(_NONE, "1", "none, %", "0.5"),
}
"""Dimensions that keys can declare."""

_NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*(\S.*?)?\s*")
_COMMA = re.compile(r"\s*([+-]?\d+),(\d+)(\s*|\s*[A-Za-z%][^,]*)")
_DURATION = re.compile(rf"\s*(?:{_NUMBER}\s*[A-Za-z]+[\s,]*){{2,}}")
_UNIT = re.compile(r"(?:[A-Za-z%]|1\s*/)[A-Za-z%0-9\s*/.^+-]*")
_FACTOR = re.compile(r"([*/.]|)\s*(?:(?<=/)(\d+)\s*(?=[A-Za-z]))?([A-Za-z%]+|1)(?:(?:\^|\*\*)?([+-]?\d))?\s*")


def unit_factor(unit: str, dimension: str, key: str = "units") -> float:
    """Return the factor that converts a value in `unit` to SI units.

    Parameters
    ----------
    unit : str
        Unit such as ``"mm/h"`` or ``"m3 s-1"``.
    dimension : str
        A key of `DIMENSIONS`.
    key : str
        Name of the key or option, for messages.

    Raises
    ------
    InputError
        If the unit is unknown or has another dimension.
    """
    expected = DIMENSIONS[dimension]
    allowed = f"units of {dimension}: {expected.units}"
    unit = unit.strip()
    factor, exponents, position, names = 1.0, _NONE, 0, set()
    while position < len(unit):
        match = _FACTOR.match(unit, position)
        if match is None:
            raise InputError(f'the unit "{unit}"', allowed=allowed, fix=f'{key} = "{expected.example}"')
        operator, count, name, power = match.groups()
        if count is not None and UNITS.get(name, (1.0, _NONE))[1] == _SECOND:  # "mm/3h"
            factor /= int(count)
        elif count is not None:
            raise InputError(f'the unit "{unit}"', allowed=allowed, fix=f'{key} = "{expected.example}"')
        if name not in UNITS:
            raise InputError(f'the unknown unit "{name}"', allowed=allowed)
        n = int(power or 1) * (-1 if operator == "/" else 1)
        scale, base = UNITS[name]
        names.add(name)
        factor *= scale**n
        exponents = tuple(a + n * b for a, b in zip(exponents, base, strict=True))
        position = match.end()
    if exponents != expected.exponents:
        raise InputError(f'the unit "{unit}", which is not a unit of {dimension}', allowed=allowed)
    return factor * _per_cycle(unit, names, dimension)


def _per_cycle(unit: str, names: set[str], dimension: str) -> float:
    """Return the factor from radians to cycles for frequencies given by an angle; reject cycles as a unit of rates."""
    if dimension == "frequency" and names & _ANGLES:
        return 0.5 / math.pi
    if dimension == "rate" and names & _CYCLES:
        problem = f"The unit {unit} counts cycles per second, but this key takes a rate or an angular frequency."
        raise InputError(f'the unit "{unit}"', allowed=f"units: {DIMENSIONS[dimension].units}", problem=problem)
    return 1.0


def parse_quantity(value: object, dimension: str, key: str = "value") -> float:
    """Convert a number (SI) or a string with a unit to a number in SI units.

    Parameters
    ----------
    value : int, float or str
        Value such as ``7200``, ``"2 h"``, ``"1 h 30 min"`` (times only), ``"20 mm/h"``.
    dimension : str
        A key of `DIMENSIONS`.
    key : str
        Name of the key or option, for messages.

    Raises
    ------
    InputError
        If the value is not a finite quantity of that dimension.
    """
    unit = DIMENSIONS[dimension]
    plain = f"a number in {unit.si}" if unit.exponents != _NONE else "a number"
    allowed = f'{plain}, or a string with a unit such as "{unit.example}" (units: {unit.units})'
    fix = _line(key, unit.example if unit.exponents == _NONE else f'"{unit.example}"')
    if dimension == "time" and isinstance(value, (datetime.date, datetime.time)):
        value = value.isoformat()
    if isinstance(value, str):
        number = _parse_text(value, dimension, allowed, fix, key)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = float(value)
    else:
        raise InputError(f"{key} = {literal(value)}", allowed=allowed, fix=fix)
    if not math.isfinite(number):
        allowed = f"a finite number, {unit.si}" if unit.exponents != _NONE else "a finite number"
        raise InputError(f"{key} = {value!r}", allowed=allowed, fix=fix)
    return number


def is_quantity(text: str) -> bool:
    """Return whether a string is a number, alone or followed by known units (and not an expression)."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return False
    unit = match[2] or ""
    return not unit or (
        _UNIT.fullmatch(unit) is not None and all(name in UNITS for name in re.findall(r"[A-Za-z%]+", unit))
    )


def number_of(value: float | str) -> float:
    """Return the number of a quantity without its unit, not converted."""
    match = _QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return float(value if match is None else match[1])


def decimal_point(text: str) -> str | None:
    """Replace the decimal comma of a number, with or without a unit, by a point; None for any other string."""
    match = _COMMA.fullmatch(text)
    return f"{match[1]}.{match[2]}{match[3]}" if match else None


def _line(key: str, value: str) -> str:
    """Return the corrected line: a key of a case file, or an option of a command."""
    return f"{key} {value}" if key.startswith("--") else f"{key} = {value}"


def _refuse_other_styles(text: str, allowed: str, fix: str, key: str) -> str:
    """Raise `InputError` for clock times, ISO 8601 and dates; else return the correction for invalid durations."""
    if is_date(text):
        raise InputError(f'"{text}", a date', allowed=f"{allowed}; the run starts at 0, which is start_date", fix=fix)
    likely = written_out(text)
    if likely is not None:
        raise InputError(f'"{text}"', allowed=allowed, fix=_line(key, f'"{likely}"'))
    minutes = with_minutes(text)
    return _line(key, f'"{minutes}"') if minutes != text and is_quantity(minutes) else fix


def _sum_of_terms(text: str, fix: str) -> float:
    """Return the seconds of a string such as ``1 h 30 min``."""
    terms = re.findall(rf"({_NUMBER})\s*([A-Za-z]+)", text)
    try:
        return sum(float(number) * unit_factor(unit, "time") for number, unit in terms)
    except InputError as error:
        raise InputError(f'"{text}" with {error.what}', allowed=error.allowed, fix=fix, problem=error.problem) from None


def _parse_text(text: str, dimension: str, allowed: str, fix: str, key: str) -> float:
    """Return the number in SI units of a string with a unit; several terms are added for times."""
    if dimension == "time":
        fix = _refuse_other_styles(text, allowed, fix, key)
        if _DURATION.fullmatch(text):
            return _sum_of_terms(text, fix)
    if decimal_point(text) is not None:
        raise InputError(f'"{text}" with a decimal comma', allowed=allowed, fix=_line(key, f'"{decimal_point(text)}"'))
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise InputError(f'"{text}"', allowed=allowed, fix=fix)
    number, unit = match.groups()
    if unit is None and key.startswith("--"):
        return float(number)  # a shell passes strings only
    if unit is None and DIMENSIONS[dimension].exponents != _NONE:
        raise InputError(f'"{text}" without a unit', allowed=allowed, fix=f"{fix}, or the number without quotes")
    try:
        return float(number) * unit_factor(unit or "1", dimension)
    except InputError as error:
        if dimension == "number":
            fix = _line(key, number)
        raise InputError(f'"{text}" with {error.what}', allowed=error.allowed, fix=fix, problem=error.problem) from None
