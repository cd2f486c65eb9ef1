"""A series of rain for each zone: polygons and rasters of zone numbers in case files."""

from __future__ import annotations

import numpy as np
import pytest

import eagre
from eagre.config.problems import ConfigError
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.terms.collect import terms_of
from oracle.polygons import inside
from vector_files import BASE, FIELD, POND, geojson

RAIN = "time (min),upper (mm/h),lower (mm/h)\n0,0,10\n1,60,10\n"


def rain(tmp_path, rate, base=BASE, more=""):
    """The term of a case, with its grid."""
    case = ShallowWaterCase.loads(f"{base}[sources.rain]\nrate = {{ {rate} }}\n{more}", tmp_path)
    rows, _, bed = case._terrain()
    (term,) = case._options(rows, bed, case.friction, None, None)["sources"]
    return rows.grid, term


def falls(grid, term, time):
    """The rain of each cell at a time, m/s."""
    return sum(one.map(grid) * one.series(time) for one in terms_of([term], grid).sources)


@pytest.fixture
def catchments(tmp_path):
    """Two zones with columns of their own; the second lies over the first."""
    geojson(tmp_path / "c.geojson", ("Polygon", [FIELD], {"name": "upper"}), ("Polygon", [POND], {"name": "lower"}))
    (tmp_path / "rain.csv").write_text(RAIN)
    return tmp_path


@pytest.mark.parametrize(
    "series",
    [
        '"rain.csv"',
        '{ file = "rain.csv", units = "mm/h" }',
        '{ upper = { times = [0, 60], values = [0, "60 mm/h"] }, lower = "10 mm/h" }',
    ],
)
def test_each_polygon_has_its_series(catchments, series):
    grid, term = rain(catchments, f'zones = "c.geojson", series = {series}, outside = "5 mm/h"')
    lower = inside(POND, *grid.mesh())
    upper = inside(FIELD, *grid.mesh()) & ~lower
    for time in (0.0, 6.0, 60.0):
        expected = np.where(lower, 10.0, np.where(upper, time, 5.0)) / 3.6e6
        np.testing.assert_allclose(falls(grid, term, time), expected, rtol=1e-13)
    assert len(terms_of([term], grid).sources) == (2 if series[0] == "{" and "upper" in series else 3)


def test_zones_by_another_property_and_a_pattern(catchments):
    """Polygons of one name are one zone; the pattern multiplies."""
    shapes = [("Polygon", [FIELD], {"id": 7.0}), ("Polygon", [POND], {"id": 7.0})]
    geojson(catchments / "d.geojson", *shapes)
    rate = 'zones = "d.geojson", name = "id", series = { 7 = "36 mm/h" }, outside = 0.0'
    grid, term = rain(catchments, rate, more='pattern = "2.0"\n')
    held = inside(POND, *grid.mesh()) | inside(FIELD, *grid.mesh())
    np.testing.assert_allclose(falls(grid, term, 3.0), np.where(held, 2e-5, 0.0), rtol=1e-13)


