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
from eagre.models.anelastic.chains import column_solver
from eagre.models.anelastic.columns import divide, factor_column
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
        last_axes = self._waves == tuple(range(3))[-len(self._waves) :] if self._waves else False
        self._in_place = device.kind == "cuda" and last_axes and not self._cosines
        self._factor = device.loop(factor_column, "double")
        self._solve = column_solver(device, precision, switches)
        self._divide = device.loop(divide, precision, switches)

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
        scale = self._w * scale / points
        extra = (self._w * across)[:, None, None] * self._flat
        coupling = np.zeros((nz, 1, 1))
        if self._periodic_z:
            extra = extra + up[0] * self._vertical[:, None, None]
            with np.errstate(divide="ignore"):
                inverse = np.where(extra > 0.0, -scale[:, None, None] / extra, 0.0)
                device.fill(self._inverse, inverse.astype(self._real))
        else:
            coupling[: nz - 2, 0, 0] = up[1 : nz - 1] / (4.0 * self._dz**2)
            inverse = device.array(extra)
            arguments = (inverse, device.array(coupling), nz)
            device.run([device.over(self._factor, extra.shape[1:], arguments)])
            with device.joined():
                self._inverse[...] = inverse.astype(self._real)
        device.fill(self._coupling, coupling.astype(self._real))
        device.fill(self._scale, scale.astype(self._real))

    def launches(self, right: Any, out: Any) -> list[Work]:
        """out = P^-1 right, both (nz, ny, nx)."""
        if not self._in_place:
            return [HostCall(self._apply, (right, out))]
        device, complex_ = self._device, np.complex64 if self._real == np.float32 else np.complex128
        spectrum = device.zeros(self._inverse.shape, complex_)
        forward, backward = device.real_transforms(right, spectrum, out, self._waves)
        return [forward, self._columns(spectrum.view(self._real)), backward]

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
            return self._device.over(self._divide, self._inverse.shape, (f, self._inverse))
        return self._solve((f, self._inverse, self._coupling, self._scale))
