"""Output files during a run: locks, final names, and the detection of changes by other programs."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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
    """Be the only run that writes `path`; a run that is killed gives the lock back.

    Where the disk knows no locks, nothing is locked.

    Raises
    ------
    InputError
        If another run has it.
    """
    file = path.with_name(f".{path.name}.lock")
    handle = _take(file, path)
    try:
        yield
    finally:
        with suppress(OSError):  # while it is locked: who comes now makes a file of its own
            file.unlink(missing_ok=True)
        os.close(handle)


def _take(file: Path, path: Path) -> int:
    """An open handle of the locked file."""
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
                f"{path}, which another run is writing now",
                allowed="one run at a time for each output",
                fix="another file name, or wait for the other run to end",
            ) from None
        os.close(handle)


class Growing:
    """A file that takes its name with its first record, and that nobody else may change from then on.

    Parameters
    ----------
    path : Path
        Its name.
    there : bool
        Go on with the file of that name.

    Attributes
    ----------
    at : Path
        Where it is now.
    """

    def __init__(self, path: Path, *, there: bool) -> None:
        self.path = path
        self.at = path if there else path.with_name(f".{path.name}.new")
        self._seen: os.stat_result | None = path.stat() if there else None

    @property
    def has_name(self) -> bool:
        """True once it stands under its name."""
        return self.at == self.path

    def take_name(self) -> None:
        """Replace what stands under its name; the file has to be closed, as not all systems move open ones."""
        os.replace(self.at, self.path)
        self.at = self.path

    def check(self, safe: str, *, cut: bool = False) -> None:
        """Remember which file it is and how long; called before and after each write.

        `cut` says that the caller has just cut it, or may have.

        Raises
        ------
        WriteError
            If somebody else removed, replaced or cut it since the last call.
        """
        if not self.has_name:
            return
        try:
            now = self.path.stat()
        except FileNotFoundError:
            raise self._changed("it was removed", safe) from None
        if self._seen is not None:
            if not os.path.samestat(now, self._seen):
                raise self._changed("another file took its place", safe)
            if now.st_size < self._seen.st_size and not cut:
                raise self._changed(f"it was cut from {self._seen.st_size} to {now.st_size} bytes", safe)
        self._seen = now

    def _changed(self, what: str, safe: str) -> WriteError:
        return WriteError(self.path, f"{what} during the run", safe=safe)

    def discard(self) -> None:
        """Remove it if it never took its name."""
        if not self.has_name:
            self.at.unlink(missing_ok=True)


class GrowingFolder(Growing):
    """As `Growing`, of a folder that is one output."""

    def __init__(self, path: Path, *, there: bool) -> None:
        super().__init__(path, there=there)
        if not there:
            _remove(self.at)

    def take_name(self) -> None:
        """Replace what stands under its name; no system does that to a folder at once."""
        old = self.path.with_name(f".{self.path.name}.old")
        _remove(old)
        if self.path.exists():
            os.rename(self.path, old)
        os.rename(self.at, self.path)
        _remove(old)
        self.at = self.path

    def check(self, safe: str, *, cut: bool = False) -> None:
        """As for a file, whose length a folder has none of."""
        super().check(safe, cut=True)

    def discard(self) -> None:
        """Remove it if it never took its name."""
        if not self.has_name:
            _remove(self.at)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
