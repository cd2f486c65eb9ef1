"""Batches of equal time steps on a GPU between host synchronisations.

The number of pressure iterations per step is fixed in advance from previous steps. At the end of a batch, a record on
the device reports whether it was sufficient. A failed batch is rolled back, and its steps are taken one by one. Kernels
of an iteration do nothing after convergence, so that a batch is bitwise identical to single steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cuda, entry
from eagre.backend.device import Launch
from eagre.models.anelastic.step import Steps
from eagre.stepping.rounds import StepGraphs
from eagre.stepping.until import ITERATIONS, NORM, SMALL, THREADS, max_over_block

COURANT = 0  # Courant number of the last step
WORST = 1  # maximum Courant number of the batch
LEAST = 2  # minimum Courant number of the batch
MADE = 3  # total number of iterations
MOST = 4  # maximum number of iterations of a step
LEFT = 5  # dt max |div| over dt after the last step
UNFINISHED = 6  # number of steps without convergence
SIZE = 7
SIZES = (10, 1)  # number of steps per CUDA graph
MANY = 100  # launches per step above which a graph holds one step
SPARE = 16  # one spare iteration per this number of iterations
SPARE_IN_VAIN = 4  # the same if iterations after convergence have negligible cost
FEWER = 0.75  # fraction of the allowed iterations below which the next batch has fewer iterations


class Book(NamedTuple):
    """Step statistics that the host reads after a batch."""

    courant: float
    worst: float
    least: float
    made: float
    most: float
    left: float
    unfinished: float


@entry
def note_cuda(most, mixing, dt, control, book):
    """Accumulate the statistics of a step; one block.

    most : partial maxima of the Courant number; mixing : partial maxima of the decay rate by a closure, 1/s
    control : control numbers of the pressure iteration
    """
    tree = cuda.shared.array(THREADS, np.float64)
    t, largest = cuda.threadIdx.x, 0.0
    for m in range(t, most.shape[0], THREADS):
        largest = max(largest, most[m])
    for m in range(t, mixing.shape[0], THREADS):
        largest = max(largest, float(mixing[m]) * dt[0])
    max_over_block(tree, t, THREADS, largest)
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
    """Return the number of iterations per step for a required number, with spares to avoid new graphs."""
    return needed + needed // spare


class Legs:
    """Time stepping without host synchronisation.

    Parameters
    ----------
    steps : Steps
    kept : dict of arrays
        All arrays that the next step reads.
    """

    def __init__(self, steps: Steps, kept: dict[str, Any]) -> None:
        self._steps, self._kept, self._device = steps, kept, steps.device
        self._book = self._device.zeros((SIZE,), np.float64)
        self._copies: dict[str, Any] = {}
        self._before = (0.0, (0.0, 0.0))
        self._rounds: dict[tuple[int, int], StepGraphs] = {}
        self.iterations = 1

    def run(self, dt: float, times: Sequence[float]) -> Book:
        """Advance steps of dt, s, with the given start times, s; `take_back` rolls them back."""
        self._keep()
        book = np.zeros(SIZE)
        book[LEAST] = np.inf
        self._device.fill(self._book, book)
        made = 0
        while made < len(times):
            alone = not self._goes_on(dt)
            self._set_out(dt, times[made])
            rounds = self._bound()  # new graphs after a change of the kind of coefficients
            size = 1 if alone else rounds.size_for(len(times) - made)
            rounds.run(0, size)
            self._steps.before = dt
            made += size
        return Book(*map(float, self._device.host(self._book)))

    def _goes_on(self, dt: float) -> bool:
        """Return whether the next steps of dt, s, need no new data of the host."""
        steps = self._steps
        return (steps.before, steps.projection.steps[0]) == (dt, dt) and not steps.driven_by_time

    def _set_out(self, dt: float, time: float) -> None:
        self._steps.set_out(dt, time)
        self._steps.projection.set_out(dt)

    def _bound(self) -> StepGraphs:
        """Return graphs of steps with the allowed number of iterations."""
        key = (self._steps.projection.bound, self.iterations)
        if key not in self._rounds:
            launches = self._launches(self.iterations)
            sizes = SIZES if len(launches) < MANY else SIZES[-1:]
            self._rounds = {key: StepGraphs(self._device, lambda phase, size: (launches, size), sizes)}
        return self._rounds[key]

    def take_back(self) -> None:
        """Roll back to the start of the last batch."""
        for name, array in self._kept.items():
            self._device.copy(array, self._copies[name])
        self._steps.before, self._steps.projection.steps = self._before

    def finished(self, made: Book) -> bool:
        """Return whether all steps converged."""
        if made.unfinished == 0.0 and made.most < FEWER * self.iterations:
            self.iterations = max(1, allowed(int(made.most), self._spare))
        return made.unfinished == 0.0

    def allow(self, needed: int) -> None:
        """Set the allowed iterations from the required number of a step."""
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
