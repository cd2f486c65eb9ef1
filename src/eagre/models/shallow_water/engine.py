"""The engine of the shallow-water model: its arrays on a device, its legs and what is read from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from zlib import crc32

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.boundaries import SIDES
from eagre.boundaries.edges import edge_table
from eagre.boundaries.ghosts import KIND, padded_bed, segment_table
from eagre.errors import EagreError
from eagre.kernels.water_sums import BLOCK, named_sums
from eagre.models.shallow_water import diagnostics
from eagre.models.shallow_water.balance import Balance
from eagre.models.shallow_water.schedules import Tiles, schedule_for
from eagre.models.shallow_water.setup import TREATMENTS, Setup
from eagre.stepping import clock as ck
from eagre.terms.compose import Places, bind

PREDICTED_TOLERANCE = 0.02


class Engine:
    """Arrays and programs of one run on one device."""

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self.real = check_precision(precision)
        self.table, ghosts = segment_table(setup.segments, setup.grid)
        uniform = bool((setup.manning == setup.manning.flat[0]).all())
        self.switches: dict[str, Any] = {
            **TREATMENTS[setup.wet_dry],
            **ghosts,
            "SKIP_DRY": setup.early_exit,
            "DRY_ULP": 8.0 * float(np.finfo(self.real).eps),
            "FRICTION": int(setup.manning.flat[0] > 0) if uniform else 2,
        }
        self.ghost_switches = {**ghosts, "OF_DISCHARGES": self.switches["OF_DISCHARGES"]}
        self.bits = np.int32 if precision == "single" else np.int64
        self._allocate(uniform)
        self.schedule = schedule_for(self)
        self._prepare_looks()

    def _allocate(self, uniform: bool) -> None:
        setup, device, real = self.setup, self.device, self.real
        grid = setup.grid
        shape = (3, grid.ny + 4, grid.nx + 4)
        self.bed = device.array(padded_bed(setup.bed, *setup.wraps, setup.segments).astype(real))
        # Buffers that hold the state in turn, and one for the first stage. On the CPU the second
        # stage overwrites the state; a GPU is slow at that (see march_cuda).
        in_place = setup.scheme == "rk2" and device.kind == "cpu"
        self.pair = device.zeros((1 if in_place else 2, *shape), real)
        self.q = list(self.pair)
        self.middle = device.zeros(shape, real) if setup.scheme == "rk2" else self.q[0]
        self.clocks = device.array(np.stack([self._first_clock()] * 2))
        self.clock = self.clocks[0]
        self.edges = device.array(edge_table(setup.segments, grid, [int(kind) for kind in self.table[:, KIND]]))
        self.balance = Balance(setup.segments, self.table, grid, setup.terms, device)
        self.levels = device.array(np.array([s.condition.still_level() for s in setup.segments], real))
        self.series = ck.SeriesTable._make(device.array(a) for a in ck.series_table(setup.series, len(setup.segments)))
        self.forcing = device.zeros((len(setup.series),), np.float64)
        g_n2 = setup.gravity * setup.manning**2
        self.manning = device.array((np.zeros((1, 1)) if uniform else g_n2).astype(real))
        self.parameters = setup.parameters(real)
        self._bind_terms()

    def _bind_terms(self) -> None:
        def place(role: str, values: np.ndarray) -> Any:
            return self.device.array(values.astype(self.real))

        wanted, first = {"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}, len(self.setup.segments)
        bound = bind(self.setup.terms, wanted, self.forcing[None], first, self.real, Places(place, place))
        self.terms = bound.arguments
        self.switches |= bound.switches

    def _first_clock(self) -> np.ndarray:
        setup = self.setup
        clock = np.zeros(ck.SIZE)
        clock[ck.CFL] = 1e30 if setup.fixed else setup.cfl
        clock[ck.LIMIT] = clock[ck.FREE] = setup.longest_step
        clock[ck.TOLERANCE] = PREDICTED_TOLERANCE if setup.time_step == "predicted" else -1.0
        clock[ck.DT_MIN] = 1e300
        return clock

    # -- legs ---------------------------------------------------------------------------------------

    def _prepare_looks(self) -> None:
        """Lists of launches that begin a leg with the orders of the host, and that end it with a report to the host."""
        device, cuda, ny = self.device, self.device.kind == "cuda", self.setup.grid.ny
        self._orders = device.pinned((2,), np.float64)
        self._report = device.pinned((ck.SIZE,), np.float64)
        self._bad = device.zeros((1,), np.int32)
        self._bad_report = device.pinned((1,), np.int32)
        self._seen = self._first_clock()
        self._unread = False  # whether steps were made since
        scan = device.program(diagnostics.scan_cuda if cuda else diagnostics.scan_cpu, self.precision)
        orders = device.transfer(self.clock[ck.NEXT_UNTIL : ck.NEXT_STEPS + 1], self._orders)
        self._begin: list[Work] = [orders, *self.schedule.begin]
        self._look: list[Work] = [
            *self.schedule.conclude,
            Launch(scan, (self.pair, self.clock, self._bad), (ny,), (BLOCK,)),
            device.transfer(self._report, self.clock),
            device.transfer(self._bad_report, self._bad),
        ]
        self._graphs: dict[tuple[int, bool, bool], Callable[[], None]] = {}
        self._row_sums = device.zeros((ny, diagnostics.SUMS), np.float64)
        self._bad_columns = device.zeros((ny,), np.int64)
        self._sum = device.program(diagnostics.row_sums_cuda if cuda else diagnostics.row_sums_cpu, self.precision)
        self._find = device.program(diagnostics.first_bad_cuda if cuda else diagnostics.first_bad_cpu, self.precision)
        self._output = device.loop(diagnostics.depth_and_velocity, self.precision)
        self._samples: dict[bytes, tuple[Callable[[], None], np.ndarray]] = {}

    def leg(self, until: float, steps: int) -> int:
        """Make up to `steps` steps towards `until`, s; returns how many were made."""
        if not self._graphs:
            self._warm_up()
        self._orders[:] = until, steps
        first = self.seen[ck.STEPS]
        in_vain, left, begins = 0, float(steps), True
        while True:
            last = self._seen[ck.STEPS]
            self._launch(min((until - self._seen[ck.T]) / self._seen[ck.FREE] + 1.0, left), begins)
            self.device.synchronize()
            self._seen = self._report.copy()
            if self._seen[ck.RUNNING] == 0.0:
                return int(self._seen[ck.STEPS] - first)
            left, begins = self._seen[ck.STEPS_LEFT], False
            in_vain = in_vain + 1 if self._seen[ck.STEPS] == last else 0
            if in_vain > 2:  # a refused step is made again with the length that its own rate allows
                raise EagreError(f"no time step is accepted at t = {self._seen[ck.T]:.10g} s: please report this")

    def unchecked(self, until: float, steps: int) -> Callable[[], None]:
        """A function that makes rounds for so many steps and reads nothing: for timing."""
        self.leg(until, 1)
        self._orders[:] = until, 2**50
        self.device.run(self._begin)
        self.device.synchronize()
        rounds = [self.device.repeated(self.schedule.launches, size) for size in self._sizes(self._rounds(steps))]

        def make() -> None:
            for one in rounds:
                one()
            self._unread = True

        return make

    def _rounds(self, steps: float) -> int:
        """Rounds for so many steps; an exact time step is found by a first try."""
        attempts = 2.0 if self.setup.time_step == "exact" else 1.0
        return max(1, -int(-attempts * steps // self.schedule.steps_a_round))

    def _launch(self, steps: float, begins: bool) -> None:
        """Enough rounds for so many steps, the orders before the first and a report after the last."""
        sizes = self._sizes(self._rounds(steps))
        for number, size in enumerate(sizes):
            key = (size, begins and number == 0, number == len(sizes) - 1)
            if key not in self._graphs:
                begin, look = self._begin if key[1] else [], self._look if key[2] else []
                self._graphs[key] = self.device.repeated([*begin, *self.schedule.launches * size, *look], 1)
            self._graphs[key]()

    def _sizes(self, rounds: int) -> list[int]:
        """Rounds of the graphs that make so many together: one graph of few, powers of two of many."""
        if not self.device.graphs:
            return [rounds]
        layout = self.device.layout("shallow-water.steps")
        most = max(1, layout.launches // len(self.schedule.launches))
        sizes = []
        while rounds > layout.own_graph:
            sizes.append(min(most, 1 << (rounds.bit_length() - 1)))
            rounds -= sizes[-1]
        return [*sizes, rounds] if rounds or not sizes else sizes

    def _warm_up(self) -> None:
        """Compile and load every program before a graph is captured: stopped, they change nothing."""
        if not self.device.graphs:
            return
        clock = self.read_clock()
        stopped = clock.copy()
        stopped[ck.RUNNING] = stopped[ck.NEXT_STEPS] = 0.0
        self.write_clock(stopped)
        self.device.run([*self._begin, *self.schedule.launches, *self._look])
        self.write_clock(clock)

    # -- state --------------------------------------------------------------------------------------

    @property
    def seen(self) -> np.ndarray:
        """The clock as it is: as a leg reported it, or read now after unchecked steps."""
        if self._unread:
            self.device.run(self._look)
            self.device.synchronize()
            self._seen, self._unread = self._report.copy(), False
        return self._seen

    @property
    def current(self) -> int:
        """Which of the two buffers holds the state."""
        return int(self.seen[ck.PARITY])

    def read_clock(self) -> np.ndarray:
        """A host copy of the clock."""
        return self.device.host(self.clock)

    def write_clock(self, values: np.ndarray) -> None:
        """Set the clock."""
        self.device.fill(self.clock, values)
        self._seen, self._unread = np.array(values), False

    def _fill_ghosts(self) -> None:
        """Fill the ghosts of the state, for its time."""
        self.device.run(self.schedule.fill[self.current])

    def set_state(self, w: np.ndarray, hu: np.ndarray, hv: np.ndarray, time: float) -> None:
        """Set the interior state (ny, nx) and the time, and fill the ghosts."""
        grid = self.setup.grid
        state = np.zeros((3, grid.ny + 4, grid.nx + 4), self.real)
        state[:, 2:-2, 2:-2] = w, hu, hv
        for q in self.q:
            self.device.fill(q, state)
        clock = self.read_clock()
        clock[ck.T] = clock[ck.UNTIL] = time
        self.write_clock(clock)
        self._set_forcing(time)
        self.balance.begin(time)
        for fill in self.schedule.fill:
            self.device.run(fill)

    def _set_forcing(self, time: float) -> None:
        self.device.fill(self.forcing, self.setup.values_at(time))
        self.schedule.set_forcing(self.setup.values_at(time))

    def _edges(self, time: float) -> np.ndarray:
        """What the ghosts of a state at `time`, s, were made from: side, cells, kind, level and value a segment."""
        segments = self.setup.segments
        kinds = [crc32(type(s.condition).__name__.encode()) for s in segments]
        places = [(SIDES.index(s.side), s.first, s.last) for s in segments]
        rows = [(*p, k, s.condition.still_level()) for p, k, s in zip(places, kinds, segments, strict=True)]
        values = self.setup.values_at(time)[: len(rows)]
        return np.array([(*row, value) for row, value in zip(rows, values, strict=True)], np.float64)

    def state(self) -> dict[str, np.ndarray]:
        """Host copies of everything that a bitwise restart needs; ghosts too, which tiles do without."""
        if isinstance(self.schedule, Tiles):
            self._fill_ghosts()
        clock = self.seen.copy()
        clock[[ck.NEXT_UNTIL, ck.NEXT_STEPS]] = 0.0  # orders are the host's
        small = {"clock": clock, "edges": self._edges(self._seen[ck.T]), **self.balance.state()}
        return {"q": self.device.host(self.q[self.current]), **small}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`; its ghosts too, unless other conditions hold at the boundary now.

        What the user chose stays that of this set-up.
        """
        own = self._first_clock()
        clock = own.copy()
        clock[: state["clock"].size] = state["clock"]
        for chosen in (ck.CFL, ck.LIMIT, ck.TOLERANCE):
            clock[chosen] = own[chosen]
        clock[ck.FREE] = own[ck.LIMIT] if self.setup.fixed else min(clock[ck.FREE], own[ck.LIMIT])
        if len(self.q) == 1:
            clock[ck.PARITY] = 0.0
        self.write_clock(clock)
        self._set_forcing(clock[ck.T])
        self.device.fill(self.schedule.rates, np.zeros(self.schedule.rates.shape))
        self.balance.resume(state, clock[ck.T])
        self.device.fill(self._bad, np.zeros(1))
        self.device.fill(self.q[self.current], state["q"])
        if not np.array_equal(state.get("edges", np.zeros(0)), self._edges(clock[ck.T])):
            self._fill_ghosts()

    # -- looks --------------------------------------------------------------------------------------

    @property
    def failure(self) -> int:
        """0, or why the leg ended early: 1 values that are not finite, 2 the time step collapsed."""
        return int(self._seen[ck.FAILED]) or int(self._bad_report[0] != 0)

    def sums(self) -> dict[str, float]:
        """Sums and extremes over the domain, in double precision; the same bits every time."""
        q = self.q[self.current]
        arguments = (q, self.bed, self._row_sums, self.parameters)
        self.device.run([Launch(self._sum, arguments, (self.setup.grid.ny,), (BLOCK,))])
        return named_sums(self.device.host(self._row_sums), self.setup.grid)

    def bad_cell(self) -> tuple[int, int] | None:
        """(j, i) of the first cell that is not finite, or None."""
        q = self.q[self.current]
        launch = Launch(self._find, (q, self._bad_columns), (self.setup.grid.ny,), (BLOCK,))
        self.device.run([launch])
        columns = self.device.host(self._bad_columns)
        rows = np.flatnonzero(columns != diagnostics.NOWHERE)
        return (int(rows[0]), int(columns[rows[0]])) if rows.size else None

    def fastest_cell(self) -> tuple[int, int]:
        """(j, i) of the largest speed."""
        fields = self.derived()
        return tuple(int(k) for k in np.unravel_index(np.argmax(np.hypot(fields[4], fields[5])), fields[4].shape))  # type: ignore[return-value]

    def at(self, j: np.ndarray, i: np.ndarray) -> np.ndarray:
        """w, h, hu, hv, u, v and the bed of interior cells (j, i), (7, n)."""
        places = np.stack([j, i]).astype(np.int64)
        key = places.tobytes()
        if key not in self._samples:
            self._samples.clear()  # of one set of points, which a run asks for again and again
            device, count = self.device, max(1, places.shape[1])
            found = device.zeros((7, count), self.real)
            report = device.pinned((7, count), self.real)
            arguments = (self.pair, self.bed, device.array(places), found, self.clock, self.parameters)
            launch = device.over(device.loop(diagnostics.sampled, self.precision), (places.shape[1],), arguments)
            work: list[Work] = [launch, device.transfer(report, found)]
            device.run(work)  # compiled before it is captured
            self._samples[key] = device.repeated(work, 1), report
        go, report = self._samples[key]
        go()
        self.device.synchronize()
        return report[:, : places.shape[1]].copy()

    def derived(self) -> np.ndarray:
        """Host copy of w, h, hu, hv, u, v at interior cells, (6, ny, nx)."""
        at = self.current
        spare = self.middle if self.middle is not self.q[0] else self.q[1 - at]
        grid = self.setup.grid
        self.device.run([self.device.over(self._output, grid.shape, (self.q[at], self.bed, spare, self.parameters))])
        state, extra = self.device.host(self.q[at]), self.device.host(spare)
        inner = (slice(None), slice(2, -2), slice(2, -2))
        (w, hu, hv), (h, u, v) = state[inner], extra[inner]
        return np.stack([w, h, hu, hv, u, v])
