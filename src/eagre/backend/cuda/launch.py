# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
"""Kernel launches with packed arguments, prepared once for repeated launches.

Launches may start before the previous kernel has ended (programmatic dependent launch). The blocks of such a kernel are
scheduled while the last blocks of the previous kernel still run; they wait in `grid_dependency_wait` until all of its
stores are visible. In a graph this hides the time between two kernels, which dominates on small grids.
"""

from __future__ import annotations

import ctypes
import math
import struct
from typing import Any

import cupy
import numpy as np
from cuda.bindings import driver
from numba import cuda
from numba.cuda import types

from eagre.errors import DeviceError

_KINDS: dict[Any, Any] = {}  # Numba types of CuPy arrays


def kernel_of(program: Any, arguments: tuple[Any, ...]) -> Any:
    """Return the compiled kernel of a program for the types of `arguments`."""
    return program.compile(tuple(type_of(program, argument) for argument in arguments))


def type_of(program: Any, value: Any) -> Any:
    """Return the Numba type of an argument; array types are derived from dtype and strides, as a view takes 100 us."""
    if isinstance(value, tuple):
        return types.BaseTuple.from_types([type_of(program, item) for item in value], type(value))
    if not isinstance(value, cupy.ndarray):
        return program.typeof_pyval(value)
    key = value.dtype, value.shape, value.strides
    if key not in _KINDS:
        _KINDS[key] = program.typeof_pyval(cuda.as_cuda_array(value))
    return _KINDS[key]


class Packed:
    """Kernel function with its packed parameters.

    Parameters
    ----------
    kernel : compiled Numba kernel
    arguments : tuple
        Device arrays, numbers and tuples of them.
    """

    def __init__(self, kernel: Any, arguments: tuple[Any, ...]) -> None:
        values: list[int] = []
        for kind, value in zip(kernel.argument_types, arguments, strict=True):
            values += _packed_values(kind, value)
        self._storage = arguments, np.array(values, np.uint64)  # kept alive: the kernel reads them by address
        first = self._storage[1].ctypes.data
        self._pointers = (ctypes.c_void_p * len(values))(*range(first, first + 8 * len(values), 8))
        self._function = driver.CUfunction(int(kernel._codelibrary.get_cufunc().kernel.handle))

    @staticmethod
    def takes(kernel: Any) -> bool:
        """Return whether all arguments of a kernel have supported types."""
        return all(_is_known(kind) for kind in kernel.argument_types)

    def launch(self, launch: Any, stream: int, *, early: bool) -> None:
        """Launch the kernel with the grid, block and shared memory of a `Launch`."""
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = (*launch.grid, 1, 1)[:3]
        config.blockDimX, config.blockDimY, config.blockDimZ = (*launch.block, 1, 1)[:3]
        config.sharedMemBytes, config.hStream = launch.shared, stream
        if early:
            overlap = driver.CUlaunchAttribute()
            overlap.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
            overlap.value.programmaticStreamSerializationAllowed = 1
            config.attrs, config.numAttrs = [overlap], 1
        (status,) = driver.cuLaunchKernelEx(config, self._function, ctypes.addressof(self._pointers), 0)
        if status != driver.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"A kernel launch failed: {status.name} (grid {launch.grid}, block {launch.block}).")


def _is_known(kind: Any) -> bool:
    """Return whether `_words` supports arguments of this type."""
    if isinstance(kind, types.BaseTuple):
        return all(_is_known(item) for item in kind)
    return isinstance(kind, (types.Array, types.Integer, types.Float, types.Boolean))


def _packed_values(kind: Any, value: Any) -> list[int]:
    """Return an argument as 8-byte words; an array is two null pointers, size, item, data, shape, strides."""
    if isinstance(kind, types.Array):
        seen = value.__cuda_array_interface__
        shape, item = seen["shape"], np.dtype(seen["typestr"]).itemsize
        strides = seen.get("strides") or [item * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return [0, 0, math.prod(shape), item, seen["data"][0], *shape, *(step % 2**64 for step in strides)]
    if isinstance(kind, types.BaseTuple):
        return [word for one, item_value in zip(kind, value, strict=True) for word in _packed_values(one, item_value)]
    if isinstance(kind, types.Float):
        form = "<f" if kind.bitwidth == 32 else "<d"
        return [int.from_bytes(struct.pack(form, value), "little")]
    return [int(value) % 2**64]
