"""Files whose data are damaged and whose header is whole: the error names the variable or the block, and no writing."""

from __future__ import annotations

import warnings

import h5py
import numpy as np
import pytest
import rasterio
import xarray as xr

from eagre.cli.support import exits
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.rasters.dem import read_dem
from eagre.io.records.records import RecordFile
from eagre.io.tables.csv_rows import RowFile
from eagre.io.tables.series import read_series
from eagre.io.weather.weather import read_weather

RANDOM = np.random.default_rng(3)


def spoil(path, at: int, size: int) -> None:
    """Put other bytes into a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(RANDOM.bytes(size))


def spoil_chunk(path, name: str, number: int) -> None:
    """Put other bytes into a compressed chunk of a variable of a NetCDF-4 file."""
    with h5py.File(path, "r") as file:
        chunk = file[name].id.get_chunk_info(number)
    spoil(path, chunk.byte_offset, chunk.size)


def fields(path):
    """Two records of depth, the second one damaged."""
    data = {"depth": (("time", "y", "x"), RANDOM.random((2, 9, 12)), {"units": "m"})}
    data["bed"] = (("y", "x"), RANDOM.random((9, 12)))
    dataset = xr.Dataset(data, {"time": [0.0, 1.0], "y": np.arange(9) + 0.5, "x": np.arange(12) + 0.5})
    if path.suffix == ".zarr":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr calls consolidated metadata experimental
            dataset.to_zarr(path, zarr_format=3, consolidated=True, encoding={"depth": {"chunks": (1, 9, 12)}})
        chunk = path / "depth" / "c" / "1" / "0" / "0"
        chunk.write_bytes(RANDOM.bytes(chunk.stat().st_size))
    else:
        packed = {"zlib": True, "chunksizes": (1, 9, 12)}
        dataset.to_netcdf(path, engine="h5netcdf", encoding={"depth": packed})
        spoil_chunk(path, "depth", 1)
    return path


@pytest.mark.parametrize("name", ["out.nc", "out.zarr"])
@pytest.mark.parametrize("command", ["plot", "animate", "export", "compare", "info"])
def test_damaged_results_are_errors_of_the_input(eagre, tmp_path, name, command):
    if name.endswith(".zarr"):
        pytest.importorskip("zarr")
    path = fields(tmp_path / name)
    target = tmp_path / {"plot": "a.png", "animate": "a.gif", "export": "a.tif"}.get(command, "none")
    done = eagre(command, path, *([path] if command == "compare" else []), *(["-o", target] if target.suffix else []))
    assert done.code == exits.BAD_INPUT and "cannot write" not in done.err, done.err
    assert "The variable depth of the" in done.err and "the file is damaged or incomplete" in done.err, done.err
    assert not target.exists() and not list(tmp_path.glob("*.part*"))


@pytest.mark.parametrize("name", ["surface_elevation", "x"])
def test_damaged_gauges(eagre, tmp_path, name):
    data = {"surface_elevation": (("time", "station"), RANDOM.normal(size=(200, 2)))}
    data |= {name: ("station", RANDOM.random(2)) for name in "xy"}
    dataset = xr.Dataset(data, {"time": np.arange(200.0)})
    dataset.to_netcdf(tmp_path / "g.nc", engine="h5netcdf", encoding={name: {"zlib": True}})
    spoil_chunk(tmp_path / "g.nc", name, 0)
    done = eagre("waves", tmp_path / "g.nc", "--depth", 1)
    assert done.code == exits.BAD_INPUT and f"The variable {name} of the" in done.err, done.err


def test_damaged_series_and_beds(tmp_path):
    packed = {"zlib": True, "chunksizes": (50,)}
    dataset = xr.Dataset({"level": ("time", RANDOM.normal(size=50))}, {"time": np.arange(50.0)})
    dataset.to_netcdf(tmp_path / "s.nc", engine="h5netcdf", encoding={"level": packed})
    spoil_chunk(tmp_path / "s.nc", "level", 0)
    with pytest.raises(InputError, match=r"The variable level of the NetCDF file .*s.nc cannot be read"):
        read_series(tmp_path / "s.nc")
    bed = xr.Dataset({"z": (("y", "x"), RANDOM.normal(size=(9, 12)))}, {"y": np.arange(9.0), "x": np.arange(12.0)})
    bed.to_netcdf(tmp_path / "b.nc", engine="h5netcdf", encoding={"z": {"zlib": True, "chunksizes": (9, 12)}})
    spoil_chunk(tmp_path / "b.nc", "z", 0)
    with pytest.raises(InputError, match=r"The variable z of the NetCDF file .*b.nc cannot be read"):
        read_dem(tmp_path / "b.nc")


def test_a_damaged_record_of_the_weather(tmp_path):
    """It is read while a run goes on, in a thread."""
    axes = {"y": np.arange(-2, 14) + 0.5, "x": np.arange(-2, 16) + 0.5}
    times = ("time", 3600.0 * np.arange(4), {"units": "seconds since 2026-01-01"})
    data = {"msl": (("time", "y", "x"), 1e5 + RANDOM.normal(size=(4, 16, 18)), {"units": "Pa"})}
    packed = {"zlib": True, "chunksizes": (1, 16, 18)}
    xr.Dataset(data, axes | {"time": times}).to_netcdf(tmp_path / "w.nc", engine="h5netcdf", encoding={"msl": packed})
    spoil_chunk(tmp_path / "w.nc", "msl", 2)
    pressure = read_weather(tmp_path / "w.nc", Grid(12, 9, 1.0, 1.0), start="2026-01-01").pressure
    assert np.isfinite(pressure.at(1800.0)).all()
    with pytest.raises(InputError, match=r"Record 3 of the variable msl of the weather file .* cannot be read"):
        pressure.at(5400.0)


@pytest.mark.parametrize("compress", ["deflate", "lzw", "zstd"])
def test_a_damaged_block_of_a_geotiff(tmp_path, compress):
    options = {"driver": "GTiff", "width": 64, "height": 48, "count": 1, "dtype": "float32", "tiled": True}
    options |= {"blockxsize": 16, "blockysize": 16, "compress": compress, "crs": "EPSG:32633"}
    path = tmp_path / "bed.tif"
    with rasterio.open(path, "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 48), **options) as target:
        target.write(RANDOM.normal(size=(48, 64)).astype("f4"), 1)
    with rasterio.open(path) as source:
        at, size = (int(source.get_tag_item(f"BLOCK_{one}_3_1", "TIFF", bidx=1)) for one in ("OFFSET", "SIZE"))
    whole = path.read_bytes()
    path.write_bytes(whole[:at] + b"\xff" * size + whole[at + size :])
    with pytest.raises(InputError) as caught:
        read_dem(path)
    assert "damaged or incomplete in block (1, 3), rows 17 to 32 and columns 49 to 64" in str(caught.value)


def test_a_geotiff_that_is_cut_off(tmp_path):
    path = tmp_path / "bed.tif"
    options = {"driver": "GTiff", "width": 64, "height": 48, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    with rasterio.open(path, "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 48), **options) as target:
        target.write(RANDOM.normal(size=(48, 64)).astype("f4"), 1)
    path.write_bytes(path.read_bytes()[:9000])
    with pytest.raises(InputError, match=r"damaged or incomplete in block \(1, 0\), rows 33 to 48"):
        read_dem(path)


def test_names_of_dimensions_that_are_damaged(eagre, tmp_path):
    """HDF5 reads a heap collection without end if an object of it is empty free space."""
    data = {"surface_elevation": (("time", "station"), RANDOM.normal(size=(200, 2)))}
    data |= {name: ("station", RANDOM.random(2)) for name in "xy"}
    path = tmp_path / "g.nc"
    xr.Dataset(data, {"time": np.arange(200.0)}).to_netcdf(path, engine="h5netcdf")
    content = path.read_bytes()
    start = content.index(b"GCOL")
    path.write_bytes(content[: start + 16] + bytes(64) + content[start + 80 :])
    for command in ("waves", "info", "plot"):
        done = eagre(command, path)
        assert done.code == exits.BAD_INPUT and "damaged" in done.err, done.err
    with pytest.raises(InputError, match="damaged"):
        read_series(path)


class Going:
    """What an output that goes on reads of a model."""

    kind, time = "fake", 1.0


def test_an_output_to_append_to_that_is_damaged(tmp_path):
    """Errors of reading are no errors of writing; the file stays as it is."""
    path = tmp_path / "out.nc"
    times = ("time", np.arange(3.0), {"units": "s"})
    dataset = xr.Dataset({"depth": ("time", np.ones(3))}, {"time": times}, {"kind": "fake", "history": ""})
    dataset.to_netcdf(path, engine="h5netcdf", encoding={"time": {"zlib": True}}, unlimited_dims=["time"])
    spoil_chunk(path, "time", 0)
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"The existing output file .*out.nc cannot be read"):
        RecordFile.resume(path, Going(), {"units": "s"}, until=9.0)  # type: ignore[arg-type]
    assert path.read_bytes() == before
    path = tmp_path / "out.csv"
    path.write_text("time (s),a\n0.0,1\n\x00\x00#,1\n2.0,1\n")
    with pytest.raises(InputError, match=r"The existing output file .*out.csv cannot be read"):
        RowFile(path, "time (s),a\n", 1.0)
