"""Report of `eagre reproduce`: Markdown, CSV and charts, and the stored results of GPUs."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eagre.laboratory.reproduce.registry import NOT_RUN, Line

if TYPE_CHECKING:
    from eagre.laboratory.reproduce.registry import Item

FIELDS = ("paper", *(field.name for field in fields(Line)))
"""Columns of ``reproduce.csv`` and of the stored results."""
COLUMNS = ("row", "column", "paper", "unit", "Eagre", "quotient", "outcome", "note")
MIN_DIGITS = 4
SHORT = 40  # characters of a label in a chart


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
