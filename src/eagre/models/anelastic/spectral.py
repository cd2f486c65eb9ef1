"""Direct inverse of the flat pressure operator: transforms along x and y, column systems along z.

For coefficients that are fields, horizontal means are used (preconditioner). Modes: `modes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.arrays import array_module, fourier_module, on_gpu
from eagre.backend.device import Device, HostCall, Work, check_precision
from eagre.models.anelastic.metric import Metric
from eagre.models.anelastic.modes import GridModes, Modes
from eagre.solvers.poisson.axes import workers


class Spectral:
    """Solver q = P^-1 r of the flat operator.

    Parameters
    ----------
    device : Device
    precision : str
    metric : Metric
    sign : float
        1.0, or -1.0 for q = -P^-1 r.
    """

    def __init__(self, device: Device, precision: str, metric: Metric, sign: float = 1.0) -> None:
        self._device, self._real = device, check_precision(precision)
        self._basis = basis = GridModes.of(metric, device)
        self._modes = Modes(device, precision, basis, metric.spacing[0], sign)
        self.set_coefficients = self._modes.set_coefficients
        last_axes = basis.waves == tuple(range(3))[-len(basis.waves) :] if basis.waves else False
        self._in_place = device.kind == "cuda" and last_axes and not basis.cosines
        self._made: tuple[Any, ...] = ()

    def launches(self, right: Any, out: Any) -> list[Work]:
        """Return launches of out = P^-1 right, both (nz, ny, nx)."""
        if not self._in_place:
            return [HostCall(self._apply, (right, out))]
        if not self._made:
            spectrum = self._device.zeros(self._modes.shape, complex_of(self._real))
            forward, backward = self._device.real_transforms(right, spectrum, out, self._basis.waves)
            self._made = forward, self._modes.launch(spectrum.view(self._real)), backward
        forward, columns, backward = self._made
        return [forward._replace(arguments=(right,)), columns, backward._replace(arguments=(out,))]

    def _apply(self, right: Any, out: Any) -> None:
        """Transform along x and y, solve the columns and transform back, in the same order as on several devices."""
        basis, fft = self._basis, fourier_module(right)
        own = not (basis.cosines or basis.waves)
        if 2 in basis.cosines:
            right = basis.cosines[2].forward(right, 2)
        if basis.waves:
            spectrum = fft.rfftn(right, axes=basis.waves, **options_of(right))
            right = array_module(spectrum).ascontiguousarray(spectrum).view(self._real)
        found = solved(self._device, basis, self._modes, right.copy() if own else right)
        if basis.waves:
            sizes = [basis.shape[k] for k in basis.waves]
            spectrum = found.view(complex_of(self._real))
            found = fft.irfftn(spectrum, s=sizes, axes=basis.waves, norm="forward", **options_of(found))
        if 2 in basis.cosines:
            found = basis.cosines[2].backward(found, 2)
        out[...] = found


def solved(device: Device, basis: GridModes, modes: Modes, f: Any) -> Any:
    """Return the solved columns of modes, with cosine transforms along y; f is overwritten."""
    if 1 in basis.cosines:
        f = basis.cosines[1].forward(f, 1)
    f = array_module(f).ascontiguousarray(f)
    device.run([modes.launch(f)])
    if 1 in basis.cosines:
        f = array_module(f).ascontiguousarray(basis.cosines[1].backward(f, 1))
    return f


def complex_of(real: Any) -> Any:
    """Return the complex type of a precision."""
    return np.complex64 if real == np.float32 else np.complex128


def options_of(a: Any) -> dict[str, Any]:
    """Return options of the transforms of an array: on a CPU the number of threads, and in-place operation."""
    return {} if on_gpu(a) else {"workers": workers(), "overwrite_x": True}
