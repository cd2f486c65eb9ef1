"""Open result files, tables and rasters for plotting: fields, gauges, profiles, scalars, spectra, particle tracks."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from eagre.config.toml import existing_file
from eagre.config.values.units import UNITS, parse_quantity
from eagre.errors import InputError
from eagre.io.files import is_store, read_values, reading
from eagre.io.rasters.netcdf_raster import bounds_aside, check_heaps
from eagre.io.records.store_zarr import need_zarr
from eagre.io.tables.table import Table, read_table, split_unit
from eagre.plots.data.fields import AXES, FieldFile, Volume
from eagre.plots.data.results import GaugeFile, NumberFile, ProfileFile, SpectrumFile, TrackFile
from eagre.plots.data.selection import known_variable, number_or_text
from eagre.plots.drawing.style import label_of, with_units

if TYPE_CHECKING:
    import xarray as xr

_SPECTRAL = ("frequency", "wavenumber")  # names of the first column of a spectrum
Results = FieldFile | GaugeFile | NumberFile | ProfileFile | SpectrumFile | TrackFile
"""Contents of a result file."""


def read_columns(path: str | Path) -> tuple[list[str], np.ndarray]:
    """Read a text table with empty fields.

    Parameters
    ----------
    path : str or Path
        File with one header line; columns separated by commas, semicolons, tabs or blanks.

    Returns
    -------
    names : list of str
        Column names, with units in parentheses if the file has them.
    values : (rows, columns) array
        Empty fields are NaN.

    Raises
    ------
    InputError
        If a row has another number of columns than the header, or a field is not numeric.
    """
    table = read_table(existing_file(Path(path), "table"))
    return table.names, np.array([_row(table, row) for row in range(len(table.rows))])


def read_observed(path: str | Path) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Read observations: times, s, and values in SI units, by column name.

    Units in the header, as in ``time(min)`` or ``ch5 (cm)``, are converted.
    """
    header, values = read_columns(path)
    names = [split_unit(column) for column in header]
    times = values[:, 0] * _scale(names[0][1])
    columns = {name: values[:, i] * _scale(unit) for i, (name, unit) in enumerate(names) if i > 0}
    return times, columns


def read_series_csv(path: Path) -> GaugeFile | NumberFile:
    """Read gauge output in CSV: one column per point and variable, ``"pier surface_elevation (m)"``.

    Columns without a point in several units, ``"max_w (m s-1)"``, are scalar time series. If the first column is a
    frequency or a wavenumber, ``"frequency (Hz)"``, the columns are spectra.
    """
    header, table = read_columns(path)
    columns = [split_unit(column) for column in header[1:]]
    if len({unit for _, unit in columns}) > 1 and not any(" " in name for name, _ in columns):
        values = {name: table[:, index] for index, (name, _) in enumerate(columns, start=1)}
        labels = {name: label_of({"units": unit}, name) for name, unit in columns}
        return NumberFile(path, table[:, 0] * _scale(split_unit(header[0])[1]), values, labels, path.stem)
    return _gauge_table(path, header, table)


def _gauge_table(path: Path, header: list[str], table: np.ndarray) -> GaugeFile:
    """Return series or spectra at points."""
    names: list[str] = []
    columns: dict[str, dict[str, np.ndarray]] = {}
    units: dict[str, str] = {}
    for index, column in enumerate(header[1:], start=1):
        text, unit = split_unit(column)
        text = text.replace("variance density", "variance_density")
        point, _, variable = text.rpartition(" ")
        point, variable = (point, variable) if point else (variable, "value")
        if point not in names:
            names.append(point)
        columns.setdefault(variable, {})[point] = table[:, index]
        units[variable] = unit
    if not columns:
        raise InputError(
            f"{path} with one column", allowed="a time column and one column per point and variable",
            problem="The table has no values.",
        )  # fmt: skip
    missing = np.full(table.shape[0], np.nan)
    values = {
        variable: np.stack([series.get(point, missing) for point in names], axis=1)
        for variable, series in columns.items()
    }
    labels = {name: with_units(name.replace("_", " "), units[name]) for name in columns}
    first, unit = split_unit(header[0])
    if any(word in first.lower() for word in _SPECTRAL):
        return GaugeFile(path, table[:, 0], names, values, labels, path.stem, with_units(first, unit))
    return GaugeFile(path, table[:, 0] * _scale(unit), names, values, labels, path.stem)


