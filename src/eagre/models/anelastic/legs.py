"""Legs: steps of one length on a GPU between two looks of the host.

Each is made with the iterations of the pressure that the last ones took, and a book on the device says at the end
whether that was enough. A leg in which it was not is taken back, and its steps are made one by one. Kernels of an
iteration do nothing once the tolerance is reached, so that a leg makes the same bits as its steps one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cuda, entry
from eagre.backend.device import Launch
from eagre.models.anelastic.step import Steps
from eagre.stepping.rounds import Rounds
from eagre.stepping.until import ITERATIONS, NORM, SMALL, THREADS, largest_of

COURANT = 0  # of the last step
WORST = 1  # the largest of all steps of a leg
LEAST = 2  # and the smallest
MADE = 3  # iterations of all steps
MOST = 4  # of one step
LEFT = 5  # dt max |div| over dt after the last step
UNFINISHED = 6  # steps whose pressure did not reach the tolerance
SIZE = 7
SIZES = (10, 1)  # steps of a graph
MANY = 100  # launches of a step: a graph holds one
SPARE = 16  # iterations of which one more is allowed for
SPARE_IN_VAIN = 4  # where those made in vain cost next to nothing
FEWER = 0.75  # share of the iterations that are allowed for: a leg that needs fewer than this has fewer in the next one


class Book(NamedTuple):
    """What the host reads after a leg."""

    courant: float
    worst: float
    least: float
    made: float
    most: float
    left: float
    unfinished: float


@entry
def note_cuda(most, mixing, dt, control, book):
    """Book a step; one block.

    most : Courant numbers of parts of the grid; mixing : decays that a closure makes, 1/s, which count like these
    control : of the pressure's iteration
    """
    tree = cuda.shared.array(THREADS, np.float64)
    t, largest = cuda.threadIdx.x, 0.0
    for m in range(t, most.shape[0], THREADS):
        largest = max(largest, most[m])
    for m in range(t, mixing.shape[0], THREADS):
        largest = max(largest, float(mixing[m]) * dt[0])
    largest_of(tree, t, THREADS, largest)
    if t == 0:
        book[COURANT] = tree[0]
        book[WORST] = max(book[WORST], tree[0])
        book[LEAST] = min(book[LEAST], tree[0])
        book[MADE] += control[ITERATIONS]
        book[MOST] = max(book[MOST], control[ITERATIONS])
        book[LEFT] = control[NORM]
        if control[NORM] > control[SMALL]:
            book[UNFINISHED] += 1.0


def allowed(needed: int, spare: int = SPARE) -> int:
    """Iterations that steps have where one needed so many: some more, as each other number is a new graph."""
    return needed + needed // spare


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
        self._before = (0.0, (0.0, 0.0))
        self._rounds: dict[tuple[int, int], Rounds] = {}
        self.iterations = 1

    def run(self, dt: float, times: Sequence[float]) -> Book:
        """Make steps of dt, s, that begin at these model times, s; see `take_back` for those that were in vain."""
        self._keep()
        book = np.zeros(SIZE)
        book[LEAST] = np.inf
        self._device.fill(self._book, book)
        made = 0
        while made < len(times):
            alone = not self._goes_on(dt)
            self._set_out(dt, times[made])
            rounds = self._bound()  # which other kinds of coefficients change
            size = 1 if alone else rounds.size_for(len(times) - made)
            rounds.run(0, size)
            self._steps.before = dt
            made += size
        return Book(*map(float, self._device.host(self._book)))

    def _goes_on(self, dt: float) -> bool:
        """Whether the next steps of dt, s, need nothing new of the host."""
        steps = self._steps
        return (steps.before, steps.projection.steps[0]) == (dt, dt) and not steps.driven_by_time

    def _set_out(self, dt: float, time: float) -> None:
        self._steps.set_out(dt, time)
        self._steps.projection.set_out(dt)

    def _bound(self) -> Rounds:
        """Graphs of steps with as many iterations as are allowed for."""
        key = (self._steps.projection.bound, self.iterations)
        if key not in self._rounds:
            launches = self._launches(self.iterations)
            sizes = SIZES if len(launches) < MANY else SIZES[-1:]
            self._rounds = {key: Rounds(self._device, lambda phase, size: (launches, size), sizes)}
        return self._rounds[key]

    def take_back(self) -> None:
        """Stand again where the last leg began."""
        for name, array in self._kept.items():
            self._device.copy(array, self._copies[name])
        self._steps.before, self._steps.projection.steps = self._before

    def finished(self, made: Book) -> bool:
        """Whether all steps reached the tolerance."""
        if made.unfinished == 0.0 and made.most < FEWER * self.iterations:
            self.iterations = max(1, allowed(int(made.most), self._spare))
        return made.unfinished == 0.0

    def allow(self, needed: int) -> None:
        """Let steps have as many iterations as one of them needed."""
        if needed > self.iterations:
            self.iterations = allowed(needed, self._spare)

    @property
    def _spare(self) -> int:
        return SPARE_IN_VAIN if self._steps.projection.ends_at_once else SPARE

    def _launches(self, iterations: int) -> list[Any]:
        steps = self._steps
        measures, mixing = steps.tendencies.diffusion.measured
        book = (steps.advector.most, mixing, steps.pace.dt, steps.projection.control, self._book)
        note = Launch(self._device.program(note_cuda, "double"), book, (1,), (THREADS,))
        return [*steps.explicit(), *steps.projection.unlooked(iterations), *steps.finish(), *measures, note]

    def _keep(self) -> None:
        self._before = self._steps.before, self._steps.projection.steps
        for name, array in self._kept.items():
            if name not in self._copies:
                self._copies[name] = self._device.zeros(array.shape, array.dtype)
            self._device.copy(self._copies[name], array)
