"""Rain, wind, pressure and wind stress over time from CF NetCDF files and ERA5 files, on their own grids."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from eagre.arguments import find_fill, is_fill
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.files import choose, input_file, listing, reading
from eagre.io.netcdf_attributes import crs_of, metres_of, true_degrees, without_invalid
from eagre.io.rasters.lattice import Lattice, reprojected
from eagre.io.rasters.netcdf_raster import is_axis, is_degrees, kept_open, open_netcdf
from eagre.io.rasters.raster import parse_crs
from eagre.io.weather import records as units
from eagre.io.weather.records import MIN_RAIN, Kind, RecordSeries, bounds_of, joined, model_bounds, model_times
from eagre.time_varying.fields import TimeVaryingField

VERSIONS = "expver"
"""Dimension of ERA5 files with final and provisional (ERA5T) data: one version has values, the other is missing."""
MEANS = ("mtpr", "avg_tprate", "metss", "mntss", "avg_iews", "avg_inss")
"""ERA5 variables that are means over the period before a record."""


KINDS = {
    "rain": Kind(
        "rain", ("tp", "mtpr", "avg_tprate", "rain", "precip"),
        ("rainfall_rate", "rainfall_flux", "precipitation_flux", "lwe_precipitation_rate", "precipitation_amount",
         "lwe_thickness_of_precipitation_amount", "rainfall_amount"), units.RAIN, "rain",
        MIN_RAIN,
    ),
    "wind_x": Kind("wind along x", ("u10", "10u", "wind10_u"), ("eastward_wind", "x_wind"), units.SPEED, "wind"),
    "wind_y": Kind("wind along y", ("v10", "10v", "wind10_v"), ("northward_wind", "y_wind"), units.SPEED, "wind"),
    "pressure": Kind(
        "pressure", ("msl", "press_msl", "mslp", "slp"),
        ("air_pressure_at_mean_sea_level", "air_pressure_at_sea_level"), units.PRESSURE,
        "air_pressure",
    ),
    "stress_x": Kind(
        "stress along x", ("iews", "metss", "avg_iews", "ewss", "tauuo", "tauu", "taux"),
        ("surface_downward_eastward_stress", "surface_downward_x_stress",
         "downward_eastward_stress_at_sea_water_surface", "downward_x_stress_at_sea_water_surface"),
        units.STRESS, "wind_stress",
    ),
    "stress_y": Kind(
        "stress along y", ("inss", "mntss", "avg_inss", "nsss", "tauvo", "tauv", "tauy"),
        ("surface_downward_northward_stress", "surface_downward_y_stress",
         "downward_northward_stress_at_sea_water_surface", "downward_y_stress_at_sea_water_surface"),
        units.STRESS, "wind_stress",
    ),
}  # fmt: skip


VECTORS = {"wind": ("u10", "v10"), "stress": ("ewss", "nsss")}


@dataclass(frozen=True, eq=False)
class Weather:
    """Fields of weather files; None for quantities that the files do not have or that were left out."""

    rain: TimeVaryingField | None = None
    wind_x: TimeVaryingField | None = None
    wind_y: TimeVaryingField | None = None
    pressure: TimeVaryingField | None = None
    stress_x: TimeVaryingField | None = None
    stress_y: TimeVaryingField | None = None


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
    """Open fields of rain, wind and pressure in NetCDF files; the run reads each record when it needs it.

    Parameters
    ----------
    path : path-like, or a sequence of them
        Files with a time (of any name), and x and y or longitude (-180 to 180 or 0 to 360) and latitude in either
        order. Values may be packed (scale_factor, add_offset). Several files hold different quantities, such as
        amounts and instantaneous values, or consecutive times of one quantity, such as months, in any order.
    grid : Grid
        Grid of the model. Its `crs` is required if the file is in longitude and latitude or another coordinate system.
    variables : dict, optional
        Names of variables by "rain", "wind_x", "wind_y", "pressure", "stress_x" and "stress_y". The names of ERA5 (tp,
        mtpr, u10, v10, msl, iews, inss, metss, mntss, ewss, nsss) and CF standard names are known. Rain is a rate, or
        the amount since the previous record. Stress is the wind stress on the water, or its sum over that period.
    leave_out : tuple of str
        Quantities that are not read even if the file has them.
    crs : str, optional
        Coordinate system of files that do not declare one.
    start : date, optional
        Date of model time 0; required if the times of the file are dates.
    nodata : float, optional
        Substitute for missing values of all quantities except pressure, in SI units: 0 for a stress without values over
        land.

    Returns
    -------
    Weather
        m s-1, m s-1, Pa and N m-2; winds and stresses along the axes of the grid.

    Raises
    ------
    InputError
        If a file has no known variable, files of one quantity overlap in time or have a gap, a field does not cover the
        grid, a unit is unknown, `crs` differs from the file, or dates have no `start`. When a record is read: if values
        are missing or implausible.

    Notes
    -----
    A mean or an amount over a period (between the bounds of a record, or since the previous record) is assigned to the
    middle of the period. The first and the last value are held constant to the ends, so that over many records
    the total equals the total of the file.
    """
    files = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    requested, series_by_kind = dict(variables or {}), dict[str, list[RecordSeries]]()
    for number, file in enumerate(files, 1):
        source = _Source(input_file(file, "weather"), grid, crs, start, nodata)
        owed = {kind for kind in requested if kind not in series_by_kind} if number == len(files) else set[str]()
        for kind, one_series in _read_file(source, requested, owed, leave_out).items():
            series_by_kind.setdefault(kind, []).append(one_series)
    return Weather(**{kind: joined(series, KINDS[kind]) for kind, series in series_by_kind.items()})


def _read_file(
    source: _Source, requested: dict[str, str], owed: set[str], leave_out: tuple[str, ...]
) -> dict[str, RecordSeries]:
    """Return the quantities of a file by kind; names in `requested` may be missing from it, names in `owed` may not."""
    full = source.path
    with open_netcdf(full, decode_timedelta=False) as dataset:
        named = {kind: name for kind, name in requested.items() if kind in owed or name in dataset.data_vars}
        kinds = [kind for kind in KINDS if kind not in leave_out and (kind in named or kind not in requested)]
        names_by_kind = {kind: _variable(dataset, kind, named.get(kind), full) for kind in kinds}
        names_by_kind = {kind: name for kind, name in names_by_kind.items() if name is not None}
        for vector, names in VECTORS.items():
            if (f"{vector}_x" in names_by_kind) != (f"{vector}_y" in names_by_kind):
                got = f"{full}: one component of the {vector}"
                raise InputError(
                    got,
                    allowed="both components, or none",
                    fix=f'{vector} = ["{names[0]}", "{names[1]}"]',
                    problem=f"The file {full} has only one component of the {vector}.",
                )
        if not names_by_kind:
            names = listing([str(name) for name in dataset.data_vars], 12)
            sought = listing([KINDS[kind].what for kind in KINDS if kind not in leave_out])
            raise InputError(
                f"{full}: no {sought} among {names}",
                allowed="variable names of ERA5 or standard names of CF",
                problem=f"The file {full} has no variable for {sought}.",
            )
        open_file = kept_open(full)
        variables = {kind: _part(source, dataset, open_file, kind, name) for kind, name in names_by_kind.items()}
    for x, y in ((f"{vector}_x", f"{vector}_y") for vector in VECTORS):
        if x in variables:
            variables[x], variables[y] = along_grid_axes(variables[x], variables[y])
    return {kind: series for kind, (series, _) in variables.items()}


SeriesOnLattice = tuple[RecordSeries, Lattice]


def along_grid_axes(east: SeriesOnLattice, north: SeriesOnLattice) -> tuple[SeriesOnLattice, SeriesOnLattice]:
    """Winds along the grid's axes from those along the axes of the file."""
    lattice = east[1]
    if lattice.directions is None:
        return east, north
    along_x, along_y = lattice.directions

    def component(axis: int, like: RecordSeries) -> RecordSeries:
        def read(k: int, factor: float) -> np.ndarray:
            return along_x[axis] * east[0].read(k, factor) + along_y[axis] * north[0].read(k, factor)

        return like._replace(read=read)

    return (component(0, east[0]), lattice), (component(1, north[0]), lattice)


