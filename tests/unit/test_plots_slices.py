"""Pictures of slices through fields on levels."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

from eagre.errors import InputError
from eagre.plots import FieldFile, open_results, plot_map


@pytest.fixture
def air(tmp_path):
    """Fields whose values tell their place: 100 k + 10 j + i."""

    def make(ny=3):
        k, j, i = np.meshgrid(np.arange(5.0), np.arange(float(ny)), np.arange(4.0), indexing="ij")
        values = np.stack([100.0 * k + 10.0 * j + i + 1000.0 * t for t in range(2)])
        dims = ("time", "z", "y", "x")
        data = {
            "w": (dims, values, {"units": "m s-1", "long_name": "upward wind"}),
            "w_max": (("time", "y", "x"), values.max(axis=1)),
            "density": (dims[1:], values[0]),
        }
        axes = {"time": [0.0, 60.0], "z": 50.0 * np.arange(5), "y": 20.0 * np.arange(ny), "x": 10.0 * np.arange(4)}
        path = tmp_path / f"air{ny}.nc"
        xr.Dataset(data, axes, {"title": "air"}).to_netcdf(path, engine="h5netcdf")
        return path

    return make


@pytest.mark.parametrize(("one", "axes"), [("y", ("x", "z")), ("x", ("y", "z"))])
def test_a_plane_is_drawn_as_it_is(air, tmp_path, one, axes):
    path = tmp_path / "plane.nc"
    with xr.open_dataset(air(), engine="h5netcdf") as whole:
        whole.isel({one: [2]}).to_netcdf(path, engine="h5netcdf")
    found = open_results(path)
    assert isinstance(found, FieldFile) and found.axes == axes and found.place.startswith(f"{one} = ")


@pytest.mark.parametrize(
    ("plane", "axes", "expected", "place"),
    [
        ("z = 120 m", ("x", "y"), 200.0 + 10.0 * np.arange(3)[:, None] + np.arange(4), "z = 100 m"),
        ("y=20", ("x", "z"), 10.0 + 100.0 * np.arange(5)[:, None] + np.arange(4), "y = 20 m"),
        ("x = 0.03 km", ("y", "z"), 3.0 + 100.0 * np.arange(5)[:, None] + 10.0 * np.arange(3), "x = 30 m"),
        (None, ("x", "y"), 200.0 + 10.0 * np.arange(3)[:, None] + np.arange(4), "z = 100 m"),
    ],
)
def test_a_slice_is_the_nearest_plane(air, plane, axes, expected, place):
    found = open_results(air(), plane)
    assert isinstance(found, FieldFile) and found.axes == axes and found.place == place
    np.testing.assert_array_equal(found.values("w", 0), expected)
    np.testing.assert_array_equal(found.values("density", 0), expected)
    assert ("w_max" in found.variables) == (axes == ("x", "y"))
    assert place in found.title


def test_a_run_in_a_plane_is_drawn_in_that_plane(air, tmp_path):
    found = open_results(air(ny=1))
    assert found.axes == ("x", "z")
    assert plot_map(found, tmp_path / "w.png", variable="w").stat().st_size > 1000


@pytest.mark.parametrize(
    ("plane", "message"),
    [("z = 900", "z from 0 to 200 m"), ("p = 900", "an axis and a position"), ("z", "an axis and a position")],
)
def test_errors_of_slices(air, plane, message):
    with pytest.raises(InputError, match=message):
        open_results(air(), plane)
