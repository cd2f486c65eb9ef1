"""Errors that linear theory predicts before a run: celerity with these layers, reflection of absorbing wavemakers.

**Celerity.** A wave of small height and wave number k over a flat bed satisfies on the layers of a `Vertical`, with
the difference weights D and D2 along sigma::

    D2 Phi / h^2 = k^2 Phi in the interior,   D Phi = 0 at the bottom,   Phi = 1 at the surface
    c^2 = g D Phi / (h k^2) at the surface,   exact: c^2 = g tanh(k h) / k

Horizontal differences and time steps add errors that depend on points per wave and steps per period.

**Reflection.** A piston of velocity U makes a wave of the amplitude B U / omega and a local elevation E U_t / omega^2
at its face, with Biesel's transfer function and the evanescent wave numbers k_j tan(k_j h) = -omega^2 / g::

    B = 4 sinh^2(k h) / (sinh(2 k h) + 2 k h),   E = sum 4 sin^2(k_j h) / (sin(2 k_j h) + 2 k_j h)

Absorption sets U = -sqrt(g / h) eta at the face, where the elevation is twice the incident wave plus both parts. With
r = sqrt(g / h) / omega the reflection coefficient is::

    R = |(1 - r B - i r E) / (1 + r B - i r E)|

Source of B and E: R. G. Dean, R. A. Dalrymple (1991), doi:10.1142/1232, section 6.2.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.models.potential_waves.laplace.stencils import Vertical

MAX_CELERITY_ERROR = 0.01  # of the celerity, above which it is noted
MAX_REFLECTION = 0.03  # of an absorbing wavemaker, above which it is noted
MAX_LAYERS = 65  # that are suggested
GROWTH = 1.15  # ratio of the numbers of layers that are tried
EVANESCENT = 200  # modes in the sum for E


def celerity_error(vertical: Vertical, kh: float) -> float:
    """Return the relative error of the celerity of linear waves on these layers; -1 where no wave propagates."""
    nz, first = vertical.nz, vertical.first
    matrix = vertical.second[: nz + 1].copy() - kh**2 * np.eye(nz + 1)
    matrix[0] = np.eye(nz + 1)[0]
    matrix[nz] = first[nz - 1]
    potential = np.linalg.solve(matrix, np.eye(nz + 1)[0])
    rise = float(first[0] @ potential)
    return math.sqrt(max(rise, 0.0) / (kh * math.tanh(kh))) - 1.0


def better_layers(vertical: Vertical, kh: float) -> Vertical | None:
    """Return layers on which the celerity is right to `MAX_CELERITY_ERROR`; None above `MAX_LAYERS`."""
    nz = vertical.nz
    while nz <= MAX_LAYERS:
        layers = Vertical(nz, vertical.order, True)
        if abs(celerity_error(layers, kh)) < MAX_CELERITY_ERROR:
            return layers
        nz = max(nz + 1, round(GROWTH * nz))
    return None


def wavemaker_reflection(kh: float) -> float:
    """Return the reflection coefficient of an absorbing wavemaker for waves of this relative depth k h."""
    q = kh * math.tanh(kh)  # omega^2 h / g
    gain = 1.0 / math.sqrt(q)
    wave = 4.0 * math.tanh(kh) ** 2 / (2.0 * math.tanh(kh) + 2.0 * kh / math.cosh(min(kh, 300.0)) ** 2)
    k = (np.arange(EVANESCENT) + 1.0) * math.pi
    for _ in range(60):  # k_j h = j pi - arctan(q / (k_j h))
        k = (np.arange(EVANESCENT) + 1.0) * math.pi - np.arctan(q / k)
    local = float((4.0 * np.sin(k) ** 2 / (np.sin(2.0 * k) + 2.0 * k)).sum())
    return abs((1.0 - gain * wave - 1j * gain * local) / (1.0 + gain * wave - 1j * gain * local))


def mean_wave_number(surface: np.ndarray, spacing: tuple[float, float]) -> float:
    """Return the energy-weighted wave number of an elevation and a potential, (2, ny, nx), 1/m; 0 at rest.

    It follows from the mean squares of the potential, or where that is 0 of the elevation, and of its differences.
    """
    for values in (surface[1], surface[0]):
        variance = float(values.var())
        if variance > 0.0:
            total = 0.0
            for axis, step in enumerate(spacing):
                if values.shape[axis] > 1:
                    ratio = float((np.diff(values, axis=axis) ** 2).mean()) / variance
                    total += (2.0 / step * math.asin(min(1.0, 0.5 * math.sqrt(ratio)))) ** 2
            return math.sqrt(total)
    return 0.0
