"""Steps of a model whose kernels have other values of layouts: what `eagre.tuning.session.tune` verifies and times."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.select import select
from eagre.backend.tuned import use_of
from eagre.bench.benchmark import subject_of
from eagre.contract import Model
from eagre.errors import EagreError
from eagre.layouts.store import Use
from eagre.tuning.space import Card, Space

CHECKED_STEPS = 4
LARGEST_COMPARED = 2**22  # cells of fields that are compared whole
SAMPLED = 4096  # cells that are compared of larger ones
LEAST_SECONDS = {"cuda": 0.004, "cpu": 0.2}  # of a run
KEPT_LAYOUTS = ("shallow-water-adi",)
WORKERS = 16
PROCESS_MEMORY = 2**30  # bytes of a card for each process that compiles


class StepsOfModel:
    """Steps of a model, made by `make` on a device: `eagre.tuning.session.Workload`.

    Attributes
    ----------
    device : Device
    precision : str
    make, make_checked : callable (device)
        The model that is timed, and the one that is verified.
    tolerance : float
        Largest relative difference of results that is rounding.
    steps_a_call : int
        That hide a call from Python.
    sound : callable (model)
        Raises `EagreError` if a model is wrong after timed steps.
    """

    _units: dict[str, str]

    def __init__(
        self, device: Device, precision: str, make: Callable[[Device], Model], make_checked: Callable[[Device], Model],
        tolerance: float, steps_a_call: int, sound: Callable[[Model], object] = lambda model: None,
    ) -> None:  # fmt: skip
        self.device, self.precision, self.tolerance = device, precision, tolerance
        self.make, self.make_checked, self.steps_a_call, self.sound = make, make_checked, steps_a_call, sound
        self.card = Card(device.kind, device.facts, getattr(device, "threads", 0) if device.kind == "cpu" else 0)
        self.shipped = device.table.values
        self._first: dict[Any, tuple[type, dict[str, Any]]] = {}

    def compile(self, variants: Sequence[Mapping[str, Any]]) -> None:
        """Nothing: where processes cannot make the model, `verify` compiles."""

    def verify(self, values: Mapping[str, Any]) -> bool:
        """Whether some steps end with the bits of the shipped values; see `Workload.verify`."""
        found, expected = self._results(values), self._expected
        worst = difference(found, expected, self._units)
        if not worst <= self.tolerance:
            raise EagreError(f"results are {worst:.2g} from those of the shipped values")
        return all(np.array_equal(found[name], expected[name], equal_nan=True) for name in expected)

    @cached_property
    def _expected(self) -> dict[str, np.ndarray]:
        return self._results({})

    def _results(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Fields after some steps; of many cells a part."""
        gc.collect()  # arrays of earlier models
        model = self._made(self.make_checked, values)
        self._units = {name: variable.units for name, variable in model.variables.items()}
        with threads_of(self.device, values):
            model.advance(model.time + 1e9, max_steps=CHECKED_STEPS)
        names = list(model.variables)
        if cells_of(model) <= LARGEST_COMPARED:
            return {name: model.field(name) for name in names}
        chance = np.random.default_rng(0)
        points = list(zip(*(chance.integers(0, n, SAMPLED).tolist() for n in model.grid.shape), strict=True))
        return dict(model.sample(names, points))

    def clock(self, values: Mapping[str, Any]) -> Callable[[], float]:
        """See `Workload.clock`: events of the card, or a wall clock."""
        model = self._made(self.make, values)
        work = model.unchecked_steps(self.steps_a_call)
        timer = timer_of(self.device)

        def timed(rounds: int) -> float:
            with threads_of(self.device, values):
                return timer(lambda: [work() for _ in range(rounds)])

        timed(1)  # compiles what `verify` did not
        rounds = max(1, math.ceil(LEAST_SECONDS[self.device.kind] / max(timed(1), 1e-7)))

        def run() -> float:
            before = model.steps
            taken = timed(rounds)
            if model.steps <= before:
                raise EagreError("no step was made")
            return taken / (model.steps - before)

        run()  # a warm-up, whose timing is of no use
        self.sound(model)
        return run

    def _made(self, make: Callable[[Device], Model], values: Mapping[str, Any]) -> Model:
        """A model on a device with these values: made once, then copied from its first state where copies take them up.

        The implicit shallow-water model keeps its layout in its state, and is made anew.
        """
        device = self.device.with_layouts(values, "a trial") if values else self.device
        if make in self._first:
            kind, state = self._first[make]
            made: Any = object.__new__(kind)
            made.__setstate__({**state, "kept": {**state["kept"], "device": device}})
            return made
        model: Any = make(device)
        if model.kind not in KEPT_LAYOUTS and not values:
            self._first[make] = type(model), model.__getstate__()
        return model


