"""What a boundary is for a band of rows of a domain: pieces of its segments, and places of its open faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eagre.boundaries.open_sides import OpenSides
from eagre.boundaries.sides import FaceRange
from eagre.grid import Grid


def cut_segments(segments: Sequence[FaceRange], ny: int, low: int, high: int, origin: int) -> list[FaceRange]:
    """What segments of a domain of `ny` rows have of rows low .. high - 1, numbered from row `origin` on.

    A piece keeps the condition and the width of its whole segment: a discharge is spread over all of it.
    """
    found = []
    for segment in segments:
        first, last = _cut(segment, ny, low, high)
        down = origin if segment.side in ("west", "east") else 0
        if first < last:
            found.append(replace(segment, first=first - down, last=last - down))
    return found


def places_of_faces(segments: Sequence[FaceRange], grid: Grid, low: int, high: int) -> np.ndarray:
    """Where open faces beside rows low .. high - 1 stand among those of the whole domain (`OpenSides`)."""
    sides = OpenSides(segments, grid)
    found = [np.zeros(0, np.int64)]
    for segment, start in zip(sides.segments, sides.starts, strict=False):
        first, last = _cut(segment, grid.ny, low, high)
        found.append(np.arange(first, last) + (start - segment.first))
    return np.concatenate(found)


def cut_book(book: np.ndarray, places: np.ndarray, rows: int) -> np.ndarray:
    """The `rows` of a domain's book that a band keeps: of its faces (`places_of_faces`), then those of all water."""
    return np.concatenate([book[places], book[places.size - rows :]])


def join_book(book: np.ndarray, places: np.ndarray, own: np.ndarray) -> None:
    """Enter a band's book into that of the domain."""
    faces = places.size
    book[places], book[faces - len(own) :] = own[:faces], own[faces:]


def _cut(segment: FaceRange, ny: int, low: int, high: int) -> tuple[int, int]:
    """First and last cell of a segment that lie in rows low .. high - 1; none if the first is not below the last."""
    if segment.side in ("west", "east"):
        return max(segment.first, low), min(segment.last, high)
    there = low == 0 if segment.side == "south" else high == ny
    return (segment.first, segment.last) if there else (0, 0)
