"""Schedules of the schemes that compute x and y separately: sweeps (`step.ds1`, `step.ds2`) and "srk2".

SSP-RK2 makes the first step of a run with sweeps, because the limits of the sweeps are not known yet. It also makes the
steps of "srk2" and "ds2" on a list of active tiles, while few cells are wet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from eagre.backend.device import Device, Launch
from eagre.models.shallow_water.active_tiles import ActiveTiles
from eagre.models.shallow_water.kernels import LEAVES, TAKES_UP, Buffers, SplitBuffers
from eagre.models.shallow_water.sampling import diagnostics
from eagre.models.shallow_water.schedules import NO_LIST, Reference, RowStreaming, Tiles, boundary_pass
from eagre.models.shallow_water.setup import Setup
from eagre.models.shallow_water.stages import reference, sweep_cpu, sweep_cuda
from eagre.models.shallow_water.stages.row_streaming_cpu import TileWork
from eagre.models.shallow_water.step import SPLIT_SCHEMES, rk2
from eagre.stepping import clock as ck
from eagre.stepping.substeps import after_stage

GATED = {"SPLIT": ck.DOUBLE}  # the only scheme option of the stages, so that their kernels are shared


class SweepSteps(RowStreaming):
    """Base class of the split schedules; subclasses define the stages."""

    name, blends = "reference", False

    def _steps(self, listed: bool) -> list[Launch]:
        """Return the launches of two steps, or double steps, from either buffer to the other."""
        engine, self._listed = self.engine, listed
        if listed:
            return self._listed_steps()
        split = engine.setup.split
        self.switches = {"SPLIT": split}
        self.steps_per_cycle = 2 * (2 if split == ck.DOUBLE else 1)
        self.first = rk2(self, ck.EITHER, engine.q[0], engine.q_stage, engine.q[0])
        scheme = SPLIT_SCHEMES[engine.setup.scheme]
        buffers = ((0, engine.q[0], engine.q[1]), (1, engine.q[1], engine.q[0]))
        return [one for phase, q, out in buffers for one in scheme(self, phase, q, engine.q_stage, engine.q_work, out)]

    def _listed_steps(self) -> list[Launch]:
        """Return the launches of two SSP-RK2 steps on the active tiles; on a CPU both advance the first buffer."""
        engine = self.engine
        phases = ((ck.EITHER, 0, 0),) * 2 if engine.device.kind == "cpu" else ((0, 0, 1), (1, 1, 0))
        return [one for phase, k, n in phases for one in rk2(self, phase, engine.q[k], engine.q_stage, engine.q[n])]

    def _active_tiles(self) -> ActiveTiles | None:
        return super()._active_tiles() if self.engine.setup.scheme == "ds2" else None

    def sweep(self, phase: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        raise NotImplementedError

    def after_sweep(self, phase: int, q: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        return boundary_pass(self.engine, q, phase, TAIL=after_stage, **self.switches)

    def maps_of_sweeps(self, phase: int) -> list[Launch]:
        """See `step.Sweeps`."""
        engine, averages = self.engine, self.engine.averages.present()
        launches = [diagnostics.take(engine, phase, **self.switches)] if engine.setup.maps is not None else []
        return [*launches, *averages]

    def balance_of_sweep(self, phase: int, q: Any, q_stage: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        two_stages = self.engine.setup.split == ck.DOUBLE
        return self._balance_launches(q, q_stage, phase, TWO_STAGES=two_stages, **self.switches)

    def infiltration_of_sweeps(self, phase: int, q: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        return self.infiltration(phase, q, out, **self.switches)


class PlainSweeps(SweepSteps, Reference):
    """Sweeps with reference kernels, one point function per stage."""

    def sweep(self, phase: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        engine = self.engine
        program = engine.device.loop(reference.sweep, engine.precision, {**engine.switches, **self.switches})
        buffers = Buffers(q, old, out, self.rates)
        arguments = (buffers, engine.domain, engine.terms, engine.parameters, engine.clock, phase)
        return [engine.device.over(program, engine.setup.grid.shape, arguments)]


class Sweeps(SweepSteps):
    """Sweeps with row-streaming kernels (`sweep_cpu`, `sweep_cuda`)."""

    name = "fast"

    def _prepare(self) -> None:
        super()._prepare()
        if self.engine.device.kind == "cpu":
            self._scratch = np.zeros((len(self._tiles), sweep_cpu.SWEEP_SCRATCH), self.engine.real)

    def sweep(self, phase: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        make = self._sweep_cpu if self.engine.device.kind == "cpu" else self._sweep_cuda
        stage, double = phase >> 2, self.engine.setup.split == ck.DOUBLE
        across, second = (2 if 2 <= stage < 6 else 1, stage % 2 == 1) if double else (1 + stage, False)
        return [make(phase, q, old, out, across, second)]

    def _sweep_cpu(self, phase: int, q: Any, old: Any, out: Any, across: int, second: bool) -> Launch:
        engine = self.engine
        program = engine.device.program(sweep_cpu.sweep_cpu, engine.precision, {**engine.switches, **GATED})
        return cpu_launch(self, program, SplitBuffers(q, old, out, q, self.rates), phase, across, second)

    def _sweep_cuda(self, phase: int, q: Any, old: Any, out: Any, across: int, second: bool) -> Launch:
        engine = self.engine
        return along_cuda(engine, phase, SplitBuffers(q, old, out, q, self.rates), across, SECOND=second, **GATED)


def cpu_launch(
    steps: Any, program: Callable[..., Any], buffers: SplitBuffers, phase: int, across: int, second: bool
) -> Launch:
    """Return the launch of `sweep_cpu` with the work arrays of a schedule."""
    engine = steps.engine
    work = TileWork(steps._scratch, steps._tiles, NO_LIST, False)
    role = sweep_cpu.Role(phase, across, second)
    return Launch(program, (buffers, engine.domain, engine.terms, work, engine.parameters, engine.clock, role))


def along_cuda(engine: Any, phase: int, buffers: SplitBuffers, across: int, **switches: Any) -> Launch:
    """Return the launch of a kernel along x (1) or y (2) on a GPU."""
    grid, device = engine.setup.grid, engine.device
    blocks, threads, rows = sweep_cuda.shape_of(device, grid.ny, grid.nx, across)
    registers = device.parameters("shallow-water.sweeps").registers[engine.precision]["x" if across == 1 else "y"]
    options = {"ROWS": rows, "PARTS": engine.setup.has_parts, "REGISTERS": registers, **switches}
    entry = sweep_cuda.sweep_x_cuda if across == 1 else sweep_cuda.sweep_y_cuda
    program = device.program(entry, engine.precision, {**engine.switches, **options})
    early = grid.cells <= device.parameters("shallow-water.march").early_cells
    domain = engine.domain._replace(manning=engine.manning[None])
    arguments = (buffers, domain, engine.terms, engine.parameters, engine.clock, phase)
    return Launch(program, arguments, blocks, threads, early=early)


class ReferenceSplitStages(Reference):
    """Stages of "srk2" with reference kernels: tendencies along x, then the rest."""

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`."""
        engine = self.engine
        left, work = engine.q_work, []
        for role, target in ((LEAVES, left), (TAKES_UP, out)):
            options = {**engine.switches, **switches, "PART": role}
            program = engine.device.loop(reference.partial_stage, engine.precision, options)
            buffers = SplitBuffers(q, old, target, left, self.rates)
            arguments = (buffers, engine.domain, engine.terms, engine.parameters, engine.clock, phase)
            work.append(engine.device.over(program, engine.setup.grid.shape, arguments))
        return work


