"""The last good state of a run: copied to the host now and then, and taken up again when the run has blown up."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import numpy as np

State = dict[str, np.ndarray]


SHARE = 20  # times as long as a copy takes lie between two


class Keeper:
    """Keeps the last state that was found good.

    Parameters
    ----------
    take : callable
        Returns host copies of the present state.
    put : callable
        Takes up such a state.
    seconds : float
        Wall time between two copies, which cost bandwidth, but 20 times what a copy takes at least: large states take
        seconds. 0: a copy at every `keep`.

    Attributes
    ----------
    state : dict or None
    steps : int
        Steps made since the copy; the caller adds to it.
    """

    def __init__(self, take: Callable[[], State], put: Callable[[State], None], seconds: float) -> None:
        self._take, self._put, self.seconds = take, put, seconds
        self.forget()

    def forget(self) -> None:
        """Have no state: the next `keep` copies one."""
        self.state: State | None = None
        self._time, self._apart, self.steps = -math.inf, self.seconds, 0

    def keep(self) -> None:
        """Copy the present state, known to be good, if the last copy is old enough."""
        if self.state is None or perf_counter() - self._time >= self._apart:
            begin = perf_counter()
            self.state, self._time, self.steps = self._take(), perf_counter(), 0
            self._apart = max(self.seconds, SHARE * (self._time - begin)) if self.seconds else 0.0

    def roll_back(self) -> None:
        """Take up the kept state."""
        if self.state is None:
            raise RuntimeError("there is no state to go back to: call keep first")
        self._put(self.state)
        self.steps = 0
