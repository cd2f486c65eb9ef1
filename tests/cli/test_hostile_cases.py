"""Errors of the user's that once were internal ones: what was got, where it stands, what to write."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.cli.support import exits
from eagre.config.values.expressions import Expression
from eagre.errors import InputError

CASE = """\
model = "shallow-water"
title = "a case"
run = { end_time = 1.0, device = "cpu" }
grid = { nx = 8, ny = 6, dx = 1.0 }
[bed]
value = 0.0
[initial]
depth = 1.0
[output]
file = "out.nc"
"""
ASC = "ncols 8\nnrows 6\nxllcorner 0\nyllcorner 0\ncellsize 1\n" + 6 * (8 * "1 " + "\n")


@pytest.mark.parametrize("text", ["where(0 < x < y, 1, 0)", "0 < x < y", "(0 < x < 2) - (0 < y < 3)", "-(x < 2)"])
def test_chained_comparisons_of_both_axes(text):
    x, y = np.arange(4.0)[None, :], np.arange(3.0)[:, None]
    expected = {
        "where(0 < x < y, 1, 0)": (x > 0) & (x < y),
        "0 < x < y": (x > 0) & (x < y),
        "(0 < x < 2) - (0 < y < 3)": 1.0 * ((x > 0) & (x < 2)) - 1.0 * ((y > 0) & (y < 3)),
        "-(x < 2)": -1.0 * ((x < 2) & (y == y)),
    }
    np.testing.assert_array_equal(Expression(text)(x=x, y=y), expected[text])


@pytest.mark.parametrize("text", ["1" * 400 + " * x", "1" * 5000, "0x" + "f" * 1900])
def test_numbers_beyond_doubles_in_expressions(text):
    with pytest.raises(InputError):
        Expression(text)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("value = 0.0", "value = " + 1000 * "[" + 1000 * "]", ["nested too deeply"]),
        ("value = 0.0", "value = " + 5000 * "1", ["4300 digits"]),
        ("value = 0.0", "value = " + 400 * "1", ["bed.value (line 6)", "64-bit"]),
        ("end_time = 1.0", "end_time = 0x" + 300 * "f", ["run", "(line 3)", "64-bit"]),
        ("dx = 1.0", "dx = 1e-320", ["dx", "(line 4)", "0.000000001"]),
        ("nx = 8", "nx = 9000000000", ["nx", "(line 4)"]),
        ('"a case"', '"a\\u0000case"', ["title (line 2)", "u0000"]),
        ("value = 0.0", 'file = "loop"', ["bed.file (line 6)", "symbolic links"]),
        ("value = 0.0", f'file = "{300 * "a"}"', ["bed.file (line 6)", "name too long"]),
        ("depth = 1.0", "depth = -1.0", ["initial.depth (line 8)", "from 0 to 12000 m"]),
        ("depth = 1.0", 'depth = "x - 3"', ["initial.depth (line 8)", "18 of 48 values"]),
        ("dx = 1.0", 'dx = 1.0, crs = "5 kg"', ["crs", "(line 4)", "EPSG"]),
        ("value = 0.0", 'value = "1 m9999999"', ["bed.value (line 6)"]),
    ],
)
def test_cases(eagre, tmp_path, old, new, words):
    (tmp_path / "loop").symlink_to("loop")
    assert old in CASE
    (tmp_path / "case.toml").write_text(CASE.replace(old, new))
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == exits.BAD_INPUT, done.err
    for word in words:
        assert word.lower() in done.err.lower()


SIDE = "[boundaries]\nwest = "


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (f'{SIDE}"outflow"', ["boundaries.west (line 12)", 'write:   { kind = "outflow" }']),
        (
            f'{SIDE}[{{ kind = "outflow", from = 7.0, to = 9.0 }}]',
            ["boundaries (line 11)", "7 m .. 9 m of the west side"],
        ),
        (
            f'{SIDE}{{ kind = "inflow", rate = 0.1, depth = 1.0 }}',
            ["boundaries (line 11)", 'write:   kind = "discharge"'],
        ),
        ("[friction]\nmanning = 40.0", ["friction.manning (line 12)", "write:   manning = 0.025"]),
        ("[friction]\nmanning = -1", ["friction.manning (line 12)", "write:   manning = 0.03"]),
        ('[sources.rain]\nrate = "-5 mm/h"', ["sources.rain (line 11)", 'write:   rate = "20 mm/h"']),
        ("[sources.rain]\nrate = 20.0", ["sources.rain (line 11)", "in mm/h, but plain numbers"]),
        ('variables = "depth"', ["output.variables (line 11)", "allowed: a list", 'write:   variables = ["depth"']),
        ("[bed]\nvalue = 1.0", ["line 11", "each key and each [section] once"]),
    ],
)
@pytest.mark.parametrize("kind", ["shallow-water", "shallow-water-adi"])
def test_mistakes_of_newcomers_name_their_key_and_a_line_to_write(eagre, tmp_path, kind, more, words):
    more += "\n[numerics]\ntime_step = 0.1\n" if kind == "shallow-water-adi" else "\n"
    (tmp_path / "case.toml").write_text(CASE.replace("shallow-water", kind) + more)
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == exits.BAD_INPUT, done.out
    for word in words:
        assert word in done.err, done.err


def test_a_cell_size_that_does_not_fit_is_the_grids(eagre, tmp_path):
    grid = "extent = [0.0, 100.0, 0.0, 100.0], dx = 30.0"
    (tmp_path / "case.toml").write_text(CASE.replace("nx = 8, ny = 6, dx = 1.0", grid))
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == exits.BAD_INPUT and "grid (line 4)" in done.err and "dx = 33.3" in done.err


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("ncols 8", "ncols inf", "header line 'ncols inf'"),
        ("xllcorner 0", "xllcorner nan", "header line 'xllcorner nan'"),
        ("cellsize 1", "cellsize 1e-320", "1e-09"),
        ("xllcorner 0", "xllcorner 1e300", "at most 1e+12"),
    ],
)
def test_headers_of_esri_grids(eagre, tmp_path, old, new, words):
    (tmp_path / "bed.asc").write_text(ASC.replace(old, new))
    case = CASE.replace("value = 0.0", 'file = "bed.asc"').replace("grid = { nx = 8, ny = 6, dx = 1.0 }\n", "")
    (tmp_path / "case.toml").write_text(case)
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == exits.BAD_INPUT, done.err
    assert words in done.err and "bed.asc" in done.err


def test_a_geotiff_that_was_cut_is_named(eagre, tmp_path):
    import rasterio

    options = {"driver": "GTiff", "width": 80, "height": 60, "count": 1, "dtype": "float32"}
    path = tmp_path / "bed.tif"
    with rasterio.open(path, "w", transform=rasterio.Affine(1, 0, 0, 0, -1, 60), **options) as target:
        target.write(np.random.default_rng(0).random((60, 80)).astype("f4"), 1)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    case = CASE.replace("value = 0.0", 'file = "bed.tif"').replace("grid = { nx = 8, ny = 6, dx = 1.0 }\n", "")
    (tmp_path / "case.toml").write_text(case)
    done = eagre("run", tmp_path / "case.toml")
    assert done.code == exits.BAD_INPUT and "bed.tif" in done.err and "previous exception" not in done.err
