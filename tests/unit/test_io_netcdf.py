"""Fields in NetCDF: CF attributes, records that survive a kill, restarts that append."""

from __future__ import annotations

import errno
import subprocess
import sys
import textwrap
import threading
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h5py
import numpy as np
import pytest

from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io import FieldWriter, WriteError, files
from eagre.io.records.records import RecordFile
from eagre.io.records.store_netcdf import Sink
from eagre.plots.drawing.style import date_of
from written_models import VARIABLES, FakeModel, write


def load(path, **options):
    import xarray as xr

    with xr.open_dataset(path, **options) as dataset:
        return dataset.load()


@pytest.mark.parametrize(("precision", "dtype"), [("single", np.float32), ("double", np.float64)])
def test_fields_come_back(tmp_path, precision, dtype):
    model = FakeModel(precision)
    write(tmp_path / "a.nc", model, [0.0, 1.5, 3.0], ["surface_elevation", "flux_x", "froude"])
    data = load(tmp_path / "a.nc")
    np.testing.assert_array_equal(data.time, [0.0, 1.5, 3.0])
    np.testing.assert_array_equal(data.x, model.grid.x)
    np.testing.assert_array_equal(data.y, model.grid.y)
    np.testing.assert_array_equal(data.x_corner, model.grid.x_corner)
    assert data.surface_elevation.dims == ("time", "y", "x") and data.surface_elevation.dtype == dtype
    assert data.flux_x.dims == ("time", "y", "x_corner")
    for k, time in enumerate([0.0, 1.5, 3.0]):
        model.time = time
        np.testing.assert_array_equal(data.surface_elevation[k], model.field("surface_elevation"))
        np.testing.assert_array_equal(data.flux_x[k], model.field("flux_x"))
    assert "speed" not in data


def test_static_fields_are_written_once(tmp_path):
    model = FakeModel()
    write(tmp_path / "a.nc", model, [0.0, 1.0], ["surface_elevation", "bed"])
    data = load(tmp_path / "a.nc")
    assert data.bed.dims == ("y", "x") and data.bed_elevation.dims == ("y_corner", "x_corner")
    model.time = 0.0
    np.testing.assert_array_equal(data.bed_elevation, model.field("bed_elevation"))


def test_attributes(tmp_path):
    options = {
        "attributes": {"title": "A river", "institution": "us", "levels": [1.0, 2.0], "when": datetime(2026, 1, 1)}
    }
    write(tmp_path / "a.nc", FakeModel(), [0.0], **options)
    data = load(tmp_path / "a.nc")
    attributes = data.attrs
    assert attributes["Conventions"] == "CF-1.11"
    assert attributes["source"].startswith("eagre ") and "created" in attributes["history"]
    assert (attributes["title"], attributes["institution"], attributes["when"]) == (
        "A river",
        "us",
        "2026-01-01T00:00:00",
    )
    assert (attributes["device"], attributes["precision"], attributes["kind"]) == (
        "cpu (2 threads)",
        "single",
        "shallow-water",
    )
    assert (attributes["setting_courant_number"], attributes["setting_scheme"]) == (0.25, "rk2")
    assert attributes["setting_steps"] == 7
    assert (attributes["setting_limit"], attributes["setting_seed"]) == ("true", 2**40)
    assert attributes["setting_max_time_step"] == "None"
    assert "numpy" in attributes["versions"] and "h5netcdf" in attributes["versions"]
    assert data.x.attrs["standard_name"] == "projection_x_coordinate" and data.y.attrs["units"] == "m"
    assert data.x.attrs["axis"] == "X" and data.time.attrs["units"] == "s"
    eta = data.surface_elevation.attrs
    assert eta["units"] == "m" and eta["standard_name"] == VARIABLES[0].standard_name
    assert "standard_name" not in data.bed.attrs and data.bed.attrs["units"] == "m"


def test_units_without_dimension_are_one(tmp_path):
    write(tmp_path / "a.nc", FakeModel(), [0.0], ["froude"])
    assert load(tmp_path / "a.nc").froude.attrs["units"] == "1"


