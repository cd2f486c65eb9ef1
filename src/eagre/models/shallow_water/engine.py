"""Engine of the explicit shallow-water model: arrays on a device, batches of steps, and access to the results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.boundaries.edges import edge_table
from eagre.boundaries.ghosts import KIND, segment_table
from eagre.kernels.water_sums import BLOCK, WET, named_sums
from eagre.models.shallow_water.active_tiles import Chooser
from eagre.models.shallow_water.kernels import Domain
from eagre.models.shallow_water.sampling import diagnostics
from eagre.models.shallow_water.sampling.averaging import PresentAverages
from eagre.models.shallow_water.sampling.water_balance import Balance, CrossSectionVolumes
from eagre.models.shallow_water.schedules import RowStreaming, Tiles
from eagre.models.shallow_water.setup import TREATMENTS, Setup
from eagre.models.shallow_water.stages.sweeps import schedule_for
from eagre.models.shallow_water.step_batches import BatchStepping
from eagre.stepping import clock as ck
from eagre.stepping.maps import MapAccumulator
from eagre.stepping.recording import Extra, SampleBuffer
from eagre.terms.compose import TermArrays, bind
from eagre.terms.infiltration import Soil

PREDICTED_TOLERANCE = 0.02
MIXED = ("srk2", "ds2")  # schemes whose steps on a list of active tiles are steps of "rk2"
RK2_COURANT = 0.25  # maximum Courant number for which "rk2" keeps depths non-negative


class Engine(BatchStepping):
    """Arrays and kernels of one run on one device."""

    rates: Any  # maximum rates that the stages store for the clock
    blended: bool | None = None  # whether the source terms read from tables; None before they are bound

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self.real = check_precision(precision)
        self.table, ghosts = segment_table(setup.segments, setup.grid)
        uniform = setup.uniform_manning
        self.switches: dict[str, Any] = {
            **TREATMENTS[setup.wet_dry],
            **ghosts,
            "SKIP_DRY": setup.active_tiles != "off",
            "DRY_ULP": 8.0 * float(np.finfo(self.real).eps),
            "FRICTION": int(setup.manning_range[0] > 0) if uniform else 2,
        }
        if setup.walls is not None:
            self.switches["WALLS"] = True
        self.ghost_switches = {**ghosts, "OF_DISCHARGES": self.switches["OF_DISCHARGES"]}
        self.bits = np.int32 if precision == "single" else np.int64
        self._allocate(uniform)
        self._arrange()

    def _arrange(self) -> None:
        """Bind the kernels to the arrays."""
        schedule_class = self.schedule_class()
        self._bind_terms(schedule_class.blends and self.device.kind == "cuda")
        self.schedule = schedule_class(self)
        self.first_cycle = self.schedule.first
        self._prepare_checks()
        self.reset_graphs()
        self.chooser = Chooser(self.setup.active_tiles, self.schedule.active, self.setup.scheme in MIXED)
        later = self.schedule.launches if self.first_cycle else []
        self.device.prepare([*self.schedule.fill[0], *self.begin, *self.launch_cycle, *later, *self.state_check])

    def use_tuning(self, device: Device) -> None:
        """Use the launch parameters of `device`, the same device with another table; arrays and state are kept."""
        time, self.device = float(self.seen[ck.T]), device
        self._arrange()
        self._set_forcing(time)
        device.run([one for fill in self.schedule.fill for one in fill])
        self._begin_lists()

    def _allocate(self, uniform: bool) -> None:
        setup, device, real = self.setup, self.device, self.real
        grid = setup.grid
        shape = (3, grid.ny + 4, grid.nx + 4)
        self.bed = device.array(setup.padded_bed().astype(real))
        # Two buffers that hold the state alternately, and one for the first stage. On the CPU the second stage
        # overwrites the state; on a GPU this would be slow (see march_cuda).
        overwrites = setup.scheme in ("rk2", "srk2") and device.kind == "cpu"
        self.pair = device.zeros((1 if overwrites else 2, *shape), real)
        self.q = list(self.pair)
        self.q_stage = self.q[0] if setup.scheme == "euler" else device.zeros(shape, real)
        self.q_work = device.zeros(shape, real) if setup.scheme in ("srk2", "ds2") else self.q_stage
        self.clocks = device.array(np.stack([self._first_clock()] * 2))
        self.clock, self._seen = self.clocks[0], self._first_clock()
        self._unread = False  # whether steps were made since the clock was read
        table = segment_table(setup.faced, grid)[0]
        self.edges = device.array(edge_table(setup.faced, grid, [int(kind) for kind in table[:, KIND]]))
        self.balance = Balance(setup.faced, table, grid, setup.terms, device)
        self.lines = CrossSectionVolumes(setup.cross_sections, device)
        levels = [segment.condition.level_over(setup.datum.level) for segment in setup.segments]
        self.levels = device.array(np.array(levels, real))
        self.series = ck.SeriesTable._make(device.array(a) for a in ck.series_table(setup.series, len(setup.segments)))
        self.forcing = device.zeros((len(setup.series),), np.float64)
        g_n2 = np.zeros((1, 1)) if uniform else setup.gravity * setup.manning**2
        self.manning = device.array(g_n2.astype(real))
        self.walls = device.array(np.zeros((1, 1), np.uint8) if setup.walls is None else setup.padded_walls())
        self.parameters = setup.parameters(real)
        self.accumulated_maps = MapAccumulator(setup.maps, device, grid.shape, real, float(self.parameters.dry))
        self.averages = PresentAverages(self)
        self.soil = Soil(setup.terms, device, real, len(self.q))

    @property
    def domain(self) -> Domain:
        """Constant arrays of the stages."""
        return Domain(self.bed, self.manning, self.edges, self.walls)

    def _bind_terms(self, blended: bool) -> None:
        if self.blended == blended:
            return
        self.blended = blended

        def to_device(role: str, values: np.ndarray) -> Any:
            return self.device.array(values.astype(self.real))

        roles, first = {"WATER": "water", "FORCE_X": "x", "FORCE_Y": "y"}, len(self.setup.segments)
        memory = TermArrays(to_device, to_device, self.device, blended=blended)
        bound = bind(self.setup.terms, roles, self.forcing[None], first, self.real, memory)
        self.terms, self.records, self.blend = bound.arguments, bound.records, bound.blend
        self.switches |= bound.switches

    def _first_clock(self) -> np.ndarray:
        setup = self.setup
        clock = np.zeros(ck.SIZE)
        clock[ck.CFL] = 1e30 if setup.fixed else setup.courant_number * setup.predicted_fraction
        clock[ck.LIMIT], clock[ck.FREE] = setup.longest_step, setup.first_step
        clock[ck.TOLERANCE] = PREDICTED_TOLERANCE if setup.time_step_control == "predicted" else -1.0
        if setup.split:
            clock[ck.TOLERANCE] = 1.0 / setup.predicted_fraction - 1.0
        clock[ck.DT_MIN] = 1e300
        return clock

    def schedule_class(self) -> type[RowStreaming] | type[Tiles]:
        """Return the class of the schedule."""
        return schedule_for(self.setup, self.device)

    # -- batches of steps --------------------------------------------------------------------------

    def _prepare_checks(self) -> None:
        """Prepare the launches at the start of a batch (step request) and at its end (state check and step result)."""
        device, cuda, ny = self.device, self.device.kind == "cuda", self.setup.grid.ny
        self._request = device.pinned((2,), np.float64)
        self._clock_copy = device.pinned((ck.SIZE,), np.float64)
        self._bad = device.zeros((1,), np.int32)
        self._bad_copy = device.pinned((1,), np.int32)
        scan = device.program(diagnostics.scan_cuda if cuda else diagnostics.scan_cpu, self.precision)
        request = device.transfer(self.clock[ck.NEXT_UNTIL : ck.NEXT_STEPS + 1], self._request)
        self._begins: list[list[Work]] = [[request, *one] for one in (self.schedule.begin, self.schedule.begin_listed)]
        self.state_check: list[Work] = [
            *self.schedule.conclude,
            Launch(scan, (self.pair, self.clock, self._bad), (ny,), (BLOCK,)),
            device.transfer(self._clock_copy, self.clock),
            device.transfer(self._bad_copy, self._bad),
        ]
        if self.schedule.active is not None:
            self.state_check.append(self.schedule.active.read_counts)
        self.steps_per_cycle, self.launches_per_cycle = self.schedule.steps_per_cycle, len(self.schedule.launches)
        self.divisions = self.schedule.divisions
        self._row_sums = device.zeros((ny, diagnostics.SUMS), np.float64)
        self._bad_columns = device.zeros((ny,), np.int64)
        self._sum = device.program(diagnostics.row_sums_cuda if cuda else diagnostics.row_sums_cpu, self.precision)
        self._find = device.program(diagnostics.first_bad_cuda if cuda else diagnostics.first_bad_cpu, self.precision)
        self._output = device.loop(diagnostics.depth_and_velocity, self.precision)
        self._samples: dict[bytes, tuple[Callable[[], None], np.ndarray]] = {}

    def sample_buffers(self, j: np.ndarray, i: np.ndarray) -> tuple[list[SampleBuffer], list[np.ndarray]]:
        """Return the ring buffer for in-run samples of interior cells (j, i), six values per cell (`recorded`)."""
        buffer = SampleBuffer(self.device, 6, j.size, self.real)
        points = self.device.array(np.stack([j, i]).astype(np.int64) if j.size else np.zeros((2, 1), np.int64))
        conclude, split = self.schedule.conclude, self.setup.split
        each = [*conclude, *diagnostics.recording(self, points, buffer, split)]
        each_listed = [*conclude, *diagnostics.recording(self, points, buffer, 0)] if split else ()
        self.extra = Extra(buffer.begin, each, buffer.state_check, each_listed)
        return [buffer], [np.arange(j.size)]

    @property
    def listed(self) -> bool:
        """True if the steps use the active-tile list."""
        return self.chooser.listed

    @property
    def launch_cycle(self) -> list[Launch]:
        """Launches of `steps_per_cycle` steps."""
        if self.way == "first":
            return list(self.first_cycle)
        return self.schedule.listed if self.listed else self.schedule.launches

    @property
    def begin(self) -> list[Work]:
        """Launches at the start of a batch of steps of the present kind."""
        return self._begins[self.way == "listed"]

    @property
    def way(self) -> str:
        """Kind of the launches in `launch_cycle`: "first" for the first step of a split scheme, "listed" or "all"."""
        way = super().way
        return "listed" if self.listed and way == "all" else way

    def step_batch(self, until: float, steps: int) -> int:
        """Make up to `steps` steps towards `until`, s; use the active-tile list if this is faster."""
        step = int(self.seen[ck.STEPS])
        self.chooser.choose(step, self.wet_fraction)
        return super().step_batch(until, self.chooser.steps_to_decision(step, steps))

    def steps_of_a_kind(self, until: float, steps: int) -> int:
        """Make a batch of steps of one kind, and count the steps on the active tiles."""
        listed = self.way == "listed"
        if self.setup.split and self.way != "first":
            self._prepare_for(listed)
        count = super().steps_of_a_kind(until, steps)
        self.listed_steps += count if listed else 0
        return count

    def _prepare_for(self, listed: bool) -> None:
        """Set the Courant number of the next steps of a split scheme, and the buffer of the state.

        Steps on a list have the limit of "rk2"; on a CPU they use the first buffer only.
        """
        clock = self.seen.copy()
        clock[[ck.CFL, ck.TOLERANCE]] = self._first_clock()[[ck.CFL, ck.TOLERANCE]]
        if listed:
            if not self.setup.fixed:
                clock[ck.CFL] = min(self.setup.courant_number, RK2_COURANT)
            clock[ck.TOLERANCE] = PREDICTED_TOLERANCE
            if self.device.kind == "cpu" and clock[ck.PARITY] == 1.0:
                self.device.copy(self.q[0], self.q[1])
                self.device.copy(*self.soil.depths)
                clock[ck.PARITY] = 0.0
        if not np.array_equal(clock, self.seen):
            self.write_clock(clock)

    def active_fraction(self) -> float:
        """Return the fraction of tiles that were active in the last step."""
        step = int(self.seen[ck.STEPS])
        return self.schedule.active.active_fraction(step) if self.schedule.active is not None and self.listed else 1.0

    def wet_fraction(self) -> float:
        """Return the fraction of wet cells."""
        return float(self.row_sums()[:, WET].sum()) / self.setup.grid.cells

    def _begin_lists(self) -> None:
        """Decide again about the active-tile list after the state was set: the buffers differ."""
        self.chooser.begin(int(self.seen[ck.STEPS]), self.wet_fraction)

    def send_request(self, until: float, steps: int) -> None:
        """Set the target time and the number of steps of the next batch."""
        self._request[:] = until, steps

    def read_result(self) -> None:
        """Read the clock of the last batch of steps."""
        self._seen, self._unread = self._clock_copy.copy(), False

    def leave_unread(self) -> None:
        """Mark the clock as unread after steps without a report."""
        self._unread = True

    # -- state --------------------------------------------------------------------------------------

    @property
    def seen(self) -> np.ndarray:
        """Present clock: from the last report, or read now after unchecked steps."""
        self.read_unread()
        return self._seen

    def read_unread(self) -> None:
        """Read the clock if steps were made since the last report."""
        if self._unread:
            self.device.run(self.state_check)
            self.device.synchronize()
            self.read_result()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the state with ghosts."""
        return tuple(self.q[0].shape)

    @property
    def current(self) -> int:
        """Index of the buffer with the present state."""
        return int(self.seen[ck.PARITY])

    def read_clock(self) -> np.ndarray:
        """Return a host copy of the clock."""
        return self.device.host(self.clock)

    def write_clock(self, values: np.ndarray) -> None:
        """Set the clock."""
        self.device.fill(self.clock, values)
        self._seen, self._unread = np.array(values), False

    def _fill_ghosts(self) -> None:
        """Fill the ghosts of the present state."""
        self.device.run(self.schedule.fill[self.current])

    def set_state(self, eta: np.ndarray, hu: np.ndarray, hv: np.ndarray, time: float) -> None:
        """Set the interior state, (ny, nx) arrays (see `kernels`), and the time, and fill the ghosts."""
        grid = self.setup.grid
        state = np.zeros((3, grid.ny + 4, grid.nx + 4), self.real)
        state[:, 2:-2, 2:-2] = eta, hu, hv
        for q in self.q:
            self.device.fill(q, state)
        clock = self.read_clock()
        clock[ck.T] = clock[ck.UNTIL] = time
        self.write_clock(clock)
        self._set_forcing(time)
        self.begin_records()
        self.balance.begin(time)
        self.lines.begin(time)
        self.accumulated_maps.begin(lambda: np.maximum(eta, self.setup.dry_eta), time)
        self.averages.begin(time)
        self.soil.resume({}, self.current)
        self._take_present()
        for fill in self.schedule.fill:
            self.device.run(fill)
        self._begin_lists()

    def _set_forcing(self, time: float) -> None:
        values = self.setup.values_at(time)
        self.device.fill(self.forcing, values)
        self.schedule.set_forcing(values)

    def begin_records(self) -> None:
        """Load the records in use of the time-varying fields."""
        self.records.load()
        self.balance.weigh(self.setup.terms)

    def next_records(self, time: float) -> None:
        """Load the next records of the time-varying fields at `time`, s.

        The rain of the previous records is accumulated.
        """
        self.balance.settle(time, self.setup.terms)
        self.records.load()

    def state(self) -> dict[str, np.ndarray]:
        """Return host copies of the complete state for a bitwise-identical restart, with ghosts."""
        if isinstance(self.schedule, Tiles):
            self._fill_ghosts()
        chosen = self.chooser.state()
        schemes = {} if chosen is None else {"schemes": np.append(chosen, self.listed_steps)}
        return {"q": self.device.host(self.q[self.current]), **self.small_state(), **self.maps_state(), **schemes}

    def maps_state(self) -> dict[str, np.ndarray]:
        """Return the requested maps of the run including the present state, and the cumulative infiltration."""
        self._take_present()
        return {**self.accumulated_maps.state(), **self.averages.state(), **self.soil.state(self.current)}

    def _take_present(self) -> None:
        """Accumulate the present state in the maps of the run, if it has any."""
        launches = [diagnostics.take(self, diagnostics.ALWAYS)] if self.setup.maps is not None else []
        self.device.run([*launches, *self.averages.present()])

    def checkpoint_state(self) -> dict[str, Any]:
        """Return the state of the devices of this process, for `restore_checkpoint`."""
        return self.state()

    def restore_checkpoint(self, state: dict[str, Any]) -> None:
        """Restore a state of `checkpoint_state`."""
        self.restore(state)

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state, with its ghosts unless the boundary conditions have changed.

        Options of the user keep the values of this set-up.
        """
        initial = self._first_clock()
        clock = initial.copy()
        clock[: state["clock"].size] = state["clock"]
        for chosen in (ck.CFL, ck.LIMIT, ck.TOLERANCE):
            clock[chosen] = initial[chosen]
        clock[ck.FREE] = initial[ck.LIMIT] if self.setup.fixed else min(clock[ck.FREE], initial[ck.LIMIT])
        if len(self.q) == 1:
            clock[ck.PARITY] = 0.0
        self.write_clock(clock)
        self._set_forcing(clock[ck.T])
        self.device.fill(self.schedule.rates, np.zeros(self.schedule.rates.shape))
        self.begin_records()
        self.balance.resume(state, clock[ck.T])
        self.lines.resume(state, clock[ck.T])
        self.device.fill(self._bad, np.zeros(1))
        self.device.fill(self.q[self.current], state["q"])
        surface = lambda: np.maximum(state["q"][0, 2:-2, 2:-2], self.setup.dry_eta)  # noqa: E731
        self.accumulated_maps.take_over(state, surface, clock[ck.T])
        self.averages.take_over(state, clock[ck.T])
        self.soil.resume(state, self.current)
        self._take_present()
        if not np.array_equal(state.get("edges", np.zeros(0)), self.setup.sides_at(clock[ck.T])):
            self._fill_ghosts()
        self._begin_lists()
        schemes = state.get("schemes")
        self.chooser.resume(schemes)
        self.listed_steps = 0 if schemes is None else int(schemes[2])

    # -- state checks -------------------------------------------------------------------------------

    @property
    def failure(self) -> int:
        """Failure code: 0 none, 1 values that are not finite, 2 the time step collapsed."""
        return int(self._seen[ck.FAILED]) or int(self._bad_copy[0] != 0)

    def sums(self) -> dict[str, float]:
        """Return sums and extremes over the domain, in double precision, bitwise reproducible."""
        return self.setup.datum.over_zero(named_sums(self.row_sums(), self.setup.grid), self.setup.gravity)

    def row_sums(self) -> np.ndarray:
        """Return sums and extremes over each row."""
        q = self.q[self.current]
        arguments = (q, self.bed, self._row_sums, self.parameters)
        self.device.run([Launch(self._sum, arguments, (self.setup.grid.ny,), (BLOCK,))])
        return self.device.host(self._row_sums)

    def infiltration_depth(self) -> dict[str, np.ndarray]:
        """Return the cumulative infiltration, (ny, nx), m, in the precision of the run, by its name."""
        return {name: depth.astype(self.real) for name, depth in self.soil.state(self.current).items()}

    def soil_sums(self) -> np.ndarray:
        """Return the sums of the cumulative infiltration over the rows, m; empty without infiltration."""
        return self.soil.row_sums(self.current)

    def bad_cell(self) -> tuple[int, int] | None:
        """Return (j, i) of the first cell that is not finite, or None."""
        q = self.q[self.current]
        self.device.run([Launch(self._find, (q, self._bad_columns), (self.setup.grid.ny,), (BLOCK,))])
        columns = self.device.host(self._bad_columns)
        rows = np.flatnonzero(columns != diagnostics.NOWHERE)
        return (int(rows[0]), int(columns[rows[0]])) if rows.size else None

    def extreme(self, of: Callable[[np.ndarray], np.ndarray]) -> tuple[float, int, int]:
        """Return the maximum of a field computed from `derived`, and its cell (j, i)."""
        values = of(self.derived())
        j, i = np.unravel_index(np.argmax(values), values.shape)
        return float(values[j, i]), int(j), int(i)

    def collected(self, evaluate: Callable[[Engine], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return arrays with the rows of the domain; evaluate : computes them from an engine of these rows."""
        return evaluate(self)

    def cell_values(self, j: np.ndarray, i: np.ndarray) -> np.ndarray:
        """Return eta, h, hu, hv, u, v and the bed above the datum of interior cells (j, i), (7, n)."""
        points = np.stack([j, i]).astype(np.int64)
        key = points.tobytes()
        if key not in self._samples:
            self._samples.clear()  # only one set of points is kept; a run samples the same points repeatedly
            device, count = self.device, max(1, points.shape[1])
            values = device.zeros((7, count), self.real)
            host_values = device.pinned((7, count), self.real)
            arguments = (self.pair, self.bed, device.array(points), values, self.clock, self.parameters)
            launch = device.over(device.loop(diagnostics.sampled, self.precision), (points.shape[1],), arguments)
            work: list[Work] = [launch, device.transfer(host_values, values)]
            device.run(work)  # compiles the kernels before the graph capture
            self._samples[key] = device.repeated(work, 1), host_values
        go, host_values = self._samples[key]
        go()
        self.device.synchronize()
        return host_values[:, : points.shape[1]].copy()

    def derived(self) -> np.ndarray:
        """Return host copies of eta, h, hu, hv, u, v of the interior cells, (6, ny, nx)."""
        current = self.current
        q_work = self.q_stage if self.q_stage is not self.q[0] else self.q[1 - current]
        grid = self.setup.grid
        arguments = (self.q[current], self.bed, q_work, self.parameters)
        self.device.run([self.device.over(self._output, grid.shape, arguments)])
        self.chooser.wake(int(self.seen[ck.STEPS]))
        state, extra = self.device.host(self.q[current]), self.device.host(q_work)
        inner = (slice(None), slice(2, -2), slice(2, -2))
        (eta, hu, hv), (h, u, v) = state[inner], extra[inner]
        return np.stack([eta, h, hu, hv, u, v])
