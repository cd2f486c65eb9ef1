"""The vocabulary check finds private terms, leaves code alone and lets counts only fall."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

import check_vocabulary as cv
import reference_python


def kinds(path: Path, text: str) -> list[tuple[str, str]]:
    """Return the kinds and texts of the terms in a file of this text."""
    path.write_text(text)
    return [(hit.kind, hit.text) for hit in cv.hits_of(path)[1]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in the place of the repository."""
    monkeypatch.setattr(cv, "ROOT", tmp_path)
    return tmp_path


def test_terms_are_found_in_each_kind_of_text(folder):
    source = '"""Keys are refused."""\n\nfound = "the file is refused by the program"  # what is refused\n'
    assert kinds(folder / "module.py", source) == [
        ("docstring", "refused"), ("name", "found"), ("message", "refused"), ("comment", "refused"),
    ]  # fmt: skip
    assert kinds(folder / "page.md", "It is refused.\n") == [("page", "refused")]


def test_code_short_strings_and_marked_lines_are_left_alone(folder):
    page = "`refused` and\n\n```python\nrefused\n```\n\n$$\nrefused\n$$\n\nIt is refused. <!-- vocabulary: ok -->\n"
    assert kinds(folder / "page.md", page) == []
    assert kinds(folder / "module.py", 'KEY = "refused"\n') == []


def test_lines_of_terms_are_told(folder):
    (folder / "page.md").write_text("One.\n\nTwo is\nrefused.\n")
    [hit] = cv.hits_of(folder / "page.md")[1]
    assert hit.line == 4 and "reject" in str(hit)


def test_rates_and_rising_counts_break_the_rules(folder):
    hits = [cv.Hit(Path("docs/a.md"), 1, "page", "refused", "reject")]
    assert cv.check({"pages": 2000, "messages": 0}, hits, {}) == []
    [line] = cv.check({"pages": 500, "messages": 0}, hits, {})
    assert line.startswith("pages: 2.00 private terms per 1,000 words")
    hits = [cv.Hit(Path("src/eagre/a.py"), 1, "comment", "refused", "reject")] * 2
    assert cv.check({"pages": 0, "messages": 0}, hits, {"src/eagre: comments": 2}) == []
    broken = cv.check({"pages": 0, "messages": 0}, hits, {"src/eagre: comments": 1})
    assert broken[0] == "src/eagre: comments: 2 private terms; allowed: 1" and len(broken) == 3


def public_docstrings():
    """Yield the name and the docstring of each name of the Python API and of its members."""
    for section in reference_python.SECTIONS:
        module = importlib.import_module(section.module)
        for name in reference_python.names_of(section):
            value = getattr(module, name)
            yield name, inspect.getdoc(value) if callable(value) else None
            for member in (one for one in dir(value) if inspect.isclass(value) and not one.startswith("_")):
                yield f"{name}.{member}", inspect.getdoc(getattr(value, member, None))


def test_public_docstrings_use_standard_terms():
    passages = {cv.blank(cv.DOCSTRING_CODE, text): name for name, text in public_docstrings() if text}
    words = sum(len(cv.WORD.findall(text)) for text in passages)
    hits = [
        f"{name}: {match[0]}"
        for text, name in passages.items()
        for entry in cv.entries()
        for match in entry.matches(cv.Passage("docstring", text, 1))
    ]
    assert words > 15000 and 1000.0 * len(hits) / words < cv.GOAL, "\n".join(hits)
