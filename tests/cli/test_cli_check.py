"""`eagre check`: what `eagre run` rejects is rejected, and no file is written."""

from __future__ import annotations

import pytest

CASE = """\
model = "shallow-water"
title = "A basin"
run.end_time = "10 min"
grid = { nx = 20, ny = 10, dx = 50.0 }
bed.value = -10.0
boundaries.west = { kind = "discharge", rate = { file = "river.csv" } }
output = { file = "results/out.nc", interval = "60 s" }
gauges = { file = "results/gauges.csv", interval = "10 s", points = { a = [100.0, 100.0] } }
maps = { file = "results/maps.nc", maximum = ["depth"] }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a valid case as the current one."""
    (tmp_path / "case.toml").write_text(CASE)
    (tmp_path / "river.csv").write_text("time,q\n0,10\n600,20\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_valid_case_is_described_and_nothing_is_written(eagre, folder):
    done = eagre("check", "case.toml")
    assert done.code == 0, done.err
    for words in ("20 x 10 = 200 cells", "results/out.nc: 11 records", "1 point every 10 s", "at the start: about",
                  "run time    at least", "the case is valid"):  # fmt: skip
        assert words in done.out
    assert sorted(path.name for path in folder.iterdir()) == ["case.toml", "river.csv"]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("a = [100.0, 100.0]", "a = [100.0, 9000.0]", "the point (100, 9000)"),
        ("600,20", "500,20", "500 s"),
        ('"river.csv" }', '"river.csv", value = "level" }', "level"),
        ('maximum = ["depth"]', 'maximum = ["depht"]', "depht"),
        ('interval = "60 s"', 'interval = "60 s", variables = ["tide"]', "tide"),
        ('"results/gauges.csv"', '"results/out.nc"', "Two outputs have the same file"),
        ("bed.value = -10.0", 'bed.file = "bed.tif"', "bed.tif"),
    ],
)
def test_what_a_run_rejects_is_rejected(eagre, folder, old, new, words):
    for name in ("case.toml", "river.csv"):
        path = folder / name
        path.write_text(path.read_text().replace(old, new))
    checked, run = eagre("check", "case.toml"), eagre("run", "case.toml")
    assert checked.code == run.code == 2
    assert words in checked.err and checked.err == run.err


def test_existing_output_is_rejected_unless_it_may_be_replaced(eagre, folder):
    (folder / "results").mkdir()
    (folder / "results" / "out.nc").write_text("old")
    done = eagre("check", "case.toml")
    assert done.code == 2 and "exists already" in done.err
    assert eagre("check", "case.toml", "--overwrite").code == 0
    assert (folder / "results" / "out.nc").read_text() == "old"


def test_a_restart_that_a_run_rejects_is_rejected(eagre, folder):
    path = folder / "case.toml"
    path.write_text(CASE.replace("10 min", "60 s") + 'restart = { file = "end.nc" }\n')
    assert eagre("run", "case.toml").code == 0
    for name, words in (("end.nc", "run is finished"), ("none.nc", "none.nc")):
        checked, run = (eagre(command, "case.toml", "--restart", name) for command in ("check", "run"))
        assert checked.code == run.code == 2
        assert words in checked.err and checked.err == run.err
