# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
"""Launches that may start before the kernel before has ended (programmatic dependent launch).

The blocks of such a kernel are dealt out while the last ones of the kernel before still run; they wait in
`grid_dependency_wait` until all of its stores can be seen. Captured into a graph this saves the time
between two kernels, which is most of the time of a small grid.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
from cuda.bindings import driver
from numba.cuda import types

from eagre.errors import DeviceError


def kernel_of(program: Any, arguments: tuple[Any, ...]) -> Any:
    """The compiled kernel of a program for the types of `arguments`."""
    return program.compile(tuple(program.typeof_pyval(argument) for argument in arguments))


def launch_early(launch: Any, arguments: tuple[Any, ...], stream: int) -> None:
    """Launch a kernel that may overlap the end of the one before it on the stream."""
    Packed(launch.program, arguments).launch(launch, stream, early=True)


class Packed:
    """A program with its arguments as its kernel takes them: found once for launches that are made again and again.

    Parameters
    ----------
    program : a kernel's dispatcher
    arguments : tuple
        Numba's views of arrays, numbers and tuples of them.
    """

    def __init__(self, program: Any, arguments: tuple[Any, ...]) -> None:
        kernel = kernel_of(program, arguments)
        words: list[Any] = []
        for kind, value in zip(kernel.argument_types, arguments, strict=True):
            words += _words(kind, value)
        self._kept = arguments, words  # the kernel reads them by address
        self._pointers = (ctypes.c_void_p * len(words))(*(ctypes.addressof(word) for word in words))
        self._function = driver.CUfunction(int(kernel._codelibrary.get_cufunc().kernel.handle))

    @staticmethod
    def takes(program: Any, arguments: tuple[Any, ...]) -> bool:
        """Whether all arguments are of kinds that it knows."""
        return all(_is_known(kind) for kind in kernel_of(program, arguments).argument_types)

    def launch(self, launch: Any, stream: int, *, early: bool) -> None:
        """Launch it with the grid, block and shared memory of a `Launch`."""
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
            raise DeviceError(f"a kernel could not be launched: {status.name}")


def _is_known(kind: Any) -> bool:
    """Whether `_words` packs arguments of this kind."""
    if isinstance(kind, types.BaseTuple):
        return all(_is_known(part) for part in kind)
    return isinstance(kind, (types.Array, types.Integer, types.Float, types.Boolean))


def _words(kind: Any, value: Any) -> list[Any]:
    """An argument as the kernel's parameters: an array is two null pointers, size, item, data, shape, strides."""
    if isinstance(kind, types.Array):
        seen = value.__cuda_array_interface__
        shape, item = seen["shape"], np.dtype(seen["typestr"]).itemsize
        strides = seen.get("strides") or [item * math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        parts = (0, 0, math.prod(shape), item, seen["data"][0], *shape, *strides)
        return [ctypes.c_int64(part) for part in parts]
    if isinstance(kind, types.BaseTuple):
        return [word for one, part in zip(kind, value, strict=True) for word in _words(one, part)]
    name = {"float32": "c_float", "float64": "c_double"}.get(str(kind), f"c_{kind}")
    return [getattr(ctypes, name)(int(value) if isinstance(kind, (types.Integer, types.Boolean)) else value)]
