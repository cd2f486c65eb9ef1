"""What the documentation tells people to type works."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STARTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")]
GENERATED = ROOT / "docs" / "gallery"  # by `make docs`, from the examples
PAGES = [*STARTS, *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != GENERATED)]
VECTORS = (
    "landuse.geojson",
    "lakes.geojson",
    "catchment.geojson",
    "catchments.geojson",
    "walls.geojson",
    "levees.geojson",
    "rain.csv",
)
BASE = 'model = "shallow-water"\nrun.end_time = "10 min"\nbed.value = -10.0\ngrid = { nx = 50, ny = 50, dx = 20.0 }\n'


def blocks(page: Path, language: str) -> list[str]:
    """Code blocks of a page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def every_block(language: str) -> list:
    """All code blocks in a language as test parameters."""
    return [
        pytest.param(block, id=f"{page.relative_to(ROOT)}-{number}")
        for page in PAGES
        for number, block in enumerate(blocks(page, language), 1)
    ]


def commands() -> list:
    """Lines of all console blocks, without comments, as test parameters."""
    found = {}
    for page in PAGES:
        for block in blocks(page, "console"):
            for line in block.splitlines():
                words = shlex.split(line, comments=True)
                if words:
                    found[line.split("#")[0].strip()] = page.name
    return [pytest.param(shlex.split(line), id=f"{page}: {line}") for line, page in found.items()]


@pytest.fixture
def demo_folder(tmp_path, monkeypatch):
    """An empty folder with the demo's files, and a few that the documentation speaks of, as the current one."""
    for path in (ROOT / "examples" / "demo").glob("*.*"):
        shutil.copy(path, tmp_path)
    (tmp_path / "river.csv").write_text("time,q\n0,100\n86400,200\n")
    for name in ("restart.nc", "survey.tif", "chart.nc", "worldcover.tif", "era5.nc", "track.csv", *VECTORS):
        (tmp_path / name).touch()
    (tmp_path / "sounding.csv").write_text("z,theta\n0,300\n2000,310\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TUTORIAL = ROOT / "docs" / "tutorial-first-case.md"


@pytest.mark.parametrize("block", [one for one in every_block("python") if "tutorial" not in str(one.id)])
def test_python_of_the_documents_runs(block, demo_folder, capsys):
    (demo_folder / "restart.nc").unlink()
    exec(compile(block, "document", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out or "print(" not in block


def test_tutorial_runs_as_it_is_written(demo_folder, capsys):
    """Its case, built up block by block, on cells four times as large; its commands; its last lines of Python."""
    from typer.testing import CliRunner

    from eagre.cli.main import app

    case, grid, *more = blocks(TUTORIAL, "toml")
    case = case + grid.replace("40.0", "80.0")
    runs = [case, (case + "".join(more)).replace('"10 min"', '"1 h"')]
    first, *after = [line for block in blocks(TUTORIAL, "console") for line in block.splitlines()]
    for text, lines in zip(runs, ([first], [first, *after]), strict=True):
        (demo_folder / "case.toml").write_text(text)
        for line in lines:
            result = CliRunner().invoke(
                app, [*shlex.split(line)[1:], *(["--device", "cpu"] if " run " in line else [])]
            )
            assert result.exit_code == 0, f"{line}: {result.output}"
    assert all((demo_folder / name).stat().st_size > 10_000 for name in ("bay.png", "gauges.png", "bay.gif"))
    (code,) = blocks(TUTORIAL, "python")
    capsys.readouterr()
    exec(compile(code, "tutorial", "exec"), {"__name__": "__main__"})
    assert 0.05 < float(capsys.readouterr().out.split()[0]) < 10.0


@pytest.mark.parametrize("text", every_block("toml"))
def test_case_files_of_the_pages_are_valid(text, demo_folder):
    from eagre.models.registry import load_case

    data = tomllib.loads(text)
    base = BASE.replace("bed.value = -10.0", 'bed.file = "bay.tif"') if "grid" in data else BASE
    base = "".join(line + "\n" for line in base.splitlines() if line.split(" ")[0].split(".")[0] not in data)
    kind = data.get("model", "shallow-water")
    (demo_folder / "page.toml").write_text((base if kind == "shallow-water" else "") + text)
    assert load_case(demo_folder / "page.toml").kind == kind


@pytest.mark.parametrize("words", commands())
def test_commands_of_the_pages_exist(words):
    program, *arguments = words
    if program == "make":
        makefile = (ROOT / "Makefile").read_text()
        assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in arguments)
    elif program == "eagre":
        import typer

        from eagre.cli.main import app

        group = typer.main.get_command(app)
        assert arguments[0] in group.commands
        options = {name for parameter in group.commands[arguments[0]].params for name in parameter.opts}
        assert {word for word in arguments if word.startswith("--")} <= options | {"--help"}
    elif program == "python":
        assert (ROOT / arguments[0]).exists()
    else:
        assert program in ("pip", ".venv/bin/pre-commit")


def anchors(page: Path) -> set[str]:
    """What a link into a page may end in, as GitHub makes it of headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"\]\([^)]*\)", "", head).lower()).replace(" ", "-") for head in heads}


def test_links_of_the_pages_lead_somewhere():
    missing = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)]*))?\)", page.read_text(encoding="utf-8")):
            there = (page.parent / target).resolve() if target else page
            if "://" in target:
                continue
            if not there.exists() or (anchor and anchor not in anchors(there)):
                missing.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert not missing, "\n".join(missing)
