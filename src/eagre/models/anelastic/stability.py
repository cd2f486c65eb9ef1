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
LARGEST = (1.0, 1.0, 0.592, 0.529)  # Courant numbers at which no short wave grows, by the number of axes
EXPLICIT = 0.5  # of what is extrapolated from two steps: decay in a step, up to which nothing grows in wind
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

    That of a viscosity is ``4 nu sum 1/d^2``. They are extrapolated from two steps (Adams and Bashforth), which holds
    for decays up to 1 / dt in air at rest. In wind the tendency of the step before is that of other air: waves of a few
    spacings then grow above 0.93 / dt at a Courant number of 0.2, 0.74 / dt at 0.5 and 0.54 / dt at 0.7 (roots of the
    amplification of one wave that a step of second order carries, and which oscillates by up to 1 / dt).
    """
    return min(LONGEST, EXPLICIT / rate) if rate > 0.0 else LONGEST


def forcing_rate(forcing: Forcing, sides: np.ndarray | None, levels: Levels) -> float:
    """The fastest decay that forcing and layers at sides (rates, s-1) make, s-1."""
    z, found = levels.z, 0.0
    if forcing.nudging is not None:
        found += float(rates_of(forcing.nudging, z).max())
    if forcing.subsidence is not None:
        if z.shape[0] < 2:
            raise InputError("subsidence in a layer of one level", allowed="two levels or more")
        speed = np.abs(profile_of("subsidence", forcing.subsidence)(z)) + np.zeros(z.shape)
        found += 2.0 * float(speed.max() / np.diff(z, axis=0).min())
    return found + (0.0 if sides is None else float(sides.max()))


def checked_steps(
    time_step: float | None, courant: float | None, longest: float, shape: Sequence[int]
) -> tuple[float, float | None]:
    """The longest time step, s, and the Courant number that steps aim at, or None where all are that long.

    Raises
    ------
    InputError
        If both are given, the time step is longer than explicit tendencies bear, or waves would grow.
    """
    if time_step is None:
        aim = checked_number("courant", COURANT if courant is None else courant, 1e-6, 1.0)
        most = largest_courant(shape)
        if aim > most:
            allowed = f"up to {most:g} in {sum(n > 1 for n in shape)} dimensions: above it short waves grow"
            raise InputError(f"courant = {aim:g}", allowed=allowed, fix=f"courant = {COURANT:g}")
        return longest, aim
    if courant is not None:
        raise InputError("both time_step and courant", allowed="one of them", fix=f"courant = {COURANT:g}")
    dt = checked_number("time_step", time_step, 1e-9, LONGEST)
    if dt > longest:
        allowed = f"up to {longest:.3g} s with this viscosity and forcing and these spacings"
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
