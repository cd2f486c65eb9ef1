"""In-run sampling of values at points: sampled on the device at given times, returned in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device, Work
from eagre.contract import Recording
from eagre.stepping.clock import EITHER, FAILED, NEXT_STEPS, NEXT_UNTIL, RUNNING, STEPS_LEFT, T, start_batch

PASSED, COUNT, FIRST = 0, 1, 2  # indices into the output times: number passed, number in total, first time, s
RING_BYTES = 1 << 24  # device memory for sampled values
MAX_SAMPLE_TIMES = 1024
FEW_PLACES = 8192  # fewer points are sampled by one CPU thread: starting more threads takes longer


@cell
def has_landed(output_times, clock):
    """Return whether the run has reached the next sample time and continues."""
    if clock[RUNNING] > 0.0:
        return False
    failed, time, passed, count = (
        clock[FAILED],
        clock[T],
        output_times[PASSED],
        output_times[COUNT],
    )  # independent loads first
    index = np.int64(passed)
    return failed == 0.0 and passed < count and time == output_times[FIRST + index]


@cell
def next_output_time(i, output_times, clock, rates):
    """Start the integration towards the next sample time after one was reached; one thread."""
    if has_landed(output_times, clock):
        following = np.int64(output_times[PASSED]) + 1
        output_times[PASSED] = float(following)
        if following < output_times[COUNT]:
            clock[NEXT_UNTIL] = output_times[FIRST + following]
            clock[NEXT_STEPS] = clock[STEPS_LEFT]
            start_batch(clock, rates, EITHER)


class Extra(NamedTuple):
    """Additional launches, or stages of a group, for in-run sampling."""

    begin: Sequence[Any] = ()
    each: Sequence[Any] = ()  # after every batch of steps
    state_check: Sequence[Any] = ()
    each_listed: Sequence[Any] = ()  # instead of `each` after steps on a list of active tiles, if they differ


class SampleBuffer:
    """Sampled values on one device.

    Parameters
    ----------
    device : Device
    values_per_point, count : int
        Number of values per point, and of points.
    real : type

    Attributes
    ----------
    output_times : float64 (FIRST + size,), on the device
    values : (size, values_per_point, count) array, on the device
    """

    def __init__(self, device: Device, values_per_point: int, count: int, real: Any) -> None:
        record_bytes = values_per_point * count * np.dtype(real).itemsize
        self.size = max(1, min(MAX_SAMPLE_TIMES, RING_BYTES // max(1, record_bytes)))
        shape, self._device = (self.size, values_per_point, max(1, count)), device
        self.output_times, self._orders = (
            make((FIRST + self.size,), np.float64) for make in (device.zeros, device.pinned)
        )
        self._report = device.pinned((FIRST,), np.float64)
        self.values = device.zeros(shape, real)
        self._copies = [device.pinned(shape, real) for _ in range(2)]  # double buffer: one is read, the other written
        self._current = 0
        self.begin: list[Work] = [device.transfer(self.output_times, self._orders)]
        self.state_check: list[Work] = [device.transfer(self._report, self.output_times[:FIRST])]

    def order(self, output_times: Sequence[float]) -> None:
        """Set the sample times of the next batch of steps, s."""
        self._orders[:FIRST] = 0.0, len(output_times)
        self._orders[FIRST : FIRST + len(output_times)] = output_times

    @property
    def passed(self) -> int:
        """Number of sample times reached, as of the last state check."""
        return int(self._report[PASSED])

    def copy(self, count: int) -> np.ndarray:
        """Return the values at the first sample times, (count, words, points), valid until the next call but one."""
        self._current = 1 - self._current
        copy = self._copies[self._current]
        self._device.run([self._device.transfer(copy[:count], self.values[:count])])
        self._device.synchronize()
        return copy[:count]


class Recorder:
    """In-run sampling of a run.

    Parameters
    ----------
    recording : Recording
    values_of : callable
        Converts the stored values, (values_per_point, n, points), to fields by name, (n, points).
    time : float, s
        Only later samples are returned.
    buffers : sequence of SampleBuffer
        One per device.
    columns : sequence of int arrays
        Indices of the points of each buffer.
    """

    def __init__(
        self, recording: Recording, values_of: Callable[[np.ndarray], dict[str, np.ndarray]], time: float,
        buffers: Sequence[SampleBuffer], columns: Sequence[np.ndarray],
    ) -> None:  # fmt: skip
        self._recording, self._buffers, self._columns, self._values_of = recording, buffers, columns, values_of
        self._last = time
        self._ordered: np.ndarray = np.empty(0)

    def order(self, start: float, until: float, steps: int) -> list[float]:
        """Return the times at which steps end in the next batch, s, towards `until` in at most `steps` steps."""
        max_count = min(steps, *(buffer.size for buffer in self._buffers))
        times = self._recording.sample_times(start, until, max_count)
        output_times = times if len(times) == max_count or times[-1:] == [until] else [*times, until]
        self._ordered = np.array(times)
        for buffer in self._buffers:
            buffer.order(output_times)
        return output_times

    def forget(self) -> None:
        """Discard the samples of the last batch, which failed."""
        self._ordered = np.empty(0)

    def give(self) -> None:
        """Pass the samples of the last batch to the callback."""
        times = self._ordered[: self._buffers[0].passed]
        self.forget()
        fresh = times > self._last
        if not fresh.any():
            return
        first = int(fresh.argmax())  # times are ascending
        copies = [buffer.copy(times.size)[first:] for buffer in self._buffers]
        self._last = float(times[-1])
        self._recording.take(times[first:], lambda: self._values_of(self._joined(copies)))

    def _joined(self, copies: Sequence[np.ndarray]) -> np.ndarray:
        """Return the values of all buffers, (values_per_point, n, points)."""
        if len(copies) == 1:
            return copies[0][:, :, : self._columns[0].size].transpose(1, 0, 2)
        count, values_per_point, _ = copies[0].shape
        joined = np.empty((values_per_point, count, sum(indices.size for indices in self._columns)), copies[0].dtype)
        for copy, indices in zip(copies, self._columns, strict=True):
            joined[:, :, indices] = copy[:, :, : indices.size].transpose(1, 0, 2)
        return joined
