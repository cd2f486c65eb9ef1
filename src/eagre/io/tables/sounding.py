"""Values at heights from text tables, and soundings: potential temperature, humidity and wind at heights."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from eagre.arguments import find_fill, is_fill
from eagre.errors import InputError
from eagre.io.files import input_file
from eagre.io.tables.table import find_column, read_table, split_unit
from eagre.plausible import check_plausible

HECTOPASCAL = 100.0
MAX_VAPOUR = 0.1  # kg/kg
VAPOUR = 0.61  # theta_v = theta (1 + VAPOUR q)
_COLUMNS = {
    "z": (("z", "height", "altitude"), {"": 1.0, "m": 1.0, "km": 1000.0}),
    "theta": (("theta", "potential_temperature", "air_potential_temperature"), {"": 1.0, "K": 1.0}),
    "humidity": (("qv", "q", "mixing_ratio", "humidity_mixing_ratio"), {"": 1e-3, "g/kg": 1e-3, "kg/kg": 1.0}),
    "u": (("u", "eastward_wind", "x_wind"), {"": 1.0, "m/s": 1.0, "m s-1": 1.0}),
    "v": (("v", "northward_wind", "y_wind"), {"": 1.0, "m/s": 1.0, "m s-1": 1.0}),
}
_METRES = {"": 1.0, "m": 1.0, "km": 1000.0, "ft": 0.3048}


@dataclass(frozen=True)
class Sounding:
    """Vertical profile of the air at one location.

    Attributes
    ----------
    z : (n,), m
        Height above sea level, or above the model's z = 0; increasing.
    theta : (n,), K
        Potential temperature.
    humidity : (n,), kg/kg
        Mixing ratio of water vapour.
    u, v : (n,), m/s
        Eastward and northward wind.
    surface_pressure : float or None, Pa
        Pressure at z = 0, if the file contains it.
    """

    z: np.ndarray
    theta: np.ndarray
    humidity: np.ndarray
    u: np.ndarray
    v: np.ndarray
    surface_pressure: float | None = None

    @property
    def virtual(self) -> Sounding:
        """Dry air of equal density: theta is the virtual potential temperature, humidity is 0."""
        theta = self.theta * (1.0 + VAPOUR * self.humidity)
        return replace(self, theta=theta, humidity=np.zeros_like(theta))


def read_sounding(path: str | os.PathLike[str]) -> Sounding:
    """Read a sounding of any number of levels.

    Parameters
    ----------
    path : path-like
        Either an `input_sounding` file as WRF and CM1 read it (a line of surface pressure, hPa, potential
        temperature, K, and mixing ratio, g/kg; then lines of height, m, theta, K, mixing ratio, g/kg, u and v, m/s),
        whose first line becomes the level z = 0; or a table with a header (comma, semicolon, tab or blank separated)
        and the columns z and theta and, optionally, qv, u and v, with units in brackets if they differ from these.

    Raises
    ------
    InputError
        If the file is missing or a line is not valid.
    """
    full = input_file(path, "sounding")
    lines = [
        (number, line.split("#")[0].split("!")[0].split())
        for number, line in enumerate(full.read_text(encoding="utf-8-sig", errors="replace").splitlines(), 1)
    ]
    lines = [(number, fields) for number, fields in lines if fields]
    if lines and _numbers(lines[0][1]) is not None and len(lines[0][1]) == 3:
        return _checked(_input_sounding(full, lines), full)
    return _checked(_from_table(full), full)


def _input_sounding(path: Path, lines: list[tuple[int, list[str]]]) -> Sounding:
    rows = []
    for number, fields in lines:
        numbers, expected = _numbers(fields), 5 if rows else 3
        if numbers is None or len(numbers) != expected:
            what = (
                "z (m), theta (K), qv (g/kg), u and v (m/s)" if rows else "surface pressure (hPa), theta (K), qv (g/kg)"
            )
            raise InputError(
                f"{path}, line {number}: {' '.join(fields)[:60]!r}",
                allowed=f"{expected} numbers: {what}",
                problem=f"Line {number} of the sounding {path} does not have {expected} numbers.",
            )
        rows.append(numbers)
    if len(rows) < 2:
        raise InputError(
            f"{path}: one line",
            allowed="a line for the surface and one line per level",
            problem=f"The sounding {path} has only one line.",
        )
    pressure, theta, humidity = rows[0]
    check_plausible("surface_pressure", HECTOPASCAL * pressure, "pressure", f"{path} (its first line is in hPa)")
    levels = np.array(rows[1:])
    if levels[0, 0] > 0.0:
        levels = np.vstack([[0.0, theta, humidity, *levels[0, 3:]], levels])
    z, theta, humidity, u, v = np.ascontiguousarray(levels.T)
    return Sounding(z, theta, 1e-3 * humidity, u, v, HECTOPASCAL * pressure)


def _from_table(path: Path) -> Sounding:
    table = read_table(path, "a level", ("z,theta,u,v", "0,300,5,0"))
    columns: dict[str, np.ndarray] = {}
    for name, (names, units) in _COLUMNS.items():
        here = [n for n, column in enumerate(table.names) if split_unit(column)[0].casefold() in names]
        if not here and name not in ("z", "theta"):
            columns[name] = np.zeros(len(table.rows))
            continue
        column = here[0] if here else find_column(table.names, name, path, "column")
        unit = split_unit(table.names[column])[1]
        if unit not in units:
            raise InputError(
                f"{path}: {name} in {unit!r}",
                allowed=", ".join(one for one in units if one),
                problem=f"The units of {name} in the sounding {path} are not supported.",
            )
        columns[name] = units[unit] * table.numbers([column])[:, 0]
    z, theta, humidity, u, v = (columns[name] for name in ("z", "theta", "humidity", "u", "v"))
    return Sounding(z, theta, humidity, u, v)


def _numbers(fields: list[str]) -> list[float] | None:
    try:
        values = [float(word) for word in fields]
    except ValueError:
        return None
    return values if np.isfinite(values).all() else None


def _checked(sounding: Sounding, path: Path) -> Sounding:
    """Raise `InputError` for heights that do not increase, and for implausible values."""
    if (falls := np.flatnonzero(np.diff(sounding.z) <= 0.0)).size:
        k = int(falls[0])
        raise InputError(
            f"{path}: {sounding.z[k + 1]:g} m after {sounding.z[k]:g} m",
            allowed="increasing heights",
            problem=f"The heights of the sounding {path} do not increase.",
        )
    bad = (sounding.humidity < 0.0) | (sounding.humidity > MAX_VAPOUR)
    if bad.any():
        k = int(np.argmax(bad))
        raise InputError(
            f"{path}: a mixing ratio of {sounding.humidity[k]:g} kg/kg at {sounding.z[k]:g} m",
            allowed=f"from 0 to {MAX_VAPOUR:g} kg/kg",
            fix="qv in g/kg (or kg/kg with that unit in the header)",
            problem=f"A mixing ratio of the sounding {path} is out of range.",
        )
    for what, values, quantity in (
        ("theta", sounding.theta, "potential_temperature"), ("u", sounding.u, "wind"), ("v", sounding.v, "wind"),
    ):  # fmt: skip
        check_plausible(quantity, values, what, str(path))
    for what in ("u", "v"):
        values = getattr(sounding, what)
        if (fill := find_fill(values)) is not None and not (missing := is_fill(values, fill)).all():
            raise InputError(
                f"{path}: {what} = {fill:g} m/s at {sounding.z[np.argmax(missing)]:g} m",
                allowed="a wind at every level",
                fix=f"the levels without {fill:g}",
                problem=f"The sounding holds {fill:g}, a usual fill value of missing data.",
            )  # fmt: skip
    return sounding


def read_heights(
    path: str | os.PathLike[str],
    *,
    height: str | None = None,
    value: str | None = None,
    scale: Callable[[str], float] = lambda unit: 1.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Read heights, m, and values, both (n,), from a text table with a header.

    Parameters
    ----------
    path : path-like
    height, value : str, optional
        Columns. Default: the first and the second. A unit of the heights in brackets, ``z (km)``, is applied.
    scale : callable
        Function that returns the factor on the values for their unit in brackets.

    Raises
    ------
    InputError
        If the file or a column is missing, or a cell is not a number.
    """
    full = input_file(path, "table of heights")
    table = read_table(full, "a level", ("z,value", "0,0.0"))
    if len(table.names) < 2:
        raise InputError(
            f"{full} with one column",
            allowed="two or more columns: heights and values",
            problem=f"The table {full} has fewer than two columns.",
        )
    columns = [
        position if name is None else find_column(table.names, name, full, what)
        for position, (name, what) in enumerate(((height, "height"), (value, "value")))
    ]
    numbers = table.numbers(columns)
    unit, unit_of_values = (split_unit(table.names[column])[1] for column in columns)
    if unit not in _METRES:
        raise InputError(
            f"{full}: heights in {unit!r}",
            allowed=", ".join(one for one in _METRES if one),
            problem=f"The units of the heights in {full} are not supported.",
        )
    return _METRES[unit] * numbers[:, 0], scale(unit_of_values) * numbers[:, 1]
