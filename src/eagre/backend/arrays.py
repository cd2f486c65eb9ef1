"""Array modules: NumPy and SciPy for NumPy arrays, CuPy for CuPy arrays."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def on_gpu(array: Any) -> bool:
    """Return whether an array is a CuPy array."""
    return type(array).__module__.partition(".")[0] == "cupy"


def array_module(array: Any) -> Any:
    """Return ``numpy`` or ``cupy``."""
    return import_module("cupy" if on_gpu(array) else "numpy")


def fourier_module(array: Any) -> Any:
    """Return ``scipy.fft`` or its CuPy counterpart."""
    return import_module("cupyx.scipy.fft" if on_gpu(array) else "scipy.fft")


def address_of(array: Any) -> int:
    """Return the address of an array."""
    return array.data.ptr if on_gpu(array) else array.ctypes.data
