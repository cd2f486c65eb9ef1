"""Create the input files of `case.toml`: two rasters of the terrain, land cover, a levee and a weather file.

Usage: ``python make_data.py [FOLDER]``. The valley is synthetic. The script needs NumPy, rasterio, xarray and h5netcdf.
The survey of the lower valley is in the CRS of the grid. The survey of the upper valley is in longitude and latitude.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

WEST, SOUTH, CRS = 500_000.0, 5_300_000.0, "EPSG:32633"
DEGREES = "EPSG:4326"
LENGTH, WIDTH, MIDDLE = 3000.0, 2000.0, 1000.0  # size of the valley and y of the river, m
FOREST, CROPS, TOWN, WATER = 10, 40, 50, 80  # classes of ESA WorldCover


def elevation(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the elevation, m, of a valley with a slope of 4 per 1000 to the west; x, y from the south-west corner."""
    d = np.abs(y - MIDDLE)  # distance from the river, m
    return 200.0 + 0.004 * x + 0.005 * d + 0.1 * np.maximum(d - 400.0, 0.0) - 2.0 * np.clip(2.0 - d / 30, 0, 1)


def classes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the land cover: a river between fields, a town north of the river, forest on the slopes."""
    d = np.abs(y - MIDDLE)  # distance from the river, m
    town = (x > 900.0) & (x < 1900.0) & (y > MIDDLE + 120.0) & (y < MIDDLE + 400.0)
    return np.where(d < 45.0, WATER, np.where(town, TOWN, np.where(d > 400.0, FOREST, CROPS))).astype(np.uint8)


def write_raster(
    path: Path, values: np.ndarray, crs: str, west: float, north: float, cell: tuple[float, float]
) -> None:
    """Write a GeoTIFF; row 0 is in the north."""
    import rasterio

    transform = rasterio.Affine(cell[0], 0.0, west, 0.0, -cell[1], north)
    (ny, nx), nodata = values.shape, -9999.0 if values.dtype == np.float32 else 0
    with rasterio.open(
        path, "w", driver="GTiff", width=nx, height=ny, count=1, dtype=values.dtype, crs=crs, transform=transform,
        compress="deflate", nodata=nodata,
    ) as file:  # fmt: skip
        file.write(values, 1)


def centres(start: float, end: float, cell: float) -> np.ndarray:
    """Return the centres of cells between `start` and `end`."""
    return np.arange(start + 0.5 * cell, end, cell)


def write_terrain(folder: Path) -> tuple[float, float]:
    """Write the terrain and land-cover rasters; return longitude and latitude of the centre of the domain."""
    from rasterio.warp import transform, transform_bounds

    x, y = np.meshgrid(centres(0.0, 1800.0, 20.0), centres(0.0, WIDTH, 20.0)[::-1])
    write_raster(folder / "lower.tif", elevation(x, y).astype(np.float32), CRS, WEST, SOUTH + WIDTH, (20.0, 20.0))
    x, y = np.meshgrid(centres(-100.0, LENGTH + 100.0, 20.0), centres(-100.0, WIDTH + 100.0, 20.0)[::-1])
    write_raster(folder / "cover.tif", classes(x, y), CRS, WEST - 100.0, SOUTH + WIDTH + 100.0, (20.0, 20.0))
    sides = WEST + 1600.0, SOUTH - 100.0, WEST + LENGTH + 100.0, SOUTH + WIDTH + 100.0
    west, south, east, north = transform_bounds(CRS, DEGREES, *sides)
    cell = (2.7e-4, 1.8e-4)  # degrees, about 20 m
    lon, lat = np.meshgrid(centres(west, east, cell[0]), centres(south, north, cell[1])[::-1])
    x, y = (np.reshape(values, lon.shape) for values in transform(DEGREES, CRS, lon.ravel(), lat.ravel()))
    upper = elevation(x - WEST, y - SOUTH).astype(np.float32)
    write_raster(folder / "upper.tif", upper, DEGREES, west, south + lon.shape[0] * cell[1], cell)
    (lon,), (lat,) = transform(CRS, DEGREES, [WEST + 0.5 * LENGTH], [SOUTH + MIDDLE])
    return lon, lat


def write_levee(path: Path) -> None:
    """Write a levee between river and town: two sections with their crest elevations."""
    steps = (((880.0, 1400.0), 207.4), ((1400.0, 1940.0), 209.5))
    features = [
        {
            "type": "Feature", "properties": {"crest": crest},
            "geometry": {"type": "LineString", "coordinates": [[WEST + x, SOUTH + MIDDLE + 100.0] for x in ends]},
        }
        for ends, crest in steps
    ]  # fmt: skip
    crs = {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::32633"}}
    path.write_text(json.dumps({"type": "FeatureCollection", "crs": crs, "features": features}, indent=1) + "\n")


def write_weather(path: Path, lon: float, lat: float) -> None:
    """Write hourly means of rain, 10 m wind and sea-level pressure with ERA5 names."""
    import xarray as xr

    times = np.datetime64("2026-06-01T10:00", "ns") + np.arange(8) * np.timedelta64(1, "h")
    lons, lats = lon + 0.05 * np.arange(-2, 3), lat + 0.05 * np.arange(2, -3, -1)
    rain = np.array([0.0, 0.0, 5.0, 40.0, 60.0, 20.0, 0.0, 0.0]) / 3600.0  # kg m-2 s-1
    along = 1.0 + 0.3 * (lons - lon) / 0.1
    shape = (times.size, lats.size, lons.size)

    def field(values: np.ndarray, units: str) -> tuple[tuple[str, ...], np.ndarray, dict[str, str]]:
        return ("time", "latitude", "longitude"), np.broadcast_to(values, shape).astype(np.float32), {"units": units}

    fields = {
        "mtpr": field(rain[:, None, None] * along, "kg m**-2 s**-1"), "u10": field(np.array(6.0), "m s**-1"),
        "v10": field(np.array(1.0), "m s**-1"), "msl": field(100_800.0 + 200.0 * along, "Pa"),
    }  # fmt: skip
    coordinates = {
        "longitude": ("longitude", lons, {"units": "degrees_east"}),
        "latitude": ("latitude", lats, {"units": "degrees_north"}),
    }
    data = xr.Dataset(fields, {"time": times, **coordinates})
    data.to_netcdf(path, engine="h5netcdf", encoding={"time": {"units": "hours since 2026-06-01"}})


def main(folder: Path) -> None:
    """Write all files to `folder`."""
    lon, lat = write_terrain(folder)
    write_levee(folder / "levee.geojson")
    write_weather(folder / "weather.nc", lon, lat)
    print(f"wrote lower.tif, upper.tif, cover.tif, levee.geojson and weather.nc into {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
