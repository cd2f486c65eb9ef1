"""Domain decomposition: the cells of each subdomain, and the halo cells of its neighbours.

A subdomain *owns* a block of cells; every cell of the grid has one owner. It *holds* up to `halo` additional cells at
each subdomain interface. Cell indices are global; indices below 0 or beyond the end refer to cells across a periodic
boundary. Row slabs are blocks that are decomposed along one axis (`bands`).
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
from eagre.backend.group import Group, Message
from eagre.errors import InputError, MemoryNeededError
from eagre.fields import STAGGERED

Range = tuple[int, int]  # first cell, and one past the last


@dataclass(frozen=True)
class Decomposition:
    """Decomposition of a grid into blocks, numbered by rank in C order (last axis fastest).

    Parameters
    ----------
    block_starts : tuple of tuples of int
        For each axis, the outermost first: first cell of each block, and the total number of cells.
    halo : tuple of int
        For each axis, width of the halo at a subdomain interface, cells.
    leading : tuple of int
        For each axis, number of array elements before the first cell of a subdomain.
    overlap : bool
        Whether the first cell of the arrays is the first cell held (True) or the first cell owned (False).
    periodic : tuple of bool
        For each axis, whether the first block is the neighbour of the last.
    padded : bool
        Whether regions include the padding of the array along axes that are not decomposed; rows are then contiguous.
    trailing : tuple of int
        For each axis, additional halo cells after a subdomain, where available: grids that are coarsened by two need
        odd numbers.
    """

    block_starts: tuple[tuple[int, ...], ...]
    halo: tuple[int, ...]
    leading: tuple[int, ...]
    overlap: bool = False
    periodic: tuple[bool, ...] = ()
    padded: bool = True
    trailing: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells of the grid along each axis."""
        return tuple(ends[-1] for ends in self.block_starts)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Number of blocks along each axis."""
        return tuple(len(ends) - 1 for ends in self.block_starts)

    @cached_property
    def count(self) -> int:
        """Number of subdomains."""
        return math.prod(self.blocks)

    def is_periodic(self, axis: int) -> bool:
        """Return whether an axis is periodic."""
        return bool(self.periodic) and self.periodic[axis]

    def owned(self, rank: int, location: str = "centre") -> tuple[Range, ...]:
        """Return the range of cells owned along each axis; a shared face belongs to the subdomain after it."""
        ranges = []
        for axis, block in enumerate(np.unravel_index(rank, self.blocks)):
            ends = self.block_starts[axis]
            last = int(block + 2 == len(ends) and self._extra(axis, location))
            ranges.append((ends[block], ends[block + 1] + last))
        return tuple(ranges)

    def held(self, rank: int, location: str = "centre") -> tuple[Range, ...]:
        """Return the range of cells held, including the halo, along each axis."""
        ranges = []
        for axis, (first, last) in enumerate(self.owned(rank)):
            decomposed, periodic = self.blocks[axis] > 1, self.is_periodic(axis)
            halo, size = (self.halo[axis] if decomposed else 0), self.shape[axis]
            low, high = first - halo, last + halo + (self.trailing[axis] if decomposed and self.trailing else 0)
            if not periodic:
                low, high = max(low, 0), min(high, size)
            ranges.append((low, high + self._extra(axis, location)))
        return tuple(ranges)

    def region(self, rank: int, ranges: Sequence[Range]) -> tuple[Any, ...]:
        """Return the index into a subdomain array for global cells; axes before the grid axes are not sliced."""
        starts = [first for first, _ in (self.held(rank) if self.overlap else self.owned(rank))]
        index: list[Any] = [...]
        for axis, ((first, last), start, leading) in enumerate(zip(ranges, starts, self.leading, strict=True)):
            whole = self.padded and self.blocks[axis] == 1
            index.append(slice(None) if whole else slice(first - start + leading, last - start + leading))
        return tuple(index)

    def messages(self, fields: Mapping[str, str], targets: Iterable[int] | None = None) -> list[Message]:
        """Return the halo exchange messages of `fields` (locations by name), ordered by target, source and field."""
        messages = []
        for target in range(self.count) if targets is None else targets:
            for source in range(self.count):
                for shift in self._shifts(target == source):
                    for field, location in fields.items():
                        messages += self._messages(field, location, source, target, shift)
        return messages

    def _shifts(self, same: bool) -> list[tuple[int, ...]]:
        """Return the shifts of a source in cells: multiples of the period along decomposed periodic axes."""
        some = [
            (-size, 0, size) if self.is_periodic(axis) and self.blocks[axis] > 1 else (0,)
            for axis, size in enumerate(self.shape)
        ]
        return [shift for shift in product(*some) if not (same and not any(shift))]

    def _messages(self, field: str, location: str, source: int, target: int, shift: tuple[int, ...]) -> list[Message]:
        here, there = [], []
        for (low, high), (first, last), move in zip(
            self.held(target, location), self.owned(source, location), shift, strict=True
        ):
            low, high = max(low, first + move), min(high, last + move)
            if low >= high:
                return []
            here.append((low, high))
            there.append((low - move, high - move))
        return [Message(field, source, target, self.region(source, there), self.region(target, here))]

    def _extra(self, axis: int, location: str) -> bool:
        return axis - len(self.block_starts) in STAGGERED[location] and not self.is_periodic(axis)


def bands(rows: int, columns: int, heights: Sequence[int], **options: Any) -> Decomposition:
    """Return row slabs from south to north; options: halo and leading along y and x, and others of `Decomposition`."""
    return Decomposition(((0, *np.cumsum(heights).tolist()), (0, columns)), **options)


def equal_parts(cells: int, count: int) -> list[int]:
    """Return `count` parts of `cells` that differ by at most one; larger parts come first."""
    return [cells // count + (rank < cells % count) for rank in range(count)]


def total(values: Sequence[float]) -> float:
    """Return the sum over subdomains in the order of ranks."""
    return sum(values[1:], values[0])


def extreme(values: Sequence[float], of: Callable[[Sequence[float]], float] = max) -> float:
    """Return the maximum (or minimum) over subdomains; NaN if any value is NaN."""
    return float("nan") if np.isnan(values).any() else of(values)


def check_thickness(group: Group, cells: int, min_cells: int, what: str, allowed: str) -> None:
    """Raise `InputError` unless each device of a group gets at least `min_cells` cells along the decomposed axis.

    what : description of the cells, for the message; allowed : alternatives, for the message.
    """
    count = len(group.devices)
    if cells // count < min_cells:
        max_devices = cells // min_cells
        raise InputError(
            f"{count} devices for {cells} {what}",
            allowed=f"{f'up to {max_devices} devices' if max_devices > 1 else 'one device'}: {allowed}",
            fix=f"mpirun -n {max(1, max_devices)} ..." if group.of_processes else f'device = "{group.kind}"',
            problem="The domain is too small for this number of devices.",
        )


def check_memory_of_each(group: Group, needed: Sequence[int]) -> None:
    """Raise `MemoryNeededError` unless the memory needed by each subdomain, bytes, fits its device."""
    by_device: dict[Device, int] = {}
    for device, size in zip(group.devices, needed, strict=True):
        by_device[device] = by_device.get(device, 0) + size
    for device, whole in by_device.items():
        if whole > device.free_memory():
            raise MemoryNeededError(whole, device.free_memory(), str(device))
