"""Options and files at the ends of what is possible: outputs that are folders, speeds of films, short records."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from eagre.cli.support import exits
from eagre.errors import InputError
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.plots import animate, open_results


def fields(path, shape=(2, 3, 4)):
    """A result file with the fields depth and bed."""
    time, y, x = (np.arange(count) + 0.5 for count in shape)
    data = {"depth": (("time", "y", "x"), np.ones(shape), {"units": "m"}), "bed": (("y", "x"), np.zeros(shape[1:]))}
    xr.Dataset(data, {"time": time, "y": y, "x": x}).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.fixture
def nothing_measured(monkeypatch):
    """Measurements end the test: what is wrong has to be told before them."""

    def stop(*arguments, **options):
        raise AssertionError("measured before the output was checked")

    monkeypatch.setattr("eagre.laboratory.bench.benchmark.measurements", stop)
    monkeypatch.setattr("eagre.laboratory.validation.validate", stop)
    monkeypatch.setattr("eagre.cli.tune._searches", stop)


@pytest.mark.parametrize(
    ("command", "option", "ending"),
    [
        (["plot", "out.nc"], "-o", ".png"),
        (["animate", "out.nc"], "-o", ".gif"),
        (["export", "out.nc"], "-o", ".tif"),
        (["waves", "out.nc"], "--spectrum", ".csv"),
        (["bench", "barotropic"], "-o", ".json"),
        (["tune", "barotropic", "--device", "cpu"], "--plot", ".png"),
        (["tune", "barotropic", "--device", "cpu"], "--dump", ".json"),
    ],
)
@pytest.mark.parametrize("place", [".", "..", "", "sub", "sub/."])
def test_an_output_that_is_a_folder(eagre, nothing_measured, tmp_path, monkeypatch, command, option, ending, place):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    fields(tmp_path / "out.nc")
    done = eagre(*command, option, place)
    assert done.code == exits.BAD_INPUT, done.err
    assert "The output path is a folder, and a file is required." in done.err
    assert f"NAME{ending}" in done.err.split("write:")[1]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", "{", "is not a list of measurements"),
        ("a.json", "[" * 5000 + "]" * 5000, "is not a list of measurements"),
        ("a.txt", None, "a name that ends in .json"),
        ("no/a.json", None, "does not exist"),
    ],
)
def test_the_file_of_measurements_is_checked_first(eagre, nothing_measured, tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_text(text)
    done = eagre("bench", "barotropic", "-o", tmp_path / name)
    assert done.code == exits.BAD_INPUT and words in done.err, done.err


def test_measurements_are_kept_in_a_file_that_is_there(eagre, monkeypatch, tmp_path):
    record = {"model": "barotropic", "variant": "a", "precision": "single"}
    monkeypatch.setattr("eagre.laboratory.bench.benchmark.measurements", lambda *_: iter([record]))
    (tmp_path / "a.json").write_text(json.dumps([{"model": "anelastic"}]))
    done = eagre("bench", "barotropic", "--device", "cpu", "-o", tmp_path / "a.json")
    assert done.code == 0, done.err
    assert [one["model"] for one in json.loads((tmp_path / "a.json").read_text())] == ["anelastic", "barotropic"]


@pytest.mark.parametrize("place", ["file", "file/report"])
def test_a_report_in_the_place_of_a_file(eagre, nothing_measured, tmp_path, place):
    (tmp_path / "file").write_text("")
    done = eagre("validate", "barotropic", "-o", tmp_path / place)
    assert done.code == exits.BAD_INPUT and "The report needs a folder" in done.err, done.err


@pytest.mark.parametrize("place", [".", "..", "sub", "sub/.", "sub/.."])
@pytest.mark.parametrize("section", ["output", "restart"])
def test_a_folder_as_the_file_of_a_section(tmp_path, section, place):
    (tmp_path / "sub").mkdir()
    text = 'model = "shallow-water"\nrun.end_time = 1\ngrid = {nx = 9, ny = 9, dx = 1}\nbed.value = -1\n'
    with pytest.raises(InputError) as caught:
        ShallowWaterCase.loads(f'{text}[{section}]\nfile = "{place}"\n', tmp_path)
    fix = str(caught.value).split("write:")[1].strip()
    assert fix.endswith('file.nc"') and "...nc" not in fix, fix
    ShallowWaterCase.loads(f"{text}[{section}]\n{fix}\n", tmp_path)


@pytest.mark.parametrize("fps", ["1e-9", "0", "-1", "nan", "inf", "1e9", "0.009", "101"])
@pytest.mark.parametrize("ending", ["gif", "mp4"])
def test_films_that_are_too_slow_or_too_fast(eagre, tmp_path, fps, ending):
    done = eagre("animate", fields(tmp_path / "out.nc"), "-o", tmp_path / f"a.{ending}", "--fps", fps)
    assert done.code == exits.BAD_INPUT and "frames per second is out of range" in done.err, done.err
    assert "0.01 to 100" in done.err and not (tmp_path / f"a.{ending}").exists()


@pytest.mark.parametrize("options", [{"fps": "10"}, {"fps": None}, {"every": 0}, {"every": 1.5}])
def test_films_from_python(tmp_path, options):
    with pytest.raises(InputError, match=next(iter(options))):
        animate(open_results(fields(tmp_path / "out.nc")), tmp_path / "a.gif", **options)


@pytest.mark.parametrize(("fps", "hundredths"), [("0.01", 10000), ("100", 1)])
def test_the_slowest_and_the_fastest_film(eagre, tmp_path, fps, hundredths):
    """The time of a frame in a GIF is a whole number of hundredths of a second (GIF89a, section 23)."""
    done = eagre("animate", fields(tmp_path / "out.nc"), "-o", tmp_path / "a.gif", "--fps", fps, "--dpi", 30)
    assert done.code == 0, done.err
    data = (tmp_path / "a.gif").read_bytes()
    at = data.index(b"\x21\xf9\x04")
    assert int.from_bytes(data[at + 4 : at + 6], "little") == hundredths


def gauges(path, count, step=0.5):
    random = np.random.default_rng(0)
    data = {"surface_elevation": (("time", "station"), random.normal(size=(count, 2)))}
    data |= {"x": ("station", [0.0, 0.7]), "y": ("station", [0.0, 0.0])}
    data["station_name"] = ("station", np.array(["a", "b"], dtype=object))
    times = np.cumsum(np.full(count, step)) if np.ndim(step) == 0 else np.cumsum(step[:count])
    xr.Dataset(data, {"time": times}).to_netcdf(path, engine="h5netcdf")
    return path


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5, 15])
def test_short_records_of_gauges(eagre, tmp_path, count):
    done = eagre("waves", gauges(tmp_path / "g.nc", count), "--depth", 1)
    assert done.code == exits.BAD_INPUT and not done.out, done.err
    if count:  # a file without a record is refused before
        assert "The record is too short for statistics of waves." in done.err and f"got {count} times" in done.err


def test_a_window_without_times_and_uneven_times(eagre, tmp_path):
    path = gauges(tmp_path / "g.nc", 100)
    done = eagre("waves", path, "--from", "1 h")
    assert done.code == exits.BAD_INPUT and "got 0 times" in done.err, done.err
    uneven = gauges(tmp_path / "u.nc", 40, np.linspace(0.4, 0.6, 40))
    done = eagre("waves", uneven)
    assert done.code == exits.BAD_INPUT and "not evenly spaced" in done.err, done.err


@pytest.mark.parametrize("depth", ["0", "-1", "nan"])
def test_depths_that_are_none(eagre, tmp_path, depth):
    done = eagre("waves", gauges(tmp_path / "g.nc", 100), f"--depth={depth}")
    assert done.code == exits.BAD_INPUT and "a number > 0, metres" in done.err and not done.out, done.err
