"""Exact solutions of flows of air."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def channel_wave(
    x: np.ndarray, z: np.ndarray, t: float, height: float, length: float, frequency: float, wind: float
) -> np.ndarray:
    """theta', K, of linear Boussinesq waves of the first mode in a periodic channel, (nz, 1, nx).

    They begin as ``0.01 sin(pi z / height) / (1 + ((x - length / 3) / 5000)^2)`` and turn with
    ``omega^2 = N^2 k^2 / (k^2 + (pi / height)^2)`` and are advected by the wind.

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
    shifted = np.fft.irfft(np.fft.rfft(start) * np.cos(omega * t) * np.exp(-1j * k * wind * t), x.size)
    return np.sin(np.pi * z / height)[:, None, None] * shifted


class LongWave:
    """Steady Boussinesq waves of constant wind and stability over a periodic row of hills of finite height.

    The displacement delta of air from the height where it came from obeys, exactly,

        delta_xx + delta_zz + (N/U)^2 delta = 0,    delta = h on z = h(x),

    with waves that carry energy upward (R. R. Long, Tellus 5, 42-58 (1953), doi:10.1111/j.2153-3490.1953.tb01035.x),
    here by harmonics of the period that meet the lower condition at every point (for hydrostatic waves D. K. Lilly and
    J. B. Klemp, J. Fluid Mech. 95, 241-261 (1979), doi:10.1017/S0022112079001452, do so by iteration). Then u = U (1 -
    delta_z) and w = U delta_x. It is the flow's steady state while no air overturns, delta_z < 1.

    Parameters
    ----------
    ground : (n,) array, m
        h at equal distances of a period; its lowest modes, a third of n, are used.
    period : float, m
    wind : float, m/s
        U.
    frequency : float, s-1
        N.
    """

    def __init__(self, ground: Array, period: float, wind: float, frequency: float) -> None:
        count, modes, scorer = len(ground), len(ground) // 3, frequency / wind
        self._wave = 2.0 * np.pi / period * np.arange(modes)
        free = np.abs(scorer**2 - self._wave**2) ** 0.5
        self._up = np.where(self._wave < scorer, 1j * free, -free)  # their energy goes up, or they fade
        self._lowest = ground.min()
        waves: Array = np.exp(1j * np.outer(period * np.arange(count) / count, self._wave) + self._rise(ground))
        solution = np.linalg.lstsq(np.hstack([np.real(waves), -np.imag(waves[:, 1:])]), ground, rcond=None)[0]
        self._size = solution[:modes] + 1j * np.append(0.0, solution[modes:])

    def _rise(self, z: Array) -> Array:
        return np.multiply.outer(np.asarray(z, float) - self._lowest, self._up)

    def displacement(self, x: Array, z: Array) -> tuple[Array, Array, Array]:
        """Delta, m, and its derivatives along x and z at points; x from the ground's first, arrays of one shape."""
        terms = self._size * np.exp(1j * np.multiply.outer(x, self._wave) + self._rise(z))
        return terms.sum(-1).real, (terms * 1j * self._wave).sum(-1).real, (terms * self._up).sum(-1).real
