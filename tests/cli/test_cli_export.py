"""`eagre export`: GeoTIFF and GeoJSON that GDAL reads back, and what is refused."""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest
import rasterio
import xarray as xr
from rasterio.features import bounds, rasterize
from rasterio.warp import transform, transform_geom

from eagre.cli.support import exits

NX, NY, CELL, WEST, SOUTH = 40, 30, 20.0, 512_000.0, 4_660_000.0


def water(record: int) -> np.ndarray:
    """Depth at a record, (ny, nx), m: a deepening pool with an island, and a pond that touches it at a corner."""
    depth = np.zeros((NY, NX))
    depth[5:20, 4:30] = 0.05 + 0.5 * record
    depth[10:13, 10:14] = 0.0
    depth[20:22, 30:33] = 0.2
    depth[0, 0] = 0.0005
    return depth


def make_file(path, crs="EPSG:32629", north_first=False, **more):
    """A result file with three records; `more` adds variables."""
    x, y = WEST + (np.arange(NX) + 0.5) * CELL, SOUTH + (np.arange(NY) + 0.5) * CELL
    bed = np.linspace(0.0, 3.0, NX) * np.ones((NY, 1))
    depth = np.stack([water(record) for record in range(3)])
    over = ("time", "y", "x")
    about = {"units": "m", "grid_mapping": "crs"}
    fields = {
        "depth": (over, depth, about | {"long_name": "water depth"}),
        "velocity_x": (over, depth * 2.0, about | {"units": "m s-1", "long_name": "velocity, x-component"}),
        "bed": (("y", "x"), bed, about | {"long_name": "bed elevation"}),
        "crs": ((), 0, {"spatial_ref": rasterio.crs.CRS.from_user_input(crs).to_wkt()} if crs else {}),
    }
    time = ("time", [0.0, 60.0, 120.0], {"units": "seconds since 2026-01-31 12:00:00"})
    dataset = xr.Dataset(fields | more, coords={"time": time, "x": x, "y": y}, attrs={"title": "A pool"})
    (dataset.isel(y=slice(None, None, -1)) if north_first else dataset).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.fixture
def result(tmp_path):
    """A result file."""
    return make_file(tmp_path / "out.nc")


@pytest.mark.parametrize("north_first", [False, True])
def test_a_map_has_its_place_its_units_and_nothing_where_dry(eagre, tmp_path, north_first):
    path = make_file(tmp_path / "out.nc", north_first=north_first)
    done = eagre("export", path)
    assert done.code == 0, done.err
    with rasterio.open(tmp_path / "out.tif") as file:
        assert file.crs.to_epsg() == 32629 and file.dtypes == ("float32",)
        assert tuple(file.bounds) == (WEST, SOUTH, WEST + NX * CELL, SOUTH + NY * CELL)
        assert np.isnan(file.nodata) and file.tags()["AREA_OR_POINT"] == "Area" and file.tags()["title"] == "A pool"
        assert file.descriptions == ("water depth, 2026-01-31 12:02:00",) and file.units == ("m",)
        assert file.tags(1)["time_seconds"] == "120"
        read = file.read(1)[::-1]
        assert next(file.sample([(WEST + 4.5 * CELL, SOUTH + 5.5 * CELL)]))[0] == np.float32(1.05)
    expected = water(2)
    np.testing.assert_array_equal(read, np.where(expected > 1e-3, expected, np.nan).astype(np.float32))


def test_bands_of_several_variables_and_times(eagre, result, tmp_path):
    arguments = ["-v", "depth", "-v", "velocity_x", "-v", "bed", "-t", "1 min", "--record", "1", "--record", "-3"]
    done = eagre("export", result, *arguments, "-o", tmp_path / "a.tif", "--deeper-than", "10 cm")
    assert done.code == 0, done.err
    with rasterio.open(tmp_path / "a.tif") as file:
        dates = ["2026-01-31 12:00:00", "2026-01-31 12:01:00"]
        moving = [f"{name}, {date}" for name in ("water depth", "velocity, x-component") for date in dates]
        assert list(file.descriptions) == [*moving, "bed elevation"]
        assert file.units == ("m", "m", "m s-1", "m s-1", "m")
        assert [file.tags(n)["variable"] for n in (2, 3, 5)] == ["depth", "velocity_x", "bed"]
        bands = file.read()
    assert np.isfinite(bands[0]).sum() == 6 and np.isfinite(bands[4]).all()
    np.testing.assert_array_equal(np.isnan(bands[1]), np.isnan(bands[3]))


def test_a_record_is_found_by_its_date(eagre, result, tmp_path):
    done = eagre("export", result, "-t", "2026-01-31T13:01+01:00", "-t", "2026-01-31 12:02", "-o", tmp_path / "a.tif")
    assert done.code == 0, done.err
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.descriptions == ("water depth, 2026-01-31 12:01:00", "water depth, 2026-01-31 12:02:00")


