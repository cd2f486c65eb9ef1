"""Means, variances, covariances and extremes over time: where they are kept on a device, and when a state counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from eagre.backend.cells import Cell
from eagre.backend.device import Device
from eagre.kernels.averages import COUNT, EVERY, LAST, NUMBERS, SEEN, SINCE, TOTAL, Quantities, averaged, weigh_moment
from eagre.stepping.averages import Asked


class Averaging:
    """The averages of a run on one device or several as one; models derive from it, and say when a state is taken up.

    Parameters
    ----------
    engine : object
        Its `device` and `precision`, and its `setup` with `time_statistics`, `Asked` or None, which keeps nothing, and
        `grid`.
    quantities : Quantities
    asked : Asked, optional
        In place of those of the set-up.
    shape : tuple of int, optional
        Of the places; without it those of the grid, (ny, nx).
    precision : str, optional
        That quantities are computed in, if not that of the run.
    switches : mapping, optional
        Of the cells of the quantities.
    """

    def __init__(
        self, engine: Any, quantities: Quantities, *, asked: Asked | None = None, shape: tuple[int, ...] | None = None,
        precision: str | None = None, switches: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._device: Device = engine.device
        self._precision, self._shape = precision or engine.precision, shape or engine.setup.grid.shape
        self._switches, self.asked = switches, asked or cast("Asked | None", engine.setup.time_statistics)
        self.numbers = self._device.zeros((NUMBERS,), np.float64)
        if self.asked is None:
            self.sums = self._device.zeros((1, 1, 1), np.float64)
        else:
            self.sums = self._device.field_zeros((self.asked.count, *self._shape), np.float64)
            self._cell = averaged(quantities, self.asked.planes)

    def take(self, weighing: Cell, times: Sequence[Any], *fields: Any) -> list[Any]:
        """Launches that take a state up.

        Parameters
        ----------
        weighing : Cell
            ``(i, numbers, times..)``, run by one thread: it weighs the state (`eagre.kernels.averages.weigh`).
        times : sequence
            Arguments of `weighing`.
        fields
            Those of the quantities.
        """
        if self.asked is None:
            return []
        device, precision = self._device, self._precision
        first = device.over_all(device.loop(weighing, precision), (1,), (self.numbers, *times))
        program = device.loop(self._cell, precision, self._switches)
        return [first, device.over(program, self._shape, (*fields, self.sums, self.numbers))]

    def begin(self, time: float) -> None:
        """Begin at a time, s, whose state weighs nothing."""
        if self.asked is not None:
            numbers = np.zeros(NUMBERS)
            numbers[SINCE], numbers[EVERY] = max(time, self.asked.start), self.asked.every
            numbers[LAST] = numbers[SEEN] = time
            start = np.array(self.asked.planes.start()).reshape(-1, *(1,) * len(self._shape))
            self._device.fill(self.sums, start * np.ones(self.sums.shape))
            self._device.fill(self.numbers, numbers)

    @property
    def lasted(self) -> float:
        """How long states were averaged, s."""
        return float(self._device.host(self.numbers)[TOTAL])

    def state(self) -> dict[str, np.ndarray]:
        """What a restart needs; nothing where there are no averages."""
        if self.asked is None:
            return {}
        sums, numbers = self._device.host(self.sums), self._device.host(self.numbers)
        return {"maps_averages": sums, "maps_weights": np.append(numbers, self.asked.key)}

    def take_over(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Go on with the averages that a state holds, or `begin` at a time, s, if it holds none or others."""
        if self.asked is None:
            return
        if "maps_weights" not in state or state["maps_weights"][NUMBERS] != self.asked.key:
            self.begin(time)
            return
        self._device.fill(self.sums, state["maps_averages"])
        self._device.fill(self.numbers, state["maps_weights"][:NUMBERS])


class MomentAverages(Averaging):
    """Averages whose states are taken up when the host says so.

    fields : what the quantities are computed from; see `Averaging` for the rest.
    """

    def __init__(self, engine: Any, quantities: Quantities, *fields: Any, **more: Any) -> None:
        super().__init__(engine, quantities, **more)
        self._moment = self._device.zeros((2,), np.float64)
        self.launches = self.take(weigh_moment, (self._moment,), *fields)
        self._take: Callable[[], None] | None = None

    def take_up(self, time: float, steps: int = 1) -> None:
        """Take up the present state, whose time is `time`, s, `steps` steps after the one before."""
        if self.asked is None:
            return
        if self._take is None:
            self._take = self._device.repeated(self.launches, 1)
        self._device.fill(self._moment, np.array([time, float(steps)]))
        self._take()


class SteppedAverages(MomentAverages):
    """Averages of a run that tells of its steps one by one or many at once: only states that count are taken up."""

    left = 2**62
    """Steps up to the next state that counts."""
    _since = 0  # steps since a state was taken up

    def begin(self, time: float) -> None:
        """As of `Averaging`; the present state counts in extremes."""
        super().begin(time)
        self._count_from(0)
        self.take_up(time)

    def take_over(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """As of `Averaging`."""
        super().take_over(state, time)
        if self.asked is not None:
            self._count_from(int(self._device.host(self.numbers)[COUNT]))

    def stepped(self, time: float, steps: int) -> None:
        """Tell that `steps` steps, `left` at most, have led to the present state, whose time is `time`, s."""
        if self.asked is not None:
            self.left -= steps
            self._since += steps
            if self.left <= 0:
                self.take_up(time, self._since)
                self._count_from(0)

    def note(self, time: float) -> None:
        """Count on the device the steps up to a time, s, before the state is read: a run that goes on needs them."""
        if self._since > 0:
            self.take_up(time, self._since)
            self._since = 0

    def _count_from(self, made: int) -> None:
        if self.asked is not None:
            self.left, self._since = 1 if self.asked.planes.extremes else self.asked.every - made, 0
