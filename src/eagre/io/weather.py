"""Rain, wind, pressure and stress of the wind over time from CF NetCDF files and those of ERA5, on their own grid."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.files import choose, input_file, listing
from eagre.io.grid_mapping import crs_of, metres_of, true_degrees
from eagre.io.lattice import Lattice
from eagre.io.netcdf_raster import is_axis, is_degrees, kept_open, open_netcdf
from eagre.io.record_times import bounds_of, record_times
from eagre.moving import Instants, MovingField

RAIN_UNITS = {
    "m s-1": 1.0, "m/s": 1.0, "mm s-1": 1e-3, "mm/s": 1e-3, "kg m-2 s-1": 1e-3, "kg m**-2 s**-1": 1e-3,
    "mm h-1": 1e-3 / 3600, "mm/h": 1e-3 / 3600, "mm/hr": 1e-3 / 3600, "mm hr-1": 1e-3 / 3600, "mm d-1": 1e-3 / 86400,
    "mm/day": 1e-3 / 86400, "m": 1.0, "mm": 1e-3, "kg m-2": 1e-3, "kg m**-2": 1e-3,
}  # fmt: skip
STRESS_UNITS = {
    "N m-2": 1.0, "N/m2": 1.0, "N m**-2": 1.0, "Pa": 1.0, "kg m-1 s-2": 1.0,
    "N m**-2 s": 1.0, "N m-2 s": 1.0, "Pa s": 1.0,
}  # fmt: skip
AMOUNTS = ("m", "mm", "kg m-2", "kg m**-2", "N m**-2 s", "N m-2 s", "Pa s")
"""Units of what came in since the record before."""
LEAST_RAIN = 3e-8
"""Rain below minus this is no rounding: 0.1 mm/h, m s-1."""
MEANS = ("mtpr", "avg_tprate", "metss", "mntss", "avg_iews", "avg_inss")
"""Variables of ERA5 that are means over the time before a record."""


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
    "stress_x": Kind(
        "stress along x", ("iews", "metss", "avg_iews", "ewss", "tauuo", "tauu", "taux"),
        ("surface_downward_eastward_stress", "surface_downward_x_stress",
         "downward_eastward_stress_at_sea_water_surface", "downward_x_stress_at_sea_water_surface"),
        STRESS_UNITS, 20.0, "N/m2",
    ),
    "stress_y": Kind(
        "stress along y", ("inss", "mntss", "avg_inss", "nsss", "tauvo", "tauv", "tauy"),
        ("surface_downward_northward_stress", "surface_downward_y_stress",
         "downward_northward_stress_at_sea_water_surface", "downward_y_stress_at_sea_water_surface"),
        STRESS_UNITS, 20.0, "N/m2",
    ),
}  # fmt: skip


VECTORS = {"wind": ("u10", "v10"), "stress": ("ewss", "nsss")}


@dataclass(frozen=True, eq=False)
class Weather:
    """Fields of a file; None for what it does not have or was not asked for."""

    rain: MovingField | None = None
    wind_x: MovingField | None = None
    wind_y: MovingField | None = None
    pressure: MovingField | None = None
    stress_x: MovingField | None = None
    stress_y: MovingField | None = None


def read_weather(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    grid: Grid,
    *,
    variables: dict[str, str] | None = None,
    leave_out: tuple[str, ...] = (),
    crs: str | None = None,
    start: str | date | None = None,
    nodata: float | None = None,
) -> Weather:
    """Fields of rain, wind and pressure in NetCDF files; records are read when a run comes to them.

    Parameters
    ----------
    path : path-like, or a sequence of them
        A time (of any name), and x and y or longitude (-180 to 180 or 0 to 360) and latitude in either order.
        Values may be packed (scale_factor, add_offset). Each of several files has quantities of its own, such as one
        of amounts and one of instants.
    grid : Grid
        Of the model. Its `crs` is needed where the file is in longitude and latitude or another system.
    variables : dict, optional
        Names of variables by "rain", "wind_x", "wind_y", "pressure", "stress_x" and "stress_y"; those of ERA5 (tp,
        mtpr, u10, v10, msl, iews, inss, metss, mntss, ewss, nsss) and CF standard names are found without. Rain is a
        rate, or what fell since the record before; stress is that of the wind on the water, or its sum over that time.
    leave_out : tuple of str
        What not to read though the file has it.
    crs : str, optional
        Coordinate system of the file, if it does not say.
    start : date, optional
        Of model time 0; needed where the file's times are dates.
    nodata : float, optional
        What stands for missing values of all but pressure, in SI units: 0 for a stress that is not there over land.

    Returns
    -------
    Weather
        m s-1, m s-1, Pa and N m-2; winds and stresses turned to the grid's axes.

    Raises
    ------
    InputError
        If nothing is found in a file, two have the same, the grid is not covered, a unit is not known, or dates have no
        `start`; when it is read, for values that are missing or cannot be.

    Notes
    -----
    A mean or an amount over a time, that between the bounds of a record or that since the record before, counts at the
    middle of it, and the first and the last one are held to the ends: over many records the sum is the file's.
    """
    files = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    wanted, made, whence = dict(variables or {}), {}, {}
    for number, file in enumerate(files, 1):
        full = input_file(file, "weather")
        source = _Source(full, grid, crs, start, nodata, last=number == len(files))
        found = _read_file(source, wanted, leave_out)
        for kind in found:
            if kind in made:
                got = f"{KINDS[kind].what} in {whence[kind]} and in {full}"
                raise InputError(got, allowed="a quantity in one file, or the name of one that the other has not")
            whence[kind] = full
        named = [kind for kind in found if wanted.pop(kind, None) is not None]
        leave_out = (*leave_out, *named)  # a name that was asked for is not looked for any more
        made |= found
    return Weather(**made)


def _read_file(source: _Source, wanted: dict[str, str], leave_out: tuple[str, ...]) -> dict[str, MovingField]:
    """Fields of a file by kind; a name in `wanted` that it does not have may be in a later file."""
    full = source.path
    with open_netcdf(full, decode_timedelta=False) as dataset:
        asked = wanted if source.last else {kind: name for kind, name in wanted.items() if name in dataset.data_vars}
        kinds = [kind for kind in KINDS if kind not in leave_out and (kind in asked or kind not in wanted)]
        found = {kind: _variable(dataset, kind, asked.get(kind), full) for kind in kinds}
        found = {kind: name for kind, name in found.items() if name is not None}
        for vector, names in VECTORS.items():
            if (f"{vector}_x" in found) != (f"{vector}_y" in found):
                got = f"{full}: one component of the {vector}"
                raise InputError(got, allowed="both, or none", fix=f'{vector} = ["{names[0]}", "{names[1]}"]')
        if not found:
            names = listing([str(name) for name in dataset.data_vars], 12)
            sought = listing([KINDS[kind].what for kind in KINDS if kind not in leave_out])
            raise InputError(f"{full}: no {sought} among {names}", allowed="names of ERA5 or of CF")
        kept = kept_open(full)
        made = {kind: _field(source, dataset, kept, kind, name) for kind, name in found.items()}
    for x, y in ((f"{vector}_x", f"{vector}_y") for vector in VECTORS):
        if x in made:
            made[x], made[y] = turned(made[x], made[y])
    return {kind: field for kind, (field, _) in made.items()}


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


class _Source(NamedTuple):
    """A file, and how it is read."""

    path: Path
    grid: Grid
    crs: str | None
    start: str | date | None
    nodata: float | None
    last: bool  # of several


def _field(source: _Source, dataset: Any, kept: Any, kind: str, name: str) -> Made:
    """The field of a variable, and how it lies on the grid; kept : the file, open for its records."""
    path = source.path
    known, array = KINDS[kind], dataset[name].squeeze(drop=True)
    axes = {axis: _axis(array, axis, path) for axis in "xy"}
    other = [str(one) for one in array.dims if one not in axes.values()]
    if len(other) != 1:
        raise InputError(f"{path}: {name} on {', '.join(map(str, array.dims))}", allowed="one time, one y and one x")
    if other[0] not in dataset.coords:
        got = f"{path}: {name} over {other[0]}, of which the file has no values"
        raise InputError(got, allowed="a coordinate of times", fix=f'{other[0]}:units = "hours since 2026-01-31"')
    lattice = _lattice(source, dataset, array, axes)
    unit = " ".join(str(array.attrs.get("units", "")).split())
    choose(unit, known.units, f"{path}: {name} in", f'{name}:units = "{{}}"')
    has_bounds = bounds_of(dataset, dataset[other[0]]) is not None
    means = _counts_over_time(dataset[name], name, kind, has_bounds)
    times, records, factors = record_times(dataset, dataset[other[0]], unit in AMOUNTS, means, path, source.start)
    held = kept[name].squeeze(drop=True).transpose(other[0], axes["y"], axes["x"])

    def read(k: int) -> np.ndarray:
        factor = known.units[unit] * factors[k]
        missing = None if source.nodata is None or kind == "pressure" else source.nodata / factor
        values = lattice.at_nodes(held[{other[0]: int(records[k])}], missing) * factor
        return _no_less_than_dry(values, f"{path}: {name} at t = {times[k]:g} s") if kind == "rain" else values

    instants = Instants(times, str(path))
    return MovingField(instants, lattice.nodes, read, known.what, known.most, known.unit), lattice


def _lattice(source: _Source, dataset: Any, array: Any, axes: dict[str, str]) -> Lattice:
    """How a variable lies on the grid, and where its components point: to the true north, or along the file's axes."""
    path, degrees = source.path, is_degrees(array[axes["x"]])
    system = source.crs or crs_of(dataset, array, path)
    if degrees and system is None:
        system = true_degrees(array[axes["x"]], path)
    x, y = (_places(array[axes[axis]], axis, degrees, path) for axis in "xy")
    words = str(array.attrs.get("standard_name", "")).split("_")
    true_north = words[0] != "grid" and bool({"eastward", "northward"} & set(words))
    return Lattice.of(x, y, degrees, system, source.grid, f"{path}: {array.name}", true_north)


