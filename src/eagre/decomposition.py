"""Subdomains of a grid: which cells each device has, and which of its neighbours' it needs beside them.

A subdomain *owns* a block of cells; every cell of the grid has one owner. It *holds* up to `halo` cells more across
each cut. Indices of cells are those of the whole grid, and below 0 or beyond its end across a periodic cut. Bands of
rows are blocks that are cut along one axis (`bands`); nothing here is bound to that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from eagre.backend.device import Device
from eagre.backend.exchange import Message
from eagre.backend.group import Group
from eagre.errors import InputError, MemoryNeededError
from eagre.fields import STAGGERED

Range = tuple[int, int]  # first cell, and the one behind the last


@dataclass(frozen=True)
class Decomposition:
    """Blocks of a grid, numbered by ranks as C arrays are: the last axis fastest.

    Parameters
    ----------
    cuts : tuple of tuples of int
        For each axis, the outermost first, the first cell of each block, and the number of cells.
    halo : tuple of int
        For each axis, cells held of the neighbours across a cut.
    before : tuple of int
        For each axis, elements of a subdomain's arrays before the first of its cells.
    overlap : bool
        Whether the first cell of its arrays is the first one held; else it is the first one owned.
    periodic : tuple of bool
        For each axis, whether the first block is the neighbour of the last.
    padded : bool
        Whether regions reach over all of an array along an axis that is not cut, with what lies outside the grid:
        then whole rows lie in one piece.
    behind : tuple of int
        For each axis, cells held beyond the halo behind a subdomain, as far as there are some: grids that are halved
        need odd numbers.
    """

    cuts: tuple[tuple[int, ...], ...]
    halo: tuple[int, ...]
    before: tuple[int, ...]
    overlap: bool = False
    periodic: tuple[bool, ...] = ()
    padded: bool = True
    behind: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of the grid along each axis."""
        return tuple(ends[-1] for ends in self.cuts)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Blocks along each axis."""
        return tuple(len(ends) - 1 for ends in self.cuts)

    @cached_property
    def count(self) -> int:
        """Number of subdomains."""
        return math.prod(self.blocks)

    def is_periodic(self, axis: int) -> bool:
        """Whether an axis closes on itself."""
        return bool(self.periodic) and self.periodic[axis]

    def own(self, rank: int, location: str = "centre") -> tuple[Range, ...]:
        """Cells of a subdomain along each axis; of two that share a face the one behind it has it."""
        ranges = []
        for axis, place in enumerate(np.unravel_index(rank, self.blocks)):
            ends = self.cuts[axis]
            last = int(place + 2 == len(ends) and self._extra(axis, location))
            ranges.append((ends[place], ends[place + 1] + last))
        return tuple(ranges)

    def held(self, rank: int, location: str = "centre") -> tuple[Range, ...]:
        """Cells of a subdomain and of its halo along each axis."""
        ranges = []
        for axis, (first, last) in enumerate(self.own(rank)):
            cut, wraps = self.blocks[axis] > 1, self.is_periodic(axis)
            halo, size = (self.halo[axis] if cut else 0), self.shape[axis]
            low, high = first - halo, last + halo + (self.behind[axis] if cut and self.behind else 0)
            if not wraps:
                low, high = max(low, 0), min(high, size)
            ranges.append((low, high + self._extra(axis, location)))
        return tuple(ranges)

    def region(self, rank: int, ranges: Sequence[Range]) -> tuple[Any, ...]:
        """Index into an array of a subdomain for cells of the grid; axes before those of the grid stay whole."""
        starts = [first for first, _ in (self.held(rank) if self.overlap else self.own(rank))]
        found: list[Any] = [...]
        for axis, ((first, last), start, before) in enumerate(zip(ranges, starts, self.before, strict=True)):
            whole = self.padded and self.blocks[axis] == 1
            found.append(slice(None) if whole else slice(first - start + before, last - start + before))
        return tuple(found)

    def messages(self, fields: Mapping[str, str], targets: Iterable[int] | None = None) -> list[Message]:
        """What fills the halos of `fields`, names with their locations: by target, source, field."""
        found = []
        for target in range(self.count) if targets is None else targets:
            for source in range(self.count):
                for shift in self._shifts(target == source):
                    for field, location in fields.items():
                        found += self._messages(field, location, source, target, shift)
        return found

    def _shifts(self, same: bool) -> list[tuple[int, ...]]:
        """By how many cells a source may be moved: whole periods along axes that are cut and periodic."""
        some = [
            (-size, 0, size) if self.is_periodic(axis) and self.blocks[axis] > 1 else (0,)
            for axis, size in enumerate(self.shape)
        ]
        return [shift for shift in product(*some) if not (same and not any(shift))]

    def _messages(self, field: str, location: str, source: int, target: int, shift: tuple[int, ...]) -> list[Message]:
        here, there = [], []
        for (low, high), (first, last), move in zip(
            self.held(target, location), self.own(source, location), shift, strict=True
        ):
            low, high = max(low, first + move), min(high, last + move)
            if low >= high:
                return []
            here.append((low, high))
            there.append((low - move, high - move))
        return [Message(field, source, target, self.region(source, there), self.region(target, here))]

    def _extra(self, axis: int, location: str) -> bool:
        return axis - len(self.cuts) in STAGGERED[location] and not self.is_periodic(axis)

    # -- host arrays --------------------------------------------------------------------------------

    def scatter(self, values: np.ndarray, rank: int, location: str = "centre") -> np.ndarray:
        """What a subdomain holds of a field of the whole grid, whose last axes are the grid's."""
        held = self.held(rank, location)
        if all(low >= 0 and high <= size for (low, high), size in zip(held, values.shape[-len(held) :], strict=True)):
            return values[(..., *(slice(*one) for one in held))]
        for axis, one in enumerate(held):
            values = values.take(range(*one), axis=axis - len(held), mode="wrap")
        return values

    def gather(self, parts: Sequence[np.ndarray], location: str = "centre") -> np.ndarray:
        """A field of the whole grid from what each subdomain owns of it."""
        sizes = [size + self._extra(axis, location) for axis, size in enumerate(self.shape)]
        whole = np.empty((*parts[0].shape[: -len(sizes)], *sizes), parts[0].dtype)
        for rank, part in enumerate(parts):
            whole[(..., *(slice(*one) for one in self.own(rank, location)))] = part
        return whole

    def own_part(self, rank: int, array: np.ndarray, location: str = "centre") -> np.ndarray:
        """What a subdomain owns of a field, from a host copy of its array."""
        starts = [first for first, _ in (self.held(rank) if self.overlap else self.own(rank))]
        places = zip(self.own(rank, location), starts, self.before, strict=True)
        return array[(..., *(slice(first - start + k, last - start + k) for (first, last), start, k in places))]


