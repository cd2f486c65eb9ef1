"""The notebooks of examples/notebooks run from top to bottom, and are stored without outputs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import make_gallery

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "examples" / "notebooks").glob("*"))
LARGEST = 300_000  # bytes of a picture


@pytest.fixture
def run(monkeypatch, tmp_path):
    """A function that runs a notebook; its final namespace, and the numbers of the cells that draw a figure."""
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plt, "show", lambda: None)  # warns where figures cannot be shown

    def every_cell(name):
        (path,) = [one for one in NOTEBOOKS if one.name == name]
        cells = [(number, bool(plt.get_fignums()), names) for number, names in make_gallery.run_notebook(path)]
        drawn = [number for number, figure, _ in cells if figure]
        assert all(example(path).figure(number).exists() for number in drawn), "make gallery"
        return cells[-1][2], drawn

    return every_cell


def example(path):
    """The entry of a notebook in the gallery."""
    return next(one for one in make_gallery.all_examples() if one.source == path)


def test_a_flood_from_a_dem(run):
    """The bed is the DEM; the flood stays in the valley bottom; the hazard is highest in the river."""
    names, drawn = run("flood_from_dem.ipynb")
    assert drawn == [5]
    dem, maps, model = names["dem"], names["maps"], names["model"]
    np.testing.assert_allclose(dem.elevation, names["elevation"][::-1], atol=1e-5)  # row 0 of a Dem is in the south
    assert abs(model.diagnostics()["volume_error"]) < 1e-5
    entered = 1800.0 * (20.0 + 300.0) / 2 + 1800.0 * (300.0 + 200.0) / 2 + 3600.0 * (200.0 + 20.0) / 2  # m3
    assert model.diagnostics()["volume"] < entered
    depth, flooded = np.nan_to_num(maps["max_depth"]), names["flooded"]
    far = np.abs(names["y"] - names["grid"].y0 - names["river"](names["x"] - names["grid"].x0))
    assert not flooded[far > 600.0].any() and flooded[far < 25.0].all()
    assert depth[far < 25.0].mean() > 1.0
    classes = maps["hazard_class"]
    assert np.nanmedian(classes[far < 25.0]) > np.nanmedian(classes[flooded & (far > 100.0)]) + 1


def test_a_wave_flume(run):
    """The amplitude before the bar is that of the wave; behind the bar the second harmonic is larger than the first."""
    names, drawn = run("wave_flume.ipynb")
    assert drawn == [4, 5]
    x, (first, second, *_) = names["x"], names["harmonics"]
    before, behind = (x > 0.0) & (x < 5.0), (x > 15.0) & (x < 18.0)
    assert first[before].mean() == pytest.approx(0.01, rel=0.03)  # half of the wave height
    assert second[before].max() < 0.001
    assert second[behind].min() > first[behind].max()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebooks_are_stored_without_outputs(path):
    text = path.read_text(encoding="utf-8")
    data = json.loads(text)
    assert text == json.dumps(data, indent=1, ensure_ascii=False) + "\n"
    assert sorted(data["metadata"]) == ["eagre", "kernelspec", "language_info"]
    for number, cell in enumerate(data["cells"], 1):
        assert cell["id"] == f"cell-{number}" and cell["metadata"] == {}
        assert cell["cell_type"] == "markdown" or (cell["outputs"], cell["execution_count"]) == ([], None)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_the_page_of_a_notebook_has_all_cells_and_figures(path):
    from gallery import page_of, read_cells

    one = example(path)
    page = page_of(one)
    assert all(text in page for kind, text in read_cells(path) if kind == "code")
    assert one.image.exists() and f"images/{one.image.name}" in page
    assert "../../docs" not in page and page.count("```python") == sum(kind == "code" for kind, _ in read_cells(path))


def test_every_example_has_a_picture_of_moderate_size():
    sizes = {one.name: one.image.stat().st_size for one in make_gallery.all_examples()}
    assert {"ensemble", "monai_valley", "wave_flume"} <= set(sizes)
    assert max(sizes.values()) <= LARGEST
