"""Stability limits of the time step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Levels
from eagre.models.anelastic.forcing.profile_forcing import Forcing, profile_of, rates_of
from eagre.models.anelastic.setup import Setup
from eagre.models.anelastic.step_kernels import Velocity

LONGEST = 1e9  # s
COURANT = 0.5
SAFETY_FACTOR = 0.95  # target Courant number of adaptive steps, as a fraction of the limit: allows ten equal steps
MAX_COURANT = (1.0, 1.0, 0.592, 0.529)  # maximum stable Courant numbers, by the number of dimensions
EXPLICIT = 0.5  # maximum stable decay per step of tendencies extrapolated from two steps
LIMIT = 1.0  # outflow Courant number above which a cell loses more than its mass
EITHER = 0.568  # Courant number and diffusion number up to which their combination is stable
QUIET = 10.0  # m/s: speed assumed for the first step of a flow at rest


def max_stable_courant(shape: Sequence[int]) -> float:
    """Return the maximum Courant number that is stable for all wind directions.

    Without active limiter, infinite-gauge MPDATA is linear. For plane waves in a uniform wind its amplification factor
    is at most 1 up to a sum of the Courant numbers along the axes. This limit depends on the wind direction and is
    lowest for equal Courant numbers. Above the limit, waves of a few grid spacings grow until the limiter acts. The
    limiter bounds advected scalars, but not the self-advection of the wind.

    Parameters
    ----------
    shape : (nz, ny, nx)
    """
    return MAX_COURANT[sum(n > 1 for n in shape)]


def longest_explicit_step(rate: float) -> float:
    """Return ``EXPLICIT / rate``, s, for the maximum decay rate of explicit tendencies, s-1.

    The rate of a viscosity is ``4 nu sum 1/d^2``. With advection, the shortest waves grow above
    `max_explicit_number`, which is at least 0.5 up to the two- and three-dimensional limits of `max_stable_courant`.
    """
    return min(LONGEST, EXPLICIT / rate) if rate > 0.0 else LONGEST


def max_explicit_number(courant: float) -> float:
    """Return ``1 - 4 C^2 / 3``: the maximum stable product of dt and the decay rate of explicit tendencies.

    A step is ``x^(n+1) = A (x^n + dt/2 D^n) + dt/2 (2 D^n - D^(n-1))`` with the advection A (`step`) and D = -r x. With
    s = r dt, a wave with the amplification factor a of advection has the amplification factor g,

        g^2 - g (a (1 - s/2) - s) - s/2 = 0.

    Without wind (a = 1), g is -1 at s = 1. With wind, the tendency of the previous step belongs to other air, and the
    limit decreases. The formula is the limit over all waves for wind along an axis. For other directions it is accurate
    to 2 % up to the Courant numbers of `max_stable_courant`.
    """
    return 1.0 - 4.0 * courant**2 / 3.0


def max_diffusion_number(shape: Sequence[int]) -> float:
    """Return the maximum diffusion number of a closure for adaptive steps of any Courant number.

    Parameters
    ----------
    shape : (nz, ny, nx)
    """
    return SAFETY_FACTOR * max_explicit_number(min(max_stable_courant(shape), MAX_COURANT[2]))


def forcing_rates(forcing: Forcing, sides: np.ndarray | None, levels: Levels) -> list[np.ndarray]:
    """Return the decay rates of nudging, subsidence and side sponge layers, s-1, each broadcastable to (nz, ny, nx).

    The rate of subsidence is twice its largest vertical Courant number per time step, at all points.

    Parameters
    ----------
    forcing : Forcing
    sides : (ny, nx) array or None
        Rates of the side sponge layers, s-1.
    levels : Levels
    """
    z, rates = levels.z, []
    if forcing.nudging is not None:
        rates.append(rates_of(forcing.nudging, z))
    if forcing.subsidence is not None:
        if z.shape[0] < 2:
            raise InputError(
                "subsidence with a single level",
                allowed="at least two levels",
                problem="Subsidence requires two levels.",
            )
        speed = np.abs(profile_of("subsidence", forcing.subsidence)(z)) + np.zeros(z.shape)
        rates.append(np.full((1, 1, 1), 2.0 * float(speed.max() / np.diff(z, axis=0).min())))
    return rates if sides is None else [*rates, sides[None]]


def forcing_rate(forcing: Forcing, sides: np.ndarray | None, levels: Levels) -> float:
    """Return the sum of the largest `forcing_rates`, s-1."""
    return sum(float(one.max()) for one in forcing_rates(forcing, sides, levels))


def forcing_rows(forcing: Forcing, sides: np.ndarray | None, levels: Levels, rows: tuple[int, int]) -> np.ndarray:
    """Return the sum of `forcing_rates` in each row of points along x, the largest of each, (nz, ny), s-1."""
    max_rates = [one.max(axis=2) for one in forcing_rates(forcing, sides, levels)]
    return sum(max_rates, np.zeros(rows))


def checked_steps(
    time_step: float | None, courant_number: float | None, longest: float, shape: Sequence[int]
) -> tuple[float, float | None]:
    """Return the maximum time step, s, and the limit of the Courant number, or None for a constant time step.

    Raises
    ------
    InputError
        If both are given, or a value exceeds the stability limit.
    """
    if time_step is None:
        aim = checked_number("courant_number", COURANT if courant_number is None else courant_number, 1e-6, 1.0)
        limit = max_stable_courant(shape)
        if aim > limit:
            allowed = f"up to {limit:g} in {sum(n > 1 for n in shape)} dimensions; larger values amplify short waves"
            raise InputError(
                f"courant_number = {aim:g}",
                allowed=allowed,
                fix=f"courant_number = {COURANT:g}",
                problem="The Courant number exceeds the stability limit.",
            )
        return longest, aim
    if courant_number is not None:
        fix = f"courant_number = {COURANT:g}"
        raise InputError(
            "both time_step and courant_number",
            allowed="one of them",
            fix=fix,
            problem="The options time_step and courant_number exclude each other.",
        )
    dt = checked_number("time_step", time_step, 1e-9, LONGEST)
    if dt > longest:
        allowed = f"up to {longest:.3g} s with this viscosity, forcing, surface drag and grid spacing"
        raise InputError(
            f"time_step = {dt:g} s",
            allowed=allowed,
            fix=f"time_step = {rounded_down(longest):g}",
            problem="The time step exceeds the stability limit.",
        )
    return dt, None


def first_step(setup: Setup, courant: float, v: Velocity, stretch: np.ndarray) -> float:
    """Return the first time step for the initial wind, s; later steps adapt to the Courant number.

    stretch : (nz,), d zeta / dz.
    """
    dz, dy, dx = setup.spacing
    rate = np.abs(v.u) / dx + np.abs(v.v) / dy + np.abs(v.w) * stretch[:, None, None] / dz
    resolved = [d for d, n in zip(setup.spacing, setup.shape, strict=True) if n > 1]
    return min(setup.time_step, 0.5 * courant / max(float(rate.max()), 1e-30), courant * min(resolved) / QUIET)


def rounded_down(value: float) -> float:
    """Round down to two significant digits."""
    digits = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / digits) * digits
