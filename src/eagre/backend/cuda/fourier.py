# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
"""Fourier transforms on an NVIDIA GPU between fixed arrays, suitable for CUDA graphs.

CuPy creates the plan. CuPy does not allow its calls during stream capture, but the library does, so it is called
directly.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from cupy.cuda import cufft
from cupyx.scipy.fft import get_fft_plan

from eagre.errors import DeviceError

FORWARD = {4: "cufftExecR2C", 8: "cufftExecD2Z"}
BACKWARD = {4: "cufftExecC2R", 8: "cufftExecZ2D"}
COMPLEX = {8: ("cufftExecC2C", 0x29), 16: ("cufftExecZ2Z", 0x69)}  # by size of a number, bytes: call, plan type
DIRECTIONS = (-1, 1)  # forward and inverse


@cache
def library() -> ctypes.CDLL:
    """Return the cuFFT library loaded by CuPy."""
    cufft.getVersion()
    mapped = re.findall(r"\s(/\S*libcufft\.so\S*)", Path("/proc/self/maps").read_text())
    if not mapped:
        raise DeviceError("CuPy has not loaded the cuFFT library.")
    return ctypes.CDLL(mapped[0])


class RealTransform:
    """Transform over the last axes of a real array, or its unnormalised inverse, which overwrites the spectrum.

    Parameters
    ----------
    a, spectrum : CuPy arrays
        Real, and complex with n // 2 + 1 values along the last axis; both C-contiguous.
    axes : sequence of int
        Last axes of `a`.
    stream : int
        Address of the CUDA stream.
    inverse : bool
    """

    def __init__(self, a: Any, spectrum: Any, axes: Sequence[int], stream: int, inverse: bool = False) -> None:
        shape, source = tuple(a.shape[axis] for axis in axes), spectrum if inverse else a
        kind = "C2R" if inverse else "R2C"
        self._plan = get_fft_plan(source, shape=shape, axes=tuple(axes), value_type=kind)
        self._spectrum, self._inverse = spectrum, inverse
        self._name = self.__name__ = (BACKWARD if inverse else FORWARD)[a.dtype.itemsize]
        _checked("cufftSetStream", library().cufftSetStream(_handle(self._plan), ctypes.c_void_p(stream)))

    def __call__(self, a: Any) -> None:
        """Compute spectrum = transform of a, or a = n times the inverse transform of the spectrum."""
        source, target = (self._spectrum, a) if self._inverse else (a, self._spectrum)
        pointers = (ctypes.c_void_p(source.data.ptr), ctypes.c_void_p(target.data.ptr))
        _checked(self._name, getattr(library(), self._name)(_handle(self._plan), *pointers))


class ComplexTransforms:
    """In-place transforms over the last axis of a complex array, or the first and the last; unnormalised inverse.

    Values along the last axis are contiguous. Strides along both axes take 5 to 10 times as long.

    Parameters
    ----------
    a : CuPy array (nz, ny, nx)
        Complex, C-contiguous.
    axes : (2,) or (0, 2)
    stream : int
        Address of the CUDA stream.
    """

    def __init__(self, a: Any, axes: Sequence[int], stream: int) -> None:
        self._a, self._plan = a, ctypes.c_int()
        self._name, kind = COMPLEX[a.dtype.itemsize]
        (nz, ny, nx), pair = map(int, a.shape), ctypes.c_int * len(axes)
        sizes, within, batch = ((nz, nx), (nz, ny * nx), ny) if len(axes) == 2 else ((nx,), (nx,), nz * ny)
        embedding = pair(*within), ctypes.c_int(1), ctypes.c_int(nx)  # embedded size, stride, distance
        known = ctypes.byref(self._plan), ctypes.c_int(len(axes)), pair(*sizes), *embedding, *embedding
        _checked("cufftPlanMany", library().cufftPlanMany(*known, ctypes.c_int(kind), ctypes.c_int(batch)))
        _checked("cufftSetStream", library().cufftSetStream(self._plan, ctypes.c_void_p(stream)))

    def forward(self) -> None:
        """Compute the spectrum."""
        self._run(0)

    def backward(self) -> None:
        """Compute n times the inverse."""
        self._run(1)

    def _run(self, way: int) -> None:
        pointer = ctypes.c_void_p(self._a.data.ptr)
        direction = ctypes.c_int(DIRECTIONS[way])
        _checked(self._name, getattr(library(), self._name)(self._plan, pointer, pointer, direction))

    def __del__(self) -> None:
        with suppress(Exception):  # at exit the library may already be unloaded
            library().cufftDestroy(self._plan)


def _handle(plan: Any) -> ctypes.c_int:
    return ctypes.c_int(int(plan.handle if hasattr(plan, "handle") else plan.plan))


def _checked(name: str, status: int) -> None:
    if status != 0:
        raise DeviceError(f"The cuFFT call {name} failed with status {status}.")