@pytest.mark.parametrize("name", ["Conventions", "source", "history", "kind"])
def test_reserved_attributes(tmp_path, name):
    with pytest.raises(InputError, match=name):
        FieldWriter(tmp_path / "a.nc", FakeModel(), [], attributes={name: "mine"})
    assert not (tmp_path / "a.nc").exists()


@pytest.mark.parametrize("start", ["2026-01-31T12:00:00", datetime(2026, 1, 31, 12), "2026-01-31T13:00+01:00"])
def test_dates(tmp_path, start):
    write(tmp_path / "a.nc", FakeModel(), [0.0, 60.0], start_date=start)
    data = load(tmp_path / "a.nc")
    assert data.time.values[1] == np.datetime64("2026-01-31T12:01:00")
    assert data.time.encoding["units"] == "seconds since 2026-01-31 12:00:00"


def test_dates_before_the_standard_calendar_are_not_julian(tmp_path):
    """28 February of the year 100 has a 29th after it in the standard calendar alone; day 1 is 1 March here."""
    for start, calendar in (("0100-02-28", "proleptic_gregorian"), ("1582-10-15", "standard")):
        write(tmp_path / f"{start}.nc", FakeModel(), [0.0, 86400.0], start_date=start)
        with h5py.File(tmp_path / f"{start}.nc") as file:
            assert file["time"].attrs["calendar"] in (calendar, calendar.encode())
    assert date_of("seconds since 0100-02-28 00:00:00", 86400.0) == "0100-03-01 00:00:00"


def test_bad_date(tmp_path):
    with pytest.raises(InputError, match="start_date = 'soon'"):
        FieldWriter(tmp_path / "a.nc", FakeModel(), [], start_date="soon")


@pytest.mark.parametrize(
    ("crs", "name", "parameters"),
    [
        ("EPSG:32633", "transverse_mercator", {"longitude_of_central_meridian": 15.0, "false_easting": 500000.0}),
        ("EPSG:2154", "lambert_conformal_conic", {"standard_parallel": [49.0, 44.0], "false_northing": 6600000.0}),
        ("EPSG:2154", "lambert_conformal_conic", {"longitude_of_central_meridian": 3.0}),
        ("EPSG:5070", "albers_conical_equal_area", {"longitude_of_central_meridian": -96.0}),
        ("EPSG:3413", "polar_stereographic", {"standard_parallel": 70.0, "latitude_of_projection_origin": 90.0}),
        (
            "EPSG:3031",
            "polar_stereographic",
            {
                "standard_parallel": -71.0,
                "straight_vertical_longitude_from_pole": 0.0,
                "latitude_of_projection_origin": -90.0,
            },
        ),
        ("EPSG:3035", "lambert_azimuthal_equal_area", {"latitude_of_projection_origin": 52.0}),
    ],
)
def test_grid_mapping(tmp_path, crs, name, parameters):
    from rasterio.crs import CRS

    write(tmp_path / "a.nc", FakeModel(crs=crs), [0.0])
    data = load(tmp_path / "a.nc", decode_coords=True)
    assert (
        data.surface_elevation.encoding.get("grid_mapping", data.surface_elevation.attrs.get("grid_mapping")) == "crs"
    )
    attributes = data.crs.attrs
    assert attributes["grid_mapping_name"] == name
    for key, value in parameters.items():
        np.testing.assert_allclose(attributes[key], value)
    assert attributes["inverse_flattening"] == pytest.approx(298.257, abs=1e-3)
    assert CRS.from_wkt(attributes["crs_wkt"]).to_epsg() == int(crs[5:])
    assert CRS.from_wkt(attributes["spatial_ref"]).to_epsg() == int(crs[5:])


@pytest.mark.parametrize("crs", [None, "our own system", "EPSG:4326"])
def test_no_grid_mapping(tmp_path, crs, capfd):
    write(tmp_path / "a.nc", FakeModel(crs=crs), [0.0])
    data = load(tmp_path / "a.nc")
    assert "crs" not in data and "grid_mapping" not in data.surface_elevation.attrs
    assert capfd.readouterr().err == ""


