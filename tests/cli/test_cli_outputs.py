"""Several `[[output]]`: parts of the domain, each n-th cell, intervals of their own; restarts; what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from eagre.cli.support import exits
from eagre.grid import Grid
from eagre.io.writers.field_files import Subset

SEVERAL = """\
[[output]]
file = "all.nc"
interval = 5
[[output]]
file = "zone.nc"
interval = 1
extent = [2.0, 9.0, 1.0, 7.0]
variables = ["speed"]
[[output]]
file = "coarse.nc"
interval = 2.5
stride = 3
variables = ["depth", "bed"]
"""


@pytest.fixture
def case(fake_case):
    """A function that writes a case with several outputs; words in it are replaced."""

    def write(end_time="10", **words):
        path = fake_case(end_time=end_time)
        text = path.read_text().replace('[output]\nfile = "out.nc"\ninterval = 2\n', SEVERAL)
        for old, new in words.items():
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        return path

    return write


def test_each_file_has_its_part_and_times(eagre, case, tmp_path, opened):
    done = eagre("run", case())
    assert done.code == 0, done.err
    whole, zone, coarse = (opened(tmp_path / f"{name}.nc") for name in ("all", "zone", "coarse"))
    assert [file["time"].values.tolist() for file in (whole, coarse)] == [[0, 5, 10], [0, 2.5, 5, 7.5, 10]]
    assert zone["time"].size == 11 and set(zone.data_vars) == {"speed", "bed"}
    assert (zone["x"].values.tolist(), zone["y"].values.tolist()) == (
        [2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5], [1.5, 2.5, 3.5, 4.5, 5.5, 6.5],
    )  # fmt: skip
    assert (coarse["x"].values.tolist(), coarse["y"].values.tolist()) == ([1.5, 4.5, 7.5, 10.5], [1.5, 4.5, 7.5])
    np.testing.assert_array_equal(zone["bed"], whole["bed"][1:7, 2:9])
    np.testing.assert_array_equal(coarse["depth"][[0, 2, 4]], whole["depth"][:, 1::3, 1::3])
    assert all(name in done.out for name in ("all.nc: 3 records", "zone.nc: 11 records", "coarse.nc: 5 records"))


def test_a_run_in_two_pieces_writes_the_same_files(eagre, case, tmp_path, opened):
    assert eagre("run", case()).code == 0
    names = ("all", "zone", "coarse")
    once = {name: opened(tmp_path / f"{name}.nc") for name in names}
    for name in names:
        (tmp_path / f"{name}.nc").unlink()
    assert eagre("run", case(end_time="5"), "--overwrite").code == 0
    done = eagre("run", case(), "--restart", tmp_path / "restart.nc")
    assert done.code == 0, done.err
    for name in names:
        assert once[name].drop_attrs().identical(opened(tmp_path / f"{name}.nc").drop_attrs())


def test_only_the_outputs_that_say_so_are_replaced(eagre, case, tmp_path):
    path = case(**{'"zone.nc"': '"zone.nc"\noverwrite = true'})
    (tmp_path / "zone.nc").write_text("old")
    assert eagre("run", path).code == 0
    assert (tmp_path / "zone.nc").read_bytes()[:3] != b"old"
    done = eagre("run", path)
    assert (done.code, "output[1].file (line" in done.err) == (exits.BAD_INPUT, True)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"zone.nc"', '"all.nc"', ("output[2].file (line", "Two outputs have the same file")),
        ('"zone.nc"', '"zone.tif"', ("output[2].file (line", ".nc")),
        (
            '["speed"]',
            '["sped"]',
            ("output[2].variables (line", '"sped" (did you mean "speed"?)', 'variables = ["speed"]'),
        ),
        ("stride = 3", "stride = 0", ("output[3].stride (line", "every n-th cell")),
        ("stride = 3", "stride = 13", ("output[3].stride (line", "1 to 12")),
        ("stride = 3", "strid = 3", ("output[3].strid (line", 'did you mean "stride"')),
        ("[2.0, 9.0, 1.0, 7.0]", "[2.0, 19.0, 1.0, 7.0]", ("output[2].extent (line", "extent = [0, 12, 0, 9]")),
        ("[2.0, 9.0, 1.0, 7.0]", "[2.6, 3.4, 1.0, 7.0]", ("output[2].extent (line", "centres of the cells")),
        ("[2.0, 9.0, 1.0, 7.0]", "[9.0, 2.0, 1.0, 7.0]", ("output[2].extent (line", "[west, east, south, north]")),
    ],
)
def test_what_is_wrong_is_told_with_its_section(eagre, case, tmp_path, old, new, words):
    done = eagre("run", case(**{old: new}))
    assert done.code == exits.BAD_INPUT, done.err
    assert all(word in done.err for word in words), done.err
    assert not list(tmp_path.glob("*.nc"))


def test_no_tables_are_no_outputs(eagre, fake_case):
    path = fake_case()
    path.write_text("output = []\n" + path.read_text().replace('[output]\nfile = "out.nc"\ninterval = 2\n', ""))
    done = eagre("run", path)
    assert (done.code, "[[output]]" in done.err) == (exits.BAD_INPUT, True)


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("location", ["centre", "face_x", "face_y", "corner"])
def test_a_part_is_a_plain_slice(stride, location):
    grid = Grid(9, 8, 2.0, 3.0, x0=10.0)
    part = Subset.of(grid, (14.0, 28.0, 0.0, 24.0), stride)
    x, y = grid.mesh(location)
    first_x = 2 if location in ("face_x", "corner") else 2 + (min(stride, 7) - 1) // 2
    first_y = 0 if location in ("face_y", "corner") else (min(stride, 8) - 1) // 2
    stop_x, stop_y = (9 + (location in ("face_x", "corner"))), (8 + (location in ("face_y", "corner")))
    np.testing.assert_array_equal(part.select(x, location), x[first_y:stop_y:stride, first_x:stop_x:stride])
    np.testing.assert_array_equal(part.select(y[None], location), y[None, first_y:stop_y:stride, first_x:stop_x:stride])
    assert part.shape(grid, location) == part.select(x, location).shape
    name = {"centre": "x", "face_y": "x"}.get(location, "x_corner")
    np.testing.assert_array_equal(part.along(name, x[0]), part.select(x, location)[0])
