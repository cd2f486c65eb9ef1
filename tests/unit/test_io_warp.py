"""Rasters of other coordinate systems, mosaics and classes on a grid, against formulas at the points themselves."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest
import rasterio
import xarray as xr
from rasterio.warp import transform

from eagre.config.problems import ConfigError
from eagre.config.water.terrain import BedSection, GridSection, make_terrain
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io import FieldWriter, read_raster
from eagre.io.landcover import SHIPPED, read_class_table, values_of_classes
from eagre.io.rasters.raster import Around, Dem
from eagre.io.rasters.warp import MARGIN, around, onto
from eagre.models.registry import load_case
from eagre.models.shallow_water.config import ShallowWaterCase

UTM = "EPSG:32633"
EXTENT = [500_000.0, 502_000.0, 5_200_000.0, 5_201_000.0]


def relief(x, y):
    """Elevation, m, at places in degrees: a smooth hill."""
    return 100.0 + 40.0 * np.sin(400.0 * (x - 15.0)) * np.cos(300.0 * (y - 46.95))


def degrees(x, y):
    """Longitude and latitude of places in UTM."""
    u, v = transform(UTM, "EPSG:4326", np.ravel(x).tolist(), np.ravel(y).tolist())
    return np.reshape(u, np.shape(x)), np.reshape(v, np.shape(x))


def write_tif(path, values, x0, north, dx, dy, crs, nodata=None):
    options = {"driver": "GTiff", "count": 1, "dtype": values.dtype, "crs": crs, "nodata": nodata}
    place = rasterio.Affine(dx, 0, x0, 0, -dy, north)
    with rasterio.open(path, "w", height=values.shape[0], width=values.shape[1], transform=place, **options) as file:
        file.write(values[::-1], 1)
    return path


def geographic(path, step=1 / 7200, west=14.99, south=46.94, n=(300, 400), kind="tif"):
    """A raster of `relief` in degrees."""
    x, y = west + (np.arange(n[1]) + 0.5) * step, south + (np.arange(n[0]) + 0.5) * step
    values = relief(x[None, :], y[:, None])
    if kind == "tif":
        return write_tif(path, values, west, south + n[0] * step, step, step, "EPSG:4326")
    if kind == "asc":
        head = f"ncols {n[1]}\nnrows {n[0]}\nxllcorner {west!r}\nyllcorner {south!r}\ncellsize {step!r}\n"
        path.write_text(head + "\n".join(" ".join(f"{v:.9g}" for v in row) for row in values[::-1]) + "\n")
        path.with_suffix(".prj").write_text(rasterio.crs.CRS.from_epsg(4326).to_wkt(version="WKT1_ESRI"))
        return path
    units = {"lon": {"units": "degrees_east"}, "lat": {"units": "degrees_north"}}
    coords = {name: (name, line, units[name]) for name, line in (("lon", x), ("lat", y))}
    xr.Dataset({"z": (("lat", "lon"), values)}, coords=coords).to_netcdf(path, engine="h5netcdf")
    return path


def terrain(files, crs: str | None = UTM, dx=20.0, extent=EXTENT, **bed):
    """Grid and bed at corners from files."""
    context = {"directory": "/"}
    grid = GridSection.model_validate({"dx": dx, "extent": extent, "crs": crs} if extent else {"crs": crs, "dx": dx})
    files = [str(file) for file in files] if isinstance(files, list) else str(files)
    return make_terrain(grid, BedSection.model_validate({"file": files, "crests": "mean"} | bed, context=context))


@pytest.mark.parametrize("kind", ["tif", "asc", "nc"])
@pytest.mark.parametrize("dx", [20.0, 50.0])
def test_a_dem_in_degrees_lies_where_it_belongs(tmp_path, kind, dx):
    """To the error of interpolation between 10 m x 15 m cells; a cell aside it would be off by metres."""
    grid, bed = terrain(geographic(tmp_path / f"a.{kind}", kind=kind), dx=dx)
    assert (grid.crs, grid.nx, grid.ny) == (UTM, 2000 / dx, 1000 / dx)
    expected = relief(*degrees(*grid.mesh("corner")))
    assert np.abs(bed - expected).max() < (0.15 if dx == 20.0 else 0.5)
    aside = relief(*degrees(*(one + 15.0 for one in grid.mesh("corner"))))
    assert np.abs(bed - aside).max() > 2.5


POINTS = """
model = "{kind}"
[run]
end_time = 1.0
device = "cpu"
[{section}]
nx = 49
ny = 33
length_x = 960.0
length_y = 640.0
x0 = 500200.0
y0 = 5200200.0
{more}
{key} = {{ file = "a.tif" }}
"""
BOXES = {
    "potential-waves": ("basin", "bed", ""),
    "anelastic": (
        "domain",
        "terrain_height",
        'levels = 9\ntop_height = 2000.0\nboundaries_x = "wall"\nboundaries_y = "wall"',
    ),
}


@pytest.mark.parametrize("kind", BOXES)
def test_the_points_of_waves_and_of_air_lie_where_they_belong(tmp_path, monkeypatch, kind):
    """As cells of water do: a raster in degrees is warped to `crs`, and files say where they are."""
    monkeypatch.chdir(tmp_path)
    section, key, more = BOXES[kind]
    path = geographic(tmp_path / "a.tif")
    if kind == "potential-waves":
        with rasterio.open(path, "r+") as file:
            file.write(file.read(1) - 200.0, 1)
    text = POINTS.format(kind=kind, section=section, key=key, more=more + f'\ncrs = "{UTM}"')
    (tmp_path / "case.toml").write_text(text)
    model = load_case(tmp_path / "case.toml").build()
    expected = relief(*degrees(*model.grid.mesh()))
    found = 200.0 - model.field("still_water_depth") if section == "basin" else model.field("height")[0]
    assert model.grid.crs == UTM and np.abs(found - expected).max() < 0.3
    with FieldWriter("out.nc", model, list(model.variables)[:1]) as writer:
        writer.write(model)
    with xr.open_dataset("out.nc", decode_times=False, engine="h5netcdf") as data:
        assert data.crs.attrs["epsg_code"] == UTM
        assert {"crs"} == {one.attrs["grid_mapping"] for one in data.data_vars.values() if one.dims[-2:] == ("y", "x")}
    (tmp_path / "case.toml").write_text(text.replace(f'crs = "{UTM}"', ""))
    with pytest.raises(ConfigError, match=rf'crs = "{UTM}" in \[basin\] or \[domain\]') as told:
        load_case(tmp_path / "case.toml").build()
    assert f"{section}.{key}" in str(told.value)


def test_only_what_is_needed_is_read(tmp_path):
    path = geographic(tmp_path / "a.tif", n=(600, 2000), west=14.9, south=46.9)
    whole = read_raster(path, around=Around(UTM))
    part = read_raster(path, around=around(Grid(100, 50, 20.0, 20.0, 500_000.0, 5_200_000.0, UTM)))
    assert whole.elevation.shape == (600, 2000) and part.elevation.shape < (80, 200)
    np.testing.assert_allclose(part.elevation, relief(part.x[None, :], part.y[:, None]), atol=1e-6)


def test_another_zone_is_warped_and_the_same_is_left_alone(tmp_path):
    (left,), (low,) = transform(UTM, "EPSG:32634", [500_000.0], [5_203_000.0])
    x, y = round(left) + np.arange(-50.0, 150.0) * 20.0, round(low) + np.arange(-50.0, 150.0) * 20.0
    u, v = transform("EPSG:32634", "EPSG:4326", *(one.ravel().tolist() for one in np.meshgrid(x, y)))
    values = relief(np.reshape(u, (200, 200)), np.reshape(v, (200, 200)))
    path = write_tif(tmp_path / "a.tif", values, x[0] - 10, y[-1] + 10, 20.0, 20.0, "EPSG:32634")
    dem = read_raster(path)
    grid, bed = terrain(path, extent=[500_500.0, 501_500.0, 5_203_500.0, 5_204_500.0])
    assert np.abs(bed - relief(*degrees(*grid.mesh("corner")))).max() < 0.6
    assert onto(Grid(4, 4, 20.0, 20.0, x[9], y[9], "EPSG:32634"), [dem]) is dem


def test_the_first_of_several_files_with_data_wins(tmp_path):
    fine = np.full((40, 40), 7.0, np.float32)
    fine[:, :10] = -9999.0
    coarse = np.full((30, 40), 3.0, np.float32)
    one = write_tif(tmp_path / "fine.tif", fine, 500_500.0, 5_200_600.0, 10.0, 10.0, UTM, nodata=-9999.0)
    two = write_tif(tmp_path / "coarse.tif", coarse, 499_000.0, 5_202_000.0, 100.0, 100.0, UTM)
    three = geographic(tmp_path / "far.tif")
    grid, bed = terrain([one, two], crs=None)
    x, y = grid.mesh("corner")
    inside = (x > 605.0 + 5e5) & (x < 895.0 + 5e5) & (y > 205.0 + 5.2e6) & (y < 595.0 + 5.2e6)
    assert grid.crs == UTM
    np.testing.assert_allclose(bed[inside], 7.0, rtol=1e-12)
    outside = (x < 585.0 + 5e5) | (x > 915.0 + 5e5) | (y < 185.0 + 5.2e6) | (y > 615.0 + 5.2e6)
    np.testing.assert_allclose(bed[outside], 3.0, rtol=1e-12)
    assert np.abs(terrain([three, one])[1] - terrain(three)[1]).max() < 0.2
    np.testing.assert_allclose(terrain([one, three])[1][inside], 7.0, rtol=1e-12)


def test_what_is_missing_is_told(tmp_path):
    path = geographic(tmp_path / "a.tif")
    with pytest.raises(InputError, match=r"degrees.*\n.*crs = \"EPSG:32633\"") as error:
        terrain(path, crs=None)
    with pytest.raises(InputError, match="without the cells of the grid") as error:
        terrain(path, extent=None)
    lines = tomllib.loads(error.value.fix)
    assert lines["dx"] == 20.0 and lines["extent"][1] - lines["extent"][0] > 3_900.0
    assert np.isfinite(terrain(path, extent=lines["extent"])[1]).all()
    world = write_tif(tmp_path / "w.tif", np.zeros((18, 36)), -180.0, 90.0, 10.0, 10.0, "EPSG:4326")
    with pytest.raises(InputError, match="without the cells of the grid"):
        terrain(world, extent=None)
    assert not terrain(world)[1].any()
    with pytest.raises(InputError, match="have no data"):
        terrain(path, extent=[490_000.0, 502_000.0, 5_200_000.0, 5_201_000.0])
    with pytest.raises(InputError, match="does not overlap the domain"):
        terrain(path, extent=[400_000.0, 402_000.0, 5_200_000.0, 5_201_000.0])
    with pytest.raises(InputError, match="not projected in metres"):
        onto(Grid(4, 4, 1.0, 1.0, crs="EPSG:2277"), [Dem(np.zeros((3, 3)), 0.0, 0.0, 1.0, 1.0, UTM)])
    utm = write_tif(tmp_path / "b.tif", np.zeros((9, 9)), 5e5, 5.2e6, 20.0, 20.0, UTM)
    with pytest.raises(InputError, match="2 files without the cells"):
        terrain([utm, path], extent=None, crs=UTM)


CASE = """\
model = "shallow-water"
run.end_time = 1.0
grid = {{ dx = 20.0, extent = [500000.0, 502000.0, 5200000.0, 5201000.0], crs = "EPSG:32633" }}
bed.value = 0.0
initial.depth = {depth}
friction.manning = {manning}
"""


def built(tmp_path, depth="1.0", manning="0.03"):
    """Depth and Manning's n that a case gives its model."""
    case = ShallowWaterCase.loads(CASE.format(depth=depth, manning=manning), tmp_path)
    rows, _, bed = case._terrain()
    options = case._options(rows, bed, case.friction, None, None)
    return rows.grid, options["depth"], options["manning"]


