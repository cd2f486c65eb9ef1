"""Polygons, lines and points of vector files in case files: Manning's n, water at the start, rain, walls, springs."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from eagre.config.problems import ConfigError
from eagre.io import vectors
from eagre.models.shallow_water.config import ShallowWaterCase
from oracle.polygons import inside
from vector_files import BASE, FIELD, HOLE, POND, UTM, geojson


def loaded(tmp_path, text, base=BASE):
    return ShallowWaterCase.loads(base + text, tmp_path)


def options(tmp_path, text, base=BASE):
    """What the model is made of."""
    case = loaded(tmp_path, text, base)
    rows, _, bed = case._terrain()
    grid = rows.grid
    return grid, case._options(rows, bed, case.friction, None, None)


def test_values_of_polygons_are_of_the_cells_whose_centres_they_hold(tmp_path):
    """A hole is outside; of two polygons the later wins; outside is what is written there."""
    shapes = [("Polygon", [FIELD, HOLE], {"n": 0.08}), ("MultiPolygon", [[POND]], {"n": "0.02"})]
    geojson(tmp_path / "land.geojson", *shapes)
    text = 'friction.manning = { zones = "land.geojson", value = "n", outside = "0.03 + 0.0001 * x" }\n'
    grid, made = options(tmp_path, text)
    x, y = grid.mesh()
    expected = np.where(inside(FIELD, x, y) & ~inside(HOLE, x, y), 0.08, 0.03 + 0.0001 * x)
    expected = np.where(inside(POND, x, y), 0.02, expected)
    np.testing.assert_allclose(made["manning"], expected, rtol=1e-15)
    assert len(np.unique(np.round(expected, 3))) > 3


def test_one_value_for_all_polygons_with_its_unit(tmp_path):
    geojson(tmp_path / "pond.geojson", ("Polygon", [POND], {}))
    text = """
initial.surface_elevation = { zones = "pond.geojson", value = "120 cm", outside = "-1 m" }
[sources.rain]
rate = "20 mm/h"
pattern = { zones = "pond.geojson", value = 1.0, outside = 0.0 }
"""
    grid, made = options(tmp_path, text)
    held = inside(POND, *grid.mesh())
    np.testing.assert_array_equal(made["surface_elevation"], np.where(held, 1.2, -1.0))
    (rain,) = made["sources"]
    np.testing.assert_array_equal(rain.pattern, held.astype(float))


def test_latitude_before_longitude_is_refused(tmp_path):
    swapped = (1e-3 * np.array(POND) + [47.0, 123.0]).tolist()
    geojson(tmp_path / "pond.geojson", ("Polygon", [swapped], {}), crs="OGC:CRS84")
    with pytest.raises(ConfigError, match=r"latitude 123.02(.|\n)*longitude, then latitude"):
        options(tmp_path, 'initial.depth = { zones = "pond.geojson", value = 1.0, outside = 0.0 }\n', UTM)


def test_degrees_need_a_grid_of_a_known_system(tmp_path):
    """As of gauges and lines; one degree would be a metre. A file in metres is taken to be in the grid's system."""
    text = 'initial.depth = { zones = "pond.geojson", value = 1.0, outside = 0.0 }\n'
    geojson(tmp_path / "pond.geojson", ("Polygon", [POND], {}), crs="EPSG:4326")
    with pytest.raises(ConfigError, match=r"in degrees(.|\n)*a grid with crs"):
        options(tmp_path, text)
    geojson(tmp_path / "pond.geojson", ("Polygon", [POND], {}), crs="EPSG:32633")
    grid, made = options(tmp_path, text)
    np.testing.assert_array_equal(made["depth"], inside(POND, *grid.mesh()).astype(float))


@pytest.mark.parametrize("named", [True, False])
def test_longitude_and_latitude_are_warped(tmp_path, named):
    """GeoJSON that names no system is in longitude and latitude; one that names its own is in that."""
    from rasterio.warp import transform

    x, y = np.array(POND).T + np.array([[500000.0], [5200000.0]])
    there = "EPSG:32634" if named else "OGC:CRS84"
    corners = np.transpose(transform("EPSG:32633", there, x, y)).tolist()
    geojson(tmp_path / "pond.geojson", ("Polygon", [corners], {"depth": 3.5}), crs=there if named else None)
    text = 'initial.depth = { zones = "pond.geojson", value = "depth", outside = 0.0 }\n'
    grid, made = options(tmp_path, text, UTM)
    held = inside(np.transpose([x, y]), *grid.mesh())
    np.testing.assert_array_equal(made["depth"], np.where(held, 3.5, 0.0))


