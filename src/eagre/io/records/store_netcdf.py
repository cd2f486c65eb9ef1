"""NetCDF-4 files that grow by records.

Every write ends with a flush of HDF5's own tables. HDF5 does not lock the file, so that other programs can read the
output during the run. HDF5 writes through a `Sink`, which reports every failed write. The handles of all growing
variables stay open between records, because HDF5 would read their tables again when it opens them.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any

import numpy as np


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


LIBVER = ("earliest", "v110")
"""Versions of the HDF5 format that Eagre writes."""


class Sink(io.RawIOBase):
    """Binary file for `h5py.File` that keeps the first error of the system instead of raising it.

    HDF5 keeps tables that it could not write, writes them again when it closes the file, and crashes if that fails.
    This file accepts and drops every write after the first error. `check` raises that error.

    Parameters
    ----------
    path : Path
    new : bool
        Create the file; an existing file is replaced.
    """

    def __init__(self, path: Path, *, new: bool) -> None:
        self._raw = path.open("w+b" if new else "r+b", buffering=0)
        self._error: OSError | None = None
        self._open = True

    def check(self) -> None:
        """Raise the first error since the file was opened."""
        if self._error is not None:
            raise self._error

    def abandon(self) -> None:
        """Write nothing more to the file."""
        self._open = False

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to a position, bytes."""
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        """Return the current position, bytes."""
        return self._raw.tell()

    def readinto(self, buffer: Any) -> int:
        """Read bytes; beyond the end of the file they are zero."""
        view, done = memoryview(buffer).cast("B"), 0
        while done < len(view) and (count := self._raw.readinto(view[done:])):
            done += count
        np.frombuffer(view, np.uint8)[done:] = 0
        return len(view)

    def write(self, data: Any) -> int:
        """Write all bytes, or keep the error."""
        view = memoryview(data).cast("B")
        self._do(self._write, view)
        return len(view)

    def _write(self, left: memoryview) -> None:
        while left:
            left = left[self._raw.write(left) :]

    def truncate(self, size: int) -> int:
        """Set the length of the file, or keep the error."""
        self._do(self._raw.truncate, size)
        return size

    def flush(self) -> None:
        """Do nothing, because bytes are not buffered."""

    def close(self) -> None:
        """Close the file."""
        self._raw.close()
        super().close()

    def _do(self, action: Callable[[Any], object], value: Any) -> None:
        if self._open:
            try:
                action(value)
            except OSError as error:
                self._error, self._open = error, False
