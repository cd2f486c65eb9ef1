"""Bed elevation from rasters: GeoTIFF, ESRI ASCII and NetCDF."""

from __future__ import annotations

import math
import os
import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from eagre.arguments import find_fill, is_fill
from eagre.errors import InputError
from eagre.io.files import input_file
from eagre.io.rasters.esri_ascii import is_esri_ascii, read_esri_ascii
from eagre.io.rasters.netcdf_raster import read_netcdf_raster
from eagre.io.rasters.raster import Around, Dem, metric_crs, refuse_degrees, rolled
from eagre.plausible import QUANTITIES


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


__all__ = ["Dem", "read_dem", "read_raster"]

_NAMES = ("elevation", "bed_elevation", "z", "topo", "topography", "bathymetry", "band1", "depth", "bed", "height")
_DEPTHS = ("depth", "depths", "bathymetry", "bathy", "water_depth", "deptho")
_METRES = re.compile(r"(m|metres?|meters?|-?1|-)(?![A-Za-z0-9/*^-])", re.IGNORECASE)


def read_raster(
    path: str | os.PathLike[str],
    *,
    band: int | None = None,
    variable: str | None = None,
    names: Sequence[str] = (),
    record: int | None = None,
    around: Around | None = None,
) -> Dem:
    """Read a raster of any quantity (Manning's n, an initial field) without conversion.

    Parameters
    ----------
    path : path-like
        ``.tif``/``.tiff``, ``.asc`` (or any file that begins like an ESRI ASCII grid), ``.nc``.
    band : int, optional
        Band of a GeoTIFF with several bands, from 1.
    variable : str, optional
        Variable of a NetCDF file with several variables.
    names : sequence of str
        Preferred names: a variable with one of these names is selected if the file has several variables.
    record : int, optional
        Record of a NetCDF variable with a time dimension, from 1; -1 is the last.
    around : Around, optional
        Target coordinate system and extent. A raster in another coordinate system is read without conversion, for
        `eagre.io.rasters.warp.onto`.

    Returns
    -------
    Dem
        `elevation` holds the values in the file's units, row 0 = south, NaN where there is no data.

    Raises
    ------
    InputError
        If the file is missing or of another format, or is not a raster in projected metres.
    """
    full = input_file(path, "raster")
    suffix = full.suffix.lower()
    if suffix in (".nc", ".nc4", ".cdf", ".grd") and not is_esri_ascii(full):
        return read_netcdf_raster(full, variable, names, record, around)
    if record is not None:
        raise InputError(
            f"record = {record} of {full}",
            allowed="record for a NetCDF file, band for a GeoTIFF",
            problem="The argument record applies to NetCDF files only.",
        )
    if suffix in (".tif", ".tiff"):
        return read_geotiff(full, band, around)
    if suffix == ".asc" or is_esri_ascii(full):
        return read_esri_ascii(full, around)
    raise InputError(
        f"raster {full}",
        allowed=".tif or .tiff (GeoTIFF), .asc (ESRI ASCII), .nc (NetCDF)",
        fix=f"gdal_translate {quote(str(full))} {quote(full.stem)}.tif",
        problem=f"The format of the raster {full} is not supported.",
    )


def read_dem(
    path: str | os.PathLike[str],
    *,
    positive: str | None = None,
    band: int | None = None,
    vertical_offset: float = 0.0,
    variable: str | None = None,
    record: int | None = None,
    around: Around | None = None,
    coordinates: str = "file",
) -> Dem:
    """Read bed elevation, metres, positive up.

    elevation = +value + vertical_offset  (``positive="up"``)
    elevation = -value + vertical_offset  (``positive="down"``: the file holds depths)

    Parameters
    ----------
    path : path-like
        GeoTIFF (``.tif``, ``.tiff``), ESRI ASCII (``.asc``) or NetCDF (``.nc``), in projected metres.
    positive : str, optional
        ``"up"`` for elevations, ``"down"`` for depths. The default is "up". It must be given for a
        NetCDF variable of a name such as ``depth`` that has positive values only and no attribute ``positive``.
    band : int, optional
        Band of a GeoTIFF with several bands, from 1.
    vertical_offset : float
        Offset added to the elevation after the sign change, m: height of the file's datum above the model's datum.
    variable : str, optional
        Variable of a NetCDF file with several variables.
    record : int, optional
        Record of a NetCDF variable with a time dimension, such as a moving bed, from 1; -1 is the last.
    around : Around, optional
        See `read_raster`.
    coordinates : {"file", "metres"}
        "metres" declares that the coordinates of a file without a coordinate system are metres, for example for a flume
        near the origin. "file" rejects such coordinates if they look like degrees.

    Returns
    -------
    Dem
        Elevation (ny, nx), float64, row 0 = south, NaN where there is no data.

    Raises
    ------
    InputError
        If the file is missing, in degrees or feet, or rotated, has nodata values that it does not declare, contradicts
        `positive`, or does not state whether its values are depths or elevations.
    """
    if positive not in (None, "up", "down"):
        raise InputError(
            f"positive = {positive!r}", allowed='"up" (elevations) or "down" (depths)', fix='positive = "up"'
        )
    if coordinates not in ("file", "metres"):
        got = f"coordinates = {coordinates!r}"
        raise InputError(got, allowed='"file" or "metres"', fix='coordinates = "metres"')
    if not (isinstance(vertical_offset, (int, float, np.number)) and math.isfinite(vertical_offset)):
        raise InputError(f"vertical_offset = {vertical_offset!r}", allowed="a number of metres", fix="offset = 0.0")
    raw = read_raster(path, band=band, variable=variable, names=_NAMES, record=record, around=around)
    if positive is None:
        _refuse_likely_depths(raw)
        positive = "up"
    if raw.positive not in (None, positive):
        raise InputError(
            f"positive = {positive!r} for {raw.name}, whose attributes say {raw.positive!r}",
            allowed=f"{raw.positive!r}",
            fix=f'positive = "{raw.positive}"',
            problem=f"The values of {raw.name} are declared as positive {raw.positive}.",
        )
    if raw.units and not _METRES.match(raw.units.strip()):
        raise InputError(
            f"{raw.name}: elevations in {raw.units}",
            allowed="metres (units m)",
            fix=f"gdal_edit.py -units m {quote(raw.name)}" if raw.name.lower().endswith((".tif", ".tiff")) else "",
            problem=f"The elevations of {raw.name} are not in metres.",
        )
    sign = 1.0 if positive == "up" else -1.0
    _refuse_hidden_nodata(raw, sign)
    if coordinates == "file":
        _refuse_likely_degrees(raw)
    return replace(raw, elevation=sign * raw.elevation + vertical_offset, units="m", positive="up")


