"""Boundaries of a row-slab subdomain: clipped segments, and global numbers of open faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eagre.boundaries.open_sides import OpenSides
from eagre.boundaries.sides import FaceRange
from eagre.grid import Grid


def cut_segments(segments: Sequence[FaceRange], ny: int, low: int, high: int, origin: int) -> list[FaceRange]:
    """Clip the segments of a domain of `ny` rows to rows low .. high - 1, numbered from row `origin`.

    A clipped segment keeps the condition and the width of the whole segment, because a discharge is distributed over
    the whole segment.
    """
    found = []
    for segment in segments:
        first, last = _cut(segment, ny, low, high)
        down = origin if segment.side in ("west", "east") else 0
        if first < last:
            found.append(replace(segment, first=first - down, last=last - down))
    return found


def places_of_faces(segments: Sequence[FaceRange], grid: Grid, low: int, high: int) -> np.ndarray:
    """Return the global numbers (`OpenSides`) of the open faces at rows low .. high - 1."""
    sides = OpenSides(segments, grid)
    found = [np.zeros(0, np.int64)]
    for segment, start in zip(sides.segments, sides.starts, strict=False):
        first, last = _cut(segment, grid.ny, low, high)
        found.append(np.arange(first, last) + (start - segment.first))
    return np.concatenate(found)


def cut_book(book: np.ndarray, places: np.ndarray, rows: int) -> np.ndarray:
    """Return the rows of a slab from the water balance of the domain: its faces, then all sources."""
    return np.concatenate([book[places], book[places.size - rows :]])


def join_book(book: np.ndarray, places: np.ndarray, own: np.ndarray) -> None:
    """Copy the water balance of a slab into the water balance of the domain."""
    faces = places.size
    book[places], book[faces - len(own) :] = own[:faces], own[faces:]


def _cut(segment: FaceRange, ny: int, low: int, high: int) -> tuple[int, int]:
    """Return first and last of a segment, clipped to rows low .. high - 1; empty if first is not less than last."""
    if segment.side in ("west", "east"):
        return max(segment.first, low), min(segment.last, high)
    there = low == 0 if segment.side == "south" else high == ny
    return (segment.first, segment.last) if there else (0, 0)
