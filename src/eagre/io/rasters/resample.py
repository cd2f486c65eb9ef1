"""Interpolation of a raster to a model grid: cell means on coarser grids, bilinear on finer grids.

Along each axis a raster is the piecewise linear function through its cell centres, constant over the outer half
cell. A grid finer than the raster takes the value of that function (bilinear interpolation). A coarser grid takes its
mean over a box as wide as a grid cell, centred at the grid point and computed exactly from the integral of the
function. Planes are reproduced exactly. Close to the edge of the raster the box shrinks, so that it stays centred.

Preserve the height of narrow crests (levees, dams, road embankments) when a raster is interpolated to corners.

A raster cell has one elevation, a model cell the mean of its four corners. With corners that are means of the cells
around them, a levee one cell wide loses half of its height and one of two cells a quarter. Corners on a crest
therefore take the height of the crest.

A cell is on a crest if it is higher than the ground on both sides of it along x, along y or along a diagonal, where the
crest is up to three cells wide. The prominence is the height above the higher side, for the best direction. A direction
counts only if the prominence exceeds `ROUGHNESS_FACTOR` times the width times the roughness of both sides (the mean
absolute second difference). Spurs and peaks of natural terrain therefore stay means: raising them narrows valleys and
delays floods (docs/development/decisions/0092-crests-above-the-roughness.md). Cells without data are not compared.

A point between cells (a corner, the middle of an edge) takes the mean of the crest cells around it and rises by at most
their largest prominence. Points next to a gully, a cell with crests on both sides, stay the mean: otherwise a channel
of one cell between two levees would be filled.
"""

from __future__ import annotations

import math
from dataclasses import replace
from shlex import quote

import numpy as np

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.rasters.raster import Dem, parse_crs

DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))
MARGIN = 12  # cells beyond a window whose values decide on the crests in it
ROUGHNESS_FACTOR = 5.0  # least prominence of a crest of one cell, in units of the roughness around it
WIDTHS = (1, 2, 3)  # of a crest, cells; wider ones keep their height
SIDE_DISTANCES = (3, 6)  # cells from a crest to the centres of 3 x 3 cells; the smoother counts


def _roughness(values: np.ndarray) -> np.ndarray:
    """Mean absolute second difference along x and y over 3 x 3 cells, m, with a margin; infinite without data."""
    from scipy.ndimage import uniform_filter

    rough = np.zeros(values.shape)
    for axis, cells in enumerate(values.shape):
        if cells > 1:
            rough += 0.5 * np.abs(np.diff(_extended(values, axis, 1), 2, axis=axis))
    mean = uniform_filter(np.nan_to_num(rough), 3, mode="nearest")
    return np.pad(np.where(np.isnan(values), np.inf, mean), MARGIN, mode="edge")


def _extended(values: np.ndarray, axis: int, cells: int) -> np.ndarray:
    """Values with so many cells added at both ends of an axis, where the ground continues with its slope."""
    width = [(cells * int(axis == k),) * 2 for k in (0, 1)]
    if values.shape[axis] == 1:
        return np.pad(values, width, mode="edge")
    return np.pad(values, width, mode="reflect", reflect_type="odd")


def prominence_of(values: np.ndarray) -> np.ndarray:
    """Return the height of crest cells above the higher side, (ny, nx), m; 0 for cells that are on no crest.

    Parameters
    ----------
    values : (ny, nx) array, m
        Elevation; NaN where there is no data. Beyond the edges the ground continues with its slope.
    """
    around = _extended(_extended(values, 0, MARGIN), 1, MARGIN)
    rough, prominence = _roughness(values).ravel(), np.zeros(around.size)
    inner = slice(MARGIN - WIDTHS[-1], WIDTHS[-1] - MARGIN)  # first cells of all rows of cells that reach the raster
    indices = np.arange(around.size).reshape(around.shape)[inner, inner]
    for j, i in DIRECTIONS:
        step = j * around.shape[1] + i
        for width in WIDTHS:
            height = _height_above_sides(around, (j, i), width)
            first = indices[height > 0.0]
            roughness = np.maximum(
                np.minimum.reduce([rough[first - steps * step] for steps in SIDE_DISTANCES]),
                np.minimum.reduce([rough[first + (width - 1 + steps) * step] for steps in SIDE_DISTANCES]),
            )
            height = height[height > 0.0]
            narrow = height > ROUGHNESS_FACTOR * width * (1 + abs(i * j)) * roughness
            for cell in range(width):
                crest = first[narrow] + cell * step
                prominence[crest] = np.maximum(prominence[crest], height[narrow])
    return prominence.reshape(around.shape)[MARGIN:-MARGIN, MARGIN:-MARGIN]