class StepsOfBenchmark(StepsOfModel):
    """Steps of a model's benchmark (`eagre.bench`) at a size; its variants compile in processes side by side."""

    def __init__(self, space: Space, device: Device, precision: str, size: int) -> None:
        self._job = (space.model, space.variant, str(_name(device)), precision, min(size, space.checked))
        subject = subject_of(space.model)

        def of(side: int) -> Callable[[Device], Model]:
            return lambda where: subject.model(side, where, precision, space.variant)

        small = min(size, space.checked)
        whole = of(size)
        tolerance, steps = subject.largest_difference[precision], subject.steps_a_call[device.kind]

        def sound(model: Model) -> object:
            return subject.verified(model, None)

        super().__init__(device, precision, whole, whole if small == size else of(small), tolerance, steps, sound)

    def compile(self, variants: Sequence[Mapping[str, Any]]) -> None:
        """On a GPU, in processes; programs of a CPU do not depend on layouts."""
        room = self.device.free_memory() // PROCESS_MEMORY
        count = min(WORKERS, os.cpu_count() or 1, len(variants), room)
        if self.device.kind != "cuda" or count < 2:
            return
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(count, mp_context=spawn) as pool:
            list(pool.map(compile_variant, [(*self._job, dict(values)) for values in variants]))


def compile_variant(job: tuple[str, str, str, str, int, dict[str, Any]]) -> str:
    """Compile what a step needs, into the cache; returns what went wrong, or ""."""
    model, variant, device, precision, size, values = job
    try:
        where = select(device).with_layouts(values, "a trial")
        subject_of(model).model(size, where, precision, variant).unchecked_steps(1)()
        where.synchronize()
    except Exception as error:  # `verify` meets it again, and notes it
        return f"{type(error).__name__}: {error}"
    return ""


def use_of_model(model: Model, device: Device, scheme: str) -> Use:
    """What a run of this model is, as the store is keyed."""
    return use_of(device, model.kind, scheme, model.precision, cells_of(model))


def cells_of(model: Model) -> int:
    """Cells or points of all levels."""
    return model.grid.cells * (1 if model.levels is None else model.levels.height.size)


def difference(found: Mapping[str, Any], expected: Mapping[str, Any], units: Mapping[str, str]) -> float:
    """Largest difference of fields, relative to the largest value with the same units.

    Infinite where one has no number and the other has.
    """
    worst: dict[str, float] = {}
    scale: dict[str, float] = {}
    for name, theirs in expected.items():
        ours, theirs, unit = np.asarray(found[name], np.float64), np.asarray(theirs, np.float64), units[name]
        good = np.isfinite(theirs)
        if not np.array_equal(np.isfinite(ours), good):
            return math.inf
        scale[unit] = max(scale.get(unit, 0.0), float(np.abs(theirs[good]).max(initial=0.0)))
        worst[unit] = max(worst.get(unit, 0.0), float(np.abs(ours - theirs)[good].max(initial=0.0)))
    return max((worst[unit] / scale[unit] for unit in worst if worst[unit] > 0.0), default=0.0)


def timer_of(device: Device) -> Callable[[Callable[[], Any]], float]:
    """Seconds that a device takes for some work."""
    if device.kind == "cuda" and hasattr(device, "stream"):
        from eagre.backend.cuda_device import seconds_of

        return lambda work: seconds_of(device, work)  # pyright: ignore[reportArgumentType]

    def seconds(work: Callable[[], Any]) -> float:
        device.synchronize()
        start = time.perf_counter()
        work()
        device.synchronize()
        return time.perf_counter() - start

    return seconds


def threads_of(device: Device, values: Mapping[str, Any]) -> Any:
    """On a CPU: as many threads as the values say, for a while."""
    from contextlib import nullcontext

    from eagre.bench.machine import threads_limited

    wanted = values.get("cpu.programs.threads", 0)
    return threads_limited(device, wanted) if wanted else nullcontext()


def _name(device: Device) -> str:
    return "cpu" if device.kind == "cpu" else f"cuda:{getattr(device, 'index', 0)}"
