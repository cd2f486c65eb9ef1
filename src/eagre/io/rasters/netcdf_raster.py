"""Rasters in NetCDF files with one-dimensional coordinates, through xarray."""

from __future__ import annotations

import gc
import re
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.io.files import choose, listing, read_values
from eagre.io.netcdf_attributes import LENGTHS, ZONES, crs_of, true_degrees, without_invalid, without_zone
from eagre.io.rasters.raster import Around, Dem, metric_crs, parse_crs, refuse_degrees, rolled

UNLOCKED = {"locking": False}
"""HDF5 options, which must be equal for all readers of an open file."""
USUAL = ("standard", "gregorian", "proleptic_gregorian")
"""Supported calendars."""
SEARCHED = 1 << 22
"""Number of bytes at the beginning of an HDF5 file that `check_heaps` reads."""
OLD_YEARS = 1677
"""Last year for which xarray needs cftime to decode dates."""
_X_NAMES = ("x", "easting", "lon", "longitude", "x_corner")
_Y_NAMES = ("y", "northing", "lat", "latitude", "y_corner")


@contextmanager
def open_netcdf(path: Path, **options: Any) -> Iterator[Any]:
    """Open an xarray.Dataset; raise `InputError` for a file that cannot be read."""
    import h5py

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if not _is_classic(path):
                check_heaps(path)
                with h5py.File(path, "r", **UNLOCKED) as file:  # h5netcdf leaves an incomplete object if this fails
                    list(file.attrs)
            dataset = _with_dates(path, **options)
        except InputError:
            raise
        except (ValueError, OSError, RuntimeError, KeyError, TypeError, AttributeError, IndexError) as error:
            traceback.clear_frames(error.__traceback__)  # they refer to open objects, whose deletion prints warnings
            gc.collect(1)
            raise _unreadable(path, error) from error
    with dataset:
        try:
            yield bounds_aside(dataset)
        except (OSError, RuntimeError) as error:
            raise _unreadable(path, error) from error


def _with_dates(path: Path, decode_times: bool = True, **options: Any) -> Any:
    """Open an xarray.Dataset with dates in UTC; xarray alone ignores time zones without a sign."""
    import xarray

    dataset = xarray.open_dataset(path, decode_times=False, **_engine(path), **options)
    if not decode_times:
        return dataset
    try:
        for name, variable in dataset.variables.items():
            units = variable.attrs.get("units")
            if isinstance(units, str) and (utc := without_zone(units)) != units:
                if utc is None:
                    raise InputError(
                        f"{path}: {name} in {units!r}", allowed=f"a date with {ZONES}, or without a zone (UTC)",
                        problem="The time zone is not known.",
                    )  # fmt: skip
                variable.attrs["units"] = utc
        return xarray.decode_cf(dataset, mask_and_scale=False, decode_coords=False, **options)
    except BaseException:
        dataset.close()
        raise


def check_heaps(path: Path) -> None:
    """Raise `OSError` for an HDF5 file whose damage causes an endless loop in the library."""
    with path.open("rb") as file:
        head = file.read(SEARCHED)
    start = head.find(b"GCOL\x01")
    while start >= 0:
        _check_heap(head, start)
        start = head.find(b"GCOL\x01", start + 5)


