"""Legs of a run: stretches of many steps that a device makes by itself, on one device and on several alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import EagreError
from eagre.stepping import clock as ck
from eagre.stepping.recording import Extra, Recorder, Ring

CLOSE = 3.0  # steps between landings: below, values are taken after every part of a round
OFTEN, FEW = 3, 8  # times that a graph is asked for before it is captured, rounds of those in its place: see `_pieces`


class Piece(NamedTuple):
    """What a graph does: rounds of a way, with values taken after so many parts; begins, ends : a leg."""

    rounds: int
    begins: bool
    ends: bool
    way: str
    parts: int
    taking: int  # number of the rings, 0: none


class Kept(NamedTuple):
    """Where the values of cells are taken, for runs to come."""

    points: tuple[bytes, ...]
    rings: list[Ring]
    columns: list[np.ndarray]
    extra: Extra


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
    parts = 1  # equal parts of a round after each of which values may be taken
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
        self._graphs: dict[Piece, Callable[[], None]] = {}
        self._asked: dict[Piece, int] = {}
        self._bound: dict[int, tuple[Any, Any]] = {}  # by id of a launch: that, and prepared for graphs
        self._kept: Kept | None = None
        self._warmed: set[tuple[str, int]] = set()
        self._taking = self._takings = 0  # number of the rings, 0: none; of rings so far

    def start_sampling(self, recorder: Callable[..., Recorder] | None, *points: np.ndarray) -> None:
        """Take values in interior cells (j, i) from now on, or None: no more; recorder : makes one of `rings`.

        Rings, and graphs that fill them, are kept for the same cells.
        """
        self.recorder, self.extra, self._taking = None, Extra(), 0
        if recorder is None:
            return
        key = tuple(one.tobytes() for one in points)
        if self._kept is None or self._kept.points != key:
            self._graphs = {piece: graph for piece, graph in self._graphs.items() if piece.taking == 0}
            self._bound.clear()
            self._kept = Kept(key, *self.rings(*points), self.extra)
            self._takings += 1
        self.recorder, self.extra = recorder(self._kept.rings, self._kept.columns), self._kept.extra
        self._taking = self._takings

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
        if (self.way, self._taking) not in self._warmed:
            self._warm_up()
        landings = [until]
        if self.recorder is not None:
            landings = self.recorder.order(float(self.seen[ck.T]), until, steps)
        self.give_orders(landings[0], steps)
        first = self.seen[ck.STEPS]
        in_vain, left, begins = 0, float(steps), True
        while True:
            last = self.seen[ck.STEPS]
            ahead = np.array(landings)
            gaps = np.diff(ahead[ahead > self.seen[ck.T]], prepend=self.seen[ck.T])
            parts = self._parts_for(gaps)
            self._launch(self._rounds_to(gaps, left, parts), begins, parts)
            self.device.synchronize()
            self.take_report()
            if self.seen[ck.RUNNING] == 0.0:
                return int(self.seen[ck.STEPS] - first)
            left, begins = self.seen[ck.STEPS_LEFT], False
            in_vain = in_vain + 1 if self.seen[ck.STEPS] == last else 0
            if in_vain > self.most_in_vain:
                raise EagreError(
                    f"no time step is accepted at t = {self.seen[ck.T]:.10g} s. Please report this as a bug."
                )

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

    def _parts_for(self, gaps: np.ndarray) -> int:
        """After how many parts of a round values are taken: all where landings, gaps apart in s, are close."""
        close = self.recorder is not None and gaps.size > 0 and gaps.mean() < CLOSE * self.seen[ck.FREE]
        return self.parts if close and self.way != "first" else 1

    def _rounds_to(self, gaps: np.ndarray, left: float, parts: int) -> int:
        """Rounds to landings, gaps apart in s, in `left` steps at most: a part in which one lies ends with that."""
        each = np.maximum(1.0, np.ceil(gaps / self.seen[ck.FREE]))
        each[-1:] += 1.0
        total = float(np.ceil(self._attempts * each * parts / self.steps_a_round).sum())
        reached = min(int(np.searchsorted(each.cumsum(), left)), len(gaps) - 1)  # landings in that many steps
        most = -(self._attempts * -left * parts // self.steps_a_round) + reached
        return max(1, -int(-min(total, most) // parts))

    @property
    def _attempts(self) -> float:
        """Tries a step; an exact time step is found by a first one."""
        return 2.0 if self.setup.time_step_control == "exact" else 1.0

    def _rounds(self, steps: float) -> int:
        """Rounds for so many steps."""
        return max(1, -int(-self._attempts * steps // self.steps_a_round))

    def _launch(self, rounds: int, begins: bool, parts: int) -> None:
        """So many rounds, the orders before the first and a report after the last."""
        sizes = self._sizes(rounds)
        for number, size in enumerate(sizes):
            asked = Piece(size, begins and number == 0, number == len(sizes) - 1, self.way, parts, self._taking)
            for piece in self._pieces(asked):
                if piece not in self._graphs:
                    self._graphs[piece] = self.device.repeated(self._prepared(self._launches(piece)), 1)
                self._graphs[piece]()

    def _pieces(self, asked: Piece) -> list[Piece]:
        """What is asked for, or, until that was often, what does the same in graphs that serve any number of rounds."""
        if asked in self._graphs or asked.rounds <= 1 or not self.device.graphs:
            return [asked]
        self._asked[asked] = self._asked.get(asked, 0) + 1
        if self._asked[asked] >= OFTEN:
            return [asked]
        found, left = [asked._replace(rounds=0, ends=False)] if asked.begins else [], asked.rounds
        while left > 0:
            size = min(FEW, 1 << (left.bit_length() - 1))
            found.append(asked._replace(rounds=size, begins=False, ends=False))
            left -= size
        return [*found, asked._replace(rounds=0, begins=False)] if asked.ends else found

    def _launches(self, piece: Piece) -> list[Any]:
        """The launches of a piece, or its stages in a group."""
        extra, work = self.extra, list(self.round)
        size = max(1, len(work) // piece.parts)
        taken = [one for k in range(0, len(work), size) for one in (*work[k : k + size], *extra.each)]
        begin = [*extra.begin, *self.begin] if piece.begins else []
        look = [*extra.look, *self.look] if piece.ends else []
        return [*begin, *taken * piece.rounds, *look]

    def _prepared(self, work: Sequence[Any]) -> list[Any]:
        """Launches, or stages of a group, that are prepared once for all graphs."""
        fresh = [one for one in work if id(one) not in self._bound]
        for one, bound in zip(fresh, self.device.bound(fresh), strict=True):
            self._bound[id(one)] = one, bound
        return [self._bound[id(one)][1] for one in work]

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
        self._warmed.add((self.way, self._taking))
        if not self.device.graphs:
            return
        clock = self.read_clock()
        stopped = clock.copy()
        stopped[ck.RUNNING] = stopped[ck.NEXT_STEPS] = 0.0
        self.write_clock(stopped)
        extra = self.extra
        self.device.run(self._prepared([*extra.begin, *self.begin, *self.round, *extra.each, *extra.look, *self.look]))
        self.write_clock(clock)
