# pyright: reportPrivateImportUsage=false, reportAttributeAccessIssue=false, reportMissingImports=false
# pyright: reportIndexIssue=false
"""NVIDIA GPUs: CuPy holds arrays and graphs, Numba compiles kernels.

Asynchronous copies to the host are a copy on the device, then a transfer on a separate stream (`StagingBuffer`).

Kernel launches have packed arguments, prepared once for repeated launches. Launches may start before the previous
kernel has ended (programmatic dependent launch). The blocks of such a kernel are scheduled while the last blocks of the
previous kernel still run; they wait in `grid_dependency_wait` until all of its stores are visible. In a graph this
hides the time between two kernels, which dominates on small grids.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from typing import Any

import cupy
import numba
import numpy as np
from cuda.bindings import driver
from numba.cuda import types

from eagre.backend.compilation import parallel
from eagre.backend.cuda.compiler import cuda, pause
from eagre.backend.device import Device, HostCall, Launch, Transfer, Work
from eagre.errors import DeviceError
from eagre.layouts.gpu_properties import GpuProperties, properties_from

_KINDS: dict[Any, Any] = {}  # Numba types of CuPy arrays


STATIC_SHARED = 48 * 1024  # shared memory available to every kernel, bytes
ANY_WAY = 4  # cudaMemcpyDefault: direction inferred from the addresses
WORKER_MEMORY = 2 << 30  # free memory of the GPU per compile worker, bytes; the context of a worker takes 0.5 GB


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


@cache
def problem() -> str | None:
    """Return the reason why CUDA is not available, or None."""
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"CUDA says: {error}"
    if count == 0:
        return "CUDA finds no GPU"
    if not cuda.is_available():
        return "Numba's CUDA target finds no driver"
    return None


class CudaDevice(Device):
    """One NVIDIA GPU with a dedicated stream."""

    kind = "cuda"
    target = "cuda"
    graphs = True

    def __init__(self, index: int) -> None:
        count = cupy.cuda.runtime.getDeviceCount()
        if index >= count:
            raise DeviceError(
                f"The device cuda:{index} does not exist: this machine has {count} GPU{'s' if count != 1 else ''}.\n"
                f"got device = 'cuda:{index}'\n"
                f"allowed: cuda:0 .. cuda:{count - 1}"
            )
        self.index = index
        cupy.cuda.Device(index).use()
        cuda.select_device(index)
        self.multiprocessors = self.properties.multiprocessors
        self.starts_early = self.properties.compute_capability >= (9, 0)
        self.name = f"cuda:{index} ({self.properties.name})"
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self._numba_stream = cuda.external_stream(self.stream.ptr)
        self._staging: StagingBuffer | None = None

    @cached_property
    def properties(self) -> GpuProperties:
        """Properties of this GPU."""
        return properties_from(cupy.cuda.runtime.getDeviceProperties(self.index), self._attribute)

    @property
    def processor(self) -> str:
        return str(self.properties)

    def _attribute(self, number: int) -> int:
        """Return an attribute of the CUDA runtime, 0 if it is unknown."""
        with suppress(cupy.cuda.runtime.CUDARuntimeError):
            return int(cupy.cuda.runtime.deviceGetAttribute(number, self.index))
        return 0

    def use(self) -> None:
        """Make this the current device of CuPy and Numba."""
        cupy.cuda.Device(self.index).use()

    def array(self, values: np.ndarray) -> Any:
        self.use()
        with self.stream:
            array = cupy.array(np.ascontiguousarray(values))
        self.stream.synchronize()
        return array

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        self.use()
        with self.stream:
            return cupy.zeros(shape, dtype)

    def host(self, array: Any) -> np.ndarray:
        self.use()
        with self.stream:
            return cupy.asnumpy(array)

    def sample(self, array: Any, *indices: np.ndarray) -> np.ndarray:
        self.use()
        with self.stream:
            return cupy.asnumpy(array[(slice(None), *map(cupy.asarray, indices))])

    def begin_host(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        if self._staging is None:
            self._staging = StagingBuffer(self)
        return self._staging.begin(arrays)

    def fill(self, array: Any, values: np.ndarray) -> None:
        self.use()
        with self.stream:
            array.set(np.ascontiguousarray(values, dtype=array.dtype))
        self.stream.synchronize()

    def copy(self, target: Any, source: Any) -> None:
        self.use()
        with self.stream:
            cupy.copyto(target, source)

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        count, size = math.prod(shape), np.dtype(dtype).itemsize
        values = np.frombuffer(cupy.cuda.alloc_pinned_memory(max(1, count) * size), dtype, count).reshape(shape)
        values[...] = 0
        return values

    def transfer(self, target: Any, source: Any) -> Work:
        return Transfer(target, source)

    def run(self, launches: Sequence[Work]) -> None:
        self.use()
        for launch in launches:
            if isinstance(launch, Transfer):
                copy_arguments = (_address(launch.target), _address(launch.source), launch.source.nbytes)
                cupy.cuda.runtime.memcpyAsync(*copy_arguments, ANY_WAY, self.stream.ptr)
                continue
            if isinstance(launch, HostCall):
                with self.stream:
                    launch.program(*launch.arguments)
                continue
            one = self._bound(launch)
            if isinstance(one.program, Packed):
                one.program.launch(one, self.stream.ptr, early=one.early and self.starts_early)
            else:
                one.program[one.grid, one.block, self._numba_stream, one.shared](*one.arguments)

    def prepare(self, launches: Sequence[Work]) -> None:
        if self.index:  # workers compile for the first GPU
            return
        self.use()
        calls = [(one.program, one.arguments) for one in launches if isinstance(one, Launch)]
        cores = min(numba.config.NUMBA_DEFAULT_NUM_THREADS, 1 + self.free_memory() // WORKER_MEMORY)
        parallel.prepare(calls, cores, type_of)

    def bound(self, launches: Sequence[Work]) -> list[Work]:
        """Return launches with packed arguments and loaded programs, as stream capture allows neither."""
        self.use()
        prepared: dict[int, Work] = {}  # lists of many batches repeat the same launches
        for launch in launches:
            if id(launch) not in prepared:
                prepared[id(launch)] = self._bound(launch) if isinstance(launch, Launch) else launch
        return [prepared[id(launch)] for launch in launches]

    def _bound(self, launch: Launch) -> Launch:
        if isinstance(launch.program, Packed):
            return launch
        kernel = kernel_of(launch.program, launch.arguments)
        kernel.bind()
        if launch.shared > STATIC_SHARED:
            _allow_shared(launch.program, kernel, launch.shared, self.index)
        if Packed.takes(kernel):
            return launch._replace(program=Packed(kernel, launch.arguments), arguments=())
        return launch._replace(arguments=_numba_arrays(launch.arguments))

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        """Capture `times` repetitions in one CUDA graph (1 us per kernel instead of 13), or run them directly."""
        bound = self.bound(launches)
        if any(isinstance(launch, HostCall) and not launch.captured for launch in bound):
            return lambda: self.run(bound * times)
        with self.stream:
            self.stream.begin_capture()
            try:
                for _ in range(times):
                    self.run(bound)
            except BaseException:
                with suppress(cupy.cuda.runtime.CUDARuntimeError):  # otherwise the stream remains unusable
                    self.stream.end_capture()
                raise
            graph = self.stream.end_capture()

        def go() -> None:
            self.use()
            graph.launch(self.stream)

        go.graph, go.launches = graph, list(launches)  # type: ignore[attr-defined]
        return go

    def real_transforms(self, a: Any, spectrum: Any, out: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        from eagre.backend.cuda.fourier import RealTransform

        self.use()
        with self.stream:
            forward = RealTransform(a, spectrum, axes, self.stream.ptr)
            backward = RealTransform(out, spectrum, axes, self.stream.ptr, inverse=True)
        return HostCall(forward, (a,), captured=True), HostCall(backward, (out,), captured=True)

    def inverse_real_transform(self, spectrum: Any, out: Any) -> HostCall:
        from eagre.backend.cuda.fourier import RealTransform

        self.use()
        with self.stream:
            inverse = RealTransform(out, spectrum, (out.ndim - 1,), self.stream.ptr, inverse=True)
        return HostCall(inverse, (out,), captured=True)

    def complex_transforms(self, a: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        from eagre.backend.cuda.fourier import ComplexTransforms

        self.use()
        with self.stream:
            transforms = ComplexTransforms(a, axes, self.stream.ptr)
        return HostCall(transforms.forward, (), captured=True), HostCall(transforms.backward, (), captured=True)

    def synchronize(self) -> None:
        self.use()
        self.stream.synchronize()

    @contextmanager
    def joined(self) -> Iterator[None]:
        self.use()
        cupy.cuda.get_current_stream().synchronize()
        with self.stream:
            yield
        self.stream.synchronize()

    def free_memory(self) -> int:
        free, _ = cupy.cuda.Device(self.index).mem_info
        return int(free) + int(cupy.get_default_memory_pool().free_bytes())


def seconds_of(device: CudaDevice, work: Callable[[], None]) -> float:
    """Return the GPU seconds for the launches of `work`, by events; the GPU is busy until all are queued."""
    device.use()
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    pause[1, 1, device._numba_stream](100)
    begin.record(device.stream)
    work()
    end.record(device.stream)
    end.synchronize()
    return 1e-3 * cupy.cuda.get_elapsed_time(begin, end)


def _address(array: Any) -> int:
    """Return the address of an array on the host or on a device."""
    return array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr


def _allow_shared(program: Any, kernel: Any, size: int, index: int) -> None:
    """Allow a kernel more than 48 KiB of shared memory, once per kernel and device."""
    if not hasattr(program, "allowed_shared"):
        program.allowed_shared = {}
    allowed = program.allowed_shared
    if size <= allowed.get(index, 0):
        return
    from cuda.bindings import driver

    handle = kernel._codelibrary.get_cufunc().kernel.handle
    name = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    (status,) = driver.cuKernelSetAttribute(name, size, handle, driver.cuDeviceGet(index)[1])
    if status != driver.CUresult.CUDA_SUCCESS:
        raise DeviceError(f"The GPU does not support {size} bytes of shared memory per block: {status.name}.")
    allowed[index] = size


def _numba_arrays(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments with CuPy arrays replaced by Numba views, also inside tuples."""

    def convert(value: Any) -> Any:
        if isinstance(value, cupy.ndarray):
            return cuda.as_cuda_array(value)
        if isinstance(value, tuple):
            items = tuple(convert(item) for item in value)
            return type(value)(*items) if hasattr(value, "_fields") else items
        return value

    return tuple(convert(value) for value in arguments)