def _row(table: Table, row: int) -> list[float]:
    """Return the numbers of a row; empty fields are NaN."""
    cells = table.cells(row)
    where = f"{table.path}, line {table.lines[row]}"
    if len(cells) != len(table.names):
        raise InputError(
            f"{where}: {len(cells)} columns", allowed=f"{len(table.names)}, as in the header",
            problem="A row has another number of columns than the header.",
        )  # fmt: skip
    try:
        return [float(cell) if cell else np.nan for cell in cells]
    except ValueError as error:
        raise InputError(
            f"{where}: {error}", allowed="numbers and empty fields", problem="A field of the table is not numeric."
        ) from None


def _scale(unit: str) -> float:
    """Return the factor from a known unit to SI units (``"s since ..."`` is s), else 1."""
    word = unit.split(" ")[0]
    return UNITS[word][0] if word in UNITS else 1.0


def open_results(path: str | Path, plane: str | None = None) -> Results:
    """Open an output file of ``eagre run``; `plane`, such as ``"y = 0"``, selects a slice of fields on levels.

    Raises
    ------
    InputError
        If the file is missing, is not NetCDF, Zarr or CSV, or is not an output of ``eagre run``; restart files are
        not supported.
    """
    path = Path(path) if is_store(Path(path)) else existing_file(Path(path), "result file")
    with reading(path, "result file"):
        return _open_results(path, plane)


def _open_results(path: Path, plane: str | None) -> Results:
    """Open a result file of any kind."""
    if path.suffix.lower() == ".csv":
        _refuse_plane(plane, path)
        return read_series_csv(path)
    dataset = open_dataset(path)
    if {"time", "z", "y", "x"} <= set(dataset.dims):
        return sliced(dataset, plane, path)
    _refuse_plane(plane, path)
    if {"time", "y", "x"} <= set(dataset.dims):
        return FieldFile(path, dataset)
    if {"y", "x"} <= set(dataset.dims) and "time" not in dataset.dims:  # constant fields
        return FieldFile(path, dataset.assign_coords(time=("time", [0.0])))
    if dataset.attrs.get("featureType") == "trajectory" and {"x", "y"} <= set(dataset.data_vars):
        return _tracks(path, dataset)
    if dataset.attrs.get("featureType") == "timeSeriesProfile" and _over_height(dataset):
        return _profiles(path, dataset)
    for kind in (_spectra, _numbers):
        if "time" in dataset.dims and (opened := kind(path, dataset)) is not None:
            return opened
    points = [dim for dim in dataset.dims if dim not in ("time", "x", "y")]
    series = {
        str(name): item
        for name, item in dataset.data_vars.items()
        if len(item.dims) == 2 and item.dims[0] == "time" and item.dims[1] in points and item.dtype.kind == "f"
    }
    if "time" not in dataset.dims or not series:
        raise InputError(
            f"{path} with the dimensions {', '.join(map(str, dataset.dims)) or 'none'}",
            allowed="fields over (time, y, x) or series over (time, point), as eagre run writes them",
            fix=f"eagre info {quote(str(path))}",
            problem="The file is not an output of eagre run.",
        )
    return _gauges(path, dataset, series)


def _refuse_plane(plane: str | None, path: Path) -> None:
    if plane is not None:
        raise InputError(
            f"--slice {plane} for {path.name}", allowed="--slice with a file of fields on levels",
            problem="The file has no fields on levels.",
        )  # fmt: skip


def open_dataset(path: Path) -> xr.Dataset:
    """Open a NetCDF file or a Zarr store with undecoded times, or raise `InputError`."""
    import xarray as xr

    if is_store(path):
        need_zarr(path)
        with reading(path, "Zarr store"):
            return bounds_aside(xr.open_zarr(path, decode_times=False, chunks=None))
    existing_file(path, "result file")
    with reading(path, "NetCDF-4 file"):
        check_heaps(path)
        return bounds_aside(xr.open_dataset(path, decode_times=False, engine="h5netcdf"))


def _numbers_of(array: xr.DataArray, path: Path) -> np.ndarray:
    """Return the values of a numeric variable, float64."""
    return read_values(array, path, "result file").astype(np.float64)


def _gauges(path: Path, dataset: xr.Dataset, series: dict[str, xr.DataArray]) -> GaugeFile:
    dimension = next(iter(series.values())).dims[1]
    names = [str(index + 1) for index in range(dataset.sizes[dimension])]
    for item in (*dataset.coords.values(), *dataset.data_vars.values()):
        if item.dims == (dimension,) and item.dtype.kind in "OSUT":
            names = [value.decode() if isinstance(value, bytes) else str(value) for value in item.values]
            break
    return GaugeFile(
        path,
        _numbers_of(dataset["time"], path),
        names,
        {name: _numbers_of(item, path) for name, item in series.items()},
        {name: label_of(item.attrs, name) for name, item in series.items()},
        str(dataset.attrs.get("title") or path.stem),
    )


