"""Terrain-following coordinates: z = h(x, y) + (1 - h / H) Z(zeta).

Source: T. Gal-Chen, R. C. J. Somerville, J. Comput. Phys. 17, 209-228 (1975), doi:10.1016/0021-9991(75)90037-6.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from eagre.backend.device import Device, check_precision
from eagre.checks import one_of
from eagre.errors import InputError
from eagre.models.anelastic.base.grid_lines import Grid

SIDES = ("periodic", "wall", "open")


def derivative(a: np.ndarray, axis: int, spacing: float, periodic: bool) -> np.ndarray:
    """Return centred differences over two grid spacings, one-sided on walls; 0 along an axis of one point."""
    if a.shape[axis] == 1:
        return np.zeros(a.shape)
    if periodic:
        return (np.roll(a, -1, axis) - np.roll(a, 1, axis)) / (2.0 * spacing)
    return np.gradient(a, spacing, axis=axis)


def point_weights(shape: Sequence[int], sides: Sequence[str]) -> np.ndarray:
    """Return the cell fraction of each point, (nz, ny, nx): 1, 1/2 on a boundary, 1/4 on an edge."""
    fractions = np.ones(shape)
    for axis, (n, side) in enumerate(zip(shape, sides, strict=True)):
        if n > 1 and side != "periodic":
            for end in (0, -1):
                fractions[(slice(None),) * axis + (end,)] *= 0.5
    return fractions


def mean_of_sums(each: Sequence[np.ndarray], nx: int) -> float:
    """Return the mean of a field from its sums over nx points, (nz, rows), in subdomains from south to north."""
    sums = np.concatenate(each, axis=1)
    return float(sums.sum() / (sums.size * nx))


def plane_weights(shape: Sequence[int], sides: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the cell fractions of points along y and x, (ny,) and (nx,): 1/2 on a boundary."""
    weights = []
    for n, side in zip(shape[1:], sides[1:], strict=True):
        weight = np.ones(n)
        if n > 1 and side != "periodic":
            weight[[0, -1]] = 0.5
        weights.append(weight)
    return weights[0], weights[1]


