"""Restart files: the complete state of a model, bitwise, in HDF5 with a checksum.

The file begins with an HDF5 user block of 512 bytes, which HDF5 ignores. The block holds the size and the CRC-32 of the
rest of the file, so damage is found before HDF5 opens the file: HDF5 can crash on damaged files.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from eagre.contract import Model
from eagre.errors import InputError
from eagre.grid import PARAMETERS
from eagre.io.cf import eagre_version, history_line, versions
from eagre.io.files import check_space, input_file, output_file, reading, sync, writing
from eagre.io.records.store_netcdf import LIBVER, Sink
from eagre.temporary import temporary_path

FORMAT = 1
_KINDS = "biufc"
_BLOCK = 512  # bytes of the user block
_MARK = b"eagre restart "
_HEAD = 1 << 16  # bytes within which a file without a user block, of an older version, names its format
_FORMAT_NAME = "eagre_restart_format"
_TRIAL_SECONDS, _TRIAL_SPEED = 60.0, 1e7  # of a trial: seconds for its start, bytes per second for reading
_TRIAL = """
import sys, h5py
with h5py.File(sys.argv[1], "r", locking=False) as file:
    dict(file.attrs)
    for dataset in file["state"].values():
        dataset[()], dict(dataset.attrs)
"""


@dataclass(frozen=True)
class RestartHeader:
    """Metadata of a restart file.

    Parameters
    ----------
    kind : str
        Name of the model.
    precision : str
        ``"single"`` or ``"double"``.
    time : float
        Model time, s.
    steps : int
        Number of completed steps.
    grid : dict
        nx, ny, dx, dy, x0, y0.
    version : str
        Version of Eagre that wrote the file.
    start_date : str
        Date of model time 0, ISO 8601; "" if the run had no start date.
    """

    kind: str
    precision: str
    time: float
    steps: int
    grid: dict[str, float]
    version: str
    start_date: str = ""


def write_restart(path: str | os.PathLike[str], model: Model, *, start_date: datetime | None = None) -> Path:
    """Write the state of a model; a run continued from it is bitwise identical.

    The state is written to a temporary file in the same folder, flushed to disk and renamed to `path` in one operation:
    at any time `path` is a complete restart file, the old or the new one. Temporary files of killed processes of this
    host are removed if they are older than ten minutes.

    Parameters
    ----------
    path : path-like
        The ``.nc`` file. An existing restart file is replaced.
    model : Model
        Read: `state()`, `kind`, `precision`, `grid`, `time`, `steps`.
    start_date : datetime, optional
        Date of model time 0; a case that continues the run must have the same date.

    Returns
    -------
    Path
        Absolute path of the file.

    Raises
    ------
    InputError
        If the folder is missing or not writable, or `path` is another kind of file.
    WriteError
        If the disk is full; an older restart file is then unchanged.
    """
    full = restart_path(path)
    state = {name: _array(name, value) for name, value in model.state().items()}
    safe = f"the older restart file {full} is untouched" if full.exists() else "no restart file was written yet"
    fix = "free disk space, or use another folder for the restart file"
    with temporary_path(full) as temporary, writing(full, safe=safe, fix=fix):
        check_space(full, sum(value.nbytes for value in state.values()), written_path=temporary, safe=safe, fix=fix)
        _write(temporary, model, state, start_date)
        _seal(temporary)
        sync(temporary)
        os.replace(temporary, full)
        sync(full.parent)
    return full


def restart_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path of a restart file that can be written.

    Raises
    ------
    InputError
        If the folder is missing or not writable, or `path` is a folder or another kind of file.
    """
    full = output_file(path, suffixes=(".nc",), overwrite=True, what="restart file")
    if full.exists() and not _is_restart(full):
        raise InputError(
            f"restart file {full}",
            allowed="a new name, or a restart file to replace",
            fix='file = "restart.nc"',
            problem=f"The file {full} is not a restart file and would be lost.",
        )
    return full


def read_restart_header(path: str | os.PathLike[str]) -> RestartHeader:
    """Read the metadata of a restart file; raise `InputError` if it is missing, damaged or another kind of file."""
    full = input_file(path, "restart file")
    with _opened(full) as file:
        return _header(file)


def read_restart(path: str | os.PathLike[str], model: Model | None = None) -> dict[str, np.ndarray]:
    """Read a state written by `write_restart`, for `model.restore`.

    Parameters
    ----------
    path : path-like
        The file.
    model : Model, optional
        Model to restore: its kind, grid and precision must equal those in the file.

    Returns
    -------
    dict of str to array
        The arrays of `model.state()`, with the same types and bits.

    Raises
    ------
    InputError
        If the file is missing, damaged, not a restart file, or of another model.
    """
    full = input_file(path, "restart file")
    with _opened(full) as file:
        header = _header(file)
        if model is not None:
            _check_model(header, model, full)
        state = {}
        for name, dataset in file["state"].items():
            state[name] = np.asarray(dataset[()])
            if _checksum(state[name]) != int(dataset.attrs["crc32"]):
                raise _damaged(full, f"the checksum of {name} is wrong")
    return state


def _array(name: str, value: Any) -> np.ndarray:
    """Return an entry of the state as an array that HDF5 stores exactly."""
    array = np.asarray(value)
    if array.dtype.kind not in _KINDS or "/" in name:
        raise TypeError(f"state {name!r} of type {array.dtype}: only numbers can be kept, under names without '/'")
    return array


