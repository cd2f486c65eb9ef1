"""Free host memory."""

from __future__ import annotations

import os
from pathlib import Path

from eagre.errors import MemoryNeededError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
UNKNOWN = 2**62  # bytes; unknown limit


def free_host_memory() -> int:
    """Return the memory available to arrays without swapping, within the container's limit, bytes."""
    return max(0, min(_available(), _within_container()))


def check_host_memory(needed: int) -> None:
    """Raise `MemoryNeededError` if the host has less than `needed` bytes free."""
    free = free_host_memory()
    if needed > free:
        raise MemoryNeededError(needed, free, "this machine")


def _available() -> int:
    """Return the available memory reported by the kernel, which includes reclaimable caches."""
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def _within_container() -> int:
    """Return the memory left by a control group (version 2); no limit without one."""
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return UNKNOWN
    return UNKNOWN if limit == "max" else int(limit) - used
