"""Where and when a measurement was made: the chip, its threads, the copy bandwidth, versions and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from eagre.backend.device import Device
from eagre.backend.origin import chip_name as device_name
from eagre.backend.origin import driver_number
from eagre.backend.timing import copy_bandwidth

__all__ = ["copy_speeds", "device_name", "provenance", "thread_counts", "threads_limited"]

PACKAGES = ("eagre", "numpy", "numba", "llvmlite", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")


def thread_counts(device: Device) -> list[int]:
    """Thread counts to measure: one and all on a CPU; 0 where threads are not counted."""
    if device.kind != "cpu":
        return [0]
    from eagre.backend.cpu import threads

    return sorted({1, threads()})


@contextmanager
def threads_limited(device: Device, count: int) -> Iterator[None]:
    """Let the CPU use `count` threads for a while."""
    if device.kind != "cpu":
        yield
        return
    from eagre.backend import cpu

    with cpu.threads_limited(count):
        yield


def copy_speeds(device: Device) -> dict[int, float]:
    """Bytes per second of a large copy, read plus written, by the number of threads."""
    found = {}
    for count in thread_counts(device):
        with threads_limited(device, count):
            found[count] = copy_bandwidth(device)
    return found


def provenance(device: Device, commit: str | None = None) -> dict[str, Any]:
    """What a record says of its origin: `commit` (else what git says of the source), date and versions."""
    today = datetime.now(UTC).date().isoformat()
    return {"commit": commit or _commit(), "date": today, "versions": _versions(device)}


def _versions(device: Device) -> dict[str, str]:
    """Versions of Python, of the packages that matter, and of the driver."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if device.kind == "cuda":
        found["driver"] = driver_number()
    return found


def _commit() -> str:
    """Short hash of the source's commit, with "-dirty" where files differ from it."""
    folder = Path(__file__).resolve().parent
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
