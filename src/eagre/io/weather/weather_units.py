"""Units of rain, wind, pressure and stress in files: "mm h-1", "kg/m2/s", "m s**-1", "mm/3h", "knots"."""

from __future__ import annotations

import re
from typing import NamedTuple

from eagre.errors import InputError

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
