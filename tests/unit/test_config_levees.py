"""Levees along lines in case files: which corners they raise, where they come from, what is refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from rasterio.warp import transform

from eagre.config.problems import ConfigError
from eagre.models.shallow_water.config import ShallowWaterCase
from vector_files import BASE, FIELD, POND, UTM, geojson


def corners(tmp_path, text, base=BASE):
    base = base.replace("bed = { value = -2.0 }", "[bed]\nvalue = -2.0")
    case = ShallowWaterCase.loads(base + text, tmp_path)
    return case._terrain()[1]


def crossed(points, size=5.0, shape=(20, 40), parts=4000):
    """Cells in which one of many points along a line lies."""
    found = np.zeros(shape, bool)
    for a, b in pairwise(points):
        for part in (np.arange(parts) + 0.5) / parts:
            x, y = (1 - part) * np.array(a) + part * np.array(b)
            j, i = int(np.floor(y / size)), int(np.floor(x / size))
            if 0 <= j < shape[0] and 0 <= i < shape[1]:
                found[j, i] = True
    return found


def expected(*levees):
    """Corners over a bed at -2 m."""
    found = np.full((21, 41), -2.0)
    for crest, points in levees:
        for j, i in np.argwhere(crossed(points)):
            found[j : j + 2, i : i + 2] = np.maximum(found[j : j + 2, i : i + 2], crest)
    return found


ALONG = [[-20.0, 31.3], [90.7, 47.9], [93.1, 180.0]]  # it goes on beyond the domain at both ends


def test_the_corners_of_crossed_cells_are_raised(tmp_path):
    """Of several the highest counts; what is higher than a crest stays."""
    text = f"[[bed.levees]]\npoints = {ALONG}\ncrest = '320 cm'\n"
    np.testing.assert_array_equal(corners(tmp_path, text), expected((3.2, ALONG)))
    text += "[[bed.levees]]\npoints = [[150.0, 2.5], [2.5, 60.0]]\ncrest = 1.5\n"
    text += "[[bed.levees]]\npoints = [[1.0, 77.0], [190.0, 77.0]]\ncrest = -3.0\n"
    found = corners(tmp_path, text)
    np.testing.assert_array_equal(found, expected((3.2, ALONG), (1.5, [[150.0, 2.5], [2.5, 60.0]])))
    assert {-2.0, 1.5, 3.2} == set(np.unique(found))


def test_levees_of_a_file_are_warped_and_have_their_own_crests(tmp_path):
    lines = [(1.0, FIELD[:4]), (2.5, [[10.3, 90.2], [60.1, 20.4]])]
    shapes = []
    for crest, points in lines:
        x, y = np.transpose(points) + np.array([[500000.0], [5200000.0]])
        there = np.transpose(transform("EPSG:32633", "OGC:CRS84", x, y)).tolist()
        shapes.append(("LineString", there, {"crest": f"{100 * crest} cm"}))
    geojson(tmp_path / "levees.geojson", *shapes)
    found = corners(tmp_path, '[[bed.levees]]\nfile = "levees.geojson"\ncrest = "crest"\n', UTM)
    np.testing.assert_array_equal(found, expected(*lines))
    single = corners(tmp_path, '[[bed.levees]]\nfile = "levees.geojson"\ncrest = 4.0\n', UTM)
    assert ((single == 4.0) == (found > -2.0)).all()


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("crest = 1.0", "neither points nor file"),
        ('points = [[1.0, 1.0], [9.0, 9.0]]\ncrest = 1.0\nfile = "a.geojson"', "both points and file"),
        ('points = [[1.0, 1.0], [9.0, 9.0]]\ncrest = "height"', 'crest = "'),
        ("points = [[1.0, 1.0]]\ncrest = 1.0", "one or more"),
        ("points = [[-9.0, 1.0], [-5.0, 9.0]]\ncrest = 1.0", "crosses no cell"),
        ("points = [[1.0, 1.0], [9.0, 9.0]]", "crest"),
        ('file = "a.geojson"\ncrest = "hight"', r"the line dike: property 'hight'(.|\n)*crest = \"height\""),
        ('file = "a.geojson"\ncrest = "none"', "the line dike: "),
        ('file = "a.geojson"\ncrest = "3 kg"', "kg"),
        ('file = "b.geojson"\ncrest = 1.0', "of the type Polygon"),
    ],
)
def test_what_is_refused(tmp_path, text, what):
    properties = {"name": "dike", "height": 2.0, "none": None}
    geojson(tmp_path / "a.geojson", ("LineString", POND[:2], properties))
    geojson(tmp_path / "b.geojson", ("Polygon", [POND], {}))
    with pytest.raises(ConfigError, match=what) as told:
        corners(tmp_path, f"[[bed.levees]]\n{text}\n")
    assert "bed" in str(told.value)


def test_lines_may_have_heights_of_their_points(tmp_path):
    """A third number is no crest: that is asked for."""
    geojson(tmp_path / "l.geojson", ("LineString", [[x, y, 9.0] for x, y in ALONG], {}))
    text = "[[bed.levees]]\nfile = 'l.geojson'\ncrest = 3.2\n"
    np.testing.assert_array_equal(corners(tmp_path, text), expected((3.2, ALONG)))