def test_geopackage(tmp_path):
    """A layer in another system, by the library."""
    pyogrio, shapely = (
        pytest.importorskip("pyogrio", reason="pip install 'eagre[vector]'"),
        pytest.importorskip("shapely"),
    )
    from rasterio.warp import transform

    x, y = np.array(POND).T + np.array([[500000.0], [5200000.0]])
    corners = np.transpose(transform("EPSG:32633", "EPSG:25833", x, y))
    shapes = shapely.to_wkb([shapely.Polygon(corners), shapely.Polygon(corners + np.array([0.0, 15.0]))])
    fields = {"geometry_type": "Polygon", "crs": "EPSG:25833", "driver": "GPKG"}
    for layer, values in (("first", [1.0, 2.0]), ("second", [0.05, 0.06])):
        pyogrio.raw.write(
            tmp_path / "a.gpkg", shapes, [np.array(values)], ["n"], layer=layer, append=layer == "second", **fields
        )
    text = 'friction.manning = { zones = "a.gpkg", layer = "second", value = "n", outside = 0.03 }\n'
    grid, made = options(tmp_path, text, UTM)
    expected = np.where(inside(np.transpose([x, y]), *grid.mesh()), 0.05, 0.03)
    expected = np.where(inside(np.transpose([x, y + 15.0]), *grid.mesh()), 0.06, expected)
    np.testing.assert_array_equal(made["manning"], expected)
    for old, new, what in (
        ('layer = "second", ', "", r"with the layers first, second(.|\n)*layer = \"first\""),
        ("second", "secnd", "layer 'secnd'"),
        ('"n"', '"nn"', "property 'nn'"),
    ):
        with pytest.raises(ConfigError, match=what):
            options(tmp_path, text.replace(old, new), UTM)
    (tmp_path / "a.gpkg").write_bytes(b"nothing")
    with pytest.raises(ConfigError, match="cannot be read"):
        options(tmp_path, text, UTM)


def test_walls_and_springs_of_files(tmp_path):
    """A wall along each line and round each ring; water at each point and in each polygon."""
    line = [[30.0, 0.0], [30.0, 60.0], [80.0, 70.0]]
    geojson(tmp_path / "walls.geojson", ("LineString", line, {"name": "dike"}), ("Polygon", [FIELD, HOLE], {}))
    geojson(tmp_path / "springs.geojson", ("MultiPoint", [[10.0, 10.0], [20.0, 20.0]], {}), ("Polygon", [POND], {}))
    text = """
[[boundaries.internal]]
kind = "wall"
file = "walls.geojson"
[[boundaries.internal]]
kind = "discharge"
rate = "2 m3/s"
file = "springs.geojson"
name = "spring"
"""
    _, made = options(tmp_path, text)
    found = made["boundaries"].internal
    kinds = [(type(one).__name__, type(one.condition).__name__, one.name) for one in found]
    assert kinds == [
        ("InternalLine", "Wall", "dike"),
        ("InternalArea", "Wall", "2"),
        ("InternalArea", "Wall", "2, hole 1"),
        ("InternalLine", "Discharge", "spring 1"),
        ("InternalLine", "Discharge", "spring 1 (2)"),
        ("InternalArea", "Discharge", "spring 2"),
    ]
    assert found[0].points == line and found[1].points == FIELD[:-1] and found[2].points == HOLE[:-1]
    assert found[4].points == [[20.0, 20.0]] and found[4].condition.rate == 2.0


@pytest.mark.parametrize(
    ("features", "text", "what"),
    [
        ([("Point", [1.0, 2.0], {"n": 1})], "", "of the type Point(.|\n)*Polygon"),
        ([("Polygon", [POND], {"m": 1})], "", r"the polygon 1: property 'n'"),
        ([("Polygon", [POND], {"n": None})], "", "n = None"),
        ([("Polygon", [POND], {"n": "3 hours"})], "", "the polygon 1: "),
        ([("Polygon", [POND], {"n": 0.02})], "", r"584 of 800 cells in no polygon; the first centre is x = 2.5 m"),
        (
            [("Polygon", [(np.array(POND) + 1e6).tolist()], {"n": 0.02})],
            ", outside = 0.1",
            "contain no cell centre",
        ),
        ([], "", "without features"),
        ([("Polygon", [POND], {"n": 0.02})], ', layer = "a"', "layer for files that can hold several layers"),
        ([("Polygon", [POND], {"n": 0.02})], ', outside = "2 m"', "write: +outside = 2"),
        ([("Polygon", "here", {"n": 0.02})], "", "1, a Polygon of 'here'"),
        ([("MultiPolygon", [[POND], [[[None, 2.0], *POND[1:]]]], {"n": 0.02})], "", "1, a MultiPolygon of"),
        ([("Polygon", [[[1.0], *POND[1:]]], {"n": 0.02})], "", "1, a Polygon of"),
        ([("Polygon", [[[math.nan, 2.0], *POND[1:]]], {"n": 0.02})], "", "1, a Polygon of"),
        ([("MultiPolygon", [[POND], []], {"n": 0.02})], "", "1, a MultiPolygon of"),
    ],
)
def test_what_is_refused(tmp_path, features, text, what):
    geojson(tmp_path / "land.geojson", *features)
    with pytest.raises(ConfigError, match=what) as error:
        options(tmp_path, f'friction.manning = {{ zones = "land.geojson", value = "n"{text} }}\n')
    assert "friction.manning" in str(error.value)