def test_manning_of_classes_is_the_mean_over_a_cell(tmp_path):
    """Columns of trees and of grass by turns, 10 m wide: half and half in a cell of 20 m."""
    codes = np.tile(np.array([10, 30], np.uint8), (100, 100))
    write_tif(tmp_path / "c.tif", codes, 500_000.0, 5_201_000.0, 10.0, 10.0, UTM)
    n = built(tmp_path, manning='{ classes = "c.tif", table = "esa-worldcover" }')[2]
    np.testing.assert_allclose(n[:, 1:-1], 0.5 * (0.13 + 0.0375), rtol=1e-12)
    (tmp_path / "own.csv").write_text("# mine\nclass,n,name\n10,0.2,wood\n30,0.1,grass\n")
    n = built(tmp_path, manning='{ classes = "c.tif", table = "own.csv" }')[2]
    np.testing.assert_allclose(n[:, 1:-1], 0.15, rtol=1e-12)


def test_classes_in_degrees_are_never_mixed(tmp_path):
    """Classes 10 and 90 beside each other have no 50 between them: n is one or the other, or a mean of n."""
    step = 1 / 1200
    codes = np.where(np.arange(80) % 10 < 5, 10, 90)[None, :] * np.ones((60, 1), np.uint8)
    write_tif(tmp_path / "c.tif", codes.astype(np.uint8), 14.98, 46.93 + 60 * step, step, step, "EPSG:4326")
    grid, _, n = built(tmp_path, manning='{ classes = ["c.tif"], table = "esa-worldcover" }')
    x, _ = degrees(*grid.mesh())
    column = (x - 14.98) / step
    expected = np.where(np.floor(column) % 10 < 5, 0.13, 0.0675)
    clear = np.abs(column % 5 - 2.5) < 2.2
    np.testing.assert_allclose(n[clear], expected[clear], rtol=1e-12)
    assert n.min() == 0.0675 and n.max() == 0.13


