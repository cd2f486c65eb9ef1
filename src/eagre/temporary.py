"""Files that are written beside the one whose name they take: by one process, and swept up if that was killed."""

from __future__ import annotations

import glob
import os
import platform
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNTOUCHED = 600.0  # s without a write, after which a file whose process is gone is nobody's


@contextmanager
def beside(path: Path) -> Iterator[Path]:
    """A name beside `path` that is this process's own: of the host and the process. What is left there is removed.

    So are those that killed processes of this host left long ago. Files of other hosts stay: nobody here knows
    whether their processes are gone.
    """
    _sweep(path)
    temporary = path.with_name(f".{path.name}.{_host()}.{os.getpid()}.tmp")
    try:
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)


def _host() -> str:
    """The name of this host in eight letters that every disk takes."""
    return f"{zlib.crc32(platform.node().encode()):08x}"


def _sweep(path: Path) -> None:
    """Remove what processes of this host that are gone left beside `path`."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.{_host()}.*.tmp"):
        process = left.name.split(".")[-2]
        with suppress(OSError):  # another run may sweep it up too, or it is somebody else's
            if process.isdigit() and _is_gone(int(process)) and time.time() - left.stat().st_mtime > UNTOUCHED:
                left.unlink()


def _is_gone(process: int) -> bool:
    """Whether no process of this host has the number; not known on Windows, where asking may end one."""
    if os.name == "nt":
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
