"""`eagre.laboratory.reproduce`: numbers of the papers, kinds of comparison, items, report and stored results."""

from __future__ import annotations

import csv
import math
import subprocess
import sys
from dataclasses import replace
from importlib.resources import files

import pytest

from eagre.errors import ConvergenceError, DeviceError, InputError
from eagre.laboratory.papers import NAMES, Number, paper
from eagre.laboratory.reproduce import reproduce, run
from eagre.laboratory.reproduce.items import mike21
from eagre.laboratory.reproduce.registry import (
    SOURCES,
    Item,
    NotRun,
    Run,
    compared,
    exact,
    explained,
    holds,
    items_of,
    misprint,
    not_run,
    source_named,
)

TIME = Number("table-1", "33", "CPU", "0.2056", "ms per step")
COUNT = Number("table-1", "blocks", "count", "132")


def test_numbers_of_a_paper_by_item_row_and_column():
    assert paper("bleichrodt2011").value("table-B.1", "515", "GPU") == 15.70
    assert paper("rojek2015").value("table-XI", "400", "L2") == 2.4420e-6
    assert paper("madsen2010").number("table-5.1", "fastest 1", "257x17x6 block").value == "88x2"
    with pytest.raises(KeyError, match=r"table-B\.9"):
        paper("bleichrodt2011").number("table-B.9", "33", "GPU")
    with pytest.raises(KeyError, match="nobody2000"):
        paper("nobody2000")


@pytest.mark.parametrize(("name", "count"), list(zip(NAMES, (488, 136, 303, 491, 46), strict=True)))
def test_every_item_with_numbers_is_known_and_every_number_is_unique(name, count):
    numbers = paper(name).numbers
    assert len(numbers) == count == len({(one.item, one.row, one.column) for one in numbers})
    items = items_of(name)
    assert set(paper(name).items) <= set(items)
    for item in items.values():
        assert (item.lines is None) == bool(item.reason) and item.title


def test_the_files_of_numbers_are_part_of_the_package(root):
    assert {f"{name}.csv" for name in NAMES} <= {one.name for one in files("eagre.laboratory.papers").iterdir()}
    assert files("eagre.laboratory.reproduce").joinpath("data/stored.csv").is_file()
    ignored = (root / ".gitignore").read_text(encoding="utf-8")  # the wheel leaves out what git ignores
    assert "csv" not in ignored and "data" not in ignored.replace("!tests/**/data", "").replace("share/data", "")


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        ("0.07", (18 / 255, 0.0650001, 0.07), (0.0751, 0.064, math.nan)),
        ("132", (132, 132.4), (133, 131)),
        ("159.95", (159.9489,), (159.944, 159.956)),
        ("1.175494e-38", (1.1754943508e-38,), (1.175495e-38, 0.0)),
        ("6x128", ("6x128",), ("6x12", None, 6.0)),
        ("12 to 33", (), (12.0,)),
    ],
)
def test_exact_rounds_to_the_printed_digits(text, right, wrong):
    number = replace(COUNT, text=text)
    assert [exact(number, value).failed for value in right] == [False] * len(right)
    assert [exact(number, value).failed for value in wrong] == [True] * len(wrong)
    assert exact(number, right[0] if right else None).outcome == "exact"


def test_holds_has_limits_or_a_condition():
    assert [holds(COUNT, value, 1.8, 2.4).failed for value in (1.7, 1.8, 2.4, 2.5, math.nan, None)] == [
        True, False, False, True, True, True,
    ]  # fmt: skip
    assert [holds(COUNT, "first", passed=passed).failed for passed in (True, False)] == [False, True]
    assert holds(COUNT, -5.0, maximum=0.0).outcome == "holds"
    with pytest.raises(ValueError, match="limit"):
        holds(COUNT, 1.0)


def test_explained_has_limits_and_a_reason():
    assert [explained(COUNT, value, 3.8, 3.9, note="the front").failed for value in (3.7, 3.85, 3.95)] == [
        True, False, True,
    ]  # fmt: skip
    line = explained(COUNT, 3.85, 3.8, 3.9, note="the front")
    assert (line.outcome, line.note) == ("explained", "the front")


def test_compared_never_fails_and_has_the_quotient_of_times():
    line = compared(TIME, 0.0257)
    assert (line.quotient, line.failed, line.outcome) == (pytest.approx(8.0), False, "compared")
    assert compared(replace(TIME, unit="GB/s"), 3.0).quotient is None
    assert compared(replace(TIME, text="slow"), 3.0).quotient is None
    assert not compared(TIME, math.nan).failed


