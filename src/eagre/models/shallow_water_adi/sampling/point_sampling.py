"""In-run sampling of the ADI model at points and output times (`eagre.stepping.recording`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.models.shallow_water_adi.memory_layout import PADDING
from eagre.stepping.recording import FEW_PLACES, PASSED, Recorder, SampleBuffer

WORDS = 11


@cell
def sample_points(k, z, p, q_before, q_after, cells, values, output_times):
    """Store z, p and q (before, after) at the faces, and z of the four neighbours, of cell `cells[:, k]`."""
    sample = values[np.int64(output_times[PASSED])]
    row, column = cells[0, k] + 1, cells[1, k] + PADDING
    sample[0, k] = z[row, column]
    sample[1, k] = p[row, column]
    sample[2, k] = p[row, column + 1]
    sample[3, k] = q_before[row, column]
    sample[4, k] = q_before[row + 1, column]
    sample[5, k] = q_after[row, column]
    sample[6, k] = q_after[row + 1, column]
    sample[7, k] = z[row, column - 1]
    sample[8, k] = z[row, column + 1]
    sample[9, k] = z[row - 1, column]
    sample[10, k] = z[row + 1, column]


@cell
def passed(i, output_times):
    """Advance the ring buffer by one sample; one thread."""
    output_times[PASSED] += 1.0


class PointSampler:
    """Sampler of the state of an engine in interior cells (j, i).

    Parameters
    ----------
    engine : Engine
    recorder : callable
        Creates a `Recorder` from ring buffers and columns.
    j, i : int arrays, (n,)
    """

    def __init__(self, engine: Any, recorder: Callable[..., Recorder], j: np.ndarray, i: np.ndarray) -> None:
        self._engine, self._device = engine, engine.device
        self._ring_buffer = SampleBuffer(engine.device, WORDS, j.size, engine.real)
        self._cells = engine.device.array(np.stack([j, i]).astype(np.int64) if j.size else np.zeros((2, 1), np.int64))
        self._recorder = recorder([self._ring_buffer], [np.arange(j.size)])
        self._graphs: dict[int, Callable[[], None]] = {}

    def order(self, time: float, until: float, steps: int) -> list[float]:
        """Return the sampling times, s, up to `until` in at most `steps` steps; see `Recorder.order`."""
        output_times = self._recorder.order(time, until, steps)
        self._device.run(self._ring_buffer.begin)
        return output_times

    def take(self) -> None:
        """Sample the present state."""
        parity = self._engine.parity
        if parity in self._graphs:
            self._graphs[parity]()
            return
        engine, device, ring_buffer = self._engine, self._device, self._ring_buffer
        fluxes = (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        arguments = (engine.z[0], *fluxes, self._cells, ring_buffer.values, ring_buffer.output_times)
        count = self._cells.shape[1]
        samples = device.loop(sample_points, engine.precision)
        work = [
            device.over(samples, (count,), arguments)._replace(alone=count < FEW_PLACES),
            device.over(device.loop(passed, engine.precision), (1,), (ring_buffer.output_times,)),
        ]
        device.run(work)  # compiles the kernels before the graph capture
        self._graphs[parity] = device.repeated(work, 1)

    def deliver(self, *, good: bool) -> None:
        """Pass on the samples since the last order, if the state is valid."""
        if not good:
            self._recorder.forget()
            return
        self._device.run(self._ring_buffer.state_check)
        self._device.synchronize()
        self._recorder.give()
