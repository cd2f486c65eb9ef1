"""Legs: steps of equal length on a GPU between two looks of the host.

Each is made with the iterations of the pressure that the last ones took, and a book on the device says at the end
whether that was enough. A leg in which it was not is taken back, and its steps are made one by one. Kernels of an
iteration do nothing once the tolerance is reached, so that a leg makes the same bits as its steps one by one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell, cuda, entry
from eagre.backend.device import Device, Launch
from eagre.kernels.bits import is_bad
from eagre.models.anelastic.step import Steps
from eagre.stepping.rounds import Rounds
from eagre.stepping.until import ITERATIONS, NORM, SMALL, THREADS, largest_of

COURANT = 0  # of the last step
WORST = 1  # of all steps of a leg
MADE = 2  # iterations of all steps
MOST = 3  # of one step
LEFT = 4  # dt max |div| over dt after the last step
UNFINISHED = 5  # steps whose pressure did not reach the tolerance
SIZE = 6
SIZES = (10, 1)  # steps of a graph
MANY = 100  # launches of a step: a graph holds one
SPARE = 16  # iterations of which one more is allowed for
FEWER = 0.75  # share of the iterations that are allowed for: a leg that needs fewer than this has fewer in the next one


class Book(NamedTuple):
    """What the host reads after a leg."""

    courant: float
    worst: float
    made: float
    most: float
    left: float
    unfinished: float


@entry
def note_cuda(most, control, book):
    """Book a step; one block. most: Courant numbers of parts of the grid; control: of the pressure's iteration."""
    tree = cuda.shared.array(THREADS, np.float64)
    t, largest = cuda.threadIdx.x, 0.0
    for m in range(t, most.shape[0], THREADS):
        largest = max(largest, most[m])
    largest_of(tree, t, THREADS, largest)
    if t == 0:
        book[COURANT] = tree[0]
        book[WORST] = max(book[WORST], tree[0])
        book[MADE] += control[ITERATIONS]
        book[MOST] = max(book[MOST], control[ITERATIONS])
        book[LEFT] = control[NORM]
        if control[NORM] > control[SMALL]:
            book[UNFINISHED] += 1.0


@cell
def mark_bad(k, j, i, x, flag):
    """flag[0] = 1 where x is not finite."""
    if is_bad(x[k, j, i]):
        flag[0] = 1.0


def allowed(needed: int) -> int:
    """Iterations that steps have where one needed so many: some more, as each other number is a new graph."""
    return needed + needed // SPARE


class Legs:
    """Makes steps that nobody looks at.

    Parameters
    ----------
    steps : Steps
    kept : dict of arrays
        Everything that the next step reads.
    """

    def __init__(self, steps: Steps, kept: dict[str, Any]) -> None:
        self._steps, self._kept, self._device = steps, kept, steps.device
        self._book = self._device.zeros((SIZE,), np.float64)
        self._copies: dict[str, Any] = {}
        self._rounds: dict[tuple[float, int], Rounds] = {}
        self.iterations = 1

    def run(self, dt: float, count: int) -> Book:
        """Make steps of dt, s, each as long as the two before it; see `take_back` for those that were in vain."""
        self._keep()
        self._device.fill(self._book, np.zeros(SIZE))
        key = (dt, self.iterations)
        if key not in self._rounds:
            launches = self._launches(*key)
            sizes = SIZES if len(launches) < MANY else SIZES[-1:]
            self._rounds = {key: Rounds(self._device, lambda phase, size: (launches, size), sizes)}
        rounds, left = self._rounds[key], count
        while left > 0:
            size = rounds.size_for(left)
            rounds.run(0, size)
            left -= size
        return Book(*map(float, self._device.host(self._book)))

    def take_back(self) -> None:
        """Stand again where the last leg began."""
        for name, array in self._kept.items():
            self._device.copy(array, self._copies[name])

    def finished(self, made: Book) -> bool:
        """Whether all steps reached the tolerance."""
        if made.unfinished == 0.0 and made.most < FEWER * self.iterations:
            self.iterations = max(1, allowed(int(made.most)))
        return made.unfinished == 0.0

    def allow(self, needed: int) -> None:
        """Let steps have as many iterations as one of them needed."""
        if needed > self.iterations:
            self.iterations = allowed(needed)

    def _launches(self, dt: float, iterations: int) -> list[Any]:
        steps = self._steps
        pressure = steps.projection.unlooked(dt, iterations)
        book = (steps.advector.most, steps.projection.control, self._book)
        note = Launch(self._device.program(note_cuda, "double"), book, (1,), (THREADS,))
        return [*steps.explicit(dt), *pressure, *steps.finish(), note]

    def _keep(self) -> None:
        for name, array in self._kept.items():
            if name not in self._copies:
                self._copies[name] = self._device.zeros(array.shape, array.dtype)
            self._device.copy(self._copies[name], array)


class Watch:
    """Whether fields on a device are finite."""

    def __init__(self, device: Device, precision: str, fields: list[Any]) -> None:
        self._device, self._flag = device, device.zeros((1,), np.float64)
        loop = device.loop(mark_bad, precision)
        self._marks = [device.over(loop, tuple(x.shape), (x, self._flag)) for x in fields]

    def are_finite(self) -> bool:
        """True if no number is infinite, none at all, or above 1e30."""
        self._device.fill(self._flag, np.zeros(1))
        self._device.run(self._marks)
        return float(self._device.host(self._flag)[0]) == 0.0
