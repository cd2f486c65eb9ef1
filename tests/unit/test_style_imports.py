"""Imports point one way, within packages too (between them: import-linter's contracts in pyproject.toml)."""

from __future__ import annotations

import pytest

pytest.importorskip("grimp", reason="pip install 'eagre[dev]'")

from import_circles import circles, imports_of


def test_no_imports_in_a_circle():
    """Those within functions and for type checking count as well."""
    imports = imports_of("eagre")
    assert len(imports) > 100 and "eagre.backend.device" in imports["eagre.backend.cuda_device"]
    assert circles(imports) == []


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