def _counts_over_time(array: Any, name: str, kind: str, has_bounds: bool) -> bool:
    """Whether values are means over a time: by name, or by a cell method, where the file or the kind says which time.

    Without bounds that is the time before each record for what falls or flows in, and not known of wind and pressure.
    """
    methods = str(array.attrs.get("cell_methods", "")).replace(" ", "")
    return name in MEANS or ("time:mean" in methods and (has_bounds or kind == "rain"))


def _places(coordinate: Any, axis: str, degrees: bool, path: Path) -> np.ndarray:
    """Coordinates in m, or in degrees: longitudes that go on past 180."""
    if not degrees:
        return metres_of(coordinate, path)
    values = np.asarray(coordinate.values, np.float64)
    return np.unwrap(values, period=360.0) if axis == "x" else values


def _no_less_than_dry(rain: np.ndarray, what: str) -> np.ndarray:
    """Rain, m s-1, without the small negative values that packing makes."""
    if (least := np.nanmin(rain, initial=0.0)) < -LEAST_RAIN:
        got = f"{what} comes to {3.6e6 * least:.3g} mm/h"
        raise InputError(got, allowed="0 or more (missing values marked as such)")
    return np.maximum(rain, 0.0)


def _axis(array: Any, axis: str, path: Path) -> str:
    """Name of the x or the y dimension."""
    fitting = [str(name) for name in array.dims if name in array.coords and is_axis(array.coords[name], axis)]
    if len(fitting) != 1:
        raise InputError(
            f"{path}: {array.name} without one {axis} among {', '.join(map(str, array.dims))}",
            allowed="one-dimensional x and y, or longitude and latitude",
        )
    return fitting[0]
