"""Open boundary segments and their faces, for the water balance of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np

from eagre.boundaries.base import Condition, InitialWater
from eagre.boundaries.sides import SIDES, FaceRange
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.local_rows import Sides


def with_initial_water(
    segments: Sequence[FaceRange], grid: Grid, water: Callable[[FaceRange], InitialWater]
) -> tuple[list[FaceRange], list[str]]:
    """Return segments whose conditions include defaults from the initial water (`Condition.settled`), and notes.

    Parameters
    ----------
    segments : sequence of FaceRange
    grid : Grid
    water : callable
        Returns the initial water along a segment.

    Raises
    ------
    InputError
        If a condition is inconsistent with the initial water.
    """
    settled = [replace(one, condition=one.condition.settled(water(one))) for one in segments]
    return settled, OpenSides(settled, grid).initial_notes(water)


def water_of(surface: Sides, depth: Sides, bed: Sides, time: float) -> Callable[[FaceRange], InitialWater]:
    """Return a function that returns the initial water along a segment; see `FaceRange.initial_water`."""

    def water(segment: FaceRange) -> InitialWater:
        side = segment.side
        return segment.initial_water(surface.of(side), depth.of(side), bed.of(side), time)

    return water


class OpenSides:
    """Open segments of a boundary, with consecutive face numbers.

    Attributes
    ----------
    segments : list of FaceRange
        Open segments.
    starts : (segments + 1,) array
        Number of the first face of each segment, and the number of faces.
    lengths : (faces,) array, m
        Lengths of the faces.
    """

    def __init__(self, segments: Sequence[FaceRange], grid: Grid) -> None:
        self.grid = grid
        self.segments = [segment for segment in segments if not segment.condition.closed]
        counts = [segment.last - segment.first for segment in self.segments]
        self.starts = np.append(0, np.cumsum(counts)).astype(np.int64)
        self.lengths = np.repeat(np.array([self._line(s)[1] for s in self.segments], np.float64), counts)

    def table(self) -> np.ndarray:
        """Return side, first cell and end of each segment, (segments, 3).

        A state stores them with its sums over these faces.
        """
        rows = [(SIDES.index(s.side), s.first, s.last) for s in self.segments]
        return np.array(rows, np.int64).reshape(-1, 3)

    def are_those_of(self, state: Mapping[str, np.ndarray]) -> bool:
        """Return whether the sums of a state belong to these faces."""
        return np.array_equal(state.get("open_sides", np.zeros(0)), self.table())

    def check_names(self, source_names: Sequence[str]) -> None:
        """Raise `InputError` for an internal discharge with the name of an open segment."""
        for name in {self._name(segment) for segment in self.segments}.intersection(source_names):
            raise InputError(
                f"an internal discharge with the name {name!r}, which is an open boundary",
                allowed="a name that no open boundary has",
                problem="The name of an internal discharge is the name of an open boundary in the water balance.",
            )

    def by_name(self, amounts: np.ndarray, source_names: Sequence[str]) -> tuple[dict[str, float], float]:
        """Return the inflow volumes by name, and the rain volume.

        amounts : volumes of all faces, then of the water sources. source_names : `Terms.source_names` of the sources.
        The name of a segment is its side, with the ends of the segment if it is shorter than the side.
        """
        ranges = zip(self.segments, self.starts[:-1], self.starts[1:], strict=True)
        volumes = {self._name(segment): float(amounts[a:b].sum()) for segment, a, b in ranges}
        poured = list(zip(source_names, amounts[self.lengths.size :].tolist(), strict=False))
        volumes |= {name: amount for name, amount in poured if name}
        return volumes, sum(amount for name, amount in poured if not name)

    def prescribed_volumes(self, start: float, end: float) -> dict[str, float]:
        """Return the volume of the prescribed discharges from `start` to `end`, s, by the name of the segment, m3."""
        rates = [(self._name(segment), segment.condition.prescribed_discharge()) for segment in self.segments]
        return {name: (end - start) * rate.mean(start, end) for name, rate in rates if rate is not None and end > start}

    def notes(self, sample: Callable[..., Mapping[str, np.ndarray]], gravity: float) -> list[tuple[str, str]]:
        """Return the notes of the conditions for the run summary, by segment; sample : returns fields in cells."""
        notes = []
        for segment in self.segments:
            if type(segment.condition).note is Condition.note:
                continue
            along_x = segment.side in ("south", "north")
            end = 0 if segment.side in ("west", "south") else (self.grid.ny if along_x else self.grid.nx) - 1
            cells = [(end, m) if along_x else (m, end) for m in range(segment.first, segment.last)]
            velocity = "velocity_y" if along_x else "velocity_x"
            values = sample(("depth", velocity), cells)
            outwards = values[velocity] * (-1.0 if end == 0 else 1.0)
            text = segment.condition.note(values["depth"], outwards, gravity)
            notes += [(self._name(segment), text)] if text else []
        return notes

    def initial_notes(self, water: Callable[[FaceRange], InitialWater]) -> list[str]:
        """Return the notes of the conditions on the initial water, each with the name of its segment."""
        notes = [(self._name(one), one.condition.initial_note(water(one))) for one in self.segments]
        return [f"{name}: {text}" for name, text in notes if text]

    def _line(self, segment: FaceRange) -> tuple[int, float, float]:
        """Return the number of cells of the whole side, the cell size, m, and the coordinate of its start, m."""
        grid = self.grid
        along_x = segment.side in ("south", "north")
        return (grid.nx, grid.dx, grid.x0) if along_x else (grid.ny, grid.dy, grid.y0)

    def _name(self, segment: FaceRange) -> str:
        cells, size, origin = self._line(segment)
        if segment.last - segment.first == cells:
            return segment.side
        return f"{segment.side} {origin + segment.first * size:.10g} to {origin + segment.last * size:.10g} m"


SOURCE_TOLERANCE = 1e-6  # sums over subdomains differ by rounding
TABLE_NAME = "mass_sources"  # name of `MassSources.table` in a state


class MassSources(NamedTuple):
    """Mass sources to which the sums over time of a water balance belong.

    names : names of the sources. weights : weights of the faces, then sums of the sources over the domain, m3 s-1.
    time_varying : indices of the weights that change with time. first : index of the weight of the first source.
    """

    names: Sequence[str]
    weights: np.ndarray
    time_varying: Sequence[int]
    first: int

    def table(self) -> np.ndarray:
        """Return a number for each name and the weight, 0 if it changes with time, (sources, 2)."""
        weights = self.weights.copy()
        weights[list(self.time_varying)] = 0.0
        pairs = zip(self.names, weights[self.first :], strict=False)
        return np.array([[crc32(name.encode()), weight] for name, weight in pairs]).reshape(-1, 2)

    def state(self) -> dict[str, np.ndarray]:
        """Return the entry of a state; empty without sources."""
        return {TABLE_NAME: self.table()} if self.names else {}

    def are_those_of(self, state: Mapping[str, np.ndarray]) -> bool:
        """Return whether the sums of a state belong to these sources; states of older versions do not tell."""
        table = self.table()
        stored = state.get(TABLE_NAME, table)
        return stored.shape == table.shape and np.allclose(stored, table, rtol=SOURCE_TOLERANCE, atol=0.0)
