"""Compiled code on disk, in the format of the compilers.

Damaged files are compiled again, and read-only folders are used. Folders and files that other users can write raise an
error, because their content, pickles and machine code, is executed.
"""

from __future__ import annotations

import glob
import os
import shlex
import stat
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from eagre.errors import InputError

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
SEARCHABLE_BY_OTHERS = stat.S_IXGRP | stat.S_IXOTH  # without these bits other users cannot reach the files of a folder
ALLOWED = "folders and files of this user, or of root, that no other user can write"


def users_folder() -> Path:
    """Return the user's cache folder: ``EAGRE_CACHE``, or ``eagre/programs`` in the user's folder of caches."""
    chosen = os.environ.get("EAGRE_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "eagre" / "programs"


def check_private(path: Path) -> None:
    """Raise an error if another user can write a folder or file of the cache, whose content is executed.

    A path that does not exist passes. Windows has no owners and modes of this kind: every path passes.

    Raises
    ------
    InputError
        If another user than this one or root owns `path`, or the group or other users can write it.
    """
    if not hasattr(os, "getuid"):
        return
    try:
        status = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    kind = "folder" if stat.S_ISDIR(status.st_mode) else "file"
    if status.st_uid not in (os.getuid(), 0):
        raise InputError(
            f"{path}, which belongs to the user with ID {status.st_uid}",
            allowed=ALLOWED,
            fix="export EAGRE_CACHE=/path/to/a/private/folder",
            problem=f"A {kind} of the cache of compiled programs belongs to another user: code of that user would run.",
        )
    if status.st_mode & WRITABLE_BY_OTHERS and (kind == "folder" or path.parent.stat().st_mode & SEARCHABLE_BY_OTHERS):
        raise InputError(
            f"{path} with the mode {stat.S_IMODE(status.st_mode):04o}",
            allowed=ALLOWED,
            fix=f"chmod -R go-w {shlex.quote(str(path))}",
            problem=f"Other users can write a {kind} of the cache of compiled programs, whose content is executed.",
        )


def temporary_folder() -> Path:
    """Return a folder among the temporary ones, for a user whose cache folder cannot be written.

    Raises
    ------
    InputError
        If another user made the folder or can write it, or if it is a link: its content is executed.
    """
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""  # on Windows the temporary folder belongs to the user
    folder = Path(tempfile.gettempdir()) / f"eagre-cache{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    others = bool(user) and (status.st_uid != os.getuid() or status.st_mode & 0o077 != 0)
    if others or not stat.S_ISDIR(status.st_mode):
        raise InputError(
            f"{users_folder()}, which cannot be written, and {folder}, which is open to other users or not a folder",
            allowed=ALLOWED,
            fix="export EAGRE_CACHE=/path/to/a/private/folder",
            problem="No usable folder for compiled programs was found.",
        )
    return folder


def make_private(folder: Path) -> None:
    """Make a folder, and the missing folders above it, that only this user can write."""
    for missing in reversed([folder, *folder.parents]):
        if not missing.is_dir():
            with suppress(FileExistsError):
                missing.mkdir(mode=0o700)


def stored(name: str, text: str) -> Path:
    """Return the file `name` with this text, in the user's folder or, if that cannot be written, in a temporary one.

    A file with another text (cut, or empty) is written again. A user's folder that is read-only and has the file is
    used.

    Raises
    ------
    InputError
        If other users can write the folder or the file.
    """
    path = users_folder() / name
    with suppress(OSError):
        return path if _holds(path, text) else _written(path, text)
    path = temporary_folder() / name
    return path if _holds(path, text) else _written(path, text)


def _holds(path: Path, text: str) -> bool:
    check_private(path.parent)
    check_private(path)
    try:
        return path.read_bytes() == text.encode()
    except FileNotFoundError:
        return False


def _written(path: Path, text: str) -> Path:
    make_private(path.parent / "__pycache__")
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode())
    os.replace(temporary, path)
    return path


def whole(cache: Any, sig: Any, target_context: Any) -> Any:
    """Return None: use the compiler's own loading."""
    return None


def sound(cache: Any, locators: Sequence[Any], quick: Callable[[Any, Any, Any], Any] = whole) -> Any:
    """Return a more robust version of a compiler's cache class.

    Parameters
    ----------
    cache : class
        Class of Numba or numba-cuda, which raises for truncated files and ignores read-only folders.
    locators : sequence of classes
        Locators of a function's folder; the last one uses the folder of its source.
    quick : callable (cache, signature, target context)
        Loads from disk without the compiler's start-up, or returns None to let the compiler load.
    """
    *others, source_locator = locators

    class Locator(source_locator):
        def ensure_cache_path(self) -> None:
            with suppress(OSError):
                make_private(Path(self.get_cache_path()))

    class Files(cache._impl_class):
        _locator_classes = (*others, Locator)

    class Sound(cache):
        _impl_class = Files

        def __init__(self, function: Any) -> None:
            super().__init__(function)
            self.module = function.__module__

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            for path in (Path(self.cache_path), *_files(self)):
                check_private(path)
            try:
                if overload := quick(self, sig, target_context):
                    return overload
                return super().load_overload(sig, target_context)
            except Exception:  # a truncated pickle can raise any exception
                try:
                    self.flush()
                except OSError:
                    self.disable()
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(sig, data)
                for path in _files(self):
                    path.chmod(path.stat().st_mode & ~WRITABLE_BY_OTHERS)  # the user's umask may allow group writes

    return Sound


def _files(cache: Any) -> list[Path]:
    """Return the files of one function: the index and the code."""
    return list(Path(cache.cache_path).glob(f"{glob.escape(cache._impl.filename_base)}.*"))
