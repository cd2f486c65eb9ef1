"""CSV files that grow by one row and are complete at any time.

A new file takes its final name with its first row and replaces an older file then.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eagre.errors import InputError
from eagre.fields import TIME_BOUNDS
from eagre.io.files import reading, writing
from eagre.io.records.output_paths import Growing, GrowingFile

_FIX = "free disk space, then continue from the last restart file"


def header_line(names: Sequence[str]) -> str:
    """Return a CSV line of names, quoted if necessary.

    Raises
    ------
    InputError
        If a name contains a line break.
    """
    if any("\n" in name or "\r" in name for name in names):
        raise InputError(
            f"names {list(names)!r}",
            allowed="names without line breaks",
            problem="A column name contains a line break.",
        )
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(names)
    return text.getvalue()


class RowFile(GrowingFile):
    """CSV file that grows by one row per call; rows are not buffered.

    Parameters
    ----------
    path : Path
        Path that `eagre.io.files.output_file` has checked.
    header : str
        First line, from `header_line`.
    resume_at : float, optional
        Append to the existing file from this model time on, s.
    until : float
        With `resume_at`: later rows are dropped if none is later than this time, s. Incomplete lines of a killed run
        are also dropped.

    Raises
    ------
    InputError
        If the existing file has another header, or rows later than both times.
    """

    noun = "row"

    def __init__(self, path: Path, header: str, resume_at: float | None = None, until: float = -math.inf) -> None:
        super().__init__(path)
        self._kept_bytes: int | None = None  # bytes of the kept rows, until the first row of a continued run
        self._output = Growing(path, there=resume_at is not None)
        if resume_at is not None:
            self._resume(header, resume_at, until)
        with writing(path, safe="no row was written yet", fix=_FIX):
            self._file = self._output.current_path.open("wb" if resume_at is None else "ab", buffering=0)
            try:
                if resume_at is None:
                    self._put(header)
                self._output.remember(self._held)
            except BaseException:
                self._file.close()
                self._output.discard()
                raise

    def _resume(self, header: str, time_now: float, until: float) -> None:
        """Check an existing file and determine the rows that are kept."""
        lines = self.path.read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
        if not lines or lines[0] != header:
            raise InputError(
                f"{self.path} with other columns",
                allowed=f"the header {header.strip()[:80]!r}",
                fix="another file name",
                problem=f"Cannot append to {self.path}: its columns differ from the columns of this run.",
            )
        if not lines[-1].endswith("\n"):
            del lines[-1]
        with reading(self.path, "existing output file"):
            times = [float(line.split(",", 1)[0]) for line in lines[1:]]
        kept_times = [time for time in times if time <= time_now]
        if len(kept_times) < len(times) and times[-1] > until:
            raise InputError(
                f"{self.path} with {len(times) - len(kept_times)} rows later than the restart at t = {time_now:.10g} s "
                f"(up to t = {times[-1]:.10g} s)",
                allowed="a file that ends before the end time of this run",
                fix=f"an end_time of at least {times[-1]:.10g} s, another file name, or overwrite = true to drop them",
                problem=f"Cannot append to {self.path}: it has rows after the end time of this run.",
            )
        self._kept_bytes = sum(len(line.encode("utf-8")) for line in lines[: 1 + len(kept_times)])
        self.count = len(kept_times)
        self.last_time = kept_times[-1] if kept_times else None

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Append one row; values : (points,) array of each variable (see `extend`)."""
        self.extend([time], {name: value[None] for name, value in values.items()})

    def extend(self, times: Sequence[float] | np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Append rows: the time, then all variables per point.

        Parameters
        ----------
        times : sequence of float
            Model times, s, ascending.
        values : mapping
            (times, points) array of each variable; time bounds are not written.

        Raises
        ------
        InputError
            If the first time is not after the last row.
        WriteError
            If the disk is full; none of the rows is then in the file.
        """
        if self.last_time is not None and times[0] <= self.last_time:
            raise InputError(
                f"a row at t = {times[0]:.10g} s for {self.path}",
                allowed=f"times after t = {self.last_time:.10g} s",
                problem=f"A new row for {self.path} is not later than the last row.",
            )
        lines, columns = [], [value for name, value in values.items() if name != TIME_BOUNDS]
        for time, *arrays in zip(times, *columns, strict=True):
            cells = [str(one) for each in zip(*arrays, strict=True) for one in each]
            lines.append(",".join([repr(float(time)), *cells]) + "\n")
        try:
            self._output.check(f"{self._held}, and the row at t = {times[0]:.10g} s")
            with writing(self.path, safe=self.safe, fix=_FIX):
                if self._kept_bytes is not None:
                    self._file.truncate(self._kept_bytes)
                    self._file.seek(self._kept_bytes)
                    self._kept_bytes = None
                    self._output.remember(self._held, truncated=True)
                self._put("".join(lines))
                if not self._output.has_name:
                    self._file.close()
                    self._output.take_name()
                    self._file = self.path.open("ab", buffering=0)
                self._output.remember(self._held)
        except BaseException:
            self.failed = True
            raise
        self.count += len(times)
        self.last_time = float(times[-1])

    def _put(self, line: str) -> None:
        """Write a line completely or not at all."""
        data = line.encode("utf-8")
        size = self._file.tell()
        try:
            while data:  # the system may write a part of the data before it reports an error
                data = data[self._file.write(data) :]
        except OSError:
            self._file.truncate(size)
            self._file.seek(size)
            raise

    def close(self) -> None:
        """Close the file; a second call does nothing. Without a row it is removed.

        Raises
        ------
        WriteError
            If another program changed the file since the last row.
        """
        opened = not self._file.closed
        with writing(self.path, safe=self.safe):
            self._file.close()
            self._output.discard()
        if opened and self._output.has_name and not self.failed:
            self._output.check(self._held)


def write_rows(path: Path, names: Sequence[str], rows: Sequence[Sequence[float]]) -> None:
    """Write a complete CSV file; it replaces an existing file.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Column names with units.
    rows : sequence of sequences of float

    Raises
    ------
    WriteError
        If the disk is full; an existing file is unchanged.
    """
    lines = [header_line(names), *(",".join(repr(float(value)) for value in row) + "\n" for row in rows)]
    output = Growing(path, there=False)
    try:
        with writing(path, safe="the older file, if any", fix="free disk space"):
            output.current_path.write_text("".join(lines), encoding="utf-8")
            output.take_name()
    finally:
        output.discard()
