"""Column systems of `columns` on several devices, each of which holds a slab of rows.

A slab computes both recurrences over its m rows, t = 0 .. m - 1, without contributions from outside, and stores two
values per column: p of its first row and g of its last one (where p = g). With G the g of the row before the slab, P
the p of the row after it, and p_0 of the wall, as in `columns`, with j = s + t the row in the box,

    p_j = p_j (slab only) + G (r^(t + 1) - r^(2 m - t + 1)) / (1 - r^2) + P r^(m - t),
    x_j = -r dy^2 (p_j - p_0 (r^j - r^(2 ny - j)) / (1 - r^(2 ny))),

so the contributions of the other slabs and the walls to a column of a slab are U r^(t + 1) + V r^(m - t). U and V are
sums of the stored values with precomputed factors. The solution is exact: slabs only change the order of operations.
Devices exchange two values per column and slab instead of a transposed field.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from eagre.solvers.poisson.columns import DECAY, column_table

FIRST, LAST = range(2)  # rows of a slab whose values are stored


class Slab(NamedTuple):
    """Rows of one device: its index from south to north, and the numbers of unknown rows of all devices."""

    index: int = 0
    heights: tuple[int, ...] = ()  # empty: one device has all rows

    @property
    def first(self) -> int:
        """Index of the first unknown row; row 0 is the southern wall."""
        return 1 + sum(self.heights[: self.index])

    @property
    def rows(self) -> slice:
        """Rows of a global field on this device, including walls or halo rows."""
        return slice(self.first - 1, self.first + self.heights[self.index] + 1) if self.heights else slice(None)

    @property
    def walls(self) -> tuple[bool, bool]:
        """South and north: True if the boundary points are walls (or periodic), False if they are halo rows."""
        return self.index == 0, self.index + 1 >= len(self.heights)


def slab_heights(rows: int, slabs: int) -> list[int]:
    """Return the rows of each slab, from south to north, as equal as possible."""
    return [rows // slabs + (slab < rows % slabs) for slab in range(slabs)]


def slab_couplings(heights: Sequence[int], nx: int, dx: float, dy: float, screening: float = 0.0) -> np.ndarray:
    """Return the factors of U and V of every slab, (slabs, 2, 2 slabs, nx), computed in double precision.

    Parameters
    ----------
    heights : sequence of int
        Rows of the slabs from south to north, all interior rows together.
    nx : int
        Intervals along x; column 0 has no wavenumber.
    dx, dy : float
        Spacing.
    screening : float
        See `column_table`.

    Returns
    -------
    array
        [slab, 0 for U and 1 for V, 2 n + FIRST or LAST]: contribution of p of the first or last row of slab n.
    """
    slabs, ny = len(heights), sum(heights) + 1
    decay = column_table(nx, ny, dx, dy, screening)[DECAY, 1:]
    unit = np.repeat(np.eye(2 * slabs)[:, :, None], nx - 1, axis=2)

    def power(n: float) -> np.ndarray:
        """Return r^n of every wavenumber."""
        return np.exp(-n * decay)

    def below(n: float) -> np.ndarray:
        """Return 1 - r^n."""
        return -np.expm1(-n * decay)

    forward = [np.zeros((2 * slabs, nx - 1))]  # G of each slab
    for n, m in enumerate(heights):
        forward.append(unit[2 * n + LAST] + power(m) * forward[n])
    backward = [np.zeros((2 * slabs, nx - 1))]  # P of each slab, from north to south
    for n, m in reversed(list(enumerate(heights))):
        passed = power(1) * below(2 * m) / below(2) * forward[n]
        backward.append(unit[2 * n + FIRST] + passed + power(m) * backward[-1])
    backward.reverse()
    wall = power(1) * backward[0] / below(2 * ny)
    couplings = np.zeros((slabs, 2, 2 * slabs, nx))
    for n, m in enumerate(heights):
        start = 1 + sum(heights[:n])
        couplings[n, 0, :, 1:] = forward[n] / below(2) - wall * power(start - 1)
        couplings[n, 1, :, 1:] = backward[n + 1] - forward[n] * power(m + 1) / below(2)
        couplings[n, 1, :, 1:] += wall * power(2 * ny - start - m)
    return couplings