def bands(rows: int, columns: int, heights: Sequence[int], **options: Any) -> Decomposition:
    """Bands of rows from south to north; options: halo and before along y and x, and others of `Decomposition`."""
    return Decomposition(((0, *np.cumsum(heights).tolist()), (0, columns)), **options)


def equal_parts(cells: int, count: int) -> list[int]:
    """Cells of each of `count` parts: as equal as they can be, the larger ones first."""
    return [cells // count + (part < cells % count) for part in range(count)]


def total(values: Sequence[float]) -> float:
    """Sum over subdomains, always in the order of their ranks."""
    return sum(values[1:], values[0])


def extreme(values: Sequence[float], of: Callable[[Sequence[float]], float] = max) -> float:
    """Largest (or smallest) value over subdomains; not a number if any is not."""
    return float("nan") if np.isnan(values).any() else of(values)


def check_thickness(group: Group, cells: int, least: int, what: str, allowed: str) -> None:
    """Raise `InputError` unless each of a group's devices gets `least` cells or more along the axis that is cut.

    what : of the cells, for the message; allowed : what else can be done.
    """
    count = len(group.members)
    if cells // count < least:
        most = cells // least
        raise InputError(
            f"{count} devices for {cells} {what}",
            allowed=f"{f'up to {most} devices' if most > 1 else 'one device'}: {allowed}",
            fix=f'device = "{group.kind}"',
        )


def check_memory_of_each(group: Group, needed: Sequence[int]) -> None:
    """Raise `MemoryNeededError` unless what each subdomain needs, bytes, fits its device."""
    by_device: dict[Device, int] = {}
    for member, part in zip(group.members, needed, strict=True):
        by_device[member] = by_device.get(member, 0) + part
    for member, whole in by_device.items():
        if whole > member.free_memory():
            raise MemoryNeededError(whole, member.free_memory(), str(member))
