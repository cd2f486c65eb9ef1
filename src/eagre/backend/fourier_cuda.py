# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
"""Transforms on an NVIDIA GPU between arrays that stay where they are, and that a graph can hold.

CuPy makes the plan. Its own calls are refused while a stream is captured, which the library itself allows: it is called
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
COMPLEX = {8: ("cufftExecC2C", 0x29), 16: ("cufftExecZ2Z", 0x69)}  # by bytes of a number: call, kind of plan
DIRECTIONS = (-1, 1)  # there and back


@cache
def library() -> ctypes.CDLL:
    """The cuFFT that CuPy has loaded."""
    cufft.getVersion()
    mapped = re.findall(r"\s(/\S*libcufft\.so\S*)", Path("/proc/self/maps").read_text())
    if not mapped:
        raise DeviceError("CuPy has not loaded the cuFFT library.")
    return ctypes.CDLL(mapped[0])


class RealTransforms:
    """Transforms over the last axes of an array; backward without the factor 1 / n.

    Parameters
    ----------
    a, spectrum : CuPy arrays
        Real, and complex with n // 2 + 1 along the last axis; both C-contiguous. `backward` spoils the spectrum.
    axes : sequence of int
        The last ones of `a`.
    stream : int
        Address of the CUDA stream.
    """

    def __init__(self, a: Any, spectrum: Any, axes: Sequence[int], stream: int) -> None:
        shape = tuple(a.shape[axis] for axis in axes)
        self._plans = (
            get_fft_plan(a, shape=shape, axes=tuple(axes), value_type="R2C"),
            get_fft_plan(spectrum, shape=shape, axes=tuple(axes), value_type="C2R"),
        )
        self._spectrum, self._names = spectrum, (FORWARD[a.dtype.itemsize], BACKWARD[a.dtype.itemsize])
        for plan in self._plans:
            _checked("cufftSetStream", library().cufftSetStream(_handle(plan), ctypes.c_void_p(stream)))

    def forward(self, a: Any) -> None:
        """spectrum = transform of a."""
        self._run(0, a, self._spectrum)

    def backward(self, a: Any) -> None:
        """a = n times the inverse transform of the spectrum."""
        self._run(1, self._spectrum, a)

    def _run(self, way: int, source: Any, target: Any) -> None:
        places = (ctypes.c_void_p(source.data.ptr), ctypes.c_void_p(target.data.ptr))
        _checked(self._names[way], getattr(library(), self._names[way])(_handle(self._plans[way]), *places))


class ComplexTransforms:
    """Transforms over the last axis of a complex array, or the first and the last, in place; backward times n.

    Numbers along the last axis lie side by side. With strides along both axes these take 5 to 10 times as long.

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
        layout = pair(*within), ctypes.c_int(1), ctypes.c_int(nx)  # as whole, from one to the next, to the next line
        known = ctypes.byref(self._plan), ctypes.c_int(len(axes)), pair(*sizes), *layout, *layout
        _checked("cufftPlanMany", library().cufftPlanMany(*known, ctypes.c_int(kind), ctypes.c_int(batch)))
        _checked("cufftSetStream", library().cufftSetStream(self._plan, ctypes.c_void_p(stream)))

    def forward(self) -> None:
        """To the spectrum."""
        self._run(0)

    def backward(self) -> None:
        """And back, times n."""
        self._run(1)

    def _run(self, way: int) -> None:
        place = ctypes.c_void_p(self._a.data.ptr)
        direction = ctypes.c_int(DIRECTIONS[way])
        _checked(self._name, getattr(library(), self._name)(self._plan, place, place, direction))

    def __del__(self) -> None:
        with suppress(Exception):  # at the end of the process the library may be gone
            library().cufftDestroy(self._plan)


def _handle(plan: Any) -> ctypes.c_int:
    return ctypes.c_int(int(plan.handle if hasattr(plan, "handle") else plan.plan))


def _checked(name: str, status: int) -> None:
    if status != 0:
        raise DeviceError(f"The cuFFT call {name} failed with status {status}.")
