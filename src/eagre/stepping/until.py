"""Iterations that stop by themselves: launches again and again until a norm on the device is small.

On a GPU `look_every` iterations are one graph, which brings the numbers that stop them and takes them back. A kernel in
a graph runs whatever came before it, so every kernel of an iteration asks `is_iterating` first and does nothing once
the norm is small; the host looks once a graph. Elsewhere it looks after every iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from eagre.backend.cells import cell, cuda, entry, serial_entry
from eagre.backend.device import Device, Launch, Work
from eagre.errors import ConvergenceError
from eagre.stepping.rounds import Rounds

ITERATING = 0  # 1 until the norm is small or the iterations are used up
NORM = 1  # after the last iteration
ITERATIONS = 2  # made
SMALL = 3  # the norm to reach
MOST = 4  # iterations allowed
SIZE = 5
THREADS = 128  # of the block that adds up the norm, a power of two


@cell
def is_iterating(control):
    """Whether a kernel of an iteration has something to do."""
    return control[ITERATING] > 0.0


@cell
def judge(control, total):
    """Count an iteration, store its norm, the root of `total`, and stop where that is small or the last is made."""
    norm, count = math.sqrt(total), control[ITERATIONS] + 1.0
    if is_iterating(control):
        control[NORM] = norm
        control[ITERATIONS] = count
        if norm <= control[SMALL] or count >= control[MOST]:
            control[ITERATING] = 0.0


@cell
def begin(control, small, most, made):
    """Begin to iterate, to a norm of `small`; made: iterations before the first one that counts."""
    control[ITERATING] = 1.0
    control[SMALL] = small
    control[MOST] = most
    control[ITERATIONS] = made
    control[NORM] = 0.0


@serial_entry
def begin_cpu(control, small, most, made):
    """Begin; small: one number."""
    begin(control, small[0], most, made)


@entry
def begin_cuda(control, small, most, made):
    """As `begin_cpu`; one thread."""
    begin(control, small[0], most, made)


@serial_entry
def judge_cpu(partials, control):
    """Judge by the sum of all partial sums, in their order."""
    total = 0.0
    for k in range(partials.shape[0]):
        total += partials[k]
    judge(control, total)


@cell
def add_up(tree, t, threads, value):
    """tree[0] = the sum of the values of a block's threads, a power of two of them: the same bits every time."""
    tree[t] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            tree[t] += tree[t + half]
        cuda.syncthreads()
        half //= 2


@cell
def largest_of(tree, t, threads, value):
    """tree[0] = the largest value of a block's threads."""
    tree[t] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            tree[t] = max(tree[t], tree[t + half])
        cuda.syncthreads()
        half //= 2


@entry
def judge_cuda(partials, control):
    """As `judge_cpu`; one block, a tree over its threads: the same bits every time."""
    tree = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    total = 0.0
    for k in range(t, partials.shape[0], THREADS):
        total += partials[k]
    add_up(tree, t, THREADS, total)
    if t == 0:
        judge(control, tree[0])


class StopTest:
    """The numbers that stop an iteration.

    Attributes
    ----------
    control : float64 (SIZE,), on the device
        What kernels hand to `is_iterating`.
    partials : float64 (count,), on the device
        Partial sums of the squares that make the norm: an iteration ends by writing all of them.
    """

    def __init__(self, device: Device, count: int) -> None:
        self.control = device.zeros((SIZE,), np.float64)
        self.partials = device.zeros((count,), np.float64)
        program = device.program(judge_cuda if device.kind == "cuda" else judge_cpu, "double")
        self.launch = Launch(program, (self.partials, self.control), (1,), (THREADS,))


class Judge(Protocol):
    """What ends an iteration: `control` as of `StopTest`, and the launch that judges; None: the iteration does."""

    control: Any

    @property
    def launch(self) -> Launch | None:
        """Judges."""
        ...


class Iterated(NamedTuple):
    """How an iteration ended."""

    iterations: int
    norm: float


class Lead(NamedTuple):
    """What comes before an iteration, in the same graph: launches that are always the same, known by a name.

    meanwhile : what the host may do while a GPU is at work; not done elsewhere.
    """

    name: Any
    launches: Sequence[Work]
    meanwhile: Callable[[], None] | None = None


