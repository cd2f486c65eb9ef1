"""`eagre reproduce`: lists, exit codes and interruption."""

from __future__ import annotations

import pytest

from eagre.cli.support import exits
from eagre.laboratory.reproduce import run
from eagre.laboratory.reproduce.registry import SOURCES, Item, exact


def test_without_arguments_the_papers_are_listed(eagre):
    done = eagre("reproduce")
    assert done.code == 0, done.err
    for name, source in SOURCES.items():
        assert name in done.out and source.kind in done.out


def test_list_of_a_paper(eagre):
    done = eagre("reproduce", "barotropic", "--list")
    assert done.code == 0 and "table-B.2" in done.out and "table-III" not in done.out
    done = eagre("reproduce", "mike21", "table-8.2", "--list")
    assert "profiler counters" in done.out and "table-5.1" not in done.out


def test_a_paper_is_repeated(eagre, tmp_path):
    done = eagre("reproduce", "madsen2010", "table-5.5", "-o", tmp_path, "--device", "cpu", "--precision", "double")
    assert done.code == 0, done.err
    assert "8 exact, 1 misprint, 0 failed" in done.out and "13425937" in done.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reproduce.csv", "reproduce.md", "table-5.5.png"]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("madsen",), exits.BAD_INPUT, "write:   eagre reproduce madsen2010"),
        (("madsen2010", "table-55"), exits.BAD_INPUT, "table-5.5"),
        (("madsen2010", "table-55", "--list"), exits.BAD_INPUT, "table-5.5"),
        (("madsen2010", "table-5.5", "--precision", "half"), exits.BAD_INPUT, "single, double"),
        (("madsen2010", "table-5.5", "--device", "cuda:99"), exits.NO_DEVICE, "cuda:99"),
    ],
)
def test_wrong_usage(eagre, arguments, code, message):
    done = eagre("reproduce", *arguments)
    assert done.code == code and message in done.err


def test_a_folder_that_cannot_be_written(eagre, tmp_path, monkeypatch):
    monkeypatch.setattr(run, "write_report", lambda *given: open(tmp_path / "missing" / "reproduce.md", "w"))
    done = eagre("reproduce", "madsen2010", "table-5.5", "--device", "cpu", "-o", tmp_path)
    assert done.code == exits.NO_OUTPUT and "reproduce.md" in done.err


def two_lines(given):
    yield exact(given.number("257x17x6", "surface"), 4369)
    yield exact(given.number("257x17x6", "domain"), 1)


def interrupted(given):
    yield exact(given.number("257x17x6", "surface"), 4369)
    raise KeyboardInterrupt


def test_a_failed_number_ends_with_code_1(eagre, monkeypatch):
    monkeypatch.setattr(run, "items_named", lambda name, names: [Item("table-5.5", "Points", two_lines)])
    done = eagre("reproduce", "madsen2010", "--device", "cpu")
    assert done.code == exits.INTERNAL and "2 exact, 1 failed" in done.out and "exact: FAILED" in done.out


def test_the_most_seconds_of_an_item(eagre, monkeypatch):
    monkeypatch.setattr(run, "items_named", lambda name, names: [Item("table-5.5", "Points", two_lines, seconds=9.0)])
    done = eagre("reproduce", "madsen2010", "--device", "cpu", "--most", 8)
    assert done.code == 0 and "1 not run, 0 failed" in done.out
    assert eagre("reproduce", "madsen2010", "--device", "cpu", "--most", 9).code == exits.INTERNAL


def test_an_interrupted_run_leaves_the_report_so_far(eagre, monkeypatch, tmp_path):
    items = [Item("first", "First", two_lines), Item("table-5.5", "Points", interrupted), Item("x", "X", two_lines)]
    monkeypatch.setattr(run, "items_named", lambda name, names: items)
    monkeypatch.setattr(run.Run, "number", lambda self, row, column: self.paper.number("table-5.5", row, column))
    done = eagre("reproduce", "madsen2010", "--device", "cpu", "-o", tmp_path)
    assert done.code == exits.INTERRUPTED and "interrupted" in done.err
    rows = (tmp_path / "reproduce.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 4 and "## table-5.5: Points" in (tmp_path / "reproduce.md").read_text(encoding="utf-8")
