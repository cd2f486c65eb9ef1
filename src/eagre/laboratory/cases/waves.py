"""Smooth waves with exact solutions, for measuring the order of accuracy."""

from __future__ import annotations

import math

import numpy as np

from eagre.boundaries import Boundaries, Periodic
from eagre.constants import GRAVITY
from eagre.grid import Grid
from eagre.laboratory.cases.water import Water, WaterCase, cell_means


def standing_wave(
    x: np.ndarray, t: float, depth: float, amplitude: float, length: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Small standing wave of wavelength `length`, to first order in amplitude / depth.

    eta = a cos(k x) cos(omega t), u = a c / depth sin(k x) sin(omega t), omega = c k, c = sqrt(g depth).
    """
    k, c = 2.0 * math.pi / length, math.sqrt(GRAVITY * depth)
    phase = c * k * t
    u = amplitude * c / depth * np.sin(k * x) * math.sin(phase)
    return depth + amplitude * np.cos(k * x) * math.cos(phase), u, np.zeros_like(u)


def simple_wave(
    x: np.ndarray, t: float, depth: float, steepness: float, length: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Exact nonlinear wave that travels in +x until it breaks; periodic with period `length`.

    The invariant u - 2 c = -2 c_0 holds everywhere, and c is constant along dx/dt = u + c = 3 c - 2 c_0.
    At t = 0, c = c_0 (1 + steepness sin(k x)); it breaks at t = 1 / (3 c_0 steepness k).

    depth : mean of c^2 / g without the wave, m; steepness : relative amplitude of c, < 1.
    """
    k, c_0 = 2.0 * math.pi / length, math.sqrt(GRAVITY * depth)
    c = np.full_like(np.asarray(x, float), c_0)
    for _ in range(60):  # Newton on c - c_0 (1 + e sin(k (x - (3 c - 2 c_0) t))) = 0
        angle = k * (x - (3.0 * c - 2.0 * c_0) * t)
        miss = c - c_0 * (1.0 + steepness * np.sin(angle))
        step = miss / (1.0 + 3.0 * c_0 * steepness * k * t * np.cos(angle))
        c = c - step
        if np.max(np.abs(step)) < 1e-15 * c_0:
            break
    return c**2 / GRAVITY, 2.0 * (c - c_0), np.zeros_like(c)


def vortex(
    x: np.ndarray,
    y: np.ndarray,
    depth: float = 10.0,
    wind: tuple[float, float] = (0.0, 0.0),
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A vortex about (0, 0) in cyclostrophic balance, g dh/dr = Omega^2 r, of strength 15 s-1 and wavenumber 4 pi m-1.

    Omega = strength (1 + cos(wavenumber r)) for wavenumber r <= pi, else 0, s-1; the uniform
    velocity `wind`, m s-1, advects the vortex unchanged: evaluate the result at (x - U t, y - V t).
    h = depth + (strength / wavenumber)^2 / g (H(wavenumber r) - H(pi)) with
    H(s) = 2 cos s + 2 s sin s + cos(2 s) / 8 + s sin(2 s) / 4 + 3 s^2 / 4.
    """

    def integral(s: np.ndarray | float) -> np.ndarray:
        return 2 * np.cos(s) + 2 * s * np.sin(s) + np.cos(2 * s) / 8 + s * np.sin(2 * s) / 4 + 0.75 * np.square(s)

    strength, wavenumber = 15.0, 4.0 * math.pi
    s = np.minimum(wavenumber * np.hypot(x, y), math.pi)
    spin = strength * (1.0 + np.cos(s))
    h = depth + (strength / wavenumber) ** 2 / GRAVITY * (integral(s) - integral(math.pi))
    return h, wind[0] - spin * y, wind[1] + spin * x


def small_standing_wave(n: int = 64, amplitude: float = 1e-4) -> WaterCase:
    """One wavelength, 100 m, of a standing wave between walls in 1 m of water, amplitude << depth (linear solution)."""
    depth, length = 1.0, 100.0
    size = length / n
    grid = Grid(n, 4, size, size)

    def exact(t: float) -> Water:
        return cell_means(grid, lambda x, y: standing_wave(x, t, depth, amplitude, length))

    end = 1.125 * length / math.sqrt(GRAVITY * depth)
    return WaterCase(
        "standing-wave", grid, np.zeros(grid.shape_of("corner")), exact(0.0), end, exact=exact,
        reference="linear long-wave theory",
    )  # fmt: skip


def travelling_wave(n: int = 64, end_time: float | None = None, along: str = "x") -> WaterCase:
    """Exact nonlinear wave in a periodic flume of 100 m; the end time is 0.4 of the breaking time by default."""
    depth, steepness, length = 1.0, 0.05, 100.0
    size = length / n
    across_x = along == "x"
    grid = Grid(n, 4, size, size) if across_x else Grid(4, n, size, size)
    breaking = length / (2.0 * math.pi * 3.0 * math.sqrt(GRAVITY * depth) * steepness)

    def exact(t: float) -> Water:
        def profile(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            h, u, v = simple_wave(x if across_x else y, t, depth, steepness, length)
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
        reference="R. J. LeVeque (2002), Finite Volume Methods for Hyperbolic Problems, section 13.8",
    )


def travelling_vortex(n: int = 64) -> WaterCase:
    """Vortex advected along x by 6 m s-1 through a periodic unit square, 10 m deep, for 0.1 s: 2-D and smooth."""
    grid = Grid(n, n, 1.0 / n, 1.0 / n, -0.5, -0.5)
    speed = 6.0

    def exact(t: float) -> Water:
        def profile(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            x_relative = (x - speed * t + 0.5) % 1.0 - 0.5
            return vortex(x_relative, y, wind=(speed, 0.0))

        return cell_means(grid, profile)

    around = Periodic()
    return WaterCase(
        "travelling-vortex",
        grid,
        np.zeros(grid.shape_of("corner")),
        exact(0.0),
        0.1,
        Boundaries(around, around, around, around),
        exact=exact,
        reference="M. Ricchiuto and A. Bollermann (2009), doi:10.1016/j.jcp.2008.10.020",
    )