class SplitStages(RowStreaming):
    """Stages of "srk2" with row-streaming kernels."""

    blends = False

    @property
    def takes_up(self) -> bool:
        """False: a separate launch accumulates the maps."""
        return False

    def _prepare(self) -> None:
        super()._prepare()
        if self.engine.device.kind == "cpu":
            self._scratch = np.zeros((len(self._tiles), sweep_cpu.SWEEP_SCRATCH), self.engine.real)

    def stage(self, phase: int, q: Any, old: Any, out: Any, **switches: Any) -> list[Launch]:
        """See `step.Stages`; a step on the active tiles is a step of "rk2"."""
        if self._listed:
            return super().stage(phase, q, old, out, **switches)
        engine, left = self.engine, self.engine.q_work
        if engine.device.kind == "cuda":
            return [
                along_cuda(engine, phase, SplitBuffers(q, old, left, left, self.rates), 1, PART=LEAVES, **switches),
                along_cuda(engine, phase, SplitBuffers(q, old, out, left, self.rates), 2, PART=TAKES_UP, **switches),
            ]
        work = []
        for role, target in ((LEAVES, left), (TAKES_UP, out)):
            program = engine.device.program(sweep_cpu.sweep_cpu, engine.precision, {**engine.switches, "PART": role})
            buffers = SplitBuffers(q, old, target, left, self.rates)
            work.append(cpu_launch(self, program, buffers, phase, role, switches["SECOND"]))
        return work


def schedule_for(setup: Setup, device: Device, *, tiles: bool = True) -> type[RowStreaming] | type[Tiles]:
    """Return the class of the fastest schedule for a run on its device, or the reference schedule.

    tiles : whether tile kernels are allowed.
    """
    plain = setup.kernels == "reference"
    if setup.scheme == "srk2":
        return ReferenceSplitStages if plain else SplitStages
    if setup.split:
        return PlainSweeps if plain else Sweeps
    if plain:
        return Reference
    whole = tiles and setup.cross_sections is None and setup.walls is None and setup.active_tiles != "on"
    is_small = whole and not setup.terms.soil and Tiles.serve(setup, device)
    return Tiles if is_small else RowStreaming