def test_inside_that_is_refused(tmp_path):
    geojson(tmp_path / "springs.geojson", ("Polygon", [FIELD, HOLE], {}))
    text = '[[boundaries.internal]]\nkind = "discharge"\nrate = 1.0\nfile = "springs.geojson"\n'
    with pytest.raises(ConfigError, match="a polygon with holes"):
        options(tmp_path, text)
    with pytest.raises(ConfigError, match="points and file"):
        options(tmp_path, text + "points = [[1.0, 1.0]]\n")
    with pytest.raises(ConfigError, match="no such file"):
        options(tmp_path, text.replace("springs", "sprigs"))
    (tmp_path / "springs.txt").touch()
    with pytest.raises(ConfigError, match=r"with the suffix \.geojson or \.json or \.gpkg"):
        options(tmp_path, text.replace("springs.geojson", "springs.txt"))


def test_without_the_library_the_line_to_write_is_told(tmp_path, monkeypatch):
    (tmp_path / "a.gpkg").touch()
    monkeypatch.setattr(vectors.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"without the library pyogrio(.|\n)*pip install 'eagre\[vector\]'"):
        options(tmp_path, 'friction.manning = { zones = "a.gpkg", value = "n" }\n')


def test_features_without_a_place_and_marks_of_encoding_are_passed_over(tmp_path):
    geojson(tmp_path / "land.geojson", ("Polygon", [POND], {"n": 0.02}))
    text = (tmp_path / "land.geojson").read_text()
    data = json.loads(text)
    data["features"].insert(0, {"type": "Feature", "properties": {"n": 9.9}, "geometry": None})
    (tmp_path / "marked.geojson").write_text(json.dumps(data), encoding="utf-8-sig")
    made = [
        options(tmp_path, f'friction.manning = {{ zones = "{name}.geojson", value = "n", outside = 0.05 }}\n')
        for name in ("land", "marked")
    ]
    np.testing.assert_array_equal(made[0][1]["manning"], made[1][1]["manning"])
    assert np.unique(made[1][1]["manning"]).tolist() == [0.02, 0.05]


def test_soils_by_polygon_with_units(tmp_path):
    """As Manning's n: properties of the polygons, with units, and values outside."""
    geojson(tmp_path / "soil.geojson", ("Polygon", [FIELD, HOLE], {"k": "13 mm/h"}), ("Polygon", [POND], {"k": 0.0}))
    text = """
[sources.green_ampt]
hydraulic_conductivity = { zones = "soil.geojson", value = "k", outside = "2 mm/h" }
suction_head = "90 mm"
moisture_deficit = "20 %"
"""
    grid, made = options(tmp_path, text)
    [soil] = made["sources"]
    x, y = grid.mesh()
    expected = np.where(inside(FIELD, x, y) & ~inside(HOLE, x, y), 13.0, 2.0)
    expected = np.where(inside(POND, x, y), 0.0, expected) * 1e-3 / 3600.0
    np.testing.assert_allclose(soil.hydraulic_conductivity, expected, rtol=1e-14)
    assert (soil.suction_head == 0.09).all() and (soil.moisture_deficit == 0.2).all()
    for wrong, message in (("90.0", "given in mm"), ('"-90 mm"', "positive"), ('{ zones = "soil.geojson" }', "value")):
        with pytest.raises(ConfigError, match=message):
            options(tmp_path, text.replace('"90 mm"', wrong))
    with pytest.raises(ConfigError, match="no polygon"):
        options(tmp_path, text.replace(', outside = "2 mm/h"', ""))