def _refuse_hidden_nodata(raw: Dem, sign: float) -> None:
    """Raise `InputError` for values that are impossible as elevations: nodata values that the file does not declare."""
    values = raw.elevation[np.isfinite(raw.elevation)]
    if values.size == 0:
        raise InputError(
            f"{raw.name}: no data in any of its {raw.elevation.size} cells",
            allowed="a bed elevation",
            problem=f"The raster {raw.name} has no valid cell.",
        )
    relief = QUANTITIES["elevation"]
    impossible = values[(sign * values < relief.minimum) | (sign * values > relief.maximum)]
    allowed = f"elevations in metres from {relief.minimum:g} to {relief.maximum:g}, and a declared nodata value"
    if impossible.size:
        raise _undeclared(raw, float(impossible[np.argmax(np.abs(impossible))]), allowed)
    check_raster_fill(raw, allowed)


def check_raster_fill(raw: Dem, allowed: str = "values of one size, and a declared nodata value") -> None:
    """Raise `InputError` for usual fill values that the file does not declare."""
    fill = find_fill(raw.elevation[np.isfinite(raw.elevation)])
    if fill is not None:
        raise _undeclared(raw, fill, allowed)


def _refuse_likely_depths(raw: Dem) -> None:
    """Raise `InputError` for positive values of a NetCDF variable called a depth without the attribute ``positive``."""
    values = raw.elevation[np.isfinite(raw.elevation)]
    named = raw.variable is not None and raw.variable.lower() in _DEPTHS
    if raw.positive is None and named and values.size and values.min() >= 0.0 and values.max() > 0.0:
        raise InputError(
            f"{raw.name}: the variable {raw.variable} from {values.min():g} to {values.max():g}, without the attribute "
            "positive",
            allowed='positive = "down" (depths below the datum) or positive = "up" (elevations)',
            fix='positive = "down"',
            problem="The values may be depths or elevations; the file does not declare which.",
        )  # fmt: skip


def _undeclared(raw: Dem, value: float, allowed: str) -> InputError:
    """Return the error for a nodata value that a file does not declare, with the command that declares it."""
    count = int(is_fill(raw.elevation, value).sum())
    marked = f"{quote(Path(raw.name).stem)}_marked"
    fix = f"gdal_translate -a_nodata {value:g} {quote(raw.name)} {marked}.tif"
    if raw.variable is not None:
        fix = f"ncatted -a _FillValue,{raw.variable},o,f,{value:g} {quote(raw.name)} {marked}.nc"
    return InputError(
        f"{raw.name}: the value {value:g} in {count} of {raw.elevation.size} cells",
        allowed=allowed, fix=fix,
        problem=f"The file holds {value:g}, a usual fill value of missing data, which it does not declare.",
    )  # fmt: skip


def _refuse_likely_degrees(raw: Dem) -> None:
    """Raise `InputError` for a raster without a coordinate system whose coordinates can only be degrees.

    All of these conditions must hold: cell sizes below 0.1, coordinates in the range of longitude and latitude, and a
    relief of more than ten times the longer side.
    """
    if raw.crs is not None or max(raw.dx, raw.dy) >= 0.1:
        return
    west, east, south, north = raw.extent
    relief = float(np.nanmax(raw.elevation) - np.nanmin(raw.elevation))
    within = -180.0 <= west and east <= 360.0 and -90.0 <= south and north <= 90.0
    if within and relief > 10.0 * max(east - west, north - south):
        refuse_degrees(raw.name, (0.5 * (west + east), 0.5 * (south + north)), raw.dx, guess=True)
