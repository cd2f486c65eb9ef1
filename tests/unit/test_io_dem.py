"""Elevation rasters: every format gives the same array, and what cannot be used is refused with its repair."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io import Dem, dem_to_corners, grid_from_dem, read_dem, read_raster
from eagre.io.rasters.raster import parse_crs, warp_line

DATA = Path(os.environ.get("EAGRE_DATA", Path(__file__).parents[3] / "shared" / "data"))
MONAI = DATA / "monai_valley" / "Benchmark_2_Bathymetry.asc"

# Row 0 = south, as the package holds it; files hold the rows the other way round.
VALUES = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]])
UTM = "EPSG:32633"


def write_asc(path: Path, header: str, rows: str = "4 5 6.5\n1 2 3\n") -> Path:
    path.write_text(header + rows)
    return path


HEADER = "ncols 3\nnrows 2\nxllcorner 100\nyllcorner 200\ncellsize 10\nNODATA_value -9999\n"


def write_tif(path: Path, values=VALUES[::-1], *, crs=UTM, transform=None, nodata=None, bands=1, **tags) -> Path:
    import rasterio
    from rasterio.transform import Affine

    transform = transform or Affine(10, 0, 100, 0, -20, 240)
    values = np.asarray(values)
    options = {"driver": "GTiff", "height": values.shape[0], "width": values.shape[1], "count": bands}
    with rasterio.open(path, "w", dtype=values.dtype, crs=crs, transform=transform, nodata=nodata, **options) as file:
        for band in range(1, bands + 1):
            file.write(values * band, band)
        if "scale" in tags:
            file.scales = [tags["scale"] * band for band in range(1, bands + 1)]
            file.offsets = [tags["offset"] * band for band in range(1, bands + 1)]
        if "units" in tags:
            file.units = (tags["units"],) * bands
    return path


def write_nc(path: Path, values=VALUES, x=(105.0, 115.0, 125.0), y=(210.0, 230.0), dims=("y", "x"), name="z", **attrs):
    import xarray as xr

    axes = {dims[-1]: np.asarray(x), dims[-2]: np.asarray(y)}
    dataset = xr.Dataset({name: (dims, values, attrs)}, coords=axes)
    dataset.to_netcdf(path, engine="h5netcdf")
    return path


# --- ESRI ASCII


def test_esri_ascii(tmp_path):
    dem = read_dem(write_asc(tmp_path / "a.asc", HEADER))
    np.testing.assert_array_equal(dem.elevation, VALUES)
    assert dem.elevation.dtype == np.float64 and dem.elevation.flags.c_contiguous
    assert (dem.x0, dem.y0, dem.dx, dem.dy, dem.crs) == (100.0, 200.0, 10.0, 10.0, None)
    assert dem.extent == (100.0, 130.0, 200.0, 220.0)
    np.testing.assert_array_equal(dem.x, [105.0, 115.0, 125.0])
    np.testing.assert_array_equal(dem.y, [205.0, 215.0])


@pytest.mark.parametrize(
    "header",
    [
        "NCOLS 3\r\nNROWS 2\r\nXLLCENTER 105\r\nYLLCENTRE 205\r\nCELLSIZE 10\r\n",
        "\ufeffnrows 2\nncols 3\n\nxllcenter 105\nyllcorner 200\ndx 10\ndy 10\nnodata -1\n",
    ],
)
def test_esri_ascii_header_variants(tmp_path, header):
    path = tmp_path / "a.asc"
    path.write_bytes((header + "4 5 6.5\n1 2 3\n").encode("utf-8"))
    dem = read_dem(path)
    np.testing.assert_array_equal(dem.elevation, VALUES)
    assert (dem.x0, dem.y0) == (100.0, 200.0)


def test_esri_ascii_unequal_cells(tmp_path):
    dem = read_dem(write_asc(tmp_path / "a.asc", "ncols 3\nnrows 2\nxllcenter 5\nyllcenter 10\ndx 10\ndy 20\n"))
    assert (dem.dx, dem.dy, dem.x0, dem.y0) == (10.0, 20.0, 0.0, 0.0)


GEOCLAW = "3 {}\n2 {}\n105.0 xlower\n205.0 ylower\n1.0e+01 cellsize\n-9999 nodata_value\n"


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        (GEOCLAW.format("ncols", "nrows"), "4 5 6.5\n1 2 3\n"),  # topotype 3
        (GEOCLAW.format("ncols", "nrows"), "4\n5\n6.5\n1\n2\n3\n"),  # topotype 2
        (GEOCLAW.format("mx", "my"), "4 5 6.5\n1 2 3\n"),
        (GEOCLAW.format("ncols", "nrows").replace("1.0e+01 cellsize", "10.0  10.0    cellsize"), "4 5 6.5\n1 2 3\n"),
        ("     3   ncols\n     2   nrows\n 100.0 xllcorner\n 200.0 yllcorner\n 10.0 cellsize\n", "4 5 6.5\n1 2 3\n"),
        ("ncols 3\nnrows 2\nxlower 105\nylower 205\ncellsize 10 10\nnodata_value -9999\n", "4 5 6.5\n1 2 3\n"),
    ],
)
@pytest.mark.parametrize("name", ["a.tt3", "a.topotype2", "a.asc"])
def test_topography_of_geoclaw(tmp_path, header, rows, name):
    """xlower is where the first value lies, xllcorner the edge of its cell (`clawpack.geoclaw.topotools`)."""
    dem = read_dem(write_asc(tmp_path / name, header, rows))
    np.testing.assert_array_equal(dem.elevation, VALUES)
    assert (dem.x0, dem.y0, dem.dx, dem.dy) == (100.0, 200.0, 10.0, 10.0)


def test_topography_of_geoclaw_with_unequal_cells(tmp_path):
    header = GEOCLAW.format("ncols", "nrows").replace("1.0e+01 cellsize", "10.0 20.0 cellsize")
    dem = read_dem(write_asc(tmp_path / "a.tt3", header))
    assert (dem.x0, dem.y0, dem.dx, dem.dy) == (100.0, 195.0, 10.0, 20.0)


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (GEOCLAW.format("ncols", "nrows"), "4 5 6.5\n1 x2 3\n", "'x2' in line 8"),
        (GEOCLAW.format("ncols", "nrows").replace("105.0 x", "x x"), "4 5 6.5\n1 2 3\n", "header line 'x xlower'"),
        (GEOCLAW.format("ncols", "nrows").replace("105.0 x", "1 2 x"), "4 5 6.5\n1 2 3\n", "header line '1 2 xlower'"),
    ],
)
def test_faults_of_topography_of_geoclaw(tmp_path, header, rows, message):
    with pytest.raises(InputError, match=message):
        read_dem(write_asc(tmp_path / "a.tt3", header, rows))


@pytest.mark.parametrize("rows", ["4 5 6.5 1\n2 3", "4\n5\n6.5\n1\n2\n3\n"])
def test_esri_ascii_rows_may_wrap(tmp_path, rows):
    np.testing.assert_array_equal(read_dem(write_asc(tmp_path / "a.asc", HEADER, rows)).elevation, VALUES)


@pytest.mark.parametrize(
    ("nodata", "word"), [("-9999", "-9999.0"), ("-3.4028235e38", "-3.402823e+38"), ("0", "nan"), ("NaN", "nan")]
)
def test_esri_ascii_nodata(tmp_path, nodata, word):
    path = write_asc(tmp_path / "a.asc", HEADER.replace("-9999", nodata), f"4 {word} 6.5\n1 2 3\n")
    elevation = read_dem(path).elevation
    assert np.isnan(elevation[1, 1]) and np.isnan(elevation).sum() == 1


def test_esri_ascii_default_nodata(tmp_path):
    path = write_asc(tmp_path / "a.asc", HEADER.replace("NODATA_value -9999\n", ""), "4 -9999 6.5\n1 2 3\n")
    assert np.isnan(read_dem(path).elevation[1, 1])


@pytest.mark.parametrize(
    ("header", "rows", "message"),
    [
        (HEADER, "4 5 6.5\n1 2\n", "5 numbers after the header(.|\n)*3 x 2 = 6"),
        (HEADER, "4 5 6.5\n1 2 3 4\n", "7 numbers"),
        (HEADER, "4 5 6.5\n1 x2 3\n", "'x2' in line 8"),
        (HEADER, "4,5 5,1 6,5\n1 2 3\n", "header line|'4,5' in line 7"),
        (HEADER, "4 5,1 6,5\n1 2 3\n", "'5,1' in line 7(.|\n)*decimal point(.|\n)*5.1"),
        (HEADER, "", "no numbers after the header"),
        (HEADER.replace("ncols 3\n", ""), "1\n", "no ncols in the header"),
        (HEADER.replace("ncols 3", "ncols 2.5"), "1\n", "2.5 as ncols"),
        (HEADER.replace("cellsize 10\n", ""), "4 5 6.5\n1 2 3\n", "no cell size"),
        (HEADER.replace("cellsize 10", "cellsize 0"), "4 5 6.5\n1 2 3\n", "no cell size"),
        (HEADER.replace("yllcorner 200\n", ""), "4 5 6.5\n1 2 3\n", "no yllcorner"),
        (HEADER.replace("cellsize", "celsize"), "1\n", "'celsize 10'(.|\n)*write:   cellsize"),
    ],
)
def test_esri_ascii_faults(tmp_path, header, rows, message):
    with pytest.raises(InputError, match=message) as error:
        read_dem(write_asc(tmp_path / "a.asc", header, rows))
    assert str(tmp_path / "a.asc") in str(error.value)


def test_esri_ascii_under_another_name(tmp_path):
    np.testing.assert_array_equal(read_dem(write_asc(tmp_path / "a.txt", HEADER)).elevation, VALUES)


def test_esri_ascii_coordinate_system_beside_it(tmp_path):
    path = write_asc(tmp_path / "a.asc", HEADER)
    (tmp_path / "a.prj").write_text(parse_crs(UTM).to_wkt(version="WKT1_ESRI"))
    assert read_dem(path).crs == UTM
    (tmp_path / "a.prj").write_text(parse_crs("EPSG:4326").to_wkt())
    with pytest.raises(InputError, match="degrees"):
        read_dem(path)
    (tmp_path / "a.prj").write_text("nonsense")
    with pytest.raises(InputError, match=r"a.prj: not a coordinate system"):
        read_dem(path)


def test_large_esri_ascii(tmp_path):
    ny, nx = 400, 500
    values = np.random.default_rng(1).uniform(-50.0, 50.0, (ny, nx)).round(4)
    path = tmp_path / "large.asc"
    with path.open("w") as file:
        file.write(f"ncols {nx}\nnrows {ny}\nxllcorner 0\nyllcorner 0\ncellsize 10\n")
        np.savetxt(file, values[::-1], fmt="%.4f")
    dem = read_dem(path)
    np.testing.assert_array_equal(dem.elevation, values)


@pytest.mark.skipif(not MONAI.is_file(), reason="needs the Monai valley data (EAGRE_DATA)")
def test_monai_valley():
    dem = read_dem(MONAI)
    assert dem.elevation.shape == (244, 393)
    assert dem.extent == pytest.approx((0.0, 5.502, 0.0, 3.416))
    assert dem.elevation[-1, 0] == -0.13535 and dem.elevation[0, -1] == -7.95e-3
    assert dem_to_corners(dem, grid_from_dem(dem)).shape == (245, 394)


# --- GeoTIFF


def test_geotiff(tmp_path):
    dem = read_dem(write_tif(tmp_path / "a.tif"))
    np.testing.assert_array_equal(dem.elevation, VALUES)
    assert (dem.x0, dem.y0, dem.dx, dem.dy, dem.crs) == (100.0, 200.0, 10.0, 20.0, UTM)


def test_geotiff_other_row_and_column_order(tmp_path):
    from rasterio.transform import Affine

    path = write_tif(tmp_path / "a.TIFF", VALUES[:, ::-1], transform=Affine(-10, 0, 130, 0, 20, 200))
    dem = read_dem(path)
    np.testing.assert_array_equal(dem.elevation, VALUES)
    assert dem.extent == (100.0, 130.0, 200.0, 240.0)


def test_geotiff_nodata_scale_and_band(tmp_path):
    values = np.array([[40, -32768, 65], [10, 20, 30]], dtype=np.int16)
    path = write_tif(tmp_path / "a.tif", values, nodata=-32768, scale=0.1, offset=1.0)
    np.testing.assert_allclose(read_dem(path).elevation, [[2.0, 3.0, 4.0], [5.0, np.nan, 7.5]])
    path = write_tif(tmp_path / "b.tif", bands=2)
    np.testing.assert_array_equal(read_dem(path, band=2).elevation, 2 * VALUES)
    with pytest.raises(InputError, match=r"band = 3(.|\n)*1 to 2"):
        read_dem(path, band=3)
    with pytest.raises(InputError, match=r"2 bands \(gray, undefined\) and no band(.|\n)*band = 1"):
        read_dem(path)
    path = write_tif(tmp_path / "c.tif", bands=2, scale=0.1, offset=1.0)  # each band has its own
    np.testing.assert_allclose(read_dem(path, band=2).elevation, 0.2 * (2 * VALUES) + 2.0)


def test_geotiff_not_a_number_and_infinity_are_nodata(tmp_path):
    values = np.array([[np.nan, np.inf, 6.0], [1, 2, 3]])
    assert np.isnan(read_dem(write_tif(tmp_path / "a.tif", values)).elevation).sum() == 2


def test_rotated_geotiff_is_refused(tmp_path):
    from rasterio.transform import Affine

    path = write_tif(tmp_path / "a.tif", transform=Affine(8.7, 10.0, 100.0, 5.0, -17.3, 240.0))
    with pytest.raises(InputError, match="rotated raster") as error:
        read_dem(path)
    assert error.value.fix.startswith("gdalwarp")


def test_geotiff_without_a_place_is_refused(tmp_path):
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    path = tmp_path / "a.tif"
    with (
        pytest.warns(NotGeoreferencedWarning),
        rasterio.open(path, "w", driver="GTiff", height=2, width=3, count=1, dtype="float64") as file,
    ):
        file.write(VALUES, 1)
    with pytest.raises(InputError, match="no georeference"):
        read_dem(path)


@pytest.mark.parametrize(
    ("crs", "origin", "cell", "message", "fix"),
    [
        ("EPSG:4326", (14.0, 42.0), 0.001, "geographic coordinates", r"-t_srs EPSG:32633 -tr 110 110"),
        ("EPSG:4326", (-70.0, -33.0), 0.001, "geographic coordinates", r"-t_srs EPSG:32719"),
        ("EPSG:3857", (1558472.0, 8399738.0), 10.0, "Web Mercator(.|\n)*2.00 times", r"EPSG:32633 -tr 5 5"),
        ("EPSG:2263", (984250.0, 150000.0), 100.0, "coordinates in US survey foot", r"EPSG:32618 -tr 30 30"),
    ],
)
def test_geotiff_coordinates_other_than_metres_are_refused(tmp_path, crs, origin, cell, message, fix):
    from rasterio.transform import Affine

    path = write_tif(tmp_path / "a.tif", crs=crs, transform=Affine(cell, 0, origin[0], 0, -cell, origin[1]))
    with pytest.raises(InputError, match=message) as error:
        read_dem(path)
    assert fix in error.value.fix and error.value.fix.startswith("gdalwarp")
    assert str(path) in error.value.fix


def test_feet_of_elevation_are_refused(tmp_path):
    with pytest.raises(InputError, match="elevations in ft"):
        read_dem(write_tif(tmp_path / "a.tif", units="ft"))


def test_a_file_that_is_no_raster(tmp_path):
    (tmp_path / "a.tif").write_text("hello")
    with pytest.raises(InputError, match="not a raster that can be read"):
        read_dem(tmp_path / "a.tif")


# --- NetCDF


@pytest.mark.parametrize("flip_y", [False, True])
@pytest.mark.parametrize("flip_x", [False, True])
def test_netcdf_in_any_order(tmp_path, flip_y, flip_x):
    sy, sx = (-1 if flip_y else 1), (-1 if flip_x else 1)
    x, y = np.array([105.0, 115.0, 125.0])[::sx], np.array([210.0, 230.0])[::sy]
    dem = read_dem(write_nc(tmp_path / "a.nc", VALUES[::sy, ::sx], x, y))
    np.testing.assert_array_equal(dem.elevation, VALUES)
    assert dem.extent == (100.0, 130.0, 200.0, 240.0)


def test_netcdf_transposed_with_a_length_of_one(tmp_path):
    import xarray as xr

    coords = {"easting": [105.0, 115.0, 125.0], "northing": [210.0, 230.0]}
    data = xr.Dataset({"Band1": (("time", "easting", "northing"), VALUES.T[None])}, coords=coords)
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    np.testing.assert_array_equal(read_dem(tmp_path / "a.nc").elevation, VALUES)


def test_netcdf_3_fill_value_and_kilometres(tmp_path):
    import xarray as xr

    values = np.array([[1, 2, 3], [4, -32768, 6]], dtype=np.int16)
    data = xr.Dataset({"z": (("y", "x"), values)}, coords={"x": [0.5, 1.5, 2.5], "y": [1.0, 3.0]})
    data.x.attrs["units"] = "km"
    data.z.encoding["_FillValue"] = np.int16(-32768)
    data.to_netcdf(tmp_path / "a.nc", engine="scipy")
    dem = read_dem(tmp_path / "a.nc")
    assert (dem.dx, dem.dy, dem.x0) == (1000.0, 2.0, 0.0)
    assert np.isnan(dem.elevation[1, 1]) and np.isnan(dem.elevation).sum() == 1


def test_netcdf_single_precision_coordinates(tmp_path):
    x = (500000.0 + 2.3 * np.arange(40)).astype(np.float32)
    y = (4.2e6 + 2.3 * np.arange(30)).astype(np.float32)
    dem = read_dem(write_nc(tmp_path / "a.nc", np.zeros((30, 40)), x, y))
    assert dem.dx == pytest.approx(2.3, abs=0.01) and dem.dy == pytest.approx(2.3, abs=0.02)


def test_netcdf_coordinate_system(tmp_path):
    import xarray as xr

    data = xr.Dataset({"z": (("y", "x"), VALUES, {"grid_mapping": "crs"})}, coords={"x": [0.0, 1, 2], "y": [0.0, 1]})
    data["crs"] = ((), 0, {"spatial_ref": parse_crs(UTM).to_wkt()})
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    assert read_dem(tmp_path / "a.nc").crs == UTM


@pytest.mark.parametrize("units", [None, "degrees_east"])
def test_netcdf_degrees_are_refused(tmp_path, units):
    path = write_nc(tmp_path / "a.nc", x=(14.0, 14.5, 15.0), y=(42.0, 42.5), dims=("lat", "lon"))
    if units:
        import xarray as xr

        with xr.open_dataset(path) as data:
            data = data.load().rename(lon="x", lat="y")
        data.x.attrs["units"], data.y.attrs["units"] = units, "degrees_north"
        data.to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InputError, match="geographic coordinates") as error:
        read_dem(path)
    assert "EPSG:32633" in error.value.fix


def test_netcdf_uneven_coordinates_are_refused(tmp_path):
    with pytest.raises(InputError, match="x is not evenly spaced"):
        read_dem(write_nc(tmp_path / "a.nc", x=(105.0, 115.0, 127.0)))


def test_netcdf_choice_of_variable(tmp_path):
    import xarray as xr

    data = xr.Dataset(
        {"a": (("y", "x"), VALUES), "b": (("y", "x"), 2 * VALUES), "n": ((), 3)},
        coords={"x": [0.0, 1, 2], "y": [0.0, 1]},
    )
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="2 variables on two dimensions \\(a, b\\)"):
        read_dem(tmp_path / "a.nc")
    np.testing.assert_array_equal(read_dem(tmp_path / "a.nc", variable="b").elevation, 2 * VALUES)
    with pytest.raises(InputError, match=r"'c'(.|\n)*a, b"):
        read_dem(tmp_path / "a.nc", variable="c")
    data.rename(b="elevation").to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    np.testing.assert_array_equal(read_dem(tmp_path / "b.nc").elevation, 2 * VALUES)


def test_netcdf_record_of_a_bed_that_moved(tmp_path):
    values = np.stack([VALUES, 2.0 * VALUES, 3.0 * VALUES])
    path = write_nc(tmp_path / "a.nc", values, dims=("time", "y", "x"), name="bed")
    for record, times in ((1, 1.0), (2, 2.0), (-1, 3.0)):
        np.testing.assert_array_equal(read_dem(path, record=record).elevation, times * VALUES)
    np.testing.assert_array_equal(read_dem(path, record=2, positive="down").elevation, -2.0 * VALUES)
    with pytest.raises(InputError, match=r"record = 4(.|\n)*1 to 3"):
        read_dem(path, record=4)
    with pytest.raises(InputError, match=r"bed on time, y, x(.|\n)*record = -1"):
        read_dem(path)


def test_netcdf_with_two_beds_asks_for_one(tmp_path):
    """Both have names of beds: which one is meant, nobody but the user knows. For Manning's n no name says anything."""
    import xarray as xr

    axes = {"x": [0.0, 1, 2], "y": [0.0, 1]}
    two = xr.Dataset({"z": (("y", "x"), VALUES), "depth": (("y", "x"), -VALUES)}, axes)
    for names in (("z", "depth"), ("depth", "z")):
        two[list(names)].to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
        with pytest.raises(InputError, match="2 variables on two dimensions"):
            read_dem(tmp_path / "a.nc")
    np.testing.assert_array_equal(read_dem(tmp_path / "a.nc", variable="z").elevation, VALUES)
    two.rename(depth="manning").to_netcdf(tmp_path / "b.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="2 variables on two dimensions"):
        read_raster(tmp_path / "b.nc")


@pytest.mark.parametrize("positive", ["up", "down"])
@pytest.mark.parametrize("value", [-999.0, -9999.0, -99999.0, -32768.0])
def test_nodata_numbers_that_are_not_declared(tmp_path, value, positive):
    rows = f"4 {value:g} 6.5\n1 2 3\n"
    path = write_asc(tmp_path / "a.asc", HEADER.replace("-9999", "-1"), rows)
    with pytest.raises(InputError, match="a usual fill value of missing data"):
        read_dem(path, positive=positive)


def test_a_sea_that_is_999_m_deep_somewhere(tmp_path):
    path = write_asc(tmp_path / "a.asc", HEADER, "-998 -999 -1500\n-1000 -300 -2\n")
    assert read_dem(path).elevation.min() == -1500.0


def test_netcdf_without_coordinates_is_refused(tmp_path):
    import xarray as xr

    xr.Dataset({"z": (("y", "x"), VALUES)}).to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="without a one-dimensional coordinate y"):
        read_dem(tmp_path / "a.nc")


