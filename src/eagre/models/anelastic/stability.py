"""Time steps that a run bears."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.grid import Levels
from eagre.models.anelastic.forcing import Forcing, profile_of, rates_of
from eagre.models.anelastic.kernels import Velocity
from eagre.models.anelastic.setup import Setup

LONGEST = 1e9  # s
COURANT = 0.5
ROOM = 0.95  # of the Courant number that a run keeps to: what steps are chosen for, so that ten may be equal
LARGEST = (1.0, 1.0, 0.592, 0.529)  # Courant numbers at which no short wave grows, by the number of axes
EXPLICIT = 0.5  # of what is extrapolated from two steps: decay in a step, up to which nothing grows in wind
LIMIT = 1.0  # of Courant numbers: above it a cell loses more than it has
EITHER = 0.568  # a Courant number and dt times the decay of a closure, up to which neither makes waves grow
QUIET = 10.0  # m/s: air at rest may begin to move as fast as this


def largest_courant(shape: Sequence[int]) -> float:
    """The Courant number up to which no short wave grows, whatever the direction of the wind.

    Where its limiter rests MPDATA in the gauge of infinity is linear: of a plane wave in a uniform wind a step makes
    a multiple, whose size is 1 at most up to a sum of the Courant numbers along the axes that depends on the wind's
    direction and is least where they are equal. Above it waves of a few spacings grow until the limiter takes hold,
    which bounds what a given wind carries, but not a wind that carries itself.

    Parameters
    ----------
    shape : (nz, ny, nx)
    """
    return LARGEST[sum(n > 1 for n in shape)]


def longest_explicit_step(rate: float) -> float:
    """``EXPLICIT / rate``, s, for the fastest decay of explicit tendencies, s-1.

    That of a viscosity is ``4 nu sum 1/d^2``. Of what wind carries, the shortest waves grow above
    `largest_explicit_number`, which is 0.5 or more up to the Courant numbers of `largest_courant` of planes and spaces.
    """
    return min(LONGEST, EXPLICIT / rate) if rate > 0.0 else LONGEST


def largest_explicit_number(courant: float) -> float:
    """``1 - 4 C^2 / 3``: dt times the fastest decay of explicit tendencies up to which no wave grows.

    A step is ``x^(n+1) = A (x^n + dt/2 D^n) + dt/2 (2 D^n - D^(n-1))`` with the advection A (`step`) and D = -r x. With
    s = r dt a wave of which advection leaves a part a has the amplification g,

        g^2 - g (a (1 - s/2) - s) - s/2 = 0.

    In air at rest (a = 1) it is -1 at s = 1; tendencies of the step before are those of other air where there is wind,
    and the limit falls. The formula is that of a wind along an axis, found over all waves, and within 2 % that of any
    other direction up to the Courant numbers of `largest_courant`.
    """
    return 1.0 - 4.0 * courant**2 / 3.0


def largest_mixing(shape: Sequence[int]) -> float:
    """What dt times the decay by a closure is held to where steps follow a Courant number, whatever that is.

    Parameters
    ----------
    shape : (nz, ny, nx)
    """
    return ROOM * largest_explicit_number(min(largest_courant(shape), LARGEST[2]))


def forcing_rates(forcing: Forcing, sides: np.ndarray | None, levels: Levels) -> list[np.ndarray]:
    """Return the decay rates of nudging, subsidence and layers at sides, s-1, each broadcastable to (nz, ny, nx).

    The rate of subsidence is twice its largest vertical Courant number per time step, at all points.

    Parameters
    ----------
    forcing : Forcing
    sides : (ny, nx) array or None
        Rates of the layers at lateral sides, s-1.
    levels : Levels
    """
    z, rates = levels.z, []
    if forcing.nudging is not None:
        rates.append(rates_of(forcing.nudging, z))
    if forcing.subsidence is not None:
        if z.shape[0] < 2:
            raise InputError("subsidence in a layer of one level", allowed="two levels or more")
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
    """The longest time step, s, and the Courant number that steps aim at, or None where all are that long.

    Raises
    ------
    InputError
        If both are given, the time step is longer than explicit tendencies bear, or waves would grow.
    """
    if time_step is None:
        aim = checked_number("courant_number", COURANT if courant_number is None else courant_number, 1e-6, 1.0)
        most = largest_courant(shape)
        if aim > most:
            allowed = f"up to {most:g} in {sum(n > 1 for n in shape)} dimensions: above it short waves grow"
            raise InputError(f"courant_number = {aim:g}", allowed=allowed, fix=f"courant_number = {COURANT:g}")
        return longest, aim
    if courant_number is not None:
        fix = f"courant_number = {COURANT:g}"
        raise InputError("both time_step and courant_number", allowed="one of them", fix=fix)
    dt = checked_number("time_step", time_step, 1e-9, LONGEST)
    if dt > longest:
        allowed = f"up to {longest:.3g} s with this viscosity, forcing and ground and these spacings"
        raise InputError(f"time_step = {dt:g} s", allowed=allowed, fix=f"time_step = {rounded_down(longest):g}")
    return dt, None


def first_step(setup: Setup, courant: float, v: Velocity, stretch: np.ndarray) -> float:
    """A time step for the wind at the start, s; the run finds the next ones itself.

    stretch : (nz,), d zeta / dz.
    """
    dz, dy, dx = setup.spacing
    rate = np.abs(v.u) / dx + np.abs(v.v) / dy + np.abs(v.w) * stretch[:, None, None] / dz
    moving = [d for d, n in zip(setup.spacing, setup.shape, strict=True) if n > 1]
    return min(setup.time_step, 0.5 * courant / max(float(rate.max()), 1e-30), courant * min(moving) / QUIET)


def rounded_down(value: float) -> float:
    """To two digits."""
    digits = 10.0 ** (math.floor(math.log10(value)) - 1)
    return math.floor(value / digits) * digits
