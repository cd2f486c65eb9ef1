"""Deep nesting and very long cells in text files are told as such, at once."""

from __future__ import annotations

import csv
import time

import pytest

from eagre.config.changes import parse_change
from eagre.config.toml import DEEPEST, parse_toml
from eagre.errors import InputError
from eagre.grid import Grid
from eagre.io import read_series
from eagre.io.landcover import read_class_table
from eagre.io.tables.sounding import read_sounding
from eagre.io.vectors import read_features, read_points
from eagre.layouts import store
from eagre.layouts.store import checked_table
from eagre.models.shallow_water.config import ShallowWaterCase
from eagre.plots import open_results
from eagre.waves import TabulatedSpectrum

DEEP = [300, 980, 5000, 100_000]
POINT = '{{"type": "FeatureCollection", "features": [{{"type": "Feature", "properties": {}, "geometry": {}}}]}}'


def nested(depth: int, inside: str = "") -> str:
    return "[" * depth + inside + "]" * depth


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize(
    "text",
    [
        lambda depth: nested(depth),
        lambda depth: POINT.format("{}", f'{{"type": "Polygon", "coordinates": {nested(depth)}}}'),
        lambda depth: POINT.format("{}", f'{{"type": "Polygon", "coordinates": {nested(depth, "0, 1")}}}'),
        lambda depth: POINT.format('{"n":' * depth + "1" + "}" * depth, '{"type": "Polygon", "coordinates": []}'),
    ],
)
def test_geojson(tmp_path, depth, text):
    (tmp_path / "land.geojson").write_text(text(depth))
    with pytest.raises(InputError):
        read_features(tmp_path / "land.geojson", Grid(4, 4, 1.0, 1.0), ["Polygon"])


@pytest.mark.parametrize("depth", DEEP)
@pytest.mark.parametrize(
    "text",
    [
        lambda depth: f"a = {nested(depth)}",
        lambda depth: "a = " + "{a=" * depth + "1" + "}" * depth,
        lambda depth: "a" + ".a" * depth + " = 1",
        lambda depth: 'grid"' + '"."a"' * depth + " = 1",
        lambda depth: "[grid" + " . a" * depth + "]\nnx = 1",
    ],
)
def test_cases(depth, text):
    start = time.perf_counter()
    with pytest.raises(InputError):
        ShallowWaterCase.loads('model = "shallow-water"\n' + text(depth))
    assert time.perf_counter() - start < 5.0  # it was minutes for keys of 100,000 names


def test_nesting_up_to_the_limit_is_told_as_a_wrong_key_or_type():
    assert parse_toml(f"a = {nested(DEEPEST - 2)}")
    assert parse_toml("a" + ".a" * (DEEPEST - 2) + " = 1")
    with pytest.raises(InputError, match="more than 64 levels deep"):
        parse_toml("a" + ".a" * 200 + " = 1")
    assert parse_toml("a = [" + "1.0, " * 5000 + "]\nb = 'x.y'\nc = '" + "1." * 40 + "'")


@pytest.mark.parametrize("depth", [5000, 100_000])
def test_other_files_of_json_and_changes(tmp_path, depth):
    with pytest.raises(InputError):
        checked_table(nested(depth), "table")
    (tmp_path / "tuned.json").write_text(nested(depth))
    with pytest.raises(InputError):
        store.read(tmp_path / "tuned.json")
    with pytest.raises(InputError, match="cannot be read"):
        parse_change(f"friction.manning={nested(depth)}")


def test_whole_numbers_of_thousands_of_digits(tmp_path):
    with pytest.raises(InputError):
        checked_table("1" * 5000, "table")
    (tmp_path / "tuned.json").write_text("1" * 5000)
    with pytest.raises(InputError):
        store.read(tmp_path / "tuned.json")
    with pytest.raises(InputError, match="cannot be read"):
        parse_change("friction.manning=" + "1" * 5000)


LONG = "1" * (csv.field_size_limit() + 9)
TABLES = {
    "a word": f"time (s),v (m)\n0,1.0\n1,{LONG}x\n2,3\n",
    "a name": f"time (s),{LONG} (m)\n0,1.0\n1,2\n",
    "an open quotation mark": f'time (s),v (m)\n0,"{LONG}\n1,2\n',
    "the first cell": f"time (s);v (m)\n{LONG};2\n1;2\n",
    "a column of no number": f"name,x,y,note\na,1,2,{LONG}x\n",
    "a class": f"class,n,name\n10,0.1,{LONG}\n",
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(
    "read", [read_series, open_results, TabulatedSpectrum.read, read_sounding, read_points, read_class_table]
)
def test_cells_of_more_characters_than_the_library_reads(tmp_path, table, read):
    path = tmp_path / "table.csv"
    path.write_text(TABLES[table])
    with pytest.raises(InputError) as caught:
        read(path)
    assert len(str(caught.value)) < 2000


def test_the_line_of_a_long_cell_is_told(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(TABLES["a word"])
    with pytest.raises(InputError) as caught:
        read_series(path)
    for words in ("A cell of the table cannot be read", "table.csv, line 3", "at most 131,072 characters"):
        assert words in str(caught.value)