def test_netcdf_damaged(tmp_path):
    (tmp_path / "a.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(50))
    with pytest.raises(InputError, match="not a NetCDF file"):
        read_dem(tmp_path / "a.nc")


# --- sign, offset and values that cannot be elevations


def test_depths_and_offset(tmp_path):
    path = write_asc(tmp_path / "a.asc", HEADER)
    np.testing.assert_array_equal(read_dem(path, vertical_offset=0.5).elevation, VALUES + 0.5)
    np.testing.assert_array_equal(read_dem(path, positive="down", vertical_offset=0.5).elevation, 0.5 - VALUES)
    with pytest.raises(InputError, match="positive = 'Down'"):
        read_dem(path, positive="Down")
    with pytest.raises(InputError, match="vertical_offset"):
        read_dem(path, vertical_offset=float("nan"))


@pytest.mark.parametrize("attribute", [{"positive": "down"}, {"standard_name": "sea_floor_depth_below_geoid"}])
def test_depths_that_say_so_are_not_read_as_elevations(tmp_path, attribute):
    path = write_nc(tmp_path / "a.nc", **attribute)
    with pytest.raises(InputError) as error:
        read_dem(path)
    assert error.value.fix == 'positive = "down"'
    np.testing.assert_array_equal(read_dem(path, positive="down").elevation, -VALUES)


@pytest.mark.parametrize("value", [-32768.0, 3.4e38, -9999.0])
def test_nodata_that_is_not_declared_is_refused(tmp_path, value):
    values = np.array([[4.0, value, value], [1, 2, 3]])
    with pytest.raises(InputError, match=r"a usual fill value of missing data(.|\n)*in 2 of 6 cells") as error:
        read_dem(write_tif(tmp_path / "a.tif", values))
    assert f"-a_nodata {value:g}" in error.value.fix


def test_deep_sea_is_allowed(tmp_path):
    values = np.array([[-9998.0, -9999, -10900], [1, 2, 3]])
    assert read_dem(write_tif(tmp_path / "a.tif", values)).elevation.min() == -10900
    depths = read_dem(write_tif(tmp_path / "b.tif", -values), positive="down")
    assert depths.elevation.min() == -10900


def test_no_data_at_all(tmp_path):
    with pytest.raises(InputError, match="no data in any of its 6 cells"):
        read_dem(write_tif(tmp_path / "a.tif", np.full((2, 3), np.nan)))


def test_numbers_that_look_like_degrees(tmp_path):
    header = "ncols 3\nnrows 2\nxllcorner -124.2\nyllcorner 41.7\ncellsize 0.000277\n"
    path = write_asc(tmp_path / "a.asc", header, "40 50 60\n1 2 3\n")
    with pytest.raises(InputError, match="look like degrees") as error:
        read_dem(path)
    assert "-s_srs EPSG:4326 -t_srs EPSG:32610" in error.value.fix and 'coordinates = "metres"' in error.value.fix
    (tmp_path / "a.prj").write_text(parse_crs(UTM).to_wkt())
    assert read_dem(path).crs == UTM


def test_a_flume_of_a_few_metres_is_no_map_of_degrees(tmp_path):
    """A step of a flume: 3 cm of length, and a wall of 0.5 m, near the origin."""
    header = "ncols 3\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 0.01\n"
    path = write_asc(tmp_path / "flume.asc", header, "0.5 0.5 0\n0.5 0 0\n")
    with pytest.raises(InputError, match="look like degrees") as error:
        read_dem(path)
    assert error.value.fix.startswith('coordinates = "metres"')
    assert read_dem(path, coordinates="metres").extent == pytest.approx((0.0, 0.03, 0.0, 0.02))
    with pytest.raises(InputError, match="coordinates = 'meters'"):
        read_dem(path, coordinates="meters")


def test_raster_of_anything(tmp_path):
    path = write_tif(tmp_path / "a.tif", np.full((2, 3), 101325.0))
    assert read_raster(path).elevation.max() == 101325.0


def test_unknown_format(tmp_path):
    (tmp_path / "a.xyz").write_text("0 0 1\n")
    with pytest.raises(InputError, match="GeoTIFF") as error:
        read_dem(tmp_path / "a.xyz")
    assert "gdal_translate" in error.value.fix


def test_missing_file(tmp_path):
    write_asc(tmp_path / "bed.asc", HEADER)
    with pytest.raises(InputError, match="no such file") as error:
        read_dem(tmp_path / "bad.asc")
    assert error.value.fix.endswith('bed.asc"')


@pytest.mark.parametrize("fault", [{"elevation": np.zeros(3)}, {"dx": 0.0}, {"dy": float("nan")}])
def test_dem_checks_itself(fault):
    with pytest.raises(InputError):
        Dem(**({"elevation": np.zeros((2, 2)), "x0": 0.0, "y0": 0.0, "dx": 1.0, "dy": 1.0} | fault))


@pytest.mark.parametrize(
    ("longitude", "latitude", "code"),
    [(-180.0, 10.0, 32601), (179.9, 10.0, 32660), (180.0, -1.0, 32701), (3.0, 0.0, 32631)],
)
def test_utm_zones(longitude, latitude, code):
    assert f"EPSG:{code} " in warp_line("a.tif", (longitude, latitude), 10.0)


def test_a_band_of_opacity_holds_no_values(tmp_path):
    import rasterio
    from rasterio.enums import ColorInterp

    path = write_tif(tmp_path / "a.tif", bands=2)
    with rasterio.open(path, "r+") as file:
        file.colorinterp = (ColorInterp.gray, ColorInterp.alpha)
        file.write(np.full(VALUES.shape, 255.0), 2)
    np.testing.assert_array_equal(read_dem(path).elevation, VALUES)


def test_commands_to_write_can_be_copied_whatever_the_name(tmp_path):
    path = write_tif(tmp_path / "my bed.tif", crs="EPSG:4326", transform=None)
    with pytest.raises(InputError) as error:
        read_dem(path)
    words = shlex.split(error.value.fix)
    assert words[0] == "gdalwarp" and words[-2:] == [str(path), str(tmp_path / "my bed_utm.tif")]
    assert f'crs = "{words[2]}"' in error.value.allowed


# -- one row or one column -------------------------------------------------------------------------------


def write_line(path, values):
    """A raster of cells of 2 m; a NetCDF file has no cell size but the spacing of its coordinates."""
    import rasterio
    import xarray

    ny, nx = values.shape
    if path.suffix == ".asc":
        rows = "\n".join(" ".join(f"{value:.3f}" for value in row) for row in values[::-1])
        path.write_text(f"ncols {nx}\nnrows {ny}\nxllcorner 0\nyllcorner 0\ncellsize 2\n{rows}\n")
    elif path.suffix == ".tif":
        options = {"driver": "GTiff", "width": nx, "height": ny, "count": 1, "dtype": "float64", "crs": "EPSG:32633"}
        with rasterio.open(path, "w", transform=rasterio.Affine(2, 0, 0, 0, -2, 2 * ny), **options) as target:
            target.write(values[::-1], 1)
    else:
        axes = {"y": 2.0 * np.arange(ny) + 1.0, "x": 2.0 * np.arange(nx) + 1.0}
        xarray.Dataset({"z": (("y", "x"), values)}, axes).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("shape", [(1, 6), (6, 1), (1, 1)])
@pytest.mark.parametrize("name", ["bed.asc", "bed.tif"])
def test_a_raster_of_one_row_or_column(tmp_path, name, shape):
    """Linear along it, the same across it, as far as the middles of the last cells."""
    values = -1.0 - 0.1 * np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
    dem = read_dem(write_line(tmp_path / name, values))
    assert np.allclose(dem.elevation, values, rtol=0.0, atol=1e-12)
    assert dem.extent == (0.0, 2.0 * shape[1], 0.0, 2.0 * shape[0])
    grid = Grid(2 * shape[1], 2 * shape[0], 1.0, 1.0, crs=dem.crs)
    along = np.meshgrid(np.arange(grid.nx + 1.0), np.arange(grid.ny + 1.0))[int(shape[0] > 1)]
    exact = -1.0 - 0.1 * np.clip(0.5 * (along - 1.0), 0.0, values.size - 1.0)
    assert np.allclose(dem_to_corners(dem, grid, crests="mean"), exact, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("shape", "axis"), [((1, 6), "y"), ((6, 1), "x"), ((1, 1), "x")])
def test_a_netcdf_raster_of_one_row_or_column_has_no_cell_size(tmp_path, shape, axis):
    path = write_line(tmp_path / "bed.nc", -np.ones(shape))
    for record in (None, -1):
        with pytest.raises(InputError, match=f"The cell size along {axis} is unknown"):
            read_dem(path if record is None else with_time(path), record=record)


def with_time(path):
    import xarray

    other = path.with_name("over_time.nc")
    with xarray.open_dataset(path) as dataset:
        dataset.expand_dims(time=[0.0]).to_netcdf(other, engine="h5netcdf")
    return other


@pytest.mark.parametrize("shape", [(2, 6), (6, 2), (2, 2)])
def test_a_netcdf_raster_of_two_rows_or_columns(tmp_path, shape):
    values = -1.0 - 0.1 * np.arange(shape[0] * shape[1], dtype=float).reshape(shape)
    path = write_line(tmp_path / "bed.nc", values)
    for dem in (read_dem(path), read_dem(with_time(path)), read_dem(with_time(path), record=1)):
        assert np.array_equal(dem.elevation, values) and (dem.dx, dem.dy) == (2.0, 2.0)
