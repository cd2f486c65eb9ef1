"""A band of rows of a run on one device: an engine of its own, with two rows of its neighbours beside its own.

What bands wait and exchange for: `bands`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device
from eagre.boundaries import FaceRange
from eagre.boundaries.ghosts import LAYERS
from eagre.boundaries.subdomain import cut_book, cut_segments
from eagre.models.shallow_water.active_tiles import ActiveTiles
from eagre.models.shallow_water.engine import Engine
from eagre.models.shallow_water.schedules import March
from eagre.models.shallow_water.setup import Setup
from eagre.stepping.maps import cut_maps


@dataclass(frozen=True, eq=False)
class BandSetup(Setup):
    """The set-up of a band: `segments` reach over its halo, `faced` are those of its own rows."""

    faced: Sequence[FaceRange] = ()
    corners: np.ndarray | None = None  # bed over the datum with two more all round, where bands meet the neighbour's
    uniform_manning: bool = True  # on the whole domain

    def padded_bed(self) -> np.ndarray:
        assert self.corners is not None
        return self.corners


def band_setup(setup: Setup, first: int, last: int, corners: np.ndarray) -> BandSetup:
    """The set-up of rows first .. last - 1 of a run; corners : bed of the whole over its datum, padded by two."""
    whole = setup.grid
    grid = replace(whole, ny=last - first, y0=whole.y0 + first * whole.dy)
    across = [s for s in setup.segments if s.side in ("south", "north") and not s.condition.periodic]
    along = [s for s in setup.segments if s.side in ("west", "east")]
    low, high = max(first - LAYERS, 0), min(last + LAYERS, whole.ny)
    across = cut_segments(across, whole.ny, first, last, first)
    own = {one.name: getattr(setup, one.name) for one in fields(Setup)} | {
        "grid": grid,
        "bed": setup.bed[first : last + 1],
        "segments": cut_segments(along, whole.ny, low, high, first) + across,
        "manning": setup.manning[first:last],
        "terms": setup.terms.rows(first, last, grid),
        "first_row": first,
        "cross_sections": None if setup.cross_sections is None else setup.cross_sections.part(first, last, first),
    }
    return BandSetup(
        **own,
        faced=cut_segments(along, whole.ny, first, last, first) + across,
        corners=corners[first : last + 2 * LAYERS + 1],
        uniform_manning=setup.uniform_manning,
    )


class Rates:
    """Where the bands leave and find rates: own of even and of odd stages, zeros, those of all bands.

    Parameters
    ----------
    counts : sequence of int
        How many rates each band leaves.
    rank : int
    """

    def __init__(self, counts: Sequence[int], rank: int) -> None:
        self.count, self.size = counts[rank], 3 * counts[rank] + sum(counts)
        starts = 3 * counts[rank] + np.cumsum([0, *counts])
        self.of = [slice(int(start), int(start) + count) for start, count in zip(starts[:-1], counts, strict=True)]
        self.all = slice(3 * self.count, self.size)
        self.own = [slice(k * self.count, (k + 1) * self.count) for k in range(2)]
        self.zeros = slice(2 * self.count, 3 * self.count)


class StageLaunches(NamedTuple):
    """The launches of a stage: those that make the new state in the interior, and the boundary pass over it."""

    interior: list[Any]
    out: Any
    boundary: list[Any]


class Written(NamedTuple):
    """Marks where a stage has written `out`, or, without it, where its boundary pass has ended."""

    out: Any


class BandMarch(March):
    """The schedule of a band: its tails take the rates of all bands, its ghosts are filled after an exchange."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.rates, self.stages = self._all_rates, _split(self.listed or self.launches)
        self.ghosts, self.fill = self.fill, [[] for _ in self.fill]

    def _allocate_rates(self, count: int) -> None:
        places, self._stages_made = self.engine.places_of_rates, 0
        assert count == places.count
        self._all_rates = self.engine.device.zeros((places.size,), self.engine.bits)
        self._own_rates = [self._all_rates[own] for own in places.own]
        self.engine.rates = self._all_rates[places.all]

    def _active_tiles(self) -> ActiveTiles | None:
        """All bands make the same launches in every leg: a list only where it was asked for."""
        return super()._active_tiles() if self.engine.setup.active_tiles == "on" else None

    def stage(self, turn: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Any]:
        """As of one device, with a place for its rates that the next stage does not use."""
        self.rates = self._own_rates[self._stages_made % 2]
        self._stages_made += 1
        return [*super().stage(turn, q, old, out, **switches), Written(out)]

    def boundary(self, turn: int, q: Any, **switches: Any) -> list[Any]:
        """As of one device, marked as the end of a stage."""
        return [*super().boundary(turn, q, **switches), Written(None)]


def _split(launches: Sequence[Any]) -> list[StageLaunches]:
    """The stages of a round of steps from its launches and the marks between them."""
    found, marked = [], [k for k, one in enumerate(launches) if isinstance(one, Written)]
    for start, made, end in zip([-1, *marked[1::2]], marked[::2], marked[1::2], strict=False):
        interior, boundary = launches[start + 1 : made], launches[made + 1 : end]
        found.append(StageLaunches([*interior], launches[made].out, [*boundary]))
    return found


class Band(Engine):
    """Rows first .. last - 1 of the domain on one device.

    Attributes
    ----------
    places : array
        Where the faces that it books stand in the book of the whole domain.
    """

    places: np.ndarray

    def __init__(self, setup: BandSetup, device: Device, precision: str, first: int, rates: Rates) -> None:
        self.first, self.last = first, first + setup.grid.ny
        self.places_of_rates = rates
        super().__init__(setup, device, precision)

    def made_by(self) -> type[BandMarch]:
        """See `Engine.made_by`."""
        return BandMarch

    def resume_book(self, state: Mapping[str, np.ndarray], book: np.ndarray | None) -> dict[str, np.ndarray]:
        """A state of the whole domain as one of this band; book : of the whole domain, or None to begin a new one."""
        own = {**state, "q": state["q"][:, self.first : self.last + 2 * LAYERS]}
        own |= cut_maps(state, self.first, self.last)
        if book is None:
            return {**own, "open_sides": np.full((1, 3), -1)}
        return {**own, **self.balance.state(), "book": cut_book(book, self.places, len(self.balance.book))}
