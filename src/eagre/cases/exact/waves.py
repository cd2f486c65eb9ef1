"""Smooth waves and a vortex on a flat bed, for orders of convergence.

Functions take x (and y) of one shape, m, and t, s, and return (h, u, v), m and m s-1.

References
----------
R. J. LeVeque, Finite Volume Methods for Hyperbolic Problems, Cambridge (2002), section 13.8 (simple waves).
M. Ricchiuto and A. Bollermann, J. Comput. Phys. 228, 1071-1115 (2009), doi:10.1016/j.jcp.2008.10.020, section 5.1.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.constants import GRAVITY


def standing_wave(
    x: np.ndarray, t: float, depth: float, amplitude: float, length: float, gravity: float = GRAVITY
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small standing wave of wavelength `length`, to first order in amplitude / depth.

    eta = a cos(k x) cos(omega t), u = a c / depth sin(k x) sin(omega t), omega = c k, c = sqrt(g depth).
    """
    k, c = 2.0 * math.pi / length, math.sqrt(gravity * depth)
    phase = c * k * t
    u = amplitude * c / depth * np.sin(k * x) * math.sin(phase)
    return depth + amplitude * np.cos(k * x) * math.cos(phase), u, np.zeros_like(u)


def simple_wave(
    x: np.ndarray, t: float, depth: float, steepness: float, length: float, gravity: float = GRAVITY
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exact nonlinear wave that travels in +x until it breaks; periodic with period `length`.

    The invariant u - 2 c = -2 c_0 holds everywhere, and c is constant along dx/dt = u + c = 3 c - 2 c_0.
    At t = 0, c = c_0 (1 + steepness sin(k x)); it breaks at t = 1 / (3 c_0 steepness k).

    depth : mean of c^2 / g without the wave, m; steepness : relative amplitude of c, < 1.
    """
    k, c_0 = 2.0 * math.pi / length, math.sqrt(gravity * depth)
    c = np.full_like(np.asarray(x, float), c_0)
    for _ in range(60):  # Newton on c - c_0 (1 + e sin(k (x - (3 c - 2 c_0) t))) = 0
        angle = k * (x - (3.0 * c - 2.0 * c_0) * t)
        miss = c - c_0 * (1.0 + steepness * np.sin(angle))
        step = miss / (1.0 + 3.0 * c_0 * steepness * k * t * np.cos(angle))
        c = c - step
        if np.max(np.abs(step)) < 1e-15 * c_0:
            break
    return c**2 / gravity, 2.0 * (c - c_0), np.zeros_like(c)


def vortex(
    x: np.ndarray,
    y: np.ndarray,
    depth: float = 10.0,
    strength: float = 15.0,
    wavenumber: float = 4.0 * math.pi,
    wind: tuple[float, float] = (0.0, 0.0),
    gravity: float = GRAVITY,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A vortex about (0, 0) in cyclostrophic balance, g dh/dr = Omega^2 r.

    Omega = strength (1 + cos(wavenumber r)) for wavenumber r <= pi, else 0, s-1; the uniform
    velocity `wind`, m s-1, advects the vortex unchanged: evaluate the result at (x - U t, y - V t).
    h = depth + (strength / wavenumber)^2 / g (H(wavenumber r) - H(pi)) with
    H(s) = 2 cos s + 2 s sin s + cos(2 s) / 8 + s sin(2 s) / 4 + 3 s^2 / 4.
    """

    def integral(s: np.ndarray | float) -> np.ndarray:
        return 2 * np.cos(s) + 2 * s * np.sin(s) + np.cos(2 * s) / 8 + s * np.sin(2 * s) / 4 + 0.75 * np.square(s)

    s = np.minimum(wavenumber * np.hypot(x, y), math.pi)
    spin = strength * (1.0 + np.cos(s))
    h = depth + (strength / wavenumber) ** 2 / gravity * (integral(s) - integral(math.pi))
    return h, wind[0] - spin * y, wind[1] + spin * x
