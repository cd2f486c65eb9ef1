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
    from eagre.io.dem import read_dem

    read_dem(path)


def read_fields(path: Path) -> None:
    from eagre.cli.info import describe
    from eagre.plots.reading import open_results
    from eagre.plots.results import FieldFile

    describe(path)
    results = open_results(path)
    if isinstance(results, FieldFile):
        for name in [*results.variables, *results.fixed]:
            results.values(name, results.record_at(None))


def read_series(path: Path) -> None:
    from eagre.cli.info import describe
    from eagre.plots.reading import open_results

    describe(path)
    open_results(path)


def read_polygons(path: Path) -> None:
    from eagre.io.vector import read_features, zone_numbers

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
