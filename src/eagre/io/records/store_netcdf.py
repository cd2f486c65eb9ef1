"""NetCDF-4 files that grow by records.

Every write ends with a flush of HDF5's own tables. HDF5 does not lock the file, so that other programs can read the
output during the run. HDF5 writes through a `Sink`, which reports every failed write and changes tables of the file in
a safe order, so that a killed run leaves a file of complete records. The handles of all growing variables stay open
between records, because HDF5 would read their tables again when it opens them.
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
            self._sink.commit()
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
        self._sink.commit()

    def write(self, new: slice, values: Mapping[str, np.ndarray]) -> None:
        """Write records `new` of each growing variable to disk, and drop later records."""
        for name in values:
            if name not in self._growing:
                self._growing[name] = self._h5[name]
        self._nc.resize_dimension("time", new.stop)
        for name, value in values.items():
            self._growing[name][new] = value
        self._h5.flush()
        self._sink.commit()

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
        self._sink.commit()


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
            sink.commit()
        finally:
            sink.close()


LIBVER = ("earliest", "v110")
"""Versions of the HDF5 format that Eagre writes."""


class Sink(io.RawIOBase):
    """Binary file for `h5py.File` that changes a file in a safe order, and keeps the first error of the system.

    Bytes beyond the end of the file are written at once. Changes of older bytes wait for `commit`, which writes each
    change after the bytes that it refers to: the superblock, which holds the size of the file, the indices of the
    variables from the root to the leaves (a node that was divided loses the entries of the new node), data, and the
    headers, which hold the lengths. Headers that are close together are written at once, with the bytes between them,
    so that all lengths change together.

    HDF5 keeps tables that it could not write, writes them again when it closes the file, and crashes if that fails.
    This file accepts and drops every write after the first error. `commit` raises that error.

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
        self._changes: dict[int, bytes] = {}
        self._committed = self._raw.seek(0, os.SEEK_END)
        self._raw.seek(0)

    def commit(self) -> None:
        """Write all changes, and raise the first error since the file was opened."""
        self._write_changes()
        self._committed = self._raw.seek(0, os.SEEK_END)
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
        """Read bytes with all changes; beyond the end of the file they are zero."""
        start, view, done = self._raw.tell(), memoryview(buffer).cast("B"), 0
        while done < len(view) and (count := self._raw.readinto(view[done:])):
            done += count
        np.frombuffer(view, np.uint8)[done:] = 0
        for offset, change in self._overlapping(start, len(view)):
            first, stop = max(start, offset), min(start + len(view), offset + len(change))
            view[first - start : stop - start] = change[first - offset : stop - offset]
        return len(view)

    def write(self, data: Any) -> int:
        """Write or keep all bytes, or keep the error."""
        view, offset = memoryview(data).cast("B"), self._raw.tell()
        if offset >= self._committed:
            self._do(self._write, view)
            return len(view)
        if any((first, len(change)) != (offset, len(view)) for first, change in self._overlapping(offset, len(view))):
            self._write_changes()
        self._changes[offset] = bytes(view)
        self._raw.seek(offset + len(view))
        return len(view)

    def _overlapping(self, start: int, size: int) -> list[tuple[int, bytes]]:
        """Return the changes of a range of bytes, with their offsets."""
        return [one for one in self._changes.items() if one[0] < start + size and start < one[0] + len(one[1])]

    def _write_changes(self) -> None:
        spans: list[list[int]] = []
        for stage, start, change in sorted(
            ((_stage(offset, change), offset, change) for offset, change in self._changes.items()),
            key=lambda one: (one[0], -one[1]),
        ):
            if spans and stage == spans[-1][0] == _HEADERS and spans[-1][1] - start < _GAP:
                spans[-1][1] = start
            else:
                spans.append([stage, start, start + len(change)])
        for _, start, end in spans:
            merged = memoryview(bytearray(end - start))
            self._raw.seek(start)
            self.readinto(merged)
            self._raw.seek(start)
            self._do(self._write, merged)
        self._changes.clear()

    def _write(self, left: memoryview) -> None:
        while left:
            left = left[self._raw.write(left) :]

    def truncate(self, size: int) -> int:
        """Set the length of the file, or keep the error."""
        self._do(self._raw.truncate, size)
        return size

    def flush(self) -> None:
        """Do nothing, because bytes are not buffered between commits."""

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


_HEADERS = 300
"""Stage of the headers of all objects."""
_GAP = 65536
"""Largest distance of two headers that one write contains, bytes."""


def _stage(offset: int, change: bytes) -> int:
    """Return the stage of a commit in which bytes are written; names are those of the HDF5 File Format, version 3."""
    if offset == 0:
        return 0
    if change[:4] == b"TREE":
        return 256 - change[5]  # level of the node; the leaves have level 0
    return _HEADERS if change[:4] in (b"OHDR", b"OCHK") else _HEADERS - 1
