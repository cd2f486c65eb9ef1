"""The balance of water: what came through open sides and as rain, booked step by step.

The flux through a face is that of the stages, made again from the states that they start from. A row of the book is
(sum, rate, time up to which the sum goes). A step leaves its rate before it is known whether it counts; the next one
books it for as long as the clock has moved, which is not at all if it was refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eagre.backend.cells import cell, cuda, entry, grid_dependency_wait, launch_dependents, real, serial_entry, switch
from eagre.backend.device import Device, Launch
from eagre.boundaries import FaceRange, lines
from eagre.boundaries.ghosts import ACROSS, FACE_I, FACE_J, INWARD, LAYERS, faces_of
from eagre.boundaries.open_sides import OpenSides
from eagre.grid import Grid
from eagre.models.shallow_water.reference import water_flux
from eagre.stepping.clock import DOUBLE, SPLIT, T, open_gate
from eagre.stepping.substeps import across_of, stage_of
from eagre.terms.collect import Terms
from eagre.terms.moving import Moving

SUM, RATE, BOOKED = 0, 1, 2
RATE_2 = 3  # where the second stage of a tile leaves its half of the rate; else 0
COLUMNS = 4
TWO_STAGES = switch("TWO_STAGES", True)  # whether the mean flux of two states counts
SOURCES = switch("SOURCES", 0)  # how many rows behind those of the faces are of terms that bring water


@cell
def booked(book, k, rate, now):
    """Book the last rate of row k up to `now`, s, and leave a new one."""
    book[k, SUM] += (now - book[k, BOOKED]) * (book[k, RATE] + book[k, RATE_2])
    book[k, BOOKED] = now
    book[k, RATE] = rate
    book[k, RATE_2] = 0.0


@cell
def book_rate(book, k, rate, now, turn):
    """Book row k, or the half of its rate that one of the two steps has which a split scheme makes as one."""
    if SPLIT == DOUBLE and stage_of(turn) >= 4:
        book[k, RATE_2] = 0.5 * rate
    elif SPLIT == DOUBLE:
        booked(book, k, 0.5 * rate, now)
    else:
        booked(book, k, rate, now)


@cell
def book_face(q, middle, bed, walls, faces, book, p, clock, turn, k):
    """Book face k; its rate is the inflow, m2 s-1. A sweep books the faces that it runs across."""
    j, i, across = faces[k, FACE_J], faces[k, FACE_I], faces[k, ACROSS]
    if SPLIT == 0 or across_of(stage_of(turn)) == across:
        rate = water_flux(q, bed, walls, j, i, across, p)
        if TWO_STAGES:
            rate = real(0.5) * (rate + water_flux(middle, bed, walls, j, i, across, p))
        book_rate(book, k, faces[k, INWARD] * float(rate), clock[T], turn)


@cell
def book_source(book, k, factor, clock, turn):
    """Book row k, of a term that brings water, once a step."""
    if SPLIT == 0 or across_of(stage_of(turn)) == 1:
        book_rate(book, k, factor, clock[T], turn)


@serial_entry
def book_cpu(q, middle, bed, walls, faces, factors, book, p, clock, turn):
    """Book all faces of open segments, and the factors of rain behind them."""
    if open_gate(clock, turn):
        for k in range(faces.shape[0]):
            book_face(q, middle, bed, walls, faces, book, p, clock, turn, k)
        for k in range(SOURCES):
            book_source(book, faces.shape[0] + k, factors[k], clock, turn)


@entry
def book_cuda(q, middle, bed, walls, faces, factors, book, p, clock, turn):
    """As `book_cpu`, a thread a row."""
    launch_dependents()
    grid_dependency_wait()
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if open_gate(clock, turn):
        if k < faces.shape[0]:
            book_face(q, middle, bed, walls, faces, book, p, clock, turn, k)
        elif k < faces.shape[0] + SOURCES:
            book_source(book, k, factors[k - faces.shape[0]], clock, turn)


def booking(
    device: Device, precision: str, states: tuple[Any, Any], faces: Any, book: Any, *common: Any, **switches: Any
) -> list[Launch]:
    """What books a step from the first of two states, by way of the second if it has two stages; see `Balance`."""
    bed, walls, factors, *numbers = common
    q, middle = states
    arguments = (q, middle if switches["TWO_STAGES"] else q, bed, walls, faces, factors, book, *numbers)
    if device.kind == "cpu":
        return [Launch(device.program(book_cpu, precision, switches), arguments)]
    threads = device.layout("shallow-water.balance").threads
    blocks = (-(-book.shape[0] // threads),)
    return [Launch(device.program(book_cuda, precision, switches), arguments, blocks, (threads,), early=True)]


class CrossSectionBook(lines.CrossSectionBook):
    """The book of what goes through the lines of a run; a row is that of `Balance`."""

    def __init__(self, given: lines.CrossSections | None, device: Device) -> None:
        table = np.zeros((0, 4), np.int64)
        if given is not None:
            table = given.faces.copy()
            table[:, [FACE_J, FACE_I]] += LAYERS
        super().__init__(given, device, table, (COLUMNS,))

    def launches(self, precision: str, q: Any, middle: Any, *common: Any, **switches: Any) -> list[Launch]:
        """As of `Balance`."""
        if not len(self.table):
            return []
        return booking(self.device, precision, (q, middle), self.faces, self.book, *common, **switches)

    def begin(self, time: float) -> None:
        """Start an empty book at `time`, s."""
        rows = np.zeros(self.book.shape)
        rows[:, BOOKED] = time
        self.device.fill(self.book, rows)

    def resume(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Go on with the book of a state at `time`, s, or with a new one where it has other lines."""
        if self.goes_on(state):
            self.device.fill(self.book, state["cross_sections"])
        else:
            self.begin(time)

    def volumes(self, time: float) -> np.ndarray:
        """What went to the right of each line up to `time`, s, since the start; m3."""
        assert self.lines is not None
        rows = self.device.host(self.book)
        through = rows[:, SUM] + (time - rows[:, BOOKED]) * (rows[:, RATE] + rows[:, RATE_2])
        return self.lines.sums(self.lines.lengths * through)


