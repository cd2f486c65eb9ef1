"""``eagre validate`` and ``eagre reproduce``: comparison with references, and with tables and figures of papers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from eagre.laboratory.reproduce.registry import Item, Line
    from eagre.laboratory.validation.result import Result


def validate(
    model: Annotated[str | None, typer.Argument(help="Model. Default: all models.")] = None,
    case: Annotated[
        list[str] | None, typer.Option("--case", "-c", help="Case to run; repeat the option for several. Default: all.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Folder for the report and the figures.")
    ] = None,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or cuda:1.")] = "auto",
    precision: Annotated[str | None, typer.Option("--precision", help="single or double. Default: both.")] = None,
    names: Annotated[bool, typer.Option("--list", help="List the cases and exit.")] = False,
) -> None:
    """Run cases with known solutions, report the errors, and fail if an error exceeds its limit."""
    from eagre.backend.compilation.parallel import compile_workers
    from eagre.cli.support.console import console
    from eagre.laboratory.validation.registry import validations

    out = console()
    kinds = kinds_of(model)
    if names:
        for kind in kinds:
            for name in validations(kind):
                out.print(f"{kind}  {name}", markup=False)
        return
    check_folder(output)
    print_device(device, out)
    failed = 0
    with compile_workers():
        for kind in kinds:
            folder = output if output is None or len(kinds) == 1 else output / kind
            failed += _validate(kind, case, folder, device, precision, out)
    if failed:
        raise typer.Exit(1)


def check_folder(folder: Path | None) -> None:
    """Raise `InputError` if a file has the name of the folder for the report, or of a folder above it."""
    from eagre.errors import InputError
    from eagre.io.files import first_missing

    if folder is not None and not folder.is_dir() and (there := first_missing(folder.absolute())).exists():
        problem = f"The report needs a folder, and {there} is a file."
        raise InputError(f"--output {folder}", allowed="a folder", fix="--output validation", problem=problem)


def kinds_of(model: str | None) -> list[str]:
    """Return the requested model, or all models."""
    from eagre.errors import InputError
    from eagre.models.registry import KINDS
    from eagre.names import nearest

    if model is None or model in KINDS:
        return list(KINDS) if model is None else [model]
    near = nearest(model, KINDS) or next(iter(KINDS))
    raise InputError(f'the model "{model}"', allowed=", ".join(KINDS), fix=near, problem=f'Unknown model "{model}".')


def print_device(device: str, out: Console) -> None:
    """Print the device that will run, or raise `DeviceError`."""
    from eagre.backend.select import select

    out.print(f"device      {select(device)}", markup=False)


def _validate(
    kind: str, names: list[str] | None, folder: Path | None, device: str, precision: str | None, out: Console
) -> int:
    """Validate one kind; returns the number of values outside their limits."""
    from eagre.cli.support.console import grid_table
    from eagre.laboratory.validation import validate as run_cases

    with out.status("validating ...") if out.is_terminal else _nothing() as status:

        def show(result: Result) -> None:
            line = f"{result.case} ({result.precision}): {result.quantity} = {result.value:.4g} {result.limit_text}"
            if status is not None:
                status.update(line)
            elif not result.passed:
                out.print(f"limit exceeded: {line}", markup=False, soft_wrap=True)

        results = run_cases(kind, names or None, folder, device=device, precision=precision, on_result=show)
    columns = ["case", "precision", "quantity", "value", "limit", "passed"]
    out.print(grid_table(columns, [list(result.row()[:6]) for result in results], title=f"Validation of {kind}"))
    failed = sum(not result.passed for result in results)
    compared = sum(result.compared for result in results)
    out.print(
        f"{compared} values compared, {failed} outside their limits", style="bold red" if failed else "bold green"
    )
    if folder is not None:
        out.print(f"wrote {folder}", markup=False, soft_wrap=True)
    return failed


def _nothing() -> Any:
    from contextlib import nullcontext

    return nullcontext()


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
    from eagre.laboratory.reproduce import reproduce as repeat
    from eagre.laboratory.reproduce.run import COLUMNS, row_of, summary

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