def test_dates_of_records_tell_parts_of_a_second(eagre, tmp_path):
    with xr.open_dataset(make_file(tmp_path / "out.nc"), decode_times=False, engine="h5netcdf") as data:
        data.assign_coords(time=("time", [0.0, 0.1, 0.25], data.time.attrs)).to_netcdf(tmp_path / "a.nc")
    assert eagre("export", tmp_path / "a.nc", "-t", "all").code == 0
    with rasterio.open(tmp_path / "a.tif") as file:
        assert [text.partition(" 12:")[2] for text in file.descriptions] == ["00:00", "00:00.1", "00:00.25"]


def test_a_field_on_levels_wants_its_level(eagre, tmp_path):
    """Not one of ours, which would stand in the map as if it were the field."""
    x, y, z = np.arange(4.0), np.arange(3.0), np.array([0.0, 50.0, 100.0])
    wind = z[None, :, None, None] + np.zeros((1, 3, 3, 4))
    about = {"units": "m s-1", "long_name": "wind"}
    coords = {"x": x, "y": y, "z": z, "time": [7.0]}
    xr.Dataset({"u": (("time", "z", "y", "x"), wind, about)}, coords=coords).to_netcdf(tmp_path / "a.nc")
    done = eagre("export", tmp_path / "a.nc")
    assert (done.code, '--slice "z = 50 m"' in done.err) == (exits.BAD_INPUT, True), done.err
    assert not (tmp_path / "a.tif").exists()
    done = eagre("export", tmp_path / "a.nc", "--slice", "z = 90 m", "-t", "2026-01-31")
    assert (done.code, "a.nc has no dates" in done.err) == (exits.BAD_INPUT, True), done.err
    assert eagre("export", tmp_path / "a.nc", "--slice", "z = 90 m").code == 0
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.descriptions == ("wind, z = 100 m, t = 7 s",) and (file.read(1) == 100.0).all()


def test_a_vector_is_a_band_for_each_component(eagre, tmp_path):
    both = {name: (("time", "y", "x"), np.full((3, NY, NX), one), {"units": "m s-1"}) for name, one in
            (("velocity_x", 1.0), ("velocity_y", 2.0))}  # fmt: skip
    make_file(tmp_path / "out.nc", **both)
    done = eagre("export", tmp_path / "out.nc", "-v", "velocity", "-v", "velocity_y", "-o", tmp_path / "a.tif")
    assert done.code == 0, done.err
    with rasterio.open(tmp_path / "a.tif") as file:
        assert [file.tags(n)["variable"] for n in file.indexes] == ["velocity_x", "velocity_y"]


def test_derived_fields_are_exported(eagre, tmp_path):
    """The documented `export -v speed` of a file with velocities."""
    both = {name: (("time", "y", "x"), np.full((3, NY, NX), one), {"units": "m s-1"}) for name, one in
            (("velocity_x", 3.0), ("velocity_y", 4.0))}  # fmt: skip
    make_file(tmp_path / "out.nc", **both)
    done = eagre("export", tmp_path / "out.nc", "-v", "speed", "-v", "froude", "-o", tmp_path / "a.tif")
    assert done.code == 0, done.err
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.descriptions == ("speed, 2026-01-31 12:02:00", "Froude number, 2026-01-31 12:02:00")
        assert file.units == ("m s-1", "1") and [file.tags(n)["variable"] for n in (1, 2)] == ["speed", "froude"]
        speed, froude = file.read()
    wet = water(2) > 1e-3
    np.testing.assert_array_equal(np.isfinite(speed[::-1]), wet)
    np.testing.assert_allclose(speed[::-1][wet], 5.0)
    np.testing.assert_allclose(froude[::-1][wet], 5.0 / np.sqrt(9.81 * water(2)[wet]), rtol=1e-6)


