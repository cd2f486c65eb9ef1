"""Accumulation of time statistics on a device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from eagre.backend.compilation.cells import Cell
from eagre.backend.device import Device
from eagre.kernels.averages import COUNT, EVERY, LAST, NUMBERS, SEEN, SINCE, TOTAL, Quantities, averaged, weigh_moment
from eagre.stepping.averages import StatisticsPlan


class Averaging:
    """Time statistics of a run on one device or a device group; derived classes define when a state is accumulated.

    Parameters
    ----------
    engine : object
        Object with `device`, `precision`, and `setup` with `grid` and `time_statistics` (`StatisticsPlan` or None).
    quantities : Quantities
    plan : StatisticsPlan, optional
        Replaces the time statistics of the set-up.
    shape : tuple of int, optional
        Shape of the fields; (ny, nx) of the grid by default.
    precision : str, optional
        Precision of the computation of quantities; that of the run by default.
    switches : mapping, optional
        Compile-time switches of the quantities.
    """

    def __init__(
        self, engine: Any, quantities: Quantities, *, plan: StatisticsPlan | None = None,
        shape: tuple[int, ...] | None = None, precision: str | None = None, switches: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self._device: Device = engine.device
        self._precision, self._shape = precision or engine.precision, shape or engine.setup.grid.shape
        self._switches, self.plan = switches, plan or cast("StatisticsPlan | None", engine.setup.time_statistics)
        self.numbers = self._device.zeros((NUMBERS,), np.float64)
        if self.plan is None:
            self.sums = self._device.zeros((1, 1, 1), np.float64)
        else:
            self.sums = self._device.field_zeros((self.plan.count, *self._shape), np.float64)
            self._cell = averaged(quantities, self.plan.planes)

    def take(self, weighing: Cell, times: Sequence[Any], *fields: Any) -> list[Any]:
        """Return launches that accumulate a state.

        Parameters
        ----------
        weighing : Cell
            ``(i, numbers, times..)``, run by one thread: computes the weight of the state
            (`eagre.kernels.averages.weigh`).
        times : sequence
            Arguments of `weighing`.
        fields
            Fields of the quantities.
        """
        if self.plan is None:
            return []
        device, precision = self._device, self._precision
        first = device.over_all(device.loop(weighing, precision), (1,), (self.numbers, *times))
        program = device.loop(self._cell, precision, self._switches)
        return [first, device.over(program, self._shape, (*fields, self.sums, self.numbers))]

    def begin(self, time: float) -> None:
        """Start at a time, s; the state at this time has zero weight."""
        if self.plan is not None:
            numbers = np.zeros(NUMBERS)
            numbers[SINCE], numbers[EVERY] = max(time, self.plan.start), self.plan.every
            numbers[LAST] = numbers[SEEN] = time
            start = np.array(self.plan.planes.start()).reshape(-1, *(1,) * len(self._shape))
            self._device.fill(self.sums, np.broadcast_to(start, self.sums.shape))
            self._device.fill(self.numbers, numbers)

    @property
    def lasted(self) -> float:
        """Averaging time so far, s."""
        return float(self._device.host(self.numbers)[TOTAL])

    @property
    def since(self) -> float:
        """Start of the statistics, s."""
        return float(self._device.host(self.numbers)[SINCE])

    def state(self) -> dict[str, np.ndarray]:
        """Return the data for a restart, of several processes in the first only; empty without time statistics."""
        return self._state_of(self._device.collect)

    def local_state(self) -> dict[str, Any]:
        """Return the statistics in the rows of this process, for `take_over`; empty without time statistics."""
        return self._state_of(lambda arrays: {name: self._device.local_copy(one) for name, one in arrays.items()})

    def _state_of(self, copies: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
        """Return the sums, which are copied by a function, and the numbers."""
        if self.plan is None:
            return {}
        sums, numbers = copies({"maps_averages": self.sums}), self._device.host(self.numbers)
        return sums and {**sums, "maps_weights": np.append(numbers, self.plan.key)}

    def take_over(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Continue with the statistics of a state, or start at a time, s, if the state has none or others."""
        if self.plan is None:
            return
        if "maps_weights" not in state or state["maps_weights"][NUMBERS] != self.plan.key:
            self.begin(time)
            return
        self._device.fill(self.sums, state["maps_averages"])
        self._device.fill(self.numbers, state["maps_weights"][:NUMBERS])


class MomentAverages(Averaging):
    """Time statistics whose states are accumulated by a call from the host.

    fields : input of the quantities; see `Averaging` for the other arguments.
    """

    def __init__(self, engine: Any, quantities: Quantities, *fields: Any, **more: Any) -> None:
        super().__init__(engine, quantities, **more)
        self._moment = self._device.zeros((2,), np.float64)
        self.launches = self.take(weigh_moment, (self._moment,), *fields)
        self._take: Callable[[], None] | None = None

    def take_up(self, time: float, steps: int = 1) -> None:
        """Accumulate the current state at `time`, s, `steps` steps after the previous one."""
        if self.plan is None:
            return
        if self._take is None:
            self._take = self._device.repeated(self.launches, 1)
        self._device.fill(self._moment, np.array([time, float(steps)]))
        self._take()


class SteppedAverages(MomentAverages):
    """Time statistics of a run that reports its steps singly or in batches; only states that count are accumulated."""

    left = 2**62
    """Number of steps until the next state that counts."""
    _since = 0  # steps since the last accumulated state

    def begin(self, time: float) -> None:
        """See `Averaging`; the current state counts for extrema."""
        super().begin(time)
        self._count_from(0)
        self.take_up(time)

    def take_over(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """See `Averaging`."""
        super().take_over(state, time)
        if self.plan is not None:
            self._count_from(int(self._device.host(self.numbers)[COUNT]))

    def stepped(self, time: float, steps: int) -> None:
        """Report that `steps` steps, at most `left`, have led to the current state at `time`, s."""
        if self.plan is not None:
            self.left -= steps
            self._since += steps
            if self.left <= 0:
                self.take_up(time, self._since)
                self._count_from(0)

    def note(self, time: float) -> None:
        """Accumulate the steps up to a time, s, on the device before the state is saved, as a restart needs them."""
        if self._since > 0:
            self.take_up(time, self._since)
            self._since = 0

    def _count_from(self, steps_completed: int) -> None:
        if self.plan is not None:
            self.left, self._since = 1 if self.plan.planes.extremes else self.plan.every - steps_completed, 0
