"""Output files that grow by one time record and are readable at any time: NetCDF, or Zarr by the suffix.

A killed run leaves all complete records. A new file takes its final name with its first record and replaces an older
file then. The formats are implemented in `eagre.io.records.store_netcdf` and `eagre.io.records.store_zarr`.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError, do_all
from eagre.io.cf import history_line
from eagre.io.files import WriteError, check_space, reading, writing
from eagre.io.records.output_paths import Growing, GrowingFile, GrowingFolder, temporary_name
from eagre.io.records.store_netcdf import NetcdfStore
from eagre.io.records.store_zarr import SUFFIX, ZarrStore

_NOTHING = "no record was written yet"
_FIX = "free disk space or use another disk, then continue from the last restart file"
_EXISTING = "existing output file"


class RecordFile(GrowingFile):
    """NetCDF-4 file, or Zarr store if the name ends in ``.zarr``, with an unlimited dimension ``time``.

    Created by `create` or `resume`; then `dimension` and `variable` declare the content, and `append` adds
    records.
    """

    def __init__(self, path: Path, *, there: bool) -> None:
        super().__init__(path)
        folder = path.suffix.lower() == SUFFIX
        self._output = (GrowingFolder if folder else Growing)(path, there=there)
        self._kind = ZarrStore if folder else NetcdfStore
        self._history = ""  # line of a continued run, written with its first record
        self._open(new=not there)

    def _open(self, *, new: bool) -> None:
        self._store = self._kind(self._output.current_path, new=new)
        self._finalizer = weakref.finalize(self, self._store.close)
        if not new:
            self._output.remember(self._held)

    @classmethod
    def create(cls, path: Path, attributes: Mapping[str, Any], time: Mapping[str, str]) -> RecordFile:
        """Create a file, which replaces an existing file at `path` when its first record is on disk.

        `attributes` are global attributes, `time` the attributes of the time coordinate.
        """
        safe = f"the older {path} is untouched" if path.exists() else "no record was written yet"
        with writing(path, safe=safe, fix=_FIX):
            check_space(path, 0, written_path=temporary_name(path), safe=safe, fix=_FIX)
            file = cls(path, there=False)
        file.dimension("time", None)
        file.variable("time", ("time",), np.dtype(np.float64), time, chunks=(1024,))
        if "bounds" in time:
            file.dimension("bounds", 2)
            file.variable(time["bounds"], ("time", "bounds"), np.dtype(np.float64), {}, chunks=(64, 2))
        file._store.attributes.update(attributes)
        return file

    @classmethod
    def resume(cls, path: Path, model: Model, time: Mapping[str, str], *, until: float = -math.inf) -> RecordFile:
        """Open an existing file to append records after `model.time`; it is unchanged until the first record.

        Records after `model.time` are dropped if none is later than `until`, s. Incomplete records of a killed run are
        also dropped.

        Raises
        ------
        InputError
            If the file was written by another model, has another reference date, differs in the presence of time
            bounds, or has records later than `model.time` and `until`.
        """
        check_space(path, 0, safe=f"{path} is unchanged", fix=_FIX)
        try:
            file = cls(path, there=True)
        except (OSError, ValueError, RuntimeError) as error:
            raise InputError(
                f"{path}: cannot be opened to append ({error})",
                allowed="an output file of Eagre",
                problem=f"Cannot append to {path}: the file cannot be opened.",
            ) from error
        try:
            with reading(path, _EXISTING):
                file._check(model, time)
                file._count(float(model.time), until)
            file._history = history_line(f"continued at t = {model.time:.10g} s")
        except BaseException:
            file._failed = True  # errors of closing the file are suppressed
            file.close()
            raise
        return file

    def _check(self, model: Model, time: Mapping[str, str]) -> None:
        """Raise `InputError` for a file that is not output of the same run."""
        kind = self._store.attributes.get("kind")
        if kind != model.kind or "time" not in self.variables:
            raise InputError(
                f"{self.path} of kind {kind!r}",
                allowed=f"output of {model.kind}",
                fix="another file name",
                problem=f"Cannot append to {self.path}: it is not output of the same model.",
            )
        units = self.variables["time"].attrs.get("units")
        if units != time["units"]:
            raise InputError(
                f"time in {time['units']!r} for {self.path} with time in {units!r}",
                allowed=f"{units!r}",
                problem=f"Cannot append to {self.path}: its time units differ from the time units of this run.",
            )
        if self.variables["time"].attrs.get("bounds") != time.get("bounds"):
            expected, actual = ("with", "without") if "bounds" in time else ("without", "with")
            raise InputError(
                f"records {expected} time bounds for {self.path}, whose records are {actual} time bounds",
                allowed="an output file of this run",
                fix="another file name",
                problem=f"Cannot append to {self.path}: its variables differ from the variables of this run.",
            )

    def _count(self, time: float, until: float) -> None:
        """Determine the last record that is kept."""
        times = self._store.times()
        times = times[: 1 + int(np.cumprod(np.diff(times) > 0).sum())]  # a killed run can leave an unset time
        self.count = int((times <= time).sum())
        if self.count < times.size and times[-1] > until:
            raise InputError(
                f"{self.path} with {times.size - self.count} records later than the restart at t = {time:.10g} s "
                f"(up to t = {times[-1]:.10g} s)",
                allowed="a file that ends before the end time of this run",
                fix=f"an end_time of at least {times[-1]:.10g} s, another file name, or overwrite = true to drop them",
                problem=f"Cannot append to {self.path}: it has records after the end time of this run.",
            )
        self.last_time = float(times[self.count - 1]) if self.count else None

    def dimension(self, name: str, size: int | None) -> None:
        """Declare a dimension; None is unlimited."""
        self._store.dimension(name, size)

    def variable(
        self,
        name: str,
        dimensions: tuple[str, ...],
        dtype: Any,
        attributes: Mapping[str, Any],
        *,
        data: Any = None,
        chunks: tuple[int, ...] | None = None,
        compression: int = 0,
        fill: bool = False,
    ) -> None:
        """Declare a variable, and write `data` if it is not None.

        Parameters
        ----------
        compression : int
            zlib level after a byte shuffle; 0 is none.
        fill : bool
            Fill values that are not written with NaN.
        """
        with self._declaring():
            if data is not None:
                check_space(
                    self.path, np.asarray(data).nbytes, written_path=self._output.current_path, safe=_NOTHING, fix=_FIX
                )
            self._store.variable(
                name, dimensions, dtype, attributes, data=data, chunks=chunks, compression=compression, fill=fill
            )

    def attribute(self, name: str, value: Any) -> None:
        """Set a global attribute."""
        self._store.attributes[name] = value

    @property
    def variables(self) -> Mapping[str, Any]:
        """Variables of the file, with `dimensions`, `dtype`, `attrs` and values by ``[...]``."""
        return self._store.variables

    def check_holds(self, what: str, coordinates: Mapping[str, Any], names: Iterable[str]) -> None:
        """Close the file and raise `InputError` if it lacks variables or has other positions; `what` names them.

        coordinates : mapping of name to array
            Variables without a time dimension, and their required values.
        """
        try:
            with reading(self.path, _EXISTING):
                held = self.variables
                missing = [name for name in (*coordinates, *names) if name not in held]
                if not missing:
                    if all(_same(held[name][...], values) for name, values in coordinates.items()):
                        return
        except InputError:
            self._failed = True
            self.close()
            raise
        self.close()
        lacks = f"; missing: {', '.join(missing)}" if missing else ""
        raise InputError(
            f"{self.path} with other {what}{lacks}",
            allowed=f"the {what} of this run",
            fix="another file name",
            problem=f"Cannot append to {self.path}: its {what} differ from the {what} of this run.",
        )

    def ready(self) -> None:
        """Write all declarations to disk."""
        with self._declaring():
            self._store.flush()
            self._output.remember(self._held)

    @contextmanager
    def _declaring(self) -> Iterator[None]:
        """Convert errors of a file without records to `WriteError`; errors of closing the file are suppressed."""
        try:
            with writing(self.path, safe=_NOTHING, fix=_FIX):
                yield
        except BaseException:
            self.failed = True
            self._store.abandon()
            self._close()
            raise

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Append one record to the file on disk; values : one array per variable, without the time axis."""
        self.extend([time], {name: value[None] for name, value in values.items()})

    def extend(self, times: Sequence[float] | np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Append records and write them to disk.

        Parameters
        ----------
        times : sequence of float
            Model times, s, ascending.
        values : mapping
            One array per variable, with the time axis first.

        Raises
        ------
        InputError
            If the first time is not after the last record.
        WriteError
            If the disk is full or not available; the message states which records are on disk.
        """
        if self.last_time is not None and times[0] <= self.last_time:
            raise InputError(
                f"a record at t = {times[0]:.10g} s for {self.path}",
                allowed=f"times after t = {self.last_time:.10g} s",
                problem=f"A new record for {self.path} is not later than the last record.",
            )
        needed = 8 * len(times) + sum(value.nbytes for value in values.values())
        try:
            perhaps = f"the last restart file; perhaps {self.safe}"
            self._check_output(f"{self._held}, and the record at t = {times[0]:.10g} s")
            check_space(self.path, needed, written_path=self._output.current_path, safe=self.safe, fix=_FIX)
            with writing(self.path, safe=perhaps, fix=_FIX):
                first = bool(self._history)
                self._write(times, values)
                if not self._output.has_name:
                    self._finalizer()
                    self._output.take_name()
                    self._open(new=False)
                else:
                    new = slice(self.count, self.count + len(times))
                    written = None if first else self._store.files(new, ["time", *values])
                    self._output.remember(self._held, written, truncated=first)
        except BaseException:
            self.failed = True
            raise
        self.count += len(times)
        self.last_time = float(times[-1])

    def _write(self, times: Sequence[float] | np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Write records and flush them."""
        new = slice(self.count, self.count + len(times))
        if self._history:
            self._store.attributes["history"] = f"{self._store.attributes['history']}\n{self._history}"
            self._history = ""
        self._store.write(new, {**values, "time": np.asarray(times)})

    def _check_output(self, lost: str, *, whole: bool = False) -> None:
        """Raise a `WriteError`, and write nothing more to the file, if another program changed it."""
        try:
            self._output.check(lost, whole=whole)
        except WriteError:
            self._store.abandon()
            raise

    def close(self) -> None:
        """Close the file; a second call does nothing. Without a record it is removed.

        Raises
        ------
        WriteError
            If another program changed the file since the last record.
        """
        if self._output.has_name and not self.failed and self._finalizer.alive:
            do_all((lambda: self._check_output(self._held, whole=True), self._close))
        else:
            self._close()

    def _close(self) -> None:
        """Close the file without a comparison."""
        try:
            with writing(self.path, safe=self.safe, fix=_FIX):
                try:
                    self._finalizer()
                finally:
                    self._output.discard()
        except WriteError:
            if not self.failed:
                raise


def _same(held: Any, values: np.ndarray) -> bool:
    """Return whether a file has these values; strings of the file may be bytes."""
    if values.dtype != object:
        return np.array_equal(held, values)
    return [one.decode("utf-8") if isinstance(one, bytes) else str(one) for one in held] == list(values)
