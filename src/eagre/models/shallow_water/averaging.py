"""What the explicit shallow-water model can average over time (`eagre.kernels.averages`), and when it does."""

from __future__ import annotations

from typing import Any

from eagre.backend.cells import cell, real
from eagre.backend.device import Launch
from eagre.kernels.averages import weigh
from eagre.kernels.elevation import depth, surface
from eagre.kernels.roots import root, select
from eagre.models.shallow_water.kernels import bed_centre, over_depth
from eagre.stepping.averages import Averaging, Quantities
from eagre.stepping.clock import PARITY, T


@cell
def level_of(j, i, pair, bed, p, clock):
    """Surface of interior cell (j, i) over the datum, m."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    return surface(q[0, j + 2, i + 2], bed_centre(bed, j + 2, i + 2))


@cell
def depth_of(j, i, pair, bed, p, clock):
    """Depth, m."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    return depth(q[0, j + 2, i + 2], bed_centre(bed, j + 2, i + 2))


@cell
def discharge_of(j, i, pair, bed, p, clock, component):
    """Unit discharge, m2 s-1; component : 1 along x, 2 along y."""
    q = pair[1 if clock[PARITY] > 0.0 else 0]
    h = depth_of(j, i, pair, bed, p, clock)
    return select(h > p.dry, q[component, j + 2, i + 2], real(0.0))


@cell
def discharge_x(j, i, pair, bed, p, clock):
    """Along x."""
    return discharge_of(j, i, pair, bed, p, clock, 1)


@cell
def discharge_y(j, i, pair, bed, p, clock):
    """Along y."""
    return discharge_of(j, i, pair, bed, p, clock, 2)


@cell
def velocity_x(j, i, pair, bed, p, clock):
    """Velocity along x, m s-1."""
    return over_depth(depth_of(j, i, pair, bed, p, clock), p) * discharge_of(j, i, pair, bed, p, clock, 1)


@cell
def velocity_y(j, i, pair, bed, p, clock):
    """Along y."""
    return over_depth(depth_of(j, i, pair, bed, p, clock), p) * discharge_of(j, i, pair, bed, p, clock, 2)


@cell
def speed(j, i, pair, bed, p, clock):
    """Speed, m s-1."""
    u, v = velocity_x(j, i, pair, bed, p, clock), velocity_y(j, i, pair, bed, p, clock)
    return root(u * u + v * v)


@cell
def weigh_present(i, numbers, clock):
    """The present state: it weighs nothing if it was taken up before."""
    weigh(numbers, clock[T])


QUANTITIES = Quantities(
    "pair, bed, p, clock",
    {
        "surface_elevation": level_of, "depth": depth_of, "discharge_x": discharge_x, "discharge_y": discharge_y,
        "velocity_x": velocity_x, "velocity_y": velocity_y, "speed": speed,
    },
)  # fmt: skip


class PresentAverages(Averaging):
    """The averages of an engine's present state, taken up before every step and when they are asked for."""

    def __init__(self, engine: Any) -> None:
        setup = engine.setup
        super().__init__(setup.averages, QUANTITIES, engine.device, engine.precision, setup.grid.shape)
        self._engine = engine

    def present(self) -> list[Launch]:
        """What takes up the present state."""
        engine = self._engine
        return self.take(weigh_present, (engine.clock,), engine.pair, engine.bed, engine.parameters, engine.clock)
