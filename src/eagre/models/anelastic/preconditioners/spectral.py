"""Direct inverse of the flat pressure operator: transforms along x and y, column systems along z.

For coefficients that are fields, horizontal means are used (preconditioner). Modes: `modes`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from eagre.backend.arrays import array_module, fourier_module, on_gpu
from eagre.backend.device import Device, HostCall, Work, check_precision
from eagre.models.anelastic.base.metric import Metric
from eagre.models.anelastic.preconditioners.modes import GridModes, Modes
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
        self._basis = spectral_basis = GridModes.of(metric, device)
        self._modes = Modes(device, precision, spectral_basis, metric.spacing[0], sign)
        self.set_coefficients = self._modes.set_coefficients
        waves = spectral_basis.waves
        last_axes = waves == tuple(range(3))[-len(waves) :] if waves else False
        self._is_capturable = device.kind == "cuda" and last_axes and not spectral_basis.cosines
        self._launches: tuple[Any, ...] = ()

    def launches(self, right: Any, out: Any) -> list[Work]:
        """Return launches of out = P^-1 right, both (nz, ny, nx)."""
        if not self._is_capturable:
            return [HostCall(self._apply, (right, out))]
        if not self._launches:
            spectrum = self._device.zeros(self._modes.shape, complex_of(self._real))
            forward, backward = self._device.real_transforms(right, spectrum, out, self._basis.waves)
            self._launches = forward, self._modes.launch(spectrum.view(self._real)), backward
        forward, columns, backward = self._launches
        return [forward._replace(arguments=(right,)), columns, backward._replace(arguments=(out,))]

    def _apply(self, right: Any, out: Any) -> None:
        """Transform along x and y, solve the columns and transform back, in the same order as on several devices."""
        spectral_basis, fft = self._basis, fourier_module(right)
        is_untransformed = not (spectral_basis.cosines or spectral_basis.waves)
        if 2 in spectral_basis.cosines:
            right = spectral_basis.cosines[2].forward(right, 2)
        if spectral_basis.waves:
            spectrum = fft.rfftn(right, axes=spectral_basis.waves, **options_of(right))
            right = array_module(spectrum).ascontiguousarray(spectrum).view(self._real)
        solution = solved(self._device, spectral_basis, self._modes, right.copy() if is_untransformed else right)
        if spectral_basis.waves:
            sizes = [spectral_basis.shape[k] for k in spectral_basis.waves]
            spectrum = solution.view(complex_of(self._real))
            solution = fft.irfftn(spectrum, s=sizes, axes=spectral_basis.waves, norm="forward", **options_of(solution))
        if 2 in spectral_basis.cosines:
            solution = spectral_basis.cosines[2].backward(solution, 2)
        out[...] = solution


def solved(device: Device, spectral_basis: GridModes, modes: Modes, f: Any) -> Any:
    """Return the solved columns of modes, with cosine transforms along y; f is overwritten."""
    if 1 in spectral_basis.cosines:
        f = spectral_basis.cosines[1].forward(f, 1)
    f = array_module(f).ascontiguousarray(f)
    device.run([modes.launch(f)])
    if 1 in spectral_basis.cosines:
        f = array_module(f).ascontiguousarray(spectral_basis.cosines[1].backward(f, 1))
    return f


def complex_of(real: Any) -> Any:
    """Return the complex type of a precision."""
    return np.complex64 if real == np.float32 else np.complex128


def options_of(a: Any) -> dict[str, Any]:
    """Return options of the transforms of an array: on a CPU the number of threads, and in-place operation."""
    return {} if on_gpu(a) else {"workers": workers(), "overwrite_x": True}
