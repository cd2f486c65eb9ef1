"""Diagnostics of a state: energy, enstrophy, velocities and energy spectrum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.arrays import array_module


def integrals(psi: list[Any], q: list[Any], zeta: list[Any], weights: Sequence[float], area: float) -> dict[str, float]:
    """Return energy, enstrophy and extremes over the unknown points; sums are in double precision.

    energy = -1/2 sum(w psi q) dA with thickness fractions w: kinetic energy plus, with a deformation radius or two
    layers, the available potential energy. enstrophy = 1/2 sum(w zeta^2) dA. Mean and extremes are of the upper layer.
    """
    module = array_module(psi[0])
    inner = (slice(1, -1), slice(1, -1))

    def total(a: Any) -> float:
        return float(module.sum(a, dtype=np.float64))

    each = [[field[inner] for field in layer] for layer in zip(psi, q, zeta, strict=True)]
    p, _, z = each[0]
    return {
        "energy": -0.5 * area * sum(w * total(a * b) for w, (a, b, _) in zip(weights, each, strict=True)),
        "enstrophy": 0.5 * area * sum(w * total(c * c) for w, (*_, c) in zip(weights, each, strict=True)),
        "mean_vorticity": total(z) / p.size,
        "max_streamfunction": float(p.max()),
        "min_streamfunction": float(p.min()),
        "max_vorticity": float(module.abs(z).max()),
    }


def speeds(psi: Any, dx: float, dy: float) -> tuple[float, float]:
    """Return the maximum of |u| and |v| midway between points."""
    module = array_module(psi)
    u = module.abs(psi[1:] - psi[:-1]).max()
    v = module.abs(psi[:, 1:] - psi[:, :-1]).max()
    return float(u) / dy, float(v) / dx


def velocity(psi: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """Return u = -psi_y, v = psi_x at the points of a host array: central, second-order one-sided at the edges."""
    return -np.gradient(psi, dy, axis=0, edge_order=2), np.gradient(psi, dx, axis=1, edge_order=2)


def energy_spectrum(
    psi: np.ndarray, dx: float, dy: float, periodic: tuple[bool, bool] = (False, False)
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kinetic energy in isotropic wavenumber bins.

    Parameters
    ----------
    psi : (ny, nx)
        Streamfunction at the points, including walls.
    dx, dy : float, m
    periodic : (bool, bool)
        Whether x and y are periodic; expansion in Fourier modes along periodic axes, else in sines.

    Returns
    -------
    wavenumber, energy : (m,)
        Bins as wide as the smallest wavenumber; the energies sum to the mean kinetic energy per area.
    """
    import scipy.fft

    amplitude, squares, symbols, numbers = psi.astype(np.float64), [], [], []
    for axis, h, wrap in ((1, dx, periodic[0]), (0, dy, periodic[1])):
        n = psi.shape[axis] - (not wrap)
        if wrap:
            amplitude = scipy.fft.fft(amplitude, axis=axis) / n
            k = 2.0 * np.pi / (n * h) * np.minimum(np.arange(n), n - np.arange(n))
        else:
            inside = [slice(None)] * 2
            inside[axis] = slice(1, -1)
            amplitude = scipy.fft.dst(amplitude[tuple(inside)], type=1, axis=axis) / n
            k = np.pi / (n * h) * np.arange(1, n)
        squares.append(1.0 if wrap else 0.5)  # mean square of a mode
        symbols.append((2.0 / h * np.sin(0.5 * k * h)) ** 2)
        numbers.append(k)
    symbol = symbols[0] + symbols[1][:, None]
    energy = 0.5 * squares[0] * squares[1] * symbol * np.abs(amplitude) ** 2
    width = min(k[k > 0.0].min() for k in numbers)
    shell = np.rint(np.hypot(numbers[0], numbers[1][:, None]) / width).astype(int)
    totals = np.bincount(shell.ravel(), energy.ravel())
    return width * np.arange(totals.size), totals
