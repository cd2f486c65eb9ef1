"""Crests of a raster that survive on corners: levees, dams and road embankments one cell wide.

A raster cell has one elevation, a model's cell the mean of four corners. With corners that are means of the cells
around them a levee one cell wide loses half its height. Where a crest passes, corners take its height.

A cell is on a crest if it is higher than both neighbours along x, along y or along a diagonal; its prominence is how
much higher than the higher of them, at its best. A point between cells (a corner, the middle of an edge) takes the
mean of those around it that are on a crest, and rises by no more than their largest prominence: on a smooth ridge,
whose prominence is of the order dx^2, the order of everything else stays. Points beside a gully, a cell that crests
pass on both sides, stay the mean: else a channel one cell wide between levees would be filled.
"""

from __future__ import annotations

import numpy as np

WAYS = ((0, 1), (1, 0), (1, 1), (1, -1))


def prominence_of(values: np.ndarray) -> np.ndarray:
    """How much cells, (ny, nx), stand over the higher of two neighbours across a crest; 0 beside it.

    Beyond the edge the ground goes on with its slope.
    """
    ny, nx = values.shape
    around = values
    for axis, cells in enumerate(values.shape):
        width = [(int(axis == k),) * 2 for k in (0, 1)]
        around = (
            np.pad(around, width, mode="reflect", reflect_type="odd") if cells > 1 else np.pad(around, width, "edge")
        )
    found = np.zeros(values.shape)
    for j, i in WAYS:
        before, behind = (around[1 + s * j : 1 + s * j + ny, 1 + s * i : 1 + s * i + nx] for s in (-1, 1))
        np.maximum(found, values - np.maximum(before, behind), out=found)
    return found


def gullies_of(crest: np.ndarray) -> np.ndarray:
    """Cells off the crests with a crest on both sides along x or along y."""
    padded = np.pad(crest, 1)
    between = (padded[1:-1, :-2] & padded[1:-1, 2:]) | (padded[:-2, 1:-1] & padded[2:, 1:-1])
    return between & ~crest


def raised(values: np.ndarray, axes: tuple[int, ...] = (0, 1)) -> np.ndarray:
    """Elevation between the cells: at the corners, or, with one axis, at the middle of the edges across it.

    Parameters
    ----------
    values : (ny, nx) array, m
        Elevation of raster cells.
    axes : tuple of int
        Axes along which the points lie between cells: (0, 1) gives (ny + 1, nx + 1), (1,) gives (ny, nx + 1).
        Beyond the edge the cells of the edge go on.
    """
    prominence = prominence_of(values)
    crest = prominence > 0.0
    gully = gullies_of(crest)
    pad = [(int(axis in axes),) * 2 for axis in (0, 1)]
    cells, rises, crests, gullies = (np.pad(one, pad, mode="edge") for one in (values, prominence, crest, gully))

    def around(of: np.ndarray) -> list[np.ndarray]:
        parts = [of]
        for axis in axes:
            parts = [part for one in parts for part in (_cut(one, axis, 0), _cut(one, axis, 1))]
        return parts

    near, on = around(cells), around(crests)
    mean = _mean(near)
    count = sum(one.astype(float) for one in on)
    along = sum(np.where(one, value, 0.0) for one, value in zip(on, near, strict=True)) / np.maximum(count, 1.0)
    most = mean + np.maximum.reduce(around(rises))
    free = (count > 0.0) & ~np.logical_or.reduce(around(gullies))
    return np.where(free, np.maximum(mean, np.minimum(along, most)), mean)


def _cut(values: np.ndarray, axis: int, start: int) -> np.ndarray:
    """All but the last (0) or all but the first (1) along an axis."""
    part = slice(1, None) if start else slice(None, -1)
    return values[part] if axis == 0 else values[:, part]


def _mean(parts: list[np.ndarray]) -> np.ndarray:
    """Mean of two or four, in pairs: exact where they are alike, and a plane's."""
    while len(parts) > 1:
        parts = [0.5 * (a + b) for a, b in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def lattice(values: np.ndarray) -> np.ndarray:
    """Cells, the middles of their edges and their corners as one raster of half the spacing, (2 ny + 1, 2 nx + 1).

    Its points lie at 0, 1/2, 1 .. of a cell from the south-west edge; linear between them, it is the bilinear function
    through the centres wherever no crest passes.
    """
    ny, nx = values.shape
    found = np.empty((2 * ny + 1, 2 * nx + 1))
    found[1::2, 1::2] = values
    found[::2, 1::2] = raised(values, (0,))
    found[1::2, ::2] = raised(values, (1,))
    found[::2, ::2] = raised(values)
    return found
