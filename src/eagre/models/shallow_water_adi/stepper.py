"""Stepper of the ADI model: batches of equal steps that hit an output time, and blow-up errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from eagre.errors import BlowUpError
from eagre.kernels.water_sums import named_sums
from eagre.models.shallow_water_adi.engine import Rows
from eagre.models.shallow_water_adi.kernels import LAND
from eagre.models.shallow_water_adi.sampling.courant_monitor import CourantMonitor
from eagre.models.shallow_water_adi.sampling.outputs import PointSampler
from eagre.models.shallow_water_adi.sampling.velocity import velocities_of
from eagre.models.shallow_water_adi.step_graphs import first_bad
from eagre.stepping.advance import Failure
from eagre.stepping.checkpoint import InMemoryCheckpoint, State
from eagre.stepping.plausibility import PlausibilityBounds, cell_of_extreme, highest_surface, plausibility_bounds

KEEP_SECONDS = {"cpu": 0.0, "cuda": 20.0}  # minimum wall time between checkpoints on the host, s
# Depth below which speeds are not checked, as a fraction of the difference between the highest head and the lowest bed.
FILM = 0.05
ADVICE = "a shorter time_step (|u| dt / dx below 1), a check of the bed and the boundary values near that cell"


class Stepper:
    """Stepper of an engine from `start`, s; see `eagre.stepping.advance.Stepper`.

    surface : initial surface in the rows of this process, m.
    """

    def __init__(self, engine: Any, start: float, surface: np.ndarray) -> None:
        self.engine = engine
        self.time, self.steps = start, 0
        self.shortest, self.longest = math.inf, 0.0  # minimum and maximum time step, s
        rows = engine.row_sums()
        sums = named_sums(rows, engine.setup.grid)
        self.first_volume = sums["volume"]  # m3
        self._first_infiltrated = 0.0  # volume that infiltrated before the start of the water balance, m3
        self.bounds = plausible_bounds(engine.setup, start).begun_with(sums, self._highest(surface))
        self._batch = (start, start, 0)  # start and end, s, and completed steps of the batch
        self.engine.resume_maps({"z": surface}, start)
        self.courant_monitor = CourantMonitor(start)
        self.courant_monitor.record(engine, rows, start)
        device = engine.device
        self.checkpoint = InMemoryCheckpoint(self.state, self.restore, KEEP_SECONDS[device.kind], device)
        self.check_interval = engine.check_interval
        self.sampler: PointSampler | None = None  # in-run sampling

    def step(self, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s, or to the time when other records of fields are required.

        The steps are shortened to hit the sampling times.
        """
        terms = self.engine.setup.terms
        end = terms.end(self.time)
        until = min(until, end)
        if self.sampler is None:
            completed = self._towards(until, count)
        else:
            completed = self._by_output_times(self.sampler, until, count)
        if self.time >= end:
            terms.use(self.time)
            self.engine.next_records()
        return completed

    def _by_output_times(self, sampler: PointSampler, until: float, count: int) -> int:
        """Make up to `count` steps towards `until`, s, with in-run sampling."""
        completed = 0
        for output_time in sampler.order(self.time, until, count):
            completed += self._towards(output_time, count - completed)
            if self.time < output_time:
                break
            sampler.take()
        return completed

    def _towards(self, until: float, count: int) -> int:
        """Make up to `count` steps of equal length that end at `until`, s."""
        steps = min(count, self._steps_to(until)) if count > 0 else 0
        if steps > 0:
            self._make(steps, until)
        return steps

    def make(self, count: int) -> None:
        """Make `count` steps with the present time step."""
        until = self.time + count * self.engine.dt
        self._batch = (self.time, until, 0)
        self._make(count, until)

    def _steps_to(self, until: float) -> int:
        """Return the steps to `until`; start a batch with a time step that ends there, unless one is in progress."""
        start, end, completed = self._batch
        if end == until and self.time < until:
            return round((until - start) / self.engine.dt) - completed
        nominal, count = self.engine.setup.time_step, self._steps_of(until - self.time)
        dt = (until - self.time) / count
        for usual in (nominal, self.engine.dt):
            if abs(dt - usual) <= 1e-9 * usual:
                dt = usual
        self.engine.restagger(dt, self.time)
        self._batch = (self.time, until, 0)
        return count

    def _steps_of(self, length: float) -> int:
        """Return the steps of a batch, none longer than the time step of the set-up."""
        return max(1, math.ceil(length / self.engine.setup.time_step - 1e-6))

    def _make(self, count: int, until: float) -> None:
        """Make `count` steps of the batch to `until`."""
        start, end, completed = self._batch
        dt = self.engine.dt
        self.engine.run(count, start, completed)
        self.steps += count
        self._batch = (start, end, completed + count)
        self.shortest, self.longest = min(self.shortest, dt), max(self.longest, dt)
        total = round((until - start) / dt)
        self.time = until if completed + count >= total else start + (completed + count) * dt

    def check_state(self) -> Failure | None:
        """Return the failure of the state, or None; the engine then checks its plan."""
        failure = self._failure()
        if self.sampler is not None:
            self.sampler.deliver(good=failure is None)
        return failure

    def _failure(self) -> Failure | None:
        rows = self.engine.row_sums()
        cell = first_bad(rows)
        if cell is not None:
            return Failure("values that are not finite", cell)
        sums = named_sums(rows, self.engine.setup.grid)
        excess = self.bounds.excess(sums, self.time)
        if excess is not None and excess.name == "max_speed":
            excess = self.bounds.excess(without_films(self.engine, sums, FILM * self.bounds.fall(self.time)), self.time)
        if excess is not None:
            return Failure(excess.what, cell_of_maximum(self.engine, excess.name))
        self.courant_monitor.record(self.engine, rows, self.time)
        self.engine.check_plan()
        return None

    def _highest(self, surface: np.ndarray) -> float:
        setup = self.engine.setup
        return max(setup.rows.each(highest_surface(surface, setup.bed)))

    def blow_up(self, failure: Failure) -> BlowUpError:
        """Return the error with the time of the last good step."""
        return BlowUpError(self.time, failure.cell or (0, 0), failure.what, advice=ADVICE)

    def state(self) -> State:
        """Return the complete state of the slabs of this process."""
        return {**self.engine.checkpoint_state(self.time), **self._clock()}

    @property
    def infiltrated(self) -> float:
        """Volume that has infiltrated since the start of the water balance, m3."""
        return float(self.engine.soil_sums().sum()) * self.engine.setup.grid.cell_area - self._first_infiltrated

    def restore(self, state: State) -> None:
        """Restore a state of `state`."""
        self._resume_clock(state)
        self.engine.restore_checkpoint(state, self.time)

    def whole_state(self) -> State:
        """Return the complete state for a bitwise-identical restart."""
        return {**self.engine.state(), **self.engine.maps_state(self.time), **self._clock()}

    def _clock(self) -> State:
        values = (self.time, self.steps, self.engine.dt, *self._batch, self.shortest, self.longest, self.first_volume)
        soil = {"first_infiltrated": np.array(self._first_infiltrated)} if self.engine.setup.terms.soil else {}
        return {"clock": np.array(values, np.float64), **soil}

    def _resume_clock(self, state: State) -> None:
        """Restore the clock; a batch in progress ends if this set-up has another number of steps."""
        clock = [float(value) for value in state["clock"]]
        self.time, self.steps, dt = clock[0], int(clock[1]), clock[2]
        self._batch, (self.shortest, self.longest) = (clock[3], clock[4], int(clock[5])), clock[6:8]
        self.first_volume, self._first_infiltrated = clock[8], float(state.get("first_infiltrated", 0.0))
        start, end, _ = self._batch
        if end > start and round((end - start) / dt) != self._steps_of(end - start):
            self._batch = (self.time, self.time, 0)
        if dt != self.engine.dt:
            self.engine.set_time_step(dt)
        self.engine.setup.terms.use(self.time)
        self.courant_monitor.resume(self.time)

    def go_on_from(self, state: State) -> None:
        """Restore a state of another run, in the rows of this process, and extend the plausibility bounds to it."""
        self._resume_clock(state)
        self.engine.restore(state)
        self.engine.resume_maps(state, self.time)
        sums = self.engine.sums()
        self.bounds = self.bounds.begun_with(sums, self._highest(state["z"]))
        if not self.engine.balance.goes_on(state):
            self.first_volume = sums["volume"]
            self._first_infiltrated += self.infiltrated