class Metric:
    """Metric of the terrain-following coordinate, as NumPy arrays in double precision.

    All derivatives are the centred differences of the pressure operator. A uniform wind over flat levels of any
    stretching is therefore free of divergence. The metric has four terms per point (J, g13, g23, g33), each the product
    of a column and a plane, so that no three-dimensional array is stored.

    Parameters
    ----------
    shape : (nz, ny, nx)
        Number of points; an axis of one point has no derivative.
    spacing : (dz, dy, dx)
        Spacing of the computational coordinates, m; dz is H / (nz - 1) with given levels.
    sides : (z, y, x)
        ``"periodic"``, ``"wall"`` or ``"open"`` along each axis.
    levels : (nz,), optional
        Z: heights of the levels above flat terrain, from 0 to H, m; equidistant by default.
    hill : (ny, nx), optional
        Terrain height h, m; flat by default.

    Attributes
    ----------
    slope_x, slope_y : (ny, nx)
        Slopes of the terrain.
    terrain : bool

    Raises
    ------
    InputError
        For levels that do not increase from 0, or terrain at or above the top.
    """

    def __init__(
        self,
        shape: Sequence[int],
        spacing: Sequence[float],
        sides: Sequence[str] = ("wall", "periodic", "periodic"),
        *,
        levels: Any = None,
        hill: Any = None,
    ) -> None:
        self.shape: tuple[int, int, int] = tuple(map(int, shape))  # type: ignore[assignment]
        self.spacing: tuple[float, float, float] = tuple(map(float, spacing))  # type: ignore[assignment]
        self.sides: tuple[str, ...] = tuple(one_of("side", side, SIDES) for side in sides)
        if len(self.shape) != 3 or min(self.shape) < 1 or len(self.spacing) != 3 or not min(self.spacing) > 0.0:
            raise InputError(
                f"shape = {shape}, spacing = {spacing}",
                allowed="(nz, ny, nx) points, (dz, dy, dx) above 0",
                problem="The shape or the spacing of the grid is not allowed.",
            )
        self.levels = self._levels(levels)
        self.top = float(self.levels[-1]) if self.shape[0] > 1 else np.inf
        self._map(np.zeros(self.shape[1:]) if hill is None else np.array(hill, float))

    def _levels(self, levels: Any) -> np.ndarray:
        nz, dz = self.shape[0], self.spacing[0]
        even = dz * np.arange(nz)
        heights = even if levels is None else np.array(levels, float)
        if heights.shape != (nz,) or heights[0] != 0.0 or not (np.diff(heights) > 0.0).all():
            raise InputError(
                "these levels",
                allowed=f"{nz} heights that rise from 0, m",
                problem="The levels do not increase from 0.",
            )
        if self.sides[0] == "periodic" and levels is not None and not np.allclose(heights, even):
            raise InputError(
                "levels along a periodic axis",
                allowed='equal distances, or boundaries={"z": "wall"}',
                problem="The levels along a periodic axis are not equidistant.",
            )
        return heights

    def _map(self, hill: np.ndarray) -> None:
        """Compute the columns and planes of the metric and the derived arrays."""
        if hill.shape != self.shape[1:] or not (np.isfinite(hill) & (hill < self.top)).all():
            raise InputError(
                "this hill",
                allowed=f"{self.shape[1:]} heights below the top, {self.top:g} m",
                problem="The terrain has another shape than the grid, or is not below the top.",
            )
        self.hill, self.terrain = hill, bool(np.ptp(hill) > 0.0 or hill.flat[0] != 0.0)
        if self.terrain and self.sides[0] == "periodic":
            raise InputError(
                "a hill where z is periodic",
                allowed="a flat ground",
                fix='boundaries={"z": "wall"}',
                problem="Terrain requires a wall at the bottom.",
            )
        stretch = np.ones(1)
        if self.shape[0] > 1 and self.sides[0] != "periodic":
            stretch = np.gradient(self.levels, self.spacing[0])
        self.stretch = np.broadcast_to(stretch, (self.shape[0],)).copy()
        self.depth_fraction = 1.0 - hill / self.top
        self.fade = np.ones(1) - self.levels / self.top
        y, x = (self._difference(hill, axis) for axis in (0, 1))
        self.slope_y, self.slope_x = y, x
        self.limit_fields(hill.shape[0])

    def limit_fields(self, rows: int) -> None:
        """Limit `height` and `jacobian` to the first rows."""
        self._columns = (slice(rows), slice(None)) if self.terrain else (slice(1), slice(1))
        for name in ("height", "jacobian"):
            self.__dict__.pop(name, None)

    @cached_property
    def height(self) -> np.ndarray:
        """z, m, (nz, ny, nx), or (nz, 1, 1) without terrain."""
        return self.hill[self._columns] + self.depth_fraction[self._columns] * self.levels[:, None, None]

    @cached_property
    def jacobian(self) -> np.ndarray:
        """J = dz / dzeta, (nz, ny, nx), or (nz, 1, 1) without terrain."""
        return self.depth_fraction[self._columns] * self.stretch[:, None, None]

    def at_ends(self, values: np.ndarray, axis: int) -> np.ndarray:
        """Return J times values of the planes at both ends of y, axis 1, or x, axis 2; see `BaseState.at_ends`."""
        fraction = self.depth_fraction.take([0, -1], axis - 1) if self.terrain else self.depth_fraction[:1, :1]
        return values * (fraction * self.stretch[:, None, None])

    def _difference(self, hill: np.ndarray, axis: int) -> np.ndarray:
        return derivative(hill, axis, self.spacing[axis + 1], self.sides[axis + 1] == "periodic")

    @property
    def weights(self) -> np.ndarray:
        """Cell fraction of each point, (nz, ny, nx): 1, 1/2 on a boundary, 1/4 on an edge."""
        return point_weights(self.shape, self.sides)

    def grid(self, precision: str) -> Grid:
        """Return the axes, as arguments of kernel functions."""
        real = check_precision(precision)
        numbers: list[Any] = []
        for n, d, side in zip(self.shape, self.spacing, self.sides, strict=True):
            numbers += [n, int(side == "periodic"), real(0.5 / d if n > 1 else 0.0)]
        return Grid(*numbers)

    def arrays(self, device: Device, precision: str) -> dict[str, Any]:
        """Return the columns and planes of the metric on a device, by the names of `operator.Medium`."""
        real = check_precision(precision)
        columns = {"stretch": 1.0 / self.stretch, "fade": self.fade / self.stretch}
        if self.terrain:
            planes = 1.0 / self.depth_fraction, -self.slope_x / self.depth_fraction, -self.slope_y / self.depth_fraction
        else:
            planes = (np.ones((1, 1)),) * 3
        columns |= dict(zip(("squeeze", "slope_x", "slope_y"), planes, strict=True))
        return {name: device.array(values.astype(real)) for name, values in columns.items()}
