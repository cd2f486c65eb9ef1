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


REFERENCE = "W. C. Thacker (1981), doi:10.1017/S0022112081001882; Delestre et al. (2013), doi:10.1002/fld.3741"


def planar_bowl(
    n: int = 100,
    depth: float = 1.0,
    radius: float = 2500.0,
    shift: float | None = None,
    width: float = 8000.0,
    periods: float = 1.0,
    gravity: float = GRAVITY,
) -> WaterCase:
    """Planar surface rotating in a paraboloid; it returns to its initial state after a whole period.

    Parameters
    ----------
    n : int
        Cells per side of the square of `width`, m.
    depth, radius : float
        Still-water depth at the centre and radius of the still-water shoreline, m.
    shift : float, optional
        Distance of the centre of the water from the centre of the basin, m; radius / 2 by default.
    periods : float
        Length of the run in periods 2 pi radius / sqrt(2 g depth).
    """
    eta = 0.5 * radius if shift is None else shift
    end = periods * 2.0 * math.pi / planar_frequency(depth, radius, gravity)
    return _bowl_case(
        "thacker-planar", n, depth, radius, width, end, gravity,
        lambda x, y, t: thacker_planar(x, y, t, depth, radius, eta, gravity),
    )  # fmt: skip


def radial_bowl(
    n: int = 100,
    depth: float = 1.0,
    radius: float = 2500.0,
    start_radius: float | None = None,
    width: float = 8000.0,
    periods: float = 1.25,
    gravity: float = GRAVITY,
) -> WaterCase:
    """Radially oscillating paraboloid of water in a paraboloid; parameters as in `planar_bowl`.

    start_radius : radius of the shoreline at t = 0, m; 0.8 radius by default. The period is 2 pi radius / sqrt(8 g
    depth); the velocity is zero after each period.
    """
    start = 0.8 * radius if start_radius is None else start_radius
    end = periods * 2.0 * math.pi / radial_frequency(depth, radius, gravity)
    return _bowl_case(
        "thacker-radial", n, depth, radius, width, end, gravity,
        lambda x, y, t: thacker_radial(x, y, t, depth, radius, start, gravity),
    )  # fmt: skip


def _bowl_case(
    name: str,
    n: int,
    depth: float,
    radius: float,
    width: float,
    end_time: float,
    gravity: float,
    solution: Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray, np.ndarray]],
) -> WaterCase:
    """Return the case with the exact surface above the discrete bed: depth = max(0, w - mean of the corners)."""
    size = width / n
    grid = Grid(n, n, size, size, -0.5 * width, -0.5 * width)
    bed = bowl(*grid.mesh("corner"), depth, radius)
    x, y = grid.mesh()
    floor, mean = bowl(x, y, depth, radius), centre_bed(bed)

    def exact(t: float) -> Water:
        h, u, v = solution(x, y, t)
        h = np.where(h > 0.0, np.maximum(h + floor - mean, 0.0), 0.0)
        return Water(h, h * u, h * v)

    options = {"gravity": gravity, "desingularisation_depth": 1e-4 * depth}
    return WaterCase(name, grid, bed, exact(0.0), end_time, exact=exact, options=options, reference=REFERENCE)
