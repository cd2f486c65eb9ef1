"""Thacker's oscillating basins: moving shorelines, and their exact solution.

The desingularisation depth determines the accuracy at the shoreline; it is 1e-4 of the depth here. Pass
``desingularisation_depth`` to `Case.model` to vary it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eagre.constants import GRAVITY
from eagre.grid import Grid, centre_bed
from eagre.laboratory.cases.water import Water, WaterCase

DEPTH, RADIUS = 1.0, 2500.0  # m: still-water depth at the centre, radius of the still-water shoreline
WIDTH = 8000.0  # side of the domain, m


def bowl(x: np.ndarray, y: np.ndarray, depth: float, radius: float) -> np.ndarray:
    """Return the bed elevation of the paraboloid, m."""
    return depth * ((x**2 + y**2) / radius**2 - 1.0)


def planar_frequency(depth: float, radius: float) -> float:
    """Return the angular frequency sqrt(2 g depth) / radius of the planar surface, s-1."""
    return math.sqrt(2.0 * GRAVITY * depth) / radius


def radial_frequency(depth: float, radius: float) -> float:
    """Return the angular frequency sqrt(8 g depth) / radius of the radial oscillation, s-1."""
    return math.sqrt(8.0 * GRAVITY * depth) / radius


def thacker_planar(
    x: np.ndarray, y: np.ndarray, t: float, depth: float, radius: float, shift: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the solution with a rotating planar surface.

    w = 2 shift depth / radius^2 (x cos(omega t) + y sin(omega t) - shift / 2),
    (u, v) = shift omega (-sin(omega t), cos(omega t)).

    shift : distance of the centre of the water from the centre of the basin, m.
    """
    omega = planar_frequency(depth, radius)
    cos, sin = math.cos(omega * t), math.sin(omega * t)
    w = 2.0 * shift * depth / radius**2 * (x * cos + y * sin - 0.5 * shift)
    h = np.maximum(w - bowl(x, y, depth, radius), 0.0)
    return h, np.full_like(h, -shift * omega * sin), np.full_like(h, shift * omega * cos)


def thacker_radial(
    x: np.ndarray, y: np.ndarray, t: float, depth: float, radius: float, start_radius: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the solution with a radially oscillating paraboloidal surface.

    With a = (radius^4 - r_0^4) / (radius^4 + r_0^4) and d = 1 - a cos(omega t):
    w = depth (sqrt(1 - a^2) / d - 1 - r^2 / radius^2 ((1 - a^2) / d^2 - 1)),
    (u, v) = omega a sin(omega t) / (2 d) (x, y).

    start_radius : radius r_0 of the shoreline at t = 0, m.
    """
    omega = radial_frequency(depth, radius)
    a = (radius**4 - start_radius**4) / (radius**4 + start_radius**4)
    d = 1.0 - a * math.cos(omega * t)
    r2 = (x**2 + y**2) / radius**2
    w = depth * (math.sqrt(1.0 - a * a) / d - 1.0 - r2 * ((1.0 - a * a) / d**2 - 1.0))
    rate = 0.5 * omega * a * math.sin(omega * t) / d
    return np.maximum(w - bowl(x, y, depth, radius), 0.0), rate * x, rate * y


REFERENCE = "W. C. Thacker (1981), doi:10.1017/S0022112081001882; Delestre et al. (2013), doi:10.1002/fld.3741"


def planar_bowl(n: int = 100, shift: float = 0.5 * RADIUS, periods: float = 1.0) -> WaterCase:
    """Planar surface rotating in a paraboloid; it returns to its initial state after a whole period.

    Parameters
    ----------
    n : int
        Cells per side of the square of `WIDTH`.
    shift : float
        Distance of the centre of the water from the centre of the basin, m.
    periods : float
        Length of the run in periods 2 pi `RADIUS` / sqrt(2 g `DEPTH`).
    """
    end = periods * 2.0 * math.pi / planar_frequency(DEPTH, RADIUS)
    return _bowl_case("thacker-planar", n, end, lambda x, y, t: thacker_planar(x, y, t, DEPTH, RADIUS, shift))


def radial_bowl(n: int = 100) -> WaterCase:
    """Radially oscillating paraboloid of water in a paraboloid, for 1.25 periods 2 pi radius / sqrt(8 g depth).

    The radius of the shoreline is 0.8 `RADIUS` at t = 0. The velocity is zero after each period.
    """
    end = 1.25 * 2.0 * math.pi / radial_frequency(DEPTH, RADIUS)
    return _bowl_case("thacker-radial", n, end, lambda x, y, t: thacker_radial(x, y, t, DEPTH, RADIUS, 0.8 * RADIUS))


def _bowl_case(
    name: str,
    n: int,
    end_time: float,
    solution: Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> WaterCase:
    """Return the case with the exact surface above the discrete bed: depth = max(0, w - mean of the corners)."""
    size = WIDTH / n
    grid = Grid(n, n, size, size, -0.5 * WIDTH, -0.5 * WIDTH)
    bed = bowl(*grid.mesh("corner"), DEPTH, RADIUS)
    x, y = grid.mesh()
    floor, mean = bowl(x, y, DEPTH, RADIUS), centre_bed(bed)

    def exact(t: float) -> Water:
        h, u, v = solution(x, y, t)
        h = np.where(h > 0.0, np.maximum(h + floor - mean, 0.0), 0.0)
        return Water(h, h * u, h * v)

    options = {"desingularisation_depth": 1e-4 * DEPTH}
    return WaterCase(name, grid, bed, exact(0.0), end_time, exact=exact, options=options, reference=REFERENCE)
