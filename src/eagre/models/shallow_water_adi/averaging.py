"""What the implicit shallow-water model can average over time (`eagre.kernels.averages`), and when it does."""

from __future__ import annotations

from typing import Any

from eagre.backend.cells import cell, real
from eagre.backend.device import Launch
from eagre.kernels.averages import weigh
from eagre.kernels.implicit_lines import LAND, TINY
from eagre.kernels.roots import larger, root, select
from eagre.models.shallow_water_adi.layout import PADDING
from eagre.stepping.averages import Averaging, Quantities


@cell
def level_of(j, i, z, bed, p, q_before, q_after, dry):
    """Surface of interior cell (j, i), m; on land nothing that counts."""
    b = bed[j + 1, i + PADDING]
    return select(b < real(LAND), larger(z[j + 1, i + PADDING], b), real(0.0))


@cell
def depth_of(j, i, z, bed, p, q_before, q_after, dry):
    """Depth, m."""
    b = bed[j + 1, i + PADDING]
    return select(b < real(LAND), larger(z[j + 1, i + PADDING] - b, real(0.0)), real(0.0))


@cell
def discharge_x(j, i, z, bed, p, q_before, q_after, dry):
    """Unit discharge along x, m2 s-1, between the faces."""
    row, column = j + 1, i + PADDING
    wet = depth_of(j, i, z, bed, p, q_before, q_after, dry) > dry
    return select(wet, real(0.5) * (p[row, column] + p[row, column + 1]), real(0.0))


@cell
def discharge_y(j, i, z, bed, p, q_before, q_after, dry):
    """Along y, between the faces, and half a step before and after."""
    row, column = j + 1, i + PADDING
    low = q_before[row, column] + q_after[row, column]
    wet = depth_of(j, i, z, bed, p, q_before, q_after, dry) > dry
    return select(wet, real(0.25) * (low + q_before[row + 1, column] + q_after[row + 1, column]), real(0.0))


@cell
def velocity_x(j, i, z, bed, p, q_before, q_after, dry):
    """Velocity along x, m s-1."""
    h = larger(depth_of(j, i, z, bed, p, q_before, q_after, dry), real(TINY))
    return discharge_x(j, i, z, bed, p, q_before, q_after, dry) / h


@cell
def velocity_y(j, i, z, bed, p, q_before, q_after, dry):
    """Along y."""
    h = larger(depth_of(j, i, z, bed, p, q_before, q_after, dry), real(TINY))
    return discharge_y(j, i, z, bed, p, q_before, q_after, dry) / h


@cell
def speed(j, i, z, bed, p, q_before, q_after, dry):
    """Speed, m s-1."""
    u = velocity_x(j, i, z, bed, p, q_before, q_after, dry)
    v = velocity_y(j, i, z, bed, p, q_before, q_after, dry)
    return root(u * u + v * v)


@cell
def weigh_time(i, numbers, times, at):
    """The state of times[at, -1], s."""
    weigh(numbers, times[at, times.shape[1] - 1])


QUANTITIES = Quantities(
    "z, bed, p, q_before, q_after, dry",
    {
        "surface_elevation": level_of, "depth": depth_of, "discharge_x": discharge_x, "discharge_y": discharge_y,
        "velocity_x": velocity_x, "velocity_y": velocity_y, "speed": speed,
    },
)  # fmt: skip


class BeginningAverages(Averaging):
    """The averages of the states that steps begin from, and of the present one when they are asked for."""

    def __init__(self, engine: Any) -> None:
        setup = engine.setup
        super().__init__(setup.averages, QUANTITIES, engine.device, engine.precision, setup.grid.shape)
        self._engine, self._dry = engine, engine.real(setup.dry_depth if setup.drying else 0.0)

    def at(self, parity: int, times: Any, row: int) -> list[Launch]:
        """What takes up the state of `times[row, -1]`, s, whose newer fluxes the buffers of a parity have."""
        engine = self._engine
        fluxes = (engine.p[parity], engine.q[1 - parity], engine.q[parity])
        return self.take(weigh_time, (times, row), engine.z[0], engine.bed, *fluxes, self._dry)
