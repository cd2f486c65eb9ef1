"""Norms, results and reports of the validation."""

from __future__ import annotations

import csv
import math
from itertools import islice

import numpy as np
import pytest

from eagre.errors import InputError
from eagre.laboratory.validation import Result, observed_orders, registry, relative_norms, shallow_water, validate
from eagre.laboratory.validation.measures import draw_convergence, draw_gauges, draw_profile
from eagre.laboratory.validation.result import BOTH, COLUMNS, Check, Setting, each, once, write_report
from eagre.laboratory.validation.shallow_water import FLOWS


def test_norms_of_a_known_error():
    norms = relative_norms(np.array([1.0, 2.0, 3.0, 6.0]), np.array([1.0, 2.0, 3.0, 2.0]))
    assert norms == pytest.approx((4 / 8, math.sqrt(16 / 18), 4 / 3))


def test_norms_against_nothing_are_absolute_and_in_double():
    assert relative_norms(np.array([0.5, 0.5]), np.zeros(2)).l1 == 0.5
    big = np.full(4, 1e30, np.float32)
    assert relative_norms(big, 0.5 * big).l2 == pytest.approx(1.0)


def test_observed_orders():
    assert observed_orders([1.0, 0.25, 0.125]) == pytest.approx([2.0, 1.0])
    assert observed_orders([9.0, 1.0], 3.0) == pytest.approx([2.0])


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        (Result("a", "double", "error", 0.1, 0.1), True),
        (Result("a", "double", "error", 0.11, 0.1), False),
        (Result("a", "double", "order", 1.9, 1.8, at_least=True), True),
        (Result("a", "double", "order", 1.7, 1.8, at_least=True), False),
        (Result("a", "double", "reported", 7.0), True),
        (Result("a", "double", "error", math.nan, 0.1), False),
        (Result("a", "double", "order", math.nan, 0.1, at_least=True), False),
        (Result("a", "double", "reported", math.nan), False),
    ],
)
def test_verdicts(result, passed):
    assert result.passed is passed
    assert (result.row()[5] == "NO") is not passed


def test_report_files(tmp_path):
    results = [
        Result("lake", "single", "max |hu|", 1e-7, 5e-6, detail="64 x 64"),
        Result("bowl", "double", "L1", 0.5, 0.1),
    ]
    table, page = write_report(tmp_path / "deep" / "er", results, "Title", [tmp_path / "a.png"])
    rows = list(csv.reader(table.read_text().splitlines()))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 3
    text = page.read_text()
    assert text.startswith("# Title") and "2 numbers, 1 outside" in text and "| NO |" in text and "![a](a.png)" in text
    assert "max \\|hu\\|" in text and rows[1][2] == "max |hu|"


def test_validate_runs_what_it_is_asked_for(tmp_path, monkeypatch):
    def one(run, limit):
        run.picture(draw_convergence, "one", (10, 20), {"h": [1.0, 0.5]})
        yield Check("error", 0.0, limit)

    def two(run):
        yield Check("difference", 0.0, detail="of the two")
        yield Check("error", 2.0, 1.0, True, precision="double")

    def three(run):
        raise AssertionError("not asked for")

    known = {"one": each(one, 1.0), "two": once(BOTH, two), "three": each(three)}
    monkeypatch.setattr(registry, "validations", lambda kind: known)
    seen = []
    results = validate("shallow-water", ["one"], tmp_path, on_result=seen.append)
    assert [r.precision for r in results] == ["single", "double"] and seen == results
    assert {p.name for p in tmp_path.iterdir()} == {
        "one-single.png",
        "one-double.png",
        "validation.csv",
        "validation.md",
    }
    assert validate("shallow-water", ["one"], precision="double") == [Result("one", "double", "error", 0.0, 1.0)]
    assert validate("shallow-water", ["two"], precision="double") == [
        Result("two", "single/double", "difference", 0.0, detail="of the two"),
        Result("two", "double", "error", 2.0, 1.0, True),
    ]


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("spherical", {}, "shallow-water"),
        ("shallow-water", {"names": ["stokes"]}, "stoker"),
        ("shallow-water", {"names": [], "precision": "half"}, "double"),
    ],
)
def test_validate_says_what_is_allowed(kind, options, message):
    with pytest.raises(InputError, match=message):
        validate(kind, **options)


def test_pictures_are_written(tmp_path):
    x = np.linspace(0, 1, 20)
    paths = [
        draw_profile(tmp_path / "a.png", "a", x, {"computed": x}, x, 0 * x),
        draw_profile(tmp_path / "d.png", "d", x, {"now": x, "then": 2.0 * x}),
        draw_gauges(tmp_path / "b.png", "b", x, {"g": x, "k": x}, x, {"g": x, "k": x}),
        draw_gauges(tmp_path / "c.png", "c", x, {"g": x}, x, {"g": x}),
    ]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_case_without_its_data_is_reported_or_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("EAGRE_DATA", str(tmp_path))
    (result,) = FLOWS["monai"].results("monai", Setting(chosen=False))
    assert result.case == "monai" and result.quantity.startswith("not run") and "EAGRE_DATA" in result.detail
    with pytest.raises(InputError, match="Monai"):
        list(FLOWS["monai"].results("monai", Setting(chosen=True)))


def test_what_was_not_run_is_not_counted(tmp_path):
    """A CPU is not compared with itself."""
    results = validate("barotropic", ["devices"], tmp_path, device="cpu")
    assert [result.quantity for result in results] == ["not run: the device is the CPU"]
    assert not results[0].compared and "\n0 numbers, 0 outside" in (tmp_path / "validation.md").read_text()


class Outcomes:
    """A finished study of which only the limits of its checks are asked: all its numbers are 0."""

    def __getattr__(self, name):
        return Outcomes()

    def __getitem__(self, index):
        return Outcomes()

    def __float__(self):
        return 0.0

    def __str__(self):
        return "no detail"


@pytest.mark.parametrize("name", [name for name in FLOWS if name in ("stoker", "ritter") or "macdonald" in name])
def test_limits_on_the_page_are_those_of_the_code(name, root, monkeypatch):
    monkeypatch.setattr(shallow_water, "convergence_study", lambda *given, **options: Outcomes())
    page = (root / "docs/models/shallow-water-validation.md").read_text().splitlines()
    rows = [[text.strip() for text in line.strip("|").split("|")] for line in page if line.startswith(f"| {name} |")]
    printed = {row[1]: row[-1] for row in rows}
    checks = FLOWS[name].results(name, Setting("cpu", ("double",)))
    found = {r.quantity: r.limit_text for r in islice(checks, len(printed))}
    assert printed == found and any(found.values())
