"""Launches of a step of the explicit model: stages and boundary passes, or tile kernels for small grids.

A schedule has the launches of several steps (`launches`), of the start and of the end of a batch of steps, of the
evaluation of the series for the step after an output time (`resume`), and of the ghost fill of either buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.boundaries.edges import edge_levels
from eagre.boundaries.ghosts import LENGTH, Segments, boundary_pass_cuda, ghosts_cpu, tail_cpu
from eagre.layouts.gpu_properties import MAX_WARPS, STATIC_SHARED
from eagre.models.shallow_water import infiltration
from eagre.models.shallow_water.active_tiles import Active, ActiveTiles
from eagre.models.shallow_water.kernels import Buffers
from eagre.models.shallow_water.sampling import diagnostics
from eagre.models.shallow_water.setup import Setup
from eagre.models.shallow_water.stages import (
    reference,
    row_streaming_cpu,
    row_streaming_cuda,
    row_streaming_tiles,
    tile_cuda,
    tile_faces,
    tile_sides,
)
from eagre.models.shallow_water.step import SCHEMES
from eagre.stepping import clock as ck

NO_LIST = Active(np.zeros(1, np.int32), np.zeros(3, np.int32), np.zeros((3, 3), np.int32))
MIN_CELLS = 2  # minimum cells along x and y: a wall mirrors two cells


def boundary_pass(engine: Any, q: Any, phase: int, **switches: Any) -> list[Launch]:
    """Return the launches that fill the ghosts of q and run a tail."""
    setup, device = engine.setup, engine.device
    switches = {**engine.ghost_switches, "SERIES": setup.varies, "FILL": 2 if setup.varies else 1, **switches}
    program = partial(device.program, precision=engine.precision, switches=switches)
    segments = Segments(engine.segments, engine.forcing, engine.levels)
    arguments = (q, engine.bed, segments, engine.parameters, engine.clock)
    if device.kind == "cpu":
        tail = Launch(program(tail_cpu), (engine.forcing, engine.clock, engine.rates, engine.series, phase))
        # Without a gate one kernel serves both cases.
        gated = switches if switches["FILL"] == 2 else {**switches, "GATE_ACCEPTED": False}
        ghosts = partial(device.program, ghosts_cpu, engine.precision, gated)
        return [Launch(ghosts(), (*arguments, phase)), tail] if switches["FILL"] else [tail]
    arguments = (*arguments, (engine.rates, engine.series), phase, engine.arrived)
    longest = 2 * max(*setup.grid.shape, int(engine.table[:, LENGTH].max()))
    threads = device.parameters("shallow-water.boundary").threads
    blocks = (-(-(longest + 1) // threads), len(setup.segments))
    return [Launch(program(boundary_pass_cuda), arguments, blocks, (threads,), early=True)]


def ghost_fills(engine: Any) -> list[list[Launch]]:
    """Return the launches that fill the ghosts of either buffer without updating the clock."""
    return [boundary_pass(engine, q, ck.EITHER, TAIL=ck.no_tail, FILL=1, SERIES=False) for q in engine.q]


def cpu_tiles(device: Device, shape: tuple[int, int]) -> tuple[np.ndarray, tuple[int, int]]:
    """Return the tiles of the row-streaming kernels on a CPU, and the size of a tile."""
    return row_streaming_tiles.tiles_of(*shape, device.parameters("cpu.shallow-water").rows)


class RowStreaming:
    """Schedule with row-streaming kernels: stages over all rows, each followed by a boundary pass (`step`)."""

    name = "fast"
    first: Sequence[Launch] = ()  # launches of the first step of a run, if another scheme makes it
    blends = True  # whether a GPU reads time-varying fields from tables that are filled before each step

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        device = engine.device
        engine.segments, engine.arrived = device.array(engine.table), device.zeros((1,), np.uint32)
        self._prepare()
        self._allocate_rates(self.rate_count(device, engine.setup.grid.shape))
        self.steps_per_cycle = self.divisions = len(engine.q)
        self.active = self._active_tiles()
        self.launches = self._steps(False)
        self.listed = self._steps(True) if self.active is not None else []
        self.fill = ghost_fills(engine)
        self.begin = self._begin(engine.setup.split)
        # Steps on a list are steps of "rk2", also in a run of a split scheme.
        self.begin_listed = self._begin(0) if engine.setup.split else self.begin
        self.conclude: list[Launch] = []
        options = {"TAIL": ck.no_tail, "FILL": 0, "SPLIT": engine.setup.split}
        self.resume = boundary_pass(engine, engine.q[0], ck.EITHER, **options) if engine.setup.varies else []

    def _begin(self, split: int) -> list[Launch]:
        """Return the launches that start a batch of steps of `split` stages, see `eagre.stepping.clock.SPLIT`."""
        engine = self.engine
        return boundary_pass(engine, engine.q[0], ck.EITHER, TAIL=ck.start_batch, FILL=0, SPLIT=split)

    def set_forcing(self, values: np.ndarray) -> None:
        """Do nothing: the ghosts use the forcing of the engine."""

    def _allocate_rates(self, count: int) -> None:
        """Allocate the buffer for `count` rates of a stage, which the next tail reads."""
        self.rates = self.engine.rates = self.engine.device.zeros((count,), self.engine.bits)

    def _steps(self, listed: bool) -> list[Launch]:
        """Return the launches of a cycle, for the listed tiles or for all tiles."""
        engine, self._listed = self.engine, listed
        scheme, two = SCHEMES[engine.setup.scheme], self.steps_per_cycle == 2
        phases = ((0, 0, 1), (1, 1, 0)) if two else ((ck.EITHER, 0, 0),)
        return [
            one
            for phase, source, target in phases
            for one in scheme(self, phase, engine.q[source], engine.q_stage, engine.q[target])
        ]

    @staticmethod
    def rate_count(device: Device, shape: tuple[int, int]) -> int:
        """Return the number of rates of a stage on a grid of this shape: one per tile on a CPU."""
        return len(cpu_tiles(device, shape)[0]) if device.kind == "cpu" else 1

    def _prepare(self) -> None:
        """Allocate the work arrays of a stage."""
        engine = self.engine
        if engine.device.kind == "cpu":
            self._tiles, self._tile = cpu_tiles(engine.device, engine.setup.grid.shape)
            self._scratch = np.zeros((len(self._tiles), row_streaming_cpu.SCRATCH), engine.real)

    def _active_tiles(self) -> ActiveTiles | None:
        """Return the active-tile list, or None if it can never be used."""
        setup, device = self.engine.setup, self.engine.device
        if setup.active_tiles == "off":
            return None
        if device.kind == "cpu":
            return ActiveTiles(setup, device, *self._tile)
        ny, nx = setup.grid.shape
        *_, rows = row_streaming_cuda.shape_of(device, self.engine.precision, ny, nx, setup.live)
        return ActiveTiles(setup, device, rows, row_streaming_cuda.STRIP)

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`."""
        work = [] if not self._listed or switches["SECOND"] else [self._listing(phase)]
        if self.engine.blend is not None and not switches["SECOND"]:
            work += self.engine.blend.launches(self.engine.precision, self.engine.clock, phase, ck.open_gate)
        make = self._stage_cpu if self.engine.device.kind == "cpu" else self._stage_cuda
        return [*work, make(phase, q, old, out, **switches)]

    def _listing(self, phase: int) -> Launch:
        assert self.active is not None
        return self.active.launch(self.engine.precision, self.engine.clock, phase)

    def _stage_cpu(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> Launch:
        engine, listed = self.engine, self._listed
        program = engine.device.program(row_streaming_cpu.stage_cpu, engine.precision, engine.switches)
        active = NO_LIST if self.active is None or not listed else self.active.active
        work = row_streaming_cpu.TileWork(self._scratch, self._tiles, active, listed)
        numbers = (engine.parameters, engine.clock, phase, switches["SECOND"])
        return Launch(program, (Buffers(q, old, out, self.rates), engine.domain, engine.terms, work, *numbers))

    def _stage_cuda(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> Launch:
        engine, listed = self.engine, self._listed
        grid, device = engine.setup.grid, engine.device
        shape_of = row_streaming_cuda.listed_shape_of if listed else row_streaming_cuda.shape_of
        blocks, threads, rows = shape_of(device, engine.precision, grid.ny, grid.nx, engine.setup.live)
        tuning = device.parameters("shallow-water.march")
        registers = tuning.registers[engine.precision]["second" if switches["SECOND"] else "first"]
        options: dict[str, Any] = {"ROWS": rows, "LISTED": listed, "REGISTERS": registers}
        options["PARTS"] = engine.setup.has_parts
        if self._takes_up_in(phase, switches["SECOND"]):
            options |= engine.accumulated_maps.switches
        program = device.program(
            row_streaming_cuda.stage_cuda, engine.precision, {**engine.switches, **switches, **options}
        )
        nothing = Active._make(device.zeros(a.shape, a.dtype) for a in NO_LIST)
        active = nothing if self.active is None or not listed else self.active.active
        domain = engine.domain._replace(manning=engine.manning[None])
        fields = (Buffers(q, old, out, self.rates), domain, engine.terms, engine.accumulated_maps.arrays)
        arguments = (*fields, active, engine.parameters, engine.clock, phase)
        return Launch(program, arguments, blocks, threads, early=grid.cells <= tuning.early_cells)

    def _takes_up_in(self, phase: int, second: bool) -> bool:
        """Return whether a stage accumulates states in the maps.

        With RK2 the second stage of every other step accumulates the old and the new state: the step is then accepted,
        and a map is read and written once for two states. With infiltration the new state is not known in this stage.
        """
        if not self.takes_up:
            return False
        setup = self.engine.setup
        both = self.steps_per_cycle == 2 and setup.scheme == "rk2" and not setup.terms.soil
        return second and phase == 0 if both else not second

    def maps(self, phase: int) -> list[Launch]:
        """See `step.Stages`; on a GPU a stage accumulates the maps."""
        engine, averages = self.engine, self.engine.averages.present()
        if engine.setup.maps is None or self.takes_up:
            return averages
        return [diagnostics.take(engine, phase), *averages]

    @property
    def takes_up(self) -> bool:
        """True if a stage accumulates states in the maps of the run."""
        return self.engine.device.kind == "cuda"

    def boundary(self, phase: int, q: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`."""
        return boundary_pass(self.engine, q, phase, **switches)

    def balance(self, phase: int, q: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`."""
        return self._balance_launches(q, self.engine.q_stage, phase, **switches)

    def infiltration(self, phase: int, q: Any, out: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`."""
        source, target = ([one is buffer for one in self.engine.q].index(True) for buffer in (q, out))
        tiles = self.active if self._listed else None
        return infiltration.launches(self.engine, phase, source, target, tiles, **switches)

    def _balance_launches(self, q: Any, q_stage: Any, phase: int, **switches: Any) -> list[Launch]:
        """Return the launches that accumulate the fluxes of q, and of `q_stage` with two stages."""
        engine = self.engine
        factors = engine.forcing[len(engine.setup.segments) :]
        numbers = (engine.domain, factors, engine.parameters, engine.clock, phase)
        switches = {**engine.switches, **switches}
        budgets = (engine.balance, engine.lines)
        states = (q, q_stage)
        return [one for budget in budgets for one in budget.launches(engine.precision, *states, *numbers, **switches)]


class Reference(RowStreaming):
    """Schedule with the reference kernels: slow, for comparisons, available on every device."""

    name, blends = "reference", False

    @property
    def takes_up(self) -> bool:
        """False: a separate launch accumulates the maps."""
        return False

    @staticmethod
    def rate_count(device: Device, shape: tuple[int, int]) -> int:
        """Return the number of cells."""
        return shape[0] * shape[1]

    def _prepare(self) -> None:
        """Do nothing: the reference kernels need no work arrays."""

    def _active_tiles(self) -> None:
        return None

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`."""
        engine = self.engine
        program = engine.device.loop(reference.stage, engine.precision, {**engine.switches, **switches})
        buffers = Buffers(q, old, out, self.rates)
        arguments = (buffers, engine.domain, engine.terms, engine.parameters, engine.clock, phase)
        return [engine.device.over(program, engine.setup.grid.shape, arguments)]


class Tiles:
    """Schedule with tile kernels: two launches per step, for small grids on a GPU, scheme "rk2" and any boundaries."""

    name = "fast"
    first: Sequence[Launch] = ()
    divisions = 1
    blends = False

    @staticmethod
    def serve(setup: Setup, device: Device) -> bool:
        """Return whether the tile kernels are faster on this device: few tiles per multiprocessor (one on an H200)."""
        ny, nx = setup.grid.shape
        blocks = -(-nx // tile_faces.WIDE) * -(-ny // tallest(device, 8))
        if device.kind != "cuda" or setup.scheme != "rk2" or min(ny, nx) < MIN_CELLS or setup.time_statistics:
            return False
        return blocks <= device.multiprocessors * device.parameters("shallow-water.tiles").most

    def __init__(self, engine: Any) -> None:
        setup, device = engine.setup, engine.device
        self._device = device
        self.rates = engine.rates = device.zeros((3, 2), engine.bits)
        engine.segments, engine.arrived = device.array(engine.table), device.zeros((1,), np.uint32)
        self._values = device.zeros((2, len(setup.segments)), np.float64)
        levels = edge_levels(setup.segments, setup.grid, device.host(engine.bed), setup.datum.level)
        sides = tile_sides.Sides(
            engine.edges, device.array(levels.astype(engine.real)), self._values, engine.balance.budget
        )
        fields = tile_cuda.Fields(
            engine.pair, engine.q_stage, engine.bed, engine.manning, engine.accumulated_maps.arrays
        )
        shared = (fields, engine.terms, engine.forcing, sides, engine.series)
        stages = self._programs(engine)
        blocks, threads = self._shape
        memory = tile_faces.PLANES * self._plane * np.dtype(engine.real).itemsize
        self.launches = []
        for step in range(tile_cuda.STEP_PERIOD):
            arguments = (*shared, engine.parameters, tile_cuda.steering_of(step, self.rates, engine.clocks))
            self.launches += [Launch(stage, arguments, blocks, threads, memory, early=True) for stage in stages]
        self.steps_per_cycle = tile_cuda.STEP_PERIOD
        arguments_at_end = (self.rates[2], engine.clock, self._values, engine.forcing)
        program = partial(device.program, precision=engine.precision)
        self.conclude = [Launch(program(tile_cuda.conclude_cuda), arguments_at_end, early=True)]
        self.begin = self.begin_listed = [Launch(program(tile_cuda.begin_cuda), (engine.clock, self.rates[0]))]
        self.fill = ghost_fills(engine)
        self.active, self.listed, self.resume = None, [], []

    def _programs(self, engine: Any) -> list[Any]:
        """Return the kernels of the two stages and set their launch configuration."""
        setup, device = engine.setup, engine.device
        ny, nx = setup.grid.shape
        tuning = device.parameters("shallow-water.tiles")
        rows = tallest(device, np.dtype(engine.real).itemsize)
        tall = tallness(ny, nx, rows, device.multiprocessors, tuning.enough_warps)
        warps = tall + tile_cuda.WARPS_AROUND
        self._plane = tile_faces.PITCH * (tall + 4)
        self._shape = tile_cuda.shape_of(ny, nx, tall)
        wrap_x, wrap_y = setup.periodic
        switches = {
            **engine.switches, "WRAP_X": wrap_x, "WRAP_Y": wrap_y, "OPEN": not setup.closed, "SERIES": setup.varies,
            "KEEPS_BALANCE": engine.balance.varies, "SOURCES": engine.balance.sources,
            "TALL": tall, "PLANE": self._plane,
            "REGISTERS": min(tuning.registers[engine.precision], device.properties.registers_for(warps)),
        }  # fmt: skip
        return [
            device.program(tile_cuda.tile_stage_cuda, engine.precision, {**switches, **options, "SECOND": second})
            for second, options in ((False, engine.accumulated_maps.switches), (True, {}))
        ]

    def set_forcing(self, values: np.ndarray) -> None:
        """Set the present values of the boundary series."""
        self._device.fill(self._values, np.stack([values[: self._values.shape[1]]] * 2))


def tallest(device: Device, itemsize: int) -> int:
    """Return the maximum rows of a tile, limited by 32 warps per block and by shared memory."""
    capacity = (device.properties.shared_block - STATIC_SHARED) // (tile_faces.PLANES * tile_faces.PITCH * itemsize)
    return min(MAX_WARPS - tile_cuda.WARPS_AROUND, capacity - 4)


def tallness(ny: int, nx: int, max_rows: int, multiprocessors: int, enough: int) -> int:
    """Return the rows of a tile that minimise the warps on the busiest multiprocessor, `enough` or more.

    Of equal values the largest is returned.
    """

    def busiest(tall: int) -> int:
        blocks = -(-nx // tile_faces.WIDE) * -(-ny // tall)
        return max(enough, -(-blocks // multiprocessors) * (tall + tile_cuda.WARPS_AROUND))

    return min(range(max_rows, 3, -1), key=busiest)
