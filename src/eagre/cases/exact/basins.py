"""Thacker's exact solutions: oscillating water in a paraboloid, with a moving shoreline.

The bed is B = depth (r^2 / radius^2 - 1), r from its centre (0, 0); `depth` is the still-water depth there and `radius`
the radius of the still-water shoreline, m. Functions take x, y of the same shape, m, and t, s, and return (h, u, v), m
and m s-1; the velocity at dry points is that of the formula.

References
----------
W. C. Thacker, J. Fluid Mech. 107, 499-508 (1981), doi:10.1017/S0022112081001882.
O. Delestre et al. (2013), doi:10.1002/fld.3741, section 4.2.2.
"""

from __future__ import annotations

import math

import numpy as np

from eagre.constants import GRAVITY


def bowl(x: np.ndarray, y: np.ndarray, depth: float, radius: float) -> np.ndarray:
    """Return the bed elevation of the paraboloid, m."""
    return depth * ((x**2 + y**2) / radius**2 - 1.0)


def planar_frequency(depth: float, radius: float, gravity: float = GRAVITY) -> float:
    """Return the angular frequency sqrt(2 g depth) / radius of the planar surface, s-1."""
    return math.sqrt(2.0 * gravity * depth) / radius


def radial_frequency(depth: float, radius: float, gravity: float = GRAVITY) -> float:
    """Return the angular frequency sqrt(8 g depth) / radius of the radial oscillation, s-1."""
    return math.sqrt(8.0 * gravity * depth) / radius


def thacker_planar(
    x: np.ndarray, y: np.ndarray, t: float, depth: float, radius: float, shift: float, gravity: float = GRAVITY
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the solution with a rotating planar surface.

    w = 2 shift depth / radius^2 (x cos(omega t) + y sin(omega t) - shift / 2),
    (u, v) = shift omega (-sin(omega t), cos(omega t)).

    shift : distance of the centre of the water from the centre of the basin, m.
    """
    omega = planar_frequency(depth, radius, gravity)
    cos, sin = math.cos(omega * t), math.sin(omega * t)
    w = 2.0 * shift * depth / radius**2 * (x * cos + y * sin - 0.5 * shift)
    h = np.maximum(w - bowl(x, y, depth, radius), 0.0)
    return h, np.full_like(h, -shift * omega * sin), np.full_like(h, shift * omega * cos)


def thacker_radial(
    x: np.ndarray, y: np.ndarray, t: float, depth: float, radius: float, start_radius: float, gravity: float = GRAVITY
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the solution with a radially oscillating paraboloidal surface.

    With a = (radius^4 - r_0^4) / (radius^4 + r_0^4) and d = 1 - a cos(omega t):
    w = depth (sqrt(1 - a^2) / d - 1 - r^2 / radius^2 ((1 - a^2) / d^2 - 1)),
    (u, v) = omega a sin(omega t) / (2 d) (x, y).

    start_radius : radius r_0 of the shoreline at t = 0, m.
    """
    omega = radial_frequency(depth, radius, gravity)
    a = (radius**4 - start_radius**4) / (radius**4 + start_radius**4)
    d = 1.0 - a * math.cos(omega * t)
    r2 = (x**2 + y**2) / radius**2
    w = depth * (math.sqrt(1.0 - a * a) / d - 1.0 - r2 * ((1.0 - a * a) / d**2 - 1.0))
    rate = 0.5 * omega * a * math.sin(omega * t) / d
    return np.maximum(w - bowl(x, y, depth, radius), 0.0), rate * x, rate * y
