"""Points and lines from CSV and GeoJSON, and in case files."""

from __future__ import annotations

import json

import pytest

from eagre.config.sections import GaugesSection
from eagre.errors import InputError
from eagre.io.named_places import read_lines, read_points


def geojson(path, *features):
    rows = [
        {
            "type": "Feature",
            "properties": {"name": name} if name else None,
            "geometry": {"type": kind, "coordinates": at},
        }
        for name, kind, at in features
    ]
    path.write_text(json.dumps({"type": "FeatureCollection", "features": rows}))
    return path


def test_points_of_a_table(tmp_path):
    path = tmp_path / "gauges.csv"
    path.write_text('\ufeffname, x,depth,y\npier,1.5,7,2\n"old, town",-3,8,4e2\n')
    assert read_points(path) == {"pier": (1.5, 2.0), "old, town": (-3.0, 400.0)}


def test_points_and_lines_of_geojson(tmp_path):
    points = geojson(tmp_path / "a.geojson", ("pier", "Point", [1, 2, 7]), (None, "Point", [3, 4]))
    assert read_points(points) == {"pier": (1.0, 2.0), "2": (3.0, 4.0)}
    lines = geojson(tmp_path / "b.geojson", ("weir", "LineString", [[0, 1], [2, 3], [4, 5]]))
    assert read_lines(lines) == {"weir": [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name,x\na,1\n", "name, x, y"),
        ("name,x,y\na,1,two\n", "line 2"),
        ("name,x,y\na,1\n", "line 2"),
        ("name,x,y\na,1,2\na,1,3\n", "'a' stands twice"),
        ("name,x,y\n", "without a place"),
        ("", "name, x, y"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, what):
    path = tmp_path / "gauges.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=what):
        read_points(path)


def test_geojson_that_is_refused(tmp_path):
    path = tmp_path / "a.geojson"
    for text in ("{", "[]", '{"features": [{}]}', '{"features": 3}'):
        path.write_text(text)
        with pytest.raises(InputError, match="no GeoJSON"):
            read_points(path)
    with pytest.raises(InputError, match="of the type LineString"):
        read_points(geojson(path, ("weir", "LineString", [[0, 1], [2, 3]])))


def test_gauges_of_a_case_may_be_a_file(tmp_path):
    (tmp_path / "gauges.csv").write_text("name,x,y\npier,1,2\n")
    inputs = []
    context = {"directory": tmp_path, "inputs": inputs}
    given = {"file": "out.csv", "interval": 1.0, "points": "gauges.csv"}
    assert GaugesSection.model_validate(given, context=context).points == {"pier": (1.0, 2.0)}
    assert inputs == [tmp_path / "gauges.csv"]
    for wrong, what in (("gauge.csv", "no such file"), ("gauges.txt", "gauges.txt")):
        (tmp_path / "gauges.txt").write_text("")
        with pytest.raises(Exception, match=what):
            GaugesSection.model_validate({**given, "points": wrong}, context=context)