def _over_height(dataset: xr.Dataset) -> list[str]:
    """Return the names of the variables over (time, z)."""
    return [str(name) for name, item in dataset.data_vars.items() if item.dims == ("time", "z")]


def _profiles(path: Path, dataset: xr.Dataset) -> ProfileFile:
    if dataset.sizes["time"] == 0:
        raise InputError(
            f"{path} without a record", allowed="a file with at least one time", problem="The file has no record."
        )
    names = _over_height(dataset)
    return ProfileFile(
        path,
        _numbers_of(dataset["time"], path),
        _numbers_of(dataset["z"], path),
        {name: _numbers_of(dataset[name], path) for name in names},
        {name: label_of(dataset[name].attrs, name) for name in names},
        str(dataset.attrs.get("title") or path.stem),
        str(dataset["time"].attrs.get("units", "")),
    )


def _spectra(path: Path, dataset: xr.Dataset) -> SpectrumFile | None:
    """Return densities over (time, z, wavenumber_x) or (time, z, wavenumber_y), or None if the file has none."""
    axes = {f"wavenumber_{axis}": f"angular wavenumber along {axis} (rad/m)" for axis in "xy"}
    spectra = {
        str(name): item
        for name, item in dataset.data_vars.items()
        if item.dims[:2] == ("time", "z") and item.dims[2:] in [(axis,) for axis in axes]
    }
    if not spectra or dataset.sizes["time"] == 0:
        return None
    return SpectrumFile(
        path,
        _numbers_of(dataset["time"], path),
        _numbers_of(dataset["z"], path),
        {name: _numbers_of(item, path) for name, item in spectra.items()},
        {name: label_of(item.attrs, name) for name, item in spectra.items()},
        str(dataset.attrs.get("title") or path.stem),
        str(dataset["time"].attrs.get("units", "")),
        {
            name: (_numbers_of(dataset[axis], path), axes[axis])
            for name, item in spectra.items()
            for axis in [str(item.dims[2])]
        },
    )


def _numbers(path: Path, dataset: xr.Dataset) -> NumberFile | None:
    """Return scalar time series, or None if the file has other variables."""
    if any(item.dims != ("time",) or item.dtype.kind != "f" for item in dataset.data_vars.values()):
        return None
    return NumberFile(
        path,
        _numbers_of(dataset["time"], path),
        {str(name): _numbers_of(item, path) for name, item in dataset.data_vars.items()},
        {str(name): label_of(item.attrs, str(name)) for name, item in dataset.data_vars.items()},
        str(dataset.attrs.get("title") or path.stem),
    )


def _tracks(path: Path, dataset: xr.Dataset) -> TrackFile:
    times, x, y = (_numbers_of(dataset[name], path) for name in ("time", "x", "y"))
    if times.size == 0 or x.shape != y.shape or x.shape[:1] != times.shape:
        raise InputError(
            f"{path} without tracks", allowed="x and y over (time, particle), at least one record",
            problem="The file has no particle tracks.",
        )  # fmt: skip
    return TrackFile(path, times, x, y, str(dataset.attrs.get("title") or path.stem))


def record_at(number: int, count: int, path: Path) -> int:
    """Return the index of a record number of ``--record``: from 1, or from -1 (the last) backwards.

    Raises
    ------
    InputError
        If the file has no such record.
    """
    if number == 0 or not -count <= number <= count:
        allowed = f"1 to {count} in {path.name}, or -1 for the last"
        raise InputError(
            f"--record {number}", allowed=allowed, fix="--record 1", problem="The file has no record of this number."
        )
    return number - 1 if number > 0 else count + number


