"""Preserve the height of narrow crests (levees, dams, road embankments) when a raster is interpolated to corners.

A raster cell has one elevation, a model cell the mean of its four corners. With corners that are means of the cells
around them, a levee one cell wide loses half of its height and one of two cells a quarter. Corners on a crest
therefore take the height of the crest.

A cell is on a crest if it is higher than the ground on both sides of it along x, along y or along a diagonal, where the
crest is up to three cells wide. The prominence is the height above the higher side, for the best direction. A direction
counts only if the prominence exceeds `ROUGHNESS_FACTOR` times the width times the roughness of both sides (the mean
absolute second difference). Spurs and peaks of natural terrain therefore stay means: raising them narrows valleys and
delays floods (docs/development/decisions/0092-crests-above-the-roughness.md). Cells without data are not compared.

A point between cells (a corner, the middle of an edge) takes the mean of the crest cells around it and rises by at most
their largest prominence. Points next to a gully, a cell with crests on both sides, stay the mean: otherwise a channel
of one cell between two levees would be filled.
"""

from __future__ import annotations

import numpy as np

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
MARGIN = 12  # cells beyond a window whose values decide on the crests in it
ROUGHNESS_FACTOR = 5.0  # least prominence of a crest of one cell, in units of the roughness around it
WIDTHS = (1, 2, 3)  # of a crest, cells; wider ones keep their height
SIDE_DISTANCES = (3, 6)  # cells from a crest to the centres of 3 x 3 cells; the smoother counts


def _roughness(values: np.ndarray) -> np.ndarray:
    """Mean absolute second difference along x and y over 3 x 3 cells, m, with a margin; infinite without data."""
    from scipy.ndimage import uniform_filter

    rough = np.zeros(values.shape)
    for axis, cells in enumerate(values.shape):
        if cells > 1:
            rough += 0.5 * np.abs(np.diff(_extended(values, axis, 1), 2, axis=axis))
    mean = uniform_filter(np.nan_to_num(rough), 3, mode="nearest")
    return np.pad(np.where(np.isnan(values), np.inf, mean), MARGIN, mode="edge")


def _extended(values: np.ndarray, axis: int, cells: int) -> np.ndarray:
    """Values with so many cells added at both ends of an axis, where the ground continues with its slope."""
    width = [(cells * int(axis == k),) * 2 for k in (0, 1)]
    if values.shape[axis] == 1:
        return np.pad(values, width, mode="edge")
    return np.pad(values, width, mode="reflect", reflect_type="odd")


def prominence_of(values: np.ndarray) -> np.ndarray:
    """Return the height of crest cells above the higher side, (ny, nx), m; 0 for cells that are on no crest.

    Parameters
    ----------
    values : (ny, nx) array, m
        Elevation; NaN where there is no data. Beyond the edges the ground continues with its slope.
    """
    around = _extended(_extended(values, 0, MARGIN), 1, MARGIN)
    rough, prominence = _roughness(values).ravel(), np.zeros(around.size)
    inner = slice(MARGIN - WIDTHS[-1], WIDTHS[-1] - MARGIN)  # first cells of all rows of cells that reach the raster
    indices = np.arange(around.size).reshape(around.shape)[inner, inner]
    for j, i in DIRECTIONS:
        step = j * around.shape[1] + i
        for width in WIDTHS:
            height = _height_above_sides(around, (j, i), width)
            first = indices[height > 0.0]
            roughness = np.maximum(
                np.minimum.reduce([rough[first - steps * step] for steps in SIDE_DISTANCES]),
                np.minimum.reduce([rough[first + (width - 1 + steps) * step] for steps in SIDE_DISTANCES]),
            )
            height = height[height > 0.0]
            narrow = height > ROUGHNESS_FACTOR * width * (1 + abs(i * j)) * roughness
            for cell in range(width):
                crest = first[narrow] + cell * step
                prominence[crest] = np.maximum(prominence[crest], height[narrow])
    return prominence.reshape(around.shape)[MARGIN:-MARGIN, MARGIN:-MARGIN]


