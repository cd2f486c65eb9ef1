"""Legs of a run: stretches of many steps that a device makes by itself, on one device and on several alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from eagre.errors import EagreError
from eagre.stepping import clock as ck
from eagre.stepping.recording import Extra, Recorder, Ring


class Legs:
    """An engine's way through time; a subclass has the arrays, and gives orders to its clock or clocks.

    Attributes
    ----------
    begin, look : list of launches, or schedule of a group
        What begins a leg with the orders of the host, and what ends it with a report to the host.
    round : list of launches, or schedule of a group
        What makes `steps_a_round` steps, a device's share of which has `launches_a_round` launches.
    """

    setup: Any
    device: Any
    begin: Sequence[Any]
    look: Sequence[Any]
    round: Sequence[Any]
    steps_a_round: int
    launches_a_round: int
    recorder: Recorder | None = None  # of the values that are taken on the way
    extra = Extra()  # what that adds to a leg
    way = "all"  # which launches the round has
    most_in_vain = 2  # rounds without an accepted step: one is made again with the length that its own rate allows
    seen: Any  # the clock as the host last saw it
    balance: Any
    lines: Any
    give_orders: Callable[[float, int], None]
    take_report: Callable[[], None]
    leave_unread: Callable[[], None]
    rings: Callable[[np.ndarray, np.ndarray], tuple[list[Ring], list[np.ndarray]]]  # for cells; sets `extra`
    read_clock: Callable[[], np.ndarray]
    write_clock: Callable[[np.ndarray], None]

    def prepare_legs(self) -> None:
        """Nothing is captured yet."""
        self._graphs: dict[tuple[int, bool, bool, str], Callable[[], None]] = {}
        self._warmed: set[str] = set()

    def record(self, recorder: Callable[..., Recorder] | None, *points: np.ndarray) -> None:
        """Take values in interior cells (j, i) from now on, or None: no more; recorder : makes one of `rings`."""
        self.prepare_legs()
        self.recorder, self.extra = None, Extra()
        if recorder is not None:
            self.recorder = recorder(*self.rings(*points))

    def small_state(self) -> dict[str, np.ndarray]:
        """What a restart needs beside the fields."""
        clock = self.seen.copy()
        clock[[ck.NEXT_UNTIL, ck.NEXT_STEPS]] = 0.0  # orders are the host's
        sides = {"clock": clock, "edges": self.setup.sides_at(clock[ck.T])}
        return {**sides, **self.balance.state(), **self.lines.state()}

    def leg(self, until: float, steps: int) -> int:
        """Make up to `steps` steps towards `until`, s; returns how many were made.

        On the way it lands where values are to be taken; it ends early where there is no room for more of them.
        """
        if self.way not in self._warmed:
            self._warm_up()
        landings = [until]
        if self.recorder is not None:
            landings = self.recorder.order(float(self.seen[ck.T]), until, steps)
        self.give_orders(landings[0], steps)
        first = self.seen[ck.STEPS]
        in_vain, left, begins = 0, float(steps), True
        while True:
            last = self.seen[ck.STEPS]
            self._launch(self._rounds_to(np.array(landings), left), begins)
            self.device.synchronize()
            self.take_report()
            if self.seen[ck.RUNNING] == 0.0:
                return int(self.seen[ck.STEPS] - first)
            left, begins = self.seen[ck.STEPS_LEFT], False
            in_vain = in_vain + 1 if self.seen[ck.STEPS] == last else 0
            if in_vain > self.most_in_vain:
                raise EagreError(f"no time step is accepted at t = {self.seen[ck.T]:.10g} s: please report this")

    def unchecked(self, until: float, steps: int) -> Callable[[], None]:
        """A function that makes rounds for so many steps and reads nothing: for timing."""
        self.leg(until, 1)
        self.give_orders(until, 2**50)
        self.device.run(self.begin)
        self.device.synchronize()
        rounds = [self.device.repeated(self.round, size) for size in self._sizes(self._rounds(steps))]

        def make() -> None:
            for one in rounds:
                one()
            self.leave_unread()

        return make

    def _rounds_to(self, landings: np.ndarray, left: float) -> int:
        """Rounds to the last of some times, s, in `left` steps at most: a round in which a leg lands ends with that."""
        gaps = np.diff(landings[landings > self.seen[ck.T]], prepend=self.seen[ck.T])
        each = np.maximum(1.0, np.ceil(gaps / self.seen[ck.FREE]))
        each[-1:] += 1.0
        total = sum(self._rounds(steps) for steps in each)
        return max(1, min(total, self._rounds(left) + len(gaps) - 1))

    def _rounds(self, steps: float) -> int:
        """Rounds for so many steps; an exact time step is found by a first try."""
        attempts = 2.0 if self.setup.time_step == "exact" else 1.0
        return max(1, -int(-attempts * steps // self.steps_a_round))

    def _launch(self, rounds: int, begins: bool) -> None:
        """So many rounds, the orders before the first and a report after the last."""
        sizes, extra = self._sizes(rounds), self.extra
        for number, size in enumerate(sizes):
            key = (size, begins and number == 0, number == len(sizes) - 1, self.way)
            if key not in self._graphs:
                begin = [*extra.begin, *self.begin] if key[1] else []
                look = [*extra.look, *self.look] if key[2] else []
                self._graphs[key] = self.device.repeated([*begin, *[*self.round, *extra.each] * size, *look], 1)
            self._graphs[key]()

    def _sizes(self, rounds: int) -> list[int]:
        """Rounds of the graphs that make so many together: one graph of few, powers of two of many."""
        if not self.device.graphs:
            return [rounds]
        layout = self.device.layout("shallow-water.steps")
        most = max(1, layout.launches // (self.launches_a_round + len(self.extra.each)))
        sizes = []
        while rounds > layout.own_graph:
            sizes.append(min(most, 1 << (rounds.bit_length() - 1)))
            rounds -= sizes[-1]
        return [*sizes, rounds] if rounds or not sizes else sizes

    def _warm_up(self) -> None:
        """Compile and load every program before a graph is captured: stopped, they change nothing."""
        self._warmed.add(self.way)
        if not self.device.graphs:
            return
        clock = self.read_clock()
        stopped = clock.copy()
        stopped[ck.RUNNING] = stopped[ck.NEXT_STEPS] = 0.0
        self.write_clock(stopped)
        extra = self.extra
        self.device.run([*extra.begin, *self.begin, *self.round, *extra.each, *extra.look, *self.look])
        self.write_clock(clock)