def sliced(dataset: xr.Dataset, where: str | None, path: Path) -> FieldFile:
    """Return a plane of a dataset with the dimension z, with its position and the volume.

    Parameters
    ----------
    dataset : xarray.Dataset
        Dataset with fields over (time, z, y, x).
    where : str or None
        Position such as ``"z = 500 m"``, ``"y = 0"`` or ``"x = 2 km"``, whose nearest plane of points is used. Without
        it the only row or column of a two-dimensional run, or else the middle level.
    path : Path
        Path of the file.
    """
    axis, value = _plane(dataset, where)
    if axis not in dataset.dims:
        raise InputError(
            f"--slice {where}",
            allowed=f"one of the axes {', '.join(one for one in AXES[::-1] if one in dataset.dims)}",
            problem=f"The fields of {path.name} do not depend on {axis}.",
        )  # fmt: skip
    points = np.asarray(dataset[axis].values, dtype=np.float64)
    if value is None:
        value = float(points[points.size // 2])
    slack = 0.5 * float(np.ptp(points)) / max(points.size - 1, 1) + 1e-9
    if not points.min() - slack <= value <= points.max() + slack:
        raise InputError(
            f"--slice {where}", allowed=f"{axis} from {points.min():g} to {points.max():g} m in {path.name}",
            fix=f'--slice "{axis} = {points[points.size // 2]:g}"', problem="The slice is outside the domain.",
        )  # fmt: skip
    nearest = int(np.argmin(np.abs(points - value)))
    plane = dataset.isel({axis: nearest}, drop=True)
    others = [one for one in AXES[::-1] if one != axis]
    plane = plane.drop_vars([name for name in plane.data_vars if not set(others) <= set(plane[name].dims)])
    if axis != "z":
        plane = plane.rename({old: new for old, new in zip(others, ("x", "y"), strict=True) if old != new})
    position, volume = f"{axis} = {points[nearest]:g} m", Volume(path, dataset, axis, nearest)
    return FieldFile(path, plane, (others[0], others[1]), position, volume=volume)


def _plane(dataset: xr.Dataset, where: str | None) -> tuple[str, float | None]:
    """Return the axis and the position, m, of a slice."""
    if where is None:
        return next((axis for axis in ("y", "x") if dataset.sizes.get(axis) == 1), "z"), None
    axis, sign, text = (item.strip() for item in where.partition("="))
    if axis not in AXES or not sign:
        raise InputError(
            f"--slice {where}", allowed='an axis and a position, such as "z = 500 m"', fix='--slice "y = 0"',
            problem="The slice has no axis and position.",
        )  # fmt: skip
    return axis, parse_quantity(number_or_text(text), "length", "--slice")


SUFFIXES = (".tif", ".tiff", ".asc")
_ANY_SYSTEM = "EPSG:5041"
"""Polar coordinate reference system: rasters in all other systems, degrees included, are read without a warp."""


def open_raster(path: str | Path, variable: str | None = None) -> FieldFile:
    """Open a band of a raster as a field that does not change with time.

    Parameters
    ----------
    path : str or Path
        File that ends in .tif, .tiff or .asc.
    variable : str, optional
        Name of a band; without it the first band. The name is that of the variable in files of `eagre export`, or
        else the description of the band, or else ``band_1``; a single band without a description is ``raster``.

    Raises
    ------
    InputError
        If the file is missing, is not a raster or has no such band.
    """
    import xarray as xr

    from eagre.io.rasters.dem import read_raster
    from eagre.io.rasters.raster import Around, parse_crs

    path = existing_file(Path(path), "raster")
    bands, title = _bands(path)
    name = known_variable(variable, [*bands], path) if variable is not None else next(iter(bands))
    number, attributes = bands[name]
    dem = read_raster(path, band=number, around=Around(_ANY_SYSTEM))
    attributes = {"units": dem.units or ""} | attributes
    coords = {"time": ("time", [0.0]), "y": dem.y, "x": dem.x}
    dataset = xr.Dataset({name: (("y", "x"), dem.elevation, attributes)}, coords, {"title": title})
    crs = parse_crs(dem.crs)
    if crs is not None and crs.is_geographic:
        return FieldFile(path, dataset, axes=("longitude", "latitude"), units="degrees")
    return FieldFile(path, dataset)


def _bands(path: Path) -> tuple[dict[str, tuple[int | None, dict[str, Any]]], str]:
    """Return number and attributes of the bands by name, and the title of the file."""
    if path.suffix.lower() == ".asc":
        return {"raster": (None, {"long_name": path.stem})}, path.stem
    import rasterio
    from rasterio.enums import ColorInterp
    from rasterio.errors import RasterioError

    bands: dict[str, tuple[int | None, dict[str, Any]]] = {}
    try:
        with rasterio.open(path) as source:
            numbers = [n for n, kind in enumerate(source.colorinterp, start=1) if kind != ColorInterp.alpha]
            for n in numbers:
                text = source.descriptions[n - 1] or ""
                name = source.tags(n).get("variable") or text or (f"band_{n}" if len(numbers) > 1 else "raster")
                name = name if name not in bands else f"{name}_{n}"
                bands[name] = n, {"long_name": text or (path.stem if name == "raster" else name)}
            return bands, source.tags().get("title") or path.stem
    except (RasterioError, OSError):
        return {"raster": (None, {})}, path.stem  # read_raster raises the error
