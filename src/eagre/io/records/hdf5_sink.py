"""Binary file that HDF5 writes through Python, so that a failed write cannot crash HDF5."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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
