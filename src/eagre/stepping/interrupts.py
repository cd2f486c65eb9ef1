"""Signals that end a run: Ctrl-C, SIGTERM, SIGHUP and SIGUSR1, which schedulers send before a time limit."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

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