def test_gdal_finds_place_and_system(tmp_path):
    import rasterio
    from rasterio.drivers import raster_driver_extensions

    if "netCDF" not in raster_driver_extensions().values():
        pytest.skip("this GDAL has no NetCDF")
    write(tmp_path / "a.nc", FakeModel(crs="EPSG:32633"), [0.0])
    with rasterio.open(f"netcdf:{tmp_path / 'a.nc'}:bed") as source:
        assert source.crs.to_epsg() == 32633
        assert tuple(source.bounds) == (1000.0, 2000.0, 1050.0, 2060.0)


@pytest.mark.parametrize("compression", [0, 1, 9])
def test_compression(tmp_path, compression):
    import h5py

    model = FakeModel()
    write(tmp_path / "a.nc", model, [2.0], compression=compression)
    np.testing.assert_array_equal(load(tmp_path / "a.nc").surface_elevation[0], model.field("surface_elevation"))
    with h5py.File(tmp_path / "a.nc") as file:
        stored: Any = file["surface_elevation"]
        assert (stored.compression_opts or 0) == compression and stored.shuffle == bool(compression)
        assert stored.maxshape[0] is None


def test_bad_options(tmp_path):
    with pytest.raises(InputError, match="compression = 10"):
        FieldWriter(tmp_path / "a.nc", FakeModel(), [], compression=10)
    with pytest.raises(InputError, match=r'"surface_elevatio"(.|\n)*surface_elevation') as error:
        FieldWriter(tmp_path / "a.nc", FakeModel(), ["surface_elevatio"])
    assert error.value.fix == 'variables = ["surface_elevation"]'
    assert not (tmp_path / "a.nc").exists()


def test_existing_file_is_kept_unless_asked(tmp_path):
    path = tmp_path / "a.nc"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        FieldWriter(path, FakeModel(), [])
    assert path.read_text() == "precious"
    write(path, FakeModel(), [0.0], overwrite=True)
    assert load(path).sizes["time"] == 1


def test_the_same_time_is_written_once_and_never_backwards(tmp_path):
    model = FakeModel()
    with FieldWriter(tmp_path / "a.nc", model, ["speed"]) as writer:
        for time in (0.0, 1.0, 1.0):
            model.time = time
            writer.write(model)
        model.time = 0.5
        with pytest.raises(InputError, match=r"a record at t = 0.5 s(.|\n)*after t = 1 s"):
            writer.write(model)
    np.testing.assert_array_equal(load(tmp_path / "a.nc").time, [0.0, 1.0])


def test_close_twice(tmp_path):
    writer = FieldWriter(tmp_path / "a.nc", FakeModel(), [])
    writer.close()
    writer.close()


# --- going on after a restart


def test_append(tmp_path):
    path = tmp_path / "a.nc"
    model = FakeModel("double")
    write(path, model, [0.0, 1.0, 2.0], ["speed", "flux_x"])
    write(path, model, [2.0, 3.0, 4.0], ["speed", "flux_x"], append=True)
    data = load(path)
    np.testing.assert_array_equal(data.time, [0.0, 1.0, 2.0, 3.0, 4.0])
    np.testing.assert_array_equal(data.speed[:, 0, 0], [0.0, 100.0, 200.0, 300.0, 400.0])
    assert data.attrs["history"].count("\n") == 1 and "continued at t = 2 s" in data.attrs["history"]


def test_append_to_nothing_starts_a_file(tmp_path):
    write(tmp_path / "a.nc", FakeModel(), [5.0], append=True)
    np.testing.assert_array_equal(load(tmp_path / "a.nc").time, [5.0])


