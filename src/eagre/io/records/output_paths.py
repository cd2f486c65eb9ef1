"""Output files during a run: locks, final names, and the detection of changes by other programs."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from eagre.errors import InputError
from eagre.io.files import WriteError

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL)

if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock `path` for this run; the lock of a killed run is released.

    No lock is taken if the file system does not support locks.

    Raises
    ------
    InputError
        If another run holds the lock.
    """
    file = path.with_name(f".{path.name}.lock")
    handle = _take(file, path)
    try:
        yield
    finally:
        with suppress(OSError):  # while it is locked: the next run creates a new lock file
            file.unlink(missing_ok=True)
        os.close(handle)


def _take(file: Path, path: Path) -> int:
    """Return an open handle of the locked file."""
    while True:
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(handle)
            if os.path.samestat(os.fstat(handle), file.stat()):
                return handle
        except FileNotFoundError:
            pass  # its owner has just removed it
        except OSError as error:
            if error.errno in _NO_LOCKS:
                return handle
            os.close(handle)
            raise InputError(
                f"{path}, which is open in another run",
                allowed="one run at a time per output file",
                fix="another file name, or wait for the other run to end",
                problem=f"Another run is writing to {path}.",
            ) from None
        os.close(handle)


def temporary_name(path: Path) -> Path:
    """Return the path of a new file until it takes its name."""
    return path.with_name(f".{path.name}.new")


class Growing:
    """Output file of a run: it takes its final name with its first record, and no other program may change it.

    Parameters
    ----------
    path : Path
        Final path.
    there : bool
        Append to the existing file.

    Attributes
    ----------
    current_path : Path
    """

    def __init__(self, path: Path, *, there: bool) -> None:
        self.path = path
        self.current_path = path if there else temporary_name(path)
        self._older = None if there else _identity(path)
        self._seen: dict[str, _Identity] = {}  # by the name below `at`: files as this run has left them
        self._recent = [""]  # names of the last write

    @property
    def has_name(self) -> bool:
        """True once the file has its final name."""
        return self.current_path == self.path

    def take_name(self) -> None:
        """Replace the older file of that name; the new one must be closed, as not all systems move open files.

        Raises
        ------
        WriteError
            If another program made or changed a file of that name since the start.
        """
        if _identity(self.path) != self._older:
            raise WriteError(
                self.path,
                "another program wrote this file after the start of the run",
                lost="every record of this run in this file",
                safe=f"the file of the other program, {self.path}",
                fix="another file name",
            )
        self._move()
        self.current_path = self.path
        self._seen.clear()

    def _move(self) -> None:
        os.replace(self.current_path, self.path)

    def check(self, lost: str, *, whole: bool = False) -> None:
        """Compare the file with the last write of this run; call this before each write and before the file is closed.

        Parameters
        ----------
        lost : str
            The records in the file, for the message.
        whole : bool
            Compare every file of a folder, not those of the last write only.

        Raises
        ------
        WriteError
            If another program removed or replaced the file, or changed its length.
        """
        for name in self._seen if whole else self._recent:
            self._compare(name, lost)

    def remember(self, lost: str, names: Iterable[str] | None = None, *, truncated: bool = False) -> None:
        """Note the identity of the written files; call this after each write.

        Parameters
        ----------
        lost : str
            The records in the file, for the message.
        names : iterable of str, optional
            Files of a folder that were written; all of them if not given.
        truncated : bool
            This run may have shortened the file.

        Raises
        ------
        WriteError
            If another program removed, replaced or shortened the file during the write.
        """
        self._seen[""] = self._compare("", lost, grown=True, truncated=truncated)

    def _compare(self, name: str, lost: str, *, grown: bool = False, truncated: bool = False) -> _Identity:
        """Return the identity of a file; `grown` says that this run has written to it."""
        current, previous = _identity(self.current_path / name), self._seen.get(name)
        if current is None:
            raise self._changed("removed", name, lost)
        if previous is not None:
            if current[:2] != previous[:2]:
                raise self._changed("replaced", name, lost)
            if current.size < previous.size and not truncated if grown else current.size != previous.size:
                what = f"changed from {previous.size} to {current.size} bytes"
                raise self._changed(what, name, f"some or all of {lost}")
        return current

    def _changed(self, what: str, name: str, lost: str) -> WriteError:
        name_of_part = f"its part {name}" if name else "the file"
        text = f"{name_of_part} was {what} by another program during the run"
        fix = "move the rest of the file away, and continue from the restart file"
        return WriteError(self.path, text, lost=lost, fix=fix)

    def discard(self) -> None:
        """Remove the file if it never took its name."""
        if not self.has_name:
            _remove(self.current_path)


class GrowingFile:
    """Count of the records of a file, and strings about them for messages.

    Attributes
    ----------
    path : Path
        Final path.
    count : int
        Number of records on disk.
    last_time : float or None
        Time of the last record, s.
    failed : bool
        True once a record could not be written.
    """

    noun = "record"

    def __init__(self, path: Path) -> None:
        self.path, self.count, self.failed = path, 0, False
        self.last_time: float | None = None

    @property
    def safe(self) -> str:
        """Records on disk, for messages."""
        return f"no {self.noun} was written yet" if self.last_time is None else self._held

    @property
    def _held(self) -> str:
        """Records in the file, for messages about their loss."""
        if self.last_time is None:
            return f"every {self.noun} in {self.path}"
        return f"the {self.count} {self.noun}s up to t = {self.last_time:.10g} s in {self.path}"


class GrowingFolder(Growing):
    """Output that is a folder; see `Growing`."""

    def __init__(self, path: Path, *, there: bool) -> None:
        super().__init__(path, there=there)
        if not there:
            _remove(self.current_path)

    def _move(self) -> None:
        """Replace the older folder; no system does that in one operation."""
        old = self.path.with_name(f".{self.path.name}.old")
        _remove(old)
        if self.path.exists():
            os.rename(self.path, old)
        os.rename(self.current_path, self.path)
        _remove(old)

    def remember(self, lost: str, names: Iterable[str] | None = None, *, truncated: bool = False) -> None:
        """Note every file of a write; chunks without any value have no file."""
        if names is None:
            folder_identity = self._seen.get("")
            self._seen = {} if folder_identity is None else {"": folder_identity}
            names = [
                str(path.relative_to(self.current_path)) for path in self.current_path.rglob("[!.]*") if path.is_file()
            ]
        super().remember(lost, truncated=truncated)
        identities = {name: one for name in names if (one := _identity(self.current_path / name)) is not None}
        self._seen |= identities
        self._recent = ["", *identities]


class _Identity(NamedTuple):
    """Device, inode and length of a file."""

    device: int
    inode: int
    size: int  # 0 for folders


def _identity(path: Path) -> _Identity | None:
    """Return the identity of a file or folder, through links; None if it does not exist."""
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _Identity(status.st_dev, status.st_ino, 0 if stat.S_ISDIR(status.st_mode) else status.st_size)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
