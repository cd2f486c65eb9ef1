"""Points beyond the ends of a line of points: where walls stand on the outermost points, or the line is a ring."""

import numpy as np

from eagre.backend.cells import cell


@cell
def place(i, steps, n, periodic):
    """The point, 0 to n - 1, that stands `steps` after point i of n: beyond a wall its mirror image, or round the ring.

    Beyond an end by n - 1 at most. A line of one point has that one everywhere.
    """
    m = np.int64(i) + steps
    if n == 1:
        return np.int64(0)
    if m < 0:
        return m + n if periodic else -m
    if m >= n:
        return m - n if periodic else 2 * n - 2 - m
    return m
