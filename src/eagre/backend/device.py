"""Devices: where arrays live and programs run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import SimpleNamespace
from typing import Any, NamedTuple, Self, cast

import numpy as np

from eagre.backend import ahead, layouts
from eagre.backend.cells import Cell
from eagre.backend.layouts import usual_registers as usual
from eagre.backend.memory import free_host_memory
from eagre.backend.program import PRECISIONS, load, loop_source, source_of
from eagre.errors import InputError
from eagre.layouts.facts import Facts

HOPPER = (9, 0)  # compute capability from which on launches may depend on the start of others


class Launch(NamedTuple):
    """A program bound to its arguments. `alone` matters on a CPU, the rest on CUDA only."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    grid: tuple[int, ...] = (1,)
    block: tuple[int, ...] = (1,)
    shared: int = 0  # bytes of dynamic shared memory a block
    early: bool = False  # may start before the launch before has ended: its kernel calls `grid_dependency_wait`
    alone: bool = False  # little work on large arrays: takes one thread


class HostCall(NamedTuple):
    """A function of a library that works on device arrays, run between launches (on the device's stream)."""

    program: Callable[..., Any]
    arguments: tuple[Any, ...]
    captured: bool = False  # whether a graph can hold it


class Transfer(NamedTuple):
    """A copy between an array of a GPU and one of `Device.pinned`, in order with launches; can be captured."""

    target: Any
    source: Any


Work = Launch | HostCall | Transfer