def _check_heap(head: bytes, start: int) -> None:
    """Reject a global heap collection with an empty free object, which HDF5 reads again and again.

    HDF5 File Format Specification 3.0, section III.E: an object has 16 bytes of header (index, 2 bytes; references,
    2 bytes; 4 bytes; size, 8 bytes) and is padded to 8 bytes; object 0 is free space, and its size includes the header.
    """
    end = min(start + int.from_bytes(head[start + 8 : start + 16], "little"), len(head))
    offset = start + 16
    while offset + 16 <= end:
        index, size = (
            int.from_bytes(head[offset : offset + 2], "little"),
            int.from_bytes(head[offset + 8 : offset + 16], "little"),
        )
        if index == 0 and size == 0:
            raise OSError("a global heap collection is damaged")
        offset += size if index == 0 else 16 + -(-size // 8) * 8


def bounds_aside(dataset: Any) -> Any:
    """Return an xarray.Dataset with the bounds of its coordinates among the coordinates, because they are no fields."""
    named = {one.attrs.get("bounds") or one.encoding.get("bounds") for one in dataset.variables.values()}
    separated = dataset.set_coords([name for name in dataset.data_vars if name in named])
    separated.set_close(dataset.close)
    return separated


def kept_open(path: Path) -> Any:
    """Open a file whose records are read one by one; it is closed with its last reader."""
    import xarray

    return xarray.open_dataset(path, decode_times=False, decode_timedelta=False, cache=False, **_engine(path))


def _engine(path: Path) -> dict[str, Any]:
    """Return the options with which xarray opens a file; HDF5 files may be open several times."""
    return {} if _is_classic(path) else {"engine": "h5netcdf", "driver_kwds": UNLOCKED}


def _unreadable(path: Path, error: BaseException) -> InputError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    undecoded = re.match(r"unable to decode time units '(.*?)' with (?:.?calendar '(.*?)')?", text)
    if undecoded:
        return undated(path, *undecoded.groups())
    problem = f"The file {path} cannot be read as NetCDF: it is another file, damaged or incomplete ({text})."
    return InputError(f"{path}: not a NetCDF file that can be read", allowed="NetCDF 3 or 4", problem=problem)


def undated(path: Path, units: str, calendar: str | None) -> InputError:
    """Return the error for times that cannot be decoded: calendar (None: standard), reference date or unit."""
    if calendar not in (None, *USUAL):
        return InputError(
            f"{path}: times in the calendar {calendar}",
            allowed=f"dates of the calendar {USUAL[0]} or {USUAL[-1]}",
            fix=f'xarray.open_dataset("{path.name}").convert_calendar("standard", align_on="year").to_netcdf("new.nc")',
            problem=f"The calendar of the times in {path} is not supported.",
        )  # fmt: skip
    since = re.match(r"(?:day|d|hour|hr|h|min|sec|s)\w* since (\d{1,4})-", units)
    if since is None or int(since[1]) > OLD_YEARS:
        return InputError(
            f"{path}: times in {units!r}",
            allowed="seconds to days since a date",
            problem=f"The time units of {path} are not supported.",
        )
    got = f"{path}: times in {units!r} without the package cftime"
    return InputError(
        got,
        allowed=f"times since a date after {OLD_YEARS}, or with cftime",
        fix="pip install cftime",
        problem=f"The times of {path} require the package cftime.",
    )


def _is_classic(path: Path) -> bool:
    """Return True for NetCDF 3."""
    with path.open("rb") as file:
        return file.read(3) == b"CDF"


def read_netcdf_raster(
    path: Path,
    variable: str | None = None,
    names: Sequence[str] = (),
    record: int | None = None,
    around: Around | None = None,
) -> Dem:
    """Read one 2-D variable with its x and y.

    Parameters
    ----------
    path : Path
        The file. Fill values and values outside of the valid range become NaN; scale and offset are applied.
    variable : str, optional
        Name of the variable; required if the file has several two-dimensional variables.
    names : sequence of str
        Preferred names: a variable with one of these names is selected if there are several.
    record : int, optional
        Record of a variable with a time or another third dimension, from 1; -1 is the last.
    around : Around, optional
        Target: a raster in longitude and latitude or another coordinate system is read without conversion.

    Returns
    -------
    Dem
        Row 0 = south for any order in the file, values in the file's units.

    Raises
    ------
    InputError
        If no or several variables fit, the coordinates are missing, uneven or in degrees.
    """
    with open_netcdf(path, decode_times=False) as dataset:
        variable = _choose_variable(dataset, variable, names, path, record)
        array = dataset[variable]
        array = array if record is None else _at_record(array, record, path)
        array = array.squeeze(_lone(array), drop=True)
        y_name, x_name = _axes(array, path)
        array = array.transpose(y_name, x_name)
        attributes = dict(array.attrs)
        crs = crs_of(dataset, array, path)
        x, y = dataset[x_name], dataset[y_name]
        values = without_invalid(read_values(array, path, "NetCDF file"), dataset[variable])
        degrees = is_degrees(x)
        if degrees and around is None:
            midpoint = (float(np.mean(x.values)), float(np.mean(y.values)))
            refuse_degrees(str(path), midpoint, abs(float(x.values[-1] - x.values[0])) / max(x.size - 1, 1))
        if degrees:  # 179.5, -179.5 continues past 180
            x = x.copy(data=np.unwrap(x.values, period=360).astype(x.dtype))
        x0, dx, flip_x = _uniform(x, x_name, path, degrees)
        y0, dy, flip_y = _uniform(y, y_name, path, degrees)
    if degrees:
        crs, x0 = crs or parse_crs(true_degrees(x, path)), x0 - 360.0 * (x0 >= 180.0)
    values = np.where(np.isfinite(values), values, np.nan)[:: -1 if flip_y else 1, :: -1 if flip_x else 1]
    if degrees and around is not None:
        values, x0 = rolled(values, x0, dx, around)
    centre = (x0 + 0.5 * values.shape[1] * dx, y0 + 0.5 * values.shape[0] * dy)
    text = metric_crs(crs, str(path), centre, dx, around)
    units, positive = attributes.get("units") or None, _positive(attributes)
    return Dem(values, x0, y0, dx, dy, text, str(path), units, positive, variable)


def _positive(attributes: dict[str, Any]) -> str | None:
    """Return ``"up"`` or ``"down"`` if the file declares the direction of its values."""
    said = str(attributes.get("positive", "")).lower()
    if said in ("up", "down"):
        return said
    return "down" if str(attributes.get("standard_name", "")).startswith("sea_floor_depth_below") else None


def _at_record(array: Any, record: int, path: Path) -> Any:
    """Return one record of a three-dimensional array, along the dimension that is not x or y."""
    other = [str(name) for name in array.dims if not any(_is_axis_name(array, name, axis) for axis in "xy")]
    if len(other) != 1:
        dims = ", ".join(map(str, array.dims))
        raise InputError(
            f"record = {record} of {array.name} on {dims} in {path}",
            allowed="a variable with one dimension besides x and y",
            problem=f"The variable {array.name} in {path} does not have exactly one dimension besides x and y.",
        )
    count = array.sizes[other[0]]
    if record == 0 or not -count <= record <= count:
        raise InputError(
            f"record = {record}",
            allowed=f"1 to {count} in {path}, or -1 for the last",
            fix="record = -1",
            problem=f"The file {path} has no record {record}.",
        )
    return array.isel({other[0]: record - 1 if record > 0 else record})


def _is_axis_name(array: Any, name: Any, axis: str) -> bool:
    return name in array.coords and is_axis(array.coords[name], axis)


def _choose_variable(
    dataset: Any, requested: str | None, names: Sequence[str], path: Path, record: int | None = None
) -> str:
    """Return the name of the variable to read: two-dimensional, or three-dimensional with `record`."""
    max_dimensions = 2 if record is None else 3
    fitting = [
        str(name)
        for name, array in dataset.data_vars.items()
        if (array.ndim - len(_lone(array)) == 2 or array.ndim == max_dimensions) and array.dtype.kind in "fiu"
    ]
    if record is None and (over_time := [str(name) for name, array in dataset.data_vars.items() if array.ndim == 3]):
        name = requested if requested in over_time else None if requested or fitting else over_time[0]
        if name is not None and name not in fitting:
            got = f"{path}: {name} on {', '.join(map(str, dataset[name].dims))}"
            raise InputError(
                got,
                allowed="a variable with two dimensions, or one record of a variable with three",
                fix="record = -1",
                problem=f"The variable {name} in {path} has three dimensions.",
            )
    if requested is not None:
        choose(requested, fitting, f"{path}: variable", 'variable = "{}"')
        return requested
    named = [name for name in fitting if name.lower() in names]
    for only in (named, fitting):
        if len(only) == 1:
            return only[0]
    raise InputError(
        f"{path}: {len(fitting)} variables on two dimensions" + (f" ({listing(fitting)})" if fitting else ""),
        allowed="one variable, or the name of the variable to read",
        fix=f'variable = "{fitting[0]}"' if fitting else "",
        problem=f"The file {path} has {'several' if fitting else 'no'} two-dimensional variables.",
    )


def _lone(array: Any) -> list[str]:
    """Return the dimensions of length 1 besides two others, such as a time; x and y are never among them."""
    lone = [str(name) for name in array.dims if array.sizes[name] == 1]
    return [name for name in lone if not any(_is_axis_name(array, name, axis) for axis in "xy")][: array.ndim - 2]


def _axes(array: Any, path: Path) -> tuple[str, str]:
    """Return the names of the y and the x dimension of a 2-D array, in any order."""
    if array.ndim != 2:
        got = f"{path}: {array.name} on {', '.join(map(str, array.dims))}"
        raise InputError(got, allowed="a variable on y and x", problem="The variable is not a map.")
    first, second = (str(name) for name in array.dims)
    for name in (first, second):
        if name not in array.coords or array.coords[name].ndim != 1:
            raise InputError(
                f"{path}: {array.name} without a one-dimensional coordinate {name}",
                allowed="a one-dimensional x and y (resample a curvilinear grid first)",
                problem=f"The variable {array.name} in {path} has no one-dimensional coordinate {name}.",
            )
    transposed = is_axis(array.coords[first], "x") or is_axis(array.coords[second], "y")
    return (second, first) if transposed else (first, second)


def is_axis(coordinate: Any, axis: str) -> bool:
    """Return True if a coordinate is x (or y) by its attributes or name."""
    said = str(coordinate.attrs.get("axis", "")).lower()
    if said:
        return said == axis
    standard = str(coordinate.attrs.get("standard_name", ""))
    if standard:
        degrees = {"x": "longitude", "y": "latitude"}[axis]
        return standard in (f"projection_{axis}_coordinate", degrees, f"grid_{degrees}")
    return str(coordinate.name).lower() in (_X_NAMES if axis == "x" else _Y_NAMES)


def is_degrees(coordinate: Any) -> bool:
    """Return True if a coordinate is longitude or latitude."""
    units = str(coordinate.attrs.get("units", "")).lower()
    if units:
        return units.startswith("degree")
    standard = str(coordinate.attrs.get("standard_name", ""))
    return standard in ("longitude", "latitude") or str(coordinate.name).lower() in ("lon", "longitude")


def _uniform(coordinate: Any, name: str, path: Path, degrees: bool = False) -> tuple[float, float, bool]:
    """Return (outer edge of the first cell, spacing, decreasing) of an evenly spaced coordinate, m or degrees.

    The tolerance includes the rounding of single-precision coordinates.
    """
    units = "m" if degrees else str(coordinate.attrs.get("units", "m")).strip() or "m"
    choose(units, LENGTHS, f"{path}: coordinate {name} in units", "")  # no suggestion: "cm" is not "m"
    values = np.asarray(coordinate.values)
    if values.size < 2:
        raise InputError(
            f"{path}: coordinate {name} of {values.size} value",
            allowed="2 or more values, or an ESRI ASCII grid or a GeoTIFF, whose header has the cell size",
            problem=f"The cell size along {name} is unknown, because the coordinate does not have two values.",
        )
    rounding = np.finfo(values.dtype).eps if values.dtype.kind == "f" else 0.0
    points = values.astype(np.float64) * LENGTHS[units]
    step = (points[-1] - points[0]) / (points.size - 1)
    defect = np.abs(np.diff(points) - step)
    if step == 0 or not defect.max() <= 1e-3 * abs(step) + 4 * rounding * np.abs(points).max():
        worst = int(np.argmax(defect))
        raise InputError(
            f"{path}: {name} is not evenly spaced ({points[worst]:.10g} to {points[worst + 1]:.10g}, "
            f"on average {step:g})",
            allowed="evenly spaced coordinates",
            problem=f"The coordinate {name} of {path} is not evenly spaced.",
        )
    return float(min(points[0], points[-1]) - 0.5 * abs(step)), float(abs(step)), bool(step < 0)
