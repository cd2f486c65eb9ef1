"""Temporary files next to a target file, removed also after a killed process."""

from __future__ import annotations

import glob
import os
import platform
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNTOUCHED = 600.0  # s without a write, after which the file of a terminated process is removed


@contextmanager
def temporary_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path next to `path`, unique for the host and process; the file is removed at the end.

    Old temporary files of terminated processes of this host are removed, too. Files of other hosts remain: whether
    their processes still run is unknown.
    """
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{_host()}.{os.getpid()}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _host() -> str:
    """Return an eight-character code of the host name that is valid in file names."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _sweep(path: Path) -> None:
    """Remove temporary files next to `path` of terminated processes of this host."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.{_host()}.*.tmp"):
        process = left.name.split(".")[-2]
        with suppress(OSError):  # another process may remove the file first, or it belongs to another user
            if process.isdigit() and _is_gone(int(process)) and time.time() - left.stat().st_mtime > UNTOUCHED:
                left.unlink()


def _is_gone(process: int) -> bool:
    """Return whether no process of this host has the number; False on Windows, where the check could end a process."""
    if os.name == "nt":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
