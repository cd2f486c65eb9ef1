"""Points and lines from CSV and GeoJSON, and in case files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from rasterio.warp import transform

from eagre.config.sections import GaugesSection
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io.rasters.raster import parse_crs
from eagre.io.vectors import check_degrees, may_be_degrees, points_of, read_lines, read_points
from eagre.local_rows import LocalRows
from eagre.models.shallow_water.config import ShallowWaterCase

FLUME = Grid(10, 10, 1.0, 1.0)
UTM = Grid(80, 60, 5.0, 5.0, 500000.0, 5200000.0, "EPSG:32633")


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
    assert read_points(path).on(FLUME) == {"pier": [(1.5, 2.0)], "old, town": [(-3.0, 400.0)]}
    path.write_text("NAME;Y;X;note\npier;2;1.5;\n")
    assert read_points(path).on(UTM) == {"pier": [(1.5, 2.0)]}  # a table that names no system: the grid's
    path.write_bytes("name;Easting;Northing\r\nH\u00f6he;1,5;2,25\r\n".encode())
    assert read_points(path).on(UTM) == {"H\u00f6he": [(1.5, 2.25)]}
    path.write_bytes("name,x,y\nH\u00f6he,1,2\n".encode("latin1"))
    with pytest.raises(InputError, match=r"byte 10 is not UTF-8(.|\n)*iconv -f latin1"):
        read_points(path)


def test_points_and_lines_of_geojson(tmp_path):
    points = geojson(tmp_path / "a.geojson", ("pier", "Point", [1, 2, 7]), (None, "Point", [3, 4]))
    assert read_points(points).on(FLUME) == {"pier": [(1.0, 2.0)], "2": [(3.0, 4.0)]}
    lines = geojson(tmp_path / "b.geojson", ("weir", "LineString", [[0, 1, 9], [2, 3, 9], [4, 5, 9]]))
    assert read_lines(lines).on(FLUME) == {"weir": [(0.0, 1.0), (2.0, 3.0), (4.0, 5.0)]}


def test_lines_of_a_table_and_in_parts(tmp_path):
    """Rows of one name are a line; a feature of several parts is several lines."""
    path = tmp_path / "lines.csv"
    path.write_text("name,x,y\nweir,0,1\nroad,7,8\nweir,2,3\nroad,9,9\n")
    expected = {"weir": [(0.0, 1.0), (2.0, 3.0)], "road": [(7.0, 8.0), (9.0, 9.0)]}
    assert read_lines(path).on(FLUME) == expected
    parts = [[[0, 1], [2, 3]], [[7, 8], [9, 9]]]
    found = read_lines(geojson(tmp_path / "b.geojson", ("weir", "MultiLineString", parts)))
    assert found.on(FLUME) == {"weir": expected["weir"], "weir (2)": expected["road"]}


HERE = {"pier": (500100.0, 5200200.0), "old": (500300.0, 5200050.0)}


def degrees(names, system="OGC:CRS84"):
    x, y = transform("EPSG:32633", system, *zip(*(HERE[name] for name in names), strict=True))
    return list(zip(x, y, strict=True))


def assert_here(found, *names):
    assert list(found) == list(names)
    for name in names:
        np.testing.assert_allclose(found[name], [HERE[name]], atol=1e-3, rtol=0)


def test_points_are_warped_to_the_system_of_the_grid(tmp_path):
    """Longitude and latitude by the names of columns or as the standard of GeoJSON says; a system that is named."""
    path, names = tmp_path / "gauges.csv", ("pier", "old")
    for head in ("name,lon,lat", "Name,Longitude,Latitude"):
        rows = "\n".join(f"{name},{x!r},{y!r}" for name, (x, y) in zip(names, degrees(names), strict=True))
        path.write_text(f"{head}\n{rows}\n")
        assert_here(read_points(path).on(UTM), *names)
        with pytest.raises(InputError, match=r"in degrees(.|\n)*crs = "):
            read_points(path).on(FLUME)
    other = degrees(names, "EPSG:25832")
    path.write_text("name,x,y\n" + "\n".join(f"{n},{x!r},{y!r}" for n, (x, y) in zip(names, other, strict=True)))
    assert_here(read_points(path, crs="EPSG:25832").on(UTM), *names)
    features = [(name, "Point", [*point, 7.0]) for name, point in zip(names, degrees(names), strict=True)]
    assert_here(read_points(geojson(tmp_path / "a.geojson", *features)).on(UTM), *names)
    line = read_lines(geojson(tmp_path / "b.geojson", ("weir", "LineString", degrees(names)))).on(UTM)
    np.testing.assert_allclose(line["weir"], list(HERE.values()), atol=1e-3, rtol=0)
    path.write_text("name,lon,lat\npier,16,95\n")
    with pytest.raises(InputError, match=r"longitude 16, latitude 95(.|\n)*longitude, then latitude"):
        read_points(path).on(UTM)


def test_points_and_lines_of_a_geopackage(tmp_path):
    """Layers in another system; a line of one part is that line, whatever the type of the layer."""
    pyogrio = pytest.importorskip("pyogrio", reason="pip install 'eagre[vector]'")
    shapely, names = pytest.importorskip("shapely"), ("pier", "old")
    path, corners = tmp_path / "a.gpkg", degrees(names, "EPSG:25832")
    shapes = [shapely.Point(*one) for one in corners], [shapely.MultiLineString([corners])]
    for layer, kind, one in zip(("points", "lines"), ("Point", "MultiLineString"), shapes, strict=True):
        held = np.array([*names][: len(one)], object)
        about = {"geometry_type": kind, "crs": "EPSG:25832", "driver": "GPKG", "append": layer == "lines"}
        pyogrio.raw.write(path, shapely.to_wkb(one), [held], ["Name"], layer=layer, **about)
    assert_here(read_points(path, "points").on(UTM), *names)
    found = read_lines(path, "lines").on(UTM)
    np.testing.assert_allclose(found["pier"], list(HERE.values()), atol=1e-3, rtol=0)
    with pytest.raises(InputError, match='layer = "points"'):
        read_points(path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name,x\na,1\n", "name, x, y"),
        ("name,x,y\na,1,two\n", "line 2"),
        ("name,x,y\na,1\n", "line 2"),
        ("name;x;y\na;1,5,2;3\n", "line 2"),
        ("name,x,y\na,1,2\na,1,3\n", "'a' occurs twice"),
        ("name,x,y\n,1,2\n", "line 2 without a name"),
        ("name,x,y\na,1,inf\n", "line 2"),
        ("name,x,y\n", "without a point"),
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
        with pytest.raises(InputError, match="not GeoJSON"):
            read_points(path)
    with pytest.raises(InputError, match="of the type LineString"):
        read_points(geojson(path, ("weir", "LineString", [[0, 1], [2, 3]])))


def test_gauges_of_a_case_may_be_a_file(tmp_path):
    (tmp_path / "gauges.csv").write_text("name,x,y\npier,1,2\n")
    inputs = []
    context = {"directory": tmp_path, "inputs": inputs}
    given = {"file": "out.csv", "interval": 1.0, "points": "gauges.csv"}
    assert GaugesSection.model_validate(given, context=context).on(FLUME) == {"pier": (1.0, 2.0)}
    assert inputs == [tmp_path / "gauges.csv"]
    for wrong, what in (("gauge.csv", "no such file"), ("gauges.txt", "gauges.txt")):
        (tmp_path / "gauges.txt").write_text("")
        with pytest.raises(Exception, match=what):
            GaugesSection.model_validate({**given, "points": wrong}, context=context)
    for key, what in (("crs", "The value of crs"), ("layer", "layer"), ("lyer", 'Unknown key "lyer"')):
        with pytest.raises(Exception, match=what):
            points = {"file": "gauges.csv", key: "here"}
            GaugesSection.model_validate({**given, "points": points}, context=context)
    points = {"file": "gauges.csv", "crs": "EPSG:32633"}
    assert GaugesSection.model_validate({**given, "points": points}, context=context).on(UTM) == {"pier": (1.0, 2.0)}


def test_lines_of_a_case_are_warped(tmp_path):
    points = [*HERE.values()]
    geojson(tmp_path / "lines.geojson", ("weir", "LineString", degrees(HERE)))
    text = """