def test_misprint_compares_with_the_corrected_value():
    right, wrong = (misprint(COUNT, value, "13425937") for value in (13_425_937, 132))
    assert (right.failed, wrong.failed) == (False, True)
    assert right.note == "misprint of 13425937" and right.printed == "132"


def test_not_run_has_no_value():
    line = not_run(COUNT, "needs a GPU")
    assert (line.outcome, line.computed, line.failed, line.note) == ("not run", None, False, "needs a GPU")


@pytest.mark.parametrize("name", SOURCES)
def test_items_without_cost_agree(name):
    names = [item.name for item in items_of(name).values() if item.lines and item.seconds <= 5.0] or ["table-3.1"]
    lines = reproduce(name, names, device="cpu")
    assert [line for line in lines if line.failed] == []
    assert {line.item for line in lines} >= set(names)
    assert all(line.device and line.commit for line in lines)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_longer_items_agree(name, tmp_path):
    names = [item.name for item in items_of(name).values() if item.lines and 5.0 < item.seconds <= run.MAX_SECONDS]
    lines = reproduce(name, names, tmp_path, device="cpu") if names else []
    assert [line for line in lines if line.failed] == []


def test_values_of_items_without_cost():
    """Numbers by hand: largest grids, points, run times and operations per byte."""
    found = {
        (line.item, line.row, line.column): line.computed
        for line in reproduce("mike21", ["section-8.2.5"], device="cpu")
    }
    assert found["section-8.2.5", "Eagre double", "cells per side"] == 5016  # sqrt(1536 MiB / 64)
    assert found["section-8.2.5", "cells per side in 1536 MB, S1N double", "cells per side"] == 3253
    lines = reproduce("rojek2015", ["table-III", "table-IV", "table-V"], device="cpu")
    assert sum(line.outcome == "exact" for line in lines) == 2 * 8 * 5 + 11
    assert sum(line.outcome == "misprint" for line in lines) == 1


def test_operations_and_steps_are_counted():
    assert mike21.formula_value("17 (n - m) + 12 m log2(m)", 512, 256) == 17 * 256 + 12 * 256 * 8
    assert mike21.formula_value("2 log2(n) - log2(m) - 1", 512, 256) == 9
    assert mike21.formula_value("2n", 512, 256) == 1024
    assert [mike21.counted_steps(rows) for rows in (512, 256, 1)] == [9, 10, 18]
    rows = sum(12 * (512 - 2**k) for k in range(9)) + 512  # couplings of 2^k rows at both ends are zero
    assert mike21.counted_operations(512) == rows


def test_a_changed_formula_fails(monkeypatch):
    monkeypatch.setattr(
        "eagre.laboratory.reproduce.items.rojek2015.tiles", lambda plane, threads: mutated(plane, threads)
    )
    lines = reproduce("rojek2015", ["table-III"], device="cpu")
    assert {line.column for line in lines if line.failed} == {"transactions per tile", "transactions per block"}


def mutated(plane, threads):
    from eagre.tuning.block_size import tiles

    return [replace(tile, each=tile.each + 1) for tile in tiles(plane, threads)]


def items_made(monkeypatch, *items):
    monkeypatch.setattr(run, "items_named", lambda name, names: list(items))


def one_line(given: Run):
    yield exact(given.number("257x17x6", "surface"), 4369)
    yield exact(given.number("257x17x6", "domain"), 26215)


def test_items_that_are_not_run_or_raise(monkeypatch):
    def no_data(given):
        yield holds(COUNT, 1.0, 0.0)
        raise NotRun("no bathymetry")

    def wrong(given):
        raise ConvergenceError(7, 1.0, 0.1)
        yield

    items_made(
        monkeypatch,
        Item("table-5.5", "points", one_line),
        Item("long", "long", one_line, seconds=90.0),
        Item("gpu", "gpu", one_line, needs=("gpu",)),
        Item("data", "data", no_data),
        Item("wrong", "wrong", wrong),
        Item("old", "old", reason="curves are lost"),
    )
    lines = reproduce("madsen2010", device="cpu")
    assert [(line.item, line.outcome, line.failed) for line in lines] == [
        ("table-5.5", "exact", False),
        ("table-5.5", "exact", True),
        ("long", "not run", False),
        ("gpu", "not run", False),
        ("table-1", "holds", False),
        ("data", "not run", False),
        ("wrong", "holds", True),
        ("old", "not run", False),
    ]
    assert lines[2].note == "takes about 90 s: eagre reproduce madsen2010 long --most 90"
    assert (lines[3].note, lines[5].note, lines[7].note) == ("needs a GPU", "no bathymetry", "curves are lost")
    assert "did not converge" in lines[6].note


