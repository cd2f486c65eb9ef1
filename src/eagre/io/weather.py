"""Rain, wind and pressure over time from CF NetCDF files and those of ERA5, on their own grid."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.files import choose, input_file, listing
from eagre.io.lattice import Lattice
from eagre.io.netcdf_raster import crs_of, is_axis, is_degrees, open_netcdf
from eagre.io.series import seconds_per_unit
from eagre.io.table import parse_date
from eagre.moving import Instants, MovingField

RAIN_UNITS = {
    "m s-1": 1.0, "m/s": 1.0, "mm s-1": 1e-3, "mm/s": 1e-3, "kg m-2 s-1": 1e-3, "kg m**-2 s**-1": 1e-3,
    "mm h-1": 1e-3 / 3600, "mm/h": 1e-3 / 3600, "mm/hr": 1e-3 / 3600, "mm hr-1": 1e-3 / 3600, "mm d-1": 1e-3 / 86400,
    "mm/day": 1e-3 / 86400, "m": 1.0, "mm": 1e-3, "kg m-2": 1e-3, "kg m**-2": 1e-3,
}  # fmt: skip
AMOUNTS = ("m", "mm", "kg m-2", "kg m**-2")  # of water that fell since the record before


class Kind(NamedTuple):
    """A quantity as files have it."""

    what: str
    names: tuple[str, ...]  # of variables: those of ERA5, old and new, and usual ones
    standard_names: tuple[str, ...]
    units: dict[str, float]
    most: float  # that is believed, in SI units
    unit: str


_SPEEDS = {"m s-1": 1.0, "m/s": 1.0, "m s**-1": 1.0}
KINDS = {
    "rain": Kind(
        "rain", ("tp", "mtpr", "avg_tprate", "rain", "precip"),
        ("rainfall_rate", "rainfall_flux", "precipitation_flux", "lwe_precipitation_rate", "precipitation_amount",
         "lwe_thickness_of_precipitation_amount", "rainfall_amount"), RAIN_UNITS, 1e-3, "m/s",
    ),
    "wind_x": Kind("wind along x", ("u10", "10u", "wind10_u"), ("eastward_wind", "x_wind"), _SPEEDS, 120.0, "m/s"),
    "wind_y": Kind("wind along y", ("v10", "10v", "wind10_v"), ("northward_wind", "y_wind"), _SPEEDS, 120.0, "m/s"),
    "pressure": Kind(
        "pressure", ("msl", "press_msl", "mslp", "slp"),
        ("air_pressure_at_mean_sea_level", "air_pressure_at_sea_level"), {"Pa": 1.0, "hPa": 100.0, "mbar": 100.0},
        1.1e5, "Pa",
    ),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Weather:
    """Fields of a file; None for what it does not have or was not asked for."""

    rain: MovingField | None = None
    wind_x: MovingField | None = None
    wind_y: MovingField | None = None
    pressure: MovingField | None = None


def read_weather(
    path: str | os.PathLike[str],
    grid: Grid,
    *,
    variables: dict[str, str] | None = None,
    leave_out: tuple[str, ...] = (),
    crs: str | None = None,
    start: str | date | None = None,
) -> Weather:
    """Fields of rain, wind and pressure in a NetCDF file; records are read when a run comes to them.

    Parameters
    ----------
    path : path-like
        A time (of any name), and x and y or longitude (-180 to 180 or 0 to 360) and latitude in either order.
        Values may be packed (scale_factor, add_offset).
    grid : Grid
        Of the model. Its `crs` is needed where the file is in longitude and latitude or another system.
    variables : dict, optional
        Names of variables by "rain", "wind_x", "wind_y" and "pressure"; those of ERA5 (tp, mtpr, u10, v10, msl) and CF
        standard names are found without. Rain is a rate, or what fell since the record before.
    leave_out : tuple of str
        What not to read though the file has it.
    crs : str, optional
        Coordinate system of the file, if it does not say.
    start : date, optional
        Of model time 0; needed where the file's times are dates.

    Returns
    -------
    Weather
        m s-1, m s-1 and Pa; winds turned to the grid's axes.

    Raises
    ------
    InputError
        If nothing is found, the grid is not covered, a unit is not known, or dates have no `start`.

    Notes
    -----
    A mean or an amount over the time before a record counts at the middle of that time, and the first and the last
    one are held to the ends: over many records the sum that falls is the file's.
    """
    full = input_file(path, "weather")
    with open_netcdf(full, decode_timedelta=False) as dataset:
        found = {kind: _variable(dataset, kind, (variables or {}).get(kind), full) for kind in KINDS}
        found = {kind: name for kind, name in found.items() if name is not None and kind not in leave_out}
        if ("wind_x" in found) != ("wind_y" in found):
            raise InputError(f"{full}: one component of the wind", allowed="both, or none", fix='wind = ["u10", "v10"]')
        if not found:
            names = listing([str(name) for name in dataset.data_vars], 12)
            raise InputError(f"{full}: no rain, wind or pressure among {names}", allowed="names of ERA5 or of CF")
        kept = _kept_open(full)
        made = {kind: _field(dataset, kept, kind, name, full, grid, crs, start) for kind, name in found.items()}
    if "wind_x" in made:
        made["wind_x"], made["wind_y"] = turned(made["wind_x"], made["wind_y"])
    return Weather(**{kind: field for kind, (field, _) in made.items()})


Made = tuple[MovingField, Lattice]


def turned(east: Made, north: Made) -> tuple[Made, Made]:
    """Winds along the grid's axes from those along the axes of the file."""
    lattice = east[1]
    if lattice.directions is None:
        return east, north
    along_x, along_y = lattice.directions

    def component(axis: int, like: MovingField) -> MovingField:
        def read(k: int) -> np.ndarray:
            return along_x[axis] * east[0].read(k) + along_y[axis] * north[0].read(k)

        return MovingField(like.instants, like.nodes, read, like.name, like.most, like.unit)

    return (component(0, east[0]), lattice), (component(1, north[0]), lattice)


