"""In-run sampling of values at points: sampled on the device at given times, returned in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell
from eagre.backend.device import Device, Work
from eagre.contract import Recording
from eagre.stepping.clock import EITHER, FAILED, NEXT_STEPS, NEXT_UNTIL, RUNNING, STEPS_LEFT, T, start_leg

PASSED, COUNT, FIRST = 0, 1, 2  # indices into landings: number passed, number in total, first time, s
RING_BYTES = 1 << 24  # device memory for sampled values
MOST_LANDINGS = 1024
FEW_PLACES = 8192  # fewer points are sampled by one CPU thread: starting more threads takes longer


@cell
def has_landed(landings, clock):
    """Return whether the run has reached the next sample time and continues."""
    if clock[RUNNING] > 0.0:
        return False
    failed, now, passed, count = clock[FAILED], clock[T], landings[PASSED], landings[COUNT]  # independent loads first
    at = np.int64(passed)
    return failed == 0.0 and passed < count and now == landings[FIRST + at]


@cell
def next_landing(i, landings, clock, rates):
    """Start the integration towards the next sample time after one was reached; one thread."""
    if has_landed(landings, clock):
        following = np.int64(landings[PASSED]) + 1
        landings[PASSED] = float(following)
        if following < landings[COUNT]:
            clock[NEXT_UNTIL] = landings[FIRST + following]
            clock[NEXT_STEPS] = clock[STEPS_LEFT]
            start_leg(clock, rates, EITHER)


class Extra(NamedTuple):
    """Additional launches, or stages of a group, for in-run sampling."""

    begin: Sequence[Any] = ()
    each: Sequence[Any] = ()  # after every batch of steps
    look: Sequence[Any] = ()
    each_listed: Sequence[Any] = ()  # instead of `each` after steps on a list of active tiles, if they differ


class Ring:
    """Sampled values on one device.

    Parameters
    ----------
    device : Device
    words, count : int
        Number of values per point, and of points.
    real : type

    Attributes
    ----------
    landings : float64 (FIRST + size,), on the device
    values : (size, words, count) array, on the device
    """

    def __init__(self, device: Device, words: int, count: int, real: Any) -> None:
        self.size = max(1, min(MOST_LANDINGS, RING_BYTES // max(1, words * count * np.dtype(real).itemsize)))
        shape, self._device = (self.size, words, max(1, count)), device
        self.landings, self._orders = (make((FIRST + self.size,), np.float64) for make in (device.zeros, device.pinned))
        self._report = device.pinned((FIRST,), np.float64)
        self.values = device.zeros(shape, real)
        self._copies = [device.pinned(shape, real) for _ in range(2)]  # double buffer: one is read, the other written
        self._turn = 0
        self.begin: list[Work] = [device.transfer(self.landings, self._orders)]
        self.look: list[Work] = [device.transfer(self._report, self.landings[:FIRST])]

    def order(self, landings: Sequence[float]) -> None:
        """Set the sample times of the next batch of steps, s."""
        self._orders[:FIRST] = 0.0, len(landings)
        self._orders[FIRST : FIRST + len(landings)] = landings

    @property
    def passed(self) -> int:
        """Number of sample times reached, as of the last state check."""
        return int(self._report[PASSED])

    def copy(self, count: int) -> np.ndarray:
        """Return the values at the first sample times, (count, words, points), valid until the next call but one."""
        self._turn = 1 - self._turn
        copy = self._copies[self._turn]
        self._device.run([self._device.transfer(copy[:count], self.values[:count])])
        self._device.synchronize()
        return copy[:count]


class Recorder:
    """In-run sampling of a run.

    Parameters
    ----------
    recording : Recording
    values_of : callable
        Converts the stored values, (words, n, points), to fields by name, (n, points).
    time : float, s
        Only later samples are returned.
    rings : sequence of Ring
        One per device.
    columns : sequence of int arrays
        Indices of the points of each ring.
    """

    def __init__(
        self, recording: Recording, values_of: Callable[[np.ndarray], dict[str, np.ndarray]], time: float,
        rings: Sequence[Ring], columns: Sequence[np.ndarray],
    ) -> None:  # fmt: skip
        self._recording, self._rings, self._columns, self._values_of = recording, rings, columns, values_of
        self._last = time
        self._ordered: np.ndarray = np.empty(0)

    def order(self, now: float, until: float, steps: int) -> list[float]:
        """Return the times at which steps end in the next batch, s, towards `until` in at most `steps` steps."""
        most = min(steps, *(ring.size for ring in self._rings))
        instants = self._recording.instants(now, until, most)
        landings = instants if len(instants) == most or instants[-1:] == [until] else [*instants, until]
        self._ordered = np.array(instants)
        for ring in self._rings:
            ring.order(landings)
        return landings

    def forget(self) -> None:
        """Discard the samples of the last batch, which failed."""
        self._ordered = np.empty(0)

    def give(self) -> None:
        """Pass the samples of the last batch to the callback."""
        times = self._ordered[: self._rings[0].passed]
        self.forget()
        fresh = times > self._last
        if not fresh.any():
            return
        first = int(fresh.argmax())  # times are ascending
        copies = [ring.copy(times.size)[first:] for ring in self._rings]
        self._last = float(times[-1])
        self._recording.take(times[first:], lambda: self._values_of(self._joined(copies)))

    def _joined(self, copies: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values of all rings, (words, n, points)."""
        if len(copies) == 1:
            return copies[0][:, :, : self._columns[0].size].transpose(1, 0, 2)
        count, words, _ = copies[0].shape
        joined = np.empty((words, count, sum(own.size for own in self._columns)), copies[0].dtype)
        for copy, own in zip(copies, self._columns, strict=True):
            joined[:, :, own] = copy[:, :, : own.size].transpose(1, 0, 2)
        return joined
