"""Where generated programs and their compiled code are kept: a folder that nobody else can write."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from eagre.errors import EagreError


def users_folder() -> Path:
    """The user's folder, in which what is there is trusted; set ``EAGRE_CACHE`` to move it."""
    chosen = os.environ.get("EAGRE_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "eagre"


def own_folder() -> Path:
    """A folder among the temporary ones, for a user whose own cannot be written.

    Raises
    ------
    EagreError
        If another user made it or could write to it: what lies there would be run.
    """
    user = f"-{os.getuid()}" if hasattr(os, "getuid") else ""  # elsewhere the temporary folder is the user's
    folder = Path(tempfile.gettempdir()) / f"eagre-cache{user}"
    with suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    found = folder.lstat()
    others = bool(user) and (found.st_uid != os.getuid() or found.st_mode & 0o077 != 0)
    if others or not stat.S_ISDIR(found.st_mode):
        raise EagreError(
            f"no folder for compiled programs: {users_folder()} cannot be written, {folder} is open to other users\n"
            "write:   export EAGRE_CACHE=/a/folder/of/your/own"
        )
    return folder


def stored(name: str, text: str) -> Path:
    """The file `name` with this text: in the user's folder, be it read-only, else in the temporary one.

    A file with another text (cut, or empty) is written anew.
    """
    path = users_folder() / name
    with suppress(OSError):
        return path if _holds(path, text) else _written(path, text)
    path = own_folder() / name
    return path if _holds(path, text) else _written(path, text)


def _holds(path: Path, text: str) -> bool:
    try:
        return path.read_bytes() == text.encode()
    except FileNotFoundError:
        return False


def _written(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode())
    os.replace(temporary, path)
    return path
