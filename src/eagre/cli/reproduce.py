"""``eagre reproduce``: tables and figures of the five papers that Eagre follows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from eagre.laboratory.reproduce.registry import Item
    from eagre.laboratory.reproduce.verdicts import Line


def reproduce(
    paper: Annotated[str | None, typer.Argument(help="Paper or its model. Default: list the papers.")] = None,
    items: Annotated[
        list[str] | None, typer.Argument(metavar="[ITEM]...", help="Tables, figures, sections, e.g. table-B.1.")
    ] = None,
    names: Annotated[bool, typer.Option("--list", help="List the items and exit.")] = False,
    max_seconds: Annotated[
        float, typer.Option("--most", min=0.0, help="Maximum duration of an item, s; longer items are not run.")
    ] = 60.0,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:1.")] = "auto",
    precision: Annotated[
        str | None, typer.Option("--precision", help="single or double. Default: as in the paper.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for reproduce.md, reproduce.csv and the pictures.")
    ] = None,
) -> None:
    """Repeat tables and figures of the papers that Eagre follows, and fail if a number is outside its limits."""
    from eagre.cli.support.console import console
    from eagre.laboratory.reproduce.registry import SOURCES, items_named, source_named

    out = console()
    chosen = list(SOURCES) if paper is None else [source_named(paper)]
    if names:
        for name in chosen:
            _list(name, items_named(name, items), out)
    elif paper is None:
        _overview(out)
    else:
        _run(chosen[0], items, output, device, precision, max_seconds, out)


def _list(name: str, items: list[Item], out: Console) -> None:
    """Print the items of a paper with cost and requirements, or the reason why they are not repeated."""
    from eagre.cli.support.console import duration, grid_table
    from eagre.laboratory.reproduce.registry import SOURCES

    rows = [
        [item.name, item.title, duration(item.seconds) if item.lines else "-", ", ".join(item.needs), item.reason]
        for item in items
    ]
    out.print(grid_table(["item", "title", "one core", "needs", "not repeated"], rows,
                         title=f"{name}: {SOURCES[name].reference}"))  # fmt: skip


def _overview(out: Console) -> None:
    """Print the papers with the number of items that run on this machine."""
    from eagre.backend.select import cuda_problem
    from eagre.cli.support.console import grid_table
    from eagre.laboratory.reproduce.registry import SOURCES, items_of

    has_gpu = cuda_problem() is None
    rows = []
    for name, source in SOURCES.items():
        items = items_of(name).values()
        on_gpu = sum("gpu" in item.needs for item in items)
        excluded = sum(item.lines is None for item in items)
        here = len(items) - excluded - (0 if has_gpu else on_gpu)
        rows.append([name, source.kind, *map(str, (len(items), here, on_gpu, excluded)), source.reference])
    columns = ["paper", "model", "items", "run here", "need a GPU", "not repeated", "reference"]
    out.print(grid_table(columns, rows, title="Papers"))
    out.print("eagre reproduce PAPER --list lists the items, eagre reproduce PAPER repeats them.", markup=False)


def _run(
    name: str,
    items: list[str] | None,
    output: Path | None,
    device: str,
    precision: str | None,
    max_seconds: float,
    out: Console,
) -> None:
    """Repeat the items of a paper; print a table per item."""
    from importlib.util import find_spec

    from eagre.cli.support.console import grid_table
    from eagre.cli.validate import check_folder, print_device
    from eagre.laboratory.reproduce import reproduce as repeat
    from eagre.laboratory.reproduce.tables import COLUMNS, row_of, summary

    check_folder(output)
    print_device(device, out)
    if output is not None and find_spec("matplotlib") is None:
        out.print("Matplotlib is not installed: the report has no pictures.")

    def show(item: Item, lines: list[Line]) -> None:
        if item.lines is None:
            out.print(f"{item.name}: {item.title}: not run, {item.reason}", markup=False, soft_wrap=True)
        else:
            rows = [row_of(line) for line in lines]
            out.print(grid_table(list(COLUMNS), rows, title=f"{item.name}: {item.title}"))

    lines = repeat(name, items or None, output, device, precision, max_seconds, show)
    failed = any(line.failed for line in lines)
    out.print(summary(lines), style="bold red" if failed else "bold green")
    if output is not None:
        out.print(f"wrote {output}", markup=False, soft_wrap=True)
    if failed:
        raise typer.Exit(1)
