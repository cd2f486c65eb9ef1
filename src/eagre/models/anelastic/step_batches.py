"""Batches of equal time steps on a GPU between host synchronisations.

The number of pressure iterations per step is fixed in advance from previous steps. At the end of a batch, a record on
the device reports whether it was sufficient. A failed batch is rolled back, and its steps are taken one by one. Kernels
of an iteration do nothing after convergence, so that a batch is bitwise identical to single steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cuda, entry
from eagre.backend.device import Launch
from eagre.models.anelastic.step import Steps
from eagre.stepping.convergence_loop import ITERATIONS, NORM, SMALL, THREADS, max_over_block
from eagre.stepping.step_graphs import StepGraphs

COURANT = 0  # Courant number of the last step
MAX_COURANT = 1  # maximum Courant number of the batch
MIN_COURANT = 2  # minimum Courant number of the batch
TOTAL_ITERATIONS = 3  # total number of iterations
MAX_ITERATIONS = 4  # maximum number of iterations of a step
DIVERGENCE = 5  # dt max |div| over dt after the last step
UNFINISHED = 6  # number of steps without convergence
RECORD_SIZE = 7
GRAPH_SIZES = (10, 1)  # number of steps per CUDA graph
MAX_GRAPH_LAUNCHES = 100  # launches per step above which a graph holds one step
ITERATIONS_PER_MARGIN = 16  # one spare iteration per this number of iterations
ITERATIONS_PER_CHEAP_MARGIN = 4  # the same if iterations after convergence have negligible cost
SHRINK_FRACTION = 0.75  # fraction of the allowed iterations below which the next batch has fewer iterations


class StepRecord(NamedTuple):
    """Step statistics that the host reads after a batch."""

    courant: float
    max_courant: float
    min_courant: float
    iterations: float
    max_iterations: float
    divergence: float
    unfinished: float


@entry
def accumulate_record_cuda(courant_maxima, mixing, dt, control, record):
    """Accumulate the statistics of a step; one block.

    courant_maxima : partial maxima of the Courant number; mixing : partial maxima of the decay rate by a closure, 1/s
    control : control numbers of the pressure iteration
    """
    tree = cuda.shared.array(THREADS, np.float64)
    t, maximum = cuda.threadIdx.x, 0.0
    for m in range(t, courant_maxima.shape[0], THREADS):
        maximum = max(maximum, courant_maxima[m])
    for m in range(t, mixing.shape[0], THREADS):
        maximum = max(maximum, float(mixing[m]) * dt[0])
    max_over_block(tree, t, THREADS, maximum)
    if t == 0:
        record[COURANT] = tree[0]
        record[MAX_COURANT] = max(record[MAX_COURANT], tree[0])
        record[MIN_COURANT] = min(record[MIN_COURANT], tree[0])
        record[TOTAL_ITERATIONS] += control[ITERATIONS]
        record[MAX_ITERATIONS] = max(record[MAX_ITERATIONS], control[ITERATIONS])
        record[DIVERGENCE] = control[NORM]
        if control[NORM] > control[SMALL]:
            record[UNFINISHED] += 1.0


def allowed(needed: int, per_margin: int = ITERATIONS_PER_MARGIN) -> int:
    """Return the number of iterations per step for a required number, with spares to avoid new graphs."""
    return needed + needed // per_margin


class StepBatches:
    """Time stepping without host synchronisation.

    Parameters
    ----------
    steps : Steps
    state_arrays : dict of arrays
        All arrays that the next step reads.
    """

    def __init__(self, steps: Steps, state_arrays: dict[str, Any]) -> None:
        self._steps, self._state_arrays, self._device = steps, state_arrays, steps.device
        self._record = self._device.zeros((RECORD_SIZE,), np.float64)
        self._copies: dict[str, Any] = {}
        self._previous_steps = (0.0, (0.0, 0.0))
        self._graphs: dict[tuple[int, int], StepGraphs] = {}
        self.iterations = 1

    def run(self, dt: float, times: Sequence[float]) -> StepRecord:
        """Advance steps of dt, s, with the given start times, s; `roll_back` restores the previous state."""
        self._save_state()
        record = np.zeros(RECORD_SIZE)
        record[MIN_COURANT] = np.inf
        self._device.fill(self._record, record)
        steps_completed = 0
        while steps_completed < len(times):
            alone = not self._goes_on(dt)
            self._set_out(dt, times[steps_completed])
            graphs = self._bound()  # new graphs after a change of the kind of coefficients
            size = 1 if alone else graphs.size_for(len(times) - steps_completed)
            graphs.run(0, size)
            self._steps.previous_dt = dt
            steps_completed += size
        return StepRecord(*map(float, self._device.host(self._record)))

    def _goes_on(self, dt: float) -> bool:
        """Return whether the next steps of dt, s, need no new data of the host."""
        steps = self._steps
        return (steps.previous_dt, steps.projection.steps[0]) == (dt, dt) and not steps.driven_by_time

    def _set_out(self, dt: float, time: float) -> None:
        self._steps.set_out(dt, time)
        self._steps.projection.set_out(dt)

    def _bound(self) -> StepGraphs:
        """Return graphs of steps with the allowed number of iterations."""
        key = (self._steps.projection.bound, self.iterations)
        if key not in self._graphs:
            launches = self._launches(self.iterations)
            sizes = GRAPH_SIZES if len(launches) < MAX_GRAPH_LAUNCHES else GRAPH_SIZES[-1:]
            self._graphs = {key: StepGraphs(self._device, lambda phase, size: (launches, size), sizes)}
        return self._graphs[key]

    def roll_back(self) -> None:
        """Roll back to the start of the last batch."""
        for name, array in self._state_arrays.items():
            self._device.copy(array, self._copies[name])
        self._steps.previous_dt, self._steps.projection.steps = self._previous_steps

    def finished(self, record: StepRecord) -> bool:
        """Return whether all steps converged."""
        if record.unfinished == 0.0 and record.max_iterations < SHRINK_FRACTION * self.iterations:
            self.iterations = max(1, allowed(int(record.max_iterations), self._iterations_per_margin))
        return record.unfinished == 0.0

    def allow(self, needed: int) -> None:
        """Set the allowed iterations from the required number of a step."""
        if needed > self.iterations:
            self.iterations = allowed(needed, self._iterations_per_margin)

    @property
    def _iterations_per_margin(self) -> int:
        return ITERATIONS_PER_CHEAP_MARGIN if self._steps.projection.ends_at_once else ITERATIONS_PER_MARGIN

    def _launches(self, iterations: int) -> list[Any]:
        steps = self._steps
        measures, mixing = steps.tendencies.diffusion.measured
        arguments = (
            steps.advector.partial_maxima,
            mixing,
            steps.coefficients.dt,
            steps.projection.control,
            self._record,
        )
        note = Launch(self._device.program(accumulate_record_cuda, "double"), arguments, (1,), (THREADS,))
        return [*steps.explicit(), *steps.projection.unlooked(iterations), *steps.finish(), *measures, note]

    def _save_state(self) -> None:
        self._previous_steps = self._steps.previous_dt, self._steps.projection.steps
        for name, array in self._state_arrays.items():
            if name not in self._copies:
                self._copies[name] = self._device.zeros(array.shape, array.dtype)
            self._device.copy(self._copies[name], array)
