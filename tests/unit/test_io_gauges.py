"""Gauges: the same numbers as NetCDF and as CSV."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.fields import Variable
from eagre.grid import Grid
from eagre.io import GaugeWriter, WriteError, read_series

POINTS = {"pier": (5.0, 5.0), "M\u00fchle, north": (95.0, 45.0)}
NAMES = ["surface_elevation", "speed"]


class FakeModel:
    """The part of a model that the gauges use."""

    kind = "shallow-water"
    device = "cpu (2 threads)"
    precision = "single"
    levels = None
    wall_points: np.ndarray | None = None

    def __init__(self, crs=None):
        self.grid = Grid(10, 5, 10.0, 10.0, crs=crs)
        declared = [
            Variable("surface_elevation", "m", "surface elevation"),
            Variable("speed", "m s-1", "speed"),
            Variable("bed", "m", "bed", static=True),
        ]
        self.variables = {variable.name: variable for variable in declared}
        self.time = 0.0

    def settings(self):
        return {"courant_number": 0.25}

    def sample(self, names, cells):
        factor = {"surface_elevation": 1.0, "speed": -1.0}
        return {
            name: np.array([factor[name] * (100 * j + i + 0.1 * self.time) for j, i in cells], dtype=np.float32)
            for name in names
        }


def write(path, model, times, points=None, **options):
    with GaugeWriter(path, model, POINTS if points is None else points, NAMES, **options) as writer:
        for time in times:
            model.time = float(time)
            writer.write(model)


def load(path):
    import xarray as xr

    with xr.open_dataset(path) as dataset:
        return dataset.load()


def test_netcdf(tmp_path):
    write(tmp_path / "g.nc", FakeModel(crs="EPSG:32633"), [0.0, 0.5, 1.0], attributes={"title": "Gauges"})
    data = load(tmp_path / "g.nc")
    assert data.attrs["featureType"] == "timeSeries" and data.attrs["title"] == "Gauges"
    assert data.attrs["Conventions"] == "CF-1.11" and data.attrs["setting_courant_number"] == 0.25
    assert data.speed.dims == ("time", "station") and data.speed.dtype == np.float32
    assert list(data.station_name.values) == list(POINTS)
    assert data.station_name.attrs["cf_role"] == "timeseries_id"
    np.testing.assert_array_equal(data.x, [5.0, 95.0])
    np.testing.assert_array_equal(data.y, [5.0, 45.0])
    np.testing.assert_array_equal(data.time, [0.0, 0.5, 1.0])
    np.testing.assert_allclose(data.surface_elevation, [[0.0, 409.0], [0.05, 409.05], [0.1, 409.1]], rtol=1e-6)
    np.testing.assert_array_equal(data.speed, -data.surface_elevation)
    assert set(data.speed.coords) >= {"station_name", "x", "y"}
    assert data.crs.attrs["grid_mapping_name"] == "transverse_mercator"


def test_csv(tmp_path):
    write(tmp_path / "g.csv", FakeModel(), [0.0, 0.5])
    lines = (tmp_path / "g.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == (
        'time (s),pier surface_elevation (m),pier speed (m s-1),"M\u00fchle, north surface_elevation (m)",'
        '"M\u00fchle, north speed (m s-1)"'
    )
    assert lines[1:] == ["0.0,0.0,-0.0,409.0,-409.0", "0.5,0.05,-0.05,409.05,-409.05"]


def test_csv_can_drive_another_run(tmp_path):
    write(tmp_path / "g.csv", FakeModel(), [0.0, 60.0], start_date="2026-01-31")
    assert (tmp_path / "g.csv").read_text(encoding="utf-8").startswith("time (s since 2026-01-31 00:00:00),")
    series = read_series(tmp_path / "g.csv", value="M\u00fchle, north surface_elevation")
    np.testing.assert_array_equal(series.times, [0.0, 60.0])
    np.testing.assert_allclose(series.values, [409.0, 415.0])


def test_csv_rows_are_there_at_once(tmp_path):
    model = FakeModel()
    writer = GaugeWriter(tmp_path / "g.csv", model, POINTS, NAMES)
    assert not (tmp_path / "g.csv").exists()
    for count, model.time in enumerate((0.0, 1.0), start=2):
        writer.write(model)
        assert (tmp_path / "g.csv").read_text().count("\n") == count
    writer.close()
    writer.close()


def test_netcdf_records_are_there_at_once(tmp_path):
    import shutil

    model = FakeModel()
    with GaugeWriter(tmp_path / "g.nc", model, POINTS, NAMES) as writer:
        for time in range(3):
            model.time = float(time)
            writer.write(model)
            shutil.copy(tmp_path / "g.nc", tmp_path / "copy.nc")
            np.testing.assert_array_equal(load(tmp_path / "copy.nc").time, np.arange(time + 1))


@pytest.mark.parametrize("name", ["g.nc", "g.csv"])
def test_no_points_write_nothing(tmp_path, name):
    write(tmp_path / name, FakeModel(), [0.0], points={})
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["g.nc", "g.csv"])
def test_existing_file_is_kept_unless_asked(tmp_path, name):
    write(tmp_path / name, FakeModel(), [0.0])
    before = (tmp_path / name).read_bytes()
    with pytest.raises(InputError, match="exists already"):
        GaugeWriter(tmp_path / name, FakeModel(), POINTS, NAMES)
    assert (tmp_path / name).read_bytes() == before
    write(tmp_path / name, FakeModel(), [7.0], overwrite=True)
    assert times_in(tmp_path / name) == [7.0]


@pytest.mark.parametrize(
    ("points", "variables", "message"),
    [
        ({"far": (500.0, 5.0)}, NAMES, "gauge 'far': the point \\(500, 5\\)(.|\n)*0, 100"),
        ({"flat": (5.0,)}, NAMES, "gauge 'flat' at"),
        (POINTS, ["sped"], '"sped"(.|\n)*\\["speed"\\]'),
        (POINTS, ["bed"], 'variables with "bed"'),
        ({"two\nlines": (5.0, 5.0)}, NAMES, "line breaks"),
    ],
)
def test_faults(tmp_path, points, variables, message):
    with pytest.raises(InputError, match=message):
        GaugeWriter(tmp_path / "g.csv", FakeModel(), points, variables)
    assert not (tmp_path / "g.csv").exists()


def test_unknown_ending(tmp_path):
    with pytest.raises(InputError, match=r"ends in .nc or .csv"):
        GaugeWriter(tmp_path / "g.txt", FakeModel(), POINTS, NAMES)


def times_in(path):
    return list(load(path).time.values) if path.suffix == ".nc" else list(read_series(path, value="pier speed").times)


@pytest.mark.parametrize("name", ["g.nc", "g.csv"])
def test_append(tmp_path, name):
    path = tmp_path / name
    model = FakeModel()
    write(path, model, [0.0, 1.0])
    write(path, model, [1.0, 2.0], append=True)
    assert times_in(path) == [0.0, 1.0, 2.0]
    model.time = 0.5
    with pytest.raises(InputError, match=r"2 (records|rows) later than the restart at t = 0.5 s"):
        GaugeWriter(path, model, POINTS, NAMES, append=True)
    assert times_in(path) == [0.0, 1.0, 2.0]
    write(path, model, [0.5, 0.75], append=True, overwrite=True)
    assert times_in(path) == [0.0, 0.5, 0.75]


@pytest.mark.parametrize("name", ["g.nc", "g.csv"])
@pytest.mark.parametrize("points", [{"pier": (5.0, 5.0)}, {"other": (5.0, 5.0), "M\u00fchle, north": (95.0, 45.0)}])
def test_append_of_other_gauges_is_refused(tmp_path, name, points):
    write(tmp_path / name, FakeModel(), [0.0])
    with pytest.raises(
        InputError, match=r"its (columns|gauges or variables) differ from the (columns|gauges or variables) of this run"
    ):
        GaugeWriter(tmp_path / name, FakeModel(), points, NAMES, append=True)


def test_append_drops_a_line_that_a_kill_cut(tmp_path):
    path = tmp_path / "g.csv"
    write(path, FakeModel(), [0.0, 1.0])
    whole = path.read_text()
    path.unlink()
    write(path, FakeModel(), [0.0])
    with path.open("a") as file:
        file.write("1.0,0.")
    model = FakeModel()
    with GaugeWriter(path, model, POINTS, NAMES, append=True) as writer:
        model.time = 1.0
        writer.write(model)
    assert path.read_text() == whole


@pytest.mark.parametrize("name", ["g.nc", "g.csv"])
def test_times_never_run_backwards(tmp_path, name):
    model = FakeModel()
    with GaugeWriter(tmp_path / name, model, POINTS, NAMES) as writer:
        for time in (1.0, 1.0):
            model.time = time
            writer.write(model)
        model.time = 0.0
        with pytest.raises(InputError, match="after t = 1 s"):
            writer.write(model)
    assert times_in(tmp_path / name) == [1.0]


def test_a_full_disk_leaves_whole_rows(tmp_path):
    resource = pytest.importorskip("resource")
    model = FakeModel()
    path = tmp_path / "g.csv"
    writer = GaugeWriter(path, model, POINTS, NAMES)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(WriteError, match=r"larger than the system allows|no space") as error:
            for time in range(100):
                model.time = float(time)
                writer.write(model)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    writer.close()
    assert path.read_text(encoding="utf-8").endswith("\n") and path.stat().st_size > 900
    rows = len(times_in(path))
    assert f"the {rows} rows up to t = {rows - 1} s in {path}" in error.value.safe
