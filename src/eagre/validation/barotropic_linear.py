"""Validation of the barotropic model with linear solutions: gyres, no-slip walls, basin modes."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from eagre.cases.exact.gyres import basin_mode, mode_frequency, munk_profile, munk_profile_discrete, stommel_profile
from eagre.grid import Grid
from eagre.validation.barotropic_gyres import gyre
from eagre.validation.comparison.norms import observed_orders, relative_norms
from eagre.validation.comparison.setting import Check, Run, Validation, once

MUNK = {33: (1.52e-2, 3.217), 65: (3.66e-3, 3.229), 129: (9.06e-4, 3.233)}
"""By number of points: relative Linf error of a reference run, and psi_max beta / alpha of the exact gyre there."""
BASIN_MODE = {33: ("2.8e-2", 3e-2), 65: ("6.9e-3", 7.5e-3), 129: ("1.6e-3", 2e-3)}
"""By number of points: relative L2 error of a reference run, and the limit."""


def vorticity_of(psi: np.ndarray, h: float) -> np.ndarray:
    """Return the five-point Laplacian at interior points, 0 on walls."""
    zeta = np.zeros_like(psi)
    inner = psi[1:-1, 1:-1]
    zeta[1:-1, 1:-1] = (psi[1:-1, 2:] + psi[1:-1, :-2] + psi[2:, 1:-1] + psi[:-2, 1:-1] - 4.0 * inner) / h**2
    return zeta


def munk(run: Run) -> Iterator[Check]:
    """Steady linear gyre with lateral viscosity, against the discrete and the exact solution.

    From 65 points on viscosity is implicit, which has the same steady state and allows longer time steps.
    """
    alpha, beta, reynolds = 1e-9, 1000.0, 0.314
    errors, heights, apart = [], [], 0.0
    for points in MUNK:
        h = math.pi / (points - 1)
        steps = (
            {"time_step": reynolds * h**2 / 16} if points == 33 else {"time_step": 1e-3, "viscosity_scheme": "implicit"}
        )
        model = gyre(run, points, reynolds=reynolds, alpha=alpha, beta=beta, **steps)
        model.advance(3.0)
        psi, sine = model.field("streamfunction"), np.sin(2.0 * model.grid.y)[:, None]
        discrete = munk_profile_discrete(points - 1, alpha, beta, 1.0 / reynolds) * sine
        exact = munk_profile(model.grid.x, alpha, beta, 1.0 / reynolds) * sine
        apart = max(apart, relative_norms(psi, discrete).l2)
        errors.append(relative_norms(psi, exact).linf)
        heights.append(float(exact.max()) * beta / alpha)
    yield Check("difference from the discrete solution", apart, 1e-10, detail=f"points {tuple(MUNK)}")
    yield Check("order of convergence to the exact gyre", observed_orders(errors)[-1], 1.9, True)
    for (points, (error, height)), computed, high in zip(MUNK.items(), errors, heights, strict=True):
        detail = f"{points} points"
        quantity = f"relative Linf error - {error:g} (reference), relative"
        yield Check(quantity, abs(computed / error - 1.0), 5e-3, detail=detail)
        quantity = f"psi_max beta / alpha of the exact gyre on the grid - {height:g} (reference)"
        yield Check(quantity, abs(high - height), 6e-4, detail=detail)


def stommel(run: Run) -> Iterator[Check]:
    """Steady linear gyre with bottom friction: order of convergence to the exact solution."""
    errors = []
    for points in (17, 33, 65):
        model = gyre(run, points, reynolds=1e12, alpha=1e-9, beta=20.0, mu=2.0, time_step=4e-3, scheme="ab3")
        model.advance(16.0)
        exact = stommel_profile(model.grid.x, 1e-9, 20.0, 2.0) * np.sin(2.0 * model.grid.y)[:, None]
        errors.append(relative_norms(model.field("streamfunction"), exact).l2)
    yield Check("order of convergence to the exact gyre", observed_orders(errors)[-1], 1.8, True)
    yield Check("relative L2 error, 65 points", errors[-1], 5e-3)


def no_slip(run: Run) -> Iterator[Check]:
    """Steady flow psi = 1 - cos 2y in a channel with walls at rest, and the wall vorticity 4."""
    from eagre.models.barotropic.model import BarotropicVorticity

    for walls in ("no-slip", "no-slip-thom"):
        errors, at_walls = [], []
        for n in (12, 24, 48):
            grid = Grid(6, n + 1, math.pi / n, math.pi / n)
            y = grid.y - grid.y[0]
            wind = np.repeat(16.0 * np.cos(2.0 * y)[:, None], 6, axis=1)
            model = BarotropicVorticity(
                grid, time_step=0.06 * grid.dy**2, viscosity=1.0, basin="channel", walls=walls, wind_forcing=wind,
                **run.options,
            )  # fmt: skip
            model.advance(6.0)
            errors.append(float(np.abs(model.field("streamfunction")[:, 0] - 1.0 + np.cos(2.0 * y)).max()))
            at_walls.append(float(np.abs(model.field("relative_vorticity")[[0, -1], 0] - 4.0).max()))
        yield Check(f"order of psi, {walls}", observed_orders(errors)[-1], 1.85, True)
        yield Check(f"order of the wall vorticity, {walls}", observed_orders(at_walls)[-1], 1.85, True)


def mode(run: Run) -> Iterator[Check]:
    """Gravest basin mode over one period of 800 steps."""
    from eagre.models.barotropic.model import BarotropicVorticity

    beta, errors = 1000.0, []
    period = 2.0 * math.pi / mode_frequency(beta)
    for points, (expected, limit) in BASIN_MODE.items():
        grid = Grid.from_points(points, points, math.pi, math.pi)
        start = 1e-9 * basin_mode(grid.x, grid.y, 0.0, beta)
        zeta = vorticity_of(start, grid.dx)
        model = BarotropicVorticity(grid, time_step=period / 800, beta=beta, relative_vorticity=zeta, **run.options)
        model.advance(period)
        errors.append(relative_norms(model.field("streamfunction"), start).l2)
        yield Check(f"relative L2 error, {points} points (reference {expected})", errors[-1], limit)
    yield Check("order", observed_orders(errors)[-1], 1.9, True)


LINEAR: dict[str, Validation] = {
    "munk": once("double", munk),
    "stommel": once("double", stommel),
    "no-slip": once("double", no_slip),
    "basin-mode": once("double", mode),
}
