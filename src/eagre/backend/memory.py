"""How much memory of the host is free for arrays."""

from __future__ import annotations

import os
from pathlib import Path

from eagre.errors import MemoryNeededError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
UNKNOWN = 2**62  # bytes: no bound is known


def free_host_memory() -> int:
    """Bytes that arrays can take without swapping: what the kernel says is available, within the container's limit."""
    return max(0, min(_available(), _within_container()))


def check_host_memory(needed: int) -> None:
    """Raise `MemoryNeededError` if the host has less than `needed` bytes free."""
    free = free_host_memory()
    if needed > free:
        raise MemoryNeededError(needed, free, "this machine")


def _available() -> int:
    """Free pages and what the kernel would give up for them; file caches are not in the way."""
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
    """What a control group (version 2) leaves; no bound where there is none."""
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return UNKNOWN
    return UNKNOWN if limit == "max" else int(limit) - used
