"""Sponge layer: surface pressure that damps waves near a side.

    phi~_t -= mu(x) eta_t

The pressure rho mu eta_t does the work -rho mu eta_t^2 per area on the surface, so the energy decreases. Sources:
Y. Cao, R. F. Beck, W. W. Schultz, An absorbing beach for numerical simulations of nonlinear waves in a wave tank,
8th Int. Workshop on Water Waves and Floating Bodies (1993); as used by G. Ducrozet, F. Bonnefoy, D. Le Touze,
P. Ferrant, Eur. J. Mech. B 34, 19-34 (2012), doi:10.1016/j.euromechflu.2012.01.017.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from eagre.backend.compilation.cells import cell
from eagre.errors import InputError
from eagre.models.potential_waves.boundaries.relaxation_zones import SIDES, from_side, on_plane
from eagre.models.potential_waves.laplace.base import Laplace
from eagre.models.potential_waves.surface.forcing import Forcing
from eagre.waves import angular_frequency, group_velocity, wave_number

STRENGTH = 6.0


@cell
def press(j, i, rates, mu):
    """Subtract mu times the rate of eta from the rate of phi~."""
    rates[1, j, i] -= mu[0, j, i] * rates[0, j, i]


class Sponge(Forcing):
    """`Forcing` along a side. It must be the last one of a model, because it uses the complete eta_t.

    Parameters
    ----------
    laplace : Laplace
    side : {"west", "east", "south", "north"}
    width : float
        Width, m; one to two wave lengths.
    period : float
        Period of the incident waves, s.
    depth : float
        Still-water depth along the side, m.
    gravity : float
        Acceleration of gravity, m/s2.
    strength : float
        Damping strength: a wave of this period, reflected at the wall, leaves the sponge with a fraction of
        exp(-strength) of its amplitude, to first order. Longer waves are damped less, shorter waves more.

    Raises
    ------
    InputError
        If the side is unknown or a number is not positive.
    """

    def __init__(
        self, laplace: Laplace, side: str, width: float, period: float, depth: float, gravity: float,
        strength: float = STRENGTH,
    ) -> None:  # fmt: skip
        check_sponge(side, width=width, period=period, depth=depth, strength=strength)
        s = np.clip(1.0 - from_side(side, *laplace.points) / width, 0.0, 1.0)
        mu = max_damping(width, period, depth, gravity, strength) * s**2 * (3.0 - 2.0 * s)
        self._laplace = laplace
        self._mu = laplace.device.field(on_plane(mu, side, laplace.shape)[None])
        self._loop = laplace.device.loop(press, "double")

    def launches(self, rates: Any) -> list[Any]:
        return [self._laplace.device.over(self._loop, self._laplace.shape, (rates, self._mu))]


def check_sponge(side: str, **numbers: float) -> None:
    """Reject unknown sides and numbers that are not positive."""
    if side not in SIDES:
        raise InputError(f"a sponge along the {side!r} side", allowed=", ".join(SIDES), fix='side = "east"')
    for name, value in numbers.items():
        if not (math.isfinite(value) and value > 0.0):
            raise InputError(f"{name} = {value:g} of a sponge", allowed="above 0")


def max_damping(width: float, period: float, depth: float, gravity: float, strength: float) -> float:
    """Return mu at the wall, m/s. Amplitudes decay at the rate mu k tanh(k h) / 2; the mean of mu is half of it."""
    k = float(wave_number(2.0 * math.pi / period, depth, gravity))
    omega = float(angular_frequency(k, depth, gravity))
    return 2.0 * strength * gravity * float(group_velocity(k, depth, gravity)) / (omega**2 * width)