def _checksum(array: np.ndarray) -> int:
    """Return the CRC-32 of the bytes of an array."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _write(path: Path, model: Model, state: Mapping[str, np.ndarray], start_date: datetime | None) -> None:
    """Write a whole restart file."""
    import h5py

    with closing(Sink(path, new=True)) as sink:
        with h5py.File(sink, "w", libver=LIBVER, locking=False, userblock_size=_BLOCK) as file:
            _fill(file, model, state, start_date)
        sink.commit()


def _fill(file: Any, model: Model, state: Mapping[str, np.ndarray], start_date: datetime | None) -> None:
    """Write the attributes and the state."""
    file.attrs.update(
        {
            _FORMAT_NAME: FORMAT,
            "source": f"eagre {eagre_version()}",
            "history": history_line("restart"),
            "versions": versions(),
            "kind": model.kind,
            "precision": model.precision,
            "time": float(model.time),
            "steps": int(model.steps),
        }
    )
    if start_date is not None:
        file.attrs["start_date"] = start_date.isoformat()
    file.attrs.update({f"grid_{name}": getattr(model.grid, name) for name in PARAMETERS})
    group = file.create_group("state")
    for name, value in state.items():
        group.create_dataset(name, data=value).attrs["crc32"] = _checksum(value)


def _seal(path: Path) -> None:
    """Write the checksum of a restart file into its user block."""
    block = _block(path)
    with path.open("r+b") as file:
        file.write(block)


def _block(path: Path) -> bytes:
    """Return the user block that belongs to the rest of a restart file."""
    size, checksum = 0, 0
    with path.open("rb") as file:
        file.seek(_BLOCK)
        while data := file.read(1 << 22):
            size, checksum = size + len(data), zlib.crc32(data, checksum)
    return (_MARK + f"size {size} crc32 {checksum:08x}\n".encode()).ljust(_BLOCK, b"\0")


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file."""
    with reading(path, "restart file"), path.open("rb") as file:
        return file.read(_HEAD)


def _is_restart(path: Path) -> bool:
    """Return whether `path` is a restart file, damaged or not."""
    if _first_bytes(path).startswith(_MARK):
        return True
    try:
        with _opened(path):
            return True
    except InputError:
        return False


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Check the bytes of a restart file and open it for reading."""
    import h5py

    _check_bytes(path)
    with reading(path, "restart file"), h5py.File(path, "r", locking=False) as opened:
        file: Any = opened
        if _FORMAT_NAME not in file.attrs or "state" not in file:
            raise _not_a_restart(path)
        if int(file.attrs[_FORMAT_NAME]) > FORMAT:
            source = file.attrs.get("source")
            raise InputError(
                f"restart file {path} of {source} for eagre {eagre_version()}",
                fix="pip install -U eagre",
                problem=f"The restart file {path} was written by a newer version of Eagre.",
            )
        yield file


def _check_bytes(path: Path) -> None:
    """Reject a file with a wrong checksum; a file without a checksum is first opened in another process.

    Raises
    ------
    InputError
        If the file is damaged or not a restart file.
    """
    head = _first_bytes(path)
    if head.startswith(_MARK):
        if head[:_BLOCK] != _block(path):
            raise _damaged(path, "its bytes do not match its checksum")
    elif _FORMAT_NAME.encode() not in head:
        raise _not_a_restart(path)
    elif not _can_be_read(path):
        raise _damaged(path, "HDF5 cannot read it")


def _can_be_read(path: Path) -> bool:
    """Return whether another process can read the whole file; on some damaged files HDF5 crashes or hangs."""
    command = [sys.executable, "-c", _TRIAL, str(path)]
    try:
        limit = _TRIAL_SECONDS + path.stat().st_size / _TRIAL_SPEED
        return subprocess.run(command, capture_output=True, check=False, timeout=limit).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _header(file: Any) -> RestartHeader:
    """Return the metadata of an open file."""
    attributes = file.attrs
    grid = {name: attributes[f"grid_{name}"].item() for name in PARAMETERS}
    version = str(attributes["source"]).removeprefix("eagre ")
    time, steps = float(attributes["time"]), int(attributes["steps"])
    kind, precision, date = (str(attributes.get(name, "")) for name in ("kind", "precision", "start_date"))
    return RestartHeader(kind, precision, time, steps, grid, version, date)


def _check_model(header: RestartHeader, model: Model, path: Path) -> None:
    """Raise `InputError` for the state of another model, precision or grid."""
    for name, file_value, model_value in (
        ("kind", header.kind, model.kind),
        ("precision", header.precision, model.precision),
    ):
        if file_value != model_value:
            raise InputError(
                f"{name} = {model_value!r} for the restart file {path} of {name} {file_value!r}",
                allowed=f"{file_value!r}",
                fix=f'{"model" if name == "kind" else name} = "{file_value}"',
                problem=f"The {name} of the restart file {path} differs from the {name} of this run.",
            )
    for name, file_value in header.grid.items():
        model_value = getattr(model.grid, name)
        if file_value != model_value:
            raise InputError(
                f"{name} = {model_value!r} for the restart file {path} with {name} = {file_value!r}",
                allowed="the grid of the restart file",
                fix=f"{name} = {file_value!r}",
                problem=f"The grid of the restart file {path} differs from the grid of this run.",
            )


def _not_a_restart(path: Path) -> InputError:
    """Return the error for a file that does not name the format of restart files."""
    return InputError(
        f"restart file {path}",
        allowed="a file written by a run's [restart] section",
        fix='from = "restart.nc"',
        problem=f"The file {path} is damaged or not a restart file.",
    )


def _damaged(path: Path, why: str) -> InputError:
    """Return the error for a restart file that changed since it was written."""
    return InputError(
        f"restart file {path}",
        allowed="an undamaged restart file",
        fix="an older restart file",
        problem=f"The restart file {path} is damaged: {why}.",
    )
