"""Zarr stores from the command line: runs, stops, restarts, and the commands that read results."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import xarray as xr

from eagre.cli.support import exits

pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")


def store(path):
    with xr.open_zarr(path, decode_times=False) as dataset:
        return dataset.load()


@pytest.fixture
def zarr_case(fake_case):
    """A function that writes a case whose fields go to ``out.zarr``."""

    def write(fail=""):
        path = fake_case(fail=fail)
        path.write_text(path.read_text().replace('"out.nc"', '"out.zarr"'))
        return path

    return write


def test_a_run_that_is_stopped_goes_on(eagre, fake_case, zarr_case, tmp_path, opened):
    """The store is whole after Ctrl-C, and in the end what NetCDF would have been."""
    done = eagre("run", zarr_case("interrupt"))
    assert done.code == exits.INTERRUPTED, done.err
    assert store(tmp_path / "out.zarr")["time"].values.tolist() == [0, 2, 4, 6]
    again = eagre("run", zarr_case())
    assert again.code == exits.BAD_INPUT and "out.zarr exists already." in again.err
    on = eagre("run", zarr_case(), "--restart", tmp_path / "restart.nc")
    assert on.code == 0 and "out.zarr: " in on.out, on.err
    (tmp_path / "gauges.csv").unlink()
    assert eagre("run", fake_case()).code == 0
    ours, theirs = store(tmp_path / "out.zarr"), opened(tmp_path / "out.nc")
    assert ours["time"].values.tolist() == [0, 2, 4, 6, 8, 10]
    for name in ("depth", "surface_elevation", "bed"):
        np.testing.assert_array_equal(ours[name], theirs[name])
        assert ours[name].attrs == theirs[name].attrs and ours[name].dims == theirs[name].dims
    replaced = eagre("run", zarr_case(), "--overwrite")
    assert replaced.code == 0 and store(tmp_path / "out.zarr")["time"].size == 6


def test_commands_read_a_store(eagre, zarr_case, tmp_path):
    import rasterio

    assert eagre("run", zarr_case()).code == 0
    told = eagre("info", tmp_path / "out.zarr")
    assert told.code == 0 and "12 x 9 cells" in told.out and "6 records" in told.out
    compared = eagre("compare", tmp_path / "out.zarr", tmp_path / "out.zarr")
    assert compared.code == 0 and "depth" in compared.out
    assert eagre("plot", tmp_path / "out.zarr", "--output", tmp_path / "depth.png").code == 0
    assert eagre("export", tmp_path / "out.zarr", "-v", "surface_elevation").code == 0
    with rasterio.open(tmp_path / "out.tif") as made:
        assert (made.width, made.height) == (12, 9)
    missing = eagre("info", tmp_path / "ut.zarr")
    assert missing.code == exits.BAD_INPUT and "no such file" in missing.err


def test_a_case_without_the_library_is_refused_before_it_runs(eagre, zarr_case, tmp_path, monkeypatch):
    path = zarr_case()
    monkeypatch.setattr(sys.modules["eagre.io.records.store_zarr"].importlib.util, "find_spec", lambda name: None)
    done = eagre("run", path)
    assert done.code == exits.BAD_INPUT
    assert "pip install 'eagre[zarr]'" in done.err and "output.file" in done.err
    assert not (tmp_path / "out.zarr").exists()


def test_other_endings_are_told(eagre, zarr_case):
    path = zarr_case()
    path.write_text(path.read_text().replace("out.zarr", "out.grib"))
    done = eagre("run", path)
    assert done.code == exits.BAD_INPUT and "with the suffix .nc or .zarr" in done.err
