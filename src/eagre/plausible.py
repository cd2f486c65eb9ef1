"""Plausible ranges of physical quantities, and likely mistakes that cause values outside these ranges.

`QUANTITIES` is the only table of such ranges. It is used for numbers, time series, rasters, weather files and Python
arguments. The ranges include all extremes observed on Earth and the values of laboratory models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.errors import InputError


@dataclass(frozen=True)
class Mistake:
    """A likely reason for values between two bounds.

    Parameters
    ----------
    low, high : float
        Bounds of the value that is farthest outside the plausible range.
    problem : str
        A full sentence.
    write : callable
        Return the text to write for a value.
    """

    low: float
    high: float
    problem: str
    write: Callable[[float], str]


@dataclass(frozen=True)
class Quantity:
    """Quantity with its plausible range in SI units and its known mistakes.

    ``what`` is the name in messages, ``minimum`` and ``maximum`` are the bounds, ``usual`` is an example value.
    """

    what: str
    unit: str
    minimum: float
    maximum: float
    usual: str
    mistakes: tuple[Mistake, ...] = ()


def _with_unit(unit: str, factor: float = 1.0) -> Callable[[float], str]:
    """Return a function that writes a value times a factor with a unit, in quotes."""
    return lambda value: f'"{factor * value:.6g} {unit}"'


def _number(factor: float = 1.0, offset: float = 0.0) -> Callable[[float], str]:
    """Return a function that writes a value times a factor plus an offset."""
    return lambda value: f"{factor * value + offset:.6g}"


def _inverse(value: float) -> str:
    """Write 1 / value."""
    return f"{1.0 / value:.3g}"


def _coriolis(degrees: float) -> str:
    """Write the Coriolis parameter at a latitude."""
    return f"{2.0 * 7.292115e-5 * np.sin(np.radians(degrees)):.4g}"


HPA = "The pressure is given in hPa, but plain numbers are in Pa."
FILL = "The value is a fill value of missing data."
CELSIUS = "The temperature is given in degrees Celsius, but kelvin is needed."
MILLIMETRES = "The rain rate is given in mm/h, but plain numbers are in m/s."
STRICKLER = "The value is a Strickler coefficient (MIKE's M), which is 1/n."

QUANTITIES: dict[str, Quantity] = {
    # 870 hPa: Typhoon Tip, 1979; 1085 hPa: Tosontsengel, 2001
    "air_pressure": Quantity(
        "sea-level pressure", "Pa", 85_000.0, 109_000.0, '"1013 hPa"',
        (
            Mistake(800.0, 1100.0, HPA, _with_unit("hPa")),
            Mistake(80.0, 110.0, "The pressure is given in kPa, but plain numbers are in Pa.", _with_unit("kPa")),
            Mistake(25.0, 33.0, "The pressure is given in inches of mercury.", _with_unit("hPa", 33.8639)),
            Mistake(-20_000.0, 20_000.0, "The pressure is an anomaly, or a missing value is stored as a number; an "
                    "absolute pressure is needed.", _number(1.0, 101_325.0)),
        ),
    ),
    "pressure_anomaly": Quantity(
        "anomaly of the sea-level pressure", "Pa", -17_000.0, 9_000.0, '"-30 hPa"',
        (Mistake(-1e6, -17_000.0, FILL, _number(0.0)),),
    ),
    # soundings start at the ground, at elevations up to 5,000 m; other planets are excluded
    "surface_pressure": Quantity(
        "pressure at z = 0", "Pa", 30_000.0, 120_000.0, '"1000 hPa"',
        (
            Mistake(300.0, 1200.0, HPA, _with_unit("hPa")),
            Mistake(30.0, 120.0, "The pressure is given in kPa, but plain numbers are in Pa.", _with_unit("kPa")),
        ),
    ),
    # 113 m/s: gust of Barrow Island, 1996; 135 m/s: tornado of 1999
    "wind": Quantity(
        "wind speed", "m/s", -150.0, 150.0, "10.0",
        (
            Mistake(-99_999.0, -998.0, FILL, _number(0.0)),
            Mistake(150.0, 600.0, "The wind is given in km/h or knots instead of m/s.", _with_unit("km/h")),
        ),
    ),
    "wind_stress": Quantity(
        "wind stress", "N/m2", -50.0, 50.0, '"0.1 N/m2"',
        (
            Mistake(-1e9, 1e9, "The stress is accumulated over time, such as an hour, or given in another unit.",
                    _with_unit("N/m2", 1 / 3600)),
        ),
    ),
    # 38 mm in 1 min, Guadeloupe, 1970: 2280 mm/h
    "rain": Quantity(
        "rain rate", "m/s", 0.0, 1e-3, '"20 mm/h"',
        (
            Mistake(1.0, 1e5, MILLIMETRES, _with_unit("mm/h")),
            Mistake(1e-3, 1.0, "The rain rate is heavier than any observed one; it may be given in m/h.",
                    _with_unit("mm/h", 1e3)),
            Mistake(-1e5, 0.0, "The rain rate is negative.", lambda value: '"20 mm/h"'),
        ),
    ),
    # 1e-2 m/s: coarse gravel
    "infiltration": Quantity(
        "infiltration rate", "m/s", 0.0, 1e-2, '"10 mm/h"',
        (
            Mistake(0.1, 1e5, "The infiltration rate is given in mm/h, but plain numbers are in m/s.",
                    _with_unit("mm/h")),
            Mistake(-1e5, 0.0, "The infiltration rate is negative.", lambda value: '"10 mm/h"'),
        ),
    ),
    "suction_head": Quantity(
        "suction head", "m", 0.0, 10.0, '"0.1 m"',
        (
            Mistake(10.0, 5000.0, "The suction head is given in mm, but plain numbers are in m.", _with_unit("mm")),
            Mistake(-5000.0, 0.0, "The suction head is positive in the term.", lambda value: '"0.1 m"'),
        ),
    ),
    "moisture_deficit": Quantity(
        "moisture deficit", "1", 0.0, 1.0, "0.3",
        (Mistake(1.0, 100.0, "The moisture deficit is given in percent.", _number(0.01)),),
    ),
    "manning": Quantity(
        "Manning's n", "s m-1/3", 0.0, 2.0, "0.03", (Mistake(5.0, 300.0, STRICKLER, _inverse),),
    ),
    # friction of a channel outside the domain, which alone determines the depth
    "channel_manning": Quantity(
        "Manning's n", "s m-1/3", 0.003, 2.0, "0.03", (Mistake(5.0, 300.0, STRICKLER, _inverse),),
    ),
    "chezy": Quantity(
        "Chezy's C", "m1/2 s-1", 1.0, 600.0, "60.0",
        (Mistake(0.003, 1.0, "The value is Manning's n, not Chezy's C.", _inverse),),
    ),
    "channel_slope": Quantity(
        "slope of the channel", "m/m", 1e-9, 1.0, "0.001",
        (Mistake(1.0, 1000.0, "The slope is given in per mille or percent, but m/m is needed.", _number(1e-3)),),
    ),
    # -10,935 m: Challenger Deep; 8849 m: Everest
    "elevation": Quantity(
        "elevation", "m", -12_000.0, 9_000.0, "0.0",
        (
            Mistake(-1e40, -32_000.0, FILL, _number(0.0)),
            Mistake(9_000.0, 30_000.0, "The elevation is given in feet, or is a fill value.", _with_unit("ft")),
            Mistake(30_000.0, 1e7, "The elevation is given in mm or cm, but metres are needed, or is a fill value.",
                    _with_unit("cm")),
        ),
    ),
    "depth": Quantity(
        "water depth", "m", 0.0, 12_000.0, "1.0",
        (
            Mistake(-1e40, -32_000.0, FILL, _number(0.0)),
            Mistake(-12_000.0, 0.0, "The depth is negative; depths are positive downwards from the surface.",
                    _number(-1.0)),
        ),
    ),
    "potential_temperature": Quantity(
        "potential temperature", "K", 150.0, 5_000.0, "300.0",
        (Mistake(-1e5, -99.0, FILL, _number(0.0, 300.0)), Mistake(-99.0, 70.0, CELSIUS, _number(1.0, 273.15))),
    ),
    # 1.458e-4 1/s at the poles; rotating tables reach some 6 1/s
    "coriolis": Quantity(
        "Coriolis parameter", "1/s", -10.0, 10.0, "1e-4",
        (
            Mistake(-90.0, 90.0, "The value is a latitude in degrees, not a Coriolis parameter "
                    "(f = 2 Omega sin(latitude); the key `latitude` takes degrees).", _coriolis),
        ),
    ),
    # 0.01 to 0.02 1/s in air, 0.1 in inversions, 1 to 2 in tanks of salt water
    "buoyancy_frequency": Quantity(
        "buoyancy frequency", "1/s", 0.0, 3.0, "0.01",
        (Mistake(-3.0, 0.0, "The buoyancy frequency N is below 0; N = 0 is neutral air.", lambda value: "0.0"),),
    ),
}  # fmt: skip
"""Plausible ranges by the name of the quantity."""


def check_plausible(quantity: str, values: Any, name: str, source: str = "", key: str = "") -> None:
    """Raise `InputError` if a value lies outside the plausible range of its quantity.

    Parameters
    ----------
    quantity : str
        A key of `QUANTITIES`.
    values : float or array
        In SI units; NaN is ignored.
    name : str
        Name of the argument or key: ``"rate"``.
    source : str, optional
        Where the values come from: a file, a series.
    key : str, optional
        What to write the corrected value for; empty for `name`.

    Raises
    ------
    InputError
        With the value that is farthest outside, the range, and the correction of the likely mistake.
    """
    known, array = QUANTITIES[quantity], np.atleast_1d(np.asarray(values, np.float64))
    outside = (array < known.minimum) | (array > known.maximum)
    if not outside.any():
        return
    distance = np.where(outside, np.maximum(known.minimum - array, array - known.maximum), -np.inf)
    worst = float(array.flat[int(np.argmax(distance))])
    likely = next((one for one in known.mistakes if one.low <= worst <= one.high), None)
    index = tuple(int(k) for k in np.unravel_index(int(np.argmax(distance)), array.shape))
    axes = ", ".join(("k", "j", "i")[-array.ndim :])
    worst_index = f", the worst at ({axes}) = {index}" if array.ndim > 1 else ""
    count = f" ({int(outside.sum())} of {array.size} values{worst_index})" if array.size > 1 else ""
    got = f"{name} = {worst:g} {known.unit}{count}" + (f" in {source}" if source else "")
    raise InputError(
        got, allowed=f"{known.what} from {known.minimum:g} to {known.maximum:g} {known.unit}",
        fix=f"{key or name} = {known.usual if likely is None else likely.write(worst)}",
        problem=likely.problem if likely else f"The value is not a plausible {known.what}.",
    )  # fmt: skip


def plausible_number(quantity: str, value: Any, name: str) -> float:
    """Return `value` as a float if it is a finite number within the plausible range of its quantity."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        known = QUANTITIES[quantity]
        raise InputError(
            f"{name} = {value!r}", allowed=f"a number from {known.minimum:g} to {known.maximum:g} {known.unit}",
            fix=f"{name} = {known.usual}", problem=f"The {known.what} is not a finite number.",
        )  # fmt: skip
    check_plausible(quantity, number, name)
    return number


def check_pressure_of_force(values: Any, name: str, source: str = "") -> None:
    """Raise `InputError` for a pressure map, Pa, that is neither a sea-level pressure nor a pressure anomaly.

    A force depends on the gradient alone. A map between 850 and 1090 Pa everywhere is an absolute pressure in hPa.
    """
    array = np.asarray(values, np.float64)
    hpa = array.size > 0 and float(array.min()) >= 850.0 and float(array.max()) <= 1090.0
    absolute = hpa or float(np.max(array, initial=-np.inf)) > QUANTITIES["pressure_anomaly"].maximum
    check_plausible("air_pressure" if absolute else "pressure_anomaly", array, name, source)
