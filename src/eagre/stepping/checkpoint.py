"""In-memory checkpoint of the last valid state, restored after a blow-up."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter

import numpy as np

from eagre.backend.device import Device
from eagre.backend.group import Group

State = dict[str, np.ndarray]


COPY_INTERVAL_FACTOR = 20  # minimum time between checkpoints, in units of the copy time
SECONDS_OF_PROCESSES = 0.5  # minimum wall time between copies that several processes exchange, s


class InMemoryCheckpoint:
    """In-memory checkpoint of the last valid state.

    Parameters
    ----------
    take : callable
        Returns host copies of the current state.
    put : callable
        Restores such a state.
    seconds : float
        Minimum wall time between copies, s. The interval is at least 20 times the copy time, as copies of large states
        take seconds. 0: copy at every call of `keep`.
    device : Device or Group
        Device of the state.

    Attributes
    ----------
    state : dict or None
    steps : int
        Number of steps since the copy, incremented by the caller.
    """

    def __init__(
        self, take: Callable[[], State], put: Callable[[State], None], seconds: float, device: Device | Group
    ) -> None:
        self._take, self._put, self._device = take, put, device
        self.seconds = max(seconds, SECONDS_OF_PROCESSES) if device.of_processes else seconds
        self.forget()

    def forget(self) -> None:
        """Discard the checkpoint; the next call of `keep` makes a copy."""
        self.state: State | None = None
        self._time, self._apart, self.steps = -math.inf, self.seconds, 0

    def keep(self) -> None:
        """Copy the current state, known to be valid, if the last copy is old enough."""
        if self._device.agreed(self.state is None or perf_counter() - self._time >= self._apart):
            begin = perf_counter()
            self.state, self._time, self.steps = self._take(), perf_counter(), 0
            self._apart = max(self.seconds, COPY_INTERVAL_FACTOR * (self._time - begin)) if self.seconds else 0.0

    def roll_back(self) -> None:
        """Restore the checkpoint."""
        if self.state is None:
            raise RuntimeError("There is no checkpoint: call keep first.")
        self._put(self.state)
        self.steps = 0
