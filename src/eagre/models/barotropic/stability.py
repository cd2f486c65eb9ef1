"""How long a time step may be: friction, waves and flow."""

from __future__ import annotations

import math

from eagre.errors import InputError
from eagre.models.barotropic.setup import Setup

REAL_LIMIT = {2: 1.0, 3: 6.0 / 11.0}  # of dt times a rate of decay, by the order of Adams-Bashforth
IMAGINARY_LIMIT = 0.7236  # of dt times a frequency, third order; the second grows slowly at any step
FLOW_LIMIT = 0.5  # of dt (|u| / dx + |v| / dy), with a margin


def largest_eigenvalue(setup: Setup) -> float:
    """Of -Lap on the grid, 1 / length^2: the shortest wave along both axes."""
    total = 0.0
    for wrap, n, h in zip(setup.periodic, (setup.grid.nx, setup.grid.ny), (setup.grid.dx, setup.grid.dy), strict=True):
        angle = math.pi * (n // 2) / n if wrap else 0.5 * math.pi * (n - 2) / (n - 1)
        total += (2.0 / h * math.sin(angle)) ** 2
    return total


def friction_limit(setup: Setup) -> float:
    """Longest step that explicit viscosity and friction bear, s; infinite without them."""
    k2 = largest_eigenvalue(setup)
    rate = (0.0 if setup.implicit else setup.viscosity) * k2 + setup.biharmonic * k2**2 + setup.friction
    return REAL_LIMIT[setup.order] / rate if rate > 0.0 else math.inf


def diffusion_limit(setup: Setup) -> float:
    """Longest step that the diffusion of a tracer bears, s; infinite without it."""
    rate = (setup.diffusivity or 0.0) * largest_eigenvalue(setup)
    return REAL_LIMIT[setup.order] / rate if rate > 0.0 else math.inf


def wave_limit(setup: Setup) -> float:
    """Longest step that resolves the fastest Rossby wave of the basin, s; infinite without beta.

    Its frequency is beta k / (k^2 + l^2 + 1 / R^2): between walls along x, beta / (2 sqrt(l^2 + m^2 + 1 / R^2)) of
    the gravest mode; along a period, the largest of the wavenumbers that fit.
    """
    grid, (wrap_x, wrap_y) = setup.grid, setup.periodic
    length_x, length_y = (grid.nx - (not wrap_x)) * grid.dx, (grid.ny - (not wrap_y)) * grid.dy
    rest = setup.screening + (0.0 if wrap_y else (math.pi / length_y) ** 2)
    if wrap_x:
        waves = (2.0 * math.pi * m / length_x for m in range(1, grid.nx // 2 + 1))
        frequency = max(k / (k**2 + rest) for k in waves)
    else:
        frequency = 0.5 / math.sqrt((math.pi / length_x) ** 2 + rest)
    frequency *= abs(setup.beta)
    return IMAGINARY_LIMIT / frequency if frequency > 0.0 else math.inf


def flow_limit(speed_x: float, speed_y: float, dx: float, dy: float) -> float:
    """Longest step for a flow of these largest speeds, s; infinite at rest."""
    rate = speed_x / dx + speed_y / dy
    return FLOW_LIMIT / rate if rate > 0.0 else math.inf


def check_time_step(setup: Setup) -> None:
    """Refuse a step with which friction or diffusion alone would blow up.

    Raises
    ------
    InputError
        It says the longest step.
    """
    for limit, why in (
        (friction_limit(setup), "viscosity, biharmonic_viscosity and bottom_friction"),
        (diffusion_limit(setup), "tracer_diffusivity"),
    ):
        if setup.time_step > limit * (1.0 + 1e-9):
            raise InputError(
                f"time_step = {setup.time_step:g}, longer than {why} allow",
                allowed=f"up to {limit:.4g} on this grid",
                fix=f"time_step = {0.8 * limit:.2g}",
            )


def step_remark(setup: Setup) -> str:
    """The step and its limits."""
    limits = {"friction": friction_limit(setup), "tracer": diffusion_limit(setup), "Rossby waves": wave_limit(setup)}
    parts = [f"{limit:.3g} ({why})" for why, limit in limits.items() if math.isfinite(limit)]
    return f"time step: {setup.time_step:g}; limits: {', '.join([*parts, '0.5 / (|u| / dx + |v| / dy) (flow)'])}"
