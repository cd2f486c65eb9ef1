"""Run of the items of a paper, and its report: Markdown, CSV and charts, and the stored results of GPUs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, fields, replace
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

from eagre.errors import DeviceError, EagreError, InputError
from eagre.laboratory.papers import Number, paper
from eagre.laboratory.reproduce.registry import (
    NOT_RUN,
    Item,
    Line,
    NotRun,
    Run,
    holds,
    items_named,
    not_run,
    source_named,
)

FIELDS = ("paper", *(field.name for field in fields(Line)))
"""Columns of ``reproduce.csv`` and of the stored results."""
COLUMNS = ("row", "column", "paper", "unit", "Eagre", "quotient", "outcome", "note")
MIN_DIGITS = 4
SHORT = 40  # characters of a label in a chart
PRECISIONS = ("single", "double")
MAX_SECONDS = 60.0
ERROR = "error"  # replaces the numbers of an item that failed


def row_of(line: Line) -> list[str]:
    """Return the strings of a line for the columns `COLUMNS`."""
    quotient = "" if line.quotient is None else f"{line.quotient:.3g}"
    kind = f"{line.outcome}: FAILED" if line.failed else line.outcome
    computed = _formatted(line)
    return [line.row, line.column, line.printed, "" if line.unit == "1" else line.unit, computed, quotient, kind,
            line.note]  # fmt: skip


def summary(lines: Sequence[Line]) -> str:
    """Return the number of comparisons of each kind, and of failures."""
    kinds = list(dict.fromkeys(line.outcome for line in lines))
    counts = [f"{sum(line.outcome == kind for line in lines)} {kind}" for kind in kinds]
    return ", ".join([*counts, f"{sum(line.failed for line in lines)} failed"])


def write_report(folder: Path, name: str, sections: Sequence[tuple[Item, list[Line], Path | None]]) -> None:
    """Write ``reproduce.csv`` and ``reproduce.md`` into `folder`: items with their lines and pictures."""
    lines = [line for _, item_lines, _ in sections for line in item_lines]
    with (folder / "reproduce.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(FIELDS)
        writer.writerows([name, *astuple(line)] for line in lines)
    text = [f"# Tables and figures of {name}", "", f"{summary(lines)}."]
    if lines:
        text += ["", f"Device: {lines[0].device}, commit {lines[0].commit}."]
    if find_spec("matplotlib") is None:
        text += ["", "Matplotlib is not installed: the report has no pictures."]
    for item, item_lines, picture in sections:
        if item.lines is None:
            continue
        text += ["", f"## {item.name}: {item.title}", "", _markdown(COLUMNS), "|" + " --- |" * len(COLUMNS)]
        text += [_markdown(row_of(line)) for line in item_lines]
        text += ["", f"![{item.title}]({picture.name})"] if picture is not None else []
    if excluded := [item for item, _, _ in sections if item.lines is None]:
        text += ["", "## Not repeated", ""]
        text += [f"* {item.name}: {item.title} ({item.reason})" for item in excluded]
    (folder / "reproduce.md").write_text("\n".join(text) + "\n", encoding="utf-8")


def draw_numbers(path: Path, title: str, lines: Sequence[Line]) -> None:
    """Draw printed and computed numbers of an item, on a logarithmic axis if all are positive; two are required."""
    from eagre.plots.drawing.style import new_figure

    pairs = [pair for line in lines if (pair := _pair(line)) is not None]
    if len(pairs) < 2:
        return
    figure = new_figure(8.0, 1.5 + 0.22 * len(pairs))
    axes = figure.subplots()
    labels = [f"{line.row}, {line.column}"[:SHORT] for line, _, _ in pairs]
    heights = range(len(pairs))
    axes.plot([one for _, one, _ in pairs], heights, "o", mfc="none", label="paper")
    axes.plot([one for _, _, one in pairs], heights, "x", label="Eagre")
    axes.set_yticks(heights, labels)
    axes.invert_yaxis()
    axes.set_title(title, fontsize="medium")
    if all(min(pair[1:]) > 0.0 for pair in pairs):
        axes.set_xscale("log")
    axes.legend()
    figure.savefig(path, dpi=120)


WORDS = ("", "1", "1 (about)", "at least", "text")  # units that qualify the printed number


@cache
def stored_lines(name: str) -> tuple[Line, ...]:
    """Return the stored results of GPUs for a paper: rows of ``reproduce.csv`` files in ``data/stored.csv``."""
    text = files("eagre.laboratory.reproduce").joinpath("data/stored.csv").read_text(encoding="utf-8")
    rows: Iterable[dict[str, Any]] = csv.DictReader(StringIO(text, newline=""))
    without: dict[str, Any] = {"quotient": None, "failed": False}
    return tuple(
        Line(**{**{key: row[key] for key in FIELDS[1:]}, **without})
        for row in rows
        if row["paper"] == name and row["outcome"] != NOT_RUN
    )


def stored_note(line: Line) -> str:
    """Return the description of a stored result with its origin."""
    precision = f", {line.precision}" if line.precision else ""
    unit = "" if line.unit in WORDS else f" {line.unit}"
    note = f" ({line.note})" if line.note else ""
    return f"stored, {line.device}{precision} (commit {line.commit}): {_formatted(line)}{unit}{note}"


def _formatted(line: Line) -> str:
    """Return the computed value with at least as many digits as the printed number."""
    if line.computed is None:
        return ""
    try:
        value = float(line.computed)
    except ValueError:
        return str(line.computed)
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    digits = sum(one.isdigit() for one in line.printed.lower().partition("e")[0].lstrip("0."))
    return f"{value:.{max(MIN_DIGITS, digits)}g}"


def _pair(line: Line) -> tuple[Line, float, float] | None:
    """Return a line with its printed and computed number; None unless both are numbers."""
    try:
        printed = float(line.printed)
    except ValueError:
        return None
    return (line, printed, float(line.computed)) if isinstance(line.computed, float | int) else None


def _markdown(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def reproduce(
    name: str,
    items: Sequence[str] | None = None,
    output_dir: str | Path | None = None,
    device: Any = "auto",
    precision: str | None = None,
    max_seconds: float = MAX_SECONDS,
    on_item: Callable[[Item, list[Line]], None] | None = None,
) -> list[Line]:
    """Repeat tables and figures of a paper and compare the numbers.

    Parameters
    ----------
    name : str
        Paper, ``"bleichrodt2011"``, or its model, ``"barotropic"``.
    items : sequence of str, optional
        Tables, figures and sections such as ``"table-B.1"``; all by default.
    output_dir : path, optional
        Folder for ``reproduce.md``, ``reproduce.csv`` and the pictures, also after an interruption.
    device : str
        Device of the models.
    precision : {"single", "double"}, optional
        Precision of the models; by default that of the paper.
    max_seconds : float, s
        Items that take longer are not run.
    on_item : callable(item, lines), optional
        Called after each item.

    Returns
    -------
    list of Line
        Check ``not any(line.failed for line in lines)``.

    Raises
    ------
    InputError
        For unknown papers, items and precisions.
    DeviceError
        If the device is not available.
    """
    from eagre.backend.select import select
    from eagre.laboratory.bench import machine

    name = source_named(name)
    chosen = items_named(name, items)
    if precision not in (None, *PRECISIONS):
        raise InputError(f"precision = {precision!r}", allowed=", ".join(PRECISIONS), fix='precision = "double"')
    hardware = select(device)
    commit = str(machine.provenance(hardware)["commit"])
    folder = None if output_dir is None else Path(output_dir)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    origin = {"device": machine.device_name(hardware), "commit": commit}
    lines: list[Line] = []
    sections: list[tuple[Item, list[Line], Path | None]] = []
    try:
        for item in chosen:
            run = Run(paper(name), item.name, device, precision, max_seconds)
            with run.closing:
                lines_of_item: list[Line] = []
                sections.append((item, lines_of_item, None))
                for line in _lines(item, run, on_gpu=hardware.kind == "cuda"):
                    lines_of_item.append(replace(line, **origin, precision=line.precision or precision or ""))
                    lines.append(lines_of_item[-1])
                if folder is not None:
                    sections[-1] = (item, lines_of_item, _picture(folder, item, run, lines_of_item))
            if on_item is not None:
                on_item(item, lines_of_item)
    finally:
        if folder is not None:
            write_report(folder, name, sections)
    return lines


def _lines(item: Item, run: Run, *, on_gpu: bool) -> Iterator[Line]:
    """Yield the lines of an item, or a line that states why the item was not run."""
    everything = Number(item.name, item.title, "", "", "")
    seconds = item.gpu_seconds if on_gpu and item.gpu_seconds is not None else item.seconds
    if item.lines is None:
        yield not_run(everything, item.reason)
    elif "gpu" in item.needs and not on_gpu:
        yield from _stored(item, run) or [not_run(everything, "needs a GPU")]
    elif seconds > run.max_seconds:
        write = f"eagre reproduce {run.paper.name} {item.name} --most {seconds:.0f}"
        yield not_run(everything, f"takes about {seconds:.0f} s: {write}")
    else:
        try:
            yield from item.lines(run)
        except NotRun as reason:
            yield not_run(everything, str(reason))
        except DeviceError:
            raise
        except EagreError as error:  # a wrong result is a failure of the item, not of the command
            yield holds(everything, ERROR, passed=False, note=str(error).replace("\n", "; "))


def _stored(item: Item, run: Run) -> list[Line]:
    """Return the stored results of a GPU as lines without a comparison."""
    return [
        not_run(Number(one.item, one.row, one.column, one.printed, one.unit), f"needs a GPU; {stored_note(one)}")
        for one in stored_lines(run.paper.name)
        if one.item == item.name
    ]


def _picture(folder: Path, item: Item, run: Run, lines: Sequence[Line]) -> Path | None:
    """Draw the picture of an item; return None without Matplotlib and for an item without results or with an error."""
    if find_spec("matplotlib") is None or all(line.computed is None for line in lines) or lines[-1].computed == ERROR:
        return None
    path = folder / f"{item.name}.png"
    if item.draw is not None:
        item.draw(path, run, lines)
    else:
        draw_numbers(path, f"{run.paper.name} {item.name}: {item.title}", lines)
    return path if path.exists() else None