def _height_above_sides(around: np.ndarray, way: tuple[int, int], width: int) -> np.ndarray:
    """Height of the lowest of `width` cells in a direction above the higher adjacent cell, at the first cell, m."""
    margin = MARGIN - WIDTHS[-1]

    def cells(steps: int) -> np.ndarray:
        (j, i), (ny, nx) = ((margin + steps * one for one in way), around.shape)
        return around[j : j + ny - 2 * margin, i : i + nx - 2 * margin]

    crest = cells(0)
    for steps in range(1, width):
        crest = np.minimum(crest, cells(steps))
    return crest - np.maximum(cells(-1), cells(width))


def gullies_of(crest: np.ndarray) -> np.ndarray:
    """Cells off the crests with a crest on both sides along x or along y."""
    padded = np.pad(crest, 1)
    between = (padded[1:-1, :-2] & padded[1:-1, 2:]) | (padded[:-2, 1:-1] & padded[2:, 1:-1])
    return between & ~crest


def raised(values: np.ndarray, prominence: np.ndarray, axes: tuple[int, ...] = (0, 1)) -> np.ndarray:
    """Return the elevation between the cells: at the corners, or, with one axis, at the middle of the edges across it.

    Parameters
    ----------
    values : (ny, nx) array, m
        Elevation of raster cells.
    prominence : (ny, nx) array, m
        See `prominence_of`.
    axes : tuple of int
        Axes along which the points lie between cells: (0, 1) gives (ny + 1, nx + 1), (1,) gives (ny, nx + 1).
        Beyond the edges the cells of the edge continue.
    """
    crest = prominence > 0.0
    gully = gullies_of(crest)
    pad = [(int(axis in axes),) * 2 for axis in (0, 1)]
    cells, rises, crests, gullies = (np.pad(one, pad, mode="edge") for one in (values, prominence, crest, gully))

    def around(of: np.ndarray) -> list[np.ndarray]:
        arrays = [of]
        for axis in axes:
            arrays = [array for one in arrays for array in (_interior_of(one, axis, 0), _interior_of(one, axis, 1))]
        return arrays

    near, on = around(cells), around(crests)
    mean = _mean(near)
    count = sum(one.astype(float) for one in on)
    along = sum(np.where(one, value, 0.0) for one, value in zip(on, near, strict=True)) / np.maximum(count, 1.0)
    upper = mean + np.maximum.reduce(around(rises))
    free = (count > 0.0) & ~np.logical_or.reduce(around(gullies))
    return np.where(free, np.maximum(mean, np.minimum(along, upper)), mean)


def _interior_of(values: np.ndarray, axis: int, start: int) -> np.ndarray:
    """All but the last (0) or all but the first (1) along an axis."""
    section = slice(1, None) if start else slice(None, -1)
    return values[section] if axis == 0 else values[:, section]


def _mean(arrays: list[np.ndarray]) -> np.ndarray:
    """Mean of two or four, in pairs: exact where they are alike, and a plane's."""
    while len(arrays) > 1:
        arrays = [0.5 * (a + b) for a, b in zip(arrays[::2], arrays[1::2], strict=True)]
    return arrays[0]


def lattice(values: np.ndarray, prominence: np.ndarray) -> np.ndarray:
    """Cells, the middles of their edges and their corners as one raster of half the spacing, (2 ny + 1, 2 nx + 1).

    Its points lie at 0, 1/2, 1 .. of a cell from the south-west edge; linear between them, it is the bilinear function
    through the centres wherever no crest passes.
    """
    ny, nx = values.shape
    fine = np.empty((2 * ny + 1, 2 * nx + 1))
    fine[1::2, 1::2] = values
    fine[::2, 1::2] = raised(values, prominence, (0,))
    fine[1::2, ::2] = raised(values, prominence, (1,))
    fine[::2, ::2] = raised(values, prominence)
    return fine


