"""Run loop: output events at exact times, progress, interrupts by signals, and a restart file after a failure."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from numbers import Real
from pathlib import Path
from time import monotonic, perf_counter
from typing import Any

from eagre.arguments import real_number
from eagre.contract import Model, SampleTimes
from eagre.errors import BlowUpError, InputError, do_all

PATIENCE = 1.0
"""Wall time after the first Ctrl-C within which further ones are ignored, s."""
ALWAYS = (signal.SIGINT, signal.SIGTERM)
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1") if hasattr(signal, name))


@dataclass
class Interrupts:
    """Received signals.

    Attributes
    ----------
    early : callable or None
        Returns the exception that a signal raises before the run starts; None later, when signals are only recorded.
    number : int
        First signal; 0 if no signal was received.
    finishing : bool
        Whether the run only writes its restart file and closes files, which no signal interrupts.
    """

    early: Callable[[int], KeyboardInterrupt] | None = None
    number: int = 0
    finishing: bool = False
    since: float = 0.0

    def begin(self) -> None:
        """Record signals from now on, without an exception.

        Python discards an exception raised during the deletion of an object; such a signal raises its exception here.
        """
        if self.early is not None and self.number:
            raise self.early(self.number)
        self.early = None

    def note(self, number: int, frame: Any) -> None:
        """Record a signal; a second Ctrl-C raises `KeyboardInterrupt`, unless it follows within `PATIENCE`."""
        first, self.number = not self.number, self.number or number
        if self.early is not None:
            raise self.early(number)
        if first:
            self.since = monotonic()
        elif number == signal.SIGINT and not self.finishing and monotonic() - self.since >= PATIENCE:
            self.finishing = True
            raise KeyboardInterrupt("stopped within a step: no restart was written")


_active: Interrupts | None = None


@contextmanager
def interrupts(early: Callable[[int], KeyboardInterrupt] | None = None) -> Iterator[Interrupts]:
    """Handle `SIGNALS`; nested contexts share the outermost one.

    An ignored SIGHUP (``nohup``) or SIGUSR1 remains ignored. Only the main thread receives signals.

    Parameters
    ----------
    early : callable, optional
        See `Interrupts`. For a command whose process ends afterwards: signals are ignored after the context, so that a
        repeated signal does not change the exit code. Without it the previous handlers are restored.
    """
    global _active
    if threading.current_thread() is not threading.main_thread():
        yield Interrupts()
        return
    if _active is not None:
        yield _active
        return
    came = _active = Interrupts(early)
    previous = {number: signal.getsignal(number) for number in SIGNALS}
    handled = {number: one for number, one in previous.items() if number in ALWAYS or one is not signal.SIG_IGN}
    try:
        for number in handled:
            signal.signal(number, came.note)
        yield came
    finally:
        for number, one in handled.items():
            signal.signal(number, one if early is None else signal.SIG_IGN)
        _active = None


CHECK_SECONDS = 0.5  # wall time between checks of interrupts and progress
REPORT_SECONDS = 0.1  # wall time between progress reports, which sum over the domain
MAX_STEPS = 100_000
TIME_TOLERANCE = 1e-9  # event times are equal within this tolerance, relative to the end
MAX_NEARLY = 1e-3  # maximum tolerance, relative to the shortest interval; the end may be a time since 1970


@dataclass(frozen=True)
class Event:
    """Action at given times, at which time steps end exactly.

    Parameters
    ----------
    interval : float or None, s
        The action is called at multiples of this model time.
    times : sequence of float or None, s
        The action is called at these times.
    action : callable
        Called with the model.
    name : str
        Name, for error messages.
    at_start, at_end : bool
        Whether the action is also called at the first and at the last time of the run.
    start_sampling : callable or None
        Called with the model and the event times; starts in-run sampling without stops of the run and returns
        whether the model supports it. Called with None instead of times, it stops the sampling.
    """

    interval: float | None
    times: Sequence[float] | None
    action: Callable[[Model], object]
    name: str = "event"
    at_start: bool = True
    at_end: bool = True
    start_sampling: Callable[[Model, SampleTimes | None], bool] | None = None

    def __post_init__(self) -> None:
        if self.interval is None:
            return
        interval = real_number(f"{self.name}: interval", self.interval)
        if not (math.isfinite(interval) and interval > 0):
            problem = f"The interval of {self.name} is not positive and finite."
            raise InputError(f"{self.name}: interval = {self.interval!r} s", allowed="a time > 0, s", problem=problem)

    def next_after(self, time: float, nearly: float) -> float:
        """Return the next event time after `time`, s, or infinity."""
        following = [math.inf]
        if self.interval is not None:
            count = math.floor(time / self.interval) + 1
            done = count * self.interval <= time + min(nearly, 0.5 * self.interval)  # done just before
            following.append((count + done) * self.interval)
        following += [sample_time for sample_time in self.times or () if sample_time > time + nearly]
        return min(following)

    def between(self, start: float, end: float, max_count: int, nearly: float) -> list[float]:
        """Return up to `max_count` next event times until `end`, s; times almost equal to `end` are set to `end`."""
        event_times: list[float] = []
        event_time = self.next_after(start, nearly)
        while event_time <= end + nearly and len(event_times) < max_count:
            event_times.append(event_time if event_time < end - nearly else end)
            event_time = self.next_after(event_time, nearly)
        return event_times


@dataclass(frozen=True)
class Progress:
    """Progress of a run."""

    time: float
    until: float
    steps: int
    dt: float
    wall_seconds: float
    steps_per_second: float
    volume_error: float


@dataclass(frozen=True)
class RunSummary:
    """Summary of a run."""

    steps: int
    time: float
    wall_seconds: float
    cell_steps_per_second: float
    dt_min: float
    dt_max: float
    diagnostics: dict[str, float] = field(default_factory=dict)
    interrupted: bool = False
    restart: Path | None = None
    signal: int = 0  # number of the signal that interrupted the run


def run(
    model: Model,
    until: float,
    events: Sequence[Event] = (),
    *,
    on_progress: Callable[[Progress], None] | None = None,
    checkpoint: str | Path | None = None,
    alternatives: Sequence[str | Path] = (),
    start_date: datetime | None = None,
) -> RunSummary:
    """Run a model to `until`, s, and call each event at its times.

    Ctrl-C, SIGTERM, SIGHUP or SIGUSR1 completes the current steps, writes a restart file to `checkpoint` and returns
    with `interrupted` set. A second Ctrl-C, at least one second after the first, stops within a step without a restart
    file. No signal interrupts the writing of a restart file. A failure to write output also ends the run with a restart
    file. If `checkpoint` cannot be written, for example on a full disk, the restart file is written to the first
    writable path of `alternatives` that does not exist. `start_date` is the date of model time 0, for restart files.

    Raises
    ------
    InputError
        If `until` is not after the current model time.
    BlowUpError
        If the solution contains NaN or infinity; the last valid state is then written to `checkpoint`.
    """
    if not isinstance(until, Real) or not until > model.time:
        got = f"{float(until):g} s" if isinstance(until, Real) else repr(until)
        raise InputError(f"until = {got}", allowed=f"a time after {model.time:g} s (the current model time)")
    loop = _Loop(model, until, list(events), on_progress)
    paths = restart_paths(checkpoint, alternatives)
    with interrupts() as interrupted:
        try:
            try:
                loop.go(interrupted)
            finally:
                interrupted.finishing = True
        except BlowUpError as error:
            if not paths:
                raise
            try:
                path = _write_restart(model, paths, start_date)
            except (OSError, InputError) as failed:
                error.add_note(f"The last valid state could not be written: {failed}")
                raise error from failed
            raise BlowUpError(error.time, error.cell, error.what, str(path), error.advice) from error
        except OSError as error:
            save_state(error, model, paths, start_date)
            raise
        stopped = interrupted.number if model.time < until else 0
        restart = _write_restart(model, paths, start_date) if stopped and paths else None
    return loop.summary(stopped, restart)


def restart_paths(checkpoint: str | Path | None, alternatives: Sequence[str | Path]) -> list[str | Path]:
    """Return the paths for a restart file in order of preference; existing files of `alternatives` are excluded."""
    return [] if checkpoint is None else [checkpoint, *(path for path in alternatives if not Path(path).exists())]


class _Loop:
    """Run loop of one run."""

    def __init__(
        self, model: Model, until: float, events: list[Event], on_progress: Callable[[Progress], None] | None
    ) -> None:
        self.model, self.until, self.events, self.on_progress = model, until, events, on_progress
        self.first_steps = model.steps
        self.began = perf_counter()
        self.next_report = 0.0
        lengths = [until - model.time, *(event.interval for event in events if event.interval is not None)]
        self.nearly = min(TIME_TOLERANCE * max(abs(until), until - model.time), MAX_NEARLY * min(lengths))
        self.sampled_in_run = [self._follows(event) for event in events]

    def go(self, interrupted: Interrupts) -> None:
        """Advance the model and call events until the end or an interrupt."""
        self._do([event for event in self.events if event.at_start])
        try:
            self._go(interrupted)
        finally:
            for event in self.events:
                if event.start_sampling is not None:
                    event.start_sampling(self.model, None)

    def _follows(self, event: Event) -> bool:
        """Start in-run sampling of an event; return whether the model supports it."""
        if event.start_sampling is None:
            return False
        return event.start_sampling(self.model, lambda start, end, count: event.between(start, end, count, self.nearly))

    def _go(self, interrupted: Interrupts) -> None:
        batch = 4
        while self.model.time < self.until and not interrupted.number:
            since = self.model.time
            target = self._next(since)
            while self.model.time < target and not interrupted.number:
                start, steps_before = perf_counter(), self.model.steps
                self.model.advance(target, max_steps=batch)
                seconds = max(perf_counter() - start, 1e-6)
                batch = max(
                    1, min(MAX_STEPS, 4 * batch, int((self.model.steps - steps_before) / seconds * CHECK_SECONDS))
                )
                self._report()
            if self.model.time >= target:
                self._do(self._due(since))

    def _times(self, since: float) -> list[float]:
        """Return the next time of each event; infinity for events sampled in-run."""
        each = zip(self.events, self.sampled_in_run, strict=True)
        return [math.inf if in_run else event.next_after(since, self.nearly) for event, in_run in each]

    def _next(self, since: float) -> float:
        """Return the next event time."""
        target = min([*self._times(since), self.until])
        return self.until if target > self.until - self.nearly else target

    def _due(self, since: float) -> list[Event]:
        """Return the events due since a time; fixed steps may have passed the requested time."""
        last, at_end = self.model.time + self.nearly, self.model.time >= self.until
        each = zip(self.events, self._times(since), strict=True)
        return [event for event, event_time in each if event_time <= last or (at_end and event.at_end)]

    def _do(self, due: Sequence[Event]) -> None:
        do_all(partial(event.action, self.model) for event in due)

    def _report(self) -> None:
        seconds = perf_counter() - self.began
        if self.on_progress is None or (seconds < self.next_report and self.model.time < self.until):
            return
        self.next_report = seconds + REPORT_SECONDS
        steps = self.model.steps - self.first_steps
        error = self.model.diagnostics().get("volume_error", math.nan)
        self.on_progress(
            Progress(self.model.time, self.until, steps, self.model.time_step, seconds, steps / seconds, error)
        )

    def summary(self, stopped: int, restart: Path | None) -> RunSummary:
        """Return the run summary."""
        seconds = perf_counter() - self.began
        steps = self.model.steps - self.first_steps
        statistics, levels = self.model.statistics(), self.model.levels
        cells = self.model.grid.cells * (1 if levels is None else levels.height.size)
        return RunSummary(
            steps=steps,
            time=self.model.time,
            wall_seconds=seconds,
            cell_steps_per_second=steps * cells / seconds,
            dt_min=statistics["dt_min"],
            dt_max=statistics["dt_max"],
            diagnostics=self.model.diagnostics(),
            interrupted=bool(stopped),
            restart=restart,
            signal=stopped,
        )


def save_state(error: OSError, model: Model, paths: Sequence[str | Path], start_date: datetime | None = None) -> None:
    """Write a restart file to the first writable path and add a note to the error that ends the run."""
    if paths:
        with suppress(OSError, InputError):
            path = _write_restart(model, paths, start_date)
            error.add_note(f"saved:   the state at t = {model.time:g} s is in {path}; continue with --restart")


def _write_restart(model: Model, paths: Sequence[str | Path], start_date: datetime | None) -> Path:
    """Write a restart file to the first writable path; if no path is writable, raise the error of the first."""
    from eagre.io import write_restart

    failed = []
    for path in paths:
        try:
            write_restart(path, model, start_date=start_date)
        except (OSError, InputError) as error:
            failed.append(error)
        else:
            return Path(path)
    raise failed[0]
