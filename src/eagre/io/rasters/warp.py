"""Reprojection of one or several rasters to the cells of a grid, by GDAL.

The cells of the grid are divided into cells as small as those of the finest raster. Each raster is warped to these
cells, by bilinear interpolation, or as means if the raster is finer. Where the first raster has no data, the next one
is used. The result is treated like any other raster (`eagre.io.rasters.resample`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.rasters.raster import WHERE, Around, Dem, parse_crs

MARGIN = 4
"""Width, in cells, of the margin around the grid, which gives corners on its edge neighbours."""
MAX_CELLS = 2**26
"""Maximum number of cells of a divided grid: 0.5 GiB."""


def around(grid: Grid) -> Around | None:
    """Return the target of rasters for a grid; None if the coordinate system of the grid is unknown."""
    return None if grid.crs is None else Around(grid.crs, grid.extent)


def cells_within(dem: Dem, crs: str | None, dx: float | None = None, dy: float | None = None) -> str:
    """Return lines for [grid]: cells that a raster fills in a coordinate system, by default of about its cell size."""
    west, east, south, north = dem.extent if crs == dem.crs or crs is None else _inner_extent(dem, crs)
    if not (np.isfinite((west, east, south, north)).all() and west < east and south < north):
        return "dx = 10.0\nextent = [500000.0, 502000.0, 5200000.0, 5201000.0]"  # a raster of half the Earth
    if dx is None:
        whole = Grid(1, 1, east - west, north - south, west, south, crs)
        dx = float(f"{_size_on(dem, parse_crs(dem.crs), whole, parse_crs(crs)):.1g}")
    dy = dy or dx
    east, north = west + (east - west) // dx * dx, south + (north - south) // dy * dy
    return f"dx = {dx:g}\nextent = [{west:.10g}, {east:.10g}, {south:.10g}, {north:.10g}]"


def _inner_extent(dem: Dem, crs: str) -> tuple[float, float, float, float]:
    """Return (west, east, south, north), whole metres, of a rectangle inside the raster in another system."""
    from rasterio.warp import transform

    west, east, south, north = dem.extent
    xs, ys = np.linspace(west, east, 21), np.linspace(south, north, 21)

    def projected(x: np.ndarray | float, y: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
        x, y = np.broadcast_arrays(x, y)
        positions = transform(parse_crs(dem.crs), parse_crs(crs), x.tolist(), y.tolist())
        return np.asarray(positions[0]), np.asarray(positions[1])

    low = np.ceil([projected(west, ys)[0].max(), projected(xs, south)[1].max()])
    high = np.floor([projected(east, ys)[0].min(), projected(xs, north)[1].min()])
    return float(low[0]), float(high[0]), float(low[1]), float(high[1])


def onto(grid: Grid, dems: Sequence[Dem], *, nearest: bool = False) -> Dem:
    """Combine rasters to one raster on a grid; a single raster in the grid's coordinate system is unchanged.

    Parameters
    ----------
    grid : Grid
    dems : sequence of Dem
        In order of priority: the first raster with data is used.
    nearest : bool
        Take the value of the nearest cell, for class numbers.

    Raises
    ------
    InputError
        If the coordinate system of the grid is required and unknown or not in metres, or a raster has none.
    """
    where = around(grid)
    if len(dems) == 1 and (where is None or not where.differs(parse_crs(dems[0].crs))):
        return dems[0]
    target = _target(grid)
    systems = [_system(dem, target) for dem in dems]
    sizes = [_size_on(dem, crs, grid, target) for dem, crs in zip(dems, systems, strict=True)]
    subdivisions = _cuts(grid, min(sizes))
    dx, dy = grid.dx / subdivisions, grid.dy / subdivisions
    x0, y0 = grid.x0 - MARGIN * dx, grid.y0 - MARGIN * dy
    values = np.full((grid.ny * subdivisions + 2 * MARGIN, grid.nx * subdivisions + 2 * MARGIN), np.nan)
    for dem, crs, size in zip(dems, systems, sizes, strict=True):
        empty = np.isnan(values)
        if empty.any():
            way = "nearest" if nearest else "average" if size < 0.75 * min(dx, dy) else "bilinear"
            values[empty] = _warped(dem, crs, target, (x0, y0, dx, dy), values.shape, way)[empty]
    _fill_margin(values)
    name = " and ".join(dict.fromkeys(dem.name for dem in dems))
    return Dem(values, x0, y0, dx, dy, grid.crs, name, dems[0].units, dems[0].positive)


def _target(grid: Grid):
    """Return the coordinate system of the grid, in metres."""
    crs = parse_crs(grid.crs)
    if crs is not None and (not crs.is_projected or abs(crs.linear_units_factor[1] - 1.0) > 1e-9):
        raise InputError(
            f'crs = "{grid.crs}"', allowed="projected coordinates in metres, for reprojection of rasters",
            fix='crs = "EPSG:32633"', problem="The coordinate system of the grid is not projected in metres.",
        )  # fmt: skip
    return crs


def _system(dem: Dem, target):
    """Return the coordinate system of a raster; by default the system of the grid."""
    crs = parse_crs(dem.crs)
    if crs is not None and target is None:
        raise InputError(
            f"rasters in {dem.crs}",
            allowed="a grid with a crs",
            fix=f'crs = "{dem.crs}" {WHERE}',
            problem="The coordinate system of the grid is unknown, so rasters cannot be reprojected onto it.",
        )
    return crs if crs is not None else target


def _size_on(dem: Dem, crs, grid: Grid, target) -> float:
    """Return the shorter side of a cell of a raster in the middle of the grid, m."""
    if crs is None or crs == target:
        return min(dem.dx, dem.dy)
    from rasterio.warp import transform

    west, east, south, north = grid.extent
    (x,), (y,) = transform(target, crs, [0.5 * (west + east)], [0.5 * (south + north)])[:2]
    xs, ys = transform(crs, target, [x, x + dem.dx, x], [y, y, y + dem.dy])[:2]
    return min(math.hypot(xs[n] - xs[0], ys[n] - ys[0]) for n in (1, 2))


def _cuts(grid: Grid, size: float) -> int:
    """Return the number of subdivisions of a grid cell along each axis."""
    needed = math.ceil(min(grid.dx, grid.dy) / size * (1 - 1e-3))
    return max(1, min(needed, int(math.sqrt(MAX_CELLS / grid.cells))))


def _warped(dem: Dem, crs, target, lattice: tuple[float, ...], shape: tuple[int, int], way: str) -> np.ndarray:
    """Return a raster on cells from (x0, y0) of dx, dy, row 0 = south; NaN where it has no data."""
    from rasterio.transform import Affine
    from rasterio.warp import Resampling, reproject

    x0, y0, dx, dy = lattice
    local = crs is None  # neither knows its system: plain metres
    warped = np.full(shape, np.nan)
    reproject(
        np.ascontiguousarray(dem.elevation[::-1]),
        warped,
        src_transform=Affine(dem.dx, 0.0, dem.x0, 0.0, -dem.dy, dem.y0 + dem.ny * dem.dy),
        src_crs="EPSG:3857" if local else crs,
        src_nodata=np.nan,
        dst_transform=Affine(dx, 0.0, x0, 0.0, -dy, y0 + shape[0] * dy),
        dst_crs="EPSG:3857" if local else target,
        dst_nodata=np.nan,
        resampling=Resampling[way],
        tolerance=0.0,
    )
    return warped[::-1]


def _fill_margin(values: np.ndarray) -> None:
    """Fill cells without data around the grid with the values at its edge."""
    inner = np.pad(values[MARGIN:-MARGIN, MARGIN:-MARGIN], MARGIN, mode="edge")
    values[...] = np.where(np.isnan(values), inner, values)
