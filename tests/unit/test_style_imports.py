"""Imports point one way, within packages too (between them: import-linter's contracts in pyproject.toml)."""

from __future__ import annotations

import ast

import pytest

import eagre

pytest.importorskip("grimp", reason="pip install 'eagre[dev]'")

from import_circles import circles, imports_of


def test_no_imports_in_a_circle():
    """Those within functions and for type checking count as well."""
    imports = imports_of("eagre")
    assert len(imports) > 100 and "eagre.backend.device" in imports["eagre.backend.cuda.device"]
    assert circles(imports) == []


def test_oracles_take_nothing_from_the_package(root):
    files = sorted((root / "tests" / "oracle").glob("*.py"))
    assert len(files) > 3
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "eagre" for name in names), f"{file.name}:{node.lineno}"


@pytest.mark.parametrize(
    ("imports", "expected"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"a"}}, [["a", "b"]]),
        ({"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}, [["a", "b", "c"], ["d", "e"]]),
    ],
)
def test_circles(imports, expected):
    assert circles(imports) == expected


def test_every_public_name_is_there():
    assert [name for name in eagre.__all__ if not hasattr(eagre, name)] == []
