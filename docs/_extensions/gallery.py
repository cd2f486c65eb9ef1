"""Write the gallery: a page for each example, from its case file, script or notebook and its stored pictures.

The first comment of an example is its description, up to the first labelled line. The first ``Plot:`` command draws the
picture of the gallery (``make gallery``); ``Run time: 20 s`` is the time on two CPU cores. The title is the key
``title`` of the case, or the first line of the docstring of the script.

A notebook of examples/notebooks starts with its title and description. Its metadata ``eagre`` has the model and the run
time. Its page contains all cells, with the stored figures below the cells that draw them.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LABEL = re.compile("(Run|Plot|Run time|Model):")
PAGES = ROOT / "docs" / "gallery"
GROUPS = {
    "shallow-water": "Shallow water: explicit model",
    "shallow-water-adi": "Shallow water: implicit model",
    "barotropic": "Ocean gyres",
    "potential-waves": "Potential-flow waves",
    "anelastic": "Atmosphere",
}


@dataclass(frozen=True)
class Example:
    """An example: its name, source, model, title, description, run time and the command of its picture."""

    name: str
    source: Path
    model: str
    title: str
    description: str
    run_time: str
    picture: str

    @property
    def image(self) -> Path:
        """The stored picture; of a notebook the last figure."""
        figures = sorted((PAGES / "images").glob(f"{self.name}-*.png")) if self.source.suffix == ".ipynb" else []
        return figures[-1] if figures else PAGES / "images" / f"{self.name}.png"

    def figure(self, number: int) -> Path:
        """Return the stored figure of a code cell of a notebook, counted from 1."""
        return PAGES / "images" / f"{self.name}-{number}.png"


def _labelled(lines: list[str], label: str) -> str:
    """Return the text after a label such as ``Picture:``, or an empty string."""
    return next((line.removeprefix(label).strip() for line in lines if line.startswith(label)), "")


def read_example(source: Path) -> Example:
    """Read the header of a case file or a script."""
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".toml":
        case = tomllib.loads(text)
        title, model = case.get("title", source.parent.name), case["model"]
        comment = [line.removeprefix("#").strip() for line in text.split("\n\n")[0].splitlines()]
    else:
        docstring = (ast.get_docstring(ast.parse(text)) or source.stem).splitlines()
        title, comment = docstring[0].rstrip("."), [line.strip() for line in docstring[1:]]
        model = _labelled(comment, "Model:") or "shallow-water"
    prose = itertools.takewhile(lambda line: not LABEL.match(line), comment)
    description = " ".join(prose).strip()
    return Example(
        source.parent.name, source, model, title, description,
        _labelled(comment, "Run time:"), _labelled(comment, "Plot:"),
    )  # fmt: skip


def read_cells(notebook: Path) -> list[tuple[str, str]]:
    """Return the kind, "markdown" or "code", and the text of each cell of a notebook."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in cells]


def read_notebook(source: Path) -> Example:
    """Read title and description of a notebook from its first cell, and its metadata."""
    about = json.loads(source.read_text(encoding="utf-8"))["metadata"]["eagre"]
    (_, first), *_ = read_cells(source)
    title, _, description = first.removeprefix("# ").partition("\n")
    return Example(source.stem, source, about["model"], title, description.strip(), about["run_time"], source.name)


def all_examples() -> list[Example]:
    """Return the examples, sorted by model and name."""
    sources = [*EXAMPLES.glob("*/case.toml")]
    sources += [path for path in EXAMPLES.glob("*/*.py") if path.stem == path.parent.name]
    examples = [read_example(path) for path in sources]
    examples += [read_notebook(path) for path in EXAMPLES.glob("notebooks/*.ipynb")]
    return sorted(examples, key=lambda one: (list(GROUPS).index(one.model), one.name))


def notebook_page(example: Example) -> str:
    """Return the page of a notebook: its cells, with links as on the site, and its figures."""
    source = f"../../{example.source.relative_to(ROOT)}"
    lines = [f"# {example.title}", "", example.description, "", f"Run time: {example.run_time} on two CPU cores.", ""]
    lines += [f"{{download}}`Download {example.source.name} <{source}>` and open it with Jupyter.", ""]
    _, *cells = read_cells(example.source)
    count = 0
    for kind, text in cells:
        count += kind == "code"
        lines += ["```python", text, "```", ""] if kind == "code" else [text, ""]
        if kind == "code" and example.figure(count).exists():
            lines += [f"![{example.title}](images/{example.figure(count).name})", ""]
    page = "\n".join(lines).replace("](../../docs/", "](../")
    return re.sub(r"\]\(\.\./(\w+)/case\.toml\)", r"](\1.md)", page)


def page_of(example: Example) -> str:
    """Return the page of an example."""
    if example.source.suffix == ".ipynb":
        return notebook_page(example)
    source = f"../../{example.source.relative_to(ROOT)}"
    language = "toml" if example.source.suffix == ".toml" else "python"
    lines = [f"# {example.title}", "", example.description, ""]
    if example.image.exists():
        lines += [f"![{example.title}](images/{example.name}.png)", ""]
    if example.run_time:
        lines += [f"Run time: {example.run_time} on two CPU cores.", ""]
    start = "eagre run" if language == "toml" else "python"
    commands = [f"{start} {example.source.relative_to(ROOT)}", *[example.picture] * example.picture.startswith("eagre")]
    lines += ["```console", *commands]
    lines += ["```", "", f"{{download}}`Download {example.source.name} <{source}>`", ""]
    lines += [f"```{{literalinclude}} {source}", f":language: {language}", "```", ""]
    return "\n".join(lines)


def index_of(examples: list[Example]) -> str:
    """Return the index with a card for each example."""
    lines = ["# Gallery", "", "Each picture is the result of one short case file, script or notebook.", ""]
    for model, heading in GROUPS.items():
        lines += [f"## {heading}", "", "::::{grid} 1 2 3 3", ":gutter: 3", ""]
        for one in (example for example in examples if example.model == model):
            lines += [f":::{{grid-item-card}} {one.title}", f":link: {one.name}", ":link-type: doc"]
            lines += [f":img-top: images/{one.image.name}"] if one.image.exists() else []
            lines += ["", ":::", ""]
        lines += ["::::", ""]
    names = [f"{one.title} <{one.name}>" for one in examples]
    return "\n".join([*lines, "```{toctree}", ":hidden:", "", *names, "```", ""])


def write_pages(_app: Any = None) -> None:
    """Write the pages that have changed, and remove those of examples that no longer exist."""
    examples = all_examples()
    pages = {f"{one.name}.md": page_of(one) for one in examples} | {"index.md": index_of(examples)}
    PAGES.mkdir(exist_ok=True)
    for path in PAGES.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = PAGES / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for documents."""
    app.connect("config-inited", lambda app, _config: write_pages(app))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
