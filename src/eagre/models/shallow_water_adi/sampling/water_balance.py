"""Water balance: volumes through open boundaries and rain, accumulated after every sweep.

A sweep moves water with the discharges of two times along its lines, dt/4 (P_old + P_new), and across them,
dt/4 (q_old + q_new). The inflow through a side is the sum over its faces (equation 1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, entry, serial_entry, switch
from eagre.backend.device import Device, Launch
from eagre.boundaries import FaceRange
from eagre.boundaries.cross_sections import CrossSections
from eagre.boundaries.cross_sections import CrossSectionVolumes as BaseVolumes
from eagre.boundaries.open_sides import MassSources, OpenSides
from eagre.grid import Grid
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.terms.base import Quantity, RecordQuantity
from eagre.terms.collect import Terms

FACE_J, FACE_I, INWARD, IS_X = 0, 1, 2, 3  # index of a face in its array, sign of inflow, whether west or east
SOURCES = switch("SOURCES", 0)  # number of rows of mass sources, after the rows of the faces


@cell
def accumulate_face(p_old, p_new, q_old, q_new, sums, faces, quarter, k):
    """Accumulate face k; p, q : discharges along x and along y whose mean the sweep used."""
    j, i = faces[k, FACE_J], faces[k, FACE_I]
    if faces[k, IS_X] == 1:
        both = float(p_old[j, i]) + float(p_new[j, i])
    else:
        both = float(q_old[j, i]) + float(q_new[j, i])
    sums[k] += quarter * faces[k, INWARD] * both


@serial_entry
def accumulate_cpu(p_old, p_new, q_old, q_new, sums, faces, values, row, slot, quarter):
    """Accumulate all faces, then the rain factors of half a step, values[row, slot ..]."""
    for k in range(faces.shape[0]):
        accumulate_face(p_old, p_new, q_old, q_new, sums, faces, quarter, k)
    for k in range(SOURCES):
        sums[faces.shape[0] + k] += 2.0 * quarter * values[row, slot + k]


@entry
def accumulate_cuda(p_old, p_new, q_old, q_new, sums, faces, values, row, slot, quarter):
    """See `accumulate_cpu`; one thread per row."""
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if k < faces.shape[0]:
        accumulate_face(p_old, p_new, q_old, q_new, sums, faces, quarter, k)
    elif k < faces.shape[0] + SOURCES:
        sums[k] += 2.0 * quarter * values[row, slot + k - faces.shape[0]]


def accumulation(device: Device, arguments: tuple[Any, ...], sources: int, rows: int) -> list[Launch]:
    """Return the launch that accumulates a sweep; sources : number of rows of mass sources, the last of `rows` rows."""
    switches = {"SOURCES": sources}
    if device.kind == "cpu":
        return [Launch(device.program(accumulate_cpu, "double", switches), arguments)]
    threads = device.parameters("shallow-water-adi.balance").threads
    return [Launch(device.program(accumulate_cuda, "double", switches), arguments, (-(-rows // threads),), (threads,))]


class CrossSectionVolumes(BaseVolumes):
    """Volumes through the faces of the cross-sections of a run; a row is a sum over time, m2."""

    def __init__(self, cross_sections: CrossSections | None, device: Device) -> None:
        table = np.zeros((0, 4), np.int64)
        if cross_sections is not None:
            j, i, across, sign = cross_sections.faces.T
            table = np.column_stack([j + 1, i + PADDING, sign, across == 1])
        super().__init__(cross_sections, device, table)

    def launches(self, fluxes: tuple[Any, ...], values: Any, row: int, slot: int, dt: float) -> list[Launch]:
        """See `Balance.launches`."""
        if not len(self.table):
            return []
        arguments = (*fluxes, self.sums, self.faces, values, row, slot, 0.25 * dt)
        return accumulation(self.device, arguments, 0, len(self.table))

    def resume(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the volumes of a state, or reset them if the state has other cross-sections."""
        self.device.fill(self.sums, state["cross_sections"] if self.goes_on(state) else np.zeros(self.sums.shape))

    def volumes(self) -> np.ndarray:
        """Return the volume through each cross-section since the start, positive to its right, m3."""
        assert self.lines is not None
        return self.lines.sums(self.lines.lengths * self.device.host(self.sums))


