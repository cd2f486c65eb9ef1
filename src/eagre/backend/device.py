"""Device interface: arrays and their modules (NumPy or CuPy), programs and launches; free host memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from eagre.backend import layouts
from eagre.backend.compilation import parallel
from eagre.backend.compilation.cells import Cell
from eagre.backend.compilation.program import PRECISIONS, load, loop_source, source_of
from eagre.backend.layouts import usual_registers as usual
from eagre.errors import InputError, MemoryNeededError
from eagre.layouts.gpu_properties import MAX_BLOCKS, GpuProperties

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")
UNKNOWN = 2**62  # bytes; unknown limit
HOPPER = (9, 0)  # compute capability with programmatic dependent launches


def free_host_memory() -> int:
    """Return the memory available to arrays without swapping, within the container's limit, bytes."""
    return max(0, min(_available(), _within_container()))


def check_host_memory(needed: int) -> None:
    """Raise `MemoryNeededError` if the host has less than `needed` bytes free."""
    free = free_host_memory()
    if needed > free:
        raise MemoryNeededError(needed, free, "this machine")


def _available() -> int:
    """Return the available memory reported by the kernel, which includes reclaimable caches."""
    try:
        for line in MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return UNKNOWN


def _within_container() -> int:
    """Return the memory left by a control group (version 2); no limit without one."""
    try:
        limit = (CGROUP / "memory.max").read_text().strip()
        used = int((CGROUP / "memory.current").read_text())
    except (OSError, ValueError):
        return UNKNOWN
    return UNKNOWN if limit == "max" else int(limit) - used


class Launch(NamedTuple):
    """Program with its arguments. `alone` applies to CPUs, the other options to CUDA."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (1,)
    shared: int = 0  # dynamic shared memory per block, bytes
    early: bool = False  # may start before the previous launch has ended: the kernel calls `grid_dependency_wait`
    alone: bool = False  # little work on large arrays: uses one thread


class HostCall(NamedTuple):
    """Library function that works on device arrays, called between launches on the stream of the device."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    captured: bool = False  # whether a graph can hold it


class Transfer(NamedTuple):
    """Copy between a GPU array and an array of `Device.pinned`, ordered with launches; can be captured."""

    target: Any
    source: Any


Work = Launch | HostCall | Transfer


