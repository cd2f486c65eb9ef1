"""Records of the runs of a sweep, and the table of all records."""

from __future__ import annotations

import csv
import os
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eagre.config.toml import literal
from eagre.errors import InputError
from eagre.io.files import reading, writing
from eagre.io.records.output_paths import locked
from eagre.temporary import temporary_path

WAITING, RUNNING, FINISHED, INTERRUPTED, FAILED = "waiting", "running", "finished", "interrupted", "failed"
RECORD, LOG, TABLE = "member.toml", "run.log", "members.csv"
_LOCK_SECONDS = 10.0  # wall time to wait for another process that writes the table


@dataclass(frozen=True)
class Record:
    """State of a member, stored in `RECORD` of its folder.

    Parameters
    ----------
    state : str
        ``"waiting"``, ``"running"``, ``"finished"``, ``"interrupted"`` or ``"failed"``.
    fingerprint : str
        Hash of the case file and the values.
    values : dict
        Changed values, by key of the case file.
    files : dict
        File names, by section of the case file.
    exit_code : int
        Exit code of the last run; negative: the number of the signal that killed the run.
    seconds : float
        Wall time of the last run, s.
    message : str
        First line of the error message of a failed run.
    """

    state: str
    fingerprint: str
    values: Mapping[str, Any]
    files: Mapping[str, str]
    exit_code: int = 0
    seconds: float = 0.0
    message: str = ""

    def write(self, path: Path) -> None:
        """Replace the file `path` in one operation."""
        lines = [f"{name} = {literal(one)}" for name, one in vars(self).items() if not isinstance(one, Mapping)]
        for name, table in (("values", self.values), ("files", self.files)):
            lines += ["", f"[{name}]", *(f"{literal(key)} = {literal(one)}" for key, one in table.items())]
        with temporary_path(path) as temporary:
            temporary.write_text("\n".join([*lines, ""]), encoding="utf-8")
            os.replace(temporary, path)

    @classmethod
    def read(cls, path: Path) -> Record | None:
        """Return the record of a file, or None if the file does not exist.

        Raises
        ------
        InputError
            If the file is damaged.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        with reading(path, "record of a member"):
            return cls(**tomllib.loads(text))


def read_records(folder: Path) -> dict[str, Record]:
    """Return the records of all members in a folder, by name."""
    paths = sorted(folder.glob(f"[0-9]*/{RECORD}"))
    return {path.parent.name: record for path in paths if (record := Record.read(path)) is not None}


def write_table(folder: Path) -> None:
    """Write `TABLE` into the folder of the members; it is complete at any time.

    Columns: member, changed values, state, exit code, wall time, error and path of the first output file.

    Raises
    ------
    WriteError
        If the disk is full; an existing table is unchanged.
    """
    path, end = folder / TABLE, time.monotonic() + _LOCK_SECONDS
    while time.monotonic() < end:
        try:
            with locked(path), writing(path, safe="the older table, if any", fix="free disk space"):
                return _write(path, read_records(folder))
        except InputError:  # another process writes the table
            time.sleep(0.02)


def _write(path: Path, records: dict[str, Record]) -> None:
    keys = list(dict.fromkeys(key for record in records.values() for key in record.values))
    with temporary_path(path) as temporary:
        with temporary.open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(["member", *keys, "state", "exit_code", "wall_time (s)", "error", "file"])
            for name, record in records.items():
                values = [text_of(record.values.get(key, "")) for key in keys]
                result = [record.state, record.exit_code, record.seconds, record.message]
                rows.writerow([name, *values, *result, f"{name}/{next(iter(record.files.values()))}"])
        os.replace(temporary, path)


def text_of(value: Any) -> str:
    """Return a value as in a case file; strings without quotation marks."""
    return value if isinstance(value, str) else literal(value)
