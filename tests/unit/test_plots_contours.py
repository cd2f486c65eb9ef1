"""Contour lines of one file and of two files overlaid."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from eagre.errors import InputError
from eagre.plots import FieldFile, plot_contours
from eagre.plots.contours import COLOURS


def fields_of(tmp_path, name, nx=31, factor=1.0, axes=("x", "y"), ny=21):
    """A field w = factor * x from -1 to 1 m on a plane of 2 m x 1 m."""
    x, y = np.linspace(-1.0, 1.0, nx), np.linspace(0.0, 1.0, ny)
    w = factor * np.broadcast_to(x, (1, ny, nx))
    attributes = {"units": "m s-1", "long_name": "upward wind"}
    data = {"w": (("time", "y", "x"), w, attributes), "flat": (("y", "x"), np.ones((ny, nx)))}
    return FieldFile(tmp_path / name, xr.Dataset(data, {"time": [60.0], "y": y, "x": x}), axes)


@pytest.fixture
def axes(monkeypatch):
    """The axes of the figures that are saved."""
    saved, save = [], Figure.savefig
    monkeypatch.setattr(
        Figure, "savefig", lambda figure, *a, **b: (saved.append(figure.axes[0]), save(figure, *a, **b))
    )
    return saved


def test_two_files_are_black_and_red_with_common_levels(tmp_path, axes):
    """Lines of w are at x = level / factor; negative levels are dashed."""
    files = [fields_of(tmp_path, "a.nc"), fields_of(tmp_path, "b.nc", 47, 2.0)]
    assert plot_contours(files, tmp_path / "c.png", name="w").stat().st_size > 10_000
    first, second = (one for one in axes[0].collections)
    assert list(first.levels) == list(second.levels) and 0.0 in first.levels
    assert min(first.levels) <= -2.0 and max(first.levels) >= 2.0
    for lines, colour, factor in ((first, "#000000", 1.0), (second, COLOURS[1], 2.0)):
        assert to_hex(lines.get_edgecolor()[0]) == colour
        drawn = [
            (level, path.vertices[:, 0]) for level, path in zip(lines.levels, lines.get_paths(), strict=True)
            if len(path.vertices)
        ]  # fmt: skip
        assert len(drawn) > 4
        for level, x in drawn:
            assert x == pytest.approx(level / factor, abs=1e-12)
        dashed = [style[1] is not None for style in lines.get_linestyle()]
        assert dashed == [level < 0.0 for level in lines.levels]
    assert [text.get_text() for text in axes[0].get_legend().get_texts()] == [str(one.path) for one in files]


def test_one_file(tmp_path, axes):
    plot_contours([fields_of(tmp_path, "a.nc")], tmp_path / "c.png", name="w")
    assert len(axes[0].collections) == 1 and axes[0].get_title(loc="left") == "upward wind (m s$^{-1}$)"


def test_errors(tmp_path):
    one = fields_of(tmp_path, "a.nc")
    for files, name, words in (
        ([one, fields_of(tmp_path, "b.nc", axes=("x", "z"))], "w", "b.nc over x and z, a.nc over x and y"),
        ([one], "v", 'variable "v"'),
        ([one], "flat", "--contours flat, 1 at all points"),
        ([one, fields_of(tmp_path, "b.nc", ny=1)], "w", "31 x 1 points in b.nc"),
    ):
        with pytest.raises(InputError, match=words):
            plot_contours(files, tmp_path / "c.png", name=name)
    assert not (tmp_path / "c.png").exists()