_EDGE = 1e-3
"""Tolerance, in raster cells, of a grid outside the raster: rounding of single-precision coordinates."""
MAX_CELLS = 2**26
"""Maximum number of cells of an extended raster: 0.5 GiB."""


def dem_to_corners(dem: Dem, grid: Grid, *, nodata: str | float = "error", crests: str = "keep") -> np.ndarray:
    """Return the bed elevation at the corners of a grid.

    Parameters
    ----------
    dem : Dem
        Bed elevation (ny, nx), m, positive up, row 0 = south.
    grid : Grid
        Grid inside the outer edges of the DEM. Its outermost corners may lie in the outer half cell of the DEM, where
        the edge value holds.
    nodata : "error" or float
        Treatment of DEM cells without data in the domain: raise an error, or use this elevation, m, positive up, before
        the interpolation.
    crests : {"keep", "mean"}
        "keep": levees and dams up to three raster cells wide keep their height (see above) on grid cells as large
        as the cells of the raster or smaller. "mean": every corner is the mean of the raster cells around it.

    Returns
    -------
    (ny + 1, nx + 1) array, float64, m, positive up, row 0 = south.

    Raises
    ------
    InputError
        If the grid is not inside the DEM (with both extents), the coordinate systems differ, or cells in the domain
        have no data (with their number and the first of them). Empty cells next to the domain are treated as outside
        the DEM.
    """
    if crests not in ("keep", "mean"):
        raise InputError(f"crests = {crests!r}", allowed='"keep" or "mean"', fix='crests = "keep"')
    return _resample(dem, grid, grid.x_corner, grid.y_corner, nodata, crests == "keep")


def raster_to_centres(dem: Dem, grid: Grid, *, nodata: str | float = "error") -> np.ndarray:
    """Return the values of a raster (Manning's n, an initial field) at the centres of a grid.

    For parameters, errors and method see `dem_to_corners`. If `nodata` is a number, the raster may be smaller than the
    grid, and cells outside the raster are treated as cells without data.

    Returns
    -------
    (ny, nx) array, float64, row 0 = south.
    """
    dem = dem if nodata == "error" else _reaching(dem, grid)
    _inside(dem, grid.extent, "the grid", f" in [grid]; {_domain_inside(dem, grid)} in [domain] or [basin]")
    return _resample(dem, grid, grid.x, grid.y, nodata)


def _domain_inside(dem: Dem, grid: Grid) -> str:
    """Return the lines that define a domain of points inside a raster, half a cell inside its edges."""
    west, east, south, north = dem.extent
    return (
        f"x0 = {west + 0.5 * grid.dx:.10g}, length_x = {east - west - grid.dx:.10g}, "
        f"y0 = {south + 0.5 * grid.dy:.10g}, length_y = {north - south - grid.dy:.10g}"
    )


def _reaching(dem: Dem, grid: Grid) -> Dem:
    """Return a raster extended by empty cells to the extent of a grid, if it overlaps the grid."""
    (west, east, south, north), (w, e, s, n) = grid.extent, dem.extent
    beyond = (w - west) / dem.dx, (east - e) / dem.dx, (s - south) / dem.dy, (north - n) / dem.dy
    if max(beyond) <= _EDGE or west >= e or east <= w or south >= n or north <= s:
        return dem
    left, right, below, above = (max(0, math.ceil(cells - _EDGE)) for cells in beyond)
    if (dem.ny + below + above) * (dem.nx + left + right) > MAX_CELLS:
        return dem
    values = np.pad(dem.elevation, ((below, above), (left, right)), constant_values=np.nan)
    return replace(dem, elevation=values, x0=dem.x0 - left * dem.dx, y0=dem.y0 - below * dem.dy)


