"""`eagre plot --contours` and `--isosurface`."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from eagre.cli.support import exits


@pytest.fixture
def air(tmp_path, monkeypatch):
    """Two files of a vortex on levels, a file of a plane and a gauge file."""
    monkeypatch.chdir(tmp_path)
    z, y, x = np.linspace(0.0, 100.0, 9), np.linspace(-50.0, 50.0, 12), np.linspace(-50.0, 50.0, 11)
    radius = np.exp(-(x**2 + y[:, None] ** 2) / 400.0) * np.ones((9, 1, 1))
    dims = ("time", "z", "y", "x")
    for name, factor in (("a", 1.0), ("b", 1.5)):
        wind = {"u": -y[:, None] * radius, "v": x * radius, "w": factor * np.sin(x / 20.0) * np.ones((9, 12, 1))}
        data = {key: (dims, values[None], {"units": "m s-1"}) for key, values in wind.items()}
        axes = {"time": ("time", [60.0], {"units": "s"}), "z": z, "y": y, "x": x}
        dataset = xr.Dataset(data, axes, {"title": "A vortex"})
        dataset.to_netcdf(tmp_path / f"{name}.nc", engine="h5netcdf")
    dataset.isel(z=0, drop=True).to_netcdf(tmp_path / "plane.nc", engine="h5netcdf")
    (tmp_path / "gauges.csv").write_text("time (s),pier depth (m)\n0,1\n1,2\n")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (["a.nc", "--isosurface", "vorticity=1.0"], "a.png"),
        (["a.nc", "b.nc", "--contours", "w", "--slice", "y = 0", "-o", "w.png"], "w.png"),
        (["a.nc", "--contours", "vorticity", "--slice", "z = 50 m"], "a.png"),
        (["a.nc", "-v", "vorticity"], "a.png"),
    ],
)
def test_pictures_are_written(eagre, air, arguments, target):
    done = eagre("plot", *arguments)
    assert done.code == 0 and f"wrote {target}" in done.out
    with Image.open(air / target) as image:
        assert min(image.size) > 400 and len(image.convert("RGB").getcolors(10**7) or []) > 20


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["a.nc", "b.nc"], ["allowed: one file, or two with --contours"]),
        (["a.nc", "b.nc", "--isosurface", "w=0"], ["one file, or two with --contours"]),
        (["a.nc", "--isosurface", "w=0", "--contours", "w"], ["--contours does not apply to --isosurface"]),
        (["a.nc", "--isosurface", "w=0", "--slice", "y = 0"], ["--slice does not apply to --isosurface"]),
        (["a.nc", "--contours", "w", "-v", "w"], ["--variable does not apply to --contours"]),
        (["gauges.csv", "--contours", "depth"], ["--contours with a file of fields"]),
        (["gauges.csv", "--isosurface", "depth=1"], ["--isosurface with a file of fields"]),
        (["a.nc", "gauges.csv", "--contours", "w"], ["gauges.csv, which holds series"]),
        (["plane.nc", "--isosurface", "w=0"], ["no fields on levels", "plane.nc"]),
        (["a.nc", "--isosurface", "w=9"], ["--isosurface w=9", "the range of w at this time"]),
        (["a.nc", "--isosurface", "ww=0"], ['did you mean "w"']),
        (["a.nc", "b.nc", "--contours", "w", "-o", "b.nc"], [".png"]),
    ],
)
def test_rejected(eagre, air, arguments, words):
    done = eagre("plot", *arguments)
    assert done.code == exits.BAD_INPUT, done.out
    for word in words:
        assert word in done.err
