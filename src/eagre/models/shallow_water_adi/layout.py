"""How fields lie in memory: padded rows, so that a vector load is aligned and every neighbour exists.

A field has `rows_of` rows of `pitch` columns. Cell (j, i), its west face and its south face are at
[j + 1, PADDING + i]: p of face i = 0 .. nx, q of face j = 0 .. ny. What lies outside is 0; the bed
there is so high that it is never wet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.grid import Grid
from eagre.terms.collect import Terms

PADDING = 32
EXTRA_ROWS = 128  # rows of a block on a GPU, at most
DEVICE_WORDS = 8  # arrays on the device: two of z, p and q, bed, friction


def pitch(nx: int) -> int:
    """Columns of a padded row: a multiple of 32 with at least 32 behind the last face."""
    return PADDING + 32 * (-(-(nx + 1) // 32) + 1)


def rows_of(ny: int) -> int:
    """Padded rows: one before the first, and room for the last block of rows of a GPU behind the last."""
    return ny + 3 + EXTRA_ROWS


def maps_of(terms: Terms) -> int:
    """Maps of the terms on a device: of water for both sweeps, of forces for one each."""
    return 2 * terms.maps("water") + terms.maps("x") + terms.maps("y")


def device_bytes(ny: int, nx: int, itemsize: int, maps: int) -> int:
    """Bytes of a model's arrays on a device; maps : of terms."""
    return (DEVICE_WORDS + maps) * rows_of(ny) * pitch(nx) * itemsize


def padded(values: np.ndarray, grid: Grid, real: Any, outside: float) -> np.ndarray:
    """`values` at centres or faces in a padded array."""
    array = np.full((rows_of(grid.ny), pitch(grid.nx)), outside, real)
    ny, nx = values.shape
    array[1 : 1 + ny, PADDING : PADDING + nx] = values
    return array


def unpadded(array: np.ndarray, grid: Grid, location: str) -> np.ndarray:
    """The values at `location` of a padded array."""
    ny, nx = grid.shape_of(location)
    return array[1 : 1 + ny, PADDING : PADDING + nx].copy()


def faces_of(centres: np.ndarray, along: str) -> np.ndarray:
    """Means of neighbouring centres at the faces along x or y, the nearest centre at the ends."""
    axis = 1 if along == "x" else 0
    low = np.concatenate([centres.take([0], axis), centres], axis)
    high = np.concatenate([centres, centres.take([-1], axis)], axis)
    return 0.5 * (low + high)