def test_an_item_that_failed_is_not_drawn(monkeypatch, tmp_path):
    def wrong(given):
        yield exact(given.number("257x17x6", "surface"), 4369)
        raise ConvergenceError(7, 1.0, 0.1)

    def draw(path, given, lines):
        raise KeyError("the result that the item did not get")

    items_made(monkeypatch, Item("table-5.5", "wrong", wrong, draw=draw))
    lines = reproduce("madsen2010", device="cpu", output_dir=tmp_path)
    assert [line.failed for line in lines] == [False, True]
    assert [path.name for path in tmp_path.glob("*.png")] == []


def test_a_missing_device_ends_the_run(monkeypatch):
    def lost(given):
        raise DeviceError("the GPU is gone")
        yield

    items_made(monkeypatch, Item("lost", "lost", lost))
    with pytest.raises(DeviceError, match="gone"):
        reproduce("madsen2010", device="cpu")


def test_stored_results_stand_in_without_a_comparison(monkeypatch, tmp_path):
    items_made(monkeypatch, Item("table-5.5", "points", one_line))
    reproduce("madsen2010", output_dir=tmp_path, device="cpu", precision="double")
    text = (tmp_path / "reproduce.csv").read_text(encoding="utf-8")
    monkeypatch.setattr(run, "files", lambda name: tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "stored.csv").write_text(text, encoding="utf-8")
    run.stored_lines.cache_clear()
    items_made(monkeypatch, Item("table-5.5", "points", one_line, needs=("gpu",)))
    try:
        lines = reproduce("madsen2010", device="cpu")
    finally:
        run.stored_lines.cache_clear()
    assert [(line.outcome, line.failed, line.computed) for line in lines] == [("not run", False, None)] * 2
    device, commit = lines[0].device, lines[0].commit
    assert lines[1].note == f"needs a GPU; stored, {device}, double (commit {commit}): 26215"


def test_report_files(monkeypatch, tmp_path):
    items_made(monkeypatch, Item("table-5.5", "points | grids", one_line), Item("old", "Old", reason="no GPU of 2011"))
    lines = reproduce("madsen2010", output_dir=tmp_path / "a" / "b", device="cpu", precision="single")
    folder = tmp_path / "a" / "b"
    rows = list(csv.DictReader((folder / "reproduce.csv").read_text(encoding="utf-8").splitlines()))
    assert [tuple(row) for row in rows] == [run.FIELDS] * 3
    assert [(row["paper"], row["computed"], row["failed"], row["precision"]) for row in rows] == [
        ("madsen2010", "4369", "False", "single"),
        ("madsen2010", "26215", "True", "single"),
        ("madsen2010", "", "False", "single"),
    ]
    page = (folder / "reproduce.md").read_text(encoding="utf-8")
    assert "2 exact, 1 not run, 1 failed" in page and "26215" in page and "exact: FAILED" in page
    assert "![points | grids](table-5.5.png)" in page and (folder / "table-5.5.png").stat().st_size > 1000
    assert "* old: Old (no GPU of 2011)" in page
    assert lines[0].device in page and lines[0].commit in page


def test_without_matplotlib_the_report_has_no_pictures(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    monkeypatch.setattr(run, "find_spec", lambda name: None)
    reproduce("madsen2010", ["table-5.5"], tmp_path, device="cpu")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reproduce.csv", "reproduce.md"]
    assert "Matplotlib is not installed" in (tmp_path / "reproduce.md").read_text(encoding="utf-8")


def test_names_of_papers_and_items():
    assert source_named("barotropic") == source_named("bleichrodt2011") == "bleichrodt2011"
    with pytest.raises(InputError, match="write:   eagre reproduce bleichrodt2011"):
        source_named("bleichrot2011")
    with pytest.raises(InputError, match=r"write:   eagre reproduce madsen2010 table-5.5"):
        reproduce("potential-waves", ["table5.5"], device="cpu")
    with pytest.raises(InputError, match="precision"):
        reproduce("madsen2010", precision="half", device="cpu")
    with pytest.raises(ValueError, match="lines or a reason"):
        Item("table-1", "a table")


def test_the_list_imports_neither_numba_nor_matplotlib():
    script = (
        "import sys\n"
        "from eagre.cli.main import app\n"
        "try:\n    app(['reproduce', '--list'])\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print([name for name in ('numba', 'matplotlib', 'cupy', 'xarray') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert "table-B.2" in done.stdout and "table-5.5" in done.stdout
