"""What drives air beside the ambient state: profiles of geostrophic wind, subsidence, heating, and nudging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.models.anelastic.profiles import Exponential, Profile, check_tops
from eagre.plausible import check_plausible

Array = np.ndarray
RANGES = {
    "geostrophic_wind_x": ("geostrophic_u", "wind"),
    "geostrophic_wind_y": ("geostrophic_v", "wind"),
    "subsidence": ("subsidence", "wind"),
    "nudging_u": ("u of the nudging", "wind"),
    "nudging_v": ("v of the nudging", "wind"),
    "nudging_theta": ("theta of the nudging", "potential_temperature"),
}
"""Names in errors and quantities of `eagre.plausible`, by the names of profiles."""


@dataclass(frozen=True)
class Nudging:
    """Relaxation of every point towards profiles: ``dx/dt = ... - (x - x_p(z)) / tau(z)``.

    Parameters
    ----------
    time_scale : float or Profile, s
        tau, above 0.
    u, v : float or Profile, m/s, optional
    theta : float or Profile, K, optional
        Potential temperature itself, not its perturbation.
    scalars : mapping of name to float or Profile
        What is not given is not nudged.
    """

    time_scale: float | Profile
    u: float | Profile | None = None
    v: float | Profile | None = None
    theta: float | Profile | None = None
    scalars: Mapping[str, float | Profile] = field(default_factory=dict)

    def targets(self) -> dict[str, Profile]:
        """Profiles by the names of fields."""
        given = {"u": self.u, "v": self.v, "theta": self.theta, **self.scalars}
        return {name: profile_of(name, value) for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Forcing:
    """Profiles of height that drive the air.

    Parameters
    ----------
    geostrophic : pair of float or Profile, m/s, optional
        Wind (u_g, v_g) that the pressure gradient of the large scale would balance: ``-f k x (v - v_g)``. Without it
        the ambient wind.
    subsidence : float or Profile, m/s, optional
        w_s, below 0 downwards: ``-w_s d/dz`` of u, v, theta and scalars.
    heating : float or Profile, K/s, optional
        Of theta; below 0 cooling.
    nudging : Nudging, optional
    """

    geostrophic: tuple[float | Profile, float | Profile] | None = None
    subsidence: float | Profile | None = None
    heating: float | Profile | None = None
    nudging: Nudging | None = None

    def profiles(self) -> dict[str, Profile]:
        """All of them by name."""
        given: dict[str, float | Profile | None] = {"subsidence": self.subsidence, "heating": self.heating}
        if self.geostrophic is not None:
            given |= dict(zip(("geostrophic_wind_x", "geostrophic_wind_y"), self.geostrophic, strict=True))
        found = {name: profile_of(name, one) for name, one in given.items() if one is not None}
        if self.nudging is not None:
            found["nudging_time_scale"] = profile_of("time_scale", self.nudging.time_scale)
            found |= {f"nudging_{name}": one for name, one in self.nudging.targets().items()}
        return found

    def check(self, z: Array, stratified: bool, scalars: tuple[str, ...]) -> None:
        """Raise `InputError` for profiles that end below the top, implausible values and unknown fields; z in m."""
        check_tops(list(self.profiles().items()), float(z.max()))
        self._check_values(z)
        targets = {} if self.nudging is None else self.nudging.targets()
        if not stratified and (self.heating is not None or "theta" in targets):
            raise InputError("heating or nudging of theta in incompressible flow", allowed="air that is buoyant",
                             fix='equations = "boussinesq"')  # fmt: skip
        known = ("u", "v", "theta", *scalars)
        if missing := [name for name in targets if name not in known]:
            raise InputError(f"nudging of {missing[0]!r}", allowed=", ".join(known))
        if self.nudging is not None and not targets:
            raise InputError("nudging without a profile", allowed="a profile of u, v, theta or a scalar", fix="u = 5.0")

    def _check_values(self, z: Array) -> None:
        """Raise `InputError` for implausible winds and temperatures at heights, m, and in tables."""
        profiles = self.profiles()
        for name, (key, quantity) in RANGES.items():
            if name in profiles:
                check_plausible(quantity, profiles[name](z) + np.zeros(z.shape), key)
                check_plausible(quantity, getattr(profiles[name], "values", np.zeros(0)), key)


def profile_of(name: str, value: float | Profile) -> Profile:
    """A profile, or a number as one."""
    return value if callable(value) else Exponential(checked_number(name, value, -1e12, 1e12))


def rates_of(nudging: Nudging, z: Array) -> Array:
    """1 / tau at heights, s-1."""
    scale = profile_of("time_scale", nudging.time_scale)(z) + np.zeros(z.shape)
    if not (scale > 0.0).all():
        raise InputError(f"time_scale = {scale.min():g} s", allowed="above 0 at all heights", fix="time_scale = 3600.0")
    return 1.0 / scale
