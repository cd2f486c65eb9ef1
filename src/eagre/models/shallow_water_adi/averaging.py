"""What the implicit shallow-water model can average over time (`eagre.kernels.averages`), and when it does."""

from __future__ import annotations

from typing import Any

from eagre.backend.cells import cell, real
from eagre.backend.device import Launch
from eagre.kernels.averages import Water, quantities_of_water, weigh
from eagre.kernels.implicit_lines import LAND, TINY
from eagre.kernels.roots import larger, select
from eagre.models.shallow_water_adi.layout import PADDING
from eagre.stepping.averaging import Averaging


@cell
def water_of(j, i, z, bed, p, q_before, q_after, dry):
    """The water of interior cell (j, i), discharges between its faces, q half a step before and after; 0 on land."""
    row, column = j + 1, i + PADDING
    b = bed[row, column]
    level = larger(z[row, column], b)
    h = select(b < real(LAND), larger(z[row, column] - b, real(0.0)), real(0.0))
    low = q_before[row, column] + q_after[row, column]
    hu = select(h > dry, real(0.5) * (p[row, column] + p[row, column + 1]), real(0.0))
    hv = select(h > dry, real(0.25) * (low + q_before[row + 1, column] + q_after[row + 1, column]), real(0.0))
    over = larger(h, real(TINY))
    return Water(select(b < real(LAND), level, real(0.0)), h, hu, hv, hu / over, hv / over)


@cell
def weigh_time(i, numbers, times, at):
    """The state of times[at, -1], s."""
    weigh(numbers, times[at, times.shape[1] - 1])


QUANTITIES = quantities_of_water("z, bed, p, q_before, q_after, dry", water_of)


class BeginningAverages(Averaging):
    """The averages of the states that steps begin from, and of the present one when they are asked for."""

    def __init__(self, engine: Any) -> None:
        setup = engine.setup
        super().__init__(engine, QUANTITIES)
        self._engine, self._dry = engine, engine.real(setup.dry_depth if setup.drying else 0.0)

    def at(self, parity: int, times: Any, row: int) -> list[Launch]:
        """What takes up the state of `times[row, -1]`, s, whose newer fluxes the buffers of a parity have."""
        engine = self._engine
        fluxes = (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        return self.take(weigh_time, (times, row), engine.z[0], engine.bed, *fluxes, self._dry)
