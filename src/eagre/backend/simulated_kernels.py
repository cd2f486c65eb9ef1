"""Kernels in plain Python: what `cuda` is inside a simulated kernel, and how its threads take turns.

In place of Numba's simulator, whose threads all run at once and wait for one another by polling, which takes ten times
as long. Here one thread of a block runs at a time, up to the next barrier, from the last thread to the first and, after
the barrier, from the first to the last: what only a barrier that is missing orders comes out differently in one of the
two. Shared memory of every block and local arrays begin as NaN.
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
    """Three indices or sizes, as of a thread in its block."""

    x: int
    y: int = 1
    z: int = 1


def _places(size: Place) -> Iterator[Place]:
    """All places of a block or a grid, x fastest."""
    return (Place(x, y, z) for z, y, x in product(range(size.z), range(size.y), range(size.x)))


def _unset(shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
    """An array of NaN, or of numbers that no index holds."""
    made = np.empty(shape, dtype)
    made.view(np.uint8).fill(255)
    return made


class Shared:
    """``cuda.shared``: arrays of the block that runs, one a line of the kernel's text."""

    def __init__(self) -> None:
        self.begin(0)

    def begin(self, dynamic: int) -> None:
        """A new block with `dynamic` bytes of the launch's own."""
        self._dynamic, self._arrays = _unset(dynamic, np.uint8), {}

    def array(self, shape: Any, dtype: Any) -> np.ndarray[Any, Any]:
        """The array that a line of a kernel declares; of shape 0, all the dynamic bytes."""
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
    """``cuda.atomic``: one thread runs at a time, so nothing comes between."""

    @staticmethod
    def add(array: Any, index: Any, value: Any) -> Any:
        """Add; as all of these, give what was there before."""
        old = array[index]
        array[index] += value
        return old

    @staticmethod
    def inc(array: Any, index: Any, last: Any) -> Any:
        """Count up, and from `last` back to 0."""
        old = array[index]
        array[index] = 0 if old >= last else old + 1
        return old

    @staticmethod
    def max(array: Any, index: Any, value: Any) -> Any:
        """The larger of the two."""
        old = array[index]
        array[index] = max(old, value)
        return old

    @staticmethod
    def min(array: Any, index: Any, value: Any) -> Any:
        """The smaller of the two."""
        old = array[index]
        array[index] = min(old, value)
        return old


class Cuda:
    """``cuda`` inside a kernel; the places are those of the thread whose turn it is."""

    def __init__(self) -> None:
        self.shared, self.local, self.atomic = Shared(), Local(), Atomic()
        self.threadIdx = self.blockIdx = self.blockDim = self.gridDim = Place(0)
        self.turns: Turns | None = None

    def grid(self, axes: int) -> Any:
        """Place of the thread in the launch, of 1 to 3 axes."""
        at = [b * n + t for b, n, t in zip(self.blockIdx, self.blockDim, self.threadIdx, strict=True)]
        return at[0] if axes == 1 else tuple(at[:axes])

    def syncthreads(self) -> None:
        """Meet all threads of the block that have not ended."""
        assert self.turns is not None
        self.turns.meet()

    def syncwarp(self) -> None:
        """Meet the threads of the warp."""
        assert self.turns is not None
        self.turns.meet(self.turns.warps)

    def syncthreads_or(self, condition: Any) -> int:
        """Meet, and say whether the condition holds in any of them."""
        assert self.turns is not None
        votes = self.turns.votes
        votes.append(bool(condition))
        self.turns.meet()
        return int(any(votes))

    def threadfence(self) -> None:
        """Nothing: what one thread stores, the next one sees."""

    @staticmethod
    def selp(condition: Any, a: Any, b: Any) -> Any:
        """a where the condition holds."""
        return a if condition else b


cuda = Cuda()


class _Abandoned(BaseException):
    """Ends the threads of a block of which one failed."""


class _Worker(Thread):
    """A thread of the system that runs threads of blocks, at most one worker at a time."""

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
    """Runs the threads of one block in turns.

    A worker runs thread after thread; one that comes to a barrier keeps its worker, and another one goes on. So a
    kernel without barriers costs no change from one worker to the next.
    """

    def __init__(self, work: Callable[[], None], size: Place) -> None:
        self.work, self.fresh = work, list(_places(size))
        self.worker: _Worker  # that runs
        self.ready: deque[_Worker] = deque()
        self.waiting: list[_Worker] = []
        self.warps: list[_Worker] = []  # that wait for the rest of their warp
        self.votes: list[bool] = []
        self.failure: BaseException | None = None
        self.done = Lock()

    def run(self) -> None:
        """Run the block to its end; raises what one of its threads raised."""
        self.done.acquire()
        self._start()
        self.done.acquire()
        if self.failure is not None:
            raise self.failure

    def begin(self, worker: _Worker) -> None:
        """What a worker does: threads of the block, until those left are with other workers."""
        self.worker = worker
        try:
            while self.fresh:
                cuda.threadIdx = self.fresh.pop()
                self.work()
        except _Abandoned:
            pass
        except BaseException as failure:  # handed to the thread that launched the kernel
            self.failure = failure
            self.fresh.clear()
        _idle.append(worker)
        self._next()

    def meet(self, waiting: list[_Worker] | None = None) -> None:
        """A barrier of the block, or of warps: these go on when no thread of the block can."""
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
        """Hand over to whoever has the next turn."""
        if self.fresh:
            self._start()
            return
        if not self.ready and self.warps:
            self.ready = deque(reversed(self.warps))
            self.warps.clear()
        if not self.ready and self.waiting:  # all have come to the barrier: it opens, the last to come first
            self.ready, self.waiting, self.votes = deque(reversed(self.waiting)), [], []
        if self.ready:
            self.ready.popleft().baton.release()
        else:
            self.done.release()


class Kernel:
    """A kernel that can be launched as Numba's are: ``kernel[grid, block, stream, shared](*arguments)``."""

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
        """Run all blocks, one after the other."""
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
    """A cell of a simulated kernel: the plain function."""
    return function


driver = Kernel
