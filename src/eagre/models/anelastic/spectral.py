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
from eagre.models.anelastic.columns import factor_column, solve_column, solve_columns_cpu
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
    """

    def __init__(self, device: Device, precision: str, metric: Metric) -> None:
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
        self._vertical = symbols[0] if self._periodic_z else np.zeros(self.shape[0])
        self._flat = symbols[1][:, None] + symbols[2][None, :]
        self._dz, self._parts = metric.spacing[0], 2 if self._waves else 1
        wall = self.shape[0] > 1 and not self._periodic_z
        self._w = np.array([0.5 if wall and k in (0, self.shape[0] - 1) else 1.0 for k in range(self.shape[0])])
        modes = (self.shape[0], *self._flat.shape)
        self._inverse = device.zeros(modes, self._real)
        self._coupling = device.zeros((self.shape[0], 1, 1), self._real)
        self._scale = device.zeros((self.shape[0],), self._real)
        switches = {"PARTS": self._parts}
        self._factor = device.loop(factor_column, "double")
        if device.kind == "cuda":
            self._solve = device.loop(solve_column, precision, switches)
        else:
            self._solve = device.program(solve_columns_cpu, precision, switches)

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
        extra = (self._w * across)[:, None, None] * self._flat
        coupling = np.zeros((nz, 1, 1))
        if self._periodic_z:
            extra = extra + up[0] * self._vertical[:, None, None]
            with np.errstate(divide="ignore"):
                device.fill(self._inverse, np.where(extra > 0.0, 1.0 / extra, 0.0).astype(self._real))
        else:
            coupling[: nz - 2, 0, 0] = up[1 : nz - 1] / (4.0 * self._dz**2)
            inverse = device.array(extra)
            arguments = (inverse, device.array(coupling), nz)
            device.run([device.over(self._factor, extra.shape[1:], arguments)])
            with device.joined():
                self._inverse[...] = inverse.astype(self._real)
        device.fill(self._coupling, coupling.astype(self._real))
        device.fill(self._scale, (self._w * scale).astype(self._real))

    def launches(self, right: Any, out: Any) -> list[Work]:
        """out = P^-1 right, both (nz, ny, nx)."""
        return [HostCall(self._apply, (right, out))]

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
        arguments = (f, self._inverse, self._coupling, self._scale)
        if self._device.kind == "cuda":
            return self._device.over(self._solve, self._flat.shape, arguments)
        return Launch(self._solve, arguments)
