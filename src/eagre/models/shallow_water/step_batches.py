"""Batches of steps between host synchronisations, on one device or on several devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from eagre.errors import EagreError
from eagre.stepping import clock as ck
from eagre.stepping.recording import Extra, Recorder, SampleBuffer

MAX_CLOSE_STEPS = 3.0  # steps between output times below which values are sampled after every part of a cycle
REQUESTS_BEFORE_CAPTURE = 3  # requests of a graph before it is captured: see `_graph_contents`
MAX_SHARED_CYCLES = 8  # maximum size of the graphs that are used before, in cycles
MAX_REJECTED_CYCLES = 2  # maximum cycles without an accepted step; a rejected step is repeated with its own limit
MAX_REJECTED_STEPS = 50  # maximum consecutive rejected steps of a split scheme; each is half as long as the one before


class GraphContent(NamedTuple):
    """Content of a CUDA graph: number of launch cycles of a kind and sampling; begins, ends : of a batch of steps."""

    cycles: int
    begins: bool
    ends: bool
    way: str
    divisions: int
    buffer_set: int  # number of the set of ring buffers, 0: none


class SampleBuffers(NamedTuple):
    """Ring buffers of sampled cells, kept for later runs."""

    points: tuple[bytes, ...]
    buffers: list[SampleBuffer]
    columns: list[np.ndarray]
    extra: Extra


class BatchStepping:
    """Time stepping of an engine in batches of steps; a subclass has the arrays and sends the requests to its clocks.

    Attributes
    ----------
    begin, state_check : list of launches, or schedule of a group
        Launches that start a batch with the step request of the host, and that end it with a step result for the host.
    launch_cycle : list of launches, or schedule of a group
        Launches of `steps_per_cycle` steps, with `launches_per_cycle` launches per device.
    """

    setup: Any
    device: Any
    begin: Sequence[Any]
    state_check: Sequence[Any]
    launch_cycle: Sequence[Any]
    steps_per_cycle: int
    launches_per_cycle: int
    divisions = 1  # equal parts of `launch_cycle`; values can be sampled after each part
    recorder: Recorder | None = None  # recorder of in-run sampling
    extra = Extra()  # launches that sampling adds to a batch of steps
    first_cycle: Sequence[Any] = ()  # launches of the first step of a run, if another scheme makes it
    listed_steps = 0  # steps on the active tiles
    seen: Any  # clock as the host last read it
    balance: Any
    lines: Any
    send_request: Callable[[float, int], None]
    read_result: Callable[[], None]
    leave_unread: Callable[[], None]
    sample_buffers: Callable[
        [np.ndarray, np.ndarray], tuple[list[SampleBuffer], list[np.ndarray]]
    ]  # for cells; sets `extra`
    failure: Any
    read_clock: Callable[[], np.ndarray]
    write_clock: Callable[[np.ndarray], None]

    def reset_graphs(self) -> None:
        """Discard all captured graphs and ring buffers."""
        self._graphs: dict[GraphContent, Callable[[], None]] = {}
        self._requests: dict[GraphContent, int] = {}
        self._bound: dict[int, tuple[Any, Any]] = {}  # by id of a launch: the launch, and its form for graphs
        self._buffers: SampleBuffers | None = None
        self._warmed: set[tuple[str, int]] = set()
        self._buffer_set = self._num_buffer_sets = 0  # present set of ring buffers (0: none), and number of sets so far

    def start_sampling(self, recorder: Callable[..., Recorder] | None, *points: np.ndarray) -> None:
        """Start sampling of interior cells (j, i), or stop it with None.

        recorder : creates a recorder from ring buffers. Ring buffers and their graphs are kept for the same cells.
        """
        self.recorder, self.extra, self._buffer_set = None, Extra(), 0
        if recorder is None:
            return
        key = tuple(one.tobytes() for one in points)
        if self._buffers is None or self._buffers.points != key:
            self._graphs = {content: graph for content, graph in self._graphs.items() if content.buffer_set == 0}
            self._bound.clear()
            self._buffers = SampleBuffers(key, *self.sample_buffers(*points), self.extra)
            self._num_buffer_sets += 1
        self.recorder, self.extra = recorder(self._buffers.buffers, self._buffers.columns), self._buffers.extra
        self._buffer_set = self._num_buffer_sets

    def small_state(self) -> dict[str, np.ndarray]:
        """Return the state for a restart, except the fields."""
        clock = self.seen.copy()
        clock[[ck.NEXT_UNTIL, ck.NEXT_STEPS, ck.STEPS_LEFT]] = 0.0  # step requests belong to the host
        sides = {"clock": clock, "edges": self.setup.sides_at(clock[ck.T])}
        return {**sides, **self.balance.state(), **self.lines.state()}

    @property
    def way(self) -> str:
        """Kind of launches in `launch_cycle`: "first" for the first step of a split scheme, or "all"."""
        return "first" if self.first_cycle and self.seen[ck.STEPS] == 0.0 else "all"

    def step_batch(self, until: float, steps: int) -> int:
        """Make up to `steps` steps towards `until`, s; return the number of completed steps."""
        if self.way != "first":
            return self.steps_of_a_kind(until, steps)
        count = self.steps_of_a_kind(until, 1)
        goes_on = count == 1 and not self.failure and steps > 1 and self.seen[ck.T] < until
        if goes_on and self.recorder is not None:
            self.recorder.give()
        return count + (self.steps_of_a_kind(until, steps - 1) if goes_on else 0)

    def steps_of_a_kind(self, until: float, steps: int) -> int:
        """Make a batch of steps with the launches of the present kind; return the number of completed steps.

        The steps are shortened to hit the sampling times. The batch ends early if the ring buffers are full.
        """
        if (self.way, self._buffer_set) not in self._warmed:
            self._warm_up()
        output_times = [until]
        if self.recorder is not None:
            output_times = self.recorder.order(float(self.seen[ck.T]), until, steps)
        self.send_request(output_times[0], steps)
        first = self.seen[ck.STEPS]
        rejected, left, begins = 0, float(steps), True
        while True:
            last = self.seen[ck.STEPS]
            future_times = np.array(output_times)
            gaps = np.diff(future_times[future_times > self.seen[ck.T]], prepend=self.seen[ck.T])
            divisions = self._divisions_for(gaps)
            self._launch(self._cycles_to(gaps, left, divisions), begins, divisions)
            self.device.synchronize()
            self.read_result()
            if self.seen[ck.RUNNING] == 0.0:
                return int(self.seen[ck.STEPS] - first)
            left, begins = self.seen[ck.STEPS_LEFT], False
            rejected = rejected + 1 if self.seen[ck.STEPS] == last else 0
            if rejected > (MAX_REJECTED_STEPS if self.setup.split else MAX_REJECTED_CYCLES):
                raise EagreError(
                    f"no time step is accepted at t = {self.seen[ck.T]:.10g} s. Please report this as a bug."
                )

    def unchecked(self, until: float, steps: int) -> Callable[[], None]:
        """Return a function that makes at least `steps` steps without reading results, for timing."""
        self.step_batch(until, 1)
        self.send_request(until, 2**50)
        self.device.run(self.begin)
        self.device.synchronize()
        cycles = [self.device.repeated(self.launch_cycle, size) for size in self._sizes(self._cycles(steps))]

        def make() -> None:
            for one in cycles:
                one()
            self.leave_unread()

        return make

    def _divisions_for(self, gaps: np.ndarray) -> int:
        """Return the number of parts of `launch_cycle` after which values are sampled: all for close output times.

        gaps : intervals between output times, s.
        """
        are_close = self.recorder is not None and gaps.size > 0 and gaps.mean() < MAX_CLOSE_STEPS * self.seen[ck.FREE]
        return self.divisions if are_close and self.way != "first" else 1

    def _cycles_to(self, gaps: np.ndarray, left: float, divisions: int) -> int:
        """Return the number of cycles to the output times in at most `left` steps; gaps : intervals between them, s.

        A part of a cycle in which an output time lies ends at that time.
        """
        each = np.maximum(1.0, np.ceil(gaps / self.seen[ck.FREE]))
        each[-1:] += 1.0
        total = float(np.ceil(self._attempts * each * divisions / self.steps_per_cycle).sum())
        reached = min(int(np.searchsorted(each.cumsum(), left)), len(gaps) - 1)  # output times within `left` steps
        max_cycles = -(self._attempts * -left * divisions // self.steps_per_cycle) + reached
        return max(1, -int(-min(total, max_cycles) // divisions))

    @property
    def _attempts(self) -> float:
        """Attempts per step: 2 for exact time steps, whose first attempt determines the limit."""
        return 2.0 if self.setup.time_step_control == "exact" else 1.0

    def _cycles(self, steps: float) -> int:
        """Return the number of cycles for `steps` steps."""
        return max(1, -int(-self._attempts * steps // self.steps_per_cycle))

    def _launch(self, cycles: int, begins: bool, divisions: int) -> None:
        """Launch `cycles` cycles, with the step request before the first and the step result after the last."""
        sizes = self._sizes(cycles)
        for number, size in enumerate(sizes):
            first, last = number == 0, number == len(sizes) - 1
            requested = GraphContent(size, begins and first, last, self.way, divisions, self._buffer_set)
            for content in self._graph_contents(requested):
                if content not in self._graphs:
                    self._graphs[content] = self.device.repeated(self._prepared(self._launches(content)), 1)
                self._graphs[content]()

    @property
    def _each(self) -> Sequence[Any]:
        """Launches of in-run sampling after a batch of steps of the present kind."""
        return (self.extra.each_listed if self.way == "listed" else ()) or self.extra.each

    def _graph_contents(self, requested: GraphContent) -> list[GraphContent]:
        """Return the requested graph, or, for the first requests, equivalent graphs that serve any number of cycles."""
        if requested in self._graphs or requested.cycles <= 1 or not self.device.graphs:
            return [requested]
        self._requests[requested] = self._requests.get(requested, 0) + 1
        if self._requests[requested] >= REQUESTS_BEFORE_CAPTURE:
            return [requested]
        contents, left = [requested._replace(cycles=0, ends=False)] if requested.begins else [], requested.cycles
        while left > 0:
            size = min(MAX_SHARED_CYCLES, 1 << (left.bit_length() - 1))
            contents.append(requested._replace(cycles=size, begins=False, ends=False))
            left -= size
        return [*contents, requested._replace(cycles=0, begins=False)] if requested.ends else contents

    def _launches(self, content: GraphContent) -> list[Any]:
        """Return the launches of a graph, or its stages in a group."""
        extra, work = self.extra, list(self.launch_cycle)
        size = max(1, len(work) // content.divisions)
        sampled_cycle = [one for k in range(0, len(work), size) for one in (*work[k : k + size], *self._each)]
        begin = [*extra.begin, *self.begin] if content.begins else []
        state_check = [*extra.state_check, *self.state_check] if content.ends else []
        return [*begin, *sampled_cycle * content.cycles, *state_check]

    def _prepared(self, work: Sequence[Any]) -> list[Any]:
        """Return launches, or stages of a group, prepared once for all graphs."""
        fresh = [one for one in work if id(one) not in self._bound]
        for one, bound in zip(fresh, self.device.bound(fresh), strict=True):
            self._bound[id(one)] = one, bound
        return [self._bound[id(one)][1] for one in work]

    def _sizes(self, cycles: int) -> list[int]:
        """Return the numbers of cycles of consecutive graphs: one graph for few cycles, powers of two for many."""
        if not self.device.graphs:
            return [cycles]
        tuning = self.device.parameters("shallow-water.steps")
        max_size = max(1, tuning.launches // (self.launches_per_cycle + len(self._each)))
        sizes = []
        while cycles > tuning.own_graph:
            sizes.append(min(max_size, 1 << (cycles.bit_length() - 1)))
            cycles -= sizes[-1]
        return [*sizes, cycles] if cycles or not sizes else sizes

    def _warm_up(self) -> None:
        """Compile and load every kernel before a graph is captured.

        With a request of no steps the launches change nothing but the clock.
        """
        self._warmed.add((self.way, self._buffer_set))
        if not self.device.graphs:
            return
        self.send_request(0.0, 0)
        clock = self.read_clock()
        extra = self.extra
        begin, state_check = [*extra.begin, *self.begin], [*extra.state_check, *self.state_check]
        self.device.run(self._prepared([*begin, *self.launch_cycle, *self._each, *state_check]))
        self.write_clock(clock)
