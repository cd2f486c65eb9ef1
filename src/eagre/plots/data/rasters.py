"""Rasters (GeoTIFF, ESRI ASCII) as fields for maps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from eagre.config.toml import existing_file
from eagre.plots.data.fields import FieldFile
from eagre.plots.data.selection import known_variable

SUFFIXES = (".tif", ".tiff", ".asc")
_ANY_SYSTEM = "EPSG:5041"
"""Polar coordinate reference system: rasters in all other systems, degrees included, are read without a warp."""


def open_raster(path: str | Path, variable: str | None = None) -> FieldFile:
    """Open a band of a raster as a field that does not change with time.

    Parameters
    ----------
    path : str or Path
        File that ends in .tif, .tiff or .asc.
    variable : str, optional
        Name of a band; without it the first band. The name is that of the variable in files of `eagre export`, or
        else the description of the band, or else ``band_1``; a single band without a description is ``raster``.

    Raises
    ------
    InputError
        If the file is missing, is not a raster or has no such band.
    """
    import xarray as xr

    from eagre.io.rasters.dem import read_raster
    from eagre.io.rasters.raster import Around, parse_crs

    path = existing_file(Path(path), "raster")
    bands, title = _bands(path)
    name = known_variable(variable, [*bands], path) if variable is not None else next(iter(bands))
    number, attributes = bands[name]
    dem = read_raster(path, band=number, around=Around(_ANY_SYSTEM))
    attributes = {"units": dem.units or ""} | attributes
    coords = {"time": ("time", [0.0]), "y": dem.y, "x": dem.x}
    dataset = xr.Dataset({name: (("y", "x"), dem.elevation, attributes)}, coords, {"title": title})
    crs = parse_crs(dem.crs)
    if crs is not None and crs.is_geographic:
        return FieldFile(path, dataset, axes=("longitude", "latitude"), units="degrees")
    return FieldFile(path, dataset)


def _bands(path: Path) -> tuple[dict[str, tuple[int | None, dict[str, Any]]], str]:
    """Return number and attributes of the bands by name, and the title of the file."""
    if path.suffix.lower() == ".asc":
        return {"raster": (None, {"long_name": path.stem})}, path.stem
    import rasterio
    from rasterio.enums import ColorInterp
    from rasterio.errors import RasterioError

    bands: dict[str, tuple[int | None, dict[str, Any]]] = {}
    try:
        with rasterio.open(path) as source:
            numbers = [n for n, kind in enumerate(source.colorinterp, start=1) if kind != ColorInterp.alpha]
            for n in numbers:
                text = source.descriptions[n - 1] or ""
                name = source.tags(n).get("variable") or text or (f"band_{n}" if len(numbers) > 1 else "raster")
                name = name if name not in bands else f"{name}_{n}"
                bands[name] = n, {"long_name": text or (path.stem if name == "raster" else name)}
            return bands, source.tags().get("title") or path.stem
    except (RasterioError, OSError):
        return {"raster": (None, {})}, path.stem  # read_raster raises the error
