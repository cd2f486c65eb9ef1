"""Consoles, tables and the words for numbers."""

from __future__ import annotations

import errno
import os
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

WIDE = 160
"""Columns of tables that go to a file."""

_LABEL = re.compile(r"^(\s*)(got:|allowed:|write:|try:|safe:|fix:)", re.MULTILINE)


def console() -> Console:
    """Console on standard output; plain and wide where that is no terminal."""
    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None where a parent has closed it
    return _lasting_console(width=None if is_terminal else WIDE)


def error_console() -> Console:
    """Console on standard error."""
    return _lasting_console(stderr=True)


def _lasting_console(**options: Any) -> Console:
    """Return a console that drops its text once the reader or the terminal has gone, so that the command finishes."""
    from rich.console import Console

    class LastingConsole(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            discard(self.file)

        def _check_buffer(self) -> None:
            try:
                super()._check_buffer()
            except OSError as error:
                if error.errno != errno.EIO:  # of a terminal that was closed
                    raise
                self.on_broken_pipe()

    return LastingConsole(highlight=False, **options)


def discard(stream: Any) -> None:
    """Send the rest of a standard stream to nowhere, so that closing the stream at the end raises no error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def highlighted(message: str) -> Text:
    """A message with its labels in colour; nothing in it is read as markup."""
    from rich.text import Text

    text = Text(message)
    text.highlight_regex(r"^(error|interrupted[ A-Za-z]*):", "bold red")
    for match in _LABEL.finditer(message):
        colour = {"got:": "red", "allowed:": "cyan", "write:": "green"}.get(match[2], "yellow")
        text.stylize(f"bold {colour}", match.start(2), match.end(2))
    text.highlight_regex(r"\(line \d+\)", "dim")
    return text


def print_rows(out: Console, rows: list[tuple[str, str]]) -> None:
    """Print two columns, what and its value; long values such as paths are left in one piece."""
    from rich.text import Text

    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        out.print(Text.assemble((f"{name:<{width}}  ", "dim"), value), soft_wrap=True)


def grid_table(columns: list[str], rows: list[list[str]], *, title: str = "") -> Table:
    """A table with a header; numbers to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False)
    for index, name in enumerate(columns):
        values = [row[index] for row in rows if index < len(row)]
        numeric = bool(values) and all(_looks_numeric(value) for value in values)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(value) for value in row))
    return table


def duration(seconds: float) -> str:
    """``"0.35 s"``, ``"12 s"``, ``"3 min 05 s"``, ``"2 h 07 min"``, ``"4 d 03 h"``."""
    if seconds != seconds or seconds in (float("inf"), float("-inf")):
        return "-"
    if abs(seconds) < 60:
        return f"{seconds:.3g} s"
    for large, small_unit, factor, ratio in (("min", "s", 60, 60), ("h", "min", 60, 60), ("d", "h", 24, 24)):
        seconds, previous = seconds / factor, seconds
        if abs(seconds) < ratio or large == "d":
            whole = int(seconds)
            remainder = int(previous - whole * factor)
            return f"{whole} {large} {remainder:02d} {small_unit}" if remainder else f"{whole} {large}"
    return f"{seconds:g}"


def quantity(value: float, unit: str = "") -> str:
    """``"1.23 G"``, ``"45.6 M"``, ``"789"``: three digits and a prefix."""
    if value != value:
        return "-"
    for prefix, scale in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= scale:
            return f"{value / scale:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}".strip()


def size(count: float) -> str:
    """Bytes as ``"1.2 GiB"``."""
    for prefix, scale in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= scale:
            return f"{count / scale:.1f} {prefix}"
    return f"{int(count)} B"


def whole(count: int) -> str:
    """``"1 234 567"``."""
    return f"{count:,}".replace(",", " ")


def _looks_numeric(value: str) -> bool:
    return bool(re.fullmatch(r"[-+]?[\d.\s]*\d(e[-+]?\d+)?\s?[kMGT%]?[a-zA-Z/%]*|-|nan", value))
