"""Table of the boundary faces of a domain: segment, kind of condition, closedness and row of the water balance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.boundaries.sides import SIDES, FaceRange
from eagre.grid import Grid, centre_bed
from eagre.kernels.roots import select

# Columns of a face. BOOK: row of the water balance, or -1; KIND, ELEVATIONS: kind and elevations of the condition.
SEGMENT, CLOSED, BOOK, KIND, ELEVATIONS = 0, 1, 2, 3, 4
# Level of the condition, bed of two interior cells, of two ghosts and of the face, m.
LEVEL, BED_1, BED_2, BED_GHOSTS, BED_FACE = 0, 1, 2, 3, 5
WEST, EAST, SOUTH, NORTH = 0, 1, 2, 3  # indices of the sides, in the order of `SIDES`


def edge_table(segments: Sequence[FaceRange], grid: Grid, kinds: Sequence[int]) -> np.ndarray:
    """Return segment, closedness, row of the water balance and kind of condition of every boundary face.

    Parameters
    ----------
    segments : sequence of FaceRange
    grid : Grid
    kinds : sequence of int
        Number of the kind of condition of each segment.

    Returns
    -------
    (4, 5, max(nx, ny)) int32 array
        Indices: side (west, east, south, north); SEGMENT, CLOSED, BOOK, KIND or ELEVATIONS; cell along the side. Faces
        of periodic sides are not closed and have no row.
    """
    table = np.zeros((4, 5, max(grid.shape)), np.int32)
    table[:, BOOK] = -1
    balance_rows = 0
    for number, segment in enumerate(segments):
        faces = table[SIDES.index(segment.side), :, segment.first : segment.last]
        faces[SEGMENT], faces[KIND] = number, kinds[number]
        faces[ELEVATIONS] = segment.condition.elevations
        faces[CLOSED] = segment.condition.closed and not segment.condition.periodic
        if not segment.condition.closed:
            faces[BOOK] = balance_rows + np.arange(faces.shape[1])
            balance_rows += faces.shape[1]
    return table


def edge_levels(segments: Sequence[FaceRange], grid: Grid, padded_bed: np.ndarray, datum: float) -> np.ndarray:
    """Return the level of the condition and the bed on both sides of every boundary face.

    Parameters
    ----------
    segments : sequence of FaceRange
    grid : Grid
    padded_bed : array, m
        Bed at the corners with ghosts, relative to the datum.
    datum : float, m

    Returns
    -------
    (4, 6, max(nx, ny)) array
        Indices: side; LEVEL, BED_1, BED_2, BED_GHOSTS, BED_GHOSTS + 1 or BED_FACE, m relative to the datum; cell along
        the side.
    """
    bed = centre_bed(padded_bed)
    levels = np.zeros((4, 6, max(grid.shape)))
    for side, (lines, corners) in enumerate(zip(_from_sides(bed), _from_sides(padded_bed), strict=True)):
        along = grid.ny if side <= EAST else grid.nx
        second = 3 if len(lines) > 5 else 2  # a domain one cell wide has no second cell
        for column, line in ((BED_1, 2), (BED_2, second), (BED_GHOSTS, 1), (BED_GHOSTS + 1, 0)):
            levels[side, column, :along] = lines[line][2 : 2 + along]
        levels[side, BED_FACE, :along] = 0.5 * (corners[2][2 : 2 + along] + corners[2][3 : 3 + along])
    for segment in segments:
        level = segment.condition.level_over(datum)
        levels[SIDES.index(segment.side), LEVEL, segment.first : segment.last] = level
    return levels


def _from_sides(values: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return views of an array as lines along each side, the outermost first, in the order of `SIDES`."""
    return values.T, values.T[::-1], values, values[::-1]


@cell
def flux_if_open(edges, side, m, amount):
    """Return the mass flux through face m of a side: 0 if the face is closed."""
    return select(edges[side, CLOSED, m] != 0, real(0.0), amount)
