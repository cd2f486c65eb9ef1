"""Capabilities of the NVIDIA driver, queried without GPU libraries."""

from __future__ import annotations

import ctypes
import sys

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
EXTRAS = {13: "cuda", 12: "cuda12"}  # extras of pyproject.toml, by the major CUDA version of the driver


def driver_version() -> tuple[int, int] | None:
    """Return the newest CUDA version of the driver, (13, 0); None without a driver."""
    number = ctypes.c_int(0)
    try:
        failed = ctypes.CDLL(LIBRARY).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed or number.value <= 0 else (number.value // 1000, number.value % 1000 // 10)


def extra_for(version: tuple[int, int] | None) -> str | None:
    """Return the extra with matching GPU libraries, or None: no driver, or a driver that is too old."""
    return next((extra for major, extra in EXTRAS.items() if version is not None and version[0] >= major), None)


def device_count() -> int:
    """Return the number of GPUs that this process can use; 0 without a driver."""
    count = ctypes.c_int(0)
    try:
        driver = ctypes.CDLL(LIBRARY)
        failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    except (OSError, AttributeError):
        return 0
    return 0 if failed else count.value
