"""Integrals of a state: energy, enstrophy, and the spectrum of the flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eagre.backend.arrays import array_module


def integrals(psi: list[Any], q: list[Any], zeta: list[Any], weights: Sequence[float], area: float) -> dict[str, float]:
    """Energy, enstrophy and extremes over the unknown points, sums in double precision.

    energy = -1/2 sum(w psi q) dA over the layers of relative depth w: kinetic, and with screening or layers the
    potential energy of the surface or the interface. enstrophy = 1/2 sum(w zeta^2) dA. Mean and extremes: upper layer.
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
    """Largest |u| and |v| between points."""
    module = array_module(psi)
    u = module.abs(psi[1:] - psi[:-1]).max()
    v = module.abs(psi[:, 1:] - psi[:, :-1]).max()
    return float(u) / dy, float(v) / dx


def velocity(psi: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """u = -psi_y and v = psi_x at the points of a host array: central, one-sided of second order at the edges."""
    return -np.gradient(psi, dy, axis=0, edge_order=2), np.gradient(psi, dx, axis=1, edge_order=2)


def energy_spectrum(psi: np.ndarray, dx: float, dy: float) -> tuple[np.ndarray, np.ndarray]:
    """Kinetic energy in rings of wavenumber of a box with walls.

    Parameters
    ----------
    psi : (ny, nx)
        With its walls.

    Returns
    -------
    wavenumber, energy : (m,)
        Rings of width pi / (longest side); the energies add up to the mean kinetic energy per area.
    """
    import scipy.fft

    ny, nx = psi.shape
    k = np.pi * np.arange(1, nx - 1) / ((nx - 1) * dx)
    m = np.pi * np.arange(1, ny - 1) / ((ny - 1) * dy)
    amplitude = scipy.fft.dstn(psi[1:-1, 1:-1].astype(np.float64), type=1) / ((nx - 1) * (ny - 1))
    symbol = (2.0 / dx * np.sin(0.5 * k * dx)) ** 2 + (2.0 / dy * np.sin(0.5 * m * dy))[:, None] ** 2
    energy = 0.125 * symbol * amplitude**2
    width = np.pi / max((nx - 1) * dx, (ny - 1) * dy)
    ring = np.rint(np.hypot(k, m[:, None]) / width).astype(int)
    totals = np.bincount(ring.ravel(), energy.ravel())
    return width * np.arange(totals.size), totals