class Balance:
    """The book of a run, on its device.

    Parameters
    ----------
    segments : sequence of FaceRange
    table : (segments, COLUMNS) array
        Of all segments, as `segment_table` makes it.
    grid : Grid
    terms : Terms
    device : Device

    Attributes
    ----------
    book : (faces of open sides + terms that bring water, COLUMNS) array
        The last row is there, and 0, where nothing brings water.
    """

    def __init__(
        self, segments: Sequence[FaceRange], table: np.ndarray, grid: Grid, terms: Terms, device: Device
    ) -> None:
        self.device, self._open = device, OpenSides(segments, grid)
        self._rain, self._places = [one.series for one in terms.sources], terms.places
        self._grid = grid
        self._weights = np.append(self._open.lengths, np.zeros(max(1, len(terms.sources))))
        sides = self._open.lengths.size
        self._moving = [sides + k for k, one in enumerate(terms.sources) if isinstance(one, Moving)]
        self._settled = np.zeros(self._weights.size)  # m3 of records that are not in use any more
        self.weigh(terms)
        faces = [faces_of(row) for row, segment in zip(table, segments, strict=True) if not segment.condition.closed]
        self._faces = device.array(np.concatenate([np.zeros((0, 4), np.int64), *faces]))
        self.book = device.zeros((self._weights.size, COLUMNS), np.float64)

    def weigh(self, terms: Terms) -> None:
        """Take the sums over the domain of what brings water, m3 s-1, with the records in use of what moves."""
        for k, one in enumerate(terms.sources, self._open.lengths.size):
            self._weights[k] = one.total(self._grid) * self._grid.cell_area

    def settle(self, time: float, terms: Terms) -> None:
        """Book the rain of records up to `time`, s, and weigh those that come into use."""
        if self._moving:
            rows = self.device.host(self.book)
            self._settled[self._moving] += self._volumes(rows, time)[self._moving]
            rows[self._moving] = 0.0
            rows[self._moving, BOOKED] = time
            self.device.fill(self.book, rows)
            self.weigh(terms)

    def _volumes(self, rows: np.ndarray, time: float) -> np.ndarray:
        return self._weights * (rows[:, SUM] + (time - rows[:, BOOKED]) * (rows[:, RATE] + rows[:, RATE_2]))

    @property
    def sources(self) -> int:
        """How many rows behind those of the faces are of terms that bring water."""
        return len(self._rain)

    @property
    def varies(self) -> bool:
        """Whether any rate of the book changes with time: open sides, or rain with a series."""
        return bool(self._open.segments) or not all(series.is_constant for series in self._rain)

    def asked(self, start: float, end: float) -> dict[str, float]:
        """See `OpenSides.asked`."""
        return self._open.asked(start, end)

    def launches(self, precision: str, q: Any, middle: Any, *common: Any, **switches: Any) -> list[Launch]:
        """What books the step from `q`, by way of `middle` if it has two stages; nothing where no rate changes.

        common : bed, walls inside, factors of the terms, parameters, clock, turn.
        """
        if not self.varies:
            return []
        switches["SOURCES"] = len(self._rain)
        return booking(self.device, precision, (q, middle), self._faces, self.book, *common, **switches)

    def begin(self, time: float) -> None:
        """Start an empty book at `time`, s."""
        rows = np.zeros(self.book.shape)
        rows[:, BOOKED] = time
        for row, series in zip(rows[self._open.lengths.size :], self._rain, strict=False):
            row[RATE] = series(time)
        self.device.fill(self.book, rows)
        self.resume_settled({})

    def state(self) -> dict[str, np.ndarray]:
        """The book and what it is of, for a restart."""
        settled = {"settled": self._settled.copy()} if self._settled.any() else {}
        return {"book": self.device.host(self.book), "open_sides": self._open.places(), **settled}

    def goes_on(self, state: Mapping[str, np.ndarray]) -> bool:
        """Whether the book of a state is one of the same open sides."""
        return self._open.are_those_of(state) and len(state["book"]) == len(self.book)

    def resume(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Go on with the book of a state at `time`, s; with a new one where other sides are open."""
        if not self.goes_on(state):
            self.begin(time)
            return
        rows = np.zeros(self.book.shape)
        rows[:, : state["book"].shape[1]] = state["book"]  # older states have no second rate
        for row, series in zip(rows[self._open.lengths.size :], self._rain, strict=False):
            rate = row[RATE] + row[RATE_2]
            if series.is_constant and rate != series(time):
                row[:] = row[SUM] + (time - row[BOOKED]) * rate, series(time), time, 0.0
        self.device.fill(self.book, rows)
        self.resume_settled(state)

    def resume_settled(self, state: Mapping[str, np.ndarray], terms: Terms | None = None) -> None:
        """Go on with what a state has of records that are not in use any more; terms : to weigh those that are."""
        self._settled[:] = state.get("settled", 0.0)
        if terms is not None:
            self.weigh(terms)

    def amounts(self, time: float) -> tuple[dict[str, float], float]:
        """Water that came in through each open part of a side or inside, by its name, and as rain, to `time`, s; m3."""
        rows = self.device.host(self.book)
        came = self._settled + self._volumes(rows, time)
        return self._open.by_name(came, self._places)
