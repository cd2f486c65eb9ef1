"""NetCDF-4 files that grow by records.

Every write ends with a flush of HDF5's own tables. HDF5 does not lock the file, so that other programs can read the
output during the run. HDF5 writes through a `Sink`, which reports every failed write. The handles of all growing
variables stay open between records, because HDF5 would read their tables again when it opens them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np

from eagre.io.records.hdf5_sink import LIBVER, Sink


class NetcdfStore:
    """Open NetCDF-4 file, `new` or existing; see `eagre.io.records.records.RecordFile`."""

    def __init__(self, path: Path, *, new: bool) -> None:
        import h5netcdf
        import h5py

        mode = "w" if new else "r+"
        self._sink = Sink(path, new=new)
        try:
            self._h5: Any = h5py.File(self._sink, mode, libver=LIBVER, locking=False, track_order=True)
            self._nc: Any = h5netcdf.File(self._h5, mode)
            self._sink.check()
        except BaseException:
            self._sink.close()
            raise
        self._growing: dict[str, Any] = {}
        # does not refer to `self`, which may be deleted before the file is closed
        self.close = _Closing(self._nc, self._h5, self._sink, self._growing)

    @property
    def attributes(self) -> MutableMapping[str, Any]:
        """Global attributes."""
        return self._nc.attrs

    @property
    def variables(self) -> Mapping[str, Any]:
        """Variables of the file."""
        return self._nc.variables

    def times(self) -> np.ndarray:
        """Return the times of the records that all growing variables have, s."""
        growing = [name for name, variable in self.variables.items() if variable.dimensions[:1] == ("time",)]
        whole = min(self._h5[name].shape[0] for name in growing)
        return np.asarray(self._h5["time"][:whole], dtype=np.float64)

    def dimension(self, name: str, size: int | None) -> None:
        """Declare a dimension; None is unlimited."""
        self._nc.dimensions[name] = size

    def variable(
        self, name: str, dimensions: tuple[str, ...], dtype: Any, attributes: Mapping[str, Any], *,
        data: Any, chunks: tuple[int, ...] | None, compression: int, fill: bool,
    ) -> None:  # fmt: skip
        """Declare a variable; see `eagre.io.records.records.RecordFile.variable`."""
        import h5py

        options: dict[str, Any] = {"chunks": chunks} if chunks else {}
        if compression:
            options |= {"compression": "gzip", "compression_opts": compression, "shuffle": True}
        if fill:
            options["fillvalue"] = np.asarray(np.nan, dtype)[()]
        created = self._nc.create_variable(name, dimensions, h5py.string_dtype() if dtype is str else dtype, **options)
        created.attrs.update(attributes)
        if data is not None:
            created[...] = data
            self._h5.flush()
        self._sink.check()

    def write(self, new: slice, values: Mapping[str, np.ndarray]) -> None:
        """Write records `new` of each growing variable to disk, and drop later records."""
        for name in values:
            if name not in self._growing:
                self._growing[name] = self._h5[name]
        self._nc.resize_dimension("time", new.stop)
        for name, value in values.items():
            self._growing[name][new] = value
        self._h5.flush()
        self._sink.check()

    @staticmethod
    def files(new: slice, names: Iterable[str]) -> None:
        """Return None, because all records are in one file."""

    def abandon(self) -> None:
        """Write nothing more to the file."""
        self._sink.abandon()

    def flush(self) -> None:
        """Write all declarations to disk."""
        self._nc.flush()
        self._h5.flush()
        self._sink.check()


class _Closing:
    """Callable that closes the variable handles and both views of a file in the required order."""

    def __init__(self, netcdf: Any, h5: Any, sink: Sink, growing: dict[str, Any]) -> None:
        self._parts = netcdf, h5, sink, growing

    def __call__(self) -> None:
        netcdf, h5, sink, growing = self._parts
        try:
            growing.clear()
            netcdf.close()
            h5.close()
            sink.check()
        finally:
            sink.close()
