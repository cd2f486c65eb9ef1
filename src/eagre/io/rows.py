"""CSV files that grow by one row and are complete at any moment.

A new file takes its name with its first row: what stood there is safe until then.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from eagre.errors import InputError
from eagre.io.files import reading, writing
from eagre.io.places import Growing

_FIX = "free some space, then go on from the last restart file"


def header_line(names: Sequence[str]) -> str:
    """A CSV line of names, with quotes where they are needed.

    Raises
    ------
    InputError
        If a name holds a line break.
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


class RowFile:
    """A CSV file that grows by one row a call; every row is handed to the system at once.

    Parameters
    ----------
    path : Path
        Checked by `eagre.io.files.output_file`.
    header : str
        First line, from `header_line`.
    resume_at : float, optional
        Go on with the file that is there, from this model time, s.
    until : float
        With `resume_at`: later rows give way to the next one if none is later than this, s. So does a line that a
        kill cut.

    Raises
    ------
    InputError
        If the file to go on with has another header, or rows later than both.
    """

    def __init__(self, path: Path, header: str, resume_at: float | None = None, until: float = -math.inf) -> None:
        self.path = path
        self.last_time: float | None = None
        self.count = 0
        self.failed = False
        self._kept: int | None = None  # bytes of the rows that stay, until the first row of a run that goes on
        self._place = Growing(path, there=resume_at is not None)
        if resume_at is not None:
            self._resume(header, resume_at, until)
        with writing(path, safe="nothing was written yet", fix=_FIX):
            self._file = self._place.at.open("wb" if resume_at is None else "ab", buffering=0)
            try:
                if resume_at is None:
                    self._put(header)
                self._place.remember(self._held)
            except BaseException:
                self._file.close()
                self._place.discard()
                raise

    def _resume(self, header: str, now: float, until: float) -> None:
        """Check the file that goes on, and find the rows that stay."""
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
        kept = [time for time in times if time <= now]
        if len(kept) < len(times) and times[-1] > until:
            raise InputError(
                f"{self.path} with {len(times) - len(kept)} rows later than the restart at t = {now:.10g} s "
                f"(up to t = {times[-1]:.10g} s)",
                allowed="a file that ends before the end time of this run",
                fix=f"an end_time of at least {times[-1]:.10g} s, another file name, or overwrite = true to drop them",
                problem=f"Cannot append to {self.path}: it has rows after the end time of this run.",
            )
        self._kept = sum(len(line.encode("utf-8")) for line in lines[: 1 + len(kept)])
        self.count = len(kept)
        self.last_time = kept[-1] if kept else None

    def append(self, time: float, values: Mapping[str, np.ndarray]) -> None:
        """Add one row; values : (points,) array of each variable (see `extend`)."""
        self.extend([time], {name: value[None] for name, value in values.items()})

    def extend(self, times: Sequence[float] | np.ndarray, values: Mapping[str, np.ndarray]) -> None:
        """Add rows: the time, then for each point each variable.

        Parameters
        ----------
        times : sequence of float
            Model times, s, ascending.
        values : mapping
            (times, points) array of each variable.

        Raises
        ------
        InputError
            If the first time is not after the last row.
        WriteError
            If the disk is full; no part of the rows is left behind.
        """
        if self.last_time is not None and times[0] <= self.last_time:
            raise InputError(
                f"a row at t = {times[0]:.10g} s for {self.path}",
                allowed=f"times after t = {self.last_time:.10g} s",
                problem=f"A new row for {self.path} is not later than the last row.",
            )
        lines = []
        for time, *arrays in zip(times, *values.values(), strict=True):
            cells = [str(one) for each in zip(*arrays, strict=True) for one in each]
            lines.append(",".join([repr(float(time)), *cells]) + "\n")
        try:
            self._place.check(f"{self._held}, and the row at t = {times[0]:.10g} s")
            with writing(self.path, safe=self.safe, fix=_FIX):
                if self._kept is not None:
                    self._file.truncate(self._kept)
                    self._file.seek(self._kept)
                    self._kept = None
                    self._place.remember(self._held, cut=True)
                self._put("".join(lines))
                if not self._place.has_name:
                    self._file.close()
                    self._place.take_name()
                    self._file = self.path.open("ab", buffering=0)
                self._place.remember(self._held)
        except BaseException:
            self.failed = True
            raise
        self.count += len(times)
        self.last_time = float(times[-1])

    def _put(self, line: str) -> None:
        """Write a line, the whole of it or nothing."""
        data = line.encode("utf-8")
        size = self._file.tell()
        try:
            while data:  # a part is written before the system says why there is no room
                data = data[self._file.write(data) :]
        except OSError:
            self._file.truncate(size)
            self._file.seek(size)
            raise

    @property
    def safe(self) -> str:
        """What is on disk, for messages."""
        if self.last_time is None:
            return "no row was written yet"
        return f"the {self.count} rows up to t = {self.last_time:.10g} s in {self.path}"

    @property
    def _held(self) -> str:
        """The rows in the file, for messages about their loss."""
        if self.last_time is None:
            return f"every row in {self.path}"
        return f"the {self.count} rows up to t = {self.last_time:.10g} s in {self.path}"

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
            self._place.discard()
        if opened and self._place.has_name and not self.failed:
            self._place.check(self._held)


def write_rows(path: Path, names: Sequence[str], rows: Sequence[Sequence[float]]) -> None:
    """Write a CSV file at once, in place of what stood there.

    Parameters
    ----------
    path : Path
    names : sequence of str
        Of the columns, with units.
    rows : sequence of sequences of float

    Raises
    ------
    WriteError
        If the disk is full; what stood there is safe.
    """
    lines = [header_line(names), *(",".join(repr(float(value)) for value in row) + "\n" for row in rows)]
    place = Growing(path, there=False)
    try:
        with writing(path, safe="the older file, if any", fix="free some space"):
            place.at.write_text("".join(lines), encoding="utf-8")
            place.take_name()
    finally:
        place.discard()
