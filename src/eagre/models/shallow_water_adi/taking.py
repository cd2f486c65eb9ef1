"""In-run sampling of the ADI model at points and output times (`eagre.stepping.recording`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.cells import cell
from eagre.models.shallow_water_adi.layout import PADDING
from eagre.stepping.recording import FEW_PLACES, PASSED, Recorder, SampleBuffer

WORDS = 11


@cell
def taken(k, z, p, q_before, q_after, places, values, landings):
    """Store z, p and q (before, after) at the faces, and z of the four neighbours, of cell `places[:, k]`."""
    found = values[np.int64(landings[PASSED])]
    row, column = places[0, k] + 1, places[1, k] + PADDING
    found[0, k] = z[row, column]
    found[1, k] = p[row, column]
    found[2, k] = p[row, column + 1]
    found[3, k] = q_before[row, column]
    found[4, k] = q_before[row + 1, column]
    found[5, k] = q_after[row, column]
    found[6, k] = q_after[row + 1, column]
    found[7, k] = z[row, column - 1]
    found[8, k] = z[row, column + 1]
    found[9, k] = z[row - 1, column]
    found[10, k] = z[row + 1, column]


@cell
def passed(i, landings):
    """Advance the ring buffer by one sample; one thread."""
    landings[PASSED] += 1.0


class Taking:
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
        self._ring = SampleBuffer(engine.device, WORDS, j.size, engine.real)
        self._places = engine.device.array(np.stack([j, i]).astype(np.int64) if j.size else np.zeros((2, 1), np.int64))
        self._recorder = recorder([self._ring], [np.arange(j.size)])
        self._graphs: dict[int, Callable[[], None]] = {}

    def order(self, now: float, until: float, steps: int) -> list[float]:
        """Return the sampling times, s, up to `until` in at most `steps` steps; see `Recorder.order`."""
        landings = self._recorder.order(now, until, steps)
        self._device.run(self._ring.begin)
        return landings

    def take(self) -> None:
        """Sample the present state."""
        parity = self._engine.parity
        if parity in self._graphs:
            self._graphs[parity]()
            return
        engine, device, ring = self._engine, self._device, self._ring
        fluxes = (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        arguments = (engine.z[0], *fluxes, self._places, ring.values, ring.output_times)
        count = self._places.shape[1]
        work = [
            device.over(device.loop(taken, engine.precision), (count,), arguments)._replace(alone=count < FEW_PLACES),
            device.over(device.loop(passed, engine.precision), (1,), (ring.output_times,)),
        ]
        device.run(work)  # compiles the kernels before the graph capture
        self._graphs[parity] = device.repeated(work, 1)

    def look(self, *, good: bool) -> None:
        """Pass on the samples since the last order, if the state is valid."""
        if not good:
            self._recorder.forget()
            return
        self._device.run(self._ring.state_check)
        self._device.synchronize()
        self._recorder.give()
