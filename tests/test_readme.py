"""Every snippet of the documentation runs; `page_files` makes the files that the snippets name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from page_files import FILES, OF_PAGE, make_files

ROOT = Path(__file__).resolve().parents[1]
STARTS = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")]
GENERATED = ROOT / "docs" / "gallery"  # by `make docs`, from the examples
PAGES = [*STARTS, *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent != GENERATED)]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
TUTORIAL = "docs/tutorial-first-case.md"
RUN_HERE = ("python", "toml", "console", "bash", "json")
RUN_ELSEWHERE = {
    ("text", "docs/how-to/processes.md"): "tests/cli/test_cli_mpi.py; not on several hosts and not under SLURM",
    ("", "docs/how-to/fortran.md"): "tests/unit/test_foreign_memory.py",
    ("", "docs/how-to/library.md"): "commands of compilers, as in tests/unit/test_c_library.py",
    ("c", "docs/how-to/library.md"): "tests/unit/test_c_library.py",
    ("fortran", "docs/how-to/library.md"): "tests/unit/test_c_library.py",
    ("fortranfixed", "docs/how-to/library.md"): "tests/unit/test_c_library.py",
    ("text", "docs/how-to/tuning.md"): "printed lines, not input",
}
"""Languages and pages of the snippets that other tests run."""

BASE = """\
model = "shallow-water"
run.end_time = "10 min"
bed.value = -10.0
initial.surface_elevation = 0.0
grid = { nx = 50, ny = 50, dx = 20.0 }
"""
DEMO_BASE = BASE.replace("bed.value = -10.0", 'bed.file = "bay.tif"').replace(
    "nx = 50, ny = 50, dx = 20.0", "dx = 160.0"
)
TERRAIN_BASE = BASE.replace("bed.value = -10.0", 'bed.file = ["survey.tif", "chart.nc"]').replace(
    "nx = 50, ny = 50, dx = 20.0",
    'crs = "EPSG:32629", dx = 50.0, extent = [512000.0, 518000.0, 4660000.0, 4666000.0]',
)
BASES = {
    "docs/how-to/gauges.md": DEMO_BASE, "docs/how-to/lines.md": DEMO_BASE, "docs/how-to/maps.md": DEMO_BASE,
    "docs/how-to/outputs.md": DEMO_BASE, "docs/how-to/restart.md": DEMO_BASE, "docs/how-to/terrain.md": TERRAIN_BASE,
}  # fmt: skip
"""Cases that the parts of cases on a page belong to, if not BASE; a part with a bed belongs to BASE."""

BEFORE = {
    "docs/how-to/gis.md": "eagre run case.toml",
    "docs/how-to/outputs.md": "eagre run case.toml",
    "docs/how-to/restart.md": "eagre run case.toml --set 'run.end_time=5 min'",
}
"""The command that makes the files which the commands of a page read."""

CHANGES = {
    "README.md": "run.end_time=2",
    "docs/how-to/gis.md": "grid.dx=160.0, run.end_time=30 min",
    "docs/how-to/outputs.md": "run.end_time=20 min, output[2].interval=60, output[1].interval=5 min",
    "docs/how-to/python.md": "grid.dx=160.0, run.end_time=2 min",
    "docs/how-to/sweeps.md": "grid.dx=160.0, run.end_time=1 min",
    "docs/how-to/waves.md": "basin.nx=177, run.end_time=40",
    "docs/models/anelastic.md": "run.end_time=60",
    "docs/models/barotropic.md": "run.end_time=10 d",
    "docs/models/potential-waves.md": "run.end_time=14, output.interval=2",
    "docs/start/install.md": "run.end_time=2",
}
"""Changes that make the runs of a page short."""

NEVER_RUN = {
    r"make\b|pip\b|\.venv/": "installs packages, or runs the whole of the project",
    r"python tools/check_vocabulary\.py --update": "changes a file of the repository",
    r"eagre .*--device cuda": "needs an NVIDIA GPU",
    r"eagre tune\b": "times programs for minutes; tests/cli/test_cli_tune.py runs the command",
    r"eagre reproduce\b": "times programs for minutes; tests/unit/test_reproduce.py runs the items",
    r"eagre bench\b": "times programs for minutes; tests/unit/test_bench_suite.py runs the suites",
}
"""Commands that the test of a page only parses, as patterns, with the reason."""


def snippets(page: str) -> Iterator[tuple[str, str]]:
    """Return language and text of each fenced block of a page, also of indented ones."""
    fence, language, lines = "", "", []
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        found = re.match(r"\s*(`{3,})\s*(.*)$", line)
        if found and not fence:
            fence, language, lines = found[1], found[2], []
        elif found and found[1] == fence and not found[2]:
            yield language, "\n".join(lines) + "\n"
            fence = ""
        elif fence:
            lines.append(line)


def every_block(language: str) -> list:
    """All code blocks in a language as test parameters: the page, and the text."""
    return [
        pytest.param(page, block, id=f"{page}-{number}")
        for page in NAMES
        for number, block in enumerate((text for name, text in snippets(page) if name == language), 1)
    ]


def commands(block: str) -> list[str]:
    """Lines of a console block, without comments."""
    lines = (shlex.join(shlex.split(line, comments=True)) for line in block.splitlines())
    return [line for line in lines if line]


def every_command() -> list:
    """Commands of all console blocks, and those of the program within sentences, as test parameters."""
    found = {}
    for page in NAMES:
        lines = [line for language, block in snippets(page) if language == "console" for line in commands(block)]
        prose = re.findall(r"`(eagre [a-z][^`|]*)[`|]", (ROOT / page).read_text(encoding="utf-8"))
        found |= {line: page for line in [*lines, *prose] if not line.startswith("eagre new MODEL")}
    return [pytest.param(shlex.split(line), id=f"{Path(page).name}: {line}") for line, page in found.items()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder as the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("page", "block"), [one for one in every_block("python") if TUTORIAL not in str(one.id)])
def test_python_of_the_documents_runs(page, block, folder, capsys):
    make_files(page, folder)
    exec(compile(block, "document", "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out or "print(" not in block


def run_eagre(line: str, *more: str) -> None:
    """Run a command of the program in this process, on a CPU."""
    from typer.testing import CliRunner

    from eagre.cli.main import app

    words = [*shlex.split(line)[1:], *more]
    words += ["--device", "cpu"] if words[0] in ("run", "check") else []
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{shlex.join(words)}: {result.output}{result.exception!r}"


def check_case(page: str, text: str) -> None:
    """Write a case, or a part of one with the rest of its base, to case.toml, and check it as `eagre check` does."""
    data = tomllib.loads(text)
    base = "" if "model" in data else BASE if "bed" in data else BASES.get(page, BASE)
    lines = [line for line in base.splitlines() if re.split(r"[ .]", line)[0] not in data]
    Path("case.toml").write_text("\n".join([*lines, text]))
    run_eagre("eagre check case.toml --overwrite")


def run_command(page: str, line: str) -> None:
    """Run a line of a console block; `eagre new` may replace the case of the lines before."""
    if any(re.match(pattern, line) for pattern in NEVER_RUN):
        return
    if line.startswith("eagre new"):
        Path("case.toml").unlink(missing_ok=True)
    if line.startswith("eagre"):
        changes = CHANGES.get(page, "").split(", ") if line.startswith(("eagre run", "eagre sweep")) else []
        run_eagre(line, *(word for change in changes if change for word in ("--set", change)))
    else:
        subprocess.run([sys.executable, *shlex.split(line)[1:]], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def pages_with(*languages: str) -> list[str]:
    """Pages that have snippets in one of the languages."""
    return [page for page in NAMES if any(language in languages for language, _ in snippets(page))]


@pytest.mark.parametrize("page", [page for page in pages_with("toml", "console", "bash") if page != TUTORIAL])
def test_cases_and_commands_of_a_page_run(page, folder):
    """From top to bottom, in one folder: cases are checked, commands are run on the case above them."""
    make_files(page, folder)
    (folder / "examples").symlink_to(ROOT / "examples")
    before = BEFORE.get(page, "")
    for language, block in snippets(page):
        if language == "toml":
            check_case(page, block)
        elif language == "bash" and not re.match(r"make\b", block):
            subprocess.run(["bash", "-euc", block], check=True)
        elif language == "console":
            for line in [before] * bool(before) + commands(block):
                run_command(page, line)
            before = ""


def test_a_table_of_launch_parameters_is_accepted(monkeypatch, folder):
    from eagre.backend.select import select

    ((_, block),) = [(language, text) for page in NAMES for language, text in snippets(page) if language == "json"]
    (folder / "table.json").write_text(block)
    monkeypatch.setenv("EAGRE_LAYOUTS", str(folder / "table.json"))
    select("cpu")


def test_tables_of_this_file_name_what_the_pages_have():
    pages = {page: (ROOT / page).read_text(encoding="utf-8") for page in NAMES}
    assert {*BASES, *BEFORE, *CHANGES, *OF_PAGE} <= set(pages)
    assert all(any(name in text for text in pages.values()) for name in FILES)
    lines = [
        line
        for page in NAMES
        for language, block in snippets(page)
        if language == "console"
        for line in commands(block)
    ]
    assert all(any(re.match(pattern, line) for line in lines) for pattern in NEVER_RUN)


def test_there_are_no_other_kinds_of_snippets():
    found = {(language, page) for page in NAMES for language, _ in snippets(page) if not language.startswith("{")}
    assert {one for one in found if one[0] not in RUN_HERE} == set(RUN_ELSEWHERE)


def test_tutorial_runs_as_it_is_written(folder, capsys):
    """Its case, built up block by block, on cells four times as large; its commands; its last lines of Python."""
    (folder / "examples").symlink_to(ROOT / "examples")
    blocks = [one for one in snippets(TUTORIAL) if not one[0].startswith("{")]
    copy, case, grid, *more = [text for language, text in blocks if language in ("bash", "toml")]
    subprocess.run(["bash", "-euc", copy], check=True)
    os.chdir(folder / "my-bay")
    case = case + grid.replace("40.0", "80.0")
    runs = [case, (case + "".join(more)).replace('"10 min"', '"1 h"')]
    first, *after = [line for language, text in blocks if language == "console" for line in commands(text)]
    for text, lines in zip(runs, ([first], [first, *after]), strict=True):
        Path("case.toml").write_text(text)
        for line in lines:
            run_eagre(line)
    assert all(Path(name).stat().st_size > 10_000 for name in ("bay.png", "gauges.png", "bay.gif"))
    (code,) = [text for language, text in blocks if language == "python"]
    capsys.readouterr()
    exec(compile(code, "tutorial", "exec"), {"__name__": "__main__"})
    assert 0.05 < float(capsys.readouterr().out.split()[0]) < 10.0


@pytest.mark.parametrize("words", every_command())
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
        assert {word for word in arguments if re.match("--?[a-z]", word)} <= options | {"--help"}
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