def test_append_never_drops_records_unless_asked(tmp_path):
    path = tmp_path / "a.nc"
    model = FakeModel()
    write(path, model, [0.0, 1.0, 2.0, 3.0])
    model.time = 1.5
    with pytest.raises(InputError, match=r"2 records later than the restart at t = 1.5 s \(up to t = 3 s\)"):
        FieldWriter(path, model, ["surface_elevation"], append=True)
    assert load(path).sizes["time"] == 4
    model.time = 2.0
    write(path, model, [], append=True, overwrite=True)
    assert load(path).sizes["time"] == 4  # nothing changes before the first record
    with pytest.raises(InputError, match="an end_time of at least 3 s"):
        FieldWriter(path, model, ["surface_elevation"], append=True, until=2.5)
    FieldWriter(path, model, ["surface_elevation"], append=True, until=3.0).close()
    model.time = 1.5
    write(path, model, [1.5, 2.5], append=True, overwrite=True)
    data = load(path)
    np.testing.assert_array_equal(data.time, [0.0, 1.0, 1.5, 2.5])
    np.testing.assert_array_equal(data.surface_elevation[:, 0, 0], [0.0, 100.0, 150.0, 250.0])


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"kind": "barotropic"}, {}, "of kind 'shallow-water'"),
        ({"precision": "double"}, {}, "no variable speed of float64"),
        ({"grid": Grid(5, 3, 10.0, 20.0, x0=0.0, y0=2000.0)}, {}, "another grid \\(x differs\\)"),
        ({"grid": Grid(5, 4, 10.0, 20.0, x0=1000.0, y0=2000.0)}, {}, "another grid \\(y differs\\)"),
        ({}, {"start_date": "2026-01-01"}, "with time in 's'"),
        ({}, {"variables": ["froude"]}, "no variable froude"),
        ({}, {"variables": ["speed"], "first": ["speed", "froude"]}, "it also holds froude"),
    ],
)
def test_append_to_another_run_is_refused(tmp_path, change, options, message):
    path = tmp_path / "a.nc"
    write(path, FakeModel(), [0.0], options.pop("first", ["speed"]))
    before = path.read_bytes()
    model = FakeModel()
    for name, value in change.items():
        setattr(model, name, value)
    with pytest.raises(InputError, match=message):
        FieldWriter(path, model, options.pop("variables", ["speed"]), append=True, **options)
    assert load(path).sizes["time"] == 1 and len(path.read_bytes()) >= len(before)


def test_append_to_a_damaged_file(tmp_path):
    (tmp_path / "a.nc").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be opened to append"):
        FieldWriter(tmp_path / "a.nc", FakeModel(), [], append=True)


# --- beside the model


def test_records_beside_are_those_of_their_time(tmp_path, monkeypatch):
    """`write` returns while a record is still on its way, and the next one waits for it."""
    may_go, append, begun = threading.Event(), RecordFile.append, []

    def slow(file, time, values):
        begun.append(time)
        assert may_go.wait(60.0)
        append(file, time, values)

    model = FakeModel()
    write(tmp_path / "a.nc", model, [0.0, 1.0, 2.0], ["speed", "flux_x"])
    monkeypatch.setattr(RecordFile, "append", slow)
    model.time = 0.0
    with FieldWriter(tmp_path / "b.nc", model, ["speed", "flux_x"], beside=True) as writer:
        writer.write(model)
        assert writer._file.count == 0
        may_go.set()
        for time in (1.0, 2.0, 2.0):
            model.time = time
            writer.write(model)
        model.time = 3.0
    assert begun == [0.0, 1.0, 2.0]
    for name in ("time", "speed", "flux_x"):
        np.testing.assert_array_equal(load(tmp_path / "b.nc")[name], load(tmp_path / "a.nc")[name])


