"""Consoles, tables, words for numbers, and the progress of a run: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import errno
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID
    from rich.table import Table
    from rich.text import Text

    from eagre.stepping.run import Progress

WIDE = 160
"""Columns of tables that go to a file."""

_LABEL = re.compile(r"^(\s*)(got:|allowed:|write:|try:|safe:|fix:)", re.MULTILINE)
PREPARING = "preparing (the first run compiles the kernels)"
_PATIENCE = 3.0
"""Wall time after which a line is printed, s."""
_LINE_EVERY = 30.0
"""Minimum wall time between two plain lines, s."""


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


@contextmanager
def preparing(console: Console, *, quiet: bool = False) -> Iterator[None]:
    """Report that a model is being set up: with a spinner on a terminal, elsewhere with a line after a delay."""
    if console.is_terminal:
        with console.status(PREPARING):
            yield
        return
    if quiet:
        yield
        return
    line = threading.Timer(_PATIENCE, console.print, (PREPARING,))
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        line.cancel()
        line.join()  # no line is printed later


class ProgressView:
    """Display of `eagre.stepping.run.Progress`; pass its `update` to the run loop.

    Parameters
    ----------
    console : Console
    start : float
        Model time at which the run begins, s.
    quiet : bool
        Show nothing.
    """

    def __init__(self, console: Console, start: float, *, quiet: bool = False) -> None:
        self.console, self.start, self.quiet = console, start, quiet
        self._live = console.is_terminal and not quiet
        self._next_line, self._next_fraction = time.monotonic() + _LINE_EVERY, 0.1
        self._bar: Any = None
        self._task: TaskID | None = None
        self._compiled: Progress | None = None  # the first report: the wall time before it was compilation

    def __enter__(self) -> ProgressView:
        if self._live:
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.fields[when]}"),
                BarColumn(bar_width=None),
                TextColumn("{task.percentage:>3.0f}%"),
                TextColumn("[dim]{task.fields[rates]}"),
                console=self.console,
                transient=True,
                refresh_per_second=5,
            )
            self._bar.start()
            self._task = self._bar.add_task("run", total=1.0, when="compiling ...", rates="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Show the state of the run."""
        if self.quiet:
            return
        fraction = share_done(progress, self.start)
        description = rates(progress, self._compiled)
        self._compiled = self._compiled or progress
        if self._bar is not None:
            when = f"t = {duration(progress.time)} of {duration(progress.until)}"
            self._bar.update(self._task, completed=fraction, when=when, rates=description)
        elif fraction >= self._next_fraction or time.monotonic() >= self._next_line:
            self._next_fraction = (int(fraction * 10) + 1) / 10
            self._next_line = time.monotonic() + _LINE_EVERY
            text = f"{fraction:4.0%}  t = {duration(progress.time)}  {description}"
            self.console.print(text, soft_wrap=True, markup=False)


UNLIMITED = 1e11  # s; larger time steps occur in models at rest


def share_done(progress: Progress, start: float) -> float:
    """Return the completed fraction of the model time, 0 to 1."""
    span = progress.until - start
    return min(1.0, max(0.0, (progress.time - start) / span)) if span > 0 else 1.0


def time_left(progress: Progress, compiled: Progress | None) -> float:
    """Return the remaining wall time at the mean speed since the report `compiled`, s; NaN without that report."""
    if compiled is None or not progress.time > compiled.time:
        return float("nan")
    seconds = progress.wall_seconds - compiled.wall_seconds
    return seconds * (progress.until - progress.time) / (progress.time - compiled.time)


def rates(progress: Progress, compiled: Progress | None) -> str:
    """Return steps per second, time step, remaining time and mass error in one line."""
    left = time_left(progress, compiled)
    entries = [
        f"{quantity(progress.steps_per_second)} steps/s" if left == left else "compiling",
        f"dt {duration(progress.dt)}" if progress.dt < UNLIMITED else "dt unlimited",
    ]
    entries += [f"{duration(left)} left"] if left == left else []
    if progress.volume_error == progress.volume_error:
        entries.append(f"mass error {progress.volume_error:.1e}")
    return ", ".join(entries)
