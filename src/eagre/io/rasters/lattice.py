"""Interpolation from the grid of a file to the nodes of a model grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.rasters.raster import WHERE, parse_crs
from eagre.time_varying.fields import NodeGrid

LONGITUDE_LATITUDE = "OGC:CRS84"
DEGREE = 111_195.0  # m along a meridian
BEYOND = 0.51  # of the file's spacing by which the domain may reach beyond its outermost points, centres of its cells


@dataclass(frozen=True, eq=False)
class Lattice:
    """Bilinear interpolation of values on the grid of a file at nodes.

    Attributes
    ----------
    nodes : NodeGrid
        Nodes at most half the spacing of the file apart.
    rows, columns : (my, mx) arrays
        Index of the point before each node along y and x of the file; `fractions` : fractions of the way to the next.
    directions : pair of pairs, or None
        Directions of the file's x and y axes in the grid: cosines along the grid's x and y, at nodes; None: equal axes.
    """

    nodes: NodeGrid
    rows: np.ndarray
    columns: np.ndarray
    fractions: tuple[np.ndarray, np.ndarray]
    flips: tuple[bool, bool]
    closed: bool  # whether the first column follows the last
    directions: tuple[Any, Any] | None

    @classmethod
    def of(
        cls, x: np.ndarray, y: np.ndarray, degrees: bool, crs: Any, grid: Grid, what: str, true_north: bool = False
    ) -> Lattice:
        """Create the interpolation from the coordinates of a file, its coordinate system and the model grid.

        true_north : whether vectors of the file point to the east and north regardless of its axes.

        Raises
        ------
        InputError
            If coordinates are not monotonic, the coordinate system of the grid is unknown, or the file does not
            cover the grid.
        """
        for name, values in (("x", x), ("y", y)):
            steps = np.diff(values)
            if values.size < 2 or not ((steps > 0).all() or (steps < 0).all()):
                raise InputError(
                    f"{what}: {name} of {values.size} values",
                    allowed="two or more values that increase or decrease",
                    problem=f"The coordinate {name} of {what} is not monotonic or has fewer than two values.",
                )
        flips = bool(y[1] < y[0]), bool(x[1] < x[0])
        x, y = x[:: -1 if flips[1] else 1], y[:: -1 if flips[0] else 1]
        closed = degrees and abs(x[-1] - x[0] + (x[1] - x[0]) - 360.0) < 1e-3
        if closed:
            x = np.append(x, x[0] + 360.0)
        to_file = _transform(grid, crs, what)
        west, east, south, north = grid.extent
        mean_latitude = float(to_file(np.array([0.5 * (west + east)]), np.array([0.5 * (south + north)]))[1][0])
        metres = (DEGREE * np.cos(np.radians(mean_latitude)), DEGREE) if degrees else (1.0, 1.0)
        spacing = min(float(np.median(np.diff(x))) * metres[0], float(np.median(np.diff(y))) * metres[1])
        nodes = NodeGrid.within(grid, 0.5 * spacing)
        mesh = np.meshgrid(*nodes.points(grid))
        inside_x, inside_y = to_file(np.minimum(mesh[0], east), np.minimum(mesh[1], north))
        _check_cover(x, y, inside_x, inside_y, degrees, what)
        node_x, node_y = to_file(*mesh)
        columns, along = _interval_index(x, _wrapped(x, node_x, degrees))
        rows, up = _interval_index(y, node_y)
        if true_north and parse_crs(grid.crs) is not None:
            crs, degrees = LONGITUDE_LATITUDE, True
            node_x, node_y = _transform(grid, crs, what)(*mesh)
        directions = None if crs is None else _directions(grid, crs, node_x, node_y, degrees)
        return cls(nodes, rows, columns, (up, along), flips, bool(closed), directions)

    def at_nodes(
        self,
        array: Any,
        missing: float | None = None,
        read: Callable[[Any], np.ndarray] = lambda subset: subset.values,
        bounded: bool = False,
    ) -> np.ndarray:
        """Return the values at the nodes from a two-dimensional xarray array, of which only the required part is read.

        read : returns the values of a part of the array.
        missing : substitute for missing values; without it the surrounding nodes are missing too.
        bounded : whether nodes beyond the outermost points of the file, which are extrapolated, keep to the range of
        the values that were read.
        """
        count_y, count_x = array.shape
        low, high = int(self.rows.min()), int(self.rows.max()) + 2
        west, east = (0, count_x) if self.closed else (int(self.columns.min()), int(self.columns.max()) + 2)
        rows = slice(count_y - high, count_y - low) if self.flips[0] else slice(low, high)
        columns = slice(count_x - east, count_x - west) if self.flips[1] else slice(west, east)
        values = np.asarray(read(array[rows, columns]), np.float64)
        values = values[:: -1 if self.flips[0] else 1, :: -1 if self.flips[1] else 1]
        if missing is not None:
            values = np.where(np.isnan(values), missing, values)
        if self.closed:
            values = np.concatenate([values, values[:, :1]], axis=1)
        m, n, (up, along) = self.rows - low, self.columns - west, self.fractions
        below = (1.0 - along) * values[m, n] + along * values[m, n + 1]
        above = (1.0 - along) * values[m + 1, n] + along * values[m + 1, n + 1]
        at_nodes = (1.0 - up) * below + up * above
        known = values[np.isfinite(values)] if bounded else values[:0]
        return np.clip(at_nodes, known.min(), known.max()) if known.size else at_nodes


def _transform(grid: Grid, crs: Any, what: str) -> Any:
    """Return a function from the grid's x and y to the coordinates of another system."""
    target = parse_crs(crs) if isinstance(crs, str) else crs
    grid_crs = parse_crs(grid.crs)
    if target is None or (grid_crs is not None and grid_crs == target):
        return lambda x, y: (np.asarray(x, float), np.asarray(y, float))
    if grid_crs is None:
        raise InputError(
            f"{what} in {str(crs)[:60]} and a grid without a coordinate system",
            allowed="a grid with crs", fix=f'crs = "EPSG:32633" {WHERE}',
            problem=f"The coordinate system of the grid is unknown, so {what} cannot be interpolated to it.",
        )  # fmt: skip
    return lambda x, y: reprojected(grid_crs, target, x, y)