@pytest.mark.parametrize("last", [False, True])
def test_what_goes_wrong_beside_is_told(tmp_path, monkeypatch, last):
    """By the next record, or at the end; and the file is closed."""
    model, closed = FakeModel(), []
    writer = FieldWriter(tmp_path / "a.nc", model, ["speed"], beside=True)
    monkeypatch.setattr(RecordFile, "_write", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    close = writer._file.close
    monkeypatch.setattr(writer._file, "close", lambda: (closed.append(True), close()))
    writer.write(model)
    model.time = 1.0
    with pytest.raises(WriteError, match="a"):
        writer.close() if last else writer.write(model)
    writer.close()
    assert closed


# --- kills and full disks


def run(code: str, *arguments: str, **options) -> subprocess.Popen[str]:
    preamble = f"import os, sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n"
    preamble += "from written_models import FakeModel\nfrom eagre.io import FieldWriter\n"
    command = [sys.executable, "-c", preamble + textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)


def test_a_killed_run_leaves_all_its_records(tmp_path):
    path = tmp_path / "a.nc"
    code = """
        model = FakeModel(nx=60, ny=50)
        writer = FieldWriter(sys.argv[1], model, ["speed", "flux_x"])
        while True:
            writer.write(model)
            print(model.time, flush=True)
            model.time += 1.0
    """
    with run(code, str(path)) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if float(line) >= 40:
                break
        process.kill()
        written = [float(line), *(float(text) for text in process.stdout.read().split())][-1]
    data = load(path)
    count = data.sizes["time"]
    assert count >= written + 1
    np.testing.assert_array_equal(data.time, np.arange(count))
    np.testing.assert_array_equal(data.speed[: int(written) + 1, 0, 0], 100.0 * np.arange(int(written) + 1))
    model = FakeModel(nx=60, ny=50)
    model.time = float(count)
    write(path, model, [count, count + 1], ["speed", "flux_x"], append=True)
    assert load(path).sizes["time"] == count + 2


@pytest.mark.parametrize(("records", "chunks"), [(140, (1, 6, 8)), (110, (1, 1, 1)), (1030, (256, 6, 8))])
def test_a_kill_between_any_two_writes_leaves_complete_records(tmp_path, monkeypatch, records, chunks):
    """The file is read after each write; the indices of the variables grow to one, two and three levels of nodes."""
    counts: set[int] = set()

    def check(path, written):
        with h5py.File(path, "r", locking=False) as file:
            lengths = {file[name].shape[0] for name in ("time", "speed", "depth")}
            assert len(lengths) == 1 and lengths <= {written - 1, written}
            counts.update(lengths)
            expected = np.arange(lengths.pop())
            np.testing.assert_array_equal(file["time"], expected)
            for name in ("speed", "depth"):
                np.testing.assert_array_equal(file[name][-3:, 0, 0], expected[-3:])
                assert np.isfinite(file[name][-3:]).all()

    original = Sink._write

    def write_and_check(sink, data):
        original(sink, data)
        if file.count and sink._changes:  # bytes beyond the end of the file are not read
            check(path, file.count + 1)

    path = tmp_path / "a.nc"
    file = RecordFile.create(path, {}, {"units": "s"})
    file.dimension("y", 6)
    file.dimension("x", 8)
    for name in ("speed", "depth"):
        file.variable(name, ("time", "y", "x"), np.dtype(np.float32), {}, chunks=chunks, fill=True)
    file.ready()
    monkeypatch.setattr(Sink, "_write", write_and_check)
    for k in range(records):
        file.append(float(k), {name: np.full((6, 8), k, np.float32) for name in ("speed", "depth")})
    assert counts == set(range(1, records + 1))
    file.close()


def test_an_exit_without_goodbye_leaves_a_readable_file_from_the_first_record_on(tmp_path):
    code = """
        model = FakeModel()
        first = FieldWriter(sys.argv[1], model, ["speed"])
        writer = FieldWriter(sys.argv[2], model, ["speed"])
        writer.write(model)
        os._exit(3)
    """
    with run(code, str(tmp_path / "a.nc"), str(tmp_path / "b.nc")) as process:
        assert process.wait() == 3
    assert not (tmp_path / "a.nc").exists()
    data = load(tmp_path / "b.nc")
    assert data.sizes["time"] == 1 and "speed" in data and data.attrs["kind"] == "shallow-water"


def test_the_file_can_be_read_while_the_run_goes_on(tmp_path):
    model = FakeModel()
    path = str(tmp_path / "a.nc")
    code = "import xarray, sys; print(xarray.open_dataset(sys.argv[1]).sizes['time'])"
    with FieldWriter(path, model, ["speed"]) as writer:
        writer.write(model)
        result = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        assert result.stdout.strip() == "1", result.stderr
        model.time = 1.0
        writer.write(model)
    assert load(path).sizes["time"] == 2


def test_a_full_disk_leaves_the_records_before_it(tmp_path):
    resource = pytest.importorskip("resource")
    model = FakeModel(nx=100, ny=100)
    writer = FieldWriter(tmp_path / "a.nc", model, ["speed"], compression=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (files.RESERVED_BYTES + 300_000, hard))
    try:
        with pytest.raises(WriteError) as error:
            for time in range(20):
                model.time = float(time)
                writer.write(model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.close()
    data = load(tmp_path / "a.nc")
    count = data.sizes["time"]
    assert 1 < count < 20 and not data.speed.isnull().any()
    assert f"the {count} records up to t = {count - 1} s in {tmp_path / 'a.nc'}" in error.value.safe
    assert "restart" in error.value.fix


def test_a_writer_that_is_never_closed_is_closed_at_the_end(tmp_path):
    code = """
        model = FakeModel()
        writer = FieldWriter(sys.argv[1], model, ["speed"])
        writer.write(model)
        model.cycle = (model, writer)
    """
    with run(code, str(tmp_path / "a.nc"), stderr=subprocess.PIPE) as process:
        assert process.stderr is not None and process.stderr.read() == ""
    assert process.returncode == 0 and load(tmp_path / "a.nc").sizes["time"] == 1


def test_a_full_disk_at_the_start_leaves_the_older_file(tmp_path, monkeypatch):
    import shutil

    path = tmp_path / "a.nc"
    write(path, FakeModel(), [0.0, 1.0])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(WriteError, match="no space left on the disk") as error:
        FieldWriter(path, FakeModel(), ["speed"], overwrite=True)
    assert error.value.safe == f"the older {path} is untouched"
    assert load(path).sizes["time"] == 2


def test_a_write_that_fails_half_way_is_never_silent(tmp_path):
    code = """
        import resource
        import eagre.io.records.records as records
        records.check_space = lambda *arguments, **options: None  # as if the room had been there
        import numpy
        model = FakeModel(nx=100, ny=100)
        noise = {name: numpy.random.default_rng(0).random(model.field(name).shape) for name in model.variables}
        model.field = lambda name: noise[name].astype("f4")
        writer = FieldWriter(sys.argv[1], model, ["speed"], compression=int(sys.argv[2]))
        resource.setrlimit(resource.RLIMIT_FSIZE, (250_000, 250_000))
        try:
            for time in range(40):
                model.time = float(time)
                writer.write(model)
        except records_error as error:
            print("refused", time, "the last restart file" in error.safe, flush=True)
            os._exit(0)
        print("silent")
    """.replace("records_error", "__import__('eagre.io', fromlist=['WriteError']).WriteError")
    pytest.importorskip("resource")
    for compression in ("0", "1"):
        with run(code, str(tmp_path / f"{compression}.nc"), compression) as process:
            assert process.stdout is not None
            word, time, honest = process.stdout.read().split()
        assert word == "refused" and int(time) <= 6 and honest == "True"


def test_handles_stay_open_so_that_a_lost_chunk_is_reported(tmp_path):
    """On a full disk HDF5 loses a chunk without a word if the handle that wrote it is closed before the flush."""
    import h5py

    model = FakeModel()
    with FieldWriter(tmp_path / "a.nc", model, ["speed"]) as writer:
        for model.time in (0.0, 1.0):
            writer.write(model)
        handles = writer._file._store._growing
        assert set(handles) == {"time", "speed"}
        assert all(isinstance(handle, h5py.Dataset) and handle.id.valid for handle in handles.values())


def test_a_time_that_was_never_set_is_no_record(tmp_path):
    """As a kill between two writes leaves one: 0 after a record at 0; and no record has the time of the last."""
    path = tmp_path / "a.nc"
    write(path, FakeModel(), [0.0])
    with h5py.File(path, "r+") as file:
        for name in ("time", "surface_elevation"):
            file[name].resize(2, axis=0)
        assert list(file["time"]) == [0.0, 0.0]
    model = FakeModel()
    file = RecordFile.resume(path, model, {"units": "s"}, until=1.0)
    assert file.count == 1 and file.last_time == 0.0
    with pytest.raises(InputError, match="times after t = 0 s"):
        file.append(0.0, {"surface_elevation": model.field("surface_elevation")})
    file.close()
