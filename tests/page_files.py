"""The files that snippets of the documentation name, made small, so that every snippet can run."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
DEMO = ROOT / "examples" / "demo"
UTM = "EPSG:32629"  # of the demo
BAY = (512000.0, 518000.0, 4660000.0, 4666000.0)  # west, east, south, north of the page about terrain


def write_raster(path: Path, values: np.ndarray, crs: str, extent: tuple[float, ...], nodata: float) -> None:
    """Write a GeoTIFF of `values`, (ny, nx), row 0 in the north, on `extent`: west, east, south, north."""
    import rasterio

    (ny, nx), (west, east, south, north) = values.shape, extent
    transform = rasterio.Affine((east - west) / nx, 0.0, west, 0.0, (south - north) / ny, north)
    options = {"width": nx, "height": ny, "count": 1, "dtype": values.dtype, "crs": crs, "nodata": nodata}
    with rasterio.open(path, "w", driver="GTiff", transform=transform, **options) as file:
        file.write(values, 1)


def degrees(extent: tuple[float, ...], crs: str, margin: float = 0.02) -> tuple[float, ...]:
    """Return west, east, south, north in degrees around an extent in metres."""
    from rasterio.warp import transform_bounds

    west, east, south, north = extent
    left, bottom, right, top = transform_bounds(crs, "EPSG:4326", west, south, east, north)
    return left - margin, right + margin, bottom - margin, top + margin


def survey(path: Path) -> None:
    """Write a survey of the eastern half of the bay, with a hole without data; elevations rise to the east."""
    west, east, south, north = BAY
    values = np.tile(np.linspace(0.0, 30.0, 60, dtype=np.float32), (120, 1))
    values[50:60, 20:30] = -9999.0
    write_raster(path, values, UTM, (0.5 * (west + east), east, south, north), -9999.0)


def chart(path: Path) -> None:
    """Write a chart of the whole bay in degrees: elevations from -20 m in the west to 30 m in the east."""
    import xarray as xr

    west, east, south, north = degrees(BAY, UTM)
    values = np.tile(np.linspace(-20.0, 30.0, 60), (40, 1))
    lat = ("lat", np.linspace(south, north, 40), {"units": "degrees_north", "standard_name": "latitude"})
    lon = ("lon", np.linspace(west, east, 60), {"units": "degrees_east", "standard_name": "longitude"})
    elevation = (("lat", "lon"), values, {"units": "m"})
    xr.Dataset({"elevation": elevation}, {"lat": lat, "lon": lon}).to_netcdf(path, engine="h5netcdf")


def worldcover(path: Path) -> None:
    """Write land cover of the bay in degrees: water in the west, crops and a town in the east."""
    classes = np.repeat(np.array([80, 40, 50], np.uint8), 20)
    write_raster(path, np.tile(classes, (40, 1)), "EPSG:4326", degrees(BAY, UTM), 0)


def features(path: Path, kind: str, *rows: tuple[dict, list], crs: str = "") -> None:
    """Write GeoJSON of one kind of geometry: properties and coordinates of each feature."""
    found = [
        {"type": "Feature", "properties": properties, "geometry": {"type": kind, "coordinates": coordinates}}
        for properties, coordinates in rows
    ]
    system = {"crs": {"type": "name", "properties": {"name": crs}}} if crs else {}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": found, **system}))


def box(west: float, east: float, south: float, north: float) -> list:
    """Return the coordinates of a rectangle."""
    return [[[west, south], [east, south], [east, north], [west, north], [west, south]]]


def weather(path: Path, extent: tuple[float, ...], start: str, end: str, hours: int) -> None:
    """Write hourly rain, wind and pressure with the names of ERA5, 0.25 degrees apart or a tenth of the extent."""
    import xarray as xr

    west, east, south, north = extent
    times = np.arange(
        start, np.datetime64(end) + np.timedelta64(hours, "h"), np.timedelta64(hours, "h"), "datetime64[ns]"
    )
    lons, lats = np.linspace(west, east, 12), np.linspace(north, south, 10)
    shape = times.size, lats.size, lons.size
    units = {
        "mtpr": (1e-4, "kg m**-2 s**-1"),
        "u10": (8.0, "m s**-1"),
        "v10": (-3.0, "m s**-1"),
        "msl": (101_000.0, "Pa"),
    }
    fields = {
        name: (("time", "latitude", "longitude"), np.full(shape, value, np.float32), {"units": unit})
        for name, (value, unit) in units.items()
    }
    lon = ("longitude", lons, {"units": "degrees_east"})
    lat = ("latitude", lats, {"units": "degrees_north"})
    data = xr.Dataset(fields, {"time": times, "longitude": lon, "latitude": lat})
    data.to_netcdf(path, engine="h5netcdf", encoding={"time": {"units": "hours since 1970-01-01"}})


def eta(path: Path) -> None:
    """Write a measured surface elevation of 2 min: two waves of 1.25 s and 2 s."""
    times = np.arange(0.0, 130.0, 0.05)
    values = 0.01 * np.sin(2.0 * np.pi * times / 2.0) + 0.004 * np.sin(2.0 * np.pi * times / 1.25)
    np.savetxt(path, np.column_stack([times, values]), delimiter=",", header="time,eta", comments="", fmt="%.5f")


def text(content: str) -> Callable[[Path], object]:
    """Return a function that writes a text file."""
    return lambda path: path.write_text(content)


TRACK = """time,lon,lat,pressure (hPa),wind (kn),radius (km)
2026-08-01 00:00,-82.0,22.5,985,60,40
2026-08-02 00:00,-81.5,24.0,965,85,35
2026-08-03 00:00,-80.5,25.5,955,95,30
"""
FILES: dict[str, Callable[[Path], object]] = {
    "river.csv": text("time,q\n0,100\n172800,200\n"),
    "track.csv": text(TRACK),
    "rain.csv": text("time (min),upper (mm/h),lower (mm/h)\n0,0,0\n30,20,10\n120,0,0\n"),
    "sounding.csv": text("z,theta\n0,300\n2000,310\n"),
    "survey.tif": survey,
    "chart.nc": chart,
    "worldcover.tif": worldcover,
    "landuse.geojson": lambda path: features(
        path, "Polygon", ({"n": 0.1}, box(514000.0, 515000.0, 4662000.0, 4664000.0)), crs=UTM
    ),
    "lakes.geojson": lambda path: features(
        path, "Polygon", ({"level": "12 m"}, box(515500.0, 515900.0, 4662000.0, 4663000.0)), crs=UTM
    ),
    "catchment.geojson": lambda path: features(
        path, "Polygon", ({}, box(514000.0, 517900.0, 4661000.0, 4665000.0)), crs=UTM
    ),
    "catchments.geojson": lambda path: features(
        path, "Polygon",
        ({"name": "upper"}, box(100.0, 500.0, 500.0, 900.0)), ({"name": "lower"}, box(100.0, 500.0, 100.0, 500.0)),
    ),
    "levees.geojson": lambda path: features(
        path, "LineString",
        ({"height": 2.5}, [[300.0, 100.0], [400.0, 500.0]]), ({"height": 3.0}, [[400.0, 500.0], [400.0, 900.0]]),
    ),
    "era5.nc": lambda path: weather(
        path, degrees((400e3, 440e3, 5290e3, 5320e3), "EPSG:32633", 0.3), "2026-01-30T23", "2026-02-02T01", 1
    ),
}  # fmt: skip
OF_PAGE: dict[str, dict[str, Callable[[Path], object]]] = {
    "docs/how-to/waves.md": {"wave.csv": eta},
    "docs/models/barotropic.md": {
        "era5.nc": lambda path: weather(path, (-80.0, 0.0, 5.0, 65.0), "2025-12-31", "2027-01-02", 24)
    },
}
"""Files of a page that have another content than those of the same name elsewhere."""


def make_files(page: str, folder: Path) -> None:
    """Write the files of the demo, and those that a page names."""
    for path in DEMO.glob("*.*"):
        shutil.copy(path, folder)
    content = (ROOT / page).read_text(encoding="utf-8")
    for name, make in (FILES | OF_PAGE.get(page, {})).items():
        if f'"{name}"' in content or f" {name}" in content:
            make(folder / name)