def _variable(dataset: Any, kind: str, asked: str | None, path: Path) -> str | None:
    """Name of a variable in a file: the one that was asked for, or one of a known name or standard name."""
    held = {str(name): array for name, array in dataset.data_vars.items()}
    if asked is not None:
        choose(asked, list(held), f"{path}: {kind}", f'{kind} = "{{}}"')
        return asked
    known = KINDS[kind]
    for name in known.names:
        if name in held:
            return name
    fitting = [name for name, one in held.items() if str(one.attrs.get("standard_name", "")) in known.standard_names]
    if len(fitting) > 1:
        raise InputError(f"{path}: {listing(fitting)} for {known.what}", allowed="one", fix=f'{kind} = "{fitting[0]}"')
    return fitting[0] if fitting else None


def _kept_open(path: Path) -> Any:
    """The file for reading records one by one; it is closed with the last field that reads it."""
    import xarray

    return xarray.open_dataset(path, decode_times=False, decode_timedelta=False, cache=False)


def _field(
    dataset: Any, kept: Any, kind: str, name: str, path: Path, grid: Grid, crs: str | None, start: str | date | None
) -> Made:
    """The field of a variable, and how it lies on the grid."""
    known, array = KINDS[kind], dataset[name].squeeze(drop=True)
    axes = {axis: _axis(array, axis, path) for axis in "xy"}
    other = [str(one) for one in array.dims if one not in axes.values()]
    if len(other) != 1:
        raise InputError(f"{path}: {name} on {', '.join(map(str, array.dims))}", allowed="one time, one y and one x")
    degrees = is_degrees(array[axes["x"]])
    system = crs or crs_of(dataset, array) or ("OGC:CRS84" if degrees else None)
    x, y = (np.asarray(array[axes[axis]].values, np.float64) for axis in "xy")
    lattice = Lattice.of(x, y, degrees, system, grid, f"{path}: {name}")
    unit = " ".join(str(array.attrs.get("units", "")).split())
    choose(unit, known.units, f"{path}: {name} in", f'{name}:units = "{{}}"')
    times = _times(array[other[0]], path, start)
    records, scale = np.arange(times.size), np.full(times.size, known.units[unit])
    if kind == "rain" and (unit in AMOUNTS or _is_mean(array, name)):
        times, records, scale = spread(times, scale, unit in AMOUNTS, f"{path}: {name}")
    held = kept[name].squeeze(drop=True).transpose(other[0], axes["y"], axes["x"])

    def read(k: int) -> np.ndarray:
        values = lattice.at_nodes(held[{other[0]: int(records[k])}]) * scale[k]
        return np.maximum(values, 0.0) if kind == "rain" else values

    instants = Instants(times, str(path))
    return MovingField(instants, lattice.nodes, read, known.what, known.most, known.unit), lattice


def spread(times: np.ndarray, scale: np.ndarray, amounts: bool, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, records and factors of means over the time before each record: at the middles, held to both ends."""
    if times.size < 2:
        raise InputError(f"{what} of {times.size} record", allowed="two or more")
    lengths = np.diff(times, prepend=2.0 * times[0] - times[1])
    middles = times - 0.5 * lengths
    records = np.concatenate([[0], np.arange(times.size), [times.size - 1]])
    rates = scale / lengths if amounts else scale
    return np.concatenate([[times[0] - lengths[0]], middles, [times[-1]]]), records, rates[records]


def _is_mean(array: Any, name: str) -> bool:
    methods = str(array.attrs.get("cell_methods", ""))
    return name in ("mtpr", "avg_tprate") or "time: mean" in methods


def _axis(array: Any, axis: str, path: Path) -> str:
    """Name of the x or the y dimension."""
    fitting = [str(name) for name in array.dims if name in array.coords and is_axis(array.coords[name], axis)]
    if len(fitting) != 1:
        raise InputError(
            f"{path}: {array.name} without one {axis} among {', '.join(map(str, array.dims))}",
            allowed="one-dimensional x and y, or longitude and latitude",
        )
    return fitting[0]


def _times(coordinate: Any, path: Path, start: str | date | None) -> np.ndarray:
    """Times of records, s of the model."""
    values = np.asarray(coordinate.values)
    if values.dtype.kind == "M":
        if start is None:
            first = str(values[0])[:19]
            raise InputError(
                f"{path}: dates (from {first} on), and nothing says the date of model time 0",
                allowed="start_date in [run]", fix=f"start_date = {first}",
            )  # fmt: skip
        origin = parse_date(start) if isinstance(start, str) else datetime.fromisoformat(start.isoformat())
        if origin is None:
            raise InputError(f"start = {start!r}", allowed="an ISO date", fix='start = "2026-01-31T12:00:00"')
        return (values - np.datetime64(origin)) / np.timedelta64(1, "s")
    if values.dtype.kind not in "fiu":
        raise InputError(f"{path}: times of type {values.dtype}", allowed="numbers, or dates of the usual calendar")
    unit = str(coordinate.attrs.get("units", "s"))
    return values.astype(np.float64) * seconds_per_unit(f"{coordinate.name} ({unit})", path)
