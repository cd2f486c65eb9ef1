"""Workloads for `eagre.tuning.session.tune`: steps of a model with given launch parameters."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.tuned import shipped_values, use_of
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.laboratory.bench.benchmark import subject_of
from eagre.laboratory.bench.tuning.compilers import KEPT_LAYOUTS, Compilers, Job
from eagre.layouts.store import Use
from eagre.tuning.session import SMALL_SPACE
from eagre.tuning.space import DeviceInfo, Space, identity

CHECKED_STEPS = 4  # number of steps before results are compared
LARGEST_COMPARED = 2**22  # maximum number of cells for comparison of whole fields
SAMPLED = 4096  # compared cells of larger fields
MOST_COMPONENTS = 8  # maximum values per cell in one array of a launch
LEAST_SECONDS = {"cuda": 0.004, "cpu": 0.1}  # minimum duration of a run
Make = Callable[[Device], Model]


class Kept:
    """Reusable models: one with the shipped launch parameters, one for trials."""

    def __init__(self, make: Make, device: Device) -> None:
        self.make, self._device = make, device
        self._shipped: Any = None
        self._trial: Any = None
        self._values = ""

    def model(self, values: Mapping[str, Any], anew: bool) -> Model:
        """Return the model with these parameters, at its start or where the last ended; valid until the next call."""
        if self._shipped is None:
            self._shipped = self.make(self._device)
            self._start = self._shipped.state()
        shipped, start = self._shipped, self._start
        if not values:
            if anew:
                shipped.restore(start)
            return shipped
        device = self._device.with_parameters(values, "a trial")
        if shipped.kind in KEPT_LAYOUTS:
            return self.make(device)
        if self._trial is None:
            self._trial = object.__new__(type(shipped))
            attributes = shipped.__getstate__()
            self._trial.__setstate__({**attributes, "kept": {**attributes["kept"], "device": device}, "state": start})
        elif self._values != identity(values):
            self._trial.use_tuning(device)
        self._values = identity(values)
        if anew:
            self._trial.restore(start)
        return self._trial

    @contextmanager
    def trial(self, values: Mapping[str, Any], anew: bool) -> Iterator[Model]:
        """Return a context with `model`, which is discarded after an exception."""
        try:
            yield self.model(values, anew)
        except BaseException:
            self._trial = None
            raise


class StepsOfModel:
    """Workload of model steps, with models made by `make` on a device: see `eagre.tuning.session.Workload`.

    Attributes
    ----------
    device : Device
    precision : str
    cells : int
        Number of cells, including levels.
    make, make_checked : callable (device)
        Functions that create the timed and the verified model.
    tolerance : float
        Maximum relative difference of results due to rounding.
    steps_a_call : int
        Number of steps per call, large enough to hide the call overhead.
    sound : callable (model)
        Raises `EagreError` if a model is invalid after the timed steps.
    """

    anew = True  # whether a trial starts from the initial state, or where the last one ended
    _rounds = 0  # calls per run, known after the shipped values are timed
    _reference_clock: Callable[[], float] | None = None  # timer of the shipped values, if trials are consecutive
    _units: dict[str, str]

    def __init__(
        self, device: Device, precision: str, cells: int, make: Make, make_checked: Make, tolerance: float,
        steps_a_call: int, sound: Callable[[Model], object] = lambda model: None,
    ) -> None:  # fmt: skip
        self.device, self.precision, self.tolerance = device, precision, tolerance
        self.steps_a_call, self.sound = steps_a_call, sound
        self._timed = Kept(make, device)
        self._checked = self._timed if make_checked is make else Kept(make_checked, device)
        self.info = device_info_of(device, cells)
        self.shipped = device.table.values

    def compile(self, variants: Sequence[Mapping[str, Any]]) -> None:
        """Do nothing: without worker processes `verify` compiles."""

    def verify(self, values: Mapping[str, Any]) -> bool:
        """Return whether some steps give bitwise the results of the shipped values; see `Workload.verify`."""
        results, expected = self._results(values), self._expected
        worst = difference(results, expected, self._units)
        if not worst <= self.tolerance:
            raise EagreError(f"The results differ from those of the shipped values by {worst:.2g}.")
        return all(np.array_equal(results[name], expected[name], equal_nan=True) for name in expected)

    @cached_property
    def _expected(self) -> dict[str, np.ndarray]:
        return self._results({})

    def _results(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Return the fields after some steps, or a sample of large fields."""
        with self._checked.trial(values, anew=True) as model:
            with threads_of(self.device, values):
                model.advance(model.time + 1e9, max_steps=CHECKED_STEPS)
            return self._read(model)

    def _read(self, model: Model) -> dict[str, np.ndarray]:
        self._units = {name: variable.units for name, variable in model.variables.items()}
        names = list(model.variables)
        if cells_of(model) <= LARGEST_COMPARED:
            return {name: model.field(name) for name in names}
        chance = np.random.default_rng(0)
        points = list(zip(*(chance.integers(0, n, SAMPLED).tolist() for n in model.grid.shape), strict=True))
        return dict(model.sample(names, points))

    def clock(self, values: Mapping[str, Any]) -> Callable[[], float]:
        """Return a timer, see `Workload.clock`: device events or wall clock.

        Runs of all parameters have as many steps as runs of the shipped ones need, as steps of iterative solvers take
        different times later. If trials are consecutive, the timer of the shipped values is created once.
        """
        if values and not self._rounds:
            self.clock({})
        if not values and self._reference_clock is not None:
            return self._reference_clock
        with self._timed.trial(values, self.anew) as model:
            clock = self._clock(model, values)
        if not values and not self.anew:
            self._reference_clock = clock
        return clock

    def _clock(self, model: Model, values: Mapping[str, Any]) -> Callable[[], float]:
        work = model.steps_without_checks(self.steps_a_call)
        timer = timer_of(self.device)

        def timed(repetitions: int) -> float:
            with threads_of(self.device, values):
                return timer(lambda: [work() for _ in range(repetitions)])

        timed(1)  # compile the remaining programs
        seconds = timed(1)
        self._rounds = self._rounds or max(1, math.ceil(LEAST_SECONDS[self.device.kind] / max(seconds, 1e-7)))

        def run() -> float:
            steps_before = model.steps
            seconds_taken = timed(self._rounds)
            if model.steps <= steps_before:
                raise EagreError("The model made no step.")
            return seconds_taken / (model.steps - steps_before)

        run()  # warm-up
        self.sound(model)
        return run


