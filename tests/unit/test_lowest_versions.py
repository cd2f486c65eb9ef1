"""Lower bounds of dependencies, and the one module that uses internals of Numba."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from lowest_versions import lowest_versions

ROOT = Path(__file__).parents[2]
PUBLIC = {"numba", "numba.cuda", "numba.extending", "numba.cuda.extending", "numba_cuda"}


def test_every_dependency_is_pinned_to_its_lower_bound():
    text = """
[project]
dependencies = ["numba>=0.62", "cupy[all] >= 13.6"]
[project.optional-dependencies]
zarr = ["zarr>=3.1"]
"""
    assert lowest_versions(text, ["zarr"]) == ["numba==0.62", "cupy==13.6", "zarr==3.1"]
    with pytest.raises(ValueError, match="unknown extras"):
        lowest_versions(text, ["zar"])
    with pytest.raises(ValueError, match="no lower bound"):
        lowest_versions(text.replace("numba>=0.62", "numba"), [])


def test_the_project_has_a_lower_bound_for_everything():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert "numba==0.62" in lowest_versions(text, ["zarr", "vector", "spectra", "video"])


def test_only_one_module_imports_internals_of_numba():
    importing = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else names
            if any(name.split(".")[0].startswith("numba") and name not in PUBLIC for name in names if name):
                importing.add(path.name)
    assert importing == {"numba_internals.py"}
