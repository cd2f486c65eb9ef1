"""GeoTIFF rasters, read by rasterio."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.io.rasters.raster import Around, Dem, metric_crs, rolled


def read_geotiff(path: Path, band: int | None = None, around: Around | None = None) -> Dem:
    """Read one band of a GeoTIFF.

    Parameters
    ----------
    path : Path
        The file. Cells outside its mask or with its nodata value become NaN; its scale and offset are applied.
    band : int, optional
        Number of the band, from 1; required for files with several bands (opacity bands are not counted).
    around : Around, optional
        Target: a raster in another coordinate system is read without conversion and only inside the target.

    Returns
    -------
    Dem
        Row 0 = south, values in the file's units.

    Raises
    ------
    InputError
        If the file is not a raster, lacks the band or a georeference, is rotated, or is not in projected metres.
    """
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning, RasterioError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        try:
            with rasterio.open(path) as source:
                band = _band(source, path, band)
                _check(source, path)
                window, transform = _window(source, around)
                values = _read_band(source, path, band, window)
                values = np.ma.filled(values, np.nan) * source.scales[band - 1] + source.offsets[band - 1]
                dem = _oriented(values, transform, path)
                if around is not None and source.crs and source.crs.is_geographic:
                    values, x0 = rolled(dem.elevation, dem.x0 - 360.0 * (dem.x0 >= 180.0), dem.dx, around)
                    dem = replace(dem, elevation=values, x0=x0)
                centre = (0.5 * sum(dem.extent[:2]), 0.5 * sum(dem.extent[2:]))
                crs = metric_crs(source.crs, str(path), centre, dem.dx, around)
                units = source.units[band - 1] or None
        except (RasterioError, OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            problem = f"The file {path} cannot be read as a raster: it is damaged or incomplete ({_reason(error)})."
            raise InputError(
                f"{path}: not a raster that can be read", allowed="a whole GeoTIFF file", problem=problem
            ) from error
    return Dem(dem.elevation, dem.x0, dem.y0, dem.dx, dem.dy, crs, str(path), units)


def _read_band(source: Any, path: Path, band: int, window: Any) -> np.ndarray:
    """Return the values of a band, float64, with undefined values masked; errors name the first unreadable block."""
    from rasterio.errors import RasterioError

    try:
        return source.read(band, masked=True, window=window).astype(np.float64)
    except (RasterioError, OSError) as error:
        where = ""
        for (row, column), block in source.block_windows(band):
            try:
                source.read(band, window=block)
            except (RasterioError, OSError):
                rows = f"rows {block.row_off + 1} to {block.row_off + block.height}"
                where = (
                    f"block ({row}, {column}), {rows} and columns {block.col_off + 1} to {block.col_off + block.width}"
                )
                break
        problem = f"Band {band} of {path} cannot be read: the file is damaged or incomplete"
        problem += f" in {where} ({_reason(error)})." if where else f" ({_reason(error)})."
        raise InputError(f"{path}: a damaged raster", allowed="a whole GeoTIFF file", problem=problem) from error


def _reason(error: BaseException) -> str:
    """Return the message of GDAL, which is the cause of the error of rasterio."""
    return str(error.__cause__ or error).rstrip(".")


def _band(source: Any, path: Path, band: int | None) -> int:
    """Return the selected band, or the only band with values."""
    from rasterio.enums import ColorInterp

    if band is None:
        numbers = [n for n, kind in enumerate(source.colorinterp, start=1) if kind != ColorInterp.alpha]
        if len(numbers) == 1:
            return numbers[0]
        names = [source.descriptions[n - 1] or source.colorinterp[n - 1].name for n in numbers]
        raise InputError(
            f"{path}: {len(numbers)} bands ({', '.join(names[:5])}{', ...' * (len(names) > 5)}) and no band",
            allowed=f"1 to {source.count}",
            fix="band = 1",
            problem=f"The raster {path} has several bands, and no band is selected.",
        )
    if not (isinstance(band, int) and 1 <= band <= source.count):
        raise InputError(
            f"{path}: band = {band!r}",
            allowed=f"1 to {source.count}",
            fix="band = 1",
            problem=f"The raster {path} has no band {band!r}.",
        )
    return band


def _check(source: Any, path: Path) -> None:
    """Raise `InputError` for transforms that are not axis-parallel grids."""
    transform = source.transform
    if transform.is_identity:
        raise InputError(
            f"{path}: no georeference (no origin and cell size)",
            allowed="a GeoTIFF with an origin and a cell size in metres",
            fix="gdal_translate -a_srs EPSG:CODE -a_ullr WEST NORTH EAST SOUTH "
            f"{quote(str(path))} {quote(path.stem)}_placed.tif",
            problem=f"The raster {path} is not georeferenced.",
        )
    if max(abs(transform.b), abs(transform.d)) > 1e-9 * max(abs(transform.a), abs(transform.e)):
        raise InputError(
            f"{path}: a rotated raster (transform {tuple(transform)[:6]})",
            allowed="rows along x and columns along y",
            fix=f"gdalwarp -r bilinear {quote(str(path))} {quote(path.stem)}_north.tif",
            problem=f"The raster {path} is rotated.",
        )


def _window(source: Any, around: Around | None) -> tuple[Any, Any]:
    """Return the window to read and its transform; None and the transform of the file for the whole raster."""
    from rasterio.transform import Affine
    from rasterio.windows import Window

    if around is None or around.extent is None or not around.differs(source.crs):
        return None, source.transform
    west, south, east, north = around.bounds(source.crs)
    if source.crs.is_geographic:
        west, east = _longitudes(source, west, east)
    back = ~source.transform
    (column, row), (column_to, row_to) = back @ (west, north), back @ (east, south)
    columns, rows = sorted((column, column_to)), sorted((row, row_to))
    low_x, high_x = (min(max(int(np.floor(n)) + d, 0), source.width) for n, d in zip(columns, (-2, 3), strict=True))
    low_y, high_y = (min(max(int(np.floor(n)) + d, 0), source.height) for n, d in zip(rows, (-2, 3), strict=True))
    if low_x >= high_x or low_y >= high_y:
        raise around.nothing(source.name)
    move = Affine(1.0, 0.0, low_x, 0.0, 1.0, low_y)
    return Window(low_x, low_y, high_x - low_x, high_y - low_y), source.transform @ move  # type: ignore[call-arg]


def _longitudes(source: Any, west: float, east: float) -> tuple[float, float]:
    """Return west and east of a domain in the longitudes of a raster; the whole raster if both of its ends are needed.

    Across 180 degrees `west` is larger than `east`.
    """
    left, _, right, _ = source.bounds
    east += 360.0 * (east < west)
    fitting = [shift for shift in (-360.0, 0.0, 360.0) if west + shift < right and east + shift > left]
    if len(fitting) > 1:
        return left, right
    shift = fitting[0] if fitting else 0.0
    return west + shift, east + shift


def _oriented(values: np.ndarray, transform: Any, path: Path) -> Dem:
    """Flip rows and columns so that y increases with the row and x with the column."""
    ny, nx = values.shape
    if transform.e < 0:
        values = values[::-1]
    if transform.a < 0:
        values = values[:, ::-1]
    x0 = min(transform.c, transform.c + nx * transform.a)
    y0 = min(transform.f, transform.f + ny * transform.e)
    values = np.where(np.isfinite(values), values, np.nan)
    return Dem(values, x0, y0, abs(transform.a), abs(transform.e), None, str(path))
