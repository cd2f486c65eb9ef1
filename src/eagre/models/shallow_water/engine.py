"""The engine of the shallow-water model: its arrays, its programs and its time loop on a device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.boundaries import SIDES, Segment
from eagre.boundaries.ghosts import boundary_pass_cuda, ghosts_cpu, padded_bed, segment_table, tail_cpu
from eagre.grid import Grid
from eagre.kernels.water_sums import BLOCK, named_sums
from eagre.models.shallow_water import diagnostics, march_cpu, march_cuda, tile_cuda
from eagre.models.shallow_water import kernels as cells
from eagre.models.shallow_water.balance import Balance
from eagre.models.shallow_water.junctions import Junctions
from eagre.series import Series
from eagre.stepping import clock as ck
from eagre.terms.collect import Terms
from eagre.terms.compose import Places, bind

TREATMENTS = {
    "hydrostatic": {
        "PRIMITIVE": cells.velocity_of_cell,
        "FACES": cells.hydrostatic_faces,
        "COVERED_FACES": cells.hydrostatic_covered,
        "RESET": True,
        "OF_DISCHARGES": False,
    },
    "kurganov-petrova": {
        "PRIMITIVE": cells.discharge_of_cell,
        "FACES": cells.kurganov_petrova_faces,
        "COVERED_FACES": cells.kurganov_petrova_covered,
        "RESET": False,
        "OF_DISCHARGES": True,
    },
}
PREDICTED_TOLERANCE = 0.02
LARGEST_TILED = 300 * 300  # cells; on larger grids a GPU marches
REGISTERS_OF_TILES = 96
REGISTERS = {"single": (72, 96), "double": (168, 168)}  # of a thread of the first and the second stage on a GPU
ROUND_REPEATS = 10  # how often a CUDA graph holds the launches of a step or a pair of steps


@dataclass(frozen=True, eq=False)
class Setup:
    """Everything that fixes a run, checked by the model; arrays are float64 on the host."""

    grid: Grid
    bed: np.ndarray  # (ny + 1, nx + 1) corners, m
    segments: Sequence[Segment]
    manning: np.ndarray  # (ny, nx), s m-1/3
    terms: Terms
    scheme: str
    wet_dry: str
    early_exit: bool
    theta: float
    kappa: float
    gravity: float
    cfl: float
    time_step: str
    longest_step: float
    fixed: bool

    @property
    def series(self) -> list[Series]:
        """Series that drive the run: one a segment, then the factors of the terms."""
        own = [segment.condition.value(segment.width) for segment in self.segments]
        return own + self.terms.series


class Engine:
    """Arrays and programs of one run on one device."""

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self.real = check_precision(precision)
        grid = setup.grid
        table, ghosts = segment_table(setup.segments, grid)
        uniform = bool((setup.manning == setup.manning.flat[0]).all())
        self.switches: dict[str, Any] = {
            **TREATMENTS[setup.wet_dry],
            **ghosts,
            "SKIP_DRY": setup.early_exit,
            "DRY_ULP": 8.0 * float(np.finfo(self.real).eps),
            "FRICTION": int(setup.manning.flat[0] > 0) if uniform else 2,
        }
        self._ghost_switches = {**ghosts, "OF_DISCHARGES": self.switches["OF_DISCHARGES"]}
        self._allocate(table, uniform)
        self._compile()

    def _allocate(self, table: np.ndarray, uniform: bool) -> None:
        setup, device, real = self.setup, self.device, self.real
        grid = setup.grid
        wrap_x, wrap_y = self._wraps
        shape = (3, grid.ny + 4, grid.nx + 4)
        self.bed = device.array(padded_bed(setup.bed, wrap_x, wrap_y, setup.segments).astype(real))
        # Buffers that hold the state in turn, and one for the first stage. On the CPU the second
        # stage overwrites the state; a GPU is slow at that (see march_cuda).
        in_place = setup.scheme == "rk2" and device.kind == "cpu"
        self._pair = device.zeros((1 if in_place else 2, *shape), real)
        self.q = list(self._pair)
        self.middle = device.zeros(shape, real) if setup.scheme == "rk2" else None
        self._clocks = device.array(np.stack([self._first_clock()] * 2))
        self.clock = self._clocks[0]
        self._table = device.array(table)
        self.balance = Balance(setup.segments, table, grid, setup.terms, device)
        self._junctions = Junctions(setup.segments, table, device)
        self._levels = device.array(np.array([s.condition.still_level() for s in setup.segments], real))
        self._series = ck.SeriesTable._make(device.array(a) for a in ck.series_table(setup.series, len(setup.segments)))
        self.forcing = device.zeros((len(setup.series),), np.float64)
        self._arrived = device.zeros((1,), np.uint32)
        g_n2 = setup.gravity * setup.manning**2
        self._manning = device.array((np.zeros((1, 1)) if uniform else g_n2).astype(real))
        numbers = (0.5 * setup.theta, 0.5 / setup.theta, setup.kappa, setup.kappa**4, 1e-3 * setup.kappa, setup.gravity)
        numbers = (*numbers, 1.0 / grid.dx, 1.0 / grid.dy)
        self.parameters = cells.Parameters._make(map(real, (*numbers, float(g_n2.flat[0]) if uniform else 0.0)))
        self._bind_terms()
        bits = np.int32 if self.precision == "single" else np.int64
        if device.kind == "cpu":
            self._tiles = march_cpu.tiles_of(grid.ny, grid.nx)
            self._scratch = np.zeros((len(self._tiles), march_cpu.SCRATCH), real)
            self._rates = device.zeros((len(self._tiles),), bits)
        else:
            self._rates = device.zeros((3, 2) if self._tiled else (1,), bits)

    def _bind_terms(self) -> None:
        def place(role: str, values: np.ndarray) -> Any:
            return self.device.array(values.astype(self.real))

        wanted, first = {"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}, len(self.setup.segments)
        bound = bind(self.setup.terms, wanted, self.forcing[None], first, self.real, Places(place, place))
        self._terms = bound.arguments
        self.switches |= bound.switches

    @property
    def _wraps(self) -> tuple[bool, bool]:
        """Whether the domain is periodic in x and in y."""
        west, south = (
            any(s.condition.periodic for s in self.setup.segments if s.side == side) for side in ("west", "south")
        )
        return west, south

    @property
    def _tiled(self) -> bool:
        """Whether two launches make a step: small grids on a GPU, RK2, walls or periodic sides."""
        setup = self.setup
        closed = all(segment.condition.closed for segment in setup.segments)
        small = setup.grid.cells <= LARGEST_TILED and min(setup.grid.shape) >= tile_cuda.SMALLEST
        steady = all(series.is_constant for series in setup.series)
        return self.device.kind == "cuda" and setup.scheme == "rk2" and closed and small and steady

    def _first_clock(self) -> np.ndarray:
        setup = self.setup
        clock = np.zeros(ck.SIZE)
        clock[ck.CFL] = 1e30 if setup.fixed else setup.cfl
        clock[ck.LIMIT] = clock[ck.FREE] = setup.longest_step
        clock[ck.TOLERANCE] = PREDICTED_TOLERANCE if setup.time_step == "predicted" else -1.0
        clock[ck.DT_MIN] = 1e300
        return clock

    def _compile(self) -> None:
        """Bind the launches of a step, or of two steps that go back and forth between two buffers."""
        self.step = self._launches_of_tiles() if self._tiled else self._launches_of_stages()
        self._fill = [self._ghosts(q, ck.EITHER, TAIL=ck.start_leg, FILL=1) for q in self.q]
        self._begin = self._ghosts(self.q[0], ck.EITHER, TAIL=ck.start_leg, FILL=0)
        self._round: Callable[[], None] | None = None
        grid, cuda = self.setup.grid, self.device.kind == "cuda"
        self._row_sums = self.device.zeros((grid.ny, diagnostics.SUMS), np.float64)
        self._bad_columns = self.device.zeros((grid.ny,), np.int64)
        self._sum = self.device.program(diagnostics.row_sums_cuda if cuda else diagnostics.row_sums_cpu, self.precision)
        self._find = self.device.program(
            diagnostics.first_bad_cuda if cuda else diagnostics.first_bad_cpu, self.precision
        )
        self._output = self.device.loop(diagnostics.depth_and_velocity, self.precision)

    def _launches_of_stages(self) -> list[Launch]:
        first = {"SECOND": False, "TAIL": ck.verdict}
        last = {"SECOND": True, "TAIL": ck.finish, "GATE_ACCEPTED": True}
        only = {"SECOND": False, "TAIL": ck.verdict_and_finish}
        launches: list[Launch] = []
        for at, (now, then) in enumerate([(0, 1), (1, 0)] if len(self.q) == 2 else [(0, 0)]):
            turn = at if len(self.q) == 2 else ck.EITHER
            a, b = self.q[now], self.q[then]
            if self.setup.scheme == "rk2":
                launches += self._stage(turn, a, a, self.middle, **first)
                launches += self._book(turn, a, TWO_STAGES=True, GATE_ACCEPTED=True)
                launches += self._stage(turn, self.middle, a, b, **last)
            else:
                launches += self._book(turn, a, TWO_STAGES=False)
                launches += self._stage(turn, a, a, b, **only)
        self._steps_a_round = len(self.q)
        return launches

    def _launches_of_tiles(self) -> list[Launch]:
        grid, program = self.setup.grid, self.device.program
        wrap_x, wrap_y = self._wraps
        switches = {**self.switches, "WRAP_X": wrap_x, "WRAP_Y": wrap_y, "REGISTERS": REGISTERS_OF_TILES}
        stages = [program(tile_cuda.tile_stage_cuda, self.precision, {**switches, "SECOND": s}) for s in (False, True)]
        blocks, threads = tile_cuda.shape_of(grid.ny, grid.nx)
        shared = tile_cuda.shared_bytes(np.dtype(self.real).itemsize)
        launches = []
        for turn in range(tile_cuda.TURNS):
            rates, clocks = tile_cuda.turn_of(turn, self._rates, self._clocks)
            fields = (self._pair, self.middle, self.bed, self._manning, self._terms)
            arguments = (*fields, rates, self.parameters, clocks)
            launches += [Launch(stage, arguments, blocks, threads, shared, early=True) for stage in stages]
        settle = program(tile_cuda.settle_cuda, self.precision)
        self._steps_a_round = tile_cuda.TURNS
        return [*launches, Launch(settle, (self._rates[2], self.clock))]

    def _stage(self, turn: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        grid = self.setup.grid
        tail = {name: switches[name] for name in switches if name != "SECOND"}
        switches = {**self.switches, **switches}
        common = (out, self.bed, self._manning, self._terms)
        if self.device.kind == "cpu":
            program = self.device.program(march_cpu.stage_cpu, self.precision, switches)
            arguments = (q, *common, self._scratch, self._tiles, self._rates, self.parameters, self.clock, turn)
            stage = Launch(program, arguments)
        else:
            blocks, threads, switches["ROWS"] = march_cuda.shape_of(grid.ny, grid.nx)
            switches["REGISTERS"] = REGISTERS[self.precision][switches["SECOND"]]
            program = self.device.program(march_cuda.stage_cuda, self.precision, switches)
            arguments = (q, old, *common, self._rates, self.parameters, self.clock, turn)
            stage = Launch(program, arguments, blocks, threads)
        numbers = (self.bed, self.parameters, self.clock, turn)
        mended = self._junctions.launches(self.precision, q, out, *numbers, **switches)
        return [stage, *mended, *self._ghosts(out, turn, **tail)]

    def _book(self, turn: int, q: Any, **switches: Any) -> list[Launch]:
        numbers = (self.bed, self.forcing[len(self.setup.segments) :], self.parameters, self.clock, turn)
        return self.balance.launches(self.precision, q, self.middle, *numbers, **self.switches, **switches)

    def _ghosts(self, q: Any, turn: int, **switches: Any) -> list[Launch]:
        """The boundary pass."""
        varying = any(not series.is_constant for series in self.setup.series)
        switches = {**self._ghost_switches, "SERIES": varying, "FILL": 2 if varying else 1, **switches}
        program = partial(self.device.program, precision=self.precision, switches=switches)
        arguments = (q, self.bed, self._table, self.forcing, self._levels, self.parameters, self.clock)
        if self.device.kind == "cpu":
            tail = Launch(program(tail_cpu), (self.forcing, self.clock, self._rates, self._series, turn))
            return [Launch(program(ghosts_cpu), (*arguments, turn)), tail] if switches["FILL"] else [tail]
        arguments = (*arguments, self._rates, self._series, turn, self._arrived)
        longest = 2 * max(self.setup.grid.nx, self.setup.grid.ny)
        blocks = (-(-(longest + 1) // 64), len(self.setup.segments))
        return [Launch(program(boundary_pass_cuda), arguments, blocks, (64,))]

    # -- state --------------------------------------------------------------------------------------

    @property
    def current(self) -> int:
        """Which of the two buffers holds the state."""
        return int(self.read_clock()[ck.PARITY])

    def read_clock(self) -> np.ndarray:
        """A host copy of the clock."""
        return self.device.host(self.clock)

    def write_clock(self, values: np.ndarray) -> None:
        """Set the clock."""
        self.device.fill(self.clock, values)

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
        self.device.fill(self.forcing, np.array([series(time) for series in self.setup.series]))
        self.balance.begin(time)
        for fill in self._fill:
            self.device.run(fill)

    def start(self, until: float, steps: int) -> None:
        """Aim at `until`, s, and at most `steps` steps."""
        clock = self.read_clock()
        clock[ck.UNTIL] = until
        clock[ck.STEPS_LEFT] = steps
        clock[ck.RUNNING] = float(clock[ck.T] < until and steps > 0)
        clock[ck.ACCEPTED] = 0.0
        self.write_clock(clock)
        self.device.run(self._begin)

    def round(self) -> int:
        """Run a round of steps (one graph on CUDA); returns how many steps it may have made at most."""
        repeats = ROUND_REPEATS if self.device.graphs else 1
        if self._round is None:
            if self.device.graphs:
                self._warm_up()
            self._round = self.device.repeated(self.step, repeats)
        self._round()
        return repeats * self._steps_a_round

    def _warm_up(self) -> None:
        """Compile and load every program before a graph is captured: stopped, they change nothing."""
        clock = self.read_clock()
        stopped = clock.copy()
        stopped[ck.RUNNING] = 0.0
        self.write_clock(stopped)
        self.device.run(self.step)
        self.write_clock(clock)

    def _small_state(self) -> dict[str, np.ndarray]:
        clock = self.read_clock()
        return {"clock": clock, "edges": self._edges(clock[ck.T]), **self.balance.state()}

    def _edges(self, time: float) -> np.ndarray:
        """What the ghosts of a state at `time`, s, were made from: side, cells, kind, level and value a segment."""
        segments = self.setup.segments
        kinds = [crc32(type(s.condition).__name__.encode()) for s in segments]
        places = [(SIDES.index(s.side), s.first, s.last) for s in segments]
        rows = [(*p, k, s.condition.still_level()) for p, k, s in zip(places, kinds, segments, strict=True)]
        values = [series(time) for series in self.setup.series[: len(rows)]]
        return np.array([(*row, value) for row, value in zip(rows, values, strict=True)], np.float64)

    def _restore_small(self, state: dict[str, np.ndarray]) -> None:
        """Take up the time and the counts; what the user chose stays that of this set-up."""
        clock, own = state["clock"].copy(), self._first_clock()
        for chosen in (ck.CFL, ck.LIMIT, ck.TOLERANCE):
            clock[chosen] = own[chosen]
        clock[ck.FREE] = own[ck.LIMIT] if self.setup.fixed else min(clock[ck.FREE], own[ck.LIMIT])
        if len(self.q) == 1:
            clock[ck.PARITY] = 0.0
        self.write_clock(clock)
        self.device.fill(self.forcing, np.array([series(clock[ck.T]) for series in self.setup.series]))
        self.device.fill(self._rates, np.zeros(self._rates.shape))
        self.balance.resume(state, clock[ck.T])

    def state(self) -> dict[str, np.ndarray]:
        """Host copies of everything that a bitwise restart needs; ghosts too, which tiles do without."""
        if self._tiled:
            self.device.run(self._fill[self.current])
        return {"q": self.device.host(self.q[self.current]), **self._small_state()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Take up a state of `state`; its ghosts too, unless other conditions hold at the boundary now."""
        self._restore_small(state)
        self.device.fill(self.q[self.current], state["q"])
        if not np.array_equal(state.get("edges", np.zeros(0)), self._edges(self.read_clock()[ck.T])):
            self.device.run(self._fill[self.current])

    # -- looks --------------------------------------------------------------------------------------

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

    def at(self, points: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
        """w, h, hu, hv, u, v, (6, n), and the bed, (n,), of interior cells (j, i)."""
        j = np.array([point[0] for point in points], np.int64)
        i = np.array([point[1] for point in points], np.int64)
        w, hu, hv = self.device.pick(self.q[self.current], j + 2, i + 2)
        c = self.setup.bed.astype(self.real)
        bed = (0.25 * ((c[j, i] + c[j + 1, i]) + (c[j, i + 1] + c[j + 1, i + 1]))).astype(self.real)
        h = w - bed
        wet = np.maximum(h, 0).astype(np.float64)
        over_h = np.sqrt(2.0) * wet / np.sqrt(wet**4 + np.maximum(wet**4, self.setup.kappa**4))
        return np.stack([w, h, hu, hv, (hu * over_h).astype(self.real), (hv * over_h).astype(self.real)]), bed

    def derived(self) -> np.ndarray:
        """Host copy of w, h, hu, hv, u, v at interior cells, (6, ny, nx)."""
        at = self.current
        spare = self.middle if self.middle is not None else self.q[1 - at]
        grid = self.setup.grid
        self.device.run([self.device.over(self._output, grid.shape, (self.q[at], self.bed, spare, self.parameters))])
        state, extra = self.device.host(self.q[at]), self.device.host(spare)
        inner = (slice(None), slice(2, -2), slice(2, -2))
        (w, hu, hv), (h, u, v) = state[inner], extra[inner]
        return np.stack([w, h, hu, hv, u, v])
