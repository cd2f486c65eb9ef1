"""Writers of results: base class, options of output files, and writing in a background thread."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypedDict

from eagre.contract import Model
from eagre.fields import TIME_BOUNDS, Variable
from eagre.io.cf import global_attributes, time_attributes
from eagre.io.files import output_file
from eagre.io.records.records import RecordFile
from eagre.io.tables.csv_rows import RowFile, header_line


class BackgroundWriter:
    """One thread that runs one operation at a time, concurrently with its owner.

    An exception of an operation is raised by the next `wait`, `do` or `close`.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="eagre-output")
        self._last: Future[Any] | None = None

    def wait(self) -> None:
        """Wait until the last operation has finished."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def do(self, action: Callable[..., Any], *arguments: Any) -> None:
        """Run ``action(*arguments)`` in the thread after the last operation, even if that operation failed."""
        try:
            self.wait()
        finally:
            self._last = self._pool.submit(action, *arguments)

    def close(self) -> None:
        """Wait for the last operation and end the thread."""
        try:
            self.wait()
        finally:
            self._pool.shutdown()


class Writer:
    """Writer of results, closed at the end of a ``with`` block.

    If the block fails, an error of closing the file becomes a note of the first error.
    """

    _file: Any

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except OSError as failed:
            if error is None:
                raise
            error.add_note(str(failed))


class Manner(TypedDict, total=False):
    """Keyword arguments of `WriterSetup`, which every writer accepts."""

    attributes: Mapping[str, Any] | None
    start_date: str | date | None
    overwrite: bool
    append: bool
    until: float


@dataclass(frozen=True)
class WriterSetup:
    """Options with which an output file is opened.

    Parameters
    ----------
    attributes : mapping, optional
        Additional global attributes: ``title``, ``institution``, ``comment`` ...
    start_date : str or date, optional
        Date of model time 0, UTC. Times are in seconds since this date; without it in seconds of model time.
    overwrite : bool
        Replace an existing file when the first record is on disk. With `append`: drop its records later than the
        model's time.
    append : bool
        Append to the file of the run that is continued: records after the model's time follow. A missing file is
        created. The record at the restart time is not written twice.
    until : float, s
        With `append`: end time of the run. Records between the model's time and `until` are dropped and recomputed.
    """

    attributes: Mapping[str, Any] | None = None
    start_date: str | date | None = None
    overwrite: bool = False
    append: bool = False
    until: float = -math.inf

    def output_path(self, path: str | os.PathLike[str], *suffixes: str, what: str = "output") -> Path:
        """Return the absolute path of a file with one of these suffixes that can be written.

        Raises
        ------
        InputError
            See `eagre.io.files.output_file`.
        """
        return output_file(path, suffixes=suffixes, overwrite=self.overwrite or self.append, what=what)

    def records(self, path: Path, model: Model, variables: Iterable[Variable]) -> tuple[RecordFile, bool]:
        """Open a NetCDF or Zarr file; return it and whether it is appended to.

        Its records have `TIME_BOUNDS` if one of the `variables` is a statistic over time.

        Raises
        ------
        InputError
            If the file is not output of the same run, or an attribute or the date is wrong.
        WriteError
            If the disk is full.
        """
        bounds = {"bounds": TIME_BOUNDS} if any(one.over_time for one in variables) else {}
        about = time_attributes(self.start_date) | bounds
        attributes = global_attributes(model, self.attributes)
        if self._goes_on(path):
            return RecordFile.resume(path, model, about, until=self._until), True
        return RecordFile.create(path, attributes, about), False

    def rows(self, path: Path, model: Model, columns: Sequence[str]) -> RowFile:
        """Open a CSV file with the time and these columns.

        Raises
        ------
        InputError
            If the file is not output of the same run, or the date is wrong.
        """
        unit = time_attributes(self.start_date)["units"].replace("seconds", "s", 1)
        header = header_line([f"time ({unit})", *columns])
        return RowFile(path, header, float(model.time) if self._goes_on(path) else None, self._until)

    def _goes_on(self, path: Path) -> bool:
        return self.append and path.exists()

    @property
    def _until(self) -> float:
        return math.inf if self.overwrite else self.until
