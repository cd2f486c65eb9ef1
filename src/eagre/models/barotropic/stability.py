"""Stability limits of the time step: friction, diffusion, Rossby waves and advection."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.errors import InputError
from eagre.models.barotropic.adams_bashforth import WEIGHTS
from eagre.models.barotropic.setup import Setup

REAL_LIMIT = {2: 1.0, 3: 6.0 / 11.0}  # stability limit of dt times a decay rate, by order of Adams-Bashforth
SLOWEST = 1e-30  # frequency below which waves do not limit the time step, 1/s
MAX_GROWTH = 0.01  # growth per wave period; without friction the second order amplifies waves at any time step
FLOW_LIMIT = 0.5  # advective Courant number, with a safety margin


def max_eigenvalue(setup: Setup) -> float:
    """Return the largest eigenvalue of -Lap on the grid, 1 / length^2: the shortest wave along both axes."""
    total = 0.0
    for wrap, n, h in zip(setup.periodic, (setup.grid.nx, setup.grid.ny), (setup.grid.dx, setup.grid.dy), strict=True):
        angle = math.pi * (n // 2) / n if wrap else 0.5 * math.pi * (n - 2) / (n - 1)
        total += (2.0 / h * math.sin(angle)) ** 2
    return total


def friction_limit(setup: Setup) -> float:
    """Return the stability limit of explicit viscosity and friction, s; infinite without them."""
    k2 = max_eigenvalue(setup)
    rate = _explicit_rate(setup, k2)
    return REAL_LIMIT[setup.order] / rate if rate > 0.0 else math.inf


def diffusion_limit(setup: Setup) -> float:
    """Return the stability limit of tracer diffusion, s; infinite without it."""
    rate = (setup.diffusivity or 0.0) * max_eigenvalue(setup)
    return REAL_LIMIT[setup.order] / rate if rate > 0.0 else math.inf


def growth(order: int, step: complex) -> float:
    """Return the amplification factor of one Adams-Bashforth step for dq/dt = rate q; step : rate dt.

    D. R. Durran, Mon. Weather Rev. 119(3), 702-720 (1991), doi:10.1175/1520-0493(1991)119<0702:TTOABM>2.0.CO;2. On
    the imaginary axis it is 1 + x^4 / 4 for the second order and 1 - 3 x^4 / 8 for the third.
    """
    first, *older = [step * weight for weight in WEIGHTS[order][:order]]
    return float(np.abs(np.roots([1.0, -1.0 - first, *(-one for one in older)])).max())


def longest_wave_step(order: int, frequency: float, decay: float) -> float:
    """Return the time step, s, at which a wave with decay rate `decay`, 1/s, grows by MAX_GROWTH per period.

    It is infinite for frequencies below SLOWEST, whose inverse can exceed the range of numbers.
    """
    if frequency < SLOWEST:
        return math.inf
    low, high = 0.0, 2.0 / frequency
    for _ in range(50):
        dt = 0.5 * (low + high)
        periods = frequency * dt / (2.0 * math.pi)
        grows = math.log(growth(order, complex(-decay, frequency) * dt)) > periods * math.log1p(MAX_GROWTH)
        low, high = (low, dt) if grows else (dt, high)
    return low


def wave_limit(setup: Setup) -> float:
    """Return the stability limit of Rossby waves (see `longest_wave_step`), s; infinite without beta.

    The frequency is beta k / (k^2 + l^2 + 1 / R^2). Between walls along x the gravest basin mode has the frequency
    beta / (2 sqrt(l^2 + m^2 + 1 / R^2)); a periodic x axis admits a discrete set of wavenumbers, checked up to the
    fastest wave.
    """
    grid, (wrap_x, wrap_y) = setup.grid, setup.periodic
    if setup.beta == 0.0:
        return math.inf
    length_x, length_y = (grid.nx - (not wrap_x)) * grid.dx, (grid.ny - (not wrap_y)) * grid.dy
    across = 0.0 if wrap_y else (math.pi / length_y) ** 2
    if wrap_x:
        waves = 2.0 * math.pi / length_x * np.arange(1, grid.nx // 2 + 1)
        frequencies, k2 = waves / (waves**2 + across + setup.screening), waves**2 + across
    else:
        k2 = np.array([(math.pi / length_x) ** 2 + across])
        frequencies = 0.5 / np.sqrt(k2 + setup.screening)
    last = int(np.argmax(frequencies)) + 1
    decays = k2 / (k2 + setup.screening) * _explicit_rate(setup, k2)
    each = zip(abs(setup.beta) * frequencies[:last], decays[:last], strict=True)
    return min(longest_wave_step(setup.order, *map(float, one)) for one in each)


def _explicit_rate(setup: Setup, k2: Any) -> Any:
    """Return the decay rate, 1/s, of a wave of squared wavenumber k2 due to explicit terms."""
    return (
        (0.0 if setup.implicit else setup.viscosity) * k2 + setup.biharmonic_viscosity * k2**2 + setup.bottom_friction
    )


def flow_limit(speed_x: float, speed_y: float, dx: float, dy: float) -> float:
    """Return the advective limit for these maximum speeds, s; infinite at rest."""
    rate = speed_x / dx + speed_y / dy
    return FLOW_LIMIT / rate if rate > 0.0 else math.inf


def check_time_step(setup: Setup) -> None:
    """Raise `InputError` if the time step exceeds the limit of friction, diffusion or Rossby waves.

    Raises
    ------
    InputError
        With the limit and a stable time step.
    """
    for limit, why in (
        (friction_limit(setup), "viscosity, biharmonic_viscosity and bottom_friction"),
        (diffusion_limit(setup), "tracer_diffusivity"),
        (wave_limit(setup), "the fastest Rossby wave of the basin"),
    ):
        if setup.time_step > limit * (1.0 + 1e-9):
            raise InputError(
                f"time_step = {setup.time_step:g}, above the stability limit of {why}",
                allowed=f"up to {limit:.4g} on this grid",
                fix=f"time_step = {0.8 * limit:.2g}",
            )


def step_note(setup: Setup) -> str:
    """Return a note on the time step and its limits."""
    limits = {"friction": friction_limit(setup), "tracer": diffusion_limit(setup), "Rossby waves": wave_limit(setup)}
    descriptions = [f"{limit:.3g} ({why})" for why, limit in limits.items() if math.isfinite(limit)]
    return f"time step: {setup.time_step:g}; limits: {', '.join([*descriptions, '0.5 / (|u| / dx + |v| / dy) (flow)'])}"
