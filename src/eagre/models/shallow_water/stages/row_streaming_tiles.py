"""Decomposition of a grid into tiles for the row-streaming kernel on a CPU (`row_streaming_cpu`)."""

import numpy as np

TILE_COLUMNS = 256
MIN_ROWS = 8


def tiles_of(ny: int, nx: int, max_rows: int) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the tiles (j0, i0, rows, columns) of a grid of ny x nx cells, at least a dozen, and their size.

    max_rows : maximum rows of a tile.
    """
    columns = TILE_COLUMNS
    rows = max(MIN_ROWS, min(max_rows, ny * -(-nx // columns) // 12))
    tiles = [(j, i, min(rows, ny - j), min(columns, nx - i)) for j in range(0, ny, rows) for i in range(0, nx, columns)]
    return np.array(tiles, np.uint32), (rows, columns)
