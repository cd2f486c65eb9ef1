"""Boundaries of a row-slab subdomain: clipped segments, and global numbers of open faces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eagre.boundaries.open_sides import OpenSides
from eagre.boundaries.sides import FaceRange
from eagre.grid import Grid


def clip_segments(segments: Sequence[FaceRange], ny: int, low: int, high: int, origin: int) -> list[FaceRange]:
    """Clip the segments of a domain of `ny` rows to rows low .. high - 1, numbered from row `origin`.

    A clipped segment keeps the condition and the width of the whole segment, because a discharge is distributed over
    the whole segment.
    """
    clipped = []
    for segment in segments:
        first, last = _clip(segment, ny, low, high)
        down = origin if segment.side in ("west", "east") else 0
        if first < last:
            clipped.append(replace(segment, first=first - down, last=last - down))
    return clipped


def global_face_numbers(segments: Sequence[FaceRange], grid: Grid, low: int, high: int) -> np.ndarray:
    """Return the global numbers (`OpenSides`) of the open faces at rows low .. high - 1."""
    sides = OpenSides(segments, grid)
    numbers = [np.zeros(0, np.int64)]
    for segment, start in zip(sides.segments, sides.starts, strict=False):
        first, last = _clip(segment, grid.ny, low, high)
        numbers.append(np.arange(first, last) + (start - segment.first))
    return np.concatenate(numbers)


def slab_sums(sums: np.ndarray, face_numbers: np.ndarray, rows: int) -> np.ndarray:
    """Return the rows of a slab from the water balance of the domain: its faces, then all sources."""
    return np.concatenate([sums[face_numbers], sums[face_numbers.size - rows :]])


def join_sums(sums: np.ndarray, face_numbers: np.ndarray, local_sums: np.ndarray) -> None:
    """Copy the water balance of a slab into the water balance of the domain."""
    faces = face_numbers.size
    sums[face_numbers], sums[faces - len(local_sums) :] = local_sums[:faces], local_sums[faces:]


def _clip(segment: FaceRange, ny: int, low: int, high: int) -> tuple[int, int]:
    """Return first and last of a segment, clipped to rows low .. high - 1; empty if first is not less than last."""
    if segment.side in ("west", "east"):
        return max(segment.first, low), min(segment.last, high)
    there = low == 0 if segment.side == "south" else high == ny
    return (segment.first, segment.last) if there else (0, 0)
