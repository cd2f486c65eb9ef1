"""Pressure operator for flat terrain as tables per axis (separable stencil), and GPU kernels for these tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.anelastic.pressure import flat_cuda
from eagre.models.anelastic.pressure.flat_cuda import Gradient
from eagre.models.anelastic.pressure.operator import Wind
from eagre.models.anelastic.pressure.operator_launches import PressureOperator
from eagre.solvers.gcr.fused import Tiles, vector_of
from eagre.solvers.gcr.fused_cuda import BLOCK
from eagre.solvers.gcr.iteration import arrived
from eagre.solvers.gcr.separable_stencil import SeparableStencil, on_device


class Line(NamedTuple):
    """Tables of an axis, see `eagre.models.anelastic.base.grid_lines.line_at`: neighbours, factors, 1 on boundaries."""

    low: np.ndarray
    high: np.ndarray
    over: np.ndarray
    on: np.ndarray


def line_of(n: int, d: float, periodic: bool) -> Line:
    """Return the tables of an axis of n points with spacing d."""
    index, on = np.arange(n), np.zeros(n)
    low, high = index - 1, index + 1
    low[0], high[-1] = (n - 1, 0) if periodic else (0, n - 1)
    if n > 1 and not periodic:
        on[[0, -1]] = 1.0
    return Line(low, high, (0.5 / d if n > 1 else 0.0) * (1.0 + on), on)


def lines_of(operator: PressureOperator) -> tuple[Line, ...]:
    """Return the tables of the axes z, y, x."""
    metric = operator.metric
    axes = zip(metric.shape, metric.spacing, metric.sides, strict=True)
    return tuple(line_of(n, d, side == "periodic") for n, d, side in axes)


def is_separable(operator: PressureOperator) -> bool:
    """Return whether the stencil is separable: flat terrain, profiles as coefficients, no Coriolis."""
    return operator.is_flat and not operator.turning


def stencil_of(operator: PressureOperator) -> SeparableStencil:
    """Return the stencil of L: fluxes are located at the point between two points, and are 0 on a boundary."""
    rho, c11, c33 = (profile[:, 0, 0] for profile in (operator.rho, operator.c11, operator.c33))
    factors, tables = (rho * c33 / operator.metric.stretch**2, None, None), []
    for line, inner in zip(lines_of(operator), factors, strict=True):
        for to in (line.high, line.low):
            weight = line.over * line.over[to] * (1.0 - line.on[to])
            tables.append((weight if inner is None else weight * inner[to] / rho, to[to]))
    return _assembled(c11, tables)


def eigenvalue_bound(stencil: SeparableStencil) -> float:
    """Return a bound of the absolute eigenvalues of L: twice the maximum diagonal element (diagonal dominance)."""
    horizontal = (stencil.east + stencil.west).max() + (stencil.north + stencil.south).max()
    return 2.0 * float((stencil.across * horizontal + stencil.up + stencil.down).max())


def divergence_of(operator: PressureOperator) -> SeparableStencil:
    """Return the stencil of (1 / rho*) div(rho* v): factors of the velocities of neighbours."""
    rho = operator.rho[:, 0, 0]
    factors, tables = (rho / operator.metric.stretch, None, None), []
    for line, inner in zip(lines_of(operator), factors, strict=True):
        for sign, to in ((1.0, line.high), (-1.0, line.low)):
            weight = sign * line.over * (1.0 - line.on[to])
            tables.append((weight if inner is None else weight * inner[to] / rho, to))
    return _assembled(np.ones_like(rho), tables)


def _assembled(across: np.ndarray, tables: list[tuple[np.ndarray, np.ndarray]]) -> SeparableStencil:
    (up, above), (down, below), (north, to_north), (south, to_south), (east, to_east), (west, to_west) = tables
    indices = {"to_above": above, "to_below": below, "to_north": to_north, "to_south": to_south}
    factors = {"up": up, "down": down, "north": north, "south": south, "east": east, "west": west}
    return SeparableStencil(across=across, to_east=to_east, to_west=to_west, **indices, **factors)


def gradient_of(operator: PressureOperator) -> Gradient:
    """Return the stencil of C grad phi."""
    z, y, x = lines_of(operator)
    inside = [1.0 - line.on for line in (z, y, x)]
    up = operator.c33[:, 0, 0] / operator.metric.stretch * z.over * inside[0]
    return Gradient(up, inside[0], operator.c11[:, 0, 0], y.over * inside[1], inside[1], x.over * inside[2], inside[2])


def _tables(operator: PressureOperator) -> tuple[SeparableStencil, SeparableStencil, Gradient]:
    """Return the stencils of L, the divergence and C grad phi, on the host."""
    return stencil_of(operator), divergence_of(operator), gradient_of(operator)


def elementwise(device: Device, precision: str, forced: bool, arguments: tuple[Any, ...]) -> Launch:
    """Return a launch of `kernels.add_force_to_wind` on a GPU, with the same arguments."""
    points = int(arguments[0].size)
    vector = vector_of(device, precision, (points,), True)
    program = device.program(flat_cuda.add_force_to_wind(vector, forced), precision, {"VECTOR": vector})
    return Launch(program, arguments, (-(-points // (vector * BLOCK)),), (BLOCK,))


class FlatKernels:
    """Launches of `flat_cuda` for a separable operator (`is_separable`) without open boundaries.

    Parameters
    ----------
    device : Device
    precision : str
    operator : PressureOperator
    rows : slice, optional
        Interior rows of a subdomain; all rows by default.
    """

    def __init__(self, device: Device, precision: str, operator: PressureOperator, rows: slice | None = None) -> None:
        self._device, self._real, self._precision = device, check_precision(precision), precision
        self._periodic = int(operator.metric.sides[0] == "periodic" and operator.metric.shape[0] > 1)
        periodic_x = operator.metric.sides[2] == "periodic"
        vector = vector_of(device, precision, operator.metric.shape, periodic_x)
        self.tiles = Tiles.of(device, operator.metric.shape, vector)
        self._alone, rows = rows is None, rows or slice(0, operator.metric.shape[1])
        self._rows = (rows.start, rows.stop)
        self._host_tables = stencil, first, gradient = _tables(operator)
        self._stencil, self._first = on_device(stencil, device, self._real), on_device(first, device, self._real)
        self._gradient = Gradient(*(device.array(one.astype(self._real)) for one in gradient))

    def residual(self, phi: Any, provisional: tuple[Any, Any, Any], r: Any, control: Any, partials: Any) -> Launch:
        """Return `PressureOperator.residual` of interior rows, with its convergence test or partial sums."""
        program = self._program(flat_cuda.residual(self.tiles.vector, self._alone))
        tables = (self._stencil, self._first, self._periodic, self.tiles.planes, self._rows)
        return self.tiles.launch(program, (phi, *provisional, r, *tables, control, partials, arrived(self._device)))

    def divergence(self, provisional: tuple[Any, Any, Any], r: Any) -> Launch:
        """Return launches of the residual of phi = 0."""
        program = self._program(flat_cuda.divergence(self.tiles.vector))
        return self.tiles.launch(program, (*provisional, r, self._first, self._periodic, self.tiles.planes))

    def sweep(self, q: Any, r: Any, numbers: Any, out: Any, control: Any) -> Launch:
        """Return `PressureOperator.sweep`, without effect after convergence of `control`; if r is q, c is 0."""
        program = self._program(flat_cuda.sweep(self.tiles.vector, r is not q))
        arguments = (q, r, numbers, out, self._stencil, self._periodic, self.tiles.planes, control)
        return self.tiles.launch(program, arguments)

    def _program(self, entry: Any) -> Any:
        registers = self._device.parameters("solver:gcr").registers[self._precision]
        switches = {"VECTOR": self.tiles.vector, "REGISTERS": registers}
        return self._device.program(entry, self._precision, switches)

    def wind(self, phi: Any, velocity: Any, forces: Any, from_velocity: bool) -> Launch:
        """Return `PressureOperator.wind`."""
        out = Wind(*velocity, *(velocity if forces is None else forces))
        program = self._program(flat_cuda.wind(self.tiles.vector, from_velocity, forces is not None))
        tables = (self._gradient, self._first, self._periodic, self.tiles.planes)
        return self.tiles.launch(program, (phi, out, *tables))

    def refill(self, operator: PressureOperator) -> None:
        """Replace the coefficients."""
        new_tables = _tables(operator)
        device_tables = (self._stencil, self._first, self._gradient)
        for arrays, previous, tables in zip(device_tables, self._host_tables, new_tables, strict=True):
            for array, old, values in zip(arrays, previous, tables, strict=True):
                if not np.array_equal(old, values):
                    self._device.fill(array, np.asarray(values).astype(array.dtype))
        self._host_tables = new_tables