NOTHING = Lead("", ())
START, MORE = "start", "more"  # names of the graphs of the start and of a further round


class Until:
    """Repeats an iteration until its norm is small.

    Parameters
    ----------
    device : Device
    test : Judge
    iteration : sequence of launches
        One iteration; it writes `test.partials` at its end.
    start : sequence of launches
        Run once before; if there are any, they write `test.partials` too, and a start that is good enough ends it.
    look_every : int
        Iterations of a graph: how many are launched between two looks of the host, on a GPU.
    start_counts : bool
        Whether the start is an iteration.

    Attributes
    ----------
    launches : list
        The start and one iteration: for `Device.prepare`.
    control : float64 (SIZE,), on the device
        Of the test.
    """

    def __init__(
        self,
        device: Device,
        test: Judge,
        iteration: Sequence[Work],
        start: Sequence[Work] = (),
        look_every: int = 20,
        start_counts: bool = False,
    ) -> None:
        self._before = -1 if start and not start_counts else 0  # iterations, of which the norm of a start makes one
        self._counted = int(start_counts)
        self._device, self._test, self.control = device, test, test.control
        last = [] if test.launch is None else [test.launch]
        self._start, launches = [*start, *last] if start else [], [*iteration, *last]
        self._iteration = launches
        self.launches = [*self._start, *launches]
        self._round = look_every if device.graphs else 1
        self._rounds = Rounds(device, lambda phase, size: (launches, size), (self._round,))
        self._mail = device.pinned((2, SIZE), np.float64) if device.graphs and device.is_one and not start else None
        self._graphs: dict[Any, Callable[[], None]] = {}

    def unlooked(self, small: Any, most: int, iterations: int) -> list[Work]:
        """Launches of the start and of so many iterations, those that are not needed in vain: no look of the host.

        small : float64 (1,), on the device
        """
        program = self._device.program(begin_cuda if self._device.kind == "cuda" else begin_cpu, "double")
        arguments = (self._test.control, small, float(most), float(self._before))
        return [Launch(program, arguments), *self._start, *self._iteration * (iterations - self._counted)]

    def run(self, small: float, most: int, lead: Lead = NOTHING) -> Iterated:
        """Iterate until the norm is at most `small`, after what leads.

        Raises
        ------
        ConvergenceError
            If `most` iterations do not get there, or the norm stops being finite; it says the norm reached.
        """
        control = np.zeros(SIZE)
        control[[ITERATING, SMALL, MOST]] = 1.0, small, most
        control[ITERATIONS] = self._before
        found = self._run(control, lead) if self._mail is None else self._run_graphs(self._mail, control, lead)
        made = Iterated(int(found[ITERATIONS]), float(found[NORM]))
        if not made.norm <= small:
            raise ConvergenceError(made.iterations, made.norm, small)
        return made

    def _run(self, control: np.ndarray, lead: Lead) -> np.ndarray:
        """The numbers of the test after iterations, the host having looked after each round."""
        device = self._device
        device.fill(self._test.control, control)
        self._once(lead.name, lead.launches)
        self._once(START, self._start)
        found = device.host(self._test.control)
        while found[ITERATING] > 0.0 and math.isfinite(found[NORM]):
            self._rounds.run(0, self._round)
            found = device.host(self._test.control)
        return found

    def _run_graphs(self, mail: np.ndarray, control: np.ndarray, lead: Lead) -> np.ndarray:
        """As `_run`, by one graph for what leads and a round, and another for each further round."""
        device, test, (sent, found) = self._device, self._test, mail
        turn = [*self._iteration * self._round, device.transfer(found, test.control)]
        sent[:] = control
        self._once(lead.name, [device.transfer(test.control, sent), *lead.launches, *turn])
        if lead.meanwhile is not None:
            lead.meanwhile()
        device.synchronize()
        while found[ITERATING] > 0.0 and math.isfinite(found[NORM]):
            self._once(MORE, turn)
            device.synchronize()
        return found.copy()

    def _once(self, name: Any, launches: Sequence[Work]) -> None:
        """Run launches that are always the same of this name."""
        if launches and name not in self._graphs:
            self._graphs[name] = self._device.repeated(launches, 1)
        if launches:
            self._graphs[name]()
