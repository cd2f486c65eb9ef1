"""Engine of the ADI model: arrays on a device, kernels and steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.errors import InputError
from eagre.kernels.water_sums import BLOCK
from eagre.models.shallow_water_adi import kernels as cells
from eagre.models.shallow_water_adi import step
from eagre.models.shallow_water_adi.forcing import row_and_column, terms_along, with_walls
from eagre.models.shallow_water_adi.initial_state import stopped_at_walls, with_given_fluxes
from eagre.models.shallow_water_adi.kernels import infiltrate
from eagre.models.shallow_water_adi.memory_layout import PADDING, layout_of, padded, unpadded
from eagre.models.shallow_water_adi.sampling import diagnostics
from eagre.models.shallow_water_adi.sampling.maps import BeginningAverages, MapAccumulator
from eagre.models.shallow_water_adi.sampling.water_balance import Balance, CrossSectionVolumes
from eagre.models.shallow_water_adi.setup import STATE, Setup
from eagre.models.shallow_water_adi.sides import Side, end_switches, ends_on, sides_of
from eagre.models.shallow_water_adi.step_graphs import StepBatches, steps_of
from eagre.models.shallow_water_adi.sweeps import reference, sweep_cpu, sweep_cuda_x, sweep_cuda_y
from eagre.models.shallow_water_adi.sweeps.launch_parameters import EPSILON, Plan, plan_of, resumed
from eagre.models.shallow_water_adi.sweeps.segments import CpuSegments, CudaSegments
from eagre.solvers.tridiagonal import columns
from eagre.solvers.tridiagonal.link import Coupling
from eagre.stepping.maps import maps_of_rows
from eagre.terms.base import Quantity
from eagre.terms.infiltration import Soil


class Rows:
    """Rows first .. last - 1 of the domain in an engine, whose arrays start with row `low` of the domain."""

    def __init__(self, engine: Engine, first: int, last: int, low: int = 0) -> None:
        self.engine, self.first, self.last, self.low = engine, first, last, low

    def owned(self, values: np.ndarray) -> np.ndarray:
        """Return the rows first .. last - 1 of values in all rows of the engine; faces of the last slab have one more.

        values : (.., rows, columns) at centres or at faces.
        """
        end = self.last - self.low
        return values[..., self.first - self.low : None if end == self.engine.setup.grid.ny else end, :]

    def fields(self) -> dict[str, np.ndarray]:
        """Return host copies of the fields of a state (`STATE`)."""
        p, q_before, q_after = self.engine.fluxes()
        values = (self.engine.surface(), p, q_before, q_after)
        return {name: self.owned(one) for name, one in zip(STATE, values, strict=True)}

    def maps(self) -> dict[str, np.ndarray]:
        """Return host copies of the maps."""
        state = self.engine.local_maps()
        return state | maps_of_rows(state, self.first - self.low, self.last - self.low)


class Engine(StepBatches):
    """Arrays and kernels of one run on one device.

    Fields are stored in padded arrays (see `layout`). Two arrays each hold p and q alternately; z has one array for
    whole steps and one for half steps. The parity selects the newer fluxes.
    """

    overlap = 0  # rows of other engines

    def __init__(self, setup: Setup, device: Device, precision: str) -> None:
        self.setup, self.device, self.precision = setup, device, precision
        self.real = check_precision(precision)
        self.sides: list[Side] = sides_of(setup.segments, setup.level)
        self.parity = 0
        self.segments: Any = None  # `Segments`, if the lines along y continue in other slabs
        self._allocate()
        self._programs = self._compile()
        self.bind_steps()
        self.set_time_step(setup.time_step)
        device.prepare(self.launches(0, 0))

    def _allocate(self) -> None:
        setup, device, real = self.setup, self.device, self.real
        grid = setup.grid
        shape = layout_of(grid.shape).shape
        if shape[0] * shape[1] >= 2**32:
            raise InputError(
                f"{grid.nx} x {grid.ny} cells", allowed="fewer than 4e9 cells per device",
                problem="The grid has too many cells for one device.",
            )  # fmt: skip
        self.z = [device.zeros(shape, real) for _ in range(2)]
        self.p = [device.zeros(shape, real) for _ in range(2)]
        self.q = [device.zeros(shape, real) for _ in range(2)]
        outside = cells.OUTSIDE if setup.may_dry else cells.BEYOND
        self.bed = device.array(padded(setup.bed, grid, real, outside))
        uniform = bool(setup.friction.min() == setup.friction.max())
        self.uniform_friction = float(setup.friction.flat[0]) if uniform else None
        map_of = np.zeros((1, 1)) if uniform else padded(setup.friction, grid, real, 0.0)
        self._friction = device.array(map_of.astype(real))
        self.batch, self.check_interval = steps_of(device)
        self.values = device.zeros((2 * self.batch, len(setup.series) + 1), np.float64)  # last column: time, s
        self._now = device.zeros((1, 1), np.float64)
        self.map_accumulator, self.averages = MapAccumulator(self), BeginningAverages(self)
        self.soil = Soil(setup.terms, device, real)
        self.balance = Balance(setup.segments, grid, setup.terms, device, self._total)
        self.lines = CrossSectionVolumes(setup.cross_sections, device)
        self._ends = [self._ends_of(sides) for sides in (("west", "east"), ("south", "north"))]
        bound = [terms_along(along, setup, device, real, self.values, len(self.sides)) for along in "xy"]
        self._terms = [with_walls(one, along, setup, device) for one, along in zip(bound, "xy", strict=True)]
        self.load_records()

    def _total(self, source: Quantity) -> float:
        return source.total(self.setup.grid, self.setup.bed < cells.LAND)

    def load_records(self) -> None:
        """Load the records in use of the time-varying fields."""
        for bound in self._terms:
            bound.records.load()
        self.balance.weigh(self.setup.terms)

    def next_records(self) -> None:
        """Load the next records within a run; the rain of the previous records is accumulated."""
        self.balance.settle()
        self.load_records()

    def _ends_of(self, names: tuple[str, str]) -> cells.Ends:
        shape = self.setup.grid.shape
        (low, low_slot), (high, high_slot) = (
            map(self.device.array, ends_on(self.sides, name, shape)) for name in names
        )
        return cells.Ends(low, low_slot, high, high_slot, self.values, 0)

    def _compile(self) -> list[Any]:
        setup = self.setup
        uniform = self.uniform_friction
        law = {"manning": 1, "chezy": 3}[setup.law]
        self.switches: dict[str, Any] = {
            "CONVECTION": setup.momentum_advection == "on",
            "DISSIPATION": setup.dissipation == "froude",
            "DRYING": setup.drying == "on",
            "MAY_DRY": setup.may_dry,
            "FRICTION": 0 if uniform == 0.0 else law + (uniform is None),
            "VISCOUS": setup.viscosity > 0.0,
            **end_switches(setup.segments),
        }
        cuda = self.device.kind == "cuda"
        entry = diagnostics.row_sums_cuda if cuda else diagnostics.row_sums_cpu
        switches = {"DRYING": setup.drying == "on", "MAY_DRY": setup.may_dry}
        self._sum = self.device.program(entry, self.precision, switches)
        self._row_sums = self.device.zeros((setup.grid.ny, diagnostics.SUMS), np.float64)
        self.method = "tridiagonal elimination (Thomas algorithm) along whole grid lines"
        if setup.kernels == "reference":
            shape = layout_of(setup.grid.shape).shape
            self._reference = reference.ReferenceSweeps(self.device, self.precision, setup.grid, shape, self.real)
            self.method = self._reference.method
            return self._reference.compiled(self._switches_of_lines())
        return self._compile_cuda() if cuda else self._compile_cpu()

    @property
    def _planned_sweeps(self) -> bool:
        """Return whether the sweeps are GPU kernels, which partition the lines."""
        return self.device.kind == "cuda" and self.setup.kernels == "fast"

    def _switches_of_lines(self) -> list[dict[str, Any]]:
        """Return the switches of the sweeps along x and y that solve whole lines."""
        common = {**self.switches, "MAP_AT": reference.map_value, "WHERE": reference.row_and_column}
        return [
            {**common, **bound.switches, "ALONG_X": along == "x", "OPEN": self._is_open(sides)}
            for along, sides, bound in zip("xy", ("west east", "south north"), self._terms, strict=True)
        ]

    def replan(self, **chosen: Any) -> None:
        """Plan the sweeps on a GPU again, with some numbers of the plan prescribed."""
        self._programs = self._compile_cuda(**chosen)
        self.step_graphs.clear()

    def _planned(self, **chosen: Any) -> Plan:
        """Return the plan of the sweeps on a GPU, with some numbers prescribed."""
        setup, grid = self.setup, self.setup.grid
        courant = math.sqrt(setup.gravity * setup.deepest) * setup.time_step / min(grid.dx, grid.dy)
        is_open = (self._is_open("west east"), self._is_open("south north"))
        light = setup.drying == "off" and setup.dissipation == "none"
        if setup.segment is not None:
            chosen["mode_y"] = columns.REDUCE
        return plan_of(self.device, grid, self.precision, courant, *is_open, light=light, **chosen)

    def _compile_cuda(self, **chosen: Any) -> list[Any]:
        device, real, setup = self.device, self.real, self.setup
        self.plan = plan = self._planned(**chosen)
        self.method = plan.method
        bits = np.int32 if self.precision == "single" else np.int64
        self.guard = device.zeros((1,), bits)
        if setup.segment is not None:
            is_open = self._is_open("south north")
            self.segments = self._segments(CudaSegments, width=plan.width, is_open=is_open)
        (column_groups, segments), _ = self._shape_y()
        self._chunks = device.zeros((column_groups * segments * columns.WORDS * plan.width,), real)
        self._interfaces = device.zeros((column_groups * segments * 2 * plan.width,), real)
        self._flags = device.zeros((column_groups * segments + 1,), np.uint32)
        along_x, along_y = (
            {**self.switches, **bound.switches, "MAP_AT": sweep.loaded, "WHERE": row_and_column}
            for bound, sweep in zip(self._terms, (sweep_cuda_x, sweep_cuda_y), strict=True)
        )
        stored = setup.dissipation == "froude" and plan.warps <= sweep_cuda_x.MAX_STORED_WARPS
        along_x |= {**plan.switches_x, "STORED": stored}
        kernels = [device.program(sweep_cuda_x.sweep_x_cuda, self.precision, along_x)]
        modes = (columns.REDUCE, columns.FINISH) if plan.mode_y == columns.REDUCE else (plan.mode_y,)
        along_y |= {} if setup.segment is None else {"SEGMENT": True}
        for mode in modes:
            switches = {**along_y, **plan.switches_y, "MODE": mode}
            kernels.append(device.program(sweep_cuda_y.sweep_y_cuda, self.precision, switches))
        if len(modes) > 1 and setup.segment is None:
            kernels.append(device.program(columns.interfaces_cuda, self.precision, {"LANES": plan.width}))
        return kernels

    def check_plan(self) -> None:
        """Couple the partitions of lines exactly from now on if the neglected coupling exceeds rounding error."""
        if self._planned_sweeps and self.lost() > 16.0 * EPSILON[self.precision]:
            self.replan(exact=True)

    def resume_plan(self, state: dict[str, np.ndarray], rank: int = 0, count: int = 1) -> bool:
        """Apply the plan of the run that wrote a state where results depend on it; return True if the plan changed."""
        if not self._planned_sweeps:
            return False
        present = self.plan.state(self.setup.grid)
        chosen = resumed(state.get("plan"), rank, count, present)
        if not chosen or self._planned(**chosen).state(self.setup.grid) == present:
            return False
        self.replan(**chosen)
        return True

    def _compile_cpu(self) -> list[Any]:
        grid = self.setup.grid
        workers = sweep_cpu.workers_of(grid.ny, grid.nx, getattr(self.device, "threads", 1))
        shapes = sweep_cpu.workspace(grid.ny, grid.nx, workers)
        self._scratch, self._lines = (np.zeros(shape, self.real) for shape in shapes)
        entries = (sweep_cpu.sweep_x_cpu, sweep_cpu.sweep_y_cpu)
        switches = self._switches_of_lines()
        if self.setup.segment is not None:
            self.segments = self._segments(CpuSegments, workers=workers, switches=switches[1])
        return [self.device.program(entry, self.precision, one) for entry, one in zip(entries, switches, strict=True)]

    def _segments(self, kind: Any, **more: Any) -> Any:
        """Return the segments of the lines along y that this engine solves, of class `kind`."""
        return kind(self.device, self.precision, self.real, self.setup.segment, self.setup.grid.nx, **more)

    def _is_open(self, names: str) -> bool:
        return any(side.kind != cells.WALL for side in self.sides if side.segment.side in names.split())

    # -- steps --------------------------------------------------------------------------------------

    def parameters(self, along: str, dt: float) -> cells.Parameters:
        """Return the parameters of the sweep along x or y for the time step `dt`, s."""
        setup = self.setup
        grid = setup.grid
        here, across = (grid.dx, grid.dy) if along == "x" else (grid.dy, grid.dx)
        numbers = (
            dt / (4.0 * here),
            dt / (4.0 * across),
            dt * setup.gravity / (2.0 * here),
            dt if self.uniform_friction is None else dt * self.uniform_friction,
            setup.dry_depth,
            setup.gravity,
            1.0 / setup.gravity,
            dt,
            dt * setup.viscosity / here**2,
            dt * setup.viscosity / across**2,
            here / dt,
            across / here,
        )
        return cells.Parameters._make(map(self.real, numbers))

    def set_time_step(self, dt: float) -> None:
        """Set the time step `dt`, s; the time of q does not change (see `restagger`)."""
        self.dt = dt
        self.numbers = [self.parameters(along, dt) for along in "xy"]
        self.step_graphs.clear()
        self._looked_up = False

    def take_up(self, parity: int, row: int) -> list[Launch]:
        """Return the launches that accumulate the initial state of a step in the maps of the run."""
        state = (parity, self.values, row)
        return [*self.map_accumulator.take(*state), *self.averages.accumulate(*state)]

    def maps_state(self, time: float | None) -> dict[str, np.ndarray]:
        """Return the maps of the run and the cumulative infiltration; time : time of the present state, s.

        Without a time the maps do not include the present state.
        """
        if time is not None:
            self.take_up_now(time)
        return self.local_maps()

    def local_maps(self) -> dict[str, np.ndarray]:
        """Return host copies of the maps as last accumulated, and of the cumulative infiltration."""
        return {**self.map_accumulator.state(), **self.averages.state(), **self.soil.state()}

    def take_up_now(self, time: float) -> None:
        """Accumulate the present state, at a time, s, in the maps."""
        self.device.fill(self._now, np.full((1, 1), time))
        work = (self.map_accumulator.take, self.averages.accumulate)
        self.device.run([launch for take in work for launch in take(self.parity, self._now, 0)])

    def resume_maps(self, state: dict[str, np.ndarray], time: float) -> None:
        """Restore the maps and the cumulative infiltration of a state, or reset them at a time, s, if it has none."""
        surface = lambda: np.maximum(state["z"], np.minimum(self.setup.bed, cells.LAND))  # noqa: E731
        self.map_accumulator.take_over(state, surface, time)
        self.averages.take_over(state, time)
        self.soil.resume(state)

    def infiltration(self, z: Any) -> list[Launch]:
        """Return the launches that remove the infiltration of a step from the new surface z; empty without it."""
        if not self.soil.present:
            return []
        program = self.device.loop(infiltrate, self.precision, self.soil.switches)
        arguments = (z, self.bed, self.soil.depths[0], self.soil.arguments, self.numbers[1])
        return [self.device.over(program, self.setup.grid.shape, arguments)]

    def soil_sums(self) -> np.ndarray:
        """Return the sums of the cumulative infiltration over the rows, m; empty without infiltration."""
        return self.soil.row_sums()

    @property
    def subdomains(self) -> list[Rows]:
        """All rows, as of `DecomposedEngine`."""
        return [Rows(self, 0, self.setup.grid.ny)]

    def collected(self, evaluate: Callable[[Rows], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return arrays of the domain; evaluate : see `DecomposedEngine.collected`."""
        return evaluate(self.subdomains[0])

    def each(self, evaluate: Callable[[Rows], Any]) -> list[Any]:
        """Return a small value of all rows; see `DecomposedEngine.each`."""
        return [evaluate(self.subdomains[0])]

    def launches(self, parity: int, row: int) -> list[Launch]:
        """Return the launches of a step; row : row of the series values of its first sweep."""
        return [launch for phase in step.step(self, parity, row) for launch in phase]

    def reduce_y(self, parity: int, row: int) -> list[Launch]:
        """Return the launches before `along_y` that reduce the lines along y, if these continue in other slabs."""
        if self.segments is None:
            return []
        common = self._arguments(1, step.fields_along_y(self, parity), row)
        return self._passes_y(common)[:2] if self._planned_sweeps else self.segments.reduce(common, self.numbers[1])

    def boundary_volume(self, fluxes: tuple[Any, ...], row: int) -> list[Launch]:
        """Return the launches that accumulate the volume through open boundaries in a sweep.

        fluxes : p and q, old and new.
        """
        numbers = (fluxes, self.values, row, len(self.sides), self.dt)
        return [*self.balance.launches(*numbers), *self.lines.launches(*numbers)]

    def sweep(self, which: int, fields: step.Sweep, row: int) -> list[Launch]:
        """Return the launches of the sweep along x (0) or y (1)."""
        grid, numbers = self.setup.grid, self.numbers[which]
        common = self._arguments(which, fields, row)
        if self.setup.kernels == "reference":
            return self._reference.launches(self._programs[which], which, common, numbers)
        if self.device.kind == "cuda":
            return self._sweep_cuda(which, common)
        if which == 1 and self.segments is not None:
            return self.segments.finish(common, numbers)
        workspace = (self._scratch, self._lines, grid.ny, grid.nx, numbers)
        return [Launch(self._programs[which], (*common, *workspace))]

    def _arguments(self, which: int, fields: step.Sweep, row: int) -> tuple[Any, ...]:
        """Return the first arguments of the sweep along x (0) or y (1)."""
        ends = self._ends[which]._replace(row=row)
        return cells.Fields(*fields, self._friction), self._terms[which].arguments, ends

    def lost(self) -> float:
        """Return the maximum neglected coupling between partitions of a line so far, relative; 0 on a CPU."""
        if not self._planned_sweeps:
            return 0.0
        return float(self.device.host(self.guard).view(self.real)[0])

    def _sweep_cuda(self, which: int, common: tuple[Any, ...]) -> list[Launch]:
        if which == 1:
            return self._passes_y(common)[2 if self.setup.segment else 0 :]
        grid, plan = self.setup.grid, self.plan
        more = (self.guard, plan.run, plan.overlap, (grid.ny, grid.nx), self.numbers[0])
        return [Launch(self._programs[0], (*common, *more), *plan.shape_x(grid))]

    def _faces_y(self) -> tuple[int, int]:
        """Return the first and last face of the lines along y."""
        return (1 - self.plan.open_y, self.setup.grid.ny) if self.segments is None else self.segments.faces

    def _shape_y(self) -> tuple[tuple[int, int], tuple[int, int]]:
        first, last = self._faces_y()
        return self.plan.shape_y(self.setup.grid, last + 1 - first)

    def _passes_y(self, common: tuple[Any, ...]) -> list[Launch]:
        """Return the launches of the sweep along y; of a segment, two before and two after the exchange of its ends."""
        grid, plan = self.setup.grid, self.plan
        (column_groups, segments), block = self._shape_y()
        at_once = getattr(self.device, "multiprocessors", 0)
        coupling = Coupling(self._chunks, self._interfaces, self._flags, self.guard)
        arguments = (*common, coupling, at_once, (*self._faces_y(), grid.nx), self.numbers[1])
        shape = ((column_groups, segments), block, plan.shared_y)
        passes = [Launch(program, arguments, *shape) for program in self._programs[1:3]]
        if self.segments is not None:
            passes[1:1] = self.segments.between_passes(self._chunks, self._interfaces, segments)
        elif plan.mode_y == columns.REDUCE:
            lines = plan.width * column_groups
            interfaces = (self._chunks, self._interfaces, self.guard, segments, lines)
            threads = self.device.parameters("solver:tridiagonal.seams").threads
            passes.insert(1, Launch(self._programs[3], interfaces, (-(-lines // threads),), (threads,)))
        again = self.device.target == "simulator" and plan.mode_y == columns.EXCHANGE
        return passes * (2 if again else 1)

    def evaluate_series(self, start: float, steps_completed: int, count: int) -> None:
        """Evaluate the series for the sweeps of the next `count` steps (see `Side.value_at`)."""
        series = self.setup.series
        timeless = self.setup.maps is None and self.setup.time_statistics is None
        constant = timeless and all(one.is_constant for one in series)
        if constant and self._looked_up:
            return
        table = np.zeros(self.values.shape)
        sides, half = len(self.sides), 0.5 * self.dt
        for row in range(2 * count):
            time, sweep = start + (steps_completed + row // 2) * self.dt, row % 2
            table[row, :sides] = [side.value_at(time, sweep, self.dt) for side in self.sides]
            table[row, -1] = time
            table[row, sides:-1] = [one(time + (0.5 + 0.5 * sweep) * self.dt) for one in series[sides:]]
            for slot, one in enumerate(self.setup.terms.sources, sides):
                if (
                    not one.series.is_constant
                ):  # mass source of half a step; forces act at the middle of the step of their flux
                    table[row, slot] = one.series.mean(time + sweep * half, time + (sweep + 1) * half)
        if constant:
            table[:] = table[0]
        self.device.fill(self.values, table)
        self._looked_up = True

    def row_sums(self) -> np.ndarray:
        """Return a host copy of the sums and extremes of each row (`diagnostics`)."""
        grid, newer = self.setup.grid, self.parity
        fluxes = (self.p[newer], self.q[1 - newer], self.q[newer])
        arguments = (self.z[0], self.bed, *fluxes, self._row_sums, grid.nx, self.numbers[0])
        self.device.run([Launch(self._sum, arguments, (grid.ny,), (BLOCK,))])
        return self.device.host(self._row_sums)

    def sample(self, j: np.ndarray, i: np.ndarray) -> list[np.ndarray]:
        """Return the values of `sampling.point_sampling.sample_points` for cells (j, i)."""
        newer, column = self.parity, i + PADDING
        values = [(self.z[0], 0, 0), (self.p[newer], 0, 0), (self.p[newer], 0, 1)]
        values += [(self.q[k], up, 0) for k in (1 - newer, newer) for up in (0, 1)]
        values += [(self.z[0], up, right) for up, right in ((0, -1), (0, 1), (-1, 0), (1, 0))]
        return [self.device.sample(array[None], j + 1 + up, column + right)[0] for array, up, right in values]

    # -- state --------------------------------------------------------------------------------------

    def set_state(self, z: np.ndarray, p: np.ndarray, q_before: np.ndarray, q_after: np.ndarray) -> None:
        """Set the surface (ny, nx), p (ny, nx + 1) and q (ny + 1, nx) half a step before and after."""
        grid, real = self.setup.grid, self.real
        self.parity = 0
        for array in self.z:
            self.device.fill(array, padded(z, grid, real, 0.0))
        for array in self.p:
            self.device.fill(array, padded(p, grid, real, 0.0))
        self.device.fill(self.q[0], padded(q_after, grid, real, 0.0))
        self.device.fill(self.q[1], padded(q_before, grid, real, 0.0))

    def surface(self) -> np.ndarray:
        """Return a host copy of z, (ny, nx)."""
        return unpadded(self.device.host(self.z[0]), self.setup.grid, "centre")

    def fluxes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return host copies of p at the time of the state, and of q half a step before and after."""
        host, grid, newer = self.device.host, self.setup.grid, self.parity
        q_now, q_before = (unpadded(host(self.q[k]), grid, "face_y") for k in (newer, 1 - newer))
        return unpadded(host(self.p[newer]), grid, "face_x"), q_before, q_now

    def plan_state(self) -> dict[str, np.ndarray]:
        """Return the part of the GPU plan for a bitwise-identical restart, (1, numbers); empty on a CPU."""
        return {"plan": np.array([self.plan.state(self.setup.grid)], float)} if self._planned_sweeps else {}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Restore a state of `state`."""
        self.resume_plan(state)
        self.set_state(state["z"], *stopped_at_walls(state, self.sides, self.setup.walls))
        self.load_records()
        self.balance.resume(self.balance.sums_of(state))
        self.balance.resume_settled(state)
        self.lines.resume(state)

    def checkpoint_state(self, time: float | None) -> dict[str, Any]:
        """Return the state with the maps, including the present state if its time, s, is given."""
        return {**self.state(), **self.maps_state(time)}

    def restore_checkpoint(self, state: dict[str, Any], time: float) -> None:
        """Restore a state of `checkpoint_state`, at a time, s."""
        self.restore(state)
        self.resume_maps(state, time)

    def restagger(self, dt: float, time: float) -> None:
        """Change the time step at a time, s.

        q half a step away is interpolated or extrapolated linearly from its two values; prescribed fluxes follow their
        series.
        """
        if dt == self.dt:
            return
        self.take_up_now(time)  # as at a state check: the interpolated q differs by rounding error
        self.restagger_fluxes(dt, time)
        self.set_time_step(dt)

    def restagger_fluxes(self, dt: float, time: float) -> None:
        """Set q half a step of `dt`, s, before and after the state at a time, s; see `restagger`."""
        p, q_before, q_after = self.fluxes()
        q_before, q_after = q_before.astype(float), q_after.astype(float)
        mean, half = 0.5 * (q_after + q_before), 0.5 * (q_after - q_before) * (dt / self.dt)
        z = self.surface()
        pair = with_given_fluxes(self.setup, self.sides, z, (mean - half, mean + half), "y", time, dt)
        self.set_state(z, p, *pair)
