"""Open result files for plotting: fields, series at gauges, profiles, scalars, spectra and particle tracks."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from eagre.config.toml import existing_file
from eagre.errors import InputError
from eagre.io.files import is_store, read_values, reading
from eagre.io.rasters.netcdf_raster import bounds_aside, check_heaps
from eagre.io.records.store_zarr import need_zarr
from eagre.plots.data.results import FieldFile, GaugeFile, NumberFile, ProfileFile, SpectrumFile, TrackFile
from eagre.plots.data.tables import read_series_csv
from eagre.plots.drawing.labels import label_of
from eagre.plots.slices import sliced

if TYPE_CHECKING:
    import xarray as xr

Results = FieldFile | GaugeFile | NumberFile | ProfileFile | SpectrumFile | TrackFile
"""Contents of a result file."""


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
