"""Coordinate systems that NetCDF files tell by the attributes of CF, against EPSG's and rotations by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xarray
from rasterio.warp import transform

import eagre
from eagre.io import read_raster, read_weather
from eagre.io.cf import grid_mapping
from eagre.io.netcdf_attributes import crs_of
from eagre.io.rasters.raster import Around
from eagre.io.rasters.warp import onto

HOURS = np.array(["2026-01-31T00", "2026-01-31T01"], "datetime64[ns]")
DAY = "2026-01-31"
GRS80 = {"semi_major_axis": 6378137.0, "inverse_flattening": 298.257222101}
LAMBERT_93 = GRS80 | {
    "grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [49.0, 44.0],
    "latitude_of_projection_origin": 46.5, "longitude_of_central_meridian": 3.0, "false_easting": 7e5,
    "false_northing": 6.6e6,
}  # fmt: skip
SYSTEMS = {
    "EPSG:2154": LAMBERT_93,
    "EPSG:3035": GRS80 | {
        "grid_mapping_name": "lambert_azimuthal_equal_area", "latitude_of_projection_origin": 52.0,
        "longitude_of_projection_origin": 10.0, "false_easting": 4321000.0, "false_northing": 3210000.0,
    },
    "EPSG:25832": GRS80 | {
        "grid_mapping_name": "transverse_mercator", "scale_factor_at_central_meridian": 0.9996,
        "latitude_of_projection_origin": 0.0, "longitude_of_central_meridian": 9.0, "false_easting": 5e5,
        "false_northing": 0.0,
    },
    "EPSG:25833": {
        "grid_mapping_name": "transverse_mercator", "scale_factor_at_central_meridian": 0.9996,
        "latitude_of_projection_origin": 0.0, "longitude_of_central_meridian": 15.0, "false_easting": 5e5,
        "false_northing": 0.0, "semi_major_axis": 6378137.0, "semi_minor_axis": 6356752.314140356,
    },
    "EPSG:5070": GRS80 | {
        "grid_mapping_name": "albers_conical_equal_area", "standard_parallel": [29.5, 45.5],
        "latitude_of_projection_origin": 23.0, "longitude_of_central_meridian": -96.0,
    },
    "EPSG:3413": {
        "grid_mapping_name": "polar_stereographic", "standard_parallel": 70.0, "latitude_of_projection_origin": 90.0,
        "straight_vertical_longitude_from_pole": -45.0,
    },
    "EPSG:3395": {"grid_mapping_name": "mercator", "longitude_of_projection_origin": 0.0, "standard_parallel": 0.0},
    "EPSG:32633": {"grid_mapping_name": "transverse_mercator", "epsg_code": 32633},
}  # fmt: skip
TURNED = {
    "grid_mapping_name": "rotated_latitude_longitude", "grid_north_pole_latitude": 39.25,
    "grid_north_pole_longitude": -162.0,
}  # fmt: skip


WRITTEN = [code for code in SYSTEMS if code not in ("EPSG:3395", "EPSG:25833", "EPSG:32633")]  # others have other words


@pytest.mark.parametrize("code", WRITTEN)
def test_attributes_that_are_written_are_those_of_cf(code):
    found = grid_mapping(code)
    assert found is not None and SYSTEMS[code].keys() <= found.keys()
    for key, value in SYSTEMS[code].items():
        assert found[key] == (value if isinstance(value, str) else pytest.approx(value)), key


@pytest.mark.parametrize(
    ("code", "place", "near"),
    [
        ("EPSG:3395", (10.0, 40.0), 1e-3),
        ("+proj=lcc +lat_1=30 +lat_2=60 +lat_0=40 +lon_0=5 +R=6370000", (10.0, 47.0), 1e-3),  # the sphere of WRF
        ("+proj=stere +lat_0=90 +lon_0=-45 +k=0.994 +datum=WGS84", (12.0, 80.0), 1e-3),
        ("EPSG:31281", (10.0, 47.0), 200.0),  # degrees from Ferro, on another datum
    ],
)
def test_attributes_that_are_written_lead_to_the_same_places(code, place, near):
    written = grid_mapping(code)
    assert written is not None
    written = {name: value for name, value in written.items() if name not in ("crs_wkt", "spatial_ref", "epsg_code")}
    dataset = xarray.Dataset({"a": ((), 0.0, {"grid_mapping": "where"}), "where": ((), 0, written)})
    found = crs_of(dataset, dataset["a"], Path("a.nc"))
    lon, lat = ([one] for one in place)
    apart = np.subtract(transform("OGC:CRS84", found, lon, lat)[:2], transform("OGC:CRS84", code, lon, lat)[:2])
    assert np.abs(apart).max() < near


@pytest.mark.parametrize("code", ["EPSG:28992", "EPSG:26191", "EPSG:3857"])
def test_systems_that_cf_does_not_know_are_written_as_text_alone(code):
    """A double stereographic plane, a cone of one parallel and a scale, the sphere of web maps."""
    assert set(grid_mapping(code) or {}) == {"crs_wkt", "spatial_ref", "epsg_code"}


def file_of(path, mapping, x, y, values, units="m", names=("x", "y"), said="msl", **attributes):
    """Two records of a pressure, or of other variables, on a grid of a mapping."""
    standard = {"degrees": ("grid_longitude", "grid_latitude")}.get(units, ("projection_x_coordinate",) * 2)
    standard = standard if units == "degrees" else ("projection_x_coordinate", "projection_y_coordinate")
    data = values if isinstance(values, dict) else {said: (values, {"units": "Pa", **attributes})}
    dataset = xarray.Dataset(
        {
            name: (("time", names[1], names[0]), np.stack([one, one]), {"grid_mapping": "where", **more})
            for name, (one, more) in data.items()
        },
        {
            "time": HOURS,
            names[0]: (names[0], x, {"units": units, "standard_name": standard[0]}),
            names[1]: (names[1], y, {"units": units, "standard_name": standard[1]}),
        },
    )
    dataset["where"] = ((), 0, mapping)
    dataset.to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("code", SYSTEMS)
def test_attributes_of_cf_are_the_system_of_a_code(code, tmp_path):
    file_of(tmp_path / "a.nc", SYSTEMS[code], np.arange(3.0), np.arange(2.0), np.zeros((2, 3)))
    with xarray.open_dataset(tmp_path / "a.nc") as dataset:
        found = crs_of(dataset, dataset["msl"], tmp_path)
    lon, lat = {"EPSG:5070": ([-100.0, -80.0], [30.0, 42.0]), "EPSG:3413": ([-30.0, 170.0], [80.0, 60.0])}.get(
        code, ([4.0, 12.0], [44.0, 53.0])
    )
    ours, theirs = (transform("OGC:CRS84", crs, lon, lat) for crs in (found, code))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3)


def turned(lon, lat):
    """Longitude and latitude of a grid whose north pole lies at 39.25 N, 162 W, degrees."""
    away, phi, pole = np.radians(lon + 162.0), np.radians(lat), np.radians(39.25)
    up = np.sin(phi) * np.sin(pole) + np.cos(phi) * np.cos(pole) * np.cos(away)
    east = -np.cos(phi) * np.sin(away)
    north = np.sin(phi) * np.cos(pole) - np.cos(phi) * np.sin(pole) * np.cos(away)
    return np.degrees(np.arctan2(east, north)), np.degrees(np.arcsin(up))


def places(grid, x, y):
    found = transform(grid.crs, "OGC:CRS84", np.ravel(x).tolist(), np.ravel(y).tolist())
    return [np.reshape(one, np.shape(x)) for one in found]


GRID = eagre.Grid(8, 6, 2000.0, 2000.0, 640e3, 5600e3, "EPSG:32633")


def test_a_grid_with_a_turned_pole_lies_where_it_belongs(tmp_path):
    axis = np.arange(-5.0, 5.0, 0.11)
    path = file_of(
        tmp_path / "a.nc", TURNED, axis, axis, 1e5 + 10.0 * axis[None, :] + 100.0 * axis[:, None], "degrees",
        ("rlon", "rlat"),
    )  # fmt: skip
    found = read_weather(path, GRID, start=DAY).pressure
    x, y = np.meshgrid(*found.nodes.points(GRID))
    rlon, rlat = turned(*places(GRID, x, y))
    np.testing.assert_allclose(found.record(0), 1e5 + 10.0 * rlon + 100.0 * rlat, atol=1e-6)
    raster = onto(GRID, [read_raster(path, variable="msl", record=1, around=Around(GRID.crs, GRID.extent))])
    rlon, rlat = turned(*places(GRID, *np.meshgrid(raster.x, raster.y)))
    np.testing.assert_allclose(raster.elevation, 1e5 + 10.0 * rlon + 100.0 * rlat, atol=0.1)


@pytest.mark.parametrize(
    ("names", "true"), [(("eastward_wind", "northward_wind"), True), (("x_wind", "y_wind"), False)]
)
def test_winds_to_the_true_north_are_turned_by_that_alone(tmp_path, names, true):
    """On Lambert's cone 14 degrees east of its middle, whose y is turned by 8 degrees there."""
    x, y = np.arange(1.3e6, 1.9e6, 2e4), np.arange(6.8e6, 7.3e6, 2e4)
    calm = np.zeros((y.size, x.size))
    data = {
        name: (calm + value, {"units": "m s-1", "standard_name": standard})
        for name, standard, value in zip(("uas", "vas"), names, (0.0, 10.0), strict=True)
    }
    found = read_weather(file_of(tmp_path / "a.nc", LAMBERT_93, x, y, data), GRID, start=DAY)
    px, py = np.meshgrid(*found.wind_x.nodes.points(GRID))
    lon, lat = places(GRID, px, py)
    ours = np.radians((lon - 15.0) * np.sin(np.radians(lat)))  # of the true north in zone 33, against the clock
    cone = np.sin(np.radians(46.5)) * np.radians(lon - 3.0)  # of the cone's y from the true north
    turn = ours if true else ours - cone
    np.testing.assert_allclose(found.wind_x.record(0), -10.0 * np.sin(turn), atol=0.02)
    np.testing.assert_allclose(found.wind_y.record(0), 10.0 * np.cos(turn), atol=0.02)


