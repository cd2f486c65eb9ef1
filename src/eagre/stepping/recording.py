"""Values at points, taken on a device at times on which a run lands one after the other, and given in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.cells import cell
from eagre.backend.device import Device, Work
from eagre.contract import Recording
from eagre.stepping.clock import EITHER, FAILED, NEXT_STEPS, NEXT_UNTIL, RUNNING, STEPS_LEFT, T, start_leg

PASSED, COUNT, FIRST = 0, 1, 2  # of the landings of a leg: how many lie behind, how many there are, the first time, s
RING_BYTES = 1 << 24  # of values on a device
MOST_LANDINGS = 1024
FEW_PLACES = 8192  # below, values are taken by one thread of a CPU: others would take longer to wake than to work


@cell
def has_landed(landings, clock):
    """Whether the run stands at the next landing: its values are to be taken, and it is to go on."""
    if clock[RUNNING] > 0.0:
        return False
    failed, now, passed, count = clock[FAILED], clock[T], landings[PASSED], landings[COUNT]  # asked for at once
    at = np.int64(passed)
    return failed == 0.0 and passed < count and now == landings[FIRST + at]


@cell
def next_landing(i, landings, clock, rates):
    """Go on towards the next landing from one that was reached; one thread."""
    if has_landed(landings, clock):
        following = np.int64(landings[PASSED]) + 1
        landings[PASSED] = float(following)
        if following < landings[COUNT]:
            clock[NEXT_UNTIL] = landings[FIRST + following]
            clock[NEXT_STEPS] = clock[STEPS_LEFT]
            start_leg(clock, rates, EITHER)


class Extra(NamedTuple):
    """What taking values adds to a leg: launches, or stages of a group."""

    begin: Sequence[Any] = ()
    each: Sequence[Any] = ()  # after every round
    look: Sequence[Any] = ()


class Ring:
    """The values that one device takes.

    Parameters
    ----------
    device : Device
    words, count : int
        Numbers a point, and points.
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
        self._copies = [device.pinned(shape, real) for _ in range(2)]  # one is read while the other is filled
        self._turn = 0
        self.begin: list[Work] = [device.transfer(self.landings, self._orders)]
        self.look: list[Work] = [device.transfer(self._report, self.landings[:FIRST])]

    def order(self, landings: Sequence[float]) -> None:
        """Where the next leg is to land, s."""
        self._orders[:FIRST] = 0.0, len(landings)
        self._orders[FIRST : FIRST + len(landings)] = landings

    @property
    def passed(self) -> int:
        """How many landings were reached, as of the last look."""
        return int(self._report[PASSED])

    def copy(self, count: int) -> np.ndarray:
        """Values of the first landings, (count, words, points), until the next copy but one."""
        self._turn = 1 - self._turn
        copy = self._copies[self._turn]
        self._device.run([self._device.transfer(copy[:count], self.values[:count])])
        self._device.synchronize()
        return copy[:count]


class Recorder:
    """The values that a run takes on its way.

    Parameters
    ----------
    recording : Recording
    values_of : callable
        Makes fields by name, (n, points), of the words that the rings hold, (words, n, points).
    time : float, s
        Only what comes after it is given.
    rings : sequence of Ring
        One a device.
    columns : sequence of int arrays
        Of all points, those of each ring.
    """

    def __init__(
        self, recording: Recording, values_of: Callable[[np.ndarray], dict[str, np.ndarray]], time: float,
        rings: Sequence[Ring], columns: Sequence[np.ndarray],
    ) -> None:  # fmt: skip
        self._recording, self._rings, self._columns, self._values_of = recording, rings, columns, values_of
        self._last = time
        self._ordered: np.ndarray = np.empty(0)

    def order(self, now: float, until: float, steps: int) -> list[float]:
        """The landings of the next leg, s, on the way to `until` in so many steps at most; it may end before."""
        most = min(steps, *(ring.size for ring in self._rings))
        instants = self._recording.instants(now, until, most)
        landings = instants if len(instants) == most or instants[-1:] == [until] else [*instants, until]
        self._ordered = np.array(instants)
        for ring in self._rings:
            ring.order(landings)
        return landings

    def forget(self) -> None:
        """The last leg went wrong: nothing of it counts."""
        self._ordered = np.empty(0)

    def give(self) -> None:
        """Hand on what the last leg took."""
        times = self._ordered[: self._rings[0].passed]
        self.forget()
        fresh = times > self._last
        if not fresh.any():
            return
        first = int(fresh.argmax())  # times ascend
        copies = [ring.copy(times.size)[first:] for ring in self._rings]
        self._last = float(times[-1])
        self._recording.take(times[first:], lambda: self._values_of(self._joined(copies)))

    def _joined(self, copies: Sequence[np.ndarray]) -> np.ndarray:
        """Values of all rings, (words, n, points)."""
        if len(copies) == 1:
            return copies[0][:, :, : self._columns[0].size].transpose(1, 0, 2)
        count, words, _ = copies[0].shape
        joined = np.empty((words, count, sum(own.size for own in self._columns)), copies[0].dtype)
        for copy, own in zip(copies, self._columns, strict=True):
            joined[:, :, own] = copy[:, :, : own.size].transpose(1, 0, 2)
        return joined
