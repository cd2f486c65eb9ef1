"""What the NVIDIA driver of this machine can do, asked of the driver itself: no GPU library is needed for it."""

from __future__ import annotations

import ctypes
import sys

LIBRARY = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
EXTRAS = {13: "cuda", 12: "cuda12"}  # of pyproject.toml, by the first number of the newest CUDA that a driver knows


def driver_version() -> tuple[int, int] | None:
    """The newest CUDA that the driver knows, (13, 0); None where there is no driver."""
    number = ctypes.c_int(0)
    try:
        failed = ctypes.CDLL(LIBRARY).cuDriverGetVersion(ctypes.byref(number))
    except (OSError, AttributeError):
        return None
    return None if failed or number.value <= 0 else (number.value // 1000, number.value % 1000 // 10)


def extra_for(version: tuple[int, int] | None) -> str | None:
    """The extra whose GPU libraries such a driver can use, or None: no driver, or one too old for all."""
    return next((extra for major, extra in EXTRAS.items() if version is not None and version[0] >= major), None)
