"""One case with terrain, zones, weather, rain by zone, lines, gauges and maps, as both shallow-water models run it."""

from __future__ import annotations

import json

import numpy as np
import pytest
import rasterio
import xarray as xr
from rasterio.warp import transform

from oracle.cf import violations
from unit.test_io_weather import era5
from vector_files import geojson

WEST, SOUTH, CELL, NX, NY = 400_000.0, 5_300_000.0, 50.0, 23, 17
CASE = """
model = "{kind}"
title = "A pond behind a levee"
{numerics}
[run]
end_time = "{end}"
start_date = 2026-01-31T00:30:00
device = "cpu"
[grid]
crs = "EPSG:32633"
dx = 50.0
extent = [400e3, 401150.0, 5300e3, 5300850.0]
[bed]
file = "bed.tif"
[[bed.levees]]
file = "levee.geojson"
crest = "height"
[initial]
surface_elevation = { zones = "pond.geojson", value = "2 m", outside = 0.0 }
[friction]
manning = { zones = "pond.geojson", value = "n", outside = 0.04 }
[boundaries]
west = { kind = "stage", level = 0.2 }
[[boundaries.internal]]
kind = "discharge"
rate = "5 m3/s"
points = [[400625.0, 5300425.0]]
name = "spring"
[sources.weather]
file = "era5.nc"
rain = false
drag = "garratt"
[sources.rain]
rate = { zones = "pond.geojson", series = "rain.csv", outside = "5 mm/h" }
[[output]]
file = "all.nc"
interval = "5 min"
[[output]]
file = "part.zarr"
interval = "2 min"
extent = [400300.0, 400800.0, 5300200.0, 5300700.0]
stride = 2
variables = ["depth", "velocity"]
[gauges]
file = "gauges.nc"
interval = "1 min"
points = "gauges.csv"
variables = ["depth", "velocity"]
[cross_sections]
file = "cross_sections.nc"
interval = "1 min"
paths = "lines.geojson"
[maps]
file = "maps.nc"
variables = ["max_depth", "max_speed", "time_of_max_depth", "hazard_class"]
arrival_depths = ["5 cm"]
duration_depths = ["5 cm"]
wet_depth = "1 mm"
mean = ["velocity"]
variance = ["velocity"]
[restart]
file = "restart.nc"
interval = "5 min"
"""
KINDS = {"shallow-water": "", "shallow-water-adi": 'numerics.time_step = "10 s"'}
RING = [[400_200.0, 5_300_150.0], [401_000.0, 5_300_150.0], [401_000.0, 5_300_700.0], [400_200.0, 5_300_700.0]]
POND = [[400_400.0, 5_300_200.0], [400_900.0, 5_300_200.0], [400_900.0, 5_300_650.0], [400_400.0, 5_300_650.0]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The files that the case reads, in systems of their own."""
    monkeypatch.chdir(tmp_path)
    era5("era5.nc")
    place = rasterio.Affine(20.0, 0.0, WEST - 100.0, 0.0, -20.0, SOUTH + 950.0)
    bed = 1.5 - 0.02 * np.hypot(*np.meshgrid(np.arange(-34.0, 34.0), np.arange(-26.0, 27.0)))
    options = {"height": bed.shape[0], "width": bed.shape[1], "count": 1, "dtype": "float64", "crs": "EPSG:32633"}
    with rasterio.open("bed.tif", "w", driver="GTiff", transform=place, **options) as file:
        file.write(bed, 1)
    named = {"crs": "EPSG:32633"}
    ring = [*POND, POND[0]]
    geojson(tmp_path / "levee.geojson", ("LineString", ring[:3], {"height": "2.4 m"}), **named)
    geojson(tmp_path / "pond.geojson", ("Polygon", [ring], {"name": "pond", "n": 0.03}), **named)
    geojson(tmp_path / "lines.geojson", ("LineString", [*RING, RING[0]], {"name": "round"}), **named)
    lon, lat = transform("EPSG:32633", "EPSG:4326", [400_625.0, 400_175.0], [5_300_425.0, 5_300_425.0])
    rows = [f"{name},{x:.9f},{y:.9f}" for name, x, y in zip(("spring", "shore"), lon, lat, strict=True)]
    (tmp_path / "rain.csv").write_text("time (min),pond (mm/h)\n0,50\n60,0\n")
    (tmp_path / "gauges.csv").write_text("\n".join(["name,lon,lat", *rows]))
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_case_closes_its_balance_goes_on_and_is_exported(kind, eagre, folder, opened):
    """In single precision, which is the default; every file keeps the rules of CF."""
    names = ("all.nc", "gauges.nc", "cross_sections.nc", "maps.nc")
    text = CASE.replace("{numerics}", KINDS[kind]).replace("{kind}", kind)
    (folder / "case.toml").write_text(text.replace("{end}", "10 min"))
    done = eagre("run", "case.toml")
    assert done.code == 0, done.err
    whole = {name: opened(folder / name) for name in names}
    assert [told for name in names for told in violations(folder / name)] == []

    depth = whole["all.nc"].depth.values.astype(float)
    x, y = (whole["all.nc"][axis].values for axis in "xy")
    within = ((x > 400_200.0) & (x < 401_000.0)) & ((y > 5_300_150.0) & (y < 5_300_700.0))[:, None]
    change = (depth[-1] - depth[0])[within].sum() * CELL**2
    rained = 50e-3 / 3600.0 * 600.0 * (1.0 - 600.0 / 7200.0), 5e-3 / 3600.0 * 600.0
    pond = ((x > 400_400.0) & (x < 400_900.0)) & ((y > 5_300_200.0) & (y < 5_300_650.0))[:, None]
    brought = 5.0 * 600.0 + CELL**2 * (rained[0] * pond.sum() + rained[1] * (within & ~pond).sum())
    out = float(whole["cross_sections.nc"].volume.values[-1, 0])
    assert change + out == pytest.approx(brought, rel=2e-3) and abs(out) > 10.0
    shown = whole["gauges.nc"].depth.values[::5, 0]
    np.testing.assert_array_equal(shown, whole["all.nc"].depth.sel(x=400_625.0, y=5_300_425.0).values)

    (folder / "case.toml").write_text(text.replace("{end}", "5 min"))
    assert eagre("run", "case.toml", "--overwrite").code == 0
    (folder / "case.toml").write_text(text.replace("{end}", "10 min"))
    done = eagre("run", "case.toml", "--restart", "restart.nc")
    assert done.code == 0, done.err
    for name in names:
        data = opened(folder / name)
        if name == "maps.nc":  # a record at the end of each run
            data = data.isel(time=[-1])
        xr.testing.assert_equal(data, whole[name])

    done = eagre("export", "maps.nc", "-v", "max_depth", "-o", "deep.tif")
    assert done.code == 0, done.err
    with rasterio.open("deep.tif") as file:
        assert file.crs.to_epsg() == 32633 and tuple(file.bounds) == (WEST, SOUTH, WEST + NX * CELL, SOUTH + NY * CELL)
        deepest = np.nan_to_num(whole["maps.nc"].max_depth.values[-1])
        np.testing.assert_array_equal(np.nan_to_num(file.read(1)[::-1]), np.where(deepest > 1e-3, deepest, 0.0))
    done = eagre("export", "part.zarr", "-t", "2026-01-31T00:34", "--deeper-than", "5 cm", "-o", "flood.geojson")
    assert done.code == 0, done.err
    (feature,) = json.loads((folder / "flood.geojson").read_text())["features"]
    assert feature["properties"]["time_s"] == 240.0 and feature["properties"]["area_m2"] > 0.0
