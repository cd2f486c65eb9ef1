"""Memory layout of the fields: padded rows, so that vector loads are aligned and every neighbour exists.

Cell (j, i), its west face and its south face are at [j + 1, PADDING + i]: p of face i = 0 .. nx, q of face j = 0 .. ny.
Values outside the domain are 0; the bed outside is so high that it is never wet.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.fields import Layout
from eagre.grid import Grid
from eagre.terms.collect import Terms
from eagre.terms.infiltration import soil_array_count

PADDING = 32  # columns before the first column of the domain
EXTRA_ROWS = 128  # maximum rows of a block on a GPU
MAX_MARGIN = (3 + EXTRA_ROWS, 3 * PADDING)  # maximum excess rows and columns of arrays over the grid
DEVICE_WORDS = 8  # arrays on the device: two of z, p and q, bed, friction


def layout_of(cells: tuple[int, int]) -> Layout:
    """Return the rows and columns of a padded field.

    One row precedes the first. The last block of rows of a GPU fits after the last row. Rows have a multiple of 32
    columns, with at least 32 after the last face.
    """
    return Layout(cells, leading=(1, PADDING), trailing=(2 + EXTRA_ROWS, PADDING + 1), pitch=32)


def maps_of(terms: Terms, kind: str) -> int:
    """Return the number of maps of the terms on a device.

    Mass sources have a map for both sweeps and forces for one. Infiltration has its quantities and its sum.
    """
    time_varying = terms.record_maps(kind, ("water", "x")) + terms.record_maps(kind, ("water", "y"))
    soil = soil_array_count(terms, "single", 1) + terms.maps("soil")
    return time_varying + 2 * terms.maps("water") + terms.maps("x") + terms.maps("y") + soil


def device_bytes(ny: int, nx: int, itemsize: int, maps: int) -> int:
    """Return the bytes of the arrays of a model on a device; maps : number of maps of the terms."""
    return (DEVICE_WORDS + maps) * math.prod(layout_of((ny, nx)).shape) * itemsize


def padded(values: np.ndarray, grid: Grid, real: Any, outside: float) -> np.ndarray:
    """Return `values` at centres or faces in a padded array."""
    return layout_of(grid.shape).padded(values, real, outside)


def unpadded(array: np.ndarray, grid: Grid, location: str) -> np.ndarray:
    """Return the values at `location` of a padded array."""
    return layout_of(grid.shape).unpadded(array, location)


def faces_of(centres: np.ndarray, along: str) -> np.ndarray:
    """Return the means of adjacent centres at the faces along x or y, and the nearest centre at the ends."""
    axis = 1 if along == "x" else 0
    low = np.concatenate([centres.take([0], axis), centres], axis)
    high = np.concatenate([centres, centres.take([-1], axis)], axis)
    return 0.5 * (low + high)