def grid_from_dem(
    dem: Dem,
    dx: float | None = None,
    dy: float | None = None,
    extent: tuple[float, float, float, float] | None = None,
) -> Grid:
    """Return the grid that covers a DEM, or a part of it, with an integer number of cells.

    Parameters
    ----------
    dem : Dem
        The raster.
    dx, dy : float, optional
        Cell size, m. Default of `dx`: the cell size of the DEM. Default of `dy`: `dx` if given, else the cell size of
        the DEM.
    extent : (west, east, south, north), optional
        Part of the DEM to cover, m. Default: the whole DEM. Cells begin at its south-west corner.

    Returns
    -------
    Grid
        With the coordinate system of the DEM.

    Raises
    ------
    InputError
        If the extent is not inside the DEM, or is not an integer number of cells.
    """
    dx, dy = (dem.dx if dx is None else dx), (dy if dy is not None else dem.dy if dx is None else dx)
    for name, size in (("dx", dx), ("dy", dy)):
        if not (isinstance(size, (int, float, np.number)) and math.isfinite(size) and size > 0):
            raise InputError(f"{name} = {size!r}", allowed="a length in metres, > 0", fix=f"{name} = {dem.dx:g}")
    west, east, south, north = _check_extent(dem, extent)
    nx, ny = int((east - west) / dx + 1e-6), int((north - south) / dy + 1e-6)
    if nx < 1 or ny < 1:
        raise InputError(
            f"cells of {dx:g} m x {dy:g} m in an extent of {east - west:g} m x {north - south:g} m",
            allowed="at least one cell along x and along y",
            fix=f"dx = {min(east - west, north - south) / 100:.3g}",
            problem="The extent is smaller than one cell.",
        )
    across, along = (east - west) / dx, (north - south) / dy
    if max(across - nx, along - ny) > 1e-3:
        edges = ", ".join(f"{edge:.10g}" for edge in (west, west + nx * dx, south, south + ny * dy))
        raise InputError(
            f"cells of {dx:g} m x {dy:g} m in an extent of {east - west:g} m x {north - south:g} m: "
            f"{across:.6g} x {along:.6g} cells",
            allowed="an integer number of cells along x and y",
            fix=f"extent = [{edges}]",
            problem="The extent is not an integer number of cells.",
        )
    return Grid(nx, ny, float(dx), float(dy), float(west), float(south), dem.crs)


def _check_extent(dem: Dem, extent: tuple[float, float, float, float] | None) -> tuple[float, float, float, float]:
    """Return a valid `extent` inside the DEM, or raise `InputError`."""
    if extent is None:
        return dem.extent
    order = "extent = [west, east, south, north], in metres"
    if len(extent) != 4 or not all(math.isfinite(value) for value in extent):
        raise InputError(
            f"extent = {list(extent)}",
            allowed="four numbers",
            fix=order,
            problem="The extent does not have four finite numbers.",
        )
    west, east, south, north = extent
    if not (west < east and south < north):
        raise InputError(
            f"extent = {list(extent)}",
            allowed="west < east and south < north",
            fix=order,
            problem="The edges of the extent are not in the order west, east, south, north.",
        )
    _inside(dem, (west, east, south, north), "the extent")
    return west, east, south, north


def _inside(dem: Dem, extent: tuple[float, float, float, float], what: str, more: str = "") -> None:
    """Raise `InputError` for an extent (west, east, south, north) not inside the DEM; more : text after the fix."""
    west, east, south, north = dem.extent
    slack_x, slack_y = _EDGE * dem.dx, _EDGE * dem.dy
    if (
        extent[0] < west - slack_x
        or extent[1] > east + slack_x
        or extent[2] < south - slack_y
        or extent[3] > north + slack_y
    ):
        raise InputError(
            f"{what} {_format_extent(extent)}, not inside {dem.name}",
            allowed=f"inside {_format_extent(dem.extent)}",
            fix=f"extent = [{west:.10g}, {east:.10g}, {south:.10g}, {north:.10g}]{more}",
            problem=f"{what.capitalize()} is not inside the raster {dem.name}.",
        )


def _format_extent(extent: tuple[float, float, float, float]) -> str:
    """Format an extent for a message."""
    return "x {:.10g} to {:.10g} m, y {:.10g} to {:.10g} m".format(*extent)