def test_an_unknown_class_is_told_with_its_code(tmp_path):
    dem = Dem(np.array([[10.0, 33.0, np.nan], [33.0, 34.0, 10.0]]), 0, 0, 1, 1, name="c.tif")
    with pytest.raises(InputError, match="class 33 in 2 cells and 1 more") as error:
        values_of_classes(dem, {10: 0.1}, "the table mine")
    assert error.value.fix.startswith("33,")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("code,n\n1,0.1\n", "columns code, n"),
        ("class,n\n1,0.1\n1,0.2\n", "line 3: a second line of class 1"),
        ("class,n\n# note\n1,-0.1\n", "line 3: '1,-0.1'"),
        ("class,n\nx,0.1\n", "line 2"),
        ("class,n\n1\n", "line 2"),
        ("", "columns nothing"),
    ],
)
def test_a_table_that_is_none(tmp_path, text, words):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InputError, match=words):
        read_class_table(tmp_path / "t.csv")


@pytest.mark.parametrize(
    "text",
    [
        "class;n;name\r\n10;0,1;woods, open\r\n20;0,035;\r\n",
        "class\tn\n10\t0.1\n20\t0.035\n",
        "class;n\n10;.1\n20;0.035\n",
    ],
)
def test_semicolons_and_decimal_commas(tmp_path, text):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8-sig")
    assert read_class_table(tmp_path / "t.csv") == {10: 0.1, 20: 0.035}