def _height_above_sides(around: np.ndarray, way: tuple[int, int], width: int) -> np.ndarray:
    """Height of the lowest of `width` cells in a direction above the higher adjacent cell, at the first cell, m."""
    margin = MARGIN - WIDTHS[-1]

    def cells(steps: int) -> np.ndarray:
        (j, i), (ny, nx) = ((margin + steps * one for one in way), around.shape)
        return around[j : j + ny - 2 * margin, i : i + nx - 2 * margin]

    crest = cells(0)
    for steps in range(1, width):
        crest = np.minimum(crest, cells(steps))
    return crest - np.maximum(cells(-1), cells(width))


def gullies_of(crest: np.ndarray) -> np.ndarray:
    """Cells off the crests with a crest on both sides along x or along y."""
    padded = np.pad(crest, 1)
    between = (padded[1:-1, :-2] & padded[1:-1, 2:]) | (padded[:-2, 1:-1] & padded[2:, 1:-1])
    return between & ~crest


def raised(values: np.ndarray, prominence: np.ndarray, axes: tuple[int, ...] = (0, 1)) -> np.ndarray:
    """Return the elevation between the cells: at the corners, or, with one axis, at the middle of the edges across it.

    Parameters
    ----------
    values : (ny, nx) array, m
        Elevation of raster cells.
    prominence : (ny, nx) array, m
        See `prominence_of`.
    axes : tuple of int
        Axes along which the points lie between cells: (0, 1) gives (ny + 1, nx + 1), (1,) gives (ny, nx + 1).
        Beyond the edges the cells of the edge continue.
    """
    crest = prominence > 0.0
    gully = gullies_of(crest)
    pad = [(int(axis in axes),) * 2 for axis in (0, 1)]
    cells, rises, crests, gullies = (np.pad(one, pad, mode="edge") for one in (values, prominence, crest, gully))

    def around(of: np.ndarray) -> list[np.ndarray]:
        arrays = [of]
        for axis in axes:
            arrays = [array for one in arrays for array in (_interior_of(one, axis, 0), _interior_of(one, axis, 1))]
        return arrays

    near, on = around(cells), around(crests)
    mean = _mean(near)
    count = sum(one.astype(float) for one in on)
    along = sum(np.where(one, value, 0.0) for one, value in zip(on, near, strict=True)) / np.maximum(count, 1.0)
    upper = mean + np.maximum.reduce(around(rises))
    free = (count > 0.0) & ~np.logical_or.reduce(around(gullies))
    return np.where(free, np.maximum(mean, np.minimum(along, upper)), mean)


def _interior_of(values: np.ndarray, axis: int, start: int) -> np.ndarray:
    """All but the last (0) or all but the first (1) along an axis."""
    section = slice(1, None) if start else slice(None, -1)
    return values[section] if axis == 0 else values[:, section]


def _mean(arrays: list[np.ndarray]) -> np.ndarray:
    """Mean of two or four, in pairs: exact where they are alike, and a plane's."""
    while len(arrays) > 1:
        arrays = [0.5 * (a + b) for a, b in zip(arrays[::2], arrays[1::2], strict=True)]
    return arrays[0]


def lattice(values: np.ndarray, prominence: np.ndarray) -> np.ndarray:
    """Cells, the middles of their edges and their corners as one raster of half the spacing, (2 ny + 1, 2 nx + 1).

    Its points lie at 0, 1/2, 1 .. of a cell from the south-west edge; linear between them, it is the bilinear function
    through the centres wherever no crest passes.
    """
    ny, nx = values.shape
    fine = np.empty((2 * ny + 1, 2 * nx + 1))
    fine[1::2, 1::2] = values
    fine[::2, 1::2] = raised(values, prominence, (0,))
    fine[1::2, ::2] = raised(values, prominence, (1,))
    fine[::2, ::2] = raised(values, prominence)
    return fine
