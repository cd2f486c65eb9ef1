"""Active tiles in the row-streaming kernel on a GPU: loop over the list, and bits for the next list."""

import numpy as np

from eagre.backend.compilation.cells import cell, cuda, real, switch
from eagre.backend.cuda.warp import anywhere
from eagre.models.shallow_water.active_tiles import (
    EAST_STRIP,
    LISTED_STEP,
    LIVE,
    NORTH_STRIP,
    REACH,
    SOUTH_STRIP,
    WEST_STRIP,
)
from eagre.models.shallow_water.kernels import SECOND
from eagre.stepping.clock import STEPS, open_gate

LISTED = switch("LISTED", False)  # whether only the listed tiles are computed


@cell
def tiles_to_do(active, clock, phase, lane):
    """Return the number of tiles of this launch: the listed tiles, or one per block.

    The first stage marks the list as used and clears the count of the next step.
    """
    if not LISTED:
        return np.uint32(1)
    if not open_gate(clock, phase):
        return np.uint32(0)
    step = np.int32(clock[STEPS])
    if not SECOND and cuda.blockIdx.x == 0 and lane == 0:
        active.work[np.uint32((step + 1) & 1)] = 0
        active.work[LISTED_STEP] = step
    return np.uint32(active.work[np.uint32(step & 1)])


@cell
def tile_origin(active, number, rows):
    """Return strip and first row of a tile of `rows` rows: the numbered tile of the list, or the tile of the block."""
    if not LISTED:
        return np.uint32(cuda.blockIdx.x), np.uint32(cuda.blockIdx.y * rows)
    tile, tile_columns = np.uint32(active.listed[number]), np.uint32(active.live.shape[1] - 2)
    return np.uint32(tile % tile_columns), np.uint32(np.uint32(tile // tile_columns) * rows)


@cell
def live_bits(row, j, j0, end, counts):
    """Return, as bits, whether a cell of row j in the tile of rows j0 .. end - 1 is live and counts.

    See `active_tiles`.
    """
    bits = 0
    if LISTED and not SECOND:
        zero = real(0.0)
        bits = LIVE | (SOUTH_STRIP if j < j0 + REACH else 0) | (NORTH_STRIP if j + REACH >= end else 0)
        bits = bits if counts and (row.h > zero or row.hu != zero or row.hv != zero) else 0
    return bits


@cell
def leave_bits(active, tile_column, row, seen, lane):
    """Store the activity bits of a tile, combined from the cells that the lanes updated."""
    if LISTED and not SECOND:
        seen |= (WEST_STRIP if lane < 2 + REACH else 0) | (EAST_STRIP if lane >= 30 - REACH else 0) if seen != 0 else 0
        bits = 0
        for bit in (LIVE, SOUTH_STRIP, NORTH_STRIP, WEST_STRIP, EAST_STRIP):
            bits |= bit if anywhere((seen & bit) != 0) else 0
        if lane == 0:
            active.live[np.uint32(row + 1), np.uint32(tile_column + 1)] = bits