class Device:
    """What every device offers; `CpuDevice` here, `CudaDevice` in `eagre.backend.cuda_device`."""

    kind: str
    target: str
    name: str
    multiprocessors = 1
    graphs = False  # whether `repeated` makes one launch of many
    is_one = True  # not several as one, whose arrays `transfer` does not know
    starts_early = False  # whether launches marked `early` may overlap the end of the launch before
    laid_out: layouts.Layouts | None = None  # layouts of its own, in place of the card's

    @property
    def facts(self) -> Facts:
        """What a GPU has, as far as layouts depend on it; recordings and simulators take a measured card's."""
        return layouts.reference()[0]

    def layout(self, kernel: str) -> SimpleNamespace:
        """Parameters of a kernel on this device ("solver:poisson.columns"; see docs/development/layouts.md)."""
        return self.table.of(kernel)

    @property
    def table(self) -> layouts.Layouts:
        """The layouts that its kernels have."""
        return self.laid_out or layouts.layouts_of(self.facts)

    def with_layouts(self, values: Mapping[str, Any], source: str) -> Self:
        """The same device for models whose kernels have other values of layouts; `source` : where these are from.

        What is not among the values stays as it is on this device.

        Raises
        ------
        InputError
            For values that the device cannot have.
        """
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made.laid_out = self.table.over(values, source)
        return made

    def array(self, values: np.ndarray) -> Any:
        """A copy of `values` on the device, C-contiguous."""
        raise NotImplementedError

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Zeros on the device."""
        raise NotImplementedError

    def field(self, values: np.ndarray, axis: int = -2) -> Any:
        """A copy of `values` of all rows of a grid, which lie along an axis; several devices share the rows."""
        return self.array(values)

    def field_zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Zeros of fields, (.., ny, nx); several devices share the rows."""
        return self.zeros(shape, dtype)

    def host(self, array: Any) -> np.ndarray:
        """A NumPy copy of a device array."""
        raise NotImplementedError

    def begin_host(self, arrays: Sequence[Any]) -> Callable[[], list[np.ndarray]]:
        """Begin to copy arrays to the host as they are now, while what runs later changes them.

        The function that is returned waits for the copies, on any thread, and gives them. They hold until the next
        call of `begin_host`, which has to come after it: there is one place for them.
        """
        copies = [self.host(array) for array in arrays]
        return lambda: copies

    def fill(self, array: Any, values: np.ndarray) -> None:
        """Overwrite a device array with host values of the same shape."""
        raise NotImplementedError

    def pick(self, array: Any, *indices: np.ndarray) -> np.ndarray:
        """Host copy of ``array[:, j, i]`` or ``array[:, k, j, i]``: points of all components of a field."""
        return np.array(array[(slice(None), *indices)])

    def copy(self, target: Any, source: Any) -> None:
        """Overwrite one device array with another."""
        raise NotImplementedError

    def pinned(self, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        """Zeros on the host that `transfer` reaches."""
        return np.zeros(shape, dtype)

    def transfer(self, target: Any, source: Any) -> Work:
        """A copy from or to an array of `pinned`, as a part of a list of launches; done after `synchronize`."""
        return HostCall(np.copyto, (target, source))

    def run(self, launches: Sequence[Work]) -> None:
        """Run launches in order."""
        raise NotImplementedError

    def prepare(self, launches: Sequence[Work]) -> None:
        """Begin to compile what these launches need and is not compiled yet; they may run at once, and wait for it."""

    def bound(self, launches: Sequence[Work]) -> list[Work]:
        """Launches that are dear to prepare, prepared: for all that are to be in several graphs."""
        return list(launches)

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        """A function that runs `launches` in order, `times` times; one graph launch on CUDA."""
        raise NotImplementedError

    def real_transforms(self, a: Any, spectrum: Any, out: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        """The Fourier transform of `a` over its last axes to `spectrum`, and from there to `out`, times n.

        The argument of either may be replaced by another array of its kind.
        The way back spoils the spectrum, which has n // 2 + 1 complex numbers along the last axis.
        """
        raise NotImplementedError

    def complex_transforms(self, a: Any, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        """The Fourier transform of a complex array (nz, ny, nx) over axis 2 or 0 and 2, in place, and back, times n."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Wait until everything has run."""

    def joined(self) -> AbstractContextManager[Any]:
        """Inside the block, array operations are in order with programs; outside they are done."""
        return nullcontext()

    def free_memory(self) -> int:
        """Bytes free for arrays."""
        raise NotImplementedError

    def program(self, entry: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """The compiled form of a hand-written entry."""
        module = load(source_of(entry, self.target, precision, self._limited(precision, switches)), entry.name)
        return getattr(module, entry.name)

    def loop(self, cell: Cell, precision: str, switches: Mapping[str, Any] | None = None) -> Callable[..., Any]:
        """The compiled loop of a cell over a region of 1, 2 or 3 dimensions; bind it with `over`.

        Its first arguments are the indices: ``cell(i, ...)``, ``cell(j, i, ...)`` or ``cell(k, j, i, ...)``.
        """
        return load(loop_source(cell, self.target, precision, self._limited(precision, switches)), cell.name).run

    def _limited(self, precision: str, switches: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Switches with this card's limit of registers where it is not the usual one, and with what it cannot do."""
        own: dict[str, Any] = {}
        if self.target == "cuda":
            if (registers := self.layout("programs").registers[precision]) != usual(precision):
                own["REGISTERS"] = registers
            if self.facts.compute_capability < HOPPER:
                own["DEPENDENT_LAUNCHES"] = False
        return {**own, **(switches or {})}

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Launch:
        """Bind a loop to its region, (nx,), (ny, nx) or (nz, ny, nx), and arguments."""
        region = tuple(map(int, region))  # a launch takes no integers of NumPy
        layout = self.layout("programs.loop")
        block = (layout.line, layout.plane, layout.volume)[len(region) - 1]
        blocks = tuple(-(-size // threads) for size, threads in zip(reversed(region), block, strict=True))
        return Launch(program, (*region, *arguments), blocks, tuple(block))

    def over_all(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Any:
        """`over`, of a region that each of several devices has the whole of."""
        return self.over(program, region, arguments)

    def __str__(self) -> str:
        return self.name


class HostArrays(Device):
    """A device whose arrays are NumPy arrays."""

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

        shape = [a.shape[axis] for axis in axes]

        def forward(source: np.ndarray) -> None:
            spectrum[...] = scipy.fft.rfftn(source, axes=axes)

        def backward(target: np.ndarray) -> None:
            target[...] = scipy.fft.irfftn(spectrum, s=shape, axes=axes, norm="forward")

        return HostCall(forward, (a,)), HostCall(backward, (out,))

    def complex_transforms(self, a: np.ndarray, axes: Sequence[int]) -> tuple[HostCall, HostCall]:
        import scipy.fft

        def forward() -> None:
            a[...] = scipy.fft.fftn(a, axes=axes)

        def backward() -> None:
            a[...] = scipy.fft.ifftn(a, axes=axes, norm="forward")

        return HostCall(forward, ()), HostCall(backward, ())


class CpuDevice(HostArrays):
    """The cores of this machine."""

    kind = "cpu"
    target = "cpu"

    def __init__(self) -> None:
        from eagre.backend.cpu import check_threads, few, run_each, threads

        count = threads()
        self.threads, self._check, self._few, self._run_each = count, check_threads, few, run_each
        self.name = f"cpu ({count} thread{'s' if count > 1 else ''})"

    def run(self, launches: Sequence[Work]) -> None:
        self._check()
        self._run_each(self._bound(launches))

    def prepare(self, launches: Sequence[Work]) -> None:
        ahead.prepare([(one.program, one.arguments) for one in launches if isinstance(one, Launch)], self.threads)

    def repeated(self, launches: Sequence[Work], times: int) -> Callable[[], None]:
        bound = self._bound(launches)

        def go() -> None:
            self._check()
            self._run_each(bound, times)

        return go

    def _bound(self, launches: Sequence[Work]) -> list[tuple[Callable[..., Any], tuple[Any, ...], bool]]:
        """Programs, their arguments, and whether these are few."""
        calls = cast(Sequence[Launch | HostCall], launches)
        few = {key: getattr(one, "alone", False) or self._few(one.arguments) for key, one in _once(calls).items()}
        return [(one.program, one.arguments, few[id(one)]) for one in calls]

    def over(self, program: Callable[..., Any], region: tuple[int, ...], arguments: tuple[Any, ...]) -> Launch:
        return Launch(program, (*region, *arguments))

    def free_memory(self) -> int:
        return free_host_memory()


class PlainDevice(CpuDevice):
    """The CPU without a compiler: programs run as plain Python. For tests and for reading along."""

    target = "python"

    def __init__(self) -> None:
        self.threads, self._check = 1, lambda: None
        self._few, self._run_each = lambda arguments: True, _run_plainly
        self.name = "plain python"


def _once(calls: Sequence[Any]) -> dict[int, Any]:
    """Launches, each once, by their id: a round stands many times in a leg."""
    return {id(one): one for one in calls}


def _run_plainly(calls: Sequence[tuple[Callable[..., Any], tuple[Any, ...], bool]], times: int = 1) -> None:
    for _ in range(times):
        for program, arguments, _few in calls:
            program(*arguments)


def check_precision(precision: str, name: str = "precision") -> type[np.floating]:
    """The NumPy type of ``"single"`` or ``"double"``; `name` is what an error calls it."""
    if precision not in PRECISIONS:
        raise InputError(f"{name} = {precision!r}", allowed='"single" or "double"', fix=f'{name} = "single"')
    return getattr(np, PRECISIONS[precision])
