"""Array modules: NumPy arrays stay with NumPy and SciPy, CuPy arrays with CuPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def on_gpu(array: Any) -> bool:
    """Whether an array is CuPy's."""
    return type(array).__module__.partition(".")[0] == "cupy"


def array_module(array: Any) -> Any:
    """``numpy`` or ``cupy``."""
    return import_module("cupy" if on_gpu(array) else "numpy")


def fourier_module(array: Any) -> Any:
    """``scipy.fft`` or its counterpart in CuPy."""
    return import_module("cupyx.scipy.fft" if on_gpu(array) else "scipy.fft")


def address_of(array: Any) -> int:
    """Where an array begins in memory."""
    return array.data.ptr if on_gpu(array) else array.ctypes.data
