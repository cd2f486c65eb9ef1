"""Engine of the anelastic model: time steps on one or several devices, and step statistics.

Batches of equal time steps on a GPU between host synchronisations.

The number of pressure iterations per step is fixed in advance from previous steps. At the end of a batch, a record on
the device reports whether it was sufficient. A failed batch is rolled back, and its steps are taken one by one. Kernels
of an iteration do nothing after convergence, so that a batch is bitwise identical to single steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cuda, entry
from eagre.backend.device import Device, Launch
from eagre.backend.group import Group
from eagre.device_mesh import DeviceMesh, DistributedArray, HostSlabs
from eagre.errors import ConvergenceError
from eagre.models.anelastic.base.base_state import BaseState
from eagre.models.anelastic.base.metric import mean_of_sums
from eagre.models.anelastic.devices.step_subdomains import devices_of, distributed_steps
from eagre.models.anelastic.forcing.tendencies import forced_fields
from eagre.models.anelastic.pressure.projection import Projection
from eagre.models.anelastic.setup import Setup, metric_of
from eagre.models.anelastic.stability import EITHER, LIMIT, SAFETY_FACTOR, first_step, max_explicit_number
from eagre.models.anelastic.stages import Stages
from eagre.models.anelastic.step import Steps
from eagre.models.anelastic.step_kernels import Slopes, Velocity
from eagre.models.anelastic.subgrid.closure import stiffness_of
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
        steps, [stages] = self._steps, self._steps.stages
        measures, mixing = stages.tendencies.diffusion.measured
        maxima, control = stages.advector.partial_maxima, steps.projection.control
        arguments = (maxima, mixing, stages.coefficients.dt, control, self._record)
        note = Launch(self._device.program(accumulate_record_cuda, "double"), arguments, (1,), (THREADS,))
        return [*steps.explicit(), *steps.projection.unlooked(iterations), *steps.finish(), *measures, note]

    def _save_state(self) -> None:
        self._previous_steps = self._steps.previous_dt, self._steps.projection.steps
        for name, array in self._state_arrays.items():
            if name not in self._copies:
                self._copies[name] = self._device.zeros(array.shape, array.dtype)
            self._device.copy(self._copies[name], array)


COUNTS = ("steps", "iterations", "dt_min", "dt_max", "courant", "divergence")
COMPONENTS = ("u", "v", "w")
SHORT = 1e-3  # ratio of time steps below which the previous step is not used for extrapolation
MAX_CHECKPOINT_SIZE = 1 << 30  # maximum size of an in-memory checkpoint on a GPU, bytes
MAX_REFINEMENTS = 2  # maximum number of projections of the initial velocity after one that did not converge


class Engine:
    """State and time steps of a run on one or several devices.

    Attributes
    ----------
    setup : Setup
    base_state : BaseState
    metric : Metric
    counts : dict
        Number of steps, total pressure iterations, minimum and maximum time step, s, the larger of Courant number and
        diffusion number of the last step, and dt max |div| after the last step.
    fastest : float
        Maximum of the Courant and diffusion numbers of all steps of this engine.
    mixes : bool
        True if the diffusion number exceeded the Courant number in the last step of `advance`.
    stability_limit : float
        Stability limit of this number.
    """

    def __init__(self, setup: Setup, device: Device | Group, precision: str) -> None:
        self.setup, self.precision = setup, precision
        self.base_state = BaseState(setup)
        self.metric = metric_of(setup.levels, setup.grid, setup.boundaries)
        self.device, self.steps = self._create_steps(device)
        self.steps.prepare()
        self.counts = dict.fromkeys(COUNTS, 0.0) | {"dt_min": math.inf}
        self.worst, self.fastest, self.mixes, self.stability_limit = (0, 0), 0.0, False, LIMIT
        self._copies: dict[str, Any] = {}
        on_gpu = self.device.kind == "cuda"
        self._finite_checks = [one.finite_check for one in self.subdomains] if on_gpu else []
        self._batches: StepBatches | None = None
        if on_gpu and self.device.is_one:
            self._batches = StepBatches(self.steps, self._state_arrays())

    def _create_steps(self, device: Device | Group) -> tuple[Device, Steps]:
        """Create the device, or the group of devices, and its time stepping."""
        setup, known = self.setup, (self.precision, self.base_state)
        if isinstance(device, Group):
            devices = devices_of(device, setup)
            return devices, distributed_steps(setup, devices, *known, self.metric)
        mass = self.base_state.density * self.metric.jacobian
        mass = mass / mean_of_sums([mass.sum(axis=2)], mass.shape[2])
        full = None if (mass == 1.0).all() else device.array((mass * np.ones(setup.shape)).astype(self.real))
        slopes = Slopes(**self.metric.arrays(device, self.precision))
        arrays = (device.array(mass.astype(self.real)), slopes, self.metric, full)
        stages = Stages(setup, device, *known, *arrays, forced_fields(setup, self.base_state))
        fields, base = stages.fields, self.base_state
        projection = Projection(
            device, self.precision, self.metric, base.density, velocity=fields.velocity, forces=fields.forces,
            provisional_in_forces=stages.is_free, tolerance=setup.tolerance,
            guess="second-last" if self.metric.terrain else "previous",
        )  # fmt: skip
        return device, Steps(setup, device, base, [stages], fields, stages.inflow, projection)

    @property
    def subdomains(self) -> Sequence[Stages]:
        """Fields and launches of each device."""
        return self.steps.stages

    @property
    def real(self) -> Any:
        """NumPy type of the fields."""
        return np.float32 if self.precision == "single" else np.float64

    # -- steps --------------------------------------------------------------------------------------

    def advance(self, dt: float, time: float = 0.0, max_courant: float = math.inf, *, clipped: bool = False) -> float:
        """Advance one step of dt, s, from a model time, s; shorten it if the Courant number would exceed `max_courant`.

        With `clipped`, dt is adjusted to an output time, and does not count in the range of time steps.

        Returns
        -------
        float
            Length of the step, s.

        Raises
        ------
        ConvergenceError
            If the pressure solver does not converge.
        """
        requested, dt = dt, self._shortened(dt, max_courant)
        if self._begins_anew(dt):
            self._begin_forces(dt, time)
        outcome, counts = self.steps.step(dt, time), self.counts
        counts["steps"] += 1.0
        counts["iterations"] += outcome.iterations
        counts["divergence"] = outcome.divergence
        if dt < requested or not clipped:
            self._count_step(dt)
        counts["courant"], self.worst = self.steps.courant()
        self.mixes, self.stability_limit = False, LIMIT
        if self.setup.closure is not None and (mixed := self.steps.mixing(dt))[0] > counts["courant"]:
            self.mixes, self.stability_limit = True, max_explicit_number(counts["courant"])
            counts["courant"], self.worst = mixed
        self.fastest = max(self.fastest, counts["courant"])
        if self._batches is not None:
            self._batches.allow(outcome.iterations)
        return dt

    def _count_step(self, dt: float) -> None:
        """Include a time step, s, in their range."""
        counts = self.counts
        counts["dt_min"], counts["dt_max"] = min(counts["dt_min"], dt), max(counts["dt_max"], dt)

    def _shortened(self, dt: float, max_courant: float) -> float:
        """Return dt, s, reduced to the Courant number `max_courant`, with the advecting velocity of the coming step."""
        while max_courant < math.inf and max_courant < (courant := self._next_courant_number(dt)) < math.inf:
            dt *= SAFETY_FACTOR * max_courant / courant
        return dt

    def _next_courant_number(self, dt: float) -> float:
        """Return the Courant number of the next step of dt, s."""
        for subdomain in self.subdomains:
            subdomain.coefficients.set(dt, 0.0 if self._begins_anew(dt) else self.steps.previous_dt)
        self.steps.set_faces()
        return self.steps.courant()[0]

    def _begins_anew(self, dt: float) -> bool:
        """Return whether a step of dt, s, is the first, or much longer than the previous step."""
        return self.steps.previous_dt < SHORT * dt

    def strongest_mixing(self) -> tuple[tuple[int, int, int], float]:
        """Return the point (k, j, i) of the maximum decay rate by the closure in the last step, and K there, m2/s."""
        fields = [subdomain.tendencies.diffusion.mixing for subdomain in self.subdomains]
        is_group = isinstance(self.device, DeviceMesh)
        field = self.device.host(DistributedArray(fields, self.setup.shape, -2) if is_group else fields[0])
        rates = (self.setup.viscosity + field.astype(np.float64)) * stiffness_of(self.metric)
        k, j, i = (int(n) for n in np.unravel_index(int(np.argmax(rates)), rates.shape))
        return (k, j, i), float(field[k, j, i])

    @property
    def has_step_batches(self) -> bool:
        """True if `advance_many` is available: on a GPU."""
        return self._batches is not None

    def advance_many(
        self, dt: float, times: Sequence[float], min_courant: float, max_courant: float, *, clipped: bool = False
    ) -> bool:
        """Advance steps of dt, s, that start at model times, s, with one host synchronisation at the end.

        Return False if no step was completed and the steps must be taken one by one: the pressure did not converge, a
        Courant number is outside `min_courant` to `max_courant`, or the diffusion number can exceed its limit. See
        `advance` for `clipped`.
        """
        assert self._batches is not None
        max_courant, self.stability_limit = min(max_courant, LIMIT if self.setup.closure is None else EITHER), LIMIT
        if self._begins_anew(dt):
            self._begin_forces(dt, times[0])
        record = self._batches.run(dt, times)
        within_limits = min_courant <= record.min_courant and record.max_courant <= max_courant
        if not (self._batches.finished(record) and within_limits):
            self._batches.roll_back()
            return False
        counts = self.counts
        counts["steps"] += len(times)
        counts["iterations"] += record.iterations
        counts["courant"], counts["divergence"] = record.courant, record.divergence * dt
        self.fastest = max(self.fastest, record.max_courant)
        if not clipped:
            self._count_step(dt)
        return True

    def is_finite(self) -> bool:
        """Return whether a fast check finds all fields finite; always False on a CPU."""
        return bool(self._finite_checks) and all([check.are_finite() for check in self._finite_checks])

    def project(self, dt: float) -> None:
        """Remove the divergence of the current velocity, dt max |div| to the tolerance, as at the start of a run.

        Rounding of phi limits the divergence: a wind U against walls at a distance L has phi of U L, whose rounding
        error eps U L / dx^2 of the divergence can exceed the tolerance in single precision. The velocity is then
        corrected with this phi, and its much smaller divergence is removed by another projection.
        """
        projection, fields = self.steps.projection, self.steps.fields
        each = []
        for one in self.subdomains:
            coefficients = one.base.implicit(1.0, 0.0)  # same shapes as in steps, for the same compiled kernels
            ones = (("c11", 1), ("c12", 0), ("c33", 1))
            each.append({name: np.full_like(coefficients[name], value) for name, value in ones})
        self.steps.set_projection(each)
        for remaining in reversed(range(MAX_REFINEMENTS + 1)):
            for provisional, q_n in zip(projection.provisional, fields.velocity, strict=True):
                if provisional is not q_n:
                    self.device.copy(provisional, q_n)
            try:
                projection.solve(dt)
                break
            except ConvergenceError:
                if not remaining:
                    raise
                projection.correct()
                self._forget_pressure()
        self._clear(fields.forces)
        self._forget_pressure()
        self.steps.forget_time_step()

    def _begin_forces(self, dt: float, time: float) -> None:
        """Compute the half-step increments dt/2 R before the first step of dt, s.

        They are the mean of the increments at both ends of a trial step. The trial step starts from the increments of
        half a step without advection. Without this start, waves and rotation would lag by half of the first time step.
        The pressure of a step is the mean of both ends and would alternate between 0 and twice the correct value.
        The same procedure applies after a step that was too short for extrapolation.
        """
        steps, fields = self.steps, self.steps.fields
        steps.previous_dt = 0.0
        # initial velocity as previous velocity
        for q_n, q_nm1 in zip(fields.velocity, fields.previous_velocity, strict=True):
            self.device.copy(q_nm1, q_n)
        copy = self.device.local_copy
        saved = {name: copy(array) for name, array in fields.present.items() if name not in COMPONENTS}
        if self.subdomains[0].is_free:
            self._clear(fields.forces)
        else:
            for one in fields.prognostic():
                self.device.copy(one.force, one.x)
            steps.set_out(dt, time)
            steps.take_forces(dt)
        self._restore_start(saved)
        begun = [copy(one.force) for one in fields.prognostic()]
        steps.step(dt, time)
        for one in fields.prognostic():
            self.device.update(one.force, lambda last, first: self.real(0.5) * (first + last), begun.pop(0))
        self._restore_start(saved)

    def _restore_start(self, saved: Mapping[str, Any]) -> None:
        """Restore the velocity before the trial step and the saved fields."""
        fields = self.steps.fields
        for q_n, q_nm1 in zip(fields.velocity, fields.previous_velocity, strict=True):
            self.device.copy(q_n, q_nm1)
        for name, values in saved.items():
            self.device.fill(self.array(name), values)
        self._forget_pressure()
        self.steps.previous_dt = 0.0
        self.steps.exchange()

    def _forget_pressure(self) -> None:
        """Reset the first guess of the next pressure solution."""
        self._clear([self.steps.projection.phi])
        self.steps.projection.steps = (0.0, 0.0)

    def _clear(self, arrays: Iterable[Any]) -> None:
        for array in arrays:
            self.device.fill(array, np.broadcast_to(self.real(0.0), self.setup.shape))

    # -- the state ----------------------------------------------------------------------------------

    def start(self, fields: Mapping[str, np.ndarray]) -> None:
        """Set the initial velocities, m/s, theta', K, and scalars by name, each (nz, ny, nx).

        Of several processes, each has the fields in its rows.
        """
        state_fields = self.steps.fields
        for name, array in self._arrays().items():
            if name in fields:
                self.device.fill_owned(array, fields[name].astype(self.real))
        self.steps.exchange()
        self.steps.inflow.start({name: self._arrays()[name] for name in self.setup.scalars}, self.plane)
        self.project(self._limit_of_first_step(1.0))
        self.steps.exchange()
        for q_nm1, q_n in zip(state_fields.previous_velocity, state_fields.velocity, strict=True):
            self.device.copy(q_nm1, q_n)

    def first_step(self, courant: float | None) -> float:
        """Return the first time step, s, for a target Courant number; None: the constant time step."""
        if courant is None:
            return self.setup.time_step
        dt = self._limit_of_first_step(courant)
        return min(dt, 0.5 * courant / max(self.steps.fastest_mixing(), 1e-30))

    def _limit_of_first_step(self, courant: float) -> float:
        """Return the first time step, s, for a Courant number of the current wind."""

        def limit(*velocity: np.ndarray) -> float:
            v = Velocity(*(one.astype(np.float64) for one in velocity))
            return first_step(self.setup, courant, v, 1.0 / self.metric.stretch)

        return min(dt for _, dt in self.device.each(self.steps.fields.velocity, limit))

    def first_invalid_point(self, name: str) -> tuple[int, int, int] | None:
        """Return the first point (k, j, i) at which a field is not finite, or None."""

        def first(values: np.ndarray) -> tuple[int, ...] | None:
            wrong = ~np.isfinite(values)
            return tuple(int(n) for n in np.argwhere(wrong)[0]) if wrong.any() else None

        each = self.device.each([self.array(name)], first)
        return min(((k, row + j, i) for row, point in each if point for k, j, i in [point]), default=None)

    def strongest_wind(self) -> tuple[tuple[int, int, int], float]:
        """Return the point (k, j, i) of the maximum wind speed, and the speed, m/s, or the first point with NaN."""

        def strongest(*velocity: np.ndarray) -> tuple[float, tuple[int, ...]]:
            speeds = np.sqrt(sum(one.astype(np.float64) ** 2 for one in velocity))
            point = np.unravel_index(int(np.argmax(speeds)), speeds.shape)
            return float(speeds[point]), tuple(int(n) for n in point)

        each = self.device.each(self.steps.fields.velocity, strongest)
        points = [((k, row + j, i), speed) for row, (speed, (k, j, i)) in each]
        return min(points, key=lambda one: (not math.isnan(one[1]), 0.0 if math.isnan(one[1]) else -one[1], one[0]))

    def _arrays(self) -> dict[str, Any]:
        """Return the current arrays by field name."""
        return self.steps.fields.present

    def field(self, name: str) -> np.ndarray:
        """Return a host copy of a current field or of ``"phi"``, (nz, ny, nx); see `fields`."""
        return self.fields([name]).get(name, np.empty(0))

    def fields(self, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Return host copies of fields by name; of several processes, only the first has them."""
        return self.device.collect({name: self.array(name) for name in names})

    def array(self, name: str) -> Any:
        """Return the device array of a current field or of ``"phi"``."""
        return self.steps.projection.phi if name == "phi" else self._arrays()[name]

    def _state_arrays(self) -> dict[str, Any]:
        """Return all arrays that the next step reads, by name."""
        projection = self.steps.projection
        older = {} if projection.older is None else {"previous_phi": projection.older}
        return self.steps.fields.restart_arrays | {"phi": projection.phi} | older | self.steps.inflow.arrays

    def plane(self, array: Any, axis: int, n: int) -> np.ndarray:
        """Return a host copy of plane n of a field, normal to an axis (of z, y, x), float64."""
        if isinstance(self.device, DeviceMesh):
            return self.device.plane(array, axis, n).astype(np.float64)
        return self.device.host(array[(slice(None),) * axis + (n,)]).astype(np.float64)

    def values_at(self, array: Any, *indices: np.ndarray) -> np.ndarray:
        """Return values of a field at points (k, j, i) on the host."""
        if not isinstance(array, DistributedArray):
            return self.device.sample(array[None], *indices)[0]
        return self.device.sample(
            DistributedArray([values[None] for values in array.parts], (1, *array.shape), -2), *indices
        )[0]

    def state(self) -> dict[str, np.ndarray]:
        """Return host copies of the state for a bitwise identical restart, except the time; see `fields`."""
        return self.device.collect(self._state_arrays()) | self._numbers()

    def local_state(self) -> dict[str, Any]:
        """Return the state in the rows of this process, for `restore`."""
        return {name: self.device.local_copy(array) for name, array in self._state_arrays().items()} | self._numbers()

    def _numbers(self) -> dict[str, np.ndarray]:
        numbers = [*(self.counts[name] for name in COUNTS), self.steps.previous_dt, *self.steps.projection.steps]
        return {"counts": np.array(numbers)}

    def checkpoint(self) -> dict[str, Any]:
        """Return an in-memory checkpoint, valid until the next call; a small checkpoint stays on the GPU."""
        if self._batches is None:
            return self.local_state()
        arrays = self._state_arrays()
        size = sum(array.nbytes for array in arrays.values())
        if size > MAX_CHECKPOINT_SIZE or (not self._copies and self.device.free_memory() < 2 * size):
            return self.local_state()
        for name, array in arrays.items():
            if name not in self._copies:
                self._copies[name] = self.device.zeros(array.shape, array.dtype)
            self.device.copy(self._copies[name], array)
        return self._copies | self._numbers()

    def restore(self, state: Mapping[str, Any]) -> None:
        """Load a state of `state` or `local_state`, or the last checkpoint returned by `checkpoint`."""
        for name, array in self._state_arrays().items():
            values = state[name]
            if values is self._copies.get(name):
                self.device.copy(array, values)
            else:
                is_local = isinstance(values, HostSlabs)
                self.device.fill(array, values if is_local else np.asarray(values).astype(self.real, copy=False))
        *counts, self.steps.previous_dt, last, one_before = map(float, state["counts"])
        self.steps.projection.steps = (last, one_before)
        self.counts = dict(zip(COUNTS, counts, strict=True))

    def velocity(self) -> Velocity:
        """Return host copies of u, v and w, m/s, float64; empty in processes other than the first."""
        return Velocity(*(self.field(name).astype(np.float64) for name in COMPONENTS))
