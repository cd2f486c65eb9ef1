"""Forcing by vertical profiles of geostrophic wind, subsidence, heating and nudging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from eagre.checks import checked_number
from eagre.errors import InputError
from eagre.models.anelastic.base.vertical_profiles import ExponentialProfile, Profile, check_tops
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
"""Names in errors and quantities of `eagre.plausible`, by profile name."""


@dataclass(frozen=True)
class Nudging:
    """Nudging (relaxation) of all points towards vertical profiles.

    The tendency of x is ``-(x - x_p(z)) / tau(z)``.

    Parameters
    ----------
    time_scale : float or Profile, s
        Relaxation time tau, positive.
    u, v : float or Profile, m/s, optional
    theta : float or Profile, K, optional
        Total potential temperature, not its perturbation.
    scalars : mapping of name to float or Profile
        Target profiles of scalars. Fields without a target are not nudged.
    """

    time_scale: float | Profile
    u: float | Profile | None = None
    v: float | Profile | None = None
    theta: float | Profile | None = None
    scalars: Mapping[str, float | Profile] = field(default_factory=dict)

    def targets(self) -> dict[str, Profile]:
        """Return the target profiles by field name."""
        options = {"u": self.u, "v": self.v, "theta": self.theta, **self.scalars}
        return {name: profile_of(name, value) for name, value in options.items() if value is not None}


@dataclass(frozen=True)
class Forcing:
    """Forcing of the atmosphere by vertical profiles.

    Parameters
    ----------
    geostrophic : pair of float or Profile, m/s, optional
        Geostrophic wind (u_g, v_g) of the large-scale pressure gradient: ``-f k x (v - v_g)``. The default is the
        ambient wind.
    subsidence : float or Profile, m/s, optional
        Large-scale vertical velocity w_s, negative downwards: ``-w_s d/dz`` of u, v, theta and scalars.
    heating : float or Profile, K/s, optional
        Heating rate of theta; negative for cooling.
    nudging : Nudging, optional
    """

    geostrophic: tuple[float | Profile, float | Profile] | None = None
    subsidence: float | Profile | None = None
    heating: float | Profile | None = None
    nudging: Nudging | None = None

    def profiles(self) -> dict[str, Profile]:
        """Return all profiles by name."""
        options: dict[str, float | Profile | None] = {"subsidence": self.subsidence, "heating": self.heating}
        if self.geostrophic is not None:
            options |= dict(zip(("geostrophic_wind_x", "geostrophic_wind_y"), self.geostrophic, strict=True))
        profiles = {name: profile_of(name, one) for name, one in options.items() if one is not None}
        if self.nudging is not None:
            profiles["nudging_time_scale"] = profile_of("time_scale", self.nudging.time_scale)
            profiles |= {f"nudging_{name}": one for name, one in self.nudging.targets().items()}
        return profiles

    def check(self, z: Array, stratified: bool, scalars: tuple[str, ...]) -> None:
        """Raise `InputError` for profiles that end below the top, implausible values and unknown fields; z: m."""
        check_tops(list(self.profiles().items()), float(z.max()))
        self._check_values(z)
        targets = {} if self.nudging is None else self.nudging.targets()
        if not stratified and (self.heating is not None or "theta" in targets):
            raise InputError("heating or nudging of theta in incompressible flow", allowed="equations with buoyancy",
                             fix='equations = "boussinesq"',
                             problem="Incompressible flow has no potential temperature.")  # fmt: skip
        known = ("u", "v", "theta", *scalars)
        if missing := [name for name in targets if name not in known]:
            raise InputError(
                f"nudging of {missing[0]!r}", allowed=", ".join(known), problem="The nudged field does not exist."
            )
        if self.nudging is not None and not targets:
            raise InputError(
                "nudging without a target profile",
                allowed="a profile of u, v, theta or a scalar",
                fix="u = 5.0",
                problem="Nudging requires a target profile.",
            )

    def _check_values(self, z: Array) -> None:
        """Raise `InputError` for implausible winds and temperatures at heights z, m, and in tables."""
        profiles = self.profiles()
        for name, (key, quantity) in RANGES.items():
            if name in profiles:
                check_plausible(quantity, profiles[name](z) + np.zeros(z.shape), key)
                check_plausible(quantity, getattr(profiles[name], "values", np.zeros(0)), key)


def profile_of(name: str, value: float | Profile) -> Profile:
    """Return a profile, or a constant profile for a number."""
    return value if callable(value) else ExponentialProfile(checked_number(name, value, -1e12, 1e12))


def rates_of(nudging: Nudging, z: Array) -> Array:
    """Return 1 / tau at heights, s-1."""
    scale = profile_of("time_scale", nudging.time_scale)(z) + np.zeros(z.shape)
    if not (scale > 0.0).all():
        raise InputError(
            f"time_scale = {scale.min():g} s",
            allowed="positive at all heights",
            fix="time_scale = 3600.0",
            problem="The time scale of the nudging is not positive.",
        )
    return 1.0 / scale
