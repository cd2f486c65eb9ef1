"""Smooth waves for measuring the order of accuracy."""

from __future__ import annotations

import math

import numpy as np

from eagre.boundaries import Boundaries, Periodic
from eagre.cases.exact.waves import simple_wave, standing_wave, vortex
from eagre.cases.water import Water, WaterCase, cell_means
from eagre.constants import GRAVITY
from eagre.grid import Grid


def small_standing_wave(
    n: int = 64,
    depth: float = 1.0,
    amplitude: float = 1e-4,
    length: float = 100.0,
    periods: float = 1.125,
    gravity: float = GRAVITY,
) -> WaterCase:
    """One wavelength of a standing wave between walls, amplitude << depth (linear solution)."""
    size = length / n
    grid = Grid(n, 4, size, size)

    def exact(t: float) -> Water:
        return cell_means(grid, lambda x, y: standing_wave(x, t, depth, amplitude, length, gravity))

    end = periods * length / math.sqrt(gravity * depth)
    return WaterCase(
        "standing-wave", grid, np.zeros(grid.shape_of("corner")), exact(0.0), end, exact=exact,
        options={"gravity": gravity}, reference="linear long-wave theory",
    )  # fmt: skip


def travelling_wave(
    n: int = 64,
    depth: float = 1.0,
    steepness: float = 0.05,
    length: float = 100.0,
    end_time: float | None = None,
    along: str = "x",
    gravity: float = GRAVITY,
) -> WaterCase:
    """Exact nonlinear wave in a periodic flume; the end time is 0.4 of the breaking time by default."""
    size = length / n
    across_x = along == "x"
    grid = Grid(n, 4, size, size) if across_x else Grid(4, n, size, size)
    breaking = length / (2.0 * math.pi * 3.0 * math.sqrt(gravity * depth) * steepness)

    def exact(t: float) -> Water:
        def profile(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            h, u, v = simple_wave(x if across_x else y, t, depth, steepness, length, gravity)
            return (h, u, v) if across_x else (h, v, u)

        return cell_means(grid, profile)

    around = Periodic()
    return WaterCase(
        "travelling-wave",
        grid,
        np.zeros(grid.shape_of("corner")),
        exact(0.0),
        0.4 * breaking if end_time is None else end_time,
        Boundaries(around, around, around, around),
        exact=exact,
        options={"gravity": gravity},
        reference="R. J. LeVeque (2002), Finite Volume Methods for Hyperbolic Problems, section 13.8",
    )


def travelling_vortex(n: int = 64, end_time: float = 0.1, gravity: float = GRAVITY) -> WaterCase:
    """Vortex advected along x by 6 m s-1 through a periodic unit square, 10 m deep: two-dimensional and smooth."""
    grid = Grid(n, n, 1.0 / n, 1.0 / n, -0.5, -0.5)
    speed = 6.0

    def exact(t: float) -> Water:
        def profile(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            x_relative = (x - speed * t + 0.5) % 1.0 - 0.5
            return vortex(x_relative, y, wind=(speed, 0.0), gravity=gravity)

        return cell_means(grid, profile)

    around = Periodic()
    return WaterCase(
        "travelling-vortex",
        grid,
        np.zeros(grid.shape_of("corner")),
        exact(0.0),
        end_time,
        Boundaries(around, around, around, around),
        exact=exact,
        options={"gravity": gravity},
        reference="M. Ricchiuto and A. Bollermann (2009), doi:10.1016/j.jcp.2008.10.020",
    )
