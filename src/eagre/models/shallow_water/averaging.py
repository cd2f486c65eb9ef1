"""What the explicit shallow-water model can average over time (`eagre.kernels.averages`), and when it does."""

from __future__ import annotations

from typing import Any

from eagre.backend.cells import cell, real
from eagre.backend.device import Launch
from eagre.kernels.averages import Water, quantities_of_water, weigh
from eagre.kernels.elevation import depth, surface
from eagre.kernels.roots import select
from eagre.models.shallow_water.kernels import bed_centre, over_depth
from eagre.stepping.averaging import Averaging
from eagre.stepping.clock import PARITY, T


@cell
def water_of(j, i, pair, bed, p, clock):
    """The water of interior cell (j, i); its surface is over the datum."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    b = bed_centre(bed, j + 2, i + 2)
    h = depth(q[0, j + 2, i + 2], b)
    over_h = over_depth(h, p)
    hu = select(h > p.dry, q[1, j + 2, i + 2], real(0.0))
    hv = select(h > p.dry, q[2, j + 2, i + 2], real(0.0))
    return Water(surface(q[0, j + 2, i + 2], b), h, hu, hv, over_h * hu, over_h * hv)


@cell
def weigh_present(i, numbers, clock):
    """The present state: it weighs nothing if it was taken up before."""
    weigh(numbers, clock[T])


QUANTITIES = quantities_of_water("pair, bed, p, clock", water_of)


class PresentAverages(Averaging):
    """The averages of an engine's present state, taken up before every step and when they are asked for."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine, QUANTITIES)
        self._engine = engine

    def present(self) -> list[Launch]:
        """What takes up the present state."""
        engine = self._engine
        return self.take(weigh_present, (engine.clock,), engine.pair, engine.bed, engine.parameters, engine.clock)
