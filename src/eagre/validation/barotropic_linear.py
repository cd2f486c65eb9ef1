"""Validations of the barotropic model by linear solutions: gyres, walls at rest, basin modes."""

from __future__ import annotations

import math

import numpy as np

from eagre.cases.exact.gyres import basin_mode, mode_frequency, munk_profile, munk_profile_discrete, stommel_profile
from eagre.grid import Grid
from eagre.validation.barotropic_gyres import gyre
from eagre.validation.norms import observed_orders, relative_norms
from eagre.validation.result import Result
from eagre.validation.setting import Setting


def vorticity_of(psi: np.ndarray, h: float) -> np.ndarray:
    """Five-point Laplacian at the interior points, 0 on the walls."""
    zeta = np.zeros_like(psi)
    inner = psi[1:-1, 1:-1]
    zeta[1:-1, 1:-1] = (psi[1:-1, 2:] + psi[1:-1, :-2] + psi[2:, 1:-1] + psi[:-2, 1:-1] - 4.0 * inner) / h**2
    return zeta


def munk(setting: Setting) -> list[Result]:
    """The steady linear gyre with lateral friction, against its difference equation and the exact one.

    From 65 points on with implicit viscosity, whose steady state is the same and whose steps may be longer.
    """
    alpha, beta, reynolds = 1e-9, 1000.0, 0.314
    sizes, errors, heights, apart = (33, 65, 129), [], [], 0.0
    for points in sizes:
        h = math.pi / (points - 1)
        pace = {"time_step": reynolds * h**2 / 16} if points == 33 else {"time_step": 1e-3, "viscous": "implicit"}
        model = gyre(points, setting, "double", reynolds=reynolds, alpha=alpha, beta=beta, **pace)
        model.advance(3.0)
        psi, sine = model.field("streamfunction"), np.sin(2.0 * model.grid.y)[:, None]
        discrete = munk_profile_discrete(points - 1, alpha, beta, 1.0 / reynolds) * sine
        exact = munk_profile(model.grid.x, alpha, beta, 1.0 / reynolds) * sine
        apart = max(apart, relative_norms(psi, discrete).l2)
        errors.append(relative_norms(psi, exact).linf)
        heights.append(float(exact.max()) * beta / alpha)
    order = observed_orders(errors)[-1]
    results = [
        Result("munk", "double", "difference from the difference equation", apart, 1e-10, detail=f"points {sizes}"),
        Result("munk", "double", "order against the exact gyre", order, 1.9, True),
    ]
    for points, error, height, told in zip(
        sizes, errors, heights, ((1.52e-2, 3.217), (3.66e-3, 3.229), (9.06e-4, 3.233)), strict=True
    ):
        detail = f"{points} points"
        quantity = f"relative Linf error - {told[0]:g} (reference), relative"
        results.append(Result("munk", "double", quantity, abs(error / told[0] - 1.0), 5e-3, detail=detail))
        quantity = f"psi_max beta / alpha of the exact gyre on the grid - {told[1]:g} (reference)"
        results.append(Result("munk", "double", quantity, abs(height - told[1]), 6e-4, detail=detail))
    return results


def stommel(setting: Setting) -> list[Result]:
    """The steady linear gyre with bottom friction; order against the exact one."""
    errors = []
    for points in (17, 33, 65):
        model = gyre(
            points, setting, "double", reynolds=1e12, alpha=1e-9, beta=20.0, mu=2.0, time_step=4e-3, scheme="ab3"
        )
        model.advance(16.0)
        exact = stommel_profile(model.grid.x, 1e-9, 20.0, 2.0) * np.sin(2.0 * model.grid.y)[:, None]
        errors.append(relative_norms(model.field("streamfunction"), exact).l2)
    return [
        Result("stommel", "double", "order against the exact gyre", observed_orders(errors)[-1], 1.8, True),
        Result("stommel", "double", "relative L2 error, 65 points", errors[-1], 5e-3),
    ]


def no_slip(setting: Setting) -> list[Result]:
    """The steady flow psi = 1 - cos 2y in a channel with walls at rest, and the vorticity 4 of the walls."""
    from eagre.models.barotropic.model import BarotropicVorticity

    results = []
    for walls in ("no-slip", "no-slip-thom"):
        errors, at_walls = [], []
        for n in (12, 24, 48):
            grid = Grid(6, n + 1, math.pi / n, math.pi / n)
            y = grid.y - grid.y[0]
            model = BarotropicVorticity(
                grid, time_step=0.06 * grid.dy**2, viscosity=1.0, basin="channel", walls=walls,
                wind_curl=np.repeat(16.0 * np.cos(2.0 * y)[:, None], 6, axis=1), device=setting.device,
                precision="double",
            )  # fmt: skip
            model.advance(6.0)
            errors.append(float(np.abs(model.field("streamfunction")[:, 0] - 1.0 + np.cos(2.0 * y)).max()))
            at_walls.append(float(np.abs(model.field("vorticity")[[0, -1], 0] - 4.0).max()))
        for what, found in (("psi", errors), ("the vorticity of the walls", at_walls)):
            order = observed_orders(found)[-1]
            results.append(Result("no-slip", "double", f"order of {what}, {walls}", order, 1.85, True))
    return results


def mode(setting: Setting) -> list[Result]:
    """One period of the gravest basin mode in 800 steps."""
    from eagre.models.barotropic.model import BarotropicVorticity

    beta, errors = 1000.0, []
    for points in (33, 65, 129):
        grid = Grid.of_points(points, points, math.pi, math.pi)
        period = 2.0 * math.pi / mode_frequency(beta)
        start = 1e-9 * basin_mode(grid.x, grid.y, 0.0, beta)
        model = BarotropicVorticity(
            grid, time_step=period / 800, beta=beta, vorticity=vorticity_of(start, grid.dx), device=setting.device,
            precision="double",
        )  # fmt: skip
        model.advance(period)
        errors.append(relative_norms(model.field("streamfunction"), start).l2)
    return [
        Result("basin-mode", "double", "relative L2 error, 33 points (reference 2.8e-2)", errors[0], 3e-2),
        Result("basin-mode", "double", "relative L2 error, 65 points (reference 6.9e-3)", errors[1], 7.5e-3),
        Result("basin-mode", "double", "relative L2 error, 129 points (reference 1.6e-3)", errors[2], 2e-3),
        Result("basin-mode", "double", "order", observed_orders(errors)[-1], 1.9, True),
    ]


LINEAR = {"munk": munk, "stommel": stommel, "no-slip": no_slip, "basin-mode": mode}
"""Validations by name; `Callable[[Setting], list[Result]]` each."""