def _variable(dataset: Any, kind: str, requested: str | None, path: Path) -> str | None:
    """Return the name of a variable in a file: the requested name, or a known name or standard name."""
    held = {str(name): array for name, array in dataset.data_vars.items()}
    if requested is not None:
        choose(requested, list(held), f"{path}: {kind}", f'{kind} = "{{}}"')
        return requested
    known = KINDS[kind]
    for name in known.names:
        if name in held:
            return name
    fitting = [name for name, one in held.items() if str(one.attrs.get("standard_name", "")) in known.standard_names]
    if len(fitting) > 1:
        raise InputError(
            f"{path}: {listing(fitting)} for {known.what}",
            allowed="one variable",
            fix=f'{kind} = "{fitting[0]}"',
            problem=f"The file {path} has several variables for {known.what}.",
        )
    return fitting[0] if fitting else None


class _Source(NamedTuple):
    """A file and the options with which it is read."""

    path: Path
    grid: Grid
    crs: str | None
    start: str | date | None
    nodata: float | None


def _part(source: _Source, dataset: Any, open_file: Any, kind: str, name: str) -> SeriesOnLattice:
    """Return a variable, read record by record, and its grid position; open_file : the file, open for its records."""
    path = source.path
    known, lone = KINDS[kind], _lone(dataset[name])
    array = dataset[name].squeeze(lone, drop=True)
    axes = {axis: _axis(array, axis, path) for axis in "xy"}
    other = [str(one) for one in array.dims if one not in (*axes.values(), VERSIONS)]
    if len(other) != 1:
        raise InputError(
            f"{path}: {name} on {', '.join(map(str, array.dims))}", allowed="the dimensions time, y and x",
            fix=_one_of_each(array, other, path),
            problem=f"The variable {name} in {path} does not have the dimensions time, y and x.",
        )  # fmt: skip
    if other[0] not in dataset.coords:
        got = f"{path}: {name} over {other[0]} without coordinate values"
        raise InputError(
            got,
            allowed="a coordinate of times",
            fix=f'{other[0]}:units = "hours since 2026-01-31"',
            problem=f"The dimension {other[0]} of {path} has no coordinate values.",
        )
    lattice = _lattice(source, dataset, array, axes)
    unit = " ".join(str(array.attrs.get("units", "")).split())
    read = units.read_unit(unit, known.units, f"{path}: {name}")
    coordinate = dataset[other[0]]
    has_bounds = bounds_of(dataset, coordinate) is not None
    amounts = read.is_amount
    means = not amounts and (read.is_mean or _counts_over_time(dataset[name], name, kind, has_bounds))
    times = model_times(coordinate, path, source.start)
    bounds = model_bounds(dataset, coordinate, path, source.start) if amounts or means else None
    held = open_file[name].squeeze(lone, drop=True).transpose(other[0], ..., axes["y"], axes["x"])

    def record(k: int, factor: float) -> np.ndarray:
        scale = read.factor * factor
        missing = None if source.nodata is None or kind == "pressure" else source.nodata / scale
        here = f"{name}, record {k + 1}"
        trusted = partial(_trusted, variable=open_file[name], what=f"{path}: {here}")
        with reading(path, "weather file", f"record {k + 1} of the variable {name}"):
            return lattice.at_nodes(_version(held[{other[0]: k}], here, path), missing, trusted, kind == "rain") * scale

    return RecordSeries(path, name, times, bounds, amounts, means, lattice.nodes, record), lattice


