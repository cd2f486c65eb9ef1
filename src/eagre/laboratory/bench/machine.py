"""Origin of a measurement: chip, threads, copy bandwidth, versions and commit."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from eagre.backend.compilation.origin import chip_name as device_name
from eagre.backend.compilation.origin import driver_number
from eagre.backend.device import Device
from eagre.backend.timing import copy_bandwidth

__all__ = ["copy_speeds", "device_name", "provenance", "thread_counts", "threads_limited"]

PACKAGES = ("eagre", "numpy", "numba", "llvmlite", "numba-cuda", "cupy-cuda13x", "cupy-cuda12x")


def thread_counts(device: Device) -> list[int]:
    """Return the thread counts to measure: one and all on a CPU; 0 for a GPU."""
    if device.kind != "cpu":
        return [0]
    from eagre.backend.cpu.compiler import threads

    return sorted({1, threads()})


@contextmanager
def threads_limited(device: Device, count: int) -> Iterator[None]:
    """Limit the CPU to `count` threads within the context."""
    if device.kind != "cpu":
        yield
        return
    from eagre.backend.cpu import compiler

    with compiler.threads_limited(count):
        yield


def copy_speeds(device: Device) -> dict[int, float]:
    """Return the copy bandwidth, read plus written, bytes per second, by number of threads."""
    return each_threads(device, lambda: copy_bandwidth(device))


def each_threads(device: Device, measure: Callable[[], float]) -> dict[int, float]:
    """Return a measurement for each of `thread_counts`."""
    values = {}
    for count in thread_counts(device):
        with threads_limited(device, count):
            values[count] = measure()
    return values


def provenance(device: Device, commit: str | None = None) -> dict[str, Any]:
    """Return the origin for a record: `commit` (by default from git), date and versions."""
    today = datetime.now(UTC).date().isoformat()
    return {"commit": commit or _commit(), "date": today, "versions": _versions(device)}


def _versions(device: Device) -> dict[str, str]:
    """Return the versions of Python, of relevant packages, and of the driver."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    if device.kind == "cuda":
        versions["driver"] = driver_number()
    return versions


def _commit() -> str:
    """Return the short hash of the commit, with "-dirty" if files differ from it."""
    folder = Path(__file__).resolve().parent
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0"}
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True, env=environment)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return done.stdout.strip()
