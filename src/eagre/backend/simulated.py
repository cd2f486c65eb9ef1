"""Simulated CUDA device and kernels in plain Python: the `cuda` module of kernels, thread scheduling, operations.

This replaces Numba's simulator, whose threads run concurrently and poll, which takes ten times as long. Here one thread
of a block runs at a time up to the next barrier, from the last thread to the first and, after the barrier, from the
first to the last: a missing barrier changes the result in one of the two orders. Shared memory of every block and local
arrays are initialised with NaN.
"""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from threading import Lock, Thread
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import HostArrays, HostCall, Launch
from eagre.errors import DeviceError
from eagre.layouts.gpu_properties import MAX_BLOCKS


class Dim3(NamedTuple):
    """Three indices or sizes, for example of a thread in its block."""

    x: int
    y: int = 1
    z: int = 1


def _all_indices(size: Dim3) -> Iterator[Dim3]:
    """Yield all indices of a block or a grid, x fastest."""
    return (Dim3(x, y, z) for z, y, x in product(range(size.z), range(size.y), range(size.x)))


def _unset(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return an array of NaN, or of integers that no valid index has."""
    array = np.empty(shape, dtype)
    array.view(np.uint8).fill(255)
    return array


class Shared:
    """``cuda.shared``: arrays of the current block, one per source line of the kernel."""

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, dynamic: int) -> None:
        """Start a block with `dynamic` bytes of dynamic shared memory."""
        self._dynamic, self._arrays = _unset(dynamic, np.uint8), {}

    def array(self, shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
        """Return the array declared by a line of a kernel; for shape 0, all dynamic bytes."""
        if shape == 0:
            count = self._dynamic.size // np.dtype(dtype).itemsize
            return self._dynamic[: count * np.dtype(dtype).itemsize].view(dtype)
        frame = sys._getframe(1)
        line = (frame.f_code, frame.f_lineno)
        if line not in self._arrays:
            self._arrays[line] = _unset(shape, dtype)
        return self._arrays[line]


class Local:
    """``cuda.local``."""

    array = staticmethod(_unset)


class Atomic:
    """``cuda.atomic``: one thread runs at a time, so operations are atomic."""

    @staticmethod
    def add(array: Any, index: Any, value: Any) -> Any:
        """Add and return the previous value, as all operations of this class."""
        old = array[index]
        array[index] += value
        return old

    @staticmethod
    def inc(array: Any, index: Any, last: Any) -> Any:
        """Increment, and wrap from `last` to 0."""
        old = array[index]
        array[index] = 0 if old >= last else old + 1
        return old

    @staticmethod
    def max(array: Any, index: Any, value: Any) -> Any:
        """Store the maximum."""
        old = array[index]
        array[index] = max(old, value)
        return old

    @staticmethod
    def min(array: Any, index: Any, value: Any) -> Any:
        """Store the minimum."""
        old = array[index]
        array[index] = min(old, value)
        return old


class Cuda:
    """``cuda`` within a kernel; indices are those of the running thread."""

    def __init__(self) -> None:
        self.shared, self.local, self.atomic = Shared(), Local(), Atomic()
        self.threadIdx = self.blockIdx = self.blockDim = self.gridDim = Dim3(0)
        self.scheduler: BlockScheduler | None = None

    def grid(self, axes: int) -> Any:
        """Return the index of the thread in the launch, for 1 to 3 axes."""
        index = [b * n + t for b, n, t in zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)]
        return index[0] if axes == 1 else tuple(index[:axes])

    def syncthreads(self) -> None:
        """Wait for all running threads of the block."""
        assert self.scheduler is not None
        self.scheduler.meet()

    def syncwarp(self) -> None:
        """Wait for the threads of the warp."""
        assert self.scheduler is not None
        self.scheduler.meet(self.scheduler.warps)

    def syncthreads_or(self, condition: Any) -> int:
        """Wait for all threads, and return whether the condition holds in any of them."""
        assert self.scheduler is not None
        votes = self.scheduler.votes
        votes.append(bool(condition))
        self.scheduler.meet()
        return int(any(votes))

    def threadfence(self) -> None:
        """Do nothing: stores are immediately visible."""

    @staticmethod
    def selp(condition: Any, a: Any, b: Any) -> Any:
        """Return a if the condition holds, otherwise b."""
        return a if condition else b


cuda = Cuda()


class _Abandoned(BaseException):
    """Exception that ends the threads of a block after a failure."""


class _Worker(Thread):
    """Operating-system thread that runs threads of blocks; one worker runs at a time."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.baton = Lock()
        self.scheduler: BlockScheduler | None = None
        self.baton.acquire()
        self.start()

    def run(self) -> None:
        while True:
            self.baton.acquire()
            assert self.scheduler is not None
            self.scheduler.begin(self)


_idle: list[_Worker] = []


class BlockScheduler:
    """Sequential execution of the threads of one block.

    A worker runs threads in sequence; a thread that reaches a barrier keeps its worker, and another worker continues.
    Kernels without barriers therefore need no change of workers.
    """

    def __init__(self, work: Callable[[], None], size: Dim3) -> None:
        self.work, self.fresh = work, list(_all_indices(size))
        self.worker: _Worker  # running worker
        self.ready: deque[_Worker] = deque()
        self.waiting: list[_Worker] = []
        self.warps: list[_Worker] = []  # workers that wait for the rest of their warp
        self.votes: list[bool] = []
        self.failure: BaseException | None = None
        self.done = Lock()

    def run(self) -> None:
        """Run the block to its end; raise exceptions of its threads."""
        self.done.acquire()
        self._start()
        self.done.acquire()
        if self.failure is not None:
            raise self.failure

    def begin(self, worker: _Worker) -> None:
        """Run threads of the block until the remaining ones belong to other workers."""
        self.worker = worker
        try:
            while self.fresh:
                cuda.threadIdx = self.fresh.pop()
                self.work()
        except _Abandoned:
            pass
        except BaseException as failure:  # raised in the thread that launched the kernel
            self.failure = failure
            self.fresh.clear()
        _idle.append(worker)
        self._next()

    def meet(self, waiting: list[_Worker] | None = None) -> None:
        """Wait at a barrier of the block, or of warps, which continue when no other thread can run."""
        worker, thread_index = self.worker, cuda.threadIdx
        (self.waiting if waiting is None else waiting).append(worker)
        self._next()
        worker.baton.acquire()
        if self.failure is not None:
            raise _Abandoned
        self.worker, cuda.threadIdx = worker, thread_index

    def _start(self) -> None:
        worker = _idle.pop() if _idle else _Worker()
        worker.scheduler = self
        worker.baton.release()

    def _next(self) -> None:
        """Hand over to the next worker."""
        if self.fresh:
            self._start()
            return
        if not self.ready and self.warps:
            self.ready = deque(reversed(self.warps))
            self.warps.clear()
        if not self.ready and self.waiting:  # all threads are at the barrier: continue in reverse order
            self.ready, self.waiting, self.votes = deque(reversed(self.waiting)), [], []
        if self.ready:
            self.ready.popleft().baton.release()
        else:
            self.done.release()


class Kernel:
    """Kernel with Numba's launch syntax: ``kernel[grid, block, stream, shared](*arguments)``."""

    def __init__(self, function: Callable[..., None]) -> None:
        self.py_func = function

    def __getitem__(self, configuration: tuple[Any, ...]) -> Callable[..., None]:
        grid, block, *options = configuration
        grid, block = (Dim3(*n) if isinstance(n, tuple) else Dim3(n) for n in (grid, block))
        shared = options[1] if len(options) > 1 else 0

        def launch(*arguments: Any) -> None:
            self.launch(grid, block, shared, arguments)

        return launch

    def launch(self, grid: Dim3, block: Dim3, shared: int, arguments: tuple[Any, ...]) -> None:
        """Run all blocks sequentially."""
        if cuda.scheduler is not None:
            raise DeviceError("A simulated kernel cannot launch another kernel.")
        if max(grid.y, grid.z) > MAX_BLOCKS:
            raise DeviceError(f"A grid has at most {MAX_BLOCKS} blocks along y and z, not {grid}.")
        cuda.gridDim, cuda.blockDim = grid, block
        try:
            for cuda.blockIdx in _all_indices(grid):
                cuda.shared.begin(shared)
                cuda.scheduler = BlockScheduler(lambda: self.py_func(*arguments), block)
                cuda.scheduler.run()
        finally:
            cuda.scheduler = None


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the plain function of a kernel function."""
    return function


driver = Kernel


_copies: dict[Any, list[list[tuple[Any, int, Any]]]] = {}  # pending copy groups of a thread


def load_early(array: Any, plane: int, j: int, i: int) -> Any:
    """Return array[plane, j, i]."""
    return array[plane, j, i]


def _indices(array: Any, k: Any, offset: Any) -> Any:
    """Return the indices of element ``k + offset`` of the array's memory."""
    position = int(k) + int(offset)
    indices = []
    for axis in range(len(array.shape) - 1, 0, -1):
        indices.append(position % array.shape[axis])
        position //= array.shape[axis]
    return (position, *reversed(indices)) if indices else position


def flat_load(array: Any, k: int, offset: int) -> Any:
    """Return element ``k + offset`` of the array's memory."""
    return array[_indices(array, k, offset)]


def flat_store(array: Any, k: int, offset: int, value: Any) -> None:
    """Set element ``k + offset`` of the array's memory."""
    array[_indices(array, k, offset)] = value


load_volatile = load_here = load_offset32 = flat_load
store_offset32 = flat_store


def two_in_word(low: Any, high: Any) -> np.uint32:
    """Pack two numbers as the upper halves of their single-precision values, rounded to nearest even."""
    bits = np.array([low, high], np.float32).view(np.uint32).astype(np.uint64)
    halves = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return np.uint32(halves[0] | halves[1] << 16)


def two_of_word(both: Any) -> Any:
    """Unpack the two numbers of `two_in_word`."""
    return tuple(np.array([both << 16, both & 0xFFFF0000], np.uint32).view(np.float32))


def prefetch_l2(array: Any, k: int, offset: int) -> None:
    """Do nothing: there are no caches."""


def load_four(array: Any, k: int, offset: int) -> Any:
    """Return four elements from ``k + offset`` on."""
    return tuple(flat_load(array, k, offset + n) for n in range(4))


def store_four(array: Any, k: int, offset: int, values: Any) -> None:
    """Set four elements from ``k + offset`` on."""
    for n in range(4):
        flat_store(array, k, offset + n, values[n])


def load_two(array: Any, k: int, offset: int) -> Any:
    """Return two elements from ``k + offset`` on."""
    return tuple(flat_load(array, k, offset + n) for n in range(2))


def store_two(array: Any, k: int, offset: int, values: Any) -> None:
    """Set two elements from ``k + offset`` on."""
    for n in range(2):
        flat_store(array, k, offset + n, values[n])


class Address(NamedTuple):
    """Address of an element."""

    array: Any
    k: int

    def __add__(self, more: Any) -> Any:
        """Return the address plus a number of bytes."""
        return Address(self.array, self.k + int(more) // self.array.itemsize)


def address_at(array: Any, k: int) -> Address:
    """Return the address of element k."""
    return Address(array, int(k))


def bytes_of(array: Any, count: int) -> int:
    """Return the size of `count` elements, bytes."""
    return int(count) * array.itemsize


def copy_element_async(shared: Any, n: int, address: Address) -> None:
    """Store NaN until the group of the copy has arrived."""
    shared[n] = math.nan
    _copies.setdefault(cuda.threadIdx, [[]])[-1].append((shared, int(n), flat_load(*address, 0)))


def copy_16_bytes_async(shared: Any, n: int, address: Address) -> None:
    """Copy 16 bytes, at multiples of 16 bytes."""
    count = 16 // shared.itemsize
    assert int(n) % count == 0 and address.k % count == 0
    for word in range(count):
        copy_element_async(shared, int(n) + word, address + bytes_of(shared, word))


def copies_in_group() -> None:
    """Commit the copies of this thread as a group."""
    _copies.setdefault(cuda.threadIdx, [[]]).append([])


def _arrive(groups: list[list[tuple[Any, int, Any]]]) -> None:
    for group in groups:
        for shared, n, value in group:
            shared[n] = value
        group.clear()


def copies_arrived() -> None:
    """Complete all copies of this thread."""
    _arrive(_copies.get(cuda.threadIdx, []))


def copies_arrived_but_last() -> None:
    """Complete all groups of this thread except the last one."""
    _arrive(_copies.get(cuda.threadIdx, [])[:-2])  # the last item is the open group


def named_barrier(barrier: int, threads: int) -> None:
    """Do nothing: the simulator has one barrier, for the whole block."""


def mbarrier_arrive(shared: Any, n: int) -> None:
    """Do nothing: see `mbarrier_wait`."""


def mbarrier_init(shared: Any, n: int, count: int) -> None:
    """Do nothing."""


def mbarrier_wait(shared: Any, n: int, phase: int) -> None:
    """Wait at the barrier of the block, which all threads must reach for every barrier object."""
    cuda.syncthreads()


def launch_dependents() -> None:
    """Do nothing: kernels run sequentially."""


grid_dependency_wait = launch_dependents


def release_registers(count: int) -> None:
    """Do nothing: there are no registers."""


acquire_registers = release_registers


class SimulatedDevice(HostArrays):
    """Simulated GPU; arrays are NumPy arrays."""

    kind = "cuda"
    target = "simulator"
    name = "simulated cuda"

    def run(self, launches: Sequence[Launch | HostCall]) -> None:
        for launch in launches:
            if isinstance(launch, HostCall):
                launch.program(*launch.arguments)
                continue
            kernel: Any = launch.program
            kernel[launch.grid, launch.block, 0, launch.shared](*launch.arguments)

    def repeated(self, launches: Sequence[Launch | HostCall], times: int) -> Callable[[], None]:
        bound = list(launches)

        def go() -> None:
            for _ in range(times):
                self.run(bound)

        return go

    def free_memory(self) -> int:
        return 2**30