def _trusted(record: Any, variable: Any, what: str) -> np.ndarray:
    """Return values of a record, NaN outside of the valid range; raise `InputError` for undeclared fill values."""
    values = without_invalid(record.values, variable)
    fill = find_fill(values[np.isfinite(values)])
    if fill is not None:
        count = int(is_fill(values, fill).sum())
        raise InputError(
            f"{what}: the value {fill:g} at {count} of {values.size} points",
            allowed="values in a plausible range, and a declared fill value",
            fix=f"ncatted -a _FillValue,{variable.name},o,f,{fill:g} old.nc new.nc",
            problem=f"The file holds {fill:g}, a usual fill value of missing data, which it does not declare.",
        )
    return values


def _version(record: Any, what: str, path: Path) -> Any:
    """Return a record on y and x; of final and provisional data (`VERSIONS`) the version with values."""
    if VERSIONS not in record.dims:
        return record
    there = [k for k in range(record.sizes[VERSIONS]) if np.isfinite(record[{VERSIONS: k}].values).any()]
    if len(there) > 1:
        raise InputError(
            f"{path}: {what} with data for {len(there)} values of {VERSIONS}",
            allowed=f"data for one {VERSIONS} at each time: final or provisional data of ERA5",
            fix=f'xarray.open_dataset("{path.name}").isel({VERSIONS}=0).to_netcdf("new.nc")',
            problem=f"A record of {path} has values for several versions of the data.",
        )
    return record[{VERSIONS: there[0] if there else 0}]