def test_a_large_map_is_a_cloud_optimised_one(eagre, tmp_path):
    x, y = np.arange(1300.0), np.arange(600.0)
    values = (("y", "x"), np.tile(x, (600, 1)), {"units": "m", "grid_mapping": "crs"})
    crs = ((), 0, {"spatial_ref": rasterio.crs.CRS.from_epsg(32629).to_wkt()})
    xr.Dataset({"relief": values, "crs": crs}, coords={"x": x, "y": y}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    done = eagre("export", tmp_path / "a.nc")
    assert done.code == 0, done.err
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG" and file.block_shapes == [(512, 512)]
        assert file.overviews(1) == [2, 4] and file.compression.value == "DEFLATE"
    with rasterio.open(tmp_path / "a.tif", overview_level=0) as file:
        assert file.read(1)[7, :3].tolist() == [0.5, 2.5, 4.5]


def test_classes_keep_their_numbers_in_overviews(eagre, tmp_path):
    x, y = np.arange(1300.0), np.arange(600.0)
    about = {"units": "1", "flag_values": [0, 6], "flag_meanings": "none H6"}
    values = (("y", "x"), np.tile((x % 2) * 6, (600, 1)), about)
    other = (("y", "x"), np.tile(x, (600, 1)))
    path = tmp_path / "a.nc"
    xr.Dataset({"hazard": values, "other": other}, coords={"x": x, "y": y}).to_netcdf(path, engine="h5netcdf")
    assert eagre("export", path, "-v", "hazard").code == 0
    with rasterio.open(tmp_path / "a.tif", overview_level=0) as file:
        assert set(np.unique(file.read(1))) <= {0.0, 6.0}
    done = eagre("export", path, "-v", "hazard", "-v", "other", "-o", tmp_path / "b.tif")
    assert (done.code, "classes in a separate file" in done.err) == (exits.BAD_INPUT, True)


@pytest.mark.parametrize("times", [(), (10.0,)])
def test_the_largest_depth_is_the_first_choice_of_a_file_of_maxima(eagre, tmp_path, times):
    x, y = np.arange(4.0), np.arange(3.0)
    depth = np.array([[0.0, 0.5, 1.0, np.nan]] * 3)
    over = ("time", "y", "x")[0 if times else 1 :]
    shape = (*(1 for _ in times), 3, 4)
    fields = {
        "bed": (("y", "x"), np.zeros((3, 4)), {"units": "m"}),
        "max_speed": (over, np.reshape(depth + 1.0, shape), {"units": "m s-1", "cell_methods": "time: maximum"}),
        "max_depth": (over, np.reshape(depth, shape), {"units": "m", "cell_methods": "time: maximum"}),
    }
    coords = {"x": x, "y": y} | ({"time": list(times)} if times else {})
    xr.Dataset(fields, coords=coords).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert eagre("export", tmp_path / "a.nc", "-o", tmp_path / "c.json", "--crs", "EPSG:32629").code == 0
    assert json.loads((tmp_path / "c.json").read_text())["features"][0]["properties"]["area_m2"] == 6.0
    assert eagre("export", tmp_path / "a.nc", "-v", "max_depth", "-v", "max_speed", "-v", "bed").code == 0
    assert eagre("export", tmp_path / "a.nc", "-o", tmp_path / "b.tif").code == 0
    with rasterio.open(tmp_path / "a.tif") as file, rasterio.open(tmp_path / "b.tif") as alone:
        np.testing.assert_array_equal(np.isnan(file.read(2))[0], [True, False, False, True])
        assert not np.isnan(file.read(3)).any() and alone.descriptions[0].startswith("max_depth")


def test_the_outline_is_the_wet_cells(eagre, result, tmp_path):
    target = tmp_path / "flood.geojson"
    done = eagre("export", result, "-o", target, "-t", "all", "--deeper-than", "0.1")
    assert done.code == 0, done.err
    collection = json.loads(target.read_text())
    assert set(collection) == {"type", "features"} and collection["type"] == "FeatureCollection"
    first, _, last = collection["features"]
    assert first["properties"] == {
        "title": "A pool", "variable": "depth", "deeper_than_m": 0.1, "area_m2": 6 * CELL**2, "time_s": 0.0,
        "date": "2026-01-31 12:00:00",
    }  # fmt: skip
    assert last["properties"]["area_m2"] == (15 * 26 - 12 + 6) * CELL**2
    polygons = last["geometry"]["coordinates"]
    assert last["geometry"]["type"] == "MultiPolygon" and sorted(len(polygon) for polygon in polygons) == [1, 2]
    west, south, east, north = bounds(last["geometry"])
    longitude, latitude = transform("EPSG:32629", "EPSG:4326", [WEST + 4 * CELL], [SOUTH + 5 * CELL])
    assert (west, south) == pytest.approx((longitude[0], latitude[0]), abs=1e-5) and -10 < east < 0 < 42 < north < 43
    back = transform_geom("OGC:CRS84", "EPSG:32629", last["geometry"])
    grid = rasterio.Affine(CELL, 0, WEST, 0, -CELL, SOUTH + NY * CELL)
    np.testing.assert_array_equal(rasterize([back], (NY, NX), transform=grid)[::-1] == 1, water(2) > 0.1)


def test_rings_turn_as_the_standard_says(eagre, result, tmp_path):
    eagre("export", result, "-o", tmp_path / "a.json", "-v", "depth")
    feature = json.loads((tmp_path / "a.json").read_text())["features"][0]
    for polygon in feature["geometry"]["coordinates"]:
        for number, ring in enumerate(polygon):
            x, y = np.array(ring).T
            area = np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])
            assert ring[0] == ring[-1] and (area > 0) == (number == 0)