class Balance:
    """Water balance of a run, on its device.

    total : returns a mass source, with the record in use, summed over the cells that are not land, m s-1.

    Attributes
    ----------
    sums : (open boundary faces + mass sources,) array
        Sums over time: of the faces, m2, then of the factors of the mass sources, s times their unit. Without mass
        sources the last row is present and 0.
    """

    def __init__(
        self,
        segments: Sequence[FaceRange],
        grid: Grid,
        terms: Terms,
        device: Device,
        total: Callable[[Quantity], float],
    ) -> None:
        self.device, self._open = device, OpenSides(segments, grid)
        self._sources, self._source_names = len(terms.sources), terms.source_names
        self._cell_area, self._total = grid.cell_area, total
        sides = self._open.lengths.size
        self._open.check_names(terms.source_names)
        self._weights = np.append(self._open.lengths, np.zeros(max(1, self._sources)))
        self._moving = [sides + k for k, one in enumerate(terms.sources) if isinstance(one, RecordQuantity)]
        self._settled = np.zeros(self._weights.size)  # volumes of records that are no longer in use, m3
        self.weigh(terms)
        rows = [row for segment in self._open.segments for row in _faces_of(segment, grid)]
        self._faces = device.array(np.array(rows, np.int64).reshape(-1, 4))
        self.sums = device.zeros((self._weights.size,), np.float64)

    def weigh(self, terms: Terms) -> None:
        """Set the mass sources integrated over the domain, m3 s-1, with the records in use."""
        for k, one in enumerate(terms.sources, self._open.lengths.size):
            self._weights[k] = self._total(one) * self._cell_area

    def settle(self) -> None:
        """Accumulate the rain of the present records before the next records are used."""
        if self._moving:
            sums = self.device.host(self.sums)
            self._settled[self._moving] += (self._weights * sums)[self._moving]
            sums[self._moving] = 0.0
            self.device.fill(self.sums, sums)

    def prescribed_volumes(self, start: float, end: float) -> dict[str, float]:
        """See `OpenSides.prescribed_volumes`."""
        return self._open.prescribed_volumes(start, end)

    def launches(self, fluxes: tuple[Any, ...], values: Any, row: int, slot: int, dt: float) -> list[Launch]:
        """Return the launches that accumulate a sweep.

        fluxes : p and q, old and new; `values[row, slot]` : first rain factor.
        """
        if not self._sources and not self._open.segments:
            return []
        arguments = (*fluxes, self.sums, self._faces, values, row, slot, 0.25 * dt)
        return accumulation(self.device, arguments, self._sources, self._weights.size)

    def state(self) -> dict[str, np.ndarray]:
        """Return the balance and the open segments, for a restart."""
        settled = {"settled": self._settled.copy()} if self._settled.any() else {}
        sums = {"book": self.device.host(self.sums), "open_sides": self._open.table()}
        return sums | settled | self._mass_sources.state()

    @property
    def _mass_sources(self) -> MassSources:
        return MassSources(self._source_names, self._weights, self._moving, self._open.lengths.size)

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Return whether a state has the same open boundary segments and mass sources."""
        same = self._open.are_those_of(state) and state["book"].shape == self.sums.shape
        return same and self._mass_sources.are_those_of(state)

    def sums_of(self, state: Mapping[str, np.ndarray]) -> np.ndarray:
        """Return the balance of a state, or an empty one if the open segments differ."""
        return state["book"] if self.goes_on(state) else np.zeros(self.sums.shape)

    def resume(self, sums: np.ndarray) -> None:
        """Restore the sums."""
        self.device.fill(self.sums, sums)

    def resume_settled(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore the volumes of records that are no longer in use."""
        self._settled[:] = state.get("settled", 0.0) if self.goes_on(state) else 0.0

    def amounts(self) -> tuple[dict[str, float], float]:
        """Return the inflow volumes by segment or internal discharge, and the rain volume, m3."""
        inflow = self._settled + self._weights * self.device.host(self.sums)
        return self._open.by_name(inflow, self._source_names)


def _faces_of(segment: FaceRange, grid: Grid) -> list[tuple[int, int, int, int]]:
    """Return the rows of the table for the faces of a segment."""
    low = segment.side in ("west", "south")
    if segment.side in ("west", "east"):
        i = PADDING if low else PADDING + grid.nx
        return [(m + 1, i, 1 if low else -1, 1) for m in range(segment.first, segment.last)]
    j = 1 if low else grid.ny + 1
    return [(j, PADDING + m, 1 if low else -1, 0) for m in range(segment.first, segment.last)]
