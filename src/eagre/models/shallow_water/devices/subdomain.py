"""Row-slab subdomain of the explicit model on one device: an engine with a halo of two rows.

For the synchronisation and the halo exchange see `multi_device`.
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
from eagre.models.shallow_water.schedules import RowStreaming
from eagre.models.shallow_water.setup import Setup
from eagre.stepping.maps import maps_of_rows


@dataclass(frozen=True, eq=False)
class SubdomainSetup(Setup):
    """Set-up of a row slab: `segments` include the halo rows, `faced` only the own rows."""

    faced: Sequence[FaceRange] = ()
    corners: np.ndarray | None = None  # bed above the datum with a margin of two, from neighbours at interfaces
    uniform_manning: bool = True  # whether Manning's n is uniform on the whole domain

    def padded_bed(self) -> np.ndarray:
        assert self.corners is not None
        return self.corners


def subdomain_setup(setup: Setup, first: int, last: int, corners: np.ndarray) -> SubdomainSetup:
    """Return the set-up of rows first .. last - 1; corners : bed of the whole domain above the datum, padded by two."""
    whole = setup.grid
    grid = replace(whole, ny=last - first, y0=whole.y0 + first * whole.dy)
    across = [s for s in setup.segments if s.side in ("south", "north") and not s.condition.periodic]
    along = [s for s in setup.segments if s.side in ("west", "east")]
    low, high = max(first - LAYERS, 0), min(last + LAYERS, whole.ny)
    across = clip_segments(across, whole.ny, first, last, first)
    options = {one.name: getattr(setup, one.name) for one in fields(Setup)} | {
        "grid": grid,
        "bed": setup.bed[first : last + 1],
        "segments": clip_segments(along, whole.ny, low, high, first) + across,
        "manning": setup.manning[first:last],
        "terms": setup.terms.rows(first, last, grid),
        "first_row": first,
        "cross_sections": None if setup.cross_sections is None else setup.cross_sections.subset(first, last, first),
    }
    return SubdomainSetup(
        **options,
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
        self.local = [slice(k * self.count, (k + 1) * self.count) for k in range(2)]
        self.zeros = slice(2 * self.count, 3 * self.count)


class StageLaunches(NamedTuple):
    """Launches of a stage: interior update and boundary pass."""

    interior: list[Any]
    out: Any
    boundary: list[Any]


class Written(NamedTuple):
    """Marker in a list of launches: a stage has written `out`, or, for None, its boundary pass has ended."""

    out: Any


class SubdomainStreaming(RowStreaming):
    """Schedule of a row slab: tails use the rates of all slabs, and ghosts are filled after a halo exchange."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.rates, self.stages = self._all_rates, _split(self.listed or self.launches)
        self.ghosts, self.fill = self.fill, [[] for _ in self.fill]

    def _allocate_rates(self, count: int) -> None:
        slices, self._stage_count = self.engine.rate_slices, 0
        assert count == slices.count
        self._all_rates = self.engine.device.zeros((slices.size,), self.engine.bits)
        self._local_rates = [self._all_rates[one] for one in slices.local]
        self.engine.rates = self._all_rates[slices.all]

    def _active_tiles(self) -> ActiveTiles | None:
        """Return the active-tile list only if requested, because all slabs must have the same launches."""
        return super()._active_tiles() if self.engine.setup.active_tiles == "on" else None

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Any]:
        """Return the launches of a stage, with a rate buffer that the next stage does not use."""
        self.rates = self._local_rates[self._stage_count % 2]
        self._stage_count += 1
        return [*super().stage(phase, q, old, out, **switches), Written(out)]

    def boundary(self, phase: int, q: Any, **switches: Any) -> list[Any]:
        """Return the launches of a boundary pass, followed by the marker of the end of a stage."""
        return [*super().boundary(phase, q, **switches), Written(None)]


def _split(launches: Sequence[Any]) -> list[StageLaunches]:
    """Return the stages of a launch cycle from its launches and the markers between them."""
    stages, marked = [], [k for k, one in enumerate(launches) if isinstance(one, Written)]
    for start, written, end in zip([-1, *marked[1::2]], marked[::2], marked[1::2], strict=False):
        interior, boundary = launches[start + 1 : written], launches[written + 1 : end]
        stages.append(StageLaunches([*interior], launches[written].out, [*boundary]))
    return stages


class Subdomain(Engine):
    """Engine of rows first .. last - 1 of the domain on one device.

    Attributes
    ----------
    places : array
        Global numbers of its boundary faces in the water balance of the domain.
    """

    global_faces: np.ndarray

    def __init__(self, setup: SubdomainSetup, device: Device, precision: str, first: int, rates: Rates) -> None:
        self.first, self.last = first, first + setup.grid.ny
        self.rate_slices = rates
        super().__init__(setup, device, precision)

    def schedule_class(self) -> type[SubdomainStreaming]:
        """See `Engine.made_by`."""
        return SubdomainStreaming

    def local_state(self, state: Mapping[str, np.ndarray], budget: np.ndarray | None) -> dict[str, np.ndarray]:
        """Return the part of a domain state for this slab.

        budget : balance of the whole domain, or None to reset it.
        """
        local = {**state, "q": state["q"][:, self.first : self.last + 2 * LAYERS]}
        local |= maps_of_rows(state, self.first, self.last)
        if budget is None:
            return {**local, "open_sides": np.full((1, 3), -1)}
        return {**local, **self.balance.state(), "book": slab_sums(budget, self.global_faces, len(self.balance.budget))}