def _one_of_each(array: Any, other: Sequence[str], path: Path) -> str:
    """Return a correction for a variable with additional dimensions: select the first value of each except time."""
    more = [name for name in other if name not in array.coords or array.coords[name].dtype.kind != "M"]
    if len(other) - len(more) != 1:
        return ""
    first = ", ".join(f"{name}=0" for name in more)
    return f'xarray.open_dataset("{path.name}").isel({first}).to_netcdf("new.nc")'


def _lone(array: Any) -> list[str]:
    """Return dimensions of length 1 without meaning; a single time remains as a record."""
    lone = [str(name) for name in array.dims if array.sizes[name] == 1]
    times = [name for name in lone if name in array.coords and array.coords[name].dtype.kind == "M"]
    record = times[:1] if array.ndim - len(lone) < 3 else []
    return [name for name in lone if name not in record]


def _lattice(source: _Source, dataset: Any, array: Any, axes: dict[str, str]) -> Lattice:
    """Return the position of a variable on the grid, with its vector direction: true north or the axes of the file."""
    path, degrees = source.path, is_degrees(array[axes["x"]])
    said = crs_of(dataset, array, path)
    x, y = (_coordinate_values(array[axes[axis]], axis, degrees, path) for axis in "xy")
    if source.crs is not None and said is not None:
        _check_system(source.crs, said, x, y, f"{path}: {array.name}")
    system = source.crs or said
    if degrees and system is None:
        system = true_degrees(array[axes["x"]], path)
    name_parts = str(array.attrs.get("standard_name", "")).split("_")
    true_north = name_parts[0] != "grid" and bool({"eastward", "northward"} & set(name_parts))
    return Lattice.of(x, y, degrees, system, source.grid, f"{path}: {array.name}", true_north)


def _check_system(crs: str, said: Any, x: np.ndarray, y: np.ndarray, what: str) -> None:
    """Raise `InputError` if `crs` moves a corner of the file's system by more than 1 % of the spacing."""
    corners = np.array([x[0], x[-1], x[0], x[-1]]), np.array([y[0], y[0], y[-1], y[-1]])
    for there, here, values in zip(reprojected(said, parse_crs(crs), *corners), corners, (x, y), strict=True):
        period = 360.0 if said.is_geographic else np.inf
        apart = np.abs(there - here)
        if not np.minimum(apart, np.abs(apart - period)).max() <= 0.01 * np.abs(np.diff(values)).min(initial=np.inf):
            raise InputError(
                f"crs = {crs!r} for {what} in {said.to_string()[:100]}",
                allowed="the coordinate system of the file, or no crs",
                problem="The key crs differs from the coordinate system of the file.",
            )


def _counts_over_time(array: Any, name: str, kind: str, has_bounds: bool) -> bool:
    """Return whether values are means over a period: by name, or by a cell method with a known period.

    Without bounds the period is the time since the previous record for rain, and unknown for other quantities.
    """
    methods = str(array.attrs.get("cell_methods", "")).replace(" ", "")
    return name in MEANS or ("time:mean" in methods and (has_bounds or kind == "rain"))


def _coordinate_values(coordinate: Any, axis: str, degrees: bool, path: Path) -> np.ndarray:
    """Return coordinates in m or degrees; longitudes continue past 180."""
    if not degrees:
        return metres_of(coordinate, path)
    values = np.asarray(coordinate.values, np.float64)
    return np.unwrap(values, period=360.0) if axis == "x" else values


def _axis(array: Any, axis: str, path: Path) -> str:
    """Return the name of the x or the y dimension."""
    fitting = [str(name) for name in array.dims if name in array.coords and is_axis(array.coords[name], axis)]
    if len(fitting) != 1:
        raise InputError(
            f"{path}: {array.name} without one {axis} coordinate on {', '.join(map(str, array.dims))}",
            allowed="one-dimensional x and y, or longitude and latitude",
            problem=f"The variable {array.name} in {path} does not have one {axis} coordinate.",
        )
    return fitting[0]
