"""docs/reference says what the source declares."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import eagre
import make_reference
import reference_case
import reference_cli
import reference_python

PACKAGES = (
    "eagre.waves", "eagre.advection", "eagre.solvers.poisson", "eagre.solvers.tridiagonal", "eagre.solvers.gcr",
    "eagre.solvers.multigrid", "eagre.io", "eagre.plots", "eagre.laboratory.cases", "eagre.laboratory.validation",
    "eagre.laboratory.bench", "eagre.laboratory.reproduce", "eagre.tuning",
)  # fmt: skip


def test_reference_is_current(capsys):
    assert make_reference.main(["--check"]) == 0, capsys.readouterr().out


def test_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_reference, "ROOT", tmp_path)
    assert make_reference.main(["--check"]) == 1
    assert make_reference.main([]) == 0
    assert make_reference.main(["--check"]) == 0
    page = tmp_path / "docs" / "reference" / "case-shallow-water.md"
    page.write_text(page.read_text().replace("`courant_number`", "`COURANT_NUMBER`"))
    capsys.readouterr()
    assert make_reference.main(["--check"]) == 1
    assert capsys.readouterr().out == "stale: docs/reference/case-shallow-water.md; write: make reference\n"


def test_every_section_and_condition_is_on_the_page_of_its_models():
    shared = reference_case.page()
    for heading in ("[run]", "[output]", "[gauges]", "[restart]"):
        assert f"### {heading}\n" in shared
    for model in ("shallow-water", "shallow-water-adi"):
        page = reference_case.model_page(model)
        for heading in ("[bed]", "[sources.rain]", "[numerics]"):
            assert f"## {heading}\n" in page and f"## {heading}\n" not in shared
        for kind in reference_case.CONDITIONS:
            assert f'kind = "{kind}"' in page
        assert "## [run]\n" not in page and "| `from` |" in page and "| `from_` |" not in page


def test_every_table_has_rows_of_its_columns():
    """A bar in a cell that is not escaped makes one more column."""
    for name, page in make_reference.PAGES.items():
        lines = page().splitlines() if name.endswith(".md") else []
        for k, line in enumerate(lines):
            if line.startswith("|") and k and lines[k - 1].startswith("|"):
                bars = [re.sub(r"\\\|", "", one).count("|") for one in (lines[k - 1], line)]
                assert bars[0] == bars[1], f"{name}: {line}"


def test_every_public_name_is_on_the_page():
    listed = {
        (section.module, name) for section in reference_python.SECTIONS for name in reference_python.names_of(section)
    }
    for module in (eagre, *map(importlib.import_module, PACKAGES)):
        for name in set(module.__all__) - {"__version__"}:
            assert (module.__name__, name) in listed, f"{module.__name__}.{name}"


def test_every_name_of_the_page_exists_and_has_a_docstring():
    for section in reference_python.SECTIONS:
        module = importlib.import_module(section.module)
        for name in reference_python.names_of(section):
            value = getattr(module, name)
            assert inspect.getdoc(value) or not callable(value), f"{section.module}.{name}"


def test_packages_with_public_names_are_those_of_the_page():
    listed = {section.module for section in reference_python.SECTIONS if not section.names}
    assert listed == set(PACKAGES)
    found = set()
    for info in pkgutil.walk_packages(eagre.__path__, "eagre."):
        if info.ispkg and hasattr(importlib.import_module(info.name), "__all__"):
            found.add(info.name)
    assert found == listed | {"eagre.boundaries", "eagre.terms"}  # whose names `eagre` has too


def test_commands_are_on_the_page():
    page = reference_cli.page()
    for name in ("run", "new", "info", "plot", "animate"):
        assert f"## eagre {name}\n" in page
    assert "`--device`" in page
