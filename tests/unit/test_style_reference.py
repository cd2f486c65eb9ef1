"""docs/reference says what the source declares."""

from __future__ import annotations

import make_reference
import reference_case
import reference_cli


def test_reference_is_current(capsys):
    assert make_reference.main(["--check"]) == 0, capsys.readouterr().out


def test_stale_page_is_noticed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(make_reference, "FOLDER", tmp_path / "reference")
    assert make_reference.main(["--check"]) == 1
    assert make_reference.main([]) == 0
    assert make_reference.main(["--check"]) == 0
    page = tmp_path / "reference" / "case-file.md"
    page.write_text(page.read_text().replace("`cfl`", "`CFL`"))
    capsys.readouterr()
    assert make_reference.main(["--check"]) == 1
    assert capsys.readouterr().out == "stale: case-file.md; write: make reference\n"


def test_every_section_and_condition_is_on_the_page():
    page = reference_case.page()
    for heading in ("[run]", "[bed]", "[sources.rain]", "[numerics]", "[restart]"):
        assert f"### {heading}\n" in page
    for kind in reference_case.CONDITIONS:
        assert f'kind = "{kind}"' in page
    assert "| `from` |" in page and "| `from_` |" not in page


def test_commands_are_on_the_page():
    page = reference_cli.page()
    for name in ("run", "new", "info", "plot", "animate"):
        assert f"## eagre {name}\n" in page
    assert "`--device`" in page
