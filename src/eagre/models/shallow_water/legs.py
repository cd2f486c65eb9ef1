"""Batches of steps between host synchronisations, on one device or on several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import EagreError
from eagre.stepping import clock as ck
from eagre.stepping.recording import Extra, Recorder, SampleBuffer

CLOSE = 3.0  # steps between output times below which values are sampled after every part of a step graph
OFTEN, FEW = 3, 8  # requests before a graph is captured, and maximum size of the graphs used before: see `_pieces`


class Piece(NamedTuple):
    """Content of a CUDA graph: number of step graphs of a kind and sampling; begins, ends : of a batch of steps."""

    rounds: int
    begins: bool
    ends: bool
    way: str
    parts: int
    taking: int  # number of the set of ring buffers, 0: none


class Kept(NamedTuple):
    """Ring buffers of sampled cells, kept for later runs."""

    points: tuple[bytes, ...]
    rings: list[SampleBuffer]
    columns: list[np.ndarray]
    extra: Extra


class Legs:
    """Time stepping of an engine in batches of steps; a subclass has the arrays and sends the requests to its clocks.

    Attributes
    ----------
    begin, look : list of launches, or schedule of a group
        Launches that start a batch with the step request of the host, and that end it with a step result for the host.
    round : list of launches, or schedule of a group
        Launches of `steps_a_round` steps, with `launches_a_round` launches per device.
    """

    setup: Any
    device: Any
    begin: Sequence[Any]
    look: Sequence[Any]
    round: Sequence[Any]
    steps_a_round: int
    launches_a_round: int
    parts = 1  # equal parts of `round`; values can be sampled after each part
    recorder: Recorder | None = None  # recorder of in-run sampling
    extra = Extra()  # launches that sampling adds to a batch of steps
    way = "all"  # kind of launches in `round`
    listed_steps = 0  # steps on the active tiles
    most_in_vain = 2  # maximum rounds without an accepted step; a rejected step is repeated with its own limit
    seen: Any  # clock as the host last read it
    balance: Any
    lines: Any
    give_orders: Callable[[float, int], None]
    take_report: Callable[[], None]
    leave_unread: Callable[[], None]
    rings: Callable[[np.ndarray, np.ndarray], tuple[list[SampleBuffer], list[np.ndarray]]]  # for cells; sets `extra`
    read_clock: Callable[[], np.ndarray]
    write_clock: Callable[[np.ndarray], None]

    def prepare_legs(self) -> None:
        """Discard all captured graphs and ring buffers."""
        self._graphs: dict[Piece, Callable[[], None]] = {}
        self._asked: dict[Piece, int] = {}
        self._bound: dict[int, tuple[Any, Any]] = {}  # by id of a launch: the launch, and its form for graphs
        self._kept: Kept | None = None
        self._warmed: set[tuple[str, int]] = set()
        self._taking = self._takings = 0  # present set of ring buffers (0: none), and number of sets so far

    def start_sampling(self, recorder: Callable[..., Recorder] | None, *points: np.ndarray) -> None:
        """Start sampling of interior cells (j, i), or stop it with None; recorder : creates a recorder from `rings`.

        Ring buffers and their graphs are kept for the same cells.
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
        """Return the state for a restart, except the fields."""
        clock = self.seen.copy()
        clock[[ck.NEXT_UNTIL, ck.NEXT_STEPS, ck.STEPS_LEFT]] = 0.0  # step requests belong to the host
        sides = {"clock": clock, "edges": self.setup.sides_at(clock[ck.T])}
        return {**sides, **self.balance.state(), **self.lines.state()}

    def leg(self, until: float, steps: int) -> int:
        """Make up to `steps` steps towards `until`, s; return the number of completed steps.

        The steps are shortened to hit the sampling times. The batch ends early if the ring buffers are full.
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
        """Return a function that makes at least `steps` steps without reading results, for timing."""
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
        """Return the number of parts of `round` after which values are sampled: all if the output times are close.

        gaps : intervals between output times, s.
        """
        close = self.recorder is not None and gaps.size > 0 and gaps.mean() < CLOSE * self.seen[ck.FREE]
        return self.parts if close and self.way != "first" else 1

    def _rounds_to(self, gaps: np.ndarray, left: float, parts: int) -> int:
        """Return the number of rounds to the output times in at most `left` steps; gaps : intervals between them, s.

        A part of a round in which an output time lies ends at that time.
        """
        each = np.maximum(1.0, np.ceil(gaps / self.seen[ck.FREE]))
        each[-1:] += 1.0
        total = float(np.ceil(self._attempts * each * parts / self.steps_a_round).sum())
        reached = min(int(np.searchsorted(each.cumsum(), left)), len(gaps) - 1)  # output times within `left` steps
        most = -(self._attempts * -left * parts // self.steps_a_round) + reached
        return max(1, -int(-min(total, most) // parts))

    @property
    def _attempts(self) -> float:
        """Attempts per step: 2 for exact time steps, whose first attempt determines the limit."""
        return 2.0 if self.setup.time_step_control == "exact" else 1.0

    def _rounds(self, steps: float) -> int:
        """Return the number of rounds for `steps` steps."""
        return max(1, -int(-self._attempts * steps // self.steps_a_round))

    def _launch(self, rounds: int, begins: bool, parts: int) -> None:
        """Launch `rounds` rounds, with the step request before the first and the step result after the last."""
        sizes = self._sizes(rounds)
        for number, size in enumerate(sizes):
            asked = Piece(size, begins and number == 0, number == len(sizes) - 1, self.way, parts, self._taking)
            for piece in self._pieces(asked):
                if piece not in self._graphs:
                    self._graphs[piece] = self.device.repeated(self._prepared(self._launches(piece)), 1)
                self._graphs[piece]()

    @property
    def _each(self) -> Sequence[Any]:
        """Launches of in-run sampling after a batch of steps of the present kind."""
        return (self.extra.each_listed if self.way == "listed" else ()) or self.extra.each

    def _pieces(self, asked: Piece) -> list[Piece]:
        """Return the requested graph, or, for the first requests, equivalent graphs that serve any number of rounds."""
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
        """Return the launches of a graph, or its stages in a group."""
        extra, work = self.extra, list(self.round)
        size = max(1, len(work) // piece.parts)
        taken = [one for k in range(0, len(work), size) for one in (*work[k : k + size], *self._each)]
        begin = [*extra.begin, *self.begin] if piece.begins else []
        look = [*extra.state_check, *self.look] if piece.ends else []
        return [*begin, *taken * piece.rounds, *look]

    def _prepared(self, work: Sequence[Any]) -> list[Any]:
        """Return launches, or stages of a group, prepared once for all graphs."""
        fresh = [one for one in work if id(one) not in self._bound]
        for one, bound in zip(fresh, self.device.bound(fresh), strict=True):
            self._bound[id(one)] = one, bound
        return [self._bound[id(one)][1] for one in work]

    def _sizes(self, rounds: int) -> list[int]:
        """Return the numbers of rounds of consecutive graphs: one graph for few rounds, powers of two for many."""
        if not self.device.graphs:
            return [rounds]
        layout = self.device.layout("shallow-water.steps")
        most = max(1, layout.launches // (self.launches_a_round + len(self._each)))
        sizes = []
        while rounds > layout.own_graph:
            sizes.append(min(most, 1 << (rounds.bit_length() - 1)))
            rounds -= sizes[-1]
        return [*sizes, rounds] if rounds or not sizes else sizes

    def _warm_up(self) -> None:
        """Compile and load every kernel before a graph is captured.

        With a stopped clock the launches change nothing.
        """
        self._warmed.add((self.way, self._taking))
        if not self.device.graphs:
            return
        clock = self.read_clock()
        stopped = clock.copy()
        stopped[ck.RUNNING] = stopped[ck.NEXT_STEPS] = 0.0
        self.write_clock(stopped)
        extra = self.extra
        self.device.run(
            self._prepared([*extra.begin, *self.begin, *self.round, *self._each, *extra.state_check, *self.look])
        )
        self.write_clock(clock)