def _resample(
    dem: Dem, grid: Grid, x: np.ndarray, y: np.ndarray, nodata: str | float, keep_crests: bool = False
) -> np.ndarray:
    """Return the values at every (y, x), as means or bilinear interpolation, axis by axis."""
    _inside(dem, grid.extent, "the grid")
    _same_crs(dem, grid)
    p_y, half_y = _positions(y, grid.dy, dem.y0, dem.dy, dem.ny)
    p_x, half_x = _positions(x, grid.dx, dem.x0, dem.dx, dem.nx)
    rows, columns = _window(p_y, half_y, dem.ny), _window(p_x, half_x, dem.nx)
    if nodata == "error" and (ends := _trim_empty_edges(dem, grid, rows, columns)) is not dem:
        return _resample(ends, grid, x, y, nodata, keep_crests)
    if keep_crests and not half_x.any() and not half_y.any():
        return _with_crests(dem, rows, columns, nodata, p_y, p_x)
    values = _filled(dem, rows, columns, nodata)
    values = _along_rows(values, p_y - rows.start, half_y)
    values = _along_rows(values.T, p_x - columns.start, half_x).T
    return np.ascontiguousarray(values)


def _with_crests(
    dem: Dem, rows: slice, columns: slice, nodata: str | float, p_y: np.ndarray, p_x: np.ndarray
) -> np.ndarray:
    """Return values at positions in raster cells, with the crests of the cells of a window."""
    crests = _filled(dem, rows, columns, nodata)
    south, west = rows.start, columns.start
    rows, columns = _wider(rows, dem.ny), _wider(columns, dem.nx)
    values = np.array(dem.elevation[rows, columns])
    prominence = prominence_of(values)
    values[np.isnan(values)] = crests.max()  # outside the domain
    values[south - rows.start :, west - columns.start :][: crests.shape[0], : crests.shape[1]] = crests
    y, x = p_y - rows.start, p_x - columns.start
    if _are_corners(y, values.shape[0]) and _are_corners(x, values.shape[1]):
        first, left = round(y[0] + 0.5), round(x[0] + 0.5)
        return np.ascontiguousarray(raised(values, prominence)[first : first + y.size, left : left + x.size])
    between, nowhere = lattice(values, prominence), np.zeros(1)
    sampled = _along_rows(between, 2.0 * y + 1.0, np.broadcast_to(nowhere, y.shape))
    return np.ascontiguousarray(_along_rows(sampled.T, 2.0 * x + 1.0, np.broadcast_to(nowhere, x.shape)).T)


def _wider(window: slice, count: int) -> slice:
    """Return a window extended by the cells that decide whether a crest or a gully is adjacent."""
    return slice(max(window.start - MARGIN - 1, 0), min(window.stop + MARGIN + 1, count))


def _are_corners(position: np.ndarray, count: int) -> bool:
    """Return whether positions in cells are consecutive corners of cells."""
    corner = position + 0.5
    whole = np.abs(corner - np.round(corner)).max() < 1e-6 and corner.max() <= count + 0.5
    return bool(whole and np.allclose(np.diff(corner), 1.0, atol=1e-6))


