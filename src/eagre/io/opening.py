"""How the files of a run are opened: what the writers of all kinds of results have in common."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypedDict

from eagre.contract import Model
from eagre.io.cf import global_attributes, time_attributes
from eagre.io.files import output_file
from eagre.io.records import RecordFile
from eagre.io.rows import RowFile, header_line


class Manner(TypedDict, total=False):
    """The arguments of `Opening`, which every writer takes by name."""

    attributes: Mapping[str, Any] | None
    start_date: str | date | None
    overwrite: bool
    append: bool
    until: float


@dataclass(frozen=True)
class Opening:
    """How a file of results is opened.

    Parameters
    ----------
    attributes : mapping, optional
        More global attributes: ``title``, ``institution``, ``comment`` ...
    start_date : str or date, optional
        Date of model time 0, UTC: time is then in seconds since it, else in plain seconds.
    overwrite : bool
        Replace a file that exists, when the first record is on disk. With `append`: drop its records later than
        the model's time.
    append : bool
        Go on with the file of the run that is continued: records after the model's time follow. A file that is not
        there is started. The record at the restart time itself is not written twice.
    until : float, s
        With `append`: where the run ends. Records between the model's time and it are dropped, as they are made again.
    """

    attributes: Mapping[str, Any] | None = None
    start_date: str | date | None = None
    overwrite: bool = False
    append: bool = False
    until: float = -math.inf

    def place(self, path: str | os.PathLike[str], *suffixes: str, what: str = "output") -> Path:
        """Absolute path of a file with one of these endings that may be written.

        Raises
        ------
        InputError
            As `eagre.io.files.output_file`.
        """
        return output_file(path, suffixes=suffixes, overwrite=self.overwrite or self.append, what=what)

    def records(self, path: Path, model: Model, **time: str) -> tuple[RecordFile, bool]:
        """The open NetCDF or Zarr file, and whether it goes on; `time` are more attributes of its times.

        Raises
        ------
        InputError
            If the file does not go on with this run's output, or an attribute or the date is wrong.
        WriteError
            If the disk is full.
        """
        about = time_attributes(self.start_date) | time
        attributes = global_attributes(model, self.attributes)
        if self._goes_on(path):
            return RecordFile.resume(path, model, about, until=self._until), True
        return RecordFile.create(path, attributes, about), False

    def rows(self, path: Path, model: Model, columns: Sequence[str]) -> RowFile:
        """The open CSV file: the time, then these columns.

        Raises
        ------
        InputError
            If the file does not go on with this run's output, or the date is wrong.
        """
        unit = time_attributes(self.start_date)["units"].replace("seconds", "s", 1)
        header = header_line([f"time ({unit})", *columns])
        return RowFile(path, header, float(model.time) if self._goes_on(path) else None, self._until)

    def _goes_on(self, path: Path) -> bool:
        return self.append and path.exists()

    @property
    def _until(self) -> float:
        return math.inf if self.overwrite else self.until
