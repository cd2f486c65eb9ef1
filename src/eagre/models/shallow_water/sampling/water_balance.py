"""Water balance: volumes through open boundaries and rain, accumulated step by step.

The flux through a face is computed again from the states at the start of the stages. A row contains the sum, the rate
and the end time of the sum. A step stores its rate before the step is accepted. The next step adds this rate times the
elapsed time of the clock, which is 0 after a rejected step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import (
    cell,
    cuda,
    entry,
    grid_dependency_wait,
    launch_dependents,
    real,
    serial_entry,
    switch,
)
from eagre.backend.device import Device, Launch
from eagre.boundaries import FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.boundaries.cross_sections import CrossSectionVolumes as BaseVolumes
from eagre.boundaries.ghosts import ACROSS, FACE_I, FACE_J, INWARD, LAYERS, faces_of
from eagre.boundaries.open_sides import MassSources, OpenSides
from eagre.grid import Grid
from eagre.models.shallow_water.stages.reference import water_flux
from eagre.stepping.clock import DOUBLE, SPLIT, T, open_gate
from eagre.stepping.substeps import across_of, stage_of
from eagre.terms.base import RecordQuantity
from eagre.terms.collect import Terms

SUM, RATE, SUM_END = 0, 1, 2
RATE_2 = 3  # column of the rate of the second stage in the tile kernels; otherwise 0
COLUMNS = 4
TWO_STAGES = switch("TWO_STAGES", True)  # whether the rate is the mean flux of two states
SOURCES = switch("SOURCES", 0)  # number of rows of mass sources, after the rows of the faces


@cell
def accumulate_volume(budget, k, rate, time):
    """Accumulate the last rate of row k up to `time`, s, and store a new rate."""
    budget[k, SUM] += (time - budget[k, SUM_END]) * (budget[k, RATE] + budget[k, RATE_2])
    budget[k, SUM_END] = time
    budget[k, RATE] = rate
    budget[k, RATE_2] = 0.0


@cell
def accumulate_rate(budget, k, rate, time, phase):
    """Accumulate row k; a split scheme that advances two steps at once stores half of the rate for each step."""
    if SPLIT == DOUBLE and stage_of(phase) >= 4:
        budget[k, RATE_2] = 0.5 * rate
    elif SPLIT == DOUBLE:
        accumulate_volume(budget, k, 0.5 * rate, time)
    else:
        accumulate_volume(budget, k, rate, time)


@cell
def accumulate_face(states, domain, faces, budget, p, clock, phase, k):
    """Accumulate face k, whose rate is the inflow, m2 s-1; a sweep accumulates the faces normal to its direction.

    states : at the start of the step, and after its first stage, read if TWO_STAGES
    """
    j, i, across = faces[k, FACE_J], faces[k, FACE_I], faces[k, ACROSS]
    if SPLIT == 0 or across_of(stage_of(phase)) == across:
        rate = water_flux(states[0], domain.bed, domain.walls, j, i, across, p)
        if TWO_STAGES:
            rate = real(0.5) * (rate + water_flux(states[1], domain.bed, domain.walls, j, i, across, p))
        accumulate_rate(budget, k, faces[k, INWARD] * float(rate), clock[T], phase)


@cell
def accumulate_source(budget, k, factor, clock, phase):
    """Accumulate row k of a mass source once per step."""
    if SPLIT == 0 or across_of(stage_of(phase)) == 1:
        accumulate_rate(budget, k, factor, clock[T], phase)


@serial_entry
def balance_cpu(states, domain, faces, factors, budget, p, clock, phase):
    """Accumulate all faces of open segments, then the mass sources."""
    if open_gate(clock, phase):
        for k in range(faces.shape[0]):
            accumulate_face(states, domain, faces, budget, p, clock, phase, k)
        for k in range(SOURCES):
            accumulate_source(budget, faces.shape[0] + k, factors[k], clock, phase)


@entry
def balance_cuda(states, domain, faces, factors, budget, p, clock, phase):
    """See `balance_cpu`; one thread per row."""
    launch_dependents()
    grid_dependency_wait()
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if open_gate(clock, phase):
        if k < faces.shape[0]:
            accumulate_face(states, domain, faces, budget, p, clock, phase, k)
        elif k < faces.shape[0] + SOURCES:
            accumulate_source(budget, k, factors[k - faces.shape[0]], clock, phase)


def budget_launches(
    device: Device, precision: str, states: tuple[Any, Any], faces: Any, budget: Any, *common: Any, **switches: Any
) -> list[Launch]:
    """Return the launches that accumulate a step from its initial state and, with two stages, its intermediate state.

    See `Balance`.
    """
    domain, factors, *numbers = common
    q, q_stage = states
    states = (q, q_stage if switches["TWO_STAGES"] else q)
    arguments = (states, domain, faces, factors, budget, *numbers)
    if device.kind == "cpu":
        return [Launch(device.program(balance_cpu, precision, switches), arguments)]
    threads = device.parameters("shallow-water.balance").threads
    blocks = (-(-budget.shape[0] // threads),)
    return [Launch(device.program(balance_cuda, precision, switches), arguments, blocks, (threads,), early=True)]


class CrossSectionVolumes(BaseVolumes):
    """Volumes through the faces of the cross-sections of a run; the columns are those of `Balance`."""

    def __init__(self, cross_sections: CrossSections | None, device: Device) -> None:
        table = np.zeros((0, 4), np.int64)
        if cross_sections is not None:
            table = cross_sections.faces.copy()
            table[:, [FACE_J, FACE_I]] += LAYERS
        super().__init__(cross_sections, device, table, (COLUMNS,))

    def launches(self, precision: str, q: Any, q_stage: Any, *common: Any, **switches: Any) -> list[Launch]:
        """See `Balance.launches`."""
        if not len(self.table):
            return []
        return budget_launches(self.device, precision, (q, q_stage), self.faces, self.sums, *common, **switches)

    def begin(self, time: float) -> None:
        """Reset the volumes at `time`, s."""
        rows = np.zeros(self.sums.shape)
        rows[:, SUM_END] = time
        self.device.fill(self.sums, rows)

    def resume(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Restore the volumes of a state at `time`, s, or reset them if the state has other cross-sections."""
        if self.goes_on(state):
            self.device.fill(self.sums, state["cross_sections"])
        else:
            self.begin(time)

    def volumes(self, time: float) -> np.ndarray:
        """Return the volume through each cross-section from the start to `time`, s, positive to its right, m3."""
        assert self.lines is not None
        rows = self.device.host(self.sums)
        through = rows[:, SUM] + (time - rows[:, SUM_END]) * (rows[:, RATE] + rows[:, RATE_2])
        return self.lines.sums(self.lines.lengths * through)