class StepsOfBenchmark(StepsOfModel):
    """Workload of a model's benchmark (`laboratory.bench`) at a size; `compilers` compile its variants in parallel.

    Steps of the explicit model take the same time at any time, so its trials are consecutive. Iterative solvers need
    other numbers of iterations later, so each trial starts from the initial state.
    """

    def __init__(self, space: Space, device: Device, precision: str, size: int, compilers: Compilers) -> None:
        self.job, self._compilers = job_of(space, device, precision, size), compilers
        self._base = base_of(space, device, precision, size)
        subject = subject_of(space.model)
        device = device.with_parameters(self._base, device.table.source)

        def of(side: int) -> Make:
            return lambda where: subject.checked_model(side, where, precision, space.variant)

        self.anew = space.model != "shallow-water"
        small_size = self.job.size
        whole = of(size)
        tolerance, steps = subject.largest_difference[precision], subject.steps_a_call[device.kind]

        def sound(model: Model) -> object:
            return subject.verified(model, None)

        cells = prod(subject.shape(size, space.variant))
        super().__init__(
            device, precision, cells, whole, whole if small_size == size else of(small_size), tolerance, steps, sound
        )

    def compile(self, variants: Sequence[Mapping[str, Any]]) -> None:
        """Compile variants in worker processes, on a GPU."""
        self._compilers.compile([(self.job, [{**self._base, **values} for values in variants])])


def job_of(space: Space, device: Device, precision: str, size: int) -> Job:
    """Return the model that is compiled for a space at a size; smaller if its programs are the same for all sizes."""
    return Job(space.model, space.variant, _name(device), precision, min(size, space.checked))


