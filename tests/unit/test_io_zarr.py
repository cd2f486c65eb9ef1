"""Fields and maps in Zarr: the same as in NetCDF, whole at any moment, restarts that append."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from eagre.errors import InputError
from eagre.fields import Variable
from eagre.grid import Grid
from eagre.io import FieldWriter, MeasuredWriter
from eagre.io.cf import axis_attributes
from eagre.io.rasters.netcdf_raster import open_netcdf
from eagre.io.records import store_zarr
from eagre.io.writers.measured import Axis
from eagre.plots.data.reading import open_results
from written_models import FakeModel, write

pytest.importorskip("zarr", reason="pip install 'eagre[zarr]'")
NAMES = ["surface_elevation", "speed", "flux_x", "froude"]


def load(path, **options):
    with xr.open_zarr(path, **options) as dataset:
        return dataset.load()


def test_a_store_holds_what_a_netcdf_file_holds(tmp_path):
    """Names, values, dates, systems, attributes; only the history has another second."""
    options = {"start_date": "2026-01-31T12:00:00", "attributes": {"title": "A river", "levels": [1.0, float("nan")]}}
    for name in ("a.nc", "a.zarr"):
        write(tmp_path / name, FakeModel(crs="EPSG:32633"), [0.0, 1.5, 3.0], NAMES, **options)
    ours = load(tmp_path / "a.zarr")
    with xr.open_dataset(tmp_path / "a.nc") as theirs:
        history = ours.attrs.pop("history"), theirs.attrs.pop("history")
        assert all("created" in line for line in history)
        assert ours.attrs.pop("levels") == [1.0, "nan"]
        assert theirs.attrs.pop("levels")[0] == 1.0
        xr.testing.assert_identical(ours[sorted(ours)], theirs[sorted(theirs)])
        assert ours.time.values[1] == np.datetime64("2026-01-31T12:00:01.5")
        assert ours.time.encoding["units"] == theirs.time.encoding["units"]
        assert ours.speed.attrs["grid_mapping"] == "crs"
    assert "zarr" in ours.attrs["versions"]


def test_chunks_are_one_record_deep_and_packed(tmp_path):
    import zarr

    model = FakeModel("double", nx=1100, ny=3)
    write(tmp_path / "a.zarr", model, [0.0, 1.0], ["speed"], compression=3)
    write(tmp_path / "b.zarr", model, [0.0], ["speed"], compression=0)
    packed, plain = (zarr.open_array(str(tmp_path / name / "speed"), mode="r") for name in ("a.zarr", "b.zarr"))
    assert packed.metadata.zarr_format == 3 and packed.chunks == plain.chunks == (1, 3, 1024)
    (codec,) = packed.compressors
    assert (codec.cname.value, codec.clevel, codec.shuffle.value) == ("zstd", 3, "shuffle") and plain.compressors == ()
    assert packed.dtype == np.float64 and np.isnan(packed.fill_value)
    np.testing.assert_array_equal(packed[1], model.field("speed") + 100.0)


def test_what_stands_there_stays_unless_asked(tmp_path):
    path, model = tmp_path / "a.zarr", FakeModel()
    write(path, model, [0.0, 1.0])
    with pytest.raises(InputError, match="exists already"):
        FieldWriter(path, model, ["speed"])
    with FieldWriter(path, model, ["speed"], overwrite=True):
        pass  # without a record
    assert load(path).sizes["time"] == 2
    write(path, model, [4.0], ["speed"], overwrite=True)
    data = load(path)
    assert data.time.values.tolist() == [4.0] and "surface_elevation" not in data
    mine = tmp_path / "mine.zarr"
    mine.mkdir()
    (mine / "letter.txt").write_text("precious")
    with pytest.raises(InputError, match="a folder"):
        FieldWriter(mine, model, ["speed"], overwrite=True)
    assert [entry.name for entry in sorted(tmp_path.iterdir())] == ["a.zarr", "mine.zarr"]


def test_append(tmp_path):
    path, model = tmp_path / "a.zarr", FakeModel("double")
    write(path, model, [0.0, 1.0, 2.0, 3.0], ["speed", "flux_x"])
    model.time = 1.5
    with pytest.raises(InputError, match=r"2 records later than the restart at t = 1.5 s \(up to t = 3 s\)"):
        FieldWriter(path, model, ["speed", "flux_x"], append=True)
    FieldWriter(path, model, ["speed", "flux_x"], append=True, until=3.0).close()
    assert load(path).sizes["time"] == 4  # nothing changes before the first record
    write(path, model, [1.5, 2.5], ["speed", "flux_x"], append=True, overwrite=True)
    data = load(path)
    np.testing.assert_array_equal(data.time, [0.0, 1.0, 1.5, 2.5])
    np.testing.assert_array_equal(data.speed[:, 0, 0], [0.0, 100.0, 150.0, 250.0])
    np.testing.assert_array_equal(data.flux_x[:, 0, 0], [0.0, 100.0, 150.0, 250.0])
    assert "continued at t = 1.5 s" in data.attrs["history"]


@pytest.mark.parametrize(
    ("change", "names", "message"),
    [
        ({"kind": "barotropic"}, ["speed"], "of kind 'shallow-water'"),
        ({"precision": "double"}, ["speed"], "no variable speed of float64"),
        ({"grid": Grid(5, 3, 10.0, 20.0, x0=0.0, y0=2000.0)}, ["speed"], "another grid \\(x differs\\)"),
        ({}, ["froude"], "no variable froude"),
    ],
)
def test_append_to_another_run_is_refused(tmp_path, change, names, message):
    path = tmp_path / "a.zarr"
    write(path, FakeModel(), [0.0], ["speed"])
    model = FakeModel()
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises(InputError, match=message):
        FieldWriter(path, model, names, append=True)


def test_append_to_a_damaged_store(tmp_path):
    path = tmp_path / "a.zarr"
    path.mkdir()
    (path / "zarr.json").write_text("{")
    with pytest.raises(InputError, match="cannot be opened to append"):
        FieldWriter(path, FakeModel(), ["speed"], append=True)


def test_a_kill_between_two_variables_leaves_whole_records(tmp_path):
    """And readers look at a store of whole records while the next one is written; the run can go on."""
    path = tmp_path / "a.zarr"
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from written_models import FakeModel, write
from eagre.io.records.store_zarr import ZarrStore
publish = ZarrStore.flush
def flush(store):
    if store.variables["time"].shape[0] == 3:
        os._exit(9)
    publish(store)
ZarrStore.flush = flush
write(sys.argv[1], FakeModel(), [0.0, 1.0, 2.0, 3.0], ["speed", "flux_x"])
"""
    assert subprocess.run([sys.executable, "-c", code, str(path)]).returncode == 9
    data = load(path)
    assert data.time.values.tolist() == [0.0, 1.0] and not data.speed.isnull().any()
    write(path, FakeModel(), [1.0, 4.0], ["speed", "flux_x"], append=True, until=4.0)
    data = load(path)
    np.testing.assert_array_equal(data.time, [0.0, 1.0, 4.0])
    np.testing.assert_array_equal(data.flux_x[:, 0, 0], [0.0, 100.0, 400.0])


