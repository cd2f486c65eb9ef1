"""The faces on the boundary of a domain, side by side: segment, kind, closedness, and row in the water balance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eagre.backend.cells import cell, real
from eagre.boundaries.sides import SIDES, FaceRange
from eagre.grid import Grid, centre_bed
from eagre.kernels.roots import select

SEGMENT, CLOSED, BOOK, KIND, ELEVATIONS = 0, 1, 2, 3, 4  # of a face; BOOK: its row in the water balance, or -1;
# KIND, ELEVATIONS: of its condition
LEVEL, BED_1, BED_2, BED_GHOSTS = 0, 1, 2, 3  # level of the condition, bed of two cells inside and of two ghosts, m
WEST, EAST, SOUTH, NORTH = 0, 1, 2, 3  # sides in the order of `SIDES`


def edge_table(segments: Sequence[FaceRange], grid: Grid, kinds: Sequence[int]) -> np.ndarray:
    """Segment, closedness, row of the balance and kind of condition of every face on the boundary.

    Parameters
    ----------
    segments : sequence of FaceRange
    grid : Grid
    kinds : sequence of int
        Number of the kind of condition of each segment.

    Returns
    -------
    (4, 5, max(nx, ny)) int32 array
        By side (west, east, south, north), SEGMENT, CLOSED, BOOK, KIND or ELEVATIONS, and cell along the side. A face
        of a periodic side is not closed and has no row.
    """
    table = np.zeros((4, 5, max(grid.shape)), np.int32)
    table[:, BOOK] = -1
    booked = 0
    for number, segment in enumerate(segments):
        faces = table[SIDES.index(segment.side), :, segment.first : segment.last]
        faces[SEGMENT], faces[KIND] = number, kinds[number]
        faces[ELEVATIONS] = segment.condition.elevations
        faces[CLOSED] = segment.condition.closed and not segment.condition.periodic
        if not segment.condition.closed:
            faces[BOOK] = booked + np.arange(faces.shape[1])
            booked += faces.shape[1]
    return table


def edge_levels(segments: Sequence[FaceRange], grid: Grid, padded_bed: np.ndarray, datum: float) -> np.ndarray:
    """Level of the condition and bed on both sides of every face on the boundary.

    Parameters
    ----------
    segments : sequence of FaceRange
    grid : Grid
    padded_bed : array, m
        At the corners, with ghosts, over the datum.
    datum : float, m

    Returns
    -------
    (4, 5, max(nx, ny)) array
        By side, LEVEL, BED_1, BED_2, BED_GHOSTS or BED_GHOSTS + 1, m over the datum, and cell along the side.
    """
    bed = centre_bed(padded_bed)
    levels = np.zeros((4, 5, max(grid.shape)))
    for side, lines in enumerate((bed.T, bed.T[::-1], bed, bed[::-1])):
        along = grid.ny if side <= EAST else grid.nx
        second = 3 if len(lines) > 5 else 2  # of a single cell there is no second
        for column, line in ((BED_1, 2), (BED_2, second), (BED_GHOSTS, 1), (BED_GHOSTS + 1, 0)):
            levels[side, column, :along] = lines[line][2 : 2 + along]
    for segment in segments:
        own = segment.condition.level_over(datum)
        levels[SIDES.index(segment.side), LEVEL, segment.first : segment.last] = own
    return levels


@cell
def let_through(edges, side, m, amount):
    """A flux of mass through face m of a side: nothing where the face is closed."""
    return select(edges[side, CLOSED, m] != 0, real(0.0), amount)
