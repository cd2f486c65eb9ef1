"""Arrows of velocity on maps."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.quiver import Quiver, QuiverKey

from eagre.errors import InputError
from eagre.plots import FieldFile, plot_map
from eagre.plots.drawing.vectors import round_speed
from eagre.plots.maps import make_picture


def flow(path, names=("velocity_x", "velocity_y"), axes=("x", "y"), ny=20) -> FieldFile:
    """A uniform flow of (3, 4) m/s in the western half of a grid that is dry in the east."""
    shape = (2, ny, 40)
    wet = np.broadcast_to(np.arange(40) < 20, shape)
    data = {
        "depth": (("time", "y", "x"), wet * 1.0, {"units": "m"}),
        names[0]: (("time", "y", "x"), np.full(shape, 3.0), {"units": "m s-1"}),
        names[1]: (("time", "y", "x"), np.full(shape, 4.0), {"units": "m s-1"}),
    }
    coords = {"time": [0.0, 60.0], "y": np.arange(ny) * 10.0, "x": np.arange(40) * 10.0}
    return FieldFile(path, xr.Dataset(data, coords), axes)


@pytest.mark.parametrize(
    ("names", "axes"),
    [
        (("velocity_x", "velocity_y"), ("x", "y")),
        (("u", "v"), ("x", "y")),
        (("u", "w"), ("x", "z")),
        (("mean_velocity_x", "mean_velocity_y"), ("x", "y")),
    ],
)
def test_arrows_in_wet_cells_with_a_key(tmp_path, names, axes):
    picture = make_picture(flow(tmp_path / "a.nc", names, axes), "depth", [0, 1], vectors=True)
    picture.draw(1)
    (arrows,) = (one for one in picture.axes.collections if isinstance(one, Quiver))
    (key,) = (one for one in picture.axes.artists if isinstance(one, QuiverKey))
    shown = np.ma.masked_array(arrows.U, arrows.Umask).compressed()
    assert 0 < shown.size < arrows.N and (shown == 3.0).all()
    assert (np.ma.masked_array(arrows.X, arrows.Umask).compressed() < 0.2 * 1e3).all()
    assert key.U == 5.0 and key.label.startswith("5 m s")


def test_missing_components_are_an_error(tmp_path):
    fields = flow(tmp_path / "a.nc", names=("velocity_x", "tracer"))
    with pytest.raises(InputError) as caught:
        plot_map(fields, tmp_path / "a.png", vectors=True)
    words = str(caught.value)
    assert words.startswith("The file has no velocity components.")
    assert "velocity_x and velocity_y, or u and v" in words and 'variables = ["velocity"]' in words


def test_arrows_are_for_maps(tmp_path):
    for fields, perspective in ((flow(tmp_path / "a.nc", ny=1), False), (flow(tmp_path / "a.nc"), True)):
        with pytest.raises(InputError, match="Arrows of velocity are drawn on maps only"):
            make_picture(fields, "depth", [0], perspective, vectors=True)


@pytest.mark.parametrize(("speed", "key"), [(0.0, 1.0), (0.034, 0.02), (1.0, 1.0), (4.99, 2.0), (70.0, 50.0)])
def test_the_speed_of_the_key_is_round(speed, key):
    assert round_speed(speed) == key
