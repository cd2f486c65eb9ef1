"""A damaged file is read or rejected with an `EagreError`: never another error, a crash or a wrong state.

Every format is damaged in many deterministic ways. The readers run in a subprocess, because HDF5 and GDAL can crash.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from eagre.errors import EagreError
from eagre.grid import Grid
from eagre.io import restart

COUNT = 200  # damages per format
FEWER = {"old_restart.nc": 5, "fields.nc": 30, "fields.zarr": 40, "bed.nc": 30, "classic.nc": 30}  # slow to read
FEWER |= {"weather.nc": 10, "classic_series.nc": 20, "case.toml": 30, "tiles.tif": 40, "land.shp": 40, "land.fgb": 40}
HEADER = "ncols 12\nnrows 9\nxllcorner 0\nyllcorner 0\ncellsize 1\nNODATA_value -9999\n"
BED = 0.1 * np.arange(12.0)[None, :] * np.ones((9, 1)) - 1.0
AXES = {"x": np.arange(12) + 0.5, "y": np.arange(9) + 0.5}


class State:
    """What `write_restart` reads of a model."""

    kind, precision, time, steps = "fake", "double", 3.0, 12
    grid = Grid(12, 9, 1.0, 1.0)

    def state(self) -> dict[str, np.ndarray]:
        return {"level": BED.copy(), "clock": np.array([3.0, 12.0])}


def write_restart(path: Path) -> None:
    from eagre.io import write_restart as write

    write(path, State())  # type: ignore[arg-type]


def write_old_restart(path: Path) -> None:
    """A restart file without a user block, as older versions wrote it."""
    import h5py

    write_restart(path)
    with (
        h5py.File(path, "r") as new,
        h5py.File(path.with_name("without_checksum.nc"), "w", libver=("earliest", "v110")) as old,
    ):
        old.attrs.update(new.attrs)
        new.copy("state", old)
    path.with_name("without_checksum.nc").replace(path)


def write_bed(path: Path) -> None:
    import xarray

    xarray.Dataset({"z": (("y", "x"), BED)}, AXES).to_netcdf(path, engine="h5netcdf")


def write_classic_bed(path: Path) -> None:
    import xarray

    xarray.Dataset({"z": (("y", "x"), BED)}, AXES).to_netcdf(path, engine="scipy")


def write_fields(path: Path) -> None:
    import xarray

    values = {"depth": (("time", "y", "x"), np.stack([BED, BED])), "bed": (("y", "x"), BED)}
    dataset = xarray.Dataset(values, AXES | {"time": [0.0, 1.0]})
    if path.suffix == ".zarr":
        dataset.to_zarr(path, zarr_format=3, consolidated=True)
    else:
        dataset.to_netcdf(path, engine="h5netcdf", encoding={"depth": {"zlib": True}})


def write_geotiff(path: Path) -> None:
    import rasterio

    options = {"driver": "GTiff", "width": 12, "height": 9, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    options |= {"compress": "deflate", "blockysize": 3}
    with rasterio.open(path, "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 9), **options) as target:
        target.write(BED.astype("f4"), 1)


def write_esri_grid(path: Path) -> None:
    path.write_text(HEADER + "\n".join(" ".join(f"{value:.3f}" for value in row) for row in BED) + "\n")


def write_csv(path: Path) -> None:
    path.write_text('time (s),pier eta (m),"quay eta (m)"\n' + "".join(f"{t}.0,0.{t},1.{t}\n" for t in range(30)))


def write_geojson(path: Path) -> None:
    ring = [[0, 0], [5, 0], [5, 5], [0, 5], [0, 0]]
    shapes = [{"type": "Polygon", "coordinates": [ring]}, {"type": "MultiPolygon", "coordinates": [[ring], [ring]]}]
    features = [{"type": "Feature", "properties": {"name": "a"}, "geometry": shape} for shape in shapes]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))


def write_tiles(path: Path) -> None:
    """A GeoTIFF of several compressed blocks."""
    import rasterio

    options = {"driver": "GTiff", "width": 64, "height": 48, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    options |= {"compress": "lzw", "tiled": True, "blockxsize": 16, "blockysize": 16}
    values = np.random.default_rng(1).normal(size=(48, 64)).astype("f4")
    with rasterio.open(path, "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 48), **options) as target:
        target.write(values, 1)


def write_weather(path: Path) -> None:
    import xarray

    axes = {"y": np.arange(-2, 14) + 0.5, "x": np.arange(-2, 16) + 0.5}
    axes["time"] = ("time", 3600.0 * np.arange(3), {"units": "seconds since 2026-01-01"})
    data = {"msl": (("time", "y", "x"), np.full((3, 16, 18), 1e5, np.float32), {"units": "Pa"})}
    xarray.Dataset(data, axes).to_netcdf(path, engine="h5netcdf")


def write_series(path: Path) -> None:
    import xarray

    xarray.Dataset({"v": ("time", np.sin(np.arange(90.0)))}, {"time": np.arange(90.0)}).to_netcdf(path, engine="scipy")


def write_shapes(path: Path) -> None:
    pyogrio, shapely = pytest.importorskip("pyogrio"), pytest.importorskip("shapely")
    shapes = np.array([shapely.to_wkb(shapely.box(0, 0, 5, 5)), shapely.to_wkb(shapely.box(6, 0, 9, 5))], dtype=object)
    names = np.array(["a", "b"], dtype=object)
    driver = {".shp": "ESRI Shapefile", ".fgb": "FlatGeobuf"}[path.suffix]
    options = {"geometry_type": "Polygon", "crs": "EPSG:32633", "driver": driver}
    pyogrio.raw.write(path, geometry=shapes, field_data=[names], fields=["name"], **options)


def write_swan(path: Path) -> None:
    header = "SWAN 1\n$ comment\nTIME\n1\nLOCATIONS\n2\n0 0\n9 0\nAFREQ\n3\n0.1\n0.2\n0.3\nNDIR\n4\n0\n90\n180\n270\n"
    header += "QUANT\n1\nVaDens\nm2/Hz/degr\n-99\n"
    block = "FACTOR\n0.1E-03\n" + "  10   20  400    7\n" * 3
    path.write_text(header + "".join(f"2026010{day}.000000\n{block}{block}" for day in (1, 2)))


def write_case(path: Path) -> None:
    from eagre.cli.new import template

    path.write_text(template("shallow-water"))


def read_weather(path: Path) -> None:
    from eagre.io.weather.weather import read_weather as read

    pressure = read(path, State.grid, start="2026-01-01").pressure
    if pressure is not None:
        for number in range(pressure.instants.times.size):
            pressure.record(number)


def read_one_series(path: Path) -> None:
    from eagre.io import read_series as read

    read(path)


def read_spectrum(path: Path) -> None:
    from eagre.waves import read_directional_spectrum

    read_directional_spectrum(path, "swan", time=-1, site=1)


def read_case(path: Path) -> None:
    from eagre.models.registry import load_case

    load_case(path)


def read_restart(path: Path) -> None:
    from eagre.io import read_restart as read
    from eagre.io.restart import read_restart_header

    header, state, expected = read_restart_header(path), read(path), State().state()
    assert (header.time, header.steps, header.kind) == (3.0, 12, "fake")
    assert {name: value.tobytes() for name, value in state.items()} == {
        name: value.tobytes() for name, value in expected.items()
    }


def read_old_restart(path: Path) -> None:
    from eagre.io import read_restart as read

    state, expected = read(path), State().state()
    for name in state:  # names are not protected in files of older versions
        assert name not in expected or state[name].tobytes() == expected[name].tobytes()


def read_bed(path: Path) -> None:
    from eagre.io.rasters.dem import read_dem

    read_dem(path)


def read_fields(path: Path) -> None:
    from eagre.cli.info import describe
    from eagre.plots.data.reading import open_results
    from eagre.plots.data.results import FieldFile

    describe(path)
    results = open_results(path)
    if isinstance(results, FieldFile):
        for name in [*results.variables, *results.fixed]:
            results.values(name, results.record_at(None))


def read_series(path: Path) -> None:
    from eagre.cli.info import describe
    from eagre.plots.data.reading import open_results

    describe(path)
    open_results(path)


def read_polygons(path: Path) -> None:
    from eagre.io.vectors import read_features, zone_numbers

    zone_numbers(read_features(path, State.grid, ["Polygon"]), State.grid)


FORMATS: dict[str, tuple[Callable[[Path], None], Callable[[Path], None]]] = {
    "restart.nc": (write_restart, read_restart),
    "old_restart.nc": (write_old_restart, read_old_restart),
    "bed.nc": (write_bed, read_bed),
    "classic.nc": (write_classic_bed, read_bed),
    "fields.nc": (write_fields, read_fields),
    "fields.zarr": (write_fields, read_fields),
    "bed.tif": (write_geotiff, read_bed),
    "bed.asc": (write_esri_grid, read_bed),
    "gauges.csv": (write_csv, read_series),
    "zones.geojson": (write_geojson, read_polygons),
    "tiles.tif": (write_tiles, read_bed),
    "weather.nc": (write_weather, read_weather),
    "classic_series.nc": (write_series, read_one_series),
    "land.shp": (write_shapes, read_polygons),
    "land.fgb": (write_shapes, read_polygons),
    "sea.swn": (write_swan, read_spectrum),
    "case.toml": (write_case, read_case),
}


def damaged(data: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """Versions of a file with flipped bits, a cut end, a block of zeros, other bytes, or more at its end."""
    random = np.random.default_rng(35)
    for number in range(count):
        at = int(random.integers(len(data)))
        block = slice(at, min(at + int(random.integers(1, 65)), len(data)))
        changed = bytearray(data)
        kind = ("flip", "cut", "zeros", "noise", "more")[number % 5]
        if kind == "flip":
            changed[at] ^= 1 << int(random.integers(8))
        elif kind == "cut":
            del changed[at:]
        elif kind == "zeros":
            changed[block] = bytes(block.stop - block.start)
        elif kind == "noise":
            changed[block] = random.bytes(block.stop - block.start)
        else:
            changed += random.bytes(block.stop - block.start)
        yield f"{number}: {kind} at {at}", bytes(changed)


def check(folder: Path, name: str, count: int) -> None:
    """Write a file, damage it in many ways and print every outcome that is neither a read nor an `EagreError`."""
    write, read = FORMATS[name]
    write(folder / name)
    read(folder / name)
    whole = folder / name
    files = sorted(one for one in whole.rglob("*") if one.is_file()) if whole.is_dir() else [whole]
    for file in files:
        data = file.read_bytes()
        for label, changed in damaged(data, -(-count // len(files))):
            print(f"trying {file.name} {label}", flush=True)
            file.write_bytes(changed)
            try:
                read(whole)
            except EagreError as error:
                assert str(error).strip()
            except Exception as error:
                print(f"failed {file.name} {label}: {type(error).__name__}: {error}", flush=True)
        file.write_bytes(data)


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_file_is_read_or_rejected(tmp_path, name):
    count = FEWER.get(name, COUNT)
    code = f"import pathlib, sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import test_damaged_files as t; "
    code += f"t.check(pathlib.Path({str(tmp_path)!r}), {name!r}, {count})"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=240)
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith("failed")]
    assert not failed, "\n".join([f"{len(failed)} of {len(lines) - len(failed)}", *failed[:20]])
    assert done.returncode == 0, (done.returncode, lines[-1:], done.stderr[-2000:])


def test_a_renamed_or_copied_restart_is_read(tmp_path):
    write_restart(tmp_path / "restart.nc")
    shutil.copy(tmp_path / "restart.nc", tmp_path / "copy.nc")
    (tmp_path / "restart.nc").rename(tmp_path / "other.nc")
    for name in ("copy.nc", "other.nc"):
        read_restart(tmp_path / name)


def test_a_restart_without_a_checksum_that_hdf5_never_reads_is_rejected(tmp_path, monkeypatch):
    write_old_restart(tmp_path / "old.nc")
    monkeypatch.setattr(restart, "_TRIAL", "import time; time.sleep(60)")
    monkeypatch.setattr(restart, "_TRIAL_SECONDS", 0.2)
    with pytest.raises(EagreError, match="is damaged: HDF5 cannot read it"):
        read_old_restart(tmp_path / "old.nc")


def test_a_restart_without_a_checksum_is_read(tmp_path):
    write_old_restart(tmp_path / "old.nc")
    read_restart(tmp_path / "old.nc")
