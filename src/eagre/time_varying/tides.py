"""Tidal prediction by harmonic constituents: speeds, equilibrium arguments and nodal corrections.

A constituent of amplitude A and phase lag G adds f A cos(V + u - G). V is a sum of integer multiples of mean longitudes
(A. T. Doodson, Proc. R. Soc. Lond. A 100, 305-329 (1921), doi:10.1098/rspa.1921.0088). J. Meeus, Astronomical
Algorithms, 2nd ed. (1998), equations 25.2, 47.1 and 47.7, gives these longitudes over time. The nodal corrections f and
u vary with the 18.6-year lunar nodal cycle (A. T. Doodson and H. D. Warburg, Admiralty Manual of Tides, HMSO (1941)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.names import did_you_mean
from eagre.time_varying.sampling import rounded_down

MIN_SAMPLES = 20  # per period: the error of linear interpolation is then up to 1.2 % of an amplitude
NOON_2000 = np.datetime64("2000-01-01T12:00", "us")
HOURS = 876_600.0  # in a Julian century
LONGITUDES = {  # mean longitudes, degrees: value at noon of 2000-01-01, rates per century and per century squared
    "s": (218.3164477, 481267.88123421, -0.0015786),  # Moon
    "h": (280.46646, 36000.76983, 0.0003032),  # Sun
    "p": (83.3532465, 4069.0137287, -0.01032),  # lunar perigee
    "N": (125.0445479, -1934.1362891, 0.0020754),  # lunar ascending node
    "p1": (282.93735, 1.71946, 0.00046),  # solar perigee
}


class Line(NamedTuple):
    """Astronomical constituent: multiples of lunar time and longitudes, and additional quarter cycles."""

    tau: int
    s: int
    h: int
    p: int
    p1: int
    quarters: int
    node: str = ""  # key of `NODES` for f and u; empty: f = 1, u = 0


class Node(NamedTuple):
    """Nodal correction: f = sum of c_k cos(k N) from k = 0, u = sum of d_k sin(k N) from k = 1, degrees."""

    f: tuple[float, ...]
    u: tuple[float, ...]


LINES = {
    "SSA": Line(0, 0, 2, 0, 0, 0),
    "MM": Line(0, 1, 0, -1, 0, 0, "MM"),
    "MF": Line(0, 2, 0, 0, 0, 0, "MF"),
    "Q1": Line(1, -2, 0, 1, 0, -1, "O1"),
    "O1": Line(1, -1, 0, 0, 0, -1, "O1"),
    "P1": Line(1, 1, -2, 0, 0, -1),
    "K1": Line(1, 1, 0, 0, 0, 1, "K1"),
    "J1": Line(1, 2, 0, -1, 0, 1, "J1"),
    "OO1": Line(1, 3, 0, 0, 0, 1, "OO1"),
    "2N2": Line(2, -2, 0, 2, 0, 0, "M2"),
    "MU2": Line(2, -2, 2, 0, 0, 0, "M2"),
    "N2": Line(2, -1, 0, 1, 0, 0, "M2"),
    "NU2": Line(2, -1, 2, -1, 0, 0, "M2"),
    "M2": Line(2, 0, 0, 0, 0, 0, "M2"),
    "T2": Line(2, 2, -3, 0, 1, 0),
    "S2": Line(2, 2, -2, 0, 0, 0),
    "K2": Line(2, 2, 0, 0, 0, 0, "K2"),
}
COMPOUNDS = {
    "MK3": ("M2", "K1"),
    "MN4": ("M2", "N2"),
    "M4": ("M2", "M2"),
    "MS4": ("M2", "S2"),
    "S4": ("S2", "S2"),
    "M6": ("M2", "M2", "M2"),
    "2MS6": ("M2", "M2", "S2"),
    "M8": ("M2", "M2", "M2", "M2"),
}
"""Shallow-water (compound) constituents, as sums of astronomical constituents."""
NODES = {
    "MM": Node((1.0, -0.13, 0.0013), ()),
    "MF": Node((1.0429, 0.4135, -0.004), (-23.74, 2.68, -0.38)),
    "O1": Node((1.0089, 0.1871, -0.0147, 0.0014), (10.8, -1.34, 0.19)),
    "K1": Node((1.006, 0.115, -0.0088, 0.0006), (-8.86, 0.68, -0.07)),
    "J1": Node((1.0129, 0.1676, -0.017, 0.0016), (-12.94, 1.34, -0.19)),
    "OO1": Node((1.1027, 0.6504, 0.0317, -0.0014), (-36.68, 4.02, -0.57)),
    "M2": Node((1.0004, -0.0373, 0.0002), (-2.14,)),
    "K2": Node((1.0241, 0.2863, 0.0083, -0.0015), (-17.74, 0.68, -0.04)),
}
NAMES = (*LINES, *COMPOUNDS)
"""Names of supported constituents."""


def _lines(name: str) -> list[Line]:
    return [LINES[constituent] for constituent in COMPOUNDS.get(name, (name,))]


def speed(name: str) -> float:
    """Return the speed of a constituent, degrees per hour: 28.984104 for M2.

    Raises
    ------
    InputError
        If the constituent is unknown.
    """
    rates = {letter: terms[1] / HOURS for letter, terms in LONGITUDES.items()} | {"tau": 0.0}
    rates["tau"] = 15.0 + rates["h"] - rates["s"]
    return sum(_turned(line, rates) for line in _lines(known(name)))


def known(name: str) -> str:
    """Return the name of a constituent in capitals; raise `InputError` with the closest match if it is unknown."""
    upper = str(name).upper()
    if upper not in NAMES:
        raise InputError(
            f"the constituent {name!r}{did_you_mean(upper, NAMES)}", allowed=", ".join(NAMES),
            problem="The tidal constituent is unknown.",
        )  # fmt: skip
    return upper


def checked(constituents: Mapping[str, Sequence[float]]) -> dict[str, tuple[float, float]]:
    """Return amplitudes and phase lags with names as in `NAMES`.

    Raises
    ------
    InputError
        If there are no constituents, a name is unknown or occurs twice, or a value is not a valid pair of numbers.
    """
    constants: dict[str, tuple[float, float]] = {}
    for name, pair in constituents.items():
        amplitude, lag = (math.nan, math.nan) if np.shape(pair) != (2,) else pair
        if not (
            isinstance(amplitude, Real) and isinstance(lag, Real) and 0 <= amplitude < math.inf and abs(lag) <= 720
        ):
            allowed = "an amplitude, 0 or more, and a phase lag in degrees"
            fix, problem = f"{known(name)}: (1.2, 143.0)", f"The constituent {name} has no valid pair of values."
            raise InputError(f"{name}: {pair!r}", allowed=allowed, fix=fix, problem=problem)
        if known(name) in constants:
            raise InputError(
                f"{known(name)} twice", allowed="each constituent once", problem="A tidal constituent occurs twice."
            )
        constants[known(name)] = float(amplitude), float(lag)
    if not constants:
        raise InputError(
            "no constituents", allowed="one or more", fix='{"M2": (1.2, 143.0)}', problem="There are no constituents."
        )
    return constants


def check_step(constituents: Mapping[str, tuple[float, float]], every: float, name: str) -> None:
    """Raise `InputError` if fewer than `MIN_SAMPLES` samples, `every` s apart, resolve a period of a constituent.

    The error of linear interpolation between samples h apart is up to A (1 - cos(pi h / T)) for amplitude A and period
    T.
    """
    periods = {one: 360.0 * 3600.0 / speed(one) for one, (amplitude, _) in constituents.items() if amplitude > 0.0}
    shortest = min(periods, key=lambda one: periods[one], default=None)
    if shortest is None or every <= periods[shortest] / MIN_SAMPLES:
        return
    error = sum(a * (1.0 - math.cos(math.pi * min(every / periods[n], 1.0))) for n, (a, _) in constituents.items() if a)
    raise InputError(
        f"{name}: every = {every:g} s for {shortest} of period {periods[shortest]:.0f} s; the interpolation error is "
        f"up to {error:.3g}",
        allowed=f"{MIN_SAMPLES} samples or more per period of the fastest constituent: every up to "
        f"{periods[shortest] / MIN_SAMPLES:.0f} s",
        fix=f"every = {rounded_down(periods[shortest] / MIN_SAMPLES):g}",
        problem="The samples are too far apart for the constituents.",
    )


def _turned(line: Line, angles: Mapping[str, Any]) -> Any:
    """Return the sum of multiples of angles, or of their rates."""
    return sum(getattr(line, letter) * angles[letter] for letter in ("tau", "s", "h", "p", "p1"))


def argument(name: str, dates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the equilibrium argument V + u, degrees at Greenwich, and the nodal factor f of a constituent.

    Parameters
    ----------
    name : str
        One of `NAMES`.
    dates : (n,) of datetime64, UTC
        Used as dynamical time; the difference of about a minute changes the argument by 0.01 degrees.

    Returns
    -------
    (n,) arrays
    """
    hours = (np.asarray(dates, "datetime64[us]") - NOON_2000) / np.timedelta64(1, "h")
    t = hours / HOURS
    angles = {letter: a + t * (b + t * c) for letter, (a, b, c) in LONGITUDES.items()}
    angles["tau"] = 180.0 + 15.0 * hours + angles["h"] - angles["s"]
    node = np.radians(angles["N"])
    total, factor = np.zeros(hours.shape), np.ones(hours.shape)
    for line in _lines(known(name)):
        total += _turned(line, angles) + 90.0 * line.quarters
        if line.node:
            terms = NODES[line.node]
            factor *= sum(c * np.cos(k * node) for k, c in enumerate(terms.f))
            total += sum(d * np.sin(k * node) for k, d in enumerate(terms.u, 1))
    return total, factor


def heights(
    constituents: Mapping[str, tuple[float, float]], times: np.ndarray, start: np.datetime64 | None = None
) -> np.ndarray:
    """Return the sum of constituents.

    Parameters
    ----------
    constituents : dict of str to (amplitude, phase lag)
        Names as in `NAMES`; amplitudes in the unit of the result, lags in degrees.
    times : (n,) array, s
    start : datetime64, optional
        Date of time 0, UTC. With it, f A cos(V + u - lag) is summed, with Greenwich phase lags as given by harmonic
        analyses and tidal atlases; without it, A cos(speed t - lag).

    Returns
    -------
    (n,) array
    """
    times = np.asarray(times, np.float64)
    dates = None if start is None else start + np.round(1e6 * times).astype("timedelta64[us]")
    total = np.zeros(times.shape)
    for name, (amplitude, lag) in constituents.items():
        angle, factor = (speed(name) / 3600.0 * times, 1.0) if dates is None else argument(name, dates)
        total += factor * amplitude * np.cos(np.radians(angle - lag))
    return total