@pytest.mark.parametrize("name", SHIPPED)
def test_tables_that_are_shipped(name):
    table = read_class_table(name)
    assert len(table) == {"esa-worldcover": 11, "nlcd": 20}[name]
    assert 0.02 < min(table.values()) < max(table.values()) < 0.2


def test_a_case_tells_what_is_wrong_with_classes(tmp_path):
    for given, words in (
        ('{ classes = "no.tif", table = "nlcd" }', "no.tif"),
        ('{ classes = "c.tif", table = "nlc" }', 'table = "nlcd"'),
        ('{ classes = [], table = "nlcd" }', "at least one file"),
        ('{ table = "nlcd" }', "file"),
    ):
        (tmp_path / "c.tif").touch()
        with pytest.raises(InputError) as error:
            built(tmp_path, manning=given)
        assert words in str(error.value)
    with pytest.raises(InputError, match='"classes"'):
        built(tmp_path, depth='{ classes = "c.tif", table = "nlcd" }')


@pytest.mark.parametrize(("record", "expected"), [(1, 0.0), (3, 2.0), (-1, 2.0), (-2, 1.0)])
def test_the_start_is_a_record_of_a_result(tmp_path, record, expected):
    x, y = 500_010.0 + 20.0 * np.arange(100), 5_200_010.0 + 20.0 * np.arange(50)
    values = np.arange(3.0)[:, None, None] + 0.001 * np.arange(100)[None, None, :] + 0.0 * y[None, :, None]
    fields = {"depth": (("valid_time", "y", "x"), values), "bed": (("y", "x"), 0.0 * values[0])}
    coords = {"valid_time": [0.0, 60.0, 120.0], "x": x, "y": y}
    xr.Dataset(fields, coords=coords).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    depth = built(tmp_path, depth=f'{{ file = "a.nc", variable = "depth", record = {record} }}')[1]
    np.testing.assert_allclose(depth, expected + 0.001 * np.arange(100)[None, :] + 0.0 * y[:, None], atol=1e-12)
    for wrong, words in ((0, "1 to 3"), (4, "1 to 3")):
        with pytest.raises(InputError, match=words):
            built(tmp_path, depth=f'{{ file = "a.nc", variable = "depth", record = {wrong} }}')
    with pytest.raises(InputError, match=r"depth on valid_time, y, x(.|\n)*record = -1"):
        built(tmp_path, depth='{ file = "a.nc", variable = "depth" }')