def _positions(x: np.ndarray, size: float, origin: float, spacing: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions in raster cells from the first centre, and half the width of the averaging box.

    The box is as wide as a grid cell if that is wider than a raster cell, else its width is 0. Close to the edge of the
    raster the box shrinks.
    """
    position = np.clip((x - origin) / spacing - 0.5, -0.5, count - 0.5)
    half = 0.5 * size / spacing if size > spacing * (1 + 1e-9) else 0.0
    half_width = np.minimum(half, np.minimum(position + 0.5, count - 0.5 - position))
    return position, half_width


def _window(position: np.ndarray, half_width: np.ndarray, count: int) -> slice:
    """Return the window of raster cells that the points depend on."""
    rounding = 1e-9
    first = math.floor(float((position - half_width).min()) + rounding)
    last = math.ceil(float((position + half_width).max()) - rounding)
    return slice(min(max(first, 0), count - 1), min(max(last, 0), count - 1) + 1)


def _trim_empty_edges(dem: Dem, grid: Grid, rows: slice, columns: slice) -> Dem:
    """Return the DEM without its rim outside the grid, if cells of the rim in a window are empty and none inside is."""
    west, east, south, north = grid.extent
    empty = np.isnan(dem.elevation[rows, columns])
    j, i = (
        np.flatnonzero((low < centres + half) & (centres - half < high))
        for centres, half, low, high in (
            (dem.y[rows], (0.5 - _EDGE) * dem.dy, south, north), (dem.x[columns], (0.5 - _EDGE) * dem.dx, west, east)
        )
    )  # fmt: skip
    if not (empty.any() and j.size and i.size) or empty[np.ix_(j, i)].any():
        return dem
    below, above = (rows.start + j[0]) * empty[: j[0]].any(), rows.start + j[-1] + 1
    left, right = (columns.start + i[0]) * empty[:, : i[0]].any(), columns.start + i[-1] + 1
    above = above if empty[j[-1] + 1 :].any() else dem.ny
    right = right if empty[:, i[-1] + 1 :].any() else dem.nx
    x0, y0 = dem.x0 + left * dem.dx, dem.y0 + below * dem.dy
    return replace(dem, elevation=dem.elevation[below:above, left:right], x0=x0, y0=y0)


def _filled(dem: Dem, rows: slice, columns: slice, nodata: str | float) -> np.ndarray:
    """Return the part of the DEM in a window, with all empty cells filled."""
    values = dem.elevation[rows, columns]
    empty = np.isnan(values)
    if isinstance(nodata, str) or not math.isfinite(nodata):
        if nodata != "error":
            raise InputError(
                f"nodata = {nodata!r}", allowed='"error", or an elevation in metres', fix='nodata = "error"'
            )
        if empty.any():
            j, i = (int(index) for index in np.argwhere(empty)[0])
            j, i = j + rows.start, i + columns.start
            raise InputError(
                f"{dem.name}: {int(empty.sum())} of the {values.size} cells in the domain have no data; the first is "
                f"cell (j, i) = ({j}, {i}) at x = {dem.x[i]:.10g} m, y = {dem.y[j]:.10g} m",
                allowed="data in every cell, or a substitute value",
                fix=f"nodata = {np.nanmax(values) if not empty.all() else 0.0:.4g}",
                problem=f"The raster {dem.name} has cells without data in the domain.",
            )
        return values
    return np.where(empty, float(nodata), values) if empty.any() else values


def _along_rows(values: np.ndarray, position: np.ndarray, half_width: np.ndarray) -> np.ndarray:
    """Sample the first axis of `values` (n, m) at `position` (p,) with boxes of half width `half_width`: (p, m)."""
    boxed = half_width > 1e-6
    result = np.empty((position.size, values.shape[1]))
    result[~boxed] = _linear(values, position[~boxed])
    if boxed.any():
        low, high = position[boxed] - half_width[boxed], position[boxed] + half_width[boxed]
        base = values[0, 0]  # so that a constant stays exact
        values = values - base
        total = np.zeros_like(values)
        np.cumsum(0.5 * (values[1:] + values[:-1]), axis=0, out=total[1:])
        difference = _integral(values, total, high) - _integral(values, total, low)
        result[boxed] = base + difference / (high - low)[:, None]
    return result


def _linear(values: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Interpolate linearly along the first axis; values are constant outside the centres."""
    inner = np.clip(position, 0.0, values.shape[0] - 1.0)
    k = inner.astype(np.intp)
    t = (inner - k)[:, None]
    return values[k] + t * (values[np.minimum(k + 1, values.shape[0] - 1)] - values[k])


def _integral(values: np.ndarray, total: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Return the integral of that function from the first centre to `position`; `total` holds it at the centres."""
    inner = np.clip(position, 0.0, values.shape[0] - 1.0)
    k = inner.astype(np.intp)
    t = (inner - k)[:, None]
    rise = values[np.minimum(k + 1, values.shape[0] - 1)] - values[k]
    within = total[k] + t * values[k] + 0.5 * t * t * rise
    return within + (position - inner)[:, None] * _linear(values, position)


def _same_crs(dem: Dem, grid: Grid) -> None:
    """Raise `InputError` if the coordinate systems of a raster and a grid are known and differ."""
    if dem.crs is None or grid.crs is None or dem.crs == grid.crs:
        return
    grid_crs, dem_crs = parse_crs(grid.crs), parse_crs(dem.crs)
    if grid_crs is not None and dem_crs is not None and grid_crs != dem_crs:
        raise InputError(
            f"{dem.name} in {dem.crs[:60]} for a grid in {grid.crs[:60]}",
            allowed="one coordinate system for all rasters",
            fix=f"gdalwarp -t_srs {quote(grid.crs[:60])} {quote(dem.name)} projected.tif",
            problem=f"The raster {dem.name} and the grid have different coordinate systems.",
        )
