"""Schedules of the schemes that split a step into sweeps along x and y (`step.ds1`, `step.ds2`).

The first step of a run is made by SSP-RK2: nothing has said yet what the sweeps allow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.device import Launch
from eagre.models.shallow_water import diagnostics, reference, sweep_cpu, sweep_cuda
from eagre.models.shallow_water.schedules import March, Reference, Tiles, boundary_pass
from eagre.models.shallow_water.step import SPLIT_SCHEMES, rk2
from eagre.stepping import clock as ck
from eagre.stepping.substeps import after_stage

GATED = {"SPLIT": ck.DOUBLE}  # of stages, which know nothing else of the scheme: it has their programs shared


class SweepSteps(March):
    """What all split schedules share; a subclass makes the stages."""

    name = "reference"

    def _steps(self, listed: bool) -> list[Launch]:
        """The launches of two rounds: from either buffer to the other."""
        engine, self._listed = self.engine, False
        split = engine.setup.split
        self.switches = {"SPLIT": split}
        self.steps_a_round = 2 * (2 if split == ck.DOUBLE else 1)
        self.first = rk2(self, ck.EITHER, engine.q[0], engine.middle, engine.q[0])
        scheme = SPLIT_SCHEMES[engine.setup.scheme]
        buffers = ((0, engine.q[0], engine.q[1]), (1, engine.q[1], engine.q[0]))
        return [one for turn, q, out in buffers for one in scheme(self, turn, q, engine.middle, engine.spare, out)]

    def _active_tiles(self) -> None:
        return None

    def sweep(self, turn: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        raise NotImplementedError

    def after_sweep(self, turn: int, q: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        return boundary_pass(self.engine, q, turn, TAIL=after_stage, **self.switches)

    def maps_of_sweeps(self, turn: int) -> list[Launch]:
        """See `step.Sweeps`."""
        return [diagnostics.take(self.engine, turn, **self.switches)] if self.engine.setup.maps is not None else []

    def balance_of_sweep(self, turn: int, q: Any, middle: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        return self._books(q, middle, turn, TWO_STAGES=self.engine.setup.split == ck.DOUBLE, **self.switches)


class PlainSweeps(SweepSteps, Reference):
    """One plain cell a stage."""

    def sweep(self, turn: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        engine = self.engine
        program = engine.device.loop(reference.sweep, engine.precision, {**engine.switches, **self.switches})
        fields = (q, old, out, engine.bed, engine.manning, engine.terms, engine.edges, engine.walls)
        arguments = (*fields, self.rates, engine.parameters, engine.clock, turn)
        return [engine.device.over(program, engine.setup.grid.shape, arguments)]


class Sweeps(SweepSteps):
    """Stages that march (`sweep_cpu`, `sweep_cuda`)."""

    name = "fast"

    def _prepare(self) -> int:
        count = super()._prepare()
        if self.engine.device.kind == "cpu":
            self._scratch = np.zeros((count, sweep_cpu.SWEEP_SCRATCH), self.engine.real)
        return count

    def sweep(self, turn: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        make = self._sweep_cpu if self.engine.device.kind == "cpu" else self._sweep_cuda
        stage, double = turn >> 2, self.engine.setup.split == ck.DOUBLE
        across, second = (2 if 2 <= stage < 6 else 1, stage % 2 == 1) if double else (1 + stage, False)
        return [make(turn, q, old, out, across, second)]

    def _sweep_cpu(self, turn: int, q: Any, old: Any, out: Any, across: int, second: bool) -> Launch:
        engine = self.engine
        program = engine.device.program(sweep_cpu.sweep_cpu, engine.precision, {**engine.switches, **GATED})
        fields = (q, old, out, engine.bed, engine.manning, engine.terms, engine.edges, self._scratch, self._tiles)
        return Launch(program, (*fields, self.rates, engine.parameters, engine.clock, turn, across, second))

    def _sweep_cuda(self, turn: int, q: Any, old: Any, out: Any, across: int, second: bool) -> Launch:
        engine = self.engine
        grid, device = engine.setup.grid, engine.device
        blocks, threads, rows = sweep_cuda.shape_of(device, grid.ny, grid.nx, across)
        layout = device.layout("shallow-water.sweeps")
        own = {"ROWS": rows, "SECOND": second, "PARTS": engine.setup.has_parts}
        own["REGISTERS"] = layout.registers[engine.precision]["x" if across == 1 else "y"]
        entry = sweep_cuda.sweep_x_cuda if across == 1 else sweep_cuda.sweep_y_cuda
        program = device.program(entry, engine.precision, {**engine.switches, **GATED, **own})
        fields = (q, old, out, engine.bed, engine.manning[None], engine.terms, engine.edges)
        arguments = (*fields, self.rates, engine.parameters, engine.clock, turn)
        early = grid.cells <= device.layout("shallow-water.march").early_cells
        return Launch(program, arguments, blocks, threads, early=early)


def schedule_for(engine: Any) -> March | Tiles:
    """The fastest way to make the steps of a run on its device, or the plain one if that was asked for or is all."""
    setup = engine.setup
    plain = setup.kernels == "reference" or setup.walls is not None
    if setup.split:
        return PlainSweeps(engine) if plain else Sweeps(engine)
    if plain:
        return Reference(engine)
    small = setup.lines is None and setup.early_exit != "on" and Tiles.serve(setup, engine.device)
    return Tiles(engine) if small else March(engine)
