"""The flat pressure operator inverted in one go: transforms along x and y, column systems of two chains along z.

Where rho*, C and the stretching depend on height alone, modes exp(i kappa x) of x and y stay apart, with the symbol
-sin^2(kappa d) / d^2 of centred differences over two spacings; walls take cosines through the outermost points. A
periodic z with constant coefficients is transformed too. Of fields the horizontal means are taken: a preconditioner.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.arrays import fourier_module, on_gpu
from eagre.backend.device import Device, HostCall, Launch, Work, check_precision
from eagre.models.anelastic.chains import column_solver, mode_divider
from eagre.models.anelastic.columns import Symbols, factor_modes
from eagre.models.anelastic.metric import Metric
from eagre.solvers.poisson.axes import Axis, workers

NOTHING = 1e-14  # of the symbol of a mode: rounding of sin(pi)


def wave_numbers(n: int, d: float, periodic: bool) -> tuple[np.ndarray, Axis | None]:
    """sin^2(kappa d) / d^2 of the modes of an axis, and its cosines if it has walls."""
    if n == 1:
        return np.zeros(1), None
    axis = Axis(n, d, "periodic" if periodic else "neumann", "points")
    sine = np.sin(axis.angles)
    return np.where(np.abs(sine) < NOTHING, 0.0, (sine / d) ** 2), None if periodic else axis


class Spectral:
    """q = P^-1 r of the flat operator.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
    sign : float
        1.0, or -1.0: q = -P^-1 r.
    """

    def __init__(self, device: Device, precision: str, metric: Metric, sign: float = 1.0) -> None:
        self._sign, self._made = sign, ()
        self._device, self._real, self.shape = device, check_precision(precision), metric.shape
        self._periodic_z = metric.sides[0] == "periodic" and self.shape[0] > 1
        numbers = [
            wave_numbers(n, d, side == "periodic")
            for n, d, side in zip(metric.shape, metric.spacing, metric.sides, strict=True)
        ]
        self._cosines = {k: axis for k, (_, axis) in enumerate(numbers) if k > 0 and axis is not None}
        first = 0 if self._periodic_z else 1
        self._waves = tuple(k for k in range(first, 3) if self.shape[k] > 1 and k not in self._cosines)
        symbols = [symbol for symbol, _ in numbers]
        if self._waves:
            last = self._waves[-1]
            symbols[last] = symbols[last][: self.shape[last] // 2 + 1]
        self._vertical, self._symbols = symbols[0] if self._periodic_z else np.zeros(self.shape[0]), symbols[1:]
        self._dz, self._parts = metric.spacing[0], 2 if self._waves else 1
        wall = self.shape[0] > 1 and not self._periodic_z
        self._w = np.array([0.5 if wall and k in (0, self.shape[0] - 1) else 1.0 for k in range(self.shape[0])])
        self._modes = (self.shape[0], *map(len, self._symbols))
        self._inverse = None if self._periodic_z else device.zeros(self._modes, self._real)
        self._coupling = device.zeros((self.shape[0], 1, 1), self._real)
        self._tables, self._wide = self._symbols_in(self._real), self._symbols_in(np.float64)
        switches = {"PARTS": self._parts}
        last_axes = self._waves == tuple(range(3))[-len(self._waves) :] if self._waves else False
        self._in_place = device.kind == "cuda" and last_axes and not self._cosines
        self._factor = device.loop(factor_modes, "double")
        self._solve = column_solver(device, precision, switches)
        self._divide = mode_divider(device, precision, self._parts)

    def _symbols_in(self, real: Any) -> Symbols:
        """Tables of symbols on the device in a precision, without coefficients."""
        along_y, along_x = (self._device.array(one.astype(real)) for one in self._symbols)
        across, along_z, scale = (self._device.zeros((self.shape[0],), real) for _ in range(3))
        return Symbols(across, along_z, along_y, along_x, scale)

    def set_coefficients(self, across: np.ndarray, up: np.ndarray, scale: np.ndarray) -> None:
        """Factorise.

        Parameters
        ----------
        across : (nz,)
            Mean of rho* c11.
        up : (nz,)
            Mean of rho* G3 . C G3.
        scale : (nz,)
            What r is multiplied by: rho*, or 1 where that has been done.
        """
        nz, device = self.shape[0], self._device
        points = np.prod([self.shape[k] for k in self._waves]) if self._in_place else 1
        for tables in (self._tables, self._wide):
            parts = ((tables.across, self._w * across), (tables.scale, self._sign * self._w * scale / points))
            for array, values in (*parts, (tables.along_z, up[0] * self._vertical)):
                device.fill(array, values.astype(array.dtype))
        if self._inverse is None:
            return
        coupling = np.zeros(nz)
        coupling[: nz - 2] = up[1 : nz - 1] / (4.0 * self._dz**2)
        device.fill(self._coupling, coupling[:, None, None].astype(self._real))
        arguments = (self._inverse, self._wide, device.array(coupling))
        device.run([device.over(self._factor, self._modes[1:], arguments)])

    def launches(self, right: Any, out: Any) -> list[Work]:
        """out = P^-1 right, both (nz, ny, nx)."""
        if not self._in_place:
            return [HostCall(self._apply, (right, out))]
        if not self._made:
            complex_ = np.complex64 if self._real == np.float32 else np.complex128
            spectrum = self._device.zeros(self._modes, complex_)
            forward, backward = self._device.real_transforms(right, spectrum, out, self._waves)
            self._made = forward, self._columns(spectrum.view(self._real)), backward
        forward, columns, backward = self._made
        return [forward._replace(arguments=(right,)), columns, backward._replace(arguments=(out,))]

    def _apply(self, right: Any, out: Any) -> None:
        own = not (self._cosines or self._waves)
        for axis, cosines in self._cosines.items():
            right = cosines.forward(right, axis)
        fft = fourier_module(right)
        options = {} if on_gpu(right) else {"workers": workers(), "overwrite_x": True}
        spectrum = fft.rfftn(right, axes=self._waves) if self._waves else right
        if own or not spectrum.flags.c_contiguous:
            spectrum = spectrum.copy()
        self._device.run([self._columns(spectrum.view(self._real))])
        if self._waves:
            sizes = [self.shape[k] for k in self._waves]
            spectrum = fft.irfftn(spectrum, s=sizes, axes=self._waves, **options)
        for axis, cosines in self._cosines.items():
            spectrum = cosines.backward(spectrum, axis)
        out[...] = spectrum

    def _columns(self, f: Any) -> Launch:
        if self._periodic_z:
            return self._divide(f, self._tables)
        return self._solve((f, self._inverse, self._coupling, self._tables.scale))