def test_without_the_library_the_line_to_write_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(store_zarr.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"The library zarr is not installed\.") as error:
        FieldWriter(tmp_path / "a.zarr", FakeModel(), ["speed"])
    assert error.value.fix == "pip install 'eagre[zarr]'"
    assert list(tmp_path.iterdir()) == []


class Largest:
    """Measures the largest depth, at centres, and a number."""

    variables = (
        Variable("max_depth", "m", "largest depth", cell_methods="time: maximum"),
        Variable("volume", "m3", "v"),
    )

    def __init__(self, grid):
        self.axes = [Axis(axis, (axis,), getattr(grid, axis), axis_attributes(axis, "centres")) for axis in "yx"]
        self.dimensions = {"max_depth": ("y", "x"), "volume": ()}
        self.shape = grid.shape

    def sample(self):
        return {"max_depth": np.full(self.shape, 2.5), "volume": np.float64(7.0), "time_bounds": np.array([0.0, 2.0])}


def test_maps(tmp_path):
    for name in ("a.nc", "a.zarr"):
        model = FakeModel()
        with MeasuredWriter(tmp_path / name, model, Largest(model.grid)) as writer:
            for model.time in (1.0, 2.0):
                writer.write(model)
    ours = load(tmp_path / "a.zarr")
    with xr.open_dataset(tmp_path / "a.nc") as theirs:
        ours.attrs["history"] = theirs.attrs["history"]
        xr.testing.assert_identical(ours[["max_depth", "volume"]], theirs[["max_depth", "volume"]])
    assert ours.max_depth.attrs["cell_methods"] == "time: maximum" and ours.volume.values.tolist() == [7.0, 7.0]
    for name in ("a.nc", "a.zarr"):
        results = open_results(tmp_path / name)
        assert results.dataset["time"].attrs["bounds"] == "time_bounds"
        assert results.dataset["time_bounds"].values.tolist() == [[0.0, 2.0], [0.0, 2.0]]
        assert results.variables == ["max_depth"] and "time_bounds" not in results.dataset.data_vars
        assert results.label("max_depth", 0) == "depth (m), maximum over 0 to 2 s"
    with open_netcdf(tmp_path / "a.nc", decode_times=False) as data:
        assert set(data.data_vars) == {"max_depth", "volume"}
    model = FakeModel()
    model.time = 2.0
    with pytest.raises(InputError, match="other variables or positions"):
        MeasuredWriter(tmp_path / "a.zarr", model, Largest(Grid(6, 3, 10.0, 20.0)), append=True)
    renamed = Largest(model.grid)
    renamed.variables = [Variable("min_depth", "m", "smallest depth", cell_methods="time: minimum")]
    with pytest.raises(InputError, match="other variables or positions; missing: min_depth"):
        MeasuredWriter(tmp_path / "a.zarr", model, renamed, append=True)
