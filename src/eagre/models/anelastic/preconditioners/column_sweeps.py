"""Preconditioners with column systems: line Jacobi and Richardson sweeps; vertical terms implicit, the rest lagged.

    (d - V) q* = H q + d q - rho* r,      q <- (1 - omega) q + omega q*,      initially q = 0

V, H: the vertical and horizontal parts of rho* L without cross terms. Line Jacobi: d = -(diagonal of H), omega = 0.7.
Richardson: d = rho* / beta, omega = 1, beta = 1 / (2 max(c11 / (4 dx^2) + c11 / (4 dy^2))), half of that in 3-D.

Source: P. K. Smolarkiewicz, L. G. Margolin, in Geophys. Astrophys. Convection (1994/2000); S. J. Thomas et al., Mon.
Weather Rev. 131, 2464 (2003), of EULAG's preconditioners.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.backend.device import Device, Launch, Work, check_precision
from eagre.errors import InputError
from eagre.models.anelastic.preconditioners.columns import Symbols, divide, factor_column, solve_columns_cpu
from eagre.models.anelastic.preconditioners.columns_cuda import (
    AHEAD,
    LANES,
    ROWS,
    SYSTEMS,
    column_systems_cuda,
    divide_cuda,
)
from eagre.models.anelastic.pressure import operator as cells
from eagre.models.anelastic.pressure.operator_launches import PressureOperator


def column_solver(device: Device, precision: str, switches: Mapping[str, Any]) -> Callable[[tuple[Any, ...]], Launch]:
    """Return a function from (f, inverse, coupling, scale) to the launch of `columns.solve_column`."""
    on_gpu = device.kind == "cuda"
    program = device.program(column_systems_cuda if on_gpu else solve_columns_cpu, precision, switches)

    def launch(arguments: tuple[Any, ...]) -> Launch:
        if not on_gpu:
            return Launch(program, arguments)
        _, ny, n = map(int, arguments[0].shape)
        return Launch(program, arguments, (-(-n // LANES), ny), (LANES, SYSTEMS))

    return launch


def mode_divider(device: Device, precision: str, components: int) -> Callable[[Any, Symbols], Launch]:
    """Return a function from (f, tables) to the launch of `columns.divide`; parts : real numbers per mode."""
    if device.kind == "cuda" and components == 2:
        program = device.program(divide_cuda, precision)

        def launch(f: Any, tables: Symbols) -> Launch:
            nz, ny, n = map(int, f.shape)
            grid = (-(-(n // 2) // LANES), -(-ny // ROWS), -(-nz // AHEAD))
            return Launch(program, (f, tables), grid, (LANES, ROWS))

        return launch
    loop = device.loop(divide, precision, {"PARTS": components})
    return lambda f, tables: device.over(loop, (*f.shape[:2], f.shape[2] // components), (f, tables))


WEIGHT = 0.7  # omega of line Jacobi


@cell
def take(k, j, i, q, new, weight):
    """Set q = weight new."""
    q[k, j, i] = weight * new[k, j, i]


@cell
def blend(k, j, i, q, new, weight):
    """Relax q towards new with a weight."""
    q[k, j, i] += weight * (new[k, j, i] - q[k, j, i])


class Sweeps:
    """Preconditioner q = P^-1 r by sweeps.

    Parameters
    ----------
    operator : PressureOperator
    kind : {"line-jacobi", "richardson"}
    count : int
        Number of sweeps.
    """

    def __init__(self, operator: PressureOperator, kind: str, count: int = 2) -> None:
        metric, device, precision = operator.metric, operator.device, operator.precision
        if metric.sides[0] == "periodic" and metric.shape[0] > 1:
            raise InputError(
                f"preconditioner = {kind!r} where z is periodic",
                allowed='"fft", "none"',
                fix='"fft"',
                problem=f"The preconditioner {kind} requires walls along z.",
            )
        if count != int(count) or count < 1:
            raise InputError(f"sweeps = {count!r}", allowed="1 or more", fix="sweeps=2")
        real, shape = check_precision(precision), metric.shape
        self._operator, self._kind, self._count = operator, kind, count
        self._weight = real(WEIGHT if kind == "line-jacobi" else 1.0)
        self._d, self._inverse, self._coupling, self._new = (device.zeros(shape, real) for _ in range(4))
        w = [0.5 if shape[0] > 1 and k in (0, shape[0] - 1) else 1.0 for k in range(shape[0])]
        self._w = device.array(np.array(w, real))
        switches = {"COUPLING": cells.of_field}
        self._factor = device.loop(factor_column, precision, switches)
        self._loops = {one.name: device.loop(one, precision) for one in (take, blend)}
        self._columns = column_solver(device, precision, switches)(self._system)
        self.factorise()

    @property
    def _system(self) -> tuple[Any, ...]:
        return self._new, self._inverse, self._coupling, self._w

    def factorise(self) -> None:
        """Factorise the column systems of the operator."""
        operator, device = self._operator, self._operator.device
        out = (self._d, self._inverse, self._coupling)
        launches = [operator.line_system(self._slowest() if self._kind == "richardson" else 0.0, out)]
        arguments = (self._inverse, self._coupling, operator.metric.shape[0])
        device.run([*launches, device.over(self._factor, operator.metric.shape[1:], arguments)])

    def _slowest(self) -> float:
        """Return 1 / beta."""
        metric = self._operator.metric
        axes = [d for n, d in zip(metric.shape[1:], metric.spacing[1:], strict=True) if n > 1]
        return 2.0 * max(1, len(axes)) * float(self._operator.c11.max()) * sum(0.25 / d**2 for d in axes)

    def launches(self, r: Any, q: Any) -> list[Work]:
        """Return launches of q = P^-1 r, both (nz, ny, nx)."""
        operator, device, shape = self._operator, self._operator.device, self._operator.metric.shape
        arguments = (q, self._new, self._weight)
        launches: list[Work] = [operator.weighed(r, self._new), self._columns]
        launches.append(device.over(self._loops["take"], shape, arguments))
        for _ in range(self._count - 1):
            launches += [operator.line_right(q, r, self._d, self._new), self._columns]
            launches.append(device.over(self._loops["blend"], shape, arguments))
        return launches