class Device:
    """Base class of devices; see `CpuDevice` below and `CudaDevice` in `eagre.backend.cuda.device`."""

    kind: str
    target: str
    name: str
    multiprocessors = 1
    graphs = False  # whether `repeated` combines many launches into one
    is_remote = False  # whether another process has the device: its arrays have a shape only
    of_processes = False  # whether several processes run together; copies to the host are then collective operations
    is_first = True  # whether this process writes files: it alone has the arrays of `collect`
    is_one = True  # False for multi-device meshes, which support `transfer` of replicated arrays only
    starts_early = False  # whether `early` launches may overlap the end of the previous launch
    laid_out: layouts.LaunchParameters | None = None  # explicit launch parameters instead of the default ones

    @property
    def properties(self) -> GpuProperties:
        """Properties of a GPU that launch parameters depend on; simulators use the properties of a measured device."""
        return layouts.reference()[0]

    @property
    def processor(self) -> str:
        """Model of the processor; the same program and data give bitwise equal values on processors of one model."""
        from llvmlite import binding

        return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"

    def parameters(self, kernel: str) -> SimpleNamespace:
        """Return the launch parameters of a kernel ("solver:poisson.columns"; see docs/development/layouts.md)."""
        return self.table.of(kernel)

    @property
    def table(self) -> layouts.LaunchParameters:
        """Launch parameters of the kernels."""
        return self.laid_out or layouts.parameters_of(self.properties)

    def with_parameters(self, values: Mapping[str, Any], source: str) -> Self:
        """Return the same device with other launch parameters for new models; `source` : origin of the values.

        Parameters without a value are unchanged.

        Raises
        ------
        InputError
            For values that the device does not support.
        """
        clone = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        clone.laid_out = self.table.over(values, source)
        return clone

    def array(self, values: np.ndarray) -> Any:
        """Return a C-contiguous copy of `values` on the device."""
        raise NotImplementedError

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return a device array of zeros."""
        raise NotImplementedError

    def field(self, values: np.ndarray, axis: int = -2) -> Any:
        """Return a copy of `values` with grid rows along an axis; multi-device arrays distribute the rows."""
        return self.array(values)

    def field_zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return fields of zeros, (.., ny, nx); multi-device arrays distribute the rows."""
        return self.zeros(shape, dtype)

    def host(self, array: Any) -> np.ndarray:
        """Return a NumPy copy of a device array."""
        raise NotImplementedError

    def begin_host(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """Start copying arrays in their current state to the host; later launches may change the arrays.

        The returned function waits for the copies, on any thread, and returns them. They are valid until the next call
        of `begin_host`, which must come after it: there is one buffer.
        """
        copies = [self.host(array) for array in arrays]
        return lambda: copies

    def fill(self, array: Any, values: Any) -> None:
        """Overwrite a device array with host values of the same shape, or with a result of `local_copy`."""
        raise NotImplementedError

    def fill_owned(self, array: Any, values: np.ndarray) -> None:
        """Overwrite a field; of several processes, each has the values of its rows and sets no halo rows."""
        self.fill(array, values)

    def local_copy(self, array: Any) -> Any:
        """Return a host copy that `fill` restores; each process of a run copies its part."""
        return self.host(array)

    def update(self, array: Any, function: Callable[[np.ndarray, np.ndarray], np.ndarray], other: Any) -> None:
        """Overwrite an array by a function of its values and of a `local_copy` of an array of this shape."""
        self.fill(array, function(self.host(array), other))

    def collect(self, arrays: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return host copies of arrays; of several processes, only the first has them and the others return {}."""
        return {name: self.host(array) for name, array in arrays.items()}

    def each(self, arrays: Sequence[Any], evaluate: Callable[..., Any]) -> list[tuple[int, Any]]:
        """Return the first row of each subdomain and a small value, computed from host copies of fields, (.., ny, nx).

        The process of a subdomain evaluates it; all processes have the results.
        """
        return [(0, evaluate(*map(self.host, arrays)))]

    def sample(self, array: Any, *indices: np.ndarray) -> np.ndarray:
        """Return a host copy of ``array[:, j, i]`` or ``array[:, k, j, i]``: points of all components of a field."""
        return np.array(array[(slice(None), *indices)])

    def copy(self, target: Any, source: Any) -> None:
        """Overwrite one device array with another."""
        raise NotImplementedError

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Return zeros in host memory that `transfer` can access."""
        return np.zeros(shape, dtype)

    def pinned_of_replicated(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray | None:
        """Return `pinned` memory for arrays that are equal on all devices; None if processes must send them."""
        return self.pinned(shape, dtype)

    def transfer(self, target: Any, source: Any) -> Work:
        """Return a copy from or to an array of `pinned`, for a list of launches; complete after `synchronize`."""
        return HostCall(np.copyto, (target, source))

    def run(self, launches: Sequence[Work]) -> None:
        """Run launches in order."""
        raise NotImplementedError

    def prepare(self, launches: Sequence[Work]) -> None:
        """Start compiling the programs of launches; running a launch waits for its compilation."""

    def bound(self, launches: Sequence[Work]) -> list[Work]:
        """Return prepared launches, for launches that are used in several graphs and are expensive to prepare."""
        return list(launches)

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        """Return a function that runs `launches` in order, `times` times; one graph launch on CUDA."""
        raise NotImplementedError

    def real_transforms(self, a: Any, spectrum: Any, out: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        """Return the Fourier transform of `a` over its last axes to `spectrum`, and the inverse to `out`, unnormalised.

        The argument of either may be replaced by another array of its kind. The inverse overwrites the spectrum, which
        has n // 2 + 1 complex numbers along the last axis.
        """
        raise NotImplementedError

    def inverse_real_transform(self, spectrum: Any, out: Any) -> HostCall:
        """Return the second of `real_transforms` along the last axis."""
        raise NotImplementedError

    def complex_transforms(self, a: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        """Return the in-place transform of a complex array (nz, ny, nx) over axis 2 or axes 0 and 2, and its inverse.

        The inverse is unnormalised: it returns n times the original values.
        """
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait until all launches are complete."""

    def joined(self) -> AbstractContextManager[Any]:
        """Return a context in which array operations are ordered with programs; they are complete at its end."""
        return nullcontext()

    def free_memory(self) -> int:
        """Return the free memory, bytes."""
        raise NotImplementedError

    def agreed(self, value: Any) -> Any:
        """Return a value that only one process of a run can know, such as a wall time; `value` on one device."""
        return value

    def program(self, entry: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """Return the compiled form of an entry."""
        module = load(source_of(entry, self.target, precision, self._limited(precision, switches)), entry.name)
        return getattr(module, entry.name)

    def loop(self, cell: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """Return the compiled loop of a kernel function over a region of 1, 2 or 3 dimensions; bind it with `over`.

        The first arguments are the indices: ``cell(i, ...)``, ``cell(j, i, ...)`` or ``cell(k, j, i, ...)``.
        """
        return load(loop_source(cell, self.target, precision, self._limited(precision, switches)), cell.name).run

    def _limited(self, precision: str, switches: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Return switches with the register limit of this device, and with its unsupported features disabled."""
        options: dict[str, Any] = {}
        if self.target == "cuda":
            if (registers := self.parameters("programs").registers[precision]) != usual(precision):
                options["REGISTERS"] = registers
            if self.properties.compute_capability < HOPPER:
                options["DEPENDENT_LAUNCHES"] = False
        return {**options, **(switches or {})}

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Launch:
        """Bind a loop to its region, (nx,), (ny, nx) or (nz, ny, nx), and arguments."""
        region = tuple(map(int, region))  # launches do not accept NumPy integers
        parameters = self.parameters("programs.loop")
        block = (parameters.line, parameters.plane, parameters.volume)[len(region) - 1]
        grid, block = loop_blocks(region, tuple(block))
        return Launch(program, (*region, *arguments), grid, block)

    def over_all(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Any:
        """Return `over` for a region that each of several devices has in full."""
        return self.over(program, region, arguments)

    def __str__(self) -> str:
        return self.name


def loop_blocks(region: tuple[int, ...], block: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the grid and the block of a loop over a region.

    CUDA limits a grid to `MAX_BLOCKS` blocks along y and z. A longer region has more threads per block along that
    axis, and fewer along x.
    """
    threads = list(block)
    for axis in range(1, len(region)):
        while -(-region[-1 - axis] // threads[axis]) > MAX_BLOCKS and threads[0] > 1:
            threads[0], threads[axis] = threads[0] // 2, threads[axis] * 2
    return tuple(-(-size // count) for size, count in zip(reversed(region), threads, strict=True)), tuple(threads)


class HostArrays(Device):
    """Base class of devices with NumPy arrays."""

    def array(self, values: np.ndarray) -> np.ndarray:
        return np.array(values, order="C", copy=True)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        return np.zeros(shape, dtype)

    def host(self, array: np.ndarray) -> np.ndarray:
        return np.array(array, copy=True)

    def fill(self, array: np.ndarray, values: np.ndarray) -> None:
        array[...] = values

    def copy(self, target: np.ndarray, source: np.ndarray) -> None:
        np.copyto(target, source)

    def real_transforms(
        self, a: np.ndarray, spectrum: np.ndarray, out: np.ndarray, axes: Sequence[int]
    ) -> tuple[HostCall, HostCall]:
        import scipy.fft

        def forward(source: np.ndarray) -> None:
            spectrum[...] = scipy.fft.rfftn(source, axes=axes)

        return HostCall(forward, (a,)), self._inverse(spectrum, out, axes)

    def inverse_real_transform(self, spectrum: np.ndarray, out: np.ndarray) -> HostCall:
        return self._inverse(spectrum, out, (-1,))

    def _inverse(self, spectrum: np.ndarray, out: np.ndarray, axes: Sequence[int]) -> HostCall:
        import scipy.fft

        shape = [out.shape[axis] for axis in axes]

        def backward(target: np.ndarray) -> None:
            target[...] = scipy.fft.irfftn(spectrum, s=shape, axes=axes, norm="forward")

        return HostCall(backward, (out,))

    def complex_transforms(self, a: np.ndarray, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        import scipy.fft

        def forward() -> None:
            a[...] = scipy.fft.fftn(a, axes=axes)

        def backward() -> None:
            a[...] = scipy.fft.ifftn(a, axes=axes, norm="forward")

        return HostCall(forward, ()), HostCall(backward, ())


class CpuDevice(HostArrays):
    """CPU of this machine."""

    kind = "cpu"
    target = "cpu"

    def __init__(self) -> None:
        from eagre.backend.cpu.compiler import check_threads, few, run_each, threads

        count = threads()
        self.threads, self._check, self._few, self._run_each = count, check_threads, few, run_each
        self.name = f"cpu ({count} thread{'s' if count > 1 else ''})"

    def run(self, launches: Sequence[Work]) -> None:
        self._check()
        self._run_each(self._bound(launches))

    def prepare(self, launches: Sequence[Work]) -> None:
        from numba import typeof

        calls = [(one.program, one.arguments) for one in launches if isinstance(one, Launch)]
        parallel.prepare(calls, self.threads, lambda program, argument: typeof(argument))

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        bound = self._bound(launches)

        def go() -> None:
            self._check()
            self._run_each(bound, times)

        return go

    def _bound(self, launches: Sequence[Work]) -> list[tuple[Callable[..., Any], tuple[Any, ...], bool]]:
        """Return programs, their arguments, and whether these are few."""
        calls = cast(Sequence[Launch | HostCall], launches)
        few = {key: getattr(one, "alone", False) or self._few(one.arguments) for key, one in _once(calls).items()}
        return [(one.program, one.arguments, few[id(one)]) for one in calls]

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Launch:
        return Launch(program, (*region, *arguments))

    def free_memory(self) -> int:
        return free_host_memory()


class PlainDevice(CpuDevice):
    """CPU without a compiler: programs run as plain Python, for tests and for reading."""

    target = "python"

    def __init__(self) -> None:
        self.threads, self._check = 1, lambda: None
        self._few, self._run_each = lambda arguments: True, _run_plainly
        self.name = "plain python"


def _once(calls: Sequence[Any]) -> dict[int, Any]:
    """Return each launch once, by its id: batches repeat launches."""
    return {id(one): one for one in calls}


def _run_plainly(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...], bool]], times: int = 1) -> None:
    for _ in range(times):
        for program, arguments, _few in calls:
            program(*arguments)


def check_precision(precision: str, name: str = "precision") -> type[np.floating]:
    """Return the NumPy type of ``"single"`` or ``"double"``; `name` is the name in the error message."""
    if precision not in PRECISIONS:
        raise InputError(f"{name} = {precision!r}", allowed='"single" or "double"', fix=f'{name} = "single"')
    return getattr(np, PRECISIONS[precision])


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