def test_a_raster_of_zone_numbers(tmp_path):
    """A cell has the number at its centre; cells without one, and beyond the raster on each side, are outside."""
    numbers = np.array([[3, 3, 12, -9], [3, 12, 12, -9]])  # cells of 40 m, row 0 = north
    head = "ncols 4\nnrows 2\nxllcorner 10\nyllcorner 10\ncellsize 40\nNODATA_value -9\n"
    (tmp_path / "z.asc").write_text(head + "\n".join(" ".join(map(str, row)) for row in numbers))
    (tmp_path / "rain.csv").write_text("t,3,12\n0,1e-5,2e-5\n100,1e-5,4e-5\n")
    grid, term = rain(tmp_path, 'zones = "z.asc", series = "rain.csv", outside = "36 mm/h"')
    expected = np.full(grid.shape, 1e-5)
    for j, y in enumerate(grid.y):
        for i, x in enumerate(grid.x):
            if 10.0 < x < 170.0 and 10.0 < y < 90.0:
                number = numbers[::-1][int((y - 10.0) // 40.0), int((x - 10.0) // 40.0)]
                expected[j, i] = {3: 1e-5, 12: 3e-5, -9: 1e-5}[int(number)]
    np.testing.assert_allclose(falls(grid, term, 50.0), expected, rtol=1e-13)
    assert (falls(grid, term, 50.0) > 2e-5).sum() == 3 * 8 * 8


@pytest.mark.parametrize(
    ("rate", "what"),
    [
        ('zones = "c.geojson", series = "rain.csv"', "cells in no zone; the first centre is x = 2.5 m"),
        ('zones = "c.geojson", series = { upper = 0.0 }, outside = 0.0', r"the zone lower: series of 'lower'"),
        ('zones = "c.geojson", name = "nm", series = "rain.csv"', r"property 'nm'(.|\n)*name = \"name\""),
        ('zones = "c.geojson", series = 5', "a file with one column per zone"),
        ('zones = "c.geojson", series = { upper = "3 kg" }', 'upper = "20 mm/h"'),
        ('zones = "c.geojson", series = "rain.csv", outside = "wet"', 'outside = "20 mm/h"'),
        ('zones = "c.geojson", series = "rains.csv"', "no such file"),
        ('zones = "c.geojson", serie = "rain.csv"', 'did you mean "series"'),
        ('zones = "far.geojson", series = "rain.csv"', "no zone lies in the domain"),
        ('zones = "other.geojson", series = "rain.csv", outside = 0.0', "the zone middle: value = 'middle'"),
        ('zones = "short.geojson", series = { up = { times = [0, 5], values = [0, 0] } }, outside = 0.0', "zone up"),
        ('zones = "z.asc", series = "rain.csv", name = "n"', "with polygons only"),
        ('zones = "z.asc", series = "rain.csv"', "at most 1000 integer zone numbers"),
    ],
)
def test_what_is_refused(catchments, rate, what):
    geojson(catchments / "far.geojson", ("Polygon", [(np.array(POND) + 1e6).tolist()], {"name": "upper"}))
    geojson(catchments / "other.geojson", ("Polygon", [POND], {"name": "middle"}))
    geojson(catchments / "short.geojson", ("Polygon", [POND], {"name": "up"}))
    (catchments / "z.asc").write_text("ncols 1\nnrows 1\nxllcorner 0\nyllcorner 0\ncellsize 200\n1.5\n")
    with pytest.raises(ConfigError, match=what) as error:
        rain(catchments, rate)
    assert "sources.rain.rate" in str(error.value)


def test_what_the_model_refuses_of_a_term_is_told_with_its_section(catchments):
    rate = 'zones = "c.geojson", series = { upper = "-1 mm/h", lower = 0.0 }, outside = 0.0'
    case = ShallowWaterCase.loads(f"{BASE}[sources.rain]\nrate = {{ {rate} }}\n", catchments)
    with pytest.raises(ConfigError, match=r"sources\.rain \(line .*\n.*rain rate is negative.*\n.*= -2.7"):
        case.build(device="cpu")


def test_the_maps_of_a_term_are_made_once(catchments, monkeypatch):
    made = []

    def water(self, grid, real=eagre.Rain.water):
        made.append(grid)
        return real(self, grid)

    monkeypatch.setattr(eagre.Rain, "water", water)
    text = f'{BASE}[sources.rain]\nrate = "1 mm/h"\npattern = "x > 50"\n'
    ShallowWaterCase.loads(text, catchments).build(device="cpu")
    assert len(made) == 1


def test_rates_and_patterns_of_the_term():
    grid = eagre.Grid(4, 3, 1.0, 1.0)
    series = [eagre.Series(np.array([0.0, 9.0]), np.array([0.0, 1e-5])) for _ in range(25)]
    shares = np.full((25, 3, 4), 0.04)
    (alone,) = terms_of([eagre.ZoneRain([series[0]] * 25, shares)], grid).sources
    np.testing.assert_allclose(alone.map(grid), 1.0, rtol=1e-12)
    two = terms_of([eagre.ZoneRain([1e-5, series[0]], np.stack([shares[0] < 1, shares[0] > 1]))], grid)
    assert two.wettest == 1e-5  # of no cell more than its own zone's
    for rates, patterns, what in (
        (series, shares, "25 time-varying rain rates"),
        (series[:2], shares, "for 2 rates"),
        ([], np.zeros((0, 3, 4)), "for 0 rates"),
        ([1.0], np.ones((1, 3, 4)), "1 mm/h"),
        ([-1e-5], np.ones((1, 3, 4)), "negative"),
        ([1e-5], -np.ones((1, 3, 4)), "factors >= 0"),
        ([1e-5], np.full((1, 3, 4), np.nan), "finite"),
    ):
        with pytest.raises(eagre.InputError, match=what):
            terms_of([eagre.ZoneRain(rates, patterns)], grid)
