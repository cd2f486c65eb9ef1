"""Results of a sweep as one dataset with the dimension ``member``; values are read when they are used."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from eagre.errors import InputError, do_all
from eagre.io.files import choose, is_store, reading
from eagre.plots.data.reading import read_series_csv
from eagre.plots.data.results import GaugeFile, NumberFile
from eagre.sweeps.records import FINISHED, Record, read_records, text_of

MEMBER = "member"


def open_sweep(folder: str | Path, section: str | None = None) -> xr.Dataset:
    """Open one output of all members of a sweep.

    Parameters
    ----------
    folder : str or Path
        Folder of the members.
    section : str, optional
        Section of the case file whose output is opened: ``"output"``, ``"output[2]"``, ``"gauges"`` and so on. Default:
        the first output of the case.

    Returns
    -------
    dataset : xarray.Dataset
        The variables of the file with the additional first dimension ``member``. Coordinates along ``member``: the
        changed keys of the case file (strings for lists and tables) and ``state``. Values of members that have not
        finished are NaN; select the others with ``dataset.where(dataset.state == "finished", drop=True)``. Variables of
        NetCDF and Zarr files are read when they are used.

    Raises
    ------
    InputError
        If the folder has no member that has finished, no output of this name, or members with different coordinates,
        for example other times or another grid. Open the files of such members one by one.
    """
    folder = Path(folder)
    records = read_records(folder)
    finished = [name for name, record in records.items() if record.state == FINISHED]
    if not finished:
        raise InputError(f"{folder} with {len(records)} members", allowed="a folder of eagre sweep",
                         problem="The folder has no member that has finished.")  # fmt: skip
    names = [name for name in records[finished[0]].files if name != "restart"]
    section = section if section is not None else names[0]
    choose(section, names, "section", '"{}"')
    datasets = {name: _opened(folder / name / records[name].files[section]) for name in finished}
    first = datasets[finished[0]]
    for name, dataset in datasets.items():
        _check_equal(dataset, first, folder / name, folder / finished[0])
    ordered = [datasets.get(name) for name in records]
    variables = {str(name): _stacked(str(name), first[name].variable, ordered) for name in first.data_vars}
    coordinates = {name: one for name, one in first.coords.items()} | _coordinates(records)
    attributes = {
        key: one for key, one in first.attrs.items() if all(_has(data, key, one) for data in datasets.values())
    }
    result = xr.Dataset(variables, coordinates, attributes)
    result.set_close(partial(do_all, [one.close for one in datasets.values()]))
    return result


def _opened(path: Path) -> xr.Dataset:
    """Open the output of one member."""
    with reading(path, "output of a member"):
        if is_store(path):
            return xr.open_zarr(path, chunks=None)
        if path.suffix.lower() != ".csv":
            return xr.open_dataset(path, engine="h5netcdf")
        table = read_series_csv(path)
    if isinstance(table, NumberFile):
        return xr.Dataset({name: ("time", one) for name, one in table.values.items()}, {"time": table.times})
    assert isinstance(table, GaugeFile)
    values = {name: (("time", "station"), one) for name, one in table.values.items()}
    return xr.Dataset(values, {"time": table.times, "station_name": ("station", table.names)})


def _has(dataset: xr.Dataset, key: Any, value: Any) -> bool:
    """Return whether a dataset has an attribute of this value."""
    return key in dataset.attrs and np.array_equal(dataset.attrs[key], value)


def _check_equal(dataset: xr.Dataset, first: xr.Dataset, path: Path, first_path: Path) -> None:
    """Reject a member whose coordinates or variables differ from the first member."""
    differing = [str(name) for name in first.coords if name not in dataset or not first[name].equals(dataset[name])]
    differing += [str(name) for name in set(first.data_vars) ^ set(dataset.data_vars)]
    if differing:
        raise InputError(
            f"other {', '.join(differing)} in {path} than in {first_path}",
            allowed="members with equal times, grids and variables", fix="xarray.open_dataset for each member",
            problem="The outputs of the members differ in their coordinates.",
        )  # fmt: skip


def _stacked(name: str, first: xr.Variable, datasets: Sequence[xr.Dataset | None]) -> xr.Variable:
    """Return a variable of all members; a scalar, such as a grid mapping, is that of the first member."""
    if not first.dims:
        return first
    dtype = np.result_type(*(one[name].dtype for one in datasets if one is not None))
    if dtype.kind in "biu" and any(one is None for one in datasets):
        dtype = np.dtype(np.float64)
    empty = np.array(np.nan if dtype.kind in "fc" else "NaT" if dtype.kind in "mM" else "", dtype)
    missing = xr.Variable(first.dims, np.broadcast_to(empty, first.shape))
    arrays = [missing if one is None else one[name].variable for one in datasets]
    data = indexing.LazilyIndexedArray(MemberArray(arrays, dtype))
    return xr.Variable((MEMBER, *first.dims), data, first.attrs)


class MemberArray(BackendArray):
    """Array whose first axis is the member; the part that is indexed is read from the files."""

    def __init__(self, arrays: Sequence[xr.Variable], dtype: np.dtype) -> None:
        self.arrays, self.dtype = arrays, dtype
        self.shape = (len(arrays), *arrays[0].shape)

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        """Return the values of an index."""
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> np.ndarray:
        selected, inner = np.arange(self.shape[0])[key[0]], key[1:]
        values = [np.asarray(self.arrays[n][inner].values, self.dtype) for n in np.atleast_1d(selected)]
        if not values:
            return np.empty((0, *self.arrays[0][inner].shape), self.dtype)
        return np.stack(values) if np.ndim(selected) else values[0]


def _coordinates(records: dict[str, Record]) -> dict[str, Any]:
    """Return the coordinates along the member dimension: numbers, states and changed values."""
    coordinates: dict[str, Any] = {
        MEMBER: [int(name) for name in records],
        "state": (MEMBER, [record.state for record in records.values()]),
    }
    for key in dict.fromkeys(key for record in records.values() for key in record.values):
        values = [record.values.get(key, np.nan) for record in records.values()]
        kinds = {bool if isinstance(one, bool) else float if isinstance(one, int | float) else str for one in values}
        coordinates[key] = (MEMBER, values if kinds in ({float}, {bool}) else [_text(one) for one in values])
    return coordinates


def _text(value: Any) -> str:
    """Return a value as a string; an empty string for NaN."""
    return "" if isinstance(value, float) and np.isnan(value) else text_of(value)