def reprojected(source: Any, target: Any, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Transform points from one coordinate system to another."""
    from rasterio.warp import transform

    shape = np.shape(x)
    coordinates = transform(source, target, np.ravel(x).tolist(), np.ravel(y).tolist())
    return np.reshape(coordinates[0], shape), np.reshape(coordinates[1], shape)


def _wrapped(x: np.ndarray, positions: np.ndarray, degrees: bool) -> np.ndarray:
    """Return longitudes within 180 degrees of the centre of the file."""
    if not degrees:
        return positions
    west = 0.5 * (x[0] + x[-1]) - 180.0
    return west + np.mod(positions - west, 360.0)


def _interval_index(points: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the point before each position, and the fraction of the way to the next."""
    index = np.clip(np.searchsorted(points, positions, side="right") - 1, 0, points.size - 2)
    return index, (positions - points[index]) / (points[index + 1] - points[index])


def _check_cover(
    x: np.ndarray, y: np.ndarray, inside_x: np.ndarray, inside_y: np.ndarray, degrees: bool, what: str
) -> None:
    inside_x = _wrapped(x, inside_x, degrees)
    unit = "degrees" if degrees else "m"
    for name, points, positions in (("x", x, inside_x), ("y", y, inside_y)):
        tolerance = BEYOND * max(points[1] - points[0], points[-1] - points[-2])
        if not (positions.min() >= points[0] - tolerance and positions.max() <= points[-1] + tolerance):
            raise InputError(
                f"{what} from {name} = {points[0]:g} to {points[-1]:g} {unit} for a domain from {positions.min():g} to "
                f"{positions.max():g} {unit}",
                allowed="a file that covers the domain",
                problem=f"{what} does not cover the domain along {name}.",
            )


def _directions(grid: Grid, crs: Any, x: np.ndarray, y: np.ndarray, degrees: bool) -> tuple[Any, Any] | None:
    """Return the cosines of the file's x and y axes along the axes of the grid; None for equal systems."""
    source, grid_crs = (parse_crs(crs) if isinstance(crs, str) else crs), parse_crs(grid.crs)
    if grid_crs is None or source == grid_crs:
        return None
    step = 1e-4 if degrees else 10.0
    here = reprojected(source, grid_crs, x, y)
    components = []
    for dx, dy in ((step, 0.0), (0.0, step)):
        there = reprojected(source, grid_crs, x + dx, y + dy)
        east, north = there[0] - here[0], there[1] - here[1]
        long = np.hypot(east, north)
        components.append((east / long, north / long))
    return components[0], components[1]