def base_of(space: Space, device: Device, precision: str, size: int) -> dict[str, Any]:
    """Return the shipped values of this size class, which choices of a space change."""
    cells = prod(subject_of(space.model).shape(size, space.variant))
    return shipped_values(device, use_of(device, space.model, space.scheme, precision, cells))


def first_needed(space: Space, device: Device, precision: str, size: int) -> tuple[Job, list[dict[str, Any]]]:
    """Return the model and the variants that a search of a space certainly compiles.

    These are the variants with all of its programs (`Space.covering`), otherwise all of a small space, otherwise all
    with one change.
    """
    shipped = {**device.table.values, **base_of(space, device, precision, size)}
    gpu = device_info_of(device, prod(subject_of(space.model).shape(size, space.variant)))
    choices = space.choices(shipped, gpu, precision)
    if space.covering is not None:
        choices = [choice for choice in choices if space.covering(choice)]
    elif len(choices) > SMALL_SPACE:
        choices = [choice for choice in choices if len(choice) <= 1]
    return job_of(space, device, precision, size), [space.values(choice, shipped, precision) for choice in choices]


def device_info_of(device: Device, cells: int) -> DeviceInfo:
    """Return the device of a search; a CPU has one thread for grids on which every launch uses one thread.

    The number of threads would vary by chance there, and results also apply to larger grids of the class.
    """
    if device.kind != "cpu":
        return DeviceInfo(device.kind, device.properties, 0)
    from eagre.backend.cpu.compiler import MAX_SERIAL_ELEMENTS

    threads = getattr(device, "threads", 0)
    parallel = MOST_COMPONENTS * cells >= MAX_SERIAL_ELEMENTS
    return DeviceInfo(device.kind, device.properties, threads if parallel else min(threads, 1))


def use_of_model(model: Model, device: Device, scheme: str) -> Use:
    """Return the use class of a model, as in the keys of the store."""
    return use_of(device, model.kind, scheme, model.precision, cells_of(model))


def cells_of(model: Model) -> int:
    """Return the number of cells or points of all levels."""
    return model.grid.cells * (1 if model.levels is None else model.levels.height.size)


def difference(values: Mapping[str, Any], expected: Mapping[str, Any], units: Mapping[str, str]) -> float:
    """Return the maximum difference of fields, relative to the maximum of values with the same units.

    Infinite if only one of two values is NaN.
    """
    worst: dict[str, float] = {}
    scale: dict[str, float] = {}
    for name, expected_value in expected.items():
        value, expected_value, unit = (
            np.asarray(values[name], np.float64),
            np.asarray(expected_value, np.float64),
            units[name],
        )
        good = np.isfinite(expected_value)
        if not np.array_equal(np.isfinite(value), good):
            return math.inf
        scale[unit] = max(scale.get(unit, 0.0), float(np.abs(expected_value[good]).max(initial=0.0)))
        worst[unit] = max(worst.get(unit, 0.0), float(np.abs(value - expected_value)[good].max(initial=0.0)))
    return max((worst[unit] / scale[unit] for unit in worst if worst[unit] > 0.0), default=0.0)


def timer_of(device: Device) -> Callable[[Callable[[], Any]], float]:
    """Return a function that times work on a device."""
    if device.kind == "cuda" and hasattr(device, "stream"):
        from eagre.backend.cuda.device import seconds_of

        return lambda work: seconds_of(device, work)  # pyright: ignore[reportArgumentType]

    def seconds(work: Callable[[], Any]) -> float:
        device.synchronize()
        start = time.perf_counter()
        work()
        device.synchronize()
        return time.perf_counter() - start

    return seconds


def threads_of(device: Device, values: Mapping[str, Any]) -> Any:
    """Limit a CPU to the number of threads in the values, within the context."""
    from eagre.laboratory.bench.machine import threads_limited

    requested = values.get("cpu.programs.threads", 0)
    return threads_limited(device, requested) if requested else nullcontext()


def _name(device: Device) -> str:
    """Return the name of the device for selection in other processes."""
    return "cpu" if device.kind == "cpu" else f"cuda:{getattr(device, 'index', 0)}"
