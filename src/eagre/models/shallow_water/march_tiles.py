"""How the cells of a grid are dealt to tiles of the march on a CPU (`march_cpu`)."""

import numpy as np

TILE_COLUMNS = 256
LEAST_ROWS = 8


def tiles_of(ny: int, nx: int, most: int) -> tuple[np.ndarray, tuple[int, int]]:
    """Tiles (j0, i0, rows, columns) that cover ny x nx cells, at least a dozen, rows enough to pay; and their size.

    most : rows of a tile.
    """
    columns = TILE_COLUMNS
    rows = max(LEAST_ROWS, min(most, ny * -(-nx // columns) // 12))
    tiles = [(j, i, min(rows, ny - j), min(columns, nx - i)) for j in range(0, ny, rows) for i in range(0, nx, columns)]
    return np.array(tiles, np.uint32), (rows, columns)