TO_HOST = 2  # cudaMemcpyDeviceToHost
RESERVED_MEMORY = 256 << 20  # device memory that copies leave free, bytes


class StagingBuffer:
    """One copy buffer on the device and one in pinned host memory; without free device memory copies are synchronous.

    Parameters
    ----------
    device : CudaDevice
    """

    def __init__(self, device: Device) -> None:
        self._device: Any = device
        self._stream = cupy.cuda.Stream(non_blocking=True)
        self._buffers: dict[tuple[Any, ...], tuple[Any, np.ndarray]] = {}
        self._done: Any = None

    def begin(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """See `eagre.backend.device.Device.begin_host`."""
        device = self._device
        device.use()
        buffers = self._buffers_of(arrays)
        if buffers is None:
            copies = [device.host(array) for array in arrays]
            return lambda: copies
        if self._done is not None:
            device.stream.wait_event(self._done)  # do not overwrite a transfer in progress
        for array, (staged, _) in zip(arrays, buffers, strict=True):
            device.copy(staged, array)
        ready, done = cupy.cuda.Event(disable_timing=True), cupy.cuda.Event(block=True, disable_timing=True)
        ready.record(device.stream)
        self._stream.wait_event(ready)
        for staged, pinned in buffers:
            address = pinned.ctypes.data
            cupy.cuda.runtime.memcpyAsync(address, staged.data.ptr, staged.nbytes, TO_HOST, self._stream.ptr)
        done.record(self._stream)
        self._done = done

        def wait() -> list[np.ndarray]:
            device.use()
            done.synchronize()
            return [pinned for _, pinned in buffers]

        return wait

    def _buffers_of(self, arrays: Sequence[Any]) -> list[tuple[Any, np.ndarray]] | None:
        """Return the copy targets of each array on the device and on the host; None without free device memory."""
        device = self._device
        keys = [(n, array.shape, array.dtype.str) for n, array in enumerate(arrays)]
        for key in [key for key in self._buffers if key not in keys]:
            del self._buffers[key]
        missing = [(key, array) for key, array in zip(keys, arrays, strict=True) if key not in self._buffers]
        if missing and device.free_memory() < sum(array.nbytes for _, array in missing) + RESERVED_MEMORY:
            self._buffers.clear()
            return None
        for key, array in missing:
            self._buffers[key] = device.zeros(array.shape, array.dtype), device.pinned(array.shape, array.dtype)
        return [self._buffers[key] for key in keys]
