"""Device-side iteration to a tolerance: launches repeated until convergence.

On a GPU `iterations_per_check` iterations are one graph, which also transfers the control data to the device and back.
Kernels in a graph always run, so each kernel of an iteration checks `is_iterating` and does nothing after convergence;
the host synchronises once per graph. On other devices the host checks after every iteration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, serial_entry
from eagre.backend.device import Device, Launch, Work
from eagre.errors import ConvergenceError

ITERATING = 0  # 1 until convergence or the maximum number of iterations
NORM = 1  # norm after the last iteration
ITERATIONS = 2  # completed iterations
SMALL = 3  # tolerance of the norm
MOST = 4  # maximum number of iterations
SIZE = 5
THREADS = 128  # threads of the block that sums the norm, a power of two


@cell
def is_iterating(control):
    """Return whether the kernels of an iteration must run."""
    return control[ITERATING] > 0.0


@cell
def check_convergence(control, total):
    """Count an iteration, store its norm, sqrt(total), and stop after convergence or `MOST` iterations."""
    norm, count = math.sqrt(total), control[ITERATIONS] + 1.0
    if is_iterating(control):
        control[NORM] = norm
        control[ITERATIONS] = count
        if norm <= control[SMALL] or count >= control[MOST]:
            control[ITERATING] = 0.0


@cell
def begin(control, tolerance, max_iterations, completed):
    """Start iterating to a norm of `tolerance`; made: initial iteration count."""
    control[ITERATING] = 1.0
    control[SMALL] = tolerance
    control[MOST] = max_iterations
    control[ITERATIONS] = completed
    control[NORM] = 0.0


@serial_entry
def begin_cpu(control, tolerance, max_iterations, completed):
    """Start iterating; tolerance: array of one value."""
    begin(control, tolerance[0], max_iterations, completed)


@entry
def begin_cuda(control, tolerance, max_iterations, completed):
    """See `begin_cpu`; one thread."""
    begin(control, tolerance[0], max_iterations, completed)


@cell
def record(control, norms):
    """Store the norm of the last iteration, which has been judged, under its number."""
    n = int(control[ITERATIONS]) - 1
    if 0 <= n < norms.shape[0]:
        norms[n] = control[NORM]


@serial_entry
def check_convergence_cpu(partials, control, norms):
    """Check convergence with the sum of all partial sums, in their order."""
    total = 0.0
    for k in range(partials.shape[0]):
        total += partials[k]
    check_convergence(control, total)
    record(control, norms)


@cell
def add_up(tree, t, threads, value):
    """Set tree[0] to the sum over the threads of a block, a power of two; bitwise reproducible."""
    tree[t] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            tree[t] += tree[t + half]
        cuda.syncthreads()
        half //= 2


@cell
def max_over_block(tree, t, threads, value):
    """Set tree[0] to the maximum over the threads of a block."""
    tree[t] = value
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if t < half:
            tree[t] = max(tree[t], tree[t + half])
        cuda.syncthreads()
        half //= 2


@entry
def check_convergence_cuda(partials, control, norms):
    """See `judge_cpu`; one block with a tree reduction, bitwise reproducible."""
    tree = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    total = 0.0
    for k in range(t, partials.shape[0], THREADS):
        total += partials[k]
    add_up(tree, t, THREADS, total)
    if t == 0:
        check_convergence(control, tree[0])
        record(control, norms)


class StopTest:
    """Convergence check of an iteration.

    Parameters
    ----------
    device : Device
    count : int
        Number of partial sums.
    recorded : int
        Number of iterations whose norms are kept on the device, from the first one on.

    Attributes
    ----------
    control : float64 (SIZE,), on the device
        Argument of `is_iterating` in kernels.
    partials : float64 (count,), on the device
        Partial sums of squares of the norm, all written at the end of an iteration.
    norms : float64 (recorded,), on the device
        Norm of each iteration of the last run; entries beyond its number of iterations are undefined.
    """

    def __init__(self, device: Device, count: int, recorded: int = 1) -> None:
        self.control = device.zeros((SIZE,), np.float64)
        self.partials = device.zeros((count,), np.float64)
        self.norms = device.zeros((recorded,), np.float64)
        program = device.program(check_convergence_cuda if device.kind == "cuda" else check_convergence_cpu, "double")
        self.launch = Launch(program, (self.partials, self.control, self.norms), (1,), (THREADS,))


class ConvergenceTest(Protocol):
    """Convergence check: `control` as in `StopTest`, and a launch, or None if the iteration checks itself."""

    control: Any

    @property
    def launch(self) -> Launch | None:
        """Launch of the convergence check."""
        ...


class IterationResult(NamedTuple):
    """Number of iterations and final norm."""

    iterations: int
    norm: float


class Prologue(NamedTuple):
    """Prologue of an iteration in the same graph: constant launches, identified by a name.

    overlapped : host work that overlaps with a GPU; not called on other devices.
    """

    name: Any
    launches: Sequence[Work]
    overlapped: Callable[[], None] | None = None


NO_PROLOGUE = Prologue("", ())
START, LATER = "start", "more"  # names of the graphs of the start and of later batches


class ConvergenceLoop:
    """Iteration that is repeated until convergence.

    Parameters
    ----------
    device : Device
    test : ConvergenceTest
        Convergence check.
    iteration : sequence of launches
        One iteration; it writes `test.partials` at its end.
    start : sequence of launches
        Launches before the first iteration; if given, they also write `test.partials`, and the iteration ends if the
        start has converged.
    iterations_per_check : int
        Number of iterations per graph, between host synchronisations, on a GPU.
    start_counts : bool
        Whether the start counts as an iteration.

    Attributes
    ----------
    launches : list
        The start and one iteration: for `Device.prepare`.
    control : float64 (SIZE,), on the device
        Control data of the convergence check.
    """

    def __init__(
        self,
        device: Device,
        test: ConvergenceTest,
        iteration: Sequence[Work],
        start: Sequence[Work] = (),
        iterations_per_check: int = 20,
        start_counts: bool = False,
    ) -> None:
        self._before = -1 if start and not start_counts else 0  # the norm of the start counts one iteration
        self._counted = int(start_counts)
        self._device, self._test, self.control = device, test, test.control
        last = [] if test.launch is None else [test.launch]
        self._start, self._iteration = [*start, *last] if start else [], [*iteration, *last]
        self.launches = [*self._start, *self._iteration]
        self._batch = iterations_per_check if device.graphs else 1
        self._mail = device.pinned_of_replicated((2, SIZE), np.float64) if device.graphs else None
        self._graphs: dict[Any, Callable[[], None]] = {}

    def unlooked(self, tolerance: Any, max_iterations: int, iterations: int) -> list[Work]:
        """Return launches of the start and of `iterations` iterations, without host synchronisation.

        tolerance : float64 (1,), on the device
        """
        program = self._device.program(begin_cuda if self._device.kind == "cuda" else begin_cpu, "double")
        arguments = (self._test.control, tolerance, float(max_iterations), float(self._before))
        return [Launch(program, arguments), *self._start, *self._iteration * (iterations - self._counted)]

    def run(
        self, tolerance: float, max_iterations: int, prologue: Prologue = NO_PROLOGUE, completed: int = 0
    ) -> IterationResult:
        """Iterate until the norm is at most `tolerance`, after the prologue.

        completed : iterations that were completed before, which `max_iterations` and the result include.

        Raises
        ------
        ConvergenceError
            If `max_iterations` iterations do not reach the tolerance, or the norm is not finite.
        """
        control = np.zeros(SIZE)
        control[[ITERATING, SMALL, MOST]] = 1.0, tolerance, max_iterations
        control[ITERATIONS] = completed + self._before
        final = self._run(control, prologue) if self._mail is None else self._run_graphs(self._mail, control, prologue)
        result = IterationResult(int(final[ITERATIONS]), float(final[NORM]))
        if not result.norm <= tolerance:
            raise ConvergenceError(result.iterations, result.norm, tolerance)
        return result

    def _run(self, control: np.ndarray, prologue: Prologue) -> np.ndarray:
        """Return the control data after the iterations, with a host check after each batch."""
        device = self._device
        device.fill(self._test.control, control)
        self._once(prologue.name, prologue.launches)
        self._once(START, self._start)
        control_data = device.host(self._test.control)
        while control_data[ITERATING] > 0.0 and math.isfinite(control_data[NORM]):
            self._once(LATER, self._iteration * self._batch)
            control_data = device.host(self._test.control)
        return control_data

    def _run_graphs(self, mail: np.ndarray, control: np.ndarray, prologue: Prologue) -> np.ndarray:
        """Do the work of `_run`: a graph for the prologue and the start or first batch, and one for later batches."""
        device, test, (sent, received) = self._device, self._test, mail
        read = device.transfer(received, test.control)
        batch = [*self._iteration * self._batch, read]
        first = [*self._start, read] if self._start else batch
        sent[:] = control
        self._once(prologue.name, [device.transfer(test.control, sent), *prologue.launches, *first])
        if prologue.overlapped is not None:
            prologue.overlapped()
        device.synchronize()
        while received[ITERATING] > 0.0 and math.isfinite(received[NORM]):
            self._once(LATER, batch)
            device.synchronize()
        return received.copy()

    def _once(self, name: Any, launches: Sequence[Work]) -> None:
        """Run the launches of a name, which are captured once."""
        if launches and name not in self._graphs:
            self._graphs[name] = self._device.repeated(launches, 1)
        if launches:
            self._graphs[name]()
