"""Linear (Airy) wave theory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from eagre.constants import GRAVITY, WATER_DENSITY
from eagre.errors import InputError
from eagre.waves.checked import exactly_one, number, positive
from eagre.waves.currents import small_wave_number
from eagre.waves.nonlinear.breaking import highest_wave, too_high
from eagre.waves.nonlinear.steady import Array, Field, Profile, RegularWave


class AiryWave(RegularWave):
    """Linear wave: first order in the wave height.

    Parameters
    ----------
    height : float, m
        Wave height from crest to trough, H = 2 a.
    depth : float, m
        Water depth, or ``math.inf``.
    length, period : float, m or s
        Exactly one of the two.
    eulerian_current : float, m/s
        Uniform current, positive in the wave direction; (omega - k U)^2 = g k tanh(k h).
    gravity : float, m s-2
    direction, phase : float, rad
        See `RegularWave`.

    Raises
    ------
    InputError
        If the wave is higher than the highest steady wave, or an opposing current blocks it.

    Notes
    -----
    G. B. Airy (1845); R. G. Dean and R. A. Dalrymple (1991), doi:10.1142/1232, section 3.4. Above z = 0
    velocities follow from the formulas, which grow with z; pressures are linear in the height. The surface conditions
    are satisfied up to an error of second order in the height.
    """

    def __init__(
        self, height: float, depth: float, *, length: float | None = None, period: float | None = None,
        eulerian_current: float = 0.0, gravity: float = GRAVITY, direction: float = 0.0, phase: float = 0.0,
    ) -> None:  # fmt: skip
        height, depth = positive("height", height, "m"), positive("depth", depth, "m", infinite=True)
        gravity, current = positive("gravity", gravity, "m s-2", GRAVITY), number("eulerian_current", eulerian_current)
        if exactly_one({"length": length, "period": period}, "length = 10.0, or period = 2.5") == "length":
            k = 2.0 * math.pi / positive("length", length, "m")
        else:
            k = small_wave_number(positive("period", period, "s"), depth, gravity, current)
        if height > highest_wave(2.0 * math.pi / k, depth):
            raise too_high(height, 2.0 * math.pi / k, depth)
        speed, a = math.sqrt(math.tanh(k * depth)), 0.5 * k * height
        profile = Profile(np.array([a]), np.array([a / speed]), speed, 0.5 * a * a / speed, 0.5 * speed * speed)
        super().__init__(
            profile, height=height, depth=depth, gravity=gravity, wave_number=k,
            eulerian_current=current, direction=direction, phase=phase,
        )  # fmt: skip

    def surface_potential(self, x: Field, y: Field, t: Field, at: str = "still water") -> Array:
        """Return the surface potential, m2/s, evaluated at z = 0, or at z = eta with ``at="surface"``."""
        level = surface_level(at, lambda: self.elevation(x, y, t))
        return self.potential(x, y, level, t)

    def dynamic_pressure(self, x: Field, y: Field, z: Field, t: Field, density: float = WATER_DENSITY) -> Array:
        """Return the dynamic pressure to first order, Pa: rho g a cosh k(z + h) / cosh k h cos(theta)."""
        even, _ = self._sums(1, x, y, z, t)
        return density * (self.celerity - self.eulerian_current) * even.real


def surface_level(level_name: str, elevation: Callable[[], Array]) -> Array | float:
    """Return the level, m, at which a linear potential is evaluated, by name."""
    if level_name not in ("still water", "surface"):
        allowed = '"still water" (z = 0) or "surface" (z = eta)'
        raise InputError(f"at = {level_name!r}", allowed=allowed, fix='at = "surface"')
    return elevation() if level_name == "surface" else 0.0