def test_kilometres_and_longitudes_that_jump(tmp_path):
    x, y = np.arange(630.0, 670.0, 5.0), np.arange(5590.0, 5630.0, 5.0)
    mapping = {"grid_mapping_name": "transverse_mercator", "epsg_code": 32633}
    values = 9e4 + x[None, :] + 2.0 * y[:, None]
    found = read_weather(file_of(tmp_path / "km.nc", mapping, x, y, values, "km"), GRID, start=DAY).pressure
    px, py = np.meshgrid(*found.nodes.points(GRID))
    np.testing.assert_allclose(found.record(0), 9e4 + 1e-3 * px + 2e-3 * py, atol=1e-6)
    lon, lat = np.r_[178.0:180.0:0.25, -180.0:-178.0:0.25], np.arange(-2.0, 2.1, 0.25)
    values = 1e5 + 100.0 * (lon[None, :] % 360.0 - 180.0) + lat[:, None]
    dataset = xarray.Dataset(
        {"msl": (("time", "lat", "lon"), np.stack([values, values]), {"units": "Pa"})},
        {"time": HOURS, "lat": lat, "lon": lon},
    )
    dataset.to_netcdf(tmp_path / "jump.nc", engine="h5netcdf")
    grid = eagre.Grid(20, 6, 2000.0, 2000.0, 820e3, 2e3, "EPSG:32660")
    found = read_weather(tmp_path / "jump.nc", grid, start=DAY).pressure
    lon, lat = places(grid, *np.meshgrid(*found.nodes.points(grid)))
    np.testing.assert_allclose(found.record(0), 1e5 + 100.0 * (lon % 360.0 - 180.0) + lat, atol=1e-6)