class Balance:
    """Water balance of a run, on its device.

    Parameters
    ----------
    segments : sequence of FaceRange
    table : (segments, COLUMNS) array
        Table of all segments from `segment_table`.
    grid : Grid
    terms : Terms
    device : Device

    Attributes
    ----------
    budget : (open boundary faces + mass sources, COLUMNS) array
        Without mass sources the last row is present and 0.
    """

    def __init__(
        self, segments: Sequence[FaceRange], table: np.ndarray, grid: Grid, terms: Terms, device: Device
    ) -> None:
        self.device, self._open = device, OpenSides(segments, grid)
        self._rain, self._source_names = [one.series for one in terms.sources], terms.source_names
        self._grid = grid
        self._open.check_names(terms.source_names)
        self._weights = np.append(self._open.lengths, np.zeros(max(1, len(terms.sources))))
        sides = self._open.lengths.size
        self._moving = [sides + k for k, one in enumerate(terms.sources) if isinstance(one, RecordQuantity)]
        self._settled = np.zeros(self._weights.size)  # volumes of records that are no longer in use, m3
        self.weigh(terms)
        faces = [faces_of(row) for row, segment in zip(table, segments, strict=True) if not segment.condition.closed]
        self._faces = device.array(np.concatenate([np.zeros((0, 4), np.int64), *faces]))
        self.budget = device.zeros((self._weights.size, COLUMNS), np.float64)

    def weigh(self, terms: Terms) -> None:
        """Set the mass sources integrated over the domain, m3 s-1, with the records in use."""
        for k, one in enumerate(terms.sources, self._open.lengths.size):
            self._weights[k] = one.total(self._grid) * self._grid.cell_area

    def settle(self, time: float, terms: Terms) -> None:
        """Accumulate the rain of the present records up to `time`, s, and set the weights of the next records."""
        if self._moving:
            rows = self.device.host(self.budget)
            self._settled[self._moving] += self._volumes(rows, time)[self._moving]
            rows[self._moving] = 0.0
            rows[self._moving, SUM_END] = time
            self.device.fill(self.budget, rows)
            self.weigh(terms)

    def _volumes(self, rows: np.ndarray, time: float) -> np.ndarray:
        return self._weights * (rows[:, SUM] + (time - rows[:, SUM_END]) * (rows[:, RATE] + rows[:, RATE_2]))

    @property
    def sources(self) -> int:
        """Number of rows of mass sources."""
        return len(self._rain)

    @property
    def varies(self) -> bool:
        """True if a rate changes with time: open boundaries, or rain with a series."""
        return bool(self._open.segments) or not all(series.is_constant for series in self._rain)

    def prescribed_volumes(self, start: float, end: float) -> dict[str, float]:
        """See `OpenSides.prescribed_volumes`."""
        return self._open.prescribed_volumes(start, end)

    def launches(self, precision: str, q: Any, q_stage: Any, *common: Any, **switches: Any) -> list[Launch]:
        """Return the launches that accumulate the step from `q` via `q_stage`; none if no rate changes with time.

        common : `Domain`, factors of the source terms, parameters, clock, phase.
        """
        if not self.varies:
            return []
        switches["SOURCES"] = len(self._rain)
        return budget_launches(self.device, precision, (q, q_stage), self._faces, self.budget, *common, **switches)

    def begin(self, time: float) -> None:
        """Reset the balance at `time`, s."""
        rows = np.zeros(self.budget.shape)
        rows[:, SUM_END] = time
        for row, series in zip(rows[self._open.lengths.size :], self._rain, strict=False):
            row[RATE] = series(time)
        self.device.fill(self.budget, rows)
        self.resume_settled({})

    def state(self) -> dict[str, np.ndarray]:
        """Return the balance and the open segments, for a restart."""
        settled = {"settled": self._settled.copy()} if self._settled.any() else {}
        sums = {"book": self.device.host(self.budget), "open_sides": self._open.table()}
        return sums | settled | self._mass_sources.state()

    @property
    def _mass_sources(self) -> MassSources:
        return MassSources(self._source_names, self._weights, self._moving, self._open.lengths.size)

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Return whether a state has the same open boundary segments and mass sources."""
        same = self._open.are_those_of(state) and len(state["book"]) == len(self.budget)
        return same and self._mass_sources.are_those_of(state)

    def resume(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Restore the balance of a state at `time`, s, or reset it if the open segments differ."""
        if not self.goes_on(state):
            self.begin(time)
            return
        rows = np.zeros(self.budget.shape)
        rows[:, : state["book"].shape[1]] = state["book"]  # states of older versions have no second rate
        for row, series in zip(rows[self._open.lengths.size :], self._rain, strict=False):
            rate = row[RATE] + row[RATE_2]
            if series.is_constant and rate != series(time):
                row[:] = row[SUM] + (time - row[SUM_END]) * rate, series(time), time, 0.0
        self.device.fill(self.budget, rows)
        self.resume_settled(state)

    def resume_settled(self, state: Mapping[str, np.ndarray], terms: Terms | None = None) -> None:
        """Restore the volumes of records that are no longer in use; terms : sets the weights of the records in use."""
        self._settled[:] = state.get("settled", 0.0)
        if terms is not None:
            self.weigh(terms)

    def amounts(self, time: float) -> tuple[dict[str, float], float]:
        """Return the inflow volumes by segment or internal discharge, and the rain volume, up to `time`, s; m3."""
        rows = self.device.host(self.budget)
        came = self._settled + self._volumes(rows, time)
        return self._open.by_name(came, self._source_names)
