"""Dispersion relation of linear waves for constant depth."""

from __future__ import annotations

import numpy as np

from eagre.constants import GRAVITY

_STEPS = 30


def wave_number(angular_frequency: np.ndarray | float, depth: float, gravity: float = GRAVITY) -> np.ndarray:
    """Return the wave number k of omega^2 = g k tanh(k h), to rounding error.

    Parameters
    ----------
    angular_frequency : array, rad/s
        Angular frequency omega, >= 0.
    depth : float, m
        Water depth h; ``math.inf`` gives omega^2 / g.
    gravity : float, m s-2

    Returns
    -------
    array, rad/m
        Wave numbers, with the shape of `angular_frequency`.

    Notes
    -----
    Newton's method from Eckart's approximation, k h = a / sqrt(tanh a) with a = omega^2 h / g: R. G. Dean and
    R. A. Dalrymple (1991), Water Wave Mechanics, doi:10.1142/1232, equation 3.34.
    """
    omega = np.asarray(angular_frequency, dtype=np.float64)
    deep = omega * omega / gravity
    if np.isinf(depth):
        return deep
    a = np.maximum(deep * depth, 1e-300)
    kh = a / np.sqrt(np.tanh(a))
    for _ in range(_STEPS):
        t = np.tanh(kh)
        change = (kh * t - a) / (t + kh * (1.0 - t * t))
        kh = kh - change
        if (np.abs(change) <= 4e-16 * kh).all():
            break
    return np.where(omega == 0.0, 0.0, kh / depth)


def angular_frequency(wave_number: np.ndarray | float, depth: float, gravity: float = GRAVITY) -> np.ndarray:
    """Return the angular frequency sqrt(g k tanh(k h)), rad/s, of a wave number, rad/m; depth in m or ``math.inf``."""
    k = np.asarray(wave_number, dtype=np.float64)
    return np.sqrt(gravity * k * tanh_kh(k, depth))


def group_velocity(wave_number: np.ndarray | float, depth: float, gravity: float = GRAVITY) -> np.ndarray:
    """Return the group velocity d omega / d k, m/s, of a wave number > 0, rad/m; depth in m or ``math.inf``."""
    k = np.asarray(wave_number, dtype=np.float64)
    celerity = angular_frequency(k, depth, gravity) / k
    if np.isinf(depth):
        return 0.5 * celerity
    twice = np.minimum(2.0 * k * depth, 700.0)
    return 0.5 * celerity * (1.0 + twice / np.sinh(twice))


def tanh_kh(wave_number: np.ndarray, depth: float) -> np.ndarray:
    """Return tanh(k h); 1 for infinite depth."""
    return np.ones_like(wave_number) if np.isinf(depth) else np.tanh(wave_number * depth)
