"""Schedules of the schemes that split a step into sweeps along x and y (`step.ds1`, `step.ds2`).

The first step of a run is made by SSP-RK2: nothing has said yet what the sweeps allow.
"""

from __future__ import annotations

from typing import Any

from eagre.backend.device import Launch
from eagre.models.shallow_water import diagnostics, reference
from eagre.models.shallow_water.schedules import March, Reference, Tiles, boundary_pass
from eagre.models.shallow_water.step import SPLIT_SCHEMES, rk2
from eagre.stepping import clock as ck
from eagre.stepping.substeps import after_stage


class PlainSweeps(Reference):
    """One plain cell a stage."""

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

    def sweep(self, turn: int, q: Any, old: Any, out: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        engine = self.engine
        program = engine.device.loop(reference.sweep, engine.precision, {**engine.switches, **self.switches})
        fields = (q, old, out, engine.bed, engine.manning, engine.terms, engine.edges, engine.walls)
        arguments = (*fields, self.rates, engine.parameters, engine.clock, turn)
        return [engine.device.over(program, engine.setup.grid.shape, arguments)]

    def after_sweep(self, turn: int, q: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        return boundary_pass(self.engine, q, turn, TAIL=after_stage, **self.switches)

    def maps_of_sweeps(self, turn: int) -> list[Launch]:
        """See `step.Sweeps`."""
        return [diagnostics.take(self.engine, turn, **self.switches)] if self.engine.setup.maps is not None else []

    def balance_of_sweep(self, turn: int, q: Any, middle: Any) -> list[Launch]:
        """See `step.Sweeps`."""
        return self._books(q, middle, turn, TWO_STAGES=self.engine.setup.split == ck.DOUBLE, **self.switches)


def schedule_for(engine: Any) -> March | Tiles:
    """The fastest way to make the steps of a run on its device, or the plain one if that was asked for or is all."""
    setup = engine.setup
    if setup.split:
        return PlainSweeps(engine)
    if setup.kernels == "reference" or setup.walls is not None:
        return Reference(engine)
    small = setup.lines is None and setup.early_exit != "on" and Tiles.serve(setup, engine.device)
    return Tiles(engine) if small else March(engine)
