"""Uniform rectangular grids.

Locations of one cell (j, i); j counts rows from the south, i columns from the west::

        corner (j+1, i) --- face_y (j+1, i) --- corner (j+1, i+1)
              |                                      |
        face_x (j, i)        centre (j, i)      face_x (j, i+1)
              |                                      |
        corner (j, i) ----- face_y (j, i) ----- corner (j, i+1)

Every array is indexed ``[j, i]`` with i fastest, as in NetCDF. A field at centres has shape
(ny, nx), at corners (ny + 1, nx + 1), on x faces (ny, nx + 1) and on y faces (ny + 1, nx).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eagre.constants import FARTHEST, LONGEST, SHORTEST
from eagre.errors import InputError
from eagre.fields import points_at

PARAMETERS = ("nx", "ny", "dx", "dy", "x0", "y0")  # numbers that define a grid, in states and restart files


@dataclass(frozen=True)
class Grid:
    """A uniform rectangular grid.

    Parameters
    ----------
    nx, ny : int
        Number of cells along x (west to east) and y (south to north), >= 1.
    dx, dy : float
        Cell size, m, > 0.
    x0, y0 : float
        Coordinates of the south-west corner of the domain, m.
    crs : str, optional
        Coordinate reference system as an EPSG code or WKT, passed through to the output.
    """

    nx: int
    ny: int
    dx: float
    dy: float
    x0: float = 0.0
    y0: float = 0.0
    crs: str | None = None

    def __post_init__(self) -> None:
        for name in ("nx", "ny"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or not 1 <= value < 2**31:
                got = "a number of more than 40 digits" if isinstance(value, int) and abs(value) > 10**40 else value
                raise InputError(
                    f"{name} = {got!r}", allowed="a whole number from 1 to 2147483647", fix=f"{name} = 100"
                )
            object.__setattr__(self, name, int(value))  # kernel launches do not accept NumPy integers
        for name in ("dx", "dy"):
            value = self._real(name)
            if not (value is not None and SHORTEST <= value <= LONGEST):
                allowed = f"a length in metres, > 0 ({SHORTEST:g} to {LONGEST:g})"
                raise InputError(f"{name} = {getattr(self, name)!r}", allowed=allowed, fix=f"{name} = 10.0")
        for name in ("x0", "y0"):
            value = self._real(name)
            if not (value is not None and abs(value) <= FARTHEST):
                allowed = f"metres, at most {FARTHEST:g} from 0"
                raise InputError(f"{name} = {getattr(self, name)!r}", allowed=allowed, fix=f"{name} = 0.0")
        if self.crs is not None and (not isinstance(self.crs, str) or self.crs.strip().isdigit()):
            fix = f'crs = "EPSG:{str(self.crs).strip()}"' if str(self.crs).strip().isdigit() else 'crs = "EPSG:32629"'
            raise InputError(f"crs = {self.crs!r}", allowed="an EPSG code or WKT, as a string", fix=fix)

    def _real(self, name: str) -> float | None:
        """Return a real number; None for other values. NumPy numbers, whose products can overflow, become floats."""
        value = getattr(self, name)
        if isinstance(value, (np.integer, np.floating)) and not isinstance(value, float):
            value = float(value)
            object.__setattr__(self, name, value)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None

    @classmethod
    def from_points(
        cls,
        nx: int,
        ny: int,
        length_x: float,
        length_y: float,
        x0: float = 0.0,
        y0: float = 0.0,
        periodic: tuple[bool, bool] = (False, False),
    ) -> Grid:
        """Return a grid whose centres are nx x ny points from (x0, y0) to (x0 + length_x, y0 + length_y), m.

        For models with unknowns at points and walls through the outermost points. Along a `periodic` axis the length is
        the period: n points have n spacings. A single point represents a strip with the width of the length.
        """
        steps = []
        for name, count, length, is_periodic in (("nx", nx, length_x, periodic[0]), ("ny", ny, length_y, periodic[1])):
            if not isinstance(count, (int, np.integer)) or count < 1:
                raise InputError(f"{name} = {count!r}", allowed="a whole number of points >= 1", fix=f"{name} = 129")
            steps.append(length / (count if is_periodic else max(count - 1, 1)))
        dx, dy = steps
        return cls(nx, ny, dx, dy, x0 - 0.5 * dx, y0 - 0.5 * dy)

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of a field at centres, (ny, nx)."""
        return (self.ny, self.nx)

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.nx * self.ny

    @property
    def cell_area(self) -> float:
        """Area of a cell, m2."""
        return self.dx * self.dy

    @property
    def x(self) -> np.ndarray:
        """x of the centres, (nx,), m."""
        return self.x0 + (np.arange(self.nx) + 0.5) * self.dx

    @property
    def y(self) -> np.ndarray:
        """y of the centres, (ny,), m."""
        return self.y0 + (np.arange(self.ny) + 0.5) * self.dy

    @property
    def x_corner(self) -> np.ndarray:
        """x of the corners, (nx + 1,), m."""
        return self.x0 + np.arange(self.nx + 1) * self.dx

    @property
    def y_corner(self) -> np.ndarray:
        """y of the corners, (ny + 1,), m."""
        return self.y0 + np.arange(self.ny + 1) * self.dy

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """(west, east, south, north) edges of the domain, m."""
        return (self.x0, self.x0 + self.nx * self.dx, self.y0, self.y0 + self.ny * self.dy)

    def shape_of(self, location: str) -> tuple[int, int]:
        """Return the shape of a field at `location`: "centre", "face_x", "face_y" or "corner"."""
        ny, nx = points_at(location, self.shape)
        return ny, nx

    def mesh(self, location: str = "centre") -> tuple[np.ndarray, np.ndarray]:
        """Return coordinates (x, y) of all points at `location`, each of `shape_of(location)`, m."""
        self.shape_of(location)
        x = self.x_corner if location in ("face_x", "corner") else self.x
        y = self.y_corner if location in ("face_y", "corner") else self.y
        return tuple(np.meshgrid(x, y))  # type: ignore[return-value]

    def cell_of(self, x: float, y: float) -> tuple[int, int]:
        """Return the indices (j, i) of the cell that contains the point (x, y), m.

        Raises
        ------
        InputError
            If the point is outside the domain.
        """
        west, east, south, north = self.extent
        if not (west <= x <= east and south <= y <= north):
            swapped = west <= y <= east and south <= x <= north
            kilometres = west <= 1e3 * x <= east and south <= 1e3 * y <= north
            fix = f"{1e3 * x:.10g}, {1e3 * y:.10g}  # metres, not kilometres" if kilometres else ""
            raise InputError(
                f"the point ({x:.10g}, {y:.10g})",
                allowed=f"x in [{west:.10g}, {east:.10g}], y in [{south:.10g}, {north:.10g}] (domain, metres)",
                fix=f"x first, then y: {y:.10g}, {x:.10g}" if swapped else fix,
                problem="The point is outside the domain.",
            )
        i = min(int((x - self.x0) / self.dx), self.nx - 1)
        j = min(int((y - self.y0) / self.dy), self.ny - 1)
        return j, i


