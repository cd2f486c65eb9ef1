"""The feature tables name tests that exist."""

from __future__ import annotations

import re

import pytest

PAGE = "docs/development/features-shallow-water.md"
ROWS = {
    PAGE: range(1, 50),
    "docs/development/features-shallow-water-adi.md": range(1, 41),
    "docs/development/features-barotropic.md": range(1, 29),
    "docs/development/features-potential-waves.md": range(1, 31),
    "docs/development/features-anelastic.md": range(1, 31),
}


def missing(root, text):
    """Tests that the page names and the tree does not have."""
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 30
    return [f"{path}::{name}" for path, name in named if f"def {name}(" not in read(root / path)]


def read(path):
    return path.read_text() if path.exists() else ""


@pytest.mark.parametrize("page", ROWS)
def test_every_named_test_exists(root, page):
    assert missing(root, (root / page).read_text()) == []


@pytest.mark.parametrize("wrong", ["tests/unit/test_none.py::test_x", "tests/kernels/test_formulas.py::test_none"])
def test_a_test_that_is_gone_is_noticed(root, wrong):
    assert missing(root, (root / PAGE).read_text() + f"| `{wrong}` |") == [wrong]


@pytest.mark.parametrize("page", ROWS)
def test_every_row_of_the_table_has_a_test_or_says_open(root, page):
    rows = re.findall(r"^\| (F\d+) \|.*\| (.+) \|$", (root / page).read_text(), re.M)
    assert [row for row, _ in rows] == [f"F{k}" for k in ROWS[page]]
    assert [row for row, tests in rows if "::" not in tests and tests != "open"] == []
