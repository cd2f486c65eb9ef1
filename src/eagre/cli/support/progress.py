"""Progress of a run: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from eagre.cli.support.console import duration, quantity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID

    from eagre.stepping.run import Progress

PREPARING = "preparing (the first run compiles the kernels)"
_PATIENCE = 3.0
"""Wall time after which a line is printed, s."""
_LINE_EVERY = 30.0
"""Minimum wall time between two plain lines, s."""


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
