"""Runs of a sweep: command, folder and state of each run, and the table of all runs."""

from __future__ import annotations

import csv
import os
import signal
import sys
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
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name)]
STOPPED = {code for number in _SIGNALS for code in (128 + number, -number)}
"""Exit codes of a run that a signal has stopped."""


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


@dataclass(frozen=True)
class Member:
    """One run of a sweep. A call runs the member and returns its state; members can be pickled.

    Parameters
    ----------
    name : str
        Name of the folder: ``"000"``, ``"001"`` and so on.
    case_file : Path
        Absolute path of the case file.
    values : dict
        Changed values, by key of the case file.
    folder : Path
        Absolute path of the folder of the member.
    files : dict
        Names of the output files, by section of the case file.
    fingerprint : str
        Hash of the case file and the values.
    device : str
        Device, as for `eagre run`.
    """

    name: str
    case_file: Path
    values: Mapping[str, Any]
    folder: Path
    files: Mapping[str, str]
    fingerprint: str
    device: str

    def __call__(self) -> str:
        """Run the member unless it has finished, and return its state.

        A run that was stopped by a signal or killed continues from its restart file. Other runs start at the beginning.

        Returns
        -------
        state : str
            ``"finished"``, ``"failed"``, ``"interrupted"``, or ``"running"`` if another process runs the member.
        """
        from eagre.sweeps.running import run_sweep

        run_sweep([self])
        return self.record.state

    @property
    def path(self) -> Path:
        """Path of the record."""
        return self.folder / RECORD

    @property
    def record(self) -> Record:
        """Record of the member, in the state "waiting" before the first run."""
        return Record.read(self.path) or Record(WAITING, self.fingerprint, self.values, self.files)

    @property
    def restart(self) -> Path:
        """Path of the restart file."""
        return self.folder / self.files.get("restart", f"{self.case_file.stem}_restart.nc")

    def write(self, state: str, exit_code: int = 0, seconds: float = 0.0, message: str = "") -> None:
        """Write the record of the member."""
        Record(state, self.fingerprint, self.values, self.files, exit_code, seconds, message).write(self.path)

    def command(self, record: Record) -> list[str]:
        """Return the command that runs the member after a run with this record."""
        arguments = [sys.executable, "-P", "-m", "eagre", "run", str(self.case_file)]
        redirected = {f"{section}.file": str(self.folder / name) for section, name in self.files.items()}
        for key, value in (dict(self.values) | redirected).items():
            arguments += ["--set", f"{key}={literal(value)}"]
        arguments += ["--device", self.device]
        if self.continues(record):
            arguments += ["--restart", str(self.restart)]
        return [*arguments, "--overwrite"]  # `sweep` has checked the folder

    def continues(self, record: Record) -> bool:
        """Return whether a run after this record continues from the restart file."""
        return record.state in (RUNNING, INTERRUPTED) and self.restart.is_file()

    def error(self) -> str:
        """Return the first line of the last error message in the log."""
        text = (self.folder / LOG).read_text(encoding="utf-8", errors="replace")
        line = next((line for line in reversed(text.splitlines()) if line.startswith("error: ")), "")
        return line.removeprefix("error: ")


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