model = "shallow-water"
run.end_time = 1.0
grid = { nx = 80, ny = 60, dx = 5.0, x0 = 500000.0, y0 = 5200000.0, crs = "EPSG:32633" }
bed.value = -2.0
cross_sections = { file = "cross_sections.csv", interval = 1.0, paths = "lines.geojson" }
"""
    case = ShallowWaterCase.loads(text, tmp_path)
    assert case.cross_sections.note == "weir every 1 s"
    made = case._options(LocalRows.whole(case.grid.grid()), np.zeros((61, 81)), case.friction, None, None)
    np.testing.assert_allclose(made["cross_sections"]["weir"], points, atol=1e-3, rtol=0)
    far = ShallowWaterCase.loads(text.replace("x0 = 500000.0", "x0 = 600000.0"), tmp_path)
    with pytest.raises(InputError, match=r"cross_sections.paths(.|\n)*of the cross-section weir"):
        far._options(LocalRows.whole(far.grid.grid()), np.zeros((61, 81)), far.friction, None, None)


@pytest.mark.parametrize(
    ("point", "fits"),
    [([360.0, 90.0], True), ([-360.0, -90.0], True), ([361.0, 0.0], False), ([0.0, 91.0], False)],
)
def test_what_can_be_longitude_and_latitude(point, fits):
    points = np.array([[14.0, 48.0], point])
    assert may_be_degrees(points) is fits
    check_degrees(parse_crs("EPSG:32633"), points, "a file")
    if fits:
        check_degrees(parse_crs("EPSG:4326"), points, "a file")
    else:
        with pytest.raises(InputError, match=f"longitude {point[0]:g}, latitude {point[1]:g}"):
            check_degrees(parse_crs("EPSG:4326"), points, "a file")


def test_points_may_have_a_height():
    assert points_of([[1, 2, 3], [4, 5, 6]]).tolist() == [[1.0, 2.0], [4.0, 5.0]]
    assert points_of([[[1, 2, 3], [4, 5, 6]], [[7, 8]]]).tolist() == [[1.0, 2.0], [4.0, 5.0], [7.0, 8.0]]