def test_long_edges_bend_with_the_map(eagre, tmp_path):
    """A side of 100 km along a row of UTM is no straight line in degrees; points on it lie on it."""
    x, y = 300_000.0 + (np.arange(10) + 0.5) * 1e4, 6_600_000.0 + (np.arange(10) + 0.5) * 1e4
    crs = ((), 0, {"spatial_ref": rasterio.crs.CRS.from_epsg(32633).to_wkt()})
    depth = (("time", "y", "x"), np.ones((1, 10, 10)), {"units": "m", "grid_mapping": "crs"})
    coords = {"x": x, "y": y, "time": [0.0]}
    xr.Dataset({"depth": depth, "crs": crs}, coords=coords).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert eagre("export", tmp_path / "a.nc", "-o", tmp_path / "a.geojson").code == 0
    (ring,) = json.loads((tmp_path / "a.geojson").read_text())["features"][0]["geometry"]["coordinates"][0]
    edges = np.array(ring)
    middle = 0.5 * (edges[1:] + edges[:-1])
    u, v = transform("OGC:CRS84", "EPSG:32633", *middle.T)
    u, v = np.array(u) - 300_000.0, np.array(v) - 6_600_000.0
    off = np.min(np.abs([u, u - 1e5, v, v - 1e5]), axis=0)
    assert len(ring) == 401 and off.max() < 0.05


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-v", "dept"], 'variable "dept"'),
        (["-t", "3 h"], "0 s to 120 s"),
        (["-t", "2026-02-01"], "2026-01-31 12:00:00 to 2026-01-31 12:02:00"),
        (["-t", "noon"], '--time "2 h"'),
        (["--record", "4"], "1 to 3"),
        (["--record", "0"], "1 to 3"),
        (["-o", "a.png"], ".tif or .tiff or .geojson"),
        (["-o", "no/a.tif"], "does not exist"),
        (["--deeper-than", "3 s"], "length"),
        (["--deeper-than", "-1 cm"], '"1 cm"'),
        (["--crs", "EPSG:32630"], "in EPSG:32629"),
        (["--crs", "nowhere"], "an EPSG code"),
        (["-o", "a.geojson", "-v", "velocity_x"], "a depth, m"),
        (["-o", "a.geojson", "-v", "bed"], "a depth, m"),
        (["-o", "a.geojson", "-v", "depth", "-v", "bed"], "one depth"),
    ],
)
def test_what_cannot_be_is_told(eagre, result, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    done = eagre("export", result, *arguments)
    assert (done.code, words in done.err) == (exits.BAD_INPUT, True), done.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.nc"]


def test_nothing_is_replaced_unless_asked(eagre, result, tmp_path):
    for name, arguments in (("out.tif", []), ("a.geojson", ["-o", tmp_path / "a.geojson"])):
        (tmp_path / name).write_text("precious")
        done = eagre("export", result, *arguments)
        assert (done.code, "exists already" in done.err, "--overwrite" in done.err) == (exits.BAD_INPUT, True, True)
        assert (tmp_path / name).read_text() == "precious"
        assert eagre("export", result, *arguments, "--overwrite").code == 0
        assert (tmp_path / name).read_bytes()[:8] != b"precious"


def test_a_file_without_a_system_is_no_outline_until_one_is_told(eagre, tmp_path):
    path = make_file(tmp_path / "out.nc", crs=None)
    done = eagre("export", path, "-o", tmp_path / "a.geojson")
    assert (done.code, "--crs EPSG:CODE" in done.err) == (exits.BAD_INPUT, True)
    assert eagre("export", path, "-o", tmp_path / "a.geojson", "--crs", "EPSG:32629").code == 0
    assert eagre("export", path).code == 0
    with rasterio.open(tmp_path / "out.tif") as file:
        assert file.crs is None and file.transform.a == CELL


def test_no_map_of_a_series(eagre, tmp_path):
    (tmp_path / "g.csv").write_text("time (s),pier depth (m)\n0,1\n1,2\n")
    done = eagre("export", tmp_path / "g.csv")
    assert (done.code, "no maps" in done.err) == (exits.BAD_INPUT, True)


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="limits of a file's size are of POSIX systems")
@pytest.mark.parametrize("most", [100, 2000])
def test_a_full_disk_leaves_what_stood_there(eagre, result, tmp_path, most):
    import resource

    (tmp_path / "out.tif").write_text("precious")
    heard, (soft, hard) = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        done = eagre("export", result, "-v", "depth", "-v", "bed", "-t", "all", "--overwrite")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, heard)
    assert "bug" not in done.err and "cannot write" in done.err and "file is unchanged" in done.err, done.err
    assert (tmp_path / "out.tif").read_text() == "precious" and len(list(tmp_path.iterdir())) == 2
