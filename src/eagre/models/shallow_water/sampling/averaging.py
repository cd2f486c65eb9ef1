"""Time statistics of the explicit model: quantities (`eagre.kernels.averages`) and time of accumulation."""

from __future__ import annotations

from typing import Any

from eagre.backend.compilation.cells import cell, real
from eagre.backend.device import Launch
from eagre.kernels.averages import Water, quantities_of_water, weigh
from eagre.kernels.elevation import depth, surface
from eagre.kernels.roots import select
from eagre.models.shallow_water.kernels import bed_centre, over_depth
from eagre.stepping.averaging import Averaging
from eagre.stepping.clock import PARITY, T


@cell
def water_of(j, i, pair, bed, p, clock):
    """Return the water of interior cell (j, i), with the surface relative to the datum."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    b = bed_centre(bed, j + 2, i + 2)
    h = depth(q[0, j + 2, i + 2], b)
    over_h = over_depth(h, p)
    hu = select(h > p.dry, q[1, j + 2, i + 2], real(0.0))
    hv = select(h > p.dry, q[2, j + 2, i + 2], real(0.0))
    return Water(surface(q[0, j + 2, i + 2], b), h, hu, hv, over_h * hu, over_h * hv)


@cell
def weigh_present(i, numbers, clock):
    """Weight the present state; the weight is 0 if the state has been accumulated before."""
    weigh(numbers, clock[T])


QUANTITIES = quantities_of_water("pair, bed, p, clock", water_of)


class PresentAverages(Averaging):
    """Time statistics of an engine: the present state is accumulated before every step and on request."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, QUANTITIES)
        self._engine = engine

    def present(self) -> list[Launch]:
        """Return the launches that accumulate the present state."""
        engine = self._engine
        return self.take(weigh_present, (engine.clock,), engine.pair, engine.bed, engine.parameters, engine.clock)