@pytest.mark.parametrize(
    "longitudes",
    [np.arange(-179.75, 180.0, 0.5), np.arange(0.25, 360.0, 0.5), np.r_[175.25:180.0:0.5, -179.75:-175.0:0.5]],
    ids=["from -180", "from 0", "over 180"],
)  # fmt: skip
def test_a_raster_is_read_across_180_degrees(tmp_path, longitudes):
    """Its columns begin anywhere; a field that is smooth there has no seam."""
    grid = Grid(20, 12, 2000.0, 2000.0, 700e3, 5300e3, "EPSG:32660")

    def height(lon, lat):
        return 100.0 * np.sin(np.radians(20.0 * lon)) + 10.0 * lat

    latitudes = np.arange(45.25, 50.0, 0.5)
    values = height(longitudes[None], latitudes[:, None])
    coords = {
        "lat": ("lat", latitudes, {"units": "degrees_north"}), "lon": ("lon", longitudes, {"units": "degrees_east"}),
    }  # fmt: skip
    xr.Dataset({"z": (("lat", "lon"), values)}, coords).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    dem = onto(grid, [read_raster(tmp_path / "a.nc", around=around(grid))])
    x, y = np.meshgrid(dem.x0 + (np.arange(dem.nx) + 0.5) * dem.dx, dem.y0 + (np.arange(dem.ny) + 0.5) * dem.dy)
    lon, lat = (
        np.reshape(one, x.shape) for one in transform(grid.crs, "EPSG:4326", x.ravel().tolist(), y.ravel().tolist())
    )
    assert lon.min() < -179.0 and lon.max() > 179.0
    np.testing.assert_allclose(dem.elevation, height(lon, lat), atol=0.5)  # bilinear; a seam is some 10 m


@pytest.mark.parametrize(
    ("west", "zone"), [(-180.0, 60), (0.0, 60), (-180.0, 28), (0.0, 28), (0.0, 31), (0.0, 1), (-180.0, 33)]
)
def test_a_geotiff_around_the_earth_has_no_seam(tmp_path, west, zone):
    """Longitudes from -180 or from 0 on; at 180 degrees, west of Greenwich, at it, and elsewhere."""
    x, y = west + 0.125 + 0.25 * np.arange(1440), np.arange(-4.875, 5.0, 0.25)

    def smooth(lon, lat):
        return 100.0 * np.cos(np.radians(lon - 170.0)) + 4.0 * lat

    path = write_tif(tmp_path / "globe.tif", smooth(x[None, :], y[:, None]), west, 5.0, 0.25, 0.25, "EPSG:4326")
    places = {60: 825e3, 1: 155e3, 28: 160e3, 31: 160e3, 33: 500e3}
    grid = Grid(20, 13, 1000.0, 1000.0, places[zone], 2e3, f"EPSG:{32600 + zone}")
    found = onto(grid, [read_raster(path, around=around(grid))])
    at = (one.ravel().tolist() for one in np.meshgrid(found.x, found.y))
    lon, lat = (np.reshape(one, found.elevation.shape) for one in transform(grid.crs, "EPSG:4326", *at))
    np.testing.assert_allclose(found.elevation, smooth(lon, lat), atol=1e-3)


def test_tiles_on_both_sides_of_180_degrees_are_joined(tmp_path):
    files = []
    for west in (179.0, -180.0):
        x, y = west + 0.005 + 0.01 * np.arange(100), np.arange(-0.195, 0.2, 0.01)
        values = 100.0 * (x[None, :] % 360.0 - 180.0) + y[:, None]
        files.append(write_tif(tmp_path / f"{west:g}.tif", values, west, 0.2, 0.01, 0.01, "EPSG:4326"))
    grid = Grid(20, 13, 1000.0, 1000.0, 825e3, 2e3, "EPSG:32660")
    found = onto(grid, [read_raster(file, around=around(grid)) for file in files])
    at = (one.ravel().tolist() for one in np.meshgrid(found.x, found.y))
    lon, lat = (np.reshape(one, found.elevation.shape) for one in transform(grid.crs, "EPSG:4326", *at))
    expected = 100.0 * (lon % 360.0 - 180.0) + lat
    inside = slice(MARGIN, -MARGIN)
    wrong = np.abs(found.elevation - expected)[inside, inside].max()
    assert np.ptp(expected) > 15.0 and wrong < 0.6  # half a raster cell at the seam
