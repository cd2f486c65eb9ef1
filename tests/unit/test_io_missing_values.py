"""Fill values that nothing declares, valid ranges of NetCDF variables, and depths that do not say so."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import eagre
from case_texts import stage_in_the_west
from eagre.config.problems import ConfigError
from eagre.errors import InputError
from eagre.io import read_dem, read_raster, read_series
from eagre.io.tables.sounding import read_sounding
from eagre.io.weather.weather import read_weather
from eagre.models.shallow_water.config import ShallowWaterCase

TIMES = np.arange(6) * 600.0
LEVELS = np.array([0.3, 0.9, 1.4, 0.8, 0.2, -0.5])
FILLS = [-99.9, -999.0, -999.9, -9999.0, 999.9, -32767.0, 9999.0, 9.969209968386869e36]


def python(folder, values):
    return eagre.Series(TIMES, values)


def case(folder, values, level="times = {times}, values = {values}"):
    text = level.format(times=[float(t) for t in TIMES], values=[float(v) for v in values])
    return ShallowWaterCase.loads(stage_in_the_west(3000.0, bed="value = -5.0", level=f"{{{text}}}"), folder).build()


def texts(folder, values):
    return case(folder, values, f"times = {{times}}, values = {[f'{100 * v:.10g} cm' for v in values]}")


def csv(folder, values):
    (folder / "a.csv").write_text("t,h\n" + "".join(f"{t},{v:.12g}\n" for t, v in zip(TIMES, values, strict=True)))
    return read_series(folder / "a.csv")


def centimetres(folder, values):
    """Fill values are those of the file, whatever its unit."""
    (folder / "b.csv").write_text("t,h (cm)\n" + "".join(f"{t},{v:.12g}\n" for t, v in zip(TIMES, values, strict=True)))
    return case(folder, values, 'file = "b.csv"')


def single(folder, values):
    data = xr.Dataset({"h": ("t", values.astype("f4"))}, {"t": TIMES})
    data.h.encoding["_FillValue"] = None
    data.to_netcdf(folder / "a.nc", engine="h5netcdf")
    return read_series(folder / "a.nc")


SERIES = {"python": python, "case": case, "csv": csv, "csv in cm": centimetres, "netcdf, single": single}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("way", SERIES)
def test_fill_values_in_series(tmp_path, way, fill):
    values = LEVELS.copy()
    values[[2, 4]] = fill
    with pytest.raises((InputError, ConfigError)) as caught:
        SERIES[way](tmp_path, values)
    for word in (
        f"{fill:g}",
        "2 of 6 rows",
        "t = 1200 s",
        "row 2",
        "without the rows of" if way != "python" else "keep = ",
    ):
        assert word in str(caught.value)


def test_fill_values_with_a_unit(tmp_path):
    values = LEVELS.copy()
    values[3] = -9.999  # written as "-999.9 cm"
    with pytest.raises(ConfigError, match=r"-999.9 in 1 of 6 rows"):
        texts(tmp_path, values)


@pytest.mark.parametrize(
    "values",
    [
        [980.0, 995.0, 999.9, 990.0, 985.0, 970.0],  # a discharge of that size
        [400.0, 700.0, 999.9, 800.0, 600.0, 500.0],  # a peak with a rise as steep
        [0.0, 500.0, 999.9, 500.0, 0.0, 0.0],
        [-99.9, -99.5, -98.0, -97.0, -99.9, -99.9],  # below the sea
        [9000.0, 9999.0, 9500.0, 9100.0, 8000.0, 7000.0],
        [-110.0, -99.9, 5.0, 3.0, 2.0, 1.0],
        [-999.0] * 6,
        [0.0, 999.0, 0.0, -999.5, 99.9, 0.0],  # no usual fill value
        [4e4, 9999.0, 2e4, 3e4, 1e4, 0.0],
    ],
)
def test_series_of_that_size_are_taken(tmp_path, values):
    values = np.array(values)
    for way in (python, csv, single):
        np.testing.assert_allclose(way(tmp_path, values).values, values, rtol=1e-6)


def test_missing_values_in_python_say_which_rows_to_keep():
    with pytest.raises(InputError, match=r"row 2 (.|\n)*t = 1200 s(.|\n)*np.isfinite"):
        eagre.Series(TIMES, np.where(TIMES == 1200.0, np.nan, LEVELS))


def packed(values, dtype="f8", scale=1.0, offset=0.0, unsigned=False):
    """Values as a file stores them, with the attributes that unpack them."""
    if dtype == "f8":
        return values, {}
    attrs = {"scale_factor": scale, "add_offset": offset} | ({"_Unsigned": "true"} if unsigned else {})
    numbers = np.round((values - offset) / scale)
    return (numbers.astype("u1").view("i1") if unsigned else numbers.astype(dtype)), attrs


def raster(path, values, name="z", packing=None, **attrs):
    y, x = np.arange(values.shape[0]) * 10.0 + 5.0, np.arange(values.shape[1]) * 10.0 + 5.0
    numbers, unpacking = packed(values, **(packing or {}))
    data = xr.Dataset({name: (("y", "x"), numbers, attrs | unpacking)}, {"y": y, "x": x})
    data[name].encoding = {"_FillValue": None}
    data.to_netcdf(path, engine="h5netcdf")
    return path


GROUND = np.array([[4.0, 5.0, 6.5, 2.0], [1.0, 2.0, 3.0, 4.0], [-3.0, 1.0, 0.0, 2.0]])


@pytest.mark.parametrize("fill", [-99.9, -999.9, -9999.0, 999.9])
def test_fill_values_in_rasters(tmp_path, fill):
    values = GROUND.copy()
    values[1, 2] = fill
    raster(tmp_path / "a.nc", values)
    with pytest.raises(InputError, match=r"a usual fill value of missing data(.|\n)*in 1 of 12 cells") as caught:
        read_dem(tmp_path / "a.nc")
    assert f"ncatted -a _FillValue,z,o,f,{fill:g}" in caught.value.fix
    text = stage_in_the_west(3000.0, bed="value = -5.0", level=0.0) + '[initial]\nvelocity_x = {file = "a.nc"}\n'
    with pytest.raises(ConfigError, match="a usual fill value of missing data"):
        ShallowWaterCase.loads(text, tmp_path).build()


RANGES = {  # attributes that leave 2 to 5
    "range": {"valid_range": [2.0, 5.0]},
    "bounds": {"valid_min": 2.0, "valid_max": 5.0},
    "single": {"valid_range": np.array([2.0, 5.0], "f4")},
}
KEPT = np.where((GROUND >= 2.0) & (GROUND <= 5.0), GROUND, np.nan)
PACKED = {"dtype": "i2", "scale": 0.1, "offset": 1.0}  # 2 to 5 are 10 to 40
PACKED_RANGES = {
    "packed": (PACKED, {"valid_range": np.array([10, 40], "i2")}),
    "packed bounds": (PACKED, {"valid_min": np.int16(10), "valid_max": np.int16(40)}),
    "packed downwards": (PACKED | {"scale": -0.1}, {"valid_range": np.array([-40, -10], "i2")}),
    "unpacked, as the NetCDF User Guide allows": (PACKED, {"valid_range": np.array([2.0, 5.0])}),
    "unsigned": (
        {"dtype": "i1", "unsigned": True, "scale": 0.1, "offset": -15.0},  # 170 to 200
        {"valid_range": np.array([170 - 256, 200 - 256], "i1")},
    ),
}


@pytest.mark.parametrize("name", RANGES)
def test_valid_range_of_rasters(tmp_path, name):
    raster(tmp_path / "a.nc", GROUND, **RANGES[name])
    np.testing.assert_array_equal(read_dem(tmp_path / "a.nc").elevation, KEPT)


@pytest.mark.parametrize("name", PACKED_RANGES)
def test_valid_range_of_packed_rasters(tmp_path, name):
    packing, attributes = PACKED_RANGES[name]
    raster(tmp_path / "a.nc", GROUND, packing=packing, **attributes)
    np.testing.assert_allclose(read_raster(tmp_path / "a.nc").elevation, KEPT, atol=1e-6)


def test_one_sided_and_unreadable_ranges(tmp_path):
    raster(tmp_path / "a.nc", GROUND, valid_min=2.0)
    np.testing.assert_array_equal(read_dem(tmp_path / "a.nc").elevation, np.where(GROUND >= 2.0, GROUND, np.nan))
    raster(tmp_path / "b.nc", GROUND, valid_range="from 2 to 5")
    np.testing.assert_array_equal(read_dem(tmp_path / "b.nc").elevation, GROUND)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_ends_of_a_range_are_valid(tmp_path, dtype):
    values = np.full((2, 3), 0.1).astype(dtype)
    raster(tmp_path / "a.nc", values, valid_range=[0.1, 0.1])
    assert np.isfinite(read_dem(tmp_path / "a.nc").elevation).all()


@pytest.mark.parametrize(("packing", "top"), [({}, 20.0), ({"dtype": "i2", "scale": 0.5}, np.int16(40))])
def test_valid_range_of_series(tmp_path, packing, top):
    numbers, unpacking = packed(np.array([1.0, 25.0, 20.0]), **packing)
    data = xr.Dataset({"q": ("time", numbers, {"valid_max": top} | unpacking)}, {"time": [0.0, 60.0, 120.0]})
    data.q.encoding["_FillValue"] = None
    data.to_netcdf(tmp_path / "a.nc", engine="h5netcdf")
    with pytest.raises(InputError, match=r"row 1 (.|\n)*t = 60 s"):
        read_series(tmp_path / "a.nc")


def weather(path, values, attrs=None, packing=None):
    axes = {"time": [0.0, 3600.0], "y": [0.0, 100.0, 200.0], "x": [0.0, 100.0, 200.0]}
    numbers, unpacking = packed(values, **(packing or {}))
    attrs = {"units": "m s-1"} | unpacking | (attrs or {})
    data = xr.Dataset({name: (("time", "y", "x"), numbers, attrs) for name in ("u10", "v10")}, axes)
    for name in ("u10", "v10"):
        data[name].encoding["_FillValue"] = None
    data.to_netcdf(path, engine="h5netcdf")
    return path


GRID = eagre.Grid(8, 8, 20.0, 20.0, 20.0, 20.0)


@pytest.mark.parametrize(
    ("attrs", "packing"),
    [({"valid_range": [-50.0, 50.0]}, {}), ({"valid_max": np.int16(500)}, {"dtype": "i2", "scale": 0.1})],
)
def test_valid_range_of_weather(tmp_path, attrs, packing):
    values = np.full((2, 3, 3), 5.0)
    values[:, 1, 1] = 77.0
    path = weather(tmp_path / "w.nc", values, attrs, packing)
    with pytest.raises(InputError, match="is missing at"):
        read_weather(path, GRID).wind_x.record(0)
    filled = read_weather(path, GRID, nodata=0.0).wind_x.record(0)
    assert filled.min() < 1.0 and filled.max() <= 5.0 + 1e-9
    weather(tmp_path / "b.nc", values)
    assert read_weather(tmp_path / "b.nc", GRID).wind_x.record(0).max() > 50.0


@pytest.mark.parametrize("fill", [-99.9, 99999.0])
def test_fill_values_in_weather(tmp_path, fill):
    """A wind of -99.9 m/s is within the range of winds."""
    values = np.full((2, 3, 3), 5.0)
    values[0, 1, 1] = fill
    with pytest.raises(InputError, match=f"the value {fill:g} at 1 of 9 points"):
        read_weather(weather(tmp_path / "w.nc", values), GRID).wind_x.record(0)


def test_fill_values_in_soundings(tmp_path):
    (tmp_path / "s.csv").write_text("z,theta,u,v\n0,300,5,0\n500,301,-99.9,0\n1000,302,8,0\n")
    with pytest.raises(InputError, match=r"u = -99.9 m/s at 500 m"):
        read_sounding(tmp_path / "s.csv")


@pytest.mark.parametrize("name", ["Depth", "depth", "bathymetry", "deptho"])
def test_depths_that_do_not_say_so(tmp_path, name):
    raster(tmp_path / "a.nc", np.abs(GROUND), name)
    with pytest.raises(InputError, match="depths or elevations") as caught:
        read_dem(tmp_path / "a.nc")
    assert caught.value.fix == 'positive = "down"'
    np.testing.assert_array_equal(read_dem(tmp_path / "a.nc", positive="up").elevation, np.abs(GROUND))
    with pytest.raises(ConfigError, match='positive = "down"'):
        ShallowWaterCase.loads(stage_in_the_west(3000.0, bed='file = "a.nc"', level=0.0), tmp_path).build()
    text = stage_in_the_west(3000.0, bed='file = "a.nc"\npositive = "down"', level=0.0)
    model = ShallowWaterCase.loads(text, tmp_path).build()
    assert model.field("bed").max() < 0.0


def test_depths_that_are_known_and_elevations_are_read(tmp_path):
    np.testing.assert_array_equal(read_dem(raster(tmp_path / "a.nc", GROUND, "depth")).elevation, GROUND)
    np.testing.assert_array_equal(read_dem(raster(tmp_path / "b.nc", np.abs(GROUND), "z")).elevation, np.abs(GROUND))
    up = raster(tmp_path / "c.nc", np.abs(GROUND), "depth", positive="up")
    np.testing.assert_array_equal(read_dem(up).elevation, np.abs(GROUND))
