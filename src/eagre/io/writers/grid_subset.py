"""Subset of a grid in a field file: a rectangle, and every n-th cell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eagre.errors import InputError
from eagre.fields import STAGGERED
from eagre.grid import Grid


@dataclass(frozen=True)
class Subset:
    """Every `stride`-th cell of rows j0 .. j1 - 1 and columns i0 .. i1 - 1.

    The value is that of the middle cell of `stride` cells (for an even number, the cell before the middle).
    """

    j0: int
    j1: int
    i0: int
    i1: int
    stride: int = 1

    @classmethod
    def of(cls, grid: Grid, extent: Sequence[float] | None = None, stride: int = 1) -> Subset:
        """Return the cells whose centres are in `extent` = [west, east, south, north], m. Default: all cells.

        Raises
        ------
        InputError
            If the extent is not inside the domain or contains no centre, or `stride` is longer than a side.
        """
        j0, j1, i0, i1 = 0, grid.ny, 0, grid.nx
        if extent is not None:
            west, east, south, north = extent
            domain = grid.extent
            slack_x, slack_y = 1e-6 * grid.dx, 1e-6 * grid.dy
            over = (domain[0] - west, east - domain[1], domain[2] - south, north - domain[3])
            inside = [f"{edge:.10g}" for edge in domain]
            if max(over[:2]) > slack_x or max(over[2:]) > slack_y:
                fix = f"extent = [{', '.join(inside)}]"
                raise InputError(
                    f"extent = {list(extent)}",
                    allowed="an extent inside the domain",
                    fix=fix,
                    problem="The extent is not inside the domain.",
                )
            i0, i1 = (int(n) for n in np.searchsorted(grid.x, [west - slack_x, east + slack_x]))
            j0, j1 = (int(n) for n in np.searchsorted(grid.y, [south - slack_y, north + slack_y]))
            if i0 == i1 or j0 == j1:
                allowed = f"an extent that contains centres of the cells of {grid.dx:g} m x {grid.dy:g} m"
                raise InputError(
                    f"extent = {list(extent)}", allowed=allowed, problem="The extent contains no cell centre."
                )
        max_stride = max(j1 - j0, i1 - i0)
        if not 1 <= stride <= max_stride:
            raise InputError(f"stride = {stride!r}", allowed=f"an integer from 1 to {max_stride}", fix="stride = 2")
        return cls(j0, j1, i0, i1, stride)

    def _index(self, low: int, high: int, staggered: bool) -> slice:
        if staggered:
            return slice(low, high + 1, self.stride)
        return slice(low + min(self.stride - 1, high - low - 1) // 2, high, self.stride)

    def select(self, values: np.ndarray, location: str = "centre") -> np.ndarray:
        """Return the subset of values at a location, (..., rows, columns)."""
        axes = STAGGERED[location]
        rows, columns = self._index(self.j0, self.j1, -2 in axes), self._index(self.i0, self.i1, -1 in axes)
        return np.ascontiguousarray(values[..., rows, columns])

    def along(self, axis: str, values: np.ndarray) -> np.ndarray:
        """Return the subset of a coordinate ``x``, ``y``, ``x_corner`` or ``y_corner``."""
        low, high = (self.i0, self.i1) if axis.startswith("x") else (self.j0, self.j1)
        return values[self._index(low, high, axis.endswith("_corner"))]

    def shape(self, grid: Grid, location: str = "centre") -> tuple[int, int]:
        """Return rows and columns of a field at a location."""
        ny, nx = self.select(np.broadcast_to(np.int8(0), grid.shape_of(location)), location).shape
        return ny, nx
