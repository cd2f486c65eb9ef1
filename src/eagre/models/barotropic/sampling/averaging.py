"""Time statistics of the barotropic model: point functions of the quantities and accumulation per step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from eagre.backend.compilation.cells import cell, real
from eagre.kernels.averages import SEEN, Quantities, speed_of, weigh
from eagre.models.barotropic.inversion import Launches
from eagre.models.barotropic.setup import Setup
from eagre.models.barotropic.state import State
from eagre.stepping.averaging import Averaging


class PointConstants(NamedTuple):
    """Index offsets of points in padded arrays and constants of the quantities."""

    right: int  # first column of the last three columns
    top: int  # first row of the last three rows
    wrap_x: int  # halo points before the first point
    wrap_y: int
    over_2dx: float
    over_2dy: float
    screening: float  # F or 1 / R^2 of the (upper) layer
    screening_lower: float  # F of the lower layer
    other: float  # 1 with two layers, else 0


@cell
def slope(first, second, third, index):
    """Return 2 h times the derivative of the parabola through three values, at value number `index`: 0, 1 or 2."""
    two, four = real(2.0), real(4.0)
    return (two * index - real(3.0)) * first + (four - four * index) * second + (two * index - real(1.0)) * third


@cell
def velocity_x(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return u = -psi_y: central difference, second-order one-sided at the edges."""
    row, column = np.int64(j) + c.wrap_y, i + c.wrap_x
    low = min(max(row - 1, 0), c.top)
    rise = slope(psi[low, column], psi[low + 1, column], psi[low + 2, column], real(row - low))
    return -c.over_2dy * rise


@cell
def velocity_y(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return v = psi_x; see `velocity_x`."""
    row, column = j + c.wrap_y, np.int64(i) + c.wrap_x
    low = min(max(column - 1, 0), c.right)
    return c.over_2dx * slope(psi[row, low], psi[row, low + 1], psi[row, low + 2], real(column - low))


@cell
def streamfunction(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return psi."""
    return psi[j + c.wrap_y, i + c.wrap_x]


@cell
def streamfunction_lower(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return psi of the lower layer."""
    return psi_lower[j + c.wrap_y, i + c.wrap_x]


@cell
def relative_vorticity(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return zeta = q + F psi, or q + F (psi - psi_lower)."""
    row, column = j + c.wrap_y, i + c.wrap_x
    return q[row, column] + c.screening * (psi[row, column] - c.other * psi_lower[row, column])


@cell
def relative_vorticity_lower(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return zeta of the lower layer."""
    row, column = j + c.wrap_y, i + c.wrap_x
    return q_lower[row, column] + c.screening_lower * (psi_lower[row, column] - psi[row, column])


@cell
def potential_vorticity(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return q."""
    return q[j + c.wrap_y, i + c.wrap_x]


@cell
def potential_vorticity_lower(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return q of the lower layer."""
    return q_lower[j + c.wrap_y, i + c.wrap_x]


@cell
def carried(j, i, psi, q, psi_lower, q_lower, tracer, c):
    """Return the tracer concentration."""
    return tracer[j + c.wrap_y, i + c.wrap_x]


@cell
def weigh_step(i, numbers, dt):
    """Set the statistical weight of the state after a step of dt, s."""
    weigh(numbers, numbers[SEEN] + dt)


FIELDS = "psi, q, psi_lower, q_lower, tracer, c"
ALWAYS = {
    "streamfunction": streamfunction, "relative_vorticity": relative_vorticity,
    "potential_vorticity": potential_vorticity,
    "velocity_x": velocity_x, "velocity_y": velocity_y, "speed": speed_of(FIELDS, velocity_x, velocity_y),
}  # fmt: skip
LOWER = {
    "streamfunction_lower": streamfunction_lower, "relative_vorticity_lower": relative_vorticity_lower,
    "potential_vorticity_lower": potential_vorticity_lower,
}  # fmt: skip
EVERYTHING = {**ALWAYS, **LOWER, "tracer": carried}
QUANTITIES = Quantities(FIELDS, EVERYTHING)


def possible(layers: bool, tracer: bool) -> list[str]:
    """Return the names of available quantities for a model with or without a lower layer and a tracer."""
    return [*ALWAYS, *(LOWER if layers else ()), *(("tracer",) if tracer else ())]


class StepAverages(Averaging):
    """Time statistics of a run, accumulated at the end of every step."""

    def __init__(self, fields: State) -> None:
        super().__init__(fields, QUANTITIES)
        self._fields, self._setup = fields, fields.setup

    def after_step(self, new: int) -> Launches:
        """Return the launches that accumulate the state in buffers `new`."""
        return self._of(new, self._setup.time_step)

    def take_over(self, state: Mapping[str, np.ndarray], time: float) -> None:
        """Load statistics (see `Averaging.take_over`) and include the current state in extremes."""
        super().take_over(state, time)
        if self.plan is not None and self.plan.planes.extremes:
            self._device.run(self._of(self._fields.current, 0.0))

    def _of(self, buffer: int, dt: float) -> Launches:
        """Return the launches that accumulate the state in buffers `buffer`; dt : time since the previous state, s."""
        fields, two = self._fields, self._fields.count == 2
        upper = (fields.psi[0][buffer], fields.q[0][buffer])
        lower = (fields.psi[1][buffer], fields.q[1][buffer]) if two else upper
        tracer = fields.tracer[buffer] if fields.tracer else fields.none
        return [*self.take(weigh_step, (dt,), *upper, *lower, tracer, point_constants(self._setup, fields.real))]


def point_constants(setup: Setup, real_type: Any) -> PointConstants:
    """Return the constants of a configuration in the precision of a run."""
    (ny, nx), grid, layers = setup.shape, setup.grid, setup.layers
    wrap_x, wrap_y = (int(wrap) for wrap in setup.periodic)
    upper, lower = (
        (setup.screening, 0.0) if layers is None else (layers.coupling_parameter(0), layers.coupling_parameter(1))
    )
    numbers = (0.5 / grid.dx, 0.5 / grid.dy, upper, lower, float(layers is not None))
    return PointConstants(nx - 3, ny - 3, wrap_x, wrap_y, *map(real_type, numbers))
