"""Row-slab subdomain of the explicit model on one device: an engine with a halo of two rows.

For the synchronisation and the halo exchange see `bands`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device
from eagre.boundaries import FaceRange
from eagre.boundaries.ghosts import LAYERS
from eagre.boundaries.subdomain import clip_segments, slab_sums
from eagre.models.shallow_water.active_tiles import ActiveTiles
from eagre.models.shallow_water.engine import Engine
from eagre.models.shallow_water.schedules import March
from eagre.models.shallow_water.setup import Setup
from eagre.stepping.maps import cut_maps


@dataclass(frozen=True, eq=False)
class BandSetup(Setup):
    """Set-up of a row slab: `segments` include the halo rows, `faced` only the own rows."""

    faced: Sequence[FaceRange] = ()
    corners: np.ndarray | None = None  # bed above the datum with a margin of two, from neighbours at interfaces
    uniform_manning: bool = True  # whether Manning's n is uniform on the whole domain

    def padded_bed(self) -> np.ndarray:
        assert self.corners is not None
        return self.corners


def band_setup(setup: Setup, first: int, last: int, corners: np.ndarray) -> BandSetup:
    """Return the set-up of rows first .. last - 1; corners : bed of the whole domain above the datum, padded by two."""
    whole = setup.grid
    grid = replace(whole, ny=last - first, y0=whole.y0 + first * whole.dy)
    across = [s for s in setup.segments if s.side in ("south", "north") and not s.condition.periodic]
    along = [s for s in setup.segments if s.side in ("west", "east")]
    low, high = max(first - LAYERS, 0), min(last + LAYERS, whole.ny)
    across = clip_segments(across, whole.ny, first, last, first)
    own = {one.name: getattr(setup, one.name) for one in fields(Setup)} | {
        "grid": grid,
        "bed": setup.bed[first : last + 1],
        "segments": clip_segments(along, whole.ny, low, high, first) + across,
        "manning": setup.manning[first:last],
        "terms": setup.terms.rows(first, last, grid),
        "first_row": first,
        "cross_sections": None if setup.cross_sections is None else setup.cross_sections.subset(first, last, first),
    }
    return BandSetup(
        **own,
        faced=clip_segments(along, whole.ny, first, last, first) + across,
        corners=corners[first : last + 2 * LAYERS + 1],
        uniform_manning=setup.uniform_manning,
    )


class Rates:
    """Layout of the rate buffer of a slab: own rates of even and odd stages, zeros, rates of all slabs.

    Parameters
    ----------
    counts : sequence of int
        Number of rates of each slab.
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
    """Launches of a stage: interior update and boundary pass."""

    interior: list[Any]
    out: Any
    boundary: list[Any]


class Written(NamedTuple):
    """Marker in a list of launches: a stage has written `out`, or, for None, its boundary pass has ended."""

    out: Any


class BandMarch(March):
    """Schedule of a row slab: tails use the rates of all slabs, and ghosts are filled after a halo exchange."""

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
        """Return the active-tile list only if requested, because all slabs must have the same launches."""
        return super()._active_tiles() if self.engine.setup.active_tiles == "on" else None

    def stage(self, turn: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Any]:
        """Return the launches of a stage, with a rate buffer that the next stage does not use."""
        self.rates = self._own_rates[self._stages_made % 2]
        self._stages_made += 1
        return [*super().stage(turn, q, old, out, **switches), Written(out)]

    def boundary(self, turn: int, q: Any, **switches: Any) -> list[Any]:
        """Return the launches of a boundary pass, followed by the marker of the end of a stage."""
        return [*super().boundary(turn, q, **switches), Written(None)]


def _split(launches: Sequence[Any]) -> list[StageLaunches]:
    """Return the stages of a step graph from its launches and the markers between them."""
    found, marked = [], [k for k, one in enumerate(launches) if isinstance(one, Written)]
    for start, made, end in zip([-1, *marked[1::2]], marked[::2], marked[1::2], strict=False):
        interior, boundary = launches[start + 1 : made], launches[made + 1 : end]
        found.append(StageLaunches([*interior], launches[made].out, [*boundary]))
    return found


class Band(Engine):
    """Engine of rows first .. last - 1 of the domain on one device.

    Attributes
    ----------
    places : array
        Global numbers of its boundary faces in the water balance of the domain.
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
        """Return the part of a domain state for this slab; book : balance of the whole domain, or None to reset it."""
        own = {**state, "q": state["q"][:, self.first : self.last + 2 * LAYERS]}
        own |= cut_maps(state, self.first, self.last)
        if book is None:
            return {**own, "open_sides": np.full((1, 3), -1)}
        return {**own, **self.balance.state(), "book": slab_sums(book, self.places, len(self.balance.book))}