def plausible_bounds(setup: Any, start: float) -> PlausibilityBounds:
    """Return the plausibility bounds of a case relative to its level, without the initial water."""
    factor = setup.friction_range[1] / setup.gravity
    manning = math.sqrt(factor) if setup.law == "manning" else math.sqrt(factor) * setup.deepest ** (1.0 / 6.0)
    bed = setup.level + np.array(setup.bed_range)
    bounds = plausibility_bounds(
        setup.grid, bed, setup.segments, setup.terms, setup.gravity, start, manning=manning, thinnest=setup.dry_depth
    )
    return replace(bounds, lowest=bounds.lowest - setup.level, head=bounds.head - setup.level)


def cell_of_maximum(engine: Any, name: str) -> tuple[int, int]:
    """Return (j, i) of an extreme among the sums, from host copies of the fields."""

    def of_slab(rows: Rows) -> tuple[float, int, int]:
        setup = rows.engine.setup
        signed, _ = _water(rows)
        p, _, q = rows.engine.fluxes()
        speed = np.hypot(*velocities_of(rows.engine.surface(), p, q, setup.bed, setup.face_dry_depth))
        value, j, i = cell_of_extreme(name, signed, rows.owned(speed) * (signed > 2.0 * setup.dry_depth))
        return value, j + rows.first, i

    each = engine.each(of_slab)
    return each[int(np.argmax([value for value, _, _ in each]))][1:]


def without_films(engine: Any, sums: Mapping[str, float], film: float) -> dict[str, float]:
    """Return the sums, with thin layers replaced by water of depth `film`, m, in speed and energy.

    Flow into a nearly dry cell has no meaningful speed there; a step later the water has drained or is deep.
    """

    def of_slab(rows: Rows) -> tuple[float, float]:
        signed, discharge = _water(rows)
        speed = discharge / np.maximum(signed, film)
        return float(speed.max()), float((np.maximum(signed, 0.0) * speed**2).sum())

    speeds, energies = zip(*engine.each(of_slab), strict=True)
    return {**sums, "max_speed": max(speeds), "kinetic_energy": 0.5 * sum(energies) * engine.setup.grid.cell_area}


def _water(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Return signed depths, m, 0 on land, and unit discharges at centres, m2 s-1, from host copies of the fields."""
    engine = rows.engine
    bed = engine.setup.bed
    signed = np.where(bed < LAND, engine.surface() - bed, 0.0)
    p, _, q = (flux.astype(float) for flux in engine.fluxes())
    return rows.owned(signed), rows.owned(0.5 * np.hypot(p[:, 1:] + p[:, :-1], q[1:] + q[:-1]))