@pytest.mark.parametrize(
    ("mapping", "units", "match"),
    [
        ({"grid_mapping_name": "vertical_perspective"}, "m", "The coordinate system of msl in .* is not supported"),
        ({"crs_wkt": "PROJCRS[]"}, "m", "msl in the coordinate system of where"),
        (None, "degrees", "the position of the rotated pole is unknown"),
        (LAMBERT_93, "miles", "in 'miles'"),
    ],
)
def test_what_is_not_understood_is_refused(tmp_path, mapping, units, match):
    axis = np.arange(-5.0, 5.0, 0.11)
    path = file_of(tmp_path / "a.nc", mapping or {}, axis, axis, 1e5 + 0.0 * axis[None, :] + axis[:, None], units)
    if mapping is None:
        with xarray.open_dataset(path) as dataset:
            held = dataset.load().drop_vars("where")
        held["msl"].attrs.clear()
        held["msl"].encoding.clear()
        held["msl"].attrs["units"] = "Pa"
        path = tmp_path / "bare.nc"
        held.to_netcdf(path, engine="h5netcdf")
    variables = {"variables": {"pressure": "msl"}}
    with pytest.raises(eagre.InputError, match=match):
        read_weather(path, GRID, start=DAY, **variables)
    if units != "miles":
        with pytest.raises(eagre.InputError, match=match):
            read_raster(path, variable="msl", record=1, around=Around(GRID.crs, GRID.extent))
