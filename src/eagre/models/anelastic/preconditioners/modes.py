"""Modes of the flat pressure operator along each axis, and their column systems.

If rho*, C and the stretching depend on height alone, modes exp(i kappa x) of x and y decouple, with the symbol
-sin^2(kappa d) / d^2 of centred differences over two grid spacings. Axes between walls use cosines through the
outermost points. A periodic z with constant coefficients is also transformed on a GPU; a CPU solves periodic columns
(`cyclic_columns`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from eagre.backend.device import Device, Launch, check_precision
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.column_launches import column_solver, mode_divider
from eagre.models.anelastic.preconditioners.columns import Symbols, factor_modes
from eagre.models.anelastic.preconditioners.cyclic_columns import PeriodicFactors, periodic_factors, solve_periodic_cpu
from eagre.solvers.poisson.axes import Axis

ROUNDING_LIMIT = 1e-14  # symbols below this are rounding errors of sin(pi)


def wave_numbers(n: int, d: float, periodic: bool) -> tuple[np.ndarray, Axis | None]:
    """Return sin^2(kappa d) / d^2 of the modes of an axis, and its cosines for walls."""
    if n == 1:
        return np.zeros(1), None
    axis = Axis(n, d, "periodic" if periodic else "neumann", "points")
    sine = np.sin(axis.angles)
    return np.where(np.abs(sine) < ROUNDING_LIMIT, 0.0, (sine / d) ** 2), None if periodic else axis


class GridModes(NamedTuple):
    """Modes of a grid.

    waves : periodic, transformed axes (of z, y, x); the last one has half of its modes
    cosines : cosines of the axes between walls or open boundaries
    symbols : symbols along z, y, x
    """

    shape: tuple[int, int, int]
    waves: tuple[int, ...]
    cosines: dict[int, Axis]
    symbols: tuple[np.ndarray, np.ndarray, np.ndarray]
    periodic_z: bool

    @classmethod
    def of(cls, metric: Metric, device: Device) -> GridModes:
        """Return the modes of a grid on a device."""
        shape, periodic_z = metric.shape, metric.sides[0] == "periodic" and metric.shape[0] > 1
        numbers = [
            wave_numbers(n, d, side == "periodic")
            for n, d, side in zip(shape, metric.spacing, metric.sides, strict=True)
        ]
        cosines = {k: axis for k, (_, axis) in enumerate(numbers) if k > 0 and axis is not None}
        transforms_z = periodic_z and device.kind == "cuda"
        waves = tuple(k for k in range(0 if transforms_z else 1, 3) if shape[k] > 1 and k not in cosines)
        symbols = [symbol for symbol, _ in numbers]
        if waves:
            symbols[waves[-1]] = symbols[waves[-1]][: shape[waves[-1]] // 2 + 1]
        z = symbols[0] if transforms_z else np.zeros(shape[0])
        return cls(shape, waves, cosines, (z, symbols[1], symbols[2]), periodic_z)

    @property
    def has_periodic_columns(self) -> bool:
        """True if the columns of a periodic z are solved as periodic systems."""
        return self.periodic_z and 0 not in self.waves

    @property
    def reals_per_mode(self) -> int:
        """Number of real numbers per mode."""
        return 2 if self.waves else 1

    @property
    def points(self) -> int:
        """Factor of a forward and inverse transform."""
        return int(np.prod([self.shape[k] for k in self.waves]))


class Modes:
    """Column systems of modes on a device.

    Parameters
    ----------
    device : Device
    precision : str
    modes : GridModes
        Modes of this device.
    dz : float
        Vertical spacing, m.
    sign : float
        1.0 or -1.0, sign of the solution.

    Attributes
    ----------
    shape : (z, y, x)
        Shape of the modes.
    """

    def __init__(self, device: Device, precision: str, modes: GridModes, dz: float, sign: float = 1.0) -> None:
        self._device, self._real, self._sign = device, check_precision(precision), sign
        self._modes, self._dz = modes, dz
        nz = modes.shape[0]
        wall = nz > 1 and not modes.periodic_z
        self._w = np.array([0.5 if wall and k in (0, nz - 1) else 1.0 for k in range(nz)])
        self.shape = tuple(map(len, modes.symbols))
        self._inverse = None if modes.periodic_z else device.zeros(self.shape, self._real)
        self._coupling = device.zeros((nz, 1, 1), self._real)
        self._tables, self._wide = self._symbols_in(self._real), self._symbols_in(np.float64)
        self._factor = device.loop(factor_modes, "double")
        self._solve = column_solver(device, precision, {"PARTS": modes.reals_per_mode})
        self._divide = mode_divider(device, precision, modes.reals_per_mode)
        row, closes = (self.shape[1], modes.reals_per_mode * self.shape[2]), modes.has_periodic_columns
        arrays = (device.zeros(row, self._real) for _ in PeriodicFactors._fields)
        self._periodic_systems = PeriodicFactors(*arrays) if closes else None
        self._carried = device.zeros(row if closes else (1, 1), self._real)
        self._close = device.program(solve_periodic_cpu, precision) if closes else None

    def _symbols_in(self, real: Any) -> Symbols:
        """Return tables of symbols on the device in a precision, without coefficients."""
        along_y, along_x = (self._device.array(one.astype(real)) for one in self._modes.symbols[1:])
        across, along_z, scale = (self._device.zeros(self.shape[:1], real) for _ in range(3))
        return Symbols(across, along_z, along_y, along_x, scale)

    def set_coefficients(self, across: np.ndarray, up: np.ndarray, scale: np.ndarray) -> None:
        """Factorise the column systems.

        Parameters
        ----------
        across : (nz,)
            Mean of rho* c11.
        up : (nz,)
            Mean of rho* G3 . C G3.
        scale : (nz,)
            Factor of r: rho*, or 1 if r is already multiplied by rho*.
        """
        nz, device, count = self._modes.shape[0], self._device, self.shape[0]
        for tables in (self._tables, self._wide):
            scaled = self._sign * self._w * scale / self._modes.points
            tables_and_values = ((tables.across, (self._w * across)[:count]), (tables.scale, scaled[:count]))
            for array, values in (*tables_and_values, (tables.along_z, up[0] * self._modes.symbols[0])):
                device.fill(array, values.astype(array.dtype))
        if self._periodic_systems is not None:
            flat = self._modes.symbols[1][:, None] + np.repeat(self._modes.symbols[2], self._modes.reals_per_mode)
            b = float(self._sign * scale[0]) / self._modes.points
            systems = periodic_factors(float(across[0]) * flat, float(up[0]) / (4.0 * self._dz**2), b, nz)
            for array, values in zip(self._periodic_systems, systems, strict=True):
                device.fill(array, values.astype(self._real))
        if self._inverse is None:
            return
        coupling = np.zeros(nz)
        coupling[: nz - 2] = up[1 : nz - 1] / (4.0 * self._dz**2)
        device.fill(self._coupling, coupling[:, None, None].astype(self._real))
        arguments = (self._inverse, self._wide, device.array(coupling))
        device.run([device.over(self._factor, self.shape[1:], arguments)])

    def launch(self, f: Any) -> Launch:
        """Return a launch that solves in place; f : real numbers, last axis times `GridModes.reals_per_mode`."""
        if self._close is not None:
            return Launch(self._close, (f, self._periodic_systems, self._carried))
        if self._modes.periodic_z:
            return self._divide(f, self._tables)
        return self._solve((f, self._inverse, self._coupling, self._tables.scale))