@dataclass(frozen=True, eq=False)
class Levels:
    """Vertical levels of a three-dimensional model: ``z = height[k] + share[k] terrain_height[j, i]``, upward.

    Parameters
    ----------
    height : (nz,) array, m
        Height of each level above flat ground; increasing.
    share : (nz,) array, optional
        Fraction of the terrain height that a level follows: 1 at the ground, 0 at a flat top.
    terrain_height : (ny, nx) array, m, optional
        Terrain height at centres; without it the levels are flat.
    """

    height: np.ndarray
    share: np.ndarray | None = None
    terrain_height: np.ndarray | None = None

    @property
    def z(self) -> np.ndarray:
        """Height of every point, m: (nz, 1, 1) over flat ground, else (nz, ny, nx)."""
        flat = self.height[:, None, None]
        if self.terrain_height is None or self.share is None:
            return flat
        return flat + self.share[:, None, None] * self.terrain_height


def centre_bed(bed: np.ndarray) -> np.ndarray:
    """Return the bed at centres, (ny, nx), from the bed at corners, (ny + 1, nx + 1), m."""
    return 0.25 * ((bed[:-1, :-1] + bed[1:, :-1]) + (bed[:-1, 1:] + bed[1:, 1:]))


def on_walls(points: np.ndarray, grid: Grid, walls: np.ndarray | None) -> np.ndarray:
    """Return whether each point x, y of (n, 2), m, lies in a cell of the mask `walls`, (ny, nx)."""
    if walls is None:
        return np.zeros(len(points), bool)
    inside, j, i = _cells_of(points, grid)
    return inside & walls[j, i]


def check_metres(what: str, points: np.ndarray, grid: Grid, walls: np.ndarray | None, key: str = "") -> None:
    """Raise `InputError` if points x, y of (n, 2) on walls are coordinates in kilometres.

    That is so if all of them, times 1000, lie in the domain and off the walls.
    """
    metres, near = 1e3 * points, on_walls(points, grid, walls)
    if not near.any() or not _cells_of(metres, grid)[0].all() or on_walls(metres, grid, walls).any():
        return
    (x, y), (far_x, far_y) = points[near][0], metres[near][0]
    raise InputError(
        f"{what} at ({x:.10g}, {y:.10g}) m, on a wall", allowed="points between the walls, in metres",
        fix=f"{key and key + ' = '}[{far_x:.10g}, {far_y:.10g}]",
        problem="The coordinates are in kilometres, but metres are needed.",
    )  # fmt: skip


def _cells_of(points: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return whether points lie in the domain, and j and i of their cells, 0 outside."""
    i, j = np.floor((points - (grid.x0, grid.y0)) / (grid.dx, grid.dy)).T
    inside = (i >= 0) & (i < grid.nx) & (j >= 0) & (j < grid.ny)
    return inside, np.where(inside, j, 0).astype(int), np.where(inside, i, 0).astype(int)
