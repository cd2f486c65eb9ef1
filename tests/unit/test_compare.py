"""Norms of the difference of two runs, by hand and from files."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from eagre.cli.main import app
from eagre.laboratory.validation.compare import difference


def test_norms_of_small_arrays_by_hand():
    found = difference(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, -1.0], [7.0, 4.0]]))
    assert (found.l1, found.l2, found.largest) == (7.0 / 4.0, 2.5, 4.0)  # of 0, 3, 4, 0
    assert (found.largest_over_points, found.points, found.alone) == (1.0, 4, 0)
    assert (found.size, found.relative) == (13.0 / 4.0, 7.0 / 13.0)


def test_points_that_only_one_has_are_counted_and_left_out():
    nan = np.nan
    found = difference(np.array([1.0, nan, 3.0, nan], np.float32), np.array([2.0, 5.0, 3.0, nan]))
    assert (found.l1, found.largest, found.points, found.alone) == (0.5, 1.0, 2, 1)
    assert np.isnan(difference(np.array([nan]), np.array([1.0])).l1)
    assert np.isnan(difference(np.ones(2), np.zeros(2)).relative)
    assert difference(np.zeros(2), np.zeros(2)).relative == 0.0
    with pytest.raises(ValueError, match=r"shapes, \(2,\) and \(3,\)"):
        difference(np.ones(2), np.ones(3))


@pytest.fixture
def files(tmp_path):
    """Two records of two fields; of the second file the last record is 3 and 4 apart at two points."""
    u = np.arange(8.0).reshape(2, 2, 2)
    axes, times = ("time", "y", "x"), ("time", [0.0, 20.0])
    v = u.copy()
    v[1, 0, 1] += 3.0
    v[1, 1, 1] -= 4.0
    for name, values in (("a", u), ("b", v)):
        data = xr.Dataset({"u": (axes, values), "w": (axes, u)}, {"time": times})
        data.to_netcdf(tmp_path / f"{name}.nc", engine="h5netcdf")
    xr.Dataset({"u": (axes, u[:, :1])}, {"time": times}).to_netcdf(tmp_path / "small.nc", engine="h5netcdf")
    return tmp_path


def told(files, first, second, *more):
    done = CliRunner().invoke(app, ["compare", str(files / first), str(files / second), *more])
    return done.exit_code, " ".join(done.output.split())


def test_norms_of_two_files(files, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    code, text = told(files, "a.nc", "b.nc")
    assert code == 0
    assert "at 20 s" in text
    assert "u 1.75 2.5 4 1" in text
    assert "w 0 0 0 0 0 4 0" in text
    assert "u 0 0 0 0 0 4 0" in told(files, "a.nc", "b.nc", "--record", "1", "-v", "u")[1]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("a.nc", "b.nc", "--record", "0"), "1 to 2 in a.nc"),
        (("a.nc", "b.nc", "--record", "3"), "1 to 2 in a.nc"),
        (("a.nc", "b.nc", "-v", "p"), "no field p in both"),
        (("a.nc", "small.nc"), "u of the shapes (2, 2) and (1, 2)"),
        (("a.nc", "none.nc"), "none.nc: there is no such file"),
    ],
)
def test_what_cannot_be_compared_is_named(files, words, expected, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    code, text = told(files, *words)
    assert code == 2
    assert expected in text
