"""A band of rows of a run on one device: an engine of its own, with rows of its neighbours beside its own.

Where a band is cut its lines along y end as at a wall. What that changes fades along a line like the coupling
of its unknowns (`reach`): a band that holds more rows of its neighbours than that has its own rows right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.boundaries import Segment
from eagre.boundaries.open_sides import OpenSides
from eagre.models.shallow_water_adi.balance import Balance
from eagre.models.shallow_water_adi.engine import Engine, Setup
from eagre.models.shallow_water_adi.layout import unpadded
from eagre.models.shallow_water_adi.plan import EPSILON, SAFETY

EDGE = 4  # rows at a cut whose equations lack a neighbour: of the sweep along x one, of that along y two more


def reach(setup: Setup, precision: str, deepest: float) -> int:
    """Rows over which the coupling of a line along y falls to rounding.

    With m = g h dt^2 / (4 dy^2) + E dt / dy^2 and a velocity of a cell a step, the most that is stable, all taken
    upstream, a row is (m + 1) P_below - (2 m + 2) P + m P_above = 0: its solutions fade by s / (s + 1) a row,
    s = sqrt(1 + m), downstream, and those of slower or central flow fade faster.
    """
    dt, dy = setup.time_step, setup.grid.dy
    m = setup.gravity * deepest * (dt / (2.0 * dy)) ** 2 + setup.viscosity * dt / dy**2
    s = math.sqrt(1.0 + m)
    return math.ceil(math.log(EPSILON[precision]) / math.log(s / (s + 1.0)))


def rows_beside(setup: Setup, precision: str, deepest: float, safe: bool = True) -> int:
    """Rows of its neighbours that a band needs at each cut; safe : with room for water that rises."""
    return EDGE + reach(setup, precision, deepest * SAFETY**2 if safe else deepest)


@dataclass(frozen=True, eq=False)
class BandSetup(Setup):
    """The set-up of a band; a cell may be dry where one of the whole domain may."""

    dries: bool = True

    @property
    def may_dry(self) -> bool:
        """As of the whole domain."""
        return self.dries


def band_setup(setup: Setup, low: int, high: int) -> BandSetup:
    """The set-up of rows low .. high - 1."""
    rows, grid, maps = slice(low, high), setup.grid, setup.sources
    if maps is not None:
        names = ("rain", "stress", "accel_x", "accel_y", "coriolis")
        maps = replace(maps, **{name: getattr(maps, name)[rows] for name in names})
    found: dict[str, Any] = {name: getattr(setup, name) for name in Setup.__dataclass_fields__}
    found["grid"] = replace(grid, ny=high - low, y0=grid.y0 + low * grid.dy)
    found |= {"bed": setup.bed[rows], "friction": setup.friction[rows], "sources": maps}
    found["segments"] = pieces(setup.segments, grid.ny, low, high, low)
    return BandSetup(**found, dries=setup.may_dry)


def pieces(segments: Sequence[Segment], ny: int, low: int, high: int, origin: int) -> list[Segment]:
    """What segments of a domain of `ny` rows have of rows low .. high - 1, numbered from row `origin` on."""
    found = []
    for segment in segments:
        first, last = _cut(segment, ny, low, high)
        down = origin if segment.side in ("west", "east") else 0
        if first < last:
            found.append(replace(segment, first=first - down, last=last - down))
    return found


def _cut(segment: Segment, ny: int, low: int, high: int) -> tuple[int, int]:
    """First and last cell of a segment that lie in rows low .. high - 1; none if the first is not below the last."""
    if segment.side in ("west", "east"):
        return max(segment.first, low), min(segment.last, high)
    there = low == 0 if segment.side == "south" else high == ny
    return (segment.first, segment.last) if there else (0, 0)


class Band(Engine):
    """Rows first .. last - 1 of the domain, with `beside` rows more at each cut.

    Attributes
    ----------
    low, high : int
        First row of the domain that is held here, and the one behind the last.
    faces : tuple of int
        First face along y that is this band's own, and the one behind the last: of a seam the northern band has it.
    places : array
        Where the faces that it books stand in the book of the whole domain.
    """

    def __init__(self, setup: Setup, device: Device, precision: str, first: int, last: int, beside: int) -> None:
        ny = setup.grid.ny
        self.first, self.last = first, last
        self.low, self.high = max(first - beside, 0), min(last + beside, ny)
        self.faces = (first, last + (last == ny))
        super().__init__(band_setup(setup, self.low, self.high), device, precision)
        own = pieces(setup.segments, ny, first, last, self.low)
        self.balance = Balance(own, self.setup.grid, setup.bed, setup.sources, device)
        self.places = self._places(setup)

    def _places(self, setup: Setup) -> np.ndarray:
        sides, ny = OpenSides(setup.segments, setup.grid), setup.grid.ny
        found = [np.zeros(0, np.int64)]
        for segment, start in zip(sides.segments, sides.starts, strict=False):
            first, last = _cut(segment, ny, self.first, self.last)
            found.append(np.arange(first, last) + (start - segment.first))
        return np.concatenate(found)

    def held(self, values: np.ndarray, faces: bool = False) -> np.ndarray:
        """The rows held here of a field of the whole domain, at centres or at faces along y."""
        return values[self.low : self.high + faces]

    def own(self, array: Any, location: str) -> np.ndarray:
        """Host copy of this band's own rows of an array."""
        first, last = self.faces if location == "face_y" else (self.first, self.last)
        return unpadded(self.device.host(array), self.setup.grid, location)[first - self.low : last - self.low]

    def rows_from(self, other: Band, parity: int) -> list[tuple[Any, Any]]:
        """Rows held here that are another band's own, and there, after a step that began at `parity`."""
        at_cells = (self.low, self.high, other.first, other.last)
        at_faces = (self.low, self.high + 1, *other.faces)
        made, new = [], 1 - parity
        for name, at, (low, high, first, last) in (("z", 0, at_cells), ("p", new, at_cells), ("q", new, at_faces)):
            here, there = getattr(self, name)[at], getattr(other, name)[at]
            low, high = max(low, first), min(high, last)
            if low < high:  # row 0 of an array lies before the first one that is held
                own = slice(1 + low - self.low, 1 + high - self.low)
                made.append((here[own], there[1 + low - other.low : 1 + high - other.low]))
        return made
