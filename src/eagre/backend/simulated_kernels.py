"""Simulated CUDA kernels in plain Python: the `cuda` module of kernels, and thread scheduling.

This replaces Numba's simulator, whose threads run concurrently and poll, which takes ten times as long. Here one thread
of a block runs at a time up to the next barrier, from the last thread to the first and, after the barrier, from the
first to the last: a missing barrier changes the result in one of the two orders. Shared memory of every block and local
arrays are initialised with NaN.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from itertools import product
from threading import Lock, Thread
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import DeviceError


class Place(NamedTuple):
    """Three indices or sizes, for example of a thread in its block."""

    x: int
    y: int = 1
    z: int = 1


def _places(size: Place) -> Iterator[Place]:
    """Yield all indices of a block or a grid, x fastest."""
    return (Place(x, y, z) for z, y, x in product(range(size.z), range(size.y), range(size.x)))


def _unset(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """Return an array of NaN, or of integers that no valid index has."""
    made = np.empty(shape, dtype)
    made.view(np.uint8).fill(255)
    return made


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
            words = self._dynamic.size // np.dtype(dtype).itemsize
            return self._dynamic[: words * np.dtype(dtype).itemsize].view(dtype)
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
        self.threadIdx = self.blockIdx = self.blockDim = self.gridDim = Place(0)
        self.turns: Turns | None = None

    def grid(self, axes: int) -> Any:
        """Return the index of the thread in the launch, for 1 to 3 axes."""
        at = [b * n + t for b, n, t in zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)]
        return at[0] if axes == 1 else tuple(at[:axes])

    def syncthreads(self) -> None:
        """Wait for all running threads of the block."""
        assert self.turns is not None
        self.turns.meet()

    def syncwarp(self) -> None:
        """Wait for the threads of the warp."""
        assert self.turns is not None
        self.turns.meet(self.turns.warps)

    def syncthreads_or(self, condition: Any) -> int:
        """Wait for all threads, and return whether the condition holds in any of them."""
        assert self.turns is not None
        votes = self.turns.votes
        votes.append(bool(condition))
        self.turns.meet()
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
        self.turns: Turns | None = None
        self.baton.acquire()
        self.start()

    def run(self) -> None:
        while True:
            self.baton.acquire()
            assert self.turns is not None
            self.turns.begin(self)


_idle: list[_Worker] = []


class Turns:
    """Sequential execution of the threads of one block.

    A worker runs threads in sequence; a thread that reaches a barrier keeps its worker, and another worker continues.
    Kernels without barriers therefore need no change of workers.
    """

    def __init__(self, work: Callable[[], None], size: Place) -> None:
        self.work, self.fresh = work, list(_places(size))
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
        worker, place = self.worker, cuda.threadIdx
        (self.waiting if waiting is None else waiting).append(worker)
        self._next()
        worker.baton.acquire()
        if self.failure is not None:
            raise _Abandoned
        self.worker, cuda.threadIdx = worker, place

    def _start(self) -> None:
        worker = _idle.pop() if _idle else _Worker()
        worker.turns = self
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
        grid, block, *rest = configuration
        grid, block = (Place(*n) if isinstance(n, tuple) else Place(n) for n in (grid, block))
        shared = rest[1] if len(rest) > 1 else 0

        def launch(*arguments: Any) -> None:
            self.launch(grid, block, shared, arguments)

        return launch

    def launch(self, grid: Place, block: Place, shared: int, arguments: tuple[Any, ...]) -> None:
        """Run all blocks sequentially."""
        if cuda.turns is not None:
            raise DeviceError("A simulated kernel cannot launch another kernel.")
        cuda.gridDim, cuda.blockDim = grid, block
        try:
            for cuda.blockIdx in _places(grid):
                cuda.shared.begin(shared)
                cuda.turns = Turns(lambda: self.py_func(*arguments), block)
                cuda.turns.run()
        finally:
            cuda.turns = None


def formula(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the plain function of a kernel function."""
    return function


driver = Kernel
