"""Exact solutions of flows of air."""

from __future__ import annotations

import numpy as np


def channel_wave(
    x: np.ndarray, z: np.ndarray, t: float, height: float, length: float, frequency: float, wind: float
) -> np.ndarray:
    """theta', K, of linear Boussinesq waves of the first mode in a periodic channel, (nz, 1, nx).

    They begin as ``0.01 sin(pi z / height) / (1 + ((x - length / 3) / 5000)^2)`` and turn with
    ``omega^2 = N^2 k^2 / (k^2 + (pi / height)^2)`` while the wind carries them.

    Parameters
    ----------
    x : (nx,), m
        Equally spaced over `length`.
    z : (nz,), m
    t : float, s
    height, length : float, m
    frequency : float, s-1
        N.
    wind : float, m/s

    References
    ----------
    W. C. Skamarock and J. B. Klemp, Mon. Weather Rev. 122, 2623-2630 (1994),
    doi:10.1175/1520-0493(1994)122<2623:EAAOTK>2.0.CO;2.
    """
    k = 2.0 * np.pi * np.fft.rfftfreq(x.size, length / x.size)
    start = 0.01 / (1.0 + ((x - length / 3.0) / 5000.0) ** 2)
    omega = frequency * k / np.hypot(k, np.pi / height)
    moved = np.fft.irfft(np.fft.rfft(start) * np.cos(omega * t) * np.exp(-1j * k * wind * t), x.size)
    return np.sin(np.pi * z / height)[:, None, None] * moved
